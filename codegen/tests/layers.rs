//! Which module may use which: arrows lead downwards along one list, and never in a circle.
//!
//! The imports are read from the sources, tests aside. A module that needs something of one above
//! it shows that a concept lives in the wrong room: move it down, to where both can call it.
//!
//! The generator and the runtime have a list each; of the other crates of the workspace it is
//! asked that there is one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::punctuated::Punctuated;

/// The modules of the pipeline from the ground up; each uses those before it.
const PIPELINE: &[&str] = &[
    // What everybody speaks of: documents, schemas, operations, problems.
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
    // Reading.
    "load",
    "resolve",
    "pattern",
    // Deciding: what holds at a place and in which direction, names, the part, types, calls.
    "conjunction",
    "directions",
    "naming",
    "prune",
    "shape",
    "tables",
    "typed_value",
    "checks",
    "plan",
    // Writing.
    "rust_types",
    "emit",
    "operations",
    "calls",
    "views",
    "client",
    "credentials",
    "command_line",
    "server",
    "registry",
    "render",
    "package",
    "write",
    // The results, their checks, and the run of all stages.
    "analyzed_contract",
    "locations",
    "enforced_constraints",
    "proof",
    "generate",
    "build",
];

/// The modules of the command's library, which are based on the pipeline; each uses those before it.
const GENERATOR: &[&str] = &["canonical", "drift", "explain", "lower", "report", "init", "mock"];

/// The modules of the runtime, likewise.
const RUNTIME: &[&str] = &[
    // Text, its forms and its places.
    "text",
    "depth",
    "pointer",
    "json_type",
    "media_type",
    "path_template",
    "pattern",
    // Values, how they come out of `serde_json`, and types over them.
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
    // What a contract asks of values.
    "violation",
    "schema",
    "contract",
    "json_schema",
    "strategies",
    "macros",
    // What it says of calls.
    "parameters",
    "sequence",
    "operation",
    "multipart",
    "transport",
    "stream",
    "client",
    "layers",
    "server",
    "cli",
];

/// Who uses whom, by top-level module, and one file that does. Who uses nobody is there, too.
type Uses = BTreeMap<String, BTreeMap<String, String>>;

fn uses(source: &Path) -> Uses {
    let face =
        ["lib.rs", "main.rs"].map(|face| source.join(face)).into_iter().find(|face| face.exists()).unwrap();
    let shown = shown(&face);
    let mut uses = Uses::new();
    let mut files = vec![(face, PathBuf::new(), None)];
    while let Some((file, module, from)) = files.pop() {
        let depth = module.iter().count();
        let (names, inside) = used(&file, depth);
        files.extend(inside.into_iter().map(|Inside { name, is_kit }| {
            let module = module.join(name);
            let own = || module.display().to_string();
            let from = if is_kit { own() } else { from.clone().unwrap_or_else(own) };
            (source.join(&module).with_extension("rs"), module, Some(from))
        }));
        // The crate's face shows them all.
        let Some(from) = from else { continue };
        let uses = uses.entry(from.clone()).or_default();
        for to in names {
            let to = shown.get(&to).cloned().unwrap_or(to);
            if to != from {
                uses.entry(to).or_insert_with(|| module.with_extension("rs").display().to_string());
            }
        }
    }
    uses
}

/// What the crate's face shows by its own name, with the module that has it.
fn shown(face: &Path) -> BTreeMap<String, String> {
    fn leaves(tree: &syn::UseTree, module: &str, found: &mut BTreeMap<String, String>) {
        match tree {
            syn::UseTree::Path(path) => leaves(&path.tree, module, found),
            syn::UseTree::Name(name) => drop(found.insert(name.ident.to_string(), module.to_owned())),
            syn::UseTree::Rename(name) => drop(found.insert(name.rename.to_string(), module.to_owned())),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, module, found)),
            syn::UseTree::Glob(_) => panic!("a face that shows all of `{module}` says nothing"),
        }
    }
    let mut found = BTreeMap::new();
    for item in syn::parse_file(&fs::read_to_string(face).unwrap()).unwrap().items {
        if let syn::Item::Use(item) = item
            && let syn::UseTree::Path(path) = &item.tree
            && face.with_file_name(format!("{}.rs", path.ident)).exists()
        {
            leaves(&path.tree, &path.ident.to_string(), &mut found);
        }
    }
    found
}

/// A module in a file of its own.
struct Inside {
    name: String,
    /// Whether it is a kit: what a feature shows for the tests of others. It stands above what it tests, wherever
    /// its file lies, and so by itself.
    is_kit: bool,
}

