//! Properties that must hold for any input: no panic, no abort, no contradictory results, and a running time
//! that is in proportion to the length of the input. Each module is the body of one fuzz target.
//!
//! With cargo-fuzz and a nightly toolchain, run `cargo fuzz run loader`. Without them:
//!
//! ```text
//! cd fuzz
//! RUSTC_BOOTSTRAP=1 RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
//!   -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
//!   -Cllvm-args=-sanitizer-coverage-trace-compares" cargo run --release --target x86_64-unknown-linux-gnu \
//!   --bin loader -- found corpus/loader -max_total_time=60 -timeout=10 -rss_limit_mb=4096
//! ```
//!
//! The tests of the workspace run the same functions on `corpus/` and on additional adversarial inputs
//! (`tests/tests/all/hostile.rs`), so that each target keeps working between fuzzing runs.

pub mod challenge;
pub mod generator;
pub mod json;
pub mod jwk;
pub mod loader;
pub mod nonce;
pub mod patterns;
pub mod proof;
pub mod server;
pub mod session;
pub mod types;
pub mod url;
