//! Validates the exchanges of a live service: a request and its response.

use std::sync::Arc;

use contract_codegen_core::{api, locations::LocationFormatter, plan::PlannedCall, stack::run_on_deep_stack};
use contract_runtime::{
    Json,
    media_type::MediaType,
    server::{self, Bytes, Rejection, RequestContext},
    violation::violation_message,
};
use http::{HeaderMap, Method, Request, Response, StatusCode, header};

use super::{
    MockServer, RouteResult, find_response, problem::MessageViolation, validate::CONTENT_TYPE_POINTER,
};

/// The violations of the contract by a request and its response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExchangeVerdict {
    /// The `operationId`; `None` if no operation matches the path and the method.
    pub operation: Option<String>,
    /// All violations by the request.
    pub request: Vec<MessageViolation>,
    /// All violations by the response.
    pub response: Vec<MessageViolation>,
    /// The reason why the body of the response was not validated, such as `it is encoded as br`; `None` if it
    /// was validated or the contract does not describe it.
    pub unvalidated: Option<String>,
}

impl MockServer {
    /// Validates a request to a live service and its response. Without a response, only the request is
    /// validated. A response without a body in memory has the reason instead, and its body is not validated.
    #[must_use]
    pub fn validate_exchange(
        &self,
        request: &Request<Bytes>,
        response: Option<&Response<Result<Bytes, String>>>,
    ) -> ExchangeVerdict {
        // Values and schemas may be nested more deeply than the stack of a server thread allows.
        run_on_deep_stack(|| self.exchange_verdict(request, response))
    }

    /// Validates a response of the operation with the index `at`, like [`MockServer::validate_exchange`].
    #[cfg(feature = "mcp")]
    pub(crate) fn response_verdict(
        &self,
        at: usize,
        method: &Method,
        response: &Response<Result<Bytes, String>>,
    ) -> ExchangeVerdict {
        run_on_deep_stack(|| {
            let mut verdict = ExchangeVerdict::default();
            self.validate_response(at, method, response, &mut verdict);
            verdict
        })
    }

    fn exchange_verdict(
        &self,
        request: &Request<Bytes>,
        response: Option<&Response<Result<Bytes, String>>>,
    ) -> ExchangeVerdict {
        let (parts, ()) = without_body(request).into_parts();
        let (at, parts) = match self.route_request(parts) {
            RouteResult::To(at, parts) => (at, parts),
            RouteResult::Done(done) => {
                let undeclared = done.err().map(|problem| {
                    let methods = problem.headers.first().and_then(|(_, methods)| methods.to_str().ok());
                    undeclared_target(problem.status, methods)
                });
                return ExchangeVerdict {
                    request: undeclared.into_iter().collect(),
                    ..ExchangeVerdict::default()
                };
            }
        };
        let call = &self.plan.calls[at];
        let mut verdict = ExchangeVerdict {
            operation: Some(call.operation.id.clone()),
            request: self.request_violations(at, &parts, request.body()),
            ..ExchangeVerdict::default()
        };
        if let Some(response) = response {
            self.validate_response(at, &parts.method, response, &mut verdict);
        }
        verdict
    }

    /// Adds the violations by the response to the operation with the index `at`.
    fn validate_response(
        &self,
        at: usize,
        method: &Method,
        response: &Response<Result<Bytes, String>>,
        verdict: &mut ExchangeVerdict,
    ) {
        let call: &'static PlannedCall<'static> = &self.plan.calls[at];
        let (status, declared) = (response.status(), &call.operation.responses);
        let Some(index) = find_response(declared, status.as_u16()) else {
            let known: Vec<String> = declared.iter().map(|each| each.status.key()).collect();
            let known = if known.is_empty() { "no status".to_owned() } else { known.join(", ") };
            verdict.response.push(MessageViolation {
                place: "status",
                pointer: String::new(),
                keyword: "responses".to_owned(),
                message: format!("{} is not declared, only {known}", status.as_u16()),
                origin: LocationFormatter::new(self.contract).format_location(&call.operation.place),
            });
            return;
        };
        let described = &declared[index];
        verdict.response.extend(self.header_violations(described, response.headers()));
        if let Some(row) = self.response_headers.get(at).and_then(|rows| rows.get(index)) {
            verdict.response.extend(self.header_value_violations(described, row, response.headers()));
        }
        let bodiless = *method == Method::HEAD
            || matches!(
                status,
                StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED
            );
        if bodiless || described.content.is_empty() {
            return;
        }
        let encoding = response.headers().get(header::CONTENT_ENCODING).and_then(|line| line.to_str().ok());
        let encoding = encoding.filter(|line| !line.eq_ignore_ascii_case("identity"));
        let body = match (response.body(), encoding) {
            (Err(reason), _) => Err(reason.clone()),
            (Ok(_), Some(encoding)) => Err(format!("it is encoded as {encoding}")),
            (Ok(body), None) => Ok(body),
        };
        match self.response_body_violations(described, response.headers(), body) {
            Ok(violations) => verdict.response.extend(violations),
            Err(reason) => verdict.unvalidated = Some(reason),
        }
    }

