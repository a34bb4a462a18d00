//! Which module may use which: arrows lead downwards along one list, and never in a circle.
//!
//! The imports are read from the sources, tests aside. A module that needs something of one above
//! it shows that a concept lives in the wrong room: move it down, to where both can call it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;

/// The modules of the generator from the ground up; each uses those before it.
const GENERATOR: &[&str] = &[
    // What everybody speaks of: documents, schemas, operations, problems.
    "arena",
    "stack",
    "tree",
    "schema",
    "api",
    "diagnostics",
    "config",
    "names",
    "options",
    // Reading.
    "load",
    "resolve",
    "pattern",
    // Deciding: what holds at a place, names, the part, types, calls.
    "together",
    "naming",
    "prune",
    "shape",
    "tables",
    "held",
    "checks",
    "plan",
    // Writing.
    "rust_types",
    "emit",
    "operations",
    "lower",
    "refine",
    "client",
    "calls",
    "server",
    "registry",
    "render",
    "package",
    "write",
    // Looking at what was decided, and running all of it.
    "reading",
    "drift",
    "proof",
    "generate",
    "explain",
    "report",
    "init",
];

/// The modules of the runtime, likewise.
const RUNTIME: &[&str] = &[];

/// Circles that are left: two modules each. What is mended is taken out of the list.
const LEFT: &[(&str, &str)] = &[
    // What proofs are about is imported by its old name.
    ("generate", "proof"),
    // Documentation of arguments.
    ("client", "lower"),
    ("calls", "client"),
    // Readers of `serde` and the types that they read into.
    ("json", "read"),
    ("map", "read"),
    ("nullable", "read"),
    ("operation", "parameters"),
];

/// Who uses whom, by top-level module, and one file that does.
type Uses = BTreeMap<String, BTreeMap<String, String>>;

fn uses(source: &Path) -> Uses {
    let mut uses = Uses::new();
    let mut folders = vec![source.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(source).unwrap().to_string_lossy().replace('\\', "/");
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") && !name.contains("tests/") {
                let from = name.split(['/', '.']).next().unwrap().to_owned();
                for to in used(&path) {
                    uses.entry(from.clone()).or_default().entry(to).or_insert_with(|| name.clone());
                }
            }
        }
    }
    // The crate's face shows them all; a binary stands above all.
    for top in ["lib", "main", "cli"] {
        uses.remove(top);
    }
    for (from, to) in &mut uses {
        to.remove(from);
    }
    let modules: BTreeSet<String> = uses.keys().cloned().collect();
    for to in uses.values_mut() {
        // Types that the crate's face shows by their own names are no modules.
        to.retain(|name, _| modules.contains(name) || source.join(format!("{name}.rs")).exists());
    }
    uses
}

/// The top-level modules that a file names by `crate::`.
fn used(path: &PathBuf) -> BTreeSet<String> {
    let file = syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap();
    let mut found = BTreeSet::new();
    for item in file.items {
        let attributes = match &item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !attributes.iter().any(|attribute| attribute.to_token_stream().to_string().contains("test")) {
            names(item.to_token_stream(), &mut found);
        }
    }
    found
}

/// What stands behind `crate::`, in a group or alone.
fn names(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            names(group.stream(), found);
        }
        // `$crate` is for those who call the macro.
        let foreign = at.checked_sub(1).is_some_and(|before| tokens[before].to_string() == "$");
        if foreign || !matches!(token, TokenTree::Ident(word) if word == "crate") {
            continue;
        }
        match tokens.get(at + 3) {
            Some(TokenTree::Ident(name)) => {
                found.insert(name.to_string());
            }
            Some(TokenTree::Group(group)) => {
                let mut first = true;
                for inner in group.stream() {
                    if first && let TokenTree::Ident(name) = &inner {
                        found.insert(name.to_string());
                    }
                    first = matches!(&inner, TokenTree::Punct(sign) if sign.as_char() == ',');
                }
            }
            _ => {}
        }
    }
}

fn is_left(one: &str, other: &str) -> bool {
    LEFT.iter().any(|(a, b)| (*a, *b) == (one, other) || (*a, *b) == (other, one))
}

/// The way from one module to another.
fn way<'a>(uses: &'a Uses, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut ways = vec![vec![from]];
    let mut seen = BTreeSet::new();
    while let Some(so_far) = ways.pop() {
        let at = *so_far.last()?;
        for next in uses.get(at).into_iter().flat_map(BTreeMap::keys).filter(|next| !is_left(at, next)) {
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
    assert!(uses.len() > 10, "only {} modules were read", uses.len());
    let mut problems = Vec::new();
    let layer = |name: &str| layers.iter().position(|other| *other == name);
    for (from, all) in &uses {
        for (to, file) in all.iter().filter(|(to, _)| !is_left(from, to)) {
            if let (Some(upper), Some(lower)) = (layer(from), layer(to))
                && upper < lower
            {
                problems.push(format!("{file}: `{from}` uses `{to}`, which stands above it"));
            }
        }
        if let Some(way) = way(&uses, from, from) {
            problems.push(format!("a circle: {}", way.join(" → ")));
        }
    }
    assert!(problems.is_empty(), "{source}:\n{}", problems.join("\n"));
}

#[test]
fn arrows_of_the_generator_lead_downwards() {
    check("src", GENERATOR);
}

#[test]
fn arrows_of_the_runtime_lead_downwards() {
    check("../runtime/src", RUNTIME);
}

#[test]
fn imports_are_found_wherever_they_stand() {
    let mut found = BTreeSet::new();
    let text = "use crate::{a::{x, y}, b, c::z as d}; fn f() { crate::e::g(crate::h::I) } macro_rules! m { () => { $crate::k }; }";
    names(text.parse().unwrap(), &mut found);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "b", "c", "e", "h"]);
}
