//! Writes schemas in other dialects: older ones, and 2020-12 without the context of the contract.
//!
//! Invariant: the result accepts every valid document, and is as strict as the dialect allows.

use std::collections::BTreeSet;

use contract_codegen_core::{
    arena::ArenaMap,
    schema::{
        Discriminator, Schema, SchemaGraph, SchemaId, SchemaOrigin, TypeSet,
        document::to_exact_value,
        keywords::{Keyword, KeywordValue},
    },
};
use contract_runtime::{Json, Number, media_type::MediaType};
use serde_json::{Map, Value, json};

/// The dialect to which schemas are lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetDialect {
    /// The schema objects of OpenAPI 3.0.3.
    OpenApi30,
    /// JSON Schema draft-07.
    Draft7,
    /// The subset of draft-07 that OpenAPI 3.0 also supports.
    Plain,
    /// JSON Schema 2020-12, with annotations. `$dynamicRef` is omitted, because a schema that is taken out of its
    /// document has another dynamic scope.
    Draft202012,
}

impl TargetDialect {
    /// Returns true if this dialect cannot express a keyword as it is used in a schema.
    fn lacks_keyword(self, keyword: Keyword, schema: &Schema) -> bool {
        if self == Self::Draft202012 {
            let is_dynamic =
                schema.dynamic_reference.as_ref().is_some_and(|dynamic| dynamic.anchor.is_some());
            // `format` is an annotation (Validation 7.2.1).
            return keyword == Keyword::AssertedFormat || (keyword == Keyword::DynamicRef && is_dynamic);
        }
        match keyword {
            Keyword::DynamicRef | Keyword::UnevaluatedItems => true,
            Keyword::UnevaluatedProperties => evaluates_in_place(schema),
            Keyword::Contains => {
                let has_counts = |contains: &contract_codegen_core::schema::ContainsConstraint| {
                    contains.min.is_some_and(|min| min != 1) || contains.max.is_some()
                };
                self != Self::Draft7 || schema.contains.as_ref().is_some_and(has_counts)
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

    /// Returns true if the dialect has only the keywords that OpenAPI 3.0 also supports.
    fn is_restricted(self) -> bool {
        matches!(self, Self::OpenApi30 | Self::Plain)
    }
}

/// A converter of the schemas of a graph to one dialect. The result accepts every value that the original
/// schema accepts.
#[derive(Debug)]
pub struct SchemaLowerer<'g> {
    graph: &'g SchemaGraph,
    dialect: TargetDialect,
    /// For each schema, true if its lowered form accepts values that the contract rejects.
    is_wider: ArenaMap<Schema, bool>,
    /// The schemas that have their own entry in `definitions` or `components`; see [`find_shared_schemas`].
    shared: BTreeSet<SchemaId>,
}

/// The function that writes references, and the keywords that could not be lowered so far.
pub struct LoweringContext<'w> {
    /// A function that returns the `$ref` value for a schema with its own entry.
    pub link: &'w mut dyn FnMut(SchemaId) -> String,
    /// The schemas and keywords that the dialect cannot express.
    pub lost: BTreeSet<(SchemaId, Keyword)>,
}

impl LoweringContext<'_> {
    fn lose(&mut self, id: SchemaId, keyword: Keyword) {
        self.lost.insert((id, keyword));
    }
}

impl<'g> SchemaLowerer<'g> {
    pub fn new(graph: &'g SchemaGraph, dialect: TargetDialect) -> Self {
        let loses_keyword =
            |schema: &Schema| schema.keywords().any(|(keyword, _)| dialect.lacks_keyword(keyword, schema));
        let mut is_wider = graph.schemas.map_ids(|id| loses_keyword(graph.schema(id)));
        let mut parents = graph.schemas.map_ids(|_| Vec::new());
        for id in graph.ids() {
            graph.schema(id).child_schemas().for_each(|child| parents[child].push(id));
        }
        let mut pending: Vec<SchemaId> = graph.ids().filter(|id| is_wider[*id]).collect();
        while let Some(id) = pending.pop() {
            for parent in &parents[id] {
                if !std::mem::replace(&mut is_wider[*parent], true) {
                    pending.push(*parent);
                }
            }
        }
        Self { graph, dialect, is_wider, shared: find_shared_schemas(graph) }
    }

