//! `init`: writes a commented codegen.toml for a contract.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    sync::Arc,
};

use contract_codegen::{
    ContractInputs, DocumentFetcher,
    init::{InitFindings, codegen_toml, inspect_contract},
    write::CargoWorkspace,
};
use contract_codegen_core::load::{files, inputs};
use serde_json::json;

use super::{
    args::InitArgs,
    console::{Console, count_warnings},
    error::CommandError,
    fetch::{Downloader, UnusedEntries},
    generate::count_noun,
    project,
};

/// Reads the contract, writes the file and prints a summary of the suggestions.
pub(crate) fn run_init(args: &InitArgs, console: &Console) -> Result<u8, CommandError> {
    let output = &args.output;
    for input in &args.inputs {
        if input.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml")) {
            return Err(CommandError::Usage(format!(
                "{} is a configuration file: give the files and folders of the contract instead",
                input.display()
            )));
        }
        if project::is_stdin(input) {
            return Err(CommandError::Usage(
                "codegen.toml must list its inputs: save the document on standard input to a file, and give its path"
                    .to_owned(),
            ));
        }
    }
    project::check_paths(&args.inputs)?;
    if output.exists() && !args.force {
        return Err(CommandError::Usage(format!(
            "{} already exists: choose another `--output`, or use `--force` to overwrite it",
            output.display()
        )));
    }
    let folder = output.parent().unwrap_or(Path::new(""));
    let downloader = Downloader::from_args(args.fetch, Some(output))?;
    let contract = ContractInputs {
        paths: args.inputs.clone(),
        mounts: args.mounts.clone(),
        fetcher: downloader.clone().map(|downloader| downloader as Arc<dyn DocumentFetcher>),
        ..ContractInputs::default()
    };
    let mut found =
        inspect_contract(&contract, &project::tag_selectors(&args.tag), &|what| console.show_step(what))?;
    let inputs: Vec<String> = args.inputs.iter().map(|input| relative_path(folder, input)).collect();
    found.mounts.iter_mut().for_each(|(_, path)| *path = relative_path(folder, path).into());
    found.in_workspace = CargoWorkspace::around(&folder.join(&found.package)).is_some();
    let text = codegen_toml(&found, &inputs);
    write_config(output, &text, args.force)
        .map_err(|error| CommandError::Io(format!("cannot write {}: {error}", output.display())))?;
    console.print_status("created", &output.display().to_string());
    if let Some(downloader) = &downloader {
        downloader.write_lock(UnusedEntries::Keep, console)?;
    }
    let summary = describe_findings(&found);
    summary.iter().for_each(|(label, what)| console.print_status(label, what));
    // Each overlapping union is printed, not only counted: it rejects values that its types can represent.
    for (_, line) in found.diagnostics.with_code("overlapping-union").single_lines() {
        console.print_status("warning", &line);
    }
    if count_warnings(&found.diagnostics) > 0 {
        console.print_status(
            "warnings",
            &format!("{}; `generate` lists them", count_warnings(&found.diagnostics)),
        );
    }
    let fetch = if downloader.is_some() { " --fetch" } else { "" };
    console.print_line(&format!("Next: contract-codegen generate {}{fetch}", output.display()));
    let found: Vec<_> = summary.iter().map(|(label, what)| json!({ "about": label, "what": what })).collect();
    console.print_summary(json!({ "command": "init", "exit": 0, "file": output, "found": found }));
    Ok(0)
}

/// Writes the file. Without `force`, fails if the file exists, even if another process has just created it.
fn write_config(path: &Path, text: &str, force: bool) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    options.open(path)?.write_all(text.as_bytes())
}

/// Returns a summary of the contract and of the suggestions. Each entry is a label and a line of text for one
/// kind of suggestion.
fn describe_findings(found: &InitFindings) -> Vec<(&'static str, String)> {
    let first = |list: Vec<&str>| match list.as_slice() {
        [] => None,
        [only] => Some(format!("1: {only}")),
        [first, ..] => Some(format!("{}, first: {first}", list.len())),
    };
    let mut parts = vec![count_noun(found.types, "type")];
    if found.operations > 0 {
        parts.insert(0, count_noun(found.operations, "operation"));
    }
    if found.webhooks > 0 {
        parts.push(count_noun(found.webhooks, "webhook"));
    }
    let mut out = vec![("contract", format!("{}: {}", found.title, parts.join(", ")))];
    let texts =
        |list: &[(String, String)]| first(list.iter().map(|(selector, _)| selector.as_str()).collect());
    let all = |list: &[String]| first(list.iter().map(String::as_str).collect());
    let suggested = [
        ("secrets", texts(&found.secrets), "suggested as a comment"),
        ("integers", all(&found.unbounded_integers), "without bounds; see `unbounded-integers`"),
        ("patterns", texts(&found.unsupported_patterns), "not supported, left unchecked"),
        ("refused", all(&found.unsupported_operations), "operations that the client cannot call"),
        ("headers", all(&found.transport_headers), "a transport may supply them"),
        ("mounts", all(&found.unresolved_uris), "unresolved URIs; map them to local files with `--mount`"),
        (
            "idempotency",
            all(&found.idempotency_headers),
            "header that makes retries safe; suggested as a comment",
        ),
        ("servers", all(&found.servers), "base URLs for `Client::new`"),
    ];
    for (label, what, about) in suggested {
        out.extend(what.map(|what| (label, format!("{what} ({about})"))));
    }
    if let Some((call, usual)) = &found.call_by_tag {
        let about = "the operations of each tag have a client of their own";
        out.push(("by-tag", format!("set: {about}, `client.{call}(…)` instead of `client.{usual}(…)`")));
    }
    if found.tags.len() > 1 {
        let areas = found.tags.iter().filter(|(_, types)| *types > 0).count();
        out.push(("tags", format!("{}; {areas} suggest a module", found.tags.len())));
    }
    out
}

/// Returns `path` relative to `folder`, with `/` as separator. A URL is returned as it is.
fn relative_path(folder: &Path, path: &Path) -> String {
    if let Some(url) = inputs::as_url(path) {
        return url.to_owned();
    }
    let absolute = |path: &Path| files::absolute_path(&path.join(".")).unwrap_or_else(|_| path.to_path_buf());
    files::path_from_folder(&absolute(folder), &absolute(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_named_from_the_file() {
        for (folder, path, expect) in [
            ("", "api.json", "api.json"),
            ("schemas", "schemas/api.json", "api.json"),
            ("schemas", "api.json", "../api.json"),
            ("a/b", "a/c/d.json", "../c/d.json"),
            ("schemas", "schemas", "."),
            ("schemas", "https://a.example/api.json", "https://a.example/api.json"),
        ] {
            assert_eq!(relative_path(Path::new(folder), Path::new(path)), expect, "{folder} {path}");
        }
    }
}
