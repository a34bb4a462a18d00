//! `api`: calls any operation of the contract with a signed request.

use std::collections::BTreeMap;

use serde::Serialize;

use super::read_input;
use crate::{
    args::raw::{RawCall, RequestBody, is_generated},
    error::{CommandError, ExitStatus, FailedCall as Called, ResponseExcerpt, ResponseHead, retry_advice},
    output::{InterruptNotice, Output, TextStyle, sanitize_lines},
};
use exchange_client::{
    Exchange,
    api::{
        Contract as _, Json,
        client::{Bytes, Call, Error as CallError, Response},
        operations::OPERATIONS,
        runtime::{
            client::{ApiClient, NoHeaders, RawResponse, RequestBuilder},
            operation::{Operation, RepeatSafety},
            parameters::{ScalarType, ValueShape},
        },
        types::Problem,
    },
};

/// The names of properties that are secret at any depth (WRT-11, DRF-13).
const SECRET_MEMBERS: [&str; 3] = ["confirmationUrl", "frontendUrl", "handoffId"];

/// A call whose operation is selected at run time.
struct RawOperation;

impl Call for RawOperation {
    /// A placeholder, because each request sets its operation.
    const OPERATION: &'static Operation = &OPERATIONS[0];
    type Success = Bytes;
    type ErrorBody = Problem;
    type Headers = NoHeaders;

    fn build_request(&self, core: &ApiClient) -> RequestBuilder {
        core.request(Self::OPERATION)
    }

    fn parse_response(response: RawResponse) -> Result<Response<Bytes>, CallError<Problem>> {
        match response.status() {
            200..=299 | 304 => response.bytes(),
            400..=599 => response.error_json(),
            _ => response.undocumented_status(),
        }
    }
}

pub(super) async fn run_api_call(
    call: RawCall,
    exchange: &Exchange,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let core = exchange.api().api_client();
    let mut request = core.request(call.operation);
    let parameters = call.operation.parameters;
    for (at, text) in &call.arguments {
        let value = match parameters.get(*at).map(|parameter| parameter.shape) {
            Some(ValueShape::Scalar(ScalarType::Integer(_))) => {
                Json::parse(text.as_bytes()).unwrap_or_else(|_| text.as_str().into())
            }
            _ => text.as_str().into(),
        };
        request = request.argument(*at, value);
    }
    let key = match parameters.iter().position(|parameter| is_generated(parameter) && parameter.required) {
        None => None,
        Some(at) => Some(match call.arguments.iter().find(|(index, _)| *index == at) {
            Some((_, typed)) => typed.clone(),
            None => {
                let key = exchange_client::idempotency_key(exchange.environment())?;
                output.print_note(format!("idempotency key: {key}"));
                request = request.argument(at, key.as_str());
                key
            }
        }),
    };
    let key = key.as_deref().filter(|_| call.operation.repeat == RepeatSafety::Keyed);
    if let Some(body) = &call.body {
        let bytes = match body {
            RequestBody::Text(text) => text.clone().into_bytes(),
            RequestBody::File(file) => read_input(file).await?,
        };
        let json = Json::parse(&bytes).map_err(|error| {
            CommandError::from_usage_error(format!("the body is not valid JSON: {error}"))
        })?;
        request = request.json_value("application/json", &json);
    }
    output.set_interrupt_notice(key.map(interrupt_notice));
    let response = core.send::<RawOperation>(request.accept("application/json")).await;
    output.clear_interrupt_notice();
    let response = response.map_err(|error| response_error(error, &call, key))?;
    let head = call.include.then(|| {
        response_head(response.status().as_u16(), response.status().to_string(), response.headers())
    });
    print_response(head, response.body(), call.show_secrets, output);
    Ok(ExitStatus::Success)
}

/// Returns the notice for an interrupted call. The outbox does not store such calls, so the notice contains
/// the key.
fn interrupt_notice(key: &str) -> InterruptNotice {
    InterruptNotice {
        message: format!("the call may have been carried out: {}", retry_advice(key)),
        advice: "repeat it with --idempotency-key and its key",
        idempotency_key: Some(key.to_owned()),
    }
}

