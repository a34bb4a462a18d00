//! The files of the repository that git does not ignore, with their content.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use ignore::WalkBuilder;

pub(crate) const GENERATED_FOLDER: &str = "generated/src/generated/";

#[derive(Clone, Debug, Default)]
pub(crate) struct RepositoryFiles {
    /// The files, sorted by path.
    pub(crate) files: Vec<SourceFile>,
}

#[derive(Clone, Debug)]
pub(crate) struct SourceFile {
    /// The path relative to the repository, with `/` as the separator.
    pub(crate) path: String,
    /// The content, or an empty string if it is not UTF-8.
    pub(crate) text: String,
}

impl RepositoryFiles {
    /// Reads all files of a folder except those that `.gitignore` excludes.
    ///
    /// # Errors
    /// Returns an error if a file or folder cannot be read.
    pub(crate) fn read_from(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        let mut walk = WalkBuilder::new(root);
        // Hidden files are included. Only the `.gitignore` files of the repository apply, so that the result
        // is the same on every machine.
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
                files.push(SourceFile { path: relative_path(entry.path(), root), text });
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    pub(crate) fn find_file(&self, path: &str) -> Option<&SourceFile> {
        let index = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(index)
    }

    /// Returns true if a file or folder exists; an empty path is the repository itself.
    pub(crate) fn contains_path(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        path.is_empty()
            || self.find_file(path).is_some()
            || self.files.iter().any(|file| file.path.starts_with(&folder))
    }

    /// Returns the files with a path that ends with the given string.
    pub(crate) fn with_suffix<'a>(&'a self, end: &'a str) -> impl Iterator<Item = &'a SourceFile> {
        self.files.iter().filter(move |file| file.path.ends_with(end))
    }
}

impl SourceFile {
    /// Returns the lines with their numbers, starting at 1.
    pub(crate) fn numbered_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Returns the last component of the path.
    pub(crate) fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Returns true for files that the generator writes: those in its folder, and the expected output of its
    /// tests.
    pub(crate) fn is_output(&self) -> bool {
        let expected = self.path == "codegen/tests/one_file/api.rs"
            || self.path.starts_with("codegen/tests/cases/") && self.path.contains("/expected/");
        self.path.starts_with(GENERATED_FOLDER) || expected
    }
}

/// Returns the root folder of the workspace that contains this package. Starts at the current folder if cargo
/// did not set the path of the package.
///
/// # Errors
/// Returns an error if the start folder is not in a workspace.
pub(crate) fn workspace_root() -> io::Result<PathBuf> {
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

fn relative_path(path: &Path, root: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// Resolves a path relative to a file. Returns `None` if the path leads out of the root folder.
pub(crate) fn resolve_relative_path(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
impl RepositoryFiles {
    pub(crate) fn from_files(files: &[(&str, &str)]) -> Self {
        let file =
            |(path, text): &(&str, &str)| SourceFile { path: (*path).to_owned(), text: (*text).to_owned() };
        let mut files: Vec<SourceFile> = files.iter().map(file).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_files_are_skipped() {
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
        let repository = RepositoryFiles::read_from(folder.path()).unwrap();
        let paths: Vec<&str> = repository.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".ci/run", ".gitignore", "image.bin", "src/deep/a.rs"]);
        assert_eq!(repository.find_file("image.bin").unwrap().text, "");
        assert!(
            repository.contains_path("src")
                && repository.contains_path("src/deep/")
                && repository.contains_path("")
        );
        assert!(!repository.contains_path("src/de") && !repository.contains_path("target"));
    }
}
