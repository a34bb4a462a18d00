//! `backup` and `restore`.

use dpop_bound::SystemRandom;
use exchange_service::store;

use super::{BackupArgs, Failure, RestoreArgs, say};

/// Backs up a store that may be in use.
pub(super) fn backup(args: &BackupArgs) -> Result<(), Failure> {
    store::backup(&args.data, &args.to).map_err(|error| Failure::Undone(error.to_string()))?;
    say(&format!("backed up {} to {}", args.data.display(), args.to.display()));
    Ok(())
}

/// Restores a backup into a folder without a store.
pub(super) fn restore(args: &RestoreArgs) -> Result<(), Failure> {
    store::restore(&args.from, &args.data, &SystemRandom)
        .map_err(|error| Failure::Undone(error.to_string()))?;
    say(&format!(
        "restored {} into {}; feed cursors of before are expired",
        args.from.display(),
        args.data.display()
    ));
    Ok(())
}
