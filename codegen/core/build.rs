//! Copies the runtime's sources into the generator, so that generated packages need no unpublished
//! dependency.

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let runtime = home(&own, &inherited("CARGO_PKG_VERSION")).ok_or_else(|| {
        io::Error::other("the sources of contract-runtime are not beside those of contract-codegen-core")
    })?;
    println!("cargo::rerun-if-changed={}", runtime.display());
    let mut files = Vec::new();
    collect(&runtime.join("src"), &runtime, &mut files)?;
    files.sort();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("runtime.rs");
    let mut out = fs::File::create(out)?;
    writeln!(out, "/// The runtime's files: path and text.\nconst RUNTIME: &[(&str, &str)] = &[")?;
    writeln!(out, "    (\"Cargo.toml\", {:?}),", manifest(&written(&runtime)?))?;
    for (name, path) in files {
        writeln!(out, "    ({name:?}, {:?}),", without_tests(&fs::read_to_string(path)?))?;
    }
    writeln!(out, "];")
}

/// Finds the runtime's folder: in the workspace, or beside this package in a registry cache or vendor folder.
pub(crate) fn home(own: &Path, version: &str) -> Option<PathBuf> {
    let names = ["../runtime", &format!("contract-runtime-{version}"), "contract-runtime"];
    let mut folders = names.into_iter().map(|name| own.join("..").join(name));
    folders.find(|folder| written(folder).is_ok_and(|text| text.contains("name = \"contract-runtime\"")))
}

/// Reads a manifest as its author wrote it. Published packages contain a normalized manifest as well.
pub(crate) fn written(folder: &Path) -> io::Result<String> {
    fs::read_to_string(folder.join("Cargo.toml.orig"))
        .or_else(|_| fs::read_to_string(folder.join("Cargo.toml")))
}

/// Collects all source files except tests.
fn collect(folder: &Path, root: &Path, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        if path.is_dir() {
            if !name.ends_with("/tests") {
                collect(&path, root, files)?;
            }
        } else if name.ends_with(".rs") && !name.ends_with("/tests.rs") {
            files.push((name, path.canonicalize()?));
        }
    }
    Ok(())
}

/// Removes the test modules and the names of their files from a source file.
fn without_tests(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut out =
        text.replace("#[cfg(test)]\nmod tests;\n", "").replace("#[cfg(test)]\npub(crate) mod tests;\n", "");
    while let Some(start) = out.find("\n#[cfg(test)]\nmod tests {\n") {
        let end = out[start..].find("\n}\n").map_or(out.len(), |end| start + end + 3);
        out.replace_range(start..end, "");
    }
    out
}

/// Returns a package field that this package and the runtime both inherit from the workspace.
fn inherited(variable: &str) -> String {
    env::var(variable).unwrap_or_default()
}

/// Rewrites the manifest for use outside of its workspace: inherited fields are expanded; tests and fields
/// that only registries use are removed.
fn manifest(text: &str) -> String {
    const OF_REGISTRIES: [&str; 4] = ["keywords", "categories", "documentation", "exclude"];
    let mut out = String::new();
    let mut skip = false;
    // Comments that belong to the next line.
    let mut comments = String::new();
    for line in text.lines() {
        if line.starts_with('#') {
            comments.push_str(&format!("{line}\n"));
            continue;
        }
        let comments = std::mem::take(&mut comments);
        if line.starts_with('[') {
            skip = line == "[dev-dependencies]" || line == "[lints]";
        }
        if skip || OF_REGISTRIES.iter().any(|name| line.starts_with(name)) {
            continue;
        }
        let line = match line.strip_suffix(".workspace = true") {
            None => format!("{comments}{line}"),
            Some("edition") => "edition = \"2024\"".to_owned(),
            Some("version") => format!("version = {:?}", inherited("CARGO_PKG_VERSION")),
            Some("rust-version") => format!("rust-version = {:?}", inherited("CARGO_PKG_RUST_VERSION")),
            Some("license") => format!("license = {:?}", inherited("CARGO_PKG_LICENSE")),
            Some(_) => continue,
        };
        out.push_str(&line);
        out.push('\n');
    }
    out
}
