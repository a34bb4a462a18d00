//! `backup` and `restore`.

use dpop_bound::SystemRandom;
use exchange_service::{Environment, store};

use super::{BackupArgs, Failure, RestoreArgs, say};

/// Backs up a store that may be in use.
pub(super) fn backup(args: &BackupArgs) -> Result<(), Failure> {
    store::backup(&args.data, &args.to).map_err(|error| Failure::Undone(error.to_string()))?;
    say(&format!("backed up {} to {}", args.data.display(), args.to.display()));
    Ok(())
}

/// Restores a backup into a folder without a store.
pub(super) fn restore(args: &RestoreArgs) -> Result<(), Failure> {
    store::restore(&args.from, &args.data, &SystemRandom, Environment::system().now())
        .map_err(|error| Failure::Undone(error.to_string()))?;
    say(&format!(
        "restored {} into {}; feed cursors of before are expired, and members sign in anew for clients that refreshed \
         their tokens since the backup",
        args.from.display(),
        args.data.display()
    ));
    Ok(())
}
