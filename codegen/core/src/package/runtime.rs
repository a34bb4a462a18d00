//! The sources of the runtime for inclusion in one package: the modules and dependencies of the features that
//! the package can enable.
//!
//! A file is left out if the `cfg` of its `mod` declaration is false, or if only operations use it and the
//! package has none. The result therefore compiles as the complete runtime does with these features.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Meta, Token, punctuated::Punctuated};

use crate::render::OutputFiles;

include!(concat!(env!("OUT_DIR"), "/runtime.rs"));

/// The modules of the runtime that only operations use. They have no Cargo feature of their own.
const OPERATION_MODULES: [&str; 4] = ["operation", "parameters", "path_template", "sequence"];

/// The part of the runtime that a package includes.
pub(super) struct RuntimeSelection<'a> {
    /// The package name of the runtime.
    pub(super) name: &'a str,
    /// The features of the runtime that the package can enable.
    pub(super) features: &'a BTreeSet<String>,
    /// True if the package contains operations.
    pub(super) has_operations: bool,
}

/// Adds the manifest and the selected modules of the runtime in the folder `runtime`.
pub(super) fn add_runtime(selection: &RuntimeSelection<'_>, files: &mut OutputFiles) {
    let sources: BTreeMap<&str, &str> = RUNTIME.iter().copied().collect();
    let manifest = sources.get("Cargo.toml").copied().unwrap_or_default();
    let (manifest, enabled) = select_features(manifest, selection);
    files.insert("runtime/Cargo.toml", manifest);
    let mut waiting = vec!["src/lib.rs".to_owned()];
    while let Some(path) = waiting.pop() {
        let Some(text) = sources.get(path.as_str()) else { continue };
        let dropped: &[&str] =
            if path == "src/lib.rs" && !selection.has_operations { &OPERATION_MODULES } else { &[] };
        let (text, modules) = select_modules(text, &enabled, dropped);
        let folder = match path.strip_suffix("/lib.rs") {
            Some(folder) => folder,
            None => path.trim_end_matches(".rs"),
        };
        waiting.extend(modules.into_iter().map(|name| format!("{folder}/{name}.rs")));
        files.insert(format!("runtime/{path}"), text);
    }
}

/// Removes the declarations of modules whose condition is false, and returns the names of the others.
fn select_modules<'t>(text: &'t str, enabled: &BTreeSet<String>, dropped: &[&str]) -> (String, Vec<&'t str>) {
    let mut out = String::with_capacity(text.len());
    let mut modules = Vec::new();
    let mut attributes: Vec<&str> = Vec::new();
    for line in text.split_inclusive('\n') {
        if line.starts_with("#[") && line.trim_end().ends_with(']') {
            attributes.push(line);
            continue;
        }
        let module = declared_module(line);
        let is_kept = module.is_none_or(|name| {
            !dropped.contains(&name) && attributes.iter().all(|attribute| is_enabled(attribute, enabled))
        });
        if is_kept {
            attributes.iter().for_each(|attribute| out.push_str(attribute));
            out.push_str(line);
            modules.extend(module);
        }
        attributes.clear();
    }
    (out, modules)
}

/// Returns the name in a line such as `pub mod name;`.
fn declared_module(line: &str) -> Option<&str> {
    let (visibility, name) = line.trim_end().strip_suffix(';')?.split_once("mod ")?;
    (matches!(visibility, "" | "pub ") || visibility.starts_with("pub(")).then_some(name)
}

/// Returns false if the attribute is a `cfg` that is false with these features.
fn is_enabled(attribute: &str, features: &BTreeSet<String>) -> bool {
    let condition = attribute.trim_end().strip_prefix("#[cfg(").and_then(|rest| rest.strip_suffix(")]"));
    condition
        .and_then(|text| syn::parse_str(text).ok())
        .is_none_or(|meta| evaluate(&meta, features) != Some(false))
}

