//! Resolves JSON Pointers to paths through Rust types.

use contract_runtime::pointer;

use super::{ExpectedValue, PageProblem, PlanInput};
use crate::{
    conjunction::SchemaConjunction,
    schema::TypeSet,
    shape::{StructField, TypeBody, TypeRef, display_type},
};

/// A JSON Pointer, and the corresponding path of field accesses and dereferences in Rust.
#[derive(Clone, Debug)]
pub struct ValuePath {
    pub pointer: String,
    pub steps: Vec<ValuePathStep>,
}

/// One step from a Rust value to a value inside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValuePathStep {
    Field {
        name: String,
        /// True if the field may be absent.
        optional: bool,
    },
    /// From a nullable type to its value; the path ends here if the value is `null`.
    Nullable,
    Boxed,
    Inner,
    /// From a map of any JSON to the value with this key. The path ends here if there is none.
    Member(String),
    /// From any JSON to the value at this JSON Pointer. The path ends here if there is none.
    JsonPointer(String),
}

/// The type of a value that the contract does not describe.
static UNTYPED: TypeRef = TypeRef::Json;

/// A resolved path, with the type and the schemas of the value at its end.
pub(super) struct PathEnd<'a> {
    route: ValuePath,
    ty: &'a TypeRef,
    /// The schemas of the value, or `None` for the whole body and for a value that no schema describes.
    conj: Option<&'a SchemaConjunction>,
}

