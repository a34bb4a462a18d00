//! Prints the validation tables as the source text of the generated module `schemas`. It contains the names
//! of the rows, the rows with one line each, and the patterns.
//!
//! A comment precedes each group and name. Changes in adjacent groups therefore do not affect adjacent lines,
//! and Git merges them without conflicts.

use contract_runtime::{
    Number,
    pattern::Pattern,
    schema::{BranchSelector, Keyword, Literal, Schema as Row, SchemaId as RowId, TypeSet as RowTypes},
};
use proc_macro2::TokenStream;
use quote::quote;

use super::{TableSet, build::TYPE_PAIRS, number_tokens, rows::RowGroup};
use crate::{constraint_text, schema::TypeSet};

/// The code that is printed instead of a row that has no name. Every row of valid tables has one.
const MISSING_NAME: &str = "compile_error!(\"a row without a name\")";

/// Returns the imports of the module and the function `validator`.
pub(super) fn module_prelude(set: &TableSet<'_>) -> TokenStream {
    let uses = |test: &dyn Fn(&Keyword<'_>) -> bool| {
        set.tables.schemas.iter().any(|row| row.keywords.iter().any(test))
    };
    let numbers = uses(&|k| {
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
    let choice = uses(&|k| matches!(k, Keyword::AnyOf(_, Some(_)) | Keyword::OneOf(_, Some(_))))
        .then(|| quote!(BranchSelector, TagCertainty,));
    let literal = uses(&|k| {
        !literals_of(k).is_empty() || matches!(k, Keyword::AnyOf(_, Some(_)) | Keyword::OneOf(_, Some(_)))
    })
    .then(|| quote!(Literal,));
    let format = uses(&|k| matches!(k, Keyword::Format(_))).then(|| quote!(format::StringFormat,));
    let parse = uses(&|k| matches!(k, Keyword::TypedFormat(_))).then(|| quote!(TypedFormat,));
    let types = uses(&|k| matches!(k, Keyword::Type(_))).then(|| quote!(TypeSet,));
    let keyword = set.tables.schemas.iter().any(|s| !s.keywords.is_empty()).then(|| quote!(Keyword,));
    let schema = (!set.tables.schemas.is_empty()).then(|| quote!(Schema,));
    let pattern = (!set.plan.patterns.is_empty()).then(|| quote!(pattern::{self, Pattern},));
    let named = (!set.plan.rows.groups.is_empty()).then(|| quote!(SchemaResource,));
    quote! {
        use ::contract_runtime::{
            #number #format #pattern
            schema::{#choice #keyword #literal #parse #named #schema SchemaId, SchemaTables, #types Validator},
        };
        /// The validator of a schema, by its row in [`TABLES`].
        #[must_use]
        pub const fn validator(row: SchemaId) -> Validator<'static> {
            Validator::new(&TABLES, row)
        }
    }
}

/// Returns the row names, tables and patterns as source text.
pub(super) fn print_tables(set: &TableSet<'_>) -> String {
    let printer = TablePrinter { set };
    let mut out = printer.print_row_names();
    out.push_str("/// Every schema of the contract, in the form that validators use.\n#[rustfmt::skip]\n");
    out.push_str("pub static TABLES: SchemaTables<'static> = SchemaTables {\n    schemas: &[\n");
    for group in &set.plan.rows.groups {
        out.push_str(&format!("        // {}\n", group.name));
        let rows = set.tables.schemas.iter().skip(group.first as usize).take(group.rows.len());
        for row in rows {
            out.push_str(&format!("        {},\n", printer.print_row(row)));
        }
    }
    out.push_str("    ],\n    resources: &[\n");
    for (resource, listed) in set.tables.resources.iter().zip(&set.plan.rows.resources) {
        let (uri, anchors) = (resource.uri, printer.print_named_rows(resource.dynamic_anchors));
        out.push_str(&format!("        // {}\n", listed.constant));
        out.push_str(&format!("        SchemaResource {{ uri: {uri:?}, dynamic_anchors: &[{anchors}] }},\n"));
    }
    out.push_str("    ],\n};\n");
    for (source, (name, compiled)) in &set.plan.patterns {
        let value = compiled.to_rust_expression();
        out.push_str(&format!(
            "\n{}\n#[rustfmt::skip]\npub(super) static {name}: Pattern<'static> = {value};\n",
            doc_comment(source)
        ));
    }
    out
}

fn has_number(literal: &&Literal<'_>) -> bool {
    match literal {
        Literal::Number(_) => true,
        Literal::Array(items) => items.iter().any(|l| has_number(&l)),
        Literal::Object(members) => members.iter().any(|(_, l)| has_number(&l)),
        _ => false,
    }
}

fn literals_of<'a>(keyword: &'a Keyword<'_>) -> Vec<&'a Literal<'a>> {
    match keyword {
        Keyword::Enum(values) => values.iter().collect(),
        Keyword::Const(value) => vec![value],
        Keyword::AnyOf(_, Some(choice)) | Keyword::OneOf(_, Some(choice)) => {
            choice.branches.iter().map(|(l, _)| l).collect()
        }
        _ => Vec::new(),
    }
}

/// A printer of the tables as Rust code, with one schema on each line, because the tables are data and the
/// largest part of the generated code.
struct TablePrinter<'a> {
    set: &'a TableSet<'a>,
}

