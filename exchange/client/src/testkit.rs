//! Test utilities (feature `testkit`): an environment in virtual time, a scripted server that validates every
//! request, and a TCP server that sends raw bytes.
//!
//! ```
//! use std::time::Duration;
//! use exchange_client::{
//!     api::Client,
//!     testkit::{ScriptedReply, ScriptedServer, VirtualEnvironment},
//! };
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
//! # runtime.block_on(async {
//!
//! let surroundings = VirtualEnvironment::new(1);
//! // Without proofs, for code that uses only the generated client.
//! let server = ScriptedServer::gateway(&surroundings).unsigned();
//! server.enqueue_reply(ScriptedReply::json(200, r#"{"cities": [], "spaceStations": [], "warnings": []}"#));
//! server.enqueue_reply(ScriptedReply::lost().delayed_by(Duration::from_secs(5)));
//!
//! let api = Client::new(server.origin(), server.clone());
//! let _ = api.catalog_locations().await;
//! assert!(api.catalog_locations().await.is_err());
//! assert_eq!(server.requests().len(), 2);
//! # });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod environment;
mod hooked_store;
mod recorded;
mod reply;
mod server;
mod signed_in;
mod tcp_server;
#[cfg(test)]
mod tests;

pub use environment::{START_TIME, VirtualEnvironment};
pub use hooked_store::{HookedStore, StoreOperation};
pub use recorded::{RecordedProof, RecordedRequest, proof_id, proof_time};
pub use reply::ScriptedReply;
pub use server::{ScriptedServer, ServerNetwork};
pub use signed_in::signed_in_exchange;
pub use tcp_server::{TcpServer, TcpStep};
