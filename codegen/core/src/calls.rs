//! Writes the modules `calls` and `responses` (for webhooks `webhook_calls` and `webhook_responses`): the
//! request and the responses of each operation, as types that client and server share.
//!
//! Optional parameters are fields of a separate struct with `Default` and setters, so that a new optional
//! parameter does not break callers.

mod headers;

use contract_runtime::operation::ItemFraming;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::{
    api::{ParameterIn, StatusPattern},
    conjunction::{SchemaConjunction, SchemaFacts},
    constraint_text::{describe_default, describe_schema_limits, find_default},
    emit::{default_accessor, default_accessor_name},
    emit::{end_sentence, ident, rustdoc_markdown},
    operations::{
        ModuleItems, Submodule, body_equality, doc_attributes, group_gate, imported_siblings, whole_type,
    },
    plan::{
        BodyType, ErrorType, OperationSide, PlannedCall, PlannedParameter, ResponseCase, ResponseEnum,
        ResponseOutcome, ResponsePayload, ResponseSet, SidePlan, StreamContent,
    },
    rust_types::{EqualityTraits, RustTypes, SetterArgument},
    schema::{Schema, SchemaGraph},
    shape::TypeRef,
};

pub(crate) use headers::headers_link;
pub(crate) use headers::sent_headers_name;
pub use headers::{headers_module, sent_headers_module};