/// Returns the value of a condition, or `None` if it depends on the target.
fn evaluate(condition: &Meta, features: &BTreeSet<String>) -> Option<bool> {
    let name = |path: &syn::Path| path.get_ident().map(ToString::to_string).unwrap_or_default();
    match condition {
        Meta::NameValue(pair) if name(&pair.path) == "feature" => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(value), .. }) => {
                Some(features.contains(&value.value()))
            }
            _ => Some(false),
        },
        Meta::NameValue(_) => None,
        Meta::List(list) => {
            let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            let parts = parts.unwrap_or_default();
            let parts: Vec<Option<bool>> = parts.iter().map(|part| evaluate(part, features)).collect();
            // The value that determines the result regardless of the other parts.
            let decisive = matches!(name(&list.path).as_str(), "any" | "not");
            let combined = if parts.contains(&Some(decisive)) {
                Some(decisive)
            } else if parts.contains(&None) {
                None
            } else {
                Some(!decisive)
            };
            if list.path.is_ident("not") { combined.map(|value| !value) } else { combined }
        }
        Meta::Path(_) => Some(false),
    }
}

/// Returns the manifest with the selected features and their dependencies, and all enabled features.
fn select_features(manifest: &str, selection: &RuntimeSelection<'_>) -> (String, BTreeSet<String>) {
    let table: toml::Table = manifest.parse().unwrap_or_default();
    let all: BTreeMap<&str, Vec<&str>> = table_of(&table, "features")
        .map(|(name, parts)| {
            let parts = parts.as_array().into_iter().flatten().filter_map(toml::Value::as_str);
            (name.as_str(), parts.collect())
        })
        .collect();
    let mut enabled = BTreeSet::new();
    let mut used: BTreeSet<&str> = dependencies_of(&table)
        .filter(|(_, value)| value.get("optional").is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    let mut waiting: Vec<&str> = selection.features.iter().map(String::as_str).collect();
    while let Some(feature) = waiting.pop() {
        let Some(parts) = all.get(feature).filter(|_| enabled.insert(feature.to_owned())) else { continue };
        for part in parts {
            match (part.strip_prefix("dep:"), part.split_once('/')) {
                (Some(dependency), _) | (None, Some((dependency, _))) => drop(used.insert(dependency)),
                (None, None) => waiting.push(part),
            }
        }
    }
    let dependencies: BTreeSet<&str> = dependencies_of(&table).map(|(name, _)| name.as_str()).collect();
    let mut out = String::new();
    let mut section = "";
    let mut comments = String::new();
    for line in manifest.lines() {
        if line.starts_with('#') {
            comments.push_str(&format!("{line}\n"));
            continue;
        }
        if line.starts_with('[') {
            section = line;
        }
        let key = line.split(" =").next().unwrap_or_default();
        let is_kept = match section {
            _ if section == "[dependencies]" || section.starts_with("[target.") => {
                !dependencies.contains(key) || used.contains(key)
            }
            "[features]" => !all.contains_key(key) || enabled.contains(key),
            _ => true,
        };
        if is_kept {
            out.push_str(&format!("{comments}{line}\n"));
        }
        comments.clear();
    }
    let left_out: Vec<String> =
        all.keys().filter(|name| !enabled.contains(**name)).map(|name| format!("{name:?}")).collect();
    // Its examples use the original package name.
    let mut out = out.replacen("name = \"contract-runtime\"", &format!("name = {:?}", selection.name), 1);
    out.truncate(out.trim_end().len());
    out.push_str("\n\n[lib]\ndoctest = false\n");
    if !left_out.is_empty() {
        let known = format!("cfg(feature, values({}))", left_out.join(", "));
        out.push_str(&format!(
            "\n# Features of contract-runtime that the package does not use.\n[lints.rust]\n\
             unexpected_cfgs = {{ level = \"warn\", check-cfg = ['{known}'] }}\n"
        ));
    }
    (out, enabled)
}

/// Returns the dependencies, including those of single targets.
fn dependencies_of(table: &toml::Table) -> impl Iterator<Item = (&String, &toml::Value)> {
    let targets = table_of(table, "target").filter_map(|(_, target)| target.as_table());
    std::iter::once(table).chain(targets).flat_map(|table| table_of(table, "dependencies"))
}

fn table_of<'t>(table: &'t toml::Table, key: &str) -> impl Iterator<Item = (&'t String, &'t toml::Value)> {
    table.get(key).and_then(toml::Value::as_table).into_iter().flatten()
}

