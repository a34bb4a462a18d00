//! Reads a contract at a git revision with the command `git`.
//!
//! The files that the contract may need are copied into a temporary folder. These are the inputs and overlays
//! that the `codegen.toml` at that revision lists, and the files to which they may refer, in the folders of
//! the inputs and in mounts.

use std::{
    collections::HashMap,
    fmt, fs,
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
};

use contract_codegen_core::{
    config::Config,
    diagnostics::Diagnostics,
    load::{self, DocumentFetcher, files},
};

use super::{CONFIGURATION_FILE, ContractVersion};

/// The reason why a contract at a git revision cannot be read.
#[derive(Clone, Debug)]
pub enum RevisionError {
    /// Git, the repository, the revision or the contract in it was not found. The string contains the problem
    /// and the next step.
    Git(String),
    /// The contract at the revision is invalid.
    Contract {
        /// The revision at which the contract was read.
        revision: String,
        /// The problems, with file names in git's notation, such as `v1.2.0:api/openapi.yaml`.
        problems: Diagnostics,
    },
}

impl fmt::Display for RevisionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git(problem) => formatter.write_str(problem),
            Self::Contract { revision, problems } => {
                write!(formatter, "the contract at {revision} is invalid\n{}", problems.render(false))
            }
        }
    }
}

impl std::error::Error for RevisionError {}

/// A contract at a git revision.
#[derive(Clone, Debug)]
pub struct ContractRevision {
    /// The contract as it was at the revision.
    pub version: ContractVersion,
    /// The revision, such as `v1.2.0`.
    pub revision: String,
    /// The folder of the contract's files in the repository, as a prefix of
    /// [`SourceLocation::file`](super::SourceLocation::file). It is empty or ends with `/`.
    pub folder: String,
}

/// Reads the contract at `path` as it was at a revision. A revision is a name of a commit, such as `main`,
/// `v1.2.0` or `HEAD~3`. If the path was different at the revision, it is given after a colon, relative to
/// the root of the repository, as in `v1.2.0:api/openapi.yaml`.
///
/// # Errors
/// Returns an error if git cannot be run, `path` is not in a repository, the revision or the contract in it
/// does not exist, or the contract is invalid.
pub fn open_revision(revision: &str, path: &Path) -> Result<ContractRevision, RevisionError> {
    open_revision_with(revision, path, None)
}

/// Reads a contract like [`open_revision`], and downloads inputs and references that are URLs. Downloaded
/// documents are not those of the revision, but the current ones.
///
/// # Errors
/// Returns the same errors as [`open_revision`].
pub fn open_revision_with(
    revision: &str,
    path: &Path,
    fetcher: Option<Arc<dyn DocumentFetcher>>,
) -> Result<ContractRevision, RevisionError> {
    let path = fs::canonicalize(path)
        .map_err(|error| RevisionError::Git(format!("cannot read {}: {error}", path.display())))?;
    let home = if path.is_dir() { path.as_path() } else { path.parent().unwrap_or(&path) };
    let top = repository_root(home)?;
    let (revision, inside) = if is_commit(home, revision) {
        let inside = path.strip_prefix(&top).map_err(|_| {
            RevisionError::Git(format!("{} is not in the repository {}", path.display(), top.display()))
        })?;
        (revision, to_slash_path(inside))
    } else {
        let named = revision.split_once(':').filter(|(revision, _)| is_commit(home, revision));
        let (revision, inside) = named.ok_or_else(|| unknown_revision(revision, &top))?;
        (revision, inside.trim_start_matches("./").trim_end_matches('/').to_owned())
    };
    let copy = tempfile::tempdir().map_err(|error| {
        RevisionError::Git(format!("cannot create a temporary copy of the contract: {error}"))
    })?;
    let extractor = RevisionExtractor { root: &top, revision, contract_path: &inside, current: &path };
    let old = extractor.extract_contract(copy.path())?;
    let folder =
        if old.is_dir() { inside.as_str() } else { inside.rsplit_once('/').map_or("", |(folder, _)| folder) };
    let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let version = ContractVersion::open_with(&old, fetcher).map_err(|problems| RevisionError::Contract {
        revision: revision.to_owned(),
        problems: problems.prefix_file_names(&format!("{revision}:{folder}")),
    })?;
    Ok(ContractRevision { version, revision: revision.to_owned(), folder })
}

/// Iterates over the inputs of a configuration that are files or folders.
fn local_inputs(config: &Config) -> impl Iterator<Item = &PathBuf> {
    config.inputs.iter().filter(|input| load::inputs::as_url(input).is_none())
}

