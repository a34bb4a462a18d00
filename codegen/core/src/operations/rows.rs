//! Generates the rows of the operation table as expressions of runtime types. A field that has its default
//! value is omitted.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::UsedRuntimeTypes;
use crate::{
    api::ParameterIn,
    emit::ident,
    plan::{
        BodyFormat, MediaTypePlan, MultipartPart, ParameterRow, PartArity, PartForm, RequestBodyPlan,
        RequestMark, SidePlan, StreamContent, StreamedBody, TextScalar, TextShape,
    },
    rust_types::RustTypes,
    schema::{SchemaGraph, SchemaId, TypeSet},
};

/// A generator of rows, which records the runtime types that they use.
pub(super) struct RowWriter<'a> {
    pub(super) graph: &'a SchemaGraph,
    pub(super) types: &'a dyn RustTypes,
    /// The plan of the operations; `None` for rows without streams.
    pub(super) plan: Option<&'a SidePlan<'a>>,
    pub(super) used: UsedRuntimeTypes,
}

impl RowWriter<'_> {
    /// Generates the row of a parameter or form field.
    pub(super) fn parameter_row(&mut self, row: &ParameterRow) -> TokenStream {
        self.used.parameters.insert("Parameter");
        let name = &row.name;
        let path = row.location == ParameterIn::Path;
        let (plain, usual_style) = match row.location {
            ParameterIn::Path => ("PATH", "simple"),
            ParameterIn::Query => ("QUERY", "form"),
            ParameterIn::Header => ("HEADER", "simple"),
            ParameterIn::Cookie => ("COOKIE", "form"),
            ParameterIn::QueryString => ("QUERY_STRING", "form"),
        };
        let plain = ident(plain);
        let required = (row.required != path).then(|| {
            let required = row.required;
            quote!(required: #required,)
        });
        let style = (row.style != usual_style).then(|| {
            self.used.parameters.insert("ParameterStyle");
            let style = style_name(&row.style);
            quote!(style: ParameterStyle::#style,)
        });
        let explode = (row.explode != (usual_style == "form")).then(|| {
            let explode = row.explode;
            quote!(explode: #explode,)
        });
        let reserved = row.allow_reserved.then(|| quote!(allow_reserved: true,));
        let empty = row.allow_empty.then(|| quote!(allow_empty: true,));
        let key = row.idempotency_key.then(|| quote!(idempotency_key: true,));
        let wire = row.wire.map(|wire| {
            self.used.parameters.extend(["ArrayNotation", "NestedNotation", "WireConvention"]);
            let (nested, arrays) =
                (ident(&format!("{:?}", wire.nested)), ident(&format!("{:?}", wire.arrays)));
            quote! {
                wire: Some(WireConvention {
                    nested: NestedNotation::#nested,
                    arrays: ArrayNotation::#arrays,
                }),
            }
        });
        let shape = (row.shape != TextShape::Scalar(TextScalar::Text)).then(|| {
            let shape = self.shape_expression(&row.shape);
            quote!(shape: #shape,)
        });
        let validator = row.schema.map(|schema| {
            let validator = self.validator_expression(schema);
            quote!(validator: Some(#validator),)
        });
        let mark = row.mark.as_ref().map(|mark| {
            self.used.parameters.insert("RouteMatch");
            let mark = match mark {
                RequestMark::Present => quote!(Present),
                RequestMark::Text(text) => quote!(Equals(#text)),
            };
            quote!(route_match: Some(RouteMatch::#mark),)
        });
        quote! {
            Parameter {
                name: #name, #required #style #explode #reserved #empty #key #wire #shape #validator #mark ..Parameter::#plain
            }
        }
    }

    fn validator_expression(&mut self, schema: SchemaId) -> TokenStream {
        self.used.schemas = true;
        self.types.validator_expression(schema)
    }

    pub(super) fn body_row(
        &mut self,
        body: &RequestBodyPlan<'_>,
        streamed: Option<&StreamedBody>,
    ) -> TokenStream {
        self.used.operation.insert("BodySpec");
        let required = body.body.required;
        let contents = body.contents.iter().enumerate().map(|(at, content)| {
            match streamed.filter(|streamed| streamed.content_index == at) {
                Some(streamed) => self.stream_row(&content.media.name, &streamed.content),
                None => self.body_content_row(content),
            }
        });
        let contents: Vec<TokenStream> = contents.collect();
        quote!(BodySpec { required: #required, content: &[#(#contents),*] })
    }

    fn body_content_row(&mut self, content: &MediaTypePlan<'_>) -> TokenStream {
        let format = match &content.format {
            BodyFormat::Model | BodyFormat::Json => quote!(Json),
            BodyFormat::Text => quote!(Text),
            BodyFormat::Bytes | BodyFormat::Typed => quote!(Bytes),
            BodyFormat::Form(fields, others) => {
                let fields: Vec<TokenStream> = fields.iter().map(|field| self.parameter_row(field)).collect();
                let others = self.scalar_expression(*others);
                quote!(Form(&[#(#fields),*], #others))
            }
            BodyFormat::Multipart(parts, _) => {
                let parts: Vec<TokenStream> = parts.iter().map(|part| self.part_row(part)).collect();
                quote!(Multipart(&[#(#parts),*]))
            }
        };
        self.content_row(&content.media.name, &format, content.media.schema)
    }

    /// Generates the row of a streamed media type.
    pub(super) fn stream_row(&mut self, media_type: &str, streamed: &StreamContent) -> TokenStream {
        let StreamContent::Items(item) = streamed else {
            return self.content_row(media_type, &quote!(Stream), None);
        };
        self.used.operation.extend(["ItemEncoding", "ItemFormat", "ItemFraming"]);
        let framing = ident(&format!("{:?}", item.framing));
        let form = ident(&format!("{:?}", item.form));
        let ends = self.plan.map(|plan| plan.end_markers(item)).unwrap_or_default();
        let last = self.plan.map(|plan| plan.last_events(item)).unwrap_or_default();
        let format = quote! {
            Items(ItemFormat {
                framing: ItemFraming::#framing,
                encoding: ItemEncoding::#form,
                end_markers: &[#(#ends),*],
                last_events: &[#(#last),*],
            })
        };
        self.content_row(media_type, &format, item.schema)
    }

    /// Generates the row of a media type in a request body or response.
    pub(super) fn content_row(
        &mut self,
        media_type: &str,
        format: &TokenStream,
        schema: Option<SchemaId>,
    ) -> TokenStream {
        self.used.operation.extend(["BodyFormat", "ContentSpec"]);
        let location = schema.map(|schema| self.graph.absolute_location(schema)).unwrap_or_default();
        let validator = match schema {
            Some(schema) => {
                let validator = self.validator_expression(schema);
                quote!(Some(#validator))
            }
            None => quote!(None),
        };
        quote! {
            ContentSpec {
                media_type: #media_type,
                format: BodyFormat::#format,
                schema: #location,
                validator: #validator,
            }
        }
    }

    fn part_row(&mut self, part: &MultipartPart) -> TokenStream {
        self.used.operation.extend(["PartCount", "PartEncoding", "PartSpec"]);
        let (name, media_type, accepted) = (&part.name, &part.media_type, &part.accepted);
        let form = match part.form {
            PartForm::Binary => quote!(Binary),
            PartForm::Json => quote!(Json),
            PartForm::Text(scalar) => {
                let scalar = self.scalar_expression(scalar);
                quote!(Text(#scalar))
            }
        };
        let parts = ident(match part.count {
            PartArity::One => "Single",
            PartArity::Each => "PerElement",
            PartArity::OneOrEach => "SingleOrPerElement",
        });
        quote!(PartSpec { name: #name, encoding: PartEncoding::#form, count: PartCount::#parts, media_type: #media_type, accepted: &[#(#accepted),*] })
    }

    fn shape_expression(&mut self, shape: &TextShape) -> TokenStream {
        self.used.parameters.insert("ValueShape");
        match shape {
            TextShape::Scalar(scalar) => {
                let scalar = self.scalar_expression(*scalar);
                quote!(ValueShape::Scalar(#scalar))
            }
            TextShape::Array(scalar) => {
                let scalar = self.scalar_expression(*scalar);
                quote!(ValueShape::Array(#scalar))
            }
            TextShape::Object(fields, others) => {
                let names = fields.iter().map(|(name, _)| name);
                let shapes: Vec<TokenStream> =
                    fields.iter().map(|(_, shape)| self.shape_expression(shape)).collect();
                let fields = quote!(&[#((#names, #shapes)),*]);
                match others.map(|others| self.scalar_expression(others)) {
                    Some(others) => quote!(ValueShape::Map(#fields, #others)),
                    None => quote!(ValueShape::Object(#fields)),
                }
            }
            TextShape::List(element) => {
                let element = self.shape_expression(element);
                quote!(ValueShape::List(&#element))
            }
            TextShape::MapOf(fields, others) => {
                let names = fields.iter().map(|(name, _)| name);
                let shapes: Vec<TokenStream> =
                    fields.iter().map(|(_, shape)| self.shape_expression(shape)).collect();
                let others = self.shape_expression(others);
                quote!(ValueShape::MapOf(&[#((#names, #shapes)),*], &#others))
            }
            TextShape::OneOf(shapes) => {
                let shapes: Vec<TokenStream> =
                    shapes.iter().map(|shape| self.shape_expression(shape)).collect();
                quote!(ValueShape::OneOf(&[#(#shapes),*]))
            }
            TextShape::Json => quote!(ValueShape::Json),
            TextShape::Form(fields, others) => {
                let fields: Vec<TokenStream> = fields.iter().map(|field| self.parameter_row(field)).collect();
                let others = self.scalar_expression(*others);
                quote!(ValueShape::Form(&[#(#fields),*], #others))
            }
        }
    }

    fn scalar_expression(&mut self, scalar: TextScalar) -> TokenStream {
        self.used.parameters.insert("ScalarType");
        match scalar {
            TextScalar::Text => quote!(ScalarType::Text),
            TextScalar::Number => quote!(ScalarType::Number),
            TextScalar::Integer(digits) => {
                let digits = match digits.map(Literal::u16_unsuffixed) {
                    Some(digits) => quote!(Some(#digits)),
                    None => quote!(None),
                };
                quote!(ScalarType::Integer(#digits))
            }
            TextScalar::Boolean => quote!(ScalarType::Boolean),
            TextScalar::Any => quote!(ScalarType::Any),
            TextScalar::OneOf(types) => {
                self.used.types = true;
                let named = [
                    (TypeSet::NULL, quote!(NULL)),
                    (TypeSet::BOOLEAN, quote!(BOOLEAN)),
                    (TypeSet::NUMBER, quote!(NUMBER)),
                    (TypeSet::INTEGER, quote!(INTEGER)),
                    (TypeSet::STRING, quote!(STRING)),
                ];
                let mut names = named.into_iter().filter(|(each, _)| {
                    let whole = *each == TypeSet::INTEGER && types.contains(TypeSet::NUMBER);
                    types.contains(*each) && !whole
                });
                let first = names.next().map(|(_, name)| quote!(TypeSet::#name)).unwrap_or_default();
                let others = names.map(|(_, name)| quote!(.union(TypeSet::#name)));
                quote!(ScalarType::Of(#first #(#others)*))
            }
            TextScalar::Json => quote!(ScalarType::Json),
        }
    }
}

/// Returns the name of the runtime's variant for a parameter style such as `form`.
fn style_name(style: &str) -> proc_macro2::Ident {
    ident(match style {
        "form" => "Form",
        "spaceDelimited" => "SpaceDelimited",
        "pipeDelimited" => "PipeDelimited",
        "deepObject" => "DeepObject",
        "label" => "Label",
        "matrix" => "Matrix",
        "cookie" => "Cookie",
        _ => "Simple",
    })
}
