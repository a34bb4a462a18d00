//! Makes what is answered: examples of the media type that are valid, else what schemas give as
//! examples, else values that are drawn; in the form of the media type.

use std::fmt::Write as _;

use contract_runtime::{
    Json, Map,
    media::MediaType,
    operation::{Framing, ItemForm, Items},
    sequence::{Decoder, Inexpressible, Outgoing},
    server::Bytes,
    violation::Violations,
};
use http::{HeaderName, HeaderValue};

use super::{Answering, Mock, mixed, wishes::Wishes};
use crate::{
    api::{self, Example},
    plan::Item,
    schema::{SchemaId, Types},
    together::{
        Conj,
        meaning::meant,
        sample::draw::{self, Luck, Wish},
    },
    tree::Place,
};

/// Items of a stream that nothing else ends.
const ITEMS: u64 = 3;
/// Bytes of a file of which nothing is known.
const BYTES: u64 = 64;
/// Values of a header or an item that are tried, of which some cannot be written.
const TRIES: u64 = 8;

/// Headers of which the connection or the body decides.
const OWN: &[&str] = &["content-type", "content-length", "transfer-encoding", "connection", "date"];

/// A body.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) body: Bytes,
    /// Where it comes from, in words.
    pub(super) source: String,
}

/// Why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    /// No valid value of a schema was found.
    Value(SchemaId),
    /// No valid value of a header was found.
    Header(String),
    /// There is no example of this name, only these.
    Example(Vec<String>),
    /// The example of this name breaks a rule.
    Broken(String),
}

impl Mock {
    /// The body of an answer in a media type; drawn anew where a seed is given.
    pub(super) fn content(
        &self,
        answer: &Answering,
        media: &'static api::MediaType,
        name: &str,
        wishes: &Wishes,
        dynamic: Option<u64>,
    ) -> Result<Made, Lack> {
        let index = answer
            .response
            .and_then(|response| response.content.iter().position(|each| std::ptr::eq(each, media)));
        let key = (answer.at, answer.status, index.unwrap_or(0));
        let kept = dynamic.is_none() && wishes.example.is_none() && !MediaType::of(&media.name).is_range();
        let lock = || self.made.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if kept && let Some(made) = lock().get(&key) {
            return Ok(made.clone());
        }
        let seed = dynamic.unwrap_or_else(|| mixed(self.own_seed(answer), &[name.as_bytes()]));
        let wish = Wish { seed, examples: dynamic.is_none() };
        let made = match self.example(media, name, wishes)? {
            Some(made) => made,
            None => Made {
                body: self.drawn(media, name, wish)?,
                source: if dynamic.is_some() { "made for the request" } else { "made" }.to_owned(),
            },
        };
        if kept {
            lock().insert(key, made.clone());
        }
        Ok(made)
    }

    /// The example that is asked for, or the first that is valid.
    fn example(
        &self,
        media: &'static api::MediaType,
        name: &str,
        wishes: &Wishes,
    ) -> Result<Option<Made>, Lack> {
        let made = |own: &Example, value: &Json| {
            let source = if own.name.is_empty() {
                "the example".to_owned()
            } else {
                format!("example `{}`", own.name)
            };
            self.written(media, name, value).map(|body| Made { body, source })
        };
        if let Some(wished) = &wishes.example {
            let named = media.examples.iter().find(|own| own.name == *wished);
            let Some((own, value)) = named.and_then(|own| Some((own, self.value(media, own)?))) else {
                return Err(Lack::Example(
                    media.examples.iter().map(|own| format!("`{}`", own.name)).collect(),
                ));
            };
            self.fits(media, &value).map_err(Lack::Broken)?;
            return Ok(made(own, &value));
        }
        if wishes.dynamic {
            return Ok(None);
        }
        let valid = |own: &Example| {
            let value = self.value(media, own)?;
            self.fits(media, &value).ok()?;
            made(own, &value)
        };
        Ok(media.examples.iter().find_map(valid))
    }

