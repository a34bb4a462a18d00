//! The rows of docs/requirements.md: which of their sides tests name, and names of rows that there are not.
//!
//! A row is named by its id (`STK-10`) in a test: a file that holds tests only, or the part of a
//! file below `#[cfg(test)]`. Where the test stands says for which side it speaks; see [`Side::of`].

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    problem::Problem,
    repository::{File, Repository},
};

/// Where the rows are.
const ROWS: &str = "docs/requirements.md";
/// Endings of files that hold tests or code.
const CODE: [&str; 3] = [".rs", ".py", ".mjs"];

/// Who a row binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    /// A contract file must express it.
    Contract,
    /// The service must do it.
    Service,
    /// The client must do it.
    Client,
}

impl Side {
    /// In the order in which they are told.
    pub(super) const ALL: [Self; 3] = [Self::Contract, Self::Service, Self::Client];

    /// Its letter in the table.
    pub(super) const fn letter(self) -> &'static str {
        match self {
            Self::Contract => "K",
            Self::Service => "S",
            Self::Client => "C",
        }
    }

    /// What stays undone while no test of this side names a row, and where such a test stands.
    const fn duty(self) -> (&'static str, &'static str) {
        match self {
            Self::Contract => ("which the contract must express", "generated/, schemas/ or tests/"),
            Self::Service => ("which the service must do", "exchange/service/"),
            Self::Client => ("which the client must do", "exchange/client/ or exchange/cli/"),
        }
    }

    /// The side that a test speaks for, by the folder it stands in.
    fn of(path: &str) -> Option<Self> {
        let mut folders = path.split('/');
        match (folders.next()?, folders.next()?) {
            ("exchange", "service") => Some(Self::Service),
            ("exchange", "client" | "cli") => Some(Self::Client),
            ("generated" | "schemas" | "tests", _) => Some(Self::Contract),
            _ => None,
        }
    }
}

/// How far the tests of one area have come on one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Area {
    /// What its ids begin with.
    pub(super) name: String,
    /// Whose rows these are.
    pub(super) side: Side,
    /// How many rows it has on this side.
    pub(super) rows: usize,
    /// The ids of those that no test of this side names.
    pub(super) uncovered: Vec<String>,
}

/// One row of the table.
#[derive(Debug)]
struct Row {
    id: String,
    line: usize,
    sides: Vec<Side>,
}

