//! Compares our verdicts with those of an independent validator that reads the original schema files. This
//! finds mistakes that the models, the checks and the fixtures share.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use contract_runtime::{Json, Number};
use exchange_tests::{fixtures, models, schemas};
use jsonschema::{Registry, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

/// Returns the schema files of the contract with their URIs.
pub(crate) fn files() -> Vec<(String, Value)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(schemas().join("exchange/v1")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        files.push((schema["$id"].as_str().unwrap().to_owned(), schema));
    }
    files
}

/// Returns a validator of the `jsonschema` crate for every type, keyed by fixture folder.
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

/// CON-02, CON-04: both validators agree on every fixture whose numbers are exact as `f64`. The other
/// validator parses numbers as `f64`; its exact mode would change the behavior of `serde_json` in every
/// crate.
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
    assert!(out_of_reach < 40, "{out_of_reach} fixtures were skipped");
}

/// Violations that the other validator reports at another location or with another keyword: our keyword, its
/// keyword, its location relative to ours, and the reason.
const REPORTED_DIFFERENTLY: &[(&str, &str, Place, &str)] = &[
    (
        "required",
        "required",
        Place::Parent,
        "we report the location of the missing property, it reports the object",
    ),
    ("dependentRequired", "required", Place::Parent, "as for `required`; it also uses this keyword"),
    ("propertyNames", "propertyNames", Place::Parent, "we report the property, it reports the object"),
    ("oneOf", "oneOf", Place::HereOrParent, "if no branch has the tag, we report the tag"),
];

/// The keyword after which our validator reports no other violation of a value: if the type is wrong, all
/// other rules of the schema are skipped.
const SAYS_ENOUGH: &str = "type";

/// The location of the other validator's violation, relative to ours.
#[derive(Clone, Copy)]
enum Place {
    Parent,
    HereOrParent,
}

/// The violations that the other validator reports.
#[derive(Debug, Default)]
struct Findings {
    /// Violations outside of unions: our validator must report each of them.
    certain: Vec<(String, String)>,
    /// Violations within branches of `oneOf` and `anyOf`. Our validator reports only those of the branch that
    /// a tag or the JSON type selects; the other validator reports those of every branch.
    possible: Vec<(String, String)>,
    /// Locations of values that match no branch of a union, or several branches of a `oneOf`.
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

/// Returns the forms in which the other validator may report our violation.
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

/// ERR-02, ERR-22: the violations that fixtures expect agree with those of the other validator. It reports
/// each of them, and each of its violations outside of unions is expected.
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
            // If both validators report the same violation, the row is not needed.
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
    assert_eq!(told_otherwise, listed, "a row is not needed by any fixture");
}

fn is_below(pointer: &str, place: &str) -> bool {
    pointer.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns true if no number of a document changes when it is converted to `f64` and back.
pub(crate) fn survives_binary(json: &Json) -> bool {
    match json {
        Json::Number(n) => Number::try_from(n.to_f64()).is_ok_and(|back| back == *n),
        Json::Array(items) => items.iter().all(survives_binary),
        Json::Object(members) => members.values().all(survives_binary),
        _ => true,
    }
}
