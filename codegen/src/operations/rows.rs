//! Rows of the table as expressions of the runtime's types: what differs from the usual.

use contract_runtime::operation::Framing;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::Used;
use crate::{
    api::ParameterIn,
    config::StreamConfig,
    emit::ident,
    plan::{
        Body, Content, Format, Mark, Part, PartCount, PartForm, Row, Scalar, Shape, Streamed, StreamedBody,
    },
    rust_types::RustTypes,
    schema::{Graph, SchemaId, Types},
};

/// Writes rows, and remembers which types they name.
pub(super) struct Rows<'a> {
    pub(super) graph: &'a Graph,
    pub(super) types: &'a dyn RustTypes,
    pub(super) streams: Option<&'a StreamConfig>,
    pub(super) used: Used,
}

impl Rows<'_> {
    /// A parameter, or a field of a form.
    pub(super) fn parameter(&mut self, row: &Row) -> TokenStream {
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
            self.used.parameters.insert("Style");
            let style = style(&row.style);
            quote!(style: Style::#style,)
        });
        let explode = (row.explode != (usual_style == "form")).then(|| {
            let explode = row.explode;
            quote!(explode: #explode,)
        });
        let reserved = row.allow_reserved.then(|| quote!(allow_reserved: true,));
        let empty = row.allow_empty.then(|| quote!(allow_empty: true,));
        let shape = (row.shape != Shape::Scalar(Scalar::Text)).then(|| {
            let shape = self.shape(&row.shape);
            quote!(shape: #shape,)
        });
        let validator = row.schema.map(|schema| {
            let validator = self.validator(schema);
            quote!(validator: Some(#validator),)
        });
        let mark = row.mark.as_ref().map(|mark| {
            self.used.parameters.insert("Mark");
            let mark = match mark {
                Mark::There => quote!(There),
                Mark::Text(text) => quote!(Text(#text)),
            };
            quote!(mark: Some(Mark::#mark),)
        });
        quote! {
            Parameter {
                name: #name, #required #style #explode #reserved #empty #shape #validator #mark ..Parameter::#plain
            }
        }
    }

    fn validator(&mut self, schema: SchemaId) -> TokenStream {
        self.used.schemas = true;
        self.types.validator(schema)
    }

    pub(super) fn body(&mut self, body: &Body<'_>, streamed: Option<&StreamedBody>) -> TokenStream {
        self.used.operation.insert("Body");
        let required = body.body.required;
        let contents = body.contents.iter().enumerate().map(|(at, content)| {
            match streamed.filter(|streamed| streamed.content_index == at) {
                Some(streamed) => self.streamed(&content.media.name, &streamed.content),
                None => self.body_content(content),
            }
        });
        let contents: Vec<TokenStream> = contents.collect();
        quote!(Body { required: #required, content: &[#(#contents),*] })
    }

    fn body_content(&mut self, content: &Content<'_>) -> TokenStream {
        let format = match &content.format {
            Format::Model | Format::Json => quote!(Json),
            Format::Text => quote!(Text),
            Format::Bytes | Format::Typed => quote!(Bytes),
            Format::Form(fields, others) => {
                let fields: Vec<TokenStream> = fields.iter().map(|field| self.parameter(field)).collect();
                let others = self.scalar(*others);
                quote!(Form(&[#(#fields),*], #others))
            }
            Format::Multipart(parts, _) => {
                let parts: Vec<TokenStream> = parts.iter().map(|part| self.part(part)).collect();
                quote!(Multipart(&[#(#parts),*]))
            }
        };
        self.content(&content.media.name, &format, content.media.schema)
    }

    /// One media type that is handed on as it comes.
    pub(super) fn streamed(&mut self, media_type: &str, streamed: &Streamed) -> TokenStream {
        let Streamed::Items(item) = streamed else {
            return self.content(media_type, &quote!(Pieces), None);
        };
        self.used.operation.extend(["Framing", "ItemForm", "Items"]);
        let framing = ident(&format!("{:?}", item.framing));
        let form = ident(&format!("{:?}", item.form));
        let events = self.streams.filter(|_| item.framing == Framing::Events);
        let ends = events.map(|streams| streams.ends.as_slice()).unwrap_or_default();
        let last = events.map(|streams| streams.last_events.as_slice()).unwrap_or_default();
        let format = quote! {
            Items(Items {
                framing: Framing::#framing,
                form: ItemForm::#form,
                ends: &[#(#ends),*],
                last: &[#(#last),*],
            })
        };
        self.content(media_type, &format, item.schema)
    }

    /// One media type of a body or an answer.
    pub(super) fn content(
        &mut self,
        media_type: &str,
        format: &TokenStream,
        schema: Option<SchemaId>,
    ) -> TokenStream {
        self.used.operation.extend(["Content", "Format"]);
        let location = schema.map(|schema| self.graph.location(schema)).unwrap_or_default();
        let validator = match schema {
            Some(schema) => {
                let validator = self.validator(schema);
                quote!(Some(#validator))
            }
            None => quote!(None),
        };
        quote! {
            Content {
                media_type: #media_type,
                format: Format::#format,
                schema: #location,
                validator: #validator,
            }
        }
    }

    fn part(&mut self, part: &Part) -> TokenStream {
        self.used.operation.extend(["Part", "PartForm", "Parts"]);
        let (name, media_type) = (&part.name, &part.media_type);
        let form = match part.form {
            PartForm::Binary => quote!(Binary),
            PartForm::Json => quote!(Json),
            PartForm::Text(scalar) => {
                let scalar = self.scalar(scalar);
                quote!(Text(#scalar))
            }
        };
        let parts = ident(match part.count {
            PartCount::One => "One",
            PartCount::Each => "Each",
            PartCount::OneOrEach => "OneOrEach",
        });
        quote!(Part { name: #name, form: PartForm::#form, parts: Parts::#parts, media_type: #media_type })
    }

    fn shape(&mut self, shape: &Shape) -> TokenStream {
        self.used.parameters.insert("Shape");
        match shape {
            Shape::Scalar(scalar) => {
                let scalar = self.scalar(*scalar);
                quote!(Shape::Scalar(#scalar))
            }
            Shape::Array(scalar) => {
                let scalar = self.scalar(*scalar);
                quote!(Shape::Array(#scalar))
            }
            Shape::Object(fields, others) => {
                let names = fields.iter().map(|(name, _)| name);
                let shapes: Vec<TokenStream> = fields.iter().map(|(_, shape)| self.shape(shape)).collect();
                let fields = quote!(&[#((#names, #shapes)),*]);
                match others.map(|others| self.scalar(others)) {
                    Some(others) => quote!(Shape::Map(#fields, #others)),
                    None => quote!(Shape::Object(#fields)),
                }
            }
            Shape::OneOf(shapes) => {
                let shapes: Vec<TokenStream> = shapes.iter().map(|shape| self.shape(shape)).collect();
                quote!(Shape::OneOf(&[#(#shapes),*]))
            }
            Shape::Json => quote!(Shape::Json),
            Shape::Form(fields, others) => {
                let fields: Vec<TokenStream> = fields.iter().map(|field| self.parameter(field)).collect();
                let others = self.scalar(*others);
                quote!(Shape::Form(&[#(#fields),*], #others))
            }
        }
    }

    fn scalar(&mut self, scalar: Scalar) -> TokenStream {
        self.used.parameters.insert("Scalar");
        match scalar {
            Scalar::Text => quote!(Scalar::Text),
            Scalar::Number => quote!(Scalar::Number),
            Scalar::Integer(digits) => {
                let digits = match digits.map(Literal::u16_unsuffixed) {
                    Some(digits) => quote!(Some(#digits)),
                    None => quote!(None),
                };
                quote!(Scalar::Integer(#digits))
            }
            Scalar::Boolean => quote!(Scalar::Boolean),
            Scalar::Any => quote!(Scalar::Any),
            Scalar::Of(types) => {
                self.used.types = true;
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
            Scalar::Json => quote!(Scalar::Json),
        }
    }
}

/// The style as the runtime calls it.
fn style(style: &str) -> proc_macro2::Ident {
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
