//! The validation tables: the schema graph in the format of the runtime. They are used in memory for the
//! generator's own checks, and printed as constants into the generated crate.
//!
//! A [`TablePlan`] assigns a row to each schema and owns the generated data that is not part of the schema
//! graph. A [`TableSet`] contains the tables, which borrow from the plan, the graph and [`TableArenas`].

mod build;
mod print;
mod published;
mod rows;

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::{
    Json, Number,
    pattern::Pattern,
    schema::{SchemaId as RowId, SchemaTables, TagCertainty, Validator},
    violation::Violations,
};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

pub use self::build::TableArenas;
pub use self::build::row_types;
use self::rows::TableRows;
use crate::{
    conjunction::SchemaConjunction,
    formats::{FormatTypes, MappedFormat},
    naming::{RowNames, rows::pattern_names},
    pattern::{CompiledPattern, compile},
    schema::{Schema, SchemaGraph, SchemaId, keywords::Keyword as Rule},
    shape::{ObjectVariant, Shapes, TypeBody},
};

/// The layout of a contract's validation tables, and the data that the tables borrow.
#[derive(Debug)]
pub struct TablePlan {
    rows: TableRows,
    /// The name of the constant and the compiled program for each pattern, by the source of the pattern.
    patterns: BTreeMap<String, (String, CompiledPattern)>,
    /// For each schema that contains a tagged union, the tag and the branch that each tag value selects.
    choices: BTreeMap<SchemaId, TagBranches>,
    formats: FormatTypes,
}

/// The tag of a union, and the branch that each tag value selects.
#[derive(Clone, Debug)]
struct TagBranches {
    tag: String,
    certainty: TagCertainty,
    branches: Vec<(Json, usize)>,
}

/// The validation tables of a contract.
#[derive(Debug)]
pub struct TableSet<'t> {
    plan: &'t TablePlan,
    tables: SchemaTables<'t>,
    patterns: BTreeMap<&'t str, &'t Pattern<'t>>,
}

/// A pattern that cannot be compiled, with the schema that contains it and the reason.
#[derive(Clone, Debug)]
pub struct RejectedPattern {
    pub schema: SchemaId,
    pub role: PatternRole,
    pub source: String,
    pub error: crate::pattern::PatternError,
}

/// The strings of a value to which a pattern applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternRole {
    /// The value, for `pattern`.
    Value,
    /// Property names, for a key of `patternProperties`.
    Key,
}

/// Compiles every pattern of the graph. Returns an error for each pattern that is not valid in ECMA-262 or
/// that a linear-time matcher cannot support.
#[must_use]
pub fn compile_patterns(graph: &SchemaGraph) -> (BTreeMap<String, CompiledPattern>, Vec<RejectedPattern>) {
    let mut all = BTreeMap::new();
    let mut rejected = Vec::new();
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
                Err(error) => {
                    rejected.push(RejectedPattern { schema: id, role, source: source.clone(), error })
                }
            }
        }
    }
    (all, rejected)
}

impl TablePlan {
    /// Creates the plan and assigns a row to each schema. The tagged unions of `shapes` determine which
    /// branch a tag value selects.
    #[must_use]
    pub(crate) fn new(
        graph: &SchemaGraph,
        shapes: &Shapes,
        patterns: BTreeMap<String, CompiledPattern>,
        names: &RowNames,
        formats: &FormatTypes,
    ) -> Self {
        // Both maps are sorted by pattern, so their entries correspond.
        let names_of_patterns: Vec<String> = pattern_names(patterns.keys()).into_values().collect();
        let named = patterns.into_iter().zip(names_of_patterns);
        let patterns = named.map(|((source, compiled), name)| (source, (name, compiled)));
        Self {
            rows: TableRows::new(graph, shapes, names),
            patterns: patterns.collect(),
            choices: tag_choices(graph, shapes),
            formats: formats.clone(),
        }
    }

