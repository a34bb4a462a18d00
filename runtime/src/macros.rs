//! Macros that implement traits for generated types. They contain all code that does not depend on the type.

mod formats;
#[cfg(feature = "schemars")]
mod json_schema;
mod newtypes;
mod schema_ids;
#[cfg(feature = "proptest")]
mod strategies;
mod unions;

/// Implements `Deserialize` through [`ReadJson`](crate::read::ReadJson), so that the generated type can be a
/// field of types in other crates.
#[macro_export]
macro_rules! deserialize_by_read_json {
    ($name:ident) => {
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::read::ReadJson::read_json(deserializer)
            }
        }
    };
}

/// Implements `ReadJson` and `Deserialize` for a type with [`FromMap`](crate::read::FromMap). With `or`, values
/// of other JSON types are read as the listed variants; see [`untagged_union!`](crate::untagged_union).
#[macro_export]
macro_rules! read_object {
    ($name:ident or $expected:literal { $($other:ident = $json_type:ident $([$($item:ident),*])?),* }) => {
        impl<'de> $crate::read::ReadJson<'de> for $name {
            fn read_json<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                let value = $crate::read::peek_value(deserializer)?;
                match value.json_type() {
                    $crate::JsonType::Object => value.read_object(),
                    $(
                        $crate::JsonType::$json_type
                            $(if value.may_have_items(&[$($crate::JsonType::$item),*]))?
                        => value.read_value().map(Self::$other),
                    )*
                    _ => ::std::result::Result::Err(value.type_error($expected)),
                }
            }
        }
        $crate::deserialize_by_read_json!($name);
    };
    ($name:ident) => {
        impl<'de> $crate::read::ReadJson<'de> for $name {
            fn read_json<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::read::read_object(deserializer)
            }
        }
        $crate::deserialize_by_read_json!($name);
    };
}

/// Implements the traits of [`string_serde_impls!`](crate::string_serde_impls) and comparison with `str`, for
/// a type with `as_str`.
#[macro_export]
macro_rules! string_impls {
    ($name:ident) => {
        $crate::string_serde_impls!($name);
        impl ::std::cmp::PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.as_str() == other
            }
        }
        impl ::std::cmp::PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.as_str() == *other
            }
        }
    };
}

/// Implements `Display`, `Serialize`, `AsRef<str>` and `Deserialize` for a type with `as_str` and `ReadJson`.
#[macro_export]
macro_rules! string_serde_impls {
    ($name:ident) => {
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
        impl ::std::convert::AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }
        $crate::deserialize_by_read_json!($name);
    };
}

/// Implements a closed string enumeration, given each variant with its value on the wire. Other values are
/// rejected.
#[macro_export]
macro_rules! closed_enum {
    ($name:ident { values { $($variant:ident = $wire:literal),* $(,)? } }) => {
        impl $name {
            /// All values, in the order of the contract.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];
            /// Returns the value on the wire.
            #[must_use]
            pub const fn as_str(&self) -> &'static str {
                match self {
                    $(Self::$variant => $wire,)*
                }
            }
        }
        impl ::std::str::FromStr for $name {
            type Err = $crate::contract::UnknownValue;
            fn from_str(text: &str) -> ::std::result::Result<Self, $crate::contract::UnknownValue> {
                ::std::result::Result::Ok(match text {
                    $($wire => Self::$variant,)*
                    _ => return ::std::result::Result::Err($crate::contract::UnknownValue(stringify!($name))),
                })
            }
        }
        impl ::std::convert::TryFrom<&str> for $name {
            type Error = $crate::contract::UnknownValue;
            fn try_from(text: &str) -> ::std::result::Result<Self, $crate::contract::UnknownValue> {
                text.parse()
            }
        }
        impl<'de> $crate::read::ReadJson<'de> for $name {
            fn read_json<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::contract::read_string(deserializer, |text| text.parse())
            }
        }
        impl $crate::contract::ReportUndeclared for $name {}
        $crate::string_impls!($name);
    };
}

