//! What is right, what is wrong, and what the record in the repository says about it.

use std::{collections::BTreeMap, fs, path::Path};

use contract_runtime::Json;
use serde::Deserialize;

use super::{
    cases::{Case, Group, Part},
    generate::{Module, Outcome, Setting},
};

/// The record, from the root of the repository.
pub(super) const RECORD: &str = "tests/suite/score.toml";

/// Fewer required cases than any copy of the suite has for any draft: what was scored was none.
const FEWEST: usize = 800;

/// The record.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// By the draft's name.
    drafts: BTreeMap<String, Targets>,
    #[serde(default)]
    known: Vec<Known>,
}

/// What a draft came to when it was recorded.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Targets {
    required: Target,
    optional: Target,
    format: Target,
}

/// What a part came to when it was recorded.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    cases: usize,
    validators: usize,
    types: usize,
}

/// Cases that are known to be wrong, and why.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// Name of the draft; every one when it is missing.
    draft: Option<String>,
    /// `optional/format/date.json`
    file: String,
    /// Description of the group; every one when it is missing.
    group: Option<String>,
    /// Description of the case; every one when it is missing.
    case: Option<String>,
    /// Why.
    reason: String,
}

/// How the cases of a file or of a part came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) groups: usize,
    pub(super) cases: usize,
    /// Right by the tables.
    pub(super) validators: usize,
    /// Right by the types, valid values coming back equal.
    pub(super) types: usize,
    /// Invalid values that a type can hold.
    pub(super) loose: usize,
    /// Valid values that a type does not hold, by what the options assume.
    pub(super) assumed: usize,
}

/// A case that came out wrong.
#[derive(Clone, Debug)]
pub(super) struct Wrong {
    pub(super) file: String,
    pub(super) group: String,
    pub(super) case: String,
    pub(super) valid: bool,
    /// `tables`, `type` or both.
    pub(super) by: &'static str,
    /// What happened instead.
    pub(super) how: String,
    /// What the record says about it.
    pub(super) reason: Option<String>,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub(super) struct Score {
    pub(super) parts: BTreeMap<Part, Tally>,
    /// In the order of parts, then by name.
    pub(super) files: Vec<(Part, String, Tally)>,
    pub(super) wrong: Vec<Wrong>,
    /// Invalid values that a type can hold although the report lists nothing that it leaves open.
    pub(super) unreported: Vec<String>,
    /// How often a schema's type and tables were asked about a value of any other schema.
    pub(super) asked: usize,
    /// Where they said different things.
    pub(super) apart: Vec<String>,
}

/// What the runner said about a case.
struct Answer<'a>(&'a Json);

impl Answer<'_> {
    fn is(&self, name: &str) -> bool {
        self.0.as_object().and_then(|members| members.get(name)) == Some(&Json::Bool(true))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.as_object()?.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    fn violations(&self) -> impl Iterator<Item = (&str, &str)> {
        let list = self.0.as_object().and_then(|members| members.get("violations")?.as_array());
        list.unwrap_or_default().iter().filter_map(|violation| {
            let text = |name| violation.as_object()?.get(name)?.as_str();
            Some((text("schema")?, text("keyword")?))
        })
    }

    fn tables_are_right(&self, valid: bool) -> bool {
        self.is("tables") == valid && self.is("quick") == valid
    }

    /// A valid value is read, found valid in every way and comes back equal; an invalid one is
    /// not read or found invalid in every way.
    fn type_is_right(&self, valid: bool) -> bool {
        if valid {
            ["read", "valid", "accepted", "same"].into_iter().all(|name| self.is(name))
        } else {
            !self.is("accepted") && !self.is("valid")
        }
    }

    fn how(&self) -> String {
        let said = ["tables", "quick", "read", "valid", "accepted", "same"].into_iter();
        let mut how: Vec<String> =
            said.map(|name| if self.is(name) { name.to_owned() } else { format!("not {name}") }).collect();
        how.extend(self.text("written").map(|written| format!("came back as {written}")));
        how.extend(self.text("why").map(str::to_owned));
        how.join(", ")
    }
}

