//! Decides what of an operation is handed on as it comes, where the contract's owner asks for
//! streams: successes that are events, lines of JSON or a JSON text sequence, bodies of requests
//! that are, and the bytes of downloads and uploads that are named.
//!
//! The item of a media type is what its `itemSchema` says (OpenAPI 3.2, 4.14), else the element of
//! its `schema` where that is an array, else its `schema`. Of an event it is what `data` holds: JSON,
//! unless that is a string. Where a schema declares the fields of an event and nothing else, it is
//! what its `data` says; where that is text beside other fields, it is the event as an object. Where
//! branches say several things of `data`, it is the event as an object with JSON in `data`, so that
//! branches are told apart by `event`, as unions are by any tag.

use std::collections::BTreeSet;

use contract_runtime::{
    media::MediaType,
    operation::{Framing, ItemForm},
};

use super::{Answers, Body, Call, Given, Plan};
use crate::{
    api::{self, Status},
    config::{Config, StreamConfig},
    diagnostics::{Diagnostic, Diagnostics},
    schema::{Graph, SchemaId, Types},
    shape::TypeRef,
    together::Conj,
};

/// What of a call is handed on as it comes.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// Its success.
    pub answer: Option<StreamedAnswer>,
    /// The body of its request.
    pub body: Option<StreamedBody>,
    /// The client's method for it.
    pub method: String,
}

/// A success that is handed on as it comes.
#[derive(Clone, Debug)]
pub struct StreamedAnswer {
    /// Its status.
    pub status: Status,
    /// Its media type, as the contract writes it.
    pub media_type: String,
    /// What it consists of.
    pub content: Streamed,
    /// The media types that a client can read, this one first.
    pub accept: String,
    /// Whether the operation has successes that are whole.
    pub beside_whole: bool,
}

/// A body of a request that is sent as it comes.
#[derive(Clone, Debug)]
pub struct StreamedBody {
    /// Its index among the body's media types.
    pub content_index: usize,
    /// What it consists of.
    pub content: Streamed,
}

/// What a stream consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Streamed {
    /// Bytes.
    Pieces,
    /// One item after another.
    Items(Item),
}

/// What each item is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// How items follow one another.
    pub framing: Framing,
    /// What the bytes of one stand for.
    pub form: ItemForm,
    /// Its type.
    pub ty: TypeRef,
    /// The schema that checks it.
    pub schema: Option<SchemaId>,
    /// A `contentSchema` that says what JSON the text of its `data` is, and that nobody asks.
    pub unread: Option<SchemaId>,
}

/// The fields of an event (HTML, 9.2.6).
const FIELDS: [&str; 4] = ["data", "event", "id", "retry"];

/// What the `data` of events holds whose fields a schema describes.
enum Data {
    /// Text, perhaps of JSON of this schema.
    Text(Option<SchemaId>),
    /// JSON of a schema.
    Json(SchemaId),
    /// JSON of several schemas, by the event.
    Several,
}

impl Streams {
    /// Whether nothing is.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.answer.is_none() && self.body.is_none()
    }
}