impl TablePrinter<'_> {
    fn print_row(&self, row: &Row<'_>) -> String {
        let keywords = join_with_commas(row.keywords.iter().map(|k| self.print_keyword(k)));
        let resource = self.set.plan.rows.resources.get(row.resource.0 as usize);
        let resource = resource.map_or(MISSING_NAME, |listed| &listed.constant);
        format!("Schema {{ resource: {resource}, location: {:?}, keywords: &[{keywords}] }}", row.location)
    }

    /// Prints a call of the macro `schema_ids!` with the name and the number of rows of each group. The macro
    /// defines a constant with the first row of each group; other rows are written as offsets from it.
    fn print_row_names(&self) -> String {
        let groups = &self.set.plan.rows.groups;
        if groups.is_empty() {
            return String::new();
        }
        let mut out = String::from("::contract_runtime::schema_ids! {\n");
        let mut resources = self.set.plan.rows.resources.iter();
        for of_one in groups.chunk_by(|one, other| one.resource == other.resource) {
            out.push_str(&format!("    {} {{\n", resources.next().map_or(MISSING_NAME, |one| &one.constant)));
            for RowGroup { name, place, rows, .. } in of_one {
                out.push_str(&format!("        {}\n        {name} = {},\n", doc_comment(place), rows.len()));
            }
            out.push_str("    }\n");
        }
        out + "}\n\n"
    }

    /// Returns the expression for a row in the printed tables, such as `SHIP.offset_by(3)`.
    fn row_name(&self, row: RowId) -> String {
        self.set.plan.rows.row_name(row).unwrap_or_else(|| MISSING_NAME.to_owned())
    }

    fn print_keyword(&self, keyword: &Keyword<'_>) -> String {
        let name = |id: &RowId| self.row_name(*id);
        let text = match keyword {
            Keyword::False => "False".to_owned(),
            Keyword::Type(types) => format!("Type({})", types_text(*types)),
            Keyword::Enum(values) => {
                format!("Enum(&[{}])", join_with_commas(values.iter().map(literal_text)))
            }
            Keyword::Const(value) => format!("Const({})", literal_text(value)),
            Keyword::Minimum(n) => format!("Minimum({})", number_text(n)),
            Keyword::Maximum(n) => format!("Maximum({})", number_text(n)),
            Keyword::ExclusiveMinimum(n) => format!("ExclusiveMinimum({})", number_text(n)),
            Keyword::ExclusiveMaximum(n) => format!("ExclusiveMaximum({})", number_text(n)),
            Keyword::MultipleOf(n) => format!("MultipleOf({})", number_text(n)),
            Keyword::MinLength(n) => format!("MinLength({n})"),
            Keyword::MaxLength(n) => format!("MaxLength({n})"),
            Keyword::Pattern(p) => format!("Pattern({})", self.pattern_reference(p)),
            Keyword::Format(format) => format!("Format(StringFormat::{format:?})"),
            Keyword::TypedFormat(parse) => {
                let mapped = self.set.plan.formats.iter().find(|mapped| mapped.format == parse.format);
                let path = mapped.map_or_else(|| MISSING_NAME.to_owned(), |mapped| mapped.type_path());
                format!(
                    "TypedFormat(TypedFormat {{ format: {:?}, is_match: {path}::is_match }})",
                    parse.format
                )
            }
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
                format!("DependentRequired(&[{}])", join_with_commas(all))
            }
            Keyword::PrefixItems(list) => {
                format!("PrefixItems(&[{}])", join_with_commas(list.iter().map(name)))
            }
            Keyword::Items { schema, from } => format!("Items {{ schema: {}, from: {from} }}", name(schema)),
            Keyword::Properties(list, required) => {
                format!("Properties(&[{}], {required:#b})", self.print_named_rows(list))
            }
            Keyword::PatternProperties(list) => {
                let list =
                    list.iter().map(|(p, id)| format!("({}, {})", self.pattern_reference(p), name(id)));
                format!("PatternProperties(&[{}])", join_with_commas(list))
            }
            Keyword::AdditionalProperties { schema, declared, patterns } => {
                let patterns = join_with_commas(patterns.iter().map(|p| self.pattern_reference(p)));
                let schema = name(schema);
                format!(
                    "AdditionalProperties {{ schema: {schema}, declared: &{declared:?}, patterns: &[{patterns}] }}"
                )
            }
            Keyword::PropertyNames(id) => format!("PropertyNames({})", name(id)),
            Keyword::DependentSchemas(list) => {
                format!("DependentSchemas(&[{}])", self.print_named_rows(list))
            }
            Keyword::AllOf(list) => format!("AllOf(&[{}])", join_with_commas(list.iter().map(name))),
            Keyword::AnyOf(list, choice) => self.print_union("AnyOf", list, *choice),
            Keyword::OneOf(list, choice) => self.print_union("OneOf", list, *choice),
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

    fn pattern_reference(&self, pattern: &Pattern<'_>) -> String {
        match self.set.pattern_constant(pattern.source) {
            Some(name) => format!("&{name}"),
            None => MISSING_NAME.to_owned(),
        }
    }

    fn print_named_rows(&self, list: &[(&str, RowId)]) -> String {
        join_with_commas(list.iter().map(|(n, id)| format!("({n:?}, {})", self.row_name(*id))))
    }

    fn print_union(&self, name: &str, list: &[RowId], choice: Option<&BranchSelector<'_>>) -> String {
        let list = join_with_commas(list.iter().map(|id| self.row_name(*id)));
        let choice = match choice {
            Some(choice) => {
                let branches = choice.branches.iter().map(|(l, at)| format!("({}, {at})", literal_text(l)));
                let BranchSelector { tag, certainty, .. } = choice;
                let branches = join_with_commas(branches);
                format!(
                    "Some(&BranchSelector {{ tag: {tag:?}, certainty: TagCertainty::{certainty:?}, branches: &[{branches}] }})"
                )
            }
            None => "None".to_owned(),
        };
        format!("{name}(&[{list}], {choice})")
    }
}

