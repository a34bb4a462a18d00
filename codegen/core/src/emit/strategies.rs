//! Generates `proptest` strategies for types. The runtime derives them from the tables, so each type takes
//! one line.

use proc_macro2::TokenStream;
use quote::quote;

use super::ModelEmitter;

impl ModelEmitter<'_> {
    /// Generates the module `strategies`: its imports, and source text that follows them. Returns `None` if
    /// there are no types.
    pub(crate) fn strategies_module(&self) -> Option<(TokenStream, String)> {
        let uses = quote! { pub use ::contract_runtime::strategies::ValueStrategies; };
        let mut names: Vec<&str> = self.shapes.types.iter().map(|def| def.name.as_str()).collect();
        names.sort_unstable();
        let lines: String = names.iter().map(|name| format!("    super::types::{name},\n")).collect();
        (!names.is_empty()).then(|| (uses, format!("::contract_runtime::arbitrary! {{\n{lines}}}\n")))
    }
}
