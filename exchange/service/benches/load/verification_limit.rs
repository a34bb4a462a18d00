//! Measures the upper bound that signature verification sets: the CPU time of ES256 with the gateway's
//! library, over as many bytes as a proof signs, on the service's core.

use std::hint::black_box;
use std::time::{Duration, Instant};

use dpop_bound::{Es256, KeyPair, SyncSigner as _, Verifier as _};

use crate::Outcome;
use crate::machine::{self, CALLERS, SERVICE};

/// The typical number of signed bytes in a proof.
const LENGTH: usize = 560;
/// The number of different messages.
const MESSAGES: usize = 64;

/// Returns the CPU time of one verification on the service's core, while the service is idle.
pub(crate) fn one_verification(timeout: Duration) -> Outcome<Duration> {
    machine::pin(SERVICE);
    let measured = measure(timeout);
    machine::pin(CALLERS);
    measured
}

fn measure(timeout: Duration) -> Outcome<Duration> {
    let mut signed_requests = Vec::new();
    for number in 0..MESSAGES {
        let key = KeyPair::generate()?;
        let message = vec![u8::try_from(number)?; LENGTH];
        let signature = key.sign_now(&message)?;
        signed_requests.push((key.public_key().clone(), message, signature));
    }
    let (began, before) = (Instant::now(), machine::thread_time());
    let mut count = 0_u32;
    while began.elapsed() < timeout {
        for (key, message, signature) in &signed_requests {
            if !Es256.verify(black_box(key), black_box(message), signature) {
                return Err("a signature is wrong".into());
            }
            count += 1;
        }
    }
    let took = match (before, machine::thread_time()) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => began.elapsed(),
    };
    Ok(took / count.max(1))
}
