//! The contract at a git revision: read by the `git` command out of the repository that holds it.
//!
//! What the contract may read is copied into a folder of its own for as long as that takes: the
//! folder of its inputs, its mounts and overlays, as its `codegen.toml` named them at that revision.

use std::{
    fmt, fs,
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{CONFIGURATION, Version};
use crate::{config::Config, diagnostics::Diagnostics, load::files};

/// Why there is no older version.
#[derive(Clone, Debug)]
pub enum RevisionError {
    /// There is no git, no repository, no such revision, or nothing of the contract in it: what is
    /// wrong, and what to do about it.
    Git(String),
    /// The contract at the revision cannot be read.
    Contract {
        /// The revision.
        revision: String,
        /// What is wrong with it.
        problems: Diagnostics,
    },
}

impl fmt::Display for RevisionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git(problem) => formatter.write_str(problem),
            Self::Contract { revision, problems } => {
                write!(formatter, "the contract at {revision} cannot be read\n{}", problems.render(false))
            }
        }
    }
}

impl std::error::Error for RevisionError {}

/// A contract as it was.
#[derive(Clone, Debug)]
pub struct Revised {
    /// What it said.
    pub version: Version,
    /// The revision: `v1.2.0`.
    pub revision: String,
    /// Where its files lie in the repository, in front of [`Version::file`]: empty or with a `/` at the
    /// end.
    pub folder: String,
}

/// Reads the contract that is at `path` now as it was at a revision: anything that names a commit,
/// such as `main`, `v1.2.0` or `HEAD~3`. `v1.2.0:api/openapi.yaml` names a contract that was elsewhere
/// then, from the root of the repository.
///
/// # Errors
/// When git cannot be run, `path` is in no repository, the revision or the contract in it does not
/// exist, or the contract cannot be read.
pub fn open(revision: &str, path: &Path) -> Result<Revised, RevisionError> {
    let path = fs::canonicalize(path)
        .map_err(|error| RevisionError::Git(format!("cannot read {}: {error}", path.display())))?;
    let home = if path.is_dir() { path.as_path() } else { path.parent().unwrap_or(&path) };
    let top = top(home)?;
    let (revision, inside) = if exists(home, revision) {
        let inside = path.strip_prefix(&top).map_err(|_| {
            RevisionError::Git(format!("{} is not in the repository {}", path.display(), top.display()))
        })?;
        (revision, slashes(inside))
    } else {
        let named = revision.split_once(':').filter(|(revision, _)| exists(home, revision));
        let (revision, inside) = named.ok_or_else(|| unknown(revision, &top))?;
        (revision, inside.trim_start_matches("./").trim_end_matches('/').to_owned())
    };
    let copy = tempfile::tempdir().map_err(|error| {
        RevisionError::Git(format!("there is no room for a copy of the contract: {error}"))
    })?;
    let wanted = Wanted { top: &top, revision, inside: &inside, now: &path };
    let old = wanted.extract(copy.path())?;
    let version = Version::open(&old)
        .map_err(|problems| RevisionError::Contract { revision: revision.to_owned(), problems })?;
    let folder = if old.is_dir() {
        inside
    } else {
        inside.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned()
    };
    let folder = if folder.is_empty() { folder } else { format!("{folder}/") };
    Ok(Revised { version, revision: revision.to_owned(), folder })
}

/// Whether a revision names a commit of the repository that holds a folder. An option names none.
#[must_use]
pub fn exists(folder: &Path, revision: &str) -> bool {
    let commit = format!("{revision}^{{commit}}");
    !revision.is_empty()
        && !revision.starts_with('-')
        && git(folder, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).is_ok()
}

fn unknown(revision: &str, top: &Path) -> RevisionError {
    RevisionError::Git(format!(
        "`{revision}` names no commit of {}\n\
         help: `git fetch --tags` brings branches and tags of others; in a workflow of GitHub, \
         `fetch-depth: 0` of actions/checkout brings all",
        top.display()
    ))
}