/// Returns true if `revision` names a commit of the repository to which `folder` belongs. Returns false for
/// strings that look like options.
#[must_use]
pub fn is_commit(folder: &Path, revision: &str) -> bool {
    let commit = format!("{revision}^{{commit}}");
    !revision.is_empty()
        && !revision.starts_with('-')
        && run_git(folder, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).is_ok()
}

fn unknown_revision(revision: &str, top: &Path) -> RevisionError {
    RevisionError::Git(format!(
        "`{revision}` names no commit of {}\n\
         help: `git fetch --tags` fetches remote branches and tags; in a GitHub workflow, \
         `fetch-depth: 0` of actions/checkout fetches all",
        top.display()
    ))
}

/// Returns the root of the repository that contains a folder.
fn repository_root(folder: &Path) -> Result<PathBuf, RevisionError> {
    let top = run_git(folder, &["rev-parse", "--show-toplevel"]).map_err(|problem| match problem {
        RevisionError::Git(words) if words.contains("not a git repository") => RevisionError::Git(format!(
            "{} is not in a git repository\nhelp: give the older version as a file or a folder",
            folder.display()
        )),
        other => other,
    })?;
    let top = PathBuf::from(top.trim_end_matches(['\r', '\n']));
    fs::canonicalize(&top)
        .map_err(|error| RevisionError::Git(format!("cannot read {}: {error}", top.display())))
}

/// Returns a `git` command for a folder, without the environment variables that git sets for hooks.
fn git_command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).env("LC_ALL", "C");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    command
}

fn git_unavailable(error: &io::Error) -> RevisionError {
    RevisionError::Git(format!(
        "cannot run git: {error}\nhelp: install git, or give the older version as a file or a folder"
    ))
}

fn run_git(folder: &Path, args: &[&str]) -> Result<String, RevisionError> {
    let output = git_command(folder).args(args).output().map_err(|error| git_unavailable(&error))?;
    if !output.status.success() {
        let problem = String::from_utf8_lossy(&output.stderr);
        return Err(RevisionError::Git(format!("`git {}` failed: {}", args.join(" "), problem.trim())));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| RevisionError::Git("git returned file names that are not UTF-8".to_owned()))
}

fn to_slash_path(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// The files of a contract at a git revision, to be copied into a folder.
struct RevisionExtractor<'a> {
    root: &'a Path,
    revision: &'a str,
    /// The path of the contract at the revision, relative to the root of the repository; empty for the root
    /// itself.
    contract_path: &'a str,
    /// The path of the contract in the work tree.
    current: &'a Path,
}

