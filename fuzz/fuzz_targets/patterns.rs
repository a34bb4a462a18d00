//! See `src/patterns.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| contract_fuzz::patterns::run(data));
