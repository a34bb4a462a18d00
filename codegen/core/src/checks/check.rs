//! A [`Check`] is a condition on a value of a generated type, as data. It becomes the body of the type's
//! method `is_valid`.
//!
//! `emit` prints a check as an expression, and [`super::evaluate`] computes the result of that expression for
//! a value.

use contract_runtime::{Number, format::StringFormat};

use self::Check::{All, Always, Any, ExactlyOne, Never, Not};
use crate::{schema::SchemaId, shape::TypeId};

/// A condition on a value. Parts of the condition that the type of the value guarantees are left out.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    Always,
    Never,
    All(Vec<Check>),
    /// At least one of the conditions holds.
    Any(Vec<Check>),
    Not(Box<Check>),
    ExactlyOne(Vec<Check>),
    /// If the first condition holds, the second must hold; otherwise, the third must hold.
    If(Box<[Check; 3]>),
    Test(ValueTest),
}

/// The path from the value that a check tests (`self`) to one of its parts. It is printed as a Rust
/// expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValuePlace {
    /// `self`.
    Own,
    /// The value that the innermost closure or pattern binds as `value`.
    Bound,
    /// A field of a struct, by its Rust name.
    Field(Box<ValuePlace>, String),
    Rest(Box<ValuePlace>),
    Inside(Box<ValuePlace>),
    /// The integer of an integer enumeration.
    Integer(Box<ValuePlace>),
    Element(Box<ValuePlace>, usize),
}

/// A string that a check examines, and its representation in Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StringOperand {
    /// A value of the Rust type `String`.
    String(ValuePlace),
    Secret(ValuePlace),
    /// The JSON string of a string enum's value.
    Listed(ValuePlace),
    /// A value of the type to which the configuration maps a `format`, with the name of that type.
    Formatted(ValuePlace, String),
    /// The string of an open enum's variant for unlisted values, which the generated code binds as `text`.
    Unlisted,
    /// A property name, which the generated code binds as `name`.
    Name,
}

/// A number that a check examines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NumberOperand {
    Int(ValuePlace),
    Exact(ValuePlace),
}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonOperator {
    /// The operator `>=`.
    AtLeast,
    /// The operator `>`.
    Above,
    /// The operator `<=`.
    AtMost,
    /// The operator `<`.
    Below,
}

/// A number of elements, properties or characters that a check compares with a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountOperand {
    /// The number of elements of an array, or of properties of a map.
    Length(ValuePlace),
    /// The number of properties of a struct value. Contains the place of the value, the number of required
    /// fields, and the names of the optional fields. Undeclared properties are also counted.
    Members(ValuePlace, usize, Vec<String>),
    Characters(StringOperand),
}

/// The form in which a value is passed to the validation tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceForm {
    /// The value has the Rust type `Json`, which the tables validate directly.
    Json,
    /// The value has a generated type. It is converted to JSON first.
    Typed,
}

/// The check for values of one enum variant.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantArm {
    pub variant: String,
    /// The condition on the content of the variant, which is bound as `value`.
    pub check: Check,
}

