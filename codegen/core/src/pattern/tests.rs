//! Tests of patterns with the pattern engine that generated code uses.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use super::*;

#[track_caller]
fn compile_pattern(source: &str) -> CompiledPattern {
    match compile(source) {
        Ok(compiled) => compiled,
        Err(error) => panic!("{source}: {error}"),
    }
}

/// A pattern, the strings that it matches, and strings that it does not match.
type Case = (&'static str, &'static [&'static str], &'static [&'static str]);

const CASES: &[Case] = &[
    // These patterns have unanchored matches, anchors and line ends.
    ("", &["", "a"], &[]),
    ("a", &["a", "bab"], &["", "b", "A"]),
    ("^a", &["a", "ab"], &["ba", ""]),
    ("a$", &["a", "ba"], &["ab", "a\n", ""]),
    ("^abc$", &["abc"], &["abc\n", "\nabc", "xabc", "abcx"]),
    ("^$", &[""], &["\n", "a"]),
    ("$^", &[""], &["a"]),
    ("^", &["", "a"], &[]),
    ("$", &["", "a"], &[]),
    ("^^a$$", &["a"], &["aa"]),
    ("a^b", &[], &["ab", "a\nb"]),
    ("^.$", &["a", "é", "😀", "\t"], &["", "\n", "\r", "\u{2028}", "\u{2029}", "ab"]),
    ("^.*$", &["", "abc"], &["a\nb"]),
    ("a.c", &["abc", "xa\u{85}cx"], &["ac", "a\nc"]),
    // These patterns have repetition counts.
    ("^a*$", &["", "aaa"], &["b", "aab"]),
    ("^a+$", &["a", "aaa"], &["", "b"]),
    ("^a?$", &["", "a"], &["aa"]),
    ("^a{2}$", &["aa"], &["a", "aaa"]),
    ("^a{2,}$", &["aa", "aaaa"], &["a"]),
    ("^a{2,3}$", &["aa", "aaa"], &["a", "aaaa"]),
    ("^a{0}b$", &["b"], &["ab"]),
    ("^a{0,2}b$", &["b", "ab", "aab"], &["aaab"]),
    ("^a{02,3}$", &["aa"], &["a"]),
    ("^a+?b*?$", &["a", "aab"], &["b", ""]),
    ("^a{2,3}?$", &["aa"], &["aaaa"]),
    ("a{3}", &["aaa", "baaab"], &["aa", "aabaa"]),
    ("aaa*", &["aa", "xaax"], &["a", "aba"]),
    ("[0-9]{2,}", &["12", "a12b"], &["1", "1a2"]),
    ("^é{2}$", &["éé"], &["é", "ééé"]),
    ("^(?:ab){2}$", &["abab"], &["ab", "ababab"]),
    ("^(?:a{1,2}-){2}$", &["a-aa-", "aa-a-"], &["a-", "a-aaa-"]),
    ("^(?:a?){3}$", &["", "aaa"], &["aaaa"]),
    ("^(?:)*$", &[""], &["a"]),
    ("^(?:){1000000000}a$", &["a"], &["", "aa"]),
    ("^(?:a*)*$", &["", "aa"], &["b"]),
    ("^(a*)+b$", &["b", "aab"], &["a"]),
    // Some of these patterns are chains for which greedy matching is correct; in similar ones it is not.
    ("^[a-z]+[0-9]*$", &["a", "ab12"], &["1", "a1b", ""]),
    ("^[a-z]+[a-z0-9]$", &["ab", "a1", "abc9"], &["a", "1"]),
    ("^[a-z]{2,3}[a-c]$", &["xya", "xyzb", "aaa"], &["xa", "xyzz", "aaaaa"]),
    ("^a*ab$", &["ab", "aaab"], &["b", "aa"]),
    ("^a?[ab]?b$", &["b", "ab", "bb", "abb", "aab"], &["aaab", "a"]),
    ("^a*b?a$", &["a", "aa", "aba"], &["b", "ab"]),
    ("^a*b*c*$", &["", "abc", "aacc"], &["ba", "ca"]),
    ("^a{1,2}a{2,3}$", &["aaa", "aaaaa"], &["aa", "aaaaaa"]),
    ("^a*a*b", &["b", "aabc"], &["a", "c"]),
    ("^x*", &["", "y", "xx"], &[]),
    ("x*$", &["", "y"], &[]),
    ("x+$", &["x", "yxx"], &["xy", ""]),
    ("x+y", &["xy", "axxyb"], &["y", "x"]),
    ("^v[0-9]+$", &["v1", "v10"], &["v", "1", "v1.0"]),
    ("^foo", &["foo", "foobar"], &["fo", "xfoo"]),
    ("bar$", &["bar", "foobar"], &["barx"]),
    ("^.*bar$", &["bar", "foobar", "barbar"], &["barb"]),
    ("f.*o", &["fo", "xfxoxx"], &["f", "of"]),
    // These patterns have alternations and groups.
    ("^(?:a|bc)$", &["a", "bc"], &["b", "abc", ""]),
    ("^a|b$", &["ax", "xb"], &["xa", "bx"]),
    ("^(a|ab)(c|bcd)$", &["ac", "abc", "abcd", "abbcd"], &["ab"]),
    ("^(?<year>\\d{4})-(?<month>\\d\\d)$", &["2024-01"], &["2024-1"]),
    ("^(a|)$", &["", "a"], &["b"]),
    ("a||b", &["", "x"], &[]),
    ("^(?:(?:a|b)|c)+$", &["abc"], &["", "d"]),
    ("(^a|b)c", &["ac", "xbc"], &["xac"]),
    ("^(?:DRAFT|SUBMITTED|CLOSED)$", &["DRAFT", "CLOSED"], &["DRAF", "draft", "DRAFTCLOSED"]),
    ("^()$", &[""], &["a"]),
    // These patterns have character classes.
    ("^[abc]$", &["a", "c"], &["d", "", "ab"]),
    ("^[^abc]$", &["d", "é", "\n"], &["a", ""]),
    ("^[a-c]$", &["b"], &["d", "-"]),
    ("^[a-c-]$", &["-", "a"], &["d"]),
    ("^[-a]$", &["-", "a"], &["b"]),
    ("^[a-]$", &["-", "a"], &["b"]),
    ("^[--/]$", &["-", ".", "/"], &[",", "0"]),
    (r"^[\w-]$", &["-", "_", "a"], &["."]),
    (r"^[\w-.]$", &["-", ".", "a"], &["/"]),
    (r"^[a-\d]$", &["a", "-", "5"], &["b"]),
    ("^[]$", &[], &["", "a"]),
    ("[]", &[], &["", "a"]),
    ("^[^]$", &["a", "\n", "😀"], &["", "ab"]),
    ("^[^]*$", &["", "a\nb"], &[]),
    (r"^[\]]$", &["]"], &["["]),
    (r"^[\\]$", &["\\"], &["/"]),
    (r"^[\^a]$", &["^", "a"], &["b"]),
    ("^[a^]$", &["^", "a"], &["b"]),
    ("^[$.*+?(){}|/]$", &["$", ".", "*", "+", "?", "(", ")", "{", "}", "|", "/"], &["a"]),
    ("^[[]$", &["["], &["]"]),
    ("^[[a]$", &["[", "a"], &["b"]),
    ("^[a&&b]$", &["a", "&", "b"], &["c"]),
    ("^[*--b]$", &["*", ",", "-", "b"], &["a", "."]),
    ("^[a~~b]$", &["~"], &["c"]),
    (r"^[\b]$", &["\u{8}"], &["b"]),
    (r"^[\d\s]$", &["1", " "], &["a"]),
    (r"^[^\d\s]$", &["a"], &["1", " "]),
    (r"^[^\D]$", &["1"], &["a"]),
    (r"^[\D]$", &["a"], &["1"]),
    ("^[à-ü]$", &["é", "à", "ü"], &["e", "ý"]),
    ("^[^à-ü]$", &["e", "ÿ"], &["é"]),
    ("^[😀-😂]$", &["😁"], &["😃", "a"]),
    ("^[a-z😀]+$", &["a😀"], &["A"]),
    ("^[#&'()*,;=:@!~ <>\"`%-]+$", &["#&'()*", "-"], &["a"]),
    // Class escapes match ASCII digits, ASCII word characters, and whitespace as defined by ECMA-262.
    (r"^\d$", &["0", "9"], &["a", "৪", "٣"]),
    (r"^\D$", &["a", "৪"], &["0"]),
    (r"^\w$", &["a", "Z", "0", "_"], &["é", "-", ""]),
    (r"^\W$", &["é", "-", "\n"], &["a", "_"]),
    (
        r"^\s$",
        &[
            " ", "\t", "\n", "\u{b}", "\u{c}", "\r", "\u{a0}", "\u{feff}", "\u{2029}", "\u{2003}",
            "\u{3000}", "\u{1680}", "\u{202f}",
        ],
        &["a", "\u{200b}", "\u{85}", "\u{180e}", "\u{1c}"],
    ),
    (r"^\S$", &["a", "\u{85}", "\u{200b}"], &[" ", "\u{feff}", "\u{2003}"]),
    (r"\S", &["a", " a "], &["", " ", "\u{3000}\t"]),
    (r"\S\S", &["ab"], &["a b"]),
    (r"^\S+$", &["ab"], &["a b", ""]),
    (r"^\S(.*\S)?$", &["a", "a b", "ab"], &[" a", "a ", ""]),
    (r"^\S+( \S+)*$", &["a", "a b c"], &["a  b", " a"]),
    // Word boundaries consider only ASCII word characters.
    (r"\bcat\b", &["cat", "a cat!", "écaté"], &["cats", "_cat"]),
    (r"^\Bcat", &[], &["cat"]),
    (r"\Bat", &["cat", "at at aat"], &["at", "é at"]),
    (r"\b", &["a"], &["", "é", "-"]),
    (r"\B", &["", "é", "ab"], &["a"]),
    (r"a\b|b", &["a", "b"], &["ac"]),
    // These patterns have character escapes.
    (r"^\t\n\v\f\r\0$", &["\t\n\u{b}\u{c}\r\0"], &["tnvfr0"]),
    (r"^\cC\cc$", &["\u{3}\u{3}"], &["cC"]),
    (r"^\cJ$", &["\n"], &["J"]),
    (r"^\x41\x7e$", &["A~"], &["x41"]),
    (r"^\u0041\u00e9$", &["Aé"], &["u0041"]),
    (r"^\u{41}\u{1F600}$", &["A😀"], &["A"]),
    (r"^\u{0000041}$", &["A"], &["0"]),
    (r"^\uD83D\uDE00$", &["😀"], &["\u{fffd}"]),
    (r"^[\uD83D\uDE00]$", &["😀"], &["a"]),
    (r"^[\uD83D\uDE00-\uD83D\uDE02]$", &["😁"], &["😃"]),
    (r"\uD83D", &[], &["😀", "a"]),
    (r"^[\uD800-\uDFFF]$", &[], &["a", "😀"]),
    (r"^[^\uD800-\uDFFF]+$", &["a😀"], &[""]),
    (r"^[\u0000-\uFFFF]$", &["a", "\u{e000}", "\u{ffff}"], &["😀"]),
    (r"^[\u{0}-\u{10FFFF}]$", &["a", "😀"], &[""]),
    (r"^\^\$\\\.\*\+\?\(\)\[\]\{\}\|\/$", &["^$\\.*+?()[]{}|/"], &["a"]),
    (r"^a\-b\_c\@\#\'\ $", &["a-b_c@#' "], &["a-b_c@#'"]),
    (r"^[\-\.]$", &["-", "."], &[","]),
    ("^a]}$", &["a]}"], &["a"]),
    ("^/users/{id}$", &["/users/{id}"], &["/users/1"]),
    ("^a b#c$", &["a b#c"], &["ab"]),
    ("^<&-~%\"'`=:;,@!$", &["<&-~%\"'`=:;,@!"], &["<"]),
    // These patterns have Unicode properties.
    (r"^\p{L}+$", &["aé中"], &["1", "_"]),
    (r"^\p{Letter}+$", &["aé中"], &["1"]),
    (r"^\p{Lu}$", &["A", "É"], &["a"]),
    (r"^\P{L}$", &["1", "_"], &["a", "é"]),
    (r"^\p{gc=Nd}$", &["1", "৪"], &["a"]),
    (r"^\p{General_Category=Decimal_Number}$", &["৪"], &["a"]),
    (r"^\p{digit}+$", &["42", "৪২"], &["-%#"]),
    (r"^\p{Script=Greek}+$", &["αβγ"], &["abc"]),
    (r"^\p{sc=Grek}+$", &["αβγ"], &["abc"]),
    (r"^\p{Script_Extensions=Greek}$", &["α", "\u{342}"], &["a"]),
    (r"^\p{scx=Cyrillic}+$", &["привет"], &["hi"]),
    (r"^\p{Alphabetic}$", &["a", "ⅷ"], &["1"]),
    (r"^\p{ASCII}+$", &["aZ\0\u{7f}"], &["é"]),
    (r"^\p{Any}$", &["é"], &[""]),
    (r"^\p{White_Space}$", &[" ", "\u{85}"], &["a"]),
    (r"^\p{Emoji_Presentation}$", &["😀"], &["a"]),
    (r"^\p{ASCII_Hex_Digit}+$", &["09afAF"], &["g"]),
    (r"^[\p{L}\p{M}0-9 .'’-]{1,20}$", &["Zoë O’Neil-1", "e\u{301}"], &["", "a_b", "aaaaaaaaaaaaaaaaaaaaa"]),
    (r"^[^\p{L}]$", &["1"], &["é"]),
    (r"^[\P{L}a]$", &["1", "a"], &["b"]),
    (r"\p{Letter}cole", &["les écoles"], &["1cole"]),
    (r"\wcole", &["ecole"], &["école"]),
    // These patterns occur in real contracts.
    (
        "^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
        &["123e4567-e89b-12d3-a456-426614174000"],
        &["123e4567-e89b-62d3-a456-426614174000", "123e4567"],
    ),
    (
        "^(?:[0-9A-F]{4}-){3}[0-9A-F]{4}$",
        &["0123-4567-89AB-CDEF"],
        &["0123-4567-89AB", "0123-4567-89AB-CDEG"],
    ),
    ("^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$", &["DE89370400440532013000"], &["DE8937", "de89370400440532013000"]),
    (
        r"^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z)?$",
        &["2024-01-31", "2024-01-31T10:00Z", "2024-01-31T10:00:00.123Z"],
        &["2024-01-31T", "2024-1-31"],
    ),
    ("^[a-z][a-z0-9]*(-[a-z0-9]+)*$", &["a", "a-b1-c"], &["-a", "a-", "a--b"]),
    (r"^[^\s@]+@[^\s@]+\.[^\s@]+$", &["a@b.c", "a.b@c.d.e"], &["a@b", "@b.c", "a b@c.d"]),
    ("^(0|[1-9][0-9]*)(\\.[0-9]{1,2})?$", &["0", "10.25", "7.5"], &["01", "1.", "1.234"]),
    ("^[a-z]{2,3}(-[A-Z]{2})?$", &["en", "gsw-CH"], &["EN", "en-"]),
    (
        "^sha256:[a-f0-9]{64}$",
        &["sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
        &["sha256:abc"],
    ),
    ("^urn:[a-z0-9][a-z0-9-]{0,31}:.+$", &["urn:isbn:1"], &["urn::1", "urn:isbn:"]),
    ("^#[0-9a-fA-F]{3}(?:[0-9a-fA-F]{3})?$", &["#abc", "#AABBCC"], &["#ab", "#abcd"]),
    ("^[A-Za-z0-9_-]{43}$", &["E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"], &["E9Melhoa"]),
    ("^[A-Za-z0-9+/]*={0,2}$", &["", "YWI=", "YQ=="], &["YQ===", "a=b"]),
    (r"^x-", &["x-a"], &["X-a"]),
    (r"^(\d{1,3}\.){3}\d{1,3}$", &["127.0.0.1"], &["127.0.0", "1.2.3.4.5", "1234.0.0.1"]),
];

#[test]
fn patterns_match_like_ecma_262() {
    assert!(CASES.len() >= 150, "{} cases", CASES.len());
    for (source, matching, others) in CASES {
        let pattern = compile_pattern(source);
        for text in *matching {
            assert!(pattern.is_match(text), "{source} must match {text:?}");
        }
        for text in *others {
            assert!(!pattern.is_match(text), "{source} must not match {text:?}");
        }
    }
}

/// Compiles a pattern to a nondeterministic program, regardless of the form that `compile` selects.
fn compile_instructions(source: &str) -> CompiledPattern {
    let hir = parse_hir(&translate::translate_pattern(source).unwrap()).unwrap();
    CompiledPattern { source: source.to_owned(), program: assemble::assemble_nfa(&hir).unwrap() }
}

/// Compiles a pattern to a table of states, even if `compile` selects a chain. Returns `None` if the table
/// would be too large.
fn compile_table(source: &str) -> Option<CompiledPattern> {
    let CompiledProgram::Nfa { start, instructions, classes } = compile_instructions(source).program else {
        panic!("{source}: not instructions");
    };
    let program = determinize::determinize_program(start, &instructions, &classes)?;
    Some(CompiledPattern { source: source.to_owned(), program })
}

/// Returns the strings of a case, random variants of them, and random strings of the characters in the case
/// and of some other characters.
fn sample_strings(source: &str, cases: &[&[&str]]) -> Vec<String> {
    let mut letters: Vec<char> = cases.concat().iter().flat_map(|text| text.chars()).collect();
    letters.extend(source.chars());
    letters.extend([
        'a',
        'b',
        '_',
        ' ',
        '\n',
        '0',
        'é',
        '\u{7f}',
        '\u{80}',
        '\u{d7ff}',
        '\u{e000}',
        '😀',
        '\u{10ffff}',
    ]);
    let mut state = 0x9E37_79B9_u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    let mut texts: Vec<String> = cases.concat().iter().map(|text| (*text).to_owned()).collect();
    for index in 0..120 {
        let mut text: Vec<char> = match index % 3 {
            0 => (0..below(7)).map(|_| letters[below(letters.len())]).collect(),
            _ => texts[below(texts.len())].chars().take(200).collect(),
        };
        if !text.is_empty() {
            let position = below(text.len());
            text[position] = letters[below(letters.len())];
        }
        texts.push(text.into_iter().collect());
    }
    texts
}

#[test]
fn all_pattern_layouts_agree() {
    let mut tables = 0;
    for (source, matching, others) in CASES {
        let (chosen, instructions) = (compile_pattern(source), compile_instructions(source));
        let table = compile_table(source);
        tables += usize::from(table.is_some());
        for text in sample_strings(source, &[matching, others]) {
            let expected = instructions.is_match(&text);
            assert_eq!(chosen.is_match(&text), expected, "{source} {text:?}");
            if let Some(table) = &table {
                assert_eq!(
                    table.is_match(&text),
                    expected,
                    "the table of {source} must agree with the expected result for {text:?}"
                );
            }
        }
    }
    assert!(tables * 10 > CASES.len() * 9, "only {tables} of {} patterns have tables", CASES.len());
}

/// Equivalent states of a table are merged. For example, the table of `^(?:DRAFT|SUBMITTED|CLOSED)$` has one
/// state for each prefix of a value, and prefixes with the same continuations share a state.
#[test]
fn pattern_tables_are_minimal() {
    let rows = |source: &str| match compile_table(source).map(|table| table.program) {
        Some(CompiledProgram::Dfa { stride, next, .. }) => next.len() / usize::from(stride),
        _ => panic!("{source}: no table"),
    };
    // The number includes the dead state, the accepting state, and the states between them.
    assert_eq!(rows("a"), 3);
    assert_eq!(rows("^a"), 3);
    assert_eq!(rows("^[ab]*$"), 3);
    assert_eq!(rows("^(?:ab|cb)$"), 5);
    assert_eq!(rows("(a|aa|aaa)+"), 3);
    assert_eq!(rows("^(?:a?){3}$"), 6);
    assert_eq!(rows(""), 2);
}

/// A pattern whose table of states would be too large remains a nondeterministic program.
#[test]
fn large_tables_are_not_built() {
    // The second pattern would have 2^60 states, so the construction must stop early.
    for source in ["d|a[ab]{12}c", "^[ab]*a[ab]{60}c$", "^(?:[a-z]{1,500}-|x){2}[0-9]{1,500}$"] {
        assert!(matches!(compile_pattern(source).program, CompiledProgram::Nfa { .. }), "{source}");
    }
}

#[test]
fn errors_have_offset_and_reason() {
    let cases = [
        ("a(?=b)", 1, "look-around"),
        ("^(?!a)", 1, "look-around"),
        ("(?<=a)b", 0, "look-around"),
        ("(?<!a)b", 0, "look-around"),
        (r"(a)\1", 3, "back-references"),
        (r"(?<n>a)\k<n>", 7, "back-references"),
        ("(?i)a", 0, "flags"),
        ("(?i:a)", 0, "flags"),
        ("x(?P<y>a)", 1, "`(?<name>…)`"),
        ("(a", 0, "not closed"),
        ("a)", 1, "unmatched `)`"),
        ("[a", 0, "not closed"),
        ("[a-", 0, "not closed"),
        ("a[z-a]", 3, "out of order"),
        ("*a", 0, "nothing to repeat"),
        ("a**", 2, "nothing to repeat"),
        ("a|+", 2, "nothing to repeat"),
        ("^*", 1, "nothing to repeat"),
        (r"\b+", 2, "nothing to repeat"),
        ("(+a)", 1, "nothing to repeat"),
        ("a{3,2}", 1, "out of order"),
        ("a{,2}", 1, "invalid quantifier"),
        ("a{2", 1, "invalid quantifier"),
        ("a{99999999999}", 1, "too large"),
        (r"a\", 1, "not complete"),
        (r"\a", 0, "is not an escape"),
        (r"\Z", 0, "is not an escape"),
        (r"é\e", 2, "is not an escape"),
        (r"\01", 0, "octal"),
        (r"[\1]", 1, "octal"),
        ("^[a--b]$", 3, "out of order"),
        (r"[\B]", 1, "is not an escape"),
        (r"\c1", 0, "letter"),
        (r"\x4", 0, "hexadecimal"),
        (r"\u12", 0, "hexadecimal"),
        (r"\u{110000}", 0, "hexadecimal"),
        (r"\u{}", 0, "hexadecimal"),
        (r"\pL", 0, "braces"),
        (r"\p{Nope}", 0, "Unicode property"),
        (r"\p{^L}", 0, "Unicode property"),
        ("(?<1a>b)", 0, "name"),
        ("(?<a", 0, "not closed"),
        ("(?:(?:a{200}b?){200}){2}", 0, "20000 instructions"),
        ("(?:(?:(?:(?:a?){1000}){1000}){1000}){1000}", 0, "20000 instructions"),
    ];
    for (source, offset, reason) in cases {
        match compile(source) {
            Ok(_) => panic!("{source} must be rejected"),
            Err(error) => {
                assert!(error.offset == offset && error.reason.contains(reason), "{source}: {error}");
            }
        }
    }
}

#[test]
fn deep_nesting_is_rejected() {
    let source = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(compile(&source).is_err());
}

#[test]
fn chains_are_used_only_if_exact() {
    let chains = [
        "^[a-z]+$",
        "^[0-9]{4}-[0-9]{2}$",
        r"\S",
        "^x-",
        "foo",
        "^(?:[0-9A-F]{4}-){3}$",
        "^.*$",
        "[a-z]+",
        "^[A-Za-z0-9+/]*={0,2}$",
        "^a{1,2}a{2,3}$",
        "^.{1,2000}$",
        "x*",
        "",
        "^a*ab$",
    ];
    for source in chains {
        assert!(matches!(compile_pattern(source).program, CompiledProgram::Sequence { .. }), "{source}");
    }
    let others = ["^[ab]*b$", "a|b{2}", "xy+x", "xy+$", "^(ab)*$", r"\ba", "^a?[ab]?b$", ".{65}"];
    for source in others {
        assert!(matches!(compile_pattern(source).program, CompiledProgram::Dfa { .. }), "{source}");
    }
}

/// Patterns for which backtracking would take exponential time are matched in linear time. Tables inspect
/// each character once; the runtime has tests that count the steps of nondeterministic programs.
#[test]
fn matching_takes_linear_time() {
    let text = format!("{}!", "a".repeat(100_000));
    for source in ["(a+)+$", "^(a+)+$", "(a|aa)+$", "^(a|a?)+$", "^(.*a){20}b$", "(x+x+)+y"] {
        let pattern = compile_pattern(source);
        assert!(!matches!(pattern.program, CompiledProgram::Sequence { .. }), "{source}");
        assert!(!pattern.is_match(&text), "{source}");
    }
}

#[test]
fn compiled_patterns_print_as_runtime_expressions() {
    let print = |source: &str| compile(source).unwrap().to_rust_expression();
    assert_eq!(
        print("^v[0-9]+é{2}$"),
        "Pattern { source: \"^v[0-9]+é{2}$\", program: pattern::PatternProgram::Sequence(pattern::AtomSequence { \
         start: true, end: true, atoms: &[pattern::SequenceAtom::Literal(\"v\"), \
         pattern::SequenceAtom::Class { class: pattern::CharClass { ascii: 0x3ff000000000000, ranges: &[] }, \
         min: 1, max: pattern::UNBOUNDED }, \
         pattern::SequenceAtom::Class { class: pattern::CharClass { ascii: 0x0, ranges: &[('é', 'é')] }, \
         min: 2, max: 2 }] }) }"
    );
    assert_eq!(
        print("^(?:ab|é)+$"),
        "Pattern { source: \"^(?:ab|é)+$\", program: pattern::PatternProgram::Dfa(pattern::Dfa::new(\
         &[('\\0', 0), ('a', 1), ('b', 2), ('c', 0), ('é', 3), ('ê', 0)], 4, 12, 12, \
         &[0, 0, 0, 0, 4, 4, 4, 4, 0, 16, 0, 8, 0, 16, 0, 8, 0, 0, 8, 0])) }"
    );
    assert_eq!(
        compile_instructions(r"a|\b").to_rust_expression(),
        "Pattern { source: \"a|\\\\b\", program: pattern::PatternProgram::Nfa(pattern::Nfa { \
         start: false, instructions: &[pattern::NfaInstruction::Split(1, 3), \
         pattern::NfaInstruction::Char(0), pattern::NfaInstruction::Jump(4), \
         pattern::NfaInstruction::Assert(pattern::LookAround::WordBoundary), \
         pattern::NfaInstruction::Match], \
         classes: &[pattern::CharClass { ascii: 0x2000000000000000000000000, ranges: &[] }] }) }"
    );
}
