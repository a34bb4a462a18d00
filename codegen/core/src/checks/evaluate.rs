//! Evaluates checks for a value directly, instead of printing them as Rust code and compiling it. The
//! generator's tests use this.
//!
//! The value is a [`TypedValue`], which has the same structure as a value of the generated type. A test that
//! does not fit its value results in an error; the compiler would reject the same test.

use contract_runtime::{Json, Number};

use super::{
    Check, ComparisonOperator, CountOperand, NumberOperand, PlaceForm, StringOperand, TypeChecks, ValuePlace,
    ValueTest,
};
use crate::{
    formats::format_check,
    schema::SchemaId,
    shape::{Shapes, TypeBody, TypeId},
    tables::TableSet,
    typed_value::{TypedValue, has_disjoint_rest, has_unique_members, integer_number, write_value},
};

/// A description of a test that does not fit the type of its value and would not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IllTypedTest(pub String);

/// An evaluator for the checks of a contract.
#[derive(Debug)]
pub struct Evaluator<'a> {
    pub shapes: &'a Shapes,
    pub tables: &'a TableSet<'a>,
    pub checks: &'a TypeChecks,
}

/// The values of the names that the generated code of a check uses: `self`, `value`, `name` and `text`.
#[derive(Clone, Copy)]
struct BoundValues<'h> {
    own: &'h TypedValue,
    bound: Option<&'h TypedValue>,
    name: Option<&'h str>,
    text: Option<&'h str>,
}

type EvaluationResult<T> = Result<T, IllTypedTest>;

fn ill_typed<T>(what: &str, found: impl std::fmt::Debug) -> EvaluationResult<T> {
    Err(IllTypedTest(format!("{what}: {found:?}")))
}

