//! See `src/types.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| contract_fuzz::types::run(data));
