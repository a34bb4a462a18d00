//! Plans streamed requests and responses. Streams are success responses and request bodies that consist of
//! server-sent events, JSON lines or JSON text sequences, binary responses, and the configured downloads and
//! uploads.
//!
//! The item type of a media type is determined by its `itemSchema` (OpenAPI 3.2, 4.14), or else by the
//! elements of its `schema` if that is an array, or else by its `schema`. The item of an event stream is the
//! content of the field `data`, which is JSON unless it is a string. If a schema declares only event fields,
//! the item is described by the schema of `data`. If `data` is a string and the schema declares other fields,
//! the item is the event as an object. If branches have different schemas for `data`, the item is the event
//! as an object with JSON in `data`, so that `event` distinguishes the branches like a tag.

use std::collections::BTreeSet;

use contract_runtime::{
    media_type::MediaType,
    operation::{ItemEncoding, ItemFraming},
};

use super::{
    DONE_MARKER, PlanInput, PlannedCall, RequestBodyPlan, ResponseCase, ResponsePayload, ResponseSet,
    SidePlan,
    client_groups::{ClientGroup, accessor_names},
};
use crate::{
    api::{self, StatusPattern},
    config::Config,
    conjunction::SchemaConjunction,
    diagnostics::{Diagnostic, Diagnostics},
    schema::{SchemaGraph, SchemaId, TypeSet},
    shape::TypeRef,
};

/// The success response and the request body of a call that are streamed, if there are any.
#[derive(Clone, Debug, Default)]
pub struct StreamPlan {
    pub response: Option<StreamedResponse>,
    pub body: Option<StreamedBody>,
    pub method: String,
}

/// A success response that is streamed.
#[derive(Clone, Debug)]
pub struct StreamedResponse {
    pub status: StatusPattern,
    /// The media type as written in the contract.
    pub media_type: String,
    pub content: StreamContent,
    /// The value of the `Accept` header: this media type, followed by those of error responses. A media type of an
    /// error response has a lower quality (RFC 9110, 12.4.2) if a success response that is not streamed has the same
    /// media type.
    pub accept: String,
    /// True if the operation also has success responses that are not streamed, and therefore two client methods.
    pub has_whole_responses: bool,
}

/// A request body that is streamed.
#[derive(Clone, Debug)]
pub struct StreamedBody {
    /// The index of the streamed media type in [`RequestBodyPlan::contents`].
    pub content_index: usize,
    pub content: StreamContent,
}

/// The content of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamContent {
    /// Chunks of bytes.
    Bytes,
    Items(StreamItem),
}

/// The framing and the encoding of the items in a stream, and their Rust type and schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamItem {
    pub framing: ItemFraming,
    pub form: ItemEncoding,
    pub ty: TypeRef,
    pub schema: Option<SchemaId>,
    /// The ignored `contentSchema` of a string `data`: the schema of JSON inside the string. `None` if no schema is
    /// ignored.
    pub ignored_schema: Option<SchemaId>,
}

/// The fields of a server-sent event (HTML, 9.2.6).
const EVENT_FIELDS: [&str; 4] = ["data", "event", "id", "retry"];

/// The content of the field `data`, for streams whose schema describes the fields of an event.
enum EventData {
    /// A string, with the `contentSchema` that describes JSON inside the string, if there is one.
    Text(Option<SchemaId>),
    Json(SchemaId),
    /// JSON that different schemas describe, depending on the event.
    Several,
}

impl StreamPlan {
    /// Returns true if neither the response nor the body is streamed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.response.is_none() && self.body.is_none()
    }
}