/// Implements an open string enumeration, given each variant with its value on the wire. Other values are
/// stored in `Unknown`.
#[macro_export]
macro_rules! open_enum {
    ($name:ident { values { $($variant:ident = $wire:literal),* $(,)? } }) => {
        impl $name {
            /// All values that this version of the contract lists, in the order of the contract.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];
            /// Returns the value on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $wire,)*
                    Self::Unknown(text) => text,
                }
            }
            /// Returns true if this version of the contract lists the value.
            #[must_use]
            pub const fn is_known(&self) -> bool {
                !matches!(self, Self::Unknown(_))
            }
            /// Returns the value if this version of the contract does not list it.
            #[must_use]
            pub fn unknown(&self) -> ::std::option::Option<&str> {
                match self {
                    Self::Unknown(text) => ::std::option::Option::Some(text),
                    _ => ::std::option::Option::None,
                }
            }
        }
        impl ::std::convert::From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($wire => Self::$variant,)*
                    other => Self::Unknown(other.into()),
                }
            }
        }
        impl ::std::convert::From<::std::string::String> for $name {
            fn from(text: ::std::string::String) -> Self {
                text.as_str().into()
            }
        }
        impl ::std::str::FromStr for $name {
            type Err = ::std::convert::Infallible;
            fn from_str(text: &str) -> ::std::result::Result<Self, ::std::convert::Infallible> {
                ::std::result::Result::Ok(text.into())
            }
        }
        impl<'de> $crate::read::ReadJson<'de> for $name {
            fn read_json<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::contract::read_string(deserializer, |text| {
                    ::std::result::Result::<_, $crate::contract::UnknownValue>::Ok(text.into())
                })
            }
        }
        impl $crate::contract::ReportUndeclared for $name {}
        $crate::string_impls!($name);
    };
}

