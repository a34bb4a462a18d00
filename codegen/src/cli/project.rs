//! Opens a project from the inputs and options of the command line.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use contract_codegen::{DocumentFetcher, InputDocument, Project, config, diagnostics::FaultPolicy};
use contract_codegen_core::load::{STDIN_NAME, inputs};

use super::{
    args::{FetchArgs, GenerateArgs, LayoutArg, PartArg, ReadingArgs, SelectionArgs},
    error::CommandError,
    fetch::Downloader,
};

/// Opens the inputs as a project. If one of them is a `codegen.toml`, its settings apply.
pub(crate) fn open_project(inputs: &[PathBuf]) -> Result<Project, CommandError> {
    let (configs, documents): (Vec<&PathBuf>, Vec<&PathBuf>) =
        inputs.iter().partition(|path| is_config(path));
    check_paths(inputs)?;
    let mut project = match configs.as_slice() {
        [] => Project::default(),
        [one] => Project::from_config(one)?,
        _ => {
            return Err(CommandError::Usage(
                "more than one codegen.toml given: give one, and the files of the contract".to_owned(),
            ));
        }
    };
    let (stdin, paths): (Vec<&PathBuf>, Vec<&PathBuf>) =
        documents.into_iter().partition(|path| is_stdin(path));
    project.documents = read_stdin(stdin.len())?;
    project.inputs = paths.into_iter().cloned().collect();
    project.shown_from = std::env::current_dir().ok();
    if project.inputs.is_empty() && project.documents.is_empty() && project.config.inputs.is_empty() {
        return Err(CommandError::Usage(
            "the codegen.toml has no `inputs`: add them there, or give the files of the contract as arguments".to_owned(),
        ));
    }
    Ok(project)
}

/// Returns an error if a file or folder among the inputs cannot be read. Standard input and URLs are not
/// checked.
pub(crate) fn check_paths(inputs: &[PathBuf]) -> Result<(), CommandError> {
    for path in inputs.iter().filter(|path| !is_stdin(path) && inputs::as_url(path).is_none()) {
        if let Some(message) = inputs::unsupported_scheme(path) {
            return Err(CommandError::Usage(format!("cannot read {}: {message}", path.display())));
        }
        fs::metadata(path)
            .map_err(|error| CommandError::Io(format!("cannot read {}: {error}", path.display())))?;
    }
    Ok(())
}

/// Returns true for the input `-`, which stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads the document on standard input if it is named once.
pub(crate) fn read_stdin(count: usize) -> Result<Vec<InputDocument>, CommandError> {
    if count > 1 {
        return Err(CommandError::Usage(
            "`-` given more than once: standard input is one document".to_owned(),
        ));
    }
    let mut content = Vec::new();
    if count == 1 {
        io::stdin()
            .lock()
            .read_to_end(&mut content)
            .map_err(|error| CommandError::Io(format!("cannot read standard input: {error}")))?;
    }
    Ok((0..count).map(|_| InputDocument { name: STDIN_NAME.to_owned(), content: content.clone() }).collect())
}

/// Returns the downloader that the options request. Its lock file is that of the configuration among the
/// inputs, or else that of the current folder.
pub(crate) fn open_downloader(
    inputs: &[PathBuf],
    args: FetchArgs,
) -> Result<Option<Arc<Downloader>>, CommandError> {
    Downloader::from_args(args, inputs.iter().find(|path| is_config(path)).map(PathBuf::as_path))
}

/// Returns true for a configuration file.
pub(crate) fn is_config(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"))
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
    open_with_downloader(inputs, selected, reading).map(|(project, _)| project)
}

/// Opens a project like [`open_selected_project`], and returns it with its downloader, which records digests.
fn open_with_downloader(
    inputs: &[PathBuf],
    selected: &SelectionArgs,
    reading: ReadingArgs,
) -> Result<(Project, Option<Arc<Downloader>>), CommandError> {
    let mut project = open_project(inputs)?;
    let downloader = open_downloader(inputs, reading.fetch)?;
    project.fetcher = downloader.clone().map(|downloader| downloader as Arc<dyn DocumentFetcher>);
    if reading.strict {
        project.config.input.faults = FaultPolicy::Deny;
    }
    let SelectionArgs { tag, path, operation, webhook } = selected;
    let none = config::OperationSelector::default;
    let paths = path.iter().map(|path| config::OperationSelector { path: Some(path.clone()), ..none() });
    let ids = operation.iter().map(|id| config::OperationSelector { operation: Some(id.clone()), ..none() });
    let hooks =
        webhook.iter().map(|name| config::OperationSelector { webhook: Some(name.clone()), ..none() });
    let tags = tag_selectors(tag).into_iter();
    let chosen: Vec<config::OperationSelector> = tags.chain(paths).chain(ids).chain(hooks).collect();
    if !chosen.is_empty() {
        project.config.operations.include = chosen;
    }
    Ok((project, downloader))
}

/// Returns a selector of operations for each tag.
pub(crate) fn tag_selectors(tags: &[String]) -> Vec<config::OperationSelector> {
    let selector = |tag: &String| config::OperationSelector { tag: Some(tag.clone()), ..Default::default() };
    tags.iter().map(selector).collect()
}

/// Returns the first of `codegen.toml` and `schemas/codegen.toml` that exists.
fn find_default_config() -> Option<PathBuf> {
    ["codegen.toml", "schemas/codegen.toml"]
        .iter()
        .map(|path| Path::new(path).to_path_buf())
        .find(|path| path.is_file())
}

/// Opens a project and applies the options of `generate`.
pub(crate) fn configure_project(
    args: &GenerateArgs,
) -> Result<(Project, Option<Arc<Downloader>>), CommandError> {
    let (mut project, downloader) =
        open_with_downloader(&resolve_inputs(&args.inputs, "")?, &args.selection, args.reading)?;
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
    Ok((project, downloader))
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
