//! Decides what operations answer and refuse with, once for both sides.
//!
//! Successes are `2XX`, and `304`, which says that the caller has it already. Other `3XX` are
//! successes when an operation has no `2XX` (a download that redirects), else refusals. `default`
//! stands for every refusal without an entry, and where no success is listed for `2XX` too
//! (OpenAPI 3.1, 4.8.16).
//!
//! One type where one will do. Several successes are an enum of the operation with a variant for
//! each status; several refusals an enum with a variant for each type, which all operations that
//! refuse with the same types share, and which is called after them.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::media::MediaType;

use super::{Call, Given, Refused, bodies::media_word, reason::reason};
use crate::{
    api::{self, Operation, Response, Status},
    names,
    shape::{Shapes, TypeRef},
};

/// Whether an answer is what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is.
    Success,
    /// It says why not.
    Refusal,
}

/// All answers of one kind, successes or refusals.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// By status, and by media type where there are several.
    pub cases: Vec<Case>,
    /// What all of them hold, when that is one type.
    pub one: Option<Payload>,
    /// Whether some of them come without the body that others have.
    pub optional: bool,
    /// The enum, when there are several types: its name in [`Plan::choices`](super::Plan::choices).
    pub choice: Option<String>,
    /// Whether a handler has a say in status or headers.
    pub reply: bool,
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its statuses.
    pub status: Status,
    /// Its media type; empty without a body.
    pub media_type: String,
    /// Other names of the same, read alike.
    pub aliases: Vec<String>,
    /// Whether its status has others too, so that the media type tells them apart.
    pub by_media_type: bool,
    /// What it holds.
    pub payload: Payload,
    /// The variant, where there are several types.
    pub variant: String,
    /// `description`
    pub doc: String,
}

/// What an answer holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Payload {
    /// JSON.
    Json(TypeRef),
    /// Text.
    Text,
    /// Bytes of whatever media type.
    Bytes,
    /// Nothing.
    Nothing,
}

/// An enum of answers.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Its name.
    pub name: String,
    /// Of what.
    pub outcome: Outcome,
    /// Indices of the calls that have it.
    pub users: Vec<usize>,
    /// Name and what it holds.
    pub variants: Vec<(String, Payload)>,
}

impl Status {
    /// The class of all its statuses.
    const fn class(self) -> Option<u8> {
        match self {
            #[expect(clippy::cast_possible_truncation, reason = "a status has three digits")]
            Self::Code(code) => Some((code / 100) as u8),
            Self::Range(class) => Some(class),
            Self::Default => None,
        }
    }

    /// Its key: `200`, `4XX`, `default`.
    #[must_use]
    pub fn key(self) -> String {
        match self {
            Self::Code(code) => code.to_string(),
            Self::Range(class) => format!("{class}XX"),
            Self::Default => "default".to_owned(),
        }
    }
}

impl Case {
    /// Every media type that is read as this.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.media_type).chain(&self.aliases).map(String::as_str)
    }

    /// The status that a handler which says nothing means.
    #[must_use]
    pub fn usual_status(&self, outcome: Outcome) -> u16 {
        match (self.status, outcome) {
            (Status::Code(code), _) => code,
            (Status::Range(class), _) => u16::from(class) * 100,
            (Status::Default, Outcome::Success) => 200,
            (Status::Default, Outcome::Refusal) => 500,
        }
    }
}

/// Which response stands for what. Informational ones stand for nothing: no caller sees them.
pub(crate) fn outcome(operation: &Operation, status: Status) -> Option<Outcome> {
    let all = || operation.responses.iter().map(|response| response.status);
    let direct = all().any(|status| status.class() == Some(2));
    match status.class() {
        Some(2) => Some(Outcome::Success),
        Some(3) if status == Status::Code(304) || !direct => Some(Outcome::Success),
        Some(3..=5) => Some(Outcome::Refusal),
        None => Some(Outcome::Refusal),
        Some(_) => None,
    }
}

