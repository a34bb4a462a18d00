//! Faults of what is compared: what was read as it is meant, or left out, is compared as that, and a
//! reviewer has to know.

use std::collections::HashMap;

use super::{Spot, Version, places::Places, proof::Side};
use crate::diagnostics::Diagnostic;

/// Something that the new version does not say as it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which kind of problem, in kebab case; stable.
    pub code: &'static str,
    /// What is wrong, and what was taken in its place.
    pub message: String,
    /// Where it stands.
    pub new: Option<Spot>,
}

/// What tells a fault from others: its kind, its words, and where it is said.
type Key<'a> = (&'static str, String, Option<&'a str>);

/// Without the address of the document itself, which may have another name in each version.
fn key<'a>(version: &Version, fault: &'a Diagnostic) -> Key<'a> {
    let place = fault.place.as_ref();
    let source = place.and_then(|place| version.sources.get(place.source));
    let words = match source {
        Some(source) if !source.uri.is_empty() => fault.message.replace(&source.uri, ""),
        _ => fault.message.clone(),
    };
    (fault.code, words, place.map(|place| place.pointer.as_str()))
}

/// The faults that only the new version has.
pub(super) fn fresh(old: &Version, new: &Version) -> Vec<Fault> {
    let mut known: HashMap<Key<'_>, usize> = HashMap::new();
    for fault in &old.left {
        *known.entry(key(old, fault)).or_default() += 1;
    }
    let mut rest: Vec<(&Diagnostic, Key<'_>)> = Vec::new();
    for fault in &new.left {
        let key = key(new, fault);
        match known.get_mut(&key) {
            Some(count) if *count > 0 => *count -= 1,
            _ => rest.push((fault, key)),
        }
    }
    // What moved is no other fault.
    let mut moved: HashMap<(&str, String), usize> = HashMap::new();
    for ((code, message, _), count) in known {
        *moved.entry((code, message)).or_default() += count;
    }
    let mut places = Places::new(old, new);
    let mut faults = Vec::new();
    for (fault, (code, words, _)) in rest {
        match moved.get_mut(&(code, words)) {
            Some(count) if *count > 0 => *count -= 1,
            _ => {
                let spot = fault.place.as_ref().map(|place| places.spot(Side::New, place, None));
                let new = spot.filter(|spot| !spot.file.is_empty());
                faults.push(Fault { code: fault.code, message: fault.message.clone(), new });
            }
        }
    }
    faults
}
