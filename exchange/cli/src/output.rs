//! The one way out: data on the standard output, everything else on the standard error, and on failure no data at
//! all.
//!
//! Data is gathered and leaves when the command succeeded. Only events (`--json` of commands that take long) leave
//! at once, a line each. Whoever closes the standard output wants no more of it; what the command does goes on.

use std::{
    env,
    ffi::OsStr,
    fmt::Display,
    io::{self, IsTerminal as _, Write},
};

use icu_properties::{CodePointSetData, props::BidiControl};
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
    /// Nobody reads the standard output any more.
    closed: bool,
    /// What is to be known if the command is broken off now.
    unfinished: Option<Unfinished>,
}

/// What is to be known of a command that is broken off.
#[derive(Clone, Debug)]
pub(crate) struct Unfinished {
    pub(crate) what: String,
    /// For programs.
    pub(crate) next: &'static str,
    /// Under which the call that was sent is to be repeated.
    pub(crate) key: Option<String>,
}

/// Of changes that the outbox keeps.
impl From<String> for Unfinished {
    fn from(what: String) -> Self {
        Self { what, next: "look with `outbox list`", key: None }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Status {
    Nowhere,
    Empty,
    Shown,
    /// A question stands there, and its answer is being typed.
    Asking,
}

impl Output {
    pub(crate) fn new(form: Form, color: Color) -> Self {
        let (no_color, term) = (env::var_os("NO_COLOR"), env::var_os("TERM"));
        let wanted = |terminal| wanted(color, terminal, no_color.as_deref(), term.as_deref());
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let status = if err && form == Form::People { Status::Empty } else { Status::Nowhere };
        Self {
            form,
            colour: wanted(out) && form == Form::People,
            colour_of_messages: wanted(err),
            status,
            data: String::new(),
            closed: false,
            unfinished: None,
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

    /// What would be delivered.
    #[cfg(test)]
    pub(crate) fn data(&self) -> &str {
        &self.data
    }

    /// Text that has its own lines.
    pub(crate) fn text(&mut self, text: &str) {
        self.data.push_str(text);
    }

    /// A document for programs: one line.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        // Values of the contract and of this program can always be written.
        if let Ok(text) = serde_json::to_string(value) {
            self.line(harmless(&text));
        }
    }

    /// The same for people to read.
    pub(crate) fn pretty_json(&mut self, value: &impl Serialize) {
        if let Ok(text) = serde_json::to_string_pretty(value) {
            self.line(harmless(&text));
        }
    }

    /// An event, which leaves at once.
    pub(crate) fn event(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = harmless(&serde_json::to_string(value)?);
        self.send(&format!("{text}\n"))
    }

    fn send(&mut self, text: &str) -> io::Result<()> {
        self.send_to(&mut io::stdout().lock(), text)
    }

    fn send_to(&mut self, out: &mut impl Write, text: &str) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.closed = true,
            sent => return sent,
        }
        Ok(())
    }

    /// Whether what was delivered may have been read.
    pub(crate) const fn is_read(&self) -> bool {
        !self.closed
    }

    /// What is to be known if the command is broken off from now on.
    pub(crate) fn if_broken_off(&mut self, unfinished: Option<impl Into<Unfinished>>) {
        self.unfinished = unfinished.map(Into::into);
    }

    /// Nothing is, from now on.
    pub(crate) fn is_whole(&mut self) {
        self.unfinished = None;
    }

    #[cfg(test)]
    pub(crate) fn unfinished(&self) -> Option<&str> {
        self.unfinished.as_ref().map(|unfinished| unfinished.what.as_str())
    }

    /// The same for whoever tells it in another way.
    pub(crate) fn take_unfinished(&mut self) -> Option<Unfinished> {
        self.unfinished.take()
    }

    /// It is broken off, by Ctrl-C or by what went wrong.
    pub(crate) fn broken_off(&mut self) {
        if let Some(Unfinished { what, .. }) = self.unfinished.take() {
            self.note(what);
        }
    }

    /// What the person before the screen should know; no data.
    pub(crate) fn note(&mut self, text: impl Display) {
        self.clear_status();
        // Whoever closed it does not want to know.
        let _ = writeln!(io::stderr(), "{}", clean_lines(&text.to_string()));
    }

    /// A document that belongs to a message.
    pub(crate) fn note_json(&mut self, value: &impl Serialize) {
        if let Ok(text) = serde_json::to_string_pretty(value) {
            self.note(harmless(&text));
        }
    }

    /// What belongs below the data of a command that is done.
    pub(crate) fn footnote(&mut self, text: impl Display) -> io::Result<()> {
        self.deliver()?;
        self.note(text);
        Ok(())
    }

    /// The same as a note, as something to look at.
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
            let _ = writeln!(io::stderr(), "{}", harmless(&text));
        }
    }

    /// How far something is of which the end is known, in the place of what went on before; only on a terminal.
    pub(crate) fn progress(&mut self, done: usize, all: usize, what: impl Display) {
        self.status(format!("{} {done} of {all} {what}", bar(done, all)));
    }

    /// What goes on at the moment, in the place of what went on before; only on a terminal.
    pub(crate) fn status(&mut self, text: impl Display) {
        if self.status != Status::Nowhere {
            let text = paint(self.colour_of_messages, Look::Faint, &clean(&text.to_string()));
            // What is longer than the line is cut off at its end: a second line would stay there.
            let _ = write!(io::stderr(), "\r\u{1b}[K\u{1b}[?7l{text}\u{1b}[?7h");
            let _ = io::stderr().flush();
            self.status = Status::Shown;
        }
    }

    /// What goes on for long: in the place of what went on before, and a line of its own where there is no such place.
    pub(crate) fn going_on(&mut self, text: impl Display) {
        if self.has_status() { self.status(text) } else { self.note(text) }
    }

    /// Whether somebody sees what goes on.
    pub(crate) fn has_status(&self) -> bool {
        self.status != Status::Nowhere
    }

    fn clear_status(&mut self) {
        let begin = match self.status {
            Status::Shown => "\r\u{1b}[K",
            Status::Asking => "\n",
            Status::Nowhere | Status::Empty => return,
        };
        let _ = write!(io::stderr(), "{begin}");
        self.status = Status::Empty;
    }

    /// A question to the person before the screen, and the line that is typed; nothing when nobody is there.
    pub(crate) async fn ask(&mut self, question: &str) -> Option<String> {
        if !self.can_ask() {
            return None;
        }
        self.clear_status();
        let _ = write!(io::stderr(), "{} ", clean(question));
        let _ = io::stderr().flush();
        self.status = Status::Asking;
        let line = typed_line().await.ok()?;
        if line.is_some() {
            self.status = Status::Empty;
        }
        line
    }

    /// The command succeeded, or comes to its end: the data leaves.
    pub(crate) fn deliver(&mut self) -> io::Result<()> {
        self.clear_status();
        let data = std::mem::take(&mut self.data);
        self.send(&data)
    }

    /// It failed: no data leaves.
    pub(crate) fn discard(&mut self) {
        self.clear_status();
        self.data.clear();
    }
}

