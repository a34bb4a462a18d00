//! Where words go: results to standard output, everything said on the way to standard error.

use std::{
    env,
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use contract_codegen::diagnostics::{Diagnostics, Severity};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::args::{Output, When};

/// The terminal, or what stands for it.
#[derive(Debug)]
pub(crate) struct Screen {
    json: bool,
    color: bool,
    verbose: bool,
    progress: ProgressBar,
}

impl Screen {
    pub(crate) fn new(output: Output) -> Self {
        let terminal = io::stderr().is_terminal();
        let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let color = match output.color {
            When::Auto => terminal && !plain,
            When::Always => !plain,
            When::Never => false,
        };
        let progress =
            if terminal && !output.json { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template(if color {
            "{spinner:.green} {msg} {elapsed:.dim}"
        } else {
            "{spinner} {msg} {elapsed}"
        }) {
            progress.set_style(style);
        }
        Self { json: output.json, color, verbose: output.verbose, progress }
    }

    /// Whether there are colours.
    pub(crate) const fn is_colored(&self) -> bool {
        self.color
    }

    /// Whether programs read along.
    #[cfg(feature = "serve")]
    pub(crate) const fn is_json(&self) -> bool {
        self.json
    }

    /// Says what goes on, on terminals only.
    pub(crate) fn step(&self, what: &str) {
        self.progress.set_message(what.to_owned());
        self.progress.enable_steady_tick(Duration::from_millis(120));
    }

    /// Whether everything is to be shown.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// One line for people.
    pub(crate) fn line(&self, text: &str) {
        self.progress.finish_and_clear();
        if !self.json {
            error_line(text);
        }
    }

    /// A word in front of a line, in colour where there are colours.
    pub(crate) fn marked(&self, word: &str, rest: &str) {
        let word = format!("{word:>9}");
        self.line(&if self.color {
            format!("\u{1b}[1;32m{word}\u{1b}[0m {rest}")
        } else {
            format!("{word} {rest}")
        });
    }

    /// Problems: excerpts for people, JSON lines for programs.
    pub(crate) fn diagnostics(&self, diagnostics: &Diagnostics) {
        self.progress.finish_and_clear();
        if diagnostics.is_empty() {
            return;
        }
        if self.json {
            // Whoever closed the pipe wants no more.
            let _ = print(&diagnostics.json_lines());
        } else {
            let text = if self.verbose {
                diagnostics.render(self.color)
            } else {
                diagnostics.render_brief(self.color)
            };
            error_line(text.trim_end());
        }
    }

    /// A result: text for people.
    pub(crate) fn result(&self, text: &str) -> io::Result<()> {
        self.progress.finish_and_clear();
        if self.json { Ok(()) } else { print(text) }
    }

    /// One of several results, as it comes: a line for people, another for programs.
    #[cfg(feature = "serve")]
    pub(crate) fn event(&self, text: &str, data: Value) -> io::Result<()> {
        self.progress.finish_and_clear();
        print(&if self.json { format!("{data}\n") } else { format!("{text}\n") })
    }

    /// The same of something that is said on the way.
    #[cfg(feature = "serve")]
    pub(crate) fn event_aside(&self, text: &str, data: Value) -> io::Result<()> {
        if self.json {
            return self.event(text, data);
        }
        self.line(text);
        Ok(())
    }

    /// The last line for programs.
    pub(crate) fn summary(&self, summary: Value) {
        self.progress.finish_and_clear();
        if self.json {
            let _ = print(&format!("{}\n", json!({ "summary": summary })));
        }
    }
}

/// How many of them are warnings.
pub(crate) fn warnings(diagnostics: &Diagnostics) -> usize {
    diagnostics.iter().filter(|each| each.severity == Severity::Warning).count()
}

/// Writes to standard error, as far as there is one.
pub(crate) fn error_line(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes to standard output; a reader that has gone away is no error.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
