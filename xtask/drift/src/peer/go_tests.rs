//! Reads pairs of documents and expected levels from the tests of oasdiff.
//!
//! The tests are Go code. This module interprets the usual form: a function that opens two files, compares
//! them, and names the rules that must report a change. It counts the functions that it cannot interpret.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
    sync::LazyLock,
};

use regex::Regex;

/// The folder of the rules and the tests.
const CHECKER_FOLDER: &str = "checker";
/// The file with the level of each rule.
const RULES_FILE: &str = "checker/rules.go";
/// The folder of the documents.
const DATA_FOLDER: &str = "data/";

const NO_PAIR: &str = "they do not open two files";
const CHANGED_IN_GO: &str = "they change a document in Go";
const NO_LEVEL: &str = "they name no rule or level";

/// Compiles a pattern of this module.
macro_rules! pattern {
    ($name:ident, $pattern:literal) => {
        #[allow(clippy::expect_used, reason = "the pattern is a constant")]
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($pattern).expect("the pattern is a valid regular expression"));
    };
}

pattern!(RULE, r"newBackwardCompatibilityRule\((\w+), (ERR|WARN|INFO)\b");
pattern!(FOLDER, r#"(\w+)\s*=\s*dataFileFn\("([^"]+)"\)"#);
pattern!(TEST, r"(?ms)^func (Test\w+)\(t \*testing\.T\) \{\n(.*?)^\}");
pattern!(OPENED_FILE, r#"(?m)^\s*(\w+)(?:, \w+)? :?= open\((?:(\w+)\()?"([^"]+)"\)"#);
pattern!(NUMBERED_FILE, r"(?m)^\s*(\w+) :?= l\(t, (\d+)\)");
pattern!(COMPARISON, r"\b(?:CheckBackwardCompatibility|stabilityChanges\(|d\(t,)");
pattern!(COMPARED, r"GetWithOperationsSourcesMap\(.*, (\w+), (\w+)\)");
pattern!(COMPARED_NUMBERS, r"\bd\(t, .*, (\d+), (\d+)\)");
pattern!(RULE_USE, r"\b(?:checker\.)?(\w+Id)\b");
pattern!(NO_CHANGES, r"require\.Empty\(t, (?:errs|changes)\)");
pattern!(EXPLICIT_LEVEL, r"\bchecker\.(ERR|WARN|INFO)\b");

/// The level of a rule of oasdiff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PeerLevel {
    Info,
    Warning,
    Error,
}

impl PeerLevel {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "INFO" => Some(Self::Info),
            "WARN" => Some(Self::Warning),
            "ERR" => Some(Self::Error),
            _ => None,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Warning => "WARN",
            Self::Error => "ERR",
        }
    }
}

/// The paths of two documents, relative to the checkout.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DocumentPair {
    pub(crate) old: String,
    pub(crate) new: String,
}

impl DocumentPair {
    /// Returns true if the documents have these paths relative to the folder `data`.
    pub(crate) fn has_names(&self, old: &str, new: &str) -> bool {
        self.old.strip_prefix(DATA_FOLDER) == Some(old) && self.new.strip_prefix(DATA_FOLDER) == Some(new)
    }
}

/// A pair of documents and the rules that report changes between them, according to all tests of the pair.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PeerPair {
    pub(crate) documents: DocumentPair,
    pub(crate) rules: BTreeMap<String, PeerLevel>,
    pub(crate) tests: Vec<String>,
}

impl PeerPair {
    /// Returns true if a rule reports an error or a warning.
    pub(crate) fn is_breaking(&self) -> bool {
        self.rules.values().any(|level| *level > PeerLevel::Info)
    }
}

/// The tests of a checkout.
#[derive(Debug, Default)]
pub(crate) struct PeerTests {
    pub(crate) pairs: Vec<PeerPair>,
    /// The reasons for which tests were not interpreted, with the numbers of tests.
    pub(crate) skipped: Vec<(&'static str, usize)>,
}

/// Reads the tests of a checkout.
pub(crate) fn read_checkout(folder: &Path) -> Result<PeerTests, String> {
    let rules = fs::read_to_string(folder.join(RULES_FILE)).map_err(|problem| {
        format!("{} is not a checkout of oasdiff: {RULES_FILE}: {problem}", folder.display())
    })?;
    let checker = folder.join(CHECKER_FOLDER);
    let files = test_files(&checker).map_err(|problem| format!("{}: {problem}", checker.display()))?;
    let context = TestContext {
        levels: rule_levels(&rules),
        folders: files.iter().flat_map(|text| folder_functions(text)).collect(),
    };
    Ok(collect_pairs(&files, &context))
}

/// Returns the texts of the test files, in the order of their names.
fn test_files(folder: &Path) -> io::Result<Vec<String>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with("_test.go") {
            files.insert(name, fs::read_to_string(entry.path())?);
        }
    }
    Ok(files.into_values().collect())
}

fn rule_levels(text: &str) -> BTreeMap<String, PeerLevel> {
    let rules = RULE.captures_iter(text);
    rules.filter_map(|rule| Some((rule[1].to_owned(), PeerLevel::parse(&rule[2])?))).collect()
}

/// Returns the functions that complete a file name, with the folder below `data` that they add.
fn folder_functions(text: &str) -> Vec<(String, String)> {
    FOLDER.captures_iter(text).map(|found| (found[1].to_owned(), found[2].to_owned())).collect()
}

