//! Generates string enums that no schema declares.

use proc_macro2::TokenStream;
use quote::quote;

use super::doc_attributes;
use crate::emit::string_enum_macro;

/// A string enum to generate.
pub(crate) struct StringEnumItem<'a> {
    pub(crate) name: &'a str,
    pub(crate) doc: Vec<String>,
    pub(crate) values: Vec<StringValue>,
}

/// A value of a string enum.
pub(crate) struct StringValue {
    pub(crate) wire: String,
    pub(crate) name: String,
    pub(crate) doc: Vec<String>,
}

impl StringEnumItem<'_> {
    /// Generates the enum with its constant `ALL`, its conversions from and to strings, parsing and
    /// serialization. If `open` is true, it also holds unknown values.
    pub(crate) fn to_tokens(&self, open: bool) -> TokenStream {
        let values = self.values.iter();
        let values =
            values.map(|value| (value.wire.as_str(), value.name.as_str(), doc_attributes(&value.doc)));
        string_enum_macro(self.name, &doc_attributes(&self.doc), open.then(|| quote!(Box)), values)
    }
}
