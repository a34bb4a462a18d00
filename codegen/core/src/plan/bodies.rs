//! Plans request bodies: the media types, their encodings, and the type of the body.
//!
//! If all media types have the same type, the body has this type. Otherwise, the body is an enum with one
//! variant for each type. JSON and a form with the same type share a variant.

use contract_runtime::{Json, media_type::MediaType, parameters::WireConvention};

use super::{
    PlanInput,
    parts::MultipartPart,
    text_shape::{DeclaredMember, TextScalar, TextShape},
    wire::WireSite,
};
use crate::{
    api::{self, Example, ParameterIn, RequestBody},
    config::WireSettings,
    conjunction::SchemaConjunction,
    names,
    schema::{Schema, SchemaId, TypeSet},
    shape::TypeRef,
};

/// The maximum depth of nested unions that are searched for required properties.
const MAX_UNION_DEPTH: usize = 4;

/// The plan of a request body: its media types, their encodings and its Rust types.
#[derive(Clone, Debug)]
pub struct RequestBodyPlan<'a> {
    pub body: &'a RequestBody,
    pub contents: Vec<MediaTypePlan<'a>>,
    /// The Rust types of the body, without duplicates, in the order of the first media type of each.
    pub variants: Vec<BodyVariant>,
    /// The name of the enum in the generated module `bodies`. It is used only if there are several types.
    pub name: String,
    pub passing: BodyPassing,
}

/// The place of a body among the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyPassing {
    /// An argument: the contract requires the body.
    Required,
    /// An argument that may be `None`: the contract does not require the body, but its schema has required
    /// properties. Documents often lack `required: true` for such a body.
    Nullable,
    /// A field of the optional parameters.
    Optional,
}

/// The plan of one media type of a body.
#[derive(Clone, Debug)]
pub struct MediaTypePlan<'a> {
    pub media: &'a api::MediaType,
    pub format: BodyFormat,
    /// The index of the type in [`RequestBodyPlan::variants`].
    pub variant: usize,
    /// True if a multipart body must not contain parts that the schema does not declare.
    pub closed: bool,
}

/// One of the types of a request body.
#[derive(Clone, Debug)]
pub struct BodyVariant {
    /// The name of the enum variant. It is used only if there are several types.
    pub name: String,
    pub ty: BodyType,
    /// The index in [`RequestBodyPlan::contents`] of the media type that a client sends for this type. The order of
    /// precedence is: `application/json`, other JSON media types, ranges such as `*/*`, forms.
    pub sent: usize,
}

/// The Rust type of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyType {
    Value(TypeRef),
    Text,
    /// Bytes with a fixed media type.
    Bytes,
    /// Bytes with a media type that the sender chooses.
    Typed,
    Fields,
    /// A struct of multipart parts in the generated module `bodies`, by its name.
    Form(String),
}

/// The encoding of a body.
#[derive(Clone, Debug)]
pub enum BodyFormat {
    /// JSON of a named generated type. The generated code of the type validates the value. [`Json`](Self::Json) is for
    /// other types, such as lists and scalars.
    Model,
    Json,
    Text,
    /// Bytes with a fixed media type.
    Bytes,
    /// Bytes with a media type that the sender chooses.
    Typed,
    /// A form, with its declared fields and the scalar form of undeclared fields.
    Form(Vec<ParameterRow>, TextScalar),
    /// A multipart body, with its declared parts and, if there are any, the name of their struct in the
    /// generated module `bodies`.
    Multipart(Vec<MultipartPart>, Option<String>),
}

