//! Colours, and the two ways to speak: what was asked for, and what went wrong.
//!
//! `anstream` shows colours on terminals alone and respects `NO_COLOR`.

use std::fmt::Display;

use anstream::{AutoStream, ColorChoice, stream::RawStream};
use anstyle::{AnsiColor, Style};

/// What is in order.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// What is not.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// What comes next.
pub(crate) const HEAD: Style = Style::new().bold();
/// What may be passed over.
pub(crate) const FAINT: Style = Style::new().dimmed();

/// Says on stderr why something could not be done.
pub(crate) fn complain(reason: &dyn Display) {
    anstream::eprintln!("{BAD}error:{BAD:#} {reason}");
}

/// Says on stderr what comes next: stdout is for the outcome.
pub(crate) fn progress(step: &str, what: &str) {
    anstream::eprintln!("{HEAD}{step:<9}{HEAD:#} {FAINT}{what}{FAINT:#}");
}

/// Whether a stream shows colours; for text that is painted before it is printed.
pub(crate) fn colored(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