/// The root of the repository that holds a folder.
fn top(folder: &Path) -> Result<PathBuf, RevisionError> {
    let top = git(folder, &["rev-parse", "--show-toplevel"]).map_err(|problem| match problem {
        RevisionError::Git(words) if words.contains("not a git repository") => RevisionError::Git(format!(
            "{} is in no git repository\nhelp: give the older version as a file or a folder",
            folder.display()
        )),
        other => other,
    })?;
    let top = PathBuf::from(top.trim_end_matches(['\r', '\n']));
    fs::canonicalize(&top)
        .map_err(|error| RevisionError::Git(format!("cannot read {}: {error}", top.display())))
}

/// The `git` command in a folder, whatever a hook says about the repository that it runs for.
fn command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).env("LC_ALL", "C");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    command
}

fn no_git(error: &io::Error) -> RevisionError {
    RevisionError::Git(format!(
        "cannot run git: {error}\nhelp: install git, or give the older version as a file or a folder"
    ))
}

fn git(folder: &Path, args: &[&str]) -> Result<String, RevisionError> {
    let output = command(folder).args(args).output().map_err(|error| no_git(&error))?;
    if !output.status.success() {
        let problem = String::from_utf8_lossy(&output.stderr);
        return Err(RevisionError::Git(format!("`git {}` failed: {}", args.join(" "), problem.trim())));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| RevisionError::Git("git names files that are not UTF-8".to_owned()))
}

fn slashes(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// What is asked of a revision.
struct Wanted<'a> {
    top: &'a Path,
    revision: &'a str,
    /// Where the contract was, from the root; empty for the root itself.
    inside: &'a str,
    /// Where it is now.
    now: &'a Path,
}

