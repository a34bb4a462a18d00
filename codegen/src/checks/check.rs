//! A check as data: what has to hold of a value, said over its fields.
//!
//! Two readers make something of it: `emit` writes it as an expression, and [`super::evaluate`]
//! finds out what that expression would say of a value.

use contract_runtime::{Number, format::Format};

use self::Check::{All, Always, Any, Never, Not, One};
use crate::{schema::SchemaId, shape::TypeId};

/// What is known about a condition, and what is left to look at.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// The type guarantees it.
    Always,
    /// The type excludes it.
    Never,
    /// All of several hold.
    All(Vec<Check>),
    /// At least one of several holds.
    Any(Vec<Check>),
    /// It does not hold.
    Not(Box<Check>),
    /// Exactly one of several holds.
    One(Vec<Check>),
    /// The second holds where the first does, the third elsewhere.
    If(Box<[Check; 3]>),
    /// A look at one value.
    Test(Test),
}

/// A value that generated code can name, seen from the one that is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `self`
    Own,
    /// What the innermost closure or pattern binds: `value`.
    Bound,
    /// A declared member of a struct, by its Rust name.
    Field(Box<Place>, String),
    /// The members that a struct does not declare.
    Rest(Box<Place>),
    /// The value in a newtype.
    Inside(Box<Place>),
    /// An element of a tuple.
    Element(Box<Place>, usize),
}

/// Text that a check looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// A `String`.
    String(Place),
    /// A secret.
    Secret(Place),
    /// A value of a string enumeration, as it stands on the wire.
    Listed(Place),
    /// A value of the type of a format, by the type's name.
    Formatted(Place, String),
    /// What an open enumeration does not list, bound as `text`.
    Unlisted,
    /// The name of a member, bound as `name`.
    Name,
}

/// A number that a check looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Numeric {
    /// A machine integer.
    Int(Place),
    /// An exact decimal.
    Exact(Place),
}

/// How two numbers have to stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `>=`
    AtLeast,
    /// `>`
    Above,
    /// `<=`
    AtMost,
    /// `<`
    Below,
}

/// What is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Elements of an array, members of a map.
    Length(Place),
    /// Members of a struct: so many are always there, these are sometimes, others are its rest.
    Members(Place, usize, Vec<String>),
    /// Characters of a text.
    Characters(Text),
}

/// How the schemas are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The place holds JSON, which can be looked at as it is.
    Json,
    /// The place holds a type, which is written as JSON first.
    Typed,
}

/// A variant of an enum.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Its Rust name.
    pub variant: String,
    /// What has to hold of the value in it, bound as `value`.
    pub check: Check,
}

