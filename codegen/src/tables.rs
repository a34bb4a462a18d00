//! The schema graph as the runtime's tables: in memory for the generator's own questions, and
//! printed as constants into the generated crate.

use std::collections::BTreeMap;

use contract_runtime::{
    Json, Number,
    pattern::Pattern,
    schema::{
        Choice, Keyword, Literal, Resource, Schema as Row, SchemaId as RowId, Tables, Types as RowTypes,
    },
};
use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    arena::Id,
    pattern::{Compiled, compile},
    schema::{Graph, Schema, SchemaId, Types, keywords::Keyword as Rule},
    shape::{Body, Shapes},
    together::Conj,
};

/// The tables of a contract and how to name a row.
#[derive(Debug)]
pub struct TableSet {
    /// The tables themselves. They live as long as the process: a generator runs once.
    pub tables: &'static Tables,
    patterns: BTreeMap<String, (usize, Compiled)>,
    conjunctions: BTreeMap<Vec<SchemaId>, u32>,
}

/// Patterns that cannot be compiled, with the schema that has them and why.
pub type PatternErrors = Vec<(SchemaId, String, crate::pattern::PatternError)>;

/// Compiles every pattern of the graph; those that are not ECMA-262, or need what a linear
/// matcher cannot do, come back as errors.
#[must_use]
pub fn patterns(graph: &Graph) -> (BTreeMap<String, Compiled>, PatternErrors) {
    let mut all = BTreeMap::new();
    let mut errors = Vec::new();
    for id in graph.ids() {
        let schema = graph.schema(id);
        let named = schema.pattern_properties.iter().map(|(p, _)| p);
        for source in schema.pattern.iter().chain(named) {
            if all.contains_key(source) {
                continue;
            }
            match compile(source) {
                Ok(compiled) => {
                    all.insert(source.clone(), compiled);
                }
                Err(error) => errors.push((id, source.clone(), error)),
            }
        }
    }
    (all, errors)
}

impl TableSet {
    /// Builds the tables; tagged unions of `shapes` tell which branch a tag means.
    #[must_use]
    pub fn new(graph: &Graph, shapes: &Shapes, patterns: BTreeMap<String, Compiled>) -> Self {
        let patterns: BTreeMap<String, (usize, Compiled)> =
            patterns.into_iter().enumerate().map(|(i, (source, c))| (source, (i, c))).collect();
        let static_patterns = patterns.iter().map(|(s, (_, c))| (s.as_str(), c.leak())).collect();
        let builder = Builder { graph, patterns: static_patterns, choices: choices(graph, shapes) };
        let mut rows: Vec<Row> = graph.ids().map(|id| builder.row(id)).collect();
        let mut conjunctions = BTreeMap::new();
        for def in &shapes.types {
            if def.conj.ids.len() > 1 && !conjunctions.contains_key(&def.conj.ids) {
                conjunctions.insert(def.conj.ids.clone(), rows.len() as u32);
                let first = graph.schema(def.conj.ids[0]);
                rows.push(Row {
                    resource: number(first.resource),
                    location: leak_str(&first.location),
                    keywords: leak(vec![Keyword::AllOf(leak(ids(&def.conj.ids)))]),
                });
            }
        }
        let resources = graph
            .resources
            .iter()
            .map(|r| Resource {
                uri: leak_str(&r.uri),
                dynamic_anchors: leak(
                    r.dynamic_anchors.iter().map(|(n, id)| (leak_str(n), row_id(*id))).collect(),
                ),
            })
            .collect();
        let tables: &Tables = Box::leak(Box::new(Tables { schemas: leak(rows), resources: leak(resources) }));
        Self { tables, patterns, conjunctions }
    }

    /// The printed row that checks a place.
    #[must_use]
    pub fn row(&self, conj: &Conj) -> u32 {
        match conj.ids.as_slice() {
            [one] => self.row_of(*one),
            several => self.conjunctions.get(several).copied().unwrap_or(u32::MAX),
        }
    }

    /// The printed row of a schema.
    #[must_use]
    pub fn row_of(&self, schema: SchemaId) -> u32 {
        row_id(schema).0
    }

    /// The name of a pattern's constant.
    #[must_use]
    pub fn pattern(&self, source: &str) -> Option<proc_macro2::Ident> {
        let (number, _) = self.patterns.get(source)?;
        Some(quote::format_ident!("PATTERN_{number}"))
    }

