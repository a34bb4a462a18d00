//! `vendors`: runs the programs in `codegen/examples/vendors` with the real documents of the vendors.
//!
//! For each vendor, generates a package from the document, compiles the program with it, and runs the program
//! against the mock server of the same document, which rejects requests that violate the document.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::Value;

use crate::{
    CommandOutcome,
    background::BackgroundProcess,
    cli::VendorsArgs,
    program::run_checked,
    style::{report_error, report_progress},
    test::cargo_command,
};

/// The vendors: the names of their programs, and of the modules that these import.
const VENDORS: [&str; 9] = [
    "calendar",
    "chat",
    "cloud",
    "code_hosting",
    "commerce",
    "dns",
    "language_model",
    "messaging",
    "payments",
];
/// The folder of the programs and their settings.
const PROGRAMS: &str = "codegen/examples/vendors";
/// The maximum time that the mock server may take to start. It reads a document of several megabytes.
const MOCK_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs the programs of all vendors whose documents are in the folder.
pub(crate) fn run(args: &VendorsArgs, root: &Path) -> CommandOutcome {
    let found: Vec<(&str, PathBuf)> =
        VENDORS.iter().filter_map(|vendor| find_document(&args.folder, vendor)).collect();
    if found.is_empty() {
        report_error(&format!(
            "{} contains no document of a vendor, such as `payments.json`: the comments of {PROGRAMS}/*.toml name \
             the packages and repositories with the documents",
            args.folder.display()
        ));
        return CommandOutcome::NotRun;
    }
    let mut outcome = CommandOutcome::Passed;
    for (vendor, document) in found {
        report_progress(vendor, &document.display().to_string());
        match run_vendor(vendor, &document, root) {
            Ok(printed) => anstream::print!("{printed}"),
            Err(error) => {
                report_error(&format!("{vendor}: {error}"));
                outcome = CommandOutcome::Failed;
            }
        }
    }
    outcome
}

/// Finds the document of a vendor: a file, or a folder with several files.
fn find_document(folder: &Path, vendor: &'static str) -> Option<(&'static str, PathBuf)> {
    let candidates = [folder.join(format!("{vendor}.json")), folder.join(vendor)];
    candidates.into_iter().find(|path| path.exists()).map(|path| (vendor, path))
}

/// Generates, compiles and runs, and returns what the program printed.
fn run_vendor(vendor: &str, document: &Path, root: &Path) -> Result<String, String> {
    let folder = root.join("target/vendors").join(vendor);
    write_program(vendor, document, root, &folder)
        .map_err(|error| format!("cannot write {}: {error}", folder.display()))?;
    run_checked(cargo_command().current_dir(root).args(["build", "--package", "contract-codegen"]))?;
    let generator = root.join("target/debug/contract-codegen");
    run_checked(Command::new(&generator).current_dir(&folder).args([
        "generate",
        "codegen.toml",
        "--output",
        "package",
    ]))?;
    let mut mock = Command::new(&generator);
    mock.current_dir(&folder).args(["mock", "codegen.toml", "--port", "0", "--json"]);
    let mut mock = BackgroundProcess::start(&mut mock, folder.join("mock.log"))?;
    let address = mock_address(&mut mock)?;
    let mut program = cargo_command();
    program.current_dir(folder.join("program")).env("CARGO_TARGET_DIR", root.join("target/vendors/target"));
    program.args(["run", "--quiet"]);
    // Only a package with streams contains this part of the runtime.
    if folder.join("package/runtime/src/stream.rs").is_file() {
        program.args(["--features", "stream"]);
    }
    let output = run_checked(program.args(["--", &address]))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Writes the settings, the document and the package of the program.
fn write_program(vendor: &str, document: &Path, root: &Path, folder: &Path) -> std::io::Result<()> {
    let programs = root.join(PROGRAMS);
    // Beside the package, because both are workspaces.
    let program = folder.join("program");
    fs::create_dir_all(program.join("src"))?;
    match document.is_dir() {
        true => copy_folder(document, &folder.join(vendor))?,
        false => fs::copy(document, folder.join(format!("{vendor}.json"))).map(drop)?,
    }
    let settings = fs::read_to_string(programs.join(format!("{vendor}.toml")))?;
    // The folder lies in the workspace of this repository.
    fs::write(folder.join("codegen.toml"), settings.replace("[output]\n", "[output]\nmember = false\n"))?;
    let overlay = format!("{vendor}.overlay.yaml");
    if programs.join(&overlay).is_file() {
        fs::copy(programs.join(&overlay), folder.join(&overlay))?;
    }
    let main = fs::read_to_string(programs.join("runner.rs"))?;
    fs::write(program.join("src/main.rs"), main.replace("vendor as NAME", &format!("vendor as {vendor}")))?;
    fs::copy(programs.join(format!("{vendor}.rs")), program.join("src/program.rs"))?;
    let package = vendor.replace('_', "-");
    let manifest = format!(
        "[package]\nname = \"program\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[features]\nstream = []\n\n[dependencies]\n\
         package = {{ path = \"../package\", package = \"{package}\", features = [\"ready\"] }}\n\
         http = \"1\"\ntokio = {{ version = \"1\", features = [\"macros\", \"rt\"] }}\n"
    );
    fs::write(program.join("Cargo.toml"), manifest)
}

/// Copies a folder with all its contents.
fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &target)?,
            false => fs::copy(entry.path(), target).map(drop)?,
        }
    }
    Ok(())
}

/// Returns the address in the first line that the mock server prints.
fn mock_address(mock: &mut BackgroundProcess) -> Result<String, String> {
    loop {
        let line = mock.first_line(MOCK_TIMEOUT)?;
        let value: Value = serde_json::from_str(&line)
            .map_err(|error| format!("the mock server printed {line}: {error}"))?;
        if let Some(address) = value["listening"]["address"].as_str() {
            return Ok(address.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every vendor has a program and settings that name its document.
    #[test]
    fn vendors_have_programs_and_settings() {
        let root = crate::repository::workspace_root().expect("the tests run in the repository");
        for vendor in VENDORS {
            let text = |ending: &str| {
                fs::read_to_string(root.join(PROGRAMS).join(format!("{vendor}.{ending}"))).expect(vendor)
            };
            let settings = text("toml");
            let is_input = |start: &str| settings.contains(&format!("inputs = [\"{vendor}{start}"));
            assert!(is_input(".json\"") || is_input("/"), "{vendor}");
            assert!(text("rs").contains(&format!("use crate::{vendor}::{{")), "{vendor}");
        }
    }

    #[test]
    fn folder_without_documents_is_reported() {
        let args = VendorsArgs { folder: PathBuf::from("/nonexistent") };
        assert_eq!(run(&args, Path::new(".")), CommandOutcome::NotRun);
    }
}
