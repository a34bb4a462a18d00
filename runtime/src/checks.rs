//! What the conditions of generated types call, for one `use` in each of their modules.

pub use crate::{
    Json, Kind, Map, Nullable, Number, contract,
    read::is_apart,
    text::{char_count_at_least, char_count_at_most},
};
