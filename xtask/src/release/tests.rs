//! Tests of the conditions of a release, and of the files that a release generates.

#[cfg(target_os = "linux")]
use std::process::Command;
use std::{collections::BTreeSet, path::PathBuf};

use super::*;

const ADDRESS: &str = "https://code.example/codegen";
const VERSION: &str = "1.2.0";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

fn manifest() -> String {
    format!(
        "[workspace.package]\nversion = \"{VERSION}\"\nrepository = \"{ADDRESS}\"\nhomepage = \"{ADDRESS}\"\n\
         [workspace.dependencies]\na = {{ path = \"a\", version = \"{VERSION}\" }}\nserde = \"1\"\n"
    )
}

fn changelog() -> String {
    format!("# Changelog\n\n## {VERSION} - 2026-12-01\n\n### Added\n\n* A command.\n\n## 1.1.0\n\n* Older.\n")
}

#[test]
fn complete_release_has_no_problems() {
    assert_eq!(find_release_problems("v1.2.0", &manifest(), &changelog()), Vec::<String>::new());
}

#[test]
fn each_missing_condition_is_reported() {
    for (tag, manifest, changelog, expected) in [
        (
            "v1.3.0",
            manifest(),
            changelog(),
            "the tag is `v1.3.0`, but `workspace.package.version` is `1.2.0`",
        ),
        ("1.2.0", manifest(), changelog(), "the tag is `1.2.0`"),
        (
            "v1.2.0",
            manifest().replace(&format!("repository = \"{ADDRESS}\""), "repository = \"\""),
            changelog(),
            "`workspace.package.repository` is ``; set it to the public https address",
        ),
        (
            "v1.2.0",
            manifest().replace("homepage", "website"),
            changelog(),
            "`workspace.package.homepage` is missing",
        ),
        (
            "v1.2.0",
            manifest().replace("path = \"a\", version = \"1.2.0\"", "path = \"a\", version = \"1.1.0\""),
            changelog(),
            "`workspace.dependencies.a` does not require `1.2.0`",
        ),
        (
            "v1.2.0",
            manifest(),
            changelog().replace(VERSION, "Unreleased: 1.2.0"),
            "CHANGELOG.md: no section `## 1.2.0`",
        ),
    ] {
        let problems = find_release_problems(tag, &manifest, &changelog);
        assert!(matches!(&problems[..], [problem] if problem.contains(expected)), "{expected}: {problems:?}");
    }
}

#[test]
fn notes_are_the_section_of_the_version() {
    let changelog = changelog();
    assert_eq!(changelog_section(&changelog, VERSION), Some("### Added\n\n* A command."));
    assert_eq!(changelog_section(&changelog, "1.1.0"), Some("* Older."));
    assert_eq!(changelog_section(&changelog, "1.1"), None);
}

#[test]
fn invalid_checksums_and_placeholders_are_reported() {
    assert_eq!(parse_checksums("abc  x.tar.gz\n").unwrap_err(), "line 1 must have the form `SHA256  NAME`");
    let identity = ReleaseIdentity {
        version: VERSION.to_owned(),
        repository: ADDRESS.to_owned(),
        homepage: ADDRESS.to_owned(),
    };
    let fill = |template: &str| fill_template(template, &identity, &ArchiveChecksums::new());
    assert_eq!(fill("a @version@ b").unwrap(), "a 1.2.0 b");
    assert_eq!(fill("@name@").unwrap_err(), "unknown placeholder `@name@`");
    assert_eq!(
        fill("@sha256 exchange t@").unwrap_err(),
        "the checksums do not contain `exchange-1.2.0-t.tar.gz`"
    );
}

