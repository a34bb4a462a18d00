//! Operations: matched by method and path, else by id; bodies and answers.

use std::collections::{BTreeSet, HashMap};

use super::{
    Version,
    finding::Comparer,
    media,
    places::in_document,
    rules::{self, Rule},
    subject::{Subject, Use},
    xml,
};
use crate::{
    api::{Api, MediaType, Operation, RequestBody, Response, Status, Variable},
    resolve::openapi::make_id,
    schema::SchemaId,
    tree::Place,
};

/// An operation, and the document that it stands in.
type Called<'g> = (&'g Api, &'g Operation);

/// Two versions of one operation.
#[derive(Clone, Copy)]
pub(super) struct Calls<'g> {
    pub(super) old: &'g Operation,
    pub(super) new: &'g Operation,
    /// The documents that they stand in.
    pub(super) documents: (&'g Api, &'g Api),
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
        for (before, after) in paired(old, new) {
            self.documents.insert((before.source, after.source));
            self.document(before, after);
        }
        let calls = |api: &'g Api| api.operations.iter().map(move |operation| (api, operation));
        let (old_calls, new_calls) = (old.apis.iter().flat_map(calls), new.apis.iter().flat_map(calls));
        self.matched(old_calls.collect(), new_calls.collect(), Use::Read);
        let hooks = |api: &'g Api| api.webhooks.iter().map(move |operation| (api, operation));
        let (old_hooks, new_hooks) = (old.apis.iter().flat_map(hooks), new.apis.iter().flat_map(hooks));
        self.matched(old_hooks.collect(), new_hooks.collect(), Use::Write);
        self.scopes();
    }

    fn document(&mut self, old: &'g Api, new: &'g Api) {
        let subject = match self.new.apis.len() {
            1 => "the contract".to_owned(),
            _ => format!("the contract {}", self.new.file(new.source)),
        };
        let spots = |pointer: &str| {
            let before = in_document(self.old, old.source, pointer);
            (before, in_document(self.new, new.source, pointer))
        };
        if old.version != new.version {
            let message = format!("`info.version` is {}, was {}", new.version, old.version);
            let (before, after) = spots("/info/version");
            let places = (before.as_ref(), after.as_ref());
            self.both(rules::VERSION_CHANGED, places, &subject, message);
        }
        let (before, after) = spots("/servers");
        let places = (before.as_ref(), after.as_ref());
        self.servers((&old.servers, &new.servers), places, &subject);
        self.variables((&old.variables, &new.variables), places, &subject);
    }

    /// Compares which values the variables of servers may have, where their addresses are the same but
    /// for the names of variables, which are not sent.
    fn variables(
        &mut self,
        (old, new): (&[Variable], &[Variable]),
        places: (Option<&Place>, Option<&Place>),
        subject: &str,
    ) {
        for before in old {
            let Some(after) = new.iter().find(|after| is_same(before, after)) else { continue };
            let Variable { address, name, values } = after;
            // Without a list anything may be filled in.
            let fits = |value: &String, list: &[String]| list.is_empty() || list.contains(value);
            for gone in before.values.iter().filter(|value| !fits(value, values)) {
                let message = format!("`{gone}` is no longer a value of `{name}` in {address}");
                self.both(rules::SERVER_REMOVED, places, subject, message);
            }
            match (before.values.is_empty(), values.is_empty()) {
                (true, false) => {
                    let message = format!("only {} may stand for `{name}` in {address}", values.join(", "));
                    self.both(rules::SERVER_REMOVED, places, subject, message);
                }
                (false, true) => {
                    let message = format!("anything may stand for `{name}` in {address}");
                    self.both(rules::SERVER_ADDED, places, subject, message);
                }
                _ => {}
            }
            for more in values.iter().filter(|value| !fits(value, &before.values)) {
                let message = format!("`{more}` is a value of `{name}` in {address}");
                self.both(rules::SERVER_ADDED, places, subject, message);
            }
        }
    }

    /// Compares lists of servers; clients that choose none call the first.
    fn servers(
        &mut self,
        (old, new): (&[String], &[String]),
        places: (Option<&Place>, Option<&Place>),
        subject: &str,
    ) {
        for gone in old.iter().filter(|server| !new.contains(server)) {
            let message = format!("nobody promises any more that {gone} answers");
            self.both(rules::SERVER_REMOVED, places, subject, message);
        }
        for more in new.iter().filter(|server| !old.contains(server)) {
            self.both(rules::SERVER_ADDED, places, subject, format!("{more} answers too"));
        }
        if let (Some(was), Some(is)) = (old.first(), new.first())
            && was != is
            && new.contains(was)
        {
            self.both(rules::SERVER_CHANGED, places, subject, format!("the first server is {is}, was {was}"));
        }
    }

    fn matched(&mut self, old: Vec<Called<'g>>, new: Vec<Called<'g>>, answers: Use) {
        let id = |operation: &Operation| operation.id.clone();
        let mut partners: Vec<Option<Called<'g>>> = vec![None; old.len()];
        let mut left: Vec<Option<Called<'g>>> = new.into_iter().map(Some).collect();
        let both = |operation: &Operation| {
            let expression = operation.callback.as_ref().map_or("", |(_, expression)| expression);
            format!("{} {} {expression}", route(operation), operation.id)
        };
        // What a callback is called is not sent.
        let sent = |operation: &Operation| match &operation.callback {
            Some((caller, expression)) => format!("{} {caller} {expression}", operation.method),
            None => both(operation),
        };
        // The wire has routes; an id may move on to another operation.
        for key in [&both as &dyn Fn(&Operation) -> String, &sent, &route, &id] {
            let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
            for (at, after) in left.iter().enumerate().rev() {
                if let Some((_, after)) = after {
                    by_key.entry(key(after)).or_default().push(at);
                }
            }
            for ((_, before), partner) in
                old.iter().zip(&mut partners).filter(|(_, partner)| partner.is_none())
            {
                let at = by_key.get_mut(&key(before)).and_then(Vec::pop);
                *partner = at.and_then(|at| left.get_mut(at)?.take());
            }
        }
        let mut gone = Vec::new();
        for ((from, before), after) in old.into_iter().zip(partners) {
            match after {
                Some((to, after)) => {
                    let documents = (from, to);
                    self.operation(&Calls { old: before, new: after, documents, answers });
                }
                None => gone.push(before),
            }
        }
        let (added, removed) = match answers {
            Use::Read => (rules::OPERATION_ADDED, rules::OPERATION_REMOVED),
            Use::Write => (rules::WEBHOOK_ADDED, rules::WEBHOOK_REMOVED),
        };
        for before in gone {
            let message = format!("`{}` is gone", before.id);
            self.both(removed, (Some(&before.place), None), &name(before), message);
        }
        for (_, after) in left.into_iter().flatten() {
            self.both(added, (None, Some(&after.place)), &name(after), format!("`{}` is new", after.id));
        }
    }

    fn operation(&mut self, calls: &Calls<'g>) {
        let Calls { old, new, documents, answers } = *calls;
        self.requests = answers.reversed();
        let subject = calls.name();
        let places = calls.places();
        let is_named = old.callback.is_some() && new.callback.is_some();
        if old.method != new.method || !is_named && template(&old.path) != template(&new.path) {
            let message = format!("`{}` is called by {}, was by {}", new.id, name(new), name(old));
            self.both(rules::OPERATION_MOVED, places, &subject, message);
        }
        let expression =
            |operation: &'g Operation| operation.callback.as_ref().map(|(_, expression)| expression);
        if let (Some(was), Some(is)) = (expression(old), expression(new))
            && was != is
        {
            let message = format!("it is sent to `{is}`, was sent to `{was}`");
            self.both(rules::OPERATION_MOVED, places, &subject, message);
        }
        if old.id != new.id {
            // Without an `operationId` nobody but generated code calls it anything.
            let called = match is_made(old) && is_made(new) {
                true => "has no `operationId`: generated code calls it",
                false => "is called",
            };
            let message = format!("the operation {called} `{}`, was `{}`", new.id, old.id);
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
        // Elsewhere the servers of the documents are compared.
        let is_moved = !self.documents.contains(&(documents.0.source, documents.1.source));
        if is_moved || !old.servers.is_empty() || !new.servers.is_empty() {
            let before = served(old, &old.servers, &documents.0.servers);
            let after = served(new, &new.servers, &documents.1.servers);
            self.servers((before, after), places, &subject);
            let before = served(old, &old.variables, &documents.0.variables);
            let after = served(new, &new.variables, &documents.1.variables);
            self.variables((before, after), places, &subject);
        }
        self.security(calls);
        self.parameters(calls);
        self.request(calls, answers.reversed());
        self.answers(calls);
        self.requests = Use::Write;
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
        let is_answer = at.usage == Use::Read && removed.id == rules::RESPONSE_MEDIA_TYPE_REMOVED.id;
        for before in old {
            let same = media::find(new, &before.name);
            let same = same.or_else(|| self.taken_by_a_range(new, &before.name, at.usage));
            // Whoever read whatever a range has reads a part of it.
            let left: Vec<&MediaType> = match same {
                Some(after) => vec![after],
                None if is_answer => within(before, new).collect(),
                None => Vec::new(),
            };
            if left.is_empty() {
                self.both(removed, places, &at.base, format!("`{}` is gone", before.name));
            } else if same.is_none() {
                let names: Vec<String> = left.iter().map(|media| format!("`{}`", media.name)).collect();
                let message = format!("of `{}` only {} is left", before.name, names.join(", "));
                self.both(rules::RESPONSE_NARROWED, places, &at.base, message);
            }
            for after in left {
                self.encodings(before, after, places, at);
                // Only what is not the one usual type needs its name said.
                let at = match old.len() {
                    1 => at.clone(),
                    _ => Subject::new(format!("{} ({})", at.base, before.name), at.usage),
                };
                let at = self.as_written((before, after), at);
                self.pair(&list(before.schema), &list(after.schema), &at);
                self.pair(&list(before.item_schema), &list(after.item_schema), &at);
                if xml::are_xml(&before.name, &after.name) {
                    self.elements_of_xml(&list(before.schema), &list(after.schema), &at);
                }
            }
        }
        for after in new {
            let is_known =
                |before: &MediaType| is_answer && within(before, new).any(|each| std::ptr::eq(each, after));
            if media::find(old, &after.name).is_none() && !old.iter().any(is_known) {
                self.both(added, places, &at.base, format!("`{}` is new", after.name));
            }
        }
    }

    fn answers(&mut self, calls: &Calls<'g>) {
        let Calls { old, new, answers, .. } = *calls;
        for before in &old.responses {
            let subject = format!("{} {}", calls.name(), status(before.status));
            if let Some(after) = new.responses.iter().find(|after| after.status == before.status) {
                self.answer(calls, before, after);
                continue;
            }
            let word = status(before.status);
            // The entries of its own that a wider one was replaced by.
            let narrowed: Vec<String> = named(&old.responses, &new.responses)
                .filter(|(wider, _)| wider.status == before.status)
                .map(|(_, after)| status(after.status))
                .collect();
            match covering(&new.responses, before.status) {
                Some(after) => {
                    let message =
                        format!("{word} has no entry of its own: it falls under {}", status(after.status));
                    let places = (Some(&before.place), Some(&after.place));
                    self.both(rules::RESPONSE_FOLDED, places, &subject, message);
                    self.answer(calls, before, after);
                }
                None if answers == Use::Read && !narrowed.is_empty() => {
                    let left = narrowed.join(", ");
                    let places = (Some(&before.place), Some(&new.place));
                    let message = format!("of {word} only {left} is left");
                    self.both(rules::RESPONSE_NARROWED, places, &subject, message);
                }
                None => {
                    let rule = if is_success(before.status) {
                        rules::RESPONSE_REMOVED
                    } else {
                        rules::REFUSAL_REMOVED
                    };
                    let places = (Some(&before.place), Some(&new.place));
                    self.both(rule, places, &subject, format!("{word} is gone"));
                }
            }
        }
        for after in &new.responses {
            if old.responses.iter().any(|before| before.status == after.status) {
                continue;
            }
            let subject = format!("{} {}", calls.name(), status(after.status));
            let word = status(after.status);
            if let Some(before) = covering(&old.responses, after.status) {
                let message =
                    format!("{word} has an entry of its own: it fell under {}", status(before.status));
                let places = (Some(&before.place), Some(&after.place));
                self.both(rules::RESPONSE_NAMED, places, &subject, message);
                self.answer(calls, before, after);
                continue;
            }
            // Clients send the answers to webhooks; the service reads one more.
            let known = calls.answers == Use::Write
                || !matches!(after.status, Status::Code(200..300) | Status::Range(2))
                || old.responses.iter().any(|before| self.reads_as(before, after));
            let rule = if known { rules::RESPONSE_ADDED } else { rules::RESPONSE_ADDED_SUCCESS };
            let more = if known { "" } else { ", and no success that was known has its body" };
            let places = (Some(&old.place), Some(&after.place));
            self.both(rule, places, &subject, format!("{word} is new{more}"));
        }
    }

    /// Whether who expects one success can read another: in the media types that both have.
    fn reads_as(&mut self, known: &'g Response, other: &'g Response) -> bool {
        let shared = |media: &'g MediaType| {
            let same = media::find(&known.content, &media.name);
            same.map(|same| (list(same.schema), list(media.schema)))
        };
        let shared: Vec<_> = other.content.iter().filter_map(shared).collect();
        is_success(known.status)
            && known.content.is_empty() == other.content.is_empty()
            && known.content.is_empty() == shared.is_empty()
            && shared.iter().all(|(known, other)| self.reads(known, other))
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
        self.headers((before, after), places, &base, calls.answers);
    }

    fn headers(
        &mut self,
        (before, after): (&'g Response, &'g Response),
        places: (Option<&'g Place>, Option<&'g Place>),
        base: &str,
        usage: Use,
    ) {
        let (old, new) = (&before.headers, &after.headers);
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
                        match usage {
                            Use::Read => "the header is always there".to_owned(),
                            Use::Write => "the header is required".to_owned(),
                        },
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
            self.header_style((before, after), places, &at);
            let at =
                if before.content.is_none() && after.content.is_none() { at.sent_as_texts() } else { at };
            self.pair(&list(before.schema), &list(after.schema), &at);
        }
        for after in new {
            if !old.iter().any(|before| before.name.eq_ignore_ascii_case(&after.name)) {
                let subject = format!("{base} header {}", after.name);
                // Answers of receivers do not have it yet.
                let (rule, more) = if usage == Use::Write && after.required {
                    (rules::RESPONSE_HEADER_REQUIRED, " and required")
                } else {
                    (rules::RESPONSE_HEADER_ADDED, "")
                };
                self.both(rule, places, &subject, format!("the header `{}` is new{more}", after.name));
            }
        }
    }
}