/// Compares what the suite says with what the generator and the runner said; `answers` are those
/// of the groups that have a module, in order.
pub(super) fn judge(groups: &[Group], outcomes: &[Outcome], answers: &[Json], setting: Setting) -> Score {
    let mut score = Score::default();
    let mut answers = answers.iter().map(Answer);
    for (group, outcome) in groups.iter().zip(outcomes) {
        let mut tally = Tally { groups: 1, cases: group.cases.len(), ..Tally::default() };
        for case in &group.cases {
            match outcome {
                Outcome::Module(module) => match answers.next() {
                    Some(answer) if setting.assumes(&answer, case.valid) => tally.assume(&answer),
                    Some(answer) => of_case(group, case, module, &answer, &mut tally, &mut score),
                    None => score.wrong.push(wrong(group, case, "both", "no answer".to_owned())),
                },
                Outcome::Refused(why) => {
                    score.wrong.push(wrong(group, case, "both", format!("not generated: {why}")));
                }
            }
        }
        score.parts.entry(group.part).or_default().add(tally);
        match score.files.last_mut() {
            Some((_, file, whole)) if *file == group.file => whole.add(tally),
            _ => score.files.push((group.part, group.file.clone(), tally)),
        }
    }
    score
}

/// Reads what the runner found across all groups; `generated` are those that have a module.
pub(super) fn across(
    generated: &[&Group],
    answers: &str,
    setting: Setting,
    score: &mut Score,
) -> Result<(), String> {
    let mut lines = answers.lines();
    let last = lines.next_back().unwrap_or_default();
    score.asked = last.parse().map_err(|_| format!("the runner ended with `{last}`"))?;
    while let (Some(question), Some(answer)) = (lines.next(), lines.next()) {
        let (number, value) = question.split_once(' ').unwrap_or_default();
        let group = number.parse().ok().and_then(|number: usize| generated.get(number));
        let place = group.map(|group| format!("{}: {}", group.file, group.description)).unwrap_or_default();
        let how = Json::parse(answer.as_bytes()).map_err(|error| format!("{error}: {answer}"))?;
        if setting.assumes(&Answer(&how), true) {
            continue;
        }
        score.apart.push(format!("{place}: {value}: {}", Answer(&how).how()));
    }
    Ok(())
}

fn of_case(
    group: &Group,
    case: &Case,
    module: &Module,
    answer: &Answer<'_>,
    tally: &mut Tally,
    score: &mut Score,
) {
    let (tables, typed) = (answer.tables_are_right(case.valid), answer.type_is_right(case.valid));
    tally.validators += usize::from(tables);
    tally.types += usize::from(typed);
    let by = match (tables, typed) {
        (true, true) => None,
        (false, true) => Some("tables"),
        (true, false) => Some("type"),
        (false, false) => Some("both"),
    };
    score.wrong.extend(by.map(|by| wrong(group, case, by, answer.how())));
    if !case.valid && answer.is("read") {
        tally.loose += 1;
        if let Some((schema, keyword)) =
            answer.violations().find(|(schema, keyword)| !module.open.covers(schema, keyword))
        {
            score.unreported.push(format!(
                "{}: {}: {}: {keyword} of {schema}",
                group.file, group.description, case.description
            ));
        }
    }
}

fn wrong(group: &Group, case: &Case, by: &'static str, how: String) -> Wrong {
    Wrong {
        file: group.file.clone(),
        group: group.description.clone(),
        case: case.description.clone(),
        valid: case.valid,
        by,
        how,
        reason: None,
    }
}

impl Setting {
    /// Whether a valid value that a type does not hold is left out by what the options assume.
    fn assumes(self, answer: &Answer<'_>, valid: bool) -> bool {
        self == Self::Defaults && valid && answer.tables_are_right(true) && !answer.is("read")
    }
}

