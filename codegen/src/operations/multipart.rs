//! Settles the parts of a multipart body: which members are files, text or JSON, and how many
//! parts each has (OpenAPI 3.1, 4.8.14.4 and 4.8.15).

use contract_runtime::Json;
use proc_macro2::TokenStream;
use quote::quote;

use super::Contract;
use super::bodies::is_json;
use super::parameters::{Member, Scalar, Shape, items, members, of_schema, types};
use crate::{
    api::MediaType,
    emit::ident,
    names,
    schema::{Graph, SchemaId, Types},
};

/// How deep references are followed.
const DEPTH: usize = 32;

/// A member of a multipart body, settled.
#[derive(Clone, Debug)]
pub(crate) struct PartPlan {
    /// Its name on the wire.
    pub(crate) name: String,
    /// The field.
    pub(crate) field: String,
    /// Whether every body has it.
    pub(crate) required: bool,
    /// What each part stands for.
    pub(crate) form: Form,
    /// How many parts there are.
    pub(crate) parts: Parts,
    /// Type of the value; unused for files.
    pub(crate) ty: TokenStream,
    /// The schema that describes it.
    pub(crate) schema: SchemaId,
    media_type: String,
}

/// What each part stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A file.
    Binary,
    /// Text of one value.
    Text(Scalar),
    /// JSON.
    Json,
}

/// How many parts a member has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    /// One.
    One,
    /// One for each element.
    Each,
    /// Either.
    OneOrEach,
}

/// The declared members of a body.
pub(super) fn parts(contract: Contract<'_>, media: &MediaType) -> Vec<PartPlan> {
    let Some(schema) = media.schema else { return Vec::new() };
    let found: Vec<Member> = members(contract.graph, schema);
    let mut plans: Vec<PartPlan> = found
        .into_iter()
        .filter_map(|member| {
            let encoding = media.encoding.iter().find(|(name, _)| *name == member.name);
            part(contract, member, encoding.map(|(_, encoding)| encoding))
        })
        .collect();
    let wires: Vec<String> = plans.iter().map(|plan| plan.name.clone()).collect();
    let wires: Vec<&str> = wires.iter().map(String::as_str).collect();
    let plain = |wire: &&str| match names::field_name(wire) {
        // The struct's own.
        name if name == "others" => "others_part".to_owned(),
        name => name,
    };
    let mut fields: Vec<String> = wires.iter().map(plain).collect();
    names::make_distinct(&wires, &mut fields);
    for (plan, field) in plans.iter_mut().zip(fields) {
        plan.field = field;
    }
    plans
}

fn part(contract: Contract<'_>, member: Member, encoding: Option<&Json>) -> Option<PartPlan> {
    let graph = contract.graph;
    let schema = *member.schemas.first()?;
    let text = |key: &str| encoding?.pointer(key)?.as_str();
    // A list of media types: the first is what is sent unless the file says otherwise.
    let content_type = text("/contentType").and_then(|list| list.split(',').map(str::trim).next());
    let content_type = content_type.filter(|media_type| !media_type.contains('*')).unwrap_or_default();
    let headers = encoding.and_then(|encoding| encoding.pointer("/headers"));
    let headers = match headers {
        Some(Json::Object(headers)) => headers.keys().any(|name| !name.eq_ignore_ascii_case("content-type")),
        _ => false,
    };
    let own_types: Vec<TokenStream> = member.schemas.iter().map(|&s| contract.types.rust_type(s)).collect();
    let same = own_types.iter().all(|ty| ty.to_string() == own_types[0].to_string());
    let (mut form, parts) = if let Some(parts) = binary(graph, schema, 0) {
        (Form::Binary, parts)
    } else {
        value(graph, if same { Some(schema) } else { None })
    };
    if is_json(content_type) && form != Form::Binary {
        form = Form::Json;
    }
    let media = content_type.split('/').next().unwrap_or_default();
    let raw =
        matches!(media, "image" | "audio" | "video" | "font") || content_type == "application/octet-stream";
    if headers || raw {
        form = Form::Binary;
    }
    let media_type = match form {
        _ if !content_type.is_empty() => content_type,
        Form::Json => "application/json",
        Form::Binary | Form::Text(_) => "",
    };
    Some(PartPlan {
        name: member.name,
        field: String::new(),
        required: member.required,
        form,
        parts,
        ty: if same { own_types[0].clone() } else { quote!(::contract_runtime::Json) },
        schema,
        media_type: media_type.to_owned(),
    })
}

