//! Checks the metadata of crates, and reports targets with the same name.
//!
//! `cargo xtask package` creates the packages. This module checks only metadata that cargo does not require.

use std::collections::BTreeMap;

use super::workspace::{ManifestFields, WorkspaceMetadata};
use crate::{repository::RepositoryFiles, violation::RuleViolation};

pub(super) fn check(repository: &RepositoryFiles, known: &WorkspaceMetadata) -> Vec<RuleViolation> {
    let mut problems = Vec::new();
    let oldest = known.packages.values().map(|package| &package.manifest.rust_version).max();
    for (name, package) in &known.packages {
        let ManifestFields {
            file, rust_version, keywords, categories, published, unversioned: loose, ..
        } = &package.manifest;
        let mut problem = |what: String, repair: &str| {
            problems.push(RuleViolation::new("crates", file, what, repair));
        };
        if Some(rust_version) != oldest {
            problem(format!("`{name}` has its own rust-version"), "write `rust-version.workspace = true`");
        }
        if keywords.is_empty() || keywords.len() > 5 || keywords.iter().any(|word| word.len() > 20) {
            problem(
                format!("`{name}` must have one to five keywords of at most 20 characters"),
                "set `keywords` in its Cargo.toml",
            );
        }
        if categories.is_empty() || categories.len() > 5 {
            problem(
                format!("`{name}` must have one to five categories"),
                "set `categories` in its Cargo.toml to slugs of crates.io/category_slugs",
            );
        }
        let folder = file.strip_suffix("Cargo.toml").unwrap_or_default();
        if *published && !repository.contains_path(&format!("{folder}README.md")) {
            problem(
                format!("`{name}` has no README.md"),
                "describe in it the purpose and the limits of the crate",
            );
        }
        for other in loose {
            problem(format!("`{name}` depends on `{other}` without a version"), "write `workspace = true`");
        }
    }
    problems.extend(find_name_collisions(known));
    problems
}

/// Reports programs and examples with the same name, because they overwrite each other in the build folder.
fn find_name_collisions(known: &WorkspaceMetadata) -> Vec<RuleViolation> {
    let mut first: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, package) in &known.packages {
        for (kind, target) in package.targets.iter().filter(|(kind, _)| kind == "bin" || kind == "example") {
            if let Some(other) = first.insert((kind, target), name) {
                let what = format!("`{name}` and `{other}` both have {kind} `{target}`");
                problems.push(RuleViolation::new(
                    "crates",
                    &package.manifest.file,
                    what,
                    "rename one of them",
                ));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{
        super::{assert_problems, workspace::PackageMetadata},
        *,
    };

    fn package(file: &str) -> PackageMetadata {
        let manifest = ManifestFields {
            file: file.to_owned(),
            rust_version: "1.95".to_owned(),
            keywords: vec!["json".to_owned()],
            categories: vec!["encoding".to_owned()],
            published: true,
            unversioned: Vec::new(),
        };
        PackageMetadata { manifest, ..PackageMetadata::default() }
    }

    fn workspace(packages: Vec<(&str, PackageMetadata)>) -> WorkspaceMetadata {
        let packages = packages.into_iter().map(|(name, package)| (name.to_owned(), package));
        WorkspaceMetadata { packages: packages.collect(), ..WorkspaceMetadata::default() }
    }

    #[test]
    fn missing_registry_metadata_is_reported() {
        let mut bad = package("b/Cargo.toml");
        bad.manifest.keywords = vec!["a keyword of no registry".to_owned()];
        bad.manifest.categories.clear();
        bad.manifest.rust_version = "1.80".to_owned();
        bad.manifest.unversioned.push("a".to_owned());
        let metadata = workspace(vec![("a", package("a/Cargo.toml")), ("b", bad)]);
        let rule = |repository: &RepositoryFiles| check(repository, &metadata);
        assert_problems(rule, &[("a/README.md", "")], &["b/Cargo.toml crates"; 5]);
    }

    #[test]
    fn unpublished_crate_needs_no_readme() {
        let mut inner = package("a/Cargo.toml");
        inner.manifest.published = false;
        let metadata = workspace(vec![("a", inner)]);
        assert_problems(|repository| check(repository, &metadata), &[], &[]);
    }

    #[test]
    fn examples_with_the_same_name_are_reported() {
        let package_with_target = |file: &str, kind: &str, name: &str| {
            let mut package = package(file);
            package.targets.insert((kind.to_owned(), name.to_owned()));
            package
        };
        let metadata = workspace(vec![
            ("a", package_with_target("a/Cargo.toml", "example", "change_set")),
            ("b", package_with_target("b/Cargo.toml", "example", "change_set")),
            ("c", package_with_target("c/Cargo.toml", "test", "all")),
            ("d", package_with_target("d/Cargo.toml", "test", "all")),
        ]);
        assert_problems(|_| find_name_collisions(&metadata), &[], &["b/Cargo.toml crates"]);
    }
}
