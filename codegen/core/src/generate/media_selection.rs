//! Selects the media types that generated code sends and accepts if a body lists several.
//!
//! By default, only the JSON and streamed media types of a body that lists JSON are selected. Otherwise, XML
//! or text beside JSON would make the type of the body an enum. `[operations] media` selects other media
//! types. Media types of bodies that the configuration passes as bytes are never omitted.

use std::collections::BTreeMap;

use contract_runtime::{media_type::MediaType as Name, operation::ItemFraming};

use crate::{
    api::{MediaType, OpenApiDocument, Operation, Response},
    config::Config,
    diagnostics::{Diagnostic, Diagnostics},
    plan::{ResponseOutcome, outcome_of},
    resolve::suggest::help_nearest,
    tree::DocumentLocation,
};

/// Marks the media types that generated code neither sends nor accepts, and reports them with one note.
pub(super) fn omit_media_types(api: &mut OpenApiDocument, config: &Config, diagnostics: &mut Diagnostics) {
    check_media_option(api, config, diagnostics);
    diagnostics.extend(mark_media_types(api, config).into_note(config));
}

/// Marks the media types that the generated code certainly does not exchange, so that their schemas get no types.
/// Ranges are not marked, because some of them become JSON when their types are known.
pub(super) fn premark_media_types(api: &mut OpenApiDocument, config: &Config) {
    mark_media_types(api, config);
    for operation in api.operations.iter_mut().chain(&mut api.webhooks) {
        let bodies = operation.request_body.iter_mut().flat_map(|body| &mut body.content);
        let responses = operation.responses.iter_mut().flat_map(|response| &mut response.content);
        for media in bodies.chain(responses).filter(|media| Name::parse(&media.name).is_range()) {
            media.omitted = false;
        }
    }
}

fn mark_media_types(api: &mut OpenApiDocument, config: &Config) -> OmittedMediaTypes {
    let mut omitted = OmittedMediaTypes::default();
    for operation in api.operations.iter_mut().chain(&mut api.webhooks) {
        let kept = BytesOnly::new(config, operation);
        if let Some(body) = operation.request_body.as_mut().filter(|_| !kept.request) {
            omitted.mark(config, &body.place, &mut body.content);
        }
        let is_success =
            |response: &Response| outcome_of(operation, response.status) == Some(ResponseOutcome::Success);
        let skipped: Vec<bool> =
            operation.responses.iter().map(|response| kept.responses && is_success(response)).collect();
        for (response, skipped) in operation.responses.iter_mut().zip(skipped) {
            if !skipped {
                omitted.mark(config, &response.place, &mut response.content);
            }
        }
    }
    omitted
}

/// The bodies of an operation that the configuration passes as bytes.
struct BytesOnly {
    request: bool,
    responses: bool,
}

impl BytesOnly {
    fn new(config: &Config, operation: &Operation) -> Self {
        let raw = config.operations.raw.contains(&operation.id);
        Self {
            request: raw || config.streams.uploads.contains(&operation.id),
            responses: raw || config.streams.downloads.contains(&operation.id),
        }
    }
}

/// The omitted media types of all bodies.
#[derive(Default)]
struct OmittedMediaTypes {
    /// The number of bodies, by media type.
    counts: BTreeMap<String, usize>,
    /// The first body with an omitted media type.
    first: Option<DocumentLocation>,
}

impl OmittedMediaTypes {
    fn mark(&mut self, config: &Config, place: &DocumentLocation, content: &mut [MediaType]) {
        let selected: Vec<bool> = content.iter().map(|media| is_listed(config, &media.name)).collect();
        let has_selected = selected.contains(&true);
        let has_json = content.iter().any(|media| Name::parse(&media.name).is_json());
        for (media, selected) in content.iter_mut().zip(selected) {
            let name = Name::parse(&media.name);
            let streamed = ItemFraming::from_media_type(&name).is_some();
            let kept = if has_selected { selected } else { !has_json || name.is_json() || streamed };
            media.omitted = !kept;
            if media.omitted {
                *self.counts.entry(name.essence().to_ascii_lowercase()).or_default() += 1;
                self.first.get_or_insert_with(|| place.clone());
            }
        }
    }

    fn into_note(self, config: &Config) -> Option<Diagnostic> {
        let names: Vec<String> = self
            .counts
            .iter()
            .map(|(name, count)| {
                let bodies = if *count == 1 { "body" } else { "bodies" };
                format!("`{name}` of {count} {bodies}")
            })
            .collect();
        let place = self.first?;
        let default = ["application/json".to_owned()];
        let list = if config.operations.media.is_empty() { &default[..] } else { &config.operations.media };
        let all: Vec<String> =
            list.iter().chain(self.counts.keys()).map(|name| format!("{name:?}")).collect();
        let message = format!(
            "some bodies have several media types, of which these are not generated: {}",
            names.join(", ")
        );
        let help = format!("to generate them as well, set `[operations] media = [{}]`", all.join(", "));
        Some(Diagnostic::note("media-types", message).with_place(place).help(help))
    }
}

