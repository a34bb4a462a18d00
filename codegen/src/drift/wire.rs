//! How values are written on the wire: encodings of forms, headers of answers, ranges of media types.

use std::collections::BTreeMap;

use contract_runtime::{Json, media};

use super::{
    directions::Schemas,
    finding::Comparer,
    flat::Flat,
    media::meaning,
    operations::list,
    proof::Side,
    rules,
    subject::{Subject, Use},
};
use crate::{
    api::{Header, MediaType},
    schema::Types,
    tree::Place,
};

impl<'g> Comparer<'g> {
    /// Compares how members of a form are written.
    pub(super) fn encodings(
        &mut self,
        before: &MediaType,
        after: &MediaType,
        places: (Option<&'g Place>, Option<&'g Place>),
        at: &Subject,
    ) {
        // Elsewhere `encoding` means nothing (OpenAPI 3.1, 4.8.14.1).
        if before.encoding == after.encoding || !is_form(before) && !is_form(after) {
            return;
        }
        let (old, new) = (self.graph(Side::Old), self.graph(Side::New));
        let (rule, words) = if of_members(old, before) == of_members(new, after) {
            (rules::SERIALIZATION_REWRITTEN, "says the same in other words")
        } else {
            (rules::ENCODING_CHANGED, "changed")
        };
        self.note_at(rule, at, places, format!("`encoding` of `{}` {words}", before.name));
    }

    /// Compares how a header of an answer is written.
    pub(super) fn header_style(
        &mut self,
        (old, new): (&Header, &Header),
        places: (Option<&'g Place>, Option<&'g Place>),
        at: &Subject,
    ) {
        let media = |header: &Header| header.content.as_deref().map(meaning);
        let is_object = |side: Side, header: &Header| {
            Flat::of(self.graph(side), &list(header.schema)).types().contains(Types::OBJECT)
        };
        if media(old) != media(new) {
            let words = |media: Option<&str>| {
                media.map_or_else(|| "a plain text".to_owned(), |media| format!("`{media}`"))
            };
            let (is, was) = (words(new.content.as_deref()), words(old.content.as_deref()));
            let message = format!("the header is {is}, was {was}");
            self.both(rules::RESPONSE_HEADER_STYLE_CHANGED, places, &at.base, message);
        } else if old.explode != new.explode
            && new.content.is_none()
            && (is_object(Side::Old, old) || is_object(Side::New, new))
        {
            let message = "`explode` of the header changed".to_owned();
            self.both(rules::RESPONSE_HEADER_STYLE_CHANGED, places, &at.base, message);
        }
    }

    /// The range of media types by which one that clients send is still taken.
    pub(super) fn taken_by_a_range(
        &self,
        all: &'g [MediaType],
        name: &str,
        usage: Use,
    ) -> Option<&'g MediaType> {
        let wanted = media::MediaType::of(name);
        let takes = |other: &&MediaType| {
            let range = media::MediaType::of(&other.name);
            range.is_range() && range.contains(&wanted)
        };
        let openness = |other: &&MediaType| media::MediaType::of(&other.name).openness();
        // Whoever reads may meet whatever else a range has.
        (usage == Use::Write).then(|| all.iter().filter(takes).min_by_key(openness)).flatten()
    }
}

impl Comparer<'_> {
    /// Says of a body what of it is sent as plain texts.
    pub(super) fn as_written(&self, (before, after): (&MediaType, &MediaType), at: Subject) -> Subject {
        let (old, new) = (self.graph(Side::Old), self.graph(Side::New));
        let is_plain = |media: &MediaType| meaning(&media.name).0 == "text/plain";
        if writes_texts(old, before) && writes_texts(new, after) {
            at.sent_as_texts()
        } else if is_plain(before) && is_plain(after) {
            at.sent_as_text()
        } else {
            at
        }
    }
}

fn is_form(body: &MediaType) -> bool {
    let kind = media::MediaType::of(&body.name);
    kind.is_form() || kind.is_multipart()
}

/// Whether the members of a form are plain texts, as far as they are scalars.
fn writes_texts<'g>(graph: &'g Schemas<'g>, body: &MediaType) -> bool {
    // A part of another media type may be anything.
    let is_usual =
        |encoding: &Json| !encoding.as_object().is_some_and(|said| said.contains_key("contentType"));
    is_form(body) && of_members(graph, body).values().all(is_usual)
}

/// What `encoding` says of members beyond what holds without it (OpenAPI 3.1, 4.8.15.1).
fn of_members<'g>(graph: &'g Schemas<'g>, body: &MediaType) -> BTreeMap<String, Json> {
    let form = Flat::of(graph, &list(body.schema));
    let is_multipart = media::MediaType::of(&body.name).is_multipart();
    let said = body.encoding.iter().map(|(name, encoding)| {
        let member = Flat::of(graph, &form.applicable(name));
        (name.clone(), beyond_defaults(encoding, &member, is_multipart))
    });
    said.filter(|(_, encoding)| encoding.as_object().is_none_or(|members| !members.is_empty())).collect()
}

fn beyond_defaults(encoding: &Json, member: &Flat<'_>, parts: bool) -> Json {
    let Json::Object(members) = encoding else { return encoding.clone() };
    let is_scalar = member.types().and(Types::OBJECT.or(Types::ARRAY)).is_empty();
    let is_default = |name: &str, value: &Json| match (name, value) {
        ("contentType", Json::String(name)) => Some(meaning(name)) == usual(member).map(meaning),
        // Of a plain text in a form nothing is joined; in parts these would replace the media type.
        ("style", Json::String(style)) => is_scalar && !parts && style == "form",
        ("explode" | "allowReserved", Json::Bool(_)) => is_scalar && !parts,
        ("headers", Json::Object(headers)) => headers.is_empty(),
        (name, _) => name.starts_with("x-"),
    };
    let rest = members.iter().filter(|(name, value)| !is_default(name, value));
    Json::Object(rest.map(|(name, value)| (name.to_owned(), value.clone())).collect())
}

/// The media type of a member of which nothing is said (OpenAPI 3.0, 4.7.15.1, and 3.1, 4.8.15.1): of an
/// array that of its elements.
fn usual(member: &Flat<'_>) -> Option<&'static str> {
    let is_binary = |flat: &Flat<'_>| {
        flat.any(|schema| schema.content_encoding.is_some() || schema.format.as_deref() == Some("binary"))
    };
    let elements;
    let member = match member.types().without(Types::NULL) {
        Types::ARRAY => {
            elements = Flat::of(member.graph, &member.element(None));
            &elements
        }
        _ => member,
    };
    match member.types().without(Types::NULL) {
        Types::STRING if is_binary(member) => Some("application/octet-stream"),
        Types::OBJECT => Some("application/json"),
        types if types.and(Types::OBJECT.or(Types::ARRAY)).is_empty() => Some("text/plain"),
        _ if member.types() == Types::ALL => Some("application/octet-stream"),
        _ => None,
    }
}
