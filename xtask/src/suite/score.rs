//! Scores the cases and compares the score with the recorded one.

use std::{collections::BTreeMap, fs, path::Path};

use contract_runtime::Json;
use serde::Deserialize;

use super::{
    cases::{SchemaGroup, SuiteCase, SuitePart},
    generate::{GeneratedModule, GroupOutcome, OptionSet},
};

/// The file with the recorded score, relative to the root of the repository.
pub(super) const RECORD_FILE: &str = "tests/suite/score.toml";

/// The minimum number of required cases. Every complete copy of the suite has more for each draft.
const MIN_REQUIRED_CASES: usize = 800;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScoreRecord {
    /// The targets of each draft, by its name.
    drafts: BTreeMap<String, DraftTargets>,
    #[serde(default)]
    known: Vec<KnownFailure>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DraftTargets {
    required: PartTarget,
    optional: PartTarget,
    format: PartTarget,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartTarget {
    cases: usize,
    validators: usize,
    types: usize,
}

/// Cases that are known to fail, and the reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownFailure {
    /// The name of the draft; all drafts if missing.
    draft: Option<String>,
    /// The file, such as `optional/format/date.json`.
    file: String,
    /// The description of the group; all groups if missing.
    group: Option<String>,
    /// The description of the case; all cases if missing.
    case: Option<String>,
    reason: String,
}

/// The counts of a file or of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CaseTally {
    pub(super) groups: usize,
    pub(super) cases: usize,
    /// The number of cases that the validators decide correctly.
    pub(super) validators: usize,
    /// The number of cases that the types decide correctly. Valid values must also be serialized unchanged.
    pub(super) types: usize,
    /// The number of invalid values that a type accepts.
    pub(super) accepted_invalid: usize,
    /// The number of valid values that a type rejects because of the options.
    pub(super) excluded: usize,
}

#[derive(Clone, Debug)]
pub(super) struct FailedCase {
    pub(super) file: String,
    pub(super) group: String,
    pub(super) case: String,
    pub(super) valid: bool,
    /// The part that failed: `tables` (the validator), `type` or `both`.
    pub(super) failed_part: &'static str,
    pub(super) details: String,
    /// The recorded reason if the failure is known.
    pub(super) reason: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct SuiteScore {
    pub(super) parts: BTreeMap<SuitePart, CaseTally>,
    /// The counts of each file, sorted by part, then by name.
    pub(super) files: Vec<(SuitePart, String, CaseTally)>,
    pub(super) failed_cases: Vec<FailedCase>,
    /// Invalid values that a type accepts although the report does not list the violated constraint as
    /// unenforced.
    pub(super) unreported: Vec<String>,
    /// The number of cross-checks. Each passes a value of one schema to the type and the validator of another
    /// schema, which must agree.
    pub(super) cross_checks: usize,
    pub(super) disagreements: Vec<String>,
}

struct RunnerResult<'a>(&'a Json);

impl RunnerResult<'_> {
    fn is_true(&self, name: &str) -> bool {
        self.0.as_object().and_then(|members| members.get(name)) == Some(&Json::Bool(true))
    }

    fn string_field(&self, name: &str) -> Option<&str> {
        self.0.as_object()?.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    fn violations(&self) -> impl Iterator<Item = (&str, &str)> {
        let list = self.0.as_object().and_then(|members| members.get("violations")?.as_array());
        list.unwrap_or_default().iter().filter_map(|violation| {
            let text = |name| violation.as_object()?.get(name)?.as_str();
            Some((text("schema")?, text("keyword")?))
        })
    }

    fn tables_pass(&self, valid: bool) -> bool {
        self.is_true("tables") == valid && self.is_true("quick") == valid
    }

    /// Returns true if the type parses, accepts and serializes a valid value unchanged, or if it rejects an
    /// invalid value when it is built or validated.
    fn type_passes(&self, valid: bool) -> bool {
        if valid {
            ["read", "valid", "accepted", "same"].into_iter().all(|name| self.is_true(name))
        } else {
            !self.is_true("accepted") && !self.is_true("valid")
        }
    }

    fn describe_result(&self) -> String {
        let names = ["tables", "quick", "read", "valid", "accepted", "same"].into_iter();
        let mut failures: Vec<String> = names
            .map(|name| if self.is_true(name) { name.to_owned() } else { format!("not {name}") })
            .collect();
        failures.extend(self.string_field("written").map(|written| format!("serialized as {written}")));
        failures.extend(self.string_field("why").map(str::to_owned));
        failures.join(", ")
    }
}

