//! [`SchemaWriter`]: writes one schema of the tables as JSON.

use serde_json::{Map, Value, json};

use super::{
    MemberDescription, SchemaAnnotations,
    exactness::{are_exact, exact_literal, exact_number},
};
use crate::{
    Number,
    schema::{Keyword, SchemaId, SchemaTables, TypeSet},
};

/// The resolution of `$dynamicRef`s within one schema. Contains the anchors of the entered resources, with
/// the outermost anchor for each name (Core 8.2.3.2).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DynamicAnchors<'t>(Vec<(&'t str, SchemaId)>);

impl<'t> DynamicAnchors<'t> {
    /// Returns the anchors at the start of a validation.
    pub(super) fn for_root(tables: &SchemaTables<'t>, root: SchemaId) -> Self {
        Self::default().with_resource(tables, root)
    }

    /// Returns the anchors within a schema that is referenced from here.
    pub(super) fn with_resource(&self, tables: &SchemaTables<'t>, row: SchemaId) -> Self {
        let mut meaning = self.clone();
        meaning.add_resource(tables, row);
        meaning
    }

    fn add_resource(&mut self, tables: &SchemaTables<'t>, row: SchemaId) {
        let Some(schema) = tables.schemas.get(row.0 as usize) else { return };
        let Some(resource) = tables.resources.get(schema.resource.0 as usize) else { return };
        for (name, target) in resource.dynamic_anchors {
            if !self.0.iter().any(|(known, _)| known == name) {
                self.0.push((name, *target));
            }
        }
    }

    fn resolve_anchor(&self, tables: &SchemaTables<'t>, anchor: &str, initial: SchemaId) -> SchemaId {
        let schema = tables.schemas.get(initial.0 as usize);
        let resource = schema.and_then(|schema| tables.resources.get(schema.resource.0 as usize));
        // The anchors apply only if the initial target is itself such an anchor.
        let is_dynamic =
            resource.is_some_and(|resource| resource.dynamic_anchors.contains(&(anchor, initial)));
        let found = self.0.iter().find(|(name, _)| is_dynamic && *name == anchor);
        found.map_or(initial, |(_, target)| *target)
    }
}

/// A callback that returns a reference to a named schema, or `None` for an unnamed one.
pub(super) type NamedReference<'r, 't> = dyn FnMut(SchemaId, &DynamicAnchors<'t>) -> Option<Value> + 'r;

/// A writer of schemas with their annotations.
pub(super) struct SchemaWriter<'a, 't> {
    pub(super) tables: &'a SchemaTables<'t>,
    pub(super) annotations: &'a [SchemaAnnotations],
    pub(super) members: &'a [MemberDescription],
}

impl<'t> SchemaWriter<'_, 't> {
    /// Returns the schema itself, even if it has a name.
    pub(super) fn write_schema(
        &self,
        row: SchemaId,
        meaning: &DynamicAnchors<'t>,
        refer: &mut NamedReference<'_, 't>,
    ) -> Value {
        let Some(schema) = self.tables.schemas.get(row.0 as usize) else { return Value::Bool(false) };
        if matches!(schema.keywords, [Keyword::False]) {
            return Value::Bool(false);
        }
        let meaning = meaning.with_resource(self.tables, row);
        let mut parts = KeywordWriter {
            writer: self,
            row,
            meaning: &meaning,
            refer,
            out: Map::new(),
            conjuncts: Vec::new(),
        };
        for keyword in schema.keywords {
            parts.write_keyword(keyword);
        }
        let KeywordWriter { mut out, conjuncts, .. } = parts;
        if let Ok(at) = self.annotations.binary_search_by_key(&row, |of| of.schema)
            && let Some(of) = self.annotations.get(at)
        {
            out.extend(of.texts.iter().map(|(name, text)| ((*name).to_owned(), Value::from(*text))));
            out.extend(of.flags.iter().map(|name| ((*name).to_owned(), Value::Bool(true))));
        }
        if !conjuncts.is_empty() {
            let all = out.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(all) = all {
                all.extend(conjuncts);
            }
        }
        if out.is_empty() { Value::Bool(true) } else { Value::Object(out) }
    }
}