/// The next line of the standard input, without what is around it; nothing at its end. Whoever waits for it can be
/// broken off: the thread that reads is left behind.
pub(crate) async fn typed_line() -> io::Result<Option<String>> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line)?;
        Ok((read > 0).then(|| line.trim().to_owned()))
    });
    read.await.unwrap_or_else(|_| Err(io::ErrorKind::Interrupted.into()))
}

/// Whether letters have colours: <https://no-color.org>, any value but the empty one.
fn wanted(color: Color, terminal: bool, no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            terminal && no_color.is_none_or(OsStr::is_empty) && term.is_none_or(|term| term != "dumb")
        }
    }
}

/// How many letters a bar has.
const BAR: usize = 20;

/// A bar that is as full as something is done.
fn bar(done: usize, all: usize) -> String {
    let full = done.min(all) * BAR / all.max(1);
    format!("[{}{}]", "=".repeat(full), " ".repeat(BAR - full))
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

/// The same of JSON, which stays what it is: beyond its own blanks these letters stand in strings alone.
fn harmless(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '\u{7f}'.. if is_control(letter) => text += &format!("\\u{:04x}", u32::from(letter)),
            letter => text.push(letter),
        }
    }
    text
}

/// The same for messages of several lines.
pub(crate) fn clean_lines(text: &str) -> String {
    text.chars()
        .map(|letter| if is_control(letter) && letter != '\n' { '\u{fffd}' } else { letter })
        .collect()
}