/// The top-level modules that a file names, `depth` modules below the crate's face, and the modules in it that have
/// files; what is there for tests alone stands aside.
fn used(path: &Path, depth: usize) -> (BTreeSet<String>, Vec<Inside>) {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = syn::parse_file(&text).unwrap();
    let (mut found, mut inside) = (BTreeSet::new(), Vec::new());
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
            // A file of another crate is read there.
            syn::Item::Mod(item) if item.attrs.iter().any(|attribute| attribute.path().is_ident("path")) => {}
            syn::Item::Mod(item) if item.content.is_none() => {
                let is_kit = item.attrs.iter().any(is_for_kits);
                inside.push(Inside { name: item.ident.to_string(), is_kit });
            }
            item => names(item.to_token_stream(), depth, &mut found),
        }
    }
    (found, inside)
}

/// Whether what an attribute stands on is there in tests alone: `#[test]`, and `#[cfg(…)]` that no other
/// build fulfils. What a feature brings, too, is of the crate.
fn is_for_tests(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("test")
        || attribute.path().is_ident("cfg") && attribute.parse_args().is_ok_and(|meta| asks_for_test(&meta))
}

/// Whether it is there in tests, and wherever a feature asks for it.
fn is_for_kits(attribute: &syn::Attribute) -> bool {
    let is_either = |meta: syn::Meta| match meta {
        syn::Meta::List(list) => list.path.is_ident("any") && conditions(&list).iter().any(asks_for_test),
        _ => false,
    };
    attribute.path().is_ident("cfg") && attribute.parse_args().is_ok_and(is_either)
}

fn asks_for_test(condition: &syn::Meta) -> bool {
    match condition {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) if list.path.is_ident("all") => conditions(list).iter().any(asks_for_test),
        syn::Meta::List(list) if list.path.is_ident("any") => conditions(list).iter().all(asks_for_test),
        _ => false,
    }
}

/// What a list of conditions lists.
fn conditions(list: &syn::MetaList) -> Punctuated<syn::Meta, syn::Token![,]> {
    list.parse_args_with(Punctuated::parse_terminated).unwrap_or_default()
}

/// What stands behind `crate::`, or behind as many `super::` as lead there.
fn names(tokens: TokenStream, depth: usize, found: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let before = |back: usize| at.checked_sub(back).map(|before| tokens[before].to_string());
        match token {
            // What is quoted names modules of what is generated.
            TokenTree::Group(_) if before(2).is_some_and(|word| word == "quote") => {}
            // A module that stands in its file is one further down.
            TokenTree::Group(group) if before(2).is_some_and(|word| word == "mod") => {
                names(group.stream(), depth + 1, found);
            }
            TokenTree::Group(group) => names(group.stream(), depth, found),
            // `$crate` is for those who call the macro.
            TokenTree::Ident(word) if word == "crate" && before(1).is_none_or(|sign| sign != "$") => {
                behind(tokens.get(at + 3..).unwrap_or_default(), 0, found);
            }
            TokenTree::Ident(word) if word == "super" && before(1).is_none_or(|sign| sign != ":") => {
                behind(&tokens[at..], depth, found);
            }
            _ => {}
        }
    }
}

/// The first name of a path, or of each path of a group, that leads `up` modules up.
fn behind(tokens: &[TokenTree], up: usize, found: &mut BTreeSet<String>) {
    match (tokens.first(), up) {
        (Some(TokenTree::Ident(word)), 1..) if word == "super" => {
            behind(tokens.get(3..).unwrap_or_default(), up - 1, found);
        }
        (Some(TokenTree::Ident(name)), 0) => {
            found.insert(name.to_string());
        }
        (Some(TokenTree::Group(group)), _) => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            let comma = |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ',');
            inner.split(comma).for_each(|path| behind(path, up, found));
        }
        _ => {}
    }
}

/// The way from one module to another.
fn way<'a>(uses: &'a Uses, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut ways = vec![vec![from]];
    let mut seen = BTreeSet::new();
    while let Some(so_far) = ways.pop() {
        let at = *so_far.last()?;
        for next in uses.get(at).into_iter().flat_map(BTreeMap::keys) {
            let mut longer = so_far.clone();
            longer.push(next);
            if next == to {
                return Some(longer);
            }
            if seen.insert(next) {
                ways.push(longer);
            }
        }
    }
    None
}