    /// Returns a subschema: a `$ref` if the schema has its own entry, otherwise its lowered form.
    fn write_subschema(&self, id: SchemaId, context: &mut LoweringContext<'_>) -> Value {
        if self.shared.contains(&id) {
            json!({ "$ref": (context.link)(id) })
        } else {
            self.write_schema(id, context)
        }
    }

    /// Returns the lowered form of a schema. Subschemas without their own entry are written inline.
    pub fn write_schema(&self, id: SchemaId, context: &mut LoweringContext<'_>) -> Value {
        let schema = self.graph.schema(id);
        match (schema.boolean, self.dialect) {
            (Some(value), TargetDialect::Draft7 | TargetDialect::Plain | TargetDialect::Draft202012) => {
                return Value::Bool(value);
            }
            (Some(true), TargetDialect::OpenApi30) => return json!({}),
            (Some(false), TargetDialect::OpenApi30) => return json!({ "not": {} }),
            (None, _) => {}
        }
        let mut out = Map::new();
        // The schemas that are written as elements of `allOf`.
        let mut all_of = Vec::new();
        for (keyword, value) in schema.keywords() {
            if self.dialect.lacks_keyword(keyword, schema) {
                context.lost.insert((id, keyword));
            } else {
                self.write_keyword((id, keyword), value, &mut out, &mut all_of, context);
            }
        }
        if self.dialect == TargetDialect::OpenApi30 && !schema.one_way.is_empty() {
            let names: Vec<&String> = schema.required.iter().chain(&schema.one_way).collect();
            out.insert(Keyword::Required.name().to_owned(), json!(names));
        }
        if self.dialect == TargetDialect::OpenApi30 {
            self.write_openapi_fields(id, &mut out, context);
        }
        if let Some(dynamic) = &schema.dynamic_reference
            && !(self.dialect == TargetDialect::Draft202012 && dynamic.anchor.is_some())
        {
            all_of.push(json!({ "$ref": (context.link)(dynamic.initial) }));
        }
        self.add_required_fields(&mut out);
        match (out.is_empty(), all_of.as_slice()) {
            (true, [one]) => one.clone(),
            (_, []) => Value::Object(out),
            _ => {
                out.insert("allOf".to_owned(), Value::Array(all_of));
                Value::Object(out)
            }
        }
    }

