//! `tidy`: measures the language of documentation and names over the whole repository.
//!
//! Each figure counts one habit that makes prose or names hard to understand, such as verbs of speech for
//! software, pronouns instead of nouns, or one-word names. The limits in [`WORD_LIMITS`], [`BLOCK_LIMITS`]
//! and [`NAME_LIMITS`] are about twice the highest value measured in well-known Rust projects. [`check`] is
//! the entry point. Tests, fixtures and generated files are not counted.

use std::collections::BTreeMap;

use crate::{
    repository::{GENERATED_FOLDER, RepositoryFiles, SourceFile},
    violation::RuleViolation,
};

/// The name of the rule.
const RULE: &str = "language";
/// The maximum number of locations in a violation.
const MAX_PLACES: usize = 8;
/// The minimum number of words, doc blocks or names. Smaller repositories are not measured, because a share
/// of few items is not meaningful.
const MIN_SAMPLE: usize = 500;

/// A limit for words or short phrases in prose. Each phrase is a sequence of lowercase words.
struct WordLimit {
    name: &'static str,
    phrases: &'static [&'static str],
    /// The maximum number of occurrences per 1,000 words. Doc comments and Markdown are counted separately.
    limit: f64,
}

const WORD_LIMITS: &[WordLimit] = &[
    WordLimit { name: "say", phrases: &["say", "says", "said", "saying"], limit: 1.0 },
    WordLimit { name: "ask", phrases: &["ask", "asks", "asked", "asking"], limit: 0.3 },
    WordLimit { name: "stand", phrases: &["stand", "stands", "stood"], limit: 1.0 },
    WordLimit { name: "whose", phrases: &["nobody", "somebody", "whoever", "whom", "whose"], limit: 3.0 },
    WordLimit { name: "to who", phrases: &["to who", "for who", "of who", "by who", "with who"], limit: 0.1 },
    WordLimit { name: "tell", phrases: &["tell", "tells", "told", "telling"], limit: 1.2 },
    WordLimit {
        name: "text for string",
        phrases: &["a text", "the text", "any text", "its text", "other text", "no text", "of text", "texts"],
        limit: 0.6,
    },
    WordLimit {
        name: "come to, come of",
        phrases: &["come to", "comes to", "come of", "comes of"],
        limit: 0.4,
    },
    WordLimit { name: "alike", phrases: &["all the same", "alike", "likewise"], limit: 0.6 },
    WordLimit { name: "alone for only", phrases: &["alone"], limit: 0.6 },
];

/// A limit for one kind of doc comment, as a percentage of all doc comments.
struct BlockLimit {
    name: &'static str,
    matches: fn(&str) -> bool,
    limit: f64,
}

const BLOCK_LIMITS: &[BlockLimit] = &[
    BlockLimit {
        name: "doc comments that open with What",
        matches: |block| {
            block.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()) == Some("What")
        },
        limit: 0.3,
    },
    BlockLimit {
        name: "doc comments of six words or fewer",
        matches: |block| block.split_whitespace().count() <= 6,
        limit: 20.0,
    },
];

/// A limit for one kind of name, as a percentage of all type names or of all functions.
struct NameLimit {
    name: &'static str,
    limit: f64,
}

const ONE_WORD_TYPES: NameLimit = NameLimit { name: "one-word type names", limit: 40.0 };
const VAGUE_TYPES: NameLimit = NameLimit { name: "participles and adverbs as type names", limit: 2.0 };
const REPEATED_TYPES: NameLimit = NameLimit { name: "type names used twice", limit: 18.0 };
const ONE_WORD_FUNCTIONS: NameLimit = NameLimit { name: "one-word functions", limit: 50.0 };
const NAME_LIMITS: [&NameLimit; 4] = [&ONE_WORD_TYPES, &VAGUE_TYPES, &REPEATED_TYPES, &ONE_WORD_FUNCTIONS];

