//! The same verdicts from an independent validator on the original schema files, so that a
//! mistake that models, checks and fixtures share cannot hide.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use contract_runtime::{Json, Number};
use exchange_tests::{fixtures, models, schemas};
use jsonschema::{Registry, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

/// The contract's own files, by their URIs.
pub(crate) fn files() -> Vec<(String, Value)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(schemas().join("exchange/v1")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        files.push((schema["$id"].as_str().unwrap().to_owned(), schema));
    }
    files
}

/// The `jsonschema` crate's validators for every type, by fixture folder.
pub(crate) fn validators() -> BTreeMap<String, Validator> {
    let mut registry = Registry::new();
    for (uri, schema) in files() {
        registry = registry.add(uri, schema).unwrap();
    }
    let registry = registry.prepare().unwrap();
    models()
        .into_iter()
        .map(|(folder, model)| {
            let reference = serde_json::json!({ "$ref": model.location });
            let validator = jsonschema::options().with_registry(&registry).build(&reference);
            (folder, validator.unwrap_or_else(|e| panic!("{}: {e}", model.name)))
        })
        .collect()
}

/// CON-02, CON-04: both verdicts agree on every fixture that binary numbers can hold. The other
/// validator reads numbers as `f64`; its exact mode would switch `serde_json` for every crate.
#[test]
fn an_independent_validator_agrees_on_every_fixture() {
    let validators = validators();
    let mut problems = Vec::new();
    let mut out_of_reach = 0;
    for fixture in fixtures() {
        if !survives_binary(&Json::parse(&fixture.bytes).unwrap()) {
            out_of_reach += 1;
            continue;
        }
        let value: Value = serde_json::from_slice(&fixture.bytes).unwrap();
        let valid = validators[&fixture.folder].is_valid(&value);
        if valid != fixture.expect.is_none() {
            problems.push(format!("{}: jsonschema says {valid}", fixture.name));
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    assert!(out_of_reach < 40, "{out_of_reach} fixtures went unjudged");
}

/// Violations that the other validator reports at another location or with another keyword: our keyword, its
/// keyword, the number of levels above, and the reason.
const REPORTED_DIFFERENTLY: &[(&str, &str, Place, &str)] = &[
    (
        "required",
        "required",
        Place::Parent,
        "ours stands where the member would, its at the object without it",
    ),
    ("dependentRequired", "required", Place::Parent, "as for `required`, which its kind is called as well"),
    ("propertyNames", "propertyNames", Place::Parent, "ours stands at the member, its at the object"),
    ("oneOf", "oneOf", Place::HereOrParent, "where no branch has the tag, ours stands at the tag"),
];

/// Violations that our validator omits when it reports this one: for a value of the wrong type it reports
/// nothing else, because every other rule assumes the intended type.
const SAYS_ENOUGH: &str = "type";

/// The location of the other validator's finding, relative to ours.
#[derive(Clone, Copy)]
enum Place {
    Parent,
    HereOrParent,
}

/// The findings of the other validator.
#[derive(Debug, Default)]
struct Findings {
    /// What holds for the whole document: all of it has to be among ours.
    certain: Vec<(String, String)>,
    /// Violations within branches of `oneOf` and `anyOf`. Ours are those of the branch that a tag or the JSON
    /// type selects; the other validator lists every branch.
    possible: Vec<(String, String)>,
    /// Locations of unions that no branch, or more than one, accepts.
    unions: Vec<String>,
}

impl Findings {
    fn add(&mut self, error: &ValidationError<'_>, certain: bool) {
        let found = (error.instance_path().as_str().to_owned(), error.kind().keyword().to_owned());
        match error.kind() {
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context }
            | ValidationErrorKind::OneOfMultipleValid { context } => {
                if certain {
                    self.unions.push(found.0.clone());
                }
                self.possible.push(found);
                for error in context.iter().flatten() {
                    self.add(error, false);
                }
            }
            _ if certain => self.certain.push(found),
            _ => self.possible.push(found),
        }
    }

    fn have(&self, finding: &(String, String)) -> bool {
        self.certain.contains(finding) || self.possible.contains(finding)
    }
}

/// Our finding as the other validator may put it.
fn equivalent_findings((pointer, keyword): &(String, String)) -> Vec<(String, String)> {
    let parent = || pointer.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned();
    match REPORTED_DIFFERENTLY.iter().find(|(ours, ..)| ours == keyword) {
        None => vec![(pointer.clone(), keyword.clone())],
        Some((_, theirs, Place::Parent, _)) => vec![(parent(), (*theirs).to_owned())],
        Some((_, theirs, Place::HereOrParent, _)) => {
            vec![(pointer.clone(), (*theirs).to_owned()), (parent(), (*theirs).to_owned())]
        }
    }
}

/// ERR-02, ERR-22: the pointers and keywords that fixtures expect agree with those of the other validator:
/// each of ours is one of its findings, and each of its certain findings is one of ours.
#[test]
fn an_independent_validator_reports_the_same_locations() {
    let validators = validators();
    let mut problems = Vec::new();
    let mut compared = 0;
    let mut told_otherwise: BTreeSet<String> = BTreeSet::new();
    for fixture in fixtures() {
        let Some(expect) = &fixture.expect else { continue };
        if !survives_binary(&Json::parse(&fixture.bytes).unwrap()) {
            continue;
        }
        let value: Value = serde_json::from_slice(&fixture.bytes).unwrap();
        let mut findings = Findings::default();
        validators[&fixture.folder].iter_errors(&value).for_each(|error| findings.add(&error, true));
        compared += expect.len();
        for ours in expect {
            if !equivalent_findings(ours).iter().any(|finding| findings.have(finding)) {
                problems.push(format!("{}: only ours: {ours:?}", fixture.name));
            }
            // If both report the same, the row is not needed for the agreement.
            if !findings.have(ours) && equivalent_findings(ours).iter().any(|finding| findings.have(finding))
            {
                told_otherwise.insert(ours.1.as_str().to_owned());
            }
        }
        for theirs in &findings.certain {
            let enough = expect.iter().any(|(at, keyword)| *at == theirs.0 && keyword == SAYS_ENOUGH);
            if !enough && !expect.iter().any(|ours| equivalent_findings(ours).contains(theirs)) {
                problems.push(format!("{}: only the other's: {theirs:?}", fixture.name));
            }
        }
        for union in &findings.unions {
            if !expect.iter().any(|(pointer, _)| pointer == union || is_below(pointer, union)) {
                problems.push(format!("{}: only the other's: a union at {union:?}", fixture.name));
            }
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    assert!(compared > 2000, "only {compared} findings were compared");
    let listed = REPORTED_DIFFERENTLY.iter().map(|row| row.0.to_owned()).collect();
    assert_eq!(told_otherwise, listed, "a row that no fixture needs");
}

fn is_below(pointer: &str, place: &str) -> bool {
    pointer.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether every number of a document is the same after a trip through `f64`.
pub(crate) fn survives_binary(json: &Json) -> bool {
    match json {
        Json::Number(n) => Number::try_from(n.to_f64()).is_ok_and(|back| back == *n),
        Json::Array(items) => items.iter().all(survives_binary),
        Json::Object(members) => members.values().all(survives_binary),
        _ => true,
    }
}
