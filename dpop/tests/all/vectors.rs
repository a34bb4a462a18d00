//! The named cases as files: proofs with the answer that a verifier has to give, for implementations
//! in any language. `dpop/vectors/README.md` says what stands in them.
//!
//! `UPDATE=1 cargo test -p exchange-dpop --all-features --test all vectors` signs ours anew.

use std::{collections::BTreeMap, env, fs, path::PathBuf};

use exchange_dpop::Refusal;
use serde::{Deserialize, Serialize};

use crate::{
    forge::{self, METHOD, NOW, ORIGIN, PATH, TOKEN},
    gateway::{Answer, verdict},
    list_a, list_b, list_c,
};

/// Longer proofs are left out of the file: they are repetitions of one letter.
const LONGEST: usize = 9000;

/// A file of vectors.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Vectors {
    method: String,
    url: String,
    now: u64,
    token: String,
    nonce: String,
    jkt: String,
    cases: Vec<Case>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Case {
    name: String,
    answer: String,
    proof: String,
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors").join(name)
}

fn read(name: &str) -> Vectors {
    serde_json::from_str(&fs::read_to_string(path(name)).unwrap()).unwrap()
}

fn word(answer: Answer) -> String {
    let refusal = match answer {
        Answer::Accepted => return "accepted".to_owned(),
        Answer::Presented(refusal) => Refusal::from(refusal),
        Answer::Form(refusal) => refusal.into(),
        Answer::Nonce(refusal) => refusal.into(),
        Answer::Claim(refusal) => refusal.into(),
        Answer::Live(refusal) => refusal.into(),
    };
    refusal.reason().to_owned()
}

/// Those of the lists, and one that needs nothing else.
fn ours() -> Vectors {
    let lists = [list_a::all(), list_b::all(), list_c::all()].concat();
    let mut cases = vec![Case {
        name: "as it should be".into(),
        answer: "accepted".into(),
        proof: forge::Draft::good().proof(),
    }];
    cases.extend(
        lists.into_iter().filter(|(_, proof, _)| proof.len() <= LONGEST).map(|(name, proof, answer)| Case {
            name: name.into(),
            answer: word(answer),
            proof,
        }),
    );
    Vectors {
        method: METHOD.into(),
        url: format!("{ORIGIN}{PATH}"),
        now: NOW,
        token: TOKEN.into(),
        nonce: forge::issuer().issue(exchange_dpop::UnixTime::from_secs(NOW)).as_str().into(),
        jkt: forge::client().public_key().thumbprint().to_string(),
        cases,
    }
}

/// DPP-15, DPP-16: the file says of each case what the lists say, and so do we.
#[test]
fn our_vectors() {
    let now = ours();
    if env::var_os("UPDATE").is_some() {
        fs::write(path("ours.json"), serde_json::to_string_pretty(&now).unwrap() + "\n").unwrap();
    }
    let file = read("ours.json");
    let answers = |vectors: &Vectors| -> Vec<(String, String)> {
        vectors.cases.iter().map(|case| (case.name.clone(), case.answer.clone())).collect()
    };
    assert_eq!(answers(&file), answers(&now), "UPDATE=1 writes the file anew");
    let unsigned = |vectors: Vectors| Vectors { cases: Vec::new(), ..vectors };
    for case in &file.cases {
        assert_eq!(word(verdict(&case.proof)), case.answer, "{}", case.name);
    }
    assert_eq!(unsigned(file), unsigned(now));
}

/// At least 60 cases, and every answer that a proof alone can get.
#[test]
fn the_lists_leave_no_answer_out() {
    let lists = [list_a::all(), list_b::all(), list_c::all()].concat();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for (_, _, answer) in &lists {
        *count.entry(word(*answer)).or_default() += 1;
    }
    assert!(lists.len() >= 60, "{}", lists.len());
    // A JWK inside of a header is always an object without repetitions, else the header is none.
    let missing: Vec<&str> = [
        "accepted",
        "proof-too-long",
        "proof-parts",
        "header-encoding",
        "claims-encoding",
        "signature-encoding",
        "header-json",
        "header-repeated",
        "typ-missing",
        "typ",
        "alg-missing",
        "alg",
        "crit",
        "b64",
        "jwk-missing",
        "jwk-private",
        "jwk-kty",
        "jwk-crv",
        "jwk-coordinate",
        "jwk-off-curve",
        "signature-length",
        "signature",
        "claims-json",
        "claims-repeated",
        "nonce-missing",
        "nonce-foreign",
        "htm-missing",
        "htm",
        "htu-missing",
        "htu",
        "iat-missing",
        "iat-malformed",
        "iat-old",
        "iat-early",
        "key",
        "ath-missing",
        "ath",
        "jti-missing",
        "jti",
    ]
    .into_iter()
    .filter(|word| !count.contains_key(*word))
    .collect();
    assert_eq!(missing, [""; 0], "{count:?}");
}
