//! Decides how a parameter's text becomes a value, by its schema.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    api::{Parameter, ParameterIn},
    schema::{Graph, SchemaId, Types},
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
    /// An object of values.
    Object(Vec<(String, Scalar)>),
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
}

impl Scalar {
    fn tokens(self) -> TokenStream {
        match self {
            Self::Text => quote!(Scalar::Text),
            Self::Number => quote!(Scalar::Number),
            Self::Boolean => quote!(Scalar::Boolean),
            Self::Any => quote!(Scalar::Any),
        }
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
            Self::Object(fields) => {
                let names = fields.iter().map(|(name, _)| name);
                let scalars = fields.iter().map(|(_, scalar)| scalar.tokens());
                quote!(Shape::Object(&[#((#names, #scalars)),*]))
            }
            Self::Json => quote!(Shape::Json),
        }
    }
}

/// The shape of a parameter, or why it cannot be read.
pub(super) fn shape(graph: &Graph, parameter: &Parameter) -> Result<Shape, String> {
    if let Some(content) = &parameter.content {
        let json = super::plan::is_json(content);
        return Ok(if json { Shape::Json } else { Shape::Scalar(Scalar::Text) });
    }
    let shape = match parameter.schema {
        Some(schema) => of_schema(graph, schema)?,
        None => Shape::Scalar(Scalar::Text),
    };
    let style = parameter.style.as_str();
    let fits = match parameter.location {
        ParameterIn::Path | ParameterIn::Header => style == "simple",
        ParameterIn::Query => {
            matches!(style, "form" | "spaceDelimited" | "pipeDelimited" | "deepObject")
        }
        ParameterIn::Cookie => style == "form",
    };
    let deep = style == "deepObject";
    if !fits || (deep && !matches!(shape, Shape::Object(_))) {
        return Err(format!("style `{style}` is not supported here"));
    }
    Ok(shape)
}

/// The style as the runtime's type.
pub(super) fn style(style: &str) -> TokenStream {
    let name = match style {
        "form" => quote!(Form),
        "spaceDelimited" => quote!(SpaceDelimited),
        "pipeDelimited" => quote!(PipeDelimited),
        "deepObject" => quote!(DeepObject),
        _ => quote!(Simple),
    };
    quote!(Style::#name)
}

/// The shape of a schema, or why text cannot stand for it.
pub(super) fn of_schema(graph: &Graph, schema: SchemaId) -> Result<Shape, String> {
    let types = types(graph, schema, 0).without(Types::NULL);
    if types == Types::ALL.without(Types::NULL) {
        return Ok(Shape::Scalar(Scalar::Any));
    }
    if types == Types::OBJECT {
        let properties = properties(graph, schema);
        let fields = properties.into_iter().map(|(name, schema)| Ok((name, scalar(graph, schema)?)));
        return fields.collect::<Result<_, String>>().map(Shape::Object);
    }
    if types.contains(Types::OBJECT) {
        return Err("text cannot tell an object from other values".to_owned());
    }
    if types.contains(Types::ARRAY) {
        let items = items(graph, schema, 0);
        return items.map_or(Ok(Scalar::Any), |items| scalar(graph, items)).map(Shape::Array);
    }
    Ok(Shape::Scalar(of_types(types)))
}

/// An element or a member: one value.
fn scalar(graph: &Graph, schema: SchemaId) -> Result<Scalar, String> {
    match of_schema(graph, schema)? {
        Shape::Scalar(scalar) => Ok(scalar),
        _ => Err("lists and objects inside a list or an object are not supported".to_owned()),
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
        Scalar::Any
    }
}

/// The JSON types that a schema leaves possible.
fn types(graph: &Graph, id: SchemaId, depth: usize) -> Types {
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

fn items(graph: &Graph, id: SchemaId, depth: usize) -> Option<SchemaId> {
    let schema = graph.schema(id);
    let branches = schema.any_of.iter().chain(&schema.one_of);
    let mut below = schema.reference.iter().chain(&schema.all_of).chain(branches);
    let deeper = |&id: &SchemaId| if depth < DEPTH { items(graph, id, depth + 1) } else { None };
    schema.items.or_else(|| below.find_map(deeper))
}

/// The declared members of an object, references and `allOf` included.
pub(super) fn properties(graph: &Graph, id: SchemaId) -> Vec<(String, SchemaId)> {
    let mut found: Vec<(String, SchemaId)> = Vec::new();
    let mut seen = Vec::new();
    let mut open = vec![id];
    while let Some(id) = open.pop() {
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        let schema = graph.schema(id);
        for (name, property) in &schema.properties {
            if !found.iter().any(|(known, _)| known == name) {
                found.push((name.clone(), *property));
            }
        }
        open.extend(schema.all_of.iter().rev().chain(&schema.reference));
    }
    found
}
