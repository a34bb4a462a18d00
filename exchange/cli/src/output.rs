//! The output of a command: data is written to the standard output, and everything else to the standard
//! error. If the command fails, no data is written.
//!
//! Data is buffered and written when the command succeeds. Only events (`--json` of long-running commands)
//! are written immediately, one per line. If the reader closes the standard output, the command continues
//! without writing to it.

use std::{
    env,
    ffi::OsStr,
    fmt::Display,
    io::{self, IsTerminal as _, Write},
};

use icu_properties::{CodePointSetData, props::BidiControl};
use serde::Serialize;

use crate::times::TimeDisplay;

/// The format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// Human-readable tables and sentences.
    Text,
    /// JSON for programs, one document per line.
    Json,
}

/// The setting of `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// Use colors on a terminal, unless NO_COLOR is set.
    Auto,
    /// Always use colors.
    Always,
    /// Never use colors.
    Never,
}

/// The style of a part of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextStyle {
    Plain,
    Strong,
    Faint,
    Good,
    Warning,
    Bad,
}

/// The output streams of this process.
#[derive(Debug)]
pub(crate) struct Output {
    format: OutputFormat,
    color: bool,
    message_color: bool,
    /// The state of the line on the terminal that shows progress and is overwritten.
    status_line: StatusLine,
    times: TimeDisplay,
    data: String,
    /// True if the reader closed the standard output.
    closed: bool,
    /// The notice to print if the command is interrupted now.
    interrupt_notice: Option<InterruptNotice>,
}

/// The notice for the user when a command is interrupted.
#[derive(Clone, Debug)]
pub(crate) struct InterruptNotice {
    pub(crate) message: String,
    /// The advice in the JSON error.
    pub(crate) advice: &'static str,
    /// The idempotency key for a retry of the call that was sent.
    pub(crate) idempotency_key: Option<String>,
}