/// Creates the archives of simulated binaries, then the files for package managers. This runs only on Linux,
/// because the script requires GNU tar. Without `zip`, the archive for Windows is left out.
#[cfg(target_os = "linux")]
#[test]
fn archives_and_package_files_agree() {
    let folder = tempfile::tempdir().unwrap();
    let binaries = folder.path().join("binaries");
    let script = |name: &str| {
        format!(
            "#!/bin/sh\ncase $1 in --version) echo {name} 1.2.0 ;; completions) echo \"script of $2\" ;; \
             man) echo page > \"$2/{name}.1\" ;; *) exit 2 ;; esac\n"
        )
    };
    let has_zip = Command::new("zip").arg("-v").output().is_ok();
    let targets = || TARGETS.into_iter().filter(|target| has_zip || !target.contains("windows"));
    for target in targets() {
        let suffix = if target.contains("windows") { ".exe" } else { "" };
        fs::create_dir_all(binaries.join(target)).unwrap();
        for command in ["contract-codegen", "exchange"] {
            fs::write(binaries.join(target).join(format!("{command}{suffix}")), script(command)).unwrap();
        }
    }
    let archive = |output: &str| {
        let output = folder.path().join(output);
        let mut script = Command::new("bash");
        script.arg(root().join("packaging/archive.sh")).arg(VERSION).arg(&binaries).arg(&output);
        let result = script.env("SOURCE_DATE_EPOCH", "1700000000").output().unwrap();
        assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
        fs::read_to_string(output.join("SHA256SUMS")).unwrap()
    };
    let sums = archive("dist");
    assert_eq!(sums, archive("again"), "the archives depend on the time or the folder");

    let checksums = parse_checksums(&sums).unwrap();
    let expected: BTreeSet<String> = COMMANDS
        .iter()
        .flat_map(|command| targets().map(|target| archive_name(command.name, VERSION, target)))
        .collect();
    assert_eq!(checksums.keys().cloned().collect::<BTreeSet<_>>(), expected);

    let list_archive = |name: &str| {
        let path = folder.path().join("dist").join(format!("{name}.tar.gz"));
        let output = Command::new("tar").arg("-tvzf").arg(path).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for command in ["contract-codegen", "exchange"] {
        let documents = [
            format!("completions/_{command}"),
            format!("completions/{command}.bash"),
            format!("completions/{command}.fish"),
            format!("man/{command}.1"),
        ];
        let name = format!("{command}-{VERSION}-x86_64-unknown-linux-musl");
        let content = list_archive(&name);
        let others = ["LICENSE-APACHE", "LICENSE-MIT", "README.md", command].map(str::to_owned);
        for file in others.iter().chain(&documents) {
            assert!(content.contains(&format!(" {name}/{file}\n")), "{file}\n{content}");
        }
        let is_program =
            |line: &str| line.starts_with("-rwxr-xr-x 0/0") && line.ends_with(&format!("/{command}"));
        assert!(content.lines().any(is_program), "{content}");
    }

    // The files for package managers come from the same data.
    let copy = folder.path().join("repository");
    for name in [FORMULA_TEMPLATE, FLAKE_TEMPLATE] {
        fs::create_dir_all(copy.join(name).parent().unwrap()).unwrap();
        fs::write(copy.join(name), read(name)).unwrap();
    }
    fs::write(copy.join("Cargo.toml"), manifest()).unwrap();
    fs::write(copy.join(CHANGELOG), changelog()).unwrap();
    let args = ReleaseFilesArgs {
        version: VERSION.to_owned(),
        checksums: folder.path().join("dist/SHA256SUMS"),
        output: PathBuf::from("out"),
    };
    assert_eq!(run_files(&args, &copy), CommandOutcome::Passed);
    let files = render_release_files(&args, &copy).unwrap();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["contract-codegen.rb", "exchange.rb", "flake.nix", "notes.md"]);
    for (name, text) in &files {
        assert!(!text.contains('@'), "{name}: a placeholder is left\n{text}");
        assert_eq!(&fs::read_to_string(copy.join("out").join(name)).unwrap(), text);
        let commands: &[&str] = match name.as_str() {
            "contract-codegen.rb" => &["contract-codegen"],
            "exchange.rb" => &["exchange"],
            "flake.nix" => &["contract-codegen", "exchange"],
            _ => continue,
        };
        assert!(text.contains(&format!("version{}\"1.2.0\"", if name == "flake.nix" { " = " } else { " " })));
        let packaged =
            TARGETS.into_iter().filter(|target| !target.contains("windows") && !target.ends_with("gnu"));
        for target in packaged {
            for command in commands {
                let archive = format!("{command}-1.2.0-{target}.tar.gz");
                let url = format!("\"{ADDRESS}/releases/download/v1.2.0/{archive}\"");
                assert!(text.contains(&url), "{name}: no {url}\n{text}");
                let position = text.find(&url).unwrap();
                assert!(
                    text[position..position + url.len() + 120].contains(&checksums[&archive]),
                    "{name}: {archive}"
                );
            }
        }
    }
    let other = ReleaseFilesArgs { version: "1.3.0".to_owned(), ..args };
    assert!(render_release_files(&other, &copy).unwrap_err().contains("the tag is `v1.3.0`"));
}

