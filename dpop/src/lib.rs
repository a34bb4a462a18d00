//! A DPoP (RFC 9449) library for clients and servers: creates proofs, verifies them and detects replays.
//!
//! A stolen bearer token works for the thief. DPoP binds a token to a key instead: every request carries the
//! token and a *proof*, a small JWS (RFC 7515) signed with that key. The proof names the method, the URL, the
//! time, the token, a unique id and a nonce that the server issued. This crate creates and verifies proofs
//! and stores the state that client and server need between requests.
//!
//! The crate performs no I/O, reads no clock and has no global state. Time and randomness are arguments, so
//! every decision is reproducible. The only algorithm is ES256. The crate contains no `unsafe` code.
//!
//! # Overview
//!
//! | | section | client | server |
//! |---|---|---|---|
//! | keys, JWK, thumbprints | RFC 7517, RFC 7638; RFC 9449, 6 | [`KeyPair`], [`ProofSigner`] | [`PublicKey`], [`Thumbprint`], [`Verifier`] |
//! | URLs in proofs | RFC 9449, 4.2 | [`Htu`] | [`Origin`], [`RequestTarget`] |
//! | access tokens | RFC 9449, 7.1 | [`AccessToken`] | [`TokenHash`], [`parse_credentials`] |
//! | proofs | RFC 9449, 4.2 and 4.3 | [`Prover`] | [`SignedProof`], then [`check_claims`](SignedProof::check_claims) |
//! | nonces | RFC 9449, 8 and 9 | [`NonceJar`] | [`NonceIssuer`] |
//! | challenges | RFC 9110, 11.6.1; RFC 9449, 7.1 | [`DpopChallenge::find_in_headers`] | [`DpopChallenge::use_nonce`] |
//! | token endpoint errors | RFC 6749, 5.2; RFC 9449, 5 and 8 | [`TokenError::from_body`] | [`TokenError::to_json`] |
//! | replay detection | RFC 9449, 11.1 | | [`ReplayStore`], [`ReplayCache`] |
//! | time | RFC 9449, 11.1 | [`ServerClock`] | [`ProofWindow`] |
//! | rejected proofs | RFC 9449, 7.1 | [`clock::ClockAction`], [`nonce::ChallengeAction`] | [`VerificationError`] |
//! | complete flow | | [`Session`] | below |
//!
//! # One request, client and server
//!
//! ```
//! use dpop_bound::{
//!     AccessToken, Es256, ExpectedRequest, Htu, KeyBinding, KeyPair, Origin, ProofHolder, ProofRequest, ProofWindow,
//!     Prover, ReplayCache, RequestTarget, SignedProof, SystemRandom, TokenHash, UnixTime,
//!     nonce::{NonceIssuer, NonceKey},
//!     replay::{ReplayError, ReplayLimits},
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let now = UnixTime::from_secs(1_790_000_000);
//!
//! // The server issues nonces and remembers accepted proofs. The client's token is bound to its key.
//! let nonces = NonceIssuer::new(&NonceKey::generate(&SystemRandom)?, "api");
//! let mut live = ReplayCache::new(ProofWindow::default(), ReplayLimits::default());
//! let key = KeyPair::generate()?;
//! let cnf_jkt = Some(key.public_key().thumbprint());
//!
//! // The client creates one proof for each transmission.
//! let token = AccessToken::new("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")?;
//! let proof = Prover::new(key, SystemRandom).prove_now(&ProofRequest {
//!     method: "GET",
//!     htu: &Htu::from_url("https://api.example/ships?limit=1")?,
//!     iat: now,
//!     nonce: Some(&nonces.issue(now)),
//!     token: Some(token.hash()),
//! })?;
//!
//! // The server checks format and signature, then the nonce, then the claims, then replay.
//! let signed = SignedProof::verify_signature(proof.as_str(), &Es256)?;
//! nonces.check_nonce(signed.nonce(), now)?;
//! let checked = signed.check_claims(&ExpectedRequest {
//!     method: "GET",
//!     target: RequestTarget::Request(&Origin::from_url("https://api.example")?, "/ships?limit=1"),
//!     now,
//!     window: live.window(),
//!     binding: KeyBinding::Token {
//!         hash: &TokenHash::from_token("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"),
//!         jkt: cnf_jkt.as_ref(),
//!     },
//! })?;
//! live.admit(&checked.replay_candidate(ProofHolder::Account("ada")), now)?;
//!
//! // A second request with the same proof is rejected.
//! let again = live.admit(&checked.replay_candidate(ProofHolder::Account("ada")), now);
//! assert_eq!(again, Err(ReplayError::Replayed));
//! # Ok(())
//! # }
//! ```
//!
//! A server with one process needs only a [`ReplayCache`]; several processes share a [`ReplayStore`]. A
//! client that sends more than one request uses a [`Session`].
//!
//! `cargo run -p dpop-bound --example nonce_dance` shows the complete flow: a challenge, a nonce, a wrong
//! clock and a replay.
//!
//! # Features
//!
//! | | |
//! |---|---|
//! | `aws-lc-rs` (default), `ring`, `p256` | in-memory keys and signature verification with that library ([`backend`]); without any of them, the application implements [`ProofSigner`] and [`Verifier`] |
//! | `system-random` (default) | [`SystemRandom`] |
//! | `http` | conversions from and to headers, requests and responses of the `http` crate |
//! | `contract-tests` | `replay::contract`, a test suite for implementations of [`ReplayStore`] |
//!
//! # Security considerations of RFC 9449, section 11
//!
//! | section | in this crate |
//! |---|---|
//! | 11.1 replay | a [`ReplayStore`] remembers every accepted proof until it expires |
//! | 11.2 pre-generated proofs | nonces that expire with their five-minute window ([`NonceIssuer`]); non-exportable keys ([`ProofSigner`]) |
//! | 11.3 nonce downgrade | the client keeps the latest nonce of each server and sends it ([`NonceJar`]) |
//! | 11.4 untrusted code | [`Prover`] signs only proofs |
//! | 11.5 swapped JWTs | `typ` is compared exactly, and every signed object contains it |
//! | 11.6 algorithms | only ES256 |
//! | 11.7 the request's body | is not covered: use TLS |
//! | 11.8 bindings | the token's `cnf.jkt` is compared with the proof's key, and a token without one is rejected ([`KeyBinding`]) |

