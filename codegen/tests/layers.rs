//! Tests of the dependencies between modules: a module may use only modules of lower layers, without cycles.
//!
//! The imports are parsed from the sources, without tests. If a module needs an item of a higher layer, move
//! the item to a layer below both modules.
//!
//! The pipeline, the library of the command and the runtime each have a list of layers. The other crates of
//! the workspace must have no cycles.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic on failure")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::punctuated::Punctuated;

/// The modules of the pipeline, from the lowest layer up. Each module uses only modules before it.
const PIPELINE: &[&str] = &[
    // These modules contain shared concepts: documents, schemas, operations and diagnostics.
    "arena",
    "list_arena",
    "stack",
    "tree",
    "schema",
    "constraint_text",
    "api",
    "diagnostics",
    "config",
    "names",
    "formats",
    "options",
    // These modules load contracts.
    "load",
    "resolve",
    "pattern",
    // These modules plan the output: conjunctions, directions, names, selected parts, types and calls.
    "conjunction",
    "directions",
    "naming",
    "prune",
    "shape",
    "tables",
    "typed_value",
    "checks",
    "plan",
    // These modules generate code.
    "rust_types",
    "emit",
    "operations",
    "calls",
    "views",
    "servers",
    "client",
    "credentials",
    "command_line",
    "server",
    "registry",
    "render",
    "package",
    "write",
    // These modules contain the results, their checks, and the run of all stages.
    "analyzed_contract",
    "locations",
    "enforced_constraints",
    "proof",
    "generate",
    "build",
];

/// The modules of the command's library, which are based on the pipeline. Each module uses only modules
/// before it.
const GENERATOR: &[&str] = &["canonical", "drift", "explain", "lower", "report", "init", "mock", "mcp"];

/// The modules of the runtime, from the lowest layer up. Each module uses only modules before it.
const RUNTIME: &[&str] = &[
    // These modules contain strings, patterns and pointers.
    "text",
    "random",
    "clock",
    "depth",
    "pointer",
    "json_type",
    "media_type",
    "path_template",
    "pattern",
    // These modules contain JSON values, their parsing, and types based on them.
    "raw",
    "member_key",
    "map",
    "nullable",
    "number",
    "json",
    "secret",
    "timestamp",
    "format",
    "read",
    // These modules contain schemas and validation.
    "violation",
    "schema",
    "contract",
    "json_schema",
    "strategies",
    "macros",
    // These modules contain operations, clients and servers.
    "parameters",
    "sequence",
    "operation",
    "security",
    "multipart",
    "transport",
    "stream",
    "client",
    "layers",
    "server",
    "cli",
];

/// For each top-level module, the modules that it uses, each with one file that uses it. Modules without uses
/// are included.
type ModuleUses = BTreeMap<String, BTreeMap<String, String>>;

fn read_uses(source: &Path) -> ModuleUses {
    let crate_root =
        ["lib.rs", "main.rs"].map(|file| source.join(file)).into_iter().find(|file| file.exists()).unwrap();
    let reexports = read_reexports(&crate_root);
    let mut uses = ModuleUses::new();
    let mut files = vec![(crate_root, PathBuf::new(), None)];
    while let Some((file, module, from)) = files.pop() {
        let depth = module.iter().count();
        let (names, submodules) = read_file_uses(&file, depth);
        files.extend(submodules.into_iter().map(|Submodule { name, is_kit }| {
            let module = module.join(name);
            let own = || module.display().to_string();
            let from = if is_kit { own() } else { from.clone().unwrap_or_else(own) };
            (source.join(&module).with_extension("rs"), module, Some(from))
        }));
        // The crate root may use all modules.
        let Some(from) = from else { continue };
        let uses = uses.entry(from.clone()).or_default();
        for to in names {
            let to = reexports.get(&to).cloned().unwrap_or(to);
            if to != from {
                uses.entry(to).or_insert_with(|| module.with_extension("rs").display().to_string());
            }
        }
    }
    uses
}

