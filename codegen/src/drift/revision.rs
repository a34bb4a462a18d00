//! The contract at a git revision: read by the `git` command out of the repository that holds it.
//!
//! What the contract may read is copied into a folder of its own for as long as that takes: inputs and
//! overlays, as its `codegen.toml` named them at that revision, and of the folders around them and of
//! mounts what something there may refer to.

use std::{
    collections::HashMap,
    fmt, fs,
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use super::{CONFIGURATION, Version};
use crate::{
    config::Config,
    diagnostics::Diagnostics,
    load::{self, files},
};

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
        /// What is wrong with it, in files that are called as git calls them: `v1.2.0:api/openapi.yaml`.
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
    /// Where its files lie in the repository, in front of [`Spot::file`](super::Spot::file):
    /// empty or with a `/` at the end.
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
    let folder =
        if old.is_dir() { inside.as_str() } else { inside.rsplit_once('/').map_or("", |(folder, _)| folder) };
    let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let version = Version::open(&old).map_err(|problems| RevisionError::Contract {
        revision: revision.to_owned(),
        problems: problems.below(&format!("{revision}:{folder}")),
    })?;
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
        let mut folders = vec![home.to_owned(), inside.to_owned()];
        folders.extend(config.iter().flat_map(|config| self.named(config, home)));
        let names = self.list(&folders)?;
        let mounts: Vec<String> = config
            .iter()
            .flat_map(|config| config.mounts.values())
            .filter_map(|mount| self.inside(&top.join(home).join(mount)))
            .collect();
        let mut read = match &config {
            Some(config) => self.read(config, home),
            None => vec![inside.to_owned()],
        };
        read.extend(mounts.iter().filter(|mount| names.contains(mount)).cloned());
        // A mount is there, though nothing may refer to what it holds.
        let is_folder_then = |mount: &&String| names.iter().any(|name| name != *mount && holds(mount, name));
        for mount in mounts.iter().filter(is_folder_then) {
            let failed = |error: io::Error| RevisionError::Git(format!("cannot write {mount}: {error}"));
            fs::create_dir_all(copy.join(mount)).map_err(failed)?;
        }
        let is_read = |name: &String| read.iter().any(|each| holds(each, name));
        let (wanted, others) = names.into_iter().partition(is_read);
        self.write(wanted, others, copy)?;
        if let Some((file, text)) = &configuration {
            put(&copy.join(file), self.anchored(text, home).as_bytes())?;
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
        all.chain(files::common(&holding)).filter_map(|path| self.inside(&path)).collect()
    }

    /// What a configuration has read in any case: inputs and overlays.
    fn read(&self, config: &Config, home: &str) -> Vec<String> {
        let base = self.top.join(home);
        let inputs = config.inputs.iter().map(|input| base.join(input));
        let overlays = config.input.overlays.iter().map(|overlay| base.join(&overlay.file));
        let whole = config.inputs.is_empty().then(|| base.clone());
        inputs.chain(overlays).chain(whole).filter_map(|path| self.inside(&path)).collect()
    }

    /// A path from the root; `None` outside of the repository.
    fn inside(&self, path: &Path) -> Option<String> {
        Some(slashes(files::absolute(path).ok()?.strip_prefix(self.top).ok()?))
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

    /// Writes files of the revision, and of others what these may refer to: that is found by the names
    /// of files alone, so that it is too much rather than too little.
    fn write(&self, mut wanted: Vec<String>, others: Vec<String>, copy: &Path) -> Result<(), RevisionError> {
        let mut by_name: HashMap<String, Vec<String>> = HashMap::new();
        for other in others {
            let name = other.rsplit('/').next().unwrap_or(&other).to_owned();
            by_name.entry(name).or_default().push(other);
        }
        let mut blobs = Blobs::open(self)?;
        while let Some(name) = wanted.pop() {
            let bytes = blobs.read(&name)?;
            if !by_name.is_empty() {
                let meant = load::file_names(&name, &bytes);
                wanted.extend(meant.iter().filter_map(|name| by_name.remove(name)).flatten());
            }
            put(&copy.join(&name), &bytes)?;
        }
        Ok(())
    }
}

/// Whether a path is that of a file or of a folder around it.
fn holds(path: &str, file: &str) -> bool {
    path.is_empty() || file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The files of a revision; one process for all of them, which ends with this.
struct Blobs<'a> {
    revision: &'a str,
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl<'a> Blobs<'a> {
    fn open(wanted: &Wanted<'a>) -> Result<Self, RevisionError> {
        let mut command = command(wanted.top);
        command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| no_git(&error))?;
        let (Some(ask), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(RevisionError::Git("git gave no pipes".to_owned()));
        };
        Ok(Self { revision: wanted.revision, child, ask, answers: BufReader::new(answers) })
    }

    fn read(&mut self, name: &str) -> Result<Vec<u8>, RevisionError> {
        let failed = |error: io::Error| RevisionError::Git(format!("cannot copy files out of git: {error}"));
        writeln!(self.ask, "{}:{name}", self.revision).and_then(|()| self.ask.flush()).map_err(failed)?;
        let mut head = String::new();
        self.answers.read_line(&mut head).map_err(failed)?;
        // `<id> blob <bytes>`
        let mut words = head.split_whitespace().skip(1);
        let (kind, size) = (words.next(), words.next().and_then(|size| size.parse::<usize>().ok()));
        let (Some("blob"), Some(size)) = (kind, size) else {
            return Err(RevisionError::Git(format!("git has no file {name} at {}", self.revision)));
        };
        let mut bytes = vec![0; size + 1];
        self.answers.read_exact(&mut bytes).map_err(failed)?;
        bytes.truncate(size);
        Ok(bytes)
    }
}

impl Drop for Blobs<'_> {
    fn drop(&mut self) {
        // It waits for questions, and there are none any more; it may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    /// The files of a folder, with `/`, sorted.
    fn copied(folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let mut waiting = vec![folder.to_path_buf()];
        while let Some(each) = waiting.pop() {
            for entry in fs::read_dir(each).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path);
                } else {
                    found.push(slashes(path.strip_prefix(folder).unwrap()));
                }
            }
        }
        found.sort();
        found
    }

    /// What lies beside a contract and is none of it stays where it is.
    #[test]
    fn what_nothing_refers_to_is_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(folder.path()).unwrap();
        for (name, text) in [
            ("openapi.yaml", "a: {$ref: './parts/pet%20shop.json#/x'}\nb: {$ref: https://x.y/z/id}\n"),
            ("parts/pet shop.json", r#"{"$ref": "../more.yml"}"#),
            ("more.yml", "{}"),
            ("z/id.schema.json", "{}"),
            ("package.json", "{}"),
            ("shared/part.json", "{}"),
            ("shared/other.json", "{}"),
            ("api/one.json", r#"{"$ref": "https://shared.example/part"}"#),
            ("api/two.json", "{}"),
            ("mend.overlay", "{}"),
            (
                "codegen.toml",
                "inputs = ['api']\n[mounts]\n'https://shared.example/' = 'shared'\n'https://z.example/' = 'z'\n[input]\noverlays = ['mend.overlay']\n",
            ),
        ] {
            put(&top.join(name), text.as_bytes()).unwrap();
        }
        let author = ["-c", "user.name=T", "-c", "user.email=t@x.example", "-c", "commit.gpgsign=false"];
        for args in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "--message", "a"]] {
            git(&top, &[author.as_slice(), args].concat()).unwrap();
        }
        let cases: [(&str, &[&str]); 4] = [
            ("openapi.yaml", &["more.yml", "openapi.yaml", "parts/pet shop.json", "z/id.schema.json"]),
            ("mend.overlay", &["mend.overlay"]),
            ("api", &["api/one.json", "api/two.json"]),
            (
                "codegen.toml",
                &["api/one.json", "api/two.json", "codegen.toml", "mend.overlay", "shared/part.json"],
            ),
        ];
        for (inside, expected) in cases {
            let copy = tempfile::tempdir().unwrap();
            let wanted = Wanted { top: &top, revision: "HEAD", inside, now: &top.join(inside) };
            assert_eq!(wanted.extract(copy.path()).unwrap(), copy.path().join(inside));
            assert_eq!(copied(copy.path()), expected, "{inside}");
            assert_eq!(copy.path().join("z").is_dir(), !["mend.overlay", "api"].contains(&inside));
        }
    }
}
