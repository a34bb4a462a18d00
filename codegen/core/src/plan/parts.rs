//! Plans the parts of multipart bodies: which properties are files, strings or JSON, and how many parts each
//! property has (OpenAPI 3.1, 4.8.14.4 and 4.8.15).

use contract_runtime::{
    Json,
    media_type::{MediaType, concrete_media_type},
};

use super::{
    PlanInput,
    text_shape::{DeclaredMember, TextScalar, TextShape},
};
use crate::{
    api,
    conjunction::SchemaConjunction,
    names,
    schema::{SchemaId, TypeSet},
    shape::TypeRef,
};

/// The maximum number of nested references that are followed.
const MAX_DEPTH: usize = 32;

/// The plan of one property of a multipart body, which becomes one or more parts.
#[derive(Clone, Debug)]
pub struct MultipartPart {
    pub name: String,
    pub field: String,
    /// True if every body must contain the property.
    pub required: bool,
    pub form: PartForm,
    pub count: PartArity,
    /// The type of the value; not used for files.
    pub ty: TypeRef,
    pub schema: SchemaId,
    /// The media type that the contract declares for the part, or an empty string if it declares none or a range.
    /// `PartSpec::default_media_type` in the runtime returns the media type that is sent in this case.
    pub media_type: String,
    /// The media types and ranges that `encoding` declares; empty for any.
    pub accepted: Vec<String>,
}

/// The content of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartForm {
    Binary,
    Text(TextScalar),
    Json,
}

/// The number of parts that a value of a property becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartArity {
    One,
    Each,
    /// One part for a single value, or one part for each element of an array.
    OneOrEach,
}

impl MultipartPart {
    /// Returns true if the Rust field of the part is a list of files.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.form == PartForm::Binary && self.count != PartArity::One
    }
}