impl Given<'_> {
    /// The successes of an operation, and its refusals.
    pub(super) fn answers(&self, operation: &Operation, raw: bool) -> (Answers, Answers) {
        let of = |due: Outcome| -> Vec<&Response> {
            let responses = operation.responses.iter();
            responses.filter(|response| outcome(operation, response.status) == Some(due)).collect()
        };
        let (mut successes, refusals) = (of(Outcome::Success), of(Outcome::Refusal));
        if successes.is_empty() {
            successes.extend(refusals.iter().filter(|response| response.status == Status::Default));
        }
        let mut answers = self.cases(operation, &successes, raw);
        if answers.is_empty() {
            answers.push(Case {
                status: Status::Range(2),
                media_type: String::new(),
                aliases: Vec::new(),
                by_media_type: false,
                payload: Payload::Bytes,
                variant: String::new(),
                doc: String::new(),
            });
        }
        let mut answers = settled(answers);
        // What something around the handler writes is none of the handler's business.
        let hidden = |name: &str| {
            self.operations.hidden_headers.iter().any(|hidden| hidden.eq_ignore_ascii_case(name))
        };
        let headers = successes.iter().flat_map(|response| &response.headers).any(|h| !hidden(&h.name));
        let open = |case: &Case| {
            !matches!(case.status, Status::Code(_)) || MediaType::of(&case.media_type).is_range()
        };
        let payloads: BTreeSet<&Payload> = answers.cases.iter().map(|case| &case.payload).collect();
        let json = payloads.iter().find(|payload| matches!(payload, Payload::Json(_)));
        if let (2, true, Some(&json)) = (payloads.len(), payloads.contains(&Payload::Nothing), json) {
            answers.one = Some(json.clone());
            answers.optional = true;
        }
        // With one type for several statuses only the handler knows which it means.
        let statuses =
            answers.cases.iter().filter(|case| Some(&case.payload) == answers.one.as_ref()).count();
        answers.reply = headers || statuses > 1 || answers.cases.iter().any(open);
        (answers, settled(self.cases(operation, &refusals, false)))
    }

    fn cases(&self, operation: &Operation, responses: &[&Response], raw: bool) -> Vec<Case> {
        let mut cases = Vec::new();
        for response in responses {
            let mut own: Vec<(Option<&api::MediaType>, Payload, Vec<String>)> = Vec::new();
            for media in &response.content {
                let payload = if raw { Payload::Bytes } else { self.payload(media) };
                // Two names for the same JSON are read alike.
                let json = matches!(payload, Payload::Json(_));
                match own.iter_mut().find(|(_, known, _)| json && *known == payload) {
                    Some((.., aliases)) => aliases.push(media.name.clone()),
                    None => own.push((Some(media), payload, Vec::new())),
                }
            }
            // An answer to HEAD has no body, whatever the contract describes for it.
            if own.is_empty() || operation.method == "HEAD" {
                own = vec![(None, Payload::Nothing, Vec::new())];
            }
            let several = own.len() > 1;
            let word = match response.status {
                Status::Code(code) => reason(code),
                Status::Range(class) => format!("Status{class}xx"),
                Status::Default => "Default".to_owned(),
            };
            cases.extend(own.into_iter().map(|(media, payload, aliases)| Case {
                status: response.status,
                media_type: media.map(|media| media.name.clone()).unwrap_or_default(),
                aliases,
                by_media_type: several,
                payload,
                variant: match media.filter(|_| several) {
                    Some(media) => {
                        names::variant_name(&format!("{word} {}", media_word(&MediaType::of(&media.name))))
                    }
                    None => word.clone(),
                },
                doc: response.description.clone(),
            }));
        }
        let wires: Vec<String> =
            cases.iter().map(|case| format!("{} {}", case.status.key(), case.media_type)).collect();
        let wires: Vec<&str> = wires.iter().map(String::as_str).collect();
        let mut variants: Vec<String> = cases.iter().map(|case| case.variant.clone()).collect();
        names::make_distinct(&wires, &mut variants);
        cases.iter_mut().zip(variants).for_each(|(case, name)| case.variant = name);
        cases
    }

    fn payload(&self, media: &api::MediaType) -> Payload {
        let media_type = MediaType::of(&media.name);
        if media_type.is_json() {
            Payload::Json(media.schema.map_or(TypeRef::Json, |schema| self.shapes.of(schema).clone()))
        } else if media_type.is_text() {
            Payload::Text
        } else {
            Payload::Bytes
        }
    }
}

fn settled(cases: Vec<Case>) -> Answers {
    let one = match cases.split_first() {
        None => Some(Payload::Nothing),
        Some((first, others)) => {
            others.iter().all(|case| case.payload == first.payload).then(|| first.payload.clone())
        }
    };
    Answers { cases, one, ..Answers::default() }
}