impl PlanInput<'_> {
    /// Resolves a JSON Pointer from the type `start`. Returns a problem that names the option `option` if no
    /// property is at the pointer. `within` describes the start for the message, such as the response.
    pub(super) fn resolve_path<'t>(
        &'t self,
        start: &'t TypeRef,
        pointer: &str,
        option: &'static str,
        within: &str,
    ) -> Result<PathEnd<'t>, PageProblem> {
        let no_pointer = || {
            let help = "a JSON Pointer is empty or starts with `/`: `/meta/next`";
            PageProblem::new(
                option,
                pointer,
                format!("cannot be used with `{pointer}`, which is not a JSON Pointer"),
                help,
            )
        };
        let tokens: Option<Vec<_>> =
            pointer::split_tokens(pointer).and_then(|tokens| tokens.map(pointer::unescape_token).collect());
        let mut route = ValuePath { pointer: pointer.to_owned(), steps: Vec::new() };
        let (mut ty, mut conj) = (start, None);
        let tokens = tokens.ok_or_else(no_pointer)?;
        for (at, token) in tokens.iter().enumerate() {
            ty = self.unwrap_type(ty, &mut route.steps);
            if let Some(steps) = untyped_steps(ty, &tokens[at..]) {
                route.steps.extend(steps);
                return Ok(PathEnd { route, ty: &UNTYPED, conj: None });
            }
            let fields = self.struct_fields(ty).ok_or_else(|| {
                let message = format!("has no member `{token}` at `{pointer}` in {within}");
                PageProblem::new(
                    option,
                    pointer,
                    message,
                    format!("`{}` declares no members", display_type(self.shapes, ty)),
                )
            })?;
            let field =
                fields.iter().find(|field| field.wire == *token && !field.omitted).ok_or_else(|| {
                    let message = format!("has no member `{token}` at `{pointer}` in {within}");
                    let has: Vec<String> = fields.iter().map(|field| format!("`{}`", field.wire)).collect();
                    PageProblem::new(
                        option,
                        pointer,
                        message,
                        format!("`{}` has {}", display_type(self.shapes, ty), has.join(", ")),
                    )
                })?;
            route.steps.push(ValuePathStep::Field { name: field.name.clone(), optional: !field.required });
            (ty, conj) = (&field.ty, Some(&field.conj));
        }
        Ok(PathEnd { route, ty, conj })
    }

    /// Returns the path to an array and the type of its elements, or a problem if there is no array at the
    /// end of the path.
    pub(super) fn resolve_array(&self, end: PathEnd<'_>) -> Result<(ValuePath, TypeRef), PageProblem> {
        let PathEnd { mut route, ty, .. } = end;
        match self.unwrap_type(ty, &mut route.steps) {
            TypeRef::Vec(item) => Ok((route, (**item).clone())),
            other => {
                let what = if route.pointer.is_empty() {
                    "its response".to_owned()
                } else {
                    format!("`{}`", route.pointer)
                };
                let message =
                    format!("has no array of items: {what} is `{}`", display_type(self.shapes, other));
                let help = "name the property that contains the items: `items = \"/data\"`";
                Err(PageProblem::new("items", &route.pointer, message, help))
            }
        }
    }

    /// Resolves a JSON Pointer like `resolve_path`. Returns a problem if the value does not have the JSON
    /// type that `wanted` describes.
    pub(super) fn resolve_value(
        &self,
        start: &TypeRef,
        pointer: &str,
        option: &'static str,
        within: &str,
        wanted: ExpectedValue,
    ) -> Result<ValuePath, PageProblem> {
        let PathEnd { route, ty, conj } = self.resolve_path(start, pointer, option, within)?;
        let types =
            conj.map_or(TypeSet::default(), |conj| self.facts_of(conj).types.difference(TypeSet::NULL));
        if std::ptr::eq(ty, &raw const UNTYPED) || !types.intersection(wanted.types()).is_empty() {
            return Ok(route);
        }
        let message = format!(
            "has `{}` where {} is needed: `{pointer}` in {within}",
            display_type(self.shapes, ty),
            wanted.describe()
        );
        Err(PageProblem::new(
            option,
            pointer,
            message,
            format!("name a member that is {}", wanted.describe()),
        ))
    }

    /// Returns the type inside boxes, nullable types and newtypes, and appends these steps to `steps`.
    fn unwrap_type<'t>(&'t self, ty: &'t TypeRef, steps: &mut Vec<ValuePathStep>) -> &'t TypeRef {
        let (inner, step) = match ty {
            TypeRef::Boxed(inner) => (&**inner, ValuePathStep::Boxed),
            TypeRef::Nullable(inner) => (&**inner, ValuePathStep::Nullable),
            TypeRef::Named(id) => match &self.shapes.get(*id).body {
                TypeBody::Newtype(inner) if !is_scalar(inner) => (inner, ValuePathStep::Inner),
                _ => return ty,
            },
            _ => return ty,
        };
        steps.push(step);
        self.unwrap_type(inner, steps)
    }

    fn struct_fields(&self, ty: &TypeRef) -> Option<&[StructField]> {
        let TypeRef::Named(id) = ty else { return None };
        match &self.shapes.get(*id).body {
            TypeBody::Struct(body) => Some(&body.fields),
            _ => None,
        }
    }
}

/// Returns the steps from a value of any JSON, or from a map of it, to the value that the tokens of a JSON Pointer lead
/// to. Returns `None` for other types.
fn untyped_steps(ty: &TypeRef, tokens: &[impl AsRef<str>]) -> Option<Vec<ValuePathStep>> {
    let (key, rest) = match ty {
        TypeRef::Json => (None, tokens),
        TypeRef::Map(value) if **value == TypeRef::Json => {
            let (key, rest) = tokens.split_first()?;
            (Some(ValuePathStep::Member(key.as_ref().to_owned())), rest)
        }
        _ => return None,
    };
    let pointer =
        rest.iter().fold(String::new(), |pointer, token| pointer::join_token(&pointer, token.as_ref()));
    let pointer = (!pointer.is_empty()).then_some(ValuePathStep::JsonPointer(pointer));
    Some(key.into_iter().chain(pointer).collect())
}

/// Returns true for the scalar types whose newtypes are not unwrapped, because generated code cannot access
/// their content.
const fn is_scalar(ty: &TypeRef) -> bool {
    matches!(ty, TypeRef::String | TypeRef::Secret | TypeRef::Int(_) | TypeRef::Number)
}
