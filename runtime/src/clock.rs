//! The clock of the operating system. In WebAssembly, the clock of the JavaScript host, because that of the
//! standard library panics there.

#[cfg(all(feature = "credentials", not(target_arch = "wasm32")))]
pub(crate) use std::time::Instant;
#[cfg(all(feature = "credentials", target_arch = "wasm32"))]
pub(crate) use web_time::Instant;

/// Returns the current time.
#[cfg(all(feature = "layers", not(target_arch = "wasm32")))]
pub(crate) fn system_time() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// Returns the current time.
#[cfg(all(feature = "layers", target_arch = "wasm32"))]
pub(crate) fn system_time() -> std::time::SystemTime {
    web_time::web::SystemTimeExt::to_std(web_time::SystemTime::now())
}