fn join_with_commas(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn types_text(types: RowTypes) -> String {
    let mut out = String::new();
    for (ours, theirs, name) in TYPE_PAIRS {
        // `number` includes `integer`, so only `number` is printed.
        let present = types.union(theirs) == types;
        if !present || (ours == TypeSet::INTEGER && types.union(RowTypes::NUMBER) == types) {
            continue;
        }
        out = match out.is_empty() {
            true => format!("TypeSet::{name}"),
            false => format!("{out}.union(TypeSet::{name})"),
        };
    }
    if out.is_empty() { "TypeSet::NULL".to_owned() } else { out }
}

fn literal_text(value: &Literal<'_>) -> String {
    match value {
        Literal::Null => "Literal::Null".to_owned(),
        Literal::Bool(b) => format!("Literal::Bool({b})"),
        Literal::Number(n) => format!("Literal::Number({})", number_text(n)),
        Literal::String(s) => format!("Literal::String({s:?})"),
        Literal::Array(items) => {
            format!("Literal::Array(&[{}])", join_with_commas(items.iter().map(literal_text)))
        }
        Literal::Object(members) => {
            let members = members.iter().map(|(n, v)| format!("({n:?}, {})", literal_text(v)));
            format!("Literal::Object(&[{}])", join_with_commas(members))
        }
    }
}

/// Returns a one-line documentation comment that quotes code.
fn doc_comment(code: &str) -> String {
    let mut out = String::from("/// `");
    for character in code.chars() {
        match character == '\n' || constraint_text::is_unprintable(character) {
            true => out.extend(character.escape_default()),
            false => out.push(character),
        }
    }
    out + "`"
}

/// Prints a number like [`number_tokens`], but without spaces.
fn number_text(number: &Number) -> String {
    number_tokens(number, &quote!(Number)).to_string().replace(' ', "").replace(',', ", ")
}
