//! One schema of the tables as JSON.

use serde_json::{Map, Value, json};

use super::{
    Annotations, Described,
    held::{are_exact, exact, literal},
};
use crate::{
    Number,
    schema::{Keyword, SchemaId, Tables, Types},
};

/// What `$dynamicRef`s mean at a place: the anchors of the resources that were entered on the way,
/// the outermost of each name (Core 8.2.3.2).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Meaning<'t>(Vec<(&'t str, SchemaId)>);

impl<'t> Meaning<'t> {
    /// Where a check begins with a schema.
    pub(super) fn of(tables: &Tables<'t>, root: SchemaId) -> Self {
        Self::default().entered(tables, root)
    }

    /// In a schema that is reached from here.
    pub(super) fn entered(&self, tables: &Tables<'t>, row: SchemaId) -> Self {
        let mut meaning = self.clone();
        meaning.enter(tables, row);
        meaning
    }

    fn enter(&mut self, tables: &Tables<'t>, row: SchemaId) {
        let Some(schema) = tables.schemas.get(row.0 as usize) else { return };
        let Some(resource) = tables.resources.get(schema.resource.0 as usize) else { return };
        for (name, target) in resource.dynamic_anchors {
            if !self.0.iter().any(|(known, _)| known == name) {
                self.0.push((name, *target));
            }
        }
    }

    fn target(&self, tables: &Tables<'t>, anchor: &str, initial: SchemaId) -> SchemaId {
        let schema = tables.schemas.get(initial.0 as usize);
        let resource = schema.and_then(|schema| tables.resources.get(schema.resource.0 as usize));
        // Only what leads to such an anchor at first is looked for among those on the way.
        let is_dynamic =
            resource.is_some_and(|resource| resource.dynamic_anchors.contains(&(anchor, initial)));
        let found = self.0.iter().find(|(name, _)| is_dynamic && *name == anchor);
        found.map_or(initial, |(_, target)| *target)
    }
}

/// What refers to a schema that has a name; nothing where it has none.
pub(super) type Refer<'r, 't> = dyn FnMut(SchemaId, &Meaning<'t>) -> Option<Value> + 'r;

/// Writes schemas.
pub(super) struct Writer<'a, 't> {
    pub(super) tables: &'a Tables<'t>,
    pub(super) annotations: &'a [Annotations],
    pub(super) members: &'a [Described],
}

impl<'t> Writer<'_, 't> {
    /// A schema itself, whether it has a name or not.
    pub(super) fn schema(&self, row: SchemaId, meaning: &Meaning<'t>, refer: &mut Refer<'_, 't>) -> Value {
        let Some(schema) = self.tables.schemas.get(row.0 as usize) else { return Value::Bool(false) };
        if matches!(schema.keywords, [Keyword::False]) {
            return Value::Bool(false);
        }
        let meaning = meaning.entered(self.tables, row);
        let mut parts =
            Parts { writer: self, row, meaning: &meaning, refer, out: Map::new(), beside: Vec::new() };
        for keyword in schema.keywords {
            parts.keyword(keyword);
        }
        let Parts { mut out, beside, .. } = parts;
        if let Ok(at) = self.annotations.binary_search_by_key(&row, |of| of.schema)
            && let Some(of) = self.annotations.get(at)
        {
            out.extend(of.texts.iter().map(|(name, text)| ((*name).to_owned(), Value::from(*text))));
            out.extend(of.flags.iter().map(|name| ((*name).to_owned(), Value::Bool(true))));
        }
        if !beside.is_empty() {
            let all = out.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(all) = all {
                all.extend(beside);
            }
        }
        if out.is_empty() { Value::Bool(true) } else { Value::Object(out) }
    }
}

/// The keywords of one schema.
struct Parts<'a, 'r, 't> {
    writer: &'a Writer<'a, 't>,
    row: SchemaId,
    meaning: &'a Meaning<'t>,
    refer: &'a mut Refer<'r, 't>,
    out: Map<String, Value>,
    /// Schemas that say something of the same value and are no `allOf` in the contract.
    beside: Vec<Value>,
}

