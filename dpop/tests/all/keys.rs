//! Interoperability of the backends: each can import the keys and verify the signatures of all others.

use dpop_bound::{
    ProofSigner, PublicKey, Signature, SignedProof, SyncSigner, Verifier,
    backend::{KeyError, aws_lc_rs, p256, ring},
    signed_proof::ProofFormatError,
};

const MESSAGE: &[u8] = b"header.claims";

/// A key pair of any backend.
struct Key {
    name: &'static str,
    public: PublicKey,
    pkcs8: Vec<u8>,
    signature: Signature,
}

macro_rules! backends {
    ($($name:ident),*) => {
        fn generated() -> Vec<Key> {
            vec![$({
                let key = $name::KeyPair::generate().unwrap();
                let signature = key.sign_now(MESSAGE).unwrap();
                let (public, pkcs8) = (key.public_key().clone(), key.to_pkcs8().unwrap().to_vec());
                Key { name: stringify!($name), public, pkcs8, signature }
            }),*]
        }

        fn read(pkcs8: &[u8]) -> Vec<(&'static str, Result<(PublicKey, Vec<u8>), KeyError>)> {
            vec![$((stringify!($name), $name::KeyPair::from_pkcs8(pkcs8).map(|key| {
                (key.public_key().clone(), key.to_pkcs8().unwrap().to_vec())
            }))),*]
        }

        fn verifiers() -> Vec<(&'static str, Box<dyn Verifier>)> {
            vec![$((stringify!($name), Box::new($name::Es256))),*]
        }
    };
}

backends!(aws_lc_rs, ring, p256);

/// DPP-06: every backend imports the PKCS#8 keys that the others export.
#[test]
fn all_backends_read_exported_keys() {
    for key in generated() {
        assert_eq!(key.pkcs8.len(), 138, "{}", key.name);
        for (name, read) in read(&key.pkcs8) {
            assert_eq!(read, Ok((key.public.clone(), key.pkcs8.clone())), "{} by {name}", key.name);
        }
    }
}

#[test]
fn all_backends_verify_signatures() {
    let keys = generated();
    for (name, verifier) in verifiers() {
        for (index, key) in keys.iter().enumerate() {
            assert!(verifier.verify(&key.public, MESSAGE, &key.signature), "{} by {name}", key.name);
            assert!(!verifier.verify(&key.public, b"header.claimz", &key.signature), "{name}");
            let other = &keys[(index + 1) % keys.len()];
            assert!(!verifier.verify(&other.public, MESSAGE, &key.signature), "{name}");
            for byte in 0..64 {
                let mut bytes = *key.signature.as_bytes();
                bytes[byte] ^= 0x10;
                assert!(
                    !verifier.verify(&key.public, MESSAGE, &Signature::from_bytes(bytes)),
                    "{name} {byte}"
                );
            }
        }
    }
}

#[test]
fn invalid_keys_are_rejected() {
    let good = generated().remove(0).pkcs8;
    let mut other_half = good.clone();
    let last = other_half.len() - 1;
    other_half[last] ^= 1;
    let mut no_curve = good.clone();
    no_curve[25] ^= 1;
    let mut zero = good.clone();
    zero[36..68].fill(0);
    let cases = [vec![], b"key".to_vec(), good[..100].to_vec(), other_half, no_curve, zero];
    for (number, bytes) in cases.iter().enumerate() {
        for (name, read) in read(bytes) {
            assert_eq!(read.err(), Some(KeyError::Pkcs8), "{number} by {name}");
        }
    }
}

#[test]
fn generated_keys_differ() {
    let (one, two) = (generated(), generated());
    for (one, two) in one.iter().zip(&two) {
        assert_ne!(one.public, two.public, "{}", one.name);
    }
}

/// A verifier can be passed by reference.
#[test]
fn verifiers_can_be_chosen_at_run_time() {
    let proof = crate::forge::Draft::good();
    let broken = proof.signature(|signature| [&signature[1..], &[0]].concat());
    for (name, verifier) in verifiers() {
        let verifier: &dyn Verifier = &*verifier;
        assert!(SignedProof::verify_signature(&proof.proof(), &verifier).is_ok(), "{name}");
        assert_eq!(
            SignedProof::verify_signature(&broken, &verifier).err(),
            Some(ProofFormatError::Signature),
            "{name}"
        );
    }
}

/// Signers can be used as trait objects.
#[test]
fn signers_can_be_chosen_at_run_time() {
    let signers: [Box<dyn ProofSigner>; 2] =
        [Box::new(aws_lc_rs::KeyPair::generate().unwrap()), Box::new(p256::KeyPair::generate().unwrap())];
    for signer in &signers {
        let signature = crate::proofs::now(signer.sign(MESSAGE)).unwrap();
        assert!(ring::Es256.verify(signer.public_key(), MESSAGE, &signature));
    }
}
