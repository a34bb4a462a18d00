//! Schemas in the words of older dialects: each is written so that it accepts every valid document,
//! and says as much of the contract as the dialect can.

use std::collections::BTreeSet;

use contract_runtime::{Json, Number, media::MediaType};
use serde_json::{Map, Value, json};

use crate::{
    arena::ById,
    schema::{
        Discriminator, Graph, Origin, Schema, SchemaId, Types,
        document::exact,
        keywords::{Keyword, Value as Held},
    },
};

/// What the readers of a document know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// The schema objects of OpenAPI 3.0.3.
    OpenApi30,
    /// JSON Schema draft-07.
    Draft7,
    /// What of draft-07 OpenAPI 3.0 has as well.
    Plain,
}

impl Dialect {
    /// Whether the dialect has no words for a keyword of a schema.
    fn lacks(self, keyword: Keyword, schema: &Schema) -> bool {
        match keyword {
            Keyword::DynamicRef | Keyword::UnevaluatedItems => true,
            Keyword::UnevaluatedProperties => evaluates_in_place(schema),
            Keyword::Contains => {
                let counted = |contains: &crate::schema::Contains| {
                    contains.min.is_some_and(|least| least != 1) || contains.max.is_some()
                };
                self != Self::Draft7 || schema.contains.as_ref().is_some_and(counted)
            }
            Keyword::PatternProperties
            | Keyword::PropertyNames
            | Keyword::PrefixItems
            | Keyword::If
            | Keyword::DependentRequired
            | Keyword::DependentSchemas => self != Self::Draft7,
            _ => false,
        }
    }
}

/// Writes the schemas of a graph.
#[derive(Debug)]
pub(super) struct Schemas<'g> {
    graph: &'g Graph,
    dialect: Dialect,
    /// Whether a schema, written in the dialect, accepts more than it says.
    wider: ById<Schema, bool>,
    mentioned: BTreeSet<SchemaId>,
}

/// Where references lead, and what was left out on the way.
pub(super) struct Written<'w> {
    /// The `$ref` for a schema that has a name.
    pub(super) link: &'w mut dyn FnMut(SchemaId) -> String,
    /// Keywords that the dialect has no words for.
    pub(super) lost: BTreeSet<(SchemaId, Keyword)>,
}

impl Written<'_> {
    fn lose(&mut self, id: SchemaId, keyword: Keyword) {
        self.lost.insert((id, keyword));
    }
}

impl<'g> Schemas<'g> {
    pub(super) fn new(graph: &'g Graph, dialect: Dialect) -> Self {
        let own = |schema: &Schema| schema.keywords().any(|(keyword, _)| dialect.lacks(keyword, schema));
        let mut wider = graph.schemas.map(|id| own(graph.schema(id)));
        let mut above = graph.schemas.map(|_| Vec::new());
        for id in graph.ids() {
            graph.schema(id).children().for_each(|child| above[child].push(id));
        }
        let mut open: Vec<SchemaId> = graph.ids().filter(|id| wider[*id]).collect();
        while let Some(id) = open.pop() {
            for parent in &above[id] {
                if !std::mem::replace(&mut wider[*parent], true) {
                    open.push(*parent);
                }
            }
        }
        Self { graph, dialect, wider, mentioned: mentioned(graph) }
    }

    /// A schema inside another: written out, or referred to where it stands elsewhere.
    fn inside(&self, id: SchemaId, written: &mut Written<'_>) -> Value {
        if self.mentioned.contains(&id) {
            json!({ "$ref": (written.link)(id) })
        } else {
            self.write(id, written)
        }
    }

