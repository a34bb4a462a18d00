//! Metadata of the workspace: its packages and targets from cargo, and the command-line definitions of the
//! programs whose arguments `tidy` can check.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
};

use clap::CommandFactory as _;
use serde_json::Value;

use crate::{cli::Cli, test};

/// The command-line definition of `contract-codegen`. Its source file is included, because it is part of a
/// program, which cannot be a dependency.
#[path = "../../../codegen/src/cli/args.rs"]
#[allow(dead_code, reason = "the definition is used only to check whether arguments parse")]
mod generator;

#[derive(Clone, Debug, Default)]
pub(super) struct WorkspaceMetadata {
    /// The packages by name.
    pub(super) packages: BTreeMap<String, PackageMetadata>,
    pub(super) programs: BTreeMap<String, clap::Command>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct PackageMetadata {
    /// The kind (`bin`, `example`, `test`, `bench`) and name of each target.
    pub(super) targets: BTreeSet<(String, String)>,
    pub(super) features: BTreeSet<String>,
    pub(super) manifest: ManifestFields,
}

/// The manifest fields that the rules for crates check.
#[derive(Clone, Debug, Default)]
pub(super) struct ManifestFields {
    /// The path of the manifest, relative to the workspace root.
    pub(super) file: String,
    pub(super) rust_version: String,
    pub(super) keywords: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(super) published: bool,
    pub(super) unversioned: Vec<String>,
}

impl WorkspaceMetadata {
    /// Runs `cargo metadata` without network access.
    ///
    /// # Errors
    /// Returns an error if cargo cannot be run or fails, or if its output is not JSON.
    pub(super) fn read_from_cargo(root: &Path) -> io::Result<Self> {
        let mut command = test::cargo_command();
        command.args(["metadata", "--no-deps", "--format-version=1", "--offline"]).current_dir(root);
        let output = command.output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let metadata: Value = serde_json::from_slice(&output.stdout)?;
        let mut known = Self { packages: parse_packages(&metadata), programs: BTreeMap::new() };
        known.programs.insert("xtask".to_owned(), Cli::command());
        known.programs.insert("contract-codegen".to_owned(), generator::Cli::command());
        Ok(known)
    }

    /// Returns true if a target exists in the given package, or in any package if none is given.
    pub(super) fn has_target(&self, package: Option<&str>, kind: &str, name: &str) -> bool {
        let target = (kind.to_owned(), name.to_owned());
        self.packages
            .iter()
            .filter(|(each, _)| package.is_none_or(|package| package == *each))
            .any(|(_, each)| each.targets.contains(&target))
    }

    /// Returns the program that `cargo run -p` starts if the package has exactly one.
    pub(super) fn only_program(&self, package: &str) -> Option<&str> {
        let targets = &self.packages.get(package)?.targets;
        let mut programs = targets.iter().filter(|(kind, _)| kind == "bin").map(|(_, name)| name.as_str());
        programs.next().filter(|_| programs.next().is_none())
    }
}

fn array_items(value: &Value, name: &str) -> Vec<Value> {
    value[name].as_array().cloned().unwrap_or_default()
}

fn string_value(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn parse_manifest_fields(package: &Value, root: &str) -> ManifestFields {
    let manifest = string_value(&package["manifest_path"]);
    let file = manifest.strip_prefix(root).unwrap_or(&manifest).replace('\\', "/");
    let is_loose = |each: &&Value| each["path"].is_string() && each["req"] == "*";
    ManifestFields {
        file: file.trim_start_matches('/').to_owned(),
        rust_version: string_value(&package["rust_version"]),
        keywords: array_items(package, "keywords").iter().map(string_value).collect(),
        categories: array_items(package, "categories").iter().map(string_value).collect(),
        published: package["publish"].is_null(),
        unversioned: array_items(package, "dependencies")
            .iter()
            .filter(is_loose)
            .map(|each| string_value(&each["name"]))
            .collect(),
    }
}

fn parse_packages(metadata: &Value) -> BTreeMap<String, PackageMetadata> {
    let mut found = BTreeMap::new();
    for package in array_items(metadata, "packages") {
        let mut targets = BTreeSet::new();
        for target in array_items(&package, "targets") {
            targets.extend(
                array_items(&target, "kind")
                    .iter()
                    .map(|kind| (string_value(kind), string_value(&target["name"]))),
            );
        }
        let features = package["features"].as_object().map(|all| all.keys().cloned().collect());
        let (features, about) = (
            features.unwrap_or_default(),
            parse_manifest_fields(&package, &string_value(&metadata["workspace_root"])),
        );
        found.insert(string_value(&package["name"]), PackageMetadata { targets, features, manifest: about });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_read_from_cargo() {
        let known =
            WorkspaceMetadata::read_from_cargo(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
        assert!(known.has_target(Some("xtask"), "bin", "xtask"));
        assert!(known.has_target(None, "test", "all"));
        assert!(!known.has_target(Some("xtask"), "bin", "all"));
        assert_eq!(known.only_program("xtask"), Some("xtask"));
        let api = &known.packages["exchange-api"];
        assert!(api.features.contains("server"));
        assert_eq!((api.manifest.file.as_str(), api.manifest.published), ("generated/Cargo.toml", true));
        assert!(api.manifest.unversioned.is_empty() && !known.packages["xtask"].manifest.published);
    }
}