/// Problems, and the areas by side and in the order of the file.
///
/// A row is a problem on each of its sides on which no test names it.
pub(super) fn check(repository: &Repository) -> (Vec<Problem>, Vec<Area>) {
    let Some(file) = repository.file(ROWS) else {
        let repair = "bring back the table of rows: | id | side | requirement |";
        return (vec![Problem::new("requirements", ROWS, "is missing", repair)], Vec::new());
    };
    let mut problems = Vec::new();
    let rows = rows(file, &mut problems);
    let ids: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let prefixes: BTreeSet<&str> = ids.iter().filter_map(|id| Some(id.split_once('-')?.0)).collect();
    let mut tested: BTreeSet<(Side, &str)> = BTreeSet::new();
    for file in repository.files.iter().filter(|file| CODE.iter().any(|end| file.path.ends_with(end))) {
        let tests = tests_from(file);
        let side = Side::of(&file.path);
        for (line, text) in file.lines() {
            for id in
                named(text).filter(|id| id.split_once('-').is_some_and(|(area, _)| prefixes.contains(area)))
            {
                if !ids.contains(id) {
                    let what = format!("names {id}, which {ROWS} does not have");
                    problems.push(
                        Problem::new("requirements", &file.path, what, "name the row that is meant").at(line),
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
        let (duty, folders) = side.duty();
        let what = format!("no test of side {} names {}, {duty}", side.letter(), row.id);
        let repair = format!(
            "name each of these rows in the doc line of the test in {folders} that shows it: `/// STK-10: …`"
        );
        problems.push(Problem::new("requirements", ROWS, what, repair).at(row.line));
    }
    (problems, areas(&rows, &tested))
}

/// The rows; an id that stands there twice is a problem.
fn rows(file: &File, problems: &mut Vec<Problem>) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for (line, text) in file.lines() {
        let mut cells = text.split('|').map(str::trim);
        let (Some(""), Some(id), Some(sides)) = (cells.next(), cells.next(), cells.next()) else { continue };
        if named(id).next() != Some(id) {
            continue;
        }
        if let Some(first) = lines.insert(id.to_owned(), line) {
            let what = format!("{id} is also the row of line {first}");
            let repair = "give the younger row the next free number";
            problems.push(Problem::new("requirements", ROWS, what, repair).at(line));
            continue;
        }
        let named: Vec<&str> = sides.split(',').map(str::trim).collect();
        let sides = Side::ALL.into_iter().filter(|side| named.contains(&side.letter())).collect();
        rows.push(Row { id: id.to_owned(), line, sides });
    }
    rows
}

fn areas(rows: &[Row], tested: &BTreeSet<(Side, &str)>) -> Vec<Area> {
    let mut areas: Vec<Area> = Vec::new();
    for side in Side::ALL {
        for row in rows.iter().filter(|row| row.sides.contains(&side)) {
            let name = row.id.split('-').next().unwrap_or_default();
            if areas.last().is_none_or(|last| last.name != name || last.side != side) {
                areas.push(Area { name: name.to_owned(), side, rows: 0, uncovered: Vec::new() });
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

/// The first line of a file's tests: 1 when it holds nothing else.
fn tests_from(file: &File) -> Option<usize> {
    let (folders, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let stem = name.split('.').next().unwrap_or(name);
    let test =
        stem == "tests" || stem.starts_with("test_") || stem.ends_with("_test") || name.contains(".test.");
    if test || folders.split('/').any(|folder| folder == "tests" || folder == "test") {
        return Some(1);
    }
    let mut marked = None;
    for (line, text) in file.lines() {
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

/// Every word of the form of an id: two or three capitals, `-`, two digits.
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('-').filter_map(|(dash, _)| {
        let bytes = text.as_bytes();
        let start = (0..dash).rev().take_while(|&i| bytes[i].is_ascii_uppercase()).last()?;
        let digits = bytes[dash + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = dash + 1 + digits;
        let inside =
            |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        let before = start.checked_sub(1).and_then(|i| bytes.get(i));
        let whole = !inside(before) && !inside(bytes.get(end));
        ((2..=3).contains(&(dash - start)) && digits == 2 && whole).then(|| &text[start..end])
    })
}

#[cfg(test)]
mod tests {
    use super::{super::assert_problems, *};

    const TABLE: &str = "# Rows\n\n| id | side | requirement |\n|---|---|---|\n| AA-01 | K,S | One. |\n| AA-02 | C | Two. |\n| BBB-01 | K | Three. |\n";

    fn problems(repository: &Repository) -> Vec<Problem> {
        check(repository).0
    }

    /// What the other sides of the table's rows need.
    const OTHERS: [(&str, &str); 2] =
        [("exchange/service/tests/all/a.rs", "// AA-01\n"), ("exchange/cli/tests/all/a.rs", "// AA-02\n")];

    #[test]
    fn rows_of_the_contract_need_a_test() {
        let test = "//! Tests.\n\n/// AA-01: shown.\n#[test]\nfn one() {}\n";
        assert_problems(
            problems,
            &[&[(ROWS, TABLE), ("tests/tests/all/a.rs", test)], &OTHERS[..]].concat(),
            &["docs/requirements.md:7 requirements"],
        );
        assert_problems(
            problems,
            &[
                &[(ROWS, TABLE), ("tests/tests/all/a.rs", test), ("schemas/e2e/b.test.mjs", "// BBB-01\n")],
                &OTHERS[..],
            ]
            .concat(),
            &[],
        );
    }

    /// A row is done on a side when a test there names it, and on no other by that.
    #[test]
    fn rows_of_service_and_client_need_tests_too() {
        let contract = ("tests/tests/all/a.rs", "// AA-01, AA-02, BBB-01\n");
        let [service, client] = OTHERS;
        for (files, expect) in [
            (vec![service], vec!["docs/requirements.md:6 requirements"]),
            (vec![client], vec!["docs/requirements.md:5 requirements"]),
            (
                vec![service, ("exchange/client/src/a.rs", "// AA-02\n")],
                vec!["docs/requirements.md:6 requirements"],
            ),
            (vec![service, client], Vec::new()),
        ] {
            assert_problems(problems, &[&[(ROWS, TABLE), contract], &files[..]].concat(), &expect);
        }
    }

    #[test]
    fn only_tests_count() {
        let code = "//! Code.\n\n// AA-01\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n    /// BBB-01\n    #[test]\n    fn b() {}\n}\n";
        assert_problems(
            problems,
            &[&[(ROWS, TABLE), ("generated/src/a.rs", code)], &OTHERS[..]].concat(),
            &["docs/requirements.md:5 requirements"],
        );
        let only = "#[cfg(test)]\nuse a;\n// AA-01, BBB-01\n";
        assert_problems(
            problems,
            &[&[(ROWS, TABLE), ("generated/src/a.rs", only)], &OTHERS[..]].concat(),
            &["docs/requirements.md:5 requirements", "docs/requirements.md:7 requirements"],
        );
    }

    #[test]
    fn a_row_that_there_is_not_cannot_be_named() {
        let test = "// AA-01, BBB-01, AA-09; CC-01 and RFC-94 are somebody else's\n";
        assert_problems(
            problems,
            &[&[(ROWS, TABLE), ("generated/src/tests.rs", test)], &OTHERS[..]].concat(),
            &["generated/src/tests.rs:1 requirements"],
        );
    }

    #[test]
    fn an_id_stands_once() {
        let table = format!("{TABLE}| AA-02 | S | Again. |\n");
        let test = "// AA-01, BBB-01\n";
        assert_problems(
            problems,
            &[&[(ROWS, table.as_str()), ("generated/src/tests.rs", test)], &OTHERS[..]].concat(),
            &["docs/requirements.md:8 requirements"],
        );
    }

    /// A test counts for the side whose folder it stands in, and for no other.
    #[test]
    fn each_side_is_counted_by_itself() {
        let uncovered = |path: &str| {
            let (_, areas) = check(&Repository::of(&[(ROWS, TABLE), (path, "// AA-01, AA-02\n")]));
            let of = |area: &Area| (area.side.letter(), area.rows, area.uncovered.join(" "));
            areas.iter().filter(|area| area.name == "AA").map(of).collect::<Vec<_>>()
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
            named("STK-10, (GW-01) X-10 ABCD-10 STK-101 STK-1 XSTK_OST-02 UTF-8 LIM-12").collect();
        assert_eq!(found, ["STK-10", "GW-01", "LIM-12"]);
    }
}
