//! Finds the process that locks a database file, for error messages.

use std::path::Path;

/// Returns the number and the name of another process that holds a lock on a file, such as `process 1234
/// (exchange)`. Returns `None` if there is none, or if the system does not report the holders of locks.
#[cfg(target_os = "linux")]
pub(super) fn find_lock_holder(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let inode = std::fs::metadata(path).ok()?.ino();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let holder =
        locks.lines().filter_map(|line| parse_lock(line, inode)).find(|id| *id != std::process::id())?;
    let name = std::fs::read_to_string(format!("/proc/{holder}/comm")).unwrap_or_default();
    Some(match name.trim() {
        "" => format!("process {holder}"),
        name => format!("process {holder} ({name})"),
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn find_lock_holder(_: &Path) -> Option<String> {
    None
}

/// Parses a line of `/proc/locks`, such as `1: POSIX ADVISORY READ 1234 fe:00:5678 124 124`. Returns the id of the
/// process if the lock is on the file with this inode. Waiting processes, whose lines contain `->`, are skipped.
#[cfg(target_os = "linux")]
fn parse_lock(line: &str, inode: u64) -> Option<u32> {
    let mut words = line.split_whitespace().skip(1);
    words.next().filter(|kind| matches!(*kind, "POSIX" | "FLOCK" | "OFDLCK"))?;
    let (id, file) = (words.nth(2)?, words.next()?);
    let is_file = file.rsplit(':').next()?.parse() == Ok(inode);
    if is_file { id.parse().ok() } else { None }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn locks_are_parsed() {
        let line = "1: POSIX  ADVISORY  READ 1234 fe:00:5678 124 124";
        assert_eq!((parse_lock(line, 5678), parse_lock(line, 678)), (Some(1234), None));
        assert_eq!(parse_lock("1: -> FLOCK  ADVISORY  WRITE 9 fe:00:5678 0 EOF", 5678), None);
        assert_eq!(parse_lock("", 5678), None);
    }
}
