//! Error responses in the form that the contract declares for their status, so that generated clients can parse them.

use std::collections::VecDeque;

use contract_codegen_core::{api, schema::SchemaId};
use contract_runtime::{Json, media_type::MediaType, server::Bytes};
use http::{HeaderMap, HeaderValue, Response, header, request::Parts};

use super::{
    MockServer, SelectedResponse, mix_seed,
    preferences::{RequestPreferences, negotiate_media_type},
    problem::ProblemResponse,
};

/// The names of properties that contain the reason of an error, in lower case and without separators. The first
/// that occurs is used.
const REASON_NAMES: [&str; 7] =
    ["message", "detail", "errordescription", "errormessage", "description", "reason", "title"];

impl MockServer {
    /// Returns an error of the mock server as the response that the operation declares for its status. Returns `None`
    /// if it declares no body for the status, or if no valid body is known.
    pub(super) fn declared_error(
        &self,
        at: usize,
        parts: &Parts,
        problem: &ProblemResponse,
    ) -> Option<Response<Bytes>> {
        let selected = self.response_for_status(at, problem.status.as_u16()).ok()?;
        let described = selected.response?;
        // An `Accept` that matches nothing must not hide the reason.
        let (media, name) = negotiate_media_type(&parts.headers, &described.content)
            .or_else(|| negotiate_media_type(&HeaderMap::new(), &described.content))?;
        let operation = &self.plan.calls[at].operation.id;
        let body = self.error_body((&selected, media, &name), problem, operation)?;
        let seed = mix_seed(self.base_seed(&selected), &[]);
        let headers = self.response_headers(described, seed).ok()?;
        let mut response = Response::new(body);
        *response.status_mut() = problem.status;
        response.headers_mut().extend(headers);
        for (name, value) in &problem.headers {
            response.headers_mut().insert(name, value.clone());
        }
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::try_from(name).ok()?);
        Some(response)
    }

    fn error_body(
        &self,
        (selected, media, name): (&SelectedResponse, &'static api::MediaType, &str),
        problem: &ProblemResponse,
        operation: &str,
    ) -> Option<Bytes> {
        let kind = MediaType::parse(name);
        if kind.is_json() && kind.subtype().eq_ignore_ascii_case("problem+json") {
            let own = problem.to_json(Some(operation));
            if media.schema.is_none_or(|schema| self.tables.is_valid(schema, &own)) {
                return Some(Bytes::from(own.to_string()));
            }
        }
        let sample =
            self.response_body(selected, media, name, &RequestPreferences::default(), None).ok()?.body;
        let is_stream = self.item_type(media).is_some();
        let Some(schema) = media.schema.filter(|_| !is_stream) else { return Some(sample) };
        if kind.is_json() {
            let value = Json::parse(&sample).ok()?;
            return Some(Bytes::from(self.with_reason(schema, value, problem).to_string()));
        }
        let reason = Json::from(problem.detail.as_str());
        let is_text = kind.is_text() && self.allows_string(schema) && self.tables.is_valid(schema, &reason);
        Some(if is_text { Bytes::from(problem.detail.clone()) } else { sample })
    }

    /// Returns the sample of an error body with the reason in the first property that is named like one and that may
    /// contain it. A property `status` is set to the status.
    fn with_reason(&self, schema: SchemaId, sample: Json, problem: &ProblemResponse) -> Json {
        let set = |sample: &Json, pointer: &str, value: Json| {
            let mut changed = sample.clone();
            *changed.pointer_mut(pointer)? = value;
            Some(changed).filter(|changed| self.tables.is_valid(schema, changed))
        };
        let strings = string_pointers(&sample);
        let mut named = REASON_NAMES.iter().flat_map(|wanted| {
            strings.iter().filter(move |(name, _)| name == wanted).map(|(_, pointer)| pointer)
        });
        let reason = Json::from(problem.detail.as_str());
        let sample = named.find_map(|pointer| set(&sample, pointer, reason.clone())).unwrap_or(sample);
        match sample.pointer("/status") {
            Some(Json::Number(_)) => {
                let status = Json::from(i64::from(problem.status.as_u16()));
                set(&sample, "/status", status).unwrap_or(sample)
            }
            _ => sample,
        }
    }
}

/// Returns the strings in a value, each with the name of its property in lower case and its pointer, outer objects
/// first.
fn string_pointers(value: &Json) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut waiting = VecDeque::from([(value, String::new(), String::new())]);
    while let Some((value, name, pointer)) = waiting.pop_front() {
        match value {
            Json::String(_) => found.push((name, pointer)),
            Json::Object(members) => {
                for (name, value) in members {
                    let plain = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
                    let inner = contract_runtime::pointer::join_token(&pointer, name);
                    waiting.push_back((value, plain.to_ascii_lowercase(), inner));
                }
            }
            Json::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    waiting.push_back((value, name.clone(), format!("{pointer}/{index}")));
                }
            }
            _ => {}
        }
    }
    found
}
