//! Shared parts of the end-to-end tests and the demonstration: clocks driven by a sandbox, a network that
//! loses responses, and a member who signs in. The tests are in `tests/all`.

mod clock;
pub mod demo;
mod network;

use exchange_client::{ClientIdentity, Error, ExchangeAddress, Session, api::scopes::Scope};
use exchange_service::sandbox::{Sandbox, SandboxError};

pub use self::{
    clock::{SandboxClock, SleepMode},
    network::LossyNetwork,
};

/// The seeded member of a sandbox who signs in.
pub const MEMBER: &str = "sandbox-member";

/// Returns the address of a sandbox.
///
/// # Panics
/// If the sandbox has an invalid origin.
#[must_use]
pub fn place(sandbox: &Sandbox) -> ExchangeAddress {
    let origin = sandbox.origin();
    let place = ExchangeAddress::from_variable(|_| Some(origin)).expect("a sandbox has an origin");
    place.expect("the variable was read")
}

/// Returns a client identity that each sandbox accepts.
///
/// # Panics
/// Never with a client id of the seed.
#[must_use]
pub fn identity(client: &str) -> ClientIdentity {
    ClientIdentity::new(client, "Desk", "1.0.0", "https://desk.example").expect("an id of the seed")
}

/// The reason why the member is not signed in.
#[derive(Debug)]
pub enum SignInError {
    /// The client failed.
    Client(Error),
    /// The approval in the sandbox failed.
    Sandbox(SandboxError),
}

/// Signs in by a device login that [`MEMBER`] approves at once.
///
/// Advances the time of the sandbox to the next poll, so that a client with the clock of the sandbox does not
/// wait.
///
/// # Errors
/// If the client or the sandbox fails.
pub async fn sign_in(session: &Session, sandbox: &Sandbox, scopes: &[Scope]) -> Result<(), SignInError> {
    let login = session.sign_in(scopes).await.map_err(SignInError::Client)?;
    sandbox.approve(login.user_code(), MEMBER).await.map_err(SignInError::Sandbox)?;
    sandbox.advance(login.next_check());
    login.finish().await.map_err(SignInError::Client)
}
