//! Validates requests: the presence of credentials, the media type of the body, and the values of parameters
//! and body.

use std::{collections::HashMap, sync::Arc};

use contract_codegen_core::{
    conjunction::{SchemaConjunction, SchemaFacts},
    credentials::SecuritySchemeKind,
    locations::LocationFormatter,
    plan::{PlannedCall, StreamItem},
    schema::{SchemaId, TypeSet},
    tree::DocumentLocation,
};
use contract_runtime::{
    Json,
    multipart::MultipartField,
    operation::{BodyFormat, Operation},
    parameters::QueryPairs,
    sequence::{DecodeFault, ItemDecoder},
    server::{self, Bytes, Rejection, RequestContext, media},
    violation::{Violations, violation_message},
};
use http::{StatusCode, header, request::Parts};

use super::{
    MockServer,
    problem::{MessageViolation, ProblemResponse, describe_violations},
};

/// The pointer of violations by the header `Content-Type`.
pub(super) const CONTENT_TYPE_POINTER: &str = "/content-type";

impl MockServer {
    /// Validates the credentials, the parameters and the body of a request. If the request violates the
    /// contract, returns an error response that lists the violations.
    pub(super) fn validate_request(
        &self,
        at: usize,
        parts: &Arc<Parts>,
        body: &Bytes,
    ) -> Result<(), ProblemResponse> {
        let call = &self.plan.calls[at];
        let (Some(operation), Some(of_body)) = (self.operations.all().get(at), self.bodies.get(at)) else {
            return Ok(());
        };
        self.check_credentials(call, parts)?;
        if let Some(known) = unsupported_media_type(operation, parts, body) {
            let detail = format!("the body must be {}", known.join(" or "));
            return Err(ProblemResponse::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
                .with_header(header::ACCEPT, &known.join(", ")));
        }
        let context = |operation| RequestContext::new(Arc::clone(parts), Some(operation), body.clone());
        let body_violations = self.body_violations(call, of_body, context(of_body))?;
        let mut found = self.parameter_violations(call, operation, context(operation));
        found.extend(body_violations);
        if found.is_empty() {
            return Ok(());
        }
        let detail = describe_violations(&found);
        Err(ProblemResponse { violations: found, ..ProblemResponse::new(StatusCode::BAD_REQUEST, detail) })
    }

    /// Validates the credentials, the parameters and the body of a request. Returns all violations, also those
    /// that the mock server answers with a status other than 400.
    pub(super) fn request_violations(
        &self,
        at: usize,
        parts: &Arc<Parts>,
        body: &Bytes,
    ) -> Vec<MessageViolation> {
        let call = &self.plan.calls[at];
        let (Some(operation), Some(of_body)) = (self.operations.all().get(at), self.bodies.get(at)) else {
            return Vec::new();
        };
        let violation = |place, pointer: &str, keyword: &str, message| MessageViolation {
            place,
            pointer: pointer.to_owned(),
            keyword: keyword.to_owned(),
            message,
            origin: LocationFormatter::new(self.contract).format_location(&call.operation.place),
        };
        let context = |operation| RequestContext::new(Arc::clone(parts), Some(operation), body.clone());
        let mut found = Vec::new();
        if let Some(required) = self.missing_credentials(call, parts) {
            found.push(violation("credentials", "", "security", format!("are missing: {required}")));
        }
        found.extend(self.parameter_violations(call, operation, context(operation)));
        if let Some(known) = unsupported_media_type(operation, parts, body) {
            let message = format!("must be {}", known.join(" or "));
            found.push(violation("header", CONTENT_TYPE_POINTER, "content", message));
            return found;
        }
        match self.body_violations(call, of_body, context(of_body)) {
            Ok(violations) => found.extend(violations),
            Err(_) => {
                let message = "has a part with a media type that the contract does not declare".to_owned();
                found.push(violation("body", "", "contentMediaType", message));
            }
        }
        found
    }