/// Implements deserialization, serialization and the report of undeclared members for a struct that
/// represents an object.
///
/// `tag` lists members that have a constant value and no field. `required` and `optional` list the fields,
/// each with its name on the wire. `nested` lists the fields that may contain undeclared members. `extra`
/// declares the kind of the members that have no field: `undeclared`; `declared`; `values`, if they are
/// declared and their values may contain undeclared members; or `undeclared unless [PATTERN, …]`, if members
/// whose names match a pattern are declared.
///
/// `new` lists the arguments of the constructor, and `constant` the values of the other required fields. If
/// `new` lists no arguments, the constants become the values of `Default`.
///
/// Tags are written first, so that readers that dispatch on a tag need not buffer other members. The required
/// members follow, and then all others.
#[macro_export]
macro_rules! object {
    (
        $name:ident {
            $(tag { $($tag:ident = $tag_wire:literal is $constant:expr),* $(,)? })?
            $(required { $($req:ident = $req_wire:literal),* $(,)? })?
            $(optional { $($opt:ident = $opt_wire:literal),* $(,)? })?
            $(nested { $($nested:ident = $nested_wire:literal),* $(,)? })?
            $(new { $($arg:ident: $arg_kind:ident $arg_ty:ty),* $(,)? })?
            $(constant { $($fixed:ident = $value:expr),* $(,)? })?
            extra $($extra:tt)+
        }
    ) => {
        impl $name {
            /// The names of the members that have a field or a constant value. `extra` contains none of them.
            pub(crate) const DECLARED: &'static [&'static str] =
                &[$($($tag_wire,)*)? $($($req_wire,)*)? $($($opt_wire,)*)?];
        }
        impl<'de> $crate::read::FromMap<'de> for $name {
            const EXPECTING: &'static str = concat!("an object (", stringify!($name), ")");
            fn from_map<A: ::serde::de::MapAccess<'de>>(
                mut map: A,
            ) -> ::std::result::Result<Self, A::Error> {
                $($(let mut $tag = ::std::option::Option::None;)*)?
                $($(let mut $req = ::std::option::Option::None;)*)?
                $($(let mut $opt = ::std::option::Option::None;)*)?
                let mut extra = $crate::Map::new();
                while let ::std::option::Option::Some(key) = map.next_key::<$crate::read::MemberKey<'de>>()? {
                    match key.as_str() {
                        $($($tag_wire => {
                            $crate::read::read_constant(&mut map, &mut $tag, $tag_wire, &$constant)
                        })*)?
                        $($($req_wire => $crate::read::read_field(&mut map, &mut $req, $req_wire),)*)?
                        $($($opt_wire => $crate::read::read_field(&mut map, &mut $opt, $opt_wire),)*)?
                        _ => $crate::read::read_extra(&mut map, &mut extra, key),
                    }?;
                }
                $crate::object!(@missing [$($($tag $tag_wire)*)?] [$($($req $req_wire)*)?]);
                ::std::result::Result::Ok(Self { $($($req,)*)? $($($opt,)*)? extra })
            }
        }
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                let mut members = $crate::read::MemberWriter::new(serializer)?;
                $($(members.write_member($tag_wire, &$constant);)*)?
                $($(members.write_member($req_wire, &self.$req);)*)?
                $($(members.write_optional($opt_wire, &self.$opt);)*)?
                members.write_extra(&self.extra, Self::DECLARED);
                members.end()
            }
        }
        impl $crate::contract::ReportUndeclared for $name {
            fn report_undeclared(
                &self,
                at: &$crate::violation::InstancePath<'_>,
                found: &mut $crate::contract::UndeclaredMembers,
            ) {
                $crate::object!(@extra self at found $($extra)+);
                $($($crate::contract::ReportUndeclared::report_undeclared(
                    &self.$nested,
                    &at.key($nested_wire),
                    found,
                );)*)?
            }
        }
        $crate::object!(
            @new $name [$($($arg: $arg_kind $arg_ty),*)?] [$($($fixed = $value),*)?] [$($($opt)*)?]
        );
        $crate::read_object!($name);
    };
    (@new $name:ident [] [] [$($opt:ident)*]) => {};
    (@new $name:ident [] [$($fixed:ident = $value:expr),*] [$($opt:ident)*]) => {
        impl ::std::default::Default for $name {
            fn default() -> Self {
                Self {
                    $($fixed: $value,)*
                    $($opt: ::std::option::Option::None,)*
                    extra: $crate::Map::new(),
                }
            }
        }
    };
    (
        @new $name:ident [$($arg:ident: $kind:ident $ty:ty),+] [$($fixed:ident = $value:expr),*]
        [$($opt:ident)*]
    ) => {
        impl $name {
            /// Creates a value with the required members; other members are absent.
            #[must_use]
            pub fn new($($arg: $crate::object!(@argument $kind $ty)),+) -> Self {
                Self {
                    $($arg: $crate::object!(@convert $kind $arg),)+
                    $($fixed: $value,)*
                    $($opt: ::std::option::Option::None,)*
                    extra: $crate::Map::new(),
                }
            }
        }
    };
    (@argument plain $ty:ty) => { $ty };
    (@argument into $ty:ty) => { impl ::std::convert::Into<$ty> };
    (@argument boxed $ty:ty) => { impl ::std::convert::Into<$ty> };
    (@argument list $ty:ty) => {
        impl ::std::iter::IntoIterator<
            Item = impl ::std::convert::Into<<$ty as ::std::iter::IntoIterator>::Item>,
        >
    };
    (@argument items $ty:ty) => {
        impl ::std::iter::IntoIterator<Item = <$ty as ::std::iter::IntoIterator>::Item>
    };
    (@argument into_list $ty:ty) => { impl $crate::contract::IntoList<$ty> };
    (@convert plain $arg:ident) => { $arg };
    (@convert into $arg:ident) => { $arg.into() };
    (@convert boxed $arg:ident) => { ::std::boxed::Box::new($arg.into()) };
    (@convert list $arg:ident) => { $arg.into_iter().map(::std::convert::Into::into).collect() };
    (@convert items $arg:ident) => { $arg.into_iter().collect() };
    (@convert into_list $arg:ident) => { $crate::contract::IntoList::into_list($arg) };
    (@missing [] []) => {};
    // There is a single exit for all missing members, because separate exits would each drop all values that
    // were read before.
    (@missing [$($tag:ident $tag_wire:literal)*] [$($req:ident $req_wire:literal)*]) => {
        let members = [$(($tag_wire, $tag.is_some()),)* $(($req_wire, $req.is_some()),)*];
        let (true, $(::std::option::Option::Some($req),)*) = (true $(&& $tag.is_some())*, $($req,)*) else {
            return ::std::result::Result::Err($crate::read::missing_field_error(&members));
        };
    };
    (@extra $self:ident $at:ident $found:ident undeclared) => {
        $found.add_all($at, &$self.extra);
    };
    (@extra $self:ident $at:ident $found:ident declared) => {};
    (@extra $self:ident $at:ident $found:ident values) => {
        $crate::contract::ReportUndeclared::report_undeclared(&$self.extra, $at, $found);
    };
    (@extra $self:ident $at:ident $found:ident undeclared unless [$($pattern:expr),+ $(,)?]) => {
        for name in $self.extra.keys() {
            if !($($pattern.is_match(name))||+) {
                $found.add_member($at, name);
            }
        }
    };
}

