//! Settles what a request's body may be: its media types, how each is read and written, and
//! the one type that stands for all of them.
//!
//! A body of one type is that type. Where media types have different types, the body is an
//! enum with a variant for each; JSON and a form of the same type share one.

use proc_macro2::TokenStream;
use quote::quote;

use super::Contract;
use super::multipart::{self, PartPlan};
use super::parameters::{Scalar, Shape, members, of_schema, others};
use super::plan::{FieldPlan, validator, validator_option};
use crate::{
    api::{MediaType, RequestBody},
    emit::ident,
    names,
};

/// A request's body, settled.
pub(crate) struct BodyPlan<'a> {
    /// What the contract says.
    pub(crate) body: &'a RequestBody,
    /// Its media types, in document order.
    pub(crate) contents: Vec<ContentPlan<'a>>,
    /// Its types, in the order of their first media type.
    pub(crate) variants: Vec<BodyVariant>,
    /// The enum in the module `bodies`, when there are several types.
    pub(crate) name: String,
}

/// One media type of a body, settled.
pub(crate) struct ContentPlan<'a> {
    /// What the contract says.
    pub(crate) media: &'a MediaType,
    /// How it is read and written.
    pub(crate) format: Format,
    /// Index of its type.
    pub(crate) variant: usize,
    location: String,
    validator: Option<TokenStream>,
}

/// One type of a body.
pub(crate) struct BodyVariant {
    /// The variant, when there are several.
    pub(crate) name: String,
    /// The type that a handler gets.
    pub(crate) ty: TokenStream,
    /// Index of the media type that a client sends: JSON before others.
    pub(crate) sent: usize,
}

/// How the bytes of a body are read or written.
#[derive(Clone, Debug)]
pub(crate) enum Format {
    /// JSON of a type that checks itself.
    Model,
    /// Other JSON.
    Json,
    /// UTF-8 text.
    Text,
    /// Bytes.
    Bytes,
    /// Bytes whose media type is the sender's choice.
    Typed,
    /// A form with these fields; how others are read.
    Form(Vec<FieldPlan>, Scalar),
    /// Parts; the struct in the module `bodies`, when the contract declares any.
    Multipart(Vec<PartPlan>, Option<String>),
}

/// Settles a body. `type_name` is the operation's.
pub(super) fn body<'a>(
    contract: Contract<'_>,
    type_name: &str,
    body: &'a RequestBody,
) -> Option<BodyPlan<'a>> {
    let several =
        body.content.iter().filter(|media| essence(&media.name).starts_with("multipart/")).count() > 1;
    let mut contents: Vec<ContentPlan<'a>> = Vec::new();
    let mut variants: Vec<BodyVariant> = Vec::new();
    for media in &body.content {
        let format = format(contract, media, type_name, several);
        let ty = type_of(contract, media, &format);
        let values = |format: &Format| matches!(format, Format::Model | Format::Json | Format::Form(..));
        let known = variants.iter().position(|variant| {
            variant.ty.to_string() == ty.to_string()
                && contents.get(variant.sent).is_some_and(|sent| values(&sent.format) && values(&format))
        });
        let json = matches!(format, Format::Model | Format::Json);
        let variant = known.unwrap_or_else(|| {
            let name = variant_name(&media.name, &format);
            variants.push(BodyVariant { name, ty, sent: contents.len() });
            variants.len() - 1
        });
        let earlier = contents.get(variants[variant].sent);
        if json && earlier.is_some_and(|sent| matches!(sent.format, Format::Form(..))) {
            variants[variant].sent = contents.len();
            variants[variant].name = variant_name(&media.name, &format);
        }
        contents.push(ContentPlan {
            media,
            variant,
            location: media.schema.map(|s| contract.graph.location(s)).unwrap_or_default(),
            validator: media.schema.and_then(|schema| validator(contract, schema)),
            format,
        });
    }
    if contents.is_empty() {
        return None;
    }
    let wires: Vec<&str> =
        variants.iter().map(|variant| contents[variant.sent].media.name.as_str()).collect();
    let mut found: Vec<String> = variants.iter().map(|variant| variant.name.clone()).collect();
    names::make_distinct(&wires, &mut found);
    for (variant, name) in variants.iter_mut().zip(found) {
        variant.name = name;
    }
    Some(BodyPlan { body, contents, variants, name: format!("{type_name}Body") })
}

/// How a body of this media type is read or written.
fn format(contract: Contract<'_>, media: &MediaType, type_name: &str, several: bool) -> Format {
    let essence = essence(&media.name);
    if is_json(&essence) {
        let model = media.schema.is_some_and(|schema| contract.types.is_contract(schema));
        return if model { Format::Model } else { Format::Json };
    }
    if essence.starts_with("multipart/") {
        let parts = multipart::parts(contract, media);
        let suffix = if several { names::type_name(subtype(&essence)) } else { String::new() };
        let name = (!parts.is_empty()).then(|| format!("{type_name}{suffix}Form"));
        return Format::Multipart(parts, name);
    }
    if essence == "application/x-www-form-urlencoded" {
        let (fields, others) = form(contract, media);
        return Format::Form(fields, others);
    }
    if essence.contains('*') {
        Format::Typed
    } else if is_text(&essence) {
        Format::Text
    } else {
        Format::Bytes
    }
}