/// Scores the cases. `results` are the runner's results for the groups that have a module, in the order of
/// the cases.
pub(super) fn score_cases(
    groups: &[SchemaGroup],
    outcomes: &[GroupOutcome],
    results: &[Json],
    setting: OptionSet,
) -> SuiteScore {
    let mut score = SuiteScore::default();
    let mut results = results.iter().map(RunnerResult);
    for (group, outcome) in groups.iter().zip(outcomes) {
        let mut tally = CaseTally { groups: 1, cases: group.cases.len(), ..CaseTally::default() };
        for case in &group.cases {
            match outcome {
                GroupOutcome::Generated(module) => match results.next() {
                    Some(result) if setting.excludes(&result, case.valid) => tally.add_excluded(&result),
                    Some(result) => score_case(group, case, module, &result, &mut tally, &mut score),
                    None => score.failed_cases.push(failed_case(group, case, "both", "no result".to_owned())),
                },
                GroupOutcome::Rejected(why) => {
                    score.failed_cases.push(failed_case(
                        group,
                        case,
                        "both",
                        format!("not generated: {why}"),
                    ));
                }
            }
        }
        score.parts.entry(group.part).or_default().add_tally(tally);
        match score.files.last_mut() {
            Some((_, file, total)) if *file == group.file => total.add_tally(tally),
            _ => score.files.push((group.part, group.file.clone(), tally)),
        }
    }
    score
}

/// Parses the results of the cross-checks and adds them to the score. `generated` are the groups that have a
/// module.
pub(super) fn score_cross_checks(
    generated: &[&SchemaGroup],
    results: &str,
    setting: OptionSet,
    score: &mut SuiteScore,
) -> Result<(), String> {
    let mut lines = results.lines();
    let last = lines.next_back().unwrap_or_default();
    score.cross_checks = last.parse().map_err(|_| format!("invalid last line of the runner: `{last}`"))?;
    while let (Some(question), Some(result)) = (lines.next(), lines.next()) {
        let (number, value) = question.split_once(' ').unwrap_or_default();
        let group = number.parse().ok().and_then(|number: usize| generated.get(number));
        let place = group.map(|group| format!("{}: {}", group.file, group.description)).unwrap_or_default();
        let details = Json::parse(result.as_bytes()).map_err(|error| format!("{error}: {result}"))?;
        if setting.excludes(&RunnerResult(&details), true) {
            continue;
        }
        score.disagreements.push(format!("{place}: {value}: {}", RunnerResult(&details).describe_result()));
    }
    Ok(())
}

fn score_case(
    group: &SchemaGroup,
    case: &SuiteCase,
    module: &GeneratedModule,
    result: &RunnerResult<'_>,
    tally: &mut CaseTally,
    score: &mut SuiteScore,
) {
    let (tables, typed) = (result.tables_pass(case.valid), result.type_passes(case.valid));
    tally.validators += usize::from(tables);
    tally.types += usize::from(typed);
    let by = match (tables, typed) {
        (true, true) => None,
        (false, true) => Some("tables"),
        (true, false) => Some("type"),
        (false, false) => Some("both"),
    };
    score.failed_cases.extend(by.map(|by| failed_case(group, case, by, result.describe_result())));
    if !case.valid && result.is_true("read") {
        tally.accepted_invalid += 1;
        if let Some((schema, keyword)) =
            result.violations().find(|(schema, keyword)| !module.unenforced.covers(schema, keyword))
        {
            score.unreported.push(format!(
                "{}: {}: {}: {keyword} of {schema}",
                group.file, group.description, case.description
            ));
        }
    }
}

fn failed_case(
    group: &SchemaGroup,
    case: &SuiteCase,
    failed_part: &'static str,
    details: String,
) -> FailedCase {
    FailedCase {
        file: group.file.clone(),
        group: group.description.clone(),
        case: case.description.clone(),
        valid: case.valid,
        failed_part,
        details,
        reason: None,
    }
}

impl OptionSet {
    /// Returns true if a type rejects a valid value because of the default options.
    fn excludes(self, result: &RunnerResult<'_>, valid: bool) -> bool {
        self == Self::Defaults && valid && result.tables_pass(true) && !result.is_true("read")
    }
}

