//! Responses: one type for results, one for refusals.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Lowering, Payload, bodies::reference, is_json};
use crate::api::{Operation, Response, Status};

/// What became of an operation's responses.
pub(super) struct Answers {
    pub(super) document: Value,
    pub(super) accept: Option<String>,
    pub(super) result: Payload,
    pub(super) result_optional: bool,
    pub(super) refusal: Payload,
}

impl Lowering<'_> {
    pub(super) fn responses(&mut self, operation: &Operation) -> Result<Answers, String> {
        let of = |class: fn(Status) -> bool| {
            operation.responses.iter().filter(move |response| class(response.status))
        };
        let mut results: Vec<&Response> =
            of(|status| matches!(status, Status::Code(200..=299) | Status::Range(2))).collect();
        let mut refusals: Vec<&Response> =
            of(|status| matches!(status, Status::Code(400..=599) | Status::Range(4 | 5))).collect();
        let default = of(|status| status == Status::Default).next();
        refusals.extend(default);
        // `default` stands for every status that has no entry, successes included
        // (OpenAPI 3.1, 4.8.16); beside a listed success that is never meant.
        if results.is_empty() {
            results.extend(default);
        }
        for response in of(
            |status| !matches!(status, Status::Code(200..=299 | 400..=599) | Status::Range(2 | 4 | 5) | Status::Default),
        ) {
            let what = format!("response `{}`", key(response.status));
            self.lose(&response.place, what, "`Error::Unreadable`, with status, headers and body");
        }

        let (result, result_optional) = self.result(operation, &results)?;
        let refusal = self.refusal(&refusals);
        let mut document = Map::new();
        for response in &results {
            let status = match response.status {
                Status::Default => "2XX".to_owned(),
                status => key(status),
            };
            document.insert(status, entry(&result));
        }
        // An explicit `2XX` covers its codes; both would be an unreachable pattern.
        if document.contains_key("2XX") {
            document.retain(|status, _| status == "2XX");
        }
        let mut statuses: BTreeSet<String> = BTreeSet::new();
        for response in &refusals {
            match response.status {
                Status::Default => statuses.extend(["4XX".to_owned(), "5XX".to_owned()]),
                status => {
                    statuses.insert(key(status));
                }
            }
        }
        for status in &statuses {
            let class = format!("{}XX", &status[..1]);
            if *status == class || !statuses.contains(&class) {
                document.insert(status.clone(), entry(&refusal));
            }
        }
        if let Some(default) = default {
            let what = "`default`, carried as `4XX` and `5XX`";
            self.lose(&default.place, what, "other statuses are `Error::Unreadable`");
        }
        for response in &operation.responses {
            let json = response.content.iter().map(|media| &media.name).find(|name| is_json(name));
            if let Some(name) = json.filter(|name| *name != "application/json") {
                let what = format!("response media type `{name}`, carried as `application/json`");
                self.lose(&response.place, what, "`Accept` names it, and every `+json` is read");
            }
            for header in &response.headers {
                let what = format!("type of response header `{}`", header.name);
                self.lose(&response.place, what, "its text, in the `headers` of answers and errors");
            }
        }
        let accept = accept(operation, &result, &refusal);
        Ok(Answers { document: Value::Object(document), accept, result, result_optional, refusal })
    }

    fn result(&mut self, operation: &Operation, responses: &[&Response]) -> Result<(Payload, bool), String> {
        if operation.method == "HEAD" {
            // An answer to HEAD has no body, whatever the contract describes for it.
            return Ok((Payload::Nothing, false));
        }
        let mut payloads: BTreeSet<Payload> =
            responses.iter().map(|response| self.payload(response)).collect();
        if payloads.is_empty() {
            let what = "no successful response is described";
            self.lose(&operation.place, what, "any `2XX` is a result, as bytes");
            return Ok((Payload::Raw, false));
        }
        let optional = payloads.len() > 1 && payloads.remove(&Payload::Nothing);
        match (payloads.pop_first(), payloads.pop_first()) {
            (Some(payload @ Payload::Json(_)), None) => {
                if optional {
                    let what = "successful statuses with and without a body";
                    self.lose(&operation.place, what, "the result is an `Option`");
                }
                Ok((payload, optional))
            }
            (Some(payload), None) => Ok((payload, false)),
            _ => Err("its successful responses have several types".to_owned()),
        }
    }

    fn refusal(&mut self, responses: &[&Response]) -> Payload {
        let payloads: BTreeSet<Payload> = responses.iter().map(|response| self.payload(response)).collect();
        let mut typed = payloads.iter().filter(|payload| matches!(payload, Payload::Json(_)));
        match (typed.next(), typed.next()) {
            (Some(one), None) => {
                for response in responses {
                    if self.payload(response) == *one {
                        continue;
                    }
                    let what = format!("refusal `{}` of another kind than the others", key(response.status));
                    self.lose(
                        &response.place,
                        what,
                        "read as the others; if it is not, `Error::Unreadable` keeps it",
                    );
                }
                one.clone()
            }
            (Some(_), Some(_)) => {
                for response in responses {
                    let what = format!("type of refusal `{}`, one of several", key(response.status));
                    self.lose(&response.place, what, "the refusal's body is any JSON");
                }
                Payload::Json(self.any())
            }
            (None, _) if payloads.contains(&Payload::Raw) => Payload::Raw,
            (None, _) => Payload::Nothing,
        }
    }

    fn payload(&mut self, response: &Response) -> Payload {
        let json = response.content.iter().find(|media| is_json(&media.name));
        match json {
            Some(media) => Payload::Json(match media.schema {
                Some(schema) => self.component(schema),
                None => self.any(),
            }),
            None if response.content.is_empty() => Payload::Nothing,
            None => Payload::Raw,
        }
    }
}

fn entry(payload: &Payload) -> Value {
    match payload {
        Payload::Json(key) => {
            json!({ "description": "", "content": { "application/json": { "schema": reference(key) } } })
        }
        Payload::Raw => json!({ "description": "", "content": { "application/octet-stream": {} } }),
        Payload::Nothing => json!({ "description": "" }),
    }
}

fn key(status: Status) -> String {
    match status {
        Status::Code(code) => code.to_string(),
        Status::Range(class) => format!("{class}XX"),
        Status::Default => "default".to_owned(),
    }
}

/// What the client can read, results first: all media types where it takes bytes.
fn accept(operation: &Operation, result: &Payload, refusal: &Payload) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    let in_order = |wanted: bool| {
        operation.responses.iter().filter(move |response| {
            matches!(response.status, Status::Code(200..=299) | Status::Range(2)) == wanted
        })
    };
    for response in in_order(true).chain(in_order(false)) {
        let success = matches!(response.status, Status::Code(200..=299) | Status::Range(2));
        let raw = if success { result } else { refusal } == &Payload::Raw;
        for media in &response.content {
            let sendable = media.name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
            if (raw || is_json(&media.name)) && sendable && !names.contains(&media.name.as_str()) {
                names.push(&media.name);
            }
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}