    /// A pattern that can be run now.
    #[must_use]
    pub fn is_match(&self, source: &str, text: &str) -> bool {
        self.patterns.get(source).is_some_and(|(_, c)| c.leak().is_match(text))
    }

    /// Whether a value satisfies a schema of the graph.
    #[must_use]
    pub fn is_valid(&self, id: SchemaId, value: &Json) -> bool {
        contract_runtime::schema::Validator::new(self.tables, row_id(id)).is_valid(value)
    }

    /// The module `schemas` of the generated crate, without the tables themselves.
    #[must_use]
    pub fn tokens(&self) -> TokenStream {
        let numbers = self.uses(|k| {
            matches!(
                k,
                Keyword::Minimum(_)
                    | Keyword::Maximum(_)
                    | Keyword::ExclusiveMinimum(_)
                    | Keyword::ExclusiveMaximum(_)
                    | Keyword::MultipleOf(_)
            ) || literals_of(k).iter().any(has_number)
        });
        let number = numbers.then(|| quote!(Number,));
        let choice = self
            .uses(|k| matches!(k, Keyword::AnyOf(_, Some(_)) | Keyword::OneOf(_, Some(_))))
            .then(|| quote!(Choice,));
        let literal = self
            .uses(|k| {
                !literals_of(k).is_empty()
                    || matches!(k, Keyword::AnyOf(_, Some(_)) | Keyword::OneOf(_, Some(_)))
            })
            .then(|| quote!(Literal,));
        let types = self.uses(|k| matches!(k, Keyword::Type(_))).then(|| quote!(Types,));
        let keyword = self.tables.schemas.iter().any(|s| !s.keywords.is_empty()).then(|| quote!(Keyword,));
        let schema = (!self.tables.schemas.is_empty()).then(|| quote!(Schema,));
        let pattern = (!self.patterns.is_empty()).then(|| quote!(pattern::{self, Pattern},));
        quote! {
            use ::contract_runtime::{
                #number #pattern
                schema::{#choice #keyword #literal Resource, #schema SchemaId, Tables, #types Validator},
            };
            /// The validator of a schema, by its row in [`TABLES`].
            #[must_use]
            pub const fn validator(row: u32) -> Validator {
                Validator::new(&TABLES, SchemaId(row))
            }
        }
    }

    /// The tables themselves, which follow the items of [`tokens`](Self::tokens).
    #[must_use]
    pub fn text(&self) -> String {
        let printer = Printer { set: self };
        let mut out = String::from(
            "/// Every schema of the contract, as the validators read it.\n#[rustfmt::skip]\npub static TABLES: Tables = Tables {\n    schemas: &[\n",
        );
        for row in self.tables.schemas {
            out.push_str(&format!("        {},\n", printer.row(row)));
        }
        out.push_str("    ],\n    resources: &[\n");
        for resource in self.tables.resources {
            let anchors = resource.dynamic_anchors.iter().map(|(n, id)| format!("({n:?}, {})", id_text(*id)));
            let (uri, anchors) = (resource.uri, comma(anchors));
            out.push_str(&format!("        Resource {{ uri: {uri:?}, dynamic_anchors: &[{anchors}] }},\n"));
        }
        out.push_str("    ],\n};\n");
        for (source, (number, compiled)) in &self.patterns {
            let value = compiled.text();
            out.push_str(&format!(
                "\n{}\n#[rustfmt::skip]\npub(super) static PATTERN_{number}: Pattern = {value};\n",
                doc_comment(source)
            ));
        }
        out
    }

    fn uses(&self, test: impl Fn(&Keyword) -> bool) -> bool {
        self.tables.schemas.iter().any(|row| row.keywords.iter().any(&test))
    }
}

fn has_number(literal: &&Literal) -> bool {
    match literal {
        Literal::Number(_) => true,
        Literal::Array(items) => items.iter().any(|l| has_number(&l)),
        Literal::Object(members) => members.iter().any(|(_, l)| has_number(&l)),
        _ => false,
    }
}

fn literals_of(keyword: &Keyword) -> Vec<&Literal> {
    match keyword {
        Keyword::Enum(values) => values.iter().collect(),
        Keyword::Const(value) => vec![value],
        Keyword::AnyOf(_, Some(choice)) | Keyword::OneOf(_, Some(choice)) => {
            choice.branches.iter().map(|(l, _)| l).collect()
        }
        _ => Vec::new(),
    }
}

/// Which branch each tag means, by the schema that holds the union.
fn choices(graph: &Graph, shapes: &Shapes) -> BTreeMap<SchemaId, Choice> {
    let mut out = BTreeMap::new();
    for def in shapes.types.iter().chain(&shapes.parts) {
        let Body::Tagged(tagged) = &def.body else { continue };
        // A refinement elsewhere may leave fewer variants; the choice is for the holder itself, or
        // for the holder beside `null`, which a union around it adds.
        let around = |id: &SchemaId| {
            let schema = graph.schema(*id);
            def.conj.chosen.contains(id) && schema.decides_by(&[Rule::AnyOf, Rule::OneOf])
        };
        if !def.conj.ids.iter().all(|id| *id == tagged.holder || around(id)) {
            continue;
        }
        let branches =
            tagged.variants.iter().flat_map(|v| v.literals.iter().map(|l| (literal(l), v.branch))).collect();
        out.insert(tagged.holder, Choice { tag: leak_str(&tagged.tag), branches: leak(branches) });
    }
    // What shares a type has the same branches at the same positions.
    for (id, first) in &shapes.equals {
        if let Some(&Choice { tag, branches }) = out.get(first) {
            out.entry(*id).or_insert(Choice { tag, branches });
        }
    }
    out
}

struct Builder<'a> {
    graph: &'a Graph,
    patterns: BTreeMap<&'a str, &'static Pattern>,
    choices: BTreeMap<SchemaId, Choice>,
}