impl Given<'_> {
    /// What is handed on as it comes of an operation whose bodies and answers are settled.
    pub(super) fn streams(&self, call: &Call<'_>) -> Streams {
        let Some(config) = self.streams else { return Streams::default() };
        Streams {
            answer: self.streamed_answer(config, call),
            body: call.body.as_ref().and_then(|body| self.streamed_body(config, call, body)),
            method: String::new(),
        }
    }

    fn streamed_answer(&self, config: &StreamConfig, call: &Call<'_>) -> Option<StreamedAnswer> {
        let operation = call.operation;
        if operation.method == "HEAD" {
            return None;
        }
        let download = config.downloads.contains(&operation.id);
        let own = |answers: &Answers, status: Status| answers.cases.iter().any(|case| case.status == status);
        let successes = operation.responses.iter().filter(|response| own(&call.answers, response.status));
        let mut contents =
            successes.flat_map(|response| response.content.iter().map(move |media| (response.status, media)));
        let (status, media, content) = contents.find_map(|(status, media)| {
            let pieces = download && !MediaType::of(&media.name).is_json();
            let content = self.item(media).map(Streamed::Items).or(pieces.then_some(Streamed::Pieces))?;
            Some((status, media, content))
        })?;
        let others = call
            .answers
            .cases
            .iter()
            .any(|case| case.status != status || !case.names().any(|name| name == media.name));
        let mut accept = vec![media.name.as_str()];
        for response in operation.responses.iter().filter(|response| own(&call.refusals, response.status)) {
            let names = response.content.iter().map(|media| media.name.as_str());
            accept.extend(names.filter(|name| MediaType::of(name).is_sendable()));
        }
        let mut seen = Vec::new();
        accept.retain(|name| {
            !seen.contains(name) && {
                seen.push(name);
                true
            }
        });
        Some(StreamedAnswer {
            status,
            media_type: media.name.clone(),
            content,
            accept: accept.join(", "),
            beside_whole: others,
        })
    }

    fn streamed_body(&self, config: &StreamConfig, call: &Call<'_>, body: &Body<'_>) -> Option<StreamedBody> {
        let upload = config.uploads.contains(&call.operation.id);
        body.contents.iter().enumerate().find_map(|(content_index, content)| {
            let plain = matches!(content.format, super::Format::Bytes | super::Format::Text);
            if !plain || body.variants[content.variant].sent != content_index {
                return None;
            }
            let pieces = upload.then_some(Streamed::Pieces);
            let content = self.item(content.media).map(Streamed::Items).or(pieces)?;
            Some(StreamedBody { content_index, content })
        })
    }

    /// What the items of a media type are; `None` for one that is a single document.
    pub(crate) fn item(&self, media: &api::MediaType) -> Option<Item> {
        let framing = Framing::of(&MediaType::of(&media.name))?;
        let of = |schema: SchemaId| (self.shapes.of(schema).clone(), Some(schema));
        let json = |(ty, schema)| Item { framing, form: ItemForm::Json, ty, schema, unread: None };
        if let Some(data) = media.data_schema {
            return Some(json(of(data)));
        }
        let schema = media.item_schema.or(media.schema);
        if let (Framing::Events, Some(schema)) = (framing, schema)
            && let Some(data) = self.data_of_fields(schema)
        {
            return Some(match data {
                Data::Text(unread) => Item { form: ItemForm::Event, unread, ..json(of(schema)) },
                Data::Json(data) => json(of(data)),
                Data::Several => Item { form: ItemForm::EventJson, ..json(of(schema)) },
            });
        }
        if let Some(item) = media.item_schema {
            let form = if framing == Framing::Events { self.event_form(item) } else { ItemForm::Json };
            return Some(Item { form, ..json(of(item)) });
        }
        let Some(schema) = media.schema else {
            let form = if framing == Framing::Events { ItemForm::Text } else { ItemForm::Json };
            let ty = if form == ItemForm::Text { TypeRef::String } else { TypeRef::Json };
            return Some(Item { form, ..json((ty, None)) });
        };
        let facts = self.facts(&Conj::one(schema));
        if let (TypeRef::Vec(ty), Types::ARRAY) = (self.shapes.of(schema), facts.types) {
            let one = self.items(&facts).and_then(|items| match items.ids.as_slice() {
                [one] => Some(*one),
                _ => None,
            });
            return Some(json(((**ty).clone(), one)));
        }
        let text = framing == Framing::Events && facts.types == Types::STRING;
        Some(Item { form: if text { ItemForm::Text } else { ItemForm::Json }, ..json(of(schema)) })
    }

    /// What `data` holds, where a schema declares fields of an event and nothing else; `None` for one
    /// that is of what `data` holds. Texts that are constants are the ends of streams, and say nothing
    /// about their events.
    fn data_of_fields(&self, item: SchemaId) -> Option<Data> {
        let members = self.members(&self.facts(&Conj::one(item)));
        if !members.iter().all(|member| FIELDS.contains(&member.name.as_str())) {
            return None;
        }
        let data = members.iter().find(|member| member.name == "data")?;
        let places = data.places.iter().map(|place| (place, self.facts(place)));
        let of_events = places.filter(|(_, facts)| {
            facts.types != Types::STRING || facts.literals(self.graph).is_none_or(|all| all.is_empty())
        });
        let of_events: Vec<_> = of_events.collect();
        if of_events.iter().all(|(_, facts)| facts.types.contains(Types::STRING)) {
            let mut schemas = of_events.iter().flat_map(|(_, facts)| facts.schemas(self.graph));
            return Some(Data::Text(schemas.find_map(|schema| schema.content_schema)));
        }
        let [(place, _)] = of_events.as_slice() else { return Some(Data::Several) };
        Some(match place.ids.as_slice() {
            [schema] => Data::Json(*schema),
            _ => Data::Several,
        })
    }

    /// Whether a schema of more than the fields of an event speaks of those, or of what `data` holds.
    fn event_form(&self, item: SchemaId) -> ItemForm {
        let facts = self.facts(&Conj::one(item));
        if facts.types == Types::STRING {
            return ItemForm::Text;
        }
        let speaks_of_fields = self.members(&facts).iter().any(|member| {
            let schema = member.schema().map(|schema| self.facts(&Conj::one(schema)).types);
            member.name == "data" && schema.is_none_or(|types| types.contains(Types::STRING))
        });
        if speaks_of_fields { ItemForm::Event } else { ItemForm::Json }
    }
}

