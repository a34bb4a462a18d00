//! Runs the fuzz targets on their corpus and on adversarial inputs: inputs that are deep, long or huge, and
//! inputs for which a naive matcher or parser needs superlinear time.

use std::{fs, path::Path};

use crate::fuzz;

type Body = fn(&[u8]);

const TARGETS: &[(&str, Body)] = &[
    ("challenge", fuzz::challenge::run),
    ("generator", fuzz::generator::run),
    ("json", fuzz::json::run),
    ("jwk", fuzz::jwk::run),
    ("loader", fuzz::loader::run),
    ("nonce", fuzz::nonce::run),
    ("patterns", fuzz::patterns::run),
    ("proof", fuzz::proof::run),
    ("server", fuzz::server::run),
    ("session", fuzz::session::run),
    ("types", fuzz::types::run),
    ("url", fuzz::url::run),
];

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

/// Returns the corpus of a target, sorted by file name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let list = fs::read_dir(folder().join("corpus").join(target)).unwrap();
    let mut paths: Vec<_> = list.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| (path.display().to_string(), fs::read(path).unwrap())).collect()
}

#[test]
fn every_target_has_a_body_and_a_corpus() {
    let list = fs::read_dir(folder().join("fuzz_targets")).unwrap();
    let mut names: Vec<String> =
        list.map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, TARGETS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (target, body) in TARGETS {
        let corpus = corpus(target);
        assert!(corpus.len() > 1, "{target}");
        corpus.iter().for_each(|(_, input)| body(input));
    }
}

/// No target panics on corpus files that are truncated at any byte or have any one byte changed.
#[test]
fn mutated_corpora() {
    for (target, body) in TARGETS.iter().filter(|(target, _)| *target != "generator") {
        for (_, input) in corpus(target) {
            for at in 0..input.len().min(400) {
                body(&input[..at]);
                for flip in [0x01, 0x20, 0x80] {
                    let mut spoilt = input.clone();
                    spoilt[at] ^= flip;
                    body(&spoilt);
                }
            }
        }
    }
}

const DEEP: usize = 100_000;

/// A length for which an algorithm with quadratic time is noticeably slow.
const LONG: usize = 20_000;

#[test]
fn deep_documents() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"not\":", "}]"), ("{\"items\":[", "]}")] {
        let whole = format!("{}1{}", open.repeat(DEEP), close.repeat(DEEP));
        for text in [whole, open.repeat(DEEP)] {
            fuzz::json::run(text.as_bytes());
            for kind in 0..6 {
                fuzz::types::run(&prefixed(kind, &text));
            }
            fuzz::loader::run(&prefixed(0, &text));
            fuzz::generator::run(&prefixed(0, &text));
        }
    }
    let yaml = ["- ".repeat(DEEP), "? ".repeat(2000), "[".repeat(DEEP), "a: &a\n".repeat(2000)];
    for text in yaml {
        fuzz::loader::run(&prefixed(1, &text));
    }
    let schema = |depth: usize| format!("{}true{}", "{\"not\":".repeat(depth), "}".repeat(depth));
    for depth in [50, 190, 250] {
        fuzz::generator::run(&prefixed(0, &schema(depth)));
    }
}

/// Aliases that repeat earlier aliases are rejected before they expand to exponential size.
#[test]
fn aliases_that_multiply() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for at in 1..40 {
        let list = vec![format!("*a{}", at - 1); 9].join(", ");
        text.push_str(&format!("a{at}: &a{at} [{list}]\n"));
    }
    fuzz::loader::run(&prefixed(1, &text));
    fuzz::loader::run(&prefixed(1, "a: &a [*a]\n"));
}

