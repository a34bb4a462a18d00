//! Tests of the reported violations and of the limits of the validator. The official test suite runs with
//! generated code: `cargo xtask suite`.

mod cases;
pub(crate) mod compile;
mod limits;
