//! `--fetch` in a build without the feature `https`.

use std::{path::Path, sync::Arc};

use contract_codegen::{DocumentFetcher, DocumentRequest, FetchError};

use super::{args::FetchArgs, console::Console, error::CommandError};

/// The treatment of entries of the lock file whose documents were not requested.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UnusedEntries {
    Keep,
    Remove,
}

/// A downloader that cannot be created.
#[derive(Debug)]
pub(crate) enum Downloader {}

impl Downloader {
    /// Returns an error if the options request downloads.
    pub(crate) fn from_args(args: FetchArgs, _folder: &Path) -> Result<Option<Arc<Self>>, CommandError> {
        if args.fetch {
            let message = "this build cannot download documents: rebuild it with `--features https`";
            return Err(CommandError::Usage(message.to_owned()));
        }
        Ok(None)
    }

    pub(crate) fn print_changes(&self, _console: &Console) {
        match *self {}
    }

    pub(crate) fn write_lock(&self, _unused: UnusedEntries, _console: &Console) -> Result<(), CommandError> {
        match *self {}
    }
}

impl DocumentFetcher for Downloader {
    fn fetch(&self, _request: DocumentRequest<'_>) -> Result<Vec<u8>, FetchError> {
        match *self {}
    }
}
