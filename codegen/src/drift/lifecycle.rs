//! The lifecycle that a contract declares for an element, and its effect on the removal of the element.
//!
//! The removal of a deprecated element is not breaking after the date in its `x-sunset`. The removal of an
//! element whose `x-stability` or `x-stability-level` is `alpha`, `experimental` or `draft` is never
//! breaking. An element without a stability has that of the nearest element that contains it in the document. A
//! component that no such element contains has the stability of the operations that use it, if all of them are
//! unstable.

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

/// The clause for the report about an element that only unstable operations use.
const UNSTABLE_USES: &str = "only unstable operations use it, so its removal is not breaking";

/// The effect of the lifecycle on the removal of an element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RemovalNote {
    /// A clause for the report that explains why the declared lifecycle allows the removal or does not allow
    /// it. Empty if no lifecycle is declared.
    pub(super) text: String,
    /// Whether the lifecycle allows the removal. An allowed removal is not breaking.
    pub(super) is_allowed: bool,
    /// Whether neither the element nor an element around it declares a stability.
    has_stability_of_uses: bool,
}

impl RemovalNote {
    /// Allows the removal if the element has the stability of its uses, and these are unstable.
    pub(super) fn apply_uses(&mut self, are_unstable: bool) {
        if self.has_stability_of_uses && are_unstable && !self.is_allowed {
            self.text = UNSTABLE_USES.to_owned();
            self.is_allowed = true;
        }
    }
}

/// Returns true if a lifecycle affects the level of the rule.
pub(super) fn is_removal_of_element(rule: &DriftRule) -> bool {
    REMOVALS.iter().any(|each| each.id == rule.id)
}

/// Returns the effect of the lifecycle that a removed element declares. `place` is the location of the
/// element in the old version. Returns `None` if the rule is not about a removal. Without a current date,
/// `x-sunset` has no effect.
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
    let stability = find_stability(root, &place.pointer);
    if let Some((key, stability)) = stability.filter(|(_, stability)| is_unstable(stability)) {
        let text = format!("its `{key}` is `{stability}`, so its removal is not breaking");
        return Some(RemovalNote { text, is_allowed: true, has_stability_of_uses: false });
    }
    let (text, is_allowed) = judge_sunset(rule, root, place, today).unwrap_or_default();
    Some(RemovalNote { text, is_allowed, has_stability_of_uses: stability.is_none() })
}

/// Returns the effect of the `x-sunset` that a removed element declares: a clause for the report, and whether
/// the date allows the removal.
fn judge_sunset(
    rule: &DriftRule,
    root: &DocumentNode,
    place: &DocumentLocation,
    today: Option<CalendarDate>,
) -> Option<(String, bool)> {
    let element = root.resolve_pointer(&place.pointer)?;
    let sunset = element.get(SUNSET)?.as_str()?;
    // The rule for deprecated properties also applies if the type of the property is deprecated.
    let is_deprecated = element.get("deprecated").is_some_and(|flag| flag.to_json().as_bool() == Some(true))
        || rule.id == rules::PROPERTY_RESERVED_REMOVED.id;
    Some(match parse_sunset(sunset) {
        _ if !is_deprecated => (format!("its `{SUNSET}` has no effect without `deprecated: true`"), false),
        Err(problem) => (format!("its `{SUNSET}` has no effect: {problem}"), false),
        Ok(date) if date < today? => {
            (format!("its `{SUNSET}` {date} has passed, so its removal is not breaking"), true)
        }
        Ok(date) => (format!("its `{SUNSET}` {date} has not passed"), false),
    })
}

/// Returns true if the element at a location, or the nearest element around it that declares a stability, is
/// unstable.
pub(super) fn is_unstable_element(version: &ContractVersion, place: &DocumentLocation) -> bool {
    let source = version.sources.get(place.source);
    source
        .and_then(|source| find_stability(&source.tree, &place.pointer))
        .is_some_and(|(_, stability)| is_unstable(stability))
}

fn is_unstable(stability: &str) -> bool {
    UNSTABLE.iter().any(|unstable| stability.eq_ignore_ascii_case(unstable))
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
