//! How stages that write operations learn the Rust type of a schema.

use proc_macro2::TokenStream;

use crate::schema::SchemaId;

/// Gives the Rust type and name for a schema; implemented by the shape stage.
pub trait RustTypes {
    /// Type that holds values of this schema, as seen from a module directly below the
    /// generated root: `super::types::StockLot`, `i64`, `String`, `Vec<super::types::Ship>`.
    fn rust_type(&self, schema: SchemaId) -> TokenStream;

    /// Whether values of the type are written by `Display` into a path, query or header
    /// (strings, numbers, booleans, string newtypes and enums).
    fn is_scalar(&self, schema: SchemaId) -> bool;

    /// Whether the type implements `contract_runtime::Contract`, so that it checks itself.
    /// By default: the generated types, which stand in `super::types`.
    fn is_contract(&self, schema: SchemaId) -> bool {
        let text = self.rust_type(schema).to_string().replace(' ', "");
        text.starts_with("super::types::")
    }

    /// An expression of type `contract_runtime::schema::Validator` for a schema whose type
    /// does not check itself (a list, a string), when the generated crate has one.
    fn validator(&self, schema: SchemaId) -> Option<TokenStream> {
        let _ = schema;
        None
    }
}
