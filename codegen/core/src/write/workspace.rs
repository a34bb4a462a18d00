//! The Cargo workspace around an output folder, by the rules of Cargo.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    load::files::{absolute_path, relative_path},
    prune::glob::matches_path,
};

/// The Cargo workspace that Cargo would assign to a package in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CargoWorkspace {
    /// The folder of the workspace's manifest.
    pub root: PathBuf,
    /// The folder of the package, relative to the root, with `/` as separator.
    pub package: String,
    /// True if `members` of the workspace lists the package.
    pub is_listed: bool,
}

impl CargoWorkspace {
    /// Returns the workspace around the folder of a package, and true if the package is a member of it.
    /// `member` is the option of `[output]`; without it, a package inside a workspace is a member.
    #[must_use]
    pub fn of_package(folder: &Path, member: Option<bool>) -> (Option<Self>, bool) {
        let workspace = Self::around(folder);
        let is_member = member.unwrap_or(workspace.is_some());
        (workspace, is_member)
    }

    /// Finds the nearest workspace above `folder` that does not exclude it. Manifests that cannot be read are
    /// skipped. Build results below `target` belong to no workspace.
    #[must_use]
    pub fn around(folder: &Path) -> Option<Self> {
        let folder = absolute_path(folder).ok()?;
        folder.ancestors().skip(1).find_map(|root| {
            let manifest: toml::Table = fs::read_to_string(root.join("Cargo.toml")).ok()?.parse().ok()?;
            let table = manifest.get("workspace")?.as_table()?;
            let members = strings_of(table, "members");
            let excluded = strings_of(table, "exclude").iter().any(|path| is_below(&folder, root, path));
            // As in Cargo, a folder in `members` precedes `exclude`; a pattern does not.
            if excluded && !members.iter().any(|path| is_below(&folder, root, path)) {
                return None;
            }
            let package = relative_path(root, &folder)?;
            let is_listed = members.iter().any(|pattern| is_match(pattern, &package));
            let is_build_result = !is_listed && package.split('/').any(|part| part == "target");
            (!is_build_result).then(|| Self { root: root.to_path_buf(), package, is_listed })
        })
    }

    /// Returns the path of the workspace's manifest.
    #[must_use]
    pub fn manifest(&self) -> PathBuf {
        self.root.join("Cargo.toml")
    }
}

/// Returns true if the folder is the given path below the root, or a folder in it.
fn is_below(folder: &Path, root: &Path, path: &str) -> bool {
    absolute_path(&root.join(path)).is_ok_and(|path| folder.starts_with(path))
}

/// Returns true if an entry of `members`, a path or a pattern, names the package.
fn is_match(pattern: &str, package: &str) -> bool {
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    matches_path(&format!("/{pattern}"), &format!("/{package}"))
}

fn strings_of<'t>(table: &'t toml::Table, key: &str) -> Vec<&'t str> {
    let list = table.get(key).and_then(toml::Value::as_array);
    list.into_iter().flatten().filter_map(toml::Value::as_str).collect()
}
