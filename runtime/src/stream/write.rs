//! Items become pieces.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use serde::Serialize;

use super::Event;
use crate::{
    contract::to_json,
    operation::{Framing, Items},
    schema::Validator,
    sequence::Outgoing,
    transport::{ByteStream, Delivery, Sleeping, Timer, TransportError, TransportFault},
    violation::Violations,
};

/// An item that was not written, which ends what it stands in. Prints no item.
#[derive(Debug)]
#[non_exhaustive]
pub struct BrokenItem {
    /// How many were written before it.
    pub index: u64,
    /// What the contract says of it; none where its framing has no place for it.
    pub violations: Option<Violations>,
}

impl fmt::Display for BrokenItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.violations {
            Some(violations) => write!(f, "item {} breaks its schema:\n{violations}", self.index),
            None => write!(f, "item {} cannot be written", self.index),
        }
    }
}

impl std::error::Error for BrokenItem {}

/// What an event stream says while there is no event, so that nobody on the way takes its connection
/// for a dead one: a comment, which no reader sees (WHATWG HTML, 9.2.7).
#[derive(Clone)]
pub struct KeepAlive {
    every: Duration,
    timer: Arc<dyn Timer>,
}

impl KeepAlive {
    /// A comment whenever there was nothing for so long.
    pub fn new(every: Duration, timer: impl Timer + 'static) -> Self {
        Self { every, timer: Arc::new(timer) }
    }
}

#[cfg(feature = "tokio")]
impl Default for KeepAlive {
    /// Every 15 seconds, as the standard advises, by tokio's timer. Outside of a tokio runtime never.
    fn default() -> Self {
        Self::new(Duration::from_secs(15), crate::transport::timer::TokioIfThere)
    }
}

impl fmt::Debug for KeepAlive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepAlive").field("every", &self.every).finish_non_exhaustive()
    }
}

/// A line that begins with a colon is a comment.
const COMMENT: &[u8] = b":\n";

/// Writes events as a body, and behind them the end that the contract's owner declares
/// ([`Items::end`]). Each is checked by the validator, where there is one; the first that breaks it, or
/// cannot be written, is told to `broken`, and ends the body with an error.
pub(crate) fn written<T: Serialize + 'static>(
    events: impl Stream<Item = Event<T>> + Send + 'static,
    items: Items,
    validator: Option<Validator<'static>>,
    keep_alive: Option<KeepAlive>,
    broken: impl Fn(&BrokenItem) + Send + 'static,
) -> ByteStream {
    ByteStream::new(Written {
        events: Some(Box::pin(events)),
        items,
        validator,
        index: 0,
        // Other framings have no word that says nothing.
        keep_alive: keep_alive.filter(|_| items.framing == Framing::Events),
        sleeping: None,
        broken: Box::new(broken),
    })
}

struct Written<T> {
    /// `None` behind the end, or an error.
    events: Option<Pin<Box<dyn Stream<Item = Event<T>> + Send>>>,
    items: Items,
    validator: Option<Validator<'static>>,
    index: u64,
    keep_alive: Option<KeepAlive>,
    /// Since when there is nothing to write.
    sleeping: Option<Sleeping>,
    broken: Box<dyn Fn(&BrokenItem) + Send>,
}

impl<T> Written<T> {
    /// Something to write while there is no event.
    fn poll_comment(&mut self, context: &mut Context<'_>) -> Poll<Bytes> {
        let Some(KeepAlive { every, timer }) = &self.keep_alive else { return Poll::Pending };
        let sleeping = self.sleeping.get_or_insert_with(|| timer.sleep(*every));
        ready!(sleeping.as_mut().poll(context));
        self.sleeping = None;
        Poll::Ready(Bytes::from_static(COMMENT))
    }
}

impl<T: Serialize> Stream for Written<T> {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(events) = &mut self.events else { return Poll::Ready(None) };
        let Poll::Ready(event) = events.as_mut().poll_next(context) else {
            return self.poll_comment(context).map(|comment| Some(Ok(comment)));
        };
        self.sleeping = None;
        let Some(event) = event else {
            self.events = None;
            let mut end = Vec::new();
            self.items.write_end(&mut end);
            return Poll::Ready(Some(end).filter(|end| !end.is_empty()).map(|end| Ok(end.into())));
        };
        let bytes = bytes(&event, self.items, self.validator);
        Poll::Ready(Some(match bytes {
            Ok(bytes) => {
                self.index += 1;
                if self.items.is_last(Some(&event.event)) {
                    // It is the end already.
                    self.items.ends = &[];
                }
                Ok(bytes.into())
            }
            Err(violations) => {
                let broken = BrokenItem { index: self.index, violations };
                (self.broken)(&broken);
                self.events = None;
                Err(TransportError::new(TransportFault::Request, Delivery::Unknown).with_source(broken))
            }
        }))
    }
}

