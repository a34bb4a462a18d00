//! What a check says of a value, found out without a compiler.
//!
//! The value is [`Held`], as a generated type would hold it, and a test that does not fit what
//! stands at its place is an error here where it would be one for the compiler.

use contract_runtime::{Json, Number};

use super::{Check, Checks, Counted, Form, Numeric, Order, Place, Test, Text};
use crate::{
    formats::judge,
    held::{Held, is_apart, is_writable, whole, write},
    schema::SchemaId,
    shape::{Body, Shapes, TypeId},
    tables::TableSet,
};

/// A test that the compiler would not take; what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IllTyped(pub String);

/// Runs the checks of a contract.
#[derive(Debug)]
pub struct Evaluator<'a> {
    /// The types.
    pub shapes: &'a Shapes,
    /// What the tables say.
    pub tables: &'a TableSet<'a>,
    /// What each type has to check.
    pub checks: &'a Checks,
}

/// What the names in a check stand for.
#[derive(Clone, Copy)]
struct Scene<'h> {
    own: &'h Held,
    bound: Option<&'h Held>,
    name: Option<&'h str>,
    text: Option<&'h str>,
}

type Answer<T> = Result<T, IllTyped>;

fn wrong<T>(what: &str, found: impl std::fmt::Debug) -> Answer<T> {
    Err(IllTyped(format!("{what}: {found:?}")))
}