    /// The examples of a media type that its schema refuses, each with a rule.
    pub(super) fn broken_examples(&self, media: &'static api::MediaType) -> Vec<(Place, String)> {
        let broken = media.examples.iter().filter_map(|own| {
            let rule = match self.value(media, own) {
                Some(value) => self.fits(media, &value).err()?,
                None => "is no JSON document".to_owned(),
            };
            Some((own.place.clone(), rule))
        });
        broken.collect()
    }

    /// The value of an example.
    fn value(&self, media: &api::MediaType, own: &Example) -> Option<Json> {
        let tree = self.contract.sources.get(own.place.source)?.tree.at(&own.place.pointer)?;
        match tree.as_str().filter(|_| own.serialized && MediaType::of(&media.name).is_json()) {
            Some(text) => Json::parse(text.as_bytes()).ok(),
            None => Some(tree.to_json()),
        }
    }

    /// Whether an example is what the media type's schemas ask for; else a rule that it breaks.
    fn fits(&self, media: &'static api::MediaType, value: &Json) -> Result<(), String> {
        let kind = MediaType::of(&media.name);
        let checked = |schema: Option<SchemaId>, value: &Json| {
            schema
                .map_or(Ok(()), |schema| self.tables.validate(schema, value))
                .map_err(|broken| first(&broken))
        };
        if let Some(item) = self.item(media) {
            return match value {
                Json::String(text) if is_whole(&item, text) => {
                    let items = self.items(&item, ended(&item, text).as_bytes());
                    items.into_iter().try_for_each(|(index, read)| {
                        let value = read.map_err(|why| format!("item {index} {why}"))?;
                        checked(item.schema, &value).map_err(|rule| format!("item {index}: {rule}"))
                    })
                }
                Json::Array(items) => items.iter().try_for_each(|value| checked(item.schema, value)),
                value => checked(item.schema, value),
            };
        }
        let text = media.schema.is_none_or(|schema| self.is_text(schema));
        // Of XML and files the schema speaks of what the text stands for.
        if kind.is_json() || (kind.is_text() && text) { checked(media.schema, value) } else { Ok(()) }
    }

    /// What the items of a media type are; `None` for one that is a single document.
    pub(super) fn item(&self, media: &api::MediaType) -> Option<Item> {
        self.project.given(self.contract).item(media)
    }

    /// The same as the runtime's row, which says how it is read and ends.
    pub(super) fn row(&self, item: &Item) -> Items {
        let plain = Items { form: item.form, ..Items::new(item.framing) };
        match item.framing {
            Framing::Events => Items { ends: self.ends, last: self.last, ..plain },
            Framing::Lines | Framing::Sequence => plain,
        }
    }

    /// A value of a place.
    fn draw(&self, conj: &Conj, wish: Wish) -> Option<Json> {
        let valid = |id: SchemaId, value: &Json| self.tables.is_valid(id, value);
        draw::one(&self.contract.graph, conj, self.contract.options.implied_objects, wish, &valid)
    }

    /// Each `oneOf` with a `discriminator` of which two branches accept what the tag of one means, with
    /// such a value: a tag is no rule of what is valid (OpenAPI 3.1, 4.8.25).
    pub(super) fn overlapping(&self) -> Vec<(Place, Json)> {
        let graph = &self.contract.graph;
        let wish = Wish { seed: self.seed, examples: true };
        let all = graph.ids().filter_map(|id| {
            let schema = graph.schema(id);
            let discriminator = schema.discriminator.as_ref()?;
            let shown = schema.one_of.iter().find_map(|branch| {
                let word = meant(graph, discriminator, *branch).into_iter().next()?;
                let mut members = self.draw(&Conj::one(*branch), wish)?.as_object()?.clone();
                members.insert(discriminator.tag.clone(), Json::from(word));
                let value = Json::Object(members);
                let accepts = |id: &&SchemaId| self.tables.is_valid(**id, &value);
                let accepting = schema.one_of.iter().filter(accepts).count();
                (accepting > 1 && accepts(&branch)).then_some(value)
            })?;
            Some((schema.place.clone(), shown))
        });
        all.collect()
    }

