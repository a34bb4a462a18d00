//! The cost of a proof beyond its signature. For each backend, one run measures time and allocations of the
//! bare signature and of the complete proof, and of the bare verification and of the complete one.

#![allow(clippy::unwrap_used, reason = "a panic ends the benchmark")]

#[path = "setup/call.rs"]
mod call;

use call::{Call, message};
use divan::{Bencher, black_box};
use dpop_bound::{MaybeReady, Prover, SignedProof, SyncSigner, SystemRandom, Verifier};

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

fn sign(bencher: Bencher<'_, '_>, key: impl SyncSigner) {
    let message = message();
    bencher.bench_local(|| key.sign_now(black_box(&message)).unwrap());
}

fn build(bencher: Bencher<'_, '_>, key: impl SyncSigner) {
    let (call, prover) = (Call::new(), Prover::new(key, SystemRandom));
    bencher.bench_local(|| prover.prove_now(black_box(&call.request())).unwrap());
}

fn verify(bencher: Bencher<'_, '_>, key: impl SyncSigner, verifier: impl Verifier) {
    let message = message();
    let (public, signature) = (key.public_key().clone(), key.sign_now(&message).unwrap());
    bencher.bench_local(|| assert!(verifier.verify(black_box(&public), black_box(&message), &signature)));
}

fn check(bencher: Bencher<'_, '_>, key: impl SyncSigner, verifier: impl Verifier) {
    let (call, thumbprint) = (Call::new(), key.public_key().thumbprint());
    let proof = Prover::new(key, SystemRandom).prove_now(&call.request()).unwrap();
    bencher.bench_local(|| call.verify(black_box(proof.as_str()), &thumbprint, &verifier));
}

/// Measures everything except the signature.
mod without_cryptography {
    use dpop_bound::{
        ProofSigner, PublicKey, Signature,
        backend::KeyPair,
        signer::{SignError, SignFuture},
    };

    use super::*;

    /// A signer and verifier that does nothing.
    struct NoopSigner(PublicKey);

    impl NoopSigner {
        fn new() -> Self {
            Self(KeyPair::generate().unwrap().public_key().clone())
        }
    }

    impl ProofSigner for NoopSigner {
        fn public_key(&self) -> &PublicKey {
            &self.0
        }

        fn sign<'a>(&'a self, message: &'a [u8]) -> SignFuture<'a> {
            MaybeReady::ready(self.sign_now(message))
        }
    }

    impl SyncSigner for NoopSigner {
        fn sign_now(&self, _: &[u8]) -> Result<Signature, SignError> {
            Ok(Signature::from_bytes([7; 64]))
        }
    }

    impl Verifier for NoopSigner {
        fn verify(&self, _: &PublicKey, _: &[u8], _: &Signature) -> bool {
            true
        }
    }

    #[divan::bench]
    fn proof(bencher: Bencher<'_, '_>) {
        build(bencher, NoopSigner::new());
    }

    #[divan::bench]
    fn verification(bencher: Bencher<'_, '_>) {
        check(bencher, NoopSigner::new(), NoopSigner::new());
    }

    /// The most expensive invalid input: as many members as fit into the length, the last one of them
    /// repeated.
    #[divan::bench(args = [1_000, 2_000, 4_000])]
    fn garbage(bencher: Bencher<'_, '_>, length: usize) {
        use base64::Engine as _;

        let mut header = String::from("{");
        for number in 0.. {
            if header.len() * 4 / 3 > length {
                break;
            }
            header.push_str(&format!("\"{number}\":0,"));
        }
        header.push_str("\"0\":0}");
        let header = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(header);
        let proof = format!("{header}.e30.e30");
        let nothing = NoopSigner::new();
        bencher
            .counter(divan::counter::BytesCount::new(proof.len()))
            .bench_local(|| SignedProof::verify_signature(black_box(&proof), &nothing).unwrap_err());
    }
}

macro_rules! backend {
    ($name:ident, $feature:literal) => {
        #[cfg(feature = $feature)]
        mod $name {
            use dpop_bound::backend::$name::{Es256, KeyPair};

            use super::*;

            #[divan::bench]
            fn bare_signature(bencher: Bencher<'_, '_>) {
                sign(bencher, KeyPair::generate().unwrap());
            }

            #[divan::bench]
            fn proof(bencher: Bencher<'_, '_>) {
                build(bencher, KeyPair::generate().unwrap());
            }

            #[divan::bench]
            fn bare_verification(bencher: Bencher<'_, '_>) {
                verify(bencher, KeyPair::generate().unwrap(), Es256);
            }

            #[divan::bench]
            fn verification(bencher: Bencher<'_, '_>) {
                check(bencher, KeyPair::generate().unwrap(), Es256);
            }
        }
    };
}

backend!(aws_lc_rs, "aws-lc-rs");
backend!(ring, "ring");
backend!(p256, "p256");