impl Evaluator<'_> {
    /// Evaluates `is_valid` for a value of a generated type.
    ///
    /// # Errors
    /// Returns an error if a test does not fit the type of the value that it examines, or if `value` is not
    /// of a generated type.
    pub fn is_valid(&self, value: &TypedValue) -> EvaluationResult<bool> {
        let (TypedValue::Struct(id, ..)
        | TypedValue::Variant(id, ..)
        | TypedValue::UnknownObject(id, _)
        | TypedValue::Listed(id, _)
        | TypedValue::Unlisted(id, _)
        | TypedValue::Newtype(id, _)) = value
        else {
            return ill_typed("expected a value of a type with `is_valid`", value);
        };
        self.evaluate_check(
            self.checks.for_type(*id),
            BoundValues { own: value, bound: None, name: None, text: None },
        )
    }

    fn evaluate_check(&self, check: &Check, scene: BoundValues<'_>) -> EvaluationResult<bool> {
        let count = |checks: &[Check]| -> EvaluationResult<usize> {
            checks
                .iter()
                .try_fold(0, |count, check| Ok(count + usize::from(self.evaluate_check(check, scene)?)))
        };
        Ok(match check {
            Check::Always => true,
            Check::Never => false,
            Check::All(all) => count(all)? == all.len(),
            Check::Any(any) => count(any)? > 0,
            Check::ExactlyOne(all) => count(all)? == 1,
            Check::Not(inner) => !self.evaluate_check(inner, scene)?,
            Check::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.evaluate_check(
                    if self.evaluate_check(condition, scene)? { then } else { otherwise },
                    scene,
                )?
            }
            Check::Test(test) => self.evaluate_test(test, scene)?,
        })
    }

    fn evaluate_test(&self, test: &ValueTest, scene: BoundValues<'_>) -> EvaluationResult<bool> {
        let with = |check: &Check, bound: &TypedValue| {
            self.evaluate_check(check, BoundValues { bound: Some(bound), ..scene })
        };
        Ok(match test {
            ValueTest::Valid(at) => self.is_valid(self.value_at(at, scene)?)?,
            ValueTest::Tables(at, form, ids) => match (self.value_at(at, scene)?, form) {
                (TypedValue::Json(json), PlaceForm::Json) => self.is_valid_by_tables(ids, json),
                (other, PlaceForm::Json) => return ill_typed("expected untyped JSON", other),
                (held, PlaceForm::Typed) => {
                    has_unique_members(self.shapes, held)
                        && self.is_valid_by_tables(ids, &write_value(self.shapes, held))
                }
            },
            ValueTest::StringTables(text, ids) => {
                self.is_valid_by_tables(ids, &Json::String(self.string_operand(text, scene)?.to_owned()))
            }
            ValueTest::True(at) => match self.value_at(at, scene)? {
                TypedValue::Bool(value) => *value,
                other => return ill_typed("expected a boolean", other),
            },
            ValueTest::IsPresent(at) => self.optional_field(at, scene)?.is_some(),
            ValueTest::IfPresent(at, check) => match self.optional_field(at, scene)? {
                Some(value) => with(check, value)?,
                None => true,
            },
            ValueTest::RestIsDisjoint(at, of) => match self.value_at(at, scene)? {
                TypedValue::Struct(id, _, rest) if id == of => has_disjoint_rest(self.shapes, *id, rest),
                other => return ill_typed("expected the struct of the check", other),
            },
            ValueTest::Writable(at) => has_unique_members(self.shapes, self.value_at(at, scene)?),
            ValueTest::Contains(at, name) => {
                self.map_members(at, scene)?.iter().any(|(known, _)| known == name)
            }
            ValueTest::IfContains(at, name, check) => {
                match self.map_members(at, scene)?.iter().find(|(known, _)| known == name) {
                    Some((_, value)) => with(check, value)?,
                    None => true,
                }
            }
            ValueTest::Elements(at, check) => match self.value_at(at, scene)? {
                TypedValue::Vec(items) => all_hold(items, |item| with(check, item))?,
                other => return ill_typed("expected an array", other),
            },
            ValueTest::Values(at, check) => {
                all_hold(self.map_members(at, scene)?, |(_, value)| with(check, value))?
            }
            ValueTest::Names(at, check) => all_hold(self.map_members(at, scene)?, |(name, _)| {
                self.evaluate_check(check, BoundValues { name: Some(name), ..scene })
            })?,
            ValueTest::Members(at, check) => all_hold(self.map_members(at, scene)?, |(name, value)| {
                self.evaluate_check(check, BoundValues { name: Some(name), bound: Some(value), ..scene })
            })?,
            ValueTest::Count(counted, order, limit) => order.compare(&self.count_of(counted, scene)?, limit),
            ValueTest::Distinct(at) => match self.value_at(at, scene)? {
                TypedValue::Vec(all) => {
                    let items: Vec<Json> = all.iter().map(|item| write_value(self.shapes, item)).collect();
                    let are_writable = || all.iter().all(|item| has_unique_members(self.shapes, item));
                    (items.len() < 2 || are_writable())
                        && items.iter().enumerate().all(|(at, item)| !items[..at].contains(item))
                }
                other => return ill_typed("expected an array", other),
            },
            ValueTest::StringIn(text, values) => {
                let text = self.string_operand(text, scene)?;
                values.iter().any(|value| value == text)
            }
            ValueTest::Matches(text, pattern) => {
                self.tables.is_match(pattern, self.string_operand(text, scene)?)
            }
            ValueTest::Format(text, format) => format.is_match(self.string_operand(text, scene)?),
            ValueTest::MappedFormat(text, _, format) => {
                format_check(format)(self.string_operand(text, scene)?)
            }
            ValueTest::IntIn(at, values) => values.contains(&self.integer_at(at, scene)?),
            ValueTest::IntBound(at, order, limit) => order.compare(&self.integer_at(at, scene)?, limit),
            ValueTest::IntMultiple(at, divisor) => self.integer_at(at, scene)? % i128::from(*divisor) == 0,
            ValueTest::NumberIn(at, values) => values.contains(&self.number_at(at, scene)?),
            ValueTest::NumberBound(of, order, limit) => {
                order.compare(&self.number_operand(of, scene)?, limit)
            }
            ValueTest::NumberMultiple(of, divisor) => self.number_operand(of, scene)?.is_multiple_of(divisor),
            ValueTest::Integral(at) => self.number_at(at, scene)?.is_integer(),
            ValueTest::Listed(at, of, names) => match self.value_at(at, scene)? {
                TypedValue::Listed(id, index) if id == of => names.contains(&self.enum_value(*id, *index)?.1),
                TypedValue::Unlisted(id, _) if id == of => false,
                other => return ill_typed("expected the enumeration of the check", other),
            },
            ValueTest::Unlisted(at, check) => match self.value_at(at, scene)? {
                TypedValue::Unlisted(_, text) => {
                    self.evaluate_check(check, BoundValues { text: Some(text), ..scene })?
                }
                TypedValue::Listed(..) => true,
                other => return ill_typed("expected an enumeration", other),
            },
            ValueTest::Nullable { at, null, value, .. } => match self.value_at(at, scene)? {
                TypedValue::Null => *null,
                TypedValue::NonNull(inner) => with(value, inner)?,
                other => return ill_typed("expected a nullable value", other),
            },
            ValueTest::Variants { at, of, arms, unknown, .. } => match (self.value_at(at, scene)?, unknown) {
                (TypedValue::Variant(id, index, inner), _) if id == of => match arms.get(*index) {
                    Some(arm) => with(&arm.check, inner)?,
                    None => return ill_typed("the check has no arm for the variant", index),
                },
                (TypedValue::UnknownObject(id, json), Some(ids)) if id == of => {
                    self.is_valid_by_tables(ids, json)
                }
                (other, _) => return ill_typed("expected the enum of the check", other),
            },
        })
    }

    fn is_valid_by_tables(&self, ids: &[SchemaId], json: &Json) -> bool {
        ids.iter().all(|id| self.tables.is_valid(*id, json))
    }

    fn value_at<'h>(&self, place: &ValuePlace, scene: BoundValues<'h>) -> EvaluationResult<&'h TypedValue> {
        Ok(match place {
            ValuePlace::Own => scene.own,
            ValuePlace::Bound => match scene.bound {
                Some(bound) => bound,
                None => return ill_typed("no value is bound", place),
            },
            ValuePlace::Field(..) => match self.field_at(place, scene)? {
                (Some(value), true) => value,
                (value, _) => return ill_typed("expected a required member", value),
            },
            ValuePlace::Rest(of) => match self.value_at(of, scene)? {
                TypedValue::Struct(_, _, rest) => rest,
                other => return ill_typed("expected a struct", other),
            },
            ValuePlace::Inside(of) | ValuePlace::Integer(of) => match self.value_at(of, scene)? {
                TypedValue::Newtype(_, inner) => inner,
                other => return ill_typed("expected a newtype", other),
            },
            ValuePlace::Element(of, index) => match self.value_at(of, scene)? {
                TypedValue::Tuple(items) if *index < items.len() => &items[*index],
                other => return ill_typed("expected a tuple with this element", other),
            },
        })
    }

    /// Returns the value of a field, or `None` if the field is absent. The flag is true if the field is
    /// required.
    fn field_at<'h>(
        &self,
        place: &ValuePlace,
        scene: BoundValues<'h>,
    ) -> EvaluationResult<(Option<&'h TypedValue>, bool)> {
        let ValuePlace::Field(of, name) = place else { return ill_typed("expected a field", place) };
        let TypedValue::Struct(id, fields, _) = self.value_at(of, scene)? else {
            return ill_typed("expected a struct with this field", name);
        };
        let TypeBody::Struct(body) = &self.shapes.get(*id).body else {
            return ill_typed("expected a struct", id);
        };
        match body.fields.iter().position(|field| field.name == *name && !field.omitted) {
            Some(at) => Ok((fields[at].as_ref(), body.fields[at].required)),
            None => ill_typed("the struct has no field with this name", name),
        }
    }

    fn optional_field<'h>(
        &self,
        place: &ValuePlace,
        scene: BoundValues<'h>,
    ) -> EvaluationResult<Option<&'h TypedValue>> {
        match self.field_at(place, scene)? {
            (value, false) => Ok(value),
            (value, true) => ill_typed("expected an optional member", value),
        }
    }

    fn map_members<'h>(
        &self,
        place: &ValuePlace,
        scene: BoundValues<'h>,
    ) -> EvaluationResult<&'h [(String, TypedValue)]> {
        match self.value_at(place, scene)? {
            TypedValue::Map(members) => Ok(members),
            other => ill_typed("expected a map", other),
        }
    }

    fn enum_value(&self, id: TypeId, index: usize) -> EvaluationResult<&(String, String, Option<String>)> {
        match &self.shapes.get(id).body {
            TypeBody::Enum(list) if index < list.values.len() => Ok(&list.values[index]),
            other => ill_typed("expected an enumeration with this value", other),
        }
    }

    fn string_operand<'s>(
        &'s self,
        text: &StringOperand,
        scene: BoundValues<'s>,
    ) -> EvaluationResult<&'s str> {
        match text {
            StringOperand::Name => scene.name.map_or_else(|| ill_typed("no name is bound", text), Ok),
            StringOperand::Unlisted => scene.text.map_or_else(|| ill_typed("no string is bound", text), Ok),
            StringOperand::String(at) => match self.value_at(at, scene)? {
                TypedValue::String(text) => Ok(text),
                other => ill_typed("expected a string", other),
            },
            StringOperand::Secret(at) => match self.value_at(at, scene)? {
                TypedValue::Secret(text) => Ok(text),
                other => ill_typed("expected a secret", other),
            },
            StringOperand::Formatted(at, _) => match self.value_at(at, scene)? {
                TypedValue::Replaced(Json::String(text)) => Ok(text),
                other => ill_typed("expected a string with a format", other),
            },
            StringOperand::Listed(at) => match self.value_at(at, scene)? {
                TypedValue::Listed(id, index) => Ok(&self.enum_value(*id, *index)?.0),
                TypedValue::Unlisted(_, text) => Ok(text),
                other => ill_typed("expected an enumeration", other),
            },
        }
    }

    fn integer_at(&self, at: &ValuePlace, scene: BoundValues<'_>) -> EvaluationResult<i128> {
        match self.value_at(at, scene)? {
            TypedValue::Int(value) => Ok(*value),
            other => ill_typed("expected an integer", other),
        }
    }

    fn number_at(&self, at: &ValuePlace, scene: BoundValues<'_>) -> EvaluationResult<Number> {
        match self.value_at(at, scene)? {
            TypedValue::Number(number) => Ok(number.clone()),
            other => ill_typed("expected a number", other),
        }
    }

    fn number_operand(&self, of: &NumberOperand, scene: BoundValues<'_>) -> EvaluationResult<Number> {
        match of {
            NumberOperand::Int(at) => Ok(integer_number(self.integer_at(at, scene)?)),
            NumberOperand::Exact(at) => self.number_at(at, scene),
        }
    }

    fn count_of(&self, counted: &CountOperand, scene: BoundValues<'_>) -> EvaluationResult<u64> {
        let count = match counted {
            CountOperand::Length(at) => match self.value_at(at, scene)? {
                TypedValue::Vec(items) => items.len(),
                TypedValue::Map(members) => members.len(),
                other => return ill_typed("expected an array or a map", other),
            },
            CountOperand::Members(at, always, sometimes) => {
                let there = sometimes.iter().try_fold(0, |count, name| {
                    Ok(count + usize::from(self.optional_field(&at.field(name), scene)?.is_some()))
                })?;
                always + there + self.map_members(&at.rest(), scene)?.len()
            }
            CountOperand::Characters(text) => self.string_operand(text, scene)?.chars().count(),
        };
        Ok(count as u64)
    }
}

fn all_hold<T>(items: &[T], holds: impl Fn(&T) -> EvaluationResult<bool>) -> EvaluationResult<bool> {
    items.iter().try_fold(true, |all, item| Ok(holds(item)? && all))
}

impl ComparisonOperator {
    fn compare<T: PartialOrd>(self, left: &T, right: &T) -> bool {
        match self {
            Self::AtLeast => left >= right,
            Self::Above => left > right,
            Self::AtMost => left <= right,
            Self::Below => left < right,
        }
    }
}
