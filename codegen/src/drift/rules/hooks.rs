//! What rules of operations mean for webhooks and callbacks, where the service calls and clients
//! answer: readers take the request, writers send the answer.
//!
//! Rules that are not listed mean the same for both.

use super::{
    Level, PARAMETER_ADDED_OPTIONAL, PARAMETER_ADDED_REQUIRED, PARAMETER_MOVED, PARAMETER_OPTIONAL,
    PARAMETER_REMOVED, PARAMETER_REQUIRED, PARAMETER_STYLE_CHANGED, PATH_PARAMETER_RENAMED, REFUSAL_REMOVED,
    REQUEST_BODY_ADDED_OPTIONAL, REQUEST_BODY_ADDED_REQUIRED, REQUEST_BODY_OPTIONAL, REQUEST_BODY_REMOVED,
    REQUEST_BODY_REQUIRED, REQUEST_MEDIA_TYPE_ADDED, REQUEST_MEDIA_TYPE_REMOVED, RESPONSE_ADDED,
    RESPONSE_ADDED_SUCCESS, RESPONSE_FOLDED, RESPONSE_HEADER_ADDED, RESPONSE_HEADER_OPTIONAL,
    RESPONSE_HEADER_REMOVED, RESPONSE_HEADER_REMOVED_OPTIONAL, RESPONSE_HEADER_REQUIRED,
    RESPONSE_HEADER_STYLE_CHANGED, RESPONSE_MEDIA_TYPE_ADDED, RESPONSE_MEDIA_TYPE_REMOVED, RESPONSE_NAMED,
    RESPONSE_NARROWED, RESPONSE_REMOVED, Rule, UNREAD,
};

/// What a rule means in a webhook or a callback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hook {
    /// For those who take what the service sends: its requests.
    pub(crate) readers: Level,
    /// For those who send what the service takes: answers.
    pub(crate) writers: Level,
    /// Why.
    pub(crate) why: &'static str,
}

const S: Level = Level::Same;
const A: Level = Level::Additive;
const R: Level = Level::Renamed;
const B: Level = Level::Breaking;

const IGNORED: &str = "Receivers ignore what they do not know.";
const RELIED: &str = "Receivers relied on it.";
const EXPECTED: &str = "There is more to rely on.";
const ANSWERED: &str = "Receivers that answer so are not understood.";
const MORE: &str = "Receivers may go on answering as they do.";

/// What a rule means in a webhook or a callback, where that is something else than in an operation.
pub(crate) fn hook(id: &str) -> Option<&'static Hook> {
    HOOKS.iter().find(|(rule, _)| rule.id == id).map(|(_, hook)| hook)
}

const fn means(
    rule: &'static Rule,
    readers: Level,
    writers: Level,
    why: &'static str,
) -> (&'static Rule, Hook) {
    (rule, Hook { readers, writers, why })
}

const HOOKS: &[(&Rule, Hook)] = &[
    // The service sends the request.
    means(PARAMETER_ADDED_OPTIONAL, A, S, IGNORED),
    means(PARAMETER_ADDED_REQUIRED, A, S, IGNORED),
    means(PARAMETER_REMOVED, B, S, RELIED),
    means(PARAMETER_MOVED, B, S, "It no longer comes where receivers look for it."),
    means(PARAMETER_REQUIRED, A, S, EXPECTED),
    means(PARAMETER_OPTIONAL, B, S, RELIED),
    means(PARAMETER_STYLE_CHANGED, B, S, "The same value has another text on the wire."),
    means(PATH_PARAMETER_RENAMED, R, S, "The wire is the same; generated code may name its argument anew."),
    means(REQUEST_BODY_ADDED_OPTIONAL, A, S, IGNORED),
    means(REQUEST_BODY_ADDED_REQUIRED, A, S, IGNORED),
    means(REQUEST_BODY_REMOVED, B, S, RELIED),
    means(REQUEST_BODY_REQUIRED, A, S, EXPECTED),
    means(REQUEST_BODY_OPTIONAL, B, S, RELIED),
    means(REQUEST_MEDIA_TYPE_ADDED, B, S, "Receivers may meet a body of a type that they cannot read."),
    means(REQUEST_MEDIA_TYPE_REMOVED, A, S, "There is less to read."),
    // Receivers send the answer.
    means(RESPONSE_ADDED, S, A, MORE),
    means(RESPONSE_ADDED_SUCCESS, S, A, MORE),
    means(RESPONSE_NAMED, S, A, "Receivers answered as the wider entry says, with which it is compared."),
    means(
        RESPONSE_FOLDED,
        S,
        A,
        "It is still understood, as the wider entry says, with which it is compared.",
    ),
    means(RESPONSE_NARROWED, S, B, ANSWERED),
    means(RESPONSE_REMOVED, S, B, ANSWERED),
    means(REFUSAL_REMOVED, S, B, ANSWERED),
    means(RESPONSE_MEDIA_TYPE_ADDED, S, A, MORE),
    means(RESPONSE_MEDIA_TYPE_REMOVED, S, B, ANSWERED),
    means(RESPONSE_HEADER_ADDED, S, A, MORE),
    means(RESPONSE_HEADER_REMOVED, S, B, UNREAD),
    means(RESPONSE_HEADER_REMOVED_OPTIONAL, S, B, UNREAD),
    means(RESPONSE_HEADER_REQUIRED, S, B, "Answers without it are refused."),
    means(RESPONSE_HEADER_STYLE_CHANGED, S, B, "The same value has another text on the wire."),
    means(RESPONSE_HEADER_OPTIONAL, S, A, "Answers with it mean what they meant."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::rules::RULES;

    /// Every rule of parameters, bodies and answers says what it means where the service calls.
    #[test]
    fn every_rule_of_requests_and_answers_is_listed() {
        let of = |id: &str| {
            ["parameter-", "request-", "response-", "path-parameter-"]
                .iter()
                .any(|start| id.starts_with(start))
                || id == REFUSAL_REMOVED.id
        };
        let silent = |rule: &&Rule| of(rule.id) && hook(rule.id).is_none();
        let missing: Vec<&str> = RULES.iter().filter(silent).map(|rule| rule.id).collect();
        // What is deprecated means the same for both.
        assert_eq!(missing, ["parameter-deprecated"]);
        // Each concerns those who did the other half of an operation.
        for (rule, hook) in HOOKS {
            let silent = |readers: Level, writers: Level| (readers == S, writers == S);
            assert_ne!(silent(rule.readers, rule.writers), silent(hook.readers, hook.writers), "{}", rule.id);
        }
    }
}
