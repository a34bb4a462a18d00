//! Console output: results are printed to standard output, diagnostics and progress to standard error.

use std::{
    env,
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use contract_codegen::diagnostics::{Diagnostics, Severity};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::{
    args::{ColorWhen, DisplayArgs},
    generate::count_noun,
};

/// The printer of results, diagnostics and progress, for a terminal or as JSON lines.
#[derive(Debug)]
pub(crate) struct Console {
    json: bool,
    color: bool,
    verbose: bool,
    quiet: bool,
    progress: ProgressBar,
}

impl Console {
    pub(crate) fn new(output: DisplayArgs) -> Self {
        let terminal = io::stderr().is_terminal();
        let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let color = match output.color {
            ColorWhen::Auto => terminal && !plain,
            ColorWhen::Always => !plain,
            ColorWhen::Never => false,
        };
        let progress = if terminal && !output.json && !output.quiet {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template(if color {
            "{spinner:.green} {msg} {elapsed:.dim}"
        } else {
            "{spinner} {msg} {elapsed}"
        }) {
            progress.set_style(style);
        }
        Self { json: output.json, color, verbose: output.verbose, quiet: output.quiet, progress }
    }

    /// Returns true if output on standard error is colored.
    pub(crate) const fn is_colored(&self) -> bool {
        self.color
    }

    /// Returns true if the output consists of JSON lines.
    #[cfg(feature = "serve")]
    pub(crate) const fn is_json(&self) -> bool {
        self.json
    }

    /// Shows the current step next to the spinner, on terminals only.
    pub(crate) fn show_step(&self, what: &str) {
        self.progress.set_message(what.to_owned());
        self.progress.enable_steady_tick(Duration::from_millis(120));
    }

    /// Returns true if the option `--verbose` requests that all problems and files are listed.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Returns true if the option `--quiet` suppresses everything but errors.
    #[cfg(feature = "serve")]
    pub(crate) const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints a line to standard error, unless `--quiet` suppresses it. With JSON output, does nothing.
    pub(crate) fn print_line(&self, text: &str) {
        if self.quiet {
            return self.progress.finish_and_clear();
        }
        self.print_error(text);
    }

    /// Prints an error to standard error. With JSON output, does nothing.
    pub(crate) fn print_error(&self, text: &str) {
        self.progress.finish_and_clear();
        if !self.json {
            print_stderr(&escape_controls(text));
        }
    }

    /// Prints a line with a right-aligned label, such as ` created api/lib.rs`, unless `--quiet` suppresses it.
    pub(crate) fn print_status(&self, label: &str, rest: &str) {
        let label = format!("{label:>9}");
        if !self.color || self.quiet || self.json {
            return self.print_line(&format!("{label} {rest}"));
        }
        self.progress.finish_and_clear();
        print_stderr(&format!("\u{1b}[1;32m{label}\u{1b}[0m {}", escape_controls(rest)));
    }

    /// Prints diagnostics, with source excerpts to standard error, or as JSON lines to standard output.
    pub(crate) fn print_diagnostics(&self, diagnostics: &Diagnostics) {
        self.progress.finish_and_clear();
        let errors = diagnostics.only_errors();
        if diagnostics.is_empty() || (self.quiet && errors.is_empty()) {
            return;
        }
        let diagnostics = if self.quiet { &errors } else { diagnostics };
        if self.json {
            // A closed pipe is not an error.
            let _ = print_stdout(&diagnostics.json_lines());
        } else {
            // Warnings would push the errors off the screen.
            let others = diagnostics.iter().count() - errors.iter().count();
            let mut text = match self.verbose {
                true => diagnostics.render(self.color),
                false if errors.is_empty() => diagnostics.render_brief(self.color),
                false => errors.render_brief(self.color),
            };
            if !self.verbose && !errors.is_empty() && others > 0 {
                text = format!(
                    "{}\n{} not shown; --verbose shows them",
                    text.trim_end(),
                    count_noun(others, "other message")
                );
            }
            print_stderr(text.trim_end());
        }
    }

    /// Prints the result of a command to standard output. With JSON output, does nothing.
    pub(crate) fn print_result(&self, text: &str) -> io::Result<()> {
        self.progress.finish_and_clear();
        if self.json { Ok(()) } else { print_stdout(text) }
    }

    /// Prints one of several results to standard output. With JSON output, prints `data` as one line,
    /// otherwise `text`.
    #[cfg(feature = "serve")]
    pub(crate) fn print_event(&self, text: &str, data: Value) -> io::Result<()> {
        self.progress.finish_and_clear();
        print_stdout(&if self.json { format!("{data}\n") } else { format!("{text}\n") })
    }

    /// Prints an additional message. With JSON output, prints `data` as one line to standard output,
    /// otherwise `text` to standard error.
    #[cfg(feature = "serve")]
    pub(crate) fn print_side_event(&self, text: &str, data: Value) -> io::Result<()> {
        if self.json {
            return self.print_event(text, data);
        }
        self.print_line(text);
        Ok(())
    }

    /// Prints the JSON summary, which is the last line of JSON output.
    pub(crate) fn print_summary(&self, summary: Value) {
        self.progress.finish_and_clear();
        if self.json {
            let _ = print_stdout(&format!("{}\n", json!({ "summary": summary })));
        }
    }
}

/// Replaces control characters other than line breaks with spaces, so that strings of a contract cannot control the
/// terminal.
pub(crate) fn escape_controls(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
}

/// Returns the number of warnings.
pub(crate) fn count_warnings(diagnostics: &Diagnostics) -> usize {
    diagnostics.iter().filter(|each| each.severity == Severity::Warning).count()
}

/// Writes a line to standard error. Write errors are ignored.
pub(crate) fn print_stderr(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes to standard output. A closed pipe is not an error.
fn print_stdout(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
