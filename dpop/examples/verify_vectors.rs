//! Verifies the cases of a vector file and prints the result of each.
//!
//! For developers of DPoP clients in other languages: write proofs to a file (`dpop/vectors/README.md`
//! describes the format) to see which rule of RFC 9449, 4.3 each one violates, if any. Each case is verified
//! on its own, without replay detection and without the request's other headers.

use std::{
    env,
    error::Error,
    fs,
    io::{self, Write as _},
    process::ExitCode,
};

use dpop_bound::{
    Es256, ExpectedRequest, Htu, KeyBinding, ProofWindow, RequestTarget, SignedProof, Thumbprint, TokenHash,
    UnixTime, VerificationError, nonce::NonceError,
};
use serde::Deserialize;

/// The window of `dpop/vectors/README.md`: `iat` may differ from the server's time by 30 s.
const WINDOW: ProofWindow = ProofWindow::from_secs(30, 30);

const HELP: &str = "Verifies DPoP proofs (RFC 9449) and prints one line for each: `name: result`.

Usage: cargo run -p dpop-bound --example verify_vectors -- FILE

FILE is JSON: {\"method\", \"url\", \"now\", \"cases\": [{\"name\", \"answer\", \"proof\"}]}, with \"token\", \"nonce\"
and \"jkt\" if the server requires them. dpop/vectors/README.md describes the fields and the results.

Exit codes:
  0  every proof has the result that the file expects
  1  some proofs have another result; stderr lists them at the end
  2  wrong usage, or the file cannot be read

Example:
  cargo run -p dpop-bound --example verify_vectors -- dpop/vectors/ours.json";

/// A vector file: one request and many proofs for it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VectorFile {
    method: String,
    url: String,
    now: u64,
    /// The access token. If it is missing, `ath` is not checked, as for a request to a token endpoint.
    token: Option<String>,
    /// The current nonce. If it is missing, proofs need no nonce.
    nonce: Option<String>,
    /// The nonce of the previous window, which is still accepted.
    previous_nonce: Option<String>,
    /// The thumbprint of the key to which the token is bound. If it is missing, every key is accepted.
    jkt: Option<String>,
    cases: Vec<VectorCase>,
}

/// A proof with its expected result.
#[derive(Deserialize)]
struct VectorCase {
    name: String,
    answer: String,
    proof: String,
    /// The key of this case, if it differs from that of the file.
    jkt: Option<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let exit_code = match arguments.as_slice() {
        [help] if matches!(help.as_str(), "-h" | "--help") => print_line(HELP).map(|()| ExitCode::SUCCESS),
        [file] => run(file),
        _ => Err(HELP.into()),
    };
    exit_code.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::from(2)
    })
}

/// Prints the result of each case, and at the end the cases whose result differs from the expected one.
fn run(file: &str) -> Result<ExitCode, Box<dyn Error>> {
    let results = verify_cases(file).map_err(|error| format!("{file}: {error}"))?;
    let lines: Vec<String> =
        results.iter().map(|(case, result)| format!("{}: {result}", case.name)).collect();
    print_line(&lines.join("\n"))?;
    let unexpected: Vec<_> = results.iter().filter(|(case, result)| case.answer != *result).collect();
    if unexpected.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("results that differ from {file}:");
    for (case, result) in unexpected {
        eprintln!("  {}: {result}, not {}", case.name, case.answer);
    }
    Ok(ExitCode::from(1))
}

/// Verifies the cases of a file and returns the result of each.
fn verify_cases(file: &str) -> Result<Vec<(VectorCase, &'static str)>, Box<dyn Error>> {
    let mut vectors: VectorFile = serde_json::from_str(&fs::read_to_string(file)?)?;
    let cases = std::mem::take(&mut vectors.cases);
    let server = VectorServer::from_case(&vectors)?;
    let results = cases.into_iter().map(|case| {
        let key = case.jkt.as_deref().map(str::parse).transpose()?.or(server.key);
        let result = server
            .verify_request(&case.proof, key.as_ref())
            .map_or_else(|error| error.reason(), |()| "accepted");
        Ok((case, result))
    });
    results.collect()
}

/// Prints a line. `println!` would panic if the output is closed.
fn print_line(text: &str) -> Result<(), Box<dyn Error>> {
    Ok(writeln!(io::stdout(), "{text}")?)
}

/// The verifier of one case, with the request of the file in the types of the crate.
struct VectorServer<'a> {
    vectors: &'a VectorFile,
    url: Htu,
    token: Option<TokenHash>,
    key: Option<Thumbprint>,
}

impl<'a> VectorServer<'a> {
    fn from_case(vectors: &'a VectorFile) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            vectors,
            url: Htu::from_url(&vectors.url)?,
            token: vectors.token.as_deref().map(TokenHash::from_token),
            key: vectors.jkt.as_deref().map(str::parse).transpose()?,
        })
    }

    /// Verifies format and signature, then the nonce, then the claims.
    fn verify_request(&self, proof: &str, key: Option<&Thumbprint>) -> Result<(), VerificationError> {
        let signed = SignedProof::verify_signature(proof, &Es256)?;
        self.nonce(signed.nonce())?;
        // If the file names no key, the token counts as bound to the proof's key.
        let thumbprint = *signed.thumbprint();
        let binding = match (&self.token, key) {
            (Some(hash), key) => KeyBinding::Token { hash, jkt: key.or(Some(&thumbprint)) },
            (None, Some(key)) => KeyBinding::Key(key),
            (None, None) => KeyBinding::AnyKey,
        };
        let checked = signed.check_claims(&ExpectedRequest {
            method: &self.vectors.method,
            target: RequestTarget::Url(&self.url),
            now: UnixTime::from_secs(self.vectors.now),
            window: WINDOW,
            binding,
        })?;
        // Each case is verified on its own, without replay detection.
        drop(checked);
        Ok(())
    }

    /// Compares with the nonces of the file. A real server uses `NonceIssuer` here.
    fn nonce(&self, nonce: Option<&str>) -> Result<(), NonceError> {
        let VectorFile { nonce: latest, previous_nonce, .. } = self.vectors;
        if latest.is_none() {
            return Ok(());
        }
        let nonce = nonce.ok_or(NonceError::Missing)?;
        let issued = [latest, previous_nonce].into_iter().flatten().any(|issued| issued == nonce);
        if issued { Ok(()) } else { Err(NonceError::Foreign) }
    }
}