    /// A schema; those that stand inside it are written out.
    pub(super) fn write(&self, id: SchemaId, written: &mut Written<'_>) -> Value {
        let schema = self.graph.schema(id);
        match (schema.boolean, self.dialect) {
            (Some(value), Dialect::Draft7 | Dialect::Plain) => return Value::Bool(value),
            (Some(true), Dialect::OpenApi30) => return json!({}),
            (Some(false), Dialect::OpenApi30) => return json!({ "not": {} }),
            (None, _) => {}
        }
        let mut out = Map::new();
        // What has to hold as well.
        let mut beside = Vec::new();
        for (keyword, held) in schema.keywords() {
            if self.dialect.lacks(keyword, schema) {
                written.lost.insert((id, keyword));
            } else {
                self.keyword((id, keyword), held, &mut out, &mut beside, written);
            }
        }
        if self.dialect == Dialect::OpenApi30 && !schema.one_way.is_empty() {
            let names: Vec<&String> = schema.required.iter().chain(&schema.one_way).collect();
            out.insert(Keyword::Required.name().to_owned(), json!(names));
        }
        if self.dialect == Dialect::OpenApi30 {
            self.beside(id, &mut out, written);
        }
        if let Some(dynamic) = &schema.dynamic_reference {
            beside.push(json!({ "$ref": (written.link)(dynamic.initial) }));
        }
        self.finish(&mut out);
        match (out.is_empty(), beside.as_slice()) {
            (true, [one]) => one.clone(),
            (_, []) => Value::Object(out),
            _ => {
                out.insert("allOf".to_owned(), Value::Array(beside));
                Value::Object(out)
            }
        }
    }

