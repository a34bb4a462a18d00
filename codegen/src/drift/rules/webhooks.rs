//! The levels of operation rules in webhooks and callbacks. The service sends their requests, and clients
//! send the responses, so readers receive the request and writers send the response.
//!
//! A rule that is not listed here has the same levels as in operations.

use super::{
    ChangeLevel, DriftRule, ERROR_RESPONSE_REMOVED, PARAMETER_ADDED_OPTIONAL, PARAMETER_ADDED_REQUIRED,
    PARAMETER_MOVED, PARAMETER_OPTIONAL, PARAMETER_REMOVED, PARAMETER_REQUIRED, PARAMETER_STYLE_CHANGED,
    PATH_PARAMETER_RENAMED, REQUEST_BODY_ADDED_OPTIONAL, REQUEST_BODY_ADDED_REQUIRED, REQUEST_BODY_OPTIONAL,
    REQUEST_BODY_REMOVED, REQUEST_BODY_REQUIRED, REQUEST_MEDIA_TYPE_ADDED, REQUEST_MEDIA_TYPE_REMOVED,
    RESPONSE_ADDED, RESPONSE_ADDED_SUCCESS, RESPONSE_FOLDED, RESPONSE_HEADER_ADDED, RESPONSE_HEADER_OPTIONAL,
    RESPONSE_HEADER_REMOVED, RESPONSE_HEADER_REMOVED_OPTIONAL, RESPONSE_HEADER_REQUIRED,
    RESPONSE_HEADER_STYLE_CHANGED, RESPONSE_MEDIA_TYPE_ADDED, RESPONSE_MEDIA_TYPE_REMOVED, RESPONSE_NAMED,
    RESPONSE_NARROWED, RESPONSE_REMOVED,
};

/// The levels of a rule in a webhook or a callback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WebhookLevels {
    /// The level for clients that receive requests.
    pub(crate) readers: ChangeLevel,
    /// The level for clients that send responses.
    pub(crate) writers: ChangeLevel,
    /// The effect of the change on receivers and the service, which explains the levels.
    pub(crate) reason: &'static str,
}

const S: ChangeLevel = ChangeLevel::Same;
const A: ChangeLevel = ChangeLevel::Additive;
const R: ChangeLevel = ChangeLevel::Renamed;
const B: ChangeLevel = ChangeLevel::Breaking;

const IGNORED: &str = "Receivers ignore unknown elements.";
const RELIED: &str = "Receivers that depend on it may fail.";
const EXPECTED: &str = "Receivers can depend on it.";
const ANSWERED: &str = "The service no longer understands this response when receivers send it.";
const MORE: &str = "Receivers can respond as before.";
const UNREAD: &str = "The service ignores it when receivers send it.";

/// Returns the levels of a rule in webhooks and callbacks if they differ from those in operations.
pub(crate) fn webhook_levels(id: &str) -> Option<&'static WebhookLevels> {
    WEBHOOK_RULES.iter().find(|(rule, _)| rule.id == id).map(|(_, hook)| hook)
}

const fn webhook_rule(
    rule: &'static DriftRule,
    readers: ChangeLevel,
    writers: ChangeLevel,
    why: &'static str,
) -> (&'static DriftRule, WebhookLevels) {
    (rule, WebhookLevels { readers, writers, reason: why })
}