#[track_caller]
fn check(source: &str, layers: &[&str]) {
    let uses = uses(&Path::new(env!("CARGO_MANIFEST_DIR")).join(source));
    assert!(uses.len() >= 7, "only {} modules were read", uses.len());
    let mut problems = Vec::new();
    let layer = |name: &str| layers.iter().position(|other| *other == name);
    let gone = layers.iter().filter(|name| !uses.contains_key(**name));
    problems.extend(gone.map(|name| format!("`{name}` is in the list, and nowhere else")));
    for (from, all) in &uses {
        let Some(upper) = layer(from) else {
            problems.push(format!("`{from}` is not in the list"));
            continue;
        };
        for (to, file) in all {
            match layer(to) {
                Some(lower) if lower < upper => {}
                Some(_) => problems.push(format!("{file}: `{from}` uses `{to}`, which stands above it")),
                None => problems.push(format!("{file}: `{from}` uses `{to}`, which is not in the list")),
            }
        }
        if let Some(way) = way(&uses, from, from) {
            problems.push(format!("a circle: {}", way.join(" → ")));
        }
    }
    assert!(problems.is_empty(), "{source}:\n{}", problems.join("\n"));
}

#[test]
fn modules_of_the_pipeline_use_only_those_below() {
    check("core/src", PIPELINE);
}

#[test]
fn modules_of_the_generator_use_only_those_below() {
    check("src", GENERATOR);
}

#[test]
fn arrows_of_the_runtime_lead_downwards() {
    check("../runtime/src", RUNTIME);
}

/// The members of the workspace that have neither of these lists, and that somebody wrote.
fn others() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let (_, members) = manifest.split_once("\nmembers = [").unwrap();
    let members = members.split(']').next().unwrap().split(',').map(|name| name.trim().trim_matches('"'));
    let apart = ["codegen", "codegen/core", "runtime", "generated"];
    let others = members.filter(|name| !apart.contains(name)).map(|name| root.join(name).join("src"));
    others.filter(|source| source.exists()).collect()
}

#[test]
fn arrows_of_the_other_crates_lead_in_no_circle() {
    let crates = others();
    assert!(crates.len() > 7, "{crates:?}");
    let mut circles = Vec::new();
    for source in crates {
        let uses = uses(&source);
        let ways = uses.keys().filter_map(|name| way(&uses, name, name));
        circles.extend(ways.map(|way| {
            let steps = way.windows(2).map(|step| format!("{} ({})", step[1], uses[step[0]][step[1]]));
            format!("{}: {} → {}", source.display(), way[0], steps.collect::<Vec<_>>().join(" → "))
        }));
    }
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

/// What others may use of the generator is little, stands on the crate's first page, and is shown by example.
#[test]
fn the_face_of_the_generator_is_small_and_shown() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let face = fs::read_to_string(source.join("lib.rs")).unwrap();
    let public = syn::parse_file(&face).unwrap().items.into_iter().filter_map(|item| match item {
        syn::Item::Mod(module) if matches!(module.vis, syn::Visibility::Public(_)) => {
            Some(module.ident.to_string())
        }
        _ => None,
    });
    let public: Vec<String> = public.collect();
    assert!((5..=10).contains(&public.len()), "{public:?}");
    for name in public {
        let row = |line: &str| line.starts_with("//! | ") && line.contains(&format!("`{name}`"));
        assert!(face.lines().any(row), "`{name}` is not in the table of lib.rs");
        let text = fs::read_to_string(source.join(&name).with_extension("rs")).unwrap();
        let mut about = text.lines().take_while(|line| line.starts_with("//!"));
        assert!(about.any(|line| line.starts_with("//! ```")), "`{name}` has no example at its head");
    }
}

#[track_caller]
fn finds(text: &str, depth: usize, expect: &[&str]) {
    let mut found = BTreeSet::new();
    names(text.parse().unwrap(), depth, &mut found);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), expect, "{text}");
}

/// A word of it is not enough: what a feature shows to others is compiled for them, and looked at.
#[test]
fn what_stands_aside_is_there_for_tests_alone() {
    let check = |attribute: &str, expect: bool| {
        let item: syn::ItemMod = syn::parse_str(&format!("{attribute} mod m {{}}")).unwrap();
        assert_eq!(item.attrs.iter().any(is_for_tests), expect, "{attribute}");
        let is_kit = !expect && item.attrs.iter().any(is_for_kits);
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
fn imports_are_found_wherever_they_stand() {
    let text = "use crate::{a::{x, y}, b, c::z as d}; fn f() { crate::e::g(crate::h::I) } macro_rules! m { () => { $crate::k }; }";
    finds(text, 1, &["a", "b", "c", "e", "h"]);
}

/// In a file beside the crate's face `super` is the crate, in a folder `super::super` is.
#[test]
fn imports_by_way_of_the_module_above_are_found() {
    finds("use super::{a::x, b}; pub(super) fn f() { super::c::g() }", 1, &["a", "b", "c"]);
    finds("use super::{a, super::{b::x, c}}; fn f() { super::d(super::super::e::g()) }", 2, &["b", "c", "e"]);
    finds("mod inner { use super::{a, super::b}; } use super::c;", 1, &["b", "c"]);
    finds("fn f() { g(super::a::x, quote!(use super::b;)) }", 1, &["a"]);
}