    /// A body of which the contract gives no example.
    fn drawn(&self, media: &'static api::MediaType, name: &str, wish: Wish) -> Result<Bytes, Lack> {
        let kind = MediaType::of(name);
        if let Some(item) = self.item(media) {
            let items = (0..ITEMS).map(|at| {
                let seed = mixed(wish.seed, &[&at.to_be_bytes()]);
                let Some(schema) = item.schema else { return Ok(word(seed)) };
                let mut values = (0..TRIES).map_while(|again| {
                    let wish = match again {
                        0 => Wish { seed, ..wish },
                        _ => Wish { seed: mixed(seed, &[&again.to_be_bytes()]), examples: false },
                    };
                    self.draw(&Conj::one(schema), wish)
                });
                values
                    .find(|value| {
                        let mut own = Vec::new();
                        one_more(&item, value, &mut own).is_ok() && !self.ends(&item, &own)
                    })
                    .ok_or(Lack::Value(schema))
            });
            return Ok(self.framed(&item, &items.collect::<Result<Vec<Json>, Lack>>()?));
        }
        let file = !kind.is_json() && !kind.is_text();
        let Some(schema) = media.schema.filter(|_| !file) else {
            let luck = Luck::of(wish.seed);
            return Ok(match (kind.is_json(), kind.is_text()) {
                (true, _) => Bytes::from_static(b"{}"),
                (_, true) => self.written(media, name, &word(wish.seed)).unwrap_or_default(),
                _ => (0..BYTES).filter_map(|_| u8::try_from(luck.below(256)).ok()).collect(),
            });
        };
        let conj = Conj::one(schema);
        // A text stands for itself, where it may be a value.
        let conj = if kind.is_text() && self.is_text(schema) { conj.within(Types::STRING) } else { conj };
        let value = self.draw(&conj, wish).ok_or(Lack::Value(schema))?;
        self.written(media, name, &value).ok_or(Lack::Value(schema))
    }

    /// Whether a written event is one that ends its stream, so that nobody would read what follows.
    fn ends(&self, item: &Item, written: &[u8]) -> bool {
        let mut decoder = Decoder::new(item.framing, written.len());
        decoder.push(written);
        decoder.pop().is_some_and(|read| read.is_ok_and(|read| self.row(item).is_end(&read)))
    }

    /// Items as their framing has them, and the end behind the last.
    fn framed(&self, item: &Item, items: &[Json]) -> Bytes {
        let mut out = Vec::new();
        for value in items {
            // What has no place in an event is left out.
            let _ = one_more(item, value, &mut out);
        }
        self.row(item).write_end(&mut out);
        Bytes::from(out)
    }

    /// A value in the form of a media type.
    fn written(&self, media: &'static api::MediaType, name: &str, value: &Json) -> Option<Bytes> {
        let kind = MediaType::of(name);
        if let Some(item) = self.item(media) {
            return Some(match value {
                Json::String(text) if is_whole(&item, text) => Bytes::from(ended(&item, text)),
                Json::Array(items) => self.framed(&item, items),
                value => self.framed(&item, std::slice::from_ref(value)),
            });
        }
        let text = value.as_str().filter(|_| !kind.is_json());
        Some(match text {
            Some(text) => Bytes::from(text.to_owned()),
            None if kind.subtype().ends_with("xml") => {
                let root = media.schema.map(|id| self.contract.graph.schema(id));
                let named = root.and_then(|schema| schema.extensions.get("xml")?.pointer("/name")?.as_str());
                let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
                element(named.unwrap_or("value"), value, &mut text);
                Bytes::from(text)
            }
            None => Bytes::from(value.to_string()),
        })
    }

