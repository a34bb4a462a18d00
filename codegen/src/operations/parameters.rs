//! Decides how a parameter's text becomes a value, by its schema.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    api::Parameter,
    schema::{Graph, Schema, SchemaId, Types},
};

/// How deep references are followed; contracts that refer further say nothing about text.
const DEPTH: usize = 32;

/// What a parameter, or a field of a form, stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One value.
    Scalar(Scalar),
    /// A list of values.
    Array(Scalar),
    /// An object: its members, and what others are where the contract says so.
    Object(Vec<(String, Shape)>, Option<Scalar>),
    /// One of several.
    OneOf(Vec<Shape>),
    /// A JSON document.
    Json,
}

/// One piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    /// A string.
    Text,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// Whatever it looks like.
    Any,
    /// One of these types.
    Of(Types),
    /// A JSON document.
    Json,
}

impl Scalar {
    pub(super) fn tokens(self) -> TokenStream {
        match self {
            Self::Text => quote!(Scalar::Text),
            Self::Number => quote!(Scalar::Number),
            Self::Boolean => quote!(Scalar::Boolean),
            Self::Any => quote!(Scalar::Any),
            Self::Of(types) => {
                let named = [
                    (Types::NULL, quote!(NULL)),
                    (Types::BOOLEAN, quote!(BOOLEAN)),
                    (Types::NUMBER, quote!(NUMBER)),
                    (Types::INTEGER, quote!(INTEGER)),
                    (Types::STRING, quote!(STRING)),
                ];
                let mut names = named.into_iter().filter(|(each, _)| {
                    let whole = *each == Types::INTEGER && types.contains(Types::NUMBER);
                    types.contains(*each) && !whole
                });
                let first = names.next().map(|(_, name)| quote!(Types::#name)).unwrap_or_default();
                let others = names.map(|(_, name)| quote!(.or(Types::#name)));
                quote!(Scalar::Of(#first #(#others)*))
            }
            Self::Json => quote!(Scalar::Json),
        }
    }

    /// Whether a text may stand for values of several types.
    const fn is_mixed(self) -> bool {
        matches!(self, Self::Any | Self::Of(_))
    }
}

impl Shape {
    /// An expression of the runtime's type of the same name.
    pub(super) fn tokens(&self) -> TokenStream {
        match self {
            Self::Scalar(scalar) => {
                let scalar = scalar.tokens();
                quote!(Shape::Scalar(#scalar))
            }
            Self::Array(scalar) => {
                let scalar = scalar.tokens();
                quote!(Shape::Array(#scalar))
            }
            Self::Object(fields, others) => {
                let names = fields.iter().map(|(name, _)| name);
                let shapes = fields.iter().map(|(_, shape)| shape.tokens());
                let fields = quote!(&[#((#names, #shapes)),*]);
                match others.map(Scalar::tokens) {
                    Some(others) => quote!(Shape::Map(#fields, #others)),
                    None => quote!(Shape::Object(#fields)),
                }
            }
            Self::OneOf(shapes) => {
                let shapes = shapes.iter().map(Self::tokens);
                quote!(Shape::OneOf(&[#(#shapes),*]))
            }
            Self::Json => quote!(Shape::Json),
        }
    }

    /// Whether a text may stand for several values, so that only the schema can tell.
    pub(super) fn is_ambiguous(&self) -> bool {
        match self {
            Self::Scalar(scalar) | Self::Array(scalar) => scalar.is_mixed(),
            Self::Object(fields, others) => {
                others.is_some_and(Scalar::is_mixed) || fields.iter().any(|(_, shape)| shape.is_ambiguous())
            }
            Self::OneOf(_) => true,
            Self::Json => false,
        }
    }
}

/// The shape of a parameter.
pub(super) fn shape(graph: &Graph, parameter: &Parameter) -> Shape {
    if let Some(content) = &parameter.content {
        let json = super::bodies::is_json(content);
        return if json { Shape::Json } else { Shape::Scalar(Scalar::Text) };
    }
    parameter.schema.map_or(Shape::Scalar(Scalar::Text), |schema| of_schema(graph, schema))
}

/// The style as the runtime's type.
pub(super) fn style(style: &str) -> TokenStream {
    let name = match style {
        "form" => quote!(Form),
        "spaceDelimited" => quote!(SpaceDelimited),
        "pipeDelimited" => quote!(PipeDelimited),
        "deepObject" => quote!(DeepObject),
        "label" => quote!(Label),
        "matrix" => quote!(Matrix),
        _ => quote!(Simple),
    };
    quote!(Style::#name)
}

/// The shape of a schema. One that says nothing about types stands for plain values.
pub(super) fn of_schema(graph: &Graph, schema: SchemaId) -> Shape {
    at(graph, schema, 0)
}

fn at(graph: &Graph, schema: SchemaId, depth: usize) -> Shape {
    let types = types(graph, schema, 0).without(Types::NULL);
    if types == Types::ALL.without(Types::NULL) {
        return Shape::Scalar(Scalar::Any);
    }
    if depth > DEPTH {
        return Shape::Json;
    }
    let mut shapes = Vec::new();
    let plain = types.without(Types::ARRAY).without(Types::OBJECT);
    if !plain.is_empty() {
        shapes.push(Shape::Scalar(of_types(plain)));
    }
    if types.contains(Types::ARRAY) {
        let items = items(graph, schema, 0).map(|items| at(graph, items, depth + 1));
        shapes.push(Shape::Array(match items {
            None => Scalar::Any,
            Some(Shape::Scalar(scalar)) => scalar,
            Some(_) => Scalar::Json,
        }));
    }
    if types.contains(Types::OBJECT) {
        let fields = members(graph, schema).into_iter().map(|member| {
            let shape = match member.schemas.as_slice() {
                [one] => at(graph, *one, depth + 1),
                _ => Shape::Scalar(Scalar::Any),
            };
            // Lists of lists and unions inside of an object are JSON text.
            let shape = match shape {
                Shape::OneOf(_) | Shape::Array(Scalar::Json) => Shape::Json,
                other => other,
            };
            (member.name, shape)
        });
        let others = others(graph, schema).map(|others| match at(graph, others, depth + 1) {
            Shape::Scalar(scalar) => scalar,
            _ => Scalar::Json,
        });
        shapes.push(Shape::Object(fields.collect(), others));
    }
    match shapes.len() {
        0 => Shape::Scalar(Scalar::Any),
        1 => shapes.remove(0),
        _ => Shape::OneOf(shapes),
    }
}

fn of_types(types: Types) -> Scalar {
    if Types::NUMBER.contains(types) {
        Scalar::Number
    } else if types == Types::BOOLEAN {
        Scalar::Boolean
    } else if types == Types::STRING {
        Scalar::Text
    } else {
        Scalar::Of(types)
    }
}

/// The JSON types that a schema leaves possible.
pub(super) fn types(graph: &Graph, id: SchemaId, depth: usize) -> Types {
    if depth > DEPTH {
        return Types::ALL;
    }
    let schema = graph.schema(id);
    let mut possible = schema.types.unwrap_or(Types::ALL);
    let values = schema.enumeration.iter().flatten().chain(&schema.constant);
    let listed = values.fold(Types(0), |types, value| types.or(type_of(value)));
    if schema.enumeration.is_some() || schema.constant.is_some() {
        possible = possible.and(listed);
    }
    for &all in schema.reference.iter().chain(&schema.all_of) {
        possible = possible.and(types(graph, all, depth + 1));
    }
    for any in [&schema.any_of, &schema.one_of] {
        if !any.is_empty() {
            let each = any.iter().map(|&branch| types(graph, branch, depth + 1));
            possible = possible.and(each.fold(Types(0), Types::or));
        }
    }
    possible
}

fn type_of(value: &contract_runtime::Json) -> Types {
    use contract_runtime::Json;
    match value {
        Json::Null => Types::NULL,
        Json::Bool(_) => Types::BOOLEAN,
        Json::Number(_) => Types::NUMBER,
        Json::String(_) => Types::STRING,
        Json::Array(_) => Types::ARRAY,
        Json::Object(_) => Types::OBJECT,
    }
}

pub(super) fn items(graph: &Graph, id: SchemaId, depth: usize) -> Option<SchemaId> {
    let schema = graph.schema(id);
    let branches = schema.any_of.iter().chain(&schema.one_of);
    let mut below = schema.reference.iter().chain(&schema.all_of).chain(branches);
    let deeper = |&id: &SchemaId| if depth < DEPTH { items(graph, id, depth + 1) } else { None };
    schema.items.or_else(|| below.find_map(deeper))
}

/// A declared member of an object.
pub(super) struct Member {
    /// Its name on the wire.
    pub(super) name: String,
    /// The schemas that describe it, one in each branch that declares it.
    pub(super) schemas: Vec<SchemaId>,
    /// Whether every object has it.
    pub(super) required: bool,
}

/// The declared members of an object, in references, `allOf` and all branches too.
pub(super) fn members(graph: &Graph, id: SchemaId) -> Vec<Member> {
    let mut found: Vec<Member> = Vec::new();
    let mut required: Vec<&str> = Vec::new();
    walk(graph, id, &mut |schema, always| {
        for (name, property) in &schema.properties {
            match found.iter_mut().find(|member| member.name == *name) {
                Some(member) if member.schemas.contains(property) => {}
                Some(member) => member.schemas.push(*property),
                None => {
                    let (name, schemas) = (name.clone(), vec![*property]);
                    found.push(Member { name, schemas, required: false });
                }
            }
        }
        if always {
            required.extend(schema.required.iter().map(String::as_str));
        }
    });
    for member in &mut found {
        member.required = required.contains(&member.name.as_str());
    }
    found
}

/// What `additionalProperties` says of members beside the declared ones, where it says something.
pub(super) fn others(graph: &Graph, id: SchemaId) -> Option<SchemaId> {
    let mut found = None;
    walk(graph, id, &mut |schema, _| {
        if let Some(others) = schema.additional_properties
            && graph.schema(others).boolean != Some(false)
        {
            found.get_or_insert(others);
        }
    });
    found
}

/// Whether no members are allowed beside the declared ones.
pub(super) fn is_closed(graph: &Graph, id: SchemaId) -> bool {
    let mut closed = false;
    walk(graph, id, &mut |schema, always| {
        let others = [schema.additional_properties, schema.unevaluated_properties].into_iter().flatten();
        closed |= always && others.into_iter().any(|others| graph.schema(others).boolean == Some(false));
    });
    closed
}

/// Visits every schema that may apply to the same value; `always`: that does.
fn walk<'g>(graph: &'g Graph, id: SchemaId, visit: &mut dyn FnMut(&'g Schema, bool)) {
    let mut seen = Vec::new();
    let mut open = vec![(id, true)];
    while let Some((id, always)) = open.pop() {
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        let schema = graph.schema(id);
        visit(schema, always);
        let branches = schema.any_of.iter().chain(&schema.one_of).rev().map(|&branch| (branch, false));
        open.extend(branches);
        let together = schema.all_of.iter().rev().chain(&schema.reference);
        open.extend(together.map(|&each| (each, always)));
    }
}
