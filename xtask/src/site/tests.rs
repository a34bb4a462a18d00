//! Tests of the site's configuration, against the files of this repository.

use std::collections::BTreeSet;

use super::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// `SUMMARY.md` and `README.md` list each page. mdBook does not publish pages that the summary omits.
#[test]
fn both_lists_of_pages_are_complete() {
    let pages = list_files(&root().join("docs/book")).unwrap();
    let pages: BTreeSet<&str> = pages
        .iter()
        .map(String::as_str)
        .filter(|page| page.ends_with(".md") && !["README.md", "SUMMARY.md"].contains(page))
        .collect();
    assert!(pages.len() > 15, "{pages:?}");
    let (summary, readme) = (read("docs/book/SUMMARY.md"), read("docs/book/README.md"));
    for page in pages {
        let link = format!("]({page})");
        assert!(summary.contains(&link), "{page} is missing in docs/book/SUMMARY.md");
        // The introduction is the beginning of the README of the repository.
        assert!(
            readme.contains(&link) || page == "introduction.md",
            "{page} is missing in docs/book/README.md"
        );
    }
}

/// The README contains both ends of the part that the first page of the book includes.
#[test]
fn readme_has_the_anchors_of_the_introduction() {
    assert!(read("docs/book/introduction.md").contains("{{#include ../../README.md:introduction}}"));
    let readme = read("README.md");
    let (start, end) = ("<!-- ANCHOR: introduction\n-->\n", "\n<!--\nANCHOR_END: introduction -->\n");
    assert!(readme.starts_with(start) && readme.matches(end).count() == 1);
}

/// The documented crates are those whose public API follows semantic versioning.
#[test]
fn documented_crates_are_those_with_a_stable_api() {
    let config = SiteConfig::read_from(&root(), |_| None).unwrap();
    let ci = read(".github/workflows/ci.yml");
    let checked = ci.lines().find_map(|line| line.trim().strip_prefix("for crate in ")).unwrap();
    let checked: BTreeSet<&str> = checked.trim_end_matches("; do").split_whitespace().collect();
    assert_eq!(config.crates.keys().map(String::as_str).collect::<BTreeSet<_>>(), checked);
    let page = read("docs/book/crates.md");
    for folder in config.crates.values() {
        let link = format!("](../../{folder}/src/lib.rs)");
        assert!(page.contains(&link), "docs/book/crates.md does not contain {link}");
    }
}

#[test]
fn workflow_address_is_used_before_the_first_release() {
    let variable = |name: &str| match name {
        "GITHUB_SERVER_URL" => Some("https://host".to_owned()),
        "GITHUB_REPOSITORY" => Some("owner/name".to_owned()),
        _ => None,
    };
    assert_eq!(workflow_repository(variable).as_deref(), Some("https://host/owner/name"));
    assert_eq!(workflow_repository(|_| None), None);
    let folder = tempfile::tempdir().unwrap();
    let mut manifest = "[workspace]\nmembers = []\n[workspace.package]\nrepository = ''\n".to_owned();
    for expected in ["https://host/owner/name", "https://declared/address"] {
        fs::write(folder.path().join("Cargo.toml"), &manifest).unwrap();
        let config = SiteConfig::read_from(folder.path(), variable).unwrap();
        assert_eq!(config.repository.as_deref(), Some(expected));
        manifest = manifest.replace("''", "'https://declared/address'");
    }
}

#[test]
fn unknown_crate_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = "[workspace]\nmembers = []\n[workspace.metadata.site]\ncrates = ['x']\n";
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    let error = SiteConfig::read_from(folder.path(), |_| None).unwrap_err();
    assert_eq!(error, "Cargo.toml: `workspace.metadata.site.crates`: no member `x`");
}

/// The workflow installs the version of mdBook that the command requires, and publishes its output.
#[test]
fn workflow_publishes_the_site() {
    let workflow = read(".github/workflows/site.yml");
    let install = format!("- run: {}\n", install_command());
    for part in [install.as_str(), "- run: cargo xtask site\n", "path: target/site\n"] {
        assert!(workflow.contains(part), "{part}");
    }
    // Only the job that publishes has the permissions of Pages, and pull requests do not start it.
    let (build, publish) = workflow.split_once("\n  publish:\n").unwrap();
    assert!(!build.contains(": write\n") && publish.contains("      pages: write\n"));
    let condition = "    if: github.event_name != 'pull_request' && github.ref == 'refs/heads/main'\n";
    assert!(publish.contains(condition));
}

/// Without a playground, the site has a page with the command that builds it, so that no link is broken.
#[test]
fn playground_is_copied_if_it_was_built() {
    let folder = tempfile::tempdir().unwrap();
    let (root, site) = (folder.path(), folder.path().join("site"));
    let page = || fs::read_to_string(site.join("playground/index.html")).unwrap();
    add_playground(root, &site).unwrap();
    assert!(page().contains("cargo xtask playground"));
    let built = root.join(PLAYGROUND_FOLDER);
    fs::create_dir_all(&built).unwrap();
    fs::write(built.join("index.html"), "built").unwrap();
    add_playground(root, &site).unwrap();
    assert_eq!(page(), "built");
}