/// A look at one value.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// What the value's own type checks.
    Valid(Place),
    /// What the tables say of several schemas together.
    Tables(Place, Form, Vec<SchemaId>),
    /// What the tables say of a text that stands in no place of its own.
    TextTables(Text, Vec<SchemaId>),
    /// A boolean is `true`.
    True(Place),
    /// An optional member is there.
    There(Place),
    /// An optional member is absent, or this holds of its value.
    IfThere(Place, Box<Check>),
    /// None of the members that a struct does not declare has the name of one that it does.
    Apart(Place, TypeId),
    /// The value can be written: nothing in it has a member twice.
    Writable(Place),
    /// A map has a member.
    Contains(Place, String),
    /// A map does not have a member, or this holds of its value.
    IfContains(Place, String, Box<Check>),
    /// This holds of every element of an array.
    Elements(Place, Box<Check>),
    /// This holds of every value of a map.
    Values(Place, Box<Check>),
    /// This holds of every name in a map.
    Names(Place, Box<Check>),
    /// This holds of every member of a map: `name` and `value` are bound.
    Members(Place, Box<Check>),
    /// So many of something.
    Count(Counted, Order, u64),
    /// No two elements are equal.
    Distinct(Place),
    /// A text is one of these.
    TextIn(Text, Vec<String>),
    /// A pattern matches.
    Matches(Text, String),
    /// It has a format.
    Format(Text, Format),
    /// It has a format that a type is made for: the type's name and the format's.
    Parses(Text, String, String),
    /// A machine integer is one of these.
    IntIn(Place, Vec<i128>),
    /// A machine integer and a bound.
    IntBound(Place, Order, i128),
    /// A machine integer is a multiple of a machine integer.
    IntMultiple(Place, i64),
    /// An exact number is one of these.
    NumberIn(Place, Vec<Number>),
    /// Any number and a bound.
    NumberBound(Numeric, Order, Number),
    /// Any number is a multiple of another.
    NumberMultiple(Numeric, Number),
    /// An exact number is whole.
    Whole(Place),
    /// A string enumeration holds one of these variants.
    Listed(Place, TypeId, Vec<String>),
    /// An open enumeration holds a listed value, or this holds of its `text`.
    Unlisted(Place, Box<Check>),
    /// `null`, or this holds of the value.
    Nullable {
        /// What is looked at.
        at: Place,
        /// Whether it stands behind a pointer.
        boxed: bool,
        /// What `null` comes to.
        null: bool,
        /// What has to hold of any other value.
        value: Box<Check>,
    },
    /// What has to hold depends on the variant.
    Variants {
        /// What is looked at.
        at: Place,
        /// Whether it stands behind a pointer.
        boxed: bool,
        /// The enum.
        of: TypeId,
        /// Every variant.
        arms: Vec<Arm>,
        /// The schemas for objects with an unknown tag, where such are kept; of none, all are fine.
        unknown: Option<Vec<SchemaId>>,
    },
}

impl Place {
    pub(super) fn field(&self, name: &str) -> Self {
        Self::Field(Box::new(self.clone()), name.to_owned())
    }

    pub(super) fn rest(&self) -> Self {
        Self::Rest(Box::new(self.clone()))
    }

    pub(super) fn inside(&self) -> Self {
        Self::Inside(Box::new(self.clone()))
    }

    pub(super) fn element(&self, index: usize) -> Self {
        Self::Element(Box::new(self.clone()), index)
    }
}

impl From<Test> for Check {
    fn from(test: Test) -> Self {
        Self::Test(test)
    }
}