/// Returns true if `[operations] media` lists a media type, or a range that contains it.
fn is_listed(config: &Config, name: &str) -> bool {
    let name = Name::parse(name);
    config.operations.media.iter().any(|listed| is_selected(&Name::parse(listed), &name))
}

/// Returns true if an entry of `[operations] media` selects a media type.
fn is_selected(listed: &Name<'_>, name: &Name<'_>) -> bool {
    listed.contains(name) || listed.essence().eq_ignore_ascii_case(name.essence())
}

/// Reports entries of `[operations] media` that match no body.
fn check_media_option(api: &OpenApiDocument, config: &Config, diagnostics: &mut Diagnostics) {
    let all = || api.operations.iter().chain(&api.webhooks);
    let bodies = all().flat_map(|operation| &operation.request_body).flat_map(|body| &body.content);
    let responses = all().flat_map(|operation| &operation.responses).flat_map(|response| &response.content);
    let names: Vec<Name<'_>> = bodies.chain(responses).map(|media| Name::parse(&media.name)).collect();
    for listed in &config.operations.media {
        let range = Name::parse(listed);
        if !names.iter().any(|name| is_selected(&range, name)) {
            diagnostics.push(
                Diagnostic::error("config", format!("`operations.media` does nothing for `{listed}`"))
                    .with_optional_place(config.option_place("operations.media", listed))
                    .help(help_nearest(
                        listed,
                        names.iter().map(|name| name.essence()),
                        "no body has this media type; remove it, or correct it",
                    )),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use crate::{api, config::Config, generate::Project, load::Sources};

    const CONTENT: &str = "{ application/json: { schema: { type: object } }, application/xml: {}, \
        text/event-stream: {}, application/problem+json: { schema: { type: object } } }";

    fn analyze(content: &str, config: &str) -> Result<([Vec<String>; 2], Vec<String>), String> {
        let document = format!(
            "openapi: 3.1.0
info: {{ title: T, version: '1' }}
paths:
  /a:
    post:
      operationId: a
      requestBody: {{ content: {content} }}
      responses: {{ '200': {{ description: '', content: {content} }} }}
"
        );
        let config: Config = toml::from_str(config).unwrap();
        let sources = Sources::from_texts(&[("a.yaml", "", &document)]).unwrap();
        let contract = Project { config, ..Project::default() }
            .analyze_sources(sources)
            .map_err(|problems| problems.render(false))?;
        let operation = &contract.api.operations[0];
        let names = |content| api::exchanged_media(content).map(|media| media.name.clone()).collect();
        let notes = contract.diagnostics.iter().filter(|each| each.code == "media-types");
        let notes =
            notes.map(|note| format!("{}; {}", note.message, note.help.as_deref().unwrap())).collect();
        let body = names(&operation.request_body.as_ref().unwrap().content);
        Ok(([body, names(&operation.responses[0].content)], notes))
    }

    #[test]
    fn json_is_exchanged_alone_by_default() {
        let check = |content: &str, config: &str, body: &[&str], response: &[&str]| {
            let (found, _) = analyze(content, config).unwrap();
            assert_eq!(found, [body, response], "{content} {config}");
        };
        let events = ["application/json", "text/event-stream", "application/problem+json"];
        check(CONTENT, "", &events, &events);
        let all = ["application/json", "application/xml", "text/event-stream", "application/problem+json"];
        check(CONTENT, "[operations]\nraw = ['a']", &all, &all);
        check(CONTENT, "[streams]\ndownloads = ['a']", &events, &all);
        check(CONTENT, "[streams]\nuploads = ['a']", &all, &events);
        check(
            "{ application/xml: {}, text/csv: {} }",
            "",
            &["application/xml", "text/csv"],
            &["application/xml", "text/csv"],
        );
    }

    #[test]
    fn option_selects_media_types_and_ranges() {
        let check = |content: &str, media: &str, expected: &[&str]| {
            let (found, _) = analyze(content, &format!("operations.media = {media}")).unwrap();
            assert_eq!(found, [expected, expected], "{media}");
        };
        check(CONTENT, "['Application/JSON', 'application/xml']", &["application/json", "application/xml"]);
        check(CONTENT, "['text/*']", &["text/event-stream"]);
        check(
            CONTENT,
            "['*/*']",
            &["application/json", "application/xml", "text/event-stream", "application/problem+json"],
        );
        check(
            "{ '*/*': {}, application/json: { schema: { type: object } } }",
            "['*/*']",
            &["*/*", "application/json"],
        );
        let error = analyze(CONTENT, "operations.media = ['text/csv']").unwrap_err();
        assert!(error.contains("`operations.media` does nothing for `text/csv`"), "{error}");
    }

    #[test]
    fn one_note_names_media_types_and_option() {
        let content = CONTENT.replace("text/event-stream", "text/csv");
        let (_, notes) = analyze(&content, "").unwrap();
        let expected = "some bodies have several media types, of which these are not generated: \
            `application/xml` of 2 bodies, `text/csv` of 2 bodies; to generate them as well, set `[operations] media = \
            [\"application/json\", \"application/xml\", \"text/csv\"]`";
        assert_eq!(notes, [expected]);
        assert!(analyze("{ application/xml: {} }", "").unwrap().1.is_empty());
    }
}
