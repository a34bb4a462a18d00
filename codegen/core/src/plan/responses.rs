//! Plans the success and error responses of operations for client and server.
//!
//! `2XX`, `101` and `304` are success responses. `101` passes the connection to the caller, and `304` confirms
//! that the caller's copy is current. Other `3XX` are success responses if an operation has no `2XX` (such as a
//! redirected download), and errors otherwise. `default` covers every error without an entry, and also
//! `2XX` if the contract lists no success response (OpenAPI 3.1, 4.8.16).
//!
//! If all success responses of an operation have the same type, the generated method returns this type, and
//! otherwise an enum with one variant for each status. If all error responses have the same type, it is the
//! error type, and otherwise an enum with one variant for each type. Operations with the same two or three error
//! types share that enum, which is named after the types. An enum of more types is named after its operation.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::media_type::MediaType;

use super::{
    ErrorType, PlanInput, PlannedCall, bodies::media_name, reason::reason_phrase, streams::StreamedResponse,
};
use crate::{
    api::{self, Operation, Response, StatusPattern},
    names,
    shape::{Shapes, TypeRef},
};

/// The maximum number of types that the name of an error enum lists: `ProblemOrText`.
const MAX_NAMED_TYPES: usize = 3;

/// The outcome that a response reports: success or error of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseOutcome {
    Success,
    Error,
}

/// All success responses or all error responses of an operation.
#[derive(Clone, Debug, Default)]
pub struct ResponseSet {
    /// The responses: one for each status, or several if the media types of a status have different payloads.
    pub cases: Vec<ResponseCase>,
    /// The payload that all responses with a body have, or `None` if there are several payloads and an enum
    /// is generated.
    pub single: Option<ResponsePayload>,
    /// True if some responses have a body and others have none.
    pub optional: bool,
    /// The name of the enum for these responses in
    /// [`SidePlan::response_enums`](super::SidePlan::response_enums), if they have several types.
    pub enum_name: Option<String>,
    /// True if a server's handler returns the payload together with a status or headers, because the payload
    /// does not determine the status or the contract declares response headers.
    pub needs_reply: bool,
}

/// One response with its status and media type.
#[derive(Clone, Debug)]
pub struct ResponseCase {
    pub status: StatusPattern,
    /// The media type, or an empty string if the response has no body.
    pub media_type: String,
    /// Other media types with the same payload.
    pub aliases: Vec<String>,
    /// True if the same status has several media types with different payloads. The media type then selects the
    /// response.
    pub by_media_type: bool,
    pub payload: ResponsePayload,
    /// The name of the enum variant for this response. It is used only if there is an enum.
    pub variant: String,
    /// The `description` of the response in the contract.
    pub doc: String,
}

/// The content of a response in Rust.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResponsePayload {
    Json(TypeRef),
    Text,
    /// Bytes with any media type.
    Bytes,
    Nothing,
}

/// A generated enum whose variants are the success or error responses of operations.
#[derive(Clone, Debug)]
pub struct ResponseEnum {
    pub name: String,
    /// The outcome that all variants report.
    pub outcome: ResponseOutcome,
    /// The indices of the calls that use the enum.
    pub users: Vec<usize>,
    /// The name and payload of each variant.
    pub variants: Vec<(String, ResponsePayload)>,
}

impl StatusPattern {
    /// Returns the first digit of the status codes, or `None` for `default`.
    const fn status_class(self) -> Option<u8> {
        match self {
            #[expect(clippy::cast_possible_truncation, reason = "a status has three digits")]
            Self::Code(code) => Some((code / 100) as u8),
            Self::Range(class) => Some(class),
            Self::Default => None,
        }
    }

    /// Returns the key in the contract, such as `200`, `4XX` or `default`.
    #[must_use]
    pub fn key(self) -> String {
        match self {
            Self::Code(code) => code.to_string(),
            Self::Range(class) => format!("{class}XX"),
            Self::Default => "default".to_owned(),
        }
    }
}

