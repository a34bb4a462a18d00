//! The contract at a git revision, copied into a folder.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use contract_codegen::drift::{CONFIGURATION, Version};

/// Reads the contract at a revision; without one, at `origin/main` or `HEAD`.
pub(super) fn read(revision: Option<&str>, root: &Path, path: &Path, copy: &Path) -> Result<Version, String> {
    let revision = match revision {
        Some(revision) => find(root, revision).ok_or_else(|| {
            format!(
                "`{revision}` is no file, no folder and no revision of this repository\n\
                 help: `git fetch --tags` brings tags and branches of others; addresses start with http:// or https://"
            )
        })?,
        None => ["origin/main", "HEAD"].iter().find_map(|revision| find(root, revision)).ok_or_else(|| {
            "there is no `origin/main` and no `HEAD` to compare with\n\
             help: commit something, or name the older version with `--against OTHER`"
                .to_owned()
        })?,
    };
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?.trim_end());
    let real = |path: &Path| {
        fs::canonicalize(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    let (top, path) = (real(&top)?, real(path)?);
    let Ok(inside) = path.strip_prefix(&top) else {
        return Err(format!(
            "{} is not in this repository, so no revision has it\nhelp: name a folder with `--against`",
            path.display()
        ));
    };
    let inside = inside.to_string_lossy().replace('\\', "/");
    let inside = if inside.is_empty() { ".".to_owned() } else { inside };
    let listed = git(&top, &["ls-tree", "-r", "-z", "--name-only", &revision, "--", &inside])?;
    let wanted =
        |name: &&str| [".json", ".yaml", ".yml", ".toml"].iter().any(|ending| name.ends_with(ending));
    let names: Vec<&str> = listed.split('\0').filter(|name| !name.contains('\n')).filter(wanted).collect();
    if names.is_empty() {
        return Err(format!(
            "there is no contract in {inside} at {revision}\nhelp: name another revision with `--against`"
        ));
    }
    extract(&top, &revision, &names, copy)?;
    // A revision older than the configuration is read by the newer one's inputs.
    let old = copy.join(&inside);
    if path.is_dir() && path.join(CONFIGURATION).is_file() && !old.join(CONFIGURATION).exists() {
        fs::copy(path.join(CONFIGURATION), old.join(CONFIGURATION)).map_err(|error| error.to_string())?;
    }
    Version::open(&old)
        .map_err(|problems| format!("the contract at {revision} cannot be read\n{}", problems.render(false)))
}

/// The commit behind a name. An option is no name.
fn find(root: &Path, revision: &str) -> Option<String> {
    let commit = format!("{revision}^{{commit}}");
    let known =
        !revision.starts_with('-') && git(root, &["rev-parse", "--verify", "--quiet", &commit]).is_ok();
    known.then(|| revision.to_owned())
}

fn git(folder: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git").arg("-C").arg(folder).args(args).output();
    let output =
        output.map_err(|error| format!("cannot run git: {error}\nhelp: name a folder with `--against`"))?;
    if !output.status.success() {
        let problem = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`git {}` failed: {}", args.join(" "), problem.trim()));
    }
    String::from_utf8(output.stdout).map_err(|_| "git names files that are not UTF-8".to_owned())
}

/// Writes the files of a revision; one process for all of them.
fn extract(top: &Path, revision: &str, names: &[&str], copy: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot copy files out of git: {error}");
    let mut child = Command::new("git")
        .arg("-C")
        .arg(top)
        .args(["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (Some(mut ask), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("git gave no pipes".to_owned());
    };
    let mut answers = BufReader::new(answers);
    for name in names {
        writeln!(ask, "{revision}:{name}").and_then(|()| ask.flush()).map_err(failed)?;
        let mut head = String::new();
        answers.read_line(&mut head).map_err(failed)?;
        // `<id> blob <bytes>`
        let mut words = head.split_whitespace().skip(1);
        let (kind, size) = (words.next(), words.next().and_then(|size| size.parse::<usize>().ok()));
        let (Some("blob"), Some(size)) = (kind, size) else {
            return Err(format!("git has no file {name} at {revision}"));
        };
        let mut bytes = vec![0; size + 1];
        answers.read_exact(&mut bytes).map_err(failed)?;
        bytes.truncate(size);
        let target = copy.join(name);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        fs::write(target, bytes).map_err(failed)?;
    }
    drop(ask);
    child.wait().map(|_| ()).map_err(failed)
}
