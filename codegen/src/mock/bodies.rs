//! Produces response bodies and headers. A body is a valid example of the media type. If there is none, the
//! body is a value that is composed of schema examples or generated, encoded for the media type.

use std::fmt::Write as _;

use contract_codegen_core::{
    api::{self, Example},
    conjunction::{
        SchemaConjunction, SchemaFacts,
        sample::random::{self, SampleRequest, SplitMix64},
    },
    plan::{DONE_MARKER, StreamItem},
    schema::{SchemaId, TypeSet},
    tree::DocumentLocation,
};
use contract_runtime::{
    Json, Map,
    media_type::MediaType,
    operation::{ItemEncoding, ItemFormat, ItemFraming},
    sequence::{ItemDecoder, ItemEncodingError, OutgoingItem},
    server::Bytes,
    violation::Violations,
};
use http::{
    HeaderName, HeaderValue,
    header::{LINK, RETRY_AFTER},
};

use super::{MockServer, SelectedResponse, mix_seed, preferences::RequestPreferences};

/// The number of items in a generated stream, without the end marker.
const ITEMS_PER_STREAM: u64 = 3;
/// The size of a generated file, in bytes.
const RANDOM_FILE_BYTES: u64 = 64;
/// The maximum number of attempts to generate a value that can be encoded as a header or as an item of a
/// stream.
const MAX_ATTEMPTS: u64 = 8;

/// The response headers that are not generated from the contract, because the connection or the body
/// determines them.
const EXCLUDED_HEADERS: &[&str] = &[
    "content-type",
    "content-length",
    "content-encoding",
    "content-range",
    "transfer-encoding",
    "trailer",
    "connection",
    "upgrade",
    "date",
];

/// A response body.
#[derive(Clone, Debug)]
pub(super) struct GeneratedBody {
    pub(super) body: Bytes,
    /// The origin of the body, such as `the example`.
    pub(super) source: String,
}

/// The reason why no body or header could be produced for a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// No valid value of the schema was found.
    Value(SchemaId),
    /// No valid value of the header was found.
    Header(String),
    /// There is no example with the requested name. The list contains the names of the existing examples.
    Example(Vec<String>),
    /// The requested example violates the given rule.
    Broken(String),
}

impl MockServer {
    /// Returns the body of a response in a media type. If `dynamic` contains a seed, the body is generated
    /// from it. Otherwise, the body is an example or, without a valid example, a generated value that is
    /// cached.
    pub(super) fn response_body(
        &self,
        selected: &SelectedResponse,
        media: &'static api::MediaType,
        name: &str,
        preferences: &RequestPreferences,
        dynamic: Option<u64>,
    ) -> Result<GeneratedBody, BodyError> {
        let index = selected
            .response
            .and_then(|response| response.content.iter().position(|each| std::ptr::eq(each, media)));
        let key = (selected.at, selected.status, index.unwrap_or(0));
        let is_cached =
            dynamic.is_none() && preferences.example.is_none() && !MediaType::parse(&media.name).is_range();
        let lock = || self.cached_bodies.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if is_cached && let Some(body) = lock().get(&key) {
            return Ok(body.clone());
        }
        let seed = dynamic.unwrap_or_else(|| mix_seed(self.base_seed(selected), &[name.as_bytes()]));
        let sample = SampleRequest { seed, examples: dynamic.is_none() };
        let body = match self.example_body(media, name, preferences)? {
            Some(body) => body,
            None => {
                let body = self.generate_body(media, name, sample)?;
                let source = match dynamic {
                    Some(_) => "generated for the request",
                    None if self.is_schema_example(media, &body) => "the example of the schema",
                    None => "generated",
                };
                GeneratedBody { body, source: source.to_owned() }
            }
        };
        if is_cached {
            lock().insert(key, body.clone());
        }
        Ok(body)
    }

    /// Returns true if a JSON body is one of the examples that its schema declares.
    fn is_schema_example(&self, media: &api::MediaType, body: &Bytes) -> bool {
        let (Some(schema), Ok(value)) = (media.schema, Json::parse(body)) else { return false };
        let graph = &self.contract.graph;
        let place = SchemaConjunction::from_schema(schema);
        let facts = SchemaFacts::from_conjunction(graph, &place, self.contract.options.implied_objects);
        facts.unconditional_schemas(graph).any(|schema| schema.examples.contains(&value))
    }

