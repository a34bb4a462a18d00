//! The lifecycle that a contract declares for an element, and its effect on the removal of the element.
//!
//! The removal of a deprecated element is not breaking after the date in its `x-sunset`. The removal of an
//! element whose `x-stability` or `x-stability-level` is `alpha`, `experimental` or `draft` is never
//! breaking. An element without a stability has that of the nearest element that contains it in the document.

use contract_codegen_core::tree::{DocumentLocation, DocumentNode};

use super::{
    ContractVersion,
    dates::CalendarDate,
    rules::{self, DriftRule},
};

const SUNSET: &str = "x-sunset";
const STABILITY: [&str; 2] = ["x-stability", "x-stability-level"];
/// The stability values that allow the removal of an element.
const UNSTABLE: [&str; 3] = ["alpha", "experimental", "draft"];

/// The rules about the removal of elements that can declare a lifecycle.
const REMOVALS: [&DriftRule; 7] = [
    rules::OPERATION_REMOVED,
    rules::WEBHOOK_REMOVED,
    rules::PARAMETER_REMOVED,
    rules::PROPERTY_REMOVED_REQUIRED,
    rules::PROPERTY_REMOVED,
    rules::PROPERTY_RESERVED_REMOVED,
    rules::SCHEMA_REMOVED,
];

/// The description of the lifecycle for the explanation of a rule.
pub(super) const LIFECYCLE_NOTE: &str = "It is not breaking if the old version declares `deprecated: true` and \
an `x-sunset` date that has passed, or the `x-stability` `alpha`, `experimental` or `draft`.";

/// The effect of a declared lifecycle on a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RemovalNote {
    /// A clause for the report that explains why the declared lifecycle allows the removal or does not allow it.
    pub(super) text: String,
    /// Whether the lifecycle allows the removal. An allowed removal is not breaking.
    pub(super) is_allowed: bool,
}

/// Returns true if a lifecycle affects the level of the rule.
pub(super) fn is_removal_of_element(rule: &DriftRule) -> bool {
    REMOVALS.iter().any(|each| each.id == rule.id)
}

/// Returns the effect of the lifecycle that a removed element declares. `place` is the location of the
/// element in the old version. Returns `None` if the rule is not about a removal, or if the element declares
/// no lifecycle. Without a current date, `x-sunset` has no effect.
pub(super) fn judge_removal(
    rule: &DriftRule,
    old: &ContractVersion,
    place: &DocumentLocation,
    today: Option<CalendarDate>,
) -> Option<RemovalNote> {
    if !is_removal_of_element(rule) {
        return None;
    }
    let root = &old.sources.get(place.source)?.tree;
    if let Some((key, stability)) = find_stability(root, &place.pointer)
        && UNSTABLE.iter().any(|unstable| stability.eq_ignore_ascii_case(unstable))
    {
        let text = format!("its `{key}` is `{stability}`, so its removal is not breaking");
        return Some(RemovalNote { text, is_allowed: true });
    }
    let element = root.resolve_pointer(&place.pointer)?;
    let sunset = element.get(SUNSET)?.as_str()?;
    // The rule for deprecated properties also applies if the type of the property is deprecated.
    let is_deprecated = element.get("deprecated").is_some_and(|flag| flag.to_json().as_bool() == Some(true))
        || rule.id == rules::PROPERTY_RESERVED_REMOVED.id;
    let (text, is_allowed) = match parse_sunset(sunset) {
        _ if !is_deprecated => (format!("its `{SUNSET}` has no effect without `deprecated: true`"), false),
        Err(problem) => (format!("its `{SUNSET}` has no effect: {problem}"), false),
        Ok(date) if date < today? => {
            (format!("its `{SUNSET}` {date} has passed, so its removal is not breaking"), true)
        }
        Ok(date) => (format!("its `{SUNSET}` {date} has not passed"), false),
    };
    Some(RemovalNote { text, is_allowed })
}

/// Returns the stability that an element declares, with the key of the declaration. If the element declares
/// none, returns that of the nearest element around it.
fn find_stability<'d>(root: &'d DocumentNode, pointer: &str) -> Option<(&'static str, &'d str)> {
    let mut pointer = pointer;
    loop {
        let found = root
            .resolve_pointer(pointer)
            .and_then(|node| STABILITY.into_iter().find_map(|key| Some((key, node.get(key)?.as_str()?))));
        if found.is_some() {
            return found;
        }
        pointer = pointer.rsplit_once('/')?.0;
    }
}

/// Parses a date, or the date of a date-time.
fn parse_sunset(text: &str) -> Result<CalendarDate, String> {
    let date = match text.split_at_checked(10) {
        Some((date, time)) if time.starts_with(['T', 't', ' ']) => date,
        _ => text,
    };
    date.parse()
}
