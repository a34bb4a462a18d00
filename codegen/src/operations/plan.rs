//! Settles for each operation what the table and the server interface have in common:
//! names, parameters, the one body that is read.

use proc_macro2::TokenStream;
use quote::quote;

use super::parameters::{Shape, of_schema, properties, shape, style};
use super::{Contract, location_name};
use crate::{
    api::{MediaType, Operation, Parameter, ParameterIn, RequestBody},
    diagnostics::{Diagnostic, Diagnostics},
    names,
    schema::SchemaId,
};

/// Names that the generated server itself uses for types.
const TAKEN: &[&str] = &[
    "Call",
    "Context",
    "Endpoints",
    "Operation",
    "OperationId",
    "Refusal",
    "Rejection",
    "Reply",
    "Request",
    "Response",
    "Router",
    "RouterOptions",
    "Service",
];

/// Fields of a generated request that are not parameters.
const FIELDS: &[&str] = &["body", "undeclared", "context"];

/// OpenAPI 3.1, 4.8.12.1: parameters of these names are ignored.
const IGNORED: &[&str] = &["accept", "content-type", "authorization"];

/// One operation, settled.
pub(crate) struct Plan<'a> {
    /// What the contract says.
    pub(crate) operation: &'a Operation,
    /// `PetWrite`
    pub(crate) type_name: String,
    /// `pet_write`
    pub(crate) method_name: String,
    /// Whether it requires the header that makes a repetition harmless.
    pub(crate) idempotent: bool,
    /// What a handler sees, in document order.
    pub(crate) parameters: Vec<ParameterPlan<'a>>,
    /// The body that is read.
    pub(crate) body: Option<BodyPlan<'a>>,
    /// Whether the server interface offers it.
    pub(crate) served: bool,
}

/// One parameter, settled.
pub(crate) struct ParameterPlan<'a> {
    /// What the contract says.
    pub(crate) parameter: &'a Parameter,
    /// The field of the request.
    pub(crate) field: String,
    /// What its text stands for.
    pub(crate) shape: Shape,
    /// An expression for its validator.
    validator: Option<TokenStream>,
}

/// A request's body, settled.
pub(crate) struct BodyPlan<'a> {
    /// What the contract says.
    pub(crate) body: &'a RequestBody,
    /// The media type that is read.
    pub(crate) media: &'a MediaType,
    /// How it is read.
    pub(crate) format: Format,
    /// Whether its type checks itself.
    pub(crate) reading: Reading,
    location: String,
    validator: Option<TokenStream>,
}

/// How the bytes of a body are read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON.
    Json,
    /// UTF-8 text.
    Text,
    /// Bytes.
    Bytes,
    /// A form with these fields.
    Form(Vec<(String, Shape)>),
}

/// What the type of a body can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// It checks itself.
    Model,
    /// It is read, and checked by a validator.
    Value,
}

/// Settles all operations, in document order.
pub(crate) fn plan<'a>(contract: Contract<'a>, diagnostics: &mut Diagnostics) -> Vec<Plan<'a>> {
    let operations = &contract.api.operations;
    let wires: Vec<&str> = operations.iter().map(|operation| operation.id.as_str()).collect();
    let mut types: Vec<String> = wires.iter().map(|wire| type_name(wire)).collect();
    let mut methods: Vec<String> = wires.iter().map(|wire| method_name(wire)).collect();
    names::make_distinct(&wires, &mut types);
    names::make_distinct(&wires, &mut methods);
    let named = operations.iter().zip(types.into_iter().zip(methods));
    named.map(|(operation, (t, m))| one(contract, operation, t, m, diagnostics)).collect()
}

fn type_name(wire: &str) -> String {
    let name = names::type_name(wire);
    if TAKEN.contains(&name.as_str()) { format!("{name}Operation") } else { name }
}

fn method_name(wire: &str) -> String {
    let name = names::field_name(wire);
    if name == "reject" { "reject_operation".to_owned() } else { name }
}