impl Tally {
    fn assume(&mut self, answer: &Answer<'_>) {
        self.validators += usize::from(answer.tables_are_right(true));
        self.assumed += 1;
    }

    fn add(&mut self, more: Self) {
        self.groups += more.groups;
        self.cases += more.cases;
        self.validators += more.validators;
        self.types += more.types;
        self.loose += more.loose;
        self.assumed += more.assumed;
    }
}

impl Known {
    fn is_of(&self, draft: &str) -> bool {
        self.draft.as_ref().is_none_or(|name| name == draft)
    }

    fn is(&self, wrong: &Wrong) -> bool {
        self.file == wrong.file
            && self.group.as_ref().is_none_or(|group| *group == wrong.group)
            && self.case.as_ref().is_none_or(|case| *case == wrong.case)
    }

    /// Whether a copy of the suite has such a case.
    fn exists(&self, groups: &[Group]) -> bool {
        groups.iter().any(|group| {
            self.file == group.file
                && self.group.as_ref().is_none_or(|it| *it == group.description)
                && self.case.as_ref().is_none_or(|it| group.cases.iter().any(|case| case.description == *it))
        })
    }

    fn name(&self) -> String {
        [Some(&self.file), self.group.as_ref(), self.case.as_ref()]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(": ")
    }
}

impl Record {
    /// Reads it.
    ///
    /// # Errors
    /// When it cannot be read, or is no record.
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(root.join(RECORD)).map_err(|error| format!("{RECORD}: {error}"))?;
        toml::from_str(&text).map_err(|error| format!("{RECORD}: {error}"))
    }

    fn target(&self, draft: &str, part: Part) -> Target {
        let targets = self.drafts.get(draft).copied().unwrap_or_default();
        match part {
            Part::Required => targets.required,
            Part::Optional => targets.optional,
            Part::Format => targets.format,
        }
    }

    /// Says of each wrong case what is known about it; everything that is worse than recorded.
    pub(super) fn compare(&self, draft: &str, groups: &[Group], score: &mut Score) -> Vec<String> {
        let mut problems = Vec::new();
        let known: Vec<&Known> = self.known.iter().filter(|known| known.is_of(draft)).collect();
        for wrong in &mut score.wrong {
            let known = known.iter().find(|known| known.is(wrong));
            wrong.reason = known.map(|known| known.reason.clone());
        }
        let news = score.wrong.iter().filter(|wrong| wrong.reason.is_none()).count();
        if news > 0 {
            problems.push(format!("{news} cases are wrong that {RECORD} does not know"));
        }
        for known in known {
            if known.exists(groups) && !score.wrong.iter().any(|wrong| known.is(wrong)) {
                problems.push(format!("{RECORD} knows what is right by now; remove it: {}", known.name()));
            }
        }
        for part in Part::ALL {
            let (target, found) =
                (self.target(draft, part), score.parts.get(&part).copied().unwrap_or_default());
            // An older copy has fewer cases; that none of them is newly wrong was asked above.
            if found.cases < target.cases {
                continue;
            }
            for (what, target, found) in
                [("validators", target.validators, found.validators), ("types", target.types, found.types)]
            {
                if found < target {
                    problems
                        .push(format!("{}: {found} cases are right by {what}, {target} were", part.word()));
                }
            }
        }
        let required = score.parts.get(&Part::Required).map_or(0, |tally| tally.cases);
        if required < FEWEST {
            problems.push(format!("{required} required cases: that is not the suite"));
        }
        if !score.apart.is_empty() {
            let count = score.apart.len();
            problems.push(format!("{count} times a type and its tables say different things about a value"));
        }
        if !score.unreported.is_empty() {
            problems.push(format!(
                "{} cases that a type takes are wrong by a constraint that the report does not list as left open",
                score.unreported.len()
            ));
        }
        problems
    }
}

#[cfg(test)]
mod tests;
