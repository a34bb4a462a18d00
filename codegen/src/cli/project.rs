//! Opens a project from the inputs and options of the command line.

use std::{
    fs,
    path::{Path, PathBuf},
};

use contract_codegen::{Project, config, diagnostics::FaultPolicy};

use super::{
    args::{GenerateArgs, LayoutArg, PartArg, ReadingArgs, SelectionArgs},
    error::CommandError,
};

/// Opens the inputs as a project. If one of them is a `codegen.toml`, its settings apply.
pub(crate) fn open_project(inputs: &[PathBuf]) -> Result<Project, CommandError> {
    let is_config =
        |path: &&PathBuf| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    let (configs, documents): (Vec<&PathBuf>, Vec<&PathBuf>) = inputs.iter().partition(is_config);
    for path in inputs {
        if let Err(error) = fs::metadata(path) {
            return Err(CommandError::Io(format!("cannot read {}: {error}", path.display())));
        }
    }
    let mut project = match configs.as_slice() {
        [] => Project::default(),
        [one] => Project::from_config(one)?,
        _ => {
            return Err(CommandError::Usage(
                "more than one codegen.toml given: give one, and the files of the contract".to_owned(),
            ));
        }
    };
    project.inputs = documents.into_iter().cloned().collect();
    if project.inputs.is_empty() && project.config.inputs.is_empty() {
        return Err(CommandError::Usage(
            "the codegen.toml has no `inputs`: add them there, or give the files of the contract as arguments".to_owned(),
        ));
    }
    Ok(project)
}

/// Returns the inputs of the command line. If there are none, returns the configuration file at its default
/// location.
pub(crate) fn resolve_inputs(given: &[PathBuf], hint: &str) -> Result<Vec<PathBuf>, CommandError> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    let default_config = find_default_config().ok_or_else(|| {
        CommandError::Usage(format!(
            "found neither codegen.toml nor schemas/codegen.toml: pass the path of the contract{hint}"
        ))
    })?;
    Ok(vec![default_config])
}

/// Opens a project and applies the options for reading and for the selection of operations.
pub(crate) fn open_selected_project(
    inputs: &[PathBuf],
    selected: &SelectionArgs,
    reading: ReadingArgs,
) -> Result<Project, CommandError> {
    let mut project = open_project(inputs)?;
    if reading.strict {
        project.config.input.faults = FaultPolicy::Deny;
    }
    let SelectionArgs { tag, path, operation, webhook } = selected;
    let none = config::OperationSelector::default;
    let tags = tag.iter().map(|tag| config::OperationSelector { tag: Some(tag.clone()), ..none() });
    let paths = path.iter().map(|path| config::OperationSelector { path: Some(path.clone()), ..none() });
    let ids = operation.iter().map(|id| config::OperationSelector { operation: Some(id.clone()), ..none() });
    let hooks =
        webhook.iter().map(|name| config::OperationSelector { webhook: Some(name.clone()), ..none() });
    let chosen: Vec<config::OperationSelector> = tags.chain(paths).chain(ids).chain(hooks).collect();
    if !chosen.is_empty() {
        project.config.operations.include = chosen;
    }
    Ok(project)
}

/// Returns the first of `codegen.toml` and `schemas/codegen.toml` that exists.
fn find_default_config() -> Option<PathBuf> {
    ["codegen.toml", "schemas/codegen.toml"]
        .iter()
        .map(|path| Path::new(path).to_path_buf())
        .find(|path| path.is_file())
}

/// Opens a project and applies the options of `generate`.
pub(crate) fn configure_project(args: &GenerateArgs) -> Result<Project, CommandError> {
    let mut project =
        open_selected_project(&resolve_inputs(&args.inputs, "")?, &args.selection, args.reading)?;
    let config = &mut project.config;
    if let Some(package) = &args.package {
        config.package.name = Some(package.clone());
    }
    match args.layout {
        Some(LayoutArg::Crate) => config.output.layout = config::OutputLayout::Crate,
        Some(LayoutArg::Modules) => config.output.layout = config::OutputLayout::Modules,
        Some(LayoutArg::File) => config.output.layout = config::OutputLayout::File,
        None if args.output.as_deref().is_some_and(is_rust_file) => {
            config.output.layout = config::OutputLayout::File
        }
        None => {}
    }
    match args.only {
        Some(part) => {
            config.output.client = part == PartArg::Client;
            config.output.server = part == PartArg::Server;
        }
        None => {
            config.output.client &= !args.no_client;
            config.output.server &= !args.no_server;
        }
    }
    // The command-line program needs the client.
    if args.no_client || args.only.is_some_and(|part| part != PartArg::Client) {
        config.output.cli = None;
    }
    if args.skip_unsupported {
        config.client.skip_unsupported = Some(true);
    }
    if let Some(runtime) = &args.runtime {
        config.output.runtime = Some(config::RuntimeLocation::Path(runtime.clone()));
    }
    Ok(project)
}

/// Returns true for a path with the extension `.rs`.
fn is_rust_file(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("rs"))
}

/// Returns the output path, which is the value of `--output` or, without this option, `path` in the
/// `[output]` table.
pub(crate) fn resolve_output(args: &GenerateArgs, project: &Project) -> Result<PathBuf, CommandError> {
    let own = || project.config.output.path.as_ref().map(|path| project.base.join(path));
    args.output.clone().or_else(own).ok_or_else(|| {
        CommandError::Usage(
            "no output path: use `--output PATH`, or set `path` in the [output] table of codegen.toml"
                .to_owned(),
        )
    })
}
