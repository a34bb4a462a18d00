//! Checks that each requirement in docs/requirements.md is named by a test of each component that it applies
//! to, and that tests name only existing requirements.
//!
//! The table calls these components *sides* (contract, service, client), and a requirement is a *row*. A test
//! names a row by its id (`STK-10`). Only ids in tests count: in files in a test folder, or in the part of a
//! file below `#[cfg(test)]`. The folder of a file determines its side; see [`RequirementSide::for_path`].

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    repository::{RepositoryFiles, SourceFile},
    violation::RuleViolation,
};

const REQUIREMENTS_FILE: &str = "docs/requirements.md";
/// The suffixes of files that can contain tests.
const TEST_FILE_SUFFIXES: [&str; 3] = [".rs", ".py", ".mjs"];

/// The component that must fulfill a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RequirementSide {
    Contract,
    Service,
    Client,
}

impl RequirementSide {
    /// All sides, in the order of reports.
    pub(super) const ALL: [Self; 3] = [Self::Contract, Self::Service, Self::Client];

    pub(super) const fn letter(self) -> &'static str {
        match self {
            Self::Contract => "K",
            Self::Service => "S",
            Self::Client => "C",
        }
    }

    /// Describes the duty of a side, and the folders that contain its tests.
    const fn describe_duty(self) -> (&'static str, &'static str) {
        match self {
            Self::Contract => ("which the contract must express", "generated/, schemas/ or tests/"),
            Self::Service => ("which the service must do", "exchange/service/"),
            Self::Client => ("which the client must do", "exchange/client/ or exchange/cli/"),
        }
    }

    /// Returns the side to which a test file belongs, based on its folder.
    fn for_path(path: &str) -> Option<Self> {
        let mut folders = path.split('/');
        match (folders.next()?, folders.next()?) {
            ("exchange", "service") => Some(Self::Service),
            ("exchange", "client" | "cli") => Some(Self::Client),
            ("generated" | "schemas" | "tests", _) => Some(Self::Contract),
            _ => None,
        }
    }
}

/// The test coverage of one area (the prefix of an id) on one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AreaCoverage {
    pub(super) name: String,
    pub(super) side: RequirementSide,
    /// The number of rows of the area that apply to the side.
    pub(super) rows: usize,
    /// The ids of the rows that no test of the side names.
    pub(super) uncovered: Vec<String>,
}

#[derive(Debug)]
struct RequirementRow {
    id: String,
    line: usize,
    sides: Vec<RequirementSide>,
}

/// Returns the violations and the test coverage. A row is reported once for each of its sides that has no
/// test with its id. The coverage is sorted by side, and then in the order of the table.
pub(super) fn check(repository: &RepositoryFiles) -> (Vec<RuleViolation>, Vec<AreaCoverage>) {
    let Some(file) = repository.find_file(REQUIREMENTS_FILE) else {
        let repair = "restore the table of rows: | id | side | requirement |";
        return (
            vec![RuleViolation::new("requirements", REQUIREMENTS_FILE, "is missing", repair)],
            Vec::new(),
        );
    };
    let mut problems = Vec::new();
    let rows = parse_rows(file, &mut problems);
    let ids: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let prefixes: BTreeSet<&str> = ids.iter().filter_map(|id| Some(id.split_once('-')?.0)).collect();
    let mut tested: BTreeSet<(RequirementSide, &str)> = BTreeSet::new();
    for file in
        repository.files.iter().filter(|file| TEST_FILE_SUFFIXES.iter().any(|end| file.path.ends_with(end)))
    {
        let tests = first_test_line(file);
        let side = RequirementSide::for_path(&file.path);
        for (line, text) in file.numbered_lines() {
            for id in
                row_ids(text).filter(|id| id.split_once('-').is_some_and(|(area, _)| prefixes.contains(area)))
            {
                if !ids.contains(id) {
                    let what = format!("names {id}, which does not exist in {REQUIREMENTS_FILE}");
                    problems.push(
                        RuleViolation::new("requirements", &file.path, what, "use an existing id")
                            .at_line(line),
                    );
                } else if tests.is_some_and(|first| line >= first) {
                    tested.extend(side.map(|side| (side, id)));
                }
            }
        }
    }
    for (row, side) in rows.iter().flat_map(|row| row.sides.iter().map(move |side| (row, *side))) {
        if tested.contains(&(side, row.id.as_str())) {
            continue;
        }
        let (duty, folders) = side.describe_duty();
        let what = format!("no test of side {} names {}, {duty}", side.letter(), row.id);
        let repair =
            format!("name each of these rows in the doc comment of its test in {folders}: `/// STK-10: …`");
        problems.push(RuleViolation::new("requirements", REQUIREMENTS_FILE, what, repair).at_line(row.line));
    }
    (problems, area_coverage(&rows, &tested))
}

