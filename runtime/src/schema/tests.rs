//! The engine against the official suite, and against our own contract for
//! violation lists.

mod cases;
mod compile;
mod limits;
mod suite;
