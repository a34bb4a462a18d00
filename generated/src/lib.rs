//! The API of the exchange: models, validators, client and server interface, generated from
//! the contract in `schemas/`, and a few hand-written conveniences beside them.
//!
//! * Every type of the contract is in [`types`], and in the module of its area.
//! * Reading is tolerant, checking is strict: see [`Contract`].
//! * Feature `client`: [`client::Client`] calls the exchange through any [`Transport`].
//! * Feature `server`: [`server::Service`] is the exchange as a trait, [`server::router`]
//!   serves it, [`refusals`] are its codes by what they come with.
//! * [`views::FeedPage`] and, for clients, [`call_views::FeedRead`]: code for all feeds is written once.
//! * [`types::Problem`] is made of a code, or of what is wrong with a request, on either side.
//! * [`operations`], [`codes`], [`reasons`], [`oauth_errors`] and [`scopes`] are the contract's
//!   tables.
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
//! assert_eq!(lot.quantity.amount.get().text(), "12.30");
//! # Ok(())
//! # }
//! ```

mod ext;
#[path = "generated/root.rs"]
#[rustfmt::skip]
mod generated;

/// What all of this stands on, for those who need more of it than is shown here.
pub use contract_runtime as runtime;
#[cfg(feature = "client")]
pub use contract_runtime::transport::{Transport, TransportError};
pub use contract_runtime::{Contract, Json, Map, Nullable, Number, Rejected, Secret};
#[cfg(feature = "client")]
pub use ext::answers::RefusedCall;
#[cfg(feature = "server")]
pub use ext::refusals;
#[cfg(feature = "client")]
pub use generated::client::{Answer, Client, Error};
pub use generated::*;