    /// Returns the alternatives of credentials, such as `` `token`, or `key` with `session` ``, if the request
    /// has the credentials of none of them. The values of the credentials are not verified.
    fn missing_credentials(&self, call: &PlannedCall<'_>, parts: &Parts) -> Option<String> {
        let security = &call.operation.security;
        let met = |scheme: &str| {
            let kind = self.schemes.iter().find(|each| each.name == scheme).map(|each| &each.kind);
            // A scheme that the contract does not declare cannot be checked, so it counts as satisfied.
            kind.is_none_or(|kind| has_credentials(kind, parts))
        };
        if security.is_empty() || security.iter().any(|all| all.iter().all(|(scheme, _)| met(scheme))) {
            return None;
        }
        let names = |all: &Vec<(String, Vec<String>)>| {
            all.iter().map(|(scheme, _)| format!("`{scheme}`")).collect::<Vec<_>>().join(" with ")
        };
        Some(security.iter().map(names).collect::<Vec<_>>().join(", or "))
    }

    /// Checks that the request has the credentials of one alternative.
    fn check_credentials(&self, call: &PlannedCall<'_>, parts: &Parts) -> Result<(), ProblemResponse> {
        let Some(required) = self.missing_credentials(call, parts) else { return Ok(()) };
        let problem_response = ProblemResponse::new(
            StatusCode::UNAUTHORIZED,
            format!("the request must have credentials: {required}; any value is accepted"),
        );
        let mut challenges = call.operation.security.iter().flatten().filter_map(|(scheme, _)| {
            let kind = &self.schemes.iter().find(|each| each.name == *scheme)?.kind;
            match kind {
                SecuritySchemeKind::Basic => Some("Basic realm=\"mock\"".to_owned()),
                SecuritySchemeKind::BearerToken { .. } => Some("Bearer".to_owned()),
                SecuritySchemeKind::HttpScheme(word) => Some(word.clone()),
                _ => None,
            }
        });
        Err(match challenges.next() {
            Some(challenge) => problem_response.with_header(header::WWW_AUTHENTICATE, &challenge),
            None => problem_response,
        })
    }

    fn parameter_violations(
        &self,
        call: &PlannedCall<'_>,
        operation: &'static Operation,
        context: RequestContext,
    ) -> Vec<MessageViolation> {
        let Err(rejection) = server::IncomingRequest::new(operation, context) else { return Vec::new() };
        let places = LocationFormatter::new(self.contract);
        let Rejection::InvalidParameters(faults) = &rejection else {
            let found = rejection.violations().into_iter().map(|violation| MessageViolation {
                place: "query",
                pointer: String::new(),
                keyword: violation.keyword.to_owned(),
                message: violation.message,
                origin: places.format_location(&call.operation.place),
            });
            return found.collect();
        };
        let found = faults.iter().map(|fault| {
            let own = call.parameters.iter().find(|parameter| {
                parameter.row.name == fault.name && parameter.row.location == fault.location
            });
            MessageViolation {
                place: fault.location.as_str(),
                pointer: fault.pointer.clone(),
                keyword: fault.keyword.to_owned(),
                message: fault.message(),
                origin: places.format_location(own.map_or(&call.operation.place, |own| &own.parameter.place)),
            }
        });
        found.collect()
    }

