//! `api`: any operation of the contract, signed, as it is.

use std::collections::BTreeMap;

use serde::Serialize;

use super::input;
use crate::{
    args::raw::{Body, RawCall, is_made},
    failure::{Call as Called, Exit, Failure, Head, Shown, repeat_under},
    output::{Look, Output, Unfinished, clean_lines},
};
use exchange_client::{
    Exchange,
    api::{
        Contract as _, Json,
        client::{Answer, Bytes, Call, Error as CallError},
        operations::OPERATIONS,
        runtime::{
            client::{Core, Request, Response},
            operation::{Operation, Repeat},
            parameters::{Scalar, Shape},
        },
        types::Problem,
    },
};

/// Members that are secrets wherever they stand (WRT-11, DRF-13).
const SECRETS: [&str; 3] = ["confirmationUrl", "frontendUrl", "handoffId"];

/// A call whose operation is known when it is made.
struct Raw;

impl Call for Raw {
    /// Any: the request names its own.
    const OPERATION: &'static Operation = &OPERATIONS[0];
    type Success = Bytes;
    type Refusal = Problem;

    fn request(&self, core: &Core) -> Request {
        core.request(Self::OPERATION)
    }

    fn read(response: Response) -> Result<Answer<Bytes>, CallError<Problem>> {
        match response.status() {
            200..=299 | 304 => response.bytes(),
            400..=599 => response.refusal(),
            _ => response.undocumented(),
        }
    }
}

pub(super) async fn run(call: RawCall, exchange: &Exchange, output: &mut Output) -> Result<Exit, Failure> {
    let core = exchange.api().core();
    let mut request = core.request(call.operation);
    let parameters = call.operation.parameters;
    for (at, text) in &call.arguments {
        let value = match parameters.get(*at).map(|parameter| parameter.shape) {
            Some(Shape::Scalar(Scalar::Integer(_))) => {
                Json::parse(text.as_bytes()).unwrap_or_else(|_| text.as_str().into())
            }
            _ => text.as_str().into(),
        };
        request = request.argument(*at, value);
    }
    let key = match parameters.iter().position(|parameter| is_made(parameter) && parameter.required) {
        None => None,
        Some(at) => Some(match call.arguments.iter().find(|(given, _)| *given == at) {
            Some((_, typed)) => typed.clone(),
            None => {
                let key = exchange_client::idempotency_key(exchange.environment())?;
                output.note(format!("idempotency key: {key}"));
                request = request.argument(at, key.as_str());
                key
            }
        }),
    };
    let key = key.as_deref().filter(|_| call.operation.repeat == Repeat::Keyed);
    if let Some(body) = &call.body {
        let bytes = match body {
            Body::Text(text) => text.clone().into_bytes(),
            Body::File(file) => input(file).await?,
        };
        let json =
            Json::parse(&bytes).map_err(|error| Failure::usage(format!("the body is no JSON: {error}")))?;
        request = request.json_value("application/json", &json);
    }
    output.if_broken_off(key.map(sent_under));
    let answer = core.send::<Raw>(request.accept("application/json")).await;
    output.is_whole();
    let answer = answer.map_err(|error| refused(error, &call, key))?;
    let head =
        call.include.then(|| head_of(answer.status.as_u16(), answer.status.to_string(), &answer.headers));
    show(head, &answer.body, call.show_secrets, output);
    Ok(Exit::Done)
}

/// What is to be known of a call that is broken off: nothing here keeps it.
fn sent_under(key: &str) -> Unfinished {
    Unfinished {
        what: format!("it may have been carried out: {}", repeat_under(key)),
        next: "repeat it with --idempotency-key and its key",
        key: Some(key.to_owned()),
    }
}

/// Why there is nothing to show, with what was asked for of a refusal: its head, and all that it says.
fn refused(error: CallError<Problem>, call: &RawCall, key: Option<&str>) -> Failure {
    let head = error.status().zip(error.headers()).filter(|_| call.include);
    let head = head.map(|(status, headers)| head_of(status.as_u16(), status.to_string(), headers));
    let error = exchange_client::Error::from(error);
    let problem = error.problem().filter(|_| call.include || call.show_secrets);
    let mut problem = problem.and_then(|problem| problem.to_json().ok());
    if let (Some(problem), false) = (&mut problem, call.show_secrets) {
        hide(problem);
    }
    Called::new(error).under(key).showing(Shown { head, problem }).into()
}

