//! The named cases as vector files: proofs with their expected results, for verifiers in any language.
//! `dpop/vectors/README.md` describes the format.
//!
//! To update `ours.json`, run `UPDATE=1 cargo test -p dpop-bound --all-features --test all vectors`.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::PathBuf,
};

use dpop_bound::{NonceIssuer, UnixTime, VerificationError};
use serde::{Deserialize, Serialize};

use crate::{
    forge::{self, METHOD, NOW, ORIGIN, PATH, TOKEN},
    freshness,
    gateway::{Gateway, GatewayVerdict, Request, verdict},
    proof_encoding, proof_requirements,
};

/// The libraries that created the other two files.
const ORACLES: [&str; 2] = ["jose", "jwcrypto"];

/// The maximum length of proofs in the file. Longer ones are repetitions of one letter.
const MAX_PROOF_BYTES: usize = 9000;

/// A vector file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Vectors {
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    method: String,
    url: String,
    now: u64,
    token: String,
    nonce: String,
    previous_nonce: String,
    jkt: String,
    cases: Vec<Case>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    answer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    jkt: Option<String>,
    proof: String,
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors").join(name)
}

fn read(name: &str) -> Vectors {
    serde_json::from_str(&fs::read_to_string(path(name)).unwrap()).unwrap()
}

fn verdict_name(verdict: GatewayVerdict) -> String {
    let error = match verdict {
        GatewayVerdict::Accepted => return "accepted".to_owned(),
        GatewayVerdict::Presented(error) => VerificationError::from(error),
        GatewayVerdict::Form(error) => error.into(),
        GatewayVerdict::Nonce(error) => error.into(),
        GatewayVerdict::Claim(error) => error.into(),
        GatewayVerdict::Live(error) => error.into(),
    };
    error.reason().to_owned()
}

/// Returns one valid proof and the cases of `proof_requirements`, `proof_encoding` and `freshness`, except
/// proofs longer than [`MAX_PROOF_BYTES`].
fn ours() -> Vectors {
    let lists = [proof_requirements::all(), proof_encoding::all(), freshness::all()].concat();
    let mut cases = vec![Case {
        name: "as it should be".into(),
        answer: "accepted".into(),
        jkt: None,
        proof: forge::Draft::good().proof(),
    }];
    cases.extend(lists.into_iter().filter(|(_, proof, _)| proof.len() <= MAX_PROOF_BYTES).map(
        |(name, proof, expected)| Case {
            name: name.into(),
            answer: verdict_name(expected),
            jkt: None,
            proof,
        },
    ));
    let nonce = |now| forge::issuer().issue(UnixTime::from_secs(now)).as_str().to_owned();
    Vectors {
        by: None,
        method: METHOD.into(),
        url: format!("{ORIGIN}{PATH}"),
        now: NOW,
        token: TOKEN.into(),
        nonce: nonce(NOW),
        previous_nonce: nonce(NOW - NonceIssuer::DEFAULT_WINDOW.as_secs()),
        jkt: forge::client().public_key().thumbprint().to_string(),
        cases,
    }
}

/// DPP-15, DPP-16: the expected results in the file equal those of the lists and the actual results.
#[test]
fn own_vectors() {
    let mut now = ours();
    let mut file = read("ours.json");
    keep_signatures(&mut now, &file);
    if env::var_os("UPDATE").is_some() {
        fs::write(path("ours.json"), serde_json::to_string_pretty(&now).unwrap() + "\n").unwrap();
        file = read("ours.json");
    }
    for case in &file.cases {
        assert_eq!(verdict_name(verdict(&case.proof)), case.answer, "{}", case.name);
    }
    let stale: Vec<&str> = file
        .cases
        .iter()
        .zip(&now.cases)
        .filter(|(a, b)| a != b)
        .map(|(case, _)| case.name.as_str())
        .collect();
    assert_eq!(stale, [""; 0], "run with UPDATE=1 to update the file");
    assert_eq!(file, now);
}

/// Replaces each proof by the proof in the file if they differ only in the signature, which is random.
fn keep_signatures(now: &mut Vectors, file: &Vectors) {
    let signed = |proof: &str| proof.split('.').take(2).map(str::to_owned).collect::<Vec<_>>();
    let known = |case: &Case| {
        let same = |other: &&Case| other.name == case.name && signed(&other.proof) == signed(&case.proof);
        file.cases.iter().find(same).map(|other| other.proof.clone())
    };
    for case in &mut now.cases {
        case.proof = known(case).unwrap_or_else(|| case.proof.clone());
    }
}

/// DPP-02 to DPP-06, DPP-15: valid and invalid proofs of other implementations have the results that the
/// files name. Each file has its own key.
#[test]
fn vectors_of_other_implementations() {
    let ours = read("ours.json");
    for oracle in ORACLES {
        let Vectors { by, cases, jkt, .. } = read(&format!("{oracle}.json"));
        assert!(
            by.is_some_and(|by| by.starts_with(oracle)) && jkt != ours.jkt && cases.len() >= 40,
            "{oracle}"
        );
        let unexpected: Vec<String> = cases
            .iter()
            .filter_map(|case| {
                let mut gateway = Gateway::new();
                gateway.bound = Some(case.jkt.as_ref().unwrap_or(&jkt).parse().unwrap());
                let response = verdict_name(gateway.verify(&Request::with_proof(&*case.proof)));
                (response != case.answer).then(|| format!("{}: {response}, not {}", case.name, case.answer))
            })
            .collect();
        assert_eq!(unexpected, [""; 0], "{oracle}");
        let head = |vectors: Vectors| Vectors { by: None, jkt: String::new(), cases: Vec::new(), ..vectors };
        assert_eq!(head(read(&format!("{oracle}.json"))), head(read("ours.json")), "{oracle}");
    }
}

/// Returns the first column of the table under a heading of the README, without backticks.
fn table(heading: &str) -> BTreeSet<String> {
    let page = fs::read_to_string(path("README.md")).unwrap();
    let section = page.split("\n## ").find_map(|section| section.strip_prefix(heading)).unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
    // Skips the header row; the separator row does not match.
    rows.skip(1).map(|(cell, _)| cell.trim_matches('`').to_owned()).collect()
}

/// The README explains exactly the results that the files use.
#[test]
fn readme_explains_every_result() {
    let files = ["ours", "jose", "jwcrypto"].map(|name| read(&format!("{name}.json")));
    let words: BTreeSet<String> =
        files.into_iter().flat_map(|file| file.cases).map(|case| case.answer).collect();
    assert_eq!(table("Results"), words);
}

/// The README explains every difference, and each difference names exactly one case.
#[test]
fn readme_explains_every_difference() {
    let text = fs::read_to_string(path("differences.json")).unwrap();
    let differences: BTreeMap<String, Vec<String>> = serde_json::from_str(&text).unwrap();
    assert!(differences.keys().eq(ORACLES), "{differences:?}");
    let names: BTreeSet<String> = differences.into_values().flatten().collect();
    assert_eq!(table("Known differences"), names);
    let ours = read("ours.json").cases;
    for name in &names {
        assert_eq!(ours.iter().filter(|case| case.name == *name).count(), 1, "{name}");
    }
}

/// The lists have at least 60 cases and cover every result that does not depend on earlier proofs.
#[test]
fn lists_cover_every_result() {
    let lists = [proof_requirements::all(), proof_encoding::all(), freshness::all()].concat();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for (_, _, response) in &lists {
        *count.entry(verdict_name(*response)).or_default() += 1;
    }
    assert!(lists.len() >= 60, "{}", lists.len());
    // Errors of a JWK that is not an object, or has repeated members, are reported for the header instead.
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