impl<'t> Parts<'_, '_, 't> {
    fn keyword(&mut self, keyword: &Keyword<'t>) {
        match keyword {
            Keyword::False => self.put("not", json!({})),
            Keyword::Type(types) => {
                let names = type_names(*types);
                let names = if let [one] = names.as_slice() { json!(one) } else { json!(names) };
                self.put("type", names);
            }
            Keyword::Enum(values) => match values.iter().map(literal).collect::<Option<Vec<_>>>() {
                Some(values) => self.put("enum", values),
                None => self.widened("enum"),
            },
            Keyword::Const(value) => match literal(value) {
                Some(value) => self.put("const", value),
                None => self.widened("const"),
            },
            Keyword::MultipleOf(step) => match exact(step) {
                Some(step) => self.put("multipleOf", step),
                None => self.widened("multipleOf"),
            },
            Keyword::Maximum(bound) => self.bound("maximum", bound, Side::Above),
            Keyword::ExclusiveMaximum(bound) => self.bound("exclusiveMaximum", bound, Side::Above),
            Keyword::Minimum(bound) => self.bound("minimum", bound, Side::Below),
            Keyword::ExclusiveMinimum(bound) => self.bound("exclusiveMinimum", bound, Side::Below),
            Keyword::MaxLength(count) => self.put("maxLength", *count),
            Keyword::MinLength(count) => self.put("minLength", *count),
            Keyword::Pattern(pattern) => self.put("pattern", pattern.source),
            Keyword::Format(format) => {
                self.put("format", format.name());
                self.comment("the format is asserted");
            }
            Keyword::Parse(parse) => {
                self.put("format", parse.format);
                self.comment("the format is asserted");
            }
            Keyword::MaxItems(count) => self.put("maxItems", *count),
            Keyword::MinItems(count) => self.put("minItems", *count),
            Keyword::UniqueItems => self.put("uniqueItems", true),
            Keyword::MaxProperties(count) => self.put("maxProperties", *count),
            Keyword::MinProperties(count) => self.put("minProperties", *count),
            Keyword::Required(names) => self.required(names),
            Keyword::DependentRequired(all) => {
                let all = all.iter().map(|(name, needs)| ((*name).to_owned(), json!(needs)));
                self.put("dependentRequired", all.collect::<Map<_, _>>());
            }
            applied => self.applicator(applied),
        }
    }

    /// Keywords that hold other schemas.
    fn applicator(&mut self, keyword: &Keyword<'t>) {
        match keyword {
            Keyword::Contains { schema, min, max } => {
                self.put_schema("contains", *schema);
                if let Some(count) = min {
                    self.put("minContains", *count);
                }
                match max {
                    Some(count) if self.are_exact(&[*schema]) => self.put("maxContains", *count),
                    Some(_) => self.widened("maxContains"),
                    None => {}
                }
            }
            Keyword::PrefixItems(list) => self.put_list("prefixItems", list),
            Keyword::Items { schema, .. } => self.put_schema("items", *schema),
            Keyword::Properties(list, required) => {
                let is_required = |at: usize| at < 64 && required >> at & 1 == 1;
                let needed = list.iter().enumerate().filter(|(at, _)| is_required(*at));
                let needed: Vec<&str> = needed.map(|(_, (name, _))| *name).collect();
                let members = list.iter().map(|(name, row)| ((*name).to_owned(), self.member(name, *row)));
                let members: Map<String, Value> = members.collect();
                self.put("properties", members);
                self.required(&needed);
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
                let any: Vec<Value> = list.iter().map(|row| self.below(*row)).collect();
                self.beside.push(json!({ "anyOf": any }));
                self.widened("oneOf");
            }
            Keyword::Not(schema) if self.are_exact(&[*schema]) => self.put_schema("not", *schema),
            Keyword::Not(_) => self.widened("not"),
            Keyword::If { condition, then, otherwise } if !self.are_exact(&[*condition]) => {
                // Refuses nothing; what it says of members counts for `unevaluatedProperties`.
                let mut any = vec![self.below(*condition)];
                any.extend(then.iter().chain(otherwise).map(|row| self.below(*row)));
                any.push(Value::Bool(true));
                self.beside.push(json!({ "anyOf": any }));
                self.widened("if");
            }
            Keyword::If { condition, then, otherwise } => {
                self.put_schema("if", *condition);
                for (name, schema) in [("then", then), ("else", otherwise)] {
                    if let Some(schema) = schema {
                        self.put_schema(name, *schema);
                    }
                }
            }
            Keyword::Ref(target) => self.reference(*target),
            Keyword::DynamicRef { anchor, initial } => {
                self.reference(self.meaning.target(self.writer.tables, anchor, *initial));
            }
            Keyword::UnevaluatedItems(schema) => self.put_schema("unevaluatedItems", *schema),
            Keyword::UnevaluatedProperties(schema) => self.put_schema("unevaluatedProperties", *schema),
            _ => {}
        }
    }