/// Returns the id and the sides of each row.
pub(super) fn rows_with_sides(repository: &RepositoryFiles) -> Vec<(String, Vec<RequirementSide>)> {
    let rows = repository.find_file(REQUIREMENTS_FILE).map(|file| parse_rows(file, &mut Vec::new()));
    rows.into_iter().flatten().map(|row| (row.id, row.sides)).collect()
}

/// Parses the rows. Reports duplicate ids as violations.
fn parse_rows(file: &SourceFile, problems: &mut Vec<RuleViolation>) -> Vec<RequirementRow> {
    let mut rows = Vec::new();
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for (line, text) in file.numbered_lines() {
        let mut cells = text.split('|').map(str::trim);
        let (Some(""), Some(id), Some(sides)) = (cells.next(), cells.next(), cells.next()) else { continue };
        if row_ids(id).next() != Some(id) {
            continue;
        }
        if let Some(first) = lines.insert(id.to_owned(), line) {
            let what = format!("duplicate id {id}, first used in line {first}");
            let repair = "use the next free number for the newer row";
            problems.push(RuleViolation::new("requirements", REQUIREMENTS_FILE, what, repair).at_line(line));
            continue;
        }
        let named: Vec<&str> = sides.split(',').map(str::trim).collect();
        let sides = RequirementSide::ALL.into_iter().filter(|side| named.contains(&side.letter())).collect();
        rows.push(RequirementRow { id: id.to_owned(), line, sides });
    }
    rows
}

fn area_coverage(rows: &[RequirementRow], tested: &BTreeSet<(RequirementSide, &str)>) -> Vec<AreaCoverage> {
    let mut areas: Vec<AreaCoverage> = Vec::new();
    for side in RequirementSide::ALL {
        for row in rows.iter().filter(|row| row.sides.contains(&side)) {
            let name = row.id.split('-').next().unwrap_or_default();
            if areas.last().is_none_or(|last| last.name != name || last.side != side) {
                areas.push(AreaCoverage { name: name.to_owned(), side, rows: 0, uncovered: Vec::new() });
            }
            let Some(area) = areas.last_mut() else { continue };
            area.rows += 1;
            if !tested.contains(&(side, row.id.as_str())) {
                area.uncovered.push(row.id.clone());
            }
        }
    }
    areas
}