    fn keyword(
        &self,
        (own, keyword): (SchemaId, Keyword),
        held: Held<'_>,
        out: &mut Map<String, Value>,
        beside: &mut Vec<Value>,
        written: &mut Written<'_>,
    ) {
        let schema = self.graph.schema(own);
        let old = self.dialect == Dialect::OpenApi30;
        let plain = self.dialect != Dialect::Draft7;
        let name = keyword.name();
        let value = match (keyword, held) {
            (Keyword::Ref, Held::Schema(target)) => {
                beside.push(json!({ "$ref": (written.link)(target) }));
                return;
            }
            (Keyword::AllOf, Held::List(ids)) => {
                beside.extend(ids.iter().map(|id| self.inside(*id, written)));
                return;
            }
            // One of several is any of them where a branch accepts more than it says.
            (Keyword::OneOf | Keyword::AnyOf, Held::List(ids)) => {
                let any = keyword == Keyword::AnyOf || ids.iter().any(|id| self.wider[*id]);
                if any && keyword == Keyword::OneOf {
                    written.lose(own, keyword);
                }
                let branches = ids.iter().map(|id| self.inside(*id, written)).collect();
                let name = if any { Keyword::AnyOf } else { Keyword::OneOf }.name();
                if out.contains_key(name) {
                    beside.push(json!({ name: Value::Array(branches) }));
                } else {
                    out.insert(name.to_owned(), Value::Array(branches));
                }
                return;
            }
            // What accepts too much excludes too much.
            (Keyword::Not, Held::Schema(id)) if self.wider[id] => {
                return written.lose(own, keyword);
            }
            (Keyword::If, Held::Schema(id)) if self.wider[id] => {
                return written.lose(own, keyword);
            }
            (Keyword::Then | Keyword::Else, _)
                if plain || schema.condition.is_none_or(|id| self.wider[id]) =>
            {
                return;
            }
            (Keyword::Type, Held::Types(types)) => return self.types(schema, types, out, beside),
            // Whether more is allowed is a flag where nothing else is said of it.
            (Keyword::AdditionalProperties, Held::Schema(id))
                if old && self.graph.schema(id).boolean.is_some() && schema.pattern_properties.is_empty() =>
            {
                json!(self.graph.schema(id).boolean)
            }
            // Where no other schema speaks of the same object, they are those that are additional.
            (Keyword::UnevaluatedProperties, _) if schema.additional_properties.is_some() => return,
            (Keyword::UnevaluatedProperties, _) if !plain || schema.pattern_properties.is_empty() => {
                return self.keyword((own, Keyword::AdditionalProperties), held, out, beside, written);
            }
            // Asked for in one direction alone (OpenAPI 3.0.3, 4.7.24.2).
            (Keyword::Required, Held::Names(names)) if old => {
                let one_way = |(name, id): &(String, SchemaId)| {
                    names.contains(name) && is_one_way(self.graph, *id, &mut BTreeSet::new())
                };
                if schema.properties.iter().any(one_way) {
                    written.lose(own, keyword);
                }
                json!(names)
            }
            (Keyword::Const, Held::Json(value)) if old => {
                match exact(value) {
                    Some(value) => drop(out.insert("enum".to_owned(), json!([value]))),
                    None => written.lose(own, keyword),
                }
                return;
            }
            (Keyword::Enum, _) if old && schema.constant.is_some() => return,
            // Without the patterns of other names they would be refused.
            (Keyword::AdditionalProperties | Keyword::UnevaluatedProperties, _)
                if plain && !schema.pattern_properties.is_empty() =>
            {
                return written.lose(own, keyword);
            }
            (Keyword::Items, _) if plain && !schema.prefix_items.is_empty() => {
                return written.lose(own, keyword);
            }
            (Keyword::Items, Held::Schema(id)) if !schema.prefix_items.is_empty() => {
                let value = self.inside(id, written);
                out.insert("additionalItems".to_owned(), value);
                return;
            }
            (Keyword::PrefixItems, Held::List(ids)) => {
                let items = ids.iter().map(|id| self.inside(*id, written)).collect();
                out.insert("items".to_owned(), Value::Array(items));
                return;
            }
            (Keyword::ExclusiveMinimum | Keyword::ExclusiveMaximum, Held::Number(bound)) if old => {
                if !exclusive(schema, keyword, bound, out) {
                    written.lose(own, keyword);
                }
                return;
            }
            (Keyword::DependentRequired, Held::Needs(needs)) => {
                let needs = needs.iter().map(|(name, others)| (name.clone(), json!(others)));
                return extend(out, "dependencies", needs.collect());
            }
            (Keyword::DependentSchemas, Held::Map(named)) => {
                let named = named.iter().map(|(name, id)| (name.clone(), self.inside(*id, written)));
                let named = named.collect();
                return extend(out, "dependencies", named);
            }
            // There is one, and it stands by itself.
            (Keyword::Examples, Held::Values(values)) if old => {
                let first = values.first().and_then(exact);
                if first.is_none() || values.len() > 1 {
                    written.lose(own, keyword);
                }
                out.extend(first.map(|first| ("example".to_owned(), first)));
                return;
            }
            (
                Keyword::Examples
                | Keyword::Title
                | Keyword::Description
                | Keyword::Deprecated
                | Keyword::ReadOnly
                | Keyword::WriteOnly,
                _,
            ) if !old => return,
            (Keyword::Defs, _) => return,
            // What bytes are is a format there (OpenAPI 3.0.3, 4.4).
            (Keyword::ContentEncoding | Keyword::ContentMediaType, Held::Text(text)) if old => {
                let raw = keyword == Keyword::ContentMediaType && schema.content_encoding.is_none();
                let format = match text {
                    "base64" => Some("byte"),
                    "binary" => Some("binary"),
                    media_type if raw && is_bytes(media_type) => Some("binary"),
                    _ => None,
                };
                match format.filter(|format| schema.format.as_ref().is_none_or(|own| own == format)) {
                    Some(format) => drop(out.insert(Keyword::Format.name().to_owned(), json!(format))),
                    None => written.lose(own, keyword),
                }
                return;
            }
            (Keyword::ContentSchema, _) if old => return written.lose(own, keyword),
            (Keyword::ContentEncoding | Keyword::ContentMediaType | Keyword::ContentSchema, _) => return,
            (_, Held::Contains(contains)) => self.inside(contains.schema, written),
            (_, Held::Schema(id)) => self.inside(id, written),
            (_, Held::List(ids)) => ids.iter().map(|id| self.inside(*id, written)).collect(),
            (_, Held::Map(named)) => {
                named.iter().map(|(name, id)| (name.clone(), self.inside(*id, written))).collect()
            }
            (_, Held::Count(count)) => Value::from(count),
            (_, Held::Number(number)) => match exact(&Json::Number(number.clone())) {
                Some(number) => number,
                None => return written.lose(own, keyword),
            },
            (_, Held::Text(text)) => Value::from(text),
            (_, Held::Flag) => Value::Bool(true),
            (_, Held::Json(value)) => match exact(value) {
                Some(value) => value,
                None => return written.lose(own, keyword),
            },
            (_, Held::Values(values)) => match values.iter().map(exact).collect::<Option<_>>() {
                Some(values) => Value::Array(values),
                None => return written.lose(own, keyword),
            },
            (_, Held::Names(names)) => json!(names),
            (_, Held::Types(_) | Held::Dynamic(_) | Held::Needs(_)) => return,
        };
        out.insert(name.to_owned(), value);
    }