/// A row of the operation table that describes a parameter or form field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParameterRow {
    pub name: String,
    pub location: ParameterIn,
    pub required: bool,
    /// The OpenAPI `style`.
    pub style: String,
    /// The OpenAPI `explode`.
    pub explode: bool,
    /// The OpenAPI `allowReserved`.
    pub allow_reserved: bool,
    /// The OpenAPI `allowEmptyValue`; false for required parameters.
    pub allow_empty: bool,
    /// True if the parameter is an optional idempotency key. Clients generate a random key if the caller
    /// provides none.
    pub idempotency_key: bool,
    /// The convention for lists and nested values, if it differs from the one that OpenAPI defines for the
    /// style.
    pub wire: Option<WireConvention>,
    pub shape: TextShape,
    pub schema: Option<SchemaId>,
    /// The property of this parameter that distinguishes the operation from others with the same method and
    /// path. `None` if the parameter does not distinguish it.
    pub mark: Option<RequestMark>,
}

/// The property of a parameter by which a server recognizes an operation among several with the same method
/// and path: its presence or its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestMark {
    Present,
    Text(String),
}

impl BodyType {
    /// Returns true if both are the same Rust type. Text and JSON strings both have the type `String`.
    #[must_use]
    pub fn is_same_rust_type(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text, Self::Value(TypeRef::String)) | (Self::Value(TypeRef::String), Self::Text) => true,
            (Self::Value(one), Self::Value(other)) => one.is_same_rust_type(other),
            (one, other) => one == other,
        }
    }
}

impl RequestBodyPlan<'_> {
    /// Returns true if the body is an enum of several types.
    #[must_use]
    pub fn is_choice(&self) -> bool {
        self.variants.len() > 1
    }

    /// Returns true if the body is an argument of its own, and not a field of the optional parameters.
    #[must_use]
    pub fn is_argument(&self) -> bool {
        self.passing != BodyPassing::Optional
    }
}