impl PlanInput<'_> {
    /// Plans the streams of a call whose body and responses are already planned.
    pub(super) fn plan_streams(&self, call: &PlannedCall<'_>) -> StreamPlan {
        StreamPlan {
            response: self.streamed_response(call),
            body: call.body.as_ref().and_then(|body| self.streamed_body(call, body)),
            method: String::new(),
        }
    }

    fn streamed_response(&self, call: &PlannedCall<'_>) -> Option<StreamedResponse> {
        let operation = call.operation;
        if operation.method == "HEAD" {
            return None;
        }
        let download = self.streams.downloads.contains(&operation.id) || has_binary_response(call);
        let own = |answers: &ResponseSet, status: StatusPattern| {
            answers.cases.iter().any(|case| case.status == status)
        };
        let successes = operation.responses.iter().filter(|response| own(&call.responses, response.status));
        let mut contents = successes.flat_map(|response| {
            api::exchanged_media(&response.content).map(move |media| (response.status, media))
        });
        let (status, media, content) = contents.find_map(|(status, media)| {
            let pieces = download && !MediaType::parse(&media.name).is_json();
            let content = self
                .stream_item(media)
                .map(StreamContent::Items)
                .or(pieces.then_some(StreamContent::Bytes))?;
            Some((status, media, content))
        })?;
        let others = call
            .responses
            .cases
            .iter()
            .any(|case| case.status != status || !case.media_types().any(|name| name == media.name));
        let mut accept = vec![media.name.as_str()];
        for response in operation.responses.iter().filter(|response| own(&call.errors, response.status)) {
            let names = api::exchanged_media(&response.content).map(|media| media.name.as_str());
            accept.extend(names.filter(|name| MediaType::parse(name).is_sendable()));
        }
        let mut seen = Vec::new();
        accept.retain(|name| {
            !seen.contains(name) && {
                seen.push(name);
                true
            }
        });
        // If errors have the media type of a whole success response, the server must prefer the stream.
        let whole = call.responses.cases.iter().flat_map(ResponseCase::media_types);
        let whole: Vec<&str> = whole.filter(|name| *name != media.name).collect();
        let range = |name: &str| match whole.contains(&name) {
            true => format!("{name};q=0.5"),
            false => name.to_owned(),
        };
        let accept: Vec<String> = accept.into_iter().map(range).collect();
        Some(StreamedResponse {
            status,
            media_type: media.name.clone(),
            content,
            accept: accept.join(", "),
            has_whole_responses: others,
        })
    }

    fn streamed_body(&self, call: &PlannedCall<'_>, body: &RequestBodyPlan<'_>) -> Option<StreamedBody> {
        let upload = self.streams.uploads.contains(&call.operation.id);
        body.contents.iter().enumerate().find_map(|(content_index, content)| {
            let plain = matches!(content.format, super::BodyFormat::Bytes | super::BodyFormat::Text);
            if !plain || body.variants[content.variant].sent != content_index {
                return None;
            }
            let pieces = upload.then_some(StreamContent::Bytes);
            let content = self.stream_item(content.media).map(StreamContent::Items).or(pieces)?;
            Some(StreamedBody { content_index, content })
        })
    }

    /// Returns the framing, encoding and type of the items in a stream with this media type, or `None` if a
    /// body with the media type is a single document.
    pub fn stream_item(&self, media: &api::MediaType) -> Option<StreamItem> {
        let framing = ItemFraming::from_media_type(&MediaType::parse(&media.name))?;
        let of = |schema: SchemaId| (self.shapes.type_of_schema(schema).clone(), Some(schema));
        let json =
            |(ty, schema)| StreamItem { framing, form: ItemEncoding::Json, ty, schema, ignored_schema: None };
        if let Some(data) = media.data_schema {
            return Some(json(of(data)));
        }
        let schema = media.item_schema.or(media.schema);
        if let (ItemFraming::Events, Some(schema)) = (framing, schema)
            && let Some(data) = self.data_of_fields(schema)
        {
            return Some(match data {
                EventData::Text(unread) => {
                    StreamItem { form: ItemEncoding::Event, ignored_schema: unread, ..json(of(schema)) }
                }
                EventData::Json(data) => json(of(data)),
                EventData::Several => StreamItem { form: ItemEncoding::EventJson, ..json(of(schema)) },
            });
        }
        if let Some(item) = media.item_schema {
            let form =
                if framing == ItemFraming::Events { self.event_form(item) } else { ItemEncoding::Json };
            return Some(StreamItem { form, ..json(of(item)) });
        }
        let Some(schema) = media.schema else {
            let form = if framing == ItemFraming::Events { ItemEncoding::Text } else { ItemEncoding::Json };
            let ty = if form == ItemEncoding::Text { TypeRef::String } else { TypeRef::Json };
            return Some(StreamItem { form, ..json((ty, None)) });
        };
        let facts = self.facts_of(&SchemaConjunction::from_schema(schema));
        if let (TypeRef::Vec(ty), TypeSet::ARRAY) = (self.shapes.type_of_schema(schema), facts.types) {
            let one = self.items_of(&facts).and_then(|items| match items.ids.as_slice() {
                [one] => Some(*one),
                _ => None,
            });
            return Some(json(((**ty).clone(), one)));
        }
        let text = framing == ItemFraming::Events && facts.types == TypeSet::STRING;
        Some(StreamItem {
            form: if text { ItemEncoding::Text } else { ItemEncoding::Json },
            ..json(of(schema))
        })
    }

    /// Returns the content of the field `data` if a schema describes an event, that is, if it declares only
    /// event fields. Returns `None` if the schema describes the content of `data` itself. Branches in which
    /// `data` is a constant string are skipped, because they describe the end of a stream.
    fn data_of_fields(&self, item: SchemaId) -> Option<EventData> {
        let members = self.members_of(&self.facts_of(&SchemaConjunction::from_schema(item)));
        if !members.iter().all(|member| EVENT_FIELDS.contains(&member.name.as_str())) {
            return None;
        }
        let data = members.iter().find(|member| member.name == "data")?;
        let places = data.places.iter().map(|place| (place, self.facts_of(place)));
        let of_events = places.filter(|(_, facts)| {
            facts.types != TypeSet::STRING
                || facts.allowed_literals(self.graph).is_none_or(|all| all.is_empty())
        });
        let of_events: Vec<_> = of_events.collect();
        if of_events.iter().all(|(_, facts)| facts.types.contains(TypeSet::STRING)) {
            let mut schemas = of_events.iter().flat_map(|(_, facts)| facts.unconditional_schemas(self.graph));
            return Some(EventData::Text(schemas.find_map(|schema| schema.content_schema)));
        }
        let [(place, _)] = of_events.as_slice() else { return Some(EventData::Several) };
        Some(match place.ids.as_slice() {
            [schema] => EventData::Json(*schema),
            _ => EventData::Several,
        })
    }

    /// Returns the encoding of the items of an event stream: the whole event as an object, or only the
    /// content of `data`, as a string or as JSON.
    fn event_form(&self, item: SchemaId) -> ItemEncoding {
        let facts = self.facts_of(&SchemaConjunction::from_schema(item));
        if facts.types == TypeSet::STRING {
            return ItemEncoding::Text;
        }
        let speaks_of_fields = self.members_of(&facts).iter().any(|member| {
            let schema = member
                .single_schema()
                .map(|schema| self.facts_of(&SchemaConjunction::from_schema(schema)).types);
            member.name == "data" && schema.is_none_or(|types| types.contains(TypeSet::STRING))
        });
        if speaks_of_fields { ItemEncoding::Event } else { ItemEncoding::Json }
    }
}