/// Participles, pronouns and adverbs. As type names, they do not describe the type.
#[rustfmt::skip]
const VAGUE_NAMES: &[&str] = &[
    "Above", "Absent", "Ahead", "Alone", "Again", "Allowed", "Apart", "Asked", "Asking", "Asks", "Been",
    "Beside", "Below", "Came", "Chosen", "Deed", "Demanded", "Doer", "Doing", "Done", "Drawn", "Dropped",
    "Each", "Endless", "Found", "Further", "Gained", "Given", "Going", "Granted", "Handed", "Has", "Held",
    "Holding", "Holds", "How", "Inner", "Inside", "Joined", "Judged", "Keeping", "Kept", "Known", "Lack",
    "Last", "Left", "LeftOpen", "LeftOut", "Likeness", "Looked", "Looking", "Looser", "Lost", "Luck",
    "Made", "Many", "Meant", "Mend", "Mended", "Mine", "Needs", "Next", "Nothing", "Now", "OnItsWay",
    "Once", "OneLane", "OneWay", "Only", "Other", "Outright", "Owned", "Parted", "Passing", "Past",
    "Patient", "Perhaps", "Plenty", "Proven", "Quiet", "Quoted", "Ran", "Refused", "Rest", "Revised",
    "Said", "Says", "Seen", "Set", "SetBack", "Settled", "Shown", "Spoilt", "Staged", "Standing", "Stand",
    "Standings", "Stuff", "Taken", "Taking", "Telling", "Three", "Told", "Touched", "Tried", "Turn",
    "Unasked", "Unbelieved", "Unclear", "Unfit", "Unproven", "Unread", "Unsaid", "Unseen", "Unsure", "Used",
    "Viewed", "Waiting", "Walked", "Wanted", "WasFound", "Watched", "Way", "Ways", "Went", "What", "When",
    "Whereabouts", "Who", "Whole", "Whose", "Why", "Wish", "Wishes", "Withheld", "Word", "Words", "Written",
    "Wrong", "Wrote", "NoArea", "NoMoment", "NoName", "AtHand",
];

/// The number of occurrences of one kind of language problem, and the locations of the first ones.
#[derive(Debug, Default)]
struct Tally {
    count: usize,
    places: Vec<String>,
}

impl Tally {
    fn add(&mut self, file: &SourceFile, line: usize) {
        self.count += 1;
        if self.places.len() < MAX_PLACES {
            self.places.push(format!("{}:{line}", file.path));
        }
    }
}

/// Reports each language measurement of the repository that exceeds its limit.
pub(super) fn check(repository: &RepositoryFiles) -> Vec<RuleViolation> {
    let mut violations = Vec::new();
    let rust: Vec<&SourceFile> =
        repository.with_suffix(".rs").filter(|file| is_measured(&file.path)).collect();
    let markdown = repository.with_suffix(".md").filter(|file| is_measured(&file.path));
    let blocks: Vec<(&SourceFile, DocBlock)> = rust
        .iter()
        .flat_map(|file| doc_blocks(without_tests(&file.text)).into_iter().map(|b| (*file, b)))
        .collect();
    let doc_lines =
        blocks.iter().flat_map(|(file, block)| block.lines.iter().map(|line| (*file, line.0, line.1)));
    let prose =
        markdown.flat_map(|file| prose_lines(&file.text).into_iter().map(move |(n, line)| (file, n, line)));
    check_words("doc comments", doc_lines, &mut violations);
    check_words("Markdown", prose, &mut violations);
    check_blocks(&blocks, &mut violations);
    check_names(&rust, &mut violations);
    violations
}

fn is_measured(path: &str) -> bool {
    const FOLDERS: [&str; 8] =
        ["test", "tests", "benches", "expected", "fuzz", "corpus", "cases", "fixtures"];
    let mut folders = path.split('/');
    let file = folders.next_back().unwrap_or_default();
    !folders.any(|folder| FOLDERS.contains(&folder))
        && !["test.rs", "tests.rs"].iter().any(|name| file.ends_with(name))
        && !path.starts_with(GENERATED_FOLDER)
        && !["docs/requirements.md", "docs/decisions.md"].contains(&path)
}

/// Returns the source code before its first test module.
fn without_tests(text: &str) -> &str {
    let mut from = 0;
    while let Some(found) = text[from..].find("#[cfg(test)]") {
        let after = from + found + "#[cfg(test)]".len();
        if text[after..].trim_start().starts_with("mod ") {
            return &text[..from + found];
        }
        from = after;
    }
    text
}

/// Consecutive lines of a doc comment, without the comment markers and without code blocks.
#[derive(Debug)]
struct DocBlock<'t> {
    first: usize,
    lines: Vec<(usize, &'t str)>,
}

fn doc_blocks(text: &str) -> Vec<DocBlock<'_>> {
    let mut blocks: Vec<DocBlock<'_>> = Vec::new();
    let mut open: Option<(&str, bool)> = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let marker = ["///", "//!"].into_iter().find(|marker| line.starts_with(marker));
        let Some(marker) = marker else {
            open = None;
            continue;
        };
        let in_code = match open {
            Some((open_marker, in_code)) if open_marker == marker => in_code,
            _ => {
                blocks.push(DocBlock { first: index + 1, lines: Vec::new() });
                false
            }
        };
        let content = line[marker.len()..].trim();
        let is_fence = content.starts_with("```");
        open = Some((marker, in_code != is_fence));
        if let Some(block) = blocks.last_mut().filter(|_| !in_code && !is_fence) {
            block.lines.push((index + 1, content));
        }
    }
    blocks
}

