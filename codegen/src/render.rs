//! Prints modules: header first, one blank line between items, nothing that depends on time,
//! place or order of reading.

mod calls;
mod rows;

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

/// Output: path below the output folder, with `/`, and content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(pub BTreeMap<String, String>);

impl Files {
    /// Adds a file.
    pub fn insert(&mut self, path: impl Into<String>, content: String) {
        self.0.insert(path.into(), content);
    }

    /// All files, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, content)| (path.as_str(), content.as_str()))
    }
}

/// Bytes of stack of a printing thread; only what is used becomes memory.
const STACK: usize = 256 << 20;

/// A part of a package that its users choose by a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Calls the interface.
    Client,
    /// Answers it.
    Server,
    /// Publishes the schemas of types.
    Schemars,
    /// Makes values of types for tests.
    Proptest,
    /// Calls the interface from a terminal.
    Cli,
}

impl Part {
    /// The name of its feature, here and in the runtime.
    #[must_use]
    pub const fn feature(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Schemars => "schemars",
            Self::Proptest => "proptest",
            Self::Cli => "cli",
        }
    }
}

/// The parts that need a module: it is compiled with any of them, and always when there are none.
pub type Gate = &'static [Part];

/// A module before it is printed.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Lines of its documentation.
    pub doc: Vec<String>,
    /// The parts that need it.
    pub gate: Gate,
    /// Whether documentation leaves it out.
    pub hidden: bool,
    /// Its items, as text that only a compiler reads.
    source: String,
    /// Items in print, which follow the others.
    printed: String,
}

impl Module {
    /// Takes over the items of a module.
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

    /// The same, compiled only with one of these parts.
    #[must_use]
    pub fn behind(mut self, gate: Gate) -> Self {
        self.gate = gate;
        self
    }

    /// The same, left out of documentation.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Lets it use what the contract calls deprecated.
    pub fn allow_deprecated(&mut self) {
        const ALLOW: &str = "#![allow(deprecated, reason = \"what the contract calls deprecated is generated all the same\")] ";
        if !self.source.starts_with(ALLOW) {
            self.source.insert_str(0, ALLOW);
        }
    }

    /// Whether it passes on what stands in other modules.
    #[must_use]
    pub fn passes_on(&self) -> bool {
        self.source.contains("pub use ")
    }

    /// The same with items that are in print already.
    #[must_use]
    pub fn followed_by(mut self, printed: String) -> Self {
        self.printed = printed;
        self
    }
}

/// Prints modules, on as many threads as there are processors: printing is two thirds of the
/// work of a run. The order of the results is that of the modules.
#[must_use]
pub fn modules(modules: &[Module]) -> Vec<Result<String, String>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(modules.len().max(1));
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<String, String>)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            // Parser and printer descend into what they read.
            let worker = std::thread::Builder::new().stack_size(STACK);
            let spawned = worker.spawn_scoped(scope, || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(module) = modules.get(index) else { break };
                    let printed = print(module);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((index, printed));
                }
            });
            if let Err(error) = spawned {
                let message = format!("cannot start a thread to print on: {error}");
                done.lock().unwrap_or_else(PoisonError::into_inner).push((0, Err(message)));
            }
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, printed)| printed).collect()
}

/// Prints one module. Fails when its source is no Rust; the message says why.
fn print(module: &Module) -> Result<String, String> {
    let mut out = String::from("// @generated by contract-codegen; do not edit.\n\n");
    for line in &module.doc {
        out.push_str(if line.is_empty() { "//!" } else { "//! " });
        out.push_str(line);
        out.push('\n');
    }
    // One item at a time: the tree of a whole module would be many times its text.
    let items = |input: ParseStream<'_>| {
        for attribute in input.call(Attribute::parse_inner)? {
            out.push('\n');
            out.push_str(&unparse(vec![attribute], Vec::new()));
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
                Item::Macro(call) => held(call)
                    .or_else(|| calls::print(call))
                    .unwrap_or_else(|| unparse(Vec::new(), vec![item])),
                Item::Static(table) => {
                    rows::print(table).unwrap_or_else(|| spaced(&unparse(Vec::new(), vec![item])))
                }
                _ => spaced(&unparse(Vec::new(), vec![item])),
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

/// A call of a macro that takes one item, printed as items are.
fn held(call: &ItemMacro) -> Option<String> {
    let item: ItemEnum = call.mac.parse_body().ok()?;
    let mut out = format!("{}! {{\n", calls::path(call));
    for line in unparse(Vec::new(), vec![Item::Enum(item)]).lines() {
        out.push_str(if line.is_empty() { "" } else { "    " });
        out.push_str(line);
        out.push('\n');
    }
    out.push_str("}\n");
    Some(out)
}

fn unparse(attrs: Vec<Attribute>, items: Vec<Item>) -> String {
    prettyplease::unparse(&syn::File { shebang: None, frontmatter: None, attrs, items })
}

/// Puts a blank line between the members of an `impl` or a trait.
fn spaced(text: &str) -> String {
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

    #[test]
    fn items_and_members_stand_apart() {
        let tokens = quote! {
            use a::b;
            use c::d;
            struct S;
            impl S { const A: u8 = 1; fn f() {} #[doc = " doc"] fn g() {} }
        };
        let text = print(&Module::new("m", vec!["A module.".to_owned()], &tokens)).unwrap();
        let expect = "// @generated by contract-codegen; do not edit.\n\n//! A module.\n\nuse a::b;\nuse c::d;\n\nstruct S;\n\nimpl S {\n    const A: u8 = 1;\n\n    fn f() {}\n\n    /// doc\n    fn g() {}\n}\n";
        assert_eq!(text, expect);
    }
}