/// Defines the builder of a struct. It has a setter for each member, and `build`, which validates the
/// complete value.
///
/// Each field has its name on the wire and the kind of its setter: `one` converts into the field's type, and
/// `boxed` boxes the value. The setters of lists collect from an iterator of values that convert into the items
/// (`list`) or of the items themselves (`items`), or accept any [`IntoList`](crate::contract::IntoList)
/// (`into_list`). `constant` fields are required and have a default value.
#[macro_export]
macro_rules! builder {
    (
        $name:ident $builder:ident {
            $(required { $($req:ident: $req_kind:ident $req_ty:ty $(as $req_as:ident)? = $req_wire:literal),* $(,)? })?
            $(optional { $($opt:ident: $opt_kind:ident $opt_ty:ty $(as $opt_as:ident)? = $opt_wire:literal),* $(,)? })?
            $(constant {
                $(
                    $con:ident: $con_kind:ident $con_ty:ty $(as $con_as:ident)?
                    = $con_wire:literal or $constant:expr
                ),* $(,)?
            })?
            $(extra $extra:ty)?
        }
    ) => {
        #[doc = concat!("Builds a [`", stringify!($name), "`]; [`build`](Self::build) checks it.")]
        #[derive(Clone, Debug, Default)]
        #[must_use = "a builder does nothing until it is built"]
        pub struct $builder {
            $($($req: ::std::option::Option<$req_ty>,)*)?
            $($($opt: ::std::option::Option<$opt_ty>,)*)?
            $($($con: ::std::option::Option<$con_ty>,)*)?
            $(extra: $crate::Map<$extra>,)?
        }
        impl $name {
            #[doc = concat!("Starts a builder: set the members, then [`build`](", stringify!($builder), "::build).")]
            pub fn builder() -> $builder {
                <$builder as ::std::default::Default>::default()
            }
        }
        impl $builder {
            $($($crate::builder!(@setter $name $req $req_wire $req_kind $req_ty [$($req_as)?]);)*)?
            $($($crate::builder!(@setter $name $opt $opt_wire $opt_kind $opt_ty [$($opt_as)?]);)*)?
            $($($crate::builder!(@setter $name $con $con_wire $con_kind $con_ty [$($con_as)?]);)*)?
            $(
                /// Adds a member for which there is no setter.
                pub fn extra(
                    mut self,
                    name: impl ::std::convert::Into<::std::string::String>,
                    value: impl ::std::convert::Into<$extra>,
                ) -> Self {
                    self.extra.insert(name.into(), value.into());
                    self
                }
            )?
            /// Validates all constraints of the contract and returns the value.
            ///
            /// # Errors
            /// Returns a violation for each missing member or, if none is missing, for each violated
            /// constraint.
            pub fn build(self) -> ::std::result::Result<$name, $crate::violation::Violations> {
                $crate::builder!(@missing $name self [$($($req $req_wire)*)?]);
                let value = $name {
                    $($($req,)*)?
                    $($($opt: self.$opt,)*)?
                    $($($con: self.$con.unwrap_or($constant),)*)?
                    extra: $crate::builder!(@extra self $($extra)?),
                };
                $crate::Contract::validate(&value).map(|()| value)
            }
        }
    };
    (@missing $name:ident $self:ident []) => {};
    (@missing $name:ident $self:ident [$($req:ident $wire:literal)+]) => {
        let given = [$(($wire, $self.$req.is_some())),+];
        let ($(::std::option::Option::Some($req),)+) = ($($self.$req,)+) else {
            return ::std::result::Result::Err($crate::contract::missing_members(
                <$name as $crate::Contract>::VALIDATOR,
                &given,
            ));
        };
    };
    (@extra $self:ident) => { $crate::Map::new() };
    (@extra $self:ident $extra:ty) => { $self.extra };
    (@setter $name:ident $field:ident $wire:literal $kind:ident $ty:ty []) => {
        $crate::builder!(@setter $name $field $wire $kind $ty [$field]);
    };
    (@setter $name:ident $field:ident $wire:literal one $ty:ty [$method:ident]) => {
        #[doc = concat!("Sets the member `", $wire, "` of [`", stringify!($name), "`].")]
        pub fn $method(mut self, value: impl ::std::convert::Into<$ty>) -> Self {
            self.$field = ::std::option::Option::Some(value.into());
            self
        }
    };
    (@setter $name:ident $field:ident $wire:literal boxed $ty:ty [$method:ident]) => {
        #[doc = concat!("Sets the member `", $wire, "` of [`", stringify!($name), "`].")]
        pub fn $method(
            mut self,
            value: impl ::std::convert::Into<<$ty as ::std::ops::Deref>::Target>,
        ) -> Self {
            self.$field = ::std::option::Option::Some(::std::boxed::Box::new(value.into()));
            self
        }
    };
    (@setter $name:ident $field:ident $wire:literal $kind:ident $ty:ty [$method:ident]) => {
        #[doc = concat!("Sets the member `", $wire, "` of [`", stringify!($name), "`].")]
        pub fn $method(mut self, value: $crate::object!(@argument $kind $ty)) -> Self {
            self.$field = ::std::option::Option::Some($crate::object!(@convert $kind value));
            self
        }
    };
}

