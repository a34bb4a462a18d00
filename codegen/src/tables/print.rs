//! The tables as the module `schemas` of the generated crate: the names of rows, the rows one a
//! line, the patterns.
//!
//! A comment before each group and each name keeps edits of neighbours apart: who changes one group
//! touches no line beside one that a change of the next touches, so that two branches merge.

use contract_runtime::{
    Number,
    pattern::Pattern,
    schema::{Choice, Keyword, Literal, Schema as Row, SchemaId as RowId, Types as RowTypes},
};
use proc_macro2::TokenStream;
use quote::quote;

use super::{TableSet, build::TYPE_PAIRS, number_tokens, rows::Group};
use crate::{schema::Types, words};

/// Stands where something has no name, which no table can have.
const UNKNOWN: &str = "compile_error!(\"a row without a name\")";

/// What the module imports, and its function.
pub(super) fn tokens(set: &TableSet<'_>) -> TokenStream {
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
        .then(|| quote!(Certainty, Choice,));
    let literal = uses(&|k| {
        !literals_of(k).is_empty() || matches!(k, Keyword::AnyOf(_, Some(_)) | Keyword::OneOf(_, Some(_)))
    })
    .then(|| quote!(Literal,));
    let format = uses(&|k| matches!(k, Keyword::Format(_))).then(|| quote!(format::Format,));
    let parse = uses(&|k| matches!(k, Keyword::Parse(_))).then(|| quote!(Parse,));
    let types = uses(&|k| matches!(k, Keyword::Type(_))).then(|| quote!(Types,));
    let keyword = set.tables.schemas.iter().any(|s| !s.keywords.is_empty()).then(|| quote!(Keyword,));
    let schema = (!set.tables.schemas.is_empty()).then(|| quote!(Schema,));
    let pattern = (!set.plan.patterns.is_empty()).then(|| quote!(pattern::{self, Pattern},));
    let named = (!set.plan.rows.groups.is_empty()).then(|| quote!(Resource,));
    quote! {
        use ::contract_runtime::{
            #number #format #pattern
            schema::{#choice #keyword #literal #parse #named #schema SchemaId, Tables, #types Validator},
        };
        /// The validator of a schema, by its row in [`TABLES`].
        #[must_use]
        pub const fn validator(row: SchemaId) -> Validator<'static> {
            Validator::new(&TABLES, row)
        }
    }
}

/// The names of rows, the tables, the patterns.
pub(super) fn text(set: &TableSet<'_>) -> String {
    let printer = Printer { set };
    let mut out = printer.names();
    out.push_str("/// Every schema of the contract, as the validators read it.\n#[rustfmt::skip]\n");
    out.push_str("pub static TABLES: Tables<'static> = Tables {\n    schemas: &[\n");
    for group in &set.plan.rows.groups {
        out.push_str(&format!("        // {}\n", group.name));
        let rows = set.tables.schemas.iter().skip(group.first as usize).take(group.rows.len());
        for row in rows {
            out.push_str(&format!("        {},\n", printer.row(row)));
        }
    }
    out.push_str("    ],\n    resources: &[\n");
    for (resource, listed) in set.tables.resources.iter().zip(&set.plan.rows.resources) {
        let (uri, anchors) = (resource.uri, printer.named(resource.dynamic_anchors));
        out.push_str(&format!("        // {}\n", listed.constant));
        out.push_str(&format!("        Resource {{ uri: {uri:?}, dynamic_anchors: &[{anchors}] }},\n"));
    }
    out.push_str("    ],\n};\n");
    for (source, (name, compiled)) in &set.plan.patterns {
        let value = compiled.text();
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

/// Writes the tables as Rust, one schema a line: they are data, and most of what is generated.
struct Printer<'a> {
    set: &'a TableSet<'a>,
}

impl Printer<'_> {
    fn row(&self, row: &Row<'_>) -> String {
        let keywords = comma(row.keywords.iter().map(|k| self.keyword(k)));
        let resource = self.set.plan.rows.resources.get(row.resource.0 as usize);
        let resource = resource.map_or(UNKNOWN, |listed| &listed.constant);
        format!("Schema {{ resource: {resource}, location: {:?}, keywords: &[{keywords}] }}", row.location)
    }

    /// The constants that rows are counted from.
    fn names(&self) -> String {
        let groups = &self.set.plan.rows.groups;
        if groups.is_empty() {
            return String::new();
        }
        let mut out = String::from("::contract_runtime::rows! {\n");
        let mut resources = self.set.plan.rows.resources.iter();
        for of_one in groups.chunk_by(|one, other| one.resource == other.resource) {
            out.push_str(&format!("    {} {{\n", resources.next().map_or(UNKNOWN, |one| &one.constant)));
            for Group { name, place, rows, .. } in of_one {
                out.push_str(&format!("        {}\n        {name} = {},\n", doc_comment(place), rows.len()));
            }
            out.push_str("    }\n");
        }
        out + "}\n\n"
    }

    /// A row as the tables name it.
    fn id(&self, row: RowId) -> String {
        self.set.plan.rows.name(row).unwrap_or_else(|| UNKNOWN.to_owned())
    }

    fn keyword(&self, keyword: &Keyword<'_>) -> String {
        let name = |id: &RowId| self.id(*id);
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
            Keyword::Format(format) => format!("Format(Format::{format:?})"),
            Keyword::Parse(parse) => {
                let mapped = self.set.plan.formats.iter().find(|mapped| mapped.format == parse.format);
                let path = mapped.map_or_else(|| UNKNOWN.to_owned(), |mapped| mapped.path());
                format!("Parse(Parse {{ format: {:?}, is_match: {path}::is_match }})", parse.format)
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
                format!("DependentRequired(&[{}])", comma(all))
            }
            Keyword::PrefixItems(list) => format!("PrefixItems(&[{}])", comma(list.iter().map(name))),
            Keyword::Items { schema, from } => format!("Items {{ schema: {}, from: {from} }}", name(schema)),
            Keyword::Properties(list, required) => {
                format!("Properties(&[{}], {required:#b})", self.named(list))
            }
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
            Keyword::DependentSchemas(list) => format!("DependentSchemas(&[{}])", self.named(list)),
            Keyword::AllOf(list) => format!("AllOf(&[{}])", comma(list.iter().map(name))),
            Keyword::AnyOf(list, choice) => self.union("AnyOf", list, *choice),
            Keyword::OneOf(list, choice) => self.union("OneOf", list, *choice),
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

    fn pattern(&self, pattern: &Pattern<'_>) -> String {
        match self.set.pattern(pattern.source) {
            Some(name) => format!("&{name}"),
            None => UNKNOWN.to_owned(),
        }
    }

    fn named(&self, list: &[(&str, RowId)]) -> String {
        comma(list.iter().map(|(n, id)| format!("({n:?}, {})", self.id(*id))))
    }

    fn union(&self, name: &str, list: &[RowId], choice: Option<&Choice<'_>>) -> String {
        let list = comma(list.iter().map(|id| self.id(*id)));
        let choice = match choice {
            Some(choice) => {
                let branches = choice.branches.iter().map(|(l, at)| format!("({}, {at})", literal_text(l)));
                let Choice { tag, certainty, .. } = choice;
                let branches = comma(branches);
                format!(
                    "Some(&Choice {{ tag: {tag:?}, certainty: Certainty::{certainty:?}, branches: &[{branches}] }})"
                )
            }
            None => "None".to_owned(),
        };
        format!("{name}(&[{list}], {choice})")
    }
}

fn comma(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
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

fn literal_text(value: &Literal<'_>) -> String {
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
        match character == '\n' || words::is_unprintable(character) {
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