    /// What OpenAPI has of a schema beside its keywords.
    fn beside(&self, id: SchemaId, out: &mut Map<String, Value>, written: &mut Written<'_>) {
        let schema = self.graph.schema(id);
        if let Some(own) = &schema.discriminator {
            if own.default.is_some() {
                written.lose(id, Keyword::Discriminator);
            }
            out.insert("discriminator".to_owned(), self.discriminator(schema, own, written));
        }
        for (name, value) in &schema.extensions {
            let keyword = match name {
                _ if name.starts_with("x-") => None,
                "externalDocs" => Some(Keyword::ExternalDocs),
                "xml" => Some(Keyword::Xml),
                _ => continue,
            };
            // What a node is (OpenAPI 3.2, 4.26) is said there by two flags.
            let lacks = keyword == Some(Keyword::Xml) && value.pointer("/nodeType").is_some();
            match (exact(value).filter(|_| !lacks), keyword) {
                (Some(value), _) => drop(out.insert(name.to_owned(), value)),
                (None, Some(keyword)) => written.lose(id, keyword),
                (None, None) => {}
            }
        }
    }

    /// Names of components may be others than the contract's, so that each value is listed.
    fn discriminator(&self, schema: &Schema, own: &Discriminator, written: &mut Written<'_>) -> Value {
        let mut mapping: Map<String, Value> =
            own.mapping.iter().map(|(value, id)| (value.clone(), json!((written.link)(*id)))).collect();
        for branch in schema.one_of.iter().chain(&schema.any_of) {
            let Some(target) = self.graph.schema(*branch).reference else { continue };
            if let Origin::Component(name) = &self.graph.schema(target).origin
                && own.mapping.iter().all(|(_, known)| *known != target)
            {
                mapping.entry(name.clone()).or_insert_with(|| json!((written.link)(target)));
            }
        }
        let mut out = json!({ "propertyName": own.tag });
        if !mapping.is_empty() {
            out["mapping"] = Value::Object(mapping);
        }
        out
    }

    fn types(&self, schema: &Schema, types: Types, out: &mut Map<String, Value>, beside: &mut Vec<Value>) {
        if self.dialect != Dialect::OpenApi30 {
            let names = types.names();
            let value = if let [one] = names.as_slice() { json!(one) } else { json!(names) };
            out.insert("type".to_owned(), value);
            return;
        }
        // Readers differ about a `nullable` beside a list without `null`: it says nothing, or adds it.
        let null = types.contains(Types::NULL) && !listed_without_null(schema);
        let rest = types.without(Types::NULL);
        match rest.names().as_slice() {
            [] => {
                out.insert("enum".to_owned(), json!([null]));
                // Likewise about one beside other schemas.
                if schema.decides_by(&[Keyword::Type]) {
                    out.insert("nullable".to_owned(), Value::Bool(true));
                }
            }
            [one] => {
                out.insert("type".to_owned(), json!(one));
                if null {
                    out.insert("nullable".to_owned(), Value::Bool(true));
                }
            }
            several => {
                let branch = |name: &&str| {
                    let mut branch = json!({ "type": name });
                    if *name == "array" {
                        branch["items"] = json!({});
                    }
                    if null {
                        branch["nullable"] = Value::Bool(true);
                    }
                    branch
                };
                beside.push(json!({ "anyOf": several.iter().map(branch).collect::<Vec<_>>() }));
            }
        }
    }

