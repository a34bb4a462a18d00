//! The repository as a list of files and their texts: what git would commit, read once.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use ignore::WalkBuilder;

/// The folder that belongs to the generator.
pub(crate) const GENERATED: &str = "generated/src/generated/";

/// Every file that is not ignored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repository {
    /// By path.
    pub(crate) files: Vec<File>,
}

/// One file.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Relative to the repository, with `/`.
    pub(crate) path: String,
    /// What it holds; empty when it is no UTF-8.
    pub(crate) text: String,
}

impl Repository {
    /// Reads all files of a folder but those that `.gitignore` names.
    ///
    /// # Errors
    /// When something cannot be read.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        let mut walk = WalkBuilder::new(root);
        // Hidden files are committed like others; rules of the machine are nobody else's.
        walk.hidden(false)
            .require_git(false)
            .parents(false)
            .git_global(false)
            .git_exclude(false)
            .ignore(false);
        walk.filter_entry(|entry| entry.file_name() != ".git");
        for entry in walk.build() {
            let entry = entry.map_err(io::Error::other)?;
            if entry.file_type().is_some_and(|kind| kind.is_file()) {
                let text = String::from_utf8(fs::read(entry.path())?).unwrap_or_default();
                files.push(File { path: relative(entry.path(), root), text });
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// A file by its path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        let index = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(index)
    }

    /// Whether there is a file or a folder of this path; `""` is the repository.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        path.is_empty()
            || self.file(path).is_some()
            || self.files.iter().any(|file| file.path.starts_with(&folder))
    }

    /// The files whose name ends so.
    pub(crate) fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| file.path.ends_with(end))
    }
}

impl File {
    /// Lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether it is Rust that the generator writes: its own folder, and what its tests expect.
    pub(crate) fn is_output(&self) -> bool {
        let expected = self.path == "codegen/tests/one_file/api.rs"
            || self.path.starts_with("codegen/tests/cases/") && self.path.contains("/expected/");
        self.path.starts_with(GENERATED) || expected
    }
}

/// The folder of the workspace: where cargo says this package is, or else above the current one.
///
/// # Errors
/// When neither is inside of a workspace.
pub(crate) fn root() -> io::Result<PathBuf> {
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let start = package.map_or_else(env::current_dir, Ok)?;
    let is_root = |folder: &&Path| {
        fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"))
    };
    let found = start.ancestors().find(is_root).map(Path::to_path_buf);
    found.ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, "no Cargo.toml with a [workspace] here or above")
    })
}

fn relative(path: &Path, root: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

#[cfg(test)]
impl Repository {
    /// A repository of these files.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        let mut files: Vec<File> = files.iter().map(file).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_those_that_git_sees() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &[u8]| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(".gitignore", b"/target/\n");
        put(".git/HEAD", b"");
        put("target/debug/x", b"");
        put(".ci/run", b"true\n");
        put("src/deep/a.rs", b"//! A.\n");
        put("image.bin", &[0xff, 0xfe]);
        let repository = Repository::read(folder.path()).unwrap();
        let paths: Vec<&str> = repository.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".ci/run", ".gitignore", "image.bin", "src/deep/a.rs"]);
        assert_eq!(repository.file("image.bin").unwrap().text, "");
        assert!(repository.has("src") && repository.has("src/deep/") && repository.has(""));
        assert!(!repository.has("src/de") && !repository.has("target"));
    }
}