    fn put(&mut self, keyword: &str, value: impl Into<Value>) {
        self.out.insert(keyword.to_owned(), value.into());
    }

    fn put_schema(&mut self, keyword: &str, row: SchemaId) {
        let schema = self.below(row);
        self.put(keyword, schema);
    }

    fn put_list(&mut self, keyword: &str, rows: &[SchemaId]) {
        let list: Vec<Value> = rows.iter().map(|row| self.below(*row)).collect();
        self.put(keyword, list);
    }

    fn put_named<'n>(&mut self, keyword: &str, rows: impl Iterator<Item = (&'n str, SchemaId)>) {
        let members: Map<String, Value> =
            rows.map(|(name, row)| (name.to_owned(), self.below(row))).collect();
        self.put(keyword, members);
    }

    fn member(&mut self, name: &str, row: SchemaId) -> Value {
        let mut schema = self.below(row);
        let members = self.writer.members;
        if let Ok(at) = members.binary_search_by_key(&(self.row, name), |of| (of.schema, of.member))
            && let Some(of) = members.get(at)
            && let Value::Object(schema) = &mut schema
        {
            schema.insert("description".to_owned(), Value::from(of.description));
        }
        schema
    }

    /// A schema where another holds it: by its name, or as it is.
    fn below(&mut self, row: SchemaId) -> Value {
        (self.refer)(row, self.meaning).unwrap_or_else(|| self.writer.schema(row, self.meaning, self.refer))
    }

    fn reference(&mut self, target: SchemaId) {
        match self.below(target) {
            // A schema may have a `$ref` and a `$dynamicRef`.
            Value::Object(mut target)
                if target.len() == 1 && target.contains_key("$ref") && !self.out.contains_key("$ref") =>
            {
                self.out.append(&mut target);
            }
            other => self.beside.push(other),
        }
    }

    /// Names that are required; they stand in two places of the tables.
    fn required(&mut self, names: &[&str]) {
        if names.is_empty() {
            return;
        }
        let known = self.out.entry("required").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(known) = known {
            known.extend(names.iter().map(|name| Value::from(*name)));
        }
    }

    fn bound(&mut self, keyword: &str, bound: &Number, side: Side) {
        match exact(bound) {
            Some(bound) => self.put(keyword, bound),
            None => {
                if let Some(next) = side.beyond(bound) {
                    self.put(keyword, next);
                }
                self.widened(keyword);
            }
        }
    }

    /// Whether schemas are written as narrow as the contract has them.
    fn are_exact(&self, rows: &[SchemaId]) -> bool {
        are_exact(self.writer.tables, rows)
    }

    fn widened(&mut self, keyword: &str) {
        self.comment(&format!("`{keyword}` of the contract is beyond the numbers that are written here"));
    }

    fn comment(&mut self, text: &str) {
        let text = match self.out.get("$comment").and_then(Value::as_str) {
            Some(before) => format!("{before}; {text}"),
            None => text.to_owned(),
        };
        self.put("$comment", text);
    }
}

/// Which numbers a bound refuses.
#[derive(Clone, Copy)]
enum Side {
    Above,
    Below,
}

impl Side {
    /// The nearest float that refuses nothing that the bound allows; nothing where there is none.
    fn beyond(self, bound: &Number) -> Option<f64> {
        let nearest = bound.to_f64();
        let float = |float: f64| Number::try_from(float).ok();
        let allows = |own: &Number| match self {
            Self::Above => own >= bound,
            Self::Below => own <= bound,
        };
        let next = match self {
            Self::Above => nearest.next_up(),
            Self::Below => nearest.next_down(),
        };
        [nearest, next].into_iter().find(|candidate| float(*candidate).is_some_and(|own| allows(&own)))
    }
}

fn type_names(types: Types) -> Vec<&'static str> {
    const NAMED: [(Types, &str); 7] = [
        (Types::NULL, "null"),
        (Types::BOOLEAN, "boolean"),
        (Types::NUMBER, "number"),
        (Types::INTEGER, "integer"),
        (Types::STRING, "string"),
        (Types::ARRAY, "array"),
        (Types::OBJECT, "object"),
    ];
    let named = NAMED.iter().filter(|(one, _)| types.has(*one));
    // `number` holds `integer`.
    let named = named.filter(|(one, _)| *one != Types::INTEGER || !types.has(Types::NUMBER));
    named.map(|(_, name)| *name).collect()
}