/// Returns true if every success response has bytes of the same media type, such as `image/png` or `application/zip`. A
/// range such as `*/*` may also include text or JSON.
fn has_binary_response(call: &PlannedCall<'_>) -> bool {
    let ResponseSet { cases, single: Some(ResponsePayload::Bytes), optional: false, .. } = &call.responses
    else {
        return false;
    };
    let mut names = cases.iter().flat_map(ResponseCase::media_types);
    let Some(name) = names.next() else { return false };
    let media_type = MediaType::parse(name);
    media_type.is_sendable()
        && !matches!(media_type.essence(), "*/*" | "application/*")
        && names.all(|other| other == name)
}

/// Assigns distinct names to the client methods for streamed responses.
pub(super) fn name_stream_methods(groups: &[ClientGroup], calls: &mut [PlannedCall<'_>]) {
    let methods = calls.iter().map(|call| (call.accessor.clone(), call.client_method.clone()));
    let mut taken: BTreeSet<(Option<String>, String)> = methods.chain(accessor_names(groups)).collect();
    for call in calls.iter_mut().filter(|call| !call.streams.is_empty()) {
        // The method name may end with an underscore to avoid a keyword, which is not needed here.
        let mut name = format!("{}_stream", call.client_method.trim_end_matches('_'));
        while !taken.insert((call.accessor.clone(), name.clone())) {
            name.push_str("ed");
        }
        call.streams.method = name;
    }
}

/// Reports operations in `[streams]` that have nothing to stream, and ignored `contentSchema` keywords of events.
pub fn check_stream_options(
    plan: &SidePlan<'_>,
    options: &Config,
    graph: &SchemaGraph,
    diagnostics: &mut Diagnostics,
) {
    for call in &plan.calls {
        let answer = call.streams.response.as_ref().map(|answer| &answer.content);
        let body = call.streams.body.as_ref().map(|body| &body.content);
        for content in answer.into_iter().chain(body) {
            let StreamContent::Items(StreamItem { ignored_schema: Some(schema), .. }) = content else {
                continue;
            };
            let id = &call.operation.id;
            let message = format!("`contentSchema` is ignored: `data` is a string in these events of `{id}`");
            diagnostics.push(
                Diagnostic::warning("ignored", message).with_place(graph.schema(*schema).place.clone()).help(
                    "set the JSON schema of `data` in each branch, for example by an overlay, or parse the string",
                ),
            );
        }
    }
    let (downloads, uploads) = (&options.streams.downloads, &options.streams.uploads);
    let lists = [("streams.downloads", downloads), ("streams.uploads", uploads)];
    for (option, list) in lists {
        for id in list {
            let Some(call) = plan.calls.iter().find(|call| call.operation.id == *id) else { continue };
            let answer = option == "streams.downloads";
            let used = if answer { call.streams.response.is_some() } else { call.streams.body.is_some() };
            if used {
                continue;
            }
            let what = if answer {
                "none of its successful responses has a body other than JSON"
            } else {
                "its body is neither bytes nor text of a specific media type"
            };
            diagnostics.push(
                Diagnostic::error("config", format!("`{option}` does nothing for `{id}`: {what}"))
                    .with_optional_place(options.option_place(option, id))
                    .help("remove it from the list"),
            );
        }
    }
}

impl SidePlan<'_> {
    /// Returns the event data that ends a stream of such items.
    #[must_use]
    pub fn end_markers(&self, item: &StreamItem) -> Vec<&str> {
        if self.ends_with_done_marker(item) {
            return vec![DONE_MARKER];
        }
        let streams = self.streams.filter(|_| item.framing == ItemFraming::Events);
        streams.iter().flat_map(|streams| &streams.ends).map(String::as_str).collect()
    }

    /// Returns true if [`DONE_MARKER`] ends a stream of such items. An item that is a string may be equal to the
    /// marker.
    #[must_use]
    pub fn ends_with_done_marker(&self, item: &StreamItem) -> bool {
        self.has_done_marker && (item.framing, item.form) == (ItemFraming::Events, ItemEncoding::Json)
    }

    /// Returns the names of the events that end a stream of such items.
    #[must_use]
    pub fn last_events(&self, item: &StreamItem) -> Vec<&str> {
        let streams = self.streams.filter(|_| item.framing == ItemFraming::Events);
        streams.iter().flat_map(|streams| &streams.last_events).map(String::as_str).collect()
    }
}

impl StreamedResponse {
    /// Returns the status that a server sends if the handler sets none.
    #[must_use]
    pub const fn default_status(&self) -> u16 {
        match self.status {
            StatusPattern::Code(code) => code,
            StatusPattern::Range(class) => class as u16 * 100,
            StatusPattern::Default => 200,
        }
    }
}