/// Returns the first line of the tests in a file, which is 1 if the file contains only tests. Returns `None`
/// if it contains no tests.
fn first_test_line(file: &SourceFile) -> Option<usize> {
    let (folders, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let stem = name.split('.').next().unwrap_or(name);
    let test =
        stem == "tests" || stem.starts_with("test_") || stem.ends_with("_test") || name.contains(".test.");
    if test || folders.split('/').any(|folder| folder == "tests" || folder == "test") {
        return Some(1);
    }
    let mut marked = None;
    for (line, text) in file.numbered_lines() {
        let text = text.trim_start();
        if text.starts_with("#[cfg(test)]") || text.starts_with("#[cfg(all(test") {
            marked = Some(line);
        } else if marked.is_some() && text.contains("mod ") && text.ends_with('{') {
            return marked;
        } else if !text.starts_with("#[") {
            marked = None;
        }
    }
    None
}

/// Returns every word that has the form of an id: two or three capital letters, `-`, and two digits.
pub(super) fn row_ids(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('-').filter_map(|(dash, _)| {
        let bytes = text.as_bytes();
        let start = (0..dash).rev().take_while(|&i| bytes[i].is_ascii_uppercase()).last()?;
        let digits = bytes[dash + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = dash + 1 + digits;
        let inside =
            |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        let before = start.checked_sub(1).and_then(|i| bytes.get(i));
        let is_word = !inside(before) && !inside(bytes.get(end));
        ((2..=3).contains(&(dash - start)) && digits == 2 && is_word).then(|| &text[start..end])
    })
}

#[cfg(test)]
mod tests {
    use super::{super::assert_problems, *};

    const TABLE: &str = "# Rows\n\n| id | side | requirement |\n|---|---|---|\n| AA-01 | K,S | One. |\n| AA-02 | C | Two. |\n| BBB-01 | K | Three. |\n";

    fn problems(repository: &RepositoryFiles) -> Vec<RuleViolation> {
        check(repository).0
    }

    /// Test files that cover `AA-01` for the service and `AA-02` for the client, so that only rows of the
    /// contract can be uncovered.
    const COVERED_SIDES: [(&str, &str); 2] =
        [("exchange/service/tests/all/a.rs", "// AA-01\n"), ("exchange/cli/tests/all/a.rs", "// AA-02\n")];

    #[test]
    fn rows_of_the_contract_need_a_test() {
        let test = "//! Tests.\n\n/// AA-01: shown.\n#[test]\nfn one() {}\n";
        assert_problems(
            problems,
            &[&[(REQUIREMENTS_FILE, TABLE), ("tests/tests/all/a.rs", test)], &COVERED_SIDES[..]].concat(),
            &["docs/requirements.md:7 requirements"],
        );
        assert_problems(
            problems,
            &[
                &[
                    (REQUIREMENTS_FILE, TABLE),
                    ("tests/tests/all/a.rs", test),
                    ("schemas/e2e/b.test.mjs", "// BBB-01\n"),
                ],
                &COVERED_SIDES[..],
            ]
            .concat(),
            &[],
        );
    }

    /// A row is covered on a side only if a test of that side names it.
    #[test]
    fn rows_of_service_and_client_need_tests_too() {
        let contract = ("tests/tests/all/a.rs", "// AA-01, AA-02, BBB-01\n");
        let [service, client] = COVERED_SIDES;
        for (files, expect) in [
            (vec![service], vec!["docs/requirements.md:6 requirements"]),
            (vec![client], vec!["docs/requirements.md:5 requirements"]),
            (
                vec![service, ("exchange/client/src/a.rs", "// AA-02\n")],
                vec!["docs/requirements.md:6 requirements"],
            ),
            (vec![service, client], Vec::new()),
        ] {
            assert_problems(
                problems,
                &[&[(REQUIREMENTS_FILE, TABLE), contract], &files[..]].concat(),
                &expect,
            );
        }
    }

    #[test]
    fn ids_outside_of_tests_do_not_count() {
        let code = "//! Code.\n\n// AA-01\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n    /// BBB-01\n    #[test]\n    fn b() {}\n}\n";
        assert_problems(
            problems,
            &[&[(REQUIREMENTS_FILE, TABLE), ("generated/src/a.rs", code)], &COVERED_SIDES[..]].concat(),
            &["docs/requirements.md:5 requirements"],
        );
        let only = "#[cfg(test)]\nuse a;\n// AA-01, BBB-01\n";
        assert_problems(
            problems,
            &[&[(REQUIREMENTS_FILE, TABLE), ("generated/src/a.rs", only)], &COVERED_SIDES[..]].concat(),
            &["docs/requirements.md:5 requirements", "docs/requirements.md:7 requirements"],
        );
    }

    #[test]
    fn unknown_ids_are_reported() {
        let test = "// AA-01, BBB-01, AA-09; CC-01 and RFC-94 are somebody else's\n";
        assert_problems(
            problems,
            &[&[(REQUIREMENTS_FILE, TABLE), ("generated/src/tests.rs", test)], &COVERED_SIDES[..]].concat(),
            &["generated/src/tests.rs:1 requirements"],
        );
    }

    #[test]
    fn duplicate_ids_are_reported() {
        let table = format!("{TABLE}| AA-02 | S | Again. |\n");
        let test = "// AA-01, BBB-01\n";
        assert_problems(
            problems,
            &[&[(REQUIREMENTS_FILE, table.as_str()), ("generated/src/tests.rs", test)], &COVERED_SIDES[..]]
                .concat(),
            &["docs/requirements.md:8 requirements"],
        );
    }

    /// An id in a test counts only for the side to which the test's folder belongs.
    #[test]
    fn coverage_is_counted_per_side() {
        let uncovered = |path: &str| {
            let (_, areas) = check(&RepositoryFiles::from_files(&[
                (REQUIREMENTS_FILE, TABLE),
                (path, "// AA-01, AA-02\n"),
            ]));
            let summarize = |area: &AreaCoverage| (area.side.letter(), area.rows, area.uncovered.join(" "));
            areas.iter().filter(|area| area.name == "AA").map(summarize).collect::<Vec<_>>()
        };
        let expect = |contract: &str, service: &str, client: &str| {
            vec![("K", 1, contract.to_owned()), ("S", 1, service.to_owned()), ("C", 1, client.to_owned())]
        };
        assert_eq!(uncovered("tests/tests/all/a.rs"), expect("", "AA-01", "AA-02"));
        assert_eq!(uncovered("exchange/service/tests/all/a.rs"), expect("AA-01", "", "AA-02"));
        assert_eq!(uncovered("exchange/cli/tests/all/a.rs"), expect("AA-01", "AA-01", ""));
        assert_eq!(uncovered("dpop/tests/all/a.rs"), expect("AA-01", "AA-01", "AA-02"));
    }

    #[test]
    fn ids_are_whole_words() {
        let found: Vec<&str> =
            row_ids("STK-10, (GW-01) X-10 ABCD-10 STK-101 STK-1 XSTK_OST-02 UTF-8 LIM-12").collect();
        assert_eq!(found, ["STK-10", "GW-01", "LIM-12"]);
    }
}