    /// Returns the violations of the body.
    ///
    /// # Errors
    /// Returns an error response with status 415 if a part of a multipart body has a media type that the
    /// contract does not declare.
    fn body_violations(
        &self,
        call: &PlannedCall<'_>,
        operation: &'static Operation,
        context: RequestContext,
    ) -> Result<Vec<MessageViolation>, ProblemResponse> {
        let (Some(expected), Some(body)) = (&operation.body, &call.body) else { return Ok(Vec::new()) };
        let at = |pointer: String, keyword: &str, message: String| MessageViolation {
            place: "body",
            pointer,
            keyword: keyword.to_owned(),
            message,
            origin: LocationFormatter::new(self.contract).format_location(&body.body.place),
        };
        let one = |keyword: &str, message: String| vec![at(String::new(), keyword, message)];
        if context.body().is_empty() {
            let missing = || one("required", violation_message("required", None));
            return Ok(if expected.required { missing() } else { Vec::new() });
        }
        let named = context.header(header::CONTENT_TYPE.as_str()).and_then(|line| expected.content_for(line));
        let Some(content) = named.or(expected.content.first()) else { return Ok(Vec::new()) };
        let own = expected.content.iter().position(|each| each.media_type == content.media_type);
        let media = own.and_then(|own| Some(body.contents.get(own)?.media));
        if let Some(item) = media.and_then(|media| self.item_type(media)) {
            return Ok(self.item_violations(&item, context.body(), &body.body.place));
        }
        let text = context.body().clone();
        let Ok(read) = server::IncomingRequest::new(operation, context) else { return Ok(Vec::new()) };
        let judged = match content.format {
            BodyFormat::Json | BodyFormat::Form(..) => read.value_body::<Json>().map(drop),
            BodyFormat::Multipart(_) => read.multipart_body::<Vec<MultipartField>>().map(drop),
            BodyFormat::Text => read.text_body().and_then(|text| {
                let schema = media.and_then(|media| media.schema);
                let validator = content.validator.filter(|_| schema.is_some_and(|id| self.allows_string(id)));
                let valid = validator.map_or(Ok(()), |validator| validator.validate(&Json::from(text)));
                valid.map_err(Rejection::InvalidBody)
            }),
            BodyFormat::Bytes | BodyFormat::Stream | BodyFormat::Items(_) => Ok(()),
        };
        Ok(match judged {
            Ok(()) => Vec::new(),
            Err(rejection @ Rejection::UnsupportedMediaType { .. }) => {
                return Err(ProblemResponse::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, rejection.to_string()));
            }
            Err(Rejection::InvalidBody(violations)) => self.convert_violations("", &violations),
            Err(Rejection::MalformedBody) if matches!(content.format, BodyFormat::Json) => {
                let why = Json::parse(&text).err().map(|error| format!(": {error}")).unwrap_or_default();
                one("contentMediaType", format!("is not a JSON document{why}"))
            }
            Err(rejection) => {
                // The place of the violation already names the body.
                let text = rejection.to_string();
                one("contentMediaType", text.strip_prefix("the body ").unwrap_or(&text).to_owned())
            }
        })
    }

    /// Returns the violations of the items of a stream body. `place` is the location of the body in the
    /// contract.
    pub(super) fn item_violations(
        &self,
        item: &StreamItem,
        body: &[u8],
        place: &DocumentLocation,
    ) -> Vec<MessageViolation> {
        let mut found = Vec::new();
        for (index, read) in self.decode_items(item, body) {
            let pointer = format!("/{index}");
            match read {
                Ok(value) => {
                    let valid = item.schema.map_or(Ok(()), |schema| self.tables.validate(schema, &value));
                    let violations = valid.err().into_iter();
                    found.extend(violations.flat_map(|all| self.convert_violations(&pointer, &all)));
                }
                Err(message) => found.push(MessageViolation {
                    place: "body",
                    pointer,
                    keyword: "contentMediaType".to_owned(),
                    message,
                    origin: LocationFormatter::new(self.contract).format_location(place),
                }),
            }
        }
        found
    }

    /// Decodes the items of a stream body. Returns the index of each item, with its value or a decoding
    /// error.
    pub(super) fn decode_items(
        &self,
        item_type: &StreamItem,
        body: &[u8],
    ) -> Vec<(u64, Result<Json, String>)> {
        let format = self.item_format(item_type);
        // The decoder replaces each byte that is not valid UTF-8 by three bytes, so the limit is three times
        // the size of the body.
        let mut decoder = ItemDecoder::new(item_type.framing, body.len().saturating_mul(3));
        decoder.push(body);
        decoder.finish();
        let mut items = Vec::new();
        while let Some(item) = decoder.next_item() {
            let item = match item {
                Ok(item) => item,
                Err(fault) => {
                    let why = match fault {
                        DecodeFault::TooLarge(_) => "is too large",
                        _ => "was cut off",
                    };
                    items.push((fault.position().index, Err(why.to_owned())));
                    continue;
                }
            };
            if format.is_end_marker(&item) {
                break;
            }
            let read = Json::parse(&item_type.form.read_document(&item));
            items.push((
                item.position.index,
                read.map_err(|error| format!("is not a JSON document: {error}")),
            ));
            if format.is_last_event(item.event.as_deref()) {
                break;
            }
        }
        items
    }

    /// Converts violations that the validation tables found into violations of a message. `within` is the
    /// pointer to the validated item of a stream, or empty for a whole body.
    pub(super) fn convert_violations(&self, within: &str, violations: &Violations) -> Vec<MessageViolation> {
        let places = LocationFormatter::new(self.contract);
        let graph = &self.contract.graph;
        let located = self.schemas_by_location.get_or_init(|| {
            graph.ids().map(|id| (graph.absolute_location(id), id)).collect::<HashMap<String, SchemaId>>()
        });
        let found = violations.iter().map(|violation| {
            let schema = located.get(&*violation.schema).map(|id| graph.schema(*id));
            MessageViolation {
                place: "body",
                pointer: format!("{within}{}", violation.pointer),
                keyword: violation.keyword.to_owned(),
                message: violation.message(),
                origin: schema.map_or_else(
                    || violation.schema.to_string(),
                    |schema| places.format_location(&schema.place),
                ),
            }
        });
        found.collect()
    }

    pub(crate) fn schema_facts(&self, schema: SchemaId) -> SchemaFacts {
        SchemaFacts::from_conjunction(
            &self.contract.graph,
            &SchemaConjunction::from_schema(schema),
            self.contract.options.implied_objects,
        )
    }

    /// Returns true if a schema may accept strings.
    pub(crate) fn allows_string(&self, schema: SchemaId) -> bool {
        self.schema_facts(schema).types.contains(TypeSet::STRING)
    }
}