/// Creates the notice for changes that are stored in the outbox.
impl From<String> for InterruptNotice {
    fn from(message: String) -> Self {
        Self { message, advice: "see `outbox list`", idempotency_key: None }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum StatusLine {
    Unavailable,
    Empty,
    Shown,
    /// A question is displayed, and the user is typing the answer.
    Prompting,
}

/// The minimum width of a terminal to which tables are adapted.
const MIN_COLUMNS: usize = 40;

impl Output {
    pub(crate) fn new(form: OutputFormat, color: ColorChoice) -> Self {
        let (no_color, term) = (env::var_os("NO_COLOR"), env::var_os("TERM"));
        let wanted = |terminal| wants_color(color, terminal, no_color.as_deref(), term.as_deref());
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let status =
            if err && form == OutputFormat::Text { StatusLine::Empty } else { StatusLine::Unavailable };
        Self {
            format: form,
            color: wanted(out) && form == OutputFormat::Text,
            message_color: wanted(err),
            status_line: status,
            times: TimeDisplay::Utc,
            data: String::new(),
            closed: false,
            interrupt_notice: None,
        }
    }

    /// Prints times in text output in the time zone of this computer.
    pub(crate) const fn with_local_time(mut self, is_local: bool) -> Self {
        if is_local {
            self.times = TimeDisplay::Local;
        }
        self
    }

    /// Returns the time zone of times in text output.
    pub(crate) const fn times(&self) -> TimeDisplay {
        self.times
    }

    pub(crate) fn is_json(&self) -> bool {
        self.format == OutputFormat::Json
    }

    /// Returns true if a user can answer a question: the output format is text, and standard input and
    /// standard error are a terminal.
    pub(crate) fn can_prompt(&self) -> bool {
        self.format == OutputFormat::Text && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Returns the width of the terminal on which data is printed; `None` if data goes to a file or another program.
    pub(crate) fn columns(&self) -> Option<usize> {
        let stdout = io::stdout();
        let (width, _) = stdout.is_terminal().then(|| terminal_size::terminal_size_of(&stdout)).flatten()?;
        Some(width.0.into()).filter(|width| *width >= MIN_COLUMNS)
    }

    /// Applies a style to data if colors are enabled.
    pub(crate) fn apply_style(&self, style: TextStyle, text: &str) -> String {
        apply_style(self.color, style, text)
    }

    /// Appends a string and a line end to the data.
    pub(crate) fn write_line(&mut self, text: impl Display) {
        self.data.push_str(&text.to_string());
        self.data.push('\n');
    }

    /// Returns the buffered data.
    #[cfg(test)]
    pub(crate) fn data(&self) -> &str {
        &self.data
    }

    /// Appends a string that contains its own line ends.
    pub(crate) fn write_text(&mut self, text: &str) {
        self.data.push_str(text);
    }

    /// Appends a JSON document on one line.
    pub(crate) fn write_json(&mut self, value: &impl Serialize) {
        // Serialization cannot fail, because all values are types of the contract or of this program.
        if let Ok(text) = serde_json::to_string(value) {
            self.write_line(escape_controls_in_json(&text));
        }
    }

    /// Appends an indented, human-readable JSON document.
    pub(crate) fn write_pretty_json(&mut self, value: &impl Serialize) {
        if let Ok(text) = serde_json::to_string_pretty(value) {
            self.write_line(escape_controls_in_json(&text));
        }
    }

    /// Writes an event immediately, without buffering it.
    pub(crate) fn write_event(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = escape_controls_in_json(&serde_json::to_string(value)?);
        self.write_stdout(&format!("{text}\n"))
    }

    fn write_stdout(&mut self, text: &str) -> io::Result<()> {
        self.write_to(&mut io::stdout().lock(), text)
    }

    fn write_to(&mut self, out: &mut impl Write, text: &str) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.closed = true,
            sent => return sent,
        }
        Ok(())
    }

    /// Returns false if the reader closed the standard output, so that the data was not read.
    pub(crate) const fn is_open(&self) -> bool {
        !self.closed
    }

    /// Sets the notice that is printed if the command is interrupted from now on.
    pub(crate) fn set_interrupt_notice(&mut self, notice: Option<impl Into<InterruptNotice>>) {
        self.interrupt_notice = notice.map(Into::into);
    }

    /// Removes the notice.
    pub(crate) fn clear_interrupt_notice(&mut self) {
        self.interrupt_notice = None;
    }

    #[cfg(test)]
    pub(crate) fn interrupt_notice(&self) -> Option<&str> {
        self.interrupt_notice.as_ref().map(|notice| notice.message.as_str())
    }

    /// Removes and returns the notice, so that it can be reported in another form.
    pub(crate) fn take_interrupt_notice(&mut self) -> Option<InterruptNotice> {
        self.interrupt_notice.take()
    }

    /// Prints and removes the notice, after Ctrl-C or an error.
    pub(crate) fn print_interrupt_notice(&mut self) {
        if let Some(InterruptNotice { message, .. }) = self.interrupt_notice.take() {
            self.print_note(message);
        }
    }

    /// Prints a message for the user on the standard error.
    pub(crate) fn print_note(&mut self, text: impl Display) {
        self.clear_status();
        // A closed standard error must not fail the command.
        let _ = writeln!(io::stderr(), "{}", sanitize_lines(&text.to_string()));
    }

    /// Prints a JSON document that belongs to a message.
    pub(crate) fn print_note_json(&mut self, value: &impl Serialize) {
        if let Ok(text) = serde_json::to_string_pretty(value) {
            self.print_note(escape_controls_in_json(&text));
        }
    }

    /// Writes the buffered data, and then prints a message below it.
    pub(crate) fn print_footnote(&mut self, text: impl Display) -> io::Result<()> {
        self.flush_data()?;
        self.print_note(text);
        Ok(())
    }

    /// Prints a warning.
    pub(crate) fn print_warning(&mut self, text: impl Display) {
        let label = apply_style(self.message_color, TextStyle::Warning, "note:");
        self.clear_status();
        let _ = writeln!(io::stderr(), "{label} {}", sanitize_lines(&text.to_string()));
    }

    /// Prints an error as text.
    pub(crate) fn print_error(&mut self, text: impl Display) {
        let label = apply_style(self.message_color, TextStyle::Bad, "error:");
        self.clear_status();
        let _ = writeln!(io::stderr(), "{label} {}", sanitize_lines(&text.to_string()));
    }

    /// Prints an error as one line of JSON.
    pub(crate) fn print_error_json(&mut self, value: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(value) {
            let _ = writeln!(io::stderr(), "{}", escape_controls_in_json(&text));
        }
    }

    /// Displays progress with a known total in the status line, if there is one.
    pub(crate) fn show_progress(&mut self, done: usize, total: usize, what: impl Display) {
        self.show_status(format!("{} {done} of {total} {what}", progress_bar(done, total)));
    }

    /// Displays the current activity in the status line, if there is one.
    pub(crate) fn show_status(&mut self, text: impl Display) {
        if self.status_line != StatusLine::Unavailable {
            let text = apply_style(self.message_color, TextStyle::Faint, &sanitize(&text.to_string()));
            // A longer line is cut off, because a line that wraps cannot be overwritten.
            let _ = write!(io::stderr(), "\r\u{1b}[K\u{1b}[?7l{text}\u{1b}[?7h");
            let _ = io::stderr().flush();
            self.status_line = StatusLine::Shown;
        }
    }

    /// Displays an activity in the status line, or prints it as a message if there is no status line.
    pub(crate) fn show_ongoing(&mut self, text: impl Display) {
        if self.has_status() { self.show_status(text) } else { self.print_note(text) }
    }

    /// Returns true if there is a status line, which requires a terminal and text output.
    pub(crate) fn has_status(&self) -> bool {
        self.status_line != StatusLine::Unavailable
    }

    fn clear_status(&mut self) {
        let begin = match self.status_line {
            StatusLine::Shown => "\r\u{1b}[K",
            StatusLine::Prompting => "\n",
            StatusLine::Unavailable | StatusLine::Empty => return,
        };
        let _ = write!(io::stderr(), "{begin}");
        self.status_line = StatusLine::Empty;
    }

    /// Prints a question and reads the answer. Returns `None` if no user can answer.
    pub(crate) async fn prompt_line(&mut self, question: &str) -> Option<String> {
        if !self.can_prompt() {
            return None;
        }
        self.clear_status();
        let _ = write!(io::stderr(), "{} ", sanitize(question));
        let _ = io::stderr().flush();
        self.status_line = StatusLine::Prompting;
        let line = read_stdin_line().await.ok()?;
        if line.is_some() {
            self.status_line = StatusLine::Empty;
        }
        line
    }

    /// Writes the buffered data.
    pub(crate) fn flush_data(&mut self) -> io::Result<()> {
        self.clear_status();
        let data = std::mem::take(&mut self.data);
        self.write_stdout(&data)
    }

    /// Drops the buffered data, because the command failed.
    pub(crate) fn discard_data(&mut self) {
        self.clear_status();
        self.data.clear();
    }
}

/// Reads and trims a line of the standard input. Returns `None` at the end of the input. The read runs on a
/// blocking thread, which continues after Ctrl-C.
pub(crate) async fn read_stdin_line() -> io::Result<Option<String>> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line)?;
        Ok((read > 0).then(|| line.trim().to_owned()))
    });
    read.await.unwrap_or_else(|_| Err(io::ErrorKind::Interrupted.into()))
}

