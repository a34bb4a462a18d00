//! The trait implementations that do not vary between generated types.

mod formats;
#[cfg(feature = "schemars")]
mod json_schema;
mod newtypes;
mod rows;
#[cfg(feature = "proptest")]
mod strategies;

/// `Deserialize` through [`Read`](crate::read::Read), for types that other serde users embed.
#[macro_export]
macro_rules! deserialize_by_read {
    ($name:ident) => {
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::read::Read::read(deserializer)
            }
        }
    };
}

/// `Read` and `Deserialize` for a type that reads itself from the members of an object.
#[macro_export]
macro_rules! read_object {
    ($name:ident) => {
        impl<'de> $crate::read::Read<'de> for $name {
            fn read<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::read::object(deserializer)
            }
        }
        $crate::deserialize_by_read!($name);
    };
}

/// What a type with `as_str` can do because it is text: `Display`, `Serialize`, `AsRef<str>`, and
/// to be compared with a text.
#[macro_export]
macro_rules! text {
    ($name:ident) => {
        $crate::text_out!($name);
        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.as_str() == other
            }
        }
        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.as_str() == *other
            }
        }
    };
}

/// A type with `as_str` as text: `Display`, `Serialize`, `AsRef<str>`, and `Deserialize`.
#[macro_export]
macro_rules! text_out {
    ($name:ident) => {
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }
        $crate::deserialize_by_read!($name);
    };
}

/// A string enumeration that knows all its values: each variant with the text that it is on the
/// wire.
#[macro_export]
macro_rules! closed_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$doc:meta])* $variant:ident = $wire:literal),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(
                $(#[$doc])*
                #[doc = ""]
                #[doc = concat!("`", $wire, "`")]
                $variant,
            )*
        }
        impl $name {
            /// Every value, in the order of the contract.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];
            /// The value as it stands on the wire.
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
        impl<'de> $crate::read::Read<'de> for $name {
            fn read<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::contract::read_text(deserializer, |text| text.parse())
            }
        }
        impl $crate::contract::ReportUndeclared for $name {}
        $crate::text!($name);
    };
}

/// A string enumeration that keeps values it does not know: each variant with the text that it is
/// on the wire, and `Unknown`.
#[macro_export]
macro_rules! open_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$doc:meta])* $variant:ident = $wire:literal),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(
                $(#[$doc])*
                #[doc = ""]
                #[doc = concat!("`", $wire, "`")]
                $variant,
            )*
            /// A value that this version of the contract does not list, as it came. Made by `from`,
            /// which never puts a listed value here.
            #[non_exhaustive]
            Unknown(::std::boxed::Box<str>),
        }
        impl $name {
            /// Every value that this version of the contract lists, in its order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];
            /// The value as it stands on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $wire,)*
                    Self::Unknown(text) => text,
                }
            }
            /// Whether this version of the contract lists the value.
            #[must_use]
            pub const fn is_known(&self) -> bool {
                !matches!(self, Self::Unknown(_))
            }
            /// The text of a value that this version of the contract does not list.
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
        impl<'de> $crate::read::Read<'de> for $name {
            fn read<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::contract::read_text(deserializer, |text| {
                    ::std::result::Result::<_, $crate::contract::UnknownValue>::Ok(text.into())
                })
            }
        }
        impl $crate::contract::ReportUndeclared for $name {}
        $crate::text!($name);
    };
}

