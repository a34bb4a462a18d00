//! Doubles for tests (feature `testkit`): surroundings whose time is virtual, a server that follows a script and
//! watches over every rule of proofs, and one that speaks raw bytes.
//!
//! ```
//! use std::time::Duration;
//! use exchange_client::{
//!     api::Client,
//!     testkit::{Reply, ScriptedServer, VirtualEnvironment},
//! };
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
//! # runtime.block_on(async {
//!
//! let surroundings = VirtualEnvironment::new(1);
//! // Without proofs, for what stands on the generated client alone.
//! let server = ScriptedServer::gateway(&surroundings).unsigned();
//! server.then(Reply::json(200, r#"{"cities": [], "spaceStations": [], "warnings": []}"#));
//! server.then(Reply::lost().after(Duration::from_secs(5)));
//!
//! let api = Client::new(server.origin(), server.clone());
//! let _ = api.catalog_locations().await;
//! assert!(api.catalog_locations().await.is_err());
//! assert_eq!(server.requests().len(), 2);
//! # });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod environment;
mod reply;
mod secrets;
mod seen;
mod server;
mod signed_in;
mod tcp;
#[cfg(test)]
mod tests;

pub use environment::{START, VirtualEnvironment};
pub use reply::Reply;
pub use secrets::{Asked, Hooked};
pub use seen::{Seen, SeenProof, proof_id, proof_time};
pub use server::{Network, ScriptedServer};
pub use signed_in::signed_in;
pub use tcp::{Step, Tcp};
