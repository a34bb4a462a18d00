//! How values are written on the wire: encodings of forms, headers of answers, what only the texts of
//! both documents say.

use std::collections::BTreeMap;

use contract_runtime::{Json, media};

use super::{
    Version,
    finding::{Comparer, Subject, Use},
    flat::Flat,
    operations::list,
    places::behind,
    rules,
};
use crate::{
    api::{Header, MediaType, Parameter, ParameterIn, Response},
    schema::{Graph, Types},
    tree::{Place, Tree, join},
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
        if before.encoding == after.encoding {
            return;
        }
        let written = |graph: &Graph, media| of_members(graph, media);
        let (rule, words) = if written(&self.old.graph, before) == written(&self.new.graph, after) {
            (rules::SERIALIZATION_REWRITTEN, "says the same in other words")
        } else {
            (rules::ENCODING_CHANGED, "changed")
        };
        self.both(rule, places, &at.base, format!("`encoding` of `{}` {words}", before.name));
    }

    /// Compares how a header of an answer is written.
    pub(super) fn header_style(
        &mut self,
        (before, was): (&'g Response, &Header),
        (after, is): (&'g Response, &Header),
        at: &Subject,
    ) {
        let (old, new) = (header(self.old, before, was), header(self.new, after, is));
        let joined = |graph: &Graph, header: &Header, types: Types| {
            !Flat::of(graph, &list(header.schema)).types().and(types).is_empty()
        };
        let exploded =
            joined(&self.old.graph, was, Types::OBJECT) || joined(&self.new.graph, is, Types::OBJECT);
        let places = (Some(&before.place), Some(&after.place));
        if old.1 != new.1 {
            let words = |media: Option<&str>| {
                media.map_or_else(|| "a plain text".to_owned(), |media| format!("`{media}`"))
            };
            let message = format!("the header is {}, was {}", words(new.1), words(old.1));
            self.both(rules::RESPONSE_HEADER_STYLE_CHANGED, places, &at.base, message);
        } else if old.0 != new.0 && new.1.is_none() && exploded {
            let message = "`explode` of the header changed".to_owned();
            self.both(rules::RESPONSE_HEADER_STYLE_CHANGED, places, &at.base, message);
        }
    }

    /// Whether a query parameter could be sent without a value, and cannot any more.
    pub(super) fn loses_emptiness(&self, before: &Parameter, after: &Parameter) -> bool {
        let allows = |version: &Version, parameter: &Parameter| {
            let written = behind(version, parameter.place.source, &parameter.place.pointer);
            flag(written, "allowEmptyValue").unwrap_or_default()
        };
        before.location == ParameterIn::Query && allows(self.old, before) && !allows(self.new, after)
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
        // Whoever reads may meet whatever else a range has.
        (usage == Use::Write).then(|| all.iter().find(takes)).flatten()
    }
}

/// Whether the members of a form are plain texts, as far as they are scalars.
pub(super) fn writes_texts(body: &MediaType) -> bool {
    let kind = media::MediaType::of(&body.name);
    // A part of its own media type may be anything.
    let is_said = body.encoding.iter().any(|(_, encoding)| encoding.pointer("/contentType").is_some());
    (kind.is_form() || kind.is_multipart()) && !is_said
}

/// Whether a header is exploded, and its media type if it has one.
fn header<'v>(version: &'v Version, response: &Response, header: &Header) -> (bool, Option<&'v str>) {
    let pointer = join(&join(&response.place.pointer, "headers"), &header.name);
    let written = behind(version, response.place.source, &pointer);
    let content = written.and_then(|written| written.get("content")).map(Tree::members).unwrap_or_default();
    (flag(written, "explode").unwrap_or_default(), content.first().map(|member| member.key.as_str()))
}

fn flag(written: Option<&Tree>, name: &str) -> Option<bool> {
    written?.get(name)?.as_bool()
}

/// What `encoding` says of members beyond what holds without it (OpenAPI 3.1, 4.8.15.1).
fn of_members(graph: &Graph, body: &MediaType) -> BTreeMap<String, Json> {
    let form = Flat::of(graph, &list(body.schema));
    let kind = media::MediaType::of(&body.name);
    let said = body.encoding.iter().map(|(name, encoding)| {
        let types = Flat::of(graph, &form.applicable(name)).types();
        (name.clone(), beyond_defaults(encoding, types, kind.is_multipart()))
    });
    said.filter(|(_, encoding)| encoding.as_object().is_none_or(|members| !members.is_empty())).collect()
}

fn beyond_defaults(encoding: &Json, types: Types, parts: bool) -> Json {
    let Json::Object(members) = encoding else { return encoding.clone() };
    let is_scalar = types.and(Types::OBJECT.or(Types::ARRAY)).is_empty();
    let usual = match types {
        Types::OBJECT => "application/json",
        _ if is_scalar => "text/plain",
        _ => "",
    };
    let is_default = |name: &str, value: &Json| match (name, value) {
        ("contentType", Json::String(media)) => media.eq_ignore_ascii_case(usual),
        // Of a plain text in a form nothing is joined; in parts these would replace the media type.
        ("style", Json::String(style)) => is_scalar && !parts && style == "form",
        ("explode" | "allowReserved", Json::Bool(_)) => is_scalar && !parts,
        ("headers", Json::Object(headers)) => headers.is_empty(),
        (name, _) => name.starts_with("x-"),
    };
    let rest = members.iter().filter(|(name, value)| !is_default(name, value));
    Json::Object(rest.map(|(name, value)| (name.to_owned(), value.clone())).collect())
}