impl Builder<'_> {
    fn row(&self, id: SchemaId) -> Row {
        let schema = self.graph.schema(id);
        Row {
            resource: number(schema.resource),
            location: leak_str(&schema.location),
            keywords: leak(self.keywords(id, schema)),
        }
    }

    fn keywords(&self, id: SchemaId, s: &Schema) -> Vec<Keyword> {
        if s.boolean == Some(false) {
            return vec![Keyword::False];
        }
        let mut out = Vec::new();
        out.extend(s.types.map(|t| Keyword::Type(row_types(t))));
        out.extend(s.enumeration.as_ref().map(|v| Keyword::Enum(leak(v.iter().map(literal).collect()))));
        out.extend(s.constant.as_ref().map(|c| Keyword::Const(literal(c))));
        out.extend(s.minimum.clone().map(Keyword::Minimum));
        out.extend(s.maximum.clone().map(Keyword::Maximum));
        out.extend(s.exclusive_minimum.clone().map(Keyword::ExclusiveMinimum));
        out.extend(s.exclusive_maximum.clone().map(Keyword::ExclusiveMaximum));
        out.extend(s.multiple_of.clone().map(Keyword::MultipleOf));
        out.extend(s.min_length.map(Keyword::MinLength));
        out.extend(s.max_length.map(Keyword::MaxLength));
        out.extend(
            s.pattern.as_ref().and_then(|p| self.patterns.get(p.as_str())).map(|p| Keyword::Pattern(p)),
        );
        out.extend(s.min_items.map(Keyword::MinItems));
        out.extend(s.max_items.map(Keyword::MaxItems));
        out.extend(s.unique_items.then_some(Keyword::UniqueItems));
        out.extend(s.contains.as_ref().map(|c| Keyword::Contains {
            schema: row_id(c.schema),
            min: c.min,
            max: c.max,
        }));
        if !s.prefix_items.is_empty() {
            out.push(Keyword::PrefixItems(leak(ids(&s.prefix_items))));
        }
        out.extend(s.items.map(|i| Keyword::Items { schema: row_id(i), from: s.prefix_items.len() }));
        self.object_keywords(s, &mut out);
        self.applicators(id, s, &mut out);
        // Last, since they look at what the others evaluated.
        out.extend(s.unevaluated_items.map(|i| Keyword::UnevaluatedItems(row_id(i))));
        out.extend(s.unevaluated_properties.map(|i| Keyword::UnevaluatedProperties(row_id(i))));
        out
    }

    fn object_keywords(&self, s: &Schema, out: &mut Vec<Keyword>) {
        let mut names: Vec<&'static str> = s.required.iter().map(|n| leak_str(n)).collect();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            out.push(Keyword::Required(leak(names)));
        }
        let properties = sorted(&s.properties);
        let declared: Vec<&'static str> = properties.iter().map(|(n, _)| *n).collect();
        if !properties.is_empty() {
            out.push(Keyword::Properties(leak(properties)));
        }
        let patterns: Vec<(&'static Pattern, RowId)> = s
            .pattern_properties
            .iter()
            .filter_map(|(p, id)| Some((*self.patterns.get(p.as_str())?, row_id(*id))))
            .collect();
        let pattern_list: Vec<&'static Pattern> = patterns.iter().map(|(p, _)| *p).collect();
        if !patterns.is_empty() {
            out.push(Keyword::PatternProperties(leak(patterns)));
        }
        out.extend(s.additional_properties.map(|id| Keyword::AdditionalProperties {
            schema: row_id(id),
            declared: leak(declared),
            patterns: leak(pattern_list),
        }));
        out.extend(s.property_names.map(|id| Keyword::PropertyNames(row_id(id))));
        out.extend(s.min_properties.map(Keyword::MinProperties));
        out.extend(s.max_properties.map(Keyword::MaxProperties));
        if !s.dependent_required.is_empty() {
            let mut all: Vec<(&'static str, &'static [&'static str])> = s
                .dependent_required
                .iter()
                .map(|(n, needs)| {
                    let mut needs: Vec<&'static str> = needs.iter().map(|n| leak_str(n)).collect();
                    needs.sort_unstable();
                    (leak_str(n), leak(needs))
                })
                .collect();
            all.sort_unstable();
            out.push(Keyword::DependentRequired(leak(all)));
        }
        if !s.dependent_schemas.is_empty() {
            out.push(Keyword::DependentSchemas(leak(sorted(&s.dependent_schemas))));
        }
    }

    fn applicators(&self, id: SchemaId, s: &Schema, out: &mut Vec<Keyword>) {
        out.extend(s.reference.map(|id| Keyword::Ref(row_id(id))));
        out.extend(s.dynamic_reference.as_ref().map(|d| match &d.anchor {
            Some(anchor) => Keyword::DynamicRef { anchor: leak_str(anchor), initial: row_id(d.initial) },
            None => Keyword::Ref(row_id(d.initial)),
        }));
        if !s.all_of.is_empty() {
            out.push(Keyword::AllOf(leak(ids(&s.all_of))));
        }
        let choice = |used: bool| {
            self.choices.get(&id).filter(|_| used).map(|c| -> &'static Choice {
                Box::leak(Box::new(Choice { tag: c.tag, branches: c.branches }))
            })
        };
        if !s.any_of.is_empty() {
            out.push(Keyword::AnyOf(leak(ids(&s.any_of)), choice(s.one_of.is_empty())));
        }
        if !s.one_of.is_empty() {
            out.push(Keyword::OneOf(leak(ids(&s.one_of)), choice(true)));
        }
        out.extend(s.not.map(|id| Keyword::Not(row_id(id))));
        out.extend(s.condition.map(|condition| Keyword::If {
            condition: row_id(condition),
            then: s.then.map(row_id),
            otherwise: s.otherwise.map(row_id),
        }));
    }
}

