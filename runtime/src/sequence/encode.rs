//! Encodes items according to their framing.

use std::fmt;

use super::{ItemFraming, lines::RECORD_SEPARATOR};

/// An item to encode. Only events have fields other than the data.
#[derive(Clone, Copy, Default)]
pub struct OutgoingItem<'a> {
    /// The document, or the data of an event.
    pub data: &'a str,
    /// `event`; empty for an event without a name, which means `message`.
    pub event: &'a str,
    /// `id`. `None` does not change the last event id of the client.
    pub id: Option<&'a str>,
    /// `retry`, in milliseconds.
    pub retry: Option<u64>,
}

/// Shows only the size, because the data may be secret.
impl fmt::Debug for OutgoingItem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingItem").field("bytes", &self.data.len()).finish_non_exhaustive()
    }
}

/// The error of an item that its framing cannot represent. The name or id of an event contains a line break
/// or NUL, a field is not a string, or `retry` is not a natural number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemEncodingError;

impl fmt::Display for ItemEncodingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field of the event has the wrong type, or the name or id of the event contains a line break or NUL")
    }
}

impl std::error::Error for ItemEncodingError {}

/// Appends an item to `out`. In the data of an event, a CR ends a line just as an LF does. JSON contains
/// these characters only as white space, so splitting JSON at them is harmless.
///
/// # Errors
/// Returns an error if the name or id of an event cannot be encoded. Nothing is written in that case.
pub fn write_item(
    framing: ItemFraming,
    item: &OutgoingItem<'_>,
    out: &mut Vec<u8>,
) -> Result<(), ItemEncodingError> {
    match framing {
        ItemFraming::Events => return write_event(item, out),
        ItemFraming::Lines => {}
        ItemFraming::Sequence => out.push(RECORD_SEPARATOR),
    }
    out.extend_from_slice(item.data.as_bytes());
    out.push(b'\n');
    Ok(())
}

/// Appends an event without `data` to `out`. Clients store its id and reconnection delay, but dispatch no
/// event (WHATWG HTML, 9.2.6).
///
/// # Errors
/// Same as [`write_item`].
pub fn write_event_fields(item: &OutgoingItem<'_>, out: &mut Vec<u8>) -> Result<(), ItemEncodingError> {
    write_metadata(item, out)?;
    out.push(b'\n');
    Ok(())
}

fn write_event(item: &OutgoingItem<'_>, out: &mut Vec<u8>) -> Result<(), ItemEncodingError> {
    write_metadata(item, out)?;
    let text = item.data.replace("\r\n", "\n");
    text.split(['\r', '\n']).for_each(|data| write_line(out, "data", data));
    out.push(b'\n');
    Ok(())
}

/// Appends the fields of an event, except the data.
fn write_metadata(item: &OutgoingItem<'_>, out: &mut Vec<u8>) -> Result<(), ItemEncodingError> {
    let broken = |text: &str| text.contains(['\r', '\n', '\0']);
    if broken(item.event) || item.id.is_some_and(broken) {
        return Err(ItemEncodingError);
    }
    if !item.event.is_empty() {
        write_line(out, "event", item.event);
    }
    if let Some(id) = item.id {
        write_line(out, "id", id);
    }
    if let Some(retry) = item.retry {
        write_line(out, "retry", &retry.to_string());
    }
    Ok(())
}

fn write_line(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}