fn type_of(contract: Contract<'_>, media: &MediaType, format: &Format) -> TokenStream {
    match format {
        Format::Model | Format::Json | Format::Form(..) => match media.schema {
            Some(schema) => contract.types.rust_type(schema),
            None => quote!(::contract_runtime::Json),
        },
        Format::Text => quote!(String),
        Format::Bytes => quote!(::contract_runtime::multipart::Bytes),
        Format::Typed => quote!(::contract_runtime::operation::Typed),
        Format::Multipart(_, Some(name)) => {
            let (module, name) = (ident(contract.side.bodies()), ident(name));
            quote!(super::#module::#name)
        }
        Format::Multipart(_, None) => quote!(Vec<::contract_runtime::multipart::Field>),
    }
}

fn variant_name(media_type: &str, format: &Format) -> String {
    match format {
        Format::Model | Format::Json => "Json".to_owned(),
        Format::Form(..) => "Form".to_owned(),
        Format::Multipart(..) => "Multipart".to_owned(),
        Format::Text | Format::Bytes => names::variant_name(subtype(media_type)),
        Format::Typed => match media_type.split('/').next() {
            Some("*") | None => "Any".to_owned(),
            Some(kind) => names::variant_name(kind),
        },
    }
}

/// The fields of a form (OpenAPI 3.1, 4.8.15: `style`, `explode` and `allowReserved` of the
/// encoding; without them objects are JSON text), and how others are read.
fn form(contract: Contract<'_>, media: &MediaType) -> (Vec<FieldPlan>, Scalar) {
    let Some(schema) = media.schema else { return (Vec::new(), Scalar::Any) };
    let field = |member: super::parameters::Member| {
        let encoding =
            media.encoding.iter().find(|(name, _)| *name == member.name).map(|(_, encoding)| encoding);
        let text = |key: &str| encoding?.pointer(key)?.as_str().map(str::to_owned);
        let flag = |key: &str| encoding?.pointer(key)?.as_bool();
        let style = text("/style");
        let explode = flag("/explode").unwrap_or(style.as_deref().is_none_or(|style| style == "form"));
        let reserved = flag("/allowReserved");
        let plain = style.is_none() && reserved.is_none() && flag("/explode").is_none();
        let shape = match member.schemas.as_slice() {
            [one] => of_schema(contract.graph, *one),
            _ => Shape::Scalar(Scalar::Any),
        };
        let shape = match shape {
            Shape::Object(..) | Shape::OneOf(_) if plain => Shape::Json,
            Shape::Scalar(_) | Shape::Array(_) if text("/contentType").is_some_and(|t| is_json(&t)) => {
                Shape::Json
            }
            other => other,
        };
        // Only the schema can tell what an ambiguous text stands for.
        let ambiguous = shape.is_ambiguous();
        let one = member.schemas.first().copied().filter(|_| ambiguous && member.schemas.len() == 1);
        FieldPlan {
            name: member.name,
            required: false,
            style: style.unwrap_or_else(|| "form".to_owned()),
            explode,
            allow_reserved: reserved.unwrap_or(false),
            shape,
            validator: one.and_then(|schema| validator(contract, schema)),
        }
    };
    let fields = members(contract.graph, schema).into_iter().map(field).collect();
    let others = others(contract.graph, schema).map(|others| of_schema(contract.graph, others));
    let others = match others {
        Some(Shape::Scalar(scalar)) => scalar,
        Some(_) => Scalar::Json,
        None => Scalar::Text,
    };
    (fields, others)
}

/// Whether a media type is text: `text/…` and XML.
pub(crate) fn is_text(media_type: &str) -> bool {
    let essence = essence(media_type);
    essence.starts_with("text/") || essence == "application/xml" || essence.ends_with("+xml")
}

/// Whether a media type is JSON (RFC 6839, 3.1).
pub(crate) fn is_json(media_type: &str) -> bool {
    let essence = essence(media_type);
    essence.ends_with("/json") || essence.ends_with("+json")
}

fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

/// `csv` of `text/csv; charset=utf-8`.
pub(crate) fn subtype(media_type: &str) -> &str {
    let essence = media_type.split(';').next().unwrap_or("").trim();
    essence.rsplit('/').next().unwrap_or(essence)
}

impl BodyPlan<'_> {
    /// The type that stands for all media types.
    pub(crate) fn ty(&self, side: super::Side) -> TokenStream {
        match self.variants.as_slice() {
            [one] => one.ty.clone(),
            _ => {
                let (module, name) = (ident(side.bodies()), ident(&self.name));
                quote!(super::#module::#name)
            }
        }
    }

    /// An expression of the runtime's type, imported where it stands.
    pub(super) fn tokens(&self) -> TokenStream {
        let required = self.body.required;
        let contents = self.contents.iter().map(ContentPlan::tokens);
        quote!(Body { required: #required, content: &[#(#contents),*] })
    }
}

impl ContentPlan<'_> {
    fn tokens(&self) -> TokenStream {
        let media_type = &self.media.name;
        let schema = &self.location;
        let validator = validator_option(self.validator.as_ref());
        let format = match &self.format {
            Format::Model | Format::Json => quote!(Json),
            Format::Text => quote!(Text),
            Format::Bytes | Format::Typed => quote!(Bytes),
            Format::Form(fields, others) => {
                let fields = fields.iter().map(|field| field.tokens(&quote!(QUERY)));
                let others = others.tokens();
                quote!(Form(&[#(#fields),*], #others))
            }
            Format::Multipart(parts, _) => {
                let parts = parts.iter().map(PartPlan::tokens);
                quote!(Multipart(&[#(#parts),*]))
            }
        };
        quote! {
            Content {
                media_type: #media_type,
                format: Format::#format,
                schema: #schema,
                validator: #validator,
            }
        }
    }
}