    /// Returns the example that the request names or, if it names none, the first valid example. Returns
    /// `None` if there is no valid example or if the request prefers a generated value.
    fn example_body(
        &self,
        media: &'static api::MediaType,
        name: &str,
        preferences: &RequestPreferences,
    ) -> Result<Option<GeneratedBody>, BodyError> {
        let encode = |own: &Example, value: &Json| {
            let source = if own.name.is_empty() {
                "the example".to_owned()
            } else {
                format!("example `{}`", own.name)
            };
            self.encode_value(media, name, value).map(|body| GeneratedBody { body, source })
        };
        if let Some(requested) = &preferences.example {
            let named = media.examples.iter().find(|own| own.name == *requested);
            let Some((own, value)) = named.and_then(|own| Some((own, self.example_value(media, own)?)))
            else {
                return Err(BodyError::Example(
                    media.examples.iter().map(|own| format!("`{}`", own.name)).collect(),
                ));
            };
            self.check_example(media, &value).map_err(BodyError::Broken)?;
            return Ok(encode(own, &value));
        }
        if preferences.dynamic {
            return Ok(None);
        }
        let valid = |own: &Example| {
            let value = self.example_value(media, own)?;
            self.check_example(media, &value).ok()?;
            encode(own, &value)
        };
        Ok(media.examples.iter().find_map(valid))
    }

    /// Returns the examples of a media type that violate its schema, each with the violated rule.
    pub(super) fn invalid_examples(&self, media: &'static api::MediaType) -> Vec<(DocumentLocation, String)> {
        let invalid = media.examples.iter().filter_map(|own| {
            let rule = match self.example_value(media, own) {
                Some(value) => self.check_example(media, &value).err()?,
                None => "is not a JSON document".to_owned(),
            };
            Some((own.place.clone(), rule))
        });
        invalid.collect()
    }

    /// Returns the value of an example, parsed as the media type requires. Returns `None` if it cannot be
    /// parsed.
    fn example_value(&self, media: &api::MediaType, own: &Example) -> Option<Json> {
        let tree = self.contract.sources.get(own.place.source)?.tree.resolve_pointer(&own.place.pointer)?;
        match tree.as_str().filter(|_| own.serialized && MediaType::parse(&media.name).is_json()) {
            Some(text) => Json::parse(text.as_bytes()).ok(),
            None => Some(tree.to_json()),
        }
    }

    /// Checks an example against the schemas of the media type. The error describes the first violated rule.
    fn check_example(&self, media: &'static api::MediaType, value: &Json) -> Result<(), String> {
        let kind = MediaType::parse(&media.name);
        let checked = |schema: Option<SchemaId>, value: &Json| {
            schema
                .map_or(Ok(()), |schema| self.tables.validate(schema, value))
                .map_err(|violations| first_violation(&violations))
        };
        if let Some(item) = self.item_type(media) {
            return match value {
                Json::String(text) if is_whole_stream(&item, text) => {
                    let items = self.decode_items(&item, terminate_stream(&item, text).as_bytes());
                    items.into_iter().try_for_each(|(index, read)| {
                        let value = read.map_err(|why| format!("item {index} {why}"))?;
                        checked(item.schema, &value).map_err(|rule| format!("item {index}: {rule}"))
                    })
                }
                Json::Array(items) => items.iter().try_for_each(|value| checked(item.schema, value)),
                value => checked(item.schema, value),
            };
        }
        let text = media.schema.is_none_or(|schema| self.allows_string(schema));
        // Examples of XML and files are not checked, because their schemas describe the decoded content.
        if kind.is_json() || (kind.is_text() && text) { checked(media.schema, value) } else { Ok(()) }
    }

    /// Returns the item type of a stream media type; `None` for a single document.
    pub(crate) fn item_type(&self, media: &api::MediaType) -> Option<StreamItem> {
        self.project.plan_input(self.contract).stream_item(media)
    }

    /// Converts an item type to an [`ItemFormat`] of the operation table. The format determines how items are
    /// decoded and where the stream ends.
    pub(super) fn item_format(&self, item: &StreamItem) -> ItemFormat {
        let plain = ItemFormat { encoding: item.form, ..ItemFormat::new(item.framing) };
        match item.framing {
            ItemFraming::Events if self.plan.ends_with_done_marker(item) => {
                ItemFormat { end_markers: &[DONE_MARKER], last_events: self.last_events, ..plain }
            }
            ItemFraming::Events => {
                ItemFormat { end_markers: self.end_data, last_events: self.last_events, ..plain }
            }
            ItemFraming::Lines | ItemFraming::Sequence => plain,
        }
    }

