//! `drift`: compares two versions of a contract.

use contract_codegen::{
    diagnostics::Diagnostics,
    drift::{
        ChangeLevel, CompareOptions, ContractChange, ContractVersion, SourceLocation, compare,
        report::{self, ComparedVersions, ReportOptions},
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{documents::NamedText, positions};

#[derive(Debug, Deserialize)]
pub(crate) struct DriftRequest {
    old: Vec<NamedText>,
    new: Vec<NamedText>,
    /// Whether to prove that a change breaks clients. Proofs take time.
    #[serde(default = "default_proofs")]
    proofs: bool,
    /// Whether the response contains the page of `drift --html`.
    #[serde(default)]
    report: bool,
}

const fn default_proofs() -> bool {
    true
}

/// Returns the changes, the most severe first. If a version is invalid, returns its problems.
pub(crate) fn compare_versions(request: &DriftRequest) -> Value {
    let (old, new) = match (parse_version(&request.old), parse_version(&request.new)) {
        (Ok(old), Ok(new)) => (old, new),
        (old, new) => {
            let problems =
                |version: Result<_, Diagnostics>| version.err().map(positions::diagnostics_to_json);
            return json!({ "problems": { "old": problems(old), "new": problems(new) } });
        }
    };
    let drift = compare(&old, &new, &CompareOptions { proofs: request.proofs, ..CompareOptions::default() });
    let view = ReportOptions { within_major: true, ..ReportOptions::default() };
    let page =
        request.report.then(|| report::render_html(&drift, ComparedVersions { old: &old, new: &new }, &view));
    let mut changes: Vec<&ContractChange> =
        drift.changes.iter().filter(|change| change.level() > ChangeLevel::Same).collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.level()));
    json!({
        "result": drift.overall_level().as_str(),
        "readers": drift.reader_level().as_str(),
        "writers": drift.writer_level().as_str(),
        "bump": drift.required_bump().as_str(),
        "oldVersion": drift.old_version,
        "newVersion": drift.new_version,
        "changes": changes.into_iter().map(change_to_json).collect::<Vec<_>>(),
        "report": page,
    })
}

fn parse_version(files: &[NamedText]) -> Result<ContractVersion, Diagnostics> {
    let texts: Vec<(&str, &str, &str)> =
        files.iter().map(|file| (file.name.as_str(), "", file.text.as_str())).collect();
    ContractVersion::from_strings(&texts)
}

fn change_to_json(change: &ContractChange) -> Value {
    let place =
        |place: &SourceLocation| json!({ "file": place.file, "line": place.line, "pointer": place.pointer });
    json!({
        "rule": change.rule,
        "level": change.level().as_str(),
        "readers": change.readers.as_str(),
        "writers": change.writers.as_str(),
        "reason": change.reason,
        "subject": change.subject,
        "uses": change.uses,
        "message": change.message,
        "proven": change.proven,
        "witness": change.witness,
        "old": change.old.as_ref().map(place),
        "new": change.new.as_ref().map(place),
    })
}
