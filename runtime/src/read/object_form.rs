//! Deserialization of object unions without a tag. The form is selected by the names, JSON types and
//! constants of an object's members; see [`read_by_form`].

use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Reverse;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess};

use super::union::{RawMemberValue, RereadGuard, classify_tag};
use super::{FromMap, MemberKey, NoMembers, TagValue, TaggedMembers};
use crate::{Json, JsonType, raw};

/// The maximum number of nested objects that several forms fit. Validation reads such an object completely,
/// so this constant limits how often each part of the input is read, regardless of the nesting depth.
const MAX_AMBIGUOUS_DEPTH: u8 = 64;

thread_local! {
    static AMBIGUOUS_DEPTH: Cell<u8> = const { Cell::new(0) };
}

/// A guard that counts one additional enclosing object that several forms fit, until it is dropped.
struct AmbiguityGuard;

impl AmbiguityGuard {
    fn enter() -> Option<Self> {
        let depth = AMBIGUOUS_DEPTH.get();
        (depth < MAX_AMBIGUOUS_DEPTH).then(|| {
            AMBIGUOUS_DEPTH.set(depth + 1);
            Self
        })
    }
}

impl Drop for AmbiguityGuard {
    fn drop(&mut self) {
        AMBIGUOUS_DEPTH.set(AMBIGUOUS_DEPTH.get() - 1);
    }
}

/// The members of an object in input order, each with the JSON text of its value.
type RawMembers<'de> = Vec<(MemberKey<'de>, Cow<'de, str>)>;

/// The conditions for reading an object as one form of a union. Every object that the schema of the form
/// accepts fulfills them.
#[derive(Clone, Copy, Debug)]
pub struct ObjectForm {
    /// The declared members, and the required members even if they are not declared.
    pub members: &'static [MemberRule],
    /// Whether members other than these are not allowed.
    pub closed: bool,
}

/// The rule for one member of an [`ObjectForm`].
#[derive(Clone, Copy, Debug)]
pub struct MemberRule {
    /// The name of the member.
    pub name: &'static str,
    /// Whether the member must be present.
    pub required: bool,
    /// The JSON types that the value may have; empty if it may have any type.
    pub types: &'static [JsonType],
    /// The values that the member may have; empty if it may have any value.
    pub literals: &'static [TagValue<'static>],
    /// Whether the member is a tag. An object whose tag has a value that is not in `literals` does not have
    /// this form.
    pub is_tag: bool,
}

/// The rank of a form for an object. A smaller rank is a better match.
type FormRank = (bool, Reverse<usize>);

