//! Answers: what progenitor is shown of them.

use std::collections::BTreeSet;

use contract_runtime::media::MediaType;
use serde_json::{Map, Value, json};

use super::{Lowering, exceed, reference};
use crate::{
    api::{Operation, Response, Status},
    plan::{Answers, Call, Payload},
    shape::TypeRef,
};

impl Lowering<'_> {
    /// The responses: one type for successes, one for refusals.
    pub(super) fn responses(&mut self, call: &Call<'_>, beyond: &mut Option<String>) -> Value {
        let operation = call.operation;
        for response in &operation.responses {
            if matches!(response.status, Status::Code(100..=199) | Status::Range(1)) {
                let what = format!("response `{}`", response.status.key());
                self.lose(&response.place, what, "`Error::Unreadable`, with status, headers and body");
            }
        }
        let described = |case: &crate::plan::Case| {
            operation.responses.iter().any(|response| response.status == case.status)
        };
        if !call.answers.cases.iter().any(described) {
            let what = "no successful response is described";
            self.lose(&operation.place, what, "any `2XX` is a result, as bytes");
        }
        let (answers, refusals) = (&call.answers, &call.refusals);
        let (Some(success), Some(refusal)) = (shown(answers), shown(refusals)) else {
            exceed(beyond, "its answers have bodies of several kinds");
            return Value::Null;
        };
        for (answers, which) in [(answers, "results"), (refusals, "refusals")] {
            if answers.one.is_none() {
                let what = format!("several types of {which}, carried as any JSON");
                self.lose(&operation.place, what, "an enum with a variant for each");
            }
        }
        if answers.optional {
            let what = "successful statuses with and without a body";
            self.lose(&operation.place, what, "the result is an `Option`");
        }
        let redirects = |status: Status| matches!(status, Status::Code(300..=399) | Status::Range(3));
        if answers.cases.iter().chain(&refusals.cases).any(|case| redirects(case.status)) {
            exceed(beyond, "it answers `3XX`");
        }
        let mut document = Map::new();
        for case in &answers.cases {
            let status = match case.status {
                Status::Default => "2XX".to_owned(),
                status => status.key(),
            };
            let entry = self.entry(&success, described_by(operation, case.status));
            document.insert(status, entry);
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
                    statuses.insert(status.key());
                }
            }
        }
        for status in &statuses {
            let class = format!("{}XX", &status[..1]);
            if *status == class || !statuses.contains(&class) {
                let own = operation.responses.iter().find(|response| response.status.key() == *status);
                let own = own.or_else(|| described_by(operation, Status::Default));
                document.insert(status.clone(), self.entry(&refusal, own));
            }
        }
        self.unsaid(call);
        Value::Object(document)
    }

    fn unsaid(&mut self, call: &Call<'_>) {
        for response in &call.operation.responses {
            if response.status == Status::Default {
                let what = "`default`, carried as `4XX` and `5XX`";
                self.lose(&response.place, what, "other statuses are `Error::Unreadable`");
            }
            let mut names = response.content.iter().map(|media| &media.name);
            let json = names.find(|name| MediaType::of(name).is_json());
            if let Some(name) = json.filter(|name| *name != "application/json") {
                let what = format!("response media type `{name}`, carried as `application/json`");
                self.lose(&response.place, what, "`Accept` names it, and every `+json` is read");
            }
        }
    }

    /// A response with a body, and with what else the contract says of it.
    fn entry(&mut self, payload: &Payload, response: Option<&Response>) -> Value {
        let mut entry = json!({ "description": response.map_or("", |own| own.description.as_str()) });
        match payload {
            Payload::Json(ty) => {
                let schema = reference(&self.component(ty));
                entry["content"] = json!({ "application/json": { "schema": schema } });
            }
            Payload::Text | Payload::Bytes => entry["content"] = json!({ "application/octet-stream": {} }),
            Payload::Nothing => {}
        }
        for header in response.iter().flat_map(|response| &response.headers) {
            let schema = header.schema.map_or_else(|| json!({ "type": "string" }), |id| self.schemas(&[id]));
            entry["headers"][&header.name] = json!({ "required": header.required, "schema": schema });
        }
        entry
    }
}

/// What the contract says of a status.
fn described_by(operation: &Operation, status: Status) -> Option<&Response> {
    operation.responses.iter().find(|response| response.status == status)
}

/// What progenitor is shown of answers: their type, or any JSON for several types of it.
pub(crate) fn shown(answers: &Answers) -> Option<Payload> {
    if answers.one.is_some() {
        return answers.one.clone();
    }
    let json = answers.cases.iter().all(|case| matches!(case.payload, Payload::Json(_)));
    json.then_some(Payload::Json(TypeRef::Json))
}
