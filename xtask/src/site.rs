//! `site`: builds the book with mdBook, adds the documentation of the public crates, and checks every link.
//!
//! Entry point: [`run`]. The result is in `target/site`. It contains the playground if `playground` has built
//! it. This module publishes nothing. Three modules work on
//! HTML: `attributes` reads the attributes of tags, `rewrite` changes links to files of the repository, and
//! `link_check` finds broken links.

mod attributes;
mod link_check;
mod rewrite;

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    CommandOutcome,
    program::{self, decode_output},
    repository::RepositoryFiles,
    style::{SUCCESS, format_count, report_error, report_progress},
    test,
    violation::{RuleViolation, render_violations},
};

use rewrite::LinkRewriter;

const MDBOOK_VERSION: &str = "0.5.4";
const SITE_FOLDER: &str = "target/site";
/// The folder of the crates' documentation in the site.
const API_FOLDER: &str = "api";
/// The start page of that folder, to which pages of rustdoc refer. The book has the list of the crates.
const API_INDEX: &str = "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>Crates</title>\n\
                         <meta http-equiv=\"refresh\" content=\"0; url=../crates.html\">\n\
                         <a href=\"../crates.html\">Crates</a>\n";
/// The folder that `playground` builds.
pub(crate) const PLAYGROUND_FOLDER: &str = "target/playground";
/// The page of the playground in the repository, to which the book links.
pub(crate) const PLAYGROUND_SOURCE: &str = "codegen/playground/web/index.html";
/// The folder of the playground in the site.
const PLAYGROUND_PAGES: &str = "playground";
/// The page of the playground if it was not built, so that no link is broken.
const MISSING_PLAYGROUND: &str = "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>Playground</title>\n\
                                  <p>This copy of the site has no playground. \
                                  Run <code>cargo xtask playground</code>, then <code>cargo xtask site</code>.</p>\n";
/// The output of `cargo doc`. It is separate from `target/doc`, which also contains other crates.
const API_TARGET_FOLDER: &str = "target/site-api";

/// The problem that stopped the command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SiteError {
    /// The book or the documentation of the crates is faulty.
    Faulty(String),
    /// A program is missing, or a file cannot be read or written.
    NotRun(String),
}

impl From<String> for SiteError {
    fn from(reason: String) -> Self {
        Self::NotRun(reason)
    }
}

/// The fields of the manifests that determine the content of the site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SiteConfig {
    /// The address of the repository, without `/` at the end; `None` before the first release.
    repository: Option<String>,
    /// The folder of each documented crate by the name of its package.
    crates: BTreeMap<String, String>,
}

pub(crate) fn run(root: &Path) -> CommandOutcome {
    match build_site(root) {
        Ok(problems) if problems.is_empty() => {
            anstream::println!("{SUCCESS}built{SUCCESS:#} {SITE_FOLDER}/index.html, no broken links");
            CommandOutcome::Passed
        }
        Ok(problems) => {
            anstream::print!("{}", render_violations(&problems));
            report_error(&format_count(problems.len(), "broken link"));
            CommandOutcome::Failed
        }
        Err(SiteError::Faulty(reason)) => {
            report_error(&reason);
            CommandOutcome::Failed
        }
        Err(SiteError::NotRun(reason)) => {
            report_error(&reason);
            CommandOutcome::NotRun
        }
    }
}

/// Builds the site. Returns its broken links.
fn build_site(root: &Path) -> Result<Vec<RuleViolation>, SiteError> {
    check_mdbook()?;
    let config = SiteConfig::read_from(root, |name| env::var(name).ok())?;
    if config.repository.is_none() {
        report_progress("note", "Cargo.toml has no `repository`: links to its files lead to this checkout");
    }
    let site = root.join(SITE_FOLDER);
    report_progress("book", "mdbook build docs");
    build_book(root, config.repository.as_deref())?;
    report_progress("links", "links to files of the repository");
    rewrite_links(root, &site, &config).map_err(|error| format!("{SITE_FOLDER}: {error}"))?;
    report_progress("crates", "cargo doc");
    build_api(root, &site, &config)?;
    add_playground(root, &site).map_err(|error| format!("{PLAYGROUND_FOLDER}: {error}"))?;
    report_progress("check", "every link of the site");
    let problems = link_check::find_broken_links(&site).map_err(|error| format!("{SITE_FOLDER}: {error}"))?;
    Ok(problems)
}

/// Returns an error with instructions if the required version of mdBook is not on PATH.
fn check_mdbook() -> Result<(), String> {
    let found = program::run_program(Command::new("mdbook").arg("--version"));
    let version = found.map(|output| decode_output(&output.stdout)).unwrap_or_default();
    if version.trim() == format!("mdbook v{MDBOOK_VERSION}") {
        return Ok(());
    }
    let problem = match version.trim() {
        "" => "mdbook is not on PATH".to_owned(),
        other => format!("the site requires mdbook {MDBOOK_VERSION}, but {other} is installed"),
    };
    Err(format!("{problem}: run `{}`", install_command()))
}

fn install_command() -> String {
    format!("cargo install --locked mdbook@{MDBOOK_VERSION}")
}