/// Returns a count with its noun, which gets an `s` unless the count is 1.
pub(crate) fn count_text(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Returns true if colors should be used. A non-empty NO_COLOR disables them; see <https://no-color.org>.
fn wants_color(color: ColorChoice, terminal: bool, no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    match color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            terminal && no_color.is_none_or(OsStr::is_empty) && term.is_none_or(|term| term != "dumb")
        }
    }
}

/// The width of a progress bar in characters.
const BAR_WIDTH: usize = 20;

/// Formats a progress bar, such as `[=====               ]`.
fn progress_bar(done: usize, total: usize) -> String {
    let full = done.min(total) * BAR_WIDTH / total.max(1);
    format!("[{}{}]", "=".repeat(full), " ".repeat(BAR_WIDTH - full))
}

fn apply_style(colour: bool, style: TextStyle, text: &str) -> String {
    let code = match style {
        _ if !colour || text.is_empty() => return text.to_owned(),
        TextStyle::Plain => return text.to_owned(),
        TextStyle::Strong => "1",
        TextStyle::Faint => "2",
        TextStyle::Good => "32",
        TextStyle::Warning => "33",
        TextStyle::Bad => "31",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Replaces characters that would move the cursor, change colors or reverse the text direction. Use it for
/// all strings that do not come from this program.
pub(crate) fn sanitize(text: &str) -> String {
    text.chars().map(|letter| if is_control(letter) { '\u{fffd}' } else { letter }).collect()
}

/// Escapes the characters that [`sanitize`] replaces. This does not change the value of the JSON, because
/// these characters occur only inside of strings.
fn escape_controls_in_json(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '\u{7f}'.. if is_control(letter) => text += &format!("\\u{:04x}", u32::from(letter)),
            letter => text.push(letter),
        }
    }
    text
}

/// Replaces the same characters as [`sanitize`] except line ends.
pub(crate) fn sanitize_lines(text: &str) -> String {
    text.chars()
        .map(|letter| if is_control(letter) && letter != '\n' { '\u{fffd}' } else { letter })
        .collect()
}