const WEBHOOK_RULES: &[(&DriftRule, WebhookLevels)] = &[
    // The following rules are about requests, which the service sends.
    webhook_rule(PARAMETER_ADDED_OPTIONAL, A, S, IGNORED),
    webhook_rule(PARAMETER_ADDED_REQUIRED, A, S, IGNORED),
    webhook_rule(PARAMETER_REMOVED, B, S, RELIED),
    webhook_rule(
        PARAMETER_MOVED,
        B,
        S,
        "The service no longer sends it at the location where receivers read it.",
    ),
    webhook_rule(PARAMETER_REQUIRED, A, S, EXPECTED),
    webhook_rule(PARAMETER_OPTIONAL, B, S, RELIED),
    webhook_rule(
        PARAMETER_STYLE_CHANGED,
        B,
        S,
        "Receivers may misread the value, because it has another form on the wire.",
    ),
    webhook_rule(
        PATH_PARAMETER_RENAMED,
        R,
        S,
        "The wire format is the same; code that uses the generated name of the argument may have to change.",
    ),
    webhook_rule(REQUEST_BODY_ADDED_OPTIONAL, A, S, IGNORED),
    webhook_rule(REQUEST_BODY_ADDED_REQUIRED, A, S, IGNORED),
    webhook_rule(REQUEST_BODY_REMOVED, B, S, RELIED),
    webhook_rule(REQUEST_BODY_REQUIRED, A, S, EXPECTED),
    webhook_rule(REQUEST_BODY_OPTIONAL, B, S, RELIED),
    webhook_rule(REQUEST_MEDIA_TYPE_ADDED, B, S, "Receivers may receive a body that they cannot read."),
    webhook_rule(REQUEST_MEDIA_TYPE_REMOVED, A, S, "Receivers have one media type less to read."),
    // The following rules are about responses, which clients send.
    webhook_rule(RESPONSE_ADDED, S, A, MORE),
    webhook_rule(RESPONSE_ADDED_SUCCESS, S, A, MORE),
    webhook_rule(
        RESPONSE_NAMED,
        S,
        A,
        "Receivers of the old version send this status under the range or `default` entry, so the new \
        entry is compared with that entry.",
    ),
    webhook_rule(
        RESPONSE_FOLDED,
        S,
        A,
        "The service still understands this status by the range or `default` entry, so that entry is \
        compared with the removed one.",
    ),
    webhook_rule(RESPONSE_NARROWED, S, B, ANSWERED),
    webhook_rule(RESPONSE_REMOVED, S, B, ANSWERED),
    webhook_rule(ERROR_RESPONSE_REMOVED, S, B, ANSWERED),
    webhook_rule(RESPONSE_MEDIA_TYPE_ADDED, S, A, MORE),
    webhook_rule(RESPONSE_MEDIA_TYPE_REMOVED, S, B, ANSWERED),
    webhook_rule(RESPONSE_HEADER_ADDED, S, A, MORE),
    webhook_rule(RESPONSE_HEADER_REMOVED, S, B, UNREAD),
    webhook_rule(RESPONSE_HEADER_REMOVED_OPTIONAL, S, B, UNREAD),
    webhook_rule(RESPONSE_HEADER_REQUIRED, S, B, "The service rejects responses without it."),
    webhook_rule(
        RESPONSE_HEADER_STYLE_CHANGED,
        S,
        B,
        "The service may misread or reject values that receivers send in the old form.",
    ),
    webhook_rule(
        RESPONSE_HEADER_OPTIONAL,
        S,
        A,
        "Receivers can omit it; responses with it have the same meaning.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::rules::RULES;

    /// Every rule about parameters, bodies and responses has its own levels for webhooks, except
    /// `parameter-deprecated`.
    #[test]
    fn every_request_and_response_rule_is_listed() {
        let is_listed_kind = |id: &str| {
            ["parameter-", "request-", "response-", "path-parameter-"]
                .iter()
                .any(|start| id.starts_with(start))
                || id == ERROR_RESPONSE_REMOVED.id
        };
        let is_missing = |rule: &&DriftRule| is_listed_kind(rule.id) && webhook_levels(rule.id).is_none();
        let missing: Vec<&str> = RULES.iter().filter(is_missing).map(|rule| rule.id).collect();
        // Deprecation has the same meaning in both directions.
        assert_eq!(missing, ["parameter-deprecated"]);
        // In a webhook, a change affects readers instead of writers, or the reverse.
        for (rule, hook) in WEBHOOK_RULES {
            let unaffected = |readers: ChangeLevel, writers: ChangeLevel| (readers == S, writers == S);
            assert_ne!(
                unaffected(rule.readers, rule.writers),
                unaffected(hook.readers, hook.writers),
                "{}",
                rule.id
            );
        }
    }
}