/// A single test that generated code performs on a value.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueTest {
    /// The value satisfies the check of its own type, which is called as `is_valid`.
    Valid(ValuePlace),
    /// The validation tables accept the value for all of these schemas.
    Tables(ValuePlace, PlaceForm, Vec<SchemaId>),
    /// The validation tables accept a string operand for all of these schemas.
    StringTables(StringOperand, Vec<SchemaId>),
    /// A boolean value is `true`.
    True(ValuePlace),
    IsPresent(ValuePlace),
    /// An optional property is absent, or its value satisfies the check.
    IfPresent(ValuePlace, Box<Check>),
    /// No undeclared property of a struct has the same name as a declared one.
    RestIsDisjoint(ValuePlace, TypeId),
    /// The value can be serialized: no object in it has a duplicate property.
    Writable(ValuePlace),
    Contains(ValuePlace, String),
    /// A map lacks a property, or the value of the property satisfies the check.
    IfContains(ValuePlace, String, Box<Check>),
    /// Every element of an array satisfies the check.
    Elements(ValuePlace, Box<Check>),
    /// Every value of a map satisfies the check.
    Values(ValuePlace, Box<Check>),
    /// Every property name in a map satisfies the check.
    Names(ValuePlace, Box<Check>),
    /// Every entry of a map satisfies the check, in which `name` and `value` are bound.
    Members(ValuePlace, Box<Check>),
    Count(CountOperand, ComparisonOperator, u64),
    Distinct(ValuePlace),
    StringIn(StringOperand, Vec<String>),
    Matches(StringOperand, String),
    Format(StringOperand, StringFormat),
    /// A string has a format that the configuration maps to a type. Contains the name of the type and the
    /// name of the format.
    MappedFormat(StringOperand, String, String),
    /// A machine integer equals one of these values.
    IntIn(ValuePlace, Vec<i128>),
    /// A machine integer compares to the bound as the operator requires, for example `value >= 3`.
    IntBound(ValuePlace, ComparisonOperator, i128),
    /// A machine integer is a multiple of the given integer.
    IntMultiple(ValuePlace, i64),
    /// An exact number equals one of these values.
    NumberIn(ValuePlace, Vec<Number>),
    NumberBound(NumberOperand, ComparisonOperator, Number),
    /// A number is a multiple of the given number.
    NumberMultiple(NumberOperand, Number),
    Integral(ValuePlace),
    /// A value of a string enum is one of these variants.
    Listed(ValuePlace, TypeId, Vec<String>),
    /// A value of an open enum is one of its listed values, or its string (bound as `text`) satisfies the
    /// check.
    Unlisted(ValuePlace, Box<Check>),
    /// The value is `null` and `null` is allowed, or the value satisfies the check.
    Nullable {
        at: ValuePlace,
        /// True if the value is in a `Box`, which generated code must dereference before a `match`.
        boxed: bool,
        /// The result of the check if the value is `null`.
        null: bool,
        value: Box<Check>,
    },
    Variants {
        at: ValuePlace,
        /// True if the value is in a `Box`, which generated code must dereference before a `match`.
        boxed: bool,
        of: TypeId,
        arms: Vec<VariantArm>,
        /// The schemas that must accept an object that matches no variant. If the list is empty, every such
        /// object is accepted. `None` if the type has no variant for such objects.
        unknown: Option<Vec<SchemaId>>,
    },
}

impl ValuePlace {
    pub(super) fn field(&self, name: &str) -> Self {
        Self::Field(Box::new(self.clone()), name.to_owned())
    }

    pub(super) fn rest(&self) -> Self {
        Self::Rest(Box::new(self.clone()))
    }

    pub(super) fn newtype_value(&self) -> Self {
        Self::Inside(Box::new(self.clone()))
    }

    pub(super) fn integer(&self) -> Self {
        Self::Integer(Box::new(self.clone()))
    }

    pub(super) fn element(&self, index: usize) -> Self {
        Self::Element(Box::new(self.clone()), index)
    }
}

impl From<ValueTest> for Check {
    fn from(test: ValueTest) -> Self {
        Self::Test(test)
    }
}

impl Check {
    /// Combines two checks that must both hold.
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