/// A writer for the keywords of one schema.
struct KeywordWriter<'a, 'r, 't> {
    writer: &'a SchemaWriter<'a, 't>,
    row: SchemaId,
    meaning: &'a DynamicAnchors<'t>,
    refer: &'a mut NamedReference<'r, 't>,
    out: Map<String, Value>,
    /// Additional schemas for the same value, which are appended to `allOf`.
    conjuncts: Vec<Value>,
}

impl<'t> KeywordWriter<'_, '_, 't> {
    fn write_keyword(&mut self, keyword: &Keyword<'t>) {
        match keyword {
            Keyword::False => self.put_keyword("not", json!({})),
            Keyword::Type(types) => {
                let names = type_names(*types);
                let names = if let [one] = names.as_slice() { json!(one) } else { json!(names) };
                self.put_keyword("type", names);
            }
            Keyword::Enum(values) => match values.iter().map(exact_literal).collect::<Option<Vec<_>>>() {
                Some(values) => self.put_keyword("enum", values),
                None => self.note_widened("enum"),
            },
            Keyword::Const(value) => match exact_literal(value) {
                Some(value) => self.put_keyword("const", value),
                None => self.note_widened("const"),
            },
            Keyword::MultipleOf(step) => match exact_number(step) {
                Some(step) => self.put_keyword("multipleOf", step),
                None => self.note_widened("multipleOf"),
            },
            Keyword::Maximum(bound) => self.write_bound("maximum", bound, BoundSide::Above),
            Keyword::ExclusiveMaximum(bound) => self.write_bound("exclusiveMaximum", bound, BoundSide::Above),
            Keyword::Minimum(bound) => self.write_bound("minimum", bound, BoundSide::Below),
            Keyword::ExclusiveMinimum(bound) => self.write_bound("exclusiveMinimum", bound, BoundSide::Below),
            Keyword::MaxLength(count) => self.put_keyword("maxLength", *count),
            Keyword::MinLength(count) => self.put_keyword("minLength", *count),
            Keyword::Pattern(pattern) => self.put_keyword("pattern", pattern.source),
            Keyword::Format(format) => {
                self.put_keyword("format", format.as_str());
                self.add_comment("the format is asserted");
            }
            Keyword::TypedFormat(parse) => {
                self.put_keyword("format", parse.format);
                self.add_comment("the format is asserted");
            }
            Keyword::MaxItems(count) => self.put_keyword("maxItems", *count),
            Keyword::MinItems(count) => self.put_keyword("minItems", *count),
            Keyword::UniqueItems => self.put_keyword("uniqueItems", true),
            Keyword::MaxProperties(count) => self.put_keyword("maxProperties", *count),
            Keyword::MinProperties(count) => self.put_keyword("minProperties", *count),
            Keyword::Required(names) => self.write_required(names),
            Keyword::DependentRequired(all) => {
                let all = all.iter().map(|(name, needs)| ((*name).to_owned(), json!(needs)));
                self.put_keyword("dependentRequired", all.collect::<Map<_, _>>());
            }
            applied => self.write_applicator(applied),
        }
    }