/// Returns the names that the crate root re-exports, each with the module that defines it.
fn read_reexports(crate_root: &Path) -> BTreeMap<String, String> {
    fn collect_leaves(tree: &syn::UseTree, module: &str, found: &mut BTreeMap<String, String>) {
        match tree {
            syn::UseTree::Path(path) => collect_leaves(&path.tree, module, found),
            syn::UseTree::Name(name) => drop(found.insert(name.ident.to_string(), module.to_owned())),
            syn::UseTree::Rename(name) => drop(found.insert(name.rename.to_string(), module.to_owned())),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| collect_leaves(tree, module, found))
            }
            syn::UseTree::Glob(_) => panic!("the crate root must not re-export all of `{module}`"),
        }
    }
    let mut found = BTreeMap::new();
    for item in syn::parse_file(&fs::read_to_string(crate_root).unwrap()).unwrap().items {
        if let syn::Item::Use(item) = item
            && let syn::UseTree::Path(path) = &item.tree
            && crate_root.with_file_name(format!("{}.rs", path.ident)).exists()
        {
            collect_leaves(&path.tree, &path.ident.to_string(), &mut found);
        }
    }
    found
}

/// A module in a separate file.
struct Submodule {
    name: String,
    /// Whether the module is a test kit, which a feature publishes for the tests of other crates. A test kit
    /// is a separate layer above the modules that it tests, regardless of the location of its file.
    is_kit: bool,
}

/// Returns the top-level modules that a file uses, and its submodules in separate files. The file is `depth`
/// modules below the crate root. Items for tests are skipped.
fn read_file_uses(path: &Path, depth: usize) -> (BTreeSet<String>, Vec<Submodule>) {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = syn::parse_file(&text).unwrap();
    let (mut found, mut submodules) = (BTreeSet::new(), Vec::new());
    for item in file.items {
        let attributes = match &item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if attributes.iter().any(is_for_tests) {
            continue;
        }
        match item {
            // A file of another crate is checked together with that crate.
            syn::Item::Mod(item) if item.attrs.iter().any(|attribute| attribute.path().is_ident("path")) => {}
            syn::Item::Mod(item) if item.content.is_none() => {
                let is_kit = item.attrs.iter().any(is_for_test_kits);
                submodules.push(Submodule { name: item.ident.to_string(), is_kit });
            }
            item => collect_names(item.to_token_stream(), depth, &mut found),
        }
    }
    (found, submodules)
}

/// Returns true if an attribute restricts an item to tests: `#[test]`, or a `#[cfg(…)]` that only test builds
/// satisfy. Returns false if a feature can also enable the item, because the item then belongs to the crate.
fn is_for_tests(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("test")
        || attribute.path().is_ident("cfg") && attribute.parse_args().is_ok_and(|meta| requires_test(&meta))
}

/// Returns true if an attribute enables an item both in tests and by a feature.
fn is_for_test_kits(attribute: &syn::Attribute) -> bool {
    let is_either = |meta: syn::Meta| match meta {
        syn::Meta::List(list) => {
            list.path.is_ident("any") && parse_conditions(&list).iter().any(requires_test)
        }
        _ => false,
    };
    attribute.path().is_ident("cfg") && attribute.parse_args().is_ok_and(is_either)
}

fn requires_test(condition: &syn::Meta) -> bool {
    match condition {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) if list.path.is_ident("all") => {
            parse_conditions(list).iter().any(requires_test)
        }
        syn::Meta::List(list) if list.path.is_ident("any") => {
            parse_conditions(list).iter().all(requires_test)
        }
        _ => false,
    }
}

/// Returns the conditions in a list.
fn parse_conditions(list: &syn::MetaList) -> Punctuated<syn::Meta, syn::Token![,]> {
    list.parse_args_with(Punctuated::parse_terminated).unwrap_or_default()
}

