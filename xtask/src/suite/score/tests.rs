//! Tests of the scoring, and of the comparison with the recorded score.

use contract_codegen::{OutputFiles, report::UnenforcedConstraints};

use super::*;

fn group(valid: [bool; 2]) -> SchemaGroup {
    let case = |(index, &valid): (usize, &bool)| SuiteCase {
        description: format!("case {index}"),
        data: Json::Null,
        valid,
    };
    SchemaGroup {
        part: SuitePart::Required,
        file: "x.json".to_owned(),
        index: 0,
        description: "group".to_owned(),
        schema: Json::Bool(true),
        cases: valid.iter().enumerate().map(case).collect(),
    }
}

fn module() -> GroupOutcome {
    GroupOutcome::Generated(GeneratedModule {
        name: "x_000".to_owned(),
        root: "Schema".to_owned(),
        row: "SCHEMA".to_owned(),
        files: OutputFiles::default(),
        unenforced: UnenforcedConstraints::default(),
    })
}

fn parse_result(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

const ACCEPTED: &str =
    r#"{"tables":true,"quick":true,"read":true,"valid":true,"accepted":true,"same":true,"violations":[]}"#;
const REJECTED: &str = r#"{"tables":false,"quick":false,"read":false,"valid":false,"accepted":false,"same":false,"violations":[]}"#;

fn tally(valid: [bool; 2], outcome: GroupOutcome, results: [&str; 2]) -> (CaseTally, SuiteScore) {
    let score = score_cases(&[group(valid)], &[outcome], &results.map(parse_result), OptionSet::Exact);
    (score.parts[&SuitePart::Required], score)
}

#[test]
fn valid_value_must_round_trip() {
    let (counts, _) = tally([true, false], module(), [ACCEPTED, REJECTED]);
    assert_eq!((counts.cases, counts.validators, counts.types, counts.accepted_invalid), (2, 2, 2, 0));
    let changed = ACCEPTED.replace(r#""same":true"#, r#""same":false,"written":"2""#);
    let (counts, score) = tally([true, false], module(), [&changed, REJECTED]);
    assert_eq!((counts.validators, counts.types), (2, 1));
    assert_eq!(score.failed_cases[0].failed_part, "type");
    assert!(score.failed_cases[0].details.contains("serialized as 2"), "{}", score.failed_cases[0].details);
}

#[test]
fn accepted_invalid_value_must_be_in_the_report() {
    let read = REJECTED
        .replace(r#""read":false"#, r#""read":true"#)
        .replace("[]", r#"[{"pointer":"","schema":"x#","keyword":"minimum"}]"#);
    let (counts, score) = tally([false, false], module(), [&read, REJECTED]);
    assert_eq!((counts.types, counts.accepted_invalid), (2, 1));
    assert_eq!(score.unreported, ["x.json: group: case 0: minimum of x#"]);
}

#[test]
fn rejected_group_fails() {
    let (counts, score) =
        tally([true, false], GroupOutcome::Rejected("why".to_owned()), [ACCEPTED, REJECTED]);
    assert_eq!((counts.cases, counts.validators, counts.types), (2, 0, 0));
    assert_eq!(score.failed_cases.len(), 2);
}

#[test]
fn cross_checks_are_counted_and_disagreements_listed() {
    let mut score = SuiteScore::default();
    let group = group([true, true]);
    score_cross_checks(&[&group], &format!("0 [1]\n{REJECTED}\n12"), OptionSet::Exact, &mut score).unwrap();
    assert_eq!(score.cross_checks, 12);
    assert!(
        score.disagreements[0].starts_with("x.json: group: [1]: not tables"),
        "{:?}",
        score.disagreements
    );
    assert!(score_cross_checks(&[], "", OptionSet::Exact, &mut score).is_err());
}

#[test]
fn default_options_may_exclude_only_valid_values() {
    let rejected_by_type = ACCEPTED.replace(
        r#""read":true,"valid":true,"accepted":true,"same":true"#,
        r#""read":false,"valid":false,"accepted":false,"same":false"#,
    );
    let score_for = |results: [&str; 2]| {
        score_cases(&[group([true, false])], &[module()], &results.map(parse_result), OptionSet::Defaults)
    };
    let score = score_for([&rejected_by_type, REJECTED]);
    let counts = score.parts[&SuitePart::Required];
    assert_eq!((counts.validators, counts.types, counts.excluded, score.failed_cases.len()), (2, 1, 1, 0));
    assert_eq!(score_for([ACCEPTED, ACCEPTED]).failed_cases.len(), 1);
}

/// Creates a record with the targets of the required part and a known failure.
fn record(targets: &str, known: &str) -> ScoreRecord {
    let none = "{ cases = 0, validators = 0, types = 0 }";
    toml::from_str(&format!(
        "[drafts.7]\nrequired = {{ {targets} }}\noptional = {none}\nformat = {none}\n{known}"
    ))
    .unwrap()
}

/// Compares the results of two cases with the record; with `first_fails`, the first case fails. Returns the
/// problems except the last one, which reports that two cases are fewer than the suite has.
fn record_problems(record: &ScoreRecord, first_fails: bool) -> Vec<String> {
    let group = group([true, true]);
    let first = if first_fails { REJECTED } else { ACCEPTED };
    let groups = [group];
    let mut score =
        score_cases(&groups, &[module()], &[parse_result(first), parse_result(ACCEPTED)], OptionSet::Exact);
    let mut problems = record.compare_with("7", &groups, &mut score);
    let size_problem = problems.pop();
    assert_eq!(size_problem.as_deref(), Some("only 2 required cases: this is not the whole suite"));
    problems
}

#[test]
fn score_below_the_record_is_reported() {
    let all = "cases = 2, validators = 2, types = 2";
    let one = "cases = 2, validators = 1, types = 1";
    let known = "[[known]]\nfile = \"x.json\"\ncase = \"case 0\"\nreason = \"because\"";
    let elsewhere = "[[known]]\nfile = \"x.json\"\ndraft = \"2020-12\"\nreason = \"because\"";
    assert_eq!(record_problems(&record(all, ""), false), [""; 0]);
    assert_eq!(record_problems(&record(one, known), true), [""; 0]);
    assert!(record_problems(&record(one, ""), true)[0].starts_with("1 cases fail"));
    assert!(record_problems(&record(one, elsewhere), true)[0].starts_with("1 cases fail"));
    assert!(record_problems(&record(all, known), false)[0].contains("remove it: x.json: case 0"));
    let worse = record_problems(&record(all, known), true);
    assert_eq!(worse.len(), 2, "{worse:?}");
    assert!(worse[0].contains("pass by validators"), "{worse:?}");
    // A copy with fewer cases than recorded is not compared with the targets.
    let newer = "cases = 3, validators = 3, types = 3";
    assert_eq!(record_problems(&record(newer, known), true), [""; 0]);
}