fn sorted(list: &[(String, SchemaId)]) -> Vec<(&'static str, RowId)> {
    let mut out: Vec<_> = list.iter().map(|(n, id)| (leak_str(n), row_id(*id))).collect();
    out.sort_unstable();
    out
}

fn ids(list: &[SchemaId]) -> Vec<RowId> {
    list.iter().map(|id| row_id(*id)).collect()
}

fn row_id(id: SchemaId) -> RowId {
    RowId(number(id))
}

/// Rows and resources stand in the order of the graph.
fn number<T>(id: Id<T>) -> u32 {
    u32::try_from(id.index()).unwrap_or(u32::MAX)
}

const TYPE_PAIRS: [(Types, RowTypes, &str); 7] = [
    (Types::NULL, RowTypes::NULL, "NULL"),
    (Types::BOOLEAN, RowTypes::BOOLEAN, "BOOLEAN"),
    (Types::NUMBER, RowTypes::NUMBER, "NUMBER"),
    (Types::INTEGER, RowTypes::INTEGER, "INTEGER"),
    (Types::STRING, RowTypes::STRING, "STRING"),
    (Types::ARRAY, RowTypes::ARRAY, "ARRAY"),
    (Types::OBJECT, RowTypes::OBJECT, "OBJECT"),
];

fn row_types(types: Types) -> RowTypes {
    let mut all: Option<RowTypes> = None;
    for (ours, theirs, _) in TYPE_PAIRS {
        if types.contains(ours) {
            all = Some(all.map_or(theirs, |a| a.or(theirs)));
        }
    }
    // `type: []` is refused when schemas are read, so something was found.
    all.unwrap_or(RowTypes::NULL)
}