/// Runs mdBook. With an address, each page has a link to its source.
fn build_book(root: &Path, repository: Option<&str>) -> Result<(), SiteError> {
    let mut mdbook = Command::new("mdbook");
    mdbook.args(["build", "docs"]).current_dir(root).env("MDBOOK_LOG", "warn").env("NO_COLOR", "1");
    if let Some(address) = repository {
        mdbook.env("MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL", address);
        mdbook.env("MDBOOK_OUTPUT__HTML__EDIT_URL_TEMPLATE", format!("{address}/edit/main/docs/{{path}}"));
    }
    let output = program::run_program(&mut mdbook)?;
    // mdBook prints nothing else at this level. It exits with 0 if an included file is missing.
    let messages = decode_output(&[output.stdout, output.stderr].concat());
    if output.status.success() && messages.trim().is_empty() {
        return Ok(());
    }
    Err(SiteError::Faulty(format!("mdbook: {}\n{}", output.status, messages.trim())))
}

/// Changes links from the book to other files of the repository, and to the documentation of the crates.
fn rewrite_links(root: &Path, site: &Path, config: &SiteConfig) -> io::Result<()> {
    let files = RepositoryFiles::read_from(root)?;
    let address = match &config.repository {
        Some(address) => format!("{address}/blob/HEAD"),
        None => format!("file://{}", root.canonicalize()?.display()),
    };
    let rewriter = LinkRewriter::new(&files, address, &config.crates);
    for page in list_files(site)?.into_iter().filter(|path| path.ends_with(".html")) {
        let path = site.join(&page);
        let html = fs::read_to_string(&path)?;
        fs::write(&path, rewriter.rewrite_page(&page, &html))?;
    }
    Ok(())
}

/// Documents the crates, and copies the result into the site.
fn build_api(root: &Path, site: &Path, config: &SiteConfig) -> Result<(), SiteError> {
    let output = root.join(API_TARGET_FOLDER);
    let mut cargo = test::cargo_command();
    cargo.args(["doc", "--no-deps", "--all-features", "--locked", "--target-dir"]).arg(&output);
    for name in config.crates.keys() {
        cargo.args(["--package", name]);
    }
    // The builds of the dependencies are shared with all other commands.
    cargo.env("CARGO_BUILD_BUILD_DIR", root.join("target")).current_dir(root);
    let status = cargo.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err(SiteError::Faulty("cargo doc failed; see its output".to_owned()));
    }
    let target = site.join(API_FOLDER);
    copy_files(&output.join("doc"), &target)
        .and_then(|()| fs::write(target.join("index.html"), API_INDEX))
        .map_err(|error| format!("{API_TARGET_FOLDER}: {error}"))?;
    Ok(())
}

/// Copies the playground, or adds a page with the command that builds it.
fn add_playground(root: &Path, site: &Path) -> io::Result<()> {
    let (built, target) = (root.join(PLAYGROUND_FOLDER), site.join(PLAYGROUND_PAGES));
    if built.join("index.html").is_file() {
        return copy_files(&built, &target);
    }
    report_progress(
        "note",
        "target/playground does not exist: `cargo xtask playground` builds the playground",
    );
    fs::create_dir_all(&target)?;
    fs::write(target.join("index.html"), MISSING_PLAYGROUND)
}

/// Returns the public address of the repository, or `None` before the first release.
///
/// # Errors
/// Returns an error if the manifest of the workspace cannot be read.
pub(crate) fn repository_address(root: &Path) -> Result<Option<String>, String> {
    Ok(SiteConfig::read_from(root, |name| env::var(name).ok())?.repository)
}

fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    for file in list_files(from)? {
        let target = to.join(&file);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(from.join(&file), target)?;
    }
    Ok(())
}

/// Returns the files of a folder and its subfolders, sorted. The paths are relative to the folder, with `/` as
/// the separator.
fn list_files(folder: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut pending = vec![(folder.to_path_buf(), String::new())];
    while let Some((folder, prefix)) = pending.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                pending.push((entry.path(), format!("{path}/")));
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

impl SiteConfig {
    /// Reads the manifest of the workspace and of its members.
    ///
    /// # Errors
    /// Returns an error if a manifest cannot be read, or if a listed crate is not a member.
    fn read_from(root: &Path, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let read = |path: PathBuf| -> Result<toml::Table, String> {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            text.parse().map_err(|error| format!("{}: {error}", path.display()))
        };
        let manifest = read(root.join("Cargo.toml"))?;
        let workspace = manifest.get("workspace");
        let mut folders = BTreeMap::new();
        for folder in string_list(workspace.and_then(|table| table.get("members"))) {
            let member = read(root.join(&folder).join("Cargo.toml"))?;
            let name = member.get("package").and_then(|table| table.get("name")?.as_str());
            folders.insert(name.unwrap_or_default().to_owned(), folder);
        }
        let mut crates = BTreeMap::new();
        for name in string_list(workspace.and_then(|table| table.get("metadata")?.get("site")?.get("crates")))
        {
            let folder = folders
                .remove(&name)
                .ok_or_else(|| format!("Cargo.toml: `workspace.metadata.site.crates`: no member `{name}`"))?;
            crates.insert(name, folder);
        }
        let declared = workspace.and_then(|table| table.get("package")?.get("repository")?.as_str());
        let repository = declared.filter(|address| !address.is_empty()).map(str::to_owned);
        Ok(Self { repository: repository.or_else(|| workflow_repository(variable)), crates })
    }
}

/// Returns the address of the repository whose GitHub workflow runs this program.
fn workflow_repository(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    Some(format!("{}/{}", variable("GITHUB_SERVER_URL")?, variable("GITHUB_REPOSITORY")?))
}

fn string_list(value: Option<&toml::Value>) -> Vec<String> {
    let list = value.and_then(toml::Value::as_array);
    list.into_iter().flatten().filter_map(|entry| entry.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests;
