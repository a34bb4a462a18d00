//! Compares the serialization of values in form encodings and response headers.

use std::collections::BTreeMap;

use contract_codegen_core::{
    api::{MediaType, ResponseHeader},
    schema::TypeSet,
};
use contract_runtime::{Json, media_type};

use super::{
    comparison::Comparison,
    directions::VersionSchemas,
    findings::PlacePair,
    flattened::FlattenedSchema,
    media::media_type_key,
    operations::optional_schema,
    proof::VersionSide,
    rules,
    site::{ComparisonSite, StringScope},
};

/// Reports a change of the `encoding` of the properties of a form.
pub(super) fn compare_encodings<'g>(
    comparison: &mut Comparison<'g>,
    (before, after): (&MediaType, &MediaType),
    places: PlacePair<'_>,
    site: &ComparisonSite,
) {
    // `encoding` applies only to forms (OpenAPI 3.1, 4.8.14.1).
    if before.encoding == after.encoding || !is_form(before) && !is_form(after) {
        return;
    }
    let (old, new) = (comparison.graph(VersionSide::Old), comparison.graph(VersionSide::New));
    let (rule, effect) = if effective_encodings(old, before) == effective_encodings(new, after) {
        (rules::SERIALIZATION_REWRITTEN, "changed without effect on the wire format")
    } else {
        (rules::ENCODING_CHANGED, "changed")
    };
    comparison.report_change_at(rule, site, places, format!("`encoding` of `{}` {effect}", before.name));
}

/// Describes the change in the serialization of a response header. Returns `None` if there is no change.
pub(super) fn describe_header_change(
    comparison: &Comparison<'_>,
    old: &ResponseHeader,
    new: &ResponseHeader,
) -> Option<String> {
    let media_type = |header: &ResponseHeader| header.content.as_deref().map(media_type_key);
    let is_object = |side: VersionSide, header: &ResponseHeader| {
        let schema = optional_schema(header.schema);
        FlattenedSchema::from_schemas(comparison.graph(side), &schema).types().contains(TypeSet::OBJECT)
    };
    if media_type(old) != media_type(new) {
        let describe =
            |media: Option<&str>| media.map_or_else(|| "plain text".to_owned(), |media| format!("`{media}`"));
        let (is, was) = (describe(new.content.as_deref()), describe(old.content.as_deref()));
        return Some(format!("the encoding of the header changed from {was} to {is}"));
    }
    let is_changed = old.explode != new.explode
        && new.content.is_none()
        && (is_object(VersionSide::Old, old) || is_object(VersionSide::New, new));
    is_changed.then(|| "`explode` of the header changed".to_owned())
}

/// Returns the site of a body with its [`StringScope`]. Scalars are sent as plain
/// strings in the properties of a form, and as the whole value of a `text/plain` body.
pub(super) fn with_string_encoding(
    comparison: &Comparison<'_>,
    (before, after): (&MediaType, &MediaType),
    site: ComparisonSite,
) -> ComparisonSite {
    let (old, new) = (comparison.graph(VersionSide::Old), comparison.graph(VersionSide::New));
    let is_plain_text = |media: &MediaType| media_type_key(&media.name).0 == "text/plain";
    let has_defaults = |graph, media| effective_encodings(graph, media).is_empty();
    if encodes_scalars_as_strings(old, before) && encodes_scalars_as_strings(new, after) {
        site.with_string_scope(match has_defaults(old, before) && has_defaults(new, after) {
            true => StringScope::RepeatedMembers,
            false => StringScope::Members,
        })
    } else if is_plain_text(before) && is_plain_text(after) {
        site.with_string_scope(StringScope::Value)
    } else {
        site
    }
}

fn is_form(body: &MediaType) -> bool {
    let kind = media_type::MediaType::parse(&body.name);
    kind.is_form() || kind.is_multipart()
}

/// Returns true if scalar properties of a form are sent as plain strings.
fn encodes_scalars_as_strings<'g>(graph: &'g VersionSchemas<'g>, body: &MediaType) -> bool {
    // A part with an explicit media type may have any content.
    let has_default_type = |encoding: &Json| {
        !encoding.as_object().is_some_and(|properties| properties.contains_key("contentType"))
    };
    is_form(body) && effective_encodings(graph, body).values().all(has_default_type)
}

/// Returns the `encoding` fields of each property that differ from the defaults (OpenAPI 3.1, 4.8.15.1).
fn effective_encodings<'g>(graph: &'g VersionSchemas<'g>, body: &MediaType) -> BTreeMap<String, Json> {
    let form = FlattenedSchema::from_schemas(graph, &optional_schema(body.schema));
    let is_multipart = media_type::MediaType::parse(&body.name).is_multipart();
    let encodings = body.encoding.iter().map(|(name, encoding)| {
        let member = FlattenedSchema::from_schemas(graph, &form.property_schemas(name));
        (name.clone(), without_default_encoding(encoding, &member, is_multipart))
    });
    encodings.filter(|(_, encoding)| encoding.as_object().is_none_or(|members| !members.is_empty())).collect()
}

fn without_default_encoding(encoding: &Json, member: &FlattenedSchema<'_>, parts: bool) -> Json {
    let Json::Object(members) = encoding else { return encoding.clone() };
    let is_scalar = member.types().intersection(TypeSet::OBJECT.union(TypeSet::ARRAY)).is_empty();
    let is_default = |name: &str, value: &Json| match (name, value) {
        ("contentType", Json::String(name)) => {
            Some(media_type_key(name)) == default_media_type(member).map(media_type_key)
        }
        // A scalar in a form has no parts to join. In multipart bodies, these fields would replace the media
        // type.
        ("style", Json::String(style)) => is_scalar && !parts && style == "form",
        ("explode" | "allowReserved", Json::Bool(_)) => is_scalar && !parts,
        ("headers", Json::Object(headers)) => headers.is_empty(),
        (name, _) => name.starts_with("x-"),
    };
    let rest = members.iter().filter(|(name, value)| !is_default(name, value));
    Json::Object(rest.map(|(name, value)| (name.to_owned(), value.clone())).collect())
}

/// Returns the default media type of a property in a form (OpenAPI 3.0, 4.7.15.1, and 3.1, 4.8.15.1). The
/// default of an array is the default of its elements.
fn default_media_type(member: &FlattenedSchema<'_>) -> Option<&'static str> {
    let is_binary = |flat: &FlattenedSchema<'_>| {
        flat.any_schema(|schema| {
            schema.content_encoding.is_some() || schema.format.as_deref() == Some("binary")
        })
    };
    let elements;
    let member = match member.types().difference(TypeSet::NULL) {
        TypeSet::ARRAY => {
            elements = FlattenedSchema::from_schemas(member.graph, &member.element_schemas(None));
            &elements
        }
        _ => member,
    };
    match member.types().difference(TypeSet::NULL) {
        TypeSet::STRING if is_binary(member) => Some("application/octet-stream"),
        TypeSet::OBJECT => Some("application/json"),
        types if types.intersection(TypeSet::OBJECT.union(TypeSet::ARRAY)).is_empty() => Some("text/plain"),
        _ if member.types() == TypeSet::ALL => Some("application/octet-stream"),
        _ => None,
    }
}