#[cfg(test)]
fn all_keys<'t>(table: &'t toml::Table, key: &str) -> BTreeSet<&'t str> {
    table_of(table, key).map(|(name, _)| name.as_str()).collect()
}

/// Returns the names of all features of the runtime.
#[cfg(test)]
pub(super) fn feature_names() -> BTreeSet<String> {
    let manifest: toml::Table = RUNTIME[0].1.parse().unwrap();
    all_keys(&manifest, "features").into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files_for(features: &[&str], has_operations: bool) -> BTreeMap<String, String> {
        let features = features.iter().map(|name| (*name).to_owned()).collect();
        let mut files = OutputFiles::default();
        add_runtime(
            &RuntimeSelection { name: "own-runtime", features: &features, has_operations },
            &mut files,
        );
        files.0
    }

    #[test]
    fn all_features_select_the_complete_runtime() {
        let features = feature_names();
        let all = files_for(&features.iter().map(String::as_str).collect::<Vec<_>>(), true);
        for (path, text) in RUNTIME.iter().filter(|(path, _)| *path != "Cargo.toml") {
            // Modules of tests only.
            if path.ends_with("round_trip.rs") {
                continue;
            }
            let kept = all.get(&format!("runtime/{path}")).unwrap_or_else(|| panic!("{path}"));
            if !text.contains("#[cfg(all(test") {
                assert_eq!(kept, text, "{path}");
            }
        }
        assert!(!all["runtime/Cargo.toml"].contains("[lints"));
    }

    #[test]
    fn only_selected_modules_and_dependencies_remain() {
        for (features, has_operations, present, absent) in [
            (
                vec![],
                false,
                vec!["schema", "read"],
                vec!["client", "server", "operation", "parameters", "path_template", "stream"],
            ),
            (
                vec!["client"],
                true,
                vec!["client", "transport", "parameters/encode", "parameters/reader"],
                vec!["server", "cli", "stream", "layers", "client/pages", "client/reqwest"],
            ),
            (
                vec!["server"],
                true,
                vec!["server", "parameters/reader"],
                vec!["client", "transport", "server/streaming"],
            ),
            (
                vec!["ready", "pages"],
                true,
                vec!["client/pages", "client/reqwest", "layers"],
                vec!["server", "cli"],
            ),
        ] {
            let files = files_for(&features, has_operations);
            let has = |name: &str| files.contains_key(&format!("runtime/src/{name}.rs"));
            for name in present {
                assert!(has(name), "{features:?}: {name}");
            }
            for name in absent {
                assert!(!has(name), "{features:?}: {name}");
            }
            // Every declared module has a file, as `cargo fmt` requires.
            for (path, text) in &files {
                let folder = path.trim_end_matches("/lib.rs").trim_end_matches(".rs");
                for name in text.lines().filter_map(declared_module) {
                    assert!(
                        files.contains_key(&format!("{folder}/{name}.rs")),
                        "{features:?}: {path}: {name}"
                    );
                }
            }
            let manifest: toml::Table = files["runtime/Cargo.toml"].parse().unwrap();
            let dependencies = all_keys(&manifest, "dependencies");
            let has_client = features.iter().any(|name| *name != "server");
            assert_eq!(dependencies.contains("httpdate"), has_client, "{features:?}");
            assert_eq!(dependencies.contains("axum"), features.contains(&"server"), "{features:?}");
            // The modules and dependencies for WebAssembly belong to the same features.
            let target = manifest["target"]["cfg(target_arch = \"wasm32\")"].as_table().unwrap();
            let host = all_keys(target, "dependencies");
            assert_eq!(
                host.contains("getrandom"),
                has_client || features.contains(&"server"),
                "{features:?}"
            );
            assert_eq!(host.contains("gloo-timers"), features.contains(&"ready"), "{features:?}");
            assert_eq!(has("client/fetch"), has("client/reqwest"), "{features:?}");
            assert!(dependencies.contains("serde_json") && !dependencies.contains("clap"), "{features:?}");
            assert_eq!(all_keys(&manifest, "features").contains("client"), has_client, "{features:?}");
            assert!(manifest["lints"].to_string().contains("\"cli\""), "{}", manifest["lints"]);
        }
    }
}
