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

fn answer(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

const TAKEN: &str =
    r#"{"tables":true,"quick":true,"read":true,"valid":true,"accepted":true,"same":true,"violations":[]}"#;
const REFUSED: &str = r#"{"tables":false,"quick":false,"read":false,"valid":false,"accepted":false,"same":false,"violations":[]}"#;

fn tally(valid: [bool; 2], outcome: GroupOutcome, answers: [&str; 2]) -> (CaseTally, SuiteScore) {
    let score = score_cases(&[group(valid)], &[outcome], &answers.map(answer), OptionSet::Exact);
    (score.parts[&SuitePart::Required], score)
}

#[test]
fn a_valid_value_has_to_come_back_equal() {
    let (found, _) = tally([true, false], module(), [TAKEN, REFUSED]);
    assert_eq!((found.cases, found.validators, found.types, found.accepted_invalid), (2, 2, 2, 0));
    let changed = TAKEN.replace(r#""same":true"#, r#""same":false,"written":"2""#);
    let (found, score) = tally([true, false], module(), [&changed, REFUSED]);
    assert_eq!((found.validators, found.types), (2, 1));
    assert_eq!(score.wrong[0].wrong_part, "type");
    assert!(score.wrong[0].details.contains("serialized as 2"), "{}", score.wrong[0].details);
}

#[test]
fn an_invalid_value_that_a_type_reads_has_to_be_in_the_report() {
    let read = REFUSED
        .replace(r#""read":false"#, r#""read":true"#)
        .replace("[]", r#"[{"pointer":"","schema":"x#","keyword":"minimum"}]"#);
    let (found, score) = tally([false, false], module(), [&read, REFUSED]);
    assert_eq!((found.types, found.accepted_invalid), (2, 1));
    assert_eq!(score.unreported, ["x.json: group: case 0: minimum of x#"]);
}

#[test]
fn what_was_not_generated_is_wrong() {
    let (found, score) = tally([true, false], GroupOutcome::Rejected("why".to_owned()), [TAKEN, REFUSED]);
    assert_eq!((found.cases, found.validators, found.types), (2, 0, 0));
    assert_eq!(score.wrong.len(), 2);
}

#[test]
fn what_runs_across_groups_is_counted_and_told() {
    let mut score = SuiteScore::default();
    let group = group([true, true]);
    score_cross_checks(&[&group], &format!("0 [1]\n{REFUSED}\n12"), OptionSet::Exact, &mut score).unwrap();
    assert_eq!(score.cross_checks, 12);
    assert!(
        score.disagreements[0].starts_with("x.json: group: [1]: not tables"),
        "{:?}",
        score.disagreements
    );
    assert!(score_cross_checks(&[], "", OptionSet::Exact, &mut score).is_err());
}

#[test]
fn options_may_assume_that_less_is_held_and_never_that_more_is_valid() {
    let unread = TAKEN.replace(
        r#""read":true,"valid":true,"accepted":true,"same":true"#,
        r#""read":false,"valid":false,"accepted":false,"same":false"#,
    );
    let score_for = |answers: [&str; 2]| {
        score_cases(&[group([true, false])], &[module()], &answers.map(answer), OptionSet::Defaults)
    };
    let score = score_for([&unread, REFUSED]);
    let found = score.parts[&SuitePart::Required];
    assert_eq!((found.validators, found.types, found.excluded, score.wrong.len()), (2, 1, 1, 0));
    assert_eq!(score_for([TAKEN, TAKEN]).wrong.len(), 1);
}

/// Builds a recorded score of the required part, and a known case.
fn record(targets: &str, known: &str) -> ScoreRecord {
    let none = "{ cases = 0, validators = 0, types = 0 }";
    toml::from_str(&format!(
        "[drafts.7]\nrequired = {{ {targets} }}\noptional = {none}\nformat = {none}\n{known}"
    ))
    .unwrap()
}

/// Returns the problems if the first of two cases fails or none does, without the problem that two cases
/// are not the whole suite.
fn problems(record: &ScoreRecord, wrong: bool) -> Vec<String> {
    let group = group([true, true]);
    let first = if wrong { REFUSED } else { TAKEN };
    let groups = [group];
    let mut score = score_cases(&groups, &[module()], &[answer(first), answer(TAKEN)], OptionSet::Exact);
    let mut problems = record.compare_with("7", &groups, &mut score);
    let few = problems.pop();
    assert_eq!(few.as_deref(), Some("only 2 required cases: this is not the whole suite"));
    problems
}

#[test]
fn the_record_is_a_floor_and_knows_every_exception() {
    let all = "cases = 2, validators = 2, types = 2";
    let one = "cases = 2, validators = 1, types = 1";
    let known = "[[known]]\nfile = \"x.json\"\ncase = \"case 0\"\nreason = \"because\"";
    let elsewhere = "[[known]]\nfile = \"x.json\"\ndraft = \"2020-12\"\nreason = \"because\"";
    assert_eq!(problems(&record(all, ""), false), [""; 0]);
    assert_eq!(problems(&record(one, known), true), [""; 0]);
    assert!(problems(&record(one, ""), true)[0].starts_with("1 cases fail"));
    assert!(problems(&record(one, elsewhere), true)[0].starts_with("1 cases fail"));
    assert!(problems(&record(all, known), false)[0].contains("remove it: x.json: case 0"));
    let worse = problems(&record(all, known), true);
    assert_eq!(worse.len(), 2, "{worse:?}");
    assert!(worse[0].contains("pass by validators"), "{worse:?}");
    // An older copy has fewer cases than recorded.
    let newer = "cases = 3, validators = 3, types = 3";
    assert_eq!(problems(&record(newer, known), true), [""; 0]);
}
