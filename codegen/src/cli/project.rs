//! Inputs of the command line as a project.

use std::{
    fs,
    path::{Path, PathBuf},
};

use contract_codegen::{Project, config, diagnostics::Faults};

use super::{
    args::{GenerateArgs, Layout, Part, Reading, Selected},
    failure::Failure,
};

/// The project that the inputs stand for: a `codegen.toml` brings its options.
pub(crate) fn project(inputs: &[PathBuf]) -> Result<Project, Failure> {
    let is_config =
        |path: &&PathBuf| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    let (configs, documents): (Vec<&PathBuf>, Vec<&PathBuf>) = inputs.iter().partition(is_config);
    for path in inputs {
        if let Err(error) = fs::metadata(path) {
            return Err(Failure::Io(format!("cannot read {}: {error}", path.display())));
        }
    }
    let mut project = match configs.as_slice() {
        [] => Project::default(),
        [one] => Project::from_config(one)?,
        _ => return Err(Failure::Usage("more than one codegen.toml: give one, and its contract".to_owned())),
    };
    project.inputs = documents.into_iter().cloned().collect();
    if project.inputs.is_empty() && project.config.inputs.is_empty() {
        return Err(Failure::Usage(
            "the codegen.toml names no `inputs`: add them there or give them here".to_owned(),
        ));
    }
    Ok(project)
}

/// The inputs, or the configuration that stands where people look for it.
pub(crate) fn inputs(given: &[PathBuf], after: &str) -> Result<Vec<PathBuf>, Failure> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    let usual = usual().ok_or_else(|| {
        Failure::Usage(format!(
            "neither codegen.toml nor schemas/codegen.toml is here: name the contract{after}"
        ))
    })?;
    Ok(vec![usual])
}

/// The project of some inputs, with the operations that were chosen.
pub(crate) fn selected(
    inputs: &[PathBuf],
    selected: &Selected,
    reading: Reading,
) -> Result<Project, Failure> {
    let mut project = project(inputs)?;
    if reading.strict {
        project.config.input.faults = Faults::Deny;
    }
    let Selected { tag, path, operation, webhook } = selected;
    let none = config::Selection::default;
    let tags = tag.iter().map(|tag| config::Selection { tag: Some(tag.clone()), ..none() });
    let paths = path.iter().map(|path| config::Selection { path: Some(path.clone()), ..none() });
    let ids = operation.iter().map(|id| config::Selection { operation: Some(id.clone()), ..none() });
    let hooks = webhook.iter().map(|name| config::Selection { webhook: Some(name.clone()), ..none() });
    let chosen: Vec<config::Selection> = tags.chain(paths).chain(ids).chain(hooks).collect();
    if !chosen.is_empty() {
        project.config.operations.include = chosen;
    }
    Ok(project)
}

/// The configuration that stands where people look for it.
fn usual() -> Option<PathBuf> {
    ["codegen.toml", "schemas/codegen.toml"]
        .iter()
        .map(|path| Path::new(path).to_path_buf())
        .find(|path| path.is_file())
}

/// The same with what the arguments of `generate` decide.
pub(crate) fn with_options(args: &GenerateArgs) -> Result<Project, Failure> {
    let mut project = selected(&inputs(&args.inputs, "")?, &args.selected, args.reading)?;
    let config = &mut project.config;
    if let Some(package) = &args.package {
        config.package = Some(package.clone());
    }
    match args.layout {
        Some(Layout::Crate) => config.output.layout = config::Layout::Crate,
        Some(Layout::Modules) => config.output.layout = config::Layout::Modules,
        Some(Layout::File) => config.output.layout = config::Layout::File,
        None if args.output.as_deref().is_some_and(is_source) => config.output.layout = config::Layout::File,
        None => {}
    }
    match args.only {
        Some(part) => {
            config.output.client = part == Part::Client;
            config.output.server = part == Part::Server;
        }
        None => {
            config.output.client &= !args.no_client;
            config.output.server &= !args.no_server;
        }
    }
    // Who wants no client this time wants no command over it.
    if args.no_client || args.only.is_some_and(|part| part != Part::Client) {
        config.output.cli = None;
    }
    if args.skip_unsupported {
        config.client.skip_unsupported = Some(true);
    }
    if let Some(runtime) = &args.runtime {
        config.output.runtime = Some(config::Runtime::Home(runtime.clone()));
    }
    Ok(project)
}

/// Whether a path is that of a Rust file.
fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("rs"))
}

/// Where the output goes.
pub(crate) fn output(args: &GenerateArgs, project: &Project) -> Result<PathBuf, Failure> {
    let own = || project.config.output.path.as_ref().map(|path| project.base.join(path));
    args.output.clone().or_else(own).ok_or_else(|| {
        Failure::Usage(
            "nothing says where the code goes: give `--output PATH`, or `path` below [output] of the codegen.toml"
                .to_owned(),
        )
    })
}
