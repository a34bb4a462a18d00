//! Implementations of [`ReadJson`] for the types that generated types are built from.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

use super::{ReadJson, ReadSeed};
use crate::map::MapVisitor;
use crate::nullable::NullableVisitor;
use crate::{Json, Map, Nullable, Number, Secret, raw, secret};

macro_rules! read_by_serde {
    ($($type:ty),*) => {$(
        impl<'de> ReadJson<'de> for $type {
            #[inline]
            fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }
        }
    )*};
}

read_by_serde!(bool, String, Number, Json);

macro_rules! read_integer {
    ($($type:ty),*) => {$(
        impl<'de> ReadJson<'de> for $type {
            /// Accepts integers regardless of their spelling, such as `1.0` or `1e2`. Fails for fractions and
            /// for values outside the range of the type.
            fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = read_integer_value(deserializer)?;
                Self::try_from(value).map_err(|_| D::Error::custom("integer out of range"))
            }
        }
    )*};
}

read_integer!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

/// Reads an integer. All integer types share this function, to keep the code small.
///
/// Parses the JSON text, because an `f64` is inexact: `serde_json` reads `9007199254740991.0` as one less,
/// although the integer is exactly representable.
fn read_integer_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i128, D::Error> {
    let text = raw::read_raw_text(deserializer)?;
    let number = Number::parse(&text).map_err(|_| raw::type_mismatch(&text, "an integer"))?;
    number.as_i128().ok_or_else(|| {
        D::Error::custom(if number.is_integer() { "integer out of range" } else { "not an integer" })
    })
}

impl<'de> ReadJson<'de> for f64 {
    /// Returns the nearest float, which `serde_json` does not always find. The result is infinite outside the
    /// range of the type.
    fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Number::deserialize(deserializer).map(|number| number.to_f64())
    }
}

impl<'de, T: ReadJson<'de>> ReadJson<'de> for Box<T> {
    fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read_json(deserializer).map(Self::new)
    }
}

impl<'de, T: ReadJson<'de>> ReadJson<'de> for Nullable<T> {
    fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(NullableVisitor::<ReadSeed<T>>(PhantomData))
    }
}

impl<'de, T: ReadJson<'de>> ReadJson<'de> for Secret<T> {
    fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read_json(deserializer).map(Self::from).map_err(secret::redact_error)
    }
}

impl<'de, V: ReadJson<'de>> ReadJson<'de> for Map<V> {
    /// Fails if a key occurs twice.
    fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MapVisitor::<ReadSeed<V>>(PhantomData))
    }
}

impl<'de, T: ReadJson<'de>> ReadJson<'de> for Vec<T> {
    fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ArrayVisitor(PhantomData))
    }
}

struct ArrayVisitor<T>(PhantomData<T>);

impl<'de, T: ReadJson<'de>> Visitor<'de> for ArrayVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(ReadSeed::<T>::default())? {
            array.push(item);
        }
        Ok(array)
    }
}

macro_rules! read_tuple {
    ($expecting:literal: $($name:ident)*) => {
        impl<'de, $($name: ReadJson<'de>),*> ReadJson<'de> for ($($name,)*) {
            /// Fails if the array does not have the length of the tuple.
            fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_seq(TupleVisitor::<Self>(PhantomData))
            }
        }

        impl<'de, $($name: ReadJson<'de>),*> Visitor<'de> for TupleVisitor<($($name,)*)> {
            type Value = ($($name,)*);

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($expecting)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let short = || A::Error::custom(concat!("too few items, expected ", $expecting));
                let tuple = ($(items.next_element_seed(ReadSeed::<$name>::default())?.ok_or_else(short)?,)*);
                match items.next_element::<IgnoredAny>()? {
                    None => Ok(tuple),
                    Some(_) => Err(A::Error::custom(concat!("too many items, expected ", $expecting))),
                }
            }
        }
    };
}

struct TupleVisitor<T>(PhantomData<T>);

read_tuple!("an array of 1 item": T1);
read_tuple!("an array of 2 items": T1 T2);
read_tuple!("an array of 3 items": T1 T2 T3);
read_tuple!("an array of 4 items": T1 T2 T3 T4);
read_tuple!("an array of 5 items": T1 T2 T3 T4 T5);
read_tuple!("an array of 6 items": T1 T2 T3 T4 T5 T6);
read_tuple!("an array of 7 items": T1 T2 T3 T4 T5 T6 T7);
read_tuple!("an array of 8 items": T1 T2 T3 T4 T5 T6 T7 T8);
