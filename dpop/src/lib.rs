//! DPoP (RFC 9449) for both sides of a connection: proofs that a token's holder has the key it is bound to.
//!
//! A stolen bearer token is as good as the owner's. With DPoP a token is bound to a key: every request
//! carries, beside the token, a *proof*, a small JWS (RFC 7515) signed with that key, for this method and
//! this address, at this moment, for this token, with an id that is never used twice and a nonce that the
//! server handed out. This crate makes proofs, verifies them and keeps what both sides have to remember.
//!
//! It has no I/O, no clock and no global state: time and randomness come in as arguments, so that every
//! decision can be repeated. One algorithm, ES256; no `unsafe`.
//!
//! # Where to find what
//!
//! | | section | client | server |
//! |---|---|---|---|
//! | keys, JWK, thumbprints | RFC 7517, RFC 7638; RFC 9449, 6 | [`KeyPair`], [`ProofSigner`] | [`PublicKey`], [`Thumbprint`], [`Verifier`] |
//! | what a proof is for | RFC 9449, 4.2 | [`Htu`] | [`Origin`], [`Target`] |
//! | access tokens | RFC 9449, 7.1 | [`AccessToken`] | [`TokenHash`], [`presented()`] |
//! | proofs | RFC 9449, 4.2 and 4.3 | [`Prover`] | [`SignedProof`], then its [`check`](SignedProof::check) |
//! | nonces | RFC 9449, 8 and 9 | [`NonceJar`] | [`NonceIssuer`] |
//! | challenges | RFC 9110, 11.6.1; RFC 9449, 7.1 | [`DpopChallenge::find`] | [`DpopChallenge::use_nonce`] |
//! | errors of a token endpoint | RFC 6749, 5.2; RFC 9449, 5 and 8 | [`TokenError::read`] | [`TokenError::to_json`] |
//! | replay | RFC 9449, 11.1 | | [`ReplayStore`], [`LiveProofs`] |
//! | time | RFC 9449, 11.1 | [`ServerClock`] | [`Window`] |
//! | refusals | RFC 9449, 7.1 | [`clock::AfterRefusal`], [`nonce::AfterChallenge`] | [`Refusal`] |
//! | all of it, in its order | | [`Session`] | below |
//!
//! # A request, on both sides
//!
//! ```
//! use dpop_bound::{
//!     AccessToken, Binding, Es256, Expected, Holder, Htu, KeyPair, LiveProofs, Origin, ProofRequest, Prover,
//!     SignedProof, SystemRandom, Target, TokenHash, UnixTime, Window,
//!     live::{Caps, LiveRefusal},
//!     nonce::{NonceIssuer, NonceKey},
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let now = UnixTime::from_secs(1_790_000_000);
//!
//! // The server hands out a nonce, and remembers the proofs that it accepted; the client's token is bound to
//! // its key.
//! let nonces = NonceIssuer::new(&NonceKey::generate(&SystemRandom)?, "api");
//! let mut live = LiveProofs::new(Window::default(), Caps::default());
//! let key = KeyPair::generate()?;
//! let cnf_jkt = Some(key.public_key().thumbprint());
//!
//! // The client: one proof for one transmission.
//! let token = AccessToken::new("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")?;
//! let proof = Prover::new(key, SystemRandom).prove_now(&ProofRequest {
//!     method: "GET",
//!     htu: &Htu::of("https://api.example/ships?limit=1")?,
//!     iat: now,
//!     nonce: Some(&nonces.issue(now)),
//!     token: Some(token.hash()),
//! })?;
//!
//! // The server: form and signature, then the nonce, then the claims, then whether it was seen before.
//! let signed = SignedProof::read(proof.as_str(), &Es256)?;
//! nonces.check(signed.nonce(), now)?;
//! let checked = signed.check(&Expected {
//!     method: "GET",
//!     target: Target::Request(&Origin::of("https://api.example")?, "/ships?limit=1"),
//!     now,
//!     window: live.window(),
//!     binding: Binding::Token {
//!         hash: &TokenHash::of("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"),
//!         jkt: cnf_jkt.as_ref(),
//!     },
//! })?;
//! live.admit(&checked.candidate(Holder::Account("ada")), now)?;
//!
//! // Whoever sends the same bytes again is refused.
//! let again = live.admit(&checked.candidate(Holder::Account("ada")), now);
//! assert_eq!(again, Err(LiveRefusal::Replayed));
//! # Ok(())
//! # }
//! ```
//!
//! One process is enough for [`LiveProofs`]; several share a [`ReplayStore`]. A client that makes more than one
//! request has a [`Session`].
//!
//! `cargo run -p dpop-bound --example nonce_dance` goes the whole way: a challenge, a nonce, a clock
//! that is wrong, a replay.
//!
//! # Features
//!
//! | | |
//! |---|---|
//! | `aws-lc-rs` (default), `ring`, `p256` | keys in memory and verification by that library ([`backend`]); without any, [`ProofSigner`] and [`Verifier`] are yours |
//! | `system-random` (default) | [`SystemRandom`] |
//! | `http` | headers, requests and answers as the `http` crate has them |
//! | `contract-tests` | `live::contract`, the rules of every [`ReplayStore`] as tests |
//!
//! # What RFC 9449, 11 warns of
//!
//! | | here |
//! |---|---|
//! | 11.1 replay | a [`ReplayStore`] remembers every proof for as long as it counts |
//! | 11.2 pre-generated proofs | nonces of five-minute windows ([`NonceIssuer`]); keys that cannot be taken along ([`ProofSigner`]) |
//! | 11.3 nonce downgrade | a nonce, once known, is kept and sent ([`NonceJar`]) |
//! | 11.4 untrusted code | [`Prover`] signs proofs and nothing else |
//! | 11.5 swapped JWTs | `typ` is compared exactly, everything that is signed has it |
//! | 11.6 algorithms | ES256 alone |
//! | 11.7 the request's body | is not covered: use TLS |
//! | 11.8 bindings | the token's `cnf.jkt` is compared with the proof's key, and a token without one is refused ([`Binding`]) |

mod attempt;
pub mod backend;
mod base64url;
pub mod challenge;
pub mod claims;
pub mod clock;
mod curve;
pub mod form;
mod grammar;
#[cfg(feature = "http")]
pub mod http;
mod json;
pub mod key;
pub mod live;
pub mod nonce;
mod pending;
pub mod presented;
pub mod proof;
pub mod random;
pub mod refusal;
pub mod session;
pub mod signer;
pub mod target;
pub mod time;
pub mod token;
pub mod token_error;

pub use attempt::Attempt;
#[cfg(any(feature = "aws-lc-rs", feature = "ring", feature = "p256"))]
pub use backend::{Es256, KeyPair};
pub use challenge::{Challenge, DpopChallenge, DpopError};
pub use claims::{Binding, CheckedProof, Expected};
pub use clock::ServerClock;
pub use form::SignedProof;
pub use key::{PublicKey, Thumbprint};
pub use live::{Holder, LiveProofs, ReplayStore};
pub use nonce::{Nonce, NonceIssuer, NonceJar};
pub use pending::Pending;
pub use presented::presented;
pub use proof::{Proof, ProofRequest, Prover};
pub use random::Random;
#[cfg(feature = "system-random")]
pub use random::SystemRandom;
pub use refusal::Refusal;
pub use session::Session;
pub use signer::{ProofSigner, SignNow, Signature, Verifier};
pub use target::{Htu, Origin, Target};
pub use time::{UnixTime, Window};
pub use token::{AccessToken, TokenHash};
pub use token_error::TokenError;