impl ResponseCase {
    /// Iterates over all media types of this status with this payload.
    pub fn media_types(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.media_type).chain(&self.aliases).map(String::as_str)
    }

    /// Returns the status that a server sends if the handler sets none: the status code of the response, the first code
    /// of a range, or 200 or 500 for `default`.
    #[must_use]
    pub fn default_status(&self, outcome: ResponseOutcome) -> u16 {
        match (self.status, outcome) {
            (StatusPattern::Code(code), _) => code,
            (StatusPattern::Range(class), _) => u16::from(class) * 100,
            (StatusPattern::Default, ResponseOutcome::Success) => 200,
            (StatusPattern::Default, ResponseOutcome::Error) => 500,
        }
    }
}

/// Returns the outcome that a response of the operation reports. Returns `None` for informational responses (`1XX`
/// other than `101`), because no caller receives them.
pub(crate) fn outcome_of(operation: &Operation, status: StatusPattern) -> Option<ResponseOutcome> {
    let all = || operation.responses.iter().map(|response| response.status);
    let is_upgrade = |status| status == StatusPattern::Code(101);
    let direct = all().any(|status| status.status_class() == Some(2) || is_upgrade(status));
    match status.status_class() {
        Some(2) => Some(ResponseOutcome::Success),
        _ if is_upgrade(status) => Some(ResponseOutcome::Success),
        Some(3) if status == StatusPattern::Code(304) || !direct => Some(ResponseOutcome::Success),
        Some(3..=5) => Some(ResponseOutcome::Error),
        None => Some(ResponseOutcome::Error),
        Some(_) => None,
    }
}

