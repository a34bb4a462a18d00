//! Tests of the validator: reported violations and limits. The official test suite runs through generated
//! code: `cargo xtask suite`.

mod cases;
pub(crate) mod compile;
mod limits;
