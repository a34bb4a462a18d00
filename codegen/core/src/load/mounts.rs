//! Mounts: URI prefixes that are mapped to folders, and folders that file names and `$id`s imply.

use std::path::{Path, PathBuf};

use crate::{diagnostics::Diagnostic, tree::SourceId};

use super::{Sources, files, uri};

#[derive(Clone, Debug)]
pub(super) struct MountPoint {
    pub(super) prefix: String,
    pub(super) path: PathBuf,
    /// True if a URI that was looked up starts with the prefix of the mount.
    pub(super) is_used: bool,
}

impl MountPoint {
    /// Returns the part of `uri` after the prefix of the mount, as a file path. Returns `None` if the URI
    /// does not start with the prefix.
    pub(super) fn rest(&self, uri: &str) -> Option<String> {
        uri::percent_decode(uri.strip_prefix(&self.prefix)?.trim_start_matches('/'))
    }
}

/// A referenced file above the common folder of the inputs, which is not loaded. The fields are the values
/// that help texts recommend. Paths are relative to the working directory if they are below it.
#[derive(Clone, Debug)]
pub(crate) struct FileAboveRoot {
    /// The folder that contains both the file and the inputs.
    pub(crate) folder: String,
    /// The URI prefix of a mount that would make the file available: the URI of its folder or, if that is the
    /// root folder, of the file.
    pub(crate) uri: String,
    /// The path of the folder or file to which this mount would map the prefix.
    pub(crate) path: String,
}

/// Returns an error if the folder or file to which a mount maps its prefix does not exist.
pub(crate) fn check_mount(prefix: &str, path: &Path) -> Option<Diagnostic> {
    let message = format!("`{prefix}` is mounted to {}, which does not exist", path.display());
    let help = "name an existing folder or file, relative to codegen.toml";
    (!path.exists()).then(|| Diagnostic::error("mount", message).help(help))
}

impl Sources {
    /// Maps URIs that start with `prefix` to a folder, or a single URI to a file.
    pub fn mount(&mut self, prefix: &str, path: &Path) {
        let path = files::absolute_path(path).unwrap_or_else(|_| path.to_path_buf());
        self.mounts.push(MountPoint { prefix: prefix.to_owned(), path, is_used: false });
        // The longest matching prefix takes precedence.
        self.mounts.sort_by(|left, right| {
            right.prefix.len().cmp(&left.prefix.len()).then_with(|| left.prefix.cmp(&right.prefix))
        });
    }

    /// Iterates over the prefixes of mounts that the resolution of references has not used.
    pub(crate) fn unused_mounts(&self) -> impl Iterator<Item = &str> {
        self.mounts.iter().filter(|mount| !mount.is_used).map(|mount| mount.prefix.as_str())
    }

    /// Returns the file that a reference identifies if the file exists but is above the common folder of the
    /// inputs. Such a file is not loaded, because a document must not decide which other files become part of
    /// a contract.
    pub(crate) fn find_above_root(
        &self,
        uri: &str,
        reference: &str,
        from: SourceId,
    ) -> Option<FileAboveRoot> {
        let (root, home) = (self.root.as_deref()?, self.path(from)?.parent()?);
        let way = reference.split(['#', '?']).next()?;
        if !way.contains("../") || way.starts_with('/') || way.contains(':') {
            return None;
        }
        let path = files::absolute_path(&home.join(uri::percent_decode(way)?)).ok()?;
        if !uri.starts_with("file:///") || path.starts_with(root) {
            return None;
        }
        let found = files::find_with_extension(&path)?;
        let folder = files::common_ancestor(&[root.to_path_buf(), found.parent()?.to_path_buf()])?;
        let (prefix, _) = uri.rsplit_once('/')?;
        // A mount for the root folder would also match the URIs of the inputs.
        let (uri, path) = match prefix {
            "file://" => (uri.to_owned(), found.as_path()),
            prefix => (format!("{prefix}/"), found.parent()?),
        };
        Some(FileAboveRoot { folder: files::display_path(&folder), uri, path: files::display_path(path) })
    }

    /// Returns a mount whose prefix matches `uri` but whose folder does not contain the file: the name of the
    /// missing file, the folder, and the prefix.
    pub(crate) fn find_unanswered_mount(&self, uri: &str) -> Option<(String, String, String)> {
        let folders = self.mounts.iter().filter(|mount| !mount.path.is_file());
        let (mount, rest) = folders.filter_map(|mount| Some((mount, mount.rest(uri)?))).next()?;
        Some((rest, files::display_path(&mount.path), mount.prefix.clone()))
    }

    /// Derives a mapping of a URI prefix to a folder from a source whose `$id` and path have the same end.
    /// For example, the `$id` `https://x/v1/a.schema.json` of the file `schemas/v1/a.schema.json` maps
    /// `https://x/` to `schemas/`.
    pub(super) fn implied_folder(&self, root: &Path, from: SourceId) -> Option<(String, PathBuf)> {
        let source = self.get(from)?;
        let path = self.retrievals.get(from.0 as usize)?.path.as_deref()?;
        let mut folder = path.to_path_buf();
        let (authority, mut address) = match source.uri.split_once("://") {
            Some((_, rest)) => {
                let start = source.uri.len() - rest.len() + rest.find('/')?;
                source.uri.split_at_checked(start)?
            }
            None => return None,
        };
        let mut agreed = false;
        while let Some((before, last)) = address.rsplit_once('/') {
            let name = folder.file_name()?.to_str()?;
            let same = last == name
                || (!agreed && name.strip_prefix(last).is_some_and(|rest| rest.starts_with('.')));
            if !same || folder == root {
                break;
            }
            folder.pop();
            address = before;
            agreed = true;
        }
        agreed.then(|| (format!("{authority}{address}/"), folder))
    }
}
