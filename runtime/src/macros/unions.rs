//! Methods and conversions of unions.

/// Implements for a union: the methods `as_…` and `into_…` for each variant in `access`, conversions `from`
/// the values of its variants, conversions `from_text` and `from_array` into the only variant that is built from
/// them, and the report of undeclared members in its `nested` variants.
///
/// The kind of a variant's value determines the return value of `as_…`: for `copy` the value, for `text` a
/// `&str`, for `boxed` a reference to the value in the box, and for `one` a reference to the value.
#[macro_export]
macro_rules! union_variants {
    (
        $name:ident {
            $(access { $($variant:ident: $kind:ident $payload:ty = $get:ident $take:ident),* $(,)? })?
            $(from { $($from:ident($ty:ty $(,)?)),* $(,)? })?
            $(from_text { $text:ident $(,)? })?
            $(from_array { $array:ident: $array_kind:ident $array_ty:ty $(,)? })?
            $(nested { $($nested:ident),* $(,)? })?
        }
    ) => {
        $(impl $name {
            $($crate::union_variants!(@access $kind $variant $payload = $get $take);)*
        })?
        $($(
            impl ::std::convert::From<$ty> for $name {
                fn from(value: $ty) -> Self {
                    Self::$from(value.into())
                }
            }
        )*)?
        $(
            impl ::std::convert::From<&str> for $name {
                fn from(value: &str) -> Self {
                    Self::$text(value.into())
                }
            }
        )?
        $($crate::union_variants!(@from_array $name $array $array_kind $array_ty);)?
        impl $crate::contract::ReportUndeclared for $name {
            fn report_undeclared(
                &self,
                at: &$crate::violation::InstancePath<'_>,
                found: &mut $crate::contract::UndeclaredMembers,
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
    (@from_array $name:ident $variant:ident items $ty:ty) => {
        impl<const N: usize> ::std::convert::From<[<$ty as ::std::iter::IntoIterator>::Item; N]> for $name {
            fn from(items: [<$ty as ::std::iter::IntoIterator>::Item; N]) -> Self {
                Self::$variant(items.into_iter().collect())
            }
        }
    };
    (@from_array $name:ident $variant:ident $kind:ident $ty:ty) => {
        impl<T, const N: usize> ::std::convert::From<[T; N]> for $name
        where
            T: ::std::convert::Into<<$ty as ::std::iter::IntoIterator>::Item>,
        {
            fn from(items: [T; N]) -> Self {
                Self::$variant(items.into_iter().map(::std::convert::Into::into).collect())
            }
        }
    };
    (@access copy $variant:ident $payload:ty = $get:ident $take:ident) => {
        #[doc = concat!("Returns the value of [`", stringify!($variant), "`](Self::", stringify!($variant), "), or `None` for another variant.")]
        #[must_use]
        #[allow(unreachable_patterns, reason = "a union may have one variant")]
        pub const fn $get(&self) -> ::std::option::Option<$payload> {
            match self {
                Self::$variant(value) => ::std::option::Option::Some(*value),
                _ => ::std::option::Option::None,
            }
        }
    };
    (@access text $variant:ident $payload:ty = $get:ident $take:ident) => {
        $crate::union_variants!(@get $variant str, $get);
        $crate::union_variants!(@take $variant $payload, $take value => value);
    };
    (@access one $variant:ident $payload:ty = $get:ident $take:ident) => {
        $crate::union_variants!(@get $variant $payload, $get);
        $crate::union_variants!(@take $variant $payload, $take value => value);
    };
    (@access boxed $variant:ident $payload:ty = $get:ident $take:ident) => {
        $crate::union_variants!(@get $variant $payload, $get);
        $crate::union_variants!(@take $variant $payload, $take value => *value);
    };
    (@get $variant:ident $payload:ty, $get:ident) => {
        #[doc = concat!("Returns the value of [`", stringify!($variant), "`](Self::", stringify!($variant), "), or `None` for another variant.")]
        #[must_use]
        #[allow(unreachable_patterns, reason = "a union may have one variant")]
        pub fn $get(&self) -> ::std::option::Option<&$payload> {
            match self {
                Self::$variant(value) => ::std::option::Option::Some(value),
                _ => ::std::option::Option::None,
            }
        }
    };
    (@take $variant:ident $payload:ty, $take:ident $value:ident => $taken:expr) => {
        #[doc = concat!("Converts into the value of [`", stringify!($variant), "`](Self::", stringify!($variant), ").")]
        ///
        /// # Errors
        /// Returns the union unchanged if it is another variant.
        #[allow(unreachable_patterns, reason = "a union may have one variant")]
        pub fn $take(self) -> ::std::result::Result<$payload, Self> {
            match self {
                Self::$variant($value) => ::std::result::Result::Ok($taken),
                other => ::std::result::Result::Err(other),
            }
        }
    };
}