/// The reading, writing and undeclared members of a struct whose fields are members of an object.
///
/// `tag` lists members that have one value and no field, `required` and `optional` the fields, each
/// with its name on the wire; `nested` those in which undeclared members may stand, and `extra`
/// says what the members without a field are: `undeclared`, `declared`, `values` of a type that
/// may hold undeclared members itself, or `undeclared unless [PATTERN, …]` matches.
/// Tags are written first, since readers that look for one need not buffer what stands before,
/// then what is required, then the rest.
#[macro_export]
macro_rules! object {
    (
        $name:ident {
            $(tag { $($tag:ident = $tag_wire:literal is $constant:expr),* $(,)? })?
            $(required { $($req:ident = $req_wire:literal),* $(,)? })?
            $(optional { $($opt:ident = $opt_wire:literal),* $(,)? })?
            $(nested { $($nested:ident = $nested_wire:literal),* $(,)? })?
            extra $($extra:tt)+
        }
    ) => {
        impl $name {
            /// The members that have fields or one value; `extra` holds none of them.
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
                while let ::std::option::Option::Some(key) = map.next_key::<$crate::read::Key<'de>>()? {
                    match key.as_str() {
                        $($($tag_wire => {
                            $crate::read::constant(&mut map, &mut $tag, $tag_wire, &$constant)
                        })*)?
                        $($($req_wire => $crate::read::field(&mut map, &mut $req, $req_wire),)*)?
                        $($($opt_wire => $crate::read::field(&mut map, &mut $opt, $opt_wire),)*)?
                        _ => $crate::read::extra(&mut map, &mut extra, key),
                    }?;
                }
                $crate::object!(@due [$($($tag $tag_wire)*)?] [$($($req $req_wire)*)?]);
                ::std::result::Result::Ok(Self { $($($req,)*)? $($($opt,)*)? extra })
            }
        }
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                let mut members = $crate::read::Members::new(serializer)?;
                $($(members.entry($tag_wire, &$constant);)*)?
                $($(members.entry($req_wire, &self.$req);)*)?
                $($(members.optional($opt_wire, &self.$opt);)*)?
                members.rest(&self.extra, Self::DECLARED);
                members.end()
            }
        }
        impl $crate::contract::ReportUndeclared for $name {
            fn report_undeclared(
                &self,
                at: &$crate::violation::Path<'_>,
                found: &mut $crate::contract::Undeclared,
            ) {
                $crate::object!(@extra self at found $($extra)+);
                $($($crate::contract::ReportUndeclared::report_undeclared(
                    &self.$nested,
                    &at.key($nested_wire),
                    found,
                );)*)?
            }
        }
        $crate::read_object!($name);
    };
    (@due [] []) => {};
    // One way out for all: each of its own would drop everything that was read before it.
    (@due [$($tag:ident $tag_wire:literal)*] [$($req:ident $req_wire:literal)*]) => {
        let due = [$(($tag_wire, $tag.is_some()),)* $(($req_wire, $req.is_some()),)*];
        let (true, $(::std::option::Option::Some($req),)*) = (true $(&& $tag.is_some())*, $($req,)*) else {
            return ::std::result::Result::Err($crate::read::missing(&due));
        };
    };
    (@extra $self:ident $at:ident $found:ident undeclared) => {
        $found.members($at, &$self.extra);
    };
    (@extra $self:ident $at:ident $found:ident declared) => {};
    (@extra $self:ident $at:ident $found:ident values) => {
        $crate::contract::ReportUndeclared::report_undeclared(&$self.extra, $at, $found);
    };
    (@extra $self:ident $at:ident $found:ident undeclared unless [$($pattern:expr),+ $(,)?]) => {
        for name in $self.extra.keys() {
            if !($($pattern.is_match(name))||+) {
                $found.member($at, name);
            }
        }
    };
}

