//! What commands of a README can name: packages and programs as cargo knows them, and what those
//! programs take whose arguments are known here.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
};

use clap::CommandFactory as _;
use serde_json::Value;

use crate::{cli::Cli, test};

/// The arguments of `contract-codegen`, whose program nothing can depend on.
#[path = "../../../codegen/src/cli/args.rs"]
#[allow(dead_code, reason = "it is asked what it accepts; nothing is read from it")]
mod generator;

/// Packages, programs, and what programs take.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// By name.
    pub(super) packages: BTreeMap<String, Package>,
    /// Arguments of programs, by the program's name.
    pub(super) programs: BTreeMap<String, clap::Command>,
}

/// One package of the workspace.
#[derive(Clone, Debug, Default)]
pub(super) struct Package {
    /// Names of targets, by kind: `bin`, `example`, `test`, `bench`.
    pub(super) targets: BTreeSet<(String, String)>,
    /// Names of features.
    pub(super) features: BTreeSet<String>,
    /// What it says of itself.
    pub(super) about: About,
}

/// What a manifest says of its package, for a registry.
#[derive(Clone, Debug, Default)]
pub(super) struct About {
    /// The manifest, from the workspace's folder.
    pub(super) file: String,
    pub(super) rust_version: String,
    pub(super) keywords: Vec<String>,
    pub(super) categories: Vec<String>,
    /// Whether it may be handed to a registry.
    pub(super) published: bool,
    /// Others of the workspace that it depends on without a version.
    pub(super) loose: Vec<String>,
}

impl Known {
    /// Asks cargo, without network and without building.
    ///
    /// # Errors
    /// When cargo cannot be run, or answers with something else than its metadata.
    pub(super) fn ask(root: &Path) -> io::Result<Self> {
        let mut command = test::cargo();
        command.args(["metadata", "--no-deps", "--format-version=1", "--offline"]).current_dir(root);
        let output = command.output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let metadata: Value = serde_json::from_slice(&output.stdout)?;
        let mut known = Self { packages: packages(&metadata), programs: BTreeMap::new() };
        known.programs.insert("xtask".to_owned(), Cli::command());
        known.programs.insert("contract-codegen".to_owned(), generator::Cli::command());
        Ok(known)
    }

    /// Whether the workspace has such a target, in one package or in any.
    pub(super) fn has_target(&self, package: Option<&str>, kind: &str, name: &str) -> bool {
        let target = (kind.to_owned(), name.to_owned());
        self.packages
            .iter()
            .filter(|(each, _)| package.is_none_or(|package| package == *each))
            .any(|(_, each)| each.targets.contains(&target))
    }

    /// The program that `cargo run -p` starts, when there is one alone.
    pub(super) fn program_of(&self, package: &str) -> Option<&str> {
        let targets = &self.packages.get(package)?.targets;
        let mut programs = targets.iter().filter(|(kind, _)| kind == "bin").map(|(_, name)| name.as_str());
        programs.next().filter(|_| programs.next().is_none())
    }
}

fn list(value: &Value, name: &str) -> Vec<Value> {
    value[name].as_array().cloned().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn about(package: &Value, root: &str) -> About {
    let manifest = text(&package["manifest_path"]);
    let file = manifest.strip_prefix(root).unwrap_or(&manifest).replace('\\', "/");
    let is_loose = |each: &&Value| each["path"].is_string() && each["req"] == "*";
    About {
        file: file.trim_start_matches('/').to_owned(),
        rust_version: text(&package["rust_version"]),
        keywords: list(package, "keywords").iter().map(text).collect(),
        categories: list(package, "categories").iter().map(text).collect(),
        published: package["publish"].is_null(),
        loose: list(package, "dependencies")
            .iter()
            .filter(is_loose)
            .map(|each| text(&each["name"]))
            .collect(),
    }
}

fn packages(metadata: &Value) -> BTreeMap<String, Package> {
    let mut found = BTreeMap::new();
    for package in list(metadata, "packages") {
        let mut targets = BTreeSet::new();
        for target in list(&package, "targets") {
            targets.extend(list(&target, "kind").iter().map(|kind| (text(kind), text(&target["name"]))));
        }
        let features = package["features"].as_object().map(|all| all.keys().cloned().collect());
        let (features, about) =
            (features.unwrap_or_default(), about(&package, &text(&metadata["workspace_root"])));
        found.insert(text(&package["name"]), Package { targets, features, about });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_says_what_there_is() {
        let known = Known::ask(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
        assert!(known.has_target(Some("xtask"), "bin", "xtask"));
        assert!(known.has_target(None, "test", "all"));
        assert!(!known.has_target(Some("xtask"), "bin", "all"));
        assert_eq!(known.program_of("xtask"), Some("xtask"));
        let api = &known.packages["exchange-api"];
        assert!(api.features.contains("server"));
        assert_eq!((api.about.file.as_str(), api.about.published), ("generated/Cargo.toml", true));
        assert!(api.about.loose.is_empty() && !known.packages["xtask"].about.published);
    }
}
