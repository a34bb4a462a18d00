//! Takes the runtime's sources into the generator, so that its output needs nothing unpublished.

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let runtime = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../runtime");
    println!("cargo::rerun-if-changed={}", runtime.display());
    let mut files = Vec::new();
    collect(&runtime.join("src"), &runtime, &mut files)?;
    files.sort();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("runtime.rs");
    let mut out = fs::File::create(out)?;
    writeln!(out, "/// The runtime's files: path and text.\nconst RUNTIME: &[(&str, &str)] = &[")?;
    writeln!(out, "    (\"Cargo.toml\", {:?}),", manifest(&fs::read_to_string(runtime.join("Cargo.toml"))?))?;
    for (name, path) in files {
        writeln!(out, "    ({name:?}, {:?}),", without_tests(&fs::read_to_string(path)?))?;
    }
    writeln!(out, "];")
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

/// The manifest outside its workspace: what is inherited is written out, tests are left out.
fn manifest(text: &str) -> String {
    let mut out = String::new();
    let mut skip = false;
    for line in text.lines() {
        if line.starts_with('[') {
            skip = line == "[dev-dependencies]" || line == "[lints]";
        }
        if skip || line.contains(".workspace = true") {
            if line.starts_with("edition") {
                out.push_str("edition = \"2024\"\n");
            } else if line.starts_with("version") {
                out.push_str("version = \"0.1.0\"\n");
            } else if line.starts_with("rust-version") {
                out.push_str(&format!("rust-version = {:?}\n", inherited("CARGO_PKG_RUST_VERSION")));
            } else if line.starts_with("license") {
                out.push_str(&format!("license = {:?}\n", inherited("CARGO_PKG_LICENSE")));
            }
            continue;
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}
