//! Generates the JSON Schemas of types for `schemars` from the validation tables. References have names, and
//! annotations such as descriptions are included.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::schema::SchemaId as RowId;
use proc_macro2::TokenStream;
use quote::quote;

use super::ModelEmitter;
use crate::schema::{Schema, SchemaId};

/// A generated string enum that is not the type of a schema, such as the enum of a table.
#[derive(Clone, Debug)]
pub(crate) struct ExtraStringEnum {
    /// The path of the enum, relative to the generated root.
    pub(crate) path: String,
    /// The name under which the schema is published.
    pub(crate) name: String,
    /// True if the enum also accepts values that it does not list.
    pub(crate) open: bool,
}

/// A type, and the row of the validation tables that describes its schema.
struct TypeRow {
    path: String,
    name: String,
    row: RowId,
}

impl ModelEmitter<'_> {
    /// Generates the module `json_schemas`, as imports and the source text that follows them. Returns `None`
    /// if there are no types.
    ///
    /// `replaced` lists schemas whose type is generated outside the models, with the path of the type.
    /// `texts` lists further string enums.
    pub(crate) fn json_schemas(
        &self,
        replaced: &[(SchemaId, String)],
        texts: &[ExtraStringEnum],
    ) -> Option<(TokenStream, String)> {
        let typed = self.type_rows(replaced);
        // If no type refers to the tables, they are not imported.
        let (uses, mut out) =
            if typed.is_empty() { Default::default() } else { self.published_module(&typed) };
        let formats = self.tables.mapped_formats();
        let formats: Vec<String> =
            formats.map(|mapped| format!("{} as {:?}", mapped.type_path(), mapped.format)).collect();
        push_macro_call(&mut out, "format_schemas", "formats", &formats);
        for (word, open) in [("closed", false), ("open", true)] {
            let of = texts.iter().filter(|text| text.open == open);
            let of: Vec<String> = of.map(|text| format!("{} as {:?}", text.path, text.name)).collect();
            push_macro_call(&mut out, "string_enum_schemas", word, &of);
        }
        (!out.is_empty()).then_some((uses, out))
    }

    /// Generates the static `PUBLISHED`, which describes all schemas, and the implementation of `JsonSchema`
    /// for each type.
    fn published_module(&self, typed: &[TypeRow]) -> (TokenStream, String) {
        let mut named: BTreeMap<RowId, String> = BTreeMap::new();
        for typed in typed {
            named.entry(typed.row).or_insert_with(|| typed.path.clone());
        }
        let shared = self.tables.shared_rows();
        let unnamed: Vec<RowId> = shared.into_iter().filter(|row| !named.contains_key(row)).collect();
        for row in &unnamed {
            named.insert(*row, self.marker_type(*row));
        }
        let annotations = self.annotation_rows();
        let members = self.described_members();
        let types = (!typed.iter().any(|typed| typed.path.starts_with("types::"))).then(TokenStream::new);
        let types = types.unwrap_or_else(|| quote!(types));
        let annotated = (!annotations.is_empty()).then(|| quote!(SchemaAnnotations,));
        let described = (!members.is_empty()).then(|| quote!(MemberDescription,));
        let generator = (!named.is_empty()).then(|| quote!(SchemaGenerator,));
        let uses = quote! {
            use ::contract_runtime::json_schema::{#annotated #described PublishedSchemas, #generator};
            use super::{schemas, #types};
        };
        let mut out = String::from(
            "static PUBLISHED: PublishedSchemas = PublishedSchemas {\n    tables: &schemas::TABLES,\n",
        );
        let row = |row: &RowId| self.tables.row_text(*row);
        let of =
            named.iter().map(|(id, path)| format!("({}, SchemaGenerator::subschema_for::<{path}>)", row(id)));
        push_list(&mut out, "named", of);
        push_list(&mut out, "annotations", annotations.into_iter());
        push_list(&mut out, "members", members.into_iter());
        push_list(&mut out, "dynamic", self.tables.dynamic_rows().iter().map(row));
        out.push_str("};\n");
        out.insert_str(0, "#[rustfmt::skip]\n");
        for id in &unnamed {
            let (file, pointer) = self.tables.row_place(*id).unwrap_or_default();
            let (name, place) = (self.marker_type(*id), format!("{file}#{pointer}"));
            out.push_str(&format!(
                "\n/// {place:?}\n#[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = \"named as the row is\")]\nenum {name} {{}}\n"
            ));
        }
        let mut impls = Vec::new();
        for TypeRow { path, name, row: id } in typed {
            impls.push(format!("{path} as {name:?} = {}", row(id)));
        }
        let mut names = BTreeSet::new();
        for id in &unnamed {
            impls.push(format!(
                "{} as {:?} = {}",
                self.marker_type(*id),
                self.row_title(*id, &mut names),
                row(id)
            ));
        }
        push_macro_call(&mut out, "json_schemas", "PUBLISHED", &impls);
        (uses, out)
    }

    fn type_rows(&self, replaced: &[(SchemaId, String)]) -> Vec<TypeRow> {
        let mut typed = Vec::new();
        for def in &self.shapes.types {
            let Some(row) = self.tables.row_id(&def.conj.ids) else { continue };
            let name = def.name.trim_start_matches("r#").to_owned();
            typed.push(TypeRow { path: format!("types::{}", def.name), name, row });
        }
        typed.sort_by(|a, b| a.name.cmp(&b.name));
        let mut seen = BTreeSet::new();
        for (id, path) in replaced {
            let Some(row) = self.tables.row_id(&[*id]) else { continue };
            if seen.insert(path) {
                let name = path.rsplit("::").next().unwrap_or(path).to_owned();
                typed.push(TypeRow { path: path.clone(), name, row });
            }
        }
        typed
    }

    /// Returns the name of the marker type that represents a schema without a generated type.
    fn marker_type(&self, row: RowId) -> String {
        let text = self.tables.row_text(row);
        text.trim_start_matches("schemas::").replace(".offset_by(", "_plus_").replace(')', "")
    }

    /// Returns the name under which a schema without a generated type is published, such as `ship.shipId`. A
    /// number is added if the name is in `taken`.
    fn row_title(&self, row: RowId, taken: &mut BTreeSet<String>) -> String {
        let (file, pointer) = self.tables.row_place(row).unwrap_or_default();
        let stem = file.split('.').next().unwrap_or(file);
        let steps =
            pointer.split('/').filter(|step| !matches!(*step, "" | "$defs" | "components" | "schemas"));
        let plain: Vec<String> = std::iter::once(stem)
            .chain(steps)
            .map(|step| {
                step.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).collect()
            })
            .collect();
        // The dot distinguishes the name from the names of types.
        let plain = if plain.len() > 1 { plain.join(".") } else { format!("{}.root", plain.join(".")) };
        let mut name = plain.clone();
        let mut number = 1_u32;
        while !taken.insert(name.clone()) {
            number += 1;
            name = format!("{plain}.{number}");
        }
        name
    }

    fn annotation_rows(&self) -> Vec<String> {
        let mut out = Vec::new();
        for (row, id) in self.tables.own_rows() {
            let (texts, flags) = schema_annotations(self.graph.schema(id));
            if !(texts.is_empty() && flags.is_empty()) {
                let row = self.tables.row_text(row);
                out.push(format!(
                    "SchemaAnnotations {{ schema: {row}, texts: &{texts:?}, flags: &{flags:?} }}"
                ));
            }
        }
        out
    }

    /// Returns an entry for each property that has a description of its own, although its schema shares a row
    /// with another schema.
    fn described_members(&self) -> Vec<String> {
        let own: BTreeSet<SchemaId> = self.tables.own_rows().map(|(_, id)| id).collect();
        let mut out = Vec::new();
        for (row, id) in self.tables.own_rows() {
            let mut members: Vec<&(String, SchemaId)> = self.graph.schema(id).properties.iter().collect();
            members.sort_unstable();
            for (member, id) in members.into_iter().filter(|(_, id)| !own.contains(id)) {
                if let Some(text) = &self.graph.schema(*id).description {
                    let row = self.tables.row_text(row);
                    out.push(format!(
                        "MemberDescription {{ schema: {row}, member: {member:?}, description: {text:?} }}"
                    ));
                }
            }
        }
        out
    }
}