impl PlanInput<'_> {
    /// Plans the body of an operation. `name` is the type name of the operation. It is the prefix of the names of
    /// generated types.
    pub(super) fn plan_body<'a>(
        &self,
        name: &str,
        body: &'a RequestBody,
        raw: bool,
    ) -> Option<RequestBodyPlan<'a>> {
        let several = api::exchanged_media(&body.content)
            .filter(|media| MediaType::parse(&media.name).is_multipart())
            .count()
            > 1;
        let mut contents: Vec<MediaTypePlan<'a>> = Vec::new();
        let mut variants: Vec<BodyVariant> = Vec::new();
        for media in api::exchanged_media(&body.content) {
            let format = self.body_format(media, name, several, raw);
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
            if earlier.is_some_and(|sent| send_rank(media, &format) < send_rank(sent.media, &sent.format)) {
                variants[variant].sent = contents.len();
                variants[variant].name = variant_name(&media.name, &format);
            }
            let closed = media
                .schema
                .is_some_and(|id| self.is_closed(&self.facts_of(&SchemaConjunction::from_schema(id))));
            contents.push(MediaTypePlan { media, format, variant, closed });
        }
        if contents.is_empty() {
            return None;
        }
        let wires: Vec<&str> = variants.iter().map(|v| contents[v.sent].media.name.as_str()).collect();
        let mut found: Vec<String> = variants.iter().map(|variant| variant.name.clone()).collect();
        names::make_distinct(&wires, &mut found);
        variants.iter_mut().zip(found).for_each(|(variant, name)| variant.name = name);
        let passing = if body.required { BodyPassing::Required } else { BodyPassing::Optional };
        Some(RequestBodyPlan { body, contents, variants, name: format!("{name}Body"), passing })
    }

    /// Makes an optional body an argument if the method is `POST`, `PUT` or `PATCH` and the schema of each media type
    /// has required properties. Callers then cannot omit the body by mistake.
    pub(super) fn plan_body_passing(&self, method: &str, body: &mut RequestBodyPlan<'_>) {
        let requires_properties = |content: &MediaTypePlan<'_>| {
            content.format.is_validated()
                && !matches!(content.format, BodyFormat::Multipart(_, None))
                && content.media.schema.is_some_and(|id| self.requires_properties(id, MAX_UNION_DEPTH))
        };
        if body.passing == BodyPassing::Optional
            && matches!(method, "POST" | "PUT" | "PATCH")
            && body.contents.iter().all(requires_properties)
        {
            body.passing = BodyPassing::Nullable;
        }
    }

    /// Returns true if a schema requires a property, or if each branch of a union does.
    fn requires_properties(&self, schema: SchemaId, depth: usize) -> bool {
        let facts = self.facts_of(&SchemaConjunction::from_schema(schema));
        if !facts.required_names(self.graph).is_empty() {
            return true;
        }
        depth > 0
            && facts.open_unions.iter().any(|&union| {
                let Schema { any_of, one_of, .. } = self.graph.schema(union);
                [any_of, one_of].into_iter().any(|branches| {
                    !branches.is_empty() && branches.iter().all(|&id| self.requires_properties(id, depth - 1))
                })
            })
    }

    /// Returns true if bodies of this media type are JSON. `text/plain` is JSON if its schema accepts no string.
    pub(super) fn is_json_content(&self, media: &api::MediaType) -> bool {
        let media_type = MediaType::parse(&media.name);
        let accepts_no_string = |schema| {
            let types = self.facts_of(&SchemaConjunction::from_schema(schema)).types;
            !types.is_empty() && !types.contains(TypeSet::STRING)
        };
        media_type.is_json() || media_type.is_plain_text() && media.schema.is_some_and(accepts_no_string)
    }

    /// Returns the encoding of a body with this media type.
    fn body_format(&self, media: &api::MediaType, name: &str, several: bool, raw: bool) -> BodyFormat {
        let media_type = MediaType::parse(&media.name);
        if raw {
            return if media_type.is_range() { BodyFormat::Typed } else { BodyFormat::Bytes };
        }
        if self.is_json_content(media) {
            let model =
                media.schema.is_some_and(|id| matches!(self.shapes.type_of_schema(id), TypeRef::Named(_)));
            return if model { BodyFormat::Model } else { BodyFormat::Json };
        }
        if media_type.is_multipart() {
            let parts = self.plan_parts(media);
            let suffix = if several { names::type_name(media_type.subtype()) } else { String::new() };
            let form = (!parts.is_empty()).then(|| format!("{name}{suffix}Form"));
            return BodyFormat::Multipart(parts, form);
        }
        if media_type.is_form() {
            let (fields, others) = self.form_fields(media.schema, &media.encoding, &media.examples);
            return BodyFormat::Form(fields, others);
        }
        if media_type.is_range() {
            BodyFormat::Typed
        } else if media_type.is_text() {
            BodyFormat::Text
        } else {
            BodyFormat::Bytes
        }
    }

    fn body_type(&self, media: &api::MediaType, format: &BodyFormat) -> BodyType {
        match format {
            BodyFormat::Model | BodyFormat::Json | BodyFormat::Form(..) => BodyType::Value(
                media.schema.map_or(TypeRef::Json, |id| self.shapes.type_of_schema(id).clone()),
            ),
            BodyFormat::Text => BodyType::Text,
            BodyFormat::Bytes => BodyType::Bytes,
            BodyFormat::Typed => BodyType::Typed,
            BodyFormat::Multipart(_, Some(name)) => BodyType::Form(name.clone()),
            BodyFormat::Multipart(_, None) => BodyType::Fields,
        }
    }

    /// Plans the declared fields of a form body, and the string form of undeclared fields. Encoding Objects
    /// set `style`, `explode` and `allowReserved`; without them, objects are encoded as JSON (OpenAPI 3.1,
    /// 4.8.15).
    pub(super) fn form_fields(
        &self,
        schema: Option<SchemaId>,
        encoding: &[(String, Json)],
        examples: &[Example],
    ) -> (Vec<ParameterRow>, TextScalar) {
        let Some(schema) = schema else { return (Vec::new(), TextScalar::Any) };
        let facts = self.facts_of(&SchemaConjunction::from_schema(schema));
        let form = self.form_settings(schema);
        let fields = self
            .members_of(&facts)
            .into_iter()
            .map(|member| self.form_field(form, (encoding, examples), member))
            .collect();
        let others = self.additional_members(&facts).map(|others| self.shape_at(&others));
        let others = match others {
            Some(TextShape::Scalar(scalar)) => scalar,
            Some(_) => TextScalar::Json,
            None => TextScalar::Text,
        };
        (fields, others)
    }

    fn form_field(
        &self,
        form: WireSettings,
        (encoding, examples): (&[(String, Json)], &[Example]),
        member: DeclaredMember,
    ) -> ParameterRow {
        let encoding = encoding.iter().find(|(name, _)| *name == member.name);
        let encoding = encoding.map(|(_, encoding)| encoding);
        let text = |key: &str| encoding?.pointer(key)?.as_str().map(str::to_owned);
        let flag = |key: &str| encoding?.pointer(key)?.as_bool();
        let style = text("/style");
        let explode = flag("/explode").unwrap_or(style.as_deref().is_none_or(|style| style == "form"));
        let reserved = flag("/allowReserved");
        let plain = style.is_none() && reserved.is_none() && flag("/explode").is_none();
        let json = text("/contentType").is_some_and(|name| MediaType::parse(&name).is_json());
        let usual = match self.member_shape(&member) {
            TextShape::Object(..) | TextShape::OneOf(_) if plain => TextShape::Json,
            TextShape::Scalar(_) | TextShape::Array(_) if json => TextShape::Json,
            other => other,
        };
        let style = style.unwrap_or_else(|| "form".to_owned());
        // If the Encoding Object declares a JSON media type, the field is encoded as JSON, and no convention
        // applies.
        let (shape, wire) = if json && plain {
            (usual, None)
        } else {
            let places = member.places.as_slice();
            let name = member.name.as_str();
            let site =
                WireSite { name, examples, places, in_form: true, form, style: &style, explode, usual };
            self.wire_shape(site, || self.nested_member_shape(&member))
        };
        // If a string can represent values of several types, the schema determines how it is parsed.
        let schema = member.single_schema().filter(|_| shape.is_ambiguous());
        ParameterRow {
            name: member.name,
            location: ParameterIn::Query,
            required: false,
            style,
            explode,
            allow_reserved: reserved.unwrap_or(false),
            allow_empty: false,
            idempotency_key: false,
            wire,
            shape,
            schema,
            mark: None,
        }
    }
}