impl PlanInput<'_> {
    /// Plans the success and error responses of an operation.
    ///
    /// The media type of `streamed` is omitted if its response has other media types, because the stream has a client
    /// method of its own.
    pub(super) fn plan_responses(
        &self,
        operation: &Operation,
        raw: bool,
        streamed: Option<&StreamedResponse>,
    ) -> (ResponseSet, ResponseSet) {
        let of = |due: ResponseOutcome| -> Vec<&Response> {
            let responses = operation.responses.iter();
            responses.filter(|response| outcome_of(operation, response.status) == Some(due)).collect()
        };
        let (mut successes, refusals) = (of(ResponseOutcome::Success), of(ResponseOutcome::Error));
        if successes.is_empty() {
            successes.extend(refusals.iter().filter(|response| response.status == StatusPattern::Default));
        }
        let mut answers = self.response_cases(operation, &successes, raw, streamed);
        if answers.is_empty() {
            answers.push(ResponseCase {
                status: StatusPattern::Range(2),
                media_type: String::new(),
                aliases: Vec::new(),
                by_media_type: false,
                payload: ResponsePayload::Bytes,
                variant: String::new(),
                doc: String::new(),
            });
        }
        let mut answers = response_set(answers);
        // A handler does not set the response headers that the option `hidden-headers` lists, because
        // middleware sets them.
        let hidden = |name: &str| {
            self.operations.hidden_headers.iter().any(|hidden| hidden.eq_ignore_ascii_case(name))
        };
        let headers = successes.iter().flat_map(|response| &response.headers).any(|h| !hidden(&h.name));
        let open = |case: &ResponseCase| {
            !matches!(case.status, StatusPattern::Code(_)) || MediaType::parse(&case.media_type).is_range()
        };
        let payloads: BTreeSet<&ResponsePayload> = answers.cases.iter().map(|case| &case.payload).collect();
        let json = payloads.iter().find(|payload| matches!(payload, ResponsePayload::Json(_)));
        if let (2, true, Some(&json)) = (payloads.len(), payloads.contains(&ResponsePayload::Nothing), json) {
            answers.single = Some(json.clone());
            answers.optional = true;
        }
        // If several statuses have the same payload, the payload does not determine the status.
        let statuses =
            answers.cases.iter().filter(|case| Some(&case.payload) == answers.single.as_ref()).count();
        answers.needs_reply = headers || statuses > 1 || answers.cases.iter().any(open);
        (answers, response_set(self.response_cases(operation, &refusals, false, None)))
    }

    fn response_cases(
        &self,
        operation: &Operation,
        responses: &[&Response],
        raw: bool,
        streamed: Option<&StreamedResponse>,
    ) -> Vec<ResponseCase> {
        let mut cases = Vec::new();
        for response in responses {
            let mut own: Vec<(Option<&api::MediaType>, ResponsePayload, Vec<String>)> = Vec::new();
            let streamed = streamed.filter(|streamed| streamed.status == response.status);
            let is_whole = |media: &&api::MediaType| streamed.is_none_or(|own| own.media_type != media.name);
            let has_others = api::exchanged_media(&response.content).any(|media| is_whole(&media));
            let content = api::exchanged_media(&response.content);
            for media in content.filter(|media| !has_others || is_whole(media)) {
                let payload = if raw { ResponsePayload::Bytes } else { self.payload_of(media) };
                // Further JSON media types with the same Rust type become aliases of the first one.
                let json = matches!(payload, ResponsePayload::Json(_));
                match own.iter_mut().find(|(_, known, _)| json && *known == payload) {
                    Some((.., aliases)) => aliases.push(media.name.clone()),
                    None => own.push((Some(media), payload, Vec::new())),
                }
            }
            // A response to `HEAD` has no body, even if the contract describes one.
            if own.is_empty() || operation.method == "HEAD" {
                own = vec![(None, ResponsePayload::Nothing, Vec::new())];
            }
            let several = own.len() > 1;
            let label = match response.status {
                StatusPattern::Code(code) => reason_phrase(code),
                StatusPattern::Range(class) => format!("Status{class}xx"),
                StatusPattern::Default => "Default".to_owned(),
            };
            cases.extend(own.into_iter().map(|(media, payload, aliases)| ResponseCase {
                status: response.status,
                media_type: media.map(|media| media.name.clone()).unwrap_or_default(),
                aliases,
                by_media_type: several,
                payload,
                variant: match media.filter(|_| several) {
                    Some(media) => names::variant_name(&format!(
                        "{label} {}",
                        media_name(&MediaType::parse(&media.name))
                    )),
                    None => label.clone(),
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

    fn payload_of(&self, media: &api::MediaType) -> ResponsePayload {
        let media_type = MediaType::parse(&media.name);
        if self.is_json_content(media) {
            ResponsePayload::Json(
                media.schema.map_or(TypeRef::Json, |schema| self.shapes.type_of_schema(schema).clone()),
            )
        } else if media_type.is_text() {
            ResponsePayload::Text
        } else {
            ResponsePayload::Bytes
        }
    }
}

fn response_set(cases: Vec<ResponseCase>) -> ResponseSet {
    let one = match cases.split_first() {
        None => Some(ResponsePayload::Nothing),
        Some((first, others)) => {
            others.iter().all(|case| case.payload == first.payload).then(|| first.payload.clone())
        }
    };
    ResponseSet { cases, single: one, ..ResponseSet::default() }
}

/// Builds the enums for responses with several types, and stores the name of each enum in the calls that use
/// it.
pub(super) fn build_response_enums(shapes: &Shapes, calls: &mut [PlannedCall<'_>]) -> Vec<ResponseEnum> {
    let mut error_sets: BTreeMap<Vec<ResponsePayload>, Vec<usize>> = BTreeMap::new();
    for (index, call) in calls.iter().enumerate().filter(|(_, call)| call.errors.single.is_none()) {
        let types: BTreeSet<&ResponsePayload> = call.errors.cases.iter().map(|case| &case.payload).collect();
        let mut types: Vec<ResponsePayload> = types.into_iter().cloned().collect();
        types.sort_by_cached_key(|payload| payload.variant_name(shapes));
        error_sets.entry(types).or_default().push(index);
    }
    let mut choices: Vec<ResponseEnum> = Vec::new();
    // An enum of many types is named after its operation, because a list of all names is not readable.
    let sets = error_sets.into_iter().flat_map(|(types, users)| match types.len() > MAX_NAMED_TYPES {
        true => users.into_iter().map(|user| (types.clone(), vec![user])).collect::<Vec<_>>(),
        false => vec![(types, users)],
    });
    for (types, users) in sets {
        let mut variants: Vec<String> = types.iter().map(|payload| payload.variant_name(shapes)).collect();
        let name = match types.len() > MAX_NAMED_TYPES {
            true => format!("{}Error", calls[users[0]].id),
            false => variants.join("Or"),
        };
        let wires: Vec<String> = types.iter().map(|payload| format!("{payload:?}")).collect();
        let wires: Vec<&str> = wires.iter().map(String::as_str).collect();
        names::make_distinct(&wires, &mut variants);
        for &user in &users {
            for case in &mut calls[user].errors.cases {
                let at = types.iter().position(|payload| *payload == case.payload);
                case.variant = at.and_then(|at| variants.get(at)).cloned().unwrap_or_default();
            }
        }
        let variants = variants.into_iter().zip(types).collect();
        choices.push(ResponseEnum { name, outcome: ResponseOutcome::Error, users, variants });
    }
    for (index, call) in calls.iter().enumerate().filter(|(_, call)| call.responses.single.is_none()) {
        let variants = call.responses.cases.iter().map(|case| (case.variant.clone(), case.payload.clone()));
        choices.push(ResponseEnum {
            name: format!("{}Response", call.id),
            outcome: ResponseOutcome::Success,
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
                ResponseOutcome::Success => calls[user].responses.enum_name = Some(name.clone()),
                ResponseOutcome::Error => calls[user].errors.enum_name = Some(name.clone()),
            }
        }
        choice.name = name;
    }
    choices.sort_by(|one, other| one.name.cmp(&other.name));
    choices
}

/// Returns the most frequent error type of the calls, not counting error responses without a body.
pub(super) fn common_error(calls: &[PlannedCall<'_>]) -> Option<ErrorType> {
    let mut counts: BTreeMap<ErrorType, usize> = BTreeMap::new();
    for call in calls {
        if let Some(error) = call.errors.error_type() {
            *counts.entry(error).or_default() += 1;
        }
    }
    let nothing = ErrorType::One(ResponsePayload::Nothing);
    // If an enum and a single type are equally frequent, the single type is selected.
    let weight = |(error, count): &(ErrorType, usize)| (*count, matches!(error, ErrorType::One(_)));
    let some = counts.into_iter().filter(|(error, _)| *error != nothing);
    some.max_by_key(weight).map(|(error, _)| error)
}

impl ResponseSet {
    /// Returns the Rust type of these error responses, or `None` if there are no error responses.
    #[must_use]
    pub fn error_type(&self) -> Option<ErrorType> {
        match (&self.single, &self.enum_name) {
            (Some(one), _) => Some(ErrorType::One(one.clone())),
            (None, Some(name)) => Some(ErrorType::Enum(name.clone())),
            (None, None) => None,
        }
    }
}

impl ResponsePayload {
    /// Returns true if both payloads have the same Rust type.
    #[must_use]
    pub fn is_same_rust_type(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Json(one), Self::Json(other)) => one.is_same_rust_type(other),
            (one, other) => one == other,
        }
    }

    /// Returns the variant name for this payload in an error enum.
    fn variant_name(&self, shapes: &Shapes) -> String {
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

/// Returns the value of the `Accept` header: the media types of all responses that a client can parse, those
/// of success responses first.
pub(super) fn accept_header(
    operation: &Operation,
    answers: &ResponseSet,
    refusals: &ResponseSet,
) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for side in [answers, refusals] {
        for response in &operation.responses {
            let own = side.cases.iter().filter(|case| case.status == response.status);
            let with_body = own.filter(|case| case.payload != ResponsePayload::Nothing);
            let read: Vec<&str> = with_body.flat_map(ResponseCase::media_types).collect();
            for media in api::exchanged_media(&response.content) {
                let name = media.name.as_str();
                if read.contains(&name) && MediaType::parse(name).is_sendable() && !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}
