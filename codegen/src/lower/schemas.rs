//! Lowers schemas to older dialects. Invariant: the result accepts every valid document. It is as strict as
//! the dialect allows.

use std::collections::BTreeSet;

use contract_codegen_core::{
    arena::ArenaMap,
    schema::{
        Discriminator, Schema, SchemaGraph, SchemaId, SchemaOrigin, TypeSet,
        document::to_exact_value,
        keywords::{Keyword, KeywordValue as Held},
    },
};
use contract_runtime::{Json, Number, media_type::MediaType};
use serde_json::{Map, Value, json};

/// The target dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The schema objects of OpenAPI 3.0.3.
    OpenApi30,
    /// JSON Schema draft-07.
    Draft7,
    /// The subset of draft-07 that OpenAPI 3.0 supports as well.
    Plain,
}

impl Dialect {
    /// Returns true if the dialect cannot express a keyword of a schema.
    fn lacks(self, keyword: Keyword, schema: &Schema) -> bool {
        match keyword {
            Keyword::DynamicRef | Keyword::UnevaluatedItems => true,
            Keyword::UnevaluatedProperties => evaluates_in_place(schema),
            Keyword::Contains => {
                let counted = |contains: &contract_codegen_core::schema::ContainsConstraint| {
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

/// A writer for the schemas of a graph.
#[derive(Debug)]
pub struct Schemas<'g> {
    graph: &'g SchemaGraph,
    dialect: Dialect,
    /// True for schemas that accept more in the dialect than in the contract.
    wider: ArenaMap<Schema, bool>,
    mentioned: BTreeSet<SchemaId>,
}

/// The resolver of references and the keywords lost while writing.
pub struct Written<'w> {
    /// Returns the `$ref` of a named schema.
    pub link: &'w mut dyn FnMut(SchemaId) -> String,
    /// Keywords that the dialect cannot express.
    pub lost: BTreeSet<(SchemaId, Keyword)>,
}

impl Written<'_> {
    fn lose(&mut self, id: SchemaId, keyword: Keyword) {
        self.lost.insert((id, keyword));
    }
}

impl<'g> Schemas<'g> {
    pub fn new(graph: &'g SchemaGraph, dialect: Dialect) -> Self {
        let own = |schema: &Schema| schema.keywords().any(|(keyword, _)| dialect.lacks(keyword, schema));
        let mut wider = graph.schemas.map_ids(|id| own(graph.schema(id)));
        let mut above = graph.schemas.map_ids(|_| Vec::new());
        for id in graph.ids() {
            graph.schema(id).child_schemas().for_each(|child| above[child].push(id));
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

    /// Writes a subschema, inline or as a reference if the schema has an entry of its own.
    fn inside(&self, id: SchemaId, written: &mut Written<'_>) -> Value {
        if self.mentioned.contains(&id) {
            json!({ "$ref": (written.link)(id) })
        } else {
            self.write(id, written)
        }
    }

    /// Writes a schema, with its unnamed subschemas inline.
    pub fn write(&self, id: SchemaId, written: &mut Written<'_>) -> Value {
        let schema = self.graph.schema(id);
        match (schema.boolean, self.dialect) {
            (Some(value), Dialect::Draft7 | Dialect::Plain) => return Value::Bool(value),
            (Some(true), Dialect::OpenApi30) => return json!({}),
            (Some(false), Dialect::OpenApi30) => return json!({ "not": {} }),
            (None, _) => {}
        }
        let mut out = Map::new();
        // Schemas to be added to `allOf`.
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
            // `oneOf` becomes `anyOf` if a branch is wider in the dialect: values could match two branches.
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
            // Negating a wider schema would reject valid values.
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
            // A boolean flag, if `additionalProperties` has no schema of its own.
            (Keyword::AdditionalProperties, Held::Schema(id))
                if old && self.graph.schema(id).boolean.is_some() && schema.pattern_properties.is_empty() =>
            {
                json!(self.graph.schema(id).boolean)
            }
            // `unevaluatedProperties` equals `additionalProperties` if no other schema applies to the object.
            (Keyword::UnevaluatedProperties, _) if schema.additional_properties.is_some() => return,
            (Keyword::UnevaluatedProperties, _) if !plain || schema.pattern_properties.is_empty() => {
                return self.keyword((own, Keyword::AdditionalProperties), held, out, beside, written);
            }
            // Properties required in one direction only (OpenAPI 3.0.3, 4.7.24.2).
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
                match to_exact_value(value) {
                    Some(value) => drop(out.insert("enum".to_owned(), json!([value]))),
                    None => written.lose(own, keyword),
                }
                return;
            }
            (Keyword::Enum, _) if old && schema.constant.is_some() => return,
            // Without `patternProperties`, names that match a pattern would be rejected.
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
            // OpenAPI 3.0 has a single `example`.
            (Keyword::Examples, Held::Values(values)) if old => {
                let first = values.first().and_then(to_exact_value);
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
            // OpenAPI 3.0 expresses binary content as a `format` (OpenAPI 3.0.3, 4.4).
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
            (_, Held::Number(number)) => match to_exact_value(&Json::Number(number.clone())) {
                Some(number) => number,
                None => return written.lose(own, keyword),
            },
            (_, Held::Text(text)) => Value::from(text),
            (_, Held::Flag) => Value::Bool(true),
            (_, Held::Json(value)) => match to_exact_value(value) {
                Some(value) => value,
                None => return written.lose(own, keyword),
            },
            (_, Held::Values(values)) => match values.iter().map(to_exact_value).collect::<Option<_>>() {
                Some(values) => Value::Array(values),
                None => return written.lose(own, keyword),
            },
            (_, Held::Names(names)) => json!(names),
            (_, Held::Types(_) | Held::Dynamic(_) | Held::Needs(_)) => return,
        };
        out.insert(name.to_owned(), value);
    }

    /// Writes the OpenAPI fields of a schema that are not JSON Schema keywords.
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
            // OpenAPI 3.0 has two flags in place of `nodeType` (OpenAPI 3.2, 4.26).
            let lacks = keyword == Some(Keyword::Xml) && value.pointer("/nodeType").is_some();
            match (to_exact_value(value).filter(|_| !lacks), keyword) {
                (Some(value), _) => drop(out.insert(name.to_owned(), value)),
                (None, Some(keyword)) => written.lose(id, keyword),
                (None, None) => {}
            }
        }
    }

    /// Writes a discriminator. The mapping lists every value, because component names may differ from the
    /// contract's.
    fn discriminator(&self, schema: &Schema, own: &Discriminator, written: &mut Written<'_>) -> Value {
        let mut mapping: Map<String, Value> =
            own.mapping.iter().map(|(value, id)| (value.clone(), json!((written.link)(*id)))).collect();
        for branch in schema.one_of.iter().chain(&schema.any_of) {
            let Some(target) = self.graph.schema(*branch).reference else { continue };
            if let SchemaOrigin::Component(name) = &self.graph.schema(target).origin
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

    fn types(&self, schema: &Schema, types: TypeSet, out: &mut Map<String, Value>, beside: &mut Vec<Value>) {
        if self.dialect != Dialect::OpenApi30 {
            let names = types.type_names();
            let value = if let [one] = names.as_slice() { json!(one) } else { json!(names) };
            out.insert("type".to_owned(), value);
            return;
        }
        // Parsers disagree on `nullable` beside an `enum` without `null`: it has no effect, or it adds
        // `null`.
        let null = types.contains(TypeSet::NULL) && !listed_without_null(schema);
        let rest = types.difference(TypeSet::NULL);
        match rest.type_names().as_slice() {
            [] => {
                out.insert("enum".to_owned(), json!([null]));
                // Parsers also disagree on `nullable` beside other schemas.
                if schema.is_constrained_only_by(&[Keyword::Type]) {
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

    /// Adds fields that parsers of the dialect require and the contract may omit.
    fn finish(&self, out: &mut Map<String, Value>) {
        if self.dialect == Dialect::OpenApi30
            && out.get("type").is_some_and(|name| name == "array")
            && !out.contains_key("items")
        {
            out.insert("items".to_owned(), json!({}));
        }
    }
}

/// Returns the schemas that are referenced as part of a schema that does not contain them. Such a schema
/// needs an entry of its own: `nullable` beside a `$ref` turns the target into an `anyOf` branch, and the
/// target may be an enclosing schema.
pub fn mentioned(graph: &SchemaGraph) -> BTreeSet<SchemaId> {
    let mut out = BTreeSet::new();
    for id in graph.ids() {
        let schema = graph.schema(id);
        let around = &schema.place;
        out.extend(schema.child_schemas().filter(|child| {
            let place = &graph.schema(*child).place;
            let below = place.pointer.strip_prefix(around.pointer.as_str());
            Some(*child) != schema.reference
                && (place.source != around.source
                    || below.is_none_or(|rest| !rest.is_empty() && !rest.starts_with('/')))
        }));
    }
    out
}

/// Writes an exclusive bound for OpenAPI 3.0: a number and a flag. Returns true if this bound or a stricter
/// one is written.
fn exclusive(schema: &Schema, keyword: Keyword, bound: &Number, out: &mut Map<String, Value>) -> bool {
    let (name, own, lower) = match keyword {
        Keyword::ExclusiveMinimum => ("minimum", &schema.minimum, true),
        _ => ("maximum", &schema.maximum, false),
    };
    let stricter = own.as_ref().is_none_or(|own| if lower { bound >= own } else { bound <= own });
    let number = to_exact_value(&Json::Number(bound.clone()));
    let is_said = number.is_some() || !stricter;
    if let Some(number) = number.filter(|_| stricter) {
        out.insert(name.to_owned(), number);
        out.insert(keyword.name().to_owned(), Value::Bool(true));
    }
    is_said
}

/// Returns true if properties may be evaluated by adjacent schemas and not by the schema's own
/// `additionalProperties`, which evaluates every remaining property (Core 11.3).
fn evaluates_in_place(schema: &Schema) -> bool {
    let others = [&schema.all_of, &schema.any_of, &schema.one_of];
    schema.additional_properties.is_none()
        && (others.iter().any(|all| !all.is_empty())
            || schema.reference.is_some()
            || schema.dynamic_reference.is_some()
            || schema.condition.is_some()
            || !schema.dependent_schemas.is_empty())
}

/// Returns true if a schema enumerates its values and `null` is not among them.
fn listed_without_null(schema: &Schema) -> bool {
    let lists = |values: &[Json]| values.iter().all(|value| *value != Json::Null);
    schema.enumeration.as_deref().is_some_and(lists)
        || schema.constant.as_ref().is_some_and(|one| *one != Json::Null)
}

/// Returns true if a schema is read-only or write-only.
fn is_one_way(graph: &SchemaGraph, id: SchemaId, seen: &mut BTreeSet<SchemaId>) -> bool {
    let schema = graph.schema(id);
    let mut inside = schema.reference.iter().chain(&schema.all_of);
    seen.insert(id)
        && (schema.read_only || schema.write_only || inside.any(|next| is_one_way(graph, *next, seen)))
}

/// Returns true if a string of a media type holds binary data, not text.
fn is_bytes(media_type: &str) -> bool {
    let media = MediaType::parse(media_type);
    !(media.is_json() || media.is_text())
}

fn extend(out: &mut Map<String, Value>, name: &str, more: Map<String, Value>) {
    match out.get_mut(name).and_then(Value::as_object_mut) {
        Some(known) => known.extend(more),
        None => drop(out.insert(name.to_owned(), Value::Object(more))),
    }
}
