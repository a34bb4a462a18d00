//! Generates `proptest` strategies for types. The runtime derives each strategy from the validation tables,
//! so the generated code has one line for each type.

use proc_macro2::TokenStream;
use quote::quote;

use super::ModelEmitter;

impl ModelEmitter<'_> {
    /// Generates the module `strategies`, as imports and the source text that follows them. Returns `None` if
    /// there are no types.
    pub(crate) fn strategies_module(&self) -> Option<(TokenStream, String)> {
        let uses = quote! { pub use ::contract_runtime::strategies::ValueStrategies; };
        let mut names: Vec<&str> = self.shapes.types.iter().map(|def| def.name.as_str()).collect();
        names.sort_unstable();
        let lines: String = names.iter().map(|name| format!("    super::types::{name},\n")).collect();
        (!names.is_empty()).then(|| (uses, format!("::contract_runtime::arbitrary! {{\n{lines}}}\n")))
    }
}