impl PlanInput<'_> {
    /// Plans the parts of a multipart body, one for each property that the schema of the media type declares.
    pub(super) fn plan_parts(&self, media: &api::MediaType) -> Vec<MultipartPart> {
        let Some(schema) = media.schema else { return Vec::new() };
        let members = self.members_of(&self.facts_of(&SchemaConjunction::from_schema(schema)));
        let part = |member: DeclaredMember| {
            let encoding = media.encoding.iter().find(|(name, _)| *name == member.name);
            self.plan_part(member, encoding.map(|(_, encoding)| encoding))
        };
        let mut parts: Vec<MultipartPart> = members.into_iter().filter_map(part).collect();
        let wires: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
        let wires: Vec<&str> = wires.iter().map(String::as_str).collect();
        let plain = |wire: &&str| match names::field_name(wire) {
            // The struct of the parts has a field `others` for undeclared parts.
            name if name == "others" => "others_part".to_owned(),
            name => name,
        };
        let labels: Vec<String> = parts
            .iter()
            .map(|part| self.graph.schema(part.schema).rust_name().unwrap_or(&part.name).to_owned())
            .collect();
        let mut fields: Vec<String> = labels.iter().map(|label| plain(&label.as_str())).collect();
        names::make_distinct(&wires, &mut fields);
        for (part, field) in parts.iter_mut().zip(fields) {
            part.field = field;
        }
        parts
    }

    fn plan_part(&self, member: DeclaredMember, encoding: Option<&Json>) -> Option<MultipartPart> {
        let schemas: Vec<SchemaId> = member.places.iter().flat_map(|place| place.ids.clone()).collect();
        let schema = *schemas.first()?;
        let text = |key: &str| encoding?.pointer(key)?.as_str();
        // Of a list of media types, the first is the default.
        let declared = text("/contentType").unwrap_or_default().split(',').map(str::trim);
        let accepted: Vec<&str> = declared.filter(|name| !name.is_empty()).collect();
        let media = MediaType::parse(accepted.first().copied().unwrap_or_default());
        let content_type = accepted.first().copied().filter(|_| !media.is_range()).unwrap_or_default();
        let headers = match encoding.and_then(|encoding| encoding.pointer("/headers")) {
            Some(Json::Object(headers)) => {
                headers.keys().any(|name| !name.eq_ignore_ascii_case("content-type"))
            }
            _ => false,
        };
        let types: Vec<&TypeRef> = schemas.iter().map(|&id| self.shapes.type_of_schema(id)).collect();
        let same = types.iter().all(|ty| *ty == types[0]);
        let (mut form, count) = match self.file_count(schema, 0) {
            Some(count) => (PartForm::Binary, count),
            None => self.value_form(same.then(|| member.places[0].clone())),
        };
        if media.is_json() && form != PartForm::Binary {
            form = PartForm::Json;
        }
        let raw = matches!(media.top_level_type(), "image" | "audio" | "video" | "font")
            || media.essence() == "application/octet-stream";
        if headers || raw {
            form = PartForm::Binary;
        }
        let accepts = |name: &str| {
            let name = MediaType::parse(name);
            accepted.is_empty() || accepted.iter().any(|range| MediaType::parse(range).contains(&name))
        };
        let media_type = match form {
            _ if !content_type.is_empty() => content_type,
            PartForm::Json => {
                let first = accepted.first().map_or("", |name| concrete_media_type(name));
                ["application/json", first].into_iter().find(|name| accepts(name)).unwrap_or_default()
            }
            PartForm::Binary | PartForm::Text(_) => "",
        };
        Some(MultipartPart {
            name: member.name,
            field: String::new(),
            required: member.required,
            form,
            count,
            ty: if same { types[0].clone() } else { TypeRef::Json },
            schema,
            media_type: media_type.to_owned(),
            accepted: accepted.into_iter().map(str::to_owned).collect(),
        })
    }

    /// Returns the form and the number of the parts for a value. An array becomes one part for each element.
    fn value_form(&self, place: Option<SchemaConjunction>) -> (PartForm, PartArity) {
        let Some(place) = place else { return (PartForm::Text(TextScalar::Any), PartArity::OneOrEach) };
        let of = |shape: TextShape| match shape {
            TextShape::Scalar(scalar) => PartForm::Text(scalar),
            _ => PartForm::Json,
        };
        let facts = self.facts_of(&place);
        let possible = facts.types.difference(TypeSet::NULL);
        if possible.contains(TypeSet::OBJECT) {
            return (PartForm::Json, PartArity::One);
        }
        if !possible.contains(TypeSet::ARRAY) {
            return (of(self.shape_at(&place)), PartArity::One);
        }
        let item = self.items_of(&facts).map_or(PartForm::Json, |items| of(self.shape_at(&items)));
        match (possible == TypeSet::ARRAY, item) {
            (true, item) => (item, PartArity::Each),
            (false, PartForm::Text(_)) => (PartForm::Text(TextScalar::Any), PartArity::OneOrEach),
            (false, _) => (PartForm::Json, PartArity::One),
        }
    }

    /// Returns the number of parts if a schema describes a file or an array of files, or `None` if it
    /// describes other values.
    fn file_count(&self, id: SchemaId, depth: usize) -> Option<PartArity> {
        if depth > MAX_DEPTH {
            return None;
        }
        let schema = self.graph.schema(id);
        let named = schema.format.as_deref() == Some("binary")
            || schema.content_encoding.as_deref() == Some("binary")
            || (schema.content_media_type.is_some() && schema.content_encoding.is_none());
        let text = schema.types.is_none_or(|types| types.difference(TypeSet::NULL) == TypeSet::STRING);
        if named && text {
            return Some(PartArity::One);
        }
        // An empty schema describes raw bytes (OpenAPI 3.1, 4.8.14.2).
        let silent = schema.types.is_none()
            && schema.boolean != Some(false)
            && schema.child_schemas().next().is_none()
            && schema.enumeration.is_none()
            && schema.constant.is_none()
            && schema.properties.is_empty();
        if silent {
            return Some(PartArity::One);
        }
        if let Some(items) = schema.items
            && schema.types.is_none_or(|types| types.difference(TypeSet::NULL) == TypeSet::ARRAY)
            && self.file_count(items, depth + 1) == Some(PartArity::One)
        {
            return Some(PartArity::Each);
        }
        let only_null =
            |branch: SchemaId| self.facts_of(&SchemaConjunction::from_schema(branch)).types == TypeSet::NULL;
        let branches = schema.any_of.iter().chain(&schema.one_of).copied().filter(|&id| !only_null(id));
        let branches: Option<Vec<PartArity>> =
            branches.map(|branch| self.file_count(branch, depth + 1)).collect();
        match branches.as_deref() {
            Some([first, others @ ..]) => {
                let same = others.iter().all(|other| other == first);
                return Some(if same { *first } else { PartArity::OneOrEach });
            }
            None => return None,
            Some([]) => {}
        }
        let mut together = schema.reference.iter().chain(&schema.all_of);
        together.find_map(|&each| self.file_count(each, depth + 1).filter(|_| !self.is_silent(each)))
    }

    /// Returns true if an element of `allOf` has no type, format or subschema. Such an element does not describe a
    /// file, although an empty schema elsewhere does.
    fn is_silent(&self, id: SchemaId) -> bool {
        let schema = self.graph.schema(id);
        schema.types.is_none() && schema.format.is_none() && schema.child_schemas().next().is_none()
    }
}