impl Check {
    /// Both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Never, _) | (_, Never) => Never,
            (Always, c) | (c, Always) => c,
            (All(mut all), All(more)) => {
                all.extend(more);
                All(all)
            }
            (All(mut all), one) => {
                all.push(one);
                All(all)
            }
            (one, All(more)) => All([vec![one], more].concat()),
            (a, b) => All(vec![a, b]),
        }
    }

    /// Both hold; what both say of the values in one place is said at once.
    pub(super) fn joined(self, other: &Self) -> Self {
        let more = match other {
            All(more) => more.as_slice(),
            Always => &[],
            one => std::slice::from_ref(one),
        };
        let mut all = match self {
            All(all) => all,
            Always => Vec::new(),
            one => vec![one],
        };
        for one in more {
            let takes = |said: &mut Self| match (said, one) {
                (Self::Test(said), Self::Test(one)) => said.takes(one),
                _ => false,
            };
            if !all.iter_mut().any(takes) {
                all.push(one.clone());
            }
        }
        Self::all(all)
    }

    /// One or both hold.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Always, _) | (_, Always) => Always,
            (Never, c) | (c, Never) => c,
            (Any(mut any), Any(more)) => {
                any.extend(more);
                Any(any)
            }
            (Any(mut any), one) => {
                any.push(one);
                Any(any)
            }
            (one, Any(more)) => Any([vec![one], more].concat()),
            (a, b) => Any(vec![a, b]),
        }
    }

    /// It does not hold.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "it stands beside `and` and `or`")]
    pub fn not(self) -> Self {
        match self {
            Always => Never,
            Never => Always,
            Not(inner) => *inner,
            check => Not(Box::new(check)),
        }
    }

    /// All hold.
    #[must_use]
    pub fn all(checks: impl IntoIterator<Item = Self>) -> Self {
        checks.into_iter().fold(Always, Self::and)
    }

    /// As [`Check::all`] of what several schemas say, which may be the same.
    #[must_use]
    pub fn distinct(checks: Vec<Self>) -> Self {
        let mut seen: Vec<Self> = Vec::new();
        for check in checks {
            if !seen.contains(&check) {
                seen.push(check);
            }
        }
        Self::all(seen)
    }

    /// Exactly one holds.
    #[must_use]
    pub fn exactly_one(checks: Vec<Self>) -> Self {
        let sure = checks.iter().filter(|check| **check == Always).count();
        let mut open: Vec<Self> =
            checks.into_iter().filter(|check| !matches!(check, Always | Never)).collect();
        match (sure, open.len()) {
            (0, 0) | (2.., _) => Never,
            (1, _) => open.into_iter().fold(Never, Self::or).not(),
            (0, 1) => open.remove(0),
            (0, _) => One(open),
        }
    }

    /// What is settled.
    #[must_use]
    pub const fn known(holds: bool) -> Self {
        if holds { Always } else { Never }
    }

    /// Puts a check into a test; what is settled is the same for all, or is said by `never`.
    pub(super) fn within(self, never: Self, build: impl FnOnce(Box<Self>) -> Test) -> Self {
        match self {
            Always => Always,
            Never => never,
            check => build(Box::new(check)).into(),
        }
    }

    /// Whether the tables are asked somewhere in it, values of other types aside.
    #[must_use]
    pub fn asks_tables(&self) -> bool {
        match self {
            Always | Never => false,
            All(all) | Any(all) | One(all) => all.iter().any(Self::asks_tables),
            Not(inner) => inner.asks_tables(),
            Self::If(parts) => parts.iter().any(Self::asks_tables),
            Self::Test(test) => test.asks_tables(),
        }
    }
}

impl Test {
    /// Takes up what another test says of the same values, if it is of the same kind.
    fn takes(&mut self, other: &Self) -> bool {
        let join = |said: &mut Check, other: &Check| *said = std::mem::replace(said, Always).joined(other);
        match (self, other) {
            (Self::IfThere(at, said), Self::IfThere(of, other))
            | (Self::Elements(at, said), Self::Elements(of, other))
            | (Self::Values(at, said), Self::Values(of, other))
            | (
                Self::Nullable { at, value: said, .. },
                Self::Nullable { at: of, null: true, value: other, .. },
            ) if at == of => join(said, other),
            (Self::Variants { at, arms, .. }, Self::Variants { at: of, arms: others, unknown, .. })
                if at == of && unknown.as_ref().is_none_or(Vec::is_empty) =>
            {
                arms.iter_mut().zip(others).for_each(|(arm, other)| join(&mut arm.check, &other.check));
            }
            _ => return false,
        }
        true
    }

    /// The checks in it.
    pub(super) fn inner(&self) -> Vec<&Check> {
        match self {
            Self::IfThere(_, inner)
            | Self::IfContains(_, _, inner)
            | Self::Elements(_, inner)
            | Self::Values(_, inner)
            | Self::Names(_, inner)
            | Self::Members(_, inner)
            | Self::Unlisted(_, inner)
            | Self::Nullable { value: inner, .. } => vec![inner],
            Self::Variants { arms, .. } => arms.iter().map(|arm| &arm.check).collect(),
            _ => Vec::new(),
        }
    }

    fn asks_tables(&self) -> bool {
        match self {
            Self::Tables(..) | Self::TextTables(..) => true,
            Self::Variants { unknown: Some(ids), .. } if !ids.is_empty() => true,
            _ => self.inner().into_iter().any(Check::asks_tables),
        }
    }
}
