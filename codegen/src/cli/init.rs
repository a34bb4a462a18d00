//! `init`: a commented codegen.toml for a contract.

use std::{
    fs,
    io::{self, Write as _},
    path::{Component, Path, PathBuf},
};

use contract_codegen::{
    init::{Findings, codegen_toml, findings},
    write::workspace_around,
};
use serde_json::json;

use super::{
    args::InitArgs,
    failure::Failure,
    generate::count,
    screen::{Screen, warnings},
};

/// Reads the contract, writes the file, says what was found.
pub(crate) fn init(args: &InitArgs, screen: &Screen) -> Result<u8, Failure> {
    let output = &args.output;
    for input in &args.inputs {
        if input.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml")) {
            return Err(Failure::Usage(format!(
                "{} is no contract: give the files and folders that it names",
                input.display()
            )));
        }
        fs::metadata(input)
            .map_err(|error| Failure::Io(format!("cannot read {}: {error}", input.display())))?;
    }
    if output.exists() && !args.force {
        return Err(Failure::Usage(format!(
            "{} is there already: give another `--output`, or `--force` to overwrite it",
            output.display()
        )));
    }
    let mut found = findings(&args.inputs, &args.mounts, &|what| screen.step(what))?;
    let folder = output.parent().unwrap_or(Path::new(""));
    let inputs: Vec<String> = args.inputs.iter().map(|input| relative(folder, input)).collect();
    found.mounts.iter_mut().for_each(|(_, path)| *path = relative(folder, path).into());
    found.workspace = workspace_around(&folder.join(&found.package)).is_some();
    let text = codegen_toml(&found, &inputs);
    write(output, &text, args.force)
        .map_err(|error| Failure::Io(format!("cannot write {}: {error}", output.display())))?;
    screen.marked("created", &output.display().to_string());
    let told = tell(&found);
    told.iter().for_each(|(word, what)| screen.marked(word, what));
    if warnings(&found.diagnostics) > 0 {
        screen.marked("warnings", &format!("{}; `generate` shows them", warnings(&found.diagnostics)));
    }
    screen.line(&format!("Next: contract-codegen generate {}", output.display()));
    let found: Vec<_> = told.iter().map(|(word, what)| json!({ "about": word, "what": what })).collect();
    screen.summary(json!({ "command": "init", "exit": 0, "file": output, "found": found }));
    Ok(0)
}

/// Never over a file that was not asked to go, not even one that appeared just now.
fn write(path: &Path, text: &str, force: bool) -> io::Result<()> {
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

/// What was found, a word and a line for each kind.
fn tell(found: &Findings) -> Vec<(&'static str, String)> {
    let first = |list: Vec<&str>| match list.as_slice() {
        [] => None,
        [only] => Some(format!("1: {only}")),
        [first, ..] => Some(format!("{}, the first is {first}", list.len())),
    };
    let mut parts = vec![count(found.types, "type")];
    if found.operations > 0 {
        parts.insert(0, count(found.operations, "operation"));
    }
    if found.webhooks > 0 {
        parts.push(count(found.webhooks, "webhook"));
    }
    let mut out = vec![("contract", format!("{}: {}", found.title, parts.join(", ")))];
    let texts =
        |list: &[(String, String)]| first(list.iter().map(|(selector, _)| selector.as_str()).collect());
    let all = |list: &[String]| first(list.iter().map(String::as_str).collect());
    let suggested = [
        ("secrets", texts(&found.secrets), "suggested as a comment"),
        ("integers", all(&found.unbounded), "without bounds; `unbounded-integers` decides"),
        ("patterns", texts(&found.patterns), "that cannot be run, left unchecked"),
        ("refused", all(&found.refused), "operations that the client leaves out"),
        ("headers", all(&found.transport), "that a transport may supply"),
        ("mounts", all(&found.unanswered), "URIs that nothing answers; `--mount` does"),
        ("idempotency", all(&found.idempotency), "makes calls safe to repeat; suggested as a comment"),
        ("servers", all(&found.servers), "that `Client::new` takes"),
    ];
    for (word, what, about) in suggested {
        out.extend(what.map(|what| (word, format!("{what} ({about})"))));
    }
    if found.tags.len() > 1 {
        let areas = found.tags.iter().filter(|(_, types)| *types > 0).count();
        out.push(("tags", format!("{}, of which {areas} suggest a module", found.tags.len())));
    }
    out
}

/// A path as seen from a folder, with `/`.
fn relative(folder: &Path, path: &Path) -> String {
    let absolute = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
    };
    let (from, to) = (absolute(folder), absolute(path));
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).filter(|part| matches!(part, Component::Normal(_)));
    let up = up.map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(to.components().skip(shared)).collect();
    let text = relative.to_string_lossy().replace('\\', "/");
    if text.is_empty() { ".".to_owned() } else { text }
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
        ] {
            assert_eq!(relative(Path::new(folder), Path::new(path)), expect, "{folder} {path}");
        }
    }
}
