//! The names of rows in tables.

/// Names the first row of each group of [`Tables::schemas`](crate::schema::Tables::schemas), and the
/// resources that groups belong to, all in their order.
///
/// ```
/// contract_runtime::rows! {
///     IN_SHIP {
///         /// `ship.schema.json`
///         SHIP = 12,
///         /// `ship.schema.json#/$defs/shipId`
///         SHIP_DEFS_SHIP_ID = 1,
///     }
///     IN_STOCK_LOT {
///         /// `stock-lot.schema.json`
///         STOCK_LOT = 4,
///     }
/// }
/// use contract_runtime::schema::{ResourceId, SchemaId};
///
/// assert_eq!([SHIP, SHIP_DEFS_SHIP_ID, STOCK_LOT], [SchemaId(0), SchemaId(12), SchemaId(13)]);
/// assert_eq!([IN_SHIP, IN_STOCK_LOT], [ResourceId(0), ResourceId(1)]);
/// ```
///
/// Each line says how many rows its own group has, so that an edit of one group changes no other
/// line. Where groups begin is added up once, and not from name to name: a long list would exceed
/// what the compiler follows.
#[macro_export]
macro_rules! rows {
    ($($resource:ident { $($(#[$about:meta])* $name:ident = $count:literal,)+ })+) => {
        struct Rows;

        impl Rows {
            const COUNTS: &'static [u32] = &[$($($count,)+)+];
            const FIRST: [u32; Rows::COUNTS.len()] = $crate::schema::first_rows(Rows::COUNTS);
        }

        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "names of constants")]
        enum Group { $($($name,)+)+ }

        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "names of constants")]
        enum Position { $($resource,)+ }

        $(
            /// Which resource it is.
            pub const $resource: $crate::schema::ResourceId =
                $crate::schema::ResourceId(Position::$resource as u32);

            $(
                $(#[$about])*
                #[allow(dead_code, reason = "not every group is referred to from outside it")]
                pub const $name: $crate::schema::SchemaId =
                    $crate::schema::SchemaId(Rows::FIRST[Group::$name as usize]);
            )+
        )+
    };
}
