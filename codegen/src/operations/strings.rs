//! Enumerations of strings that no schema lists.

use proc_macro2::TokenStream;

use super::doc;
use crate::emit::string_enum;

/// An enum to write.
pub(crate) struct StringEnum<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its documentation, Markdown paragraphs.
    pub(crate) doc: Vec<String>,
    /// Its values; names are distinct.
    pub(crate) values: Vec<StringValue>,
}

/// One value.
pub(crate) struct StringValue {
    /// As written in JSON.
    pub(crate) wire: String,
    /// The variant.
    pub(crate) name: String,
    /// Its documentation, Markdown paragraphs.
    pub(crate) doc: Vec<String>,
}

impl StringEnum<'_> {
    /// The enum with `ALL`, `as_str`, `Display`, `FromStr` and its reading and writing.
    pub(crate) fn tokens(&self, open: bool) -> TokenStream {
        let values = self.values.iter();
        let values = values.map(|value| (value.wire.as_str(), value.name.as_str(), doc(&value.doc)));
        string_enum(self.name, &doc(&self.doc), open, values)
    }
}
