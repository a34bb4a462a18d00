//! The service as others see it, one module per part.

mod backend;
mod gateway;
mod idp;
mod kit;
mod sandbox;
mod upkeep;