/// Whether an operation is called by its method and path alone.
fn is_made(operation: &Operation) -> bool {
    operation.id == make_id(&operation.method.to_ascii_lowercase(), &operation.path)
}

/// What an operation says of its servers, else what the document does.
fn served<'g, T>(operation: &Operation, own: &'g [T], document: &'g [T]) -> &'g [T] {
    if operation.servers.is_empty() { document } else { own }
}

/// Whether two variables stand at the same place of the same address.
fn is_same(one: &Variable, other: &Variable) -> bool {
    let before = |variable: &Variable| {
        let place = variable.address.find(&format!("{{{}}}", variable.name));
        place.and_then(|place| variable.address.get(..place)).map(template)
    };
    template(&one.address) == template(&other.address) && before(one) == before(other)
}

/// The documents of both versions that follow each other: of one name, else of one title, else the only
/// ones that are left, if they have a route in common, or a name but for its numbers, or there are no
/// others.
pub(super) fn paired<'g>(old: &'g Version, new: &'g Version) -> Vec<(&'g Api, &'g Api)> {
    let mut left: Vec<&Api> = new.apis.iter().collect();
    let mut partners: Vec<(&Api, Option<&Api>)> = old.apis.iter().map(|api| (api, None)).collect();
    let named = |one: &Api, other: &Api| old.file(one.source) == new.file(other.source);
    let titled = |one: &Api, other: &Api| one.title == other.title;
    for same in [&named as &dyn Fn(&Api, &Api) -> bool, &titled] {
        for (before, partner) in partners.iter_mut().filter(|(_, partner)| partner.is_none()) {
            let at = left.iter().position(|after| same(before, after));
            *partner = at.map(|at| left.remove(at));
        }
    }
    let mut alone = partners.iter_mut().filter(|(_, partner)| partner.is_none());
    if let (Some((before, partner)), None, [after]) = (alone.next(), alone.next(), left.as_slice()) {
        let routes = |api: &'g Api| api.operations.iter().map(route).collect::<BTreeSet<_>>();
        let unnumbered = |name: String| name.replace(|each: char| each.is_ascii_digit(), "");
        let follows = old.apis.len() == 1 && new.apis.len() == 1
            || unnumbered(old.file(before.source)) == unnumbered(new.file(after.source))
            || !routes(before).is_disjoint(&routes(after));
        *partner = follows.then_some(*after);
    }
    partners.into_iter().filter_map(|(before, after)| Some((before, after?))).collect()
}