    /// Generates a value that all schemas of a conjunction accept, or returns `None` if no such value is
    /// found.
    pub(super) fn draw_value(&self, conj: &SchemaConjunction, sample: SampleRequest) -> Option<Json> {
        let valid = |id: SchemaId, value: &Json| self.tables.is_valid(id, value);
        random::random_value(
            &self.contract.graph,
            conj,
            self.contract.options.implied_objects,
            sample,
            &valid,
        )
    }

    /// Generates a body for a media type that has no valid example.
    fn generate_body(
        &self,
        media: &'static api::MediaType,
        name: &str,
        sample: SampleRequest,
    ) -> Result<Bytes, BodyError> {
        let kind = MediaType::parse(name);
        if let Some(item) = self.item_type(media) {
            let items = (0..ITEMS_PER_STREAM).map(|at| {
                let seed = mix_seed(sample.seed, &[&at.to_be_bytes()]);
                let Some(schema) = item.schema else { return Ok(random_json_word(seed)) };
                let mut values = (0..MAX_ATTEMPTS).map_while(|again| {
                    let sample = match again {
                        0 => SampleRequest { seed, ..sample },
                        _ => SampleRequest { seed: mix_seed(seed, &[&again.to_be_bytes()]), examples: false },
                    };
                    self.draw_value(&SchemaConjunction::from_schema(schema), sample)
                });
                values
                    .find(|value| {
                        let mut event = Vec::new();
                        append_item(&item, value, &mut event).is_ok() && !self.is_end_event(&item, &event)
                    })
                    .ok_or(BodyError::Value(schema))
            });
            return Ok(self.frame_items(&item, &items.collect::<Result<Vec<Json>, BodyError>>()?));
        }
        let file = !kind.is_json() && !kind.is_text();
        let Some(schema) = media.schema.filter(|_| !file) else {
            let random = SplitMix64::from_seed(sample.seed);
            return Ok(match (kind.is_json(), kind.is_text()) {
                (true, _) => Bytes::from_static(b"{}"),
                (_, true) => {
                    self.encode_value(media, name, &random_json_word(sample.seed)).unwrap_or_default()
                }
                _ => {
                    (0..RANDOM_FILE_BYTES).filter_map(|_| u8::try_from(random.next_below(256)).ok()).collect()
                }
            });
        };
        let conj = SchemaConjunction::from_schema(schema);
        // For a text body, a string is generated if the schema allows strings.
        let conj =
            if kind.is_text() && self.allows_string(schema) { conj.within(TypeSet::STRING) } else { conj };
        let value = self.draw_value(&conj, sample).ok_or(BodyError::Value(schema))?;
        self.encode_value(media, name, &value).ok_or(BodyError::Value(schema))
    }

    /// Returns true if clients would interpret an encoded event as the end of the stream.
    fn is_end_event(&self, item: &StreamItem, event: &[u8]) -> bool {
        let mut decoder = ItemDecoder::new(item.framing, event.len());
        decoder.push(event);
        decoder
            .next_item()
            .is_some_and(|read| read.is_ok_and(|read| self.item_format(item).is_end_marker(&read)))
    }

    /// Encodes items with their framing and appends the end marker of the stream.
    pub(crate) fn frame_items(&self, item: &StreamItem, items: &[Json]) -> Bytes {
        let mut out = Vec::new();
        for value in items {
            // Values that cannot be expressed as an event are skipped.
            let _ = append_item(item, value, &mut out);
        }
        self.item_format(item).write_end_marker(&mut out);
        Bytes::from(out)
    }

    /// Encodes a value for a media type.
    fn encode_value(&self, media: &'static api::MediaType, name: &str, value: &Json) -> Option<Bytes> {
        let kind = MediaType::parse(name);
        if let Some(item) = self.item_type(media) {
            return Some(match value {
                Json::String(text) if is_whole_stream(&item, text) => {
                    Bytes::from(terminate_stream(&item, text))
                }
                Json::Array(items) => self.frame_items(&item, items),
                value => self.frame_items(&item, std::slice::from_ref(value)),
            });
        }
        let text = value.as_str().filter(|_| !kind.is_json());
        Some(match text {
            Some(text) => Bytes::from(text.to_owned()),
            None if kind.subtype().ends_with("xml") => {
                let root = media.schema.map(|id| self.contract.graph.schema(id));
                let named = root.and_then(|schema| schema.extensions.get("xml")?.pointer("/name")?.as_str());
                let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
                write_xml_element(named.unwrap_or("value"), value, &mut text);
                Bytes::from(text)
            }
            None => Bytes::from(value.to_string()),
        })
    }