fn one<'a>(
    contract: Contract<'a>,
    operation: &'a Operation,
    type_name: String,
    method_name: String,
    diagnostics: &mut Diagnostics,
) -> Plan<'a> {
    let key = contract.config.idempotency_header.as_deref().unwrap_or("");
    let named =
        |p: &Parameter, name: &str| p.location == ParameterIn::Header && p.name.eq_ignore_ascii_case(name);
    let idempotent = operation.parameters.iter().any(|p| p.required && named(p, key));
    let hidden = contract.config.hidden_headers.iter().map(String::as_str);
    let hidden: Vec<&str> = hidden.chain(IGNORED.iter().copied()).collect();
    let mut served = true;
    let mut parameters = Vec::new();
    for parameter in &operation.parameters {
        if hidden.iter().any(|name| named(parameter, name)) {
            continue;
        }
        match shape(contract.graph, parameter) {
            Ok(shape) => parameters.push(ParameterPlan {
                parameter,
                field: String::new(),
                shape,
                validator: parameter.schema.and_then(|schema| validator(contract, schema)),
            }),
            Err(reason) => {
                let message = format!(
                    "`{}` is left out of the server: parameter `{}`: {reason}",
                    operation.id, parameter.name
                );
                let warning = Diagnostic::warning("unsupported-parameter", message);
                diagnostics.push(warning.at(parameter.place.clone()));
                served = false;
            }
        }
    }
    name_fields(&mut parameters);
    let body = operation.request_body.as_ref().and_then(|body| {
        let planned = choose(contract, operation, body, diagnostics);
        served &= planned.is_some() || body.content.is_empty();
        planned
    });
    Plan { operation, type_name, method_name, idempotent, parameters, body, served }
}

/// Parameters take their own names; those that clash take their location's in front.
fn name_fields(parameters: &mut [ParameterPlan<'_>]) {
    let plain: Vec<String> = parameters.iter().map(|p| names::field_name(&p.parameter.name)).collect();
    let located = parameters.iter().zip(&plain).map(|(plan, name)| {
        let clashes = plain.iter().filter(|other| *other == name).count() > 1;
        if clashes || FIELDS.contains(&name.as_str()) {
            let (location, _) = location_name(plan.parameter.location);
            names::field_name(&format!("{location}_{}", plan.parameter.name))
        } else {
            name.clone()
        }
    });
    let mut fields: Vec<String> = located.collect();
    let wires: Vec<&str> = parameters.iter().map(|p| p.parameter.name.as_str()).collect();
    names::make_distinct(&wires, &mut fields);
    for (plan, field) in parameters.iter_mut().zip(fields) {
        plan.field = field;
    }
}

/// The media type that is read: JSON before others, in document order.
fn choose<'a>(
    contract: Contract<'a>,
    operation: &Operation,
    body: &'a RequestBody,
    diagnostics: &mut Diagnostics,
) -> Option<BodyPlan<'a>> {
    let mut readable = Vec::new();
    let mut refused = Vec::new();
    for media in &body.content {
        match format(contract, media) {
            Ok(format) => readable.push((media, format)),
            Err(reason) => refused.push(format!("{}: {reason}", media.name)),
        }
    }
    readable.sort_by_key(|(_, format)| *format != Format::Json);
    let mut readable = readable.into_iter();
    let chosen = readable.next();
    let others = readable.map(|(media, _)| format!("{}: one media type is read", media.name));
    refused.extend(others);
    if !refused.is_empty() {
        let what = match &chosen {
            Some((media, _)) => format!("the server reads only {}", media.name),
            None => "it is left out of the server".to_owned(),
        };
        let message = format!("body of `{}`: {what} ({})", operation.id, refused.join("; "));
        let warning = Diagnostic::warning("unsupported-body", message);
        diagnostics.push(warning.at(body.place.clone()));
    }
    let (media, format) = chosen?;
    let model = format == Format::Json && media.schema.is_some_and(|s| contract.types.is_contract(s));
    Some(BodyPlan {
        body,
        media,
        reading: if model { Reading::Model } else { Reading::Value },
        location: media.schema.map(|s| contract.graph.location(s)).unwrap_or_default(),
        validator: media.schema.and_then(|schema| validator(contract, schema)),
        format,
    })
}

