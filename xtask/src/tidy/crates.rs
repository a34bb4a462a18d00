//! Crates as a registry takes them: what each says of itself, and names that would meet.
//!
//! `cargo xtask package` makes the packages; here stands what cargo says nothing about.

use std::collections::BTreeMap;

use super::known::{About, Known};
use crate::{problem::Problem, repository::Repository};

/// Checks all packages of the workspace.
pub(super) fn check(repository: &Repository, known: &Known) -> Vec<Problem> {
    let mut problems = Vec::new();
    let oldest = known.packages.values().map(|package| &package.about.rust_version).max();
    for (name, package) in &known.packages {
        let About { file, rust_version, keywords, categories, published, loose, .. } = &package.about;
        let mut problem = |what: String, repair: &str| {
            problems.push(Problem::new("crates", file, what, repair));
        };
        if Some(rust_version) != oldest {
            problem(
                format!("`{name}` has a rust-version of its own"),
                "write `rust-version.workspace = true`",
            );
        }
        if keywords.is_empty() || keywords.len() > 5 || keywords.iter().any(|word| word.len() > 20) {
            problem(
                format!("`{name}` has no keywords, or such as no registry takes"),
                "give it one to five, of at most 20 letters",
            );
        }
        if categories.is_empty() || categories.len() > 5 {
            problem(
                format!("`{name}` has no categories, or too many"),
                "give it one to five of crates.io/category_slugs",
            );
        }
        let folder = file.strip_suffix("Cargo.toml").unwrap_or_default();
        if *published && !repository.has(&format!("{folder}README.md")) {
            problem(
                format!("`{name}` has no README.md"),
                "say in it what the crate is for, and where it stops",
            );
        }
        for other in loose {
            problem(format!("`{name}` depends on `{other}` in any version"), "write `workspace = true`");
        }
    }
    problems.extend(meetings(known));
    problems
}

/// Examples and programs of one name: the one overwrites what was built of the other.
fn meetings(known: &Known) -> Vec<Problem> {
    let mut first: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, package) in &known.packages {
        for (kind, target) in package.targets.iter().filter(|(kind, _)| kind == "bin" || kind == "example") {
            if let Some(other) = first.insert((kind, target), name) {
                let what = format!("`{name}` and `{other}` have {kind}s called `{target}`");
                problems.push(Problem::new("crates", &package.about.file, what, "rename one of them"));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{
        super::{assert_problems, known::Package},
        *,
    };

    fn package(file: &str) -> Package {
        let about = About {
            file: file.to_owned(),
            rust_version: "1.95".to_owned(),
            keywords: vec!["json".to_owned()],
            categories: vec!["encoding".to_owned()],
            published: true,
            loose: Vec::new(),
        };
        Package { about, ..Package::default() }
    }

    fn known(packages: Vec<(&str, Package)>) -> Known {
        let packages = packages.into_iter().map(|(name, package)| (name.to_owned(), package));
        Known { packages: packages.collect(), ..Known::default() }
    }

    #[test]
    fn each_crate_says_what_a_registry_asks() {
        let mut bad = package("b/Cargo.toml");
        bad.about.keywords = vec!["a keyword of no registry".to_owned()];
        bad.about.categories.clear();
        bad.about.rust_version = "1.80".to_owned();
        bad.about.loose.push("a".to_owned());
        let known = known(vec![("a", package("a/Cargo.toml")), ("b", bad)]);
        let rule = |repository: &Repository| check(repository, &known);
        assert_problems(rule, &[("a/README.md", "")], &["b/Cargo.toml crates"; 5]);
    }

    #[test]
    fn what_nobody_publishes_needs_no_readme() {
        let mut inner = package("a/Cargo.toml");
        inner.about.published = false;
        let known = known(vec![("a", inner)]);
        assert_problems(|repository| check(repository, &known), &[], &[]);
    }

    #[test]
    fn no_example_overwrites_another() {
        let with = |file: &str, kind: &str, name: &str| {
            let mut package = package(file);
            package.targets.insert((kind.to_owned(), name.to_owned()));
            package
        };
        let known = known(vec![
            ("a", with("a/Cargo.toml", "example", "change_set")),
            ("b", with("b/Cargo.toml", "example", "change_set")),
            ("c", with("c/Cargo.toml", "test", "all")),
            ("d", with("d/Cargo.toml", "test", "all")),
        ]);
        assert_problems(|_| meetings(&known), &[], &["b/Cargo.toml crates"]);
    }
}
