//! See `src/generator.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| contract_fuzz::generator::run(data));
