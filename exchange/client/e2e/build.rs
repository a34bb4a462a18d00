//! Makes modules of the client's examples, which `tests/all/examples.rs` runs: what opens a file and what its programs
//! share cannot stand in a module, and `main` has to be seen from outside.

use std::{
    env, fs,
    io::{self, Write as _},
    path::Path,
};

/// Where they are, and how each folder names what they share.
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
