//! DPoP for both sides of a connection, without I/O.

pub mod backend;
mod base64url;
pub mod claims;
mod curve;
pub mod form;
mod json;
pub mod key;
pub mod challenge;
pub mod clock;
pub mod nonce;
pub mod presented;
pub mod proof;
pub mod random;
pub mod signer;
pub mod target;
pub mod time;
pub mod token;

#[cfg(any(feature = "aws-lc-rs", feature = "ring", feature = "p256"))]
pub use backend::{Es256, KeyPair};
pub use claims::{CheckedProof, Expected};
pub use form::SignedProof;
pub use key::{PublicKey, Thumbprint};
pub use challenge::{Challenge, DpopChallenge, DpopError};
pub use clock::ServerClock;
pub use nonce::Nonce;
pub use proof::{Proof, ProofRequest, Prover};
pub use random::Random;
#[cfg(feature = "system-random")]
pub use random::SystemRandom;
pub use signer::{ProofSigner, SignNow, Signature, Verifier};
pub use target::{Htu, Origin, Target};
pub use time::{UnixTime, Window};
pub use token::{AccessToken, TokenHash};
