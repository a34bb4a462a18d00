//! Access to the folder of a case: its name and the files of its contract.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Returns the path of `codegen/tests`. The function also works in packages in other folders, which include
/// this file.
pub(crate) fn tests() -> PathBuf {
    let mut folders =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("codegen/tests"));
    folders.find(|folder| folder.exists()).unwrap()
}

/// A folder of `cases/`.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
}

impl Case {
    /// Returns all cases, sorted by name.
    pub(crate) fn all() -> Vec<Self> {
        let folders = entries(&tests().join("cases")).into_iter().filter(|p| p.is_dir());
        folders.map(|folder| Self { name: file_name(&folder), folder }).collect()
    }

    /// Returns true if the generator must reject the contract.
    pub(crate) fn is_refused(&self) -> bool {
        self.name.starts_with("refused_")
    }

    /// Returns the files of the contract, each with its name relative to the input folder and its path.
    pub(crate) fn files(&self) -> Vec<(String, PathBuf)> {
        let folder = self.folder.join("input");
        if !folder.is_dir() {
            return vec![("input.json".to_owned(), self.folder.join("input.json"))];
        }
        let mut files = Vec::new();
        let mut folders = vec![folder.clone()];
        while let Some(next) = folders.pop() {
            for path in entries(&next) {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&folder).unwrap().to_string_lossy().replace('\\', "/");
                    files.push((name, path));
                }
            }
        }
        files.sort();
        files
    }
}

/// Returns the sorted entries of a folder; empty if the folder does not exist.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(list) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = list.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Returns the content of a file.
pub(crate) fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
