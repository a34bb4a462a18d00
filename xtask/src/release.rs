//! `release-check` and `release-files`: the conditions of a release, and the files for package managers.
//!
//! The manifest of the workspace contains the version and the public address; [`COMMANDS`] and `TARGETS`
//! define the archives. `packaging/archive.sh` creates the archives, and `.github/workflows/release.yml` runs
//! all steps. This module does not build, sign or upload anything.

use std::{collections::BTreeMap, fs, path::Path};

use crate::{
    CommandOutcome,
    cli::{ReleaseCheckArgs, ReleaseFilesArgs},
    style::{SUCCESS, report_error},
};

/// A command with archives in each release.
struct ReleasedCommand {
    name: &'static str,
    /// The class of the Homebrew formula, which Homebrew derives from the file name.
    formula_class: &'static str,
    /// A description of at most 80 characters, which is the limit of Homebrew.
    summary: &'static str,
}

const COMMANDS: [ReleasedCommand; 2] = [
    ReleasedCommand {
        name: "contract-codegen",
        formula_class: "ContractCodegen",
        summary: "Generate Rust types, validators, clients and servers from OpenAPI",
    },
    ReleasedCommand {
        name: "exchange",
        formula_class: "Exchange",
        summary: "Use the exchange in a terminal",
    },
];

/// The targets of the archives. The matrix of the release workflow lists the same targets.
#[cfg(test)]
const TARGETS: [&str; 7] = [
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-gnu",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "x86_64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
];

const FORMULA_TEMPLATE: &str = "packaging/homebrew/formula.rb";
const FLAKE_TEMPLATE: &str = "packaging/nix/flake.nix";
const CHANGELOG: &str = "CHANGELOG.md";

/// The fields of the workspace's manifest that identify a release.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ReleaseIdentity {
    version: String,
    repository: String,
    homepage: String,
}

/// The digest of each archive by its file name, as in the output of `sha256sum`.
type ArchiveChecksums = BTreeMap<String, String>;

/// Prints every condition of a release that is not met.
pub(crate) fn run_check(args: &ReleaseCheckArgs, root: &Path) -> CommandOutcome {
    let read = |name: &str| fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"));
    let (manifest, changelog) = match (read("Cargo.toml"), read(CHANGELOG)) {
        (Ok(manifest), Ok(changelog)) => (manifest, changelog),
        (Err(error), _) | (_, Err(error)) => {
            report_error(&error);
            return CommandOutcome::NotRun;
        }
    };
    let problems = find_release_problems(&args.tag, &manifest, &changelog);
    for problem in &problems {
        report_error(problem);
    }
    if !problems.is_empty() {
        return CommandOutcome::Failed;
    }
    anstream::println!("{SUCCESS}ready{SUCCESS:#}: {} can be released", args.tag);
    CommandOutcome::Passed
}

/// Writes the Homebrew formulas, the Nix flake and the release notes.
pub(crate) fn run_files(args: &ReleaseFilesArgs, root: &Path) -> CommandOutcome {
    let files = match render_release_files(args, root) {
        Ok(files) => files,
        Err(error) => {
            report_error(&error);
            return CommandOutcome::Failed;
        }
    };
    let folder = root.join(&args.output);
    for (name, text) in files {
        let path = folder.join(&name);
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text));
        if let Err(error) = written {
            report_error(&format!("{}: {error}", path.display()));
            return CommandOutcome::NotRun;
        }
        anstream::println!("{SUCCESS}created{SUCCESS:#} {}", args.output.join(name).display());
    }
    CommandOutcome::Passed
}

fn find_release_problems(tag: &str, manifest: &str, changelog: &str) -> Vec<String> {
    let manifest: toml::Table = match manifest.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![format!("Cargo.toml: {error}")],
    };
    let mut problems = Vec::new();
    match release_identity(&manifest) {
        Ok(identity) => {
            problems.extend(identity_problems(tag, &identity));
            problems.extend(dependency_problems(&manifest, &identity.version));
            if changelog_section(changelog, &identity.version).is_none() {
                let version = &identity.version;
                problems.push(format!("{CHANGELOG}: no section `## {version}`; rename `## Unreleased: …`"));
            }
        }
        Err(error) => problems.push(error),
    }
    problems
}

fn identity_problems(tag: &str, identity: &ReleaseIdentity) -> Vec<String> {
    let mut problems = Vec::new();
    if tag.strip_prefix('v') != Some(identity.version.as_str()) {
        let version = &identity.version;
        problems.push(format!("the tag is `{tag}`, but `workspace.package.version` is `{version}`"));
    }
    for (field, value) in [("repository", &identity.repository), ("homepage", &identity.homepage)] {
        if !value.starts_with("https://") || value.ends_with('/') {
            problems.push(format!(
                "Cargo.toml: `workspace.package.{field}` is `{value}`; set it to the public https address, \
                 without `/` at the end (docs/releasing.md, \"Before the first release\")"
            ));
        }
    }
    problems
}

/// Reports dependencies between crates of the workspace that require another version.
fn dependency_problems(manifest: &toml::Table, version: &str) -> Vec<String> {
    let dependencies = manifest.get("workspace").and_then(|table| table.get("dependencies")?.as_table());
    let internal = dependencies.into_iter().flatten().filter(|(_, value)| value.get("path").is_some());
    internal
        .filter(|(_, value)| value.get("version").and_then(toml::Value::as_str) != Some(version))
        .map(|(name, _)| format!("Cargo.toml: `workspace.dependencies.{name}` does not require `{version}`"))
        .collect()
}

