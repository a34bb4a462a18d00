//! Settles the parts of a multipart body: which members are files, text or JSON, and how many
//! parts each has (OpenAPI 3.1, 4.8.14.4 and 4.8.15).

use contract_runtime::{Json, media::MediaType};

use super::{
    Given,
    text::{Member, Scalar, Shape},
};
use crate::{
    api, names,
    schema::{SchemaId, Types},
    shape::TypeRef,
    together::Conj,
};

/// How deep references are followed.
const DEPTH: usize = 32;

/// A member of a multipart body, settled.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name on the wire.
    pub name: String,
    /// The field.
    pub field: String,
    /// Whether every body has it.
    pub required: bool,
    /// What each part stands for.
    pub form: PartForm,
    /// How many parts there are.
    pub count: PartCount,
    /// Type of the value; unused for files.
    pub ty: TypeRef,
    /// The schema that describes it.
    pub schema: SchemaId,
    /// The media type that it is sent with; empty for none.
    pub media_type: String,
}

/// What each part stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartForm {
    /// A file.
    Binary,
    /// Text of one value.
    Text(Scalar),
    /// JSON.
    Json,
}

/// How many parts a member has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartCount {
    /// One.
    One,
    /// One for each element.
    Each,
    /// Either.
    OneOrEach,
}

impl Part {
    /// Whether its field is a list of files.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.form == PartForm::Binary && self.count != PartCount::One
    }
}

impl Given<'_> {
    /// The declared members of a body.
    pub(super) fn parts(&self, media: &api::MediaType) -> Vec<Part> {
        let Some(schema) = media.schema else { return Vec::new() };
        let members = self.members(&self.facts(&Conj::one(schema)));
        let part = |member: Member| {
            let encoding = media.encoding.iter().find(|(name, _)| *name == member.name);
            self.part(member, encoding.map(|(_, encoding)| encoding))
        };
        let mut parts: Vec<Part> = members.into_iter().filter_map(part).collect();
        let wires: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
        let wires: Vec<&str> = wires.iter().map(String::as_str).collect();
        let plain = |wire: &&str| match names::field_name(wire) {
            // The struct's own.
            name if name == "others" => "others_part".to_owned(),
            name => name,
        };
        let mut fields: Vec<String> = wires.iter().map(plain).collect();
        names::make_distinct(&wires, &mut fields);
        for (part, field) in parts.iter_mut().zip(fields) {
            part.field = field;
        }
        parts
    }

    fn part(&self, member: Member, encoding: Option<&Json>) -> Option<Part> {
        let schemas: Vec<SchemaId> = member.places.iter().flat_map(|place| place.ids.clone()).collect();
        let schema = *schemas.first()?;
        let text = |key: &str| encoding?.pointer(key)?.as_str();
        // A list of media types: the first is what is sent unless the file says otherwise.
        let content_type = text("/contentType").and_then(|list| list.split(',').map(str::trim).next());
        let content_type = content_type.filter(|name| !MediaType::of(name).is_range()).unwrap_or_default();
        let headers = match encoding.and_then(|encoding| encoding.pointer("/headers")) {
            Some(Json::Object(headers)) => {
                headers.keys().any(|name| !name.eq_ignore_ascii_case("content-type"))
            }
            _ => false,
        };
        let types: Vec<&TypeRef> = schemas.iter().map(|&id| self.shapes.of(id)).collect();
        let same = types.iter().all(|ty| *ty == types[0]);
        let (mut form, count) = match self.binary(schema, 0) {
            Some(count) => (PartForm::Binary, count),
            None => self.value(same.then(|| member.places[0].clone())),
        };
        let media = MediaType::of(content_type);
        if media.is_json() && form != PartForm::Binary {
            form = PartForm::Json;
        }
        let raw = matches!(media.kind(), "image" | "audio" | "video" | "font")
            || media.essence() == "application/octet-stream";
        if headers || raw {
            form = PartForm::Binary;
        }
        let media_type = match form {
            _ if !content_type.is_empty() => content_type,
            PartForm::Json => "application/json",
            PartForm::Binary | PartForm::Text(_) => "",
        };
        Some(Part {
            name: member.name,
            field: String::new(),
            required: member.required,
            form,
            count,
            ty: if same { types[0].clone() } else { TypeRef::Json },
            schema,
            media_type: media_type.to_owned(),
        })
    }

    /// What a value becomes; lists become one part for each element.
    fn value(&self, place: Option<Conj>) -> (PartForm, PartCount) {
        let Some(place) = place else { return (PartForm::Text(Scalar::Any), PartCount::OneOrEach) };
        let of = |shape: Shape| match shape {
            Shape::Scalar(scalar) => PartForm::Text(scalar),
            _ => PartForm::Json,
        };
        let facts = self.facts(&place);
        let possible = facts.types.without(Types::NULL);
        if possible.contains(Types::OBJECT) {
            return (PartForm::Json, PartCount::One);
        }
        if !possible.contains(Types::ARRAY) {
            return (of(self.text(&place)), PartCount::One);
        }
        let item = self.items(&facts).map_or(PartForm::Json, |items| of(self.text(&items)));
        match (possible == Types::ARRAY, item) {
            (true, item) => (item, PartCount::Each),
            (false, PartForm::Text(_)) => (PartForm::Text(Scalar::Any), PartCount::OneOrEach),
            (false, _) => (PartForm::Json, PartCount::One),
        }
    }

    /// Whether a schema describes bytes, and how many files it takes.
    fn binary(&self, id: SchemaId, depth: usize) -> Option<PartCount> {
        if depth > DEPTH {
            return None;
        }
        let schema = self.graph.schema(id);
        let named = schema.format.as_deref() == Some("binary")
            || schema.content_encoding.as_deref() == Some("binary")
            || (schema.content_media_type.is_some() && schema.content_encoding.is_none());
        let text = schema.types.is_none_or(|types| types.without(Types::NULL) == Types::STRING);
        if named && text {
            return Some(PartCount::One);
        }
        // OpenAPI 3.1, 4.8.14.2: a schema that says nothing describes raw bytes.
        let silent = schema.types.is_none()
            && schema.boolean != Some(false)
            && schema.children().next().is_none()
            && schema.enumeration.is_none()
            && schema.constant.is_none()
            && schema.properties.is_empty();
        if silent {
            return Some(PartCount::One);
        }
        if let Some(items) = schema.items
            && schema.types.is_none_or(|types| types.without(Types::NULL) == Types::ARRAY)
            && self.binary(items, depth + 1) == Some(PartCount::One)
        {
            return Some(PartCount::Each);
        }
        let only_null = |branch: SchemaId| self.facts(&Conj::one(branch)).types == Types::NULL;
        let branches = schema.any_of.iter().chain(&schema.one_of).copied().filter(|&id| !only_null(id));
        let branches: Option<Vec<PartCount>> =
            branches.map(|branch| self.binary(branch, depth + 1)).collect();
        match branches.as_deref() {
            Some([first, others @ ..]) => {
                let same = others.iter().all(|other| other == first);
                return Some(if same { *first } else { PartCount::OneOrEach });
            }
            None => return None,
            Some([]) => {}
        }
        let mut together = schema.reference.iter().chain(&schema.all_of);
        together.find_map(|&each| self.binary(each, depth + 1).filter(|_| !self.is_silent(each)))
    }

    /// A part of an `allOf` that says nothing is no file for that.
    fn is_silent(&self, id: SchemaId) -> bool {
        let schema = self.graph.schema(id);
        schema.types.is_none() && schema.format.is_none() && schema.children().next().is_none()
    }
}
