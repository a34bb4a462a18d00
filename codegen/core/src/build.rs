//! Code generation from a build script: writes one file to `OUT_DIR` and reports inputs and problems to
//! Cargo.

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{
    config::{Config, OutputLayout},
    diagnostics::{Diagnostics, Severity},
    generate::{GeneratedCode, Project},
    write::{WriteError, WriteMode, apply_file},
};

/// Generates one file during a Cargo build; a `build.rs` needs nothing else.
///
/// ```no_run
/// # use contract_codegen_core as contract_codegen;
/// use std::process::ExitCode;
///
/// use contract_codegen::BuildScript;
///
/// fn main() -> ExitCode {
///     BuildScript::new("openapi.yaml").run("api.rs")
/// }
/// ```
///
/// The package includes the file with `include!(concat!(env!("OUT_DIR"), "/api.rs"));` in a module of its
/// own.
#[derive(Clone, Debug)]
#[must_use = "call `run` or `write_file` to generate the code"]
pub struct BuildScript {
    inputs: Vec<PathBuf>,
    configure: Vec<fn(&mut Config)>,
}

/// The reason why no file was generated.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The contract or the options are invalid.
    Contract(Diagnostics),
    /// The file could not be written.
    Write(WriteError),
}

impl BuildScript {
    /// Creates a generator for an OpenAPI document, a schema file, a folder of these, or a `codegen.toml`. A
    /// relative path refers to the folder of the package.
    pub fn new(input: impl Into<PathBuf>) -> Self {
        Self { inputs: vec![input.into()], configure: Vec::new() }
    }

    /// Adds an input.
    pub fn with_input(mut self, input: impl Into<PathBuf>) -> Self {
        self.inputs.push(input.into());
        self
    }

    /// Changes the options; overrides `codegen.toml`. The layout is always one file.
    pub fn with_config(mut self, configure: fn(&mut Config)) -> Self {
        self.configure.push(configure);
        self
    }

    /// Writes the file to `OUT_DIR` and prints instructions for Cargo: the inputs (`cargo::rerun-if-changed`)
    /// and the problems (`cargo::warning`, `cargo::error`). Errors also appear with source excerpts on
    /// standard error. Returns the exit code for the build script.
    #[must_use = "return this exit code from the build script, or the build continues with an outdated file"]
    #[allow(
        clippy::print_stdout,
        clippy::print_stderr,
        reason = "build scripts communicate with Cargo through standard output"
    )]
    pub fn run(&self, file: &str) -> ExitCode {
        for input in &self.inputs {
            println!("cargo::rerun-if-changed={}", input.display());
        }
        let Some(folder) = env::var_os("OUT_DIR").map(PathBuf::from) else {
            eprintln!(
                "OUT_DIR is not set: use `BuildScript::run` in a build script, and `BuildScript::write_file` elsewhere"
            );
            return ExitCode::FAILURE;
        };
        let project = self.open_project();
        for path in project.iter().flat_map(Project::configured_paths) {
            // A folder around the output would change in every build; the files read from it are listed
            // below.
            if let Some(path) = nearest_existing(&path).filter(|path| !folder.starts_with(path)) {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
        match project.and_then(|project| generate_file(&project, &folder.join(file))) {
            Ok(generated) => {
                let sources = &generated.contract.sources;
                // Missing files in a folder around the output are listed themselves, since the folder always
                // changes.
                let absent = sources.absent().map(|path| {
                    nearest_existing(path).filter(|there| !folder.starts_with(there)).unwrap_or(path)
                });
                for path in sources.files().chain(absent) {
                    println!("cargo::rerun-if-changed={}", path.display());
                }
                let lines = generated.contract.diagnostics.single_lines().into_iter();
                for (_, line) in lines.filter(|(severity, _)| *severity == Severity::Warning) {
                    println!("cargo::warning={line}");
                }
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprint!("{error}");
                let lines = match error {
                    BuildError::Contract(problems) => problems.single_lines(),
                    BuildError::Write(error) => vec![(Severity::Error, error.to_string())],
                };
                for (_, line) in lines.into_iter().filter(|(severity, _)| *severity == Severity::Error) {
                    println!("cargo::error={line}");
                }
                ExitCode::FAILURE
            }
        }
    }

    /// Writes the file if its content differs, and returns the generated code with its contract, whose
    /// [`Sources::files`](crate::Sources::files) are the inputs.
    ///
    /// # Errors
    /// [`BuildError::Contract`] with all problems of the contract; [`BuildError::Write`] if the file cannot
    /// be written or was not generated before. An existing file stays unchanged.
    pub fn write_file(&self, file: &Path) -> Result<GeneratedCode, BuildError> {
        generate_file(&self.open_project()?, file)
    }

    fn open_project(&self) -> Result<Project, BuildError> {
        let mut project = Project::default();
        for input in &self.inputs {
            match input.extension().is_some_and(|ending| ending == "toml") {
                true => {
                    let inputs = std::mem::take(&mut project.inputs);
                    project = Project::from_config(input).map_err(BuildError::Contract)?;
                    project.inputs = inputs;
                }
                false => project.inputs.push(input.clone()),
            }
        }
        self.configure.iter().for_each(|configure| configure(&mut project.config));
        project.config.output.layout = OutputLayout::File;
        Ok(project)
    }
}

fn generate_file(project: &Project, file: &Path) -> Result<GeneratedCode, BuildError> {
    let generated = project.generate().map_err(BuildError::Contract)?;
    apply_file(&generated.files, file, WriteMode::Write).map_err(BuildError::Write)?;
    Ok(generated)
}

/// Returns the nearest existing ancestor of a path. Cargo would treat a missing path as changed in every
/// build.
fn nearest_existing(path: &Path) -> Option<&Path> {
    path.ancestors().find(|path| path.exists())
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Contract(problems) => write!(f, "{problems}"),
            Self::Write(error) => writeln!(f, "error[write]: {error}"),
        }
    }
}

impl std::error::Error for BuildError {}