/// Decides the enums, and gives each operation the name of its own.
pub(super) fn choices(shapes: &Shapes, calls: &mut [Call<'_>]) -> Vec<Choice> {
    let mut refusals: BTreeMap<Vec<Payload>, Vec<usize>> = BTreeMap::new();
    for (index, call) in calls.iter().enumerate().filter(|(_, call)| call.refusals.one.is_none()) {
        let types: BTreeSet<&Payload> = call.refusals.cases.iter().map(|case| &case.payload).collect();
        let mut types: Vec<Payload> = types.into_iter().cloned().collect();
        types.sort_by_cached_key(|payload| payload.name(shapes));
        refusals.entry(types).or_default().push(index);
    }
    let mut choices: Vec<Choice> = Vec::new();
    for (types, users) in refusals {
        let mut variants: Vec<String> = types.iter().map(|payload| payload.name(shapes)).collect();
        let name = variants.join("Or");
        let wires: Vec<String> = types.iter().map(|payload| format!("{payload:?}")).collect();
        let wires: Vec<&str> = wires.iter().map(String::as_str).collect();
        names::make_distinct(&wires, &mut variants);
        for &user in &users {
            for case in &mut calls[user].refusals.cases {
                let at = types.iter().position(|payload| *payload == case.payload);
                case.variant = at.and_then(|at| variants.get(at)).cloned().unwrap_or_default();
            }
        }
        let variants = variants.into_iter().zip(types).collect();
        choices.push(Choice { name, outcome: Outcome::Refusal, users, variants });
    }
    for (index, call) in calls.iter().enumerate().filter(|(_, call)| call.answers.one.is_none()) {
        let variants = call.answers.cases.iter().map(|case| (case.variant.clone(), case.payload.clone()));
        choices.push(Choice {
            name: format!("{}Answer", call.id),
            outcome: Outcome::Success,
            users: vec![index],
            variants: variants.collect(),
        });
    }
    let wires: Vec<String> =
        choices.iter().map(|choice| calls[choice.users[0]].operation.id.clone()).collect();
    let wires: Vec<&str> = wires.iter().map(String::as_str).collect();
    let mut found: Vec<String> = choices.iter().map(|choice| choice.name.clone()).collect();
    names::make_distinct(&wires, &mut found);
    for (choice, name) in choices.iter_mut().zip(found) {
        for &user in &choice.users {
            match choice.outcome {
                Outcome::Success => calls[user].answers.choice = Some(name.clone()),
                Outcome::Refusal => calls[user].refusals.choice = Some(name.clone()),
            }
        }
        choice.name = name;
    }
    choices.sort_by(|one, other| one.name.cmp(&other.name));
    choices
}

/// What most operations refuse with; something before nothing.
pub(super) fn common(calls: &[Call<'_>]) -> Option<Refused> {
    let mut counts: BTreeMap<Refused, usize> = BTreeMap::new();
    for call in calls {
        if let Some(refused) = call.refusals.refused() {
            *counts.entry(refused).or_default() += 1;
        }
    }
    let nothing = Refused::One(Payload::Nothing);
    // Of several that are as common, one type goes before an enum.
    let weight = |(refused, count): &(Refused, usize)| (*count, matches!(refused, Refused::One(_)));
    let some = counts.into_iter().filter(|(refused, _)| *refused != nothing);
    some.max_by_key(weight).map(|(refused, _)| refused)
}

impl Answers {
    /// What refusals of this kind are.
    #[must_use]
    pub fn refused(&self) -> Option<Refused> {
        match (&self.one, &self.choice) {
            (Some(one), _) => Some(Refused::One(one.clone())),
            (None, Some(name)) => Some(Refused::Choice(name.clone())),
            (None, None) => None,
        }
    }
}

impl Payload {
    /// Whether both are one Rust type.
    #[must_use]
    pub fn is_as_rust(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Json(one), Self::Json(other)) => one.is_as_rust(other),
            (one, other) => one == other,
        }
    }

    /// The name of a variant that holds it.
    fn name(&self, shapes: &Shapes) -> String {
        match self {
            Self::Json(ty) => type_word(shapes, ty),
            Self::Text => "Text".to_owned(),
            Self::Bytes => "Bytes".to_owned(),
            Self::Nothing => "Empty".to_owned(),
        }
    }
}

fn type_word(shapes: &Shapes, ty: &TypeRef) -> String {
    match ty {
        TypeRef::Json => "Json".to_owned(),
        TypeRef::Bool => "Bool".to_owned(),
        TypeRef::Int(_) => "Integer".to_owned(),
        TypeRef::Number => "Number".to_owned(),
        TypeRef::String => "String".to_owned(),
        TypeRef::Secret => "Secret".to_owned(),
        TypeRef::Named(id) => shapes.get(*id).name.clone(),
        TypeRef::Replaced(path, _) => names::type_name(path.rsplit("::").next().unwrap_or(path)),
        TypeRef::Vec(inner) => format!("{}List", type_word(shapes, inner)),
        TypeRef::Map(inner) => format!("{}Map", type_word(shapes, inner)),
        TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => type_word(shapes, inner),
        TypeRef::Tuple(_) => "Tuple".to_owned(),
    }
}

/// What a client can read, successes first.
pub(super) fn accept(operation: &Operation, answers: &Answers, refusals: &Answers) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for side in [answers, refusals] {
        for response in &operation.responses {
            let mut own = side.cases.iter().filter(|case| case.status == response.status);
            if !own.any(|case| case.payload != Payload::Nothing) {
                continue;
            }
            for media in &response.content {
                if MediaType::of(&media.name).is_sendable() && !names.contains(&media.name.as_str()) {
                    names.push(&media.name);
                }
            }
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}
