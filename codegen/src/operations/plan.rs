//! Settles for each operation what the table and the server interface have in common:
//! names, parameters, bodies.

use proc_macro2::TokenStream;
use quote::quote;

use super::bodies::{self, BodyPlan};
use super::parameters::{Scalar, Shape, shape, style};
use super::{Contract, location_name};
use crate::{
    api::{Operation, Parameter, ParameterIn},
    emit::ident,
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
    /// The body.
    pub(crate) body: Option<BodyPlan<'a>>,
}

/// One parameter, settled.
pub(crate) struct ParameterPlan<'a> {
    /// What the contract says.
    pub(crate) parameter: &'a Parameter,
    /// The field of the request.
    pub(crate) field: String,
    /// Its row of the table.
    pub(super) row: FieldPlan,
}

/// A parameter, or a field of a form, as the table says it.
#[derive(Clone, Debug)]
pub(crate) struct FieldPlan {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) style: String,
    pub(super) explode: bool,
    pub(super) allow_reserved: bool,
    /// What its text stands for.
    pub(super) shape: Shape,
    /// An expression for its validator.
    pub(super) validator: Option<TokenStream>,
}

/// Settles all operations, in document order.
pub(crate) fn plan(contract: Contract<'_>) -> Vec<Plan<'_>> {
    let operations = contract.operations();
    let wires: Vec<&str> = operations.iter().map(|operation| operation.id.as_str()).collect();
    let mut types: Vec<String> = wires.iter().map(|wire| type_name(wire)).collect();
    let mut methods: Vec<String> = wires.iter().map(|wire| method_name(wire)).collect();
    names::make_distinct(&wires, &mut types);
    names::make_distinct(&wires, &mut methods);
    let named = operations.iter().zip(types.into_iter().zip(methods));
    named.map(|(operation, (t, m))| one(contract, operation, t, m)).collect()
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
) -> Plan<'a> {
    let key = contract.config.idempotency_header.as_deref().unwrap_or("");
    let named =
        |p: &Parameter, name: &str| p.location == ParameterIn::Header && p.name.eq_ignore_ascii_case(name);
    let idempotent = operation.parameters.iter().any(|p| p.required && named(p, key));
    let hidden = contract.config.hidden_headers.iter().map(String::as_str);
    let hidden: Vec<&str> = hidden.chain(IGNORED.iter().copied()).collect();
    let visible = operation.parameters.iter().filter(|p| !hidden.iter().any(|name| named(p, name)));
    let row = |parameter: &Parameter| FieldPlan {
        name: parameter.name.clone(),
        required: parameter.required,
        style: parameter.style.clone(),
        explode: parameter.explode,
        allow_reserved: parameter.allow_reserved,
        shape: shape(contract.graph, parameter),
        validator: parameter.schema.and_then(|schema| validator(contract, schema)),
    };
    let settled =
        visible.map(|parameter| ParameterPlan { parameter, field: String::new(), row: row(parameter) });
    let mut parameters: Vec<ParameterPlan<'a>> = settled.collect();
    name_fields(&mut parameters);
    let body = operation.request_body.as_ref().and_then(|body| bodies::body(contract, &type_name, body));
    Plan { operation, type_name, method_name, idempotent, parameters, body }
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
        let (_, location) = location_name(self.parameter.location);
        let plain = ident(&location.to_string().to_uppercase());
        self.row.tokens(&quote!(#plain))
    }
}

impl FieldPlan {
    /// An expression of the runtime's type: what differs from the usual at that place.
    pub(super) fn tokens(&self, plain: &TokenStream) -> TokenStream {
        let place = plain.to_string();
        let name = &self.name;
        let path = place == "PATH";
        let usual_style = if path || place == "HEADER" { "simple" } else { "form" };
        let required = (self.required != path).then(|| {
            let required = self.required;
            quote!(required: #required,)
        });
        let style = (self.style != usual_style).then(|| {
            let style = style(&self.style);
            quote!(style: #style,)
        });
        let explode = (self.explode != (usual_style == "form")).then(|| {
            let explode = self.explode;
            quote!(explode: #explode,)
        });
        let reserved = self.allow_reserved.then(|| quote!(allow_reserved: true,));
        let shape = (self.shape != Shape::Scalar(Scalar::Text)).then(|| {
            let shape = self.shape.tokens();
            quote!(shape: #shape,)
        });
        let validator = self.validator.as_ref().map(|validator| quote!(validator: Some(|| #validator),));
        quote! {
            Parameter { name: #name, #required #style #explode #reserved #shape #validator ..Parameter::#plain }
        }
    }
}
