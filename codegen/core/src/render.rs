//! Prints modules as Rust source files: a header, then the items separated by blank lines. The output is
//! deterministic: it does not depend on the time, on paths, or on the order in which files are loaded.

mod item_gates;
mod macro_calls;
mod table_rows;

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, Item, ItemEnum, ItemMacro,
    parse::{ParseStream, Parser as _},
    parse_quote,
};

pub(crate) use self::item_gates::{UNUSED_TYPES, gate_items};

/// The contents of the generated files, by path below the output folder. The separator in paths is `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputFiles(pub BTreeMap<String, String>);

impl OutputFiles {
    /// Adds or replaces a file.
    pub fn insert(&mut self, path: impl Into<String>, content: String) {
        self.0.insert(path.into(), content);
    }

    /// Iterates over all files, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, content)| (path.as_str(), content.as_str()))
    }
}

/// The file that hides generated files in reviews and statistics. No other generated file has a name that
/// starts with a dot.
pub const GIT_ATTRIBUTES: &str = ".gitattributes";

/// A part of a generated package that a Cargo feature enables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PackagePart {
    /// The client.
    Client,
    /// The server interface.
    Server,
    /// The JSON Schemas of the types.
    Schemars,
    /// The `proptest` strategies for the types.
    Proptest,
    /// The command-line program.
    Cli,
}

impl PackagePart {
    /// Returns the name of the Cargo feature, which is the same in the generated package and in the runtime.
    #[must_use]
    pub const fn feature_name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Schemars => "schemars",
            Self::Proptest => "proptest",
            Self::Cli => "cli",
        }
    }

    /// Returns true if the part calls, serves or describes operations.
    #[must_use]
    pub const fn has_operations(self) -> bool {
        matches!(self, Self::Client | Self::Server | Self::Cli)
    }
}

/// The parts that require a module. The module is compiled if at least one of them is enabled, or always if
/// the list is empty.
pub type FeatureGate = &'static [PackagePart];

/// A generated module before it is printed.
#[derive(Clone, Debug)]
pub struct GeneratedModule {
    /// The name of the module, or its path for a submodule: `client/issues`.
    pub name: String,
    /// The lines of the module documentation.
    pub doc: Vec<String>,
    /// The parts of the package that require the module.
    pub gate: FeatureGate,
    /// True if the module is hidden from the documentation of the generated package.
    pub hidden: bool,
    /// The formatted inner attributes of the module.
    attributes: Vec<String>,
    /// The formatted items of the module, or an error message if the generated code is not valid Rust.
    items: Result<Vec<PrintedItem>, String>,
    /// Items that were formatted elsewhere, which are printed after the other items.
    printed: String,
}

/// A formatted item of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PrintedItem {
    text: String,
    /// True for imports and module declarations, which no blank line separates from each other.
    joins: bool,
}

impl PrintedItem {
    fn new(item: Item) -> Self {
        let joins = matches!(item, Item::Use(_))
            || matches!(&item, Item::Mod(m) if m.content.is_none() && m.attrs.is_empty());
        let text = match &item {
            Item::Macro(call) => print_enum_macro(call)
                .or_else(|| macro_calls::print_macro_call(call))
                .map(|text| format!("{}{text}", print_attributes(&call.attrs)))
                .unwrap_or_else(|| format_items(Vec::new(), vec![item])),
            _ => separate_members(&format_items(Vec::new(), vec![item])),
        };
        Self { text, joins }
    }
}

impl GeneratedModule {
    /// Creates a module from its items, and formats them. Formatting is recursive and needs a large stack.
    #[must_use]
    pub fn new(name: impl Into<String>, doc: Vec<String>, tokens: TokenStream) -> Self {
        let mut attributes = Vec::new();
        let items = print_items(tokens, &mut attributes).map_err(|error| error.to_string());
        Self { name: name.into(), doc, gate: &[], hidden: false, attributes, items, printed: String::new() }
    }

    /// Adjusts the documentation links of a module that becomes a submodule: links to its former siblings
    /// need one more `super`.
    #[must_use]
    pub fn with_nested_links(mut self) -> Self {
        for item in self.items.iter_mut().flatten() {
            item.text = item.text.replace("](super::", "](super::super::");
        }
        self
    }

    /// Restricts the module to builds in which at least one of these parts is enabled.
    #[must_use]
    pub fn with_gate(mut self, gate: FeatureGate) -> Self {
        self.gate = gate;
        self
    }

