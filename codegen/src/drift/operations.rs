//! Operations: matched by id, else by method and path; bodies and answers.

use super::{
    finding::{Comparer, Subject, Use},
    rules::{self, Rule},
};
use crate::{
    api::{Api, Header, MediaType, Operation, RequestBody, Response, Status},
    schema::SchemaId,
    tree::Place,
};

/// Two versions of one operation.
#[derive(Clone, Copy)]
pub(super) struct Calls<'g> {
    pub(super) old: &'g Operation,
    pub(super) new: &'g Operation,
    /// How answers are used: a webhook's answers are written by the client.
    pub(super) answers: Use,
}

impl<'g> Calls<'g> {
    pub(super) fn name(&self) -> String {
        name(self.new)
    }

    pub(super) const fn places(&self) -> (Option<&'g Place>, Option<&'g Place>) {
        (Some(&self.old.place), Some(&self.new.place))
    }
}

pub(super) fn name(operation: &Operation) -> String {
    format!("{} {}", operation.method, operation.path)
}

impl<'g> Comparer<'g> {
    /// Compares everything that OpenAPI documents say beside schemas.
    pub(super) fn operations(&mut self) {
        let (old, new) = (self.old, self.new);
        self.documents();
        let calls = |api: &'g Api| api.operations.iter();
        let (old_calls, new_calls) = (old.apis.iter().flat_map(calls), new.apis.iter().flat_map(calls));
        self.matched(old_calls.collect(), new_calls.collect(), Use::Read);
        let hooks = |api: &'g Api| api.webhooks.iter();
        let (old_hooks, new_hooks) = (old.apis.iter().flat_map(hooks), new.apis.iter().flat_map(hooks));
        self.matched(old_hooks.collect(), new_hooks.collect(), Use::Write);
        self.scopes();
    }

    fn documents(&mut self) {
        if let (Some(old), Some(new)) = (self.old.apis.first(), self.new.apis.first()) {
            if old.version != new.version {
                let message = format!("`info.version` is {}, was {}", new.version, old.version);
                self.both(rules::VERSION_CHANGED, (None, None), "the contract", message);
            }
            let (mut before, mut after) = (old.servers.clone(), new.servers.clone());
            before.sort();
            after.sort();
            if before != after {
                let message = format!("the servers are {}, were {}", after.join(", "), before.join(", "));
                self.both(rules::SERVER_CHANGED, (None, None), "the contract", message);
            }
        }
    }

    fn matched(&mut self, old: Vec<&'g Operation>, new: Vec<&'g Operation>, answers: Use) {
        let same_route = |one: &Operation, other: &Operation| {
            one.method == other.method && template(&one.path) == template(&other.path)
        };
        let mut left = new.clone();
        let mut gone = Vec::new();
        let mut pairs = Vec::new();
        for before in &old {
            match left.iter().position(|after| after.id == before.id) {
                Some(at) => pairs.push((*before, left.remove(at))),
                None => gone.push(*before),
            }
        }
        gone.retain(|before| match left.iter().position(|after| same_route(before, after)) {
            Some(at) => {
                pairs.push((*before, left.remove(at)));
                false
            }
            None => true,
        });
        let position = |operation: &Operation| old.iter().position(|other| std::ptr::eq(*other, operation));
        pairs.sort_by_key(|(before, _)| position(before));
        for (before, after) in pairs {
            self.operation(&Calls { old: before, new: after, answers });
        }
        let (added, removed) = match answers {
            Use::Read => (rules::OPERATION_ADDED, rules::OPERATION_REMOVED),
            Use::Write => (rules::WEBHOOK_ADDED, rules::WEBHOOK_REMOVED),
        };
        for before in gone {
            let message = format!("`{}` is gone", before.id);
            self.both(removed, (Some(&before.place), None), &name(before), message);
        }
        for after in left {
            self.both(added, (None, Some(&after.place)), &name(after), format!("`{}` is new", after.id));
        }
    }