/// How a body of this media type is read or written, or why it is not.
pub(crate) fn format(contract: Contract<'_>, media: &MediaType) -> Result<Format, String> {
    let essence = essence(&media.name);
    if is_json(&essence) {
        Ok(Format::Json)
    } else if essence.starts_with("multipart/") {
        Err("multipart is not supported".to_owned())
    } else if essence == "application/x-www-form-urlencoded" {
        form(contract, media)
    } else if essence.starts_with("text/") || essence == "application/xml" || essence.ends_with("+xml") {
        Ok(Format::Text)
    } else {
        Ok(Format::Bytes)
    }
}

fn form(contract: Contract<'_>, media: &MediaType) -> Result<Format, String> {
    if !media.encoding.is_empty() {
        return Err("a form with `encoding` is not supported".to_owned());
    }
    let Some(schema) = media.schema else { return Ok(Format::Form(Vec::new())) };
    let field = |(name, schema): (String, SchemaId)| match of_schema(contract.graph, schema) {
        Ok(shape @ (Shape::Scalar(_) | Shape::Array(_))) => Ok((name, shape)),
        Ok(_) => Ok((name, Shape::Json)),
        Err(reason) => Err(format!("field `{name}`: {reason}")),
    };
    let fields = properties(contract.graph, schema).into_iter().map(field);
    fields.collect::<Result<_, _>>().map(Format::Form)
}

/// Whether a media type is JSON (RFC 6839, 3.1).
pub(super) fn is_json(media_type: &str) -> bool {
    let essence = essence(media_type);
    matches!(essence.as_str(), "application/json" | "text/json") || essence.ends_with("+json")
}

fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

/// An expression for the validator of a schema: the crate's own, or its type's.
pub(crate) fn validator(contract: Contract<'_>, schema: SchemaId) -> Option<TokenStream> {
    contract.types.validator(schema).or_else(|| {
        let ty = contract.types.rust_type(schema);
        let own = contract.types.is_contract(schema);
        own.then(|| quote!(<#ty as ::contract_runtime::Contract>::VALIDATOR))
    })
}

/// `Some(|| validator)` or `None`.
pub(crate) fn validator_option(validator: Option<&TokenStream>) -> TokenStream {
    match validator {
        Some(validator) => quote!(Some(|| #validator)),
        None => quote!(None),
    }
}

impl ParameterPlan<'_> {
    /// An expression of the runtime's type, imported where it stands.
    pub(super) fn tokens(&self) -> TokenStream {
        let Parameter { name, required, explode, .. } = self.parameter;
        let (_, location) = location_name(self.parameter.location);
        let style = style(&self.parameter.style);
        let shape = self.shape.tokens();
        let validator = validator_option(self.validator.as_ref());
        quote! {
            Parameter {
                name: #name,
                location: Location::#location,
                required: #required,
                style: #style,
                explode: #explode,
                shape: #shape,
                validator: #validator,
            }
        }
    }
}

impl BodyPlan<'_> {
    /// An expression of the runtime's type, imported where it stands.
    pub(super) fn tokens(&self) -> TokenStream {
        let required = self.body.required;
        let media_type = &self.media.name;
        let schema = &self.location;
        let validator = validator_option(self.validator.as_ref());
        let format = match &self.format {
            Format::Json => quote!(Json),
            Format::Text => quote!(Text),
            Format::Bytes => quote!(Bytes),
            Format::Form(fields) => {
                let names = fields.iter().map(|(name, _)| name);
                let shapes = fields.iter().map(|(_, shape)| shape.tokens());
                quote!(Form(&[#((#names, #shapes)),*]))
            }
        };
        quote! {
            Body {
                required: #required,
                media_type: #media_type,
                format: Format::#format,
                schema: #schema,
                validator: #validator,
            }
        }
    }
}
