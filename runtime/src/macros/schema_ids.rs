//! [`schema_ids!`](crate::schema_ids): named constants for the rows of schema tables.

/// Defines a constant for the first row of each group of
/// [`SchemaTables::schemas`](crate::schema::SchemaTables::schemas) and for each resource, in table order.
///
/// ```
/// contract_runtime::schema_ids! {
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
/// Each line contains only the number of rows in its own group, so that a change of one group leaves the
/// other lines unchanged. The first rows are computed in one loop instead of from constant to constant,
/// because a long chain would exceed the recursion limit of the compiler.
#[macro_export]
macro_rules! schema_ids {
    ($($resource:ident { $($(#[$about:meta])* $name:ident = $count:literal,)+ })+) => {
        struct Rows;

        impl Rows {
            const COUNTS: &'static [u32] = &[$($($count,)+)+];
            const FIRST: [u32; Rows::COUNTS.len()] = $crate::schema::first_rows(Rows::COUNTS);
        }

        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "named like the constants")]
        enum Group { $($($name,)+)+ }

        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "named like the constants")]
        enum Position { $($resource,)+ }

        $(
            /// The id of the schema resource.
            pub const $resource: $crate::schema::ResourceId =
                $crate::schema::ResourceId(Position::$resource as u32);

            $(
                $(#[$about])*
                #[allow(dead_code, reason = "not every group is referenced by another one")]
                pub const $name: $crate::schema::SchemaId =
                    $crate::schema::SchemaId(Rows::FIRST[Group::$name as usize]);
            )+
        )+
    };
}