    /// Writes a keyword that contains other schemas.
    fn write_applicator(&mut self, keyword: &Keyword<'t>) {
        match keyword {
            Keyword::Contains { schema, min, max } => {
                self.put_schema("contains", *schema);
                if let Some(count) = min {
                    self.put_keyword("minContains", *count);
                }
                match max {
                    Some(count) if self.are_exact(&[*schema]) => self.put_keyword("maxContains", *count),
                    Some(_) => self.note_widened("maxContains"),
                    None => {}
                }
            }
            Keyword::PrefixItems(list) => self.put_list("prefixItems", list),
            Keyword::Items { schema, .. } => self.put_schema("items", *schema),
            Keyword::Properties(list, required) => {
                let is_required = |at: usize| at < 64 && required >> at & 1 == 1;
                let needed = list.iter().enumerate().filter(|(at, _)| is_required(*at));
                let needed: Vec<&str> = needed.map(|(_, (name, _))| *name).collect();
                let members =
                    list.iter().map(|(name, row)| ((*name).to_owned(), self.member_schema(name, *row)));
                let members: Map<String, Value> = members.collect();
                self.put_keyword("properties", members);
                self.write_required(&needed);
            }
            Keyword::PatternProperties(list) => {
                self.put_named("patternProperties", list.iter().map(|(pattern, id)| (pattern.source, *id)));
            }
            Keyword::AdditionalProperties { schema, .. } => self.put_schema("additionalProperties", *schema),
            Keyword::PropertyNames(schema) => self.put_schema("propertyNames", *schema),
            Keyword::DependentSchemas(list) => self.put_named("dependentSchemas", list.iter().copied()),
            Keyword::AllOf(list) => self.put_list("allOf", list),
            Keyword::AnyOf(list, _) => self.put_list("anyOf", list),
            Keyword::OneOf(list, _) if self.are_exact(list) => self.put_list("oneOf", list),
            Keyword::OneOf(list, _) => {
                let any: Vec<Value> = list.iter().map(|row| self.child_schema(*row)).collect();
                self.conjuncts.push(json!({ "anyOf": any }));
                self.note_widened("oneOf");
            }
            Keyword::Not(schema) if self.are_exact(&[*schema]) => self.put_schema("not", *schema),
            Keyword::Not(_) => self.note_widened("not"),
            Keyword::If { condition, then, otherwise } if !self.are_exact(&[*condition]) => {
                // This schema accepts everything, but keeps the members evaluated for
                // `unevaluatedProperties`.
                let mut any = vec![self.child_schema(*condition)];
                any.extend(then.iter().chain(otherwise).map(|row| self.child_schema(*row)));
                any.push(Value::Bool(true));
                self.conjuncts.push(json!({ "anyOf": any }));
                self.note_widened("if");
            }
            Keyword::If { condition, then, otherwise } => {
                self.put_schema("if", *condition);
                for (name, schema) in [("then", then), ("else", otherwise)] {
                    if let Some(schema) = schema {
                        self.put_schema(name, *schema);
                    }
                }
            }
            Keyword::Ref(target) => self.write_reference(*target),
            Keyword::DynamicRef { anchor, initial } => {
                self.write_reference(self.meaning.resolve_anchor(self.writer.tables, anchor, *initial));
            }
            Keyword::UnevaluatedItems(schema) => self.put_schema("unevaluatedItems", *schema),
            Keyword::UnevaluatedProperties(schema) => self.put_schema("unevaluatedProperties", *schema),
            _ => {}
        }
    }

    fn put_keyword(&mut self, keyword: &str, value: impl Into<Value>) {
        self.out.insert(keyword.to_owned(), value.into());
    }

    fn put_schema(&mut self, keyword: &str, row: SchemaId) {
        let schema = self.child_schema(row);
        self.put_keyword(keyword, schema);
    }

    fn put_list(&mut self, keyword: &str, rows: &[SchemaId]) {
        let list: Vec<Value> = rows.iter().map(|row| self.child_schema(*row)).collect();
        self.put_keyword(keyword, list);
    }