/// What a value becomes; lists become one part for each element.
fn value(graph: &Graph, schema: Option<SchemaId>) -> (Form, Parts) {
    let Some(schema) = schema else { return (Form::Text(Scalar::Any), Parts::OneOrEach) };
    let of = |shape: Shape| match shape {
        Shape::Scalar(scalar) => Form::Text(scalar),
        _ => Form::Json,
    };
    let possible = types(graph, schema, 0).without(Types::NULL);
    if possible.contains(Types::OBJECT) {
        return (Form::Json, Parts::One);
    }
    if !possible.contains(Types::ARRAY) {
        return (of(of_schema(graph, schema)), Parts::One);
    }
    let item = items(graph, schema, 0).map_or(Form::Json, |items| of(of_schema(graph, items)));
    match (possible == Types::ARRAY, item) {
        (true, item) => (item, Parts::Each),
        (false, Form::Text(_)) => (Form::Text(Scalar::Any), Parts::OneOrEach),
        (false, _) => (Form::Json, Parts::One),
    }
}

/// Whether a schema describes bytes, and how many files it takes.
fn binary(graph: &Graph, id: SchemaId, depth: usize) -> Option<Parts> {
    if depth > DEPTH {
        return None;
    }
    let schema = graph.schema(id);
    let named = schema.format.as_deref() == Some("binary")
        || schema.content_encoding.as_deref() == Some("binary")
        || (schema.content_media_type.is_some() && schema.content_encoding.is_none());
    let text = schema.types.is_none_or(|types| types.without(Types::NULL) == Types::STRING);
    if named && text {
        return Some(Parts::One);
    }
    // OpenAPI 3.1, 4.8.14.2: a schema that says nothing describes raw bytes.
    let silent = schema.types.is_none()
        && schema.boolean != Some(false)
        && schema.children().next().is_none()
        && schema.enumeration.is_none()
        && schema.constant.is_none()
        && schema.properties.is_empty();
    if silent {
        return Some(Parts::One);
    }
    if let Some(items) = schema.items
        && schema.types.is_none_or(|types| types.without(Types::NULL) == Types::ARRAY)
        && binary(graph, items, depth + 1) == Some(Parts::One)
    {
        return Some(Parts::Each);
    }
    let branches: Vec<SchemaId> = schema.any_of.iter().chain(&schema.one_of).copied().collect();
    let branches = branches.into_iter().filter(|&branch| types(graph, branch, 0) != Types::NULL);
    let branches: Option<Vec<Parts>> = branches.map(|branch| binary(graph, branch, depth + 1)).collect();
    match branches.as_deref() {
        Some([first, others @ ..]) => {
            let same = others.iter().all(|other| other == first);
            return Some(if same { *first } else { Parts::OneOrEach });
        }
        None => return None,
        Some([]) => {}
    }
    let mut together = schema.reference.iter().chain(&schema.all_of);
    together.find_map(|&each| binary(graph, each, depth + 1).filter(|_| !is_silent(graph, each)))
}

/// A part of an `allOf` that says nothing is no file for that.
fn is_silent(graph: &Graph, id: SchemaId) -> bool {
    let schema = graph.schema(id);
    schema.types.is_none() && schema.format.is_none() && schema.children().next().is_none()
}

impl PartPlan {
    /// The type of the field.
    pub(crate) fn field_type(&self) -> TokenStream {
        let ty = &self.ty;
        match (self.form, self.parts, self.required) {
            (Form::Binary, Parts::One, true) => quote!(File),
            (Form::Binary, Parts::One, false) => quote!(Option<File>),
            (Form::Binary, ..) => quote!(Vec<File>),
            (_, _, true) => quote!(#ty),
            (_, _, false) => quote!(Option<#ty>),
        }
    }

    /// An expression of the runtime's type, imported where it stands.
    pub(super) fn tokens(&self) -> TokenStream {
        let (name, media_type) = (&self.name, &self.media_type);
        let form = match self.form {
            Form::Binary => quote!(Binary),
            Form::Json => quote!(Json),
            Form::Text(scalar) => {
                let scalar = scalar.tokens();
                quote!(Text(#scalar))
            }
        };
        let parts = ident(match self.parts {
            Parts::One => "One",
            Parts::Each => "Each",
            Parts::OneOrEach => "OneOrEach",
        });
        quote!(Part { name: #name, form: PartForm::#form, parts: Parts::#parts, media_type: #media_type })
    }
}
