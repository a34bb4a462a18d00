//! The schema graph as the runtime's tables: in memory for the generator's own questions, and
//! printed as constants into the generated crate.
//!
//! [`TablePlan`] decides which row each schema has and owns what no schema says; a [`TableSet`] is
//! the tables themselves, which borrow from the plan, the graph and [`Shelves`].

mod build;
mod print;
mod published;
mod rows;

use std::collections::BTreeMap;

use contract_runtime::{
    Json, Number,
    pattern::Pattern,
    schema::{Certainty, SchemaId as RowId, Tables, Validator},
    violation::Violations,
};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

pub use self::build::Shelves;
#[cfg(feature = "mock")]
pub(crate) use self::build::row_types;
use self::rows::Rows;
use crate::{
    formats::{Formats, Mapped},
    naming::{RowNames, rows::pattern_names},
    pattern::{Compiled, compile},
    schema::{Graph, Schema, SchemaId, keywords::Keyword as Rule},
    shape::{Body, Shapes, Tagged},
    together::Conj,
};

/// What the tables of a contract will be.
#[derive(Debug)]
pub struct TablePlan {
    rows: Rows,
    /// Name of the constant and program, by the pattern.
    patterns: BTreeMap<String, (String, Compiled)>,
    /// What tags mean, by the schema that holds the union.
    choices: BTreeMap<SchemaId, Tags>,
    formats: Formats,
}

/// Which branch each value of a tag means.
#[derive(Clone, Debug)]
struct Tags {
    tag: String,
    certainty: Certainty,
    branches: Vec<(Json, usize)>,
}

/// The tables of a contract and how to name a row.
#[derive(Debug)]
pub struct TableSet<'t> {
    plan: &'t TablePlan,
    tables: Tables<'t>,
    patterns: BTreeMap<&'t str, &'t Pattern<'t>>,
}

/// A pattern that cannot be compiled.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The schema that has it.
    pub schema: SchemaId,
    /// As what.
    pub role: PatternRole,
    /// What it says.
    pub source: String,
    /// Why.
    pub error: crate::pattern::PatternError,
}

/// What a pattern is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternRole {
    /// The value: `pattern`.
    Value,
    /// The names of members: a key of `patternProperties`.
    Key,
}

/// Compiles every pattern of the graph; those that are not ECMA-262, or need what a linear
/// matcher cannot do, come back as errors.
#[must_use]
pub fn patterns(graph: &Graph) -> (BTreeMap<String, Compiled>, Vec<Refused>) {
    let mut all = BTreeMap::new();
    let mut refused = Vec::new();
    for id in graph.ids() {
        let schema = graph.schema(id);
        let values = schema.pattern.iter().map(|source| (PatternRole::Value, source));
        let keys = schema.pattern_properties.iter().map(|(source, _)| (PatternRole::Key, source));
        for (role, source) in values.chain(keys) {
            if all.contains_key(source) {
                continue;
            }
            match compile(source) {
                Ok(compiled) => {
                    all.insert(source.clone(), compiled);
                }
                Err(error) => refused.push(Refused { schema: id, role, source: source.clone(), error }),
            }
        }
    }
    (all, refused)
}

impl TablePlan {
    /// Decides the rows; tagged unions of `shapes` tell which branch a tag means.
    #[must_use]
    pub(crate) fn new(
        graph: &Graph,
        shapes: &Shapes,
        patterns: BTreeMap<String, Compiled>,
        names: &RowNames,
        formats: &Formats,
    ) -> Self {
        // Both in the order of the patterns.
        let names_of_patterns: Vec<String> = pattern_names(patterns.keys()).into_values().collect();
        let named = patterns.into_iter().zip(names_of_patterns);
        let patterns = named.map(|((source, compiled), name)| (source, (name, compiled)));
        Self {
            rows: Rows::new(graph, shapes, names),
            patterns: patterns.collect(),
            choices: choices(graph, shapes),
            formats: formats.clone(),
        }
    }

    /// The same for a graph alone, whatever types are made of it.
    #[cfg(feature = "proofs")]
    #[must_use]
    pub(crate) fn of_graph(graph: &Graph) -> Self {
        Self::new(graph, &Shapes::default(), patterns(graph).0, &RowNames::settle(graph), &Formats::default())
    }

    /// The tables themselves; they are of the graph that the plan was made for.
    #[must_use]
    pub fn build<'t>(&'t self, graph: &'t Graph, shelves: &'t Shelves<'t>) -> TableSet<'t> {
        build::build(self, graph, shelves)
    }