/// Method and path, as they are sent.
fn route(operation: &Operation) -> String {
    format!("{} {}", operation.method, template(&operation.path))
}

/// The media types that are within a range.
fn within<'g>(range: &'g MediaType, all: &'g [MediaType]) -> impl Iterator<Item = &'g MediaType> {
    let range = essence(range);
    all.iter().filter(move |media| range.is_range() && range.contains(&essence(media)))
}

fn essence(media: &MediaType) -> contract_runtime::media::MediaType<'_> {
    contract_runtime::media::MediaType::of(&media.name)
}

/// `404`, `4XX` or `default`.
fn status(status: Status) -> String {
    match status {
        Status::Code(code) => code.to_string(),
        Status::Range(digit) => format!("{digit}XX"),
        Status::Default => "default".to_owned(),
    }
}

/// Whether a status says that what was asked for was done, or goes on elsewhere.
const fn is_success(status: Status) -> bool {
    matches!(status, Status::Code(100..400) | Status::Range(1..=3))
}

/// The wider entry that speaks for a status without one of its own (OpenAPI 3.1, 4.8.16). Beside
/// other successes `default` is what people write for everything that went wrong.
fn covering(responses: &[Response], status: Status) -> Option<&Response> {
    let range = match status {
        Status::Code(code) => u8::try_from(code / 100).ok().map(Status::Range),
        _ => None,
    };
    let find = |status| responses.iter().find(|response| response.status == status);
    let refuses = responses.iter().any(|response| is_success(response.status));
    let by_default = status != Status::Default && !(is_success(status) && refuses);
    range.and_then(find).or_else(|| by_default.then(|| find(Status::Default)).flatten())
}

/// The new statuses that have an entry of their own and had none, with the wider entry that spoke for
/// them.
fn named<'g>(old: &'g [Response], new: &'g [Response]) -> impl Iterator<Item = (&'g Response, &'g Response)> {
    let own = move |after: &&Response| !old.iter().any(|before| before.status == after.status);
    new.iter().filter(own).filter_map(move |after| Some((covering(old, after.status)?, after)))
}

pub(super) fn list(schema: Option<SchemaId>) -> Vec<SchemaId> {
    schema.into_iter().collect()
}

/// A path without the names of its placeholders, which are not sent.
pub(super) fn template(path: &str) -> String {
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