fn literal(value: &Json) -> Literal {
    match value {
        Json::Null => Literal::Null,
        Json::Bool(b) => Literal::Bool(*b),
        Json::Number(n) => Literal::Number(n.clone()),
        Json::String(s) => Literal::String(leak_str(s)),
        Json::Array(items) => Literal::Array(leak(items.iter().map(literal).collect())),
        Json::Object(members) => {
            let mut all: Vec<_> = members.iter().map(|(n, v)| (leak_str(n), literal(v))).collect();
            all.sort_by_key(|(n, _)| *n);
            Literal::Object(leak(all))
        }
    }
}

fn leak<T>(list: Vec<T>) -> &'static [T] {
    Box::leak(list.into_boxed_slice())
}

fn leak_str(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// Writes the tables as Rust, one schema a line: they are data, and most of what is generated.
struct Printer<'a> {
    set: &'a TableSet,
}

impl Printer<'_> {
    fn row(&self, row: &Row) -> String {
        let keywords = comma(row.keywords.iter().map(|k| self.keyword(k)));
        format!(
            "Schema {{ resource: {}, location: {:?}, keywords: &[{keywords}] }}",
            row.resource, row.location
        )
    }

    fn keyword(&self, keyword: &Keyword) -> String {
        let name = |id: &RowId| id_text(*id);
        let text = match keyword {
            Keyword::False => "False".to_owned(),
            Keyword::Type(types) => format!("Type({})", types_text(*types)),
            Keyword::Enum(values) => format!("Enum(&[{}])", comma(values.iter().map(literal_text))),
            Keyword::Const(value) => format!("Const({})", literal_text(value)),
            Keyword::Minimum(n) => format!("Minimum({})", number_text(n)),
            Keyword::Maximum(n) => format!("Maximum({})", number_text(n)),
            Keyword::ExclusiveMinimum(n) => format!("ExclusiveMinimum({})", number_text(n)),
            Keyword::ExclusiveMaximum(n) => format!("ExclusiveMaximum({})", number_text(n)),
            Keyword::MultipleOf(n) => format!("MultipleOf({})", number_text(n)),
            Keyword::MinLength(n) => format!("MinLength({n})"),
            Keyword::MaxLength(n) => format!("MaxLength({n})"),
            Keyword::Pattern(p) => format!("Pattern({})", self.pattern(p)),
            Keyword::MinItems(n) => format!("MinItems({n})"),
            Keyword::MaxItems(n) => format!("MaxItems({n})"),
            Keyword::UniqueItems => "UniqueItems".to_owned(),
            Keyword::Contains { schema, min, max } => {
                format!("Contains {{ schema: {}, min: {min:?}, max: {max:?} }}", name(schema))
            }
            Keyword::MinProperties(n) => format!("MinProperties({n})"),
            Keyword::MaxProperties(n) => format!("MaxProperties({n})"),
            Keyword::Required(names) => format!("Required(&{names:?})"),
            Keyword::DependentRequired(all) => {
                let all = all.iter().map(|(n, needs)| format!("({n:?}, &{needs:?})"));
                format!("DependentRequired(&[{}])", comma(all))
            }
            Keyword::PrefixItems(list) => format!("PrefixItems(&[{}])", comma(list.iter().map(name))),
            Keyword::Items { schema, from } => format!("Items {{ schema: {}, from: {from} }}", name(schema)),
            Keyword::Properties(list) => format!("Properties(&[{}])", named_text(list)),
            Keyword::PatternProperties(list) => {
                let list = list.iter().map(|(p, id)| format!("({}, {})", self.pattern(p), name(id)));
                format!("PatternProperties(&[{}])", comma(list))
            }
            Keyword::AdditionalProperties { schema, declared, patterns } => {
                let patterns = comma(patterns.iter().map(|p| self.pattern(p)));
                let schema = name(schema);
                format!(
                    "AdditionalProperties {{ schema: {schema}, declared: &{declared:?}, patterns: &[{patterns}] }}"
                )
            }
            Keyword::PropertyNames(id) => format!("PropertyNames({})", name(id)),
            Keyword::DependentSchemas(list) => format!("DependentSchemas(&[{}])", named_text(list)),
            Keyword::AllOf(list) => format!("AllOf(&[{}])", comma(list.iter().map(name))),
            Keyword::AnyOf(list, choice) => union_text("AnyOf", list, *choice),
            Keyword::OneOf(list, choice) => union_text("OneOf", list, *choice),
            Keyword::Not(id) => format!("Not({})", name(id)),
            Keyword::If { condition, then, otherwise } => {
                let option = |id: &Option<RowId>| match id {
                    Some(id) => format!("Some({})", name(id)),
                    None => "None".to_owned(),
                };
                let (then, otherwise) = (option(then), option(otherwise));
                format!("If {{ condition: {}, then: {then}, otherwise: {otherwise} }}", name(condition))
            }
            Keyword::Ref(id) => format!("Ref({})", name(id)),
            Keyword::DynamicRef { anchor, initial } => {
                format!("DynamicRef {{ anchor: {anchor:?}, initial: {} }}", name(initial))
            }
            Keyword::UnevaluatedItems(id) => format!("UnevaluatedItems({})", name(id)),
            Keyword::UnevaluatedProperties(id) => format!("UnevaluatedProperties({})", name(id)),
        };
        format!("Keyword::{text}")
    }

    fn pattern(&self, pattern: &Pattern) -> String {
        match self.set.pattern(pattern.source) {
            Some(name) => format!("&{name}"),
            None => "compile_error!(\"pattern without a program\")".to_owned(),
        }
    }
}

