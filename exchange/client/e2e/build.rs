//! Converts the client's examples into modules that `tests/all/examples.rs` runs: removes inner attributes,
//! replaces the shared setup module, and makes `main` public.

use std::{
    env, fs,
    io::{self, Write as _},
    path::Path,
};

/// The folders of the examples, with the path by which each of them includes the shared setup.
const FOLDERS: [(&str, &str); 2] =
    [("../examples", "common/setup.rs"), ("../sqlite/examples", "../../examples/common/setup.rs")];

fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    for (folder, shared) in FOLDERS {
        writeln!(io::stdout(), "cargo::rerun-if-changed={folder}")?;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|end| end == "rs"))
            else {
                continue;
            };
            let text = fs::read_to_string(&path)?.replace("\r\n", "\n");
            fs::write(Path::new(&out).join(name), module(&text, shared))?;
        }
    }
    Ok(())
}

fn module(program: &str, shared: &str) -> String {
    let inner = |line: &&str| !line.starts_with("//!") && !line.starts_with("#![");
    let lines: Vec<&str> = program.lines().filter(inner).collect();
    let text = lines.join("\n") + "\n";
    let text = text.replace(&format!("#[path = \"{shared}\"]\nmod common;"), "use super::common;");
    text.replace("\nasync fn main()", "\npub(crate) async fn main()")
        .replace("\nfn main()", "\npub(crate) fn main()")
}