/// Returns the lines of a Markdown document outside of its code blocks.
fn prose_lines(text: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            lines.push((index + 1, line));
        }
    }
    lines
}

fn check_words<'f>(
    kind: &str,
    lines: impl Iterator<Item = (&'f SourceFile, usize, &'f str)>,
    violations: &mut Vec<RuleViolation>,
) {
    let mut words = 0;
    let mut tallies: Vec<Tally> = WORD_LIMITS.iter().map(|_| Tally::default()).collect();
    for (file, number, line) in lines {
        words += line.split_whitespace().count();
        let line = line.to_lowercase();
        for (tally, habit) in tallies.iter_mut().zip(WORD_LIMITS) {
            let count: usize = habit.phrases.iter().map(|phrase| count_phrase(&line, phrase)).sum();
            (0..count).for_each(|_| tally.add(file, number));
        }
    }
    if words < MIN_SAMPLE {
        return;
    }
    for (tally, habit) in tallies.iter().zip(WORD_LIMITS) {
        let rate = 1000.0 * share(tally.count, words);
        if rate > habit.limit {
            let message = format!(
                "\"{}\" occurs {rate:.2} times per 1,000 words of {kind}; the limit is {:.2}",
                habit.name, habit.limit
            );
            violations.push(violation(
                message,
                "rewrite the sentences: subject, technical verb, object",
                &tally.places,
            ));
        }
    }
}

/// Counts the occurrences of a phrase that are not part of longer words.
fn count_phrase(line: &str, phrase: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(phrase)
        .filter(|(start, _)| {
            let (before, after) = (&line[..*start], &line[start + phrase.len()..]);
            !before.ends_with(is_word) && !after.starts_with(is_word)
        })
        .count()
}

