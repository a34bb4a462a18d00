//! Settles what a request's body may be: its media types, how each is read and written, and
//! the one type that stands for all of them.
//!
//! A body of one type is that type. Where media types have different types, the body is an
//! enum with a variant for each; JSON and a form of the same type share one.

use contract_runtime::{Json, media::MediaType};

use super::{
    Given,
    parts::Part,
    text::{Member, Scalar, Shape},
};
use crate::{
    api::{self, ParameterIn, RequestBody},
    names,
    schema::SchemaId,
    shape::TypeRef,
    together::Conj,
};

/// A request's body, settled.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    /// What the contract says.
    pub body: &'a RequestBody,
    /// Its media types, in document order.
    pub contents: Vec<Content<'a>>,
    /// Its types, in the order of their first media type.
    pub variants: Vec<BodyVariant>,
    /// The enum in the module `bodies`, when there are several types.
    pub name: String,
}

/// One media type of a body, settled.
#[derive(Clone, Debug)]
pub struct Content<'a> {
    /// What the contract says.
    pub media: &'a api::MediaType,
    /// How it is read and written.
    pub format: Format,
    /// Index of its type.
    pub variant: usize,
    /// Whether nothing is allowed beside the parts that are declared.
    pub closed: bool,
}

/// One type of a body.
#[derive(Clone, Debug)]
pub struct BodyVariant {
    /// The variant, when there are several.
    pub name: String,
    /// The type that a handler gets.
    pub ty: BodyType,
    /// Index of the media type that a client sends: `application/json` before other JSON, a range only where
    /// nothing else is listed, and forms last.
    pub sent: usize,
}

/// The type of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyType {
    /// That of a schema.
    Value(TypeRef),
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// Bytes with the media type that the sender chose.
    Typed,
    /// Parts that no schema describes.
    Fields,
    /// A struct of parts, in the module `bodies`.
    Form(String),
}

/// How the bytes of a body are read or written.
#[derive(Clone, Debug)]
pub enum Format {
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
    Form(Vec<Row>, Scalar),
    /// Parts; the struct in the module `bodies`, when the contract declares any.
    Multipart(Vec<Part>, Option<String>),
}

/// A parameter, or a field of a form, as the table says it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Its name on the wire.
    pub name: String,
    /// Where it stands.
    pub location: ParameterIn,
    /// Whether it has to be there.
    pub required: bool,
    /// `style`
    pub style: String,
    /// `explode`
    pub explode: bool,
    /// `allowReserved`
    pub allow_reserved: bool,
    /// `allowEmptyValue`, where it may be left out.
    pub allow_empty: bool,
    /// What its text stands for.
    pub shape: Shape,
    /// The schema that checks it.
    pub schema: Option<SchemaId>,
    /// By what of it requests for its operation are told from those for others of the same method and path.
    pub mark: Option<Mark>,
}

/// By what of a parameter an operation is found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// It is there.
    There,
    /// It is this text, and no other.
    Text(String),
}

impl BodyType {
    /// Whether both are one Rust type: text is a `String`, and so is a JSON string.
    #[must_use]
    pub fn is_as_rust(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text, Self::Value(TypeRef::String)) | (Self::Value(TypeRef::String), Self::Text) => true,
            (Self::Value(one), Self::Value(other)) => one.is_as_rust(other),
            (one, other) => one == other,
        }
    }
}

impl Body<'_> {
    /// Whether several types are possible, so that an enum stands for them.
    #[must_use]
    pub fn is_choice(&self) -> bool {
        self.variants.len() > 1
    }
}

