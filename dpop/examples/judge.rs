//! Judges proofs: what this crate's verifier says to each case of a file of vectors.
//!
//! For whoever makes proofs in another language: put some into a file (`dpop/vectors/README.md` has the
//! format), and see which rule of RFC 9449, 4.3 each one breaks, if any. A case is judged by itself: replay,
//! which needs a memory, is not asked about, nor are the request's other headers.

use std::{
    env,
    error::Error,
    fs,
    io::{self, Write as _},
    process::ExitCode,
};

use dpop_bound::{
    Binding, Es256, Expected, Htu, Refusal, SignedProof, Target, Thumbprint, TokenHash, UnixTime, Window,
    nonce::NonceRefusal,
};
use serde::Deserialize;

/// `dpop/vectors/README.md`: `iat` may be 30 s away.
const WINDOW: Window = Window::seconds(30, 30);

const HELP: &str = "Judges DPoP proofs (RFC 9449), one line for each: `name: word`.

Usage: cargo run -p dpop-bound --example judge -- FILE

FILE is JSON: {\"method\", \"url\", \"now\", \"cases\": [{\"name\", \"answer\", \"proof\"}]}, and as the server
asks for them \"token\", \"nonce\" and \"jkt\". dpop/vectors/README.md says what each is, and what the words mean.

Exit codes:
  0  every proof got the answer that the file names
  1  some did not; they are named at the end, on stderr
  2  wrong usage, or the file cannot be read

Example:
  cargo run -p dpop-bound --example judge -- dpop/vectors/ours.json";

/// A file of vectors: one request, many proofs for it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vectors {
    method: String,
    url: String,
    now: u64,
    /// Without one, `ath` is not looked at: a token endpoint's request.
    token: Option<String>,
    /// Without one, none is asked for.
    nonce: Option<String>,
    /// That of the window before, which still counts.
    previous_nonce: Option<String>,
    /// The key that the token is bound to; without one, every key will do.
    jkt: Option<String>,
    cases: Vec<Case>,
}

/// A proof, and the answer that it should get.
#[derive(Deserialize)]
struct Case {
    name: String,
    answer: String,
    proof: String,
    /// Another key than the file's.
    jkt: Option<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [help] if matches!(help.as_str(), "-h" | "--help") => say(HELP).map(|()| ExitCode::SUCCESS),
        [file] => run(file),
        _ => Err(HELP.into()),
    };
    done.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::from(2)
    })
}

/// Prints the word of each case, and at the end those that are not the file's.
fn run(file: &str) -> Result<ExitCode, Box<dyn Error>> {
    let judged = judge(file).map_err(|error| format!("{file}: {error}"))?;
    let lines: Vec<String> = judged.iter().map(|(case, word)| format!("{}: {word}", case.name)).collect();
    say(&lines.join("\n"))?;
    let wrong: Vec<_> = judged.iter().filter(|(case, word)| case.answer != *word).collect();
    if wrong.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("other answers than {file} names:");
    for (case, word) in wrong {
        eprintln!("  {}: {word}, not {}", case.name, case.answer);
    }
    Ok(ExitCode::from(1))
}

/// The cases of a file, each with the word that it gets.
fn judge(file: &str) -> Result<Vec<(Case, &'static str)>, Box<dyn Error>> {
    let mut vectors: Vectors = serde_json::from_str(&fs::read_to_string(file)?)?;
    let cases = std::mem::take(&mut vectors.cases);
    let server = Server::of(&vectors)?;
    let judged = cases.into_iter().map(|case| {
        let key = case.jkt.as_deref().map(str::parse).transpose()?.or(server.key);
        let word =
            server.ask(&case.proof, key.as_ref()).map_or_else(|refusal| refusal.reason(), |()| "accepted");
        Ok((case, word))
    });
    judged.collect()
}

/// `println!` would panic where nobody reads on.
fn say(text: &str) -> Result<(), Box<dyn Error>> {
    Ok(writeln!(io::stdout(), "{text}")?)
}

/// Who is asked: what the file says of the request, in the crate's own types.
struct Server<'a> {
    vectors: &'a Vectors,
    url: Htu,
    token: Option<TokenHash>,
    key: Option<Thumbprint>,
}

impl<'a> Server<'a> {
    fn of(vectors: &'a Vectors) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            vectors,
            url: Htu::of(&vectors.url)?,
            token: vectors.token.as_deref().map(TokenHash::of),
            key: vectors.jkt.as_deref().map(str::parse).transpose()?,
        })
    }

    /// Form and signature, then the nonce, then the claims.
    fn ask(&self, proof: &str, key: Option<&Thumbprint>) -> Result<(), Refusal> {
        let signed = SignedProof::read(proof, &Es256)?;
        self.nonce(signed.nonce())?;
        // Where the file names no key, the token is thought to be bound to the proof's own.
        let own = *signed.thumbprint();
        let binding = match (&self.token, key) {
            (Some(hash), key) => Binding::Token { hash, jkt: key.or(Some(&own)) },
            (None, Some(key)) => Binding::Key(key),
            (None, None) => Binding::AnyKey,
        };
        let checked = signed.check(&Expected {
            method: &self.vectors.method,
            target: Target::Url(&self.url),
            now: UnixTime::from_secs(self.vectors.now),
            window: WINDOW,
            binding,
        })?;
        // Each case is judged by itself: no store is asked whether it was seen before.
        drop(checked);
        Ok(())
    }

    /// A server has its `NonceIssuer` here; the file names the nonces that one handed out.
    fn nonce(&self, nonce: Option<&str>) -> Result<(), NonceRefusal> {
        let Vectors { nonce: latest, previous_nonce, .. } = self.vectors;
        if latest.is_none() {
            return Ok(());
        }
        let nonce = nonce.ok_or(NonceRefusal::Missing)?;
        let issued = [latest, previous_nonce].into_iter().flatten().any(|issued| issued == nonce);
        if issued { Ok(()) } else { Err(NonceRefusal::Foreign) }
    }
}