/// Definitions that all tests share.
#[derive(Debug)]
struct TestContext {
    levels: BTreeMap<String, PeerLevel>,
    folders: BTreeMap<String, String>,
}

fn collect_pairs(files: &[String], context: &TestContext) -> PeerTests {
    let mut pairs: BTreeMap<DocumentPair, PeerPair> = BTreeMap::new();
    let mut skipped: BTreeMap<&'static str, usize> = BTreeMap::new();
    let tests = files.iter().flat_map(|text| TEST.captures_iter(text));
    for test in tests.filter(|test| COMPARISON.is_match(&test[2])) {
        match context.read_test(&test[2]) {
            Ok((documents, rules)) => {
                let pair = pairs.entry(documents.clone()).or_insert_with(|| PeerPair {
                    documents,
                    rules: BTreeMap::new(),
                    tests: Vec::new(),
                });
                pair.rules.extend(rules);
                pair.tests.push(test[1].to_owned());
            }
            Err(reason) => *skipped.entry(reason).or_default() += 1,
        }
    }
    PeerTests { pairs: pairs.into_values().collect(), skipped: skipped.into_iter().collect() }
}

impl TestContext {
    /// Returns the documents of a test and the rules that it expects, or the reason why it cannot be
    /// interpreted.
    fn read_test(&self, body: &str) -> Result<(DocumentPair, BTreeMap<String, PeerLevel>), &'static str> {
        let documents = self.documents(body)?;
        let rules = self.expected_rules(body).ok_or(NO_LEVEL)?;
        // Equal documents differ only if a helper function changes one of them.
        if documents.old == documents.new && !rules.is_empty() {
            return Err(CHANGED_IN_GO);
        }
        Ok((documents, rules))
    }

    fn documents(&self, body: &str) -> Result<DocumentPair, &'static str> {
        if let Some(numbers) = COMPARED_NUMBERS.captures(body) {
            return Ok(DocumentPair { old: numbered_file(&numbers[1]), new: numbered_file(&numbers[2]) });
        }
        let variables = self.opened_files(body);
        let mut compared: BTreeSet<(String, String)> = BTreeSet::new();
        for call in COMPARED.captures_iter(body) {
            compared.insert((call[1].to_owned(), call[2].to_owned()));
        }
        let (Some((old, new)), None) = (compared.pop_first(), compared.pop_first()) else {
            return Err(NO_PAIR);
        };
        if [&old, &new].iter().any(|variable| is_changed(body, variable)) {
            return Err(CHANGED_IN_GO);
        }
        match (variables.get(&old), variables.get(&new)) {
            (Some(Some(old)), Some(Some(new))) => Ok(DocumentPair { old: old.clone(), new: new.clone() }),
            _ => Err(NO_PAIR),
        }
    }

    /// Returns the path of each opened document by its variable. The value is `None` if several documents
    /// are assigned to the variable.
    fn opened_files(&self, body: &str) -> BTreeMap<String, Option<String>> {
        let mut variables = BTreeMap::new();
        let mut add_file = |variable: &str, path: String| {
            variables.entry(variable.to_owned()).and_modify(|file| *file = None).or_insert(Some(path));
        };
        for opened in OPENED_FILE.captures_iter(body) {
            let file = &opened[3];
            let path = match opened.get(2) {
                None => file.trim_start_matches("../").to_owned(),
                Some(function) => match self.folders.get(function.as_str()) {
                    Some(folder) => format!("{DATA_FOLDER}{folder}/{file}"),
                    None => continue,
                },
            };
            add_file(&opened[1], path);
        }
        for opened in NUMBERED_FILE.captures_iter(body) {
            add_file(&opened[1], numbered_file(&opened[2]));
        }
        variables
    }

    /// Returns the rules that must report a change, with their levels.
    fn expected_rules(&self, body: &str) -> Option<BTreeMap<String, PeerLevel>> {
        let asserted: Vec<&str> = body.lines().filter(|line| !names_absent_rules(line)).collect();
        let asserted = asserted.join("\n");
        let used = RULE_USE.captures_iter(&asserted);
        let rules: BTreeMap<String, PeerLevel> =
            used.filter_map(|id| Some((id[1].to_owned(), *self.levels.get(&id[1])?))).collect();
        if !rules.is_empty() {
            return Some(rules);
        }
        let explicit =
            EXPLICIT_LEVEL.captures_iter(&asserted).filter_map(|level| PeerLevel::parse(&level[1]));
        if NO_CHANGES.is_match(body) {
            Some(BTreeMap::new())
        } else if body.contains("UntilLevel(") {
            None
        } else {
            explicit.max().map(|level| BTreeMap::from([("(no rule named)".to_owned(), level)]))
        }
    }
}

/// Returns true if a test uses a document other than to open and to compare it.
fn is_changed(body: &str, variable: &str) -> bool {
    let is_use = |line: &&str| {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| word == variable) && !line.contains("GetWithOperationsSourcesMap(")
    };
    body.lines().filter(is_use).count() > 1
}

/// Returns true if a line of a test names rules that must not report a change, or configures levels.
fn names_absent_rules(line: &str) -> bool {
    ["requireNoChange(", "NotContains(", "NotEqual(", "require.False(", "WithSeverityLevels("]
        .iter()
        .any(|call| line.contains(call))
}

fn numbered_file(number: &str) -> String {
    format!("{DATA_FOLDER}openapi-test{number}.yaml")
}
