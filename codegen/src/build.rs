//! Generating from a build script: one file into `OUT_DIR`, and everything that cargo has to know.

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{
    config::{Config, Layout},
    diagnostics::{Diagnostics, Severity},
    generate::{Generated, Project},
    load::files,
    write::{Mode, WriteError, apply_file},
};

/// Generates one file while cargo builds a package; the whole of a `build.rs`.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// use contract_codegen::Build;
///
/// fn main() -> ExitCode {
///     Build::of("openapi.yaml").run("api.rs")
/// }
/// ```
///
/// The package then says `include!(concat!(env!("OUT_DIR"), "/api.rs"));` in a module of its own.
#[derive(Clone, Debug)]
#[must_use = "nothing is generated before `run` or `write`"]
pub struct Build {
    inputs: Vec<PathBuf>,
    configure: Vec<fn(&mut Config)>,
}

/// Why nothing was generated.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// There is something wrong with the contract or the options.
    Refused(Diagnostics),
    /// The file could not be written.
    Write(WriteError),
}

impl Build {
    /// From an OpenAPI document, a schema file, a folder of them, or a `codegen.toml`; a relative path is one of
    /// the package.
    pub fn of(input: impl Into<PathBuf>) -> Self {
        Self { inputs: vec![input.into()], configure: Vec::new() }
    }

    /// From this one too.
    pub fn and(mut self, input: impl Into<PathBuf>) -> Self {
        self.inputs.push(input.into());
        self
    }

    /// Decides what a `codegen.toml` could decide, which it overrules. The layout is one file in any case.
    pub fn with(mut self, configure: fn(&mut Config)) -> Self {
        self.configure.push(configure);
        self
    }

    /// Writes the file below `OUT_DIR` and tells cargo, in lines on standard output, what the file was made of
    /// (`cargo::rerun-if-changed`) and what is wrong with it (`cargo::warning`, `cargo::error`; errors with
    /// their excerpts on standard error, too). The exit code is the build script's.
    #[must_use = "the build goes on with an older file unless the build script ends with this"]
    #[allow(clippy::print_stdout, clippy::print_stderr, reason = "what a build script says it prints")]
    pub fn run(&self, file: &str) -> ExitCode {
        for input in &self.inputs {
            println!("cargo::rerun-if-changed={}", input.display());
        }
        let Some(folder) = env::var_os("OUT_DIR").map(PathBuf::from) else {
            eprintln!("there is no OUT_DIR: `Build::run` is for build scripts, `Build::write` for the rest");
            return ExitCode::FAILURE;
        };
        let project = self.project();
        for path in project.iter().flat_map(configured) {
            // One around the output would change with every run; what is read of it is named below.
            if let Some(path) = there(&path).filter(|path| !folder.starts_with(path)) {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
        match project.and_then(|project| written(&project, &folder.join(file))) {
            Ok(generated) => {
                let sources = &generated.contract.sources;
                // What is missing within a folder around the output is looked for in every run.
                let absent = sources
                    .absent()
                    .map(|path| there(path).filter(|there| !folder.starts_with(there)).unwrap_or(path));
                for path in sources.files().chain(absent) {
                    println!("cargo::rerun-if-changed={}", path.display());
                }
                let said = generated.contract.diagnostics.lines().into_iter();
                for (_, line) in said.filter(|(severity, _)| *severity == Severity::Warning) {
                    println!("cargo::warning={line}");
                }
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprint!("{error}");
                let lines = match error {
                    BuildError::Refused(problems) => problems.lines(),
                    BuildError::Write(error) => vec![(Severity::Error, error.to_string())],
                };
                for (_, line) in lines.into_iter().filter(|(severity, _)| *severity == Severity::Error) {
                    println!("cargo::error={line}");
                }
                ExitCode::FAILURE
            }
        }
    }

    /// Writes a file, if it is not that already, and gives what it was made of:
    /// [`Sources::files`](crate::Sources::files) of its contract.
    ///
    /// # Errors
    /// [`BuildError::Refused`] with every problem of the contract, [`BuildError::Write`] when the file cannot be
    /// written or is somebody else's. A file that was there is left as it was.
    pub fn write(&self, file: &Path) -> Result<Generated, BuildError> {
        written(&self.project()?, file)
    }

    fn project(&self) -> Result<Project, BuildError> {
        let mut project = Project::default();
        for input in &self.inputs {
            match input.extension().is_some_and(|ending| ending == "toml") {
                true => {
                    let inputs = std::mem::take(&mut project.inputs);
                    project = Project::from_config(input).map_err(BuildError::Refused)?;
                    project.inputs = inputs;
                }
                false => project.inputs.push(input.clone()),
            }
        }
        self.configure.iter().for_each(|configure| configure(&mut project.config));
        project.config.output.layout = Layout::File;
        Ok(project)
    }
}

fn written(project: &Project, file: &Path) -> Result<Generated, BuildError> {
    let generated = project.generate().map_err(BuildError::Refused)?;
    apply_file(&generated.files, file, Mode::Write).map_err(BuildError::Write)?;
    Ok(generated)
}

/// What tells of a path. One that is not there would be changed in every run: what it would stand in tells.
fn there(path: &Path) -> Option<&Path> {
    path.ancestors().find(|path| path.exists())
}

/// What the options name of a contract. In a folder of it a file may come to be that nobody has read yet,
/// and of a contract that is refused nothing else is known.
fn configured(project: &Project) -> impl Iterator<Item = PathBuf> {
    let Project { config, base, .. } = project;
    let overlays = config.input.overlays.iter().map(|overlay| &overlay.file);
    let named = config.inputs.iter().chain(config.mounts.values()).chain(overlays);
    named.map(|path| files::absolute(&base.join(path)).unwrap_or_else(|_| base.join(path)))
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(problems) => write!(f, "{problems}"),
            Self::Write(error) => writeln!(f, "error[write]: {error}"),
        }
    }
}

impl std::error::Error for BuildError {}
