//! The one way out: data on the standard output, everything else on the standard error, and on failure no data at
//! all.
//!
//! Data is gathered and leaves when the command succeeded. Only events (`--json` of commands that take long) leave
//! at once, a line each.

use std::{
    fmt::Display,
    io::{self, IsTerminal as _, Write as _},
};

use serde::Serialize;

/// Whom the output is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Tables, sentences.
    People,
    /// JSON, a line each.
    Json,
}

/// Whether letters have colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How a part of a text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Strong,
    Faint,
    Good,
    Warning,
    Bad,
}

/// Both streams of this process.
#[derive(Debug)]
pub(crate) struct Output {
    form: Form,
    colour: bool,
    colour_of_messages: bool,
    /// The line that is written over and over, when there is a terminal to do that on.
    status: Status,
    data: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Status {
    Nowhere,
    Empty,
    Shown,
}

impl Output {
    pub(crate) fn new(form: Form, color: Color) -> Self {
        let wanted = |terminal: bool| match color {
            Color::Always => true,
            Color::Never => false,
            // https://no-color.org: any value but the empty one.
            Color::Auto => {
                terminal
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        };
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let status = if err && form == Form::People { Status::Empty } else { Status::Nowhere };
        Self {
            form,
            colour: wanted(out) && form == Form::People,
            colour_of_messages: wanted(err),
            status,
            data: String::new(),
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    /// Whether somebody sits there and can be asked.
    pub(crate) fn can_ask(&self) -> bool {
        self.form == Form::People && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// A part of the data in its look.
    pub(crate) fn paint(&self, look: Look, text: &str) -> String {
        paint(self.colour, look, text)
    }

    /// A line of data for people.
    pub(crate) fn line(&mut self, text: impl Display) {
        self.data.push_str(&text.to_string());
        self.data.push('\n');
    }

    /// Text that has its own lines.
    pub(crate) fn text(&mut self, text: &str) {
        self.data.push_str(text);
    }

    /// A document for programs: one line.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        // Values of the contract and of this program can always be written.
        if let Ok(text) = serde_json::to_string(value) {
            self.line(text);
        }
    }

    /// An event, which leaves at once.
    pub(crate) fn event(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(value)?;
        let mut out = io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush())
    }

    /// What the person before the screen should know; no data.
    pub(crate) fn note(&mut self, text: impl Display) {
        self.clear_status();
        // Whoever closed it does not want to know.
        let _ = writeln!(io::stderr(), "{}", clean_lines(&text.to_string()));
    }

    /// The same, as something to look at.
    pub(crate) fn warn(&mut self, text: impl Display) {
        let label = paint(self.colour_of_messages, Look::Warning, "note:");
        self.clear_status();
        let _ = writeln!(io::stderr(), "{label} {}", clean_lines(&text.to_string()));
    }

    /// What went wrong.
    pub(crate) fn complain(&mut self, text: impl Display) {
        let label = paint(self.colour_of_messages, Look::Bad, "error:");
        self.clear_status();
        let _ = writeln!(io::stderr(), "{label} {}", clean_lines(&text.to_string()));
    }

    /// An error for programs.
    pub(crate) fn complain_json(&mut self, value: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(value) {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// What goes on at the moment, in the place of what went on before; only on a terminal.
    pub(crate) fn status(&mut self, text: impl Display) {
        if self.status != Status::Nowhere {
            let text = clean(&text.to_string());
            let _ = write!(io::stderr(), "\r\u{1b}[K{}", paint(self.colour_of_messages, Look::Faint, &text));
            let _ = io::stderr().flush();
            self.status = Status::Shown;
        }
    }

    fn clear_status(&mut self) {
        if self.status == Status::Shown {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
            self.status = Status::Empty;
        }
    }

    /// A question to the person before the screen, and the line that is typed; nothing when nobody is there.
    pub(crate) fn ask(&mut self, question: &str) -> Option<String> {
        if !self.can_ask() {
            return None;
        }
        self.clear_status();
        let _ = write!(io::stderr(), "{} ", clean(question));
        let _ = io::stderr().flush();
        let mut line = String::new();
        io::stdin().read_line(&mut line).ok().filter(|read| *read > 0)?;
        Some(line.trim().to_owned())
    }

    /// The command succeeded: the data leaves.
    pub(crate) fn deliver(&mut self) -> io::Result<()> {
        self.clear_status();
        let mut out = io::stdout().lock();
        let data = std::mem::take(&mut self.data);
        out.write_all(data.as_bytes()).and_then(|()| out.flush())
    }

    /// It failed: no data leaves.
    pub(crate) fn discard(&mut self) {
        self.clear_status();
        self.data.clear();
    }
}

fn paint(colour: bool, look: Look, text: &str) -> String {
    let code = match look {
        _ if !colour || text.is_empty() => return text.to_owned(),
        Look::Plain => return text.to_owned(),
        Look::Strong => "1",
        Look::Faint => "2",
        Look::Good => "32",
        Look::Warning => "33",
        Look::Bad => "31",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// A text of somebody else's on a terminal: what would move the cursor or change colours is shown as a mark.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|letter| if is_control(letter) { '\u{fffd}' } else { letter }).collect()
}

/// The same for messages of several lines.
fn clean_lines(text: &str) -> String {
    text.chars()
        .map(|letter| if is_control(letter) && letter != '\n' { '\u{fffd}' } else { letter })
        .collect()
}

/// Controls, and what turns the direction of writing around.
fn is_control(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_somebody_else_moves_no_cursor() {
        assert_eq!(clean("a\u{1b}[2Jb\r\nc\u{202e}d"), "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\u{fffd}d");
        assert_eq!(clean_lines("a\nb\u{7}"), "a\nb\u{fffd}");
        assert_eq!(clean("Stra\u{df}e \u{65e5}"), "Stra\u{df}e \u{65e5}");
    }

    #[test]
    fn colours_are_there_or_not() {
        assert_eq!(paint(true, Look::Good, "x"), "\u{1b}[32mx\u{1b}[0m");
        assert_eq!(paint(false, Look::Good, "x"), "x");
        assert_eq!(paint(true, Look::Good, ""), "");
    }
}