fn release_identity(manifest: &toml::Table) -> Result<ReleaseIdentity, String> {
    let package = manifest.get("workspace").and_then(|table| table.get("package"));
    let field = |name: &str| {
        let value = package.and_then(|table| table.get(name)?.as_str());
        value.map(str::to_owned).ok_or_else(|| format!("Cargo.toml: `workspace.package.{name}` is missing"))
    };
    Ok(ReleaseIdentity {
        version: field("version")?,
        repository: field("repository")?,
        homepage: field("homepage")?,
    })
}

/// Returns the content of the section `## VERSION` or `## VERSION - DATE` of the changelog.
fn changelog_section<'a>(changelog: &'a str, version: &str) -> Option<&'a str> {
    let heading = format!("## {version}");
    let mut position = 0;
    let mut start = None;
    for line in changelog.split_inclusive('\n') {
        match start {
            None => {
                let rest = line.strip_prefix(heading.as_str()).map(str::trim_end);
                if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" - ")) {
                    start = Some(position + line.len());
                }
            }
            Some(start) if line.starts_with("## ") => return changelog.get(start..position).map(str::trim),
            Some(_) => {}
        }
        position += line.len();
    }
    changelog.get(start?..).map(str::trim)
}

/// Returns the name and the content of each file.
fn render_release_files(args: &ReleaseFilesArgs, root: &Path) -> Result<Vec<(String, String)>, String> {
    let read_file = |path: &Path| -> Result<String, String> {
        fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let read = |name: &str| read_file(&root.join(name));
    let manifest = read("Cargo.toml")?.parse().map_err(|error| format!("Cargo.toml: {error}"))?;
    let identity = release_identity(&manifest)?;
    if let Some(problem) = identity_problems(&format!("v{}", args.version), &identity).into_iter().next() {
        return Err(problem);
    }
    let checksums = parse_checksums(&read_file(&args.checksums)?)
        .map_err(|error| format!("{}: {error}", args.checksums.display()))?;
    let mut files = Vec::new();
    let formula = read(FORMULA_TEMPLATE)?;
    for command in &COMMANDS {
        let formula = formula
            .replace("@command@", command.name)
            .replace("@class@", command.formula_class)
            .replace("@summary@", command.summary);
        let formula = fill_template(&formula, &identity, &checksums)
            .map_err(|error| format!("{FORMULA_TEMPLATE}: {error}"))?;
        files.push((format!("{}.rb", command.name), formula));
    }
    let flake = fill_template(&read(FLAKE_TEMPLATE)?, &identity, &checksums)
        .map_err(|error| format!("{FLAKE_TEMPLATE}: {error}"))?;
    files.push(("flake.nix".to_owned(), flake));
    let changelog = read(CHANGELOG)?;
    let notes = changelog_section(&changelog, &identity.version)
        .ok_or_else(|| format!("{CHANGELOG}: no section `## {}`", identity.version))?;
    files.push(("notes.md".to_owned(), format!("{notes}\n")));
    Ok(files)
}

/// Parses the output of `sha256sum`: a digest in hexadecimal, two spaces or a space and `*`, and a name.
fn parse_checksums(text: &str) -> Result<ArchiveChecksums, String> {
    let mut checksums = ArchiveChecksums::new();
    for (index, line) in text.lines().enumerate() {
        let parts = line.split_once(' ').map(|(digest, name)| (digest, name.trim_start_matches([' ', '*'])));
        match parts {
            Some((digest, name))
                if digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
            {
                checksums.insert(name.to_owned(), digest.to_owned());
            }
            _ => return Err(format!("line {} must have the form `SHA256  NAME`", index + 1)),
        }
    }
    Ok(checksums)
}

/// Returns the name of the archive of a command for a target.
fn archive_name(command: &str, version: &str, target: &str) -> String {
    let suffix = if target.contains("windows") { "zip" } else { "tar.gz" };
    format!("{command}-{version}-{target}.{suffix}")
}

fn archive_url(identity: &ReleaseIdentity, archive: &str) -> String {
    format!("{}/releases/download/v{}/{archive}", identity.repository, identity.version)
}

/// Replaces `@version@`, `@homepage@`, `@url COMMAND TARGET@` and `@sha256 COMMAND TARGET@`.
fn fill_template(
    template: &str,
    identity: &ReleaseIdentity,
    checksums: &ArchiveChecksums,
) -> Result<String, String> {
    let mut out = String::new();
    for (index, part) in template.split('@').enumerate() {
        // The parts between two `@` have odd indices.
        if index % 2 == 0 {
            out.push_str(part);
            continue;
        }
        let words: Vec<&str> = part.split(' ').collect();
        match words.as_slice() {
            ["version"] => out.push_str(&identity.version),
            ["homepage"] => out.push_str(&identity.homepage),
            ["url", command, target] => {
                let archive = archive_name(command, &identity.version, target);
                out.push_str(&archive_url(identity, &archive));
            }
            ["sha256", command, target] => {
                let archive = archive_name(command, &identity.version, target);
                out.push_str(
                    checksums
                        .get(&archive)
                        .ok_or_else(|| format!("the checksums do not contain `{archive}`"))?,
                );
            }
            _ => return Err(format!("unknown placeholder `@{part}@`")),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