#[test]
fn summaries_are_short_enough_for_homebrew() {
    for command in &COMMANDS {
        assert!(command.summary.len() <= 80 && !command.summary.ends_with('.'), "{}", command.summary);
    }
}

/// Each address that `cargo binstall` computes is the address of an archive.
#[test]
fn binstall_metadata_names_the_archives() {
    for (manifest, command) in
        [("codegen/Cargo.toml", "contract-codegen"), ("exchange/cli/Cargo.toml", "exchange")]
    {
        let manifest: toml::Table = read(manifest).parse().unwrap();
        let metadata = &manifest["package"]["metadata"]["binstall"];
        for target in TARGETS {
            let overridden = metadata["overrides"].get(target).unwrap_or(metadata);
            let expand = |text: &toml::Value| {
                let text =
                    text.as_str().unwrap().replace("{ repo }", ADDRESS).replace("{ version }", VERSION);
                text.replace("{ target }", target).replace("{ bin }", command).replace("{ binary-ext }", "")
            };
            let archive = archive_name(command, VERSION, target);
            assert_eq!(
                expand(&overridden["pkg-url"]),
                format!("{ADDRESS}/releases/download/v{VERSION}/{archive}")
            );
            assert_eq!(expand(&metadata["bin-dir"]), format!("{command}-{VERSION}-{target}/{command}"));
            let format = if archive.ends_with(".zip") { "zip" } else { "tgz" };
            assert_eq!(overridden["pkg-fmt"].as_str(), Some(format));
        }
    }
}

#[test]
fn release_workflow_builds_each_target() {
    let workflow = read(".github/workflows/release.yml");
    let targets: BTreeSet<&str> = workflow
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- { target: ")?.split(',').next())
        .collect();
    assert_eq!(targets, TARGETS.into_iter().collect());
}

/// All packages inherit `repository` and `homepage` from the workspace. The workflows and `action.yml` pin
/// actions by commit hash.
#[test]
fn manifests_inherit_the_address_and_actions_are_pinned() {
    let workspace: toml::Table = read("Cargo.toml").parse().unwrap();
    for member in workspace["workspace"]["members"].as_array().unwrap() {
        let name = format!("{}/Cargo.toml", member.as_str().unwrap());
        let manifest: toml::Table = read(&name).parse().unwrap();
        for field in ["repository", "homepage"] {
            assert_eq!(manifest["package"][field]["workspace"].as_bool(), Some(true), "{name}: {field}");
        }
    }
    for name in [
        ".github/workflows/ci.yml",
        ".github/workflows/release.yml",
        ".github/workflows/site.yml",
        "action/action.yml",
    ] {
        for line in read(name).lines() {
            let Some((_, action)) = line.split_once("uses: ") else { continue };
            let hash = action.split(['@', ' ']).nth(1).unwrap_or_default();
            assert!(hash.len() == 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}: {line}");
        }
    }
}