mod attempt;
pub mod backend;
mod base64url;
pub mod challenge;
pub mod claims;
pub mod clock;
pub mod credentials;
mod curve;
mod grammar;
#[cfg(feature = "http")]
pub mod http;
mod json;
pub mod key;
mod maybe_ready;
pub mod nonce;
pub mod proof;
pub mod random;
pub mod replay;
pub mod session;
pub mod signed_proof;
pub mod signer;
pub mod target;
pub mod time;
pub mod token;
pub mod token_error;
pub mod verification;

pub use attempt::Attempt;
#[cfg(any(feature = "aws-lc-rs", feature = "ring", feature = "p256"))]
pub use backend::{Es256, KeyPair};
pub use challenge::{Challenge, DpopChallenge, DpopError};
pub use claims::{CheckedProof, ExpectedRequest, KeyBinding};
pub use clock::ServerClock;
pub use credentials::parse_credentials;
pub use key::{PublicKey, Thumbprint};
pub use maybe_ready::MaybeReady;
pub use nonce::{Nonce, NonceIssuer, NonceJar};
pub use proof::{Proof, ProofRequest, Prover};
pub use random::RandomSource;
#[cfg(feature = "system-random")]
pub use random::SystemRandom;
pub use replay::{ProofHolder, ReplayCache, ReplayStore};
pub use session::Session;
pub use signed_proof::SignedProof;
pub use signer::{ProofSigner, Signature, SyncSigner, Verifier};
pub use target::{Htu, Origin, RequestTarget};
pub use time::{ProofWindow, UnixTime};
pub use token::{AccessToken, TokenHash};
pub use token_error::TokenError;
pub use verification::VerificationError;