impl Given<'_> {
    /// Settles a body. `name` is the operation's type name.
    pub(super) fn body<'a>(&self, name: &str, body: &'a RequestBody, raw: bool) -> Option<Body<'a>> {
        let several =
            body.content.iter().filter(|media| MediaType::of(&media.name).is_multipart()).count() > 1;
        let mut contents: Vec<Content<'a>> = Vec::new();
        let mut variants: Vec<BodyVariant> = Vec::new();
        for media in &body.content {
            let format = self.format(media, name, several, raw);
            let ty = self.body_type(media, &format);
            let known = variants.iter().position(|variant| {
                let sent = contents.get(variant.sent).map(|sent| &sent.format);
                variant.ty == ty && sent.is_some_and(|sent| sent.holds_values() && format.holds_values())
            });
            let variant = known.unwrap_or_else(|| {
                let name = variant_name(&media.name, &format);
                variants.push(BodyVariant { name, ty, sent: contents.len() });
                variants.len() - 1
            });
            let earlier = contents.get(variants[variant].sent);
            if earlier.is_some_and(|sent| reserve(media, &format) < reserve(sent.media, &sent.format)) {
                variants[variant].sent = contents.len();
                variants[variant].name = variant_name(&media.name, &format);
            }
            let closed = media.schema.is_some_and(|id| self.is_closed(&self.facts(&Conj::one(id))));
            contents.push(Content { media, format, variant, closed });
        }
        if contents.is_empty() {
            return None;
        }
        let wires: Vec<&str> = variants.iter().map(|v| contents[v.sent].media.name.as_str()).collect();
        let mut found: Vec<String> = variants.iter().map(|variant| variant.name.clone()).collect();
        names::make_distinct(&wires, &mut found);
        variants.iter_mut().zip(found).for_each(|(variant, name)| variant.name = name);
        Some(Body { body, contents, variants, name: format!("{name}Body") })
    }

    /// How a body of this media type is read or written.
    fn format(&self, media: &api::MediaType, name: &str, several: bool, raw: bool) -> Format {
        let media_type = MediaType::of(&media.name);
        if raw {
            return if media_type.is_range() { Format::Typed } else { Format::Bytes };
        }
        if media_type.is_json() {
            let model = media.schema.is_some_and(|id| matches!(self.shapes.of(id), TypeRef::Named(_)));
            return if model { Format::Model } else { Format::Json };
        }
        if media_type.is_multipart() {
            let parts = self.parts(media);
            let suffix = if several { names::type_name(media_type.subtype()) } else { String::new() };
            let form = (!parts.is_empty()).then(|| format!("{name}{suffix}Form"));
            return Format::Multipart(parts, form);
        }
        if media_type.is_form() {
            let (fields, others) = self.form(media.schema, &media.encoding);
            return Format::Form(fields, others);
        }
        if media_type.is_range() {
            Format::Typed
        } else if media_type.is_text() {
            Format::Text
        } else {
            Format::Bytes
        }
    }

    fn body_type(&self, media: &api::MediaType, format: &Format) -> BodyType {
        match format {
            Format::Model | Format::Json | Format::Form(..) => {
                BodyType::Value(media.schema.map_or(TypeRef::Json, |id| self.shapes.of(id).clone()))
            }
            Format::Text => BodyType::Text,
            Format::Bytes => BodyType::Bytes,
            Format::Typed => BodyType::Typed,
            Format::Multipart(_, Some(name)) => BodyType::Form(name.clone()),
            Format::Multipart(_, None) => BodyType::Fields,
        }
    }

    /// The fields of a form (OpenAPI 3.1, 4.8.15: `style`, `explode` and `allowReserved` of the
    /// encoding; without them objects are JSON text), and how others are read.
    pub(super) fn form(&self, schema: Option<SchemaId>, encoding: &[(String, Json)]) -> (Vec<Row>, Scalar) {
        let Some(schema) = schema else { return (Vec::new(), Scalar::Any) };
        let facts = self.facts(&Conj::one(schema));
        let fields =
            self.members(&facts).into_iter().map(|member| self.form_field(encoding, member)).collect();
        let others = self.others(&facts).map(|others| self.text(&others));
        let others = match others {
            Some(Shape::Scalar(scalar)) => scalar,
            Some(_) => Scalar::Json,
            None => Scalar::Text,
        };
        (fields, others)
    }

    fn form_field(&self, encoding: &[(String, Json)], member: Member) -> Row {
        let encoding = encoding.iter().find(|(name, _)| *name == member.name);
        let encoding = encoding.map(|(_, encoding)| encoding);
        let text = |key: &str| encoding?.pointer(key)?.as_str().map(str::to_owned);
        let flag = |key: &str| encoding?.pointer(key)?.as_bool();
        let style = text("/style");
        let explode = flag("/explode").unwrap_or(style.as_deref().is_none_or(|style| style == "form"));
        let reserved = flag("/allowReserved");
        let plain = style.is_none() && reserved.is_none() && flag("/explode").is_none();
        let json = text("/contentType").is_some_and(|name| MediaType::of(&name).is_json());
        let shape = match self.text_of_member(&member) {
            Shape::Object(..) | Shape::OneOf(_) if plain => Shape::Json,
            Shape::Scalar(_) | Shape::Array(_) if json => Shape::Json,
            other => other,
        };
        // Only the schema can tell what an ambiguous text stands for.
        let schema = member.schema().filter(|_| shape.is_ambiguous());
        Row {
            name: member.name,
            location: ParameterIn::Query,
            required: false,
            style: style.unwrap_or_else(|| "form".to_owned()),
            explode,
            allow_reserved: reserved.unwrap_or(false),
            allow_empty: false,
            shape,
            schema,
            mark: None,
        }
    }
}

impl Format {
    /// Whether a body is held against the schema, and not handed on as text or bytes.
    pub(crate) const fn is_judged(&self) -> bool {
        matches!(self, Self::Model | Self::Json | Self::Form(..) | Self::Multipart(..))
    }

    /// Whether it holds a value that JSON could hold too.
    const fn holds_values(&self) -> bool {
        matches!(self, Self::Model | Self::Json | Self::Form(..))
    }
}

/// How far behind others that hold the same value a media type stands when one is sent.
fn reserve(media: &api::MediaType, format: &Format) -> u8 {
    let name = MediaType::of(&media.name);
    match format {
        Format::Form(..) => 3,
        _ if name.is_range() => 2,
        _ => u8::from(!name.essence().eq_ignore_ascii_case("application/json")),
    }
}

fn variant_name(media_type: &str, format: &Format) -> String {
    let media_type = MediaType::of(media_type);
    match format {
        Format::Model | Format::Json => "Json".to_owned(),
        Format::Form(..) => "Form".to_owned(),
        Format::Multipart(..) => "Multipart".to_owned(),
        Format::Text | Format::Bytes | Format::Typed => names::variant_name(media_word(&media_type)),
    }
}

/// What a media type is called among others: `csv`, of a range `text` or `any`.
pub(super) fn media_word<'t>(media_type: &MediaType<'t>) -> &'t str {
    match (media_type.kind(), media_type.subtype()) {
        ("*", _) => "any",
        (kind, "*") => kind,
        (_, subtype) => subtype,
    }
}
