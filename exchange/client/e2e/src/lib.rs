//! Code that the end-to-end tests and the demonstration share: clocks that show the time of a sandbox, a
//! network that loses responses, and the sign-in of a member. The tests are in `tests/all`.

mod clock;
pub mod demo;
mod network;

use exchange_client::{ClientIdentity, Error, ExchangeAddress, Session, api::scopes::Scope};
use exchange_service::sandbox::{Sandbox, SandboxError};

pub use self::{
    clock::{SandboxClock, SleepMode},
    network::LossyNetwork,
};

/// The member of a sandbox's seed data who signs in.
pub const MEMBER: &str = "sandbox-member";

/// Returns the address of a sandbox.
///
/// # Panics
/// Panics if the sandbox has an invalid origin.
#[must_use]
pub fn exchange_address(sandbox: &Sandbox) -> ExchangeAddress {
    let origin = sandbox.origin();
    let address = ExchangeAddress::from_variable(|_| Some(origin)).expect("the origin of a sandbox is valid");
    address.expect("the variable is set")
}

/// Returns a client identity that every sandbox accepts.
///
/// # Panics
/// Panics if the client id is not well-formed; the ids in the seed data are.
#[must_use]
pub fn identity(client: &str) -> ClientIdentity {
    ClientIdentity::new(client, "Desk", "1.0.0", "https://desk.example")
        .expect("a client id of the seed data")
}

/// The reason the member could not be signed in.
#[derive(Debug)]
pub enum SignInError {
    /// The client failed.
    Client(Error),
    /// The approval in the sandbox failed.
    Sandbox(SandboxError),
}

/// Signs in with a device login that [`MEMBER`] approves immediately.
///
/// Advances the time of the sandbox to the next poll, so that a client that uses the sandbox's clock does not
/// wait.
///
/// # Errors
/// Returns an error if the client or the sandbox fails.
pub async fn sign_in(session: &Session, sandbox: &Sandbox, scopes: &[Scope]) -> Result<(), SignInError> {
    let login = session.sign_in(scopes).await.map_err(SignInError::Client)?;
    sandbox.approve(login.user_code(), MEMBER).await.map_err(SignInError::Sandbox)?;
    sandbox.advance(login.next_check());
    login.finish().await.map_err(SignInError::Client)
}