    fn put_named<'n>(&mut self, keyword: &str, rows: impl Iterator<Item = (&'n str, SchemaId)>) {
        let members: Map<String, Value> =
            rows.map(|(name, row)| (name.to_owned(), self.child_schema(row))).collect();
        self.put_keyword(keyword, members);
    }

    fn member_schema(&mut self, name: &str, row: SchemaId) -> Value {
        let mut schema = self.child_schema(row);
        let members = self.writer.members;
        if let Ok(at) = members.binary_search_by_key(&(self.row, name), |of| (of.schema, of.member))
            && let Some(of) = members.get(at)
            && let Value::Object(schema) = &mut schema
        {
            schema.insert("description".to_owned(), Value::from(of.description));
        }
        schema
    }

    /// Returns a subschema, as a reference if it is named and inline otherwise.
    fn child_schema(&mut self, row: SchemaId) -> Value {
        (self.refer)(row, self.meaning)
            .unwrap_or_else(|| self.writer.write_schema(row, self.meaning, self.refer))
    }

    fn write_reference(&mut self, target: SchemaId) {
        match self.child_schema(target) {
            // A schema may have both a `$ref` and a `$dynamicRef`.
            Value::Object(mut target)
                if target.len() == 1 && target.contains_key("$ref") && !self.out.contains_key("$ref") =>
            {
                self.out.append(&mut target);
            }
            other => self.conjuncts.push(other),
        }
    }

    /// Adds names to `required`. The tables split the names between `Keyword::Properties` and
    /// `Keyword::Required`, so this may be called twice for one schema.
    fn write_required(&mut self, names: &[&str]) {
        if names.is_empty() {
            return;
        }
        let known = self.out.entry("required").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(known) = known {
            known.extend(names.iter().map(|name| Value::from(*name)));
        }
    }

    fn write_bound(&mut self, keyword: &str, bound: &Number, side: BoundSide) {
        match exact_number(bound) {
            Some(bound) => self.put_keyword(keyword, bound),
            None => {
                if let Some(next) = side.widened_bound(bound) {
                    self.put_keyword(keyword, next);
                }
                self.note_widened(keyword);
            }
        }
    }

    /// Returns true if the schemas are written without widening.
    fn are_exact(&self, rows: &[SchemaId]) -> bool {
        are_exact(self.writer.tables, rows)
    }

    fn note_widened(&mut self, keyword: &str) {
        self.add_comment(&format!("`{keyword}` of the contract cannot be represented exactly"));
    }

    fn add_comment(&mut self, text: &str) {
        let text = match self.out.get("$comment").and_then(Value::as_str) {
            Some(before) => format!("{before}; {text}"),
            None => text.to_owned(),
        };
        self.put_keyword("$comment", text);
    }
}

/// The numbers that a bound rejects: those above the bound or those below it.
#[derive(Clone, Copy)]
enum BoundSide {
    Above,
    Below,
}

impl BoundSide {
    /// Returns the nearest float that rejects no number that the bound permits, if there is one.
    fn widened_bound(self, bound: &Number) -> Option<f64> {
        let nearest = bound.to_f64();
        let float = |float: f64| Number::try_from(float).ok();
        let allows = |number: &Number| match self {
            Self::Above => number >= bound,
            Self::Below => number <= bound,
        };
        let next = match self {
            Self::Above => nearest.next_up(),
            Self::Below => nearest.next_down(),
        };
        [nearest, next].into_iter().find(|candidate| float(*candidate).is_some_and(|number| allows(&number)))
    }
}

fn type_names(types: TypeSet) -> Vec<&'static str> {
    const NAMED: [(TypeSet, &str); 7] = [
        (TypeSet::NULL, "null"),
        (TypeSet::BOOLEAN, "boolean"),
        (TypeSet::NUMBER, "number"),
        (TypeSet::INTEGER, "integer"),
        (TypeSet::STRING, "string"),
        (TypeSet::ARRAY, "array"),
        (TypeSet::OBJECT, "object"),
    ];
    let named = NAMED.iter().filter(|(one, _)| types.is_superset(*one));
    // The type `number` includes `integer`.
    let named = named.filter(|(one, _)| *one != TypeSet::INTEGER || !types.is_superset(TypeSet::NUMBER));
    named.map(|(_, name)| *name).collect()
}