/// Creates the error of a call. With `--include` or `--show-secrets`, it contains the requested parts of the
/// response.
fn response_error(error: CallError<Problem>, call: &RawCall, key: Option<&str>) -> CommandError {
    let head = error.status().zip(error.headers()).filter(|_| call.include);
    let head = head.map(|(status, headers)| response_head(status.as_u16(), status.to_string(), headers));
    let error = exchange_client::Error::from(error);
    let problem = error.problem().filter(|_| call.include || call.show_secrets);
    let mut problem = problem.and_then(|problem| problem.to_json().ok());
    if let (Some(problem), false) = (&mut problem, call.show_secrets) {
        redact_secrets(problem);
    }
    Called::new(error).with_idempotency_key(key).with_excerpt(ResponseExcerpt { head, problem }).into()
}

fn response_head<'h>(
    status: u16,
    status_line: String,
    fields: impl IntoIterator<Item = (&'h (impl AsRef<str> + 'h), &'h (impl AsRef<[u8]> + 'h))>,
) -> ResponseHead {
    let mut headers = BTreeMap::<String, String>::new();
    for (name, value) in fields {
        let name: &str = name.as_ref();
        // A nonce is not secret, but another client must not reuse it.
        if name == "dpop-nonce" {
            continue;
        }
        let value = std::str::from_utf8(value.as_ref()).unwrap_or("?");
        let joined = headers.entry(name.to_owned()).or_default();
        *joined = if joined.is_empty() { value.to_owned() } else { format!("{joined}, {value}") };
    }
    ResponseHead { status, status_line, headers }
}

/// The JSON form of a response with its head.
#[derive(Serialize)]
struct FullResponse<'a> {
    status: u16,
    headers: &'a BTreeMap<String, String>,
    body: &'a Json,
}

/// Prints a response. JSON is indented in text output and on one line in JSON output. Another body is printed
/// without control characters in text output; in JSON output, it is a string, or `null` if it is empty.
fn print_response(head: Option<ResponseHead>, body: &Bytes, show_secrets: bool, output: &mut Output) {
    let mut json = Json::parse(body);
    if let (Ok(json), false) = (&mut json, show_secrets) {
        redact_secrets(json);
    }
    if output.is_json() {
        let body = json.unwrap_or_else(|_| match String::from_utf8_lossy(body) {
            text if text.is_empty() => Json::Null,
            text => (&*text).into(),
        });
        match head {
            Some(ResponseHead { status, headers, .. }) => {
                output.write_json(&FullResponse { status, headers: &headers, body: &body });
            }
            None => output.write_json(&body),
        }
        return;
    }
    if let Some(head) = head {
        let head = output.apply_style(TextStyle::Faint, &sanitize_lines(&head.to_text()));
        output.write_line(head);
    }
    match json {
        Ok(json) => output.write_pretty_json(&json),
        Err(_) => output.write_text(&sanitize_lines(&String::from_utf8_lossy(body))),
    }
}