/// The builder of a struct: every member by name, checked as a whole when it is built.
///
/// Each field with its name on the wire and how its setter takes the value: `one` into its type,
/// `list` from anything with elements, `boxed` behind a pointer. `constant` fields are required
/// and have a value when none is given.
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
                /// Adds another member of the object.
                pub fn extra(
                    mut self,
                    name: impl ::std::convert::Into<::std::string::String>,
                    value: impl ::std::convert::Into<$extra>,
                ) -> Self {
                    self.extra.insert(name.into(), value.into());
                    self
                }
            )?
            /// Checks all rules of the contract and gives the value.
            ///
            /// # Errors
            /// Every member that is missing, or else every rule that is broken.
            pub fn build(self) -> ::std::result::Result<$name, $crate::violation::Violations> {
                $crate::builder!(@due $name self [$($($req $req_wire)*)?]);
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
    (@due $name:ident $self:ident []) => {};
    (@due $name:ident $self:ident [$($req:ident $wire:literal)+]) => {
        let given = [$(($wire, $self.$req.is_some())),+];
        let ($(::std::option::Option::Some($req),)+) = ($($self.$req,)+) else {
            return ::std::result::Result::Err($crate::contract::missing(
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
    (@setter $name:ident $field:ident $wire:literal list $ty:ty [$method:ident]) => {
        #[doc = concat!("Sets the member `", $wire, "` of [`", stringify!($name), "`].")]
        pub fn $method(
            mut self,
            value: impl ::std::iter::IntoIterator<
                Item = impl ::std::convert::Into<<$ty as ::std::iter::IntoIterator>::Item>,
            >,
        ) -> Self {
            self.$field = ::std::option::Option::Some(
                value.into_iter().map(::std::convert::Into::into).collect(),
            );
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
}

/// An enumeration of objects that a tag tells apart, and that has a variant for each object it
/// can be: each variant with the values of the tag that mean it.
#[macro_export]
macro_rules! closed_union {
    (
        #[tag = $tag:literal]
        $(#[$meta:meta])*
        pub enum $name:ident {
            $(
                $(#[$doc:meta])*
                $variant:ident($ty:ty $(,)?) = $first:literal $(| $more:literal)*
            ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        pub enum $name {
            $(
                $(#[$doc])*
                #[doc = concat!("`", $tag, "` is `", stringify!($first), "`" $(, " or `", stringify!($more), "`")*, ".")]
                $variant($ty),
            )*
        }
        impl<'de> $crate::read::FromMap<'de> for $name {
            const EXPECTING: &'static str = concat!("an object (", stringify!($name), ")");
            fn from_map<A: ::serde::de::MapAccess<'de>>(map: A) -> ::std::result::Result<Self, A::Error> {
                $crate::read::tagged(map, $tag, |tag, rest| match tag {
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
                }
            }
        }
        $crate::read_object!($name);
    };
}

/// An enumeration of objects that a tag tells apart, and that keeps an object with a tag it does
/// not know: each variant with the values of the tag that mean it, and `Unknown`.
///
/// An object without the `tag` is none of it; without the `optional_tag` it is unknown, and by a
/// `discriminator` also one that its variant cannot hold. Where a variant stands beside the
/// discriminator's name, other tags and none mean it.
#[macro_export]
macro_rules! open_union {
    (#[$by:ident = $tag:literal] $($rest:tt)*) => {
        $crate::open_union!(@enum $by $tag [] $($rest)*);
    };
    (#[$by:ident = ($tag:literal, $default:ident)] $($rest:tt)*) => {
        $crate::open_union!(@enum $by $tag [$default] $($rest)*);
    };
    (
        @enum $by:ident $tag:literal [$($default:ident)?]
        $(#[$meta:meta])*
        pub enum $name:ident {
            $(
                $(#[$doc:meta])*
                $variant:ident($ty:ty $(,)?) = $first:literal $(| $more:literal)*
            ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        pub enum $name {
            $(
                $(#[$doc])*
                #[doc = concat!("`", $tag, "` is `", stringify!($first), "`" $(, " or `", stringify!($more), "`")*, ".")]
                $variant($ty),
            )*
            #[doc = $crate::open_union!(@doc $by $tag)]
            Unknown($crate::Json),
        }
        impl $name {
            /// Whether this version of the contract lists the tag.
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
                    Self::Unknown(value) => ::serde::Serialize::serialize(value, serializer),
                }
            }
        }
        $crate::read_object!($name);
    };
    (@doc tag $tag:literal) => {
        concat!("Any other `", $tag, "`; the object as it came.")
    };
    (@doc optional_tag $tag:literal) => {
        concat!("Any other `", $tag, "`, or none; the object as it came.")
    };
    (@doc discriminator $tag:literal) => {
        concat!("Any other `", $tag, "`, none, or an object that is not what it says, or holds one that is not more than eight such unions deep; as it came.")
    };
    (@tag $map:ident $tag:literal [] $($variants:tt)*) => {
        $crate::open_union!(@read tagged $map $tag $($variants)*)
    };
    (@optional_tag $map:ident $tag:literal [] $($variants:tt)*) => {
        $crate::open_union!(@read perhaps_tagged $map $tag $($variants)*)
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
        $crate::read::meant(
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

/// The `Debug` of an [`open_union`](crate::open_union) whose variants hold secrets: `Unknown` shows
/// the tag alone.
#[macro_export]
macro_rules! secret_union {
    ($name:ident $tag:literal { $($variant:ident),* $(,)? }) => {
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $(Self::$variant(value) => f.debug_tuple(stringify!($variant)).field(value).finish(),)*
                    Self::Unknown(value) => $crate::secret::unknown(value, $tag, f),
                }
            }
        }
    };
}

/// An enumeration of values that their JSON type tells apart: each variant with its
/// [`Kind`](crate::Kind)s.
#[macro_export]
macro_rules! kinds {
    (
        #[expected = $expected:literal]
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$doc:meta])* $variant:ident($ty:ty $(,)?) = $kind:ident),* $(,)?
        }
    ) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$doc])* $variant($ty),)*
        }
        impl<'de> $crate::read::Read<'de> for $name {
            fn read<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                let value = $crate::read::peek(deserializer)?;
                match value.kind() {
                    $($crate::Kind::$kind => value.parse().map(Self::$variant),)*
                    _ => ::std::result::Result::Err(value.unexpected($expected)),
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
        $crate::deserialize_by_read!($name);
    };
}

/// What an enumeration of several types can do because its variants hold one value each: be made
/// `from` what one of them alone holds, and report what stands undeclared in the `nested` ones.
#[macro_export]
macro_rules! variants {
    (
        $name:ident {
            $(from { $($from:ident($ty:ty $(,)?)),* $(,)? })?
            $(nested { $($nested:ident),* $(,)? })?
        }
    ) => {
        $($(
            impl ::std::convert::From<$ty> for $name {
                fn from(value: $ty) -> Self {
                    Self::$from(value.into())
                }
            }
        )*)?
        impl $crate::contract::ReportUndeclared for $name {
            fn report_undeclared(
                &self,
                at: &$crate::violation::Path<'_>,
                found: &mut $crate::contract::Undeclared,
            ) {
                match self {
                    $($(Self::$nested(value) => {
                        $crate::contract::ReportUndeclared::report_undeclared(value, at, found);
                    })*)?
                    _ => {}
                }
            }
        }
    };
}

/// A type of a contract: its schema, and whether a value obeys it; every value does when nothing is
/// said.
#[macro_export]
macro_rules! contract {
    ($name:ident = $validator:expr) => {
        impl $crate::Contract for $name {
            const VALIDATOR: $crate::schema::Validator<'static> = $validator;
            fn is_valid(&self) -> bool {
                true
            }
        }
    };
}