/// Names the methods apart from those of other operations.
pub(super) fn name(calls: &mut [Call<'_>]) {
    let mut taken: BTreeSet<String> = calls.iter().map(|call| call.method.clone()).collect();
    for call in calls.iter_mut().filter(|call| !call.streams.is_empty()) {
        // What a keyword takes in order to be a name is not needed any more.
        let mut name = format!("{}_stream", call.method.trim_end_matches('_'));
        while !taken.insert(name.clone()) {
            name.push_str("ed");
        }
        call.streams.method = name;
    }
}

/// Reports operations that are named for streams and have nothing to hand on, and what is said of
/// events that nobody asks.
pub fn check(plan: &Plan<'_>, options: &Config, graph: &Graph, diagnostics: &mut Diagnostics) {
    let Some(config) = &options.streams else { return };
    for call in &plan.calls {
        let answer = call.streams.answer.as_ref().map(|answer| &answer.content);
        let body = call.streams.body.as_ref().map(|body| &body.content);
        for content in answer.into_iter().chain(body) {
            let Streamed::Items(Item { unread: Some(schema), .. }) = content else { continue };
            let id = &call.operation.id;
            let message =
                format!("`contentSchema` is passed over: the `data` of these events of `{id}` is a text");
            diagnostics.push(
                Diagnostic::warning("ignored", message).at(graph.schema(*schema).place.clone()).help(
                    "give `data` the schema of its JSON in each branch, by an overlay say, or read its text",
                ),
            );
        }
    }
    let lists = [("streams.downloads", &config.downloads), ("streams.uploads", &config.uploads)];
    for (option, list) in lists {
        for id in list {
            let Some(call) = plan.calls.iter().find(|call| call.operation.id == *id) else { continue };
            let answer = option == "streams.downloads";
            let used = if answer { call.streams.answer.is_some() } else { call.streams.body.is_some() };
            if used {
                continue;
            }
            let what = if answer {
                "no success of it has another body than JSON"
            } else {
                "its body is neither bytes nor text of a media type that the contract names"
            };
            diagnostics.push(
                Diagnostic::error("config", format!("`{option}` does nothing for `{id}`: {what}"))
                    .maybe_at(options.place(option, id))
                    .help("remove it from the list"),
            );
        }
    }
}

impl StreamedAnswer {
    /// The status that a handler which says nothing means.
    #[must_use]
    pub const fn usual_status(&self) -> u16 {
        match self.status {
            Status::Code(code) => code,
            Status::Range(class) => class as u16 * 100,
            Status::Default => 200,
        }
    }
}