    fn operation(&mut self, calls: &Calls<'g>) {
        let Calls { old, new, answers } = *calls;
        let subject = calls.name();
        let places = calls.places();
        if old.method != new.method || template(&old.path) != template(&new.path) {
            let message = format!("`{}` is called by {}, was by {}", new.id, name(new), name(old));
            self.both(rules::OPERATION_MOVED, places, &subject, message);
        }
        if old.id != new.id {
            let message = format!("the operation is called `{}`, was `{}`", new.id, old.id);
            self.both(rules::OPERATION_RENAMED, places, &subject, message);
        }
        if old.deprecated != new.deprecated {
            let (rule, message) = if new.deprecated {
                (rules::OPERATION_DEPRECATED, "it became deprecated")
            } else {
                (rules::OPERATION_UNDEPRECATED, "it is no longer deprecated")
            };
            self.both(rule, places, &subject, message.to_owned());
        }
        if (&old.summary, &old.description, &old.tags) != (&new.summary, &new.description, &new.tags) {
            let message = "summary, description or tags changed".to_owned();
            self.both(rules::OPERATION_EDITORIAL, places, &subject, message);
        }
        let mut keys: Vec<&str> = old.extensions.keys().chain(new.extensions.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys.into_iter().filter(|key| old.extensions.get(key) != new.extensions.get(key)) {
            self.both(rules::EXTENSION_CHANGED, places, &subject, format!("`{key}` changed"));
        }
        self.security(calls);
        self.parameters(calls);
        self.request(calls, answers.reversed());
        self.answers(calls);
    }

    fn request(&mut self, calls: &Calls<'g>, usage: Use) {
        let Calls { old, new, .. } = *calls;
        let at = Subject::new(format!("{} body", calls.name()), usage);
        match (&old.request_body, &new.request_body) {
            (None, None) => {}
            (None, Some(body)) => {
                let rule = if body.required {
                    rules::REQUEST_BODY_ADDED_REQUIRED
                } else {
                    rules::REQUEST_BODY_ADDED_OPTIONAL
                };
                let word = if body.required { "required" } else { "optional" };
                let places = (Some(&old.place), Some(&body.place));
                self.both(rule, places, &at.base, format!("there is a body, and it is {word}"));
            }
            (Some(body), None) => {
                let places = (Some(&body.place), Some(&new.place));
                self.both(
                    rules::REQUEST_BODY_REMOVED,
                    places,
                    &at.base,
                    "there is no body any more".to_owned(),
                );
            }
            (Some(before), Some(after)) => self.request_bodies(before, after, &at),
        }
    }

    fn request_bodies(&mut self, before: &'g RequestBody, after: &'g RequestBody, at: &Subject) {
        let places = (Some(&before.place), Some(&after.place));
        if before.description != after.description {
            self.both(
                rules::OPERATION_EDITORIAL,
                places,
                &at.base,
                "description of the body changed".to_owned(),
            );
        }
        match (before.required, after.required) {
            (false, true) => {
                self.both(rules::REQUEST_BODY_REQUIRED, places, &at.base, "the body is required".to_owned())
            }
            (true, false) => self.both(
                rules::REQUEST_BODY_OPTIONAL,
                places,
                &at.base,
                "the body may be missing".to_owned(),
            ),
            _ => {}
        }
        let rules = (rules::REQUEST_MEDIA_TYPE_ADDED, rules::REQUEST_MEDIA_TYPE_REMOVED);
        self.content((&before.content, &after.content), rules, places, at);
    }

    fn content(
        &mut self,
        (old, new): (&'g [MediaType], &'g [MediaType]),
        (added, removed): (&'static Rule, &'static Rule),
        places: (Option<&'g Place>, Option<&'g Place>),
        at: &Subject,
    ) {
        for before in old {
            let Some(after) = new.iter().find(|after| after.name.eq_ignore_ascii_case(&before.name)) else {
                self.both(removed, places, &at.base, format!("`{}` is gone", before.name));
                continue;
            };
            if before.encoding != after.encoding {
                self.both(
                    rules::ENCODING_CHANGED,
                    places,
                    &at.base,
                    format!("`encoding` of `{}` changed", before.name),
                );
            }
            // Only what is not the one usual type needs its name said.
            let at = if old.len() > 1 {
                Subject::new(format!("{} ({})", at.base, before.name), at.usage)
            } else {
                at.clone()
            };
            self.pair(&list(before.schema), &list(after.schema), &at);
        }
        for after in new {
            if !old.iter().any(|before| before.name.eq_ignore_ascii_case(&after.name)) {
                self.both(added, places, &at.base, format!("`{}` is new", after.name));
            }
        }
    }

    fn answers(&mut self, calls: &Calls<'g>) {
        let Calls { old, new, .. } = *calls;
        for before in &old.responses {
            let place = (Some(&before.place), Some(&new.place));
            let subject = format!("{} {}", calls.name(), status(before.status));
            if let Some(after) = new.responses.iter().find(|after| after.status == before.status) {
                self.answer(calls, before, after);
                continue;
            }
            let success = matches!(before.status, Status::Code(100..400) | Status::Range(1..=3));
            let rule = if success { rules::RESPONSE_REMOVED } else { rules::REFUSAL_REMOVED };
            self.both(rule, place, &subject, format!("{} is gone", status(before.status)));
            // What is sent instead, if anything is, is what the wider entry says.
            if let Some(after) = covering(&new.responses, before.status) {
                self.answer(calls, before, after);
            }
        }
        for after in &new.responses {
            if old.responses.iter().any(|before| before.status == after.status) {
                continue;
            }
            let places = (Some(&old.place), Some(&after.place));
            let subject = format!("{} {}", calls.name(), status(after.status));
            self.both(rules::RESPONSE_ADDED, places, &subject, format!("{} is new", status(after.status)));
            if let Some(before) = covering(&old.responses, after.status) {
                self.answer(calls, before, after);
            }
        }
    }

    fn answer(&mut self, calls: &Calls<'g>, before: &'g Response, after: &'g Response) {
        let base = format!("{} {}", calls.name(), status(after.status));
        let places = (Some(&before.place), Some(&after.place));
        if before.description != after.description {
            self.both(
                rules::OPERATION_EDITORIAL,
                places,
                &base,
                "description of the answer changed".to_owned(),
            );
        }
        let rules = (rules::RESPONSE_MEDIA_TYPE_ADDED, rules::RESPONSE_MEDIA_TYPE_REMOVED);
        let at = Subject::new(format!("{base} body"), calls.answers);
        self.content((&before.content, &after.content), rules, places, &at);
        self.headers(&before.headers, &after.headers, places, &base, calls.answers);
    }

    fn headers(
        &mut self,
        old: &'g [Header],
        new: &'g [Header],
        places: (Option<&'g Place>, Option<&'g Place>),
        base: &str,
        usage: Use,
    ) {
        for before in old {
            let at = Subject::new(format!("{base} header {}", before.name), usage);
            let Some(after) = new.iter().find(|after| after.name.eq_ignore_ascii_case(&before.name)) else {
                let rule = if before.required {
                    rules::RESPONSE_HEADER_REMOVED
                } else {
                    rules::RESPONSE_HEADER_REMOVED_OPTIONAL
                };
                self.both(rule, places, &at.base, format!("the header `{}` is gone", before.name));
                continue;
            };
            match (before.required, after.required) {
                (false, true) => {
                    self.both(
                        rules::RESPONSE_HEADER_REQUIRED,
                        places,
                        &at.base,
                        "the header is always there".to_owned(),
                    );
                }
                (true, false) => {
                    self.both(
                        rules::RESPONSE_HEADER_OPTIONAL,
                        places,
                        &at.base,
                        "the header may be missing".to_owned(),
                    );
                }
                _ => {}
            }
            if before.description != after.description {
                self.both(
                    rules::OPERATION_EDITORIAL,
                    places,
                    &at.base,
                    "description of the header changed".to_owned(),
                );
            }
            self.pair(&list(before.schema), &list(after.schema), &at);
        }
        for after in new {
            if !old.iter().any(|before| before.name.eq_ignore_ascii_case(&after.name)) {
                let subject = format!("{base} header {}", after.name);
                self.both(
                    rules::RESPONSE_HEADER_ADDED,
                    places,
                    &subject,
                    format!("the header `{}` is new", after.name),
                );
            }
        }
    }
}

/// `404`, `4XX` or `default`.
fn status(status: Status) -> String {
    match status {
        Status::Code(code) => code.to_string(),
        Status::Range(digit) => format!("{digit}XX"),
        Status::Default => "default".to_owned(),
    }
}

/// The wider entry that speaks for a status without one of its own (OpenAPI 3.1, 4.8.16).
fn covering(responses: &[Response], status: Status) -> Option<&Response> {
    let range = match status {
        Status::Code(code) => u8::try_from(code / 100).ok().map(Status::Range),
        _ => None,
    };
    let find = |status| responses.iter().find(|response| response.status == status);
    range.and_then(find).or_else(|| (status != Status::Default).then(|| find(Status::Default)).flatten())
}

pub(super) fn list(schema: Option<SchemaId>) -> Vec<SchemaId> {
    schema.into_iter().collect()
}

/// A path without the names of its placeholders, which are not sent.
fn template(path: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in path.chars() {
        match c {
            '{' => inside = true,
            '}' => inside = false,
            _ if inside => continue,
            _ => {}
        }
        out.push(c);
    }
    out
}