impl RevisionExtractor<'_> {
    /// Writes all files that the contract may need to the folder `copy`, and returns the path of the contract
    /// in it.
    fn extract_contract(&self, copy: &Path) -> Result<PathBuf, RevisionError> {
        let Self { root: top, revision, contract_path: inside, current: now } = *self;
        let kind = run_git(top, &["cat-file", "-t", &format!("{revision}:{inside}")]).unwrap_or_default();
        let (is_folder, is_file) = (kind.trim() == "tree", kind.trim() == "blob");
        if !is_folder && !is_file {
            return Err(RevisionError::Git(format!(
                "there is no {inside} at {revision}\nhelp: if it had another path then, add it: `{revision}:old/path`"
            )));
        }
        let (home, configuration) = match inside.rsplit_once('/') {
            _ if is_folder => (inside, Some(join_slash(inside, CONFIGURATION_FILE))),
            Some((home, name)) => (home, name.ends_with(".toml").then(|| inside.to_owned())),
            None => ("", inside.ends_with(".toml").then(|| inside.to_owned())),
        };
        let then = configuration.as_ref().and_then(|file| {
            let text = run_git(top, &["cat-file", "blob", &format!("{revision}:{file}")]).ok()?;
            Some((file.clone(), text))
        });
        // If the revision is older than the configuration file, the current configuration is used.
        let newer = || {
            let text = fs::read_to_string(now.join(CONFIGURATION_FILE)).ok()?;
            Some((configuration.clone()?, text))
        };
        let configuration = then.or_else(newer);
        let config = configuration.as_ref().and_then(|(_, text)| toml::from_str::<Config>(text).ok());
        let mut folders = vec![home.to_owned(), inside.to_owned()];
        folders.extend(config.iter().flat_map(|config| self.configured_paths(config, home)));
        let names = self.list_files(&folders)?;
        let mounts: Vec<String> = config
            .iter()
            .flat_map(|config| config.mounts.values())
            .filter_map(|mount| self.repository_path(&top.join(home).join(mount)))
            .collect();
        let mut read = match &config {
            Some(config) => self.required_paths(config, home),
            None => vec![inside.to_owned()],
        };
        read.extend(mounts.iter().filter(|mount| names.contains(mount)).cloned());
        // The folder of a mount must exist, even if nothing refers to the files in it.
        let is_folder_then =
            |mount: &&String| names.iter().any(|name| name != *mount && contains_path(mount, name));
        for mount in mounts.iter().filter(is_folder_then) {
            let failed = |error: io::Error| RevisionError::Git(format!("cannot write {mount}: {error}"));
            fs::create_dir_all(copy.join(mount)).map_err(failed)?;
        }
        let is_read = |name: &String| read.iter().any(|each| contains_path(each, name));
        let (matching, others) = names.into_iter().partition(is_read);
        self.write_files(matching, others, copy)?;
        if let Some((file, text)) = &configuration {
            write_file(&copy.join(file), self.anchor_configuration(text, home).as_bytes())?;
        }
        Ok(if inside.is_empty() { copy.to_path_buf() } else { copy.join(inside) })
    }

    /// Returns the folders and files to which a configuration refers, relative to the root of the repository.
    /// Paths outside of the repository are omitted.
    fn configured_paths(&self, config: &Config, home: &str) -> Vec<String> {
        let base = self.root.join(home);
        let overlays = config.input.overlays.iter().map(|overlay| overlay.file.clone());
        let mounts = config.mounts.values().cloned();
        let inputs: Vec<PathBuf> = local_inputs(config).map(|input| base.join(input)).collect();
        let all = mounts.chain(overlays).map(|path| base.join(path)).chain(inputs.iter().cloned());
        // The common folder of the inputs contains the files to which the inputs refer.
        let holding = inputs.iter().map(|input| {
            let is_file = input.extension().is_some();
            if is_file { input.parent().map_or_else(PathBuf::new, Path::to_path_buf) } else { input.clone() }
        });
        let holding: Vec<PathBuf> = holding.filter_map(|path| files::absolute_path(&path).ok()).collect();
        all.chain(files::common_ancestor(&holding)).filter_map(|path| self.repository_path(&path)).collect()
    }

    /// Returns the files and folders that are always copied for a configuration: its inputs and overlays, or
    /// its own folder if it lists no inputs.
    fn required_paths(&self, config: &Config, home: &str) -> Vec<String> {
        let base = self.root.join(home);
        let inputs = local_inputs(config).map(|input| base.join(input));
        let overlays = config.input.overlays.iter().map(|overlay| base.join(&overlay.file));
        let folder = config.inputs.is_empty().then(|| base.clone());
        inputs.chain(overlays).chain(folder).filter_map(|path| self.repository_path(&path)).collect()
    }

    /// Returns a path relative to the root of the repository, or `None` if it is outside of the repository.
    fn repository_path(&self, path: &Path) -> Option<String> {
        Some(to_slash_path(files::absolute_path(path).ok()?.strip_prefix(self.root).ok()?))
    }

    /// Returns the content of the configuration file to write into the copy. Paths outside of the repository
    /// are made absolute.
    fn anchor_configuration(&self, text: &str, home: &str) -> String {
        let Ok(mut table) = text.parse::<toml::Table>() else { return text.to_owned() };
        let base = self.root.join(home);
        let anchor = |value: &mut toml::Value| {
            let named = value.as_str().and_then(|path| files::absolute_path(&base.join(path)).ok());
            if let Some(path) = named.filter(|path| !path.starts_with(self.root)) {
                *value = to_slash_path(&path).into();
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

    /// Lists the JSON and YAML files in the given folders at the revision. `folders` may also contain paths
    /// of single files.
    fn list_files(&self, folders: &[String]) -> Result<Vec<String>, RevisionError> {
        let mut args = vec!["ls-tree", "-r", "-z", "--full-tree", self.revision];
        // Git rejects an empty path. Without paths, it lists all files.
        if folders.iter().all(|folder| !folder.is_empty()) {
            args.push("--");
            args.extend(folders.iter().map(String::as_str));
        }
        let listed = run_git(self.root, &args)?;
        let document = |name: &str| {
            let ends = |ending: &&str| name.to_ascii_lowercase().ends_with(ending);
            [".json", ".yaml", ".yml"].iter().any(ends) || folders.iter().any(|file| file == name)
        };
        // In a manipulated tree, a name could lead out of the copy.
        let inside = |name: &str| name.split('/').all(|part| !matches!(part, "" | "." | ".."));
        // Each line is `<mode> blob <id>\t<name>`. Symbolic links and submodules contain no documents.
        let files = listed.split('\0').filter_map(|line| {
            let (kind, name) = line.split_once('\t')?;
            (kind.starts_with("100") && document(name) && inside(name) && !name.contains('\n'))
                .then(|| name.to_owned())
        });
        Ok(files.collect())
    }

    /// Writes the files in `paths` to `copy`, and the files in `others` to which they may refer, directly or
    /// indirectly. References are matched by file name only, so more files than necessary may be copied.
    fn write_files(
        &self,
        mut paths: Vec<String>,
        others: Vec<String>,
        copy: &Path,
    ) -> Result<(), RevisionError> {
        let mut by_name: HashMap<String, Vec<String>> = HashMap::new();
        for other in others {
            let name = other.rsplit('/').next().unwrap_or(&other).to_owned();
            by_name.entry(name).or_default().push(other);
        }
        let mut blobs = BlobReader::start(self)?;
        while let Some(name) = paths.pop() {
            let bytes = blobs.read_file(&name)?;
            if !by_name.is_empty() {
                let references = load::referenced_file_names(&name, &bytes);
                paths.extend(references.iter().filter_map(|name| by_name.remove(name)).flatten());
            }
            write_file(&copy.join(&name), &bytes)?;
        }
        Ok(())
    }
}

/// Returns true if `path` is `file` itself or a folder that contains it.
fn contains_path(path: &str, file: &str) -> bool {
    path.is_empty() || file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A reader for files of a revision. It uses one `git cat-file` process, which is stopped when the reader is
/// dropped.
struct BlobReader<'a> {
    revision: &'a str,
    child: Child,
    requests: ChildStdin,
    responses: BufReader<ChildStdout>,
}

impl<'a> BlobReader<'a> {
    fn start(extractor: &RevisionExtractor<'a>) -> Result<Self, RevisionError> {
        let mut command = git_command(extractor.root);
        command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| git_unavailable(&error))?;
        let (Some(ask), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(RevisionError::Git("cannot open pipes to git".to_owned()));
        };
        Ok(Self { revision: extractor.revision, child, requests: ask, responses: BufReader::new(answers) })
    }

    fn read_file(&mut self, name: &str) -> Result<Vec<u8>, RevisionError> {
        let failed = |error: io::Error| RevisionError::Git(format!("cannot copy files out of git: {error}"));
        writeln!(self.requests, "{}:{name}", self.revision)
            .and_then(|()| self.requests.flush())
            .map_err(failed)?;
        let mut head = String::new();
        self.responses.read_line(&mut head).map_err(failed)?;
        // The header is `<id> blob <bytes>`.
        let mut fields = head.split_whitespace().skip(1);
        let (kind, size) = (fields.next(), fields.next().and_then(|size| size.parse::<usize>().ok()));
        let (Some("blob"), Some(size)) = (kind, size) else {
            return Err(RevisionError::Git(format!("git has no file {name} at {}", self.revision)));
        };
        let mut bytes = vec![0; size + 1];
        self.responses.read_exact(&mut bytes).map_err(failed)?;
        bytes.truncate(size);
        Ok(bytes)
    }
}

impl Drop for BlobReader<'_> {
    fn drop(&mut self) {
        // The process is waiting for further requests or has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn join_slash(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn write_file(file: &Path, bytes: &[u8]) -> Result<(), RevisionError> {
    let failed = |error: io::Error| RevisionError::Git(format!("cannot write {}: {error}", file.display()));
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(file, bytes).map_err(failed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic on failure")]

    use super::*;

    /// Returns the paths of all files in a folder, with `/`, sorted.
    fn list_folder(folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let mut waiting = vec![folder.to_path_buf()];
        while let Some(each) = waiting.pop() {
            for entry in fs::read_dir(each).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path);
                } else {
                    found.push(to_slash_path(path.strip_prefix(folder).unwrap()));
                }
            }
        }
        found.sort();
        found
    }

    /// Only the inputs of the contract, and files whose names occur in references, are copied.
    #[test]
    fn unreferenced_files_are_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
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
            write_file(&root.join(name), text.as_bytes()).unwrap();
        }
        let author = ["-c", "user.name=T", "-c", "user.email=t@x.example", "-c", "commit.gpgsign=false"];
        for args in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "--message", "a"]] {
            run_git(&root, &[author.as_slice(), args].concat()).unwrap();
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
        for (contract_path, expected) in cases {
            let copy = tempfile::tempdir().unwrap();
            let extractor = RevisionExtractor {
                root: &root,
                revision: "HEAD",
                contract_path,
                current: &root.join(contract_path),
            };
            assert_eq!(extractor.extract_contract(copy.path()).unwrap(), copy.path().join(contract_path));
            assert_eq!(list_folder(copy.path()), expected, "{contract_path}");
            assert_eq!(copy.path().join("z").is_dir(), !["mend.overlay", "api"].contains(&contract_path));
        }
    }
}
