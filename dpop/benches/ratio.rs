//! Ratios that do not depend on the frequency of the processor. For each backend, short runs of the bare
//! signature, the complete proof, the bare verification and the complete verification are interleaved; the
//! fastest run of each counts.
//!
//! `cargo bench -p dpop-bound --all-features --bench ratio`

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a panic ends the benchmark")]

#[path = "setup/call.rs"]
mod call;

use std::{hint::black_box, time::Instant};

use call::{Call, message};
use dpop_bound::{Prover, SyncSigner, SystemRandom, Verifier};

const ROUNDS: usize = 150;
/// The number of repetitions per measurement.
const RUNS: u32 = 50;

/// The shortest measured duration of one repetition, in microseconds.
#[derive(Clone, Copy)]
struct BestTime(f64);

impl BestTime {
    fn turn(&mut self, mut run: impl FnMut()) {
        let start = Instant::now();
        (0..RUNS).for_each(|_| run());
        self.0 = self.0.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(RUNS));
    }
}

/// One backend with the shortest durations so far.
struct BackendComparison<K, V> {
    name: &'static str,
    prover: Prover<K, SystemRandom>,
    verifier: V,
    best: [BestTime; 4],
}

/// An interface for measuring any backend.
trait TimedStep {
    fn turn(&mut self, call: &Call);
    fn print(&self);
}

impl<K: SyncSigner, V: Verifier> TimedStep for BackendComparison<K, V> {
    fn turn(&mut self, call: &Call) {
        let Self { prover, verifier, best: [sign, prove, verify, check], .. } = self;
        let (key, message) = (prover.signer(), message());
        let (public, signature) = (key.public_key(), key.sign_now(&message).unwrap());
        let (thumbprint, proof) = (public.thumbprint(), prover.prove_now(&call.request()).unwrap());
        sign.turn(|| _ = black_box(key.sign_now(black_box(&message)).unwrap()));
        prove.turn(|| _ = black_box(prover.prove_now(black_box(&call.request())).unwrap()));
        verify.turn(|| assert!(verifier.verify(black_box(public), black_box(&message), &signature)));
        check.turn(|| call.verify(black_box(proof.as_str()), &thumbprint, verifier));
    }

    fn print(&self) {
        let [sign, prove, verify, check] = self.best.map(|best| best.0);
        println!(
            "| {} | {sign:.1} | {prove:.1} | {:.3} | {verify:.1} | {check:.1} | {:.3} |",
            self.name,
            prove / sign,
            check / verify
        );
    }
}

macro_rules! contest {
    ($name:ident) => {{
        use dpop_bound::backend::$name::{Es256, KeyPair};
        Box::new(BackendComparison {
            name: stringify!($name),
            prover: Prover::new(KeyPair::generate().unwrap(), SystemRandom),
            verifier: Es256,
            best: [BestTime(f64::INFINITY); 4],
        }) as Box<dyn TimedStep>
    }};
}

fn main() {
    let call = Call::new();
    let mut contests = [contest!(aws_lc_rs), contest!(ring), contest!(p256)];
    for _ in 0..ROUNDS {
        contests.iter_mut().for_each(|contest| contest.turn(&call));
    }
    println!("| µs | sign | proof | ratio | verify | whole | ratio |\n|---|---|---|---|---|---|---|");
    contests.iter().for_each(|contest| contest.print());
}
