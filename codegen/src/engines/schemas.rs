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
            Keyword::DynamicRef | Keyword::UnevaluatedItems | Keyword::UnevaluatedProperties => true,
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
        if let Some(discriminator) =
            schema.discriminator.as_ref().filter(|_| self.dialect == Dialect::OpenApi30)
        {
            out.insert("discriminator".to_owned(), self.discriminator(schema, discriminator, written));
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
            (Keyword::Type, Held::Types(types)) => return self.types(types, out, beside),
            (Keyword::Const, Held::Json(value)) if old => {
                out.insert("enum".to_owned(), Value::Array(exact(value).into_iter().collect()));
                return;
            }
            (Keyword::Enum, _) if old && schema.constant.is_some() => return,
            // Without the patterns of other names they would be refused.
            (Keyword::AdditionalProperties, _) if plain && !schema.pattern_properties.is_empty() => return,
            (Keyword::Items, _) if plain && !schema.prefix_items.is_empty() => return,
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
                self.exclusive(schema, keyword, bound, out);
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
            (Keyword::Examples, Held::Values(values)) => match values.first().and_then(exact) {
                Some(first) if old => {
                    out.insert("example".to_owned(), first);
                    return;
                }
                _ => return,
            },
            (Keyword::Description | Keyword::Deprecated | Keyword::ReadOnly | Keyword::WriteOnly, _)
                if !old =>
            {
                return;
            }
            (Keyword::Title | Keyword::Defs, _) => return,
            // What bytes are is a format there (OpenAPI 3.0.3, 4.4).
            (Keyword::ContentEncoding | Keyword::ContentMediaType, Held::Text(text))
                if old && schema.format.is_none() =>
            {
                let raw = keyword == Keyword::ContentMediaType && schema.content_encoding.is_none();
                let format = match text {
                    "base64" => "byte",
                    "binary" => "binary",
                    media_type if raw && is_bytes(media_type) => "binary",
                    _ => return,
                };
                out.insert(Keyword::Format.name().to_owned(), json!(format));
                return;
            }
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

    fn types(&self, types: Types, out: &mut Map<String, Value>, beside: &mut Vec<Value>) {
        if self.dialect != Dialect::OpenApi30 {
            let names = types.names();
            let value = if let [one] = names.as_slice() { json!(one) } else { json!(names) };
            out.insert("type".to_owned(), value);
            return;
        }
        let (null, rest) = (types.contains(Types::NULL), types.without(Types::NULL));
        match rest.names().as_slice() {
            [] => {
                out.insert("enum".to_owned(), json!([null]));
                out.insert("nullable".to_owned(), Value::Bool(true));
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

    /// OpenAPI 3.0: the bound is a number beside a flag.
    fn exclusive(&self, schema: &Schema, keyword: Keyword, bound: &Number, out: &mut Map<String, Value>) {
        let (name, own, lower) = match keyword {
            Keyword::ExclusiveMinimum => ("minimum", &schema.minimum, true),
            _ => ("maximum", &schema.maximum, false),
        };
        let stricter = own.as_ref().is_none_or(|own| if lower { bound >= own } else { bound <= own });
        if let Some(number) = exact(&Json::Number(bound.clone())).filter(|_| stricter) {
            out.insert(name.to_owned(), number);
            out.insert(keyword.name().to_owned(), Value::Bool(true));
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