/// Controls, the ends of lines and paragraphs, and what turns the direction of writing around. What joins letters or
/// says how one looks stays: texts need it.
fn is_control(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}')
        || CodePointSetData::new::<BidiControl>().contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever closes the standard output wants no more of it: what follows goes nowhere, and is no failure. Any other
    /// failure is one.
    #[test]
    fn nothing_is_written_to_a_pipe_that_is_closed() {
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
        let mut output = Output::new(Form::Json, Color::Never);
        let mut pipe = Pipe(vec![io::ErrorKind::BrokenPipe], 0);
        assert!(output.is_read());
        for _ in 0..3 {
            output.send_to(&mut pipe, "{}\n").unwrap();
            assert!(!output.is_read());
        }
        assert_eq!(pipe.1, 1);
        let mut output = Output::new(Form::Json, Color::Never);
        let full = output.send_to(&mut Pipe(vec![io::ErrorKind::StorageFull], 0), "{}\n");
        assert_eq!((full.unwrap_err().kind(), output.is_read()), (io::ErrorKind::StorageFull, true));
    }

    #[test]
    fn a_text_of_somebody_else_moves_no_cursor() {
        assert_eq!(clean("a\u{1b}[2Jb\r\nc\u{202e}d"), "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\u{fffd}d");
        assert_eq!(clean_lines("a\nb\u{7}"), "a\nb\u{fffd}");
        assert_eq!(clean("Stra\u{df}e \u{65e5}"), "Stra\u{df}e \u{65e5}");
        for letter in "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{2066}\u{2069}".chars() {
            assert_eq!(clean(&letter.to_string()), "\u{fffd}", "{letter:?}");
        }
        assert_eq!(clean("a\u{200c}b \u{2694}\u{fe0f}"), "a\u{200c}b \u{2694}\u{fe0f}");
    }

    /// What JSON shows of somebody else's text says the same, and moves nothing.
    #[test]
    fn json_of_somebody_else_moves_no_cursor() {
        let name = "A\u{9b}31mB\u{202e}C\u{7f}\u{2066}\u{1b}\u{e4}";
        let text = harmless(&serde_json::to_string_pretty(&[name]).unwrap());
        assert_eq!(text, "[\n  \"A\\u009b31mB\\u202eC\\u007f\\u2066\\u001b\u{e4}\"\n]");
        assert_eq!(serde_json::from_str::<[String; 1]>(&text).unwrap(), [name]);
    }

    /// On a terminal, unless somebody said otherwise; NO_COLOR counts when it holds anything.
    #[test]
    fn colours_are_for_terminals() {
        let auto = |terminal, no_color: Option<&str>, term: Option<&str>| {
            wanted(Color::Auto, terminal, no_color.map(OsStr::new), term.map(OsStr::new))
        };
        assert!(auto(true, None, None) && auto(true, Some(""), Some("xterm")));
        assert!(
            !auto(true, Some("1"), None) && !auto(true, Some("0"), None) && !auto(true, None, Some("dumb"))
        );
        assert!(!auto(false, None, Some("xterm")));
        let (no_color, dumb) = (Some(OsStr::new("1")), Some(OsStr::new("dumb")));
        assert!(wanted(Color::Always, false, no_color, dumb) && !wanted(Color::Never, true, None, None));
    }

    /// A bar is full when everything is done, and never before.
    #[test]
    fn a_bar_is_as_full_as_it_is_done() {
        assert_eq!(bar(0, 3), "[                    ]");
        assert_eq!(bar(1, 4), "[=====               ]");
        assert_eq!(bar(999, 1000), "[=================== ]");
        assert_eq!((bar(7, 7), bar(8, 7)), (bar(1, 1), bar(1, 1)));
        assert_eq!(bar(1, 1), "[====================]");
        assert_eq!(bar(0, 0), bar(0, 1));
    }

    #[test]
    fn colours_are_there_or_not() {
        assert_eq!(paint(true, Look::Good, "x"), "\u{1b}[32mx\u{1b}[0m");
        assert_eq!(paint(false, Look::Good, "x"), "x");
        assert_eq!(paint(true, Look::Good, ""), "");
    }
}
