//! The engine on schemas of its own making, and on its limits: what it reports, and when it gives
//! up. The official suite runs through generated code: `cargo xtask suite`.

mod cases;
pub(crate) mod compile;
mod limits;
