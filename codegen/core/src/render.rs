//! Prints modules as Rust source files: a header, then the items separated by blank lines. The output is
//! deterministic: it does not depend on the time, on paths, or on the order in which files are loaded.

mod item_gates;
mod macro_calls;
mod table_rows;

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use proc_macro2::TokenStream;
use syn::{
    Attribute, Item, ItemEnum, ItemMacro,
    parse::{ParseStream, Parser as _},
};

pub(crate) use self::item_gates::gate_items;

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

/// Stack size of a printing thread, in bytes. Unused stack occupies no physical memory.
const STACK_BYTES: usize = 256 << 20;

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
    /// The items of the module as unformatted source code.
    source: String,
    /// Items that are already formatted, which are printed after the other items.
    printed: String,
}

impl GeneratedModule {
    /// Creates a module from its items.
    #[must_use]
    pub fn new(name: impl Into<String>, doc: Vec<String>, tokens: &TokenStream) -> Self {
        Self {
            name: name.into(),
            doc,
            gate: &[],
            hidden: false,
            source: tokens.to_string(),
            printed: String::new(),
        }
    }

    /// Adjusts the documentation links of a module that becomes a submodule: links to its former siblings
    /// need one more `super`.
    #[must_use]
    pub fn with_nested_links(mut self) -> Self {
        self.source = self.source.replace("](super::", "](super::super::");
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
        const ALLOW: &str =
            "#![allow(deprecated, reason = \"generated code includes deprecated items of the contract\")] ";
        if !self.source.starts_with(ALLOW) {
            self.source.insert_str(0, ALLOW);
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
        self.source.contains("pub use ")
    }

    /// Appends items that are already formatted.
    #[must_use]
    pub fn with_printed_items(mut self, printed: String) -> Self {
        self.printed = printed;
        self
    }
}

/// Prints modules in parallel, with one thread for each processor, because printing takes most of the run
/// time. If no thread can be started, as in WebAssembly, the calling thread prints them. The results are in
/// the order of the modules. Each is the source code, or an error message if the generated code is not valid
/// Rust.
#[must_use]
pub fn print_modules(modules: &[GeneratedModule]) -> Vec<Result<String, String>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(modules.len().max(1));
    let queue = PrintQueue { modules, next: AtomicUsize::new(0), done: Mutex::default() };
    std::thread::scope(|scope| {
        let start_thread = || {
            // The parser and the printer are recursive and need a large stack.
            let worker = std::thread::Builder::new().stack_size(STACK_BYTES);
            worker.spawn_scoped(scope, || queue.print_remaining()).is_ok()
        };
        let started = (0..threads).filter(|_| start_thread()).count();
        if started == 0 {
            queue.print_remaining();
        }
    });
    let mut done = queue.done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, printed)| printed).collect()
}

/// The modules that several threads print.
struct PrintQueue<'a> {
    modules: &'a [GeneratedModule],
    /// The index of the next module.
    next: AtomicUsize,
    /// The printed modules with their indices.
    done: Mutex<Vec<(usize, Result<String, String>)>>,
}

impl PrintQueue<'_> {
    fn print_remaining(&self) {
        while let Some((index, module)) = self.take_next() {
            let printed = print_module(module);
            self.done.lock().unwrap_or_else(PoisonError::into_inner).push((index, printed));
        }
    }

    fn take_next(&self) -> Option<(usize, &GeneratedModule)> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        Some((index, self.modules.get(index)?))
    }
}

/// Prints one module. Returns an error message if its source is not valid Rust.
fn print_module(module: &GeneratedModule) -> Result<String, String> {
    let mut out = String::from("// @generated by contract-codegen; do not edit.\n\n");
    for line in &module.doc {
        out.push_str(if line.is_empty() { "//!" } else { "//! " });
        out.push_str(line);
        out.push('\n');
    }
    // Items are parsed one by one, because the syntax tree of a whole module takes many times the memory of
    // its source.
    let items = |input: ParseStream<'_>| {
        for attribute in input.call(Attribute::parse_inner)? {
            out.push('\n');
            out.push_str(&format_items(vec![attribute], Vec::new()));
        }
        let mut close = false;
        while !input.is_empty() {
            let item: Item = input.parse()?;
            let joins = matches!(item, Item::Use(_))
                || matches!(&item, Item::Mod(m) if m.content.is_none() && m.attrs.is_empty());
            if !(joins && close) {
                out.push('\n');
            }
            close = joins;
            out.push_str(&match &item {
                Item::Macro(call) => print_enum_macro(call)
                    .or_else(|| macro_calls::print_macro_call(call))
                    .map(|text| format!("{}{text}", print_attributes(&call.attrs)))
                    .unwrap_or_else(|| format_items(Vec::new(), vec![item])),
                Item::Static(table) => table_rows::print_table(table)
                    .unwrap_or_else(|| separate_members(&format_items(Vec::new(), vec![item]))),
                _ => separate_members(&format_items(Vec::new(), vec![item])),
            });
        }
        Ok(())
    };
    items.parse_str(&module.source).map_err(|e| e.to_string())?;
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
    let item = syn::parse_quote!(#(#attributes)* struct Item;);
    format_items(Vec::new(), vec![item]).trim_end().trim_end_matches("struct Item;").to_owned()
}

/// Formats a macro call that contains a single enum. Returns `None` for any other macro call.
fn print_enum_macro(call: &ItemMacro) -> Option<String> {
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
        let text = print_module(&GeneratedModule::new("m", Vec::new(), &tokens)).unwrap();
        assert!(text.contains("#[cfg(feature = \"a\")]\nobject! {"), "{text}");
    }

    /// Without threads, the calling thread prints all modules. The result does not depend on the threads.
    #[test]
    fn calling_thread_can_print_all_modules() {
        let modules: Vec<GeneratedModule> = (0..9)
            .map(|index| {
                GeneratedModule::new(
                    format!("m{index}"),
                    vec![format!("{index}.")],
                    &quote!(
                        struct S;
                    ),
                )
            })
            .collect();
        let queue = PrintQueue { modules: &modules, next: AtomicUsize::new(0), done: Mutex::default() };
        queue.print_remaining();
        let printed: Vec<_> =
            queue.done.into_inner().unwrap().into_iter().map(|(_, printed)| printed).collect();
        assert_eq!(printed, print_modules(&modules));
        assert!(printed[8].as_ref().unwrap().contains("//! 8."));
    }

    #[test]
    fn blank_lines_separate_items_and_members() {
        let tokens = quote! {
            use a::b;
            use c::d;
            struct S;
            impl S { const A: u8 = 1; fn f() {} #[doc = " doc"] fn g() {} }
        };
        let text = print_module(&GeneratedModule::new("m", vec!["A module.".to_owned()], &tokens)).unwrap();
        let expect = "// @generated by contract-codegen; do not edit.\n\n//! A module.\n\nuse a::b;\nuse c::d;\n\nstruct S;\n\nimpl S {\n    const A: u8 = 1;\n\n    fn f() {}\n\n    /// doc\n    fn g() {}\n}\n";
        assert_eq!(text, expect);
    }
}