/// Collects the names after `crate::`, or after as many `super::` as are needed to reach the crate root.
fn collect_names(tokens: TokenStream, depth: usize, found: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let before = |back: usize| index.checked_sub(back).map(|before| tokens[before].to_string());
        match token {
            // Quoted tokens refer to modules of the generated code.
            TokenTree::Group(_) if before(2).is_some_and(|ident| ident == "quote") => {}
            // An inline module is one level deeper.
            TokenTree::Group(group) if before(2).is_some_and(|ident| ident == "mod") => {
                collect_names(group.stream(), depth + 1, found);
            }
            TokenTree::Group(group) => collect_names(group.stream(), depth, found),
            // `$crate` refers to the crate of the macro and is not an import.
            TokenTree::Ident(ident) if ident == "crate" && before(1).is_none_or(|punct| punct != "$") => {
                collect_path_heads(tokens.get(index + 3..).unwrap_or_default(), 0, found);
            }
            TokenTree::Ident(ident) if ident == "super" && before(1).is_none_or(|punct| punct != ":") => {
                collect_path_heads(&tokens[index..], depth, found);
            }
            _ => {}
        }
    }
}

/// Collects the first name of a path, or of each path in a group, after `up` segments `super`.
fn collect_path_heads(tokens: &[TokenTree], up: usize, found: &mut BTreeSet<String>) {
    match (tokens.first(), up) {
        (Some(TokenTree::Ident(ident)), 1..) if ident == "super" => {
            collect_path_heads(tokens.get(3..).unwrap_or_default(), up - 1, found);
        }
        (Some(TokenTree::Ident(name)), 0) => {
            found.insert(name.to_string());
        }
        (Some(TokenTree::Group(group)), _) => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            let comma =
                |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
            inner.split(comma).for_each(|path| collect_path_heads(path, up, found));
        }
        _ => {}
    }
}

/// Finds a chain of uses from one module to another.
fn find_path<'a>(uses: &'a ModuleUses, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut paths = vec![vec![from]];
    let mut seen = BTreeSet::new();
    while let Some(path) = paths.pop() {
        let module = *path.last()?;
        for next in uses.get(module).into_iter().flat_map(BTreeMap::keys) {
            let mut longer = path.clone();
            longer.push(next);
            if next == to {
                return Some(longer);
            }
            if seen.insert(next) {
                paths.push(longer);
            }
        }
    }
    None
}

#[track_caller]
fn check_layers(source: &str, layers: &[&str]) {
    let uses = read_uses(&Path::new(env!("CARGO_MANIFEST_DIR")).join(source));
    let mut problems = Vec::new();
    let layer = |name: &str| layers.iter().position(|other| *other == name);
    let gone = layers.iter().filter(|name| !uses.contains_key(**name));
    problems.extend(gone.map(|name| format!("`{name}` is in the list, but not in the crate")));
    for (from, used) in &uses {
        let Some(upper) = layer(from) else {
            problems.push(format!("`{from}` is not in the list"));
            continue;
        };
        for (to, file) in used {
            match layer(to) {
                Some(lower) if lower < upper => {}
                Some(_) => problems.push(format!("{file}: `{from}` uses `{to}`, which is in a higher layer")),
                None => problems.push(format!("{file}: `{from}` uses `{to}`, which is not in the list")),
            }
        }
        if let Some(cycle) = find_path(&uses, from, from) {
            problems.push(format!("cycle: {}", cycle.join(" → ")));
        }
    }
    assert!(problems.is_empty(), "{source}:\n{}", problems.join("\n"));
}

#[test]
fn pipeline_modules_use_only_lower_layers() {
    check_layers("core/src", PIPELINE);
}

#[test]
fn generator_modules_use_only_lower_layers() {
    check_layers("src", GENERATOR);
}

#[test]
fn runtime_modules_use_only_lower_layers() {
    check_layers("../runtime/src", RUNTIME);
}

/// Returns the source folders of the handwritten workspace members that have no list of layers.
fn other_crates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let (_, members) = manifest.split_once("\nmembers = [").unwrap();
    let members = members.split(']').next().unwrap().split(',').map(|name| name.trim().trim_matches('"'));
    let excluded = ["codegen", "codegen/core", "runtime", "generated"];
    let others = members.filter(|name| !excluded.contains(name)).map(|name| root.join(name).join("src"));
    others.filter(|source| source.exists()).collect()
}