    /// Hides the module from the documentation of the generated package.
    #[must_use]
    pub fn with_hidden_docs(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Adds an attribute that allows the module to use deprecated items.
    pub fn allow_deprecated(&mut self) {
        self.add_attribute(parse_quote!(
            #![allow(deprecated, reason = "generated code includes deprecated items of the contract")]
        ));
    }

    /// Adds an inner attribute before the others, unless the module has it.
    fn add_attribute(&mut self, attribute: Attribute) {
        let text = format_items(vec![attribute], Vec::new());
        if !self.attributes.contains(&text) {
            self.attributes.insert(0, text);
        }
    }

    /// Returns true if another generated module declares this one.
    #[must_use]
    pub fn is_submodule(&self) -> bool {
        self.name.contains('/')
    }

    /// Returns true if the module re-exports items of other modules.
    #[must_use]
    pub fn has_reexports(&self) -> bool {
        self.items.iter().flatten().any(|item| item.joins && item.text.contains("pub use "))
    }

    /// Appends items that are already formatted.
    #[must_use]
    pub fn with_printed_items(mut self, printed: String) -> Self {
        self.printed = printed;
        self
    }
}

/// Parses and formats the items of a module one by one, because the syntax tree of a whole module takes many times the
/// memory of its source. Appends the inner attributes of the module to `attributes`.
fn print_items(tokens: TokenStream, attributes: &mut Vec<String>) -> syn::Result<Vec<PrintedItem>> {
    let items = |input: ParseStream<'_>| {
        for attribute in input.call(Attribute::parse_inner)? {
            attributes.push(format_items(vec![attribute], Vec::new()));
        }
        let mut items = Vec::new();
        while !input.is_empty() {
            items.push(match table_rows::parse_table(input)? {
                Some(text) => PrintedItem { text, joins: false },
                None => PrintedItem::new(input.parse()?),
            });
        }
        Ok(items)
    };
    items.parse2(tokens)
}

/// Prints a module as a source file.
///
/// # Errors
///
/// Returns an error message if the generated code is not valid Rust.
pub fn print_module(module: &GeneratedModule) -> Result<String, String> {
    let items = module.items.as_ref().map_err(Clone::clone)?;
    let mut out = String::from("// @generated by contract-codegen; do not edit.\n\n");
    for line in &module.doc {
        out.push_str(if line.is_empty() { "//!" } else { "//! " });
        out.push_str(line);
        out.push('\n');
    }
    for attribute in &module.attributes {
        out.push('\n');
        out.push_str(attribute);
    }
    let mut previous_joins = false;
    for item in items {
        if !(item.joins && previous_joins) {
            out.push('\n');
        }
        previous_joins = item.joins;
        out.push_str(&item.text);
    }
    if !module.printed.is_empty() {
        out.push('\n');
        out.push_str(&module.printed);
    }
    Ok(out)
}

/// Formats the attributes of an item, each on a line of its own.
fn print_attributes(attributes: &[Attribute]) -> String {
    if attributes.is_empty() {
        return String::new();
    }
    let item = parse_quote!(#(#attributes)* struct Item;);
    format_items(Vec::new(), vec![item]).trim_end().trim_end_matches("struct Item;").to_owned()
}

/// Formats a macro call that contains a single enum. Returns `None` for any other macro call.
fn print_enum_macro(call: &ItemMacro) -> Option<String> {
    let is_enum = |token| matches!(token, TokenTree::Ident(word) if word == "enum");
    if !call.mac.tokens.clone().into_iter().any(is_enum) {
        return None;
    }
    let item: ItemEnum = call.mac.parse_body().ok()?;
    let mut out = format!("{}! {{\n", macro_calls::macro_path(call));
    for line in format_items(Vec::new(), vec![Item::Enum(item)]).lines() {
        out.push_str(if line.is_empty() { "" } else { "    " });
        out.push_str(line);
        out.push('\n');
    }
    out.push_str("}\n");
    Some(out)
}

fn format_items(attrs: Vec<Attribute>, items: Vec<Item>) -> String {
    prettyplease::unparse(&syn::File { shebang: None, frontmatter: None, attrs, items })
}

/// Inserts blank lines between the items of an `impl` block or a trait.
fn separate_members(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let block = text
        .lines()
        .any(|l| l.starts_with("impl") || l.starts_with("pub trait") || l.starts_with("unsafe impl"));
    let mut previous = "";
    for line in text.lines() {
        if block && starts_member(line) && ends_member(previous) {
            out.push('\n');
        }
        out.push_str(line);
        out.push('\n');
        previous = line;
    }
    out
}

fn starts_member(line: &str) -> bool {
    let Some(member) = line.strip_prefix("    ") else { return false };
    ["///", "#[", "pub ", "fn ", "const ", "type ", "async "].iter().any(|s| member.starts_with(s))
}

fn ends_member(line: &str) -> bool {
    line.starts_with("    ") && !line.starts_with("     ") && line.ends_with([';', '}'])
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    /// The attributes of a macro call are printed, although its arguments are formatted separately.
    #[test]
    fn macro_calls_keep_their_attributes() {
        let tokens = quote!(
            #[cfg(feature = "a")]
            object! { One { extra undeclared } }
        );
        let text = print_module(&GeneratedModule::new("m", Vec::new(), tokens)).unwrap();
        assert!(text.contains("#[cfg(feature = \"a\")]\nobject! {"), "{text}");
    }

    #[test]
    fn blank_lines_separate_items_and_members() {
        let tokens = quote! {
            use a::b;
            use c::d;
            struct S;
            impl S { const A: u8 = 1; fn f() {} #[doc = " doc"] fn g() {} }
        };
        let text = print_module(&GeneratedModule::new("m", vec!["A module.".to_owned()], tokens)).unwrap();
        let expect = "// @generated by contract-codegen; do not edit.\n\n//! A module.\n\nuse a::b;\nuse c::d;\n\nstruct S;\n\nimpl S {\n    const A: u8 = 1;\n\n    fn f() {}\n\n    /// doc\n    fn g() {}\n}\n";
        assert_eq!(text, expect);
    }
}
