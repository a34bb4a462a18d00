//! A test that compares `one_file/api.rs` with the output of the generator.

use std::{fs, path::Path};

use contract_codegen::{Project, config::OutputLayout};

#[test]
fn committed_file_equals_the_generated_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/one_file");
    let mut project = Project { inputs: vec![folder.join("tickets.yaml")], ..Project::default() };
    project.config.output.layout = OutputLayout::File;
    let files = project.generate().unwrap_or_else(|problems| panic!("{problems}")).files;
    let [text] = files.0.values().collect::<Vec<_>>()[..] else { panic!("more than one file") };
    let path = folder.join("api.rs");
    if std::env::var_os("UPDATE_CASES").is_some() {
        fs::write(&path, text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    assert!(committed == *text, "run UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output");
}