impl Wanted<'_> {
    /// Writes everything that the contract may read, and says where the contract is.
    fn extract(&self, copy: &Path) -> Result<PathBuf, RevisionError> {
        let Self { top, revision, inside, now } = *self;
        let kind = git(top, &["cat-file", "-t", &format!("{revision}:{inside}")]).unwrap_or_default();
        let (is_folder, is_file) = (kind.trim() == "tree", kind.trim() == "blob");
        if !is_folder && !is_file {
            return Err(RevisionError::Git(format!(
                "there is no {inside} at {revision}\nhelp: if it was elsewhere then, say where: `{revision}:old/path`"
            )));
        }
        let (home, configuration) = match inside.rsplit_once('/') {
            _ if is_folder => (inside, Some(join(inside, CONFIGURATION))),
            Some((home, name)) => (home, name.ends_with(".toml").then(|| inside.to_owned())),
            None => ("", inside.ends_with(".toml").then(|| inside.to_owned())),
        };
        let then = configuration.as_ref().and_then(|file| {
            let text = git(top, &["cat-file", "blob", &format!("{revision}:{file}")]).ok()?;
            Some((file.clone(), text))
        });
        // A revision older than the configuration is read by the newer one's inputs.
        let newer = || {
            let text = fs::read_to_string(now.join(CONFIGURATION)).ok()?;
            Some((configuration.clone()?, text))
        };
        let configuration = then.or_else(newer);
        let config = configuration.as_ref().and_then(|(_, text)| toml::from_str::<Config>(text).ok());
        let mut folders = vec![home.to_owned()];
        folders.extend(config.iter().flat_map(|config| self.named(config, home)));
        let names = self.list(&folders)?;
        self.write(&names, copy)?;
        if let Some((file, text)) = &configuration {
            put(&copy.join(file), self.anchored(text, home).as_bytes())?;
        }
        if !is_folder && !copy.join(inside).exists() {
            self.write(&[inside.to_owned()], copy)?;
        }
        Ok(if inside.is_empty() { copy.to_path_buf() } else { copy.join(inside) })
    }

    /// The folders and files that a configuration names, from the root; what lies outside of the
    /// repository is left where it is.
    fn named(&self, config: &Config, home: &str) -> Vec<String> {
        let base = self.top.join(home);
        let overlays = config.input.overlays.iter().map(|overlay| overlay.file.clone());
        let mounts = config.mounts.values().cloned();
        let inputs: Vec<PathBuf> = config.inputs.iter().map(|input| base.join(input)).collect();
        let all = mounts.chain(overlays).map(|path| base.join(path)).chain(inputs.iter().cloned());
        // What inputs refer to lies in the folder that holds all of them.
        let holding = inputs.iter().map(|input| {
            let is_file = input.extension().is_some();
            if is_file { input.parent().map_or_else(PathBuf::new, Path::to_path_buf) } else { input.clone() }
        });
        let holding: Vec<PathBuf> = holding.filter_map(|path| files::absolute(&path).ok()).collect();
        let all = all.filter_map(|path| files::absolute(&path).ok()).chain(files::common(&holding));
        all.filter_map(|path| Some(slashes(path.strip_prefix(self.top).ok()?))).collect()
    }

    /// The text of a configuration for the copy: what it names outside of the repository is found from
    /// anywhere.
    fn anchored(&self, text: &str, home: &str) -> String {
        let Ok(mut table) = text.parse::<toml::Table>() else { return text.to_owned() };
        let base = self.top.join(home);
        let anchor = |value: &mut toml::Value| {
            let named = value.as_str().and_then(|path| files::absolute(&base.join(path)).ok());
            if let Some(path) = named.filter(|path| !path.starts_with(self.top)) {
                *value = slashes(&path).into();
            }
        };
        let mounts = table.get_mut("mounts").and_then(toml::Value::as_table_mut);
        mounts.into_iter().flat_map(toml::Table::iter_mut).for_each(|(_, path)| anchor(path));
        let inputs = table.get_mut("inputs").and_then(toml::Value::as_array_mut);
        inputs.into_iter().flatten().for_each(anchor);
        let overlays = table.get_mut("input").and_then(|input| input.get_mut("overlays")?.as_array_mut());
        for overlay in overlays.into_iter().flatten() {
            match overlay.get_mut("file") {
                Some(file) => anchor(file),
                None => anchor(overlay),
            }
        }
        toml::to_string(&table).unwrap_or_else(|_| text.to_owned())
    }

    /// The documents in some folders, and the files among these.
    fn list(&self, folders: &[String]) -> Result<Vec<String>, RevisionError> {
        let mut args = vec!["ls-tree", "-r", "-z", "--full-tree", self.revision];
        // An empty path is none: everything is listed.
        if folders.iter().all(|folder| !folder.is_empty()) {
            args.push("--");
            args.extend(folders.iter().map(String::as_str));
        }
        let listed = git(self.top, &args)?;
        let document = |name: &str| {
            let ends = |ending: &&str| name.to_ascii_lowercase().ends_with(ending);
            [".json", ".yaml", ".yml"].iter().any(ends) || folders.iter().any(|file| file == name)
        };
        // A tree that somebody made by hand may lead out of the copy.
        let inside = |name: &str| name.split('/').all(|part| !matches!(part, "" | "." | ".."));
        // `<mode> blob <id>\t<name>`; links and submodules hold no document.
        let files = listed.split('\0').filter_map(|line| {
            let (kind, name) = line.split_once('\t')?;
            (kind.starts_with("100") && document(name) && inside(name) && !name.contains('\n'))
                .then(|| name.to_owned())
        });
        Ok(files.collect())
    }

    /// Writes files of the revision; one process for all of them.
    fn write(&self, names: &[String], copy: &Path) -> Result<(), RevisionError> {
        let failed = |error: io::Error| RevisionError::Git(format!("cannot copy files out of git: {error}"));
        let mut command = command(self.top);
        command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| no_git(&error))?;
        let (Some(mut ask), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(RevisionError::Git("git gave no pipes".to_owned()));
        };
        let mut answers = BufReader::new(answers);
        for name in names {
            writeln!(ask, "{}:{name}", self.revision).and_then(|()| ask.flush()).map_err(failed)?;
            let mut head = String::new();
            answers.read_line(&mut head).map_err(failed)?;
            // `<id> blob <bytes>`
            let mut words = head.split_whitespace().skip(1);
            let (kind, size) = (words.next(), words.next().and_then(|size| size.parse::<usize>().ok()));
            let (Some("blob"), Some(size)) = (kind, size) else {
                return Err(RevisionError::Git(format!("git has no file {name} at {}", self.revision)));
            };
            let mut bytes = vec![0; size + 1];
            answers.read_exact(&mut bytes).map_err(failed)?;
            bytes.truncate(size);
            put(&copy.join(name), &bytes)?;
        }
        drop(ask);
        child.wait().map(|_| ()).map_err(failed)
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn put(file: &Path, bytes: &[u8]) -> Result<(), RevisionError> {
    let failed = |error: io::Error| RevisionError::Git(format!("cannot write {}: {error}", file.display()));
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(file, bytes).map_err(failed)
}