fn head_of<'h>(
    status: u16,
    line: String,
    all: impl IntoIterator<Item = (&'h (impl AsRef<str> + 'h), &'h (impl AsRef<[u8]> + 'h))>,
) -> Head {
    let mut headers = BTreeMap::<String, String>::new();
    for (name, value) in all {
        let name: &str = name.as_ref();
        // A nonce is no secret, but nobody's to repeat.
        if name == "dpop-nonce" {
            continue;
        }
        let value = std::str::from_utf8(value.as_ref()).unwrap_or("?");
        let joined = headers.entry(name.to_owned()).or_default();
        *joined = if joined.is_empty() { value.to_owned() } else { format!("{joined}, {value}") };
    }
    Head { status, line, headers }
}

/// The whole answer for programs.
#[derive(Serialize)]
struct Whole<'a> {
    status: u16,
    headers: &'a BTreeMap<String, String>,
    body: &'a Json,
}

/// JSON for people has lines, below the head that they asked for; for programs all of it is one. What is no JSON is shown
/// as it is, but for what would move the cursor: to programs as a text, or null where there is nothing.
fn show(head: Option<Head>, body: &Bytes, show_secrets: bool, output: &mut Output) {
    let mut json = Json::parse(body);
    if let (Ok(json), false) = (&mut json, show_secrets) {
        hide(json);
    }
    if output.is_json() {
        let body = json.unwrap_or_else(|_| match String::from_utf8_lossy(body) {
            text if text.is_empty() => Json::Null,
            text => (&*text).into(),
        });
        match head {
            Some(Head { status, headers, .. }) => {
                output.json(&Whole { status, headers: &headers, body: &body });
            }
            None => output.json(&body),
        }
        return;
    }
    if let Some(head) = head {
        let head = output.paint(Look::Faint, &clean_lines(&head.lines()));
        output.line(head);
    }
    match json {
        Ok(json) => output.pretty_json(&json),
        Err(_) => output.text(&clean_lines(&String::from_utf8_lossy(body))),
    }
}

