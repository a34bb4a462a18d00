//! The build script that the book shows.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a test that cannot go on fails")]

use std::path::Path;

use contract_codegen::{
    config::Layout,
    generate::Project,
    write::{Mode, apply_file},
};

fn write(contract: &Path, out: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut project = Project { inputs: vec![contract.to_path_buf()], ..Project::default() };
    project.config.output.layout = Layout::File;
    let generated = project.generate()?;
    apply_file(&generated.files, &out.join("api.rs"), Mode::Write)?;
    println!("cargo::rerun-if-changed={}", contract.display());
    Ok(())
}

#[test]
fn a_build_script_writes_one_file() {
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/one_file/tickets.yaml");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book-build");
    let _ = std::fs::remove_dir_all(&out);
    write(&contract, &out).unwrap();
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/one_file/api.rs");
    let text = |path: &Path| std::fs::read_to_string(path).unwrap().replace("\r\n", "\n");
    assert_eq!(text(&out.join("api.rs")), text(&committed));
}