impl CaseTally {
    fn add_excluded(&mut self, result: &RunnerResult<'_>) {
        self.validators += usize::from(result.tables_pass(true));
        self.excluded += 1;
    }

    fn add_tally(&mut self, more: Self) {
        self.groups += more.groups;
        self.cases += more.cases;
        self.validators += more.validators;
        self.types += more.types;
        self.accepted_invalid += more.accepted_invalid;
        self.excluded += more.excluded;
    }
}

impl KnownFailure {
    fn applies_to(&self, draft: &str) -> bool {
        self.draft.as_ref().is_none_or(|name| name == draft)
    }

    fn matches(&self, failed: &FailedCase) -> bool {
        self.file == failed.file
            && self.group.as_ref().is_none_or(|group| *group == failed.group)
            && self.case.as_ref().is_none_or(|case| *case == failed.case)
    }

    /// Returns true if a copy of the suite contains the case.
    fn exists_in(&self, groups: &[SchemaGroup]) -> bool {
        groups.iter().any(|group| {
            self.file == group.file
                && self.group.as_ref().is_none_or(|it| *it == group.description)
                && self.case.as_ref().is_none_or(|it| group.cases.iter().any(|case| case.description == *it))
        })
    }

    fn label(&self) -> String {
        [Some(&self.file), self.group.as_ref(), self.case.as_ref()]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(": ")
    }
}

impl ScoreRecord {
    /// Reads the recorded score.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or parsed.
    pub(super) fn read_from(root: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(root.join(RECORD_FILE)).map_err(|error| format!("{RECORD_FILE}: {error}"))?;
        toml::from_str(&text).map_err(|error| format!("{RECORD_FILE}: {error}"))
    }

    fn target_for(&self, draft: &str, part: SuitePart) -> PartTarget {
        let targets = self.drafts.get(draft).copied().unwrap_or_default();
        match part {
            SuitePart::Required => targets.required,
            SuitePart::Optional => targets.optional,
            SuitePart::Format => targets.format,
        }
    }

    /// Adds the known reasons to the failed cases. Returns the problems of the score, such as results that are
    /// worse than recorded.
    pub(super) fn compare_with(
        &self,
        draft: &str,
        groups: &[SchemaGroup],
        score: &mut SuiteScore,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        let known: Vec<&KnownFailure> = self.known.iter().filter(|known| known.applies_to(draft)).collect();
        for failed in &mut score.failed_cases {
            let known = known.iter().find(|known| known.matches(failed));
            failed.reason = known.map(|known| known.reason.clone());
        }
        let news = score.failed_cases.iter().filter(|failed| failed.reason.is_none()).count();
        if news > 0 {
            problems.push(format!("{news} cases fail, but {RECORD_FILE} does not list them"));
        }
        for known in known {
            if known.exists_in(groups) && !score.failed_cases.iter().any(|failed| known.matches(failed)) {
                problems
                    .push(format!("{RECORD_FILE} lists a case that passes; remove it: {}", known.label()));
            }
        }
        for part in SuitePart::ALL {
            let (target, found) =
                (self.target_for(draft, part), score.parts.get(&part).copied().unwrap_or_default());
            // An older copy of the suite has fewer cases. Its new failures were already reported above.
            if found.cases < target.cases {
                continue;
            }
            for (what, target, found) in
                [("validators", target.validators, found.validators), ("types", target.types, found.types)]
            {
                if found < target {
                    problems.push(format!(
                        "{}: {found} cases pass by {what}, {target} are recorded",
                        part.label()
                    ));
                }
            }
        }
        let required = score.parts.get(&SuitePart::Required).map_or(0, |tally| tally.cases);
        if required < MIN_REQUIRED_CASES {
            problems.push(format!("only {required} required cases: this is not the whole suite"));
        }
        if !score.disagreements.is_empty() {
            let count = score.disagreements.len();
            problems.push(format!("a type and its validator disagree on {count} values"));
        }
        if !score.unreported.is_empty() {
            problems.push(format!(
                "{} invalid values are accepted by a type, but the report does not list the constraint as unenforced",
                score.unreported.len()
            ));
        }
        problems
    }
}

#[cfg(test)]
mod tests;