#[test]
fn other_crates_have_no_module_cycles() {
    let crates = other_crates();
    assert!(crates.len() > 7, "{crates:?}");
    let mut cycles = Vec::new();
    for source in crates {
        let uses = read_uses(&source);
        let paths = uses.keys().filter_map(|name| find_path(&uses, name, name));
        cycles.extend(paths.map(|path| {
            let steps = path.windows(2).map(|step| format!("{} ({})", step[1], uses[step[0]][step[1]]));
            format!("{}: {} → {}", source.display(), path[0], steps.collect::<Vec<_>>().join(" → "))
        }));
    }
    assert!(cycles.is_empty(), "{}", cycles.join("\n"));
}

/// Each of the few public modules of the generator is listed in the crate documentation and has an example.
#[test]
fn public_modules_are_few_and_have_examples() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let crate_root = fs::read_to_string(source.join("lib.rs")).unwrap();
    let public = syn::parse_file(&crate_root).unwrap().items.into_iter().filter_map(|item| match item {
        syn::Item::Mod(module) if matches!(module.vis, syn::Visibility::Public(_)) => {
            Some(module.ident.to_string())
        }
        _ => None,
    });
    let public: Vec<String> = public.collect();
    assert!((5..=10).contains(&public.len()), "{public:?}");
    for name in public {
        let row = |line: &str| line.starts_with("//! | ") && line.contains(&format!("`{name}`"));
        assert!(crate_root.lines().any(row), "`{name}` is not in the table of lib.rs");
        let text = fs::read_to_string(source.join(&name).with_extension("rs")).unwrap();
        let mut about = text.lines().take_while(|line| line.starts_with("//!"));
        assert!(
            about.any(|line| line.starts_with("//! ```")),
            "`{name}` has no example in its documentation"
        );
    }
}

#[track_caller]
fn assert_imports(text: &str, depth: usize, expect: &[&str]) {
    let mut found = BTreeSet::new();
    collect_names(text.parse().unwrap(), depth, &mut found);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), expect, "{text}");
}

/// An item is skipped only if it exists only in test builds; a feature may publish other items.
#[test]
fn only_items_for_tests_are_skipped() {
    let check = |attribute: &str, expect: bool| {
        let item: syn::ItemMod = syn::parse_str(&format!("{attribute} mod m {{}}")).unwrap();
        assert_eq!(item.attrs.iter().any(is_for_tests), expect, "{attribute}");
        let is_kit = !expect && item.attrs.iter().any(is_for_test_kits);
        assert_eq!(is_kit, attribute.contains("contract-tests"), "{attribute}");
    };
    check("#[test]", true);
    check("#[cfg(test)]", true);
    check("#[cfg(all(test, feature = \"http\"))]", true);
    check("#[cfg(any(test, all(unix, test)))]", true);
    check("#[cfg(any(test, feature = \"contract-tests\"))]", false);
    check("#[cfg(feature = \"test\")]", false);
    check("#[cfg(not(test))]", false);
    check("#[doc = \"a test\"]", false);
}

#[test]
fn crate_imports_are_found_in_all_items() {
    let text = "use crate::{a::{x, y}, b, c::z as d}; fn f() { crate::e::g(crate::h::I) } macro_rules! m { () => { $crate::k }; }";
    assert_imports(text, 1, &["a", "b", "c", "e", "h"]);
}

/// `super` is the crate in a file next to the crate root, and `super::super` is the crate in a subfolder.
#[test]
fn super_imports_are_found() {
    assert_imports("use super::{a::x, b}; pub(super) fn f() { super::c::g() }", 1, &["a", "b", "c"]);
    assert_imports(
        "use super::{a, super::{b::x, c}}; fn f() { super::d(super::super::e::g()) }",
        2,
        &["b", "c", "e"],
    );
    assert_imports("mod inner { use super::{a, super::b}; } use super::c;", 1, &["b", "c"]);
    assert_imports("fn f() { g(super::a::x, quote!(use super::b;)) }", 1, &["a"]);
}