    /// Returns a violation for each required header that the response lacks.
    fn header_violations(&self, described: &api::Response, headers: &HeaderMap) -> Vec<MessageViolation> {
        let missing = described.headers.iter().filter(|header| {
            // The content type is validated with the body (OpenAPI 3.1.1, 4.8.17).
            let is_content_type = header.name.eq_ignore_ascii_case(header::CONTENT_TYPE.as_str());
            header.required && !is_content_type && !headers.contains_key(header.name.as_str())
        });
        let violation = |header: &api::ResponseHeader| {
            let pointer = format!("/{}", header.name);
            self.response_violation(described, "header", &pointer, "required", required_message())
        };
        missing.map(violation).collect()
    }

    /// Returns the violations of header values. The parser of request headers parses the values, because
    /// headers of both have the style `simple`.
    fn header_value_violations(
        &self,
        described: &api::Response,
        row: &'static contract_runtime::operation::Operation,
        headers: &HeaderMap,
    ) -> Vec<MessageViolation> {
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.headers = headers.clone();
        let context = RequestContext::new(Arc::new(parts), Some(row), Bytes::new());
        let Err(Rejection::InvalidParameters(faults)) = server::IncomingRequest::new(row, context) else {
            return Vec::new();
        };
        let violation = |fault: &contract_runtime::parameters::ParameterFault| {
            self.response_violation(described, "header", &fault.pointer, fault.keyword, fault.message())
        };
        faults.iter().map(violation).collect()
    }

    /// Returns the violations of the media type and of the body. A body that is not available has the reason
    /// instead.
    ///
    /// # Errors
    /// Returns the reason why the body was not validated.
    fn response_body_violations(
        &self,
        described: &'static api::Response,
        headers: &HeaderMap,
        body: Result<&Bytes, String>,
    ) -> Result<Vec<MessageViolation>, String> {
        let one = |place, pointer: &str, keyword: &str, message: String| {
            Ok(vec![self.response_violation(described, place, pointer, keyword, message)])
        };
        let Some(received) = headers.get(header::CONTENT_TYPE) else {
            return match body {
                Ok(body) if body.is_empty() => one("body", "", "required", required_message()),
                _ => one("header", CONTENT_TYPE_POINTER, "required", required_message()),
            };
        };
        let received = received.to_str().unwrap_or_default();
        let Some(media) = find_media_type(described, received) else {
            let known: Vec<&str> = described.content.iter().map(|media| media.name.as_str()).collect();
            let message = format!("must be {}", known.join(" or "));
            return one("header", CONTENT_TYPE_POINTER, "content", message);
        };
        let body = body?;
        if let Some(item) = self.item_type(media) {
            return Ok(self.item_violations(&item, body, &described.place));
        }
        let kind = MediaType::parse(received);
        let value = if kind.is_json() {
            match Json::parse(body) {
                Ok(value) => value,
                Err(error) => {
                    let message = format!("is not a JSON document: {error}");
                    return one("body", "", "contentMediaType", message);
                }
            }
        } else if kind.is_text() && media.schema.is_some_and(|schema| self.allows_string(schema)) {
            match std::str::from_utf8(body) {
                Ok(text) => Json::from(text),
                // The text may have another charset.
                Err(_) => return Err("it is not UTF-8".to_owned()),
            }
        } else {
            // The schemas of files, forms and XML describe the decoded content.
            return Ok(Vec::new());
        };
        let valid = media.schema.map_or(Ok(()), |schema| self.tables.validate(schema, &value));
        Ok(valid.err().map(|violations| self.convert_violations("", &violations)).unwrap_or_default())
    }

    fn response_violation(
        &self,
        described: &api::Response,
        place: &'static str,
        pointer: &str,
        keyword: &str,
        message: String,
    ) -> MessageViolation {
        MessageViolation {
            place,
            pointer: pointer.to_owned(),
            keyword: keyword.to_owned(),
            message,
            origin: LocationFormatter::new(self.contract).format_location(&described.place),
        }
    }
}

/// Returns the violation of a request that matches no operation. `methods` are the methods of the path if the
/// path exists.
fn undeclared_target(status: StatusCode, methods: Option<&str>) -> MessageViolation {
    let (place, message) = if status == StatusCode::METHOD_NOT_ALLOWED {
        ("method", format!("is not declared for this path, only {}", methods.unwrap_or("others")))
    } else {
        ("path", "matches no path of the contract".to_owned())
    };
    MessageViolation {
        place,
        pointer: String::new(),
        keyword: "paths".to_owned(),
        message,
        origin: "#/paths".to_owned(),
    }
}

fn required_message() -> String {
    violation_message("required", None)
}

fn without_body(request: &Request<Bytes>) -> Request<()> {
    let mut copy = Request::new(());
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    copy
}

/// Returns the most specific media type of a response that contains the received one.
fn find_media_type<'r>(described: &'r api::Response, received: &str) -> Option<&'r api::MediaType> {
    let received = MediaType::parse(received);
    let matching = described.content.iter().filter(|media| MediaType::parse(&media.name).contains(&received));
    matching.min_by_key(|media| MediaType::parse(&media.name).wildcard_rank())
}