impl Evaluator<'_> {
    /// What `is_valid` of a value's own type says; types that are not generated have none.
    ///
    /// # Errors
    /// When a check does not fit its type.
    pub fn is_valid(&self, held: &Held) -> Answer<bool> {
        let (Held::Struct(id, ..)
        | Held::Variant(id, ..)
        | Held::UnknownTag(id, _)
        | Held::Listed(id, _)
        | Held::Unlisted(id, _)
        | Held::New(id, _)) = held
        else {
            return wrong("a type without `is_valid`", held);
        };
        self.holds(self.checks.of(*id), Scene { own: held, bound: None, name: None, text: None })
    }

    fn holds(&self, check: &Check, scene: Scene<'_>) -> Answer<bool> {
        let count = |checks: &[Check]| -> Answer<usize> {
            checks.iter().try_fold(0, |count, check| Ok(count + usize::from(self.holds(check, scene)?)))
        };
        Ok(match check {
            Check::Always => true,
            Check::Never => false,
            Check::All(all) => count(all)? == all.len(),
            Check::Any(any) => count(any)? > 0,
            Check::One(all) => count(all)? == 1,
            Check::Not(inner) => !self.holds(inner, scene)?,
            Check::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.holds(if self.holds(condition, scene)? { then } else { otherwise }, scene)?
            }
            Check::Test(test) => self.test(test, scene)?,
        })
    }

    fn test(&self, test: &Test, scene: Scene<'_>) -> Answer<bool> {
        let with = |check: &Check, bound: &Held| self.holds(check, Scene { bound: Some(bound), ..scene });
        Ok(match test {
            Test::Valid(at) => self.is_valid(self.at(at, scene)?)?,
            Test::Tables(at, form, ids) => match (self.at(at, scene)?, form) {
                (Held::Json(json), Form::Json) => self.tables_say(ids, json),
                (other, Form::Json) => return wrong("no JSON", other),
                (held, Form::Typed) => {
                    is_writable(self.shapes, held) && self.tables_say(ids, &write(self.shapes, held))
                }
            },
            Test::TextTables(text, ids) => {
                self.tables_say(ids, &Json::String(self.text(text, scene)?.to_owned()))
            }
            Test::True(at) => match self.at(at, scene)? {
                Held::Bool(value) => *value,
                other => return wrong("no boolean", other),
            },
            Test::There(at) => self.optional(at, scene)?.is_some(),
            Test::IfThere(at, check) => match self.optional(at, scene)? {
                Some(value) => with(check, value)?,
                None => true,
            },
            Test::Apart(at, of) => match self.at(at, scene)? {
                Held::Struct(id, _, rest) if id == of => is_apart(self.shapes, *id, rest),
                other => return wrong("another type than the struct", other),
            },
            Test::Writable(at) => is_writable(self.shapes, self.at(at, scene)?),
            Test::Contains(at, name) => self.members(at, scene)?.iter().any(|(known, _)| known == name),
            Test::IfContains(at, name, check) => {
                match self.members(at, scene)?.iter().find(|(known, _)| known == name) {
                    Some((_, value)) => with(check, value)?,
                    None => true,
                }
            }
            Test::Elements(at, check) => match self.at(at, scene)? {
                Held::Vec(items) => all(items, |item| with(check, item))?,
                other => return wrong("no array", other),
            },
            Test::Values(at, check) => all(self.members(at, scene)?, |(_, value)| with(check, value))?,
            Test::Names(at, check) => all(self.members(at, scene)?, |(name, _)| {
                self.holds(check, Scene { name: Some(name), ..scene })
            })?,
            Test::Members(at, check) => all(self.members(at, scene)?, |(name, value)| {
                self.holds(check, Scene { name: Some(name), bound: Some(value), ..scene })
            })?,
            Test::Count(counted, order, limit) => order.holds(&self.count(counted, scene)?, limit),
            Test::Distinct(at) => match self.at(at, scene)? {
                Held::Vec(all) => {
                    let items: Vec<Json> = all.iter().map(|item| write(self.shapes, item)).collect();
                    let are_writable = || all.iter().all(|item| is_writable(self.shapes, item));
                    (items.len() < 2 || are_writable())
                        && items.iter().enumerate().all(|(at, item)| !items[..at].contains(item))
                }
                other => return wrong("no array", other),
            },
            Test::TextIn(text, values) => {
                let text = self.text(text, scene)?;
                values.iter().any(|value| value == text)
            }
            Test::Matches(text, pattern) => self.tables.is_match(pattern, self.text(text, scene)?),
            Test::Format(text, format) => format.is_match(self.text(text, scene)?),
            Test::Parses(text, _, format) => judge(format)(self.text(text, scene)?),
            Test::IntIn(at, values) => values.contains(&self.int(at, scene)?),
            Test::IntBound(at, order, limit) => order.holds(&self.int(at, scene)?, limit),
            Test::IntMultiple(at, divisor) => self.int(at, scene)? % i128::from(*divisor) == 0,
            Test::NumberIn(at, values) => values.contains(&self.exact(at, scene)?),
            Test::NumberBound(of, order, limit) => order.holds(&self.number(of, scene)?, limit),
            Test::NumberMultiple(of, divisor) => self.number(of, scene)?.is_multiple_of(divisor),
            Test::Whole(at) => self.exact(at, scene)?.is_integer(),
            Test::Listed(at, of, names) => match self.at(at, scene)? {
                Held::Listed(id, index) if id == of => names.contains(&self.listed(*id, *index)?.1),
                Held::Unlisted(id, _) if id == of => false,
                other => return wrong("another type than the enumeration", other),
            },
            Test::Unlisted(at, check) => match self.at(at, scene)? {
                Held::Unlisted(_, text) => self.holds(check, Scene { text: Some(text), ..scene })?,
                Held::Listed(..) => true,
                other => return wrong("no enumeration", other),
            },
            Test::Nullable { at, null, value, .. } => match self.at(at, scene)? {
                Held::Null => *null,
                Held::Value(inner) => with(value, inner)?,
                other => return wrong("not nullable", other),
            },
            Test::Variants { at, of, arms, unknown, .. } => match (self.at(at, scene)?, unknown) {
                (Held::Variant(id, index, inner), _) if id == of => match arms.get(*index) {
                    Some(arm) => with(&arm.check, inner)?,
                    None => return wrong("no such variant", index),
                },
                (Held::UnknownTag(id, json), Some(ids)) if id == of => self.tables_say(ids, json),
                (other, _) => return wrong("another type than the enum", other),
            },
        })
    }

    fn tables_say(&self, ids: &[SchemaId], json: &Json) -> bool {
        ids.iter().all(|id| self.tables.is_valid(*id, json))
    }

    fn at<'h>(&self, place: &Place, scene: Scene<'h>) -> Answer<&'h Held> {
        Ok(match place {
            Place::Own => scene.own,
            Place::Bound => match scene.bound {
                Some(bound) => bound,
                None => return wrong("nothing is bound", place),
            },
            Place::Field(..) => match self.field(place, scene)? {
                (Some(value), true) => value,
                (value, _) => return wrong("an optional member as it is", value),
            },
            Place::Rest(of) => match self.at(of, scene)? {
                Held::Struct(_, _, rest) => rest,
                other => return wrong("no struct", other),
            },
            Place::Inside(of) => match self.at(of, scene)? {
                Held::New(_, inner) => inner,
                other => return wrong("no newtype", other),
            },
            Place::Element(of, index) => match self.at(of, scene)? {
                Held::Tuple(items) if *index < items.len() => &items[*index],
                other => return wrong("no such tuple", other),
            },
        })
    }

    /// A field's value and whether it is always there.
    fn field<'h>(&self, place: &Place, scene: Scene<'h>) -> Answer<(Option<&'h Held>, bool)> {
        let Place::Field(of, name) = place else { return wrong("no field", place) };
        let Held::Struct(id, fields, _) = self.at(of, scene)? else { return wrong("no struct around", name) };
        let Body::Struct(body) = &self.shapes.get(*id).body else { return wrong("no struct", id) };
        match body.fields.iter().position(|field| field.name == *name && !field.omitted) {
            Some(at) => Ok((fields[at].as_ref(), body.fields[at].required)),
            None => wrong("no such field", name),
        }
    }

    fn optional<'h>(&self, place: &Place, scene: Scene<'h>) -> Answer<Option<&'h Held>> {
        match self.field(place, scene)? {
            (value, false) => Ok(value),
            (value, true) => wrong("a required member as an optional one", value),
        }
    }

    fn members<'h>(&self, place: &Place, scene: Scene<'h>) -> Answer<&'h [(String, Held)]> {
        match self.at(place, scene)? {
            Held::Map(members) => Ok(members),
            other => wrong("no map", other),
        }
    }

    fn listed(&self, id: TypeId, index: usize) -> Answer<&(String, String, Option<String>)> {
        match &self.shapes.get(id).body {
            Body::Enum(list) if index < list.values.len() => Ok(&list.values[index]),
            other => wrong("no such value", other),
        }
    }

    fn text<'s>(&'s self, text: &Text, scene: Scene<'s>) -> Answer<&'s str> {
        match text {
            Text::Name => scene.name.map_or_else(|| wrong("no name is bound", text), Ok),
            Text::Unlisted => scene.text.map_or_else(|| wrong("no text is bound", text), Ok),
            Text::String(at) => match self.at(at, scene)? {
                Held::String(text) => Ok(text),
                other => wrong("no string", other),
            },
            Text::Secret(at) => match self.at(at, scene)? {
                Held::Secret(text) => Ok(text),
                other => wrong("no secret", other),
            },
            Text::Formatted(at, _) => match self.at(at, scene)? {
                Held::Foreign(Json::String(text)) => Ok(text),
                other => wrong("no text of a format", other),
            },
            Text::Listed(at) => match self.at(at, scene)? {
                Held::Listed(id, index) => Ok(&self.listed(*id, *index)?.0),
                Held::Unlisted(_, text) => Ok(text),
                other => wrong("no enumeration", other),
            },
        }
    }

    fn int(&self, at: &Place, scene: Scene<'_>) -> Answer<i128> {
        match self.at(at, scene)? {
            Held::Int(value) => Ok(*value),
            other => wrong("no integer", other),
        }
    }

    fn exact(&self, at: &Place, scene: Scene<'_>) -> Answer<Number> {
        match self.at(at, scene)? {
            Held::Number(number) => Ok(number.clone()),
            other => wrong("no number", other),
        }
    }

    fn number(&self, of: &Numeric, scene: Scene<'_>) -> Answer<Number> {
        match of {
            Numeric::Int(at) => Ok(whole(self.int(at, scene)?)),
            Numeric::Exact(at) => self.exact(at, scene),
        }
    }

    fn count(&self, counted: &Counted, scene: Scene<'_>) -> Answer<u64> {
        let count = match counted {
            Counted::Length(at) => match self.at(at, scene)? {
                Held::Vec(items) => items.len(),
                Held::Map(members) => members.len(),
                other => return wrong("nothing to count", other),
            },
            Counted::Members(at, always, sometimes) => {
                let there = sometimes.iter().try_fold(0, |count, name| {
                    Ok(count + usize::from(self.optional(&at.field(name), scene)?.is_some()))
                })?;
                always + there + self.members(&at.rest(), scene)?.len()
            }
            Counted::Characters(text) => self.text(text, scene)?.chars().count(),
        };
        Ok(count as u64)
    }
}

fn all<T>(items: &[T], holds: impl Fn(&T) -> Answer<bool>) -> Answer<bool> {
    items.iter().try_fold(true, |all, item| Ok(holds(item)? && all))
}

impl Order {
    fn holds<T: PartialOrd>(self, left: &T, right: &T) -> bool {
        match self {
            Self::AtLeast => left >= right,
            Self::Above => left > right,
            Self::AtMost => left <= right,
            Self::Below => left < right,
        }
    }
}
