//! The names of documents in messages and reports.

use std::path::Path;

use super::{Sources, files};
use crate::tree::SourceId;

impl Sources {
    /// Returns the name of a document for messages: its path from the folder in which the user works if it is below
    /// it, or else its path from the common folder of the inputs.
    pub(crate) fn shown_name(&self, id: SourceId) -> String {
        let path = self.retrievals.get(id.0 as usize).and_then(|retrieval| retrieval.path.as_deref());
        let shown = self.shown_from.as_deref().zip(path);
        let shown = shown.and_then(|(folder, path)| files::relative_path(folder, path));
        shown.unwrap_or_else(|| self.get(id).map(|source| source.name.clone()).unwrap_or_default())
    }

    /// Returns the path of a file from the common folder of the inputs, or from its mount.
    pub(super) fn display_name(&self, path: &Path) -> String {
        let root = self.root.as_deref().and_then(|root| files::relative_path(root, path));
        let mount = self.mounts.iter().find_map(|mount| files::relative_path(mount.path.parent()?, path));
        root.or(mount).unwrap_or_else(|| path.display().to_string())
    }
}
