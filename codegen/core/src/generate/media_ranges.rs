//! Replaces media type ranges such as `*/*` by JSON media types where the schema describes more than a
//! string, because only JSON is validated against such a schema.
//!
//! A range stays unchanged if the same content also lists a JSON media type with a different Rust type.

use std::collections::BTreeSet;

use contract_runtime::media_type::MediaType as Name;

use crate::{
    api::{MediaType, OpenApiDocument, Response},
    config::Config,
    conjunction::{SchemaConjunction, SchemaFacts},
    diagnostics::{Diagnostic, Diagnostics},
    plan::{ResponseOutcome, outcome_of},
    schema::{SchemaGraph, SchemaId, TypeSet},
    shape::Shapes,
};

/// The media type in which JSON is sent.
const JSON: &str = "application/json";
/// The other media types that a server accepts as JSON in a request body.
const JSON_SUFFIX_RANGE: &str = "application/*+json";

/// Replaces the media type ranges that are treated as JSON in all requests and responses. One note lists
/// their schemas.
pub(super) fn read_ranges_as_json(
    api: &mut OpenApiDocument,
    config: &Config,
    known: (&SchemaGraph, &Shapes),
    diagnostics: &mut Diagnostics,
) {
    let mut found: BTreeSet<SchemaId> = BTreeSet::new();
    for operation in api.operations.iter_mut().chain(&mut api.webhooks) {
        // Bodies that the configuration lists as raw, uploaded or downloaded bytes stay unchanged.
        let raw = config.operations.raw.contains(&operation.id);
        let upload = raw || config.streams.uploads.contains(&operation.id);
        let download = raw || config.streams.downloads.contains(&operation.id);
        if let Some(body) = operation.request_body.as_mut().filter(|_| !upload) {
            found.extend(read(known, &mut body.content, &[JSON, JSON_SUFFIX_RANGE]));
        }
        let is_success =
            |response: &Response| outcome_of(operation, response.status) == Some(ResponseOutcome::Success);
        let kept: Vec<bool> =
            operation.responses.iter().map(|response| download && is_success(response)).collect();
        for (response, kept) in operation.responses.iter_mut().zip(kept) {
            if !kept {
                found.extend(read(known, &mut response.content, &[JSON]));
            }
        }
    }
    let mut places: Vec<_> = found.into_iter().map(|id| known.0.schema(id).place.clone()).collect();
    places.sort_by_key(|place| (place.source, place.span.start));
    let Some((first, others)) = places.split_first() else { return };
    let message = match places.len() {
        1 => {
            "a media type range is treated as JSON, since its schema describes more than a string".to_owned()
        }
        count => format!(
            "{count} media type ranges are treated as JSON, since their schemas describe more than a string"
        ),
    };
    let help = "in the contract, replace the range by its media types, such as `application/json`";
    diagnostics.push(
        Diagnostic::note("ranges", message).with_place(first.clone()).with_related_places(others).help(help),
    );
}

/// Replaces each range in `content` that is treated as JSON with the media types `names`, unless they are
/// already listed. Returns the schemas of the replaced ranges.
fn read(known: (&SchemaGraph, &Shapes), content: &mut Vec<MediaType>, names: &[&str]) -> Vec<SchemaId> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(media) = content.get(at) {
        let Some(schema) = json_schema_of_range(known, content, media) else {
            at += 1;
            continue;
        };
        found.push(schema);
        let range = content.remove(at);
        for name in names {
            let is_listed = |other: &MediaType| Name::parse(&other.name).essence().eq_ignore_ascii_case(name);
            if !content.iter().any(is_listed) {
                content.insert(at, MediaType { name: (*name).to_owned(), ..range.clone() });
                at += 1;
            }
        }
    }
    found
}