/// Implements a closed union of objects that are discriminated by a tag, given each variant with its tag
/// values. Objects with another tag are rejected.
///
/// A union of objects may also have variants for values of other JSON types, in the section `others`; see
/// [`untagged_union!`](crate::untagged_union).
#[macro_export]
macro_rules! closed_union {
    (
        $name:ident by tag $tag:literal {
            variants { $($variant:ident = $first:literal $(| $more:literal)*),* $(,)? }
            $(others expects $expected:literal {
                $($other_variant:ident = $json_type:ident $([$($item:ident),*])?),* $(,)?
            })?
        }
    ) => {
        impl<'de> $crate::read::FromMap<'de> for $name {
            const EXPECTING: &'static str = concat!("an object (", stringify!($name), ")");
            fn from_map<A: ::serde::de::MapAccess<'de>>(map: A) -> ::std::result::Result<Self, A::Error> {
                $crate::read::read_tagged(map, $tag, |tag, rest| match tag {
                    $(tag if tag == $first $(|| tag == $more)* => {
                        $crate::read::FromMap::from_map(rest.with_tag()).map(Self::$variant)
                    })*
                    _ => ::std::result::Result::Err(::serde::de::Error::custom("no variant has this tag")),
                })
            }
        }
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(value) => ::serde::Serialize::serialize(value, serializer),)*
                    $($(Self::$other_variant(value) => ::serde::Serialize::serialize(value, serializer),)*)?
                }
            }
        }
        $crate::read_object!(
            $name $(or $expected { $($other_variant = $json_type $([$($item),*])?),* })?
        );
    };
}

