//! The format of streams of items, and conversions between items and JSON documents. Used by clients, servers
//! and mock servers.

use std::borrow::Cow;

use crate::{
    Json, Map, Number,
    sequence::{ItemEncodingError, ItemFraming, OutgoingItem, RawItem, write_event_fields, write_item},
};

/// The format of a stream of items.
#[derive(Clone, Copy, Debug)]
pub struct ItemFormat {
    /// The framing, which delimits items within the body.
    pub framing: ItemFraming,
    /// The conversion between an item and JSON.
    pub encoding: ItemEncoding,
    /// Event data that ends the stream without being an item, such as `[DONE]`.
    pub end_markers: &'static [&'static str],
    /// Names of events that end the stream, such as `message_stop`.
    pub last_events: &'static [&'static str],
}

impl ItemFormat {
    /// Creates the format for a stream of JSON documents without end markers.
    #[must_use]
    pub const fn new(framing: ItemFraming) -> Self {
        Self { framing, encoding: ItemEncoding::Json, end_markers: &[], last_events: &[] }
    }

    /// Returns true if the item is an [end marker](Self::end_markers).
    #[must_use]
    pub fn is_end_marker(&self, item: &RawItem) -> bool {
        self.end_markers.iter().any(|end| end.as_bytes() == item.data)
    }

    /// Returns true if an event with this name is the last of the stream. An event without a name is named
    /// `message`.
    #[must_use]
    pub fn is_last_event(&self, event: Option<&str>) -> bool {
        self.last_events.contains(&event.unwrap_or("message"))
    }

    /// Returns the end marker to send after the last event, which informs clients that the stream is
    /// complete. It is the first of [`end_markers`](Self::end_markers). Returns `None` unless the stream
    /// consists of events with JSON data, because in other streams the end marker is itself sent as an item.
    #[must_use]
    pub fn end_marker(&self) -> Option<&'static str> {
        let unsaid = self.framing == ItemFraming::Events && self.encoding == ItemEncoding::Json;
        self.end_markers.first().copied().filter(|_| unsaid)
    }

    /// Appends the end marker to `out`, if there is one.
    pub fn write_end_marker(&self, out: &mut Vec<u8>) {
        if let Some(end) = self.end_marker() {
            // Writing fails only for an invalid name or id.
            let _ = write_item(self.framing, &OutgoingItem { data: end, ..OutgoingItem::default() }, out);
        }
    }
}

/// The conversion of an item into JSON and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemEncoding {
    /// A JSON document.
    Json,
    /// A string, sent without quotes or escapes.
    Text,
    /// An event as a JSON object with the members `data`, `event`, `id` and `retry` (OpenAPI 3.2, 4.14.4).
    Event,
    /// Like [`Event`](Self::Event), but with `data` parsed as JSON if possible. Otherwise `data` is a string.
    /// A schema can therefore describe different data for each event name.
    EventJson,
}

impl ItemEncoding {
    /// Converts an item into a JSON document. For [`Json`](Self::Json), returns the bytes of the item without
    /// parsing them.
    #[must_use]
    pub fn read_document(self, item: &RawItem) -> Cow<'_, [u8]> {
        match self {
            Self::Json => Cow::Borrowed(&item.data),
            Self::Text => Cow::Owned(data_to_string(item).to_string().into_bytes()),
            Self::Event => Cow::Owned(event_to_json(item, data_to_string(item)).to_string().into_bytes()),
            Self::EventJson => {
                let data = Json::parse(&item.data).unwrap_or_else(|_| data_to_string(item));
                Cow::Owned(event_to_json(item, data).to_string().into_bytes())
            }
        }
    }

    /// Appends a document as an item to `out`. The fields of an event other than `data` come from the
    /// document, or from `defaults` if the document lacks them.
    ///
    /// # Errors
    /// Returns an error if the item cannot represent the document: the document is not a string or an object
    /// although the encoding requires it, a field has the wrong type, or a field cannot be encoded. Nothing
    /// is written in that case.
    pub fn write_document(
        self,
        framing: ItemFraming,
        document: &Json,
        defaults: &OutgoingItem<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), ItemEncodingError> {
        let defaults = *defaults;
        match (self, document) {
            (Self::Json, _) => {
                write_item(framing, &OutgoingItem { data: &document.to_string(), ..defaults }, out)
            }
            (Self::Text, Json::String(text)) => {
                write_item(framing, &OutgoingItem { data: text, ..defaults }, out)
            }
            (Self::Event | Self::EventJson, Json::Object(members)) => {
                let data = members.get("data").map(|data| self.data_string(data)).transpose()?;
                let item = event_from_json(members, data.as_deref().unwrap_or_default(), defaults)?;
                // Receivers dispatch an event with empty `data`, but not an event without `data` (WHATWG
                // HTML, 9.2.6).
                if data.is_none() && framing == ItemFraming::Events {
                    write_event_fields(&item, out)
                } else {
                    write_item(framing, &item, out)
                }
            }
            (Self::Text | Self::Event | Self::EventJson, _) => Err(ItemEncodingError),
        }
    }

    /// Returns the string that is sent as `data`.
    fn data_string(self, data: &Json) -> Result<Cow<'_, str>, ItemEncodingError> {
        match (self, data) {
            // `[DONE]` is sent without quotes. A string such as `5`, or one with a CR, is quoted, because it
            // would be read as a different value.
            (Self::EventJson, Json::String(text)) if is_json(text) || text.contains('\r') => {
                Ok(Cow::Owned(data.to_string()))
            }
            (_, Json::String(text)) => Ok(Cow::Borrowed(text)),
            (Self::EventJson, _) => Ok(Cow::Owned(data.to_string())),
            _ => Err(ItemEncodingError),
        }
    }
}

fn is_json(text: &str) -> bool {
    Json::parse(text.as_bytes()).is_ok()
}

fn data_to_string(item: &RawItem) -> Json {
    Json::String(String::from_utf8_lossy(&item.data).into_owned())
}

/// Converts an event into an object of its fields (OpenAPI 3.2).
fn event_to_json(item: &RawItem, data: Json) -> Json {
    let mut members = Map::new();
    members.insert("data".to_owned(), data);
    for (name, value) in [("event", &item.event), ("id", &item.id)] {
        if let Some(value) = value {
            members.insert(name.to_owned(), Json::String(value.clone()));
        }
    }
    if let Some(retry) = item.retry {
        members.insert("retry".to_owned(), Json::Number(Number::from(retry)));
    }
    Json::Object(members)
}

/// Takes the fields of an event from its document, or from `defaults` if the document lacks them.
fn event_from_json<'a>(
    members: &'a Map<Json>,
    data: &'a str,
    defaults: OutgoingItem<'a>,
) -> Result<OutgoingItem<'a>, ItemEncodingError> {
    let text = |name: &str, otherwise: Option<&'a str>| match members.get(name) {
        None | Some(Json::Null) => Ok(otherwise),
        Some(value) => value.as_str().map(Some).ok_or(ItemEncodingError),
    };
    let retry = match members.get("retry") {
        None | Some(Json::Null) => defaults.retry,
        Some(value) => Some(value.as_number().and_then(|value| value.as_u64()).ok_or(ItemEncodingError)?),
    };
    let event = text("event", Some(defaults.event))?.unwrap_or_default();
    Ok(OutgoingItem { data, event, id: text("id", defaults.id)?, retry })
}
