//! Macros that implement `JsonSchema` for generated types.

/// Implements `JsonSchema` for types, each with its name and its row in a
/// [`PublishedSchemas`](crate::json_schema::PublishedSchemas).
#[cfg(feature = "schemars")]
#[macro_export]
macro_rules! json_schemas {
    ($published:ident { $($type:path as $name:literal = $row:expr),* $(,)? }) => {$(
        impl $crate::json_schema::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed($name)
            }
            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed(concat!(module_path!(), "::", $name))
            }
            fn json_schema(
                generator: &mut $crate::json_schema::SchemaGenerator,
            ) -> $crate::json_schema::Schema {
                let id = concat!(module_path!(), "::", $name);
                $published.schema($row, id, generator)
            }
        }
    )*};
}

/// Implements `JsonSchema` for string enumerations that have no schema in the tables. Enumerations marked
/// `closed` list their values; those marked `open` accept any string.
#[cfg(feature = "schemars")]
#[macro_export]
macro_rules! string_enum_schemas {
    (closed { $($types:tt)* }) => { $crate::string_enum_schemas! { @impl closed_enum_schema { $($types)* } } };
    (open { $($types:tt)* }) => { $crate::string_enum_schemas! { @impl open_enum_schema { $($types)* } } };
    (@impl $schema:ident { $($type:path as $name:literal),* $(,)? }) => {$(
        impl $crate::json_schema::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed($name)
            }
            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed(concat!(module_path!(), "::", $name))
            }
            fn json_schema(_: &mut $crate::json_schema::SchemaGenerator) -> $crate::json_schema::Schema {
                let mut values = <$type>::ALL.iter().map(<$type>::as_str);
                $crate::json_schema::$schema(&mut values)
            }
        }
    )*};
}

/// Implements `JsonSchema` for the types of [`format_type!`](crate::format_type).
#[cfg(feature = "schemars")]
#[macro_export]
macro_rules! format_schemas {
    (formats { $($type:path as $format:literal),* $(,)? }) => {$(
        impl $crate::json_schema::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed($format)
            }
            fn json_schema(_: &mut $crate::json_schema::SchemaGenerator) -> $crate::json_schema::Schema {
                $crate::json_schema::format_schema($format)
            }
        }
    )*};
}
