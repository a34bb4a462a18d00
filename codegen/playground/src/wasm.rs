//! The export to JavaScript. The worker in `web/` calls it.

use std::{cell::RefCell, panic};

use wasm_bindgen::prelude::wasm_bindgen;

use crate::PlaygroundSession;

thread_local! {
    static SESSION: RefCell<PlaygroundSession> = RefCell::default();
}

/// Turns panics into exceptions with the message of the panic. The module must not be used after one.
#[wasm_bindgen(start)]
fn start_module() {
    panic::set_hook(Box::new(|panic| wasm_bindgen::throw_str(&panic.to_string())));
}

/// Handles a request; see [`PlaygroundSession::handle_request`].
#[wasm_bindgen(js_name = handleRequest)]
#[must_use]
pub fn handle_request(request: &str) -> String {
    SESSION.with_borrow_mut(|session| session.handle_request(request))
}