fn redact_secrets(json: &mut Json) {
    match json {
        Json::Array(elements) => elements.iter_mut().for_each(redact_secrets),
        Json::Object(members) => {
            for (name, member) in members.iter_mut() {
                if SECRET_MEMBERS.contains(&name) {
                    *member = "[secret]".into()
                } else {
                    redact_secrets(member)
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use exchange_client::{
        Advice, CallInitiator, RetryPolicy, TransportSettings,
        api::operations::OperationId,
        testkit::{ScriptedReply, ScriptedServer, VirtualEnvironment, signed_in_exchange},
    };

    use super::*;
    use crate::output::{ColorChoice, OutputFormat};

    /// Creates a signed-in exchange with a gateway that always sends this reply.
    fn exchange(reply: ScriptedReply) -> (Exchange, ScriptedServer) {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.set_script(move |_| reply.clone());
        let (below, mut settings) = (gateway.clone(), TransportSettings::default());
        // A second attempt would hide the outcome of the first one.
        settings.retry_policy = RetryPolicy::new(1, Duration::from_secs(30), CallInitiator::Member);
        (signed_in_exchange(gateway.origin(), below, &machine.environment(), settings), gateway)
    }

    fn call(operation: OperationId) -> RawCall {
        let operation = operation.operation();
        let body = operation
            .body
            .map(|_| RequestBody::Text(r#"{"ops": [{"op": "add", "ref": {"bt": "b"}}]}"#.into()));
        RawCall { operation, arguments: Vec::new(), body, show_secrets: false, include: false }
    }

    /// GW-12: the outbox does not store API calls. If a response is lost or the command is interrupted, the
    /// user gets the idempotency key, and a retry with this key is applied only once.
    #[tokio::test(start_paused = true)]
    async fn lost_api_call_can_be_retried_with_its_key() {
        let (lossy, gateway) = exchange(ScriptedReply::json(200, "{}").then_lost());
        let mut output = Output::new(OutputFormat::Json, ColorChoice::Never);
        let lost = run_api_call(call(OperationId::BlueprintsWrite), &lossy, &mut output).await.unwrap_err();
        let report = lost.to_report().unwrap();
        let key = gateway.requests()[0].idempotency_key().unwrap().to_owned();
        assert_eq!((report.exit, report.idempotency_key.as_deref()), (1, Some(key.as_str())));
        assert!(report.next.contains(&format!("--idempotency-key {key}")), "{}", report.next);
        assert_eq!(report.request_id.as_deref(), gateway.requests()[0].correlation_id());
        assert!(output.interrupt_notice().is_none());
        let again = |operation: OperationId| {
            let at = operation.operation().parameters.iter().position(is_generated).unwrap();
            RawCall { arguments: vec![(at, key.clone())], ..call(operation) }
        };
        // The retry receives the stored response, so the write is applied only once.
        assert_eq!(
            run_api_call(again(OperationId::BlueprintsWrite), &lossy, &mut output).await.unwrap(),
            ExitStatus::Success
        );
        assert_eq!(gateway.applied_keys(), [key.as_str()]);
        // This error proves that nothing was applied, so it contains no key.
        let (refusing, _) = exchange(ScriptedReply::problem("VERSION_CONFLICT".parse().unwrap()));
        let refused =
            run_api_call(again(OperationId::BlueprintsWrite), &refusing, &mut output).await.unwrap_err();
        let report = refused.to_report().unwrap();
        assert_eq!((report.idempotency_key, &*report.next), (None, Advice::Synchronise.message()));

        let (slow, _) = exchange(ScriptedReply::json(200, "{}").then_stalled());
        let call_and_leave = async |call: RawCall, output: &mut Output| {
            let left = tokio::time::timeout(Duration::from_secs(1), run_api_call(call, &slow, output)).await;
            assert!(left.is_err(), "the call must still wait for the response");
            output.take_interrupt_notice()
        };
        let report = CommandError::from_interrupt(
            call_and_leave(again(OperationId::BlueprintsWrite), &mut output).await,
        );
        let report = report.to_report().unwrap();
        assert_eq!((report.exit, report.idempotency_key.as_deref()), (130, Some(key.as_str())));
        assert!(report.message.contains(&key), "{}", report.message);
        assert!(call_and_leave(call(OperationId::StockRead), &mut output).await.is_none());
    }

    /// CLI-04: the error of a failed read contains no idempotency key.
    #[tokio::test(start_paused = true)]
    async fn read_error_has_no_idempotency_key() {
        for reply in [
            ScriptedReply::lost(),
            ScriptedReply::html(502),
            ScriptedReply::problem("INTERNAL_ERROR".parse().unwrap()),
        ] {
            let (exchange, _) = exchange(reply);
            let mut output = Output::new(OutputFormat::Json, ColorChoice::Never);
            let lost = run_api_call(call(OperationId::StockRead), &exchange, &mut output).await.unwrap_err();
            let report = lost.to_report().unwrap();
            assert_eq!((report.idempotency_key, &*report.next), (None, Advice::TryAgain.message()));
        }
    }

    /// ERR-22, WRT-11: an error response is printed only if the user requests it with `--include` or
    /// `--show-secrets`, and its secrets only with `--show-secrets`.
    #[tokio::test(start_paused = true)]
    async fn error_response_is_printed_on_request() {
        let problem = r#"{"type":"about:blank","title":"Held","status":409,"detail":"d","instance":"/","code":"MASS_CHANGE_CONFIRMATION_REQUIRED","correlationId":"c-1","errors":[{"pointer":"/ops/0","keyword":"a"},{"pointer":"/ops/1","keyword":"b"}],"confirmationUrl":"https://web.example/hush","more":1e999}"#;
        let (exchange, _) = exchange(
            ScriptedReply::new(409, "application/problem+json", problem).with_header("x-of-the-test", "1"),
        );
        for (include, show_secrets) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut output = Output::new(OutputFormat::Json, ColorChoice::Never);
            let call = RawCall { include, show_secrets, ..call(OperationId::BlueprintsWrite) };
            let report = run_api_call(call, &exchange, &mut output).await.unwrap_err().to_report().unwrap();
            assert_eq!(report.status, include.then_some(409));
            let header = report.headers.as_ref().and_then(|headers| headers.get("x-of-the-test"));
            assert_eq!(header.map(String::as_str), include.then_some("1"));
            let shown = report.problem.as_ref().map(Json::to_string);
            assert_eq!(shown.is_some(), include || show_secrets);
            let shown = shown.unwrap_or_default();
            assert_eq!(shown.contains("https://web.example/hush"), show_secrets, "{shown}");
            assert!(shown.is_empty() || shown.contains("/ops/1") && shown.contains("1e999"), "{shown}");
            // Every problem document can be serialized, also with numbers that do not fit into a 64-bit
            // float.
            let text = serde_json::to_string(&report).unwrap();
            assert_eq!((report.exit, text.contains("hush")), (7, show_secrets));
        }
    }

    /// CLI-04, GW-12: an error response is printed with and without a problem document. The error of a write,
    /// which may have been applied, contains the idempotency key; the error of a read does not.
    #[tokio::test(start_paused = true)]
    async fn server_failure_is_printed_on_request() {
        for (reply, status, has_code) in [
            (ScriptedReply::html(502), 502, false),
            (ScriptedReply::problem("INTERNAL_ERROR".parse().unwrap()), 500, true),
        ] {
            for (operation, is_write) in
                [(OperationId::StockRead, false), (OperationId::BlueprintsWrite, true)]
            {
                let (exchange, _) = exchange(reply.clone().with_header("x-of-the-test", "1"));
                let mut output = Output::new(OutputFormat::Json, ColorChoice::Never);
                let call = RawCall { include: true, ..call(operation) };
                let report =
                    run_api_call(call, &exchange, &mut output).await.unwrap_err().to_report().unwrap();
                assert_eq!(
                    (report.exit, report.status, report.problem.is_some()),
                    (1, Some(status), has_code)
                );
                assert_eq!(report.headers.unwrap()["x-of-the-test"], "1");
                assert_eq!(report.idempotency_key.is_some(), is_write);
            }
        }
    }

    /// WRT-11, DRF-13: secrets are redacted at every depth.
    #[test]
    fn secrets_are_hidden() {
        let mut json =
            Json::parse(br#"{"frontendUrl": "hush", "a": [{"handoffId": {"x": "hush"}, "b": 1}]}"#).unwrap();
        redact_secrets(&mut json);
        assert_eq!(json.to_string(), r#"{"frontendUrl":"[secret]","a":[{"handoffId":"[secret]","b":1}]}"#);
    }

    /// Control characters in strings of the exchange are escaped or replaced in every output format.
    #[test]
    fn api_output_escapes_control_characters() {
        let shown = |form, body: &str| {
            let mut output = Output::new(form, ColorChoice::Never);
            let body = Bytes::from(body.as_bytes().to_vec());
            print_response(None, &body, false, &mut output);
            output.data().to_owned()
        };
        let name = "{\"a\":\"x\u{9b}31m\u{202e}\"}";
        assert_eq!(shown(OutputFormat::Json, name), "{\"a\":\"x\\u009b31m\\u202e\"}\n");
        assert_eq!(shown(OutputFormat::Text, name), "{\n  \"a\": \"x\\u009b31m\\u202e\"\n}\n");
        assert_eq!(shown(OutputFormat::Text, "no \u{1b}[2J\n\u{9b}"), "no \u{fffd}[2J\n\u{fffd}");
    }

    /// In the JSON format, every response is printed as JSON, with and without its head.
    #[test]
    fn json_output_is_always_json() {
        let shown = |head, body: &str| {
            let mut output = Output::new(OutputFormat::Json, ColorChoice::Never);
            print_response(head, &Bytes::from(body.as_bytes().to_vec()), false, &mut output);
            output.data().to_owned()
        };
        let head = || {
            let headers = [("etag", "\"x\""), ("vary", "a, b")];
            let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
            Some(ResponseHead { status: 200, status_line: "200 OK".to_owned(), headers: headers.into() })
        };
        let document_with_head = |body: &str| {
            format!(
                "{{\"status\":200,\"headers\":{{\"etag\":\"\\\"x\\\"\",\"vary\":\"a, b\"}},\"body\":{body}}}\n"
            )
        };
        assert_eq!(shown(head(), r#"{"n": 1.50}"#), document_with_head(r#"{"n":1.50}"#));
        assert_eq!(shown(head(), ""), document_with_head("null"));
        assert_eq!(shown(None, "no: yaml\n"), "\"no: yaml\\n\"\n");
        assert_eq!(shown(None, ""), "null\n");
    }
}
