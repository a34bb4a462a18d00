//! Finds, reads and extends the file `drift.toml`, which lists the accepted changes for the command `drift`.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use contract_codegen::{
    drift::{
        ContractDrift,
        accepted::{ACCEPTED_FILE, Acceptance, AcceptedChanges, AcceptedEntry, append_entries},
        dates::CalendarDate,
        report::ReportOptions,
    },
    write::replace_file,
};

use super::{args::DriftArgs, console::Console, error::CommandError};

/// The file with accepted changes, and its content.
#[derive(Debug)]
pub(super) struct AcceptedFile {
    path: PathBuf,
    text: String,
    changes: AcceptedChanges,
}

impl AcceptedFile {
    /// Reads the file of `--accepted` or, without this option, the file at [`default_path`]. A missing file
    /// is treated as empty, except a file that `--accepted` names without `--accept`.
    pub(super) fn read(args: &DriftArgs, new: &Path) -> Result<Self, CommandError> {
        let path = args.accepted.clone().unwrap_or_else(|| default_path(new));
        let must_exist = args.accepted.is_some() && !args.accept;
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound && !must_exist => String::new(),
            Err(error) => {
                return Err(CommandError::Io(format!("cannot read {}: {error}", path.display())));
            }
        };
        let changes = AcceptedChanges::parse(&display_path(&path), &text)?;
        Ok(Self { path, text, changes })
    }

    /// Marks the accepted changes of a comparison, and adds the outdated entries to its result.
    pub(super) fn apply(&self, drift: &mut ContractDrift, today: CalendarDate) {
        self.changes.apply(drift, today);
    }

    /// Adds an entry for each change that causes a failure, writes the file, and applies the new entries. If
    /// there is no such change, the file is not written.
    pub(super) fn accept_changes(
        &mut self,
        drift: &mut ContractDrift,
        view: &ReportOptions,
        (acceptance, today): (&Acceptance, CalendarDate),
        console: &Console,
    ) -> Result<(), CommandError> {
        let failing = view.failing_changes(drift);
        let entries: Vec<AcceptedEntry> =
            failing.into_iter().map(|change| AcceptedEntry::for_change(change, acceptance)).collect();
        let name = display_path(&self.path);
        if entries.is_empty() {
            console.print_line(&format!("there is no breaking change to accept: {name} is not changed"));
            return Ok(());
        }
        let text = append_entries(&self.text, &entries)
            .map_err(|problem| CommandError::Usage(format!("{name}: {problem}")))?;
        self.changes = AcceptedChanges::parse(&name, &text)?;
        replace_file(&self.path, &text)?;
        self.text = text;
        self.apply(drift, today);
        let count = entries.len();
        let noun = if count == 1 { "change" } else { "changes" };
        console.print_line(&format!("accepted {count} breaking {noun} in {name}"));
        Ok(())
    }
}

/// Returns the path of `drift.toml` beside the newer version. If this file does not exist, and a `drift.toml`
/// exists in the current folder, returns the path of the file in the current folder.
fn default_path(new: &Path) -> PathBuf {
    let folder = if new.is_dir() { Some(new) } else { new.parent() };
    let beside = folder.map_or_else(|| PathBuf::from(ACCEPTED_FILE), |folder| folder.join(ACCEPTED_FILE));
    let current = PathBuf::from(ACCEPTED_FILE);
    if !beside.exists() && current.exists() { current } else { beside }
}

/// Formats a path for messages, with `/` on every system and without `./` at the start.
fn display_path(path: &Path) -> String {
    path.display().to_string().replace('\\', "/").trim_start_matches("./").to_owned()
}

/// Returns the acceptance for `--accept`, or `None` without the option.
pub(super) fn requested_acceptance(
    args: &DriftArgs,
    today: CalendarDate,
) -> Result<Option<Acceptance>, CommandError> {
    let Some(reason) = args.reason.as_ref().filter(|_| args.accept) else { return Ok(None) };
    if reason.trim().is_empty() {
        return Err(CommandError::Usage("`--reason` must not be empty".to_owned()));
    }
    let expires = args.expires.as_deref().map(|text| parse_date("--expires", text)).transpose()?;
    if let Some(expires) = expires.filter(|expires| *expires < today) {
        return Err(CommandError::Usage(format!("`--expires {expires}` is in the past: today is {today}")));
    }
    Ok(Some(Acceptance { reason: reason.clone(), by: args.by.clone(), expires }))
}

/// Returns the date of `--today` or, without this option, the current date in UTC.
pub(super) fn current_date(args: &DriftArgs) -> Result<CalendarDate, CommandError> {
    if let Some(text) = &args.today {
        return parse_date("--today", text);
    }
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX);
    CalendarDate::from_unix_seconds(seconds).ok_or_else(|| {
        CommandError::Usage("the system clock is wrong: set the date with `--today`".to_owned())
    })
}

fn parse_date(option: &str, text: &str) -> Result<CalendarDate, CommandError> {
    text.parse().map_err(|problem| CommandError::Usage(format!("`{option}`: {problem}")))
}
