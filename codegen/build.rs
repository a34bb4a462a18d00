//! Takes the runtime's sources into the generator, so that its output needs nothing unpublished.

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let runtime = home(&own, &inherited("CARGO_PKG_VERSION")).ok_or_else(|| {
        io::Error::other("the sources of contract-runtime are not beside those of contract-codegen")
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

/// Where the runtime lies: in the workspace, or beside this package as registries and vendored folders
/// are unpacked.
pub(crate) fn home(own: &Path, version: &str) -> Option<PathBuf> {
    let names = ["runtime", &format!("contract-runtime-{version}"), "contract-runtime"];
    let mut folders = names.into_iter().map(|name| own.join("..").join(name));
    folders.find(|folder| written(folder).is_ok_and(|text| text.contains("name = \"contract-runtime\"")))
}

/// A manifest as it was written: packages have another one that says the same.
pub(crate) fn written(folder: &Path) -> io::Result<String> {
    fs::read_to_string(folder.join("Cargo.toml.orig"))
        .or_else(|_| fs::read_to_string(folder.join("Cargo.toml")))
}

/// All sources but the tests.
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

/// A source whose tests stay at home: the modules in it, and the names of their files.
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

/// What this package inherits from the workspace that the runtime inherits it from too.
fn inherited(variable: &str) -> String {
    env::var(variable).unwrap_or_default()
}

/// The manifest outside its workspace: what is inherited is written out, tests are left out, and what
/// only a registry asks.
fn manifest(text: &str) -> String {
    const OF_REGISTRIES: [&str; 4] = ["keywords", "categories", "documentation", "exclude"];
    let mut out = String::new();
    let mut skip = false;
    // Of the line below them.
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