fn comma(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn id_text(RowId(id): RowId) -> String {
    format!("SchemaId({id})")
}

fn named_text(list: &[(&str, RowId)]) -> String {
    comma(list.iter().map(|(n, id)| format!("({n:?}, {})", id_text(*id))))
}

fn union_text(name: &str, list: &[RowId], choice: Option<&Choice>) -> String {
    let list = comma(list.iter().map(|id| id_text(*id)));
    let choice = match choice {
        Some(choice) => {
            let branches = choice.branches.iter().map(|(l, at)| format!("({}, {at})", literal_text(l)));
            format!("Some(&Choice {{ tag: {:?}, branches: &[{}] }})", choice.tag, comma(branches))
        }
        None => "None".to_owned(),
    };
    format!("{name}(&[{list}], {choice})")
}

fn types_text(types: RowTypes) -> String {
    let mut out = String::new();
    for (ours, theirs, name) in TYPE_PAIRS {
        // `number` holds `integer`; whoever prints the first must not print the second.
        let present = types.or(theirs) == types;
        if !present || (ours == Types::INTEGER && types.or(RowTypes::NUMBER) == types) {
            continue;
        }
        out = match out.is_empty() {
            true => format!("Types::{name}"),
            false => format!("{out}.or(Types::{name})"),
        };
    }
    if out.is_empty() { "Types::NULL".to_owned() } else { out }
}

fn literal_text(value: &Literal) -> String {
    match value {
        Literal::Null => "Literal::Null".to_owned(),
        Literal::Bool(b) => format!("Literal::Bool({b})"),
        Literal::Number(n) => format!("Literal::Number({})", number_text(n)),
        Literal::String(s) => format!("Literal::String({s:?})"),
        Literal::Array(items) => format!("Literal::Array(&[{}])", comma(items.iter().map(literal_text))),
        Literal::Object(members) => {
            let members = members.iter().map(|(n, v)| format!("({n:?}, {})", literal_text(v)));
            format!("Literal::Object(&[{}])", comma(members))
        }
    }
}

/// A documentation comment of one line with code in it.
fn doc_comment(code: &str) -> String {
    let mut out = String::from("/// `");
    for character in code.chars() {
        match character.is_control() {
            true => out.extend(character.escape_default()),
            false => out.push(character),
        }
    }
    out + "`"
}

/// A number as text; see [`number_tokens`].
fn number_text(number: &Number) -> String {
    number_tokens(number).to_string().replace(' ', "").replace(',', ", ")
}

/// An expression for an exact number, as short as its text allows.
#[must_use]
pub fn number_tokens(number: &Number) -> TokenStream {
    let text = number.text();
    if let Ok(whole) = text.parse::<i64>() {
        let whole = proc_macro2::Literal::i64_unsuffixed(whole);
        return quote!(Number::int(#whole));
    }
    if let Some((before, after)) = text.split_once('.')
        && let Ok(digits) = format!("{before}{after}").parse::<i64>()
        && let Ok(scale) = u8::try_from(after.len())
        && scale <= 18
        && !text.starts_with("-0")
    {
        let digits = proc_macro2::Literal::i64_unsuffixed(digits);
        let scale = proc_macro2::Literal::u8_unsuffixed(scale);
        return quote!(Number::decimal(#digits, #scale));
    }
    let text = text.as_ref();
    quote!(Number::literal(#text))
}