    /// The headers that an answer has to have.
    pub(super) fn headers(
        &self,
        response: &'static api::Response,
        seed: u64,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, Lack> {
        let own = |name: &str| OWN.iter().any(|known| known.eq_ignore_ascii_case(name));
        let required = response.headers.iter().filter(|header| header.required && !own(&header.name));
        required.map(|header| self.header(header, seed)).collect()
    }

    fn header(&self, header: &'static api::Header, seed: u64) -> Result<(HeaderName, HeaderValue), Lack> {
        let lack = || Lack::Header(header.name.clone());
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| lack())?;
        let valid = |value: &Json| header.schema.is_none_or(|schema| self.tables.is_valid(schema, value));
        let given = header.examples.iter().filter_map(|own| {
            let tree = self.contract.sources.get(own.place.source)?.tree.at(&own.place.pointer)?;
            Some(tree.to_json()).filter(valid)
        });
        let drawn = (0..TRIES).filter_map(|at| {
            let seed = mixed(seed, &[header.name.as_bytes(), &at.to_be_bytes()]);
            match header.schema {
                Some(schema) => self.draw(&Conj::one(schema), Wish { seed, examples: at == 0 }),
                None => Some(word(seed)),
            }
        });
        let value = given.chain(drawn).find_map(|value| HeaderValue::try_from(line(&value)?).ok());
        Ok((name, value.ok_or_else(lack)?))
    }
}

/// A word.
fn word(seed: u64) -> Json {
    Json::from(Luck::of(seed).word())
}

/// The first rule that is broken.
fn first(broken: &Violations) -> String {
    broken.iter().next().map(ToString::to_string).unwrap_or_default()
}

/// Whether a text is a whole stream, and not one of its items.
fn is_whole(item: &Item, text: &str) -> bool {
    item.form != ItemForm::Text || text.lines().any(|line| line.starts_with("data:"))
}

/// A stream as it is sent: behind the last event stands an empty line.
fn ended(item: &Item, text: &str) -> String {
    match item.framing {
        Framing::Events => text.trim_end_matches('\n').to_owned() + "\n\n",
        Framing::Lines | Framing::Sequence => text.to_owned(),
    }
}

/// An item behind what is there. JSON is a text, too.
fn one_more(item: &Item, value: &Json, out: &mut Vec<u8>) -> Result<(), Inexpressible> {
    let is_text = item.form == ItemForm::Text && value.as_str().is_none();
    let text = is_text.then(|| Json::from(value.to_string()));
    item.form.write(item.framing, text.as_ref().unwrap_or(value), &Outgoing::default(), out)
}

/// A value as the style `simple` writes it into a header; `None` for one without a text there.
fn line(value: &Json) -> Option<String> {
    let plain = |value: &Json| match value {
        Json::String(text) => {
            let visible = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
            (visible && text.trim() == text).then(|| text.clone())
        }
        Json::Number(_) | Json::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    match value {
        Json::Array(items) => {
            items.iter().map(plain).collect::<Option<Vec<String>>>().map(|items| items.join(","))
        }
        Json::Object(members) => {
            let pairs = members.iter().map(|(name, value)| Some(format!("{name},{}", plain(value)?)));
            pairs.collect::<Option<Vec<String>>>().map(|pairs| pairs.join(","))
        }
        value => plain(value),
    }
}

/// A value as an element of XML: members by their names, lists as elements one after another.
fn element(name: &str, value: &Json, out: &mut String) {
    let items = match value {
        Json::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(value),
    };
    for item in items {
        let _ = write!(out, "<{name}>");
        match item {
            Json::Object(members) => each(members, out),
            Json::Array(_) => element("item", item, out),
            Json::String(text) => {
                out.push_str(&text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"));
            }
            Json::Null => {}
            plain => out.push_str(&plain.to_string()),
        }
        let _ = write!(out, "</{name}>");
    }
}

/// Members whose names can be those of elements.
fn each(members: &Map<Json>, out: &mut String) {
    let nameable = |name: &str| {
        let mut letters = name.chars();
        letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && letters.all(|each| each.is_alphanumeric() || matches!(each, '_' | '-' | '.'))
    };
    members.iter().filter(|(name, _)| nameable(name)).for_each(|(name, value)| element(name, value, out));
}