    /// What readers of the dialect ask for beside what the contract says.
    fn finish(&self, out: &mut Map<String, Value>) {
        if self.dialect == Dialect::OpenApi30
            && out.get("type").is_some_and(|name| name == "array")
            && !out.contains_key("items")
        {
            out.insert("items".to_owned(), json!({}));
        }
    }
}

/// Schemas that are part of one around which they do not stand: `nullable` beside a `$ref` makes what is referred to an
/// alternative of its own, and that may be a schema around it.
pub(super) fn mentioned(graph: &Graph) -> BTreeSet<SchemaId> {
    let mut out = BTreeSet::new();
    for id in graph.ids() {
        let schema = graph.schema(id);
        let around = &schema.place;
        out.extend(schema.children().filter(|child| {
            let place = &graph.schema(*child).place;
            let below = place.pointer.strip_prefix(around.pointer.as_str());
            Some(*child) != schema.reference
                && (place.source != around.source
                    || below.is_none_or(|rest| !rest.is_empty() && !rest.starts_with('/')))
        }));
    }
    out
}

/// OpenAPI 3.0: the bound is a number beside a flag. Whether it is said, by this bound or by a stricter one.
fn exclusive(schema: &Schema, keyword: Keyword, bound: &Number, out: &mut Map<String, Value>) -> bool {
    let (name, own, lower) = match keyword {
        Keyword::ExclusiveMinimum => ("minimum", &schema.minimum, true),
        _ => ("maximum", &schema.maximum, false),
    };
    let stricter = own.as_ref().is_none_or(|own| if lower { bound >= own } else { bound <= own });
    let number = exact(&Json::Number(bound.clone()));
    let is_said = number.is_some() || !stricter;
    if let Some(number) = number.filter(|_| stricter) {
        out.insert(name.to_owned(), number);
        out.insert(keyword.name().to_owned(), Value::Bool(true));
    }
    is_said
}

/// Whether members of an object may be evaluated by schemas beside a schema's own, and not by its
/// `additionalProperties`, which evaluates each (Core 11.3).
fn evaluates_in_place(schema: &Schema) -> bool {
    let others = [&schema.all_of, &schema.any_of, &schema.one_of];
    schema.additional_properties.is_none()
        && (others.iter().any(|all| !all.is_empty())
            || schema.reference.is_some()
            || schema.dynamic_reference.is_some()
            || schema.condition.is_some()
            || !schema.dependent_schemas.is_empty())
}

/// Whether a schema lists its values, and `null` is none of them.
fn listed_without_null(schema: &Schema) -> bool {
    let lists = |values: &[Json]| values.iter().all(|value| *value != Json::Null);
    schema.enumeration.as_deref().is_some_and(lists)
        || schema.constant.as_ref().is_some_and(|one| *one != Json::Null)
}

/// Whether a schema says that it is for readers, or for writers, alone.
fn is_one_way(graph: &Graph, id: SchemaId, seen: &mut BTreeSet<SchemaId>) -> bool {
    let schema = graph.schema(id);
    let mut inside = schema.reference.iter().chain(&schema.all_of);
    seen.insert(id)
        && (schema.read_only || schema.write_only || inside.any(|next| is_one_way(graph, *next, seen)))
}

/// Whether a string of a media type is bytes, and no text.
fn is_bytes(media_type: &str) -> bool {
    let media = MediaType::of(media_type);
    !(media.is_json() || media.is_text())
}

fn extend(out: &mut Map<String, Value>, name: &str, more: Map<String, Value>) {
    match out.get_mut(name).and_then(Value::as_object_mut) {
        Some(known) => known.extend(more),
        None => drop(out.insert(name.to_owned(), Value::Object(more))),
    }
}