impl ObjectForm {
    /// Returns the rank of this form for an object, or `None` if the object does not fit. A single constant
    /// and a tag must match. Any other list of values may have been extended by the server, so an unlisted
    /// value only makes the rank worse. The more members a form declares, the better its rank.
    fn rank(&self, members: &RawMembers<'_>) -> Option<FormRank> {
        let mut declared = 0;
        let mut unlisted = false;
        // Members usually arrive in the order of the schema.
        let mut next = 0;
        for rule in self.members {
            let (before, after) = members.split_at(next);
            let is_meant = |(key, _): &(MemberKey<'_>, _)| key.as_str() == rule.name;
            let found = match after.iter().position(is_meant) {
                Some(distance) => Some(next + distance),
                None => before.iter().position(is_meant),
            };
            let Some(index) = found else {
                if rule.required {
                    return None;
                }
                continue;
            };
            next = index + 1;
            declared += 1;
            let text = &*members[index].1;
            if !rule.types.is_empty() && !rule.types.contains(&JsonType::from_json_text(text)) {
                return None;
            }
            if !rule.literals.is_empty() && !rule.literals.iter().any(|literal| is_literal(text, literal)) {
                if rule.literals.len() == 1 || rule.is_tag {
                    return None;
                }
                unlisted = true;
            }
        }
        if self.closed && declared < members.len() {
            return None;
        }
        Some((unlisted, Reverse(declared)))
    }
}

fn is_literal(text: &str, literal: &TagValue<'_>) -> bool {
    classify_tag::<serde::de::value::Error, _>(text, |value| Ok(value == *literal)).unwrap_or(false)
}

/// Reads an object as one of several forms.
///
/// The function compares the members with each form. If several forms fit, it calls `is_valid`, which must
/// return true if the schema of a form accepts the object. Among the accepted forms, or among all fitting
/// forms if none is accepted, it selects the form that declares the most members, and the first one of equal
/// forms. `read` reads the members as the form with the given index.
///
/// An object that fits no form, or that its form cannot represent, is passed to `unknown`. So is an object
/// that several forms fit, if it is nested in 64 such objects. Without `unknown`, each of these objects is an
/// error.
pub fn read_by_form<'de, A: MapAccess<'de>, T>(
    mut map: A,
    forms: &'static [ObjectForm],
    is_valid: impl Fn(usize, &Json) -> bool,
    read: impl FnOnce(usize, TaggedMembers<'de, NoMembers<A::Error>>) -> Result<T, A::Error>,
    unknown: Option<fn(Json) -> T>,
) -> Result<T, A::Error> {
    let mut members: RawMembers<'de> = Vec::new();
    while let Some(key) = map.next_key::<MemberKey<'de>>()? {
        let RawMemberValue(text) = map.next_value()?;
        members.push((key, text));
    }
    let rest =
        |members| TaggedMembers::new("", Cow::Borrowed(""), members, NoMembers::<A::Error>(PhantomData));
    let read_members = |members: RawMembers<'de>| {
        members.iter().for_each(|(_, text)| raw::json_index::read_effort::count_bytes(text.len()));
        Json::from_map(rest(members))
    };
    let mut fitting: Vec<(FormRank, usize)> =
        forms.iter().enumerate().filter_map(|(index, form)| Some((form.rank(&members)?, index))).collect();
    fitting.sort();
    let guard = if fitting.len() > 1 { AmbiguityGuard::enter() } else { None };
    let chosen = match fitting.as_slice() {
        [] => None,
        [(_, only)] => Some(*only),
        _ if guard.is_none() => None,
        [(_, best), ..] => {
            let object = read_members(members.clone())?;
            let accepted = fitting.iter().find(|(_, index)| is_valid(*index, &object));
            Some(accepted.map_or(*best, |(_, index)| *index))
        }
    };
    let Some(unknown) = unknown else {
        return match chosen {
            Some(index) => read(index, rest(members)),
            None if fitting.is_empty() => Err(A::Error::custom("the object has none of the expected forms")),
            None => Err(A::Error::custom("nested too deeply in objects of several forms")),
        };
    };
    let again = RereadGuard::enter();
    match chosen.map(|index| read(index, rest(members.clone()))) {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) if again.is_none() => Err(error),
        _ => read_members(members).map(unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{ReadJson, ReadSeed};

    /// A recursive union of two forms that fit every object.
    #[derive(Debug, PartialEq)]
    enum Nested {
        Node(Option<Box<Nested>>),
        Unknown(Json),
    }

    impl<'de> FromMap<'de> for Nested {
        const EXPECTING: &'static str = "an object";

        fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
            const INNER: MemberRule =
                MemberRule { name: "inner", required: false, types: &[], literals: &[], is_tag: false };
            const FORMS: &[ObjectForm] = &[ObjectForm { members: &[INNER], closed: false }; 2];
            let read = |_, mut members: TaggedMembers<'de, NoMembers<A::Error>>| {
                let mut inner = None;
                while members.next_key::<MemberKey<'de>>()?.is_some() {
                    inner = Some(Box::new(members.next_value_seed(ReadSeed::<Self>::default())?));
                }
                Ok(Self::Node(inner))
            };
            read_by_form(map, FORMS, |_, _| true, read, Some(Self::Unknown))
        }
    }

    crate::read_object!(Nested);

    /// The nesting of objects that several forms fit has a limit, which bounds the number of times that a
    /// document is read. Objects beyond the limit are `Unknown`.
    #[test]
    fn nested_ambiguous_objects_have_a_limit() {
        for levels in [1, 10, 64, 65, 100] {
            let text = format!("{}{{}}{}", r#"{"inner":"#.repeat(levels - 1), "}".repeat(levels - 1));
            let mut found = None;
            let effort = raw::json_index::read_effort::measure_bytes(|| {
                found = Some(Nested::read_json(&mut serde_json::Deserializer::from_str(&text)).unwrap());
            });
            let (mut read, mut at) = (0, found.as_ref());
            while let Some(Nested::Node(inner)) = at {
                (read, at) = (read + 1, inner.as_deref());
            }
            assert_eq!((read, at.is_some()), (levels.min(64), levels > 64), "{levels} levels");
            assert!(effort <= 64 * 8 * text.len(), "{levels} levels: {effort} for {}", text.len());
        }
        // The thread-local counter is restored.
        assert_eq!(AMBIGUOUS_DEPTH.get(), 0);
    }
}
