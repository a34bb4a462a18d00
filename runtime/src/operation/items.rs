//! How a body consists of items, and how documents become items and items documents: the same for
//! clients, servers and whoever stands in for them.

use std::borrow::Cow;

use crate::{
    Json, Map, Number,
    sequence::{Framing, Inexpressible, Item, Outgoing, write, write_fields},
};

/// How a body consists of items.
#[derive(Clone, Copy, Debug)]
pub struct Items {
    /// How they follow one another.
    pub framing: Framing,
    /// What each is.
    pub form: ItemForm,
    /// Texts of events behind which nothing comes, and which are no items themselves: `[DONE]`.
    pub ends: &'static [&'static str],
    /// Names of events behind which nothing comes: `message_stop`.
    pub last: &'static [&'static str],
}

impl Items {
    /// JSON documents, of which any may be the last.
    #[must_use]
    pub const fn new(framing: Framing) -> Self {
        Self { framing, form: ItemForm::Json, ends: &[], last: &[] }
    }

    /// Whether an item is one of the [`ends`](Self::ends).
    #[must_use]
    pub fn is_end(&self, item: &Item) -> bool {
        self.ends.iter().any(|end| end.as_bytes() == item.data)
    }

    /// Whether nothing comes behind an event of this name; one without a name is a `message`.
    #[must_use]
    pub fn is_last(&self, event: Option<&str>) -> bool {
        self.last.contains(&event.unwrap_or("message"))
    }

    /// What a writer says behind the last event, so that its readers know that none is missing: the first
    /// of the [`ends`](Self::ends). Only where events are JSON, of which none could be it; where they
    /// are texts or objects of their fields, one of them says it.
    #[must_use]
    pub fn end(&self) -> Option<&'static str> {
        let unsaid = self.framing == Framing::Events && self.form == ItemForm::Json;
        self.ends.first().copied().filter(|_| unsaid)
    }

    /// Writes the [`end`](Self::end) behind what is there, where there is one.
    pub fn write_end(&self, out: &mut Vec<u8>) {
        if let Some(end) = self.end() {
            // Only a name and an id can be refused.
            let _ = write(self.framing, &Outgoing { data: end, ..Outgoing::default() }, out);
        }
    }
}

/// What the bytes of an item stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemForm {
    /// A JSON document.
    Json,
    /// Text, as it is.
    Text,
    /// The fields of an event as members of an object: `data`, `event`, `id`, `retry`
    /// (OpenAPI 3.2, 4.14.4).
    Event,
    /// The same, with `data` as the JSON that it is the text of; a text where it is none. So a schema
    /// tells events apart by their names, each with JSON of its own.
    EventJson,
}

impl ItemForm {
    /// The document that an item stands for, as JSON text; of [`Json`](Self::Json) its bytes, whatever
    /// they are.
    #[must_use]
    pub fn document(self, item: &Item) -> Cow<'_, [u8]> {
        match self {
            Self::Json => Cow::Borrowed(&item.data),
            Self::Text => Cow::Owned(text(item).to_string().into_bytes()),
            Self::Event => Cow::Owned(object(item, text(item)).to_string().into_bytes()),
            Self::EventJson => {
                let data = Json::parse(&item.data).unwrap_or_else(|_| text(item));
                Cow::Owned(object(item, data).to_string().into_bytes())
            }
        }
    }

    /// Writes a document as an item behind what is there. What an event has beside its data is said by
    /// the document, where that has such a member, and by `beside` otherwise, whose data is not looked at.
    ///
    /// # Errors
    /// When the item has no place for the document: a text or an object is asked for and it is another,
    /// a field of an event is of another kind than that field, or cannot be written. Nothing is written
    /// then.
    pub fn write(
        self,
        framing: Framing,
        document: &Json,
        beside: &Outgoing<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Inexpressible> {
        let beside = *beside;
        match (self, document) {
            (Self::Json, _) => write(framing, &Outgoing { data: &document.to_string(), ..beside }, out),
            (Self::Text, Json::String(text)) => write(framing, &Outgoing { data: text, ..beside }, out),
            (Self::Event | Self::EventJson, Json::Object(members)) => {
                let data = members.get("data").map(|data| self.data(data)).transpose()?;
                let item = fields(members, data.as_deref().unwrap_or_default(), beside)?;
                // WHATWG HTML, 9.2.6: an event whose `data` is empty is one, and one without is none.
                if data.is_none() && framing == Framing::Events {
                    write_fields(&item, out)
                } else {
                    write(framing, &item, out)
                }
            }
            (Self::Text | Self::Event | Self::EventJson, _) => Err(Inexpressible),
        }
    }

    /// The text of `data`.
    fn data(self, data: &Json) -> Result<Cow<'_, str>, Inexpressible> {
        match (self, data) {
            // `[DONE]` stands without quotes; `5` and a CR would come back as something else.
            (Self::EventJson, Json::String(text)) if is_json(text) || text.contains('\r') => {
                Ok(Cow::Owned(data.to_string()))
            }
            (_, Json::String(text)) => Ok(Cow::Borrowed(text)),
            (Self::EventJson, _) => Ok(Cow::Owned(data.to_string())),
            _ => Err(Inexpressible),
        }
    }
}

fn is_json(text: &str) -> bool {
    Json::parse(text.as_bytes()).is_ok()
}

fn text(item: &Item) -> Json {
    Json::String(String::from_utf8_lossy(&item.data).into_owned())
}

/// The event as the schema of OpenAPI 3.2 sees it: an object of its fields.
fn object(item: &Item, data: Json) -> Json {
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

/// The fields of an event that its document says, else those beside it.
fn fields<'a>(
    members: &'a Map<Json>,
    data: &'a str,
    beside: Outgoing<'a>,
) -> Result<Outgoing<'a>, Inexpressible> {
    let text = |name: &str, otherwise: Option<&'a str>| match members.get(name) {
        None | Some(Json::Null) => Ok(otherwise),
        Some(own) => own.as_str().map(Some).ok_or(Inexpressible),
    };
    let retry = match members.get("retry") {
        None | Some(Json::Null) => beside.retry,
        Some(own) => Some(own.as_number().and_then(|own| own.as_u64()).ok_or(Inexpressible)?),
    };
    let event = text("event", Some(beside.event))?.unwrap_or_default();
    Ok(Outgoing { data, event, id: text("id", beside.id)?, retry })
}