/// Returns the media types that the operation accepts if the body of the request has another one.
fn unsupported_media_type(operation: &Operation, parts: &Parts, body: &Bytes) -> Option<Vec<&'static str>> {
    let expected = operation.body.as_ref()?;
    let missing = body.is_empty() && !parts.headers.contains_key(header::CONTENT_TYPE);
    let supported = missing || media::accepts(expected, &parts.headers);
    (!supported).then(|| expected.content.iter().map(|content| content.media_type).collect())
}

fn has_credentials(kind: &SecuritySchemeKind, parts: &Parts) -> bool {
    let authorization = || parts.headers.get(header::AUTHORIZATION).and_then(|line| line.to_str().ok());
    let is = |names: &[&str]| {
        authorization().and_then(|line| line.split_once(' ')).is_some_and(|(word, secret)| {
            !secret.trim().is_empty() && names.iter().any(|known| known.eq_ignore_ascii_case(word))
        })
    };
    match kind {
        SecuritySchemeKind::Header(name) => parts.headers.contains_key(name.as_str()),
        SecuritySchemeKind::Query(name) => {
            let query = QueryPairs::parse(parts.uri.query().unwrap_or_default());
            query.is_ok_and(|query| query.values(name).next().is_some())
        }
        SecuritySchemeKind::Cookie(name) => {
            let lines = parts.headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
            let mut pairs = lines.flat_map(|line| line.split(';'));
            pairs.any(|pair| pair.split_once('=').is_some_and(|(own, _)| own.trim() == name))
        }
        SecuritySchemeKind::Basic => is(&["Basic"]),
        // A bearer token that is bound to a key is sent with the scheme `DPoP` (RFC 9449, 7.1).
        SecuritySchemeKind::BearerToken { .. } => is(&["Bearer", "DPoP"]),
        SecuritySchemeKind::HttpScheme(word) => is(&[word]),
        // Credentials of the connection, such as client certificates, are not visible here.
        SecuritySchemeKind::MutualTls => true,
    }
}