/// Writes the module `calls` (or `webhook_calls`), a direct child of the generated root.
///
/// If the client is divided by tag, the types of each tag are in a private submodule and re-exported.
pub fn calls_module(plan: &SidePlan<'_>, graph: &SchemaGraph, types: &dyn RustTypes) -> ModuleItems {
    let writer = CallWriter { side: plan.side, graph, types };
    let write = |accessor: Option<&str>| -> TokenStream {
        let calls = plan.calls.iter().filter(|call| call.accessor.as_deref() == accessor);
        calls.map(|call| writer.write_call(call)).collect()
    };
    let groups = plan.groups.iter().map(|group| Submodule {
        name: group.accessor.clone(),
        doc: format!("The requests with the tag `{}`.", rustdoc_markdown(&group.tag)),
        items: write(Some(&group.accessor)),
    });
    let groups: Vec<Submodule> = groups.collect();
    let siblings = imported_siblings(&groups);
    let files = plan.groups.iter().map(|group| {
        let (gate, name) = (group_gate(group), ident(&group.accessor));
        (quote!(#gate mod #name;), quote!(#gate pub use #name::*;))
    });
    let (declarations, exports): (Vec<TokenStream>, Vec<TokenStream>) = files.unzip();
    let own = write(None);
    let root = quote! {
        #siblings

        #(#declarations)*

        #(#exports)*

        #own
    };
    ModuleItems { root, groups }
}

/// Returns true if an optional parameter of any call is deprecated. Modules that access its field must allow
/// deprecated items.
pub(crate) fn any_deprecated(plan: &SidePlan<'_>) -> bool {
    plan.calls.iter().flat_map(PlannedCall::optional_parameters).any(|(_, parameter)| parameter.deprecated)
}

/// Returns the comparison traits that the request type of a call can derive.
pub(crate) fn call_equality(call: &PlannedCall<'_>, types: &dyn RustTypes) -> EqualityTraits {
    let required = call.required_parameters().map(|(_, parameter)| types.equality(&parameter.ty));
    let body = call.body.iter().filter(|body| body.is_argument()).map(|body| body_equality(body, types));
    EqualityTraits::weakest_of(required.chain(body).chain([options_equality(call, types)]))
}

fn options_equality(call: &PlannedCall<'_>, types: &dyn RustTypes) -> EqualityTraits {
    let optional = call.optional_parameters().map(|(_, parameter)| types.equality(&parameter.ty));
    let body = call.body.iter().filter(|body| !body.is_argument()).map(|body| body_equality(body, types));
    EqualityTraits::weakest_of(optional.chain(body))
}

/// Returns the comparison traits that a response body can derive.
fn payload_equality(payload: &ResponsePayload, types: &dyn RustTypes) -> EqualityTraits {
    match payload {
        ResponsePayload::Json(ty) => types.equality(ty),
        ResponsePayload::Text | ResponsePayload::Bytes | ResponsePayload::Nothing => EqualityTraits::Hashable,
    }
}

struct CallWriter<'a> {
    side: OperationSide,
    graph: &'a SchemaGraph,
    types: &'a dyn RustTypes,
}

impl CallWriter<'_> {
    fn write_call(&self, call: &PlannedCall<'_>) -> TokenStream {
        let place = call.describe_place();
        let options = call.has_options().then(|| self.write_options(call, &place));
        let name = ident(&call.name);
        let about = doc_attributes(&[format!("The request of `{place}`.")]);
        let required = call.required_parameters().map(|(_, parameter)| {
            let (about, field, ty) = self.parameter_field(parameter);
            quote!(#about pub #field: #ty,)
        });
        let body = call.body.as_ref().filter(|body| body.is_argument()).map(|body| {
            let described = body.body.description.as_deref().map(rustdoc_markdown);
            let about = doc_attributes(&[described.unwrap_or_else(|| "The request body.".to_owned())]);
            let ty = whole_type(self.side, body, self.types);
            let ty = if body.body.required { ty } else { quote!(Option<#ty>) };
            quote!(#about pub body: #ty,)
        });
        let more = call.has_options().then(|| {
            let options = ident(&call.options);
            quote! {
                /// Optional parameters.
                pub options: #options,
            }
        });
        let fields: TokenStream = required.chain(body).chain(more).collect();
        let fields = if fields.is_empty() { quote!(;) } else { quote!({ #fields }) };
        let equality = call_equality(call, self.types).derive_list();
        quote! {
            #options

            #about
            #[derive(Clone, Debug, #equality)]
            pub struct #name #fields
        }
    }

    fn write_options(&self, call: &PlannedCall<'_>, place: &str) -> TokenStream {
        let name = ident(&call.options);
        let about = doc_attributes(&[format!("Optional parameters of `{place}`.")]);
        let mut fields = TokenStream::new();
        let mut setters = TokenStream::new();
        let mut add = |about: TokenStream,
                       field: &Ident,
                       ty: &TokenStream,
                       (argument, value): (TokenStream, TokenStream)| {
            fields.extend(quote!(#about pub #field: Option<#ty>,));
            setters.extend(quote! {
                #about
                #[must_use]
                pub fn #field(mut self, #field: #argument) -> Self {
                    self.#field = Some(#value);
                    self
                }
            });
        };
        for (_, parameter) in call.optional_parameters() {
            let (about, field, ty) = self.parameter_field(parameter);
            let given = SetterArgument::for_type(&parameter.ty, self.types);
            let given = given.type_and_value((&parameter.ty, &ty), &field, self.types);
            let deprecated =
                parameter.deprecated.then(|| quote!(#[deprecated = "deprecated by the contract"]));
            add(quote!(#about #deprecated), &field, &ty, given);
        }
        let accessors: TokenStream = self.default_accessors(call).collect();
        if let Some(body) = call.body.as_ref().filter(|body| !body.is_argument()) {
            let described = body.body.description.as_deref().map(rustdoc_markdown);
            let about = doc_attributes(&[described.unwrap_or_else(|| "The request body.".to_owned())]);
            let (path, field) = (whole_type(self.side, body, self.types), ident("body"));
            let value = |given: SetterArgument, ty| given.type_and_value((ty, &path), &field, self.types);
            let given = match &body.variants[..] {
                [one] => match &one.ty {
                    BodyType::Text | BodyType::Bytes => value(SetterArgument::Into, &TypeRef::Json),
                    BodyType::Value(ty) => value(SetterArgument::for_type(ty, self.types), ty),
                    _ => value(SetterArgument::Plain, &TypeRef::Json),
                },
                _ => value(SetterArgument::Into, &TypeRef::Json),
            };
            add(about, &field, &path, given);
        }
        let equality = options_equality(call, self.types).derive_list();
        quote! {
            #about
            #[derive(Clone, Debug, Default, #equality)]
            #[non_exhaustive]
            pub struct #name { #fields }

            impl #name {
                /// Returns options without any value.
                #[must_use]
                pub fn new() -> Self {
                    Self::default()
                }

                #setters

                #accessors
            }
        }
    }

    /// Writes an accessor for each optional parameter with a default. If a parameter has the name of an
    /// accessor, the accessor is left out.
    fn default_accessors(&self, call: &PlannedCall<'_>) -> impl Iterator<Item = TokenStream> {
        call.optional_parameters().filter_map(|(_, parameter)| {
            let field = parameter.field.as_deref()?;
            let name = default_accessor_name(field);
            if call.optional_parameters().any(|(_, other)| other.field.as_ref() == Some(&name)) {
                return None;
            }
            let schemas = self.parameter_schemas(parameter);
            let value = self.types.default_value(&parameter.ty, find_default(&schemas)?)?;
            Some(default_accessor(field, (&schemas, parameter.deprecated), value))
        })
    }

    /// Returns documentation, name and type of a parameter field.
    fn parameter_field(&self, parameter: &PlannedParameter<'_>) -> (TokenStream, Ident, TokenStream) {
        let place = match parameter.row.location {
            ParameterIn::Path => "Path parameter",
            ParameterIn::Query => "Query parameter",
            ParameterIn::Header => "Header",
            ParameterIn::Cookie => "Cookie",
            ParameterIn::QueryString => "The whole query",
        };
        let limits =
            parameter.row.schema.map(|schema| describe_schema_limits(self.graph, schema)).unwrap_or_default();
        let limits = if limits.is_empty() { limits } else { format!(": {limits}") };
        let deprecated = if parameter.deprecated { ", deprecated" } else { "" };
        let mut paragraphs: Vec<String> = Vec::new();
        let schemas = self.parameter_schemas(parameter);
        let described = |schema: &&Schema| schema.description.clone();
        let described = schemas.iter().rev().find_map(described);
        let titled = || schemas.iter().rev().find_map(|schema| schema.title.as_deref().map(end_sentence));
        let described = parameter.parameter.description.clone().or(described).or_else(titled);
        paragraphs.extend(described.as_deref().map(rustdoc_markdown));
        paragraphs.push(format!("{place} `{}`{deprecated}{limits}.", parameter.row.name));
        paragraphs.extend(describe_default(&schemas));
        if parameter.row.allow_empty {
            let text = "It may be sent without a value, which is the same as omitting it if its type has no empty value.";
            paragraphs.push(text.to_owned());
        }
        let field = ident(parameter.field.as_deref().unwrap_or_default());
        let ty = match parameter.parameter.schema {
            Some(schema) => self.types.schema_type(&parameter.ty, schema),
            None => self.types.rust_type(&parameter.ty),
        };
        (doc_attributes(&paragraphs), field, ty)
    }

    /// Returns the schemas that apply to a parameter, the most specific last.
    fn parameter_schemas(&self, parameter: &PlannedParameter<'_>) -> Vec<&Schema> {
        let place = parameter.parameter.schema.map(SchemaConjunction::from_schema);
        let facts = place.map(|place| SchemaFacts::from_conjunction(self.graph, &place, true));
        facts.iter().flat_map(|facts| facts.unconditional_schemas(self.graph)).collect()
    }
}

/// Writes the module `responses` (or `webhook_responses`); `None` if no operation needs an enum of responses.
pub fn answers_module(plan: &SidePlan<'_>, types: &dyn RustTypes) -> Option<TokenStream> {
    let items: Vec<TokenStream> =
        plan.response_enums.iter().map(|choice| write_choice_enum(plan, choice, types)).collect();
    (!items.is_empty()).then(|| quote!(#(#items)*))
}

fn write_choice_enum(plan: &SidePlan<'_>, choice: &ResponseEnum, types: &dyn RustTypes) -> TokenStream {
    let name = ident(&choice.name);
    let first = choice.users.first().and_then(|&user| plan.calls.get(user));
    let place = first.map(PlannedCall::describe_place).unwrap_or_default();
    let about = match (choice.outcome, choice.users.len()) {
        (ResponseOutcome::Success, _) => format!("The success response of `{place}`."),
        (ResponseOutcome::Error, 1) => format!("The error response of `{place}`."),
        (ResponseOutcome::Error, 2) => format!("The error response of `{place}` and one more operation."),
        (ResponseOutcome::Error, users) => {
            format!("The error response of `{place}` and {} more operations.", users - 1)
        }
    };
    let about = doc_attributes(&[about]);
    let variants = choice.variants.iter().map(|(variant, payload)| {
        let text = match choice.outcome {
            ResponseOutcome::Success => {
                let cases = first.map(|call| call.responses.cases.as_slice()).unwrap_or_default();
                cases.iter().find(|case| case.variant == *variant).map(describe_case).unwrap_or_default()
            }
            ResponseOutcome::Error => describe_payload(payload, types),
        };
        let about = doc_attributes(&[text]);
        let name = ident(variant);
        match payload {
            ResponsePayload::Nothing => quote!(#about #name),
            payload => {
                let ty = payload_type(payload, types);
                quote!(#about #name(#ty))
            }
        }
    });
    let held = choice.variants.iter().map(|(_, payload)| payload_equality(payload, types));
    let equality = EqualityTraits::weakest_of(held).derive_list();
    quote! {
        #about
        #[derive(Clone, Debug, #equality)]
        pub enum #name { #(#variants),* }
    }
}

/// Describes a response for the documentation of its variant, such as `` `201` as `text/csv`: Made. ``.
fn describe_case(case: &ResponseCase) -> String {
    let status = match case.status {
        StatusPattern::Default => "Any other status".to_owned(),
        status => format!("`{}`", status.key()),
    };
    let media = if case.by_media_type { format!(" as `{}`", case.media_type) } else { String::new() };
    let description =
        if case.doc.trim().is_empty() { String::new() } else { format!(": {}", rustdoc_markdown(&case.doc)) };
    format!("{status}{media}{description}")
}

fn describe_payload(payload: &ResponsePayload, types: &dyn RustTypes) -> String {
    match payload {
        ResponsePayload::Json(ty) => match types.type_name(ty) {
            Some(name) => format!("A [`{name}`](super::types::{name})."),
            None => "A JSON body.".to_owned(),
        },
        ResponsePayload::Text => "A text body.".to_owned(),
        ResponsePayload::Bytes => "The bytes of a body with another media type.".to_owned(),
        ResponsePayload::Nothing => "A status without a body.".to_owned(),
    }
}

/// Returns the type of all success responses or of all error responses of a call, for use in another module.
pub(crate) fn answers_type(side: OperationSide, answers: &ResponseSet, types: &dyn RustTypes) -> TokenStream {
    match (&answers.single, &answers.enum_name) {
        (Some(one), _) if answers.optional => {
            let ty = payload_type(one, types);
            quote!(Option<#ty>)
        }
        (Some(one), _) => payload_type(one, types),
        (None, Some(name)) => choice_type(side, name),
        (None, None) => quote!(()),
    }
}

/// Returns the type from which a streamed body is read.
pub(crate) fn read_type(streamed: &StreamContent, types: &dyn RustTypes) -> TokenStream {
    match streamed {
        StreamContent::Bytes => quote!(::contract_runtime::transport::ByteStream),
        StreamContent::Items(item) => {
            let ty = types.rust_type(&item.ty);
            match item.framing {
                ItemFraming::Events => quote!(::contract_runtime::stream::EventReader<#ty>),
                ItemFraming::Lines | ItemFraming::Sequence => {
                    quote!(::contract_runtime::stream::ItemReader<#ty>)
                }
            }
        }
    }
}

/// Returns the type to which a streamed body is written.
pub(crate) fn written_type(streamed: &StreamContent, types: &dyn RustTypes) -> TokenStream {
    match streamed {
        StreamContent::Bytes => quote!(::contract_runtime::transport::ByteStream),
        StreamContent::Items(item) => {
            let ty = types.rust_type(&item.ty);
            match item.framing {
                ItemFraming::Events => quote!(::contract_runtime::server::EventStream<#ty>),
                ItemFraming::Lines | ItemFraming::Sequence => {
                    quote!(::contract_runtime::server::ItemStream<#ty>)
                }
            }
        }
    }
}

/// Returns the type of error responses, for use in another module.
pub(crate) fn refused_type(side: OperationSide, refused: &ErrorType, types: &dyn RustTypes) -> TokenStream {
    match refused {
        ErrorType::One(payload) => payload_type(payload, types),
        ErrorType::Enum(name) => choice_type(side, name),
    }
}

/// Returns the path of an enum of responses, for use in another module.
pub(crate) fn choice_type(side: OperationSide, name: &str) -> TokenStream {
    let (module, name) = (ident(side.answers_module()), ident(name));
    quote!(super::#module::#name)
}

/// Returns the type of a response body, for use in another module.
pub(crate) fn payload_type(payload: &ResponsePayload, types: &dyn RustTypes) -> TokenStream {
    match payload {
        ResponsePayload::Json(ty) => types.rust_type(ty),
        ResponsePayload::Text => quote!(String),
        ResponsePayload::Bytes => quote!(::contract_runtime::multipart::Bytes),
        ResponsePayload::Nothing => quote!(()),
    }
}
