//! `api`: any operation of the contract, signed, as it is.

use std::collections::BTreeMap;

use serde::Serialize;

use super::input;
use crate::{
    args::raw::{Body, RawCall, is_made},
    failure::{Exit, Failure},
    output::{Look, Output, clean_lines},
};
use exchange_client::{
    Exchange,
    api::{
        Json,
        client::{Answer, Bytes, Call, Error as CallError},
        operations::OPERATIONS,
        runtime::{
            client::{Core, Request, Response},
            operation::Operation,
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
    let made = parameters.iter().enumerate().find(|(at, parameter)| {
        is_made(parameter) && parameter.required && !call.arguments.iter().any(|(given, _)| given == at)
    });
    if let Some((at, _)) = made {
        let key = exchange_client::idempotency_key(exchange.environment())?;
        output.note(format!("idempotency key: {key}"));
        request = request.argument(at, key);
    }
    if let Some(body) = &call.body {
        let bytes = match body {
            Body::Text(text) => text.clone().into_bytes(),
            Body::File(file) => input(file).await?,
        };
        let json =
            Json::parse(&bytes).map_err(|error| Failure::usage(format!("the body is no JSON: {error}")))?;
        request = request.json_value("application/json", &json);
    }
    let answer =
        core.send::<Raw>(request.accept("application/json")).await.map_err(exchange_client::Error::from)?;
    let head = call.include.then(|| Head::of(&answer));
    show(head, &answer.body, call.show_secrets, output);
    Ok(Exit::Done)
}

/// Status and headers of an answer.
struct Head {
    status: u16,
    /// The status with its words.
    line: String,
    /// Those of one name in one line, as HTTP joins them (RFC 9110, 5.3).
    headers: BTreeMap<String, String>,
}

impl Head {
    fn of(answer: &Answer<Bytes>) -> Self {
        let mut headers = BTreeMap::<String, String>::new();
        for (name, value) in &answer.headers {
            // A nonce is no secret, but nobody's to repeat.
            if name == "dpop-nonce" {
                continue;
            }
            let value = value.to_str().unwrap_or("?");
            let all = headers.entry(name.to_string()).or_default();
            *all = if all.is_empty() { value.to_owned() } else { format!("{all}, {value}") };
        }
        Self { status: answer.status.as_u16(), line: answer.status.to_string(), headers }
    }
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
    if let Some(Head { line, headers, .. }) = head {
        let lines: Vec<_> = headers.iter().map(|(name, value)| format!("\n{name}: {value}")).collect();
        let head = output.paint(Look::Faint, &clean_lines(&(line + &lines.concat())));
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
    use super::*;

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
        use crate::output::{Color, Form};
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
        use crate::output::{Color, Form};
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