/// Returns the schema of a media type if it is a range that is treated as JSON: the range includes JSON, the
/// schema describes more than a string, and every other JSON media type of the content has the same Rust
/// type.
fn json_schema_of_range(
    (graph, shapes): (&SchemaGraph, &Shapes),
    content: &[MediaType],
    media: &MediaType,
) -> Option<SchemaId> {
    let name = Name::parse(&media.name);
    let schema = media.schema.filter(|_| name.is_range() && name.contains(&Name::parse(JSON)))?;
    let facts = SchemaFacts::from_conjunction(graph, &SchemaConjunction::from_schema(schema), true);
    let says_nothing = facts.types == TypeSet::ALL && facts.open_unions.is_empty();
    let is_text = TypeSet::STRING.union(TypeSet::NULL).contains(facts.types);
    let mut json = content.iter().filter(|other| Name::parse(&other.name).is_json());
    let fits = json.all(|other| {
        other
            .schema
            .is_some_and(|own| shapes.type_of_schema(own).is_same_rust_type(shapes.type_of_schema(schema)))
    });
    (!says_nothing && !is_text && fits).then_some(schema)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use crate::{config::Config, generate::Project, load::Sources};

    /// Analyzes an operation whose request and response have this content. Returns the media types of both,
    /// and the messages of the notes.
    fn media_types(content: &str, config: Config) -> ([Vec<String>; 2], Vec<String>) {
        let document = format!(
            "openapi: 3.1.0
info: {{ title: T, version: '1' }}
paths:
  /a:
    post:
      operationId: a
      requestBody: {{ content: {content} }}
      responses: {{ '200': {{ description: '', content: {content} }} }}
components:
  schemas:
    Pet: {{ type: object, properties: {{ id: {{ type: integer }} }} }}
    Text: {{ type: [string, 'null'] }}
"
        );
        let sources = Sources::from_texts(&[("a.yaml", "", &document)]).unwrap();
        let contract = Project { config, ..Project::default() }.analyze_sources(sources).unwrap();
        let operation = &contract.api.operations[0];
        let names = |content: &[super::MediaType]| content.iter().map(|media| media.name.clone()).collect();
        let body = names(&operation.request_body.as_ref().unwrap().content);
        let notes = contract.diagnostics.iter().filter(|each| each.code == "ranges");
        let notes = notes.map(|note| format!("{} +{}", note.message, note.labels.len())).collect();
        ([body, names(&operation.responses[0].content)], notes)
    }

    #[test]
    fn ranges_with_structured_schemas_are_json() {
        let check = |content: &str, body: &[&str], response: &[&str]| {
            let (found, notes) = media_types(content, Config::default());
            assert_eq!(found, [body, response], "{content}");
            let is_read = content.contains('*') && !response.iter().any(|name| name.contains('*'));
            assert_eq!(!notes.is_empty(), is_read, "{content}: {notes:?}");
        };
        const PET: &str = "{ schema: { $ref: '#/components/schemas/Pet' } }";
        const BOTH: [&str; 2] = ["application/json", "application/*+json"];
        for range in ["'*/*'", "application/*", "'*/*;charset=UTF-8'"] {
            check(&format!("{{ {range}: {PET} }}"), &BOTH, &BOTH[..1]);
        }
        for schema in [
            "type: integer",
            "type: array",
            "type: boolean",
            "properties: { a: {} }",
            "oneOf: [{}, { type: object }]",
        ] {
            check(&format!("{{ '*/*': {{ schema: {{ {schema} }} }} }}"), &BOTH, &BOTH[..1]);
        }
        for schema in [
            "type: string",
            "type: string, format: binary",
            "",
            "$ref: '#/components/schemas/Text'",
            "maxLength: 3",
        ] {
            check(&format!("{{ '*/*': {{ schema: {{ {schema} }} }} }}"), &["*/*"], &["*/*"]);
        }
        check("{ '*/*': {} }", &["*/*"], &["*/*"]);
        check(&format!("{{ 'image/*': {PET} }}"), &["image/*"], &["image/*"]);
        let with_json = format!("{{ '*/*': {PET}, application/json: {PET} }}");
        check(&with_json, &["application/*+json", "application/json"], &["application/json"]);
        let with_other_json =
            format!("{{ '*/*': {PET}, application/json: {{ schema: {{ type: integer }} }} }}");
        check(&with_other_json, &["*/*", "application/json"], &["*/*", "application/json"]);
        let xml = format!("{{ application/xml: {PET}, '*/*': {PET} }}");
        check(&xml, &["application/xml", BOTH[0], BOTH[1]], &["application/xml", BOTH[0]]);
    }

    #[test]
    fn one_note_counts_all_ranges() {
        let content = "{ '*/*': { schema: { type: object } } }";
        let note =
            "2 media type ranges are treated as JSON, since their schemas describe more than a string +1";
        assert_eq!(media_types(content, Config::default()).1, [note]);
    }

    #[test]
    fn configured_byte_bodies_stay_bytes() {
        let check = |config: &str, body: &str, response: &str| {
            let content = "{ '*/*': { schema: { type: object } } }";
            let ([request_names, response_names], _) = media_types(content, toml::from_str(config).unwrap());
            assert_eq!((&*request_names[0], &*response_names[0]), (body, response), "{config}");
        };
        check("[operations]\nraw = ['a']", "*/*", "*/*");
        check("[streams]\ndownloads = ['a']", "application/json", "*/*");
        check("[streams]\nuploads = ['a']", "*/*", "application/json");
    }
}