    /// The row of a schema as generated code names it in the module `schemas`: `SHIP.plus(3)`.
    #[must_use]
    pub fn row_name(&self, schema: SchemaId) -> Option<String> {
        self.rows.name(self.rows.of(schema)?)
    }
}

impl TableSet<'_> {
    /// An expression for the row that checks a place, as seen from beside the module `schemas`:
    /// `schemas::SHIP.plus(3)`.
    #[must_use]
    pub fn row(&self, conj: &Conj) -> TokenStream {
        self.expression(self.plan.rows.all(&conj.ids))
    }

    /// The same of a single schema.
    #[must_use]
    pub fn row_of(&self, schema: SchemaId) -> TokenStream {
        self.expression(self.plan.rows.of(schema))
    }

    fn expression(&self, row: Option<RowId>) -> TokenStream {
        let Some((group, offset)) = row.and_then(|row| self.plan.rows.group(row)) else {
            return quote!(compile_error!("a place without a row"));
        };
        let name = format_ident!("{}", group.name);
        let plus = (offset > 0).then(|| {
            let offset = proc_macro2::Literal::u32_unsuffixed(offset);
            quote!(.plus(#offset))
        });
        quote!(schemas::#name #plus)
    }

    /// The name of a pattern's constant.
    #[must_use]
    pub fn pattern(&self, source: &str) -> Option<Ident> {
        let (name, _) = self.plan.patterns.get(source)?;
        Some(format_ident!("{name}"))
    }

    /// The formats that are types.
    pub(crate) fn formats(&self) -> impl Iterator<Item = &Mapped> {
        self.plan.formats.iter()
    }

    /// The type of a schema's format.
    pub(crate) fn mapped(&self, schema: &Schema) -> Option<&Mapped> {
        self.plan.formats.of(schema)
    }

    /// A pattern that can be run now.
    #[must_use]
    pub fn is_match(&self, source: &str, text: &str) -> bool {
        self.patterns.get(source).is_some_and(|pattern| pattern.is_match(text))
    }

    /// Whether a value satisfies a schema of the graph.
    #[must_use]
    pub fn is_valid(&self, id: SchemaId, value: &Json) -> bool {
        let row = self.plan.rows.of(id);
        row.is_some_and(|row| Validator::new(&self.tables, row).is_valid(value))
    }

    /// What checks values of a schema, for whoever reads requests by it.
    #[cfg(feature = "mock")]
    pub(crate) fn validator(&self, id: SchemaId) -> Option<Validator<'_>> {
        Some(Validator::new(&self.tables, self.plan.rows.of(id)?))
    }

    /// What of a schema of the graph a value breaks.
    ///
    /// # Errors
    /// All that it breaks.
    pub fn validate(&self, id: SchemaId, value: &Json) -> Result<(), Violations> {
        match self.plan.rows.of(id) {
            Some(row) => Validator::new(&self.tables, row).validate(value),
            None => Ok(()),
        }
    }

    /// The module `schemas` of the generated crate, without the tables themselves.
    #[must_use]
    pub fn tokens(&self) -> TokenStream {
        print::tokens(self)
    }

    /// The names of rows and the tables, which follow the items of [`tokens`](Self::tokens).
    #[must_use]
    pub fn text(&self) -> String {
        print::text(self)
    }
}

/// Which branch each tag means, by the schema that holds the union.
fn choices(graph: &Graph, shapes: &Shapes) -> BTreeMap<SchemaId, Tags> {
    let mut out = BTreeMap::new();
    for def in shapes.types.iter().chain(&shapes.parts) {
        let Body::Tagged(tagged) = &def.body else { continue };
        // What a base says is valid, its children do not decide.
        if !graph.schema(tagged.holder).family().is_empty() {
            continue;
        }
        // A refinement elsewhere may leave fewer variants; the choice is for the holder itself, or
        // for the holder beside `null`, which a union around it adds.
        let around = |id: &SchemaId| {
            let schema = graph.schema(*id);
            def.conj.chosen.contains(id) && schema.decides_by(&[Rule::AnyOf, Rule::OneOf])
        };
        if !def.conj.ids.iter().all(|id| *id == tagged.holder || around(id)) {
            continue;
        }
        let variants = tagged.variants.iter();
        let branches = variants.flat_map(|v| v.literals.iter().map(|l| (l.clone(), v.branch))).collect();
        let Tagged { tag, certainty, .. } = tagged;
        out.insert(tagged.holder, Tags { tag: tag.clone(), certainty: *certainty, branches });
    }
    // What shares a type has the same branches at the same positions.
    for (id, first) in &shapes.equals {
        if let Some(tags) = out.get(first).cloned() {
            out.entry(*id).or_insert(tags);
        }
    }
    out
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