fn hide(json: &mut Json) {
    match json {
        Json::Array(elements) => elements.iter_mut().for_each(hide),
        Json::Object(members) => {
            for (name, member) in members.iter_mut() {
                if SECRETS.contains(&name) { *member = "[secret]".into() } else { hide(member) }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use exchange_client::{
        Advice, Asked, Patience, Settings,
        api::operations::OperationId,
        testkit::{Reply, ScriptedServer, VirtualEnvironment, signed_in},
    };

    use super::*;
    use crate::output::{Color, Form};

    /// Somebody who is signed in at a gateway that answers so.
    fn exchange(reply: Reply) -> (Exchange, ScriptedServer) {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.answer(move |_| reply.clone());
        let (below, mut settings) = (gateway.clone(), Settings::default());
        // The next one would hear what became of the first.
        settings.patience = Patience::new(1, Duration::from_secs(30), Asked::ByMember);
        (signed_in(gateway.origin(), below, &machine.environment(), settings), gateway)
    }

    fn call(operation: OperationId) -> RawCall {
        let operation = operation.operation();
        let body =
            operation.body.map(|_| Body::Text(r#"{"ops": [{"op": "add", "ref": {"bt": "b"}}]}"#.into()));
        RawCall { operation, arguments: Vec::new(), body, show_secrets: false, include: false }
    }

    /// GW-12: nothing here keeps a call: whoever lost its answer, or broke it off, is told the key to repeat it under,
    /// and by that it is done once.
    #[tokio::test(start_paused = true)]
    async fn a_call_whose_answer_is_lost_is_repeated_under_its_key() {
        let (lossy, gateway) = exchange(Reply::json(200, "{}").and_is_lost());
        let mut output = Output::new(Form::Json, Color::Never);
        let lost = run(call(OperationId::BlueprintsWrite), &lossy, &mut output).await.unwrap_err();
        let told = lost.envelope().unwrap();
        let key = gateway.requests()[0].idempotency_key().unwrap().to_owned();
        assert_eq!((told.exit, told.idempotency_key.as_deref()), (1, Some(key.as_str())));
        assert!(told.next.contains(&format!("--idempotency-key {key}")), "{}", told.next);
        assert_eq!(told.request_id.as_deref(), gateway.requests()[0].correlation_id());
        assert!(output.unfinished().is_none());
        let again = |operation: OperationId| {
            let at = operation.operation().parameters.iter().position(is_made).unwrap();
            RawCall { arguments: vec![(at, key.clone())], ..call(operation) }
        };
        // What it was answered, and nothing done twice.
        assert_eq!(run(again(OperationId::BlueprintsWrite), &lossy, &mut output).await.unwrap(), Exit::Done);
        assert_eq!(gateway.carried_out(), [key.as_str()]);
        // A refusal that says that nothing was done asks for no key.
        let (refusing, _) = exchange(Reply::problem("VERSION_CONFLICT".parse().unwrap()));
        let refused = run(again(OperationId::BlueprintsWrite), &refusing, &mut output).await.unwrap_err();
        let told = refused.envelope().unwrap();
        assert_eq!((told.idempotency_key, &*told.next), (None, Advice::Synchronise.text()));

        let (slow, _) = exchange(Reply::json(200, "{}").and_stalls());
        let call_and_leave = async |call: RawCall, output: &mut Output| {
            let left = tokio::time::timeout(Duration::from_secs(1), run(call, &slow, output)).await;
            assert!(left.is_err(), "it was to wait");
            output.take_unfinished()
        };
        let told =
            Failure::interrupted(call_and_leave(again(OperationId::BlueprintsWrite), &mut output).await);
        let told = told.envelope().unwrap();
        assert_eq!((told.exit, told.idempotency_key.as_deref()), (130, Some(key.as_str())));
        assert!(told.message.contains(&key), "{}", told.message);
        assert!(call_and_leave(call(OperationId::StockRead), &mut output).await.is_none());
    }

    /// CLI-04: a read has no key, and is told of none.
    #[tokio::test(start_paused = true)]
    async fn a_read_is_told_of_no_key() {
        for reply in [Reply::lost(), Reply::html(502), Reply::problem("INTERNAL_ERROR".parse().unwrap())] {
            let (exchange, _) = exchange(reply);
            let mut output = Output::new(Form::Json, Color::Never);
            let lost = run(call(OperationId::StockRead), &exchange, &mut output).await.unwrap_err();
            let told = lost.envelope().unwrap();
            assert_eq!((told.idempotency_key, &*told.next), (None, Advice::TryAgain.text()));
        }
    }

    /// ERR-22, WRT-11: a refusal is shown as it came to whoever asks for that, its secrets to whoever asks for those.
    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_shown_as_it_came() {
        let problem = r#"{"type":"about:blank","title":"Held","status":409,"detail":"d","instance":"/","code":"MASS_CHANGE_CONFIRMATION_REQUIRED","correlationId":"c-1","errors":[{"pointer":"/ops/0","keyword":"a"},{"pointer":"/ops/1","keyword":"b"}],"confirmationUrl":"https://web.example/hush","more":1e999}"#;
        let (exchange, _) =
            exchange(Reply::new(409, "application/problem+json", problem).header("x-of-the-test", "1"));
        for (include, show_secrets) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut output = Output::new(Form::Json, Color::Never);
            let call = RawCall { include, show_secrets, ..call(OperationId::BlueprintsWrite) };
            let told = run(call, &exchange, &mut output).await.unwrap_err().envelope().unwrap();
            assert_eq!(told.status, include.then_some(409));
            let header = told.headers.as_ref().and_then(|headers| headers.get("x-of-the-test"));
            assert_eq!(header.map(String::as_str), include.then_some("1"));
            let shown = told.problem.as_ref().map(Json::to_string);
            assert_eq!(shown.is_some(), include || show_secrets);
            let shown = shown.unwrap_or_default();
            assert_eq!(shown.contains("https://web.example/hush"), show_secrets, "{shown}");
            assert!(shown.is_empty() || shown.contains("/ops/1") && shown.contains("1e999"), "{shown}");
            // Whatever it holds can be written.
            let text = serde_json::to_string(&told).unwrap();
            assert_eq!((told.exit, text.contains("hush")), (7, show_secrets));
        }
    }

    /// CLI-04, GW-12: so is a failure: in words of the exchange's, and in none, of a read and of a write, which may have been
    /// carried out all the same.
    #[tokio::test(start_paused = true)]
    async fn a_failure_is_shown_as_it_came() {
        for (reply, status, has_code) in
            [(Reply::html(502), 502, false), (Reply::problem("INTERNAL_ERROR".parse().unwrap()), 500, true)]
        {
            for (operation, is_write) in
                [(OperationId::StockRead, false), (OperationId::BlueprintsWrite, true)]
            {
                let (exchange, _) = exchange(reply.clone().header("x-of-the-test", "1"));
                let mut output = Output::new(Form::Json, Color::Never);
                let call = RawCall { include: true, ..call(operation) };
                let told = run(call, &exchange, &mut output).await.unwrap_err().envelope().unwrap();
                assert_eq!((told.exit, told.status, told.problem.is_some()), (1, Some(status), has_code));
                assert_eq!(told.headers.unwrap()["x-of-the-test"], "1");
                assert_eq!(told.idempotency_key.is_some(), is_write);
            }
        }
    }

    /// WRT-11, DRF-13: secrets stay hidden wherever they stand.
    #[test]
    fn secrets_are_hidden() {
        let mut json =
            Json::parse(br#"{"frontendUrl": "hush", "a": [{"handoffId": {"x": "hush"}, "b": 1}]}"#).unwrap();
        hide(&mut json);
        assert_eq!(json.to_string(), r#"{"frontendUrl":"[secret]","a":[{"handoffId":"[secret]","b":1}]}"#);
    }

    /// What others wrote moves no cursor, in no form of output.
    #[test]
    fn names_of_others_move_no_cursor() {
        let shown = |form, body: &str| {
            let mut output = Output::new(form, Color::Never);
            let body = Bytes::from(body.as_bytes().to_vec());
            show(None, &body, false, &mut output);
            output.data().to_owned()
        };
        let name = "{\"a\":\"x\u{9b}31m\u{202e}\"}";
        assert_eq!(shown(Form::Json, name), "{\"a\":\"x\\u009b31m\\u202e\"}\n");
        assert_eq!(shown(Form::People, name), "{\n  \"a\": \"x\\u009b31m\\u202e\"\n}\n");
        assert_eq!(shown(Form::People, "no \u{1b}[2J\n\u{9b}"), "no \u{fffd}[2J\n\u{fffd}");
    }

    /// For programs an answer is JSON whatever it is, with its head as without.
    #[test]
    fn answers_for_programs_are_json() {
        let shown = |head, body: &str| {
            let mut output = Output::new(Form::Json, Color::Never);
            show(head, &Bytes::from(body.as_bytes().to_vec()), false, &mut output);
            output.data().to_owned()
        };
        let head = || {
            let headers = [("etag", "\"x\""), ("vary", "a, b")];
            let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
            Some(Head { status: 200, line: "200 OK".to_owned(), headers: headers.into() })
        };
        let whole = |body: &str| {
            format!(
                "{{\"status\":200,\"headers\":{{\"etag\":\"\\\"x\\\"\",\"vary\":\"a, b\"}},\"body\":{body}}}\n"
            )
        };
        assert_eq!(shown(head(), r#"{"n": 1.50}"#), whole(r#"{"n":1.50}"#));
        assert_eq!(shown(head(), ""), whole("null"));
        assert_eq!(shown(None, "no: yaml\n"), "\"no: yaml\\n\"\n");
        assert_eq!(shown(None, ""), "null\n");
    }
}