    /// Combines two checks like [`Check::and`]. Two tests of the same value become one test, for example two
    /// `IfPresent` tests of the same field.
    pub(super) fn merge(self, other: &Self) -> Self {
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
            let takes = |current: &mut Self| match (current, one) {
                (Self::Test(current), Self::Test(one)) => current.try_merge(one),
                _ => false,
            };
            if !all.iter_mut().any(takes) {
                all.push(one.clone());
            }
        }
        Self::all(all)
    }

    /// Combines two checks of which at least one must hold.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Always, _) | (_, Always) => Always,
            (Never, c) | (c, Never) => c,
            // If one check implies the other, `or` returns the weaker check.
            (a, b) if a.is_part_of(&b) => a,
            (a, b) if b.is_part_of(&a) => b,
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

    /// Returns true if `other` is this check or a conjunction that contains it.
    fn is_part_of(&self, other: &Self) -> bool {
        self == other || matches!(other, All(all) if all.contains(self))
    }

    /// Returns the negation of this check.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "the name corresponds to `and` and `or`")]
    pub fn not(self) -> Self {
        match self {
            Always => Never,
            Never => Always,
            Not(inner) => *inner,
            check => Not(Box::new(check)),
        }
    }

    /// Combines checks that must all hold.
    #[must_use]
    pub fn all(checks: impl IntoIterator<Item = Self>) -> Self {
        checks.into_iter().fold(Always, Self::and)
    }

    /// Combines checks like [`Check::all`], and removes duplicates.
    #[must_use]
    pub fn all_distinct(checks: Vec<Self>) -> Self {
        let mut seen: Vec<Self> = Vec::new();
        for check in checks {
            if !seen.contains(&check) {
                seen.push(check);
            }
        }
        Self::all(seen)
    }

    /// Combines checks of which exactly one must hold, and simplifies the result if some of them are
    /// constant.
    #[must_use]
    pub fn exactly_one(checks: Vec<Self>) -> Self {
        let sure = checks.iter().filter(|check| **check == Always).count();
        let mut open: Vec<Self> =
            checks.into_iter().filter(|check| !matches!(check, Always | Never)).collect();
        match (sure, open.len()) {
            (0, 0) | (2.., _) => Never,
            (1, _) => open.into_iter().fold(Never, Self::or).not(),
            (0, 1) => open.remove(0),
            (0, _) => ExactlyOne(open),
        }
    }

    /// Returns a check with a constant result.
    #[must_use]
    pub const fn from_bool(holds: bool) -> Self {
        if holds { Always } else { Never }
    }

    /// Wraps a check in a test that `build` creates. `Always` is returned unchanged, and `Never` is replaced
    /// by `never`.
    pub(super) fn wrap_in(self, never: Self, build: impl FnOnce(Box<Self>) -> ValueTest) -> Self {
        match self {
            Always => Always,
            Never => never,
            check => build(Box::new(check)).into(),
        }
    }

    /// Returns true if the check itself uses the validation tables. Uses in the checks of other types that it
    /// calls do not count.
    #[must_use]
    pub fn uses_tables(&self) -> bool {
        match self {
            Always | Never => false,
            All(all) | Any(all) | ExactlyOne(all) => all.iter().any(Self::uses_tables),
            Not(inner) => inner.uses_tables(),
            Self::If(parts) => parts.iter().any(Self::uses_tables),
            Self::Test(test) => test.uses_tables(),
        }
    }
}

impl ValueTest {
    /// Adds the inner checks of another test to this one if both tests have the same mergeable kind and test
    /// the same value. Otherwise, returns false without a change.
    fn try_merge(&mut self, other: &Self) -> bool {
        let join =
            |current: &mut Check, other: &Check| *current = std::mem::replace(current, Always).merge(other);
        match (self, other) {
            (Self::IfPresent(at, current), Self::IfPresent(of, other))
            | (Self::Elements(at, current), Self::Elements(of, other))
            | (Self::Values(at, current), Self::Values(of, other))
            | (
                Self::Nullable { at, value: current, .. },
                Self::Nullable { at: of, null: true, value: other, .. },
            ) if at == of => join(current, other),
            (Self::Variants { at, arms, .. }, Self::Variants { at: of, arms: others, unknown, .. })
                if at == of && unknown.as_ref().is_none_or(Vec::is_empty) =>
            {
                arms.iter_mut().zip(others).for_each(|(arm, other)| join(&mut arm.check, &other.check));
            }
            _ => return false,
        }
        true
    }

    /// Returns the checks nested in this test.
    pub(super) fn inner_checks(&self) -> Vec<&Check> {
        match self {
            Self::IfPresent(_, inner)
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

    fn uses_tables(&self) -> bool {
        match self {
            Self::Tables(..) | Self::StringTables(..) => true,
            Self::Variants { unknown: Some(ids), .. } if !ids.is_empty() => true,
            _ => self.inner_checks().into_iter().any(Check::uses_tables),
        }
    }
}
