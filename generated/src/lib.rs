//! The API of the exchange: models, validators, client and server interface, generated from the contract in
//! `schemas/`, with a few hand-written conveniences.
//!
//! * Every type of the contract is in [`types`], and in the module of its area.
//! * Parsing is tolerant and validation is strict; see [`Contract`].
//! * Feature `client`: [`client::Client`] calls the exchange through any [`Transport`].
//! * Feature `server`: [`server::Service`] is a trait with all operations of the exchange, [`server::router`]
//!   serves it, and [`error_responses`] creates its error responses by code.
//! * [`views::FeedPage`] and, for clients, [`call_views::FeedRead`]: traits for code that processes all feeds
//!   in the same way.
//! * [`types::Problem`] is created from a code or from the violations of a request, both in clients and in
//!   servers.
//! * [`operations`], [`codes`], [`reasons`], [`oauth_errors`] and [`scopes`] are the contract's tables.
//!
//! ```
//! use exchange_api::{Contract, types::StockLot};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let lot = StockLot::parse(br#"{
//!     "key": "lot-7", "material": {"bt": "mat-1", "name": "Agricium"},
//!     "location": {"name": "Area 18"}, "quality": 650, "stolen": false,
//!     "quantity": {"amount": 12.30, "unit": "SCU"}
//! }"#)?;
//! assert!(lot.is_valid());
//! assert_eq!(lot.quantity.amount.get().to_json_text(), "12.30");
//! # Ok(())
//! # }
//! ```

mod ext;
#[path = "generated/root.rs"]
#[rustfmt::skip]
mod generated;

/// The runtime of the generated code, for items that are not re-exported here.
pub use contract_runtime as runtime;
#[cfg(feature = "client")]
pub use contract_runtime::transport::{Transport, TransportError};
pub use contract_runtime::{Contract, DocumentError, Json, Map, Nullable, Number, Secret};
#[cfg(feature = "server")]
pub use ext::error_responses;
#[cfg(feature = "client")]
pub use ext::responses::ProblemErrorExt;
pub use ext::values::ChangeCounts;
#[cfg(feature = "client")]
pub use generated::client::{Client, Error, Response};
pub use generated::*;
