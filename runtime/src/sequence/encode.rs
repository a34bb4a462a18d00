//! Encodes items in a framing.

use std::fmt;

use super::{ItemFraming, lines::RECORD_SEPARATOR};

/// An item to encode. Only events have other fields than the data.
#[derive(Clone, Copy, Default)]
pub struct OutgoingItem<'a> {
    /// The document, or the data of an event.
    pub data: &'a str,
    /// `write_event`; empty for none, which means `message`.
    pub event: &'a str,
    /// `id`; `None` leaves the last event id of the client unchanged.
    pub id: Option<&'a str>,
    /// `retry`, in milliseconds.
    pub retry: Option<u64>,
}

/// Shows the size: the data may be secret.
impl fmt::Debug for OutgoingItem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingItem").field("bytes", &self.data.len()).finish_non_exhaustive()
    }
}

/// An item that its framing cannot represent: the name or id of an event contains a line break or NUL, a
/// field is not a string, or `retry` is not a natural number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemEncodingError;

impl fmt::Display for ItemEncodingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field of an event has the wrong type, or its name or id contains a line break or NUL")
    }
}

impl std::error::Error for ItemEncodingError {}

/// Appends an item to `out`. A CR in the data of an event becomes a line end, as LF does; JSON contains
/// neither outside of white space.
///
/// # Errors
/// If the name or id of an event cannot be encoded; nothing is written then.
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

/// Appends an event without `data` to `out`. Clients take its id and reconnection delay from it and dispatch
/// no event (WHATWG HTML, 9.2.6).
///
/// # Errors
/// See [`write_item`].
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

/// Appends the fields of an event other than the data.
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
