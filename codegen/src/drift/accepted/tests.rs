//! Tests of parsing, applying and writing accepted changes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic on failure")]

use super::*;
use crate::drift::{CompareOptions, ContractVersion, compare, report::ReportOptions};

fn date(text: &str) -> CalendarDate {
    text.parse().unwrap()
}

fn version(values: &str) -> ContractVersion {
    let text = format!(r#"{{"properties": {{"size": {{"enum": [{values}]}}}}}}"#);
    ContractVersion::from_strings(&[("a.json", "", &text)]).unwrap()
}

/// Returns a drift with two breaking changes of the same rule at the same place.
fn drift_with_removed_values() -> ContractDrift {
    compare(&version(r#""s", "m", "l""#), &version(r#""m""#), &CompareOptions::default())
}

const RULE_AND_PLACE: &str = "[[accepted]]\nrule = \"enum-value-removed\"\nplace = \"a.json /size\"\n";

fn apply(text: &str, drift: &mut ContractDrift, today: &str) {
    let accepted = AcceptedChanges::parse("drift.toml", text)
        .unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    accepted.apply(drift, date(today));
}

/// Returns the number of breaking changes that are not accepted.
fn count_failing(drift: &ContractDrift) -> usize {
    ReportOptions { within_major: true, ..ReportOptions::default() }.failing_changes(drift).len()
}

#[test]
fn entry_without_difference_covers_all_changes_of_a_rule_at_a_place() {
    let mut drift = drift_with_removed_values();
    assert_eq!(count_failing(&drift), 2, "{drift:#?}");
    apply(&format!("{RULE_AND_PLACE}reason = \"Unused.\"\nby = \"Ann\"\n"), &mut drift, "2026-01-01");
    assert_eq!((count_failing(&drift), drift.outdated_entries.len()), (0, 0), "{drift:#?}");
    let acceptance = drift.changes[0].accepted.as_ref().unwrap();
    assert_eq!((acceptance.reason.as_str(), acceptance.by.as_deref()), ("Unused.", Some("Ann")));
    assert_eq!(drift.overall_level(), ChangeLevel::Additive);
}

#[test]
fn entry_with_difference_covers_one_change() {
    let mut drift = drift_with_removed_values();
    let own = drift.changes[0].difference.clone();
    let text = format!("{RULE_AND_PLACE}difference = '{own}'\nreason = \"Unused.\"\n");
    apply(&text, &mut drift, "2026-01-01");
    assert_eq!(count_failing(&drift), 1);
    assert!(drift.changes[0].accepted.is_some() && drift.changes[1].accepted.is_none());
    // The entry does not cover another value that is removed later.
    apply(&text.replace(&own, "other"), &mut drift, "2026-01-01");
    let [outdated] = drift.outdated_entries.as_slice() else { panic!("{drift:#?}") };
    assert!(outdated.message.contains("\"other\"") && outdated.help.contains(&own), "{outdated:?}");
    assert_eq!(count_failing(&drift), 2);
}

/// An entry is valid on the day that it names, and not on the next day.
#[test]
fn entries_expire_after_their_date() {
    let mut drift = drift_with_removed_values();
    let text = format!("# Reviewed.\n\n{RULE_AND_PLACE}reason = \"x\"\nexpires = 2026-03-31\n");
    apply(&text, &mut drift, "2026-03-31");
    assert_eq!((count_failing(&drift), drift.outdated_entries.len()), (0, 0));
    apply(&text, &mut drift, "2026-04-01");
    let [outdated] = drift.outdated_entries.as_slice() else { panic!("{drift:#?}") };
    assert_eq!(outdated.location.to_string(), "drift.toml:3");
    assert!(outdated.message.ends_with("expired on 2026-03-31"), "{outdated:?}");
    assert_eq!(count_failing(&drift), 2);
}

#[test]
fn entries_without_a_change_are_outdated() {
    let mut drift = drift_with_removed_values();
    let text = format!(
        "{RULE_AND_PLACE}reason = \"x\"\n\n[[accepted]]\nrule = \"pattern-added\"\nplace = \"a.json /size\"\nreason = \"x\"\n"
    );
    apply(&text, &mut drift, "2026-01-01");
    let [outdated] = drift.outdated_entries.as_slice() else { panic!("{drift:#?}") };
    assert_eq!((outdated.location.line, outdated.location.pointer.as_str()), (6, "/accepted/1"));
    assert!(outdated.help.starts_with("remove the entry"), "{outdated:?}");
}

/// A change that is not breaking needs no acceptance. An entry for such a change is not outdated, because the
/// options and the current date may make the change breaking.
#[test]
fn entries_for_changes_that_are_not_breaking_have_no_effect() {
    let empty = ContractVersion::from_strings(&[("a.json", "", r#"{"properties": {}}"#)]).unwrap();
    let both = r#"{"properties": {}, "description": "x"}"#;
    let described = ContractVersion::from_strings(&[("a.json", "", both)]).unwrap();
    let mut drift = compare(&empty, &described, &CompareOptions::default());
    let [change] = drift.changes.as_slice() else { panic!("{drift:#?}") };
    assert_eq!(change.level(), ChangeLevel::Same);
    let text =
        format!("[[accepted]]\nrule = \"{}\"\nplace = \"{}\"\nreason = \"x\"\n", change.rule, change.subject);
    apply(&text, &mut drift, "2026-01-01");
    assert!(drift.outdated_entries.is_empty() && drift.changes[0].accepted.is_none(), "{drift:#?}");
}

#[test]
fn invalid_files_are_rejected_with_their_locations() {
    let complete = format!("{RULE_AND_PLACE}reason = \"x\"\n");
    for (text, expect) in [
        ("[[accepted]]\nrule = ", "drift.toml:2:"),
        ("[[acepted]]\n", "drift.toml:1:3 #/acepted: accepted-changes: unknown key `acepted`"),
        ("accepted = 1\n", "`accepted` must be a list of tables"),
        (
            RULE_AND_PLACE,
            "drift.toml:1:1 #/accepted/0: accepted-changes: the accepted change has no `reason`",
        ),
        (&complete.replace("\"x\"", "\" \""), "drift.toml:4:10 #/accepted/0/reason: "),
        (&complete.replace("place", "plase"), "unknown key `plase` (did you mean `place`?)"),
        (&complete.replace("value-removed", "value-remove"), "did you mean `enum-value-removed`?"),
        (&format!("{complete}expires = \"soon\"\n"), "drift.toml:5:11 #/accepted/0/expires: "),
        (&format!("{complete}expires = 2026-01-01T10:00:00Z\n"), "`expires` must be a date"),
        (&format!("{complete}by = 3\n"), "`by` must be a string"),
    ] {
        let problems = AcceptedChanges::parse("drift.toml", text).unwrap_err();
        let lines: Vec<String> = problems.single_lines().into_iter().map(|(_, line)| line).collect();
        assert!(lines.iter().any(|line| line.contains(expect)), "{text}\n{expect}\n{lines:#?}");
    }
}

#[test]
fn appended_entries_cover_the_changes_and_keep_the_text() {
    let mut drift = drift_with_removed_values();
    let acceptance = Acceptance {
        reason: "Quotes \" and ' and\nlines \\ are kept.".to_owned(),
        by: Some("Ann".to_owned()),
        expires: Some(date("2027-01-31")),
    };
    let entries: Vec<AcceptedEntry> =
        drift.changes.iter().map(|change| AcceptedEntry::for_change(change, &acceptance)).collect();
    let before = "# Agreed in the weekly meeting.\n[[accepted]]\nrule = \"id-changed\" # why\nplace = \"b\"\nreason = \"x\"\n# End";
    let text = append_entries(before, &entries).unwrap();
    assert!(text.starts_with(&format!("{before}\n\n[[accepted]]\n")) && text.ends_with('\n'), "{text}");
    let parsed = AcceptedChanges::parse("drift.toml", &text).unwrap();
    assert_eq!(&parsed.entries()[1..], entries, "{text}");
    parsed.apply(&mut drift, date("2027-01-31"));
    assert_eq!((count_failing(&drift), drift.outdated_entries.len()), (0, 1));
    // A new file starts with the first entry; equal entries are written once.
    let twice = [entries[0].clone(), entries[0].clone()];
    let text = append_entries("", &twice).unwrap();
    assert!(text.starts_with("[[accepted]]\nrule = \"enum-value-removed\"\n"), "{text}");
    assert_eq!(text.matches("[[accepted]]").count(), 1);
    assert!(append_entries("accepted = []\n", &twice).unwrap_err().contains("inline list"));
}