/// Implements an open union of objects that are discriminated by a tag, given each variant with its tag
/// values. Objects with another tag are stored in `Unknown`.
///
/// With `tag`, an object without the tag is rejected; with `optional_tag`, it becomes `Unknown`. With
/// `discriminator`, an object that the variant of its tag cannot represent becomes `Unknown` as well. If a
/// variant follows the name of the discriminator, objects with another tag or without a tag are read as this
/// variant.
#[macro_export]
macro_rules! open_union {
    (
        $name:ident by $by:ident $tag:literal $($default:ident)? {
            variants { $($variant:ident = $first:literal $(| $more:literal)*),* $(,)? }
            $(others expects $expected:literal {
                $($other_variant:ident = $json_type:ident $([$($item:ident),*])?),* $(,)?
            })?
        }
    ) => {
        impl $name {
            /// Returns true if this version of the contract lists the tag.
            #[must_use]
            pub const fn is_known(&self) -> bool {
                !matches!(self, Self::Unknown(_))
            }
        }
        impl<'de> $crate::read::FromMap<'de> for $name {
            const EXPECTING: &'static str = concat!("an object (", stringify!($name), ")");
            fn from_map<A: ::serde::de::MapAccess<'de>>(map: A) -> ::std::result::Result<Self, A::Error> {
                $crate::open_union!(@$by map $tag [$($default)?] $($variant [$first $(, $more)*])*)
            }
        }
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(value) => ::serde::Serialize::serialize(value, serializer),)*
                    $($(Self::$other_variant(value) => ::serde::Serialize::serialize(value, serializer),)*)?
                    Self::Unknown(value) => ::serde::Serialize::serialize(value, serializer),
                }
            }
        }
        $crate::read_object!(
            $name $(or $expected { $($other_variant = $json_type $([$($item),*])?),* })?
        );
    };
    (@tag $map:ident $tag:literal [] $($variants:tt)*) => {
        $crate::open_union!(@read read_tagged $map $tag $($variants)*)
    };
    (@optional_tag $map:ident $tag:literal [] $($variants:tt)*) => {
        $crate::open_union!(@read read_optionally_tagged $map $tag $($variants)*)
    };
    (@read $reader:ident $map:ident $tag:literal $($variant:ident [$($literal:literal),*])*) => {
        $crate::read::$reader($map, $tag, |tag, rest| match tag {
            $(tag if $(tag == $literal)||* => {
                $crate::read::FromMap::from_map(rest.with_tag()).map(Self::$variant)
            })*
            _ => $crate::read::FromMap::from_map(rest.with_tag()).map(Self::Unknown),
        })
    };
    (@otherwise $rest:ident) => {
        ::std::option::Option::None
    };
    (@otherwise $rest:ident $default:ident) => {
        ::std::option::Option::Some($crate::read::FromMap::from_map($rest).map(Self::$default))
    };
    (@discriminator $map:ident $tag:literal [$($default:ident)?] $($variant:ident [$($literal:literal),*])*) => {
        $crate::read::read_discriminated(
            $map,
            $tag,
            |tag, rest| match tag {
                $(tag if $(tag == $literal)||* => ::std::option::Option::Some(
                    $crate::read::FromMap::from_map(rest).map(Self::$variant),
                ),)*
                _ => $crate::open_union!(@otherwise rest $($default)?),
            },
            Self::Unknown,
        )
    };
}

