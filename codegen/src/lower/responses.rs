//! Responses: which are results, which refusals, what each holds.
//!
//! Results are `2XX`, and `304`, which says that the caller has it already. Other `3XX` are
//! results when an operation has no `2XX` (a download that redirects), else refusals. `default`
//! stands for every refusal without an entry, and where no result is listed for `2XX` too
//! (OpenAPI 3.1, 4.8.16).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Answers, Case, Lowering, Payload, bodies::reference, exceed};
use crate::{
    api::{MediaType, Operation, Response, Status},
    names,
    operations::{is_json, is_text, reason, subtype},
};

/// What became of an operation's responses.
pub(super) struct Lowered {
    pub(super) document: Value,
    pub(super) accept: Option<String>,
    pub(super) results: Answers,
    pub(super) refusals: Answers,
}

impl Lowering<'_> {
    pub(super) fn responses(&mut self, operation: &Operation, beyond: &mut Option<String>) -> Lowered {
        let of = |class: &dyn Fn(Status) -> bool| -> Vec<&Response> {
            operation.responses.iter().filter(|response| class(response.status)).collect()
        };
        let success = |status| matches!(status, Status::Code(200..=299) | Status::Range(2));
        let redirect = |status| matches!(status, Status::Code(300..=399) | Status::Range(3));
        let direct = operation.responses.iter().any(|response| success(response.status));
        let result = |status| success(status) || status == Status::Code(304) || (!direct && redirect(status));
        let refusal = |status| {
            matches!(status, Status::Code(400..=599) | Status::Range(4 | 5) | Status::Default)
                || (redirect(status) && !result(status))
        };
        let mut results = of(&result);
        let refusals = of(&refusal);
        let default = operation.responses.iter().find(|response| response.status == Status::Default);
        if results.is_empty() {
            results.extend(default);
        }
        for response in of(&|status| matches!(status, Status::Code(100..=199) | Status::Range(1))) {
            let what = format!("response `{}`", key(response.status));
            self.lose(&response.place, what, "`Error::Unreadable`, with status, headers and body");
        }
        let results = if results.is_empty() {
            let what = "no successful response is described";
            self.lose(&operation.place, what, "any `2XX` is a result, as bytes");
            let any = Case {
                status: Status::Range(2),
                media_type: None,
                payload: Payload::Raw,
                variant: String::new(),
                doc: String::new(),
            };
            Answers { cases: vec![any], one: Some(Payload::Raw), optional: false }
        } else {
            self.answers(operation, &results, true)
        };
        let refusals = self.answers(operation, &refusals, false);
        let document = self.document(operation, &results, &refusals, beyond);
        let accept = accept(operation, &results, &refusals);
        Lowered { document, accept, results, refusals }
    }

    fn answers(&mut self, operation: &Operation, responses: &[&Response], results: bool) -> Answers {
        let mut cases = Vec::new();
        for response in responses {
            let mut own: Vec<(Option<&MediaType>, Payload)> = Vec::new();
            for media in &response.content {
                let payload = self.payload(media);
                // Two names for the same JSON are read alike.
                let json = matches!(payload, Payload::Json(_));
                if !(json && own.iter().any(|(_, known)| *known == payload)) {
                    own.push((Some(media), payload));
                }
            }
            // An answer to HEAD has no body, whatever the contract describes for it.
            if own.is_empty() || operation.method == "HEAD" {
                own = vec![(None, Payload::Nothing)];
            }
            let several = own.len() > 1;
            let word = match response.status {
                Status::Code(code) => reason(code),
                Status::Range(class) => format!("Status{class}xx"),
                Status::Default => "Default".to_owned(),
            };
            cases.extend(own.into_iter().map(|(media, payload)| {
                let media = media.filter(|_| several);
                let variant = match media {
                    Some(media) => names::variant_name(&format!("{word} {}", subtype(&media.name))),
                    None => word.clone(),
                };
                let media_type = media.map(|media| media.name.clone());
                Case {
                    status: response.status,
                    media_type,
                    payload,
                    variant,
                    doc: response.description.clone(),
                }
            }));
        }
        let wires: Vec<String> = cases
            .iter()
            .map(|case| format!("{} {}", key(case.status), case.media_type.as_deref().unwrap_or_default()))
            .collect();
        let wires: Vec<&str> = wires.iter().map(String::as_str).collect();
        let mut variants: Vec<String> = cases.iter().map(|case| case.variant.clone()).collect();
        names::make_distinct(&wires, &mut variants);
        cases.iter_mut().zip(variants).for_each(|(case, name)| case.variant = name);

        let mut payloads: BTreeSet<Payload> = cases.iter().map(|case| case.payload.clone()).collect();
        let optional = results && payloads.len() == 2 && {
            let json = payloads.iter().any(|payload| matches!(payload, Payload::Json(_)));
            json && payloads.remove(&Payload::Nothing)
        };
        let several = payloads.len() > 1;
        let one = match payloads.pop_first() {
            None => Some(Payload::Nothing),
            one => one.filter(|_| !several),
        };
        Answers { cases, one, optional }
    }

    /// What progenitor is shown of answers: their type, or any JSON for several types of it.
    fn shown(&mut self, answers: &Answers) -> Option<Payload> {
        if answers.one.is_some() {
            return answers.one.clone();
        }
        let json = answers.cases.iter().all(|case| matches!(case.payload, Payload::Json(_)));
        json.then(|| Payload::Json(self.any()))
    }

    /// The responses that progenitor is shown: one type for results, one for refusals.
    fn document(
        &mut self,
        operation: &Operation,
        results: &Answers,
        refusals: &Answers,
        beyond: &mut Option<String>,
    ) -> Value {
        let (Some(result), Some(refusal)) = (self.shown(results), self.shown(refusals)) else {
            exceed(beyond, "its answers have bodies of several kinds");
            return Value::Null;
        };
        for (answers, which) in [(results, "results"), (refusals, "refusals")] {
            if answers.one.is_none() {
                let what = format!("several types of {which}, carried as any JSON");
                self.lose(&operation.place, what, "an enum with a variant for each status");
            }
        }
        if results.optional {
            let what = "successful statuses with and without a body";
            self.lose(&operation.place, what, "the result is an `Option`");
        }
        let redirects = |case: &Case| matches!(case.status, Status::Code(300..=399) | Status::Range(3));
        if results.cases.iter().chain(&refusals.cases).any(redirects) {
            exceed(beyond, "it answers `3XX`");
        }
        let mut document = Map::new();
        for case in &results.cases {
            let status = match case.status {
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
        for case in &refusals.cases {
            match case.status {
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
        for response in &operation.responses {
            if response.status == Status::Default {
                let what = "`default`, carried as `4XX` and `5XX`";
                self.lose(&response.place, what, "other statuses are `Error::Unreadable`");
            }
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
        Value::Object(document)
    }

    fn payload(&mut self, media: &MediaType) -> Payload {
        if is_json(&media.name) {
            return Payload::Json(match media.schema {
                Some(schema) => self.component(schema),
                None => self.any(),
            });
        }
        if is_text(&media.name) { Payload::Text } else { Payload::Raw }
    }
}

fn entry(payload: &Payload) -> Value {
    match payload {
        Payload::Json(key) => {
            json!({ "description": "", "content": { "application/json": { "schema": reference(key) } } })
        }
        Payload::Text | Payload::Raw => {
            json!({ "description": "", "content": { "application/octet-stream": {} } })
        }
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

/// What the client can read, results first.
fn accept(operation: &Operation, results: &Answers, refusals: &Answers) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for side in [results, refusals] {
        for response in &operation.responses {
            let own = side.cases.iter().filter(|case| case.status == response.status);
            if own.clone().next().is_none() || own.clone().all(|case| case.payload == Payload::Nothing) {
                continue;
            }
            for media in &response.content {
                let sendable = media.name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
                if sendable && !names.contains(&media.name.as_str()) {
                    names.push(&media.name);
                }
            }
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}