impl BodyFormat {
    /// Returns true if bodies are validated instead of being passed through as text or bytes.
    pub const fn is_validated(&self) -> bool {
        matches!(self, Self::Model | Self::Json | Self::Form(..) | Self::Multipart(..))
    }

    /// Returns true if the body is JSON or a form. Media types of these formats share a variant if they have the same
    /// Rust type.
    const fn holds_values(&self) -> bool {
        matches!(self, Self::Model | Self::Json | Self::Form(..))
    }
}

/// Returns the rank of a media type for sending. Of several media types with the same type, a client sends
/// the one with the lowest rank.
fn send_rank(media: &api::MediaType, format: &BodyFormat) -> u8 {
    let name = MediaType::parse(&media.name);
    match format {
        BodyFormat::Form(..) => 3,
        _ if name.is_range() => 2,
        _ => u8::from(!name.essence().eq_ignore_ascii_case("application/json")),
    }
}

fn variant_name(media_type: &str, format: &BodyFormat) -> String {
    let media_type = MediaType::parse(media_type);
    match format {
        BodyFormat::Model | BodyFormat::Json => "Json".to_owned(),
        BodyFormat::Form(..) => "Form".to_owned(),
        BodyFormat::Multipart(..) => "Multipart".to_owned(),
        BodyFormat::Text | BodyFormat::Bytes | BodyFormat::Typed => {
            names::variant_name(media_name(&media_type))
        }
    }
}

/// Returns a short name of a media type, such as `csv`. The names of ranges are `any` or their top-level
/// type, such as `text`.
pub(super) fn media_name<'t>(media_type: &MediaType<'t>) -> &'t str {
    match (media_type.top_level_type(), media_type.subtype()) {
        ("*", _) => "any",
        (kind, "*") => kind,
        (_, subtype) => subtype,
    }
}