/// Implements reading and writing of a union of objects without a tag, given each variant with its type and
/// its [`ObjectForm`](crate::read::ObjectForm). With `open VARIANT`, objects that have none of these forms
/// are stored in the named variant.
#[macro_export]
macro_rules! object_union {
    (
        $name:ident $(open $unknown:ident)? {
            $([others expects $expected:literal] {
                $($other_variant:ident = $json_type:ident $([$($item:ident),*])?),* $(,)?
            })?
            $(
                $variant:ident($ty:ty) $($closed:ident)? {
                    $(
                        $member:literal $presence:ident [$($kind:ident),*]
                        $(= $first:ident($value:literal) $(| $more:ident($other:literal))*)?
                    ),* $(,)?
                }
            )*
        }
    ) => {
        $(
            impl $name {
                /// Returns true if the object has one of the listed forms.
                #[must_use]
                pub const fn is_known(&self) -> bool {
                    !matches!(self, Self::$unknown(_))
                }
            }
        )?
        impl<'de> $crate::read::FromMap<'de> for $name {
            const EXPECTING: &'static str = concat!("an object (", stringify!($name), ")");
            fn from_map<A: ::serde::de::MapAccess<'de>>(map: A) -> ::std::result::Result<Self, A::Error> {
                const FORMS: &[$crate::read::ObjectForm] = &[$(
                    $crate::read::ObjectForm {
                        members: &[$(
                            $crate::read::MemberRule {
                                name: $member,
                                required: $crate::object_union!(@$presence),
                                is_tag: $crate::object_union!(@tag $presence),
                                types: &[$($crate::JsonType::$kind),*],
                                literals: &[$(
                                    $crate::read::TagValue::$first($value)
                                    $(, $crate::read::TagValue::$more($other))*
                                )?],
                            },
                        )*],
                        closed: $crate::object_union!(@is $($closed)?),
                    },
                )*];
                const VALIDATORS: &[$crate::schema::Validator<'static>] =
                    &[$(<$ty as $crate::Contract>::VALIDATOR),*];
                type Members<'de, E> = $crate::read::TaggedMembers<'de, $crate::read::NoMembers<E>>;
                let readers: &[fn(Members<'de, A::Error>) -> ::std::result::Result<Self, A::Error>] =
                    &[$(|members| $crate::read::FromMap::from_map(members).map(Self::$variant)),*];
                $crate::read::read_by_form(
                    map,
                    FORMS,
                    |index, object| VALIDATORS[index].is_valid(object),
                    |index, members| readers[index](members),
                    $crate::object_union!(@unknown $($unknown)?),
                )
            }
        }
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(value) => ::serde::Serialize::serialize(value, serializer),)*
                    $($(Self::$other_variant(value) => ::serde::Serialize::serialize(value, serializer),)*)?
                    $(Self::$unknown(value) => ::serde::Serialize::serialize(value, serializer),)?
                }
            }
        }
        $crate::read_object!(
            $name $(or $expected { $($other_variant = $json_type $([$($item),*])?),* })?
        );
    };
    (@required) => { true };
    (@optional) => { false };
    (@required_tag) => { true };
    (@optional_tag) => { false };
    (@tag required) => { false };
    (@tag optional) => { false };
    (@tag required_tag) => { true };
    (@tag optional_tag) => { true };
    (@is) => { false };
    (@is closed) => { true };
    (@unknown) => { ::std::option::Option::None };
    (@unknown $unknown:ident) => { ::std::option::Option::Some(Self::$unknown) };
}

/// Implements `Debug` for an [`open_union!`](crate::open_union) whose variants contain secrets. For
/// `Unknown`, only the tag is printed, if there is one.
#[macro_export]
macro_rules! secret_union {
    ($name:ident { $($variant:ident),* $(,)? }) => {
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $(Self::$variant(value) => f.debug_tuple(stringify!($variant)).field(value).finish(),)*
                    Self::Unknown(_) => f.debug_struct("Unknown").finish_non_exhaustive(),
                }
            }
        }
    };
    ($name:ident $tag:literal { $($variant:ident),* $(,)? }) => {
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $(Self::$variant(value) => f.debug_tuple(stringify!($variant)).field(value).finish(),)*
                    Self::Unknown(value) => $crate::secret::debug_unknown_variant(value, $tag, f),
                }
            }
        }
    };
}

/// Implements a union of values that are discriminated by their JSON type, given each variant with one
/// [`JsonType`](crate::JsonType). If several variants are arrays, each lists the JSON types of its first
/// element; an empty array becomes the first of these variants.
#[macro_export]
macro_rules! untagged_union {
    (
        $name:ident expects $expected:literal {
            variants { $($variant:ident = $json_type:ident $([$($item:ident),*])?),* $(,)? }
        }
    ) => {
        impl<'de> $crate::read::ReadJson<'de> for $name {
            fn read_json<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                let value = $crate::read::peek_value(deserializer)?;
                match value.json_type() {
                    $(
                        $crate::JsonType::$json_type
                            $(if value.may_have_items(&[$($crate::JsonType::$item),*]))?
                        => value.read_value().map(Self::$variant),
                    )*
                    _ => ::std::result::Result::Err(value.type_error($expected)),
                }
            }
        }
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(value) => ::serde::Serialize::serialize(value, serializer),)*
                }
            }
        }
        $crate::deserialize_by_read_json!($name);
    };
}

/// Implements [`Contract`](crate::Contract) for a type without constraints: every value of the type is valid.
#[macro_export]
macro_rules! unconstrained_contract {
    ($name:ident = $validator:expr) => {
        impl $crate::Contract for $name {
            const VALIDATOR: $crate::schema::Validator<'static> = $validator;
            fn is_valid(&self) -> bool {
                true
            }
        }
    };
}
