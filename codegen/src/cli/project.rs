//! Inputs of the command line as a project.

use std::{
    fs,
    path::{Path, PathBuf},
};

use contract_codegen::{config, generate::Project};

use super::{
    args::{GenerateArgs, Layout},
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

/// The configuration that stands where people look for it.
pub(crate) fn usual() -> Option<PathBuf> {
    ["codegen.toml", "schemas/codegen.toml"]
        .iter()
        .map(|path| Path::new(path).to_path_buf())
        .find(|path| path.is_file())
}

/// The same with what the arguments of `generate` decide.
pub(crate) fn with_options(args: &GenerateArgs) -> Result<Project, Failure> {
    let mut project = project(&args.inputs)?;
    let config = &mut project.config;
    if let Some(package) = &args.package {
        let valid = package.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && package.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        if !valid {
            return Err(Failure::Usage(format!(
                "`{package}` is no name for a package: letters, digits, `-` and `_`"
            )));
        }
        config.package = Some(package.clone());
    }
    match args.layout {
        Some(Layout::Crate) => config.output.layout = config::Layout::Crate,
        Some(Layout::Modules) => config.output.layout = config::Layout::Modules,
        None => {}
    }
    config.output.client &= !args.no_client;
    config.output.server &= !args.no_server;
    config.client.skip_unsupported |= args.skip_unsupported;
    if let Some(runtime) = &args.runtime {
        config.output.runtime = Some(runtime.clone());
    }
    Ok(project)
}
