//! What tests and the demonstration of both sides share: clocks that go along with a sandbox, a network that loses
//! answers, and a member who signs in. The tests are in `tests/all`.

mod clock;
pub mod demo;
mod network;

use exchange_client::{Error, Identity, Place, Session, api::scopes::Scope};
use exchange_service::sandbox::{Sandbox, SandboxError};

pub use self::{
    clock::{SandboxClock, Waiting},
    network::Network,
};

/// The seeded member of a sandbox who signs in.
pub const MEMBER: &str = "sandbox-member";

/// Where a sandbox is, as a developer's variable tells it.
///
/// # Panics
/// When its origin is none.
#[must_use]
pub fn place(sandbox: &Sandbox) -> Place {
    let origin = sandbox.origin();
    let place = Place::of_developer(|_| Some(origin)).expect("a sandbox has an origin");
    place.expect("the variable was read")
}

/// A client that every sandbox knows by this id.
///
/// # Panics
/// Never with an id of the seed.
#[must_use]
pub fn identity(client: &str) -> Identity {
    Identity::new(client, "Desk", "1.0.0", "https://desk.example").expect("an id of the seed")
}

/// Why nobody is signed in.
#[derive(Debug)]
pub enum NotSignedIn {
    /// The client says so.
    Client(Error),
    /// The member could not approve it.
    Sandbox(SandboxError),
}

/// A device login that [`MEMBER`] approves at once.
///
/// The sandbox's time goes on until the provider may be asked, so that nobody waits whose clock is the sandbox's.
///
/// # Errors
/// As the client and the sandbox have it.
pub async fn sign_in(session: &Session, sandbox: &Sandbox, scopes: &[Scope]) -> Result<(), NotSignedIn> {
    let login = session.sign_in(scopes).await.map_err(NotSignedIn::Client)?;
    sandbox.approve(login.user_code(), MEMBER).await.map_err(NotSignedIn::Sandbox)?;
    sandbox.advance(login.next_check());
    login.finish().await.map_err(NotSignedIn::Client)
}
