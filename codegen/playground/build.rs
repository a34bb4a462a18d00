//! Sets the size of the stack in WebAssembly. The default of 1 MiB is too small for nested contracts.

use std::env;

/// The stack of recursive functions, in bytes. The generator uses 256 MiB of virtual memory on other systems,
/// but WebAssembly commits the whole stack.
const STACK_SIZE: usize = 16 << 20;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|architecture| architecture == "wasm32") {
        println!("cargo::rustc-link-arg-cdylib=-zstack-size={STACK_SIZE}");
    }
}