    /// Creates the plan for a graph without generated types. Unions are validated without tags.
    #[must_use]
    pub fn from_graph(graph: &SchemaGraph) -> Self {
        Self::new(
            graph,
            &Shapes::default(),
            compile_patterns(graph).0,
            &RowNames::assign_names(graph),
            &FormatTypes::default(),
        )
    }

    /// Builds the tables. `graph` must be the graph for which the plan was made.
    #[must_use]
    pub fn build_tables<'t>(&'t self, graph: &'t SchemaGraph, arenas: &'t TableArenas<'t>) -> TableSet<'t> {
        build::build_tables(self, graph, arenas)
    }

    /// Returns the name of a schema's row in the generated module `schemas`, such as `SHIP.offset_by(3)`.
    #[must_use]
    pub fn row_name(&self, schema: SchemaId) -> Option<String> {
        self.rows.row_name(self.rows.row_of(schema)?)
    }
}

impl TableSet<'_> {
    /// Returns an expression for the row that validates a conjunction, as it is referenced from a sibling of
    /// the module `schemas`: `schemas::SHIP.offset_by(3)`.
    #[must_use]
    pub fn row_expression(&self, conj: &SchemaConjunction) -> TokenStream {
        self.group_expression(self.plan.rows.row_of_all(&conj.ids))
    }

    /// Returns an expression for the row that validates a schema, in the form of
    /// [`row_expression`](Self::row_expression).
    #[must_use]
    pub fn schema_row_expression(&self, schema: SchemaId) -> TokenStream {
        self.group_expression(self.plan.rows.row_of(schema))
    }

    fn group_expression(&self, row: Option<RowId>) -> TokenStream {
        let Some((group, offset)) = row.and_then(|row| self.plan.rows.group_of(row)) else {
            return quote!(compile_error!("a place without a row"));
        };
        let name = format_ident!("{}", group.name);
        let plus = (offset > 0).then(|| {
            let offset = proc_macro2::Literal::u32_unsuffixed(offset);
            quote!(.offset_by(#offset))
        });
        quote!(schemas::#name #plus)
    }

    /// Returns the name of the generated constant for a pattern, or `None` if the pattern could not be
    /// compiled.
    #[must_use]
    pub fn pattern_constant(&self, source: &str) -> Option<Ident> {
        let (name, _) = self.plan.patterns.get(source)?;
        Some(format_ident!("{name}"))
    }

    /// Iterates over the formats that the configuration maps to types.
    pub(crate) fn mapped_formats(&self) -> impl Iterator<Item = &MappedFormat> {
        self.plan.formats.iter()
    }

    /// Returns the type to which the configuration maps the `format` of a schema, if it does.
    pub(crate) fn mapped_format(&self, schema: &Schema) -> Option<&MappedFormat> {
        self.plan.formats.for_schema(schema)
    }

    /// Returns true if a string matches the pattern `source`. Returns false for a pattern that could not be
    /// compiled.
    #[must_use]
    pub fn is_match(&self, source: &str, text: &str) -> bool {
        self.patterns.get(source).is_some_and(|pattern| pattern.is_match(text))
    }

    /// Returns true if a value satisfies a schema of the graph. A schema of a media type that is not exchanged has no
    /// row and accepts every value.
    #[must_use]
    pub fn is_valid(&self, id: SchemaId, value: &Json) -> bool {
        let row = self.plan.rows.row_of(id);
        row.is_none_or(|row| Validator::new(&self.tables, row).is_valid(value))
    }

    /// Returns the runtime validator of a schema.
    pub fn validator_for(&self, id: SchemaId) -> Option<Validator<'_>> {
        Some(Validator::new(&self.tables, self.plan.rows.row_of(id)?))
    }

    /// Validates a value against a schema of the graph.
    ///
    /// # Errors
    /// Returns all violations if the value is invalid.
    pub fn validate(&self, id: SchemaId, value: &Json) -> Result<(), Violations> {
        match self.plan.rows.row_of(id) {
            Some(row) => Validator::new(&self.tables, row).validate(value),
            None => Ok(()),
        }
    }

    /// Returns the beginning of the generated module `schemas`: its imports and the function `validator`.
    #[must_use]
    pub fn schemas_module(&self) -> TokenStream {
        print::module_prelude(self)
    }

    /// Returns the row names and tables as source text, which follows the output of
    /// [`schemas_module`](Self::schemas_module).
    #[must_use]
    pub fn tables_source(&self) -> String {
        print::print_tables(self)
    }
}

/// Returns the tag and its branches for each schema that contains a tagged union.
fn tag_choices(graph: &SchemaGraph, shapes: &Shapes) -> BTreeMap<SchemaId, TagBranches> {
    let mut out = BTreeMap::new();
    for def in shapes.types.iter().chain(&shapes.parts) {
        let TypeBody::Objects(tagged) = &def.body else { continue };
        let Some(tag) = tagged.tag().or(tagged.optional_tag.as_ref()) else { continue };
        // The schemas that extend a base with a `discriminator` are not branches of a union, so the tag does
        // not affect the validity of a value.
        if !graph.schema(tagged.holder).family_members().is_empty() {
            continue;
        }
        // A conjunction with other schemas may allow fewer variants. The entry is therefore created only for
        // the schema with the union itself, or for a union that only adds `null` to it.
        let around = |id: &SchemaId| {
            let schema = graph.schema(*id);
            tagged.conj.chosen.contains(id) && schema.is_constrained_only_by(&[Rule::AnyOf, Rule::OneOf])
        };
        if !tagged.conj.ids.iter().all(|id| *id == tagged.holder || around(id)) {
            continue;
        }
        let variants = || tagged.variants.iter().zip(&tag.literals);
        let choices = |branches| TagBranches { tag: tag.name.clone(), certainty: tag.certainty, branches };
        let branches = variants().flat_map(|(v, all)| all.iter().map(|l| (l.clone(), v.branch))).collect();
        out.insert(tagged.holder, choices(branches));
        // The tag also selects the branches of inner unions.
        let inner: BTreeSet<SchemaId> =
            tagged.variants.iter().flat_map(|v| &v.inner).map(|(holder, _)| *holder).collect();
        for holder in inner {
            let schema = graph.schema(holder);
            let ids = if schema.one_of.is_empty() { &schema.any_of } else { &schema.one_of };
            let position = |v: &ObjectVariant| {
                let (_, branch) = v.inner.iter().find(|(id, _)| *id == holder)?;
                ids.iter().position(|id| id == branch)
            };
            let found = variants().filter_map(|(v, all)| Some((position(v)?, all)));
            let found: Vec<(Json, usize)> =
                found.flat_map(|(at, all)| all.iter().map(move |l| (l.clone(), at))).collect();
            // A branch that the enclosing union excludes has no literals, although the inner union allows it.
            if (0..ids.len()).all(|at| found.iter().any(|(_, found)| *found == at)) {
                out.insert(holder, choices(found));
            }
        }
    }
    // Equal schemas share the type of the first one. Their branches are equal and have the same indices.
    for (id, first) in &shapes.equals {
        if let Some(tags) = out.get(first).cloned() {
            out.entry(*id).or_insert(tags);
        }
    }
    out
}

/// Returns an expression for an exact number, in the shortest form that preserves its digits.
#[must_use]
pub fn number_tokens(number: &Number, path: &TokenStream) -> TokenStream {
    let text = number.to_json_text();
    if let Ok(whole) = text.parse::<i64>() {
        let whole = proc_macro2::Literal::i64_unsuffixed(whole);
        return quote!(#path::from_i64(#whole));
    }
    if let Some((before, after)) = text.split_once('.')
        && let Ok(digits) = format!("{before}{after}").parse::<i64>()
        && let Ok(scale) = u8::try_from(after.len())
        && scale <= 18
        && !text.starts_with("-0")
    {
        let digits = proc_macro2::Literal::i64_unsuffixed(digits);
        let scale = proc_macro2::Literal::u8_unsuffixed(scale);
        return quote!(#path::from_decimal(#digits, #scale));
    }
    let text = text.as_ref();
    quote!(#path::from_literal(#text))
}