#[test]
fn huge_numbers() {
    let nines = "9".repeat(LONG);
    for number in [
        nines.clone(),
        format!("-0.{nines}"),
        format!("1e{nines}"),
        format!("1e-{nines}"),
        "1e999999999".to_owned(),
        "1e-999999999".to_owned(),
        "9223372036854775808e0".to_owned(),
        "0.1e2147483648".to_owned(),
    ] {
        for other in ["3", "0.01", "1e400", number.as_str()] {
            fuzz::json::run(format!("{number}\n{other}").as_bytes());
            fuzz::json::run(format!("{other}\n{number}").as_bytes());
        }
        fuzz::json::run(format!("[{number}]").as_bytes());
        for keyword in ["minimum", "multipleOf", "maxLength", "const", "minContains"] {
            fuzz::generator::run(&prefixed(0, &format!(r#"{{"type":"number","{keyword}":{number}}}"#)));
        }
        let op = format!(
            r#"{{"ops":[{{"op":"x","quantity":{{"amount":{number},"unit":"SCU"}}}}],"hasMore":{number}}}"#
        );
        for kind in 0..6 {
            fuzz::types::run(&prefixed(kind, &op));
        }
    }
}

/// Patterns for which backtracking matchers need exponential or quadratic time are matched quickly.
#[test]
fn pathological_patterns() {
    let texts = [format!("{}!", "a".repeat(LONG)), "ab".repeat(LONG / 2), "☃".repeat(LONG)];
    for pattern in [
        "(a+)+$",
        "^(a*)*b$",
        "(a|a)*c",
        "^(a|aa)+$",
        "(.*)(.*)(.*)(.*)x",
        "a*a*a*a*a*a*b",
        "(?:a?){60}a{60}",
        "^[^x]{0,500}y",
        "(x{0,30}){0,30}z",
        "\\p{L}+\\p{N}",
    ] {
        for text in &texts {
            fuzz::patterns::run(format!("{pattern}\n{text}").as_bytes());
        }
    }
    // These patterns are rejected or compiled in bounded time.
    for pattern in [
        "(".repeat(LONG),
        "[".repeat(LONG),
        format!("{}a{}", "(".repeat(5000), ")".repeat(5000)),
        format!("a{}", "{1000}".repeat(20)),
        format!("{}a{}", "(".repeat(12), "{9}){9}".repeat(12)),
        "a{4294967296}".to_owned(),
        "a{0,65536}".to_owned(),
        "\\u{FFFFFFFF}".to_owned(),
        "a|".repeat(5_000),
    ] {
        fuzz::patterns::run(format!("{pattern}\naaaa").as_bytes());
        let quoted = pattern.replace('\\', "\\\\");
        fuzz::generator::run(&prefixed(0, &format!(r#"{{"type":"string","pattern":"{quoted}"}}"#)));
    }
}

#[test]
fn hostile_requests() {
    let long = "a".repeat(60_000);
    for target in [
        format!("/exchange/v1/me/ships?{}", "a=1&".repeat(10_000)),
        format!("/exchange/v1/me/ships?limit={}", "9".repeat(10_000)),
        format!("/exchange/v1/me/ships?cursor={}", "%F0%9F%98%80".repeat(2_000)),
        "/exchange/v1/me/ships?limit=%&cursor=%C3%28".to_owned(),
        "/exchange/v1/me/ships?limit=1e999999999&limit=-0".to_owned(),
        format!("/exchange/v1/{}", "%2F../".repeat(5_000)),
    ] {
        for method in ["GET", "POST", "PATCH", "X"] {
            fuzz::server::run(format!("{method} {target}\nDPoP: p\n\n").as_bytes());
        }
    }
    for body in [
        "[".repeat(DEEP),
        format!("{{\"ops\":[{}]}}", "{},".repeat(20_000)),
        format!("\"{long}"),
        "\u{feff}{}".into(),
    ] {
        for kind in
            ["application/json", "application/json; charset=latin1", "text/plain", "multipart/form-data", ";"]
        {
            let head =
                format!("POST /exchange/v1/me/stock/changes\nIdempotency-Key: k\nContent-Type: {kind}");
            fuzz::server::run(format!("{head}\n\n{body}").as_bytes());
        }
    }
}

/// Headers of any length that a proxy, a server or an attacker sends are processed in bounded time.
#[test]
fn hostile_headers() {
    let long = "a".repeat(DEEP);
    for challenge in [
        ",".repeat(DEEP),
        "DPoP ".repeat(LONG),
        "DPoP a=b,".repeat(LONG),
        format!("DPoP {}", "a=\"\\".repeat(LONG)),
        "\"".repeat(DEEP),
        format!("DPoP {long}{}", "=".repeat(DEEP)),
        format!("DPoP {}", (0..LONG).map(|number| format!("p{number}=1, ")).collect::<String>()),
        "\n".repeat(DEEP),
        "DPoP error=use_dpop_nonce\n".repeat(LONG),
    ] {
        fuzz::challenge::run(challenge.as_bytes());
        fuzz::session::run(format!("401\nDPoP-Nonce: n\nWWW-Authenticate: {challenge}").as_bytes());
    }
    for proof in [
        ".".repeat(DEEP),
        long.clone(),
        format!("{{\"typ\":{}", "[".repeat(DEEP)),
        format!("{{{}}}\n{{}}", (0..900).map(|number| format!("\"{number}\":0,")).collect::<String>()),
        format!("{}\n{{}}", "{\"jwk\":".repeat(700)),
        format!("{{}}\n{{\"iat\":{}}}", "9".repeat(3000)),
    ] {
        fuzz::proof::run(proof.as_bytes());
        fuzz::jwk::run(proof.as_bytes());
        fuzz::nonce::run(proof.as_bytes());
    }
    for url in
        [format!("https://{long}"), format!("https://[{long}]/"), format!("https://a/{long}?{long}#{long}")]
    {
        fuzz::url::run(url.as_bytes());
    }
}

fn prefixed(kind: u8, text: &str) -> Vec<u8> {
    [&[kind], text.as_bytes()].concat()
}