/// Returns true for control characters, line and paragraph separators, and bidirectional controls. Joiners
/// and variation selectors are allowed, because some scripts need them.
fn is_control(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}')
        || CodePointSetData::new::<BidiControl>().contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After the reader closed the standard output, further data is dropped without an error. Any other write
    /// error is reported.
    #[test]
    fn closed_pipe_drops_further_output() {
        struct Pipe(Vec<io::ErrorKind>, usize);
        impl Write for Pipe {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.1 += 1;
                self.0.pop().map_or(Ok(bytes.len()), |kind| Err(kind.into()))
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut output = Output::new(OutputFormat::Json, ColorChoice::Never);
        let mut pipe = Pipe(vec![io::ErrorKind::BrokenPipe], 0);
        assert!(output.is_open());
        for _ in 0..3 {
            output.write_to(&mut pipe, "{}\n").unwrap();
            assert!(!output.is_open());
        }
        assert_eq!(pipe.1, 1);
        let mut output = Output::new(OutputFormat::Json, ColorChoice::Never);
        let full = output.write_to(&mut Pipe(vec![io::ErrorKind::StorageFull], 0), "{}\n");
        assert_eq!((full.unwrap_err().kind(), output.is_open()), (io::ErrorKind::StorageFull, true));
    }

    #[test]
    fn sanitize_replaces_control_characters() {
        assert_eq!(sanitize("a\u{1b}[2Jb\r\nc\u{202e}d"), "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\u{fffd}d");
        assert_eq!(sanitize_lines("a\nb\u{7}"), "a\nb\u{fffd}");
        assert_eq!(sanitize("Stra\u{df}e \u{65e5}"), "Stra\u{df}e \u{65e5}");
        for letter in "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{2066}\u{2069}".chars() {
            assert_eq!(sanitize(&letter.to_string()), "\u{fffd}", "{letter:?}");
        }
        assert_eq!(sanitize("a\u{200c}b \u{2694}\u{fe0f}"), "a\u{200c}b \u{2694}\u{fe0f}");
    }

    /// Escaping keeps the value of the JSON and removes all control characters.
    #[test]
    fn json_output_escapes_control_characters() {
        let name = "A\u{9b}31mB\u{202e}C\u{7f}\u{2066}\u{1b}\u{e4}";
        let text = escape_controls_in_json(&serde_json::to_string_pretty(&[name]).unwrap());
        assert_eq!(text, "[\n  \"A\\u009b31mB\\u202eC\\u007f\\u2066\\u001b\u{e4}\"\n]");
        assert_eq!(serde_json::from_str::<[String; 1]>(&text).unwrap(), [name]);
    }

    /// Colors are used on a terminal unless the user disabled them. An empty NO_COLOR has no effect.
    #[test]
    fn colors_depend_on_the_terminal() {
        let auto = |terminal, no_color: Option<&str>, term: Option<&str>| {
            wants_color(ColorChoice::Auto, terminal, no_color.map(OsStr::new), term.map(OsStr::new))
        };
        assert!(auto(true, None, None) && auto(true, Some(""), Some("xterm")));
        assert!(
            !auto(true, Some("1"), None) && !auto(true, Some("0"), None) && !auto(true, None, Some("dumb"))
        );
        assert!(!auto(false, None, Some("xterm")));
        let (no_color, dumb) = (Some(OsStr::new("1")), Some(OsStr::new("dumb")));
        assert!(
            wants_color(ColorChoice::Always, false, no_color, dumb)
                && !wants_color(ColorChoice::Never, true, None, None)
        );
    }

    /// The bar is full only if everything is done.
    #[test]
    fn progress_bar_matches_progress() {
        assert_eq!(progress_bar(0, 3), "[                    ]");
        assert_eq!(progress_bar(1, 4), "[=====               ]");
        assert_eq!(progress_bar(999, 1000), "[=================== ]");
        assert_eq!((progress_bar(7, 7), progress_bar(8, 7)), (progress_bar(1, 1), progress_bar(1, 1)));
        assert_eq!(progress_bar(1, 1), "[====================]");
        assert_eq!(progress_bar(0, 0), progress_bar(0, 1));
    }

    #[test]
    fn style_is_applied_only_with_color() {
        assert_eq!(apply_style(true, TextStyle::Good, "x"), "\u{1b}[32mx\u{1b}[0m");
        assert_eq!(apply_style(false, TextStyle::Good, "x"), "x");
        assert_eq!(apply_style(true, TextStyle::Good, ""), "");
    }
}