    /// Generates the values of a response's headers, except those in [`EXCLUDED_HEADERS`]. An optional header without
    /// a known valid value is omitted.
    pub(super) fn response_headers(
        &self,
        response: &'static api::Response,
        seed: u64,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, BodyError> {
        let own = |name: &str| EXCLUDED_HEADERS.iter().any(|known| known.eq_ignore_ascii_case(name));
        let headers = response.headers.iter().filter(|header| !own(&header.name));
        let values = headers.filter_map(|header| match self.response_header(header, seed) {
            // The value of an optional link must be one.
            Ok((name, value)) if !header.required && name == LINK && !value.as_bytes().starts_with(b"<") => {
                None
            }
            Err(_) if !header.required => None,
            value => Some(value),
        });
        values.collect()
    }

    fn response_header(
        &self,
        header: &'static api::ResponseHeader,
        seed: u64,
    ) -> Result<(HeaderName, HeaderValue), BodyError> {
        let error = || BodyError::Header(header.name.clone());
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| error())?;
        let valid = |value: &Json| header.schema.is_none_or(|schema| self.tables.is_valid(schema, value));
        let given = header.examples.iter().filter_map(|own| {
            let tree =
                self.contract.sources.get(own.place.source)?.tree.resolve_pointer(&own.place.pointer)?;
            Some(tree.to_json()).filter(valid)
        });
        // Clients wait for this time, so it is short.
        let delays = [Json::from(1), Json::from("1")];
        let delays = delays.into_iter().filter(|value| name == RETRY_AFTER && valid(value));
        let drawn = (0..MAX_ATTEMPTS).filter_map(|at| {
            let seed = mix_seed(seed, &[header.name.as_bytes(), &at.to_be_bytes()]);
            match header.schema {
                Some(schema) => self.draw_value(
                    &SchemaConjunction::from_schema(schema),
                    SampleRequest { seed, examples: at == 0 },
                ),
                None => Some(random_json_word(seed)),
            }
        });
        let value = given
            .chain(delays)
            .chain(drawn)
            .find_map(|value| HeaderValue::try_from(header_value(&value)?).ok());
        Ok((name, value.ok_or_else(error)?))
    }
}

fn random_json_word(seed: u64) -> Json {
    Json::from(SplitMix64::from_seed(seed).random_word())
}

fn first_violation(violations: &Violations) -> String {
    violations.iter().next().map(ToString::to_string).unwrap_or_default()
}

/// Returns true if the string of an example contains a whole stream with its framing. Returns false if it
/// contains a single item.
fn is_whole_stream(item: &StreamItem, text: &str) -> bool {
    item.form != ItemEncoding::Text || text.lines().any(|line| line.starts_with("data:"))
}

/// Terminates the last event of an event stream with an empty line. Returns the content of other streams unchanged.
fn terminate_stream(item: &StreamItem, text: &str) -> String {
    match item.framing {
        ItemFraming::Events => text.trim_end_matches('\n').to_owned() + "\n\n",
        ItemFraming::Lines | ItemFraming::Sequence => text.to_owned(),
    }
}

/// Encodes an item and appends it to `out`. If the items of the stream are strings, a value of another type
/// is converted to a string that contains its JSON.
fn append_item(item: &StreamItem, value: &Json, out: &mut Vec<u8>) -> Result<(), ItemEncodingError> {
    let is_text = item.form == ItemEncoding::Text && value.as_str().is_none();
    let text = is_text.then(|| Json::from(value.to_string()));
    item.form.write_document(item.framing, text.as_ref().unwrap_or(value), &OutgoingItem::default(), out)
}

/// Formats a value as a header in the style `simple`. Returns `None` if the value has no such form.
fn header_value(value: &Json) -> Option<String> {
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

/// Writes a value as an XML element. Properties become elements with their names, and lists become repeated
/// elements.
fn write_xml_element(name: &str, value: &Json, out: &mut String) {
    let items = match value {
        Json::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(value),
    };
    for item in items {
        let _ = write!(out, "<{name}>");
        match item {
            Json::Object(members) => write_xml_members(members, out),
            Json::Array(_) => write_xml_element("item", item, out),
            Json::String(text) => {
                out.push_str(&text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"));
            }
            Json::Null => {}
            plain => out.push_str(&plain.to_string()),
        }
        let _ = write!(out, "</{name}>");
    }
}

/// Writes those properties whose names are valid element names.
fn write_xml_members(members: &Map<Json>, out: &mut String) {
    let nameable = |name: &str| {
        let mut letters = name.chars();
        letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && letters.all(|each| each.is_alphanumeric() || matches!(each, '_' | '-' | '.'))
    };
    members
        .iter()
        .filter(|(name, _)| nameable(name))
        .for_each(|(name, value)| write_xml_element(name, value, out));
}