/// Returns the annotations of a schema: keywords with string values, and the names of flags that are true.
fn schema_annotations(schema: &Schema) -> (Vec<(&str, &str)>, Vec<&'static str>) {
    let texts = [
        ("title", &schema.title),
        ("description", &schema.description),
        ("format", &schema.format),
        ("contentEncoding", &schema.content_encoding),
        ("contentMediaType", &schema.content_media_type),
    ];
    let texts = texts.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?)));
    let flags =
        [("deprecated", schema.deprecated), ("readOnly", schema.read_only), ("writeOnly", schema.write_only)];
    (texts.collect(), flags.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect())
}

fn push_list(out: &mut String, field: &str, entries: impl Iterator<Item = String>) {
    let entries: Vec<String> = entries.map(|entry| format!("        {entry},\n")).collect();
    if entries.is_empty() {
        out.push_str(&format!("    {field}: &[],\n"));
    } else {
        out.push_str(&format!("    {field}: &[\n{}    ],\n", entries.concat()));
    }
}

fn push_macro_call(out: &mut String, name: &str, head: &str, entries: &[String]) {
    if !entries.is_empty() {
        let between = if out.is_empty() { "" } else { "\n" };
        out.push_str(&format!("{between}::contract_runtime::{name}! {{\n    {head} {{\n"));
        entries.iter().for_each(|entry| out.push_str(&format!("        {entry},\n")));
        out.push_str("    }\n}\n");
    }
}
