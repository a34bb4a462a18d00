//! Writes items as their framing has them.

use std::fmt;

use super::{Framing, lines::RECORD_SEPARATOR};

/// An item to be written. Only events have more than the data.
#[derive(Clone, Copy, Default)]
pub struct Outgoing<'a> {
    /// The document, or the text of an event.
    pub data: &'a str,
    /// `event`; empty for none, which means `message`.
    pub event: &'a str,
    /// `id`; `None` leaves the reader's as it is.
    pub id: Option<&'a str>,
    /// `retry`, in milliseconds.
    pub retry: Option<u64>,
}

/// Its size, as of an [`Item`](super::Item).
impl fmt::Debug for Outgoing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing").field("bytes", &self.data.len()).finish_non_exhaustive()
    }
}

/// An item that its framing has no place for: a line break or NUL in the name or id of an event, or a
/// field that is no text, or no whole number of milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inexpressible;

impl fmt::Display for Inexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field of an event is not of its kind, or its name or id has a line break or NUL")
    }
}

impl std::error::Error for Inexpressible {}

/// Writes an item behind what is there. A CR in the text of an event becomes the end of a line,
/// as LF does; JSON has neither outside of white space.
///
/// # Errors
/// When the name or the id of an event cannot be written; nothing is written then.
pub fn write(framing: Framing, item: &Outgoing<'_>, out: &mut Vec<u8>) -> Result<(), Inexpressible> {
    match framing {
        Framing::Events => return event(item, out),
        Framing::Lines => {}
        Framing::Sequence => out.push(RECORD_SEPARATOR),
    }
    out.extend_from_slice(item.data.as_bytes());
    out.push(b'\n');
    Ok(())
}

/// Writes an event that has no `data` at all behind what is there: its readers keep its id and the time
/// to wait, and are given no event (WHATWG HTML, 9.2.6).
///
/// # Errors
/// As [`write()`].
pub fn write_fields(item: &Outgoing<'_>, out: &mut Vec<u8>) -> Result<(), Inexpressible> {
    fields(item, out)?;
    out.push(b'\n');
    Ok(())
}

fn event(item: &Outgoing<'_>, out: &mut Vec<u8>) -> Result<(), Inexpressible> {
    fields(item, out)?;
    let text = item.data.replace("\r\n", "\n");
    text.split(['\r', '\n']).for_each(|data| line(out, "data", data));
    out.push(b'\n');
    Ok(())
}

/// What an event has beside its data.
fn fields(item: &Outgoing<'_>, out: &mut Vec<u8>) -> Result<(), Inexpressible> {
    let broken = |text: &str| text.contains(['\r', '\n', '\0']);
    if broken(item.event) || item.id.is_some_and(broken) {
        return Err(Inexpressible);
    }
    if !item.event.is_empty() {
        line(out, "event", item.event);
    }
    if let Some(id) = item.id {
        line(out, "id", id);
    }
    if let Some(retry) = item.retry {
        line(out, "retry", &retry.to_string());
    }
    Ok(())
}

fn line(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}
