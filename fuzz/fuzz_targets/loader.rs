//! See `src/loader.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| contract_fuzz::loader::run(data));