fn bytes<T: Serialize>(
    event: &Event<T>,
    items: Items,
    validator: Option<Validator<'static>>,
) -> Result<Vec<u8>, Option<Violations>> {
    let json = to_json(&event.data).map_err(|_| None)?;
    if let Some(validator) = validator {
        validator.validate(&json).map_err(Some)?;
    }
    let mut out = Vec::new();
    let beside = Outgoing {
        data: "",
        // What an event is called that does not say it.
        event: if event.event == "message" { "" } else { &event.event },
        id: event.id.as_deref(),
        retry: event.retry.map(|retry| u64::try_from(retry.as_millis()).unwrap_or(u64::MAX)),
    };
    let written = items.form.write(items.framing, &json, &beside, &mut out);
    written.map(|()| out).map_err(|_| None)
}

/// Documents as events that have nothing else.
pub(crate) struct Plain<S>(pub(crate) Pin<Box<S>>);

impl<T, S: Stream<Item = T>> Stream for Plain<S> {
    type Item = Event<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event<T>>> {
        self.0.as_mut().poll_next(context).map(|item| item.map(Event::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Json, operation::ItemForm, sequence::Decoder};

    const ITEMS: Items = Items { form: ItemForm::Event, ..Items::new(Framing::Events) };

    fn of(item: &str) -> Event<Json> {
        Event::new(Json::parse(item.as_bytes()).unwrap())
    }

    /// WHATWG HTML, 9.2.6: an event whose `data` is empty is one, and one without `data` is none.
    #[test]
    fn an_event_has_the_data_that_it_is_given() {
        for (event, expected) in [
            (of(r#"{"event": "ping", "retry": 5}"#), "event: ping\nretry: 5\n\n"),
            (of(r#"{"id": "7", "data": ""}"#), "id: 7\ndata: \n\n"),
        ] {
            let written = bytes(&event, ITEMS, None).unwrap();
            assert_eq!(String::from_utf8_lossy(&written), expected);
        }
    }

    /// What a type has no member for, its event says; what both say, the type, which is what is checked.
    #[test]
    fn nothing_that_an_event_says_beside_its_type_is_lost() {
        let retry = Duration::from_millis(5);
        for (item, expected) in [
            (r#"{"data": "a"}"#, "event: left\nid: 41\nretry: 5\ndata: a\n\n"),
            (r#"{"data": "a", "id": null}"#, "event: left\nid: 41\nretry: 5\ndata: a\n\n"),
            (
                r#"{"data": "a", "event": "joined", "id": "7", "retry": 9}"#,
                "event: joined\nid: 7\nretry: 9\ndata: a\n\n",
            ),
        ] {
            let event = of(item).named("left").with_id("41").with_retry(retry);
            let written = bytes(&event, ITEMS, None).unwrap();
            assert_eq!(String::from_utf8_lossy(&written), expected);
        }
    }

    /// JSON as its text, other texts as they are, unless they would come back as something else. A name
    /// that the type says is written, also the one that means none.
    #[test]
    fn the_data_of_an_event_is_json() {
        let items = Items { form: ItemForm::EventJson, ..ITEMS };
        for (item, expected) in [
            (r#"{"event": "message", "data": {"a": [1.50]}}"#, "event: message\ndata: {\"a\":[1.50]}\n\n"),
            (r#"{"event": "done", "data": "[DONE]"}"#, "event: done\ndata: [DONE]\n\n"),
            (r#"{"data": "a\nb"}"#, "data: a\ndata: b\n\n"),
            (r#"{"data": "a\rb"}"#, "data: \"a\\rb\"\n\n"),
            (r#"{"data": "5"}"#, "data: \"5\"\n\n"),
            (r#"{"data": null}"#, "data: null\n\n"),
            (r#"{"id": "7"}"#, "id: 7\n\n"),
        ] {
            let written = bytes(&of(item), items, None).unwrap();
            assert_eq!(String::from_utf8_lossy(&written), expected);
            let mut decoder = Decoder::new(Framing::Events, 100);
            decoder.push(&written);
            let Some(read) = decoder.pop() else { continue };
            let read = Json::parse(&items.form.document(&read.unwrap())).unwrap();
            assert_eq!(read, Json::parse(item.as_bytes()).unwrap());
        }
        assert!(matches!(bytes(&of("[]"), items, None), Err(None)));
    }

    #[test]
    fn a_field_of_another_kind_is_not_written() {
        for item in [
            r#"{"data": {"a": 1}}"#,
            r#"{"data": null}"#,
            r#"{"data": "a", "id": 7}"#,
            r#"{"data": "a", "event": true}"#,
            r#"{"data": "a", "retry": "5"}"#,
            r#""a""#,
        ] {
            assert!(matches!(bytes(&of(item), ITEMS, None), Err(None)), "{item}");
        }
    }
}
