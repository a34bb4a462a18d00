//! `exchange-service backup` and `exchange-service restore`.

use dpop_bound::SystemRandom;
use exchange_service::{Environment, store};

use super::{BackupArgs, CommandError, RestoreArgs, print_line};

/// Writes a backup of a store. The store may be in use.
pub(super) fn run_backup(args: &BackupArgs) -> Result<(), CommandError> {
    store::write_backup(&args.data, &args.to).map_err(|error| CommandError::Failed(error.to_string()))?;
    print_line(&format!("backed up {} to {}", args.data.display(), args.to.display()));
    Ok(())
}

/// Restores a backup into a folder that does not contain a store.
pub(super) fn run_restore(args: &RestoreArgs) -> Result<(), CommandError> {
    store::restore_backup(&args.from, &args.data, &SystemRandom, Environment::system().now())
        .map_err(|error| CommandError::Failed(error.to_string()))?;
    print_line(&format!(
        "restored {} into {}; earlier feed cursors have expired, and members must sign in again for clients that refreshed \
         their tokens since the backup",
        args.from.display(),
        args.data.display()
    ));
    Ok(())
}
