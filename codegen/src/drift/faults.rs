//! Faults of the compared contracts. The loader repaired or skipped them, so the comparison does not cover
//! the document as written. Reports list the faults that only the new version has.

use std::collections::HashMap;

use contract_codegen_core::{diagnostics::Diagnostic, load::uri::without_file_scheme};

use super::{ContractVersion, SourceLocation, locations::SourceLocator, proof::VersionSide};

/// A fault of the new version that the loader tolerated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractFault {
    /// The kind of fault in kebab case. The codes are stable.
    pub code: &'static str,
    /// A description of the fault and of the repair that was applied.
    pub message: String,
    /// The location of the fault in the new version.
    pub new: Option<SourceLocation>,
}

/// The key by which the faults of both versions are matched: the code, the message, and the JSON Pointer.
type FaultKey<'a> = (&'static str, String, Option<&'a str>);

/// Returns the key of a fault. The message in the key does not contain the URI of the document, because the
/// URI may differ between the versions.
fn fault_key<'a>(version: &ContractVersion, fault: &'a Diagnostic) -> FaultKey<'a> {
    let place = fault.place.as_ref();
    let source = place.and_then(|place| version.sources.get(place.source));
    let message_key = match source {
        Some(source) if !source.uri.is_empty() => fault.message.replace(without_file_scheme(&source.uri), ""),
        _ => fault.message.clone(),
    };
    (fault.code, message_key, place.map(|place| place.pointer.as_str()))
}

/// Returns the faults that only the new version has, without those that only moved within the document.
pub(super) fn find_new_faults(old: &ContractVersion, new: &ContractVersion) -> Vec<ContractFault> {
    let mut known: HashMap<FaultKey<'_>, usize> = HashMap::new();
    for fault in &old.tolerated_faults {
        *known.entry(fault_key(old, fault)).or_default() += 1;
    }
    let mut rest: Vec<(&Diagnostic, FaultKey<'_>)> = Vec::new();
    for fault in &new.tolerated_faults {
        let key = fault_key(new, fault);
        match known.get_mut(&key) {
            Some(count) if *count > 0 => *count -= 1,
            _ => rest.push((fault, key)),
        }
    }
    // A fault that only moved within the document is not new.
    let mut moved: HashMap<(&str, String), usize> = HashMap::new();
    for ((code, message, _), count) in known {
        *moved.entry((code, message)).or_default() += count;
    }
    let mut places = SourceLocator::new(old, new);
    let mut faults = Vec::new();
    for (fault, (code, message_key, _)) in rest {
        match moved.get_mut(&(code, message_key)) {
            Some(count) if *count > 0 => *count -= 1,
            _ => {
                let location = fault.place.as_ref().map(|place| places.locate(VersionSide::New, place, None));
                let new = location.filter(|location| !location.file.is_empty());
                faults.push(ContractFault { code: fault.code, message: fault.message.clone(), new });
            }
        }
    }
    faults
}
