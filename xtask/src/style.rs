//! Terminal styles, and the output of progress and errors.
//!
//! `anstream` writes colors only to terminals, and respects `NO_COLOR`.

use std::fmt::Display;

use anstream::{AutoStream, ColorChoice, stream::RawStream};
use anstyle::{AnsiColor, Style};

pub(crate) const SUCCESS: Style = AnsiColor::Green.on_default().bold();
pub(crate) const FAILURE: Style = AnsiColor::Red.on_default().bold();
pub(crate) const HEADING: Style = Style::new().bold();
pub(crate) const DIMMED: Style = Style::new().dimmed();

pub(crate) fn report_error(reason: &dyn Display) {
    anstream::eprintln!("{FAILURE}error:{FAILURE:#} {reason}");
}

/// Prints the next step to stderr, so that stdout contains only results.
pub(crate) fn report_progress(step: &str, what: &str) {
    anstream::eprintln!("{HEADING}{step:<9}{HEADING:#} {DIMMED}{what}{DIMMED:#}");
}

/// Returns true if a stream supports colors. Use this for strings that are styled before they are printed.
pub(crate) fn supports_color(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// Formats a number with a noun, such as `1 file` or `2 files`.
pub(crate) fn format_count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
