//! See `src/session.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| contract_fuzz::session::run(data));
