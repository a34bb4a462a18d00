//! Strategies for values of types: the runtime makes them of the tables, so that each type is a line.

use proc_macro2::TokenStream;
use quote::quote;

use super::Emitter;

impl Emitter<'_> {
    /// The module `strategies`: its imports, and what follows them in print; nothing where there is
    /// no type.
    pub(crate) fn strategies(&self) -> Option<(TokenStream, String)> {
        let uses = quote! { pub use ::contract_runtime::strategies::Strategies; };
        let mut names: Vec<&str> = self.shapes.types.iter().map(|def| def.name.as_str()).collect();
        names.sort_unstable();
        let lines: String = names.iter().map(|name| format!("    super::types::{name},\n")).collect();
        (!names.is_empty()).then(|| (uses, format!("::contract_runtime::arbitrary! {{\n{lines}}}\n")))
    }
}