    fn write_keyword(
        &self,
        (owner, keyword): (SchemaId, Keyword),
        value: KeywordValue<'_>,
        out: &mut Map<String, Value>,
        all_of: &mut Vec<Value>,
        context: &mut LoweringContext<'_>,
    ) {
        let schema = self.graph.schema(owner);
        let is_openapi = self.dialect == TargetDialect::OpenApi30;
        let is_restricted = self.dialect.is_restricted();
        let is_current = self.dialect == TargetDialect::Draft202012;
        let name = keyword.name();
        let value = match (keyword, value) {
            // In 2020-12, other keywords apply beside `$ref`.
            (Keyword::Ref, KeywordValue::Schema(target)) if is_current => Value::from((context.link)(target)),
            (Keyword::Ref, KeywordValue::Schema(target)) => {
                all_of.push(json!({ "$ref": (context.link)(target) }));
                return;
            }
            (Keyword::AllOf, KeywordValue::List(ids)) => {
                all_of.extend(ids.iter().map(|id| self.write_subschema(*id, context)));
                return;
            }
            // If a branch is wider in the dialect, values could match two branches, so `oneOf` becomes
            // `anyOf`.
            (Keyword::OneOf | Keyword::AnyOf, KeywordValue::List(ids)) => {
                let is_any = keyword == Keyword::AnyOf || ids.iter().any(|id| self.is_wider[*id]);
                if is_any && keyword == Keyword::OneOf {
                    context.lose(owner, keyword);
                }
                let branches = ids.iter().map(|id| self.write_subschema(*id, context)).collect();
                let name = if is_any { Keyword::AnyOf } else { Keyword::OneOf }.name();
                if out.contains_key(name) {
                    all_of.push(json!({ name: Value::Array(branches) }));
                } else {
                    out.insert(name.to_owned(), Value::Array(branches));
                }
                return;
            }
            // The negation of a wider schema would reject valid values.
            (Keyword::Not, KeywordValue::Schema(id)) if self.is_wider[id] => {
                return context.lose(owner, keyword);
            }
            (Keyword::If, KeywordValue::Schema(id)) if self.is_wider[id] => {
                return context.lose(owner, keyword);
            }
            (Keyword::Then | Keyword::Else, _)
                if is_restricted || schema.condition.is_none_or(|id| self.is_wider[id]) =>
            {
                return;
            }
            (Keyword::Type, KeywordValue::Types(types)) => {
                return self.write_types(schema, types, out, all_of);
            }
            // `additionalProperties: false` and `true` are written as booleans, and not as schemas.
            (Keyword::AdditionalProperties, KeywordValue::Schema(id))
                if is_openapi
                    && self.graph.schema(id).boolean.is_some()
                    && schema.pattern_properties.is_empty() =>
            {
                json!(self.graph.schema(id).boolean)
            }
            // `unevaluatedProperties` is equivalent to `additionalProperties` if no other schema applies to
            // the object.
            (Keyword::UnevaluatedProperties, _) if schema.additional_properties.is_some() => return,
            // If a subschema is wider in the dialect, it evaluates fewer properties or items.
            (Keyword::UnevaluatedProperties | Keyword::UnevaluatedItems, _)
                if is_current && self.is_wider[owner] =>
            {
                return context.lose(owner, keyword);
            }
            (Keyword::UnevaluatedProperties, KeywordValue::Schema(id)) if is_current => {
                self.write_subschema(id, context)
            }
            (Keyword::UnevaluatedProperties, _) if !is_restricted || schema.pattern_properties.is_empty() => {
                return self.write_keyword(
                    (owner, Keyword::AdditionalProperties),
                    value,
                    out,
                    all_of,
                    context,
                );
            }
            // In OpenAPI 3.0, `required` applies to a `readOnly` or `writeOnly` property only in one
            // direction (OpenAPI 3.0.3, 4.7.24.2), so these properties stay in the list.
            (Keyword::Required, KeywordValue::Names(names)) if is_openapi => {
                let is_one_way_property = |(name, id): &(String, SchemaId)| {
                    names.contains(name) && is_one_way(self.graph, *id, &mut BTreeSet::new())
                };
                if schema.properties.iter().any(is_one_way_property) {
                    context.lose(owner, keyword);
                }
                json!(names)
            }
            (Keyword::Const, KeywordValue::Json(value)) if is_openapi => {
                match to_exact_value(value) {
                    Some(value) => drop(out.insert("enum".to_owned(), json!([value]))),
                    None => context.lose(owner, keyword),
                }
                return;
            }
            (Keyword::Enum, _) if is_openapi && schema.constant.is_some() => return,
            // The dialect has no `patternProperties`. If only this keyword were written, properties that
            // match a pattern would be rejected.
            (Keyword::AdditionalProperties | Keyword::UnevaluatedProperties, _)
                if is_restricted && !schema.pattern_properties.is_empty() =>
            {
                return context.lose(owner, keyword);
            }
            (Keyword::Items, _) if is_restricted && !schema.prefix_items.is_empty() => {
                return context.lose(owner, keyword);
            }
            (Keyword::Items, KeywordValue::Schema(id)) if !is_current && !schema.prefix_items.is_empty() => {
                let value = self.write_subschema(id, context);
                out.insert("additionalItems".to_owned(), value);
                return;
            }
            (Keyword::PrefixItems, KeywordValue::List(ids)) if !is_current => {
                let items = ids.iter().map(|id| self.write_subschema(*id, context)).collect();
                out.insert("items".to_owned(), Value::Array(items));
                return;
            }
            (Keyword::ExclusiveMinimum | Keyword::ExclusiveMaximum, KeywordValue::Number(bound))
                if is_openapi =>
            {
                if !write_exclusive_bound(schema, keyword, bound, out) {
                    context.lose(owner, keyword);
                }
                return;
            }
            (Keyword::DependentRequired, KeywordValue::Needs(needs)) => {
                let needs = needs.iter().map(|(name, required)| (name.clone(), json!(required)));
                let name = if is_current { name } else { "dependencies" };
                return extend_object(out, name, needs.collect());
            }
            (Keyword::DependentSchemas, KeywordValue::Map(named)) if !is_current => {
                let named = named.iter().map(|(name, id)| (name.clone(), self.write_subschema(*id, context)));
                let named = named.collect();
                return extend_object(out, "dependencies", named);
            }
            // OpenAPI 3.0 supports a single `example`.
            (Keyword::Examples, KeywordValue::Values(values)) if is_openapi => {
                let first = values.first().and_then(to_exact_value);
                if first.is_none() || values.len() > 1 {
                    context.lose(owner, keyword);
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
            ) if !is_openapi && !is_current => return,
            (Keyword::Title, _) if is_current && schema.description.is_some() => return,
            (Keyword::Defs, _) => return,
            (Keyword::Contains, KeywordValue::Contains(contains)) if is_current => {
                out.extend(contains.min.map(|min| ("minContains".to_owned(), json!(min))));
                // A wider schema accepts more items, so their number could exceed the maximum.
                match contains.max.filter(|_| !self.is_wider[contains.schema]) {
                    Some(max) => drop(out.insert("maxContains".to_owned(), json!(max))),
                    None if contains.max.is_some() => context.lose(owner, keyword),
                    None => {}
                }
                self.write_subschema(contains.schema, context)
            }
            // OpenAPI 3.0 expresses binary content as a `format` (OpenAPI 3.0.3, 4.4).
            (Keyword::ContentEncoding | Keyword::ContentMediaType, KeywordValue::Text(text))
                if is_openapi =>
            {
                let is_unencoded = keyword == Keyword::ContentMediaType && schema.content_encoding.is_none();
                let format = match text {
                    "base64" => Some("byte"),
                    "binary" => Some("binary"),
                    media_type if is_unencoded && is_binary(media_type) => Some("binary"),
                    _ => None,
                };
                match format.filter(|format| schema.format.as_ref().is_none_or(|declared| declared == format))
                {
                    Some(format) => drop(out.insert(Keyword::Format.name().to_owned(), json!(format))),
                    None => context.lose(owner, keyword),
                }
                return;
            }
            (Keyword::ContentSchema, _) if is_openapi => return context.lose(owner, keyword),
            (Keyword::ContentEncoding | Keyword::ContentMediaType | Keyword::ContentSchema, _)
                if !is_current =>
            {
                return;
            }
            (_, KeywordValue::Contains(contains)) => self.write_subschema(contains.schema, context),
            (_, KeywordValue::Schema(id)) => self.write_subschema(id, context),
            (_, KeywordValue::List(ids)) => ids.iter().map(|id| self.write_subschema(*id, context)).collect(),
            (_, KeywordValue::Map(named)) => {
                named.iter().map(|(name, id)| (name.clone(), self.write_subschema(*id, context))).collect()
            }
            (_, KeywordValue::Count(count)) => Value::from(count),
            (_, KeywordValue::Number(number)) => match to_exact_value(&Json::Number(number.clone())) {
                Some(number) => number,
                None => return context.lose(owner, keyword),
            },
            (_, KeywordValue::Text(text)) => Value::from(text),
            (_, KeywordValue::Flag) => Value::Bool(true),
            (_, KeywordValue::Json(value)) => match to_exact_value(value) {
                Some(value) => value,
                None => return context.lose(owner, keyword),
            },
            (_, KeywordValue::Values(values)) => {
                match values.iter().map(to_exact_value).collect::<Option<_>>() {
                    Some(values) => Value::Array(values),
                    None => return context.lose(owner, keyword),
                }
            }
            (_, KeywordValue::Names(names)) => json!(names),
            (_, KeywordValue::Types(_) | KeywordValue::Dynamic(_) | KeywordValue::Needs(_)) => return,
        };
        out.insert(name.to_owned(), value);
    }

    /// Writes the OpenAPI fields of a schema that are not JSON Schema keywords.
    fn write_openapi_fields(
        &self,
        id: SchemaId,
        out: &mut Map<String, Value>,
        context: &mut LoweringContext<'_>,
    ) {
        let schema = self.graph.schema(id);
        if let Some(discriminator) = &schema.discriminator {
            if discriminator.default.is_some() {
                context.lose(id, Keyword::Discriminator);
            }
            out.insert("discriminator".to_owned(), self.write_discriminator(schema, discriminator, context));
        }
        for (name, value) in &schema.extensions {
            let keyword = match name {
                _ if name.starts_with("x-") => None,
                "externalDocs" => Some(Keyword::ExternalDocs),
                "xml" => Some(Keyword::Xml),
                _ => continue,
            };
            // OpenAPI 3.0 has two flags instead of `nodeType` (OpenAPI 3.2, 4.26).
            let has_node_type = keyword == Some(Keyword::Xml) && value.pointer("/nodeType").is_some();
            match (to_exact_value(value).filter(|_| !has_node_type), keyword) {
                (Some(value), _) => drop(out.insert(name.to_owned(), value)),
                (None, Some(keyword)) => context.lose(id, keyword),
                (None, None) => {}
            }
        }
    }

    /// Writes a discriminator. Its mapping lists every value, because the names of components may differ from
    /// those in the contract.
    fn write_discriminator(
        &self,
        schema: &Schema,
        discriminator: &Discriminator,
        context: &mut LoweringContext<'_>,
    ) -> Value {
        let mut mapping: Map<String, Value> = discriminator
            .mapping
            .iter()
            .map(|(value, id)| (value.clone(), json!((context.link)(*id))))
            .collect();
        for branch in schema.one_of.iter().chain(&schema.any_of) {
            let Some(target) = self.graph.schema(*branch).reference else { continue };
            if let SchemaOrigin::Component(name) = &self.graph.schema(target).origin
                && discriminator.mapping.iter().all(|(_, mapped)| *mapped != target)
            {
                mapping.entry(name.clone()).or_insert_with(|| json!((context.link)(target)));
            }
        }
        let mut out = json!({ "propertyName": discriminator.tag });
        if !mapping.is_empty() {
            out["mapping"] = Value::Object(mapping);
        }
        out
    }

    fn write_types(
        &self,
        schema: &Schema,
        types: TypeSet,
        out: &mut Map<String, Value>,
        all_of: &mut Vec<Value>,
    ) {
        if self.dialect != TargetDialect::OpenApi30 {
            let names = types.type_names();
            let value = if let [one] = names.as_slice() { json!(one) } else { json!(names) };
            out.insert("type".to_owned(), value);
            return;
        }
        // Parsers disagree on `nullable` next to an `enum` without `null`: either it has no effect, or it
        // adds `null`.
        let null = types.contains(TypeSet::NULL) && !enumerates_without_null(schema);
        let rest = types.difference(TypeSet::NULL);
        match rest.type_names().as_slice() {
            [] => {
                out.insert("enum".to_owned(), json!([null]));
                // Parsers also disagree on `nullable` next to other schemas.
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
                all_of.push(json!({ "anyOf": several.iter().map(branch).collect::<Vec<_>>() }));
            }
        }
    }

    /// Adds fields that the contract may omit but parsers of the dialect require.
    fn add_required_fields(&self, out: &mut Map<String, Value>) {
        if self.dialect == TargetDialect::OpenApi30
            && out.get("type").is_some_and(|name| name == "array")
            && !out.contains_key("items")
        {
            out.insert("items".to_owned(), json!({}));
        }
    }
}

/// Returns each schema that is a subschema of another schema but is located outside of that schema. Targets
/// of `$ref` do not count as subschemas. Such a schema needs its own entry, because writing it inline could
/// recurse: `nullable` next to a `$ref` turns the target into an `anyOf` branch, and the target may be an
/// enclosing schema.
pub fn find_shared_schemas(graph: &SchemaGraph) -> BTreeSet<SchemaId> {
    let mut out = BTreeSet::new();
    for id in graph.ids() {
        let schema = graph.schema(id);
        let parent = &schema.place;
        out.extend(schema.child_schemas().filter(|child| {
            let place = &graph.schema(*child).place;
            let suffix = place.pointer.strip_prefix(parent.pointer.as_str());
            Some(*child) != schema.reference
                && (place.source != parent.source
                    || suffix.is_none_or(|rest| !rest.is_empty() && !rest.starts_with('/')))
        }));
    }
    out
}

/// Writes an exclusive bound for OpenAPI 3.0 as a number and a flag, unless the inclusive bound is stricter.
/// Returns false if the bound must be written but cannot be written as an exact number.
fn write_exclusive_bound(
    schema: &Schema,
    keyword: Keyword,
    bound: &Number,
    out: &mut Map<String, Value>,
) -> bool {
    let (name, inclusive, is_lower) = match keyword {
        Keyword::ExclusiveMinimum => ("minimum", &schema.minimum, true),
        _ => ("maximum", &schema.maximum, false),
    };
    let is_stricter =
        inclusive.as_ref().is_none_or(|limit| if is_lower { bound >= limit } else { bound <= limit });
    let number = to_exact_value(&Json::Number(bound.clone()));
    let is_written = number.is_some() || !is_stricter;
    if let Some(number) = number.filter(|_| is_stricter) {
        out.insert(name.to_owned(), number);
        out.insert(keyword.name().to_owned(), Value::Bool(true));
    }
    is_written
}

/// Returns true if a schema contains subschemas for the same object that may evaluate properties, such as
/// `allOf`. Returns false if the schema has `additionalProperties`, which evaluates every remaining property
/// (Core 11.3).
fn evaluates_in_place(schema: &Schema) -> bool {
    let combinators = [&schema.all_of, &schema.any_of, &schema.one_of];
    schema.additional_properties.is_none()
        && (combinators.iter().any(|list| !list.is_empty())
            || schema.reference.is_some()
            || schema.dynamic_reference.is_some()
            || schema.condition.is_some()
            || !schema.dependent_schemas.is_empty())
}

/// Returns true if a schema enumerates its values without `null`.
fn enumerates_without_null(schema: &Schema) -> bool {
    let all_non_null = |values: &[Json]| values.iter().all(|value| *value != Json::Null);
    schema.enumeration.as_deref().is_some_and(all_non_null)
        || schema.constant.as_ref().is_some_and(|one| *one != Json::Null)
}

/// Returns true if a schema, or a schema that it includes, is `readOnly` or `writeOnly`.
fn is_one_way(graph: &SchemaGraph, id: SchemaId, seen: &mut BTreeSet<SchemaId>) -> bool {
    let schema = graph.schema(id);
    let mut applied = schema.reference.iter().chain(&schema.all_of);
    seen.insert(id)
        && (schema.read_only || schema.write_only || applied.any(|next| is_one_way(graph, *next, seen)))
}

/// Returns true if strings of a media type contain binary data rather than text.
fn is_binary(media_type: &str) -> bool {
    let media = MediaType::parse(media_type);
    !(media.is_json() || media.is_text())
}

fn extend_object(out: &mut Map<String, Value>, name: &str, more: Map<String, Value>) {
    match out.get_mut(name).and_then(Value::as_object_mut) {
        Some(object) => object.extend(more),
        None => drop(out.insert(name.to_owned(), Value::Object(more))),
    }
}