fn check_blocks(blocks: &[(&SourceFile, DocBlock<'_>)], violations: &mut Vec<RuleViolation>) {
    if blocks.len() < MIN_SAMPLE {
        return;
    }
    for limit in BLOCK_LIMITS {
        let mut tally = Tally::default();
        for (file, block) in blocks {
            let content: Vec<&str> = block.lines.iter().map(|(_, line)| *line).collect();
            if (limit.matches)(&content.join("\n")) {
                tally.add(file, block.first);
            }
        }
        let percent = 100.0 * share(tally.count, blocks.len());
        if percent > limit.limit {
            let message = format!("{percent:.1} % are {}; the limit is {:.1} %", limit.name, limit.limit);
            let repair = "state what the name does not: units, ranges, errors; or improve the name and delete the comment";
            violations.push(violation(message, repair, &tally.places));
        }
    }
}

fn check_names(files: &[&SourceFile], violations: &mut Vec<RuleViolation>) {
    let mut types: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut functions = 0;
    let mut one_word_functions = Tally::default();
    for file in files.iter().filter(|file| file.path.contains("/src/")) {
        for (index, line) in without_tests(&file.text).lines().enumerate() {
            if let Some(name) = type_name(line) {
                types.entry(name).or_default().add(file, index + 1);
            }
            for name in function_names(line) {
                functions += 1;
                if !name.contains('_') {
                    one_word_functions.add(file, index + 1);
                }
            }
        }
    }
    if types.len() + functions < MIN_SAMPLE {
        return;
    }
    let places = |tallies: &[&Tally]| {
        tallies.iter().flat_map(|tally| &tally.places).take(MAX_PLACES).cloned().collect::<Vec<_>>()
    };
    let one_word: Vec<&Tally> =
        types.iter().filter(|(name, _)| is_one_word(name)).map(|(_, tally)| tally).collect();
    let vague: Vec<&Tally> =
        types.iter().filter(|(name, _)| VAGUE_NAMES.contains(name)).map(|(_, tally)| tally).collect();
    let repeated: Vec<&Tally> = types.values().filter(|tally| tally.count > 1).collect();
    let figures = [
        (one_word.len(), types.len(), places(&one_word)),
        (vague.len(), types.len(), places(&vague)),
        (repeated.len(), types.len(), places(&repeated)),
        (one_word_functions.count, functions, one_word_functions.places),
    ];
    for (limit, (count, all, places)) in NAME_LIMITS.into_iter().zip(figures) {
        let percent = 100.0 * share(count, all);
        if percent > limit.limit {
            let message = format!("{percent:.1} % are {}; the limit is {:.1} %", limit.name, limit.limit);
            violations.push(violation(
                message,
                "types: noun phrases, unique; functions: verb and object",
                &places,
            ));
        }
    }
}

/// Returns the name of the type or trait that a line declares.
fn type_name(line: &str) -> Option<&str> {
    let mut line = line.trim_start();
    if let Some(rest) = line.strip_prefix("pub") {
        line = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
        line = line.strip_prefix(' ')?;
    }
    let (keyword, rest) = line.split_once(' ')?;
    if !["struct", "enum", "trait", "type", "union"].contains(&keyword) {
        return None;
    }
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    Some(name).filter(|name| !name.is_empty())
}

fn function_names(line: &str) -> impl Iterator<Item = &str> {
    let starts = line
        .match_indices("fn ")
        .filter(|(start, _)| !line[..*start].ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    starts.filter_map(|(start, keyword)| {
        let rest = &line[start + keyword.len()..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        Some(&rest[..end]).filter(|name| !name.is_empty())
    })
}

fn is_one_word(name: &str) -> bool {
    name.len() > 1
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name[1..].chars().all(|c| c.is_ascii_lowercase())
}

#[expect(clippy::cast_precision_loss, reason = "counts of words and names")]
fn share(count: usize, all: usize) -> f64 {
    count as f64 / all.max(1) as f64
}

fn violation(message: String, repair: &str, places: &[String]) -> RuleViolation {
    let path = places.first().and_then(|place| place.split(':').next()).unwrap_or_default().to_owned();
    RuleViolation::new(RULE, &path, &message, format!("{repair}; first places: {}", places.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns enough words for a measurement, without any language problem.
    fn filler() -> String {
        "The loader parses each file and reports errors with their line.\n".repeat(60)
    }

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        check(&RepositoryFiles::from_files(files)).into_iter().map(|each| each.to_json()).collect()
    }

    #[test]
    fn unclear_prose_is_reported_with_its_line() {
        let plain = filler();
        assert_eq!(messages(&[("docs/a.md", &plain)]), Vec::<String>::new());
        let unclear = format!("{plain}It says who asks.\n");
        let found = messages(&[("docs/a.md", &unclear)]);
        assert!(
            found.iter().any(|each| each.contains("docs/a.md:61") && each.contains("\\\"say\\\"")),
            "{found:?}"
        );
        assert!(found.iter().any(|each| each.contains("\\\"ask\\\"")), "{found:?}");
    }

    #[test]
    fn code_blocks_tests_and_generated_files_are_not_counted() {
        let code = format!("{}```\nsays says says says\n```\n", filler());
        let unclear = format!("{}It says so.\n", filler());
        let generated = format!("{GENERATED_FOLDER}a.md");
        let files = [("docs/a.md", code.as_str()), ("tests/a.md", &unclear), (&generated, &unclear)];
        assert_eq!(messages(&files), Vec::<String>::new());
    }

    #[test]
    fn phrases_are_whole_words() {
        assert_eq!(count_phrase("a text, a texture, data text", "a text"), 1);
        assert_eq!(count_phrase("said; it_said; saidx", "said"), 1);
    }

    #[test]
    fn doc_blocks_skip_code_and_end_at_other_lines() {
        let text = "//! What it is.\n//! ```\n//! code\n//! ```\n\n/// Returns one.\nfn a() {}\n/// Two.\n";
        let blocks: Vec<(usize, usize)> = doc_blocks(text).iter().map(|b| (b.first, b.lines.len())).collect();
        assert_eq!(blocks, [(1, 1), (6, 1), (8, 1)]);
        assert!((BLOCK_LIMITS[0].matches)("What it is."));
        assert!(!(BLOCK_LIMITS[0].matches)("Whatever."));
    }

    #[test]
    fn names_are_found_and_classified() {
        assert_eq!(type_name("    pub(super) struct FeedPage<'a> {"), Some("FeedPage"));
        assert_eq!(type_name("type Rows = Vec<Row>;"), Some("Rows"));
        assert_eq!(type_name("let type_name = 1;"), None);
        assert_eq!(function_names("    pub async fn read_page(&self)").collect::<Vec<_>>(), ["read_page"]);
        assert_eq!(["Page", "FeedPage", "A", "IO"].map(is_one_word), [true, false, false, false]);
        let mut source = String::new();
        (0..400).for_each(|i| source.push_str(&format!("fn parse_{i}() {{}}\n")));
        ["Told", "Asked", "Whose"].iter().for_each(|name| source.push_str(&format!("struct {name};\n")));
        (0..200).for_each(|i| source.push_str(&format!("fn of{i}() {{}}\n")));
        let found = messages(&[("core/src/lib.rs", &source)]);
        assert!(found.iter().any(|each| each.contains(ONE_WORD_TYPES.name)), "{found:?}");
        assert!(!found.iter().any(|each| each.contains(ONE_WORD_FUNCTIONS.name)), "{found:?}");
    }

    #[test]
    fn sources_end_at_their_test_module() {
        assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {}\n"), "a\n");
        assert_eq!(without_tests("#[cfg(test)]\nuse a;\nb\n"), "#[cfg(test)]\nuse a;\nb\n");
    }
}
