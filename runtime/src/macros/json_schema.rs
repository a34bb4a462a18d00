//! `JsonSchema` of generated types.

/// `JsonSchema` for types, each with its name and its row, out of a
/// [`Published`](crate::json_schema::Published).
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

/// `JsonSchema` for enumerations of texts that no schema lists: `closed` ones are their values,
/// `open` ones any text.
#[cfg(feature = "schemars")]
#[macro_export]
macro_rules! text_schemas {
    ($openness:ident { $($type:path as $name:literal),* $(,)? }) => {$(
        impl $crate::json_schema::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed($name)
            }
            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed(concat!(module_path!(), "::", $name))
            }
            fn json_schema(_: &mut $crate::json_schema::SchemaGenerator) -> $crate::json_schema::Schema {
                let mut texts = <$type>::ALL.iter().map(<$type>::as_str);
                $crate::json_schema::$openness(&mut texts)
            }
        }
    )*};
}

/// `JsonSchema` for the types of formats.
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
                $crate::json_schema::format($format)
            }
        }
    )*};
}
