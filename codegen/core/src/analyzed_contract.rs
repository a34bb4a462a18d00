//! A contract with resolved names and decided types: the input of all stages that write code or reports.

use contract_runtime::Json;

use crate::{
    api::OpenApiDocument,
    diagnostics::Diagnostics,
    load::Sources,
    options::SchemaOptions,
    plan::ContractPlan,
    prune::ContractSize,
    schema::{SchemaGraph, SchemaId},
    shape::{self, Shapes, TypeBody, TypeRef},
    tables::{TableArenas, TablePlan, TableSet},
};

/// A contract with resolved names and decided types, ready for code generation.
#[derive(Debug)]
pub struct AnalyzedContract {
    /// The documents that the contract was loaded from.
    pub sources: Sources,
    /// The warnings and notes collected while the contract was analyzed.
    pub diagnostics: Diagnostics,
    /// The size of the whole contract; `None` if nothing was pruned.
    pub full_size: Option<ContractSize>,
    #[doc(hidden)]
    pub graph: SchemaGraph,
    /// All operations, merged from all documents.
    #[doc(hidden)]
    pub api: OpenApiDocument,
    #[doc(hidden)]
    pub shapes: Shapes,
    /// The layout of the validation tables for all schemas.
    pub(crate) table_plan: TablePlan,
    /// The options that the shapes were built with.
    #[doc(hidden)]
    pub options: SchemaOptions,
    /// True if the documents mention [`DONE_MARKER`](crate::plan::DONE_MARKER).
    pub has_done_marker: bool,
    /// Each `oneOf` with a `discriminator` that rejects a value because several branches accept the value.
    /// The second element is an example of such a value.
    pub overlapping_unions: Vec<(SchemaId, Json)>,
}

impl AnalyzedContract {
    /// Returns the number of operations in all documents.
    #[must_use]
    pub fn operation_count(&self) -> usize {
        self.api.operations.len()
    }

    /// Returns title and version of the contract, such as `Tickets 1.2.0`; empty for plain schemas.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.api.title, self.api.version).trim().to_owned()
    }

    /// Returns the name of the Rust type and of the validation row for a schema, given a file name and a JSON
    /// Pointer. Returns `None` if there is no schema or it needs no type of its own.
    ///
    /// ```
    /// # use contract_codegen_core as contract_codegen;
    /// use contract_codegen::{Project, Sources};
    ///
    /// let text = r#"{"title": "Seat", "type": "object", "properties": {"row": {"type": "integer"}}}"#;
    /// let sources = Sources::from_texts(&[("seat.schema.json", "", text)])?;
    /// let contract = Project::default().analyze_sources(sources)?;
    /// assert_eq!(contract.type_at("seat.schema.json", ""), Some(("Seat", "SEAT".to_owned())));
    /// assert_eq!(contract.type_at("seat.schema.json", "/properties/row"), None);
    /// # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
    /// ```
    #[must_use]
    pub fn type_at(&self, file: &str, pointer: &str) -> Option<(&str, String)> {
        let is_there = |id: &SchemaId| {
            let place = &self.graph.schema(*id).place;
            place.pointer == pointer
                && self.sources.get(place.source).is_some_and(|source| source.name == file)
        };
        let id = self.graph.ids().find(is_there)?;
        let TypeRef::Named(ty) = self.shapes.type_of_schema(id) else { return None };
        Some((&self.shapes.get(*ty).name, self.table_plan.row_name(id)?))
    }

    /// Makes the validation tables reject integers that the types of `types.machine-integers` cannot represent, as
    /// generated code does. By default, the tables accept every value that the contract allows.
    pub fn enforce_machine_integers(&mut self) {
        shape::add_machine_bounds(&mut self.graph, &self.options);
    }

    /// Builds the validation tables of all schemas.
    #[must_use]
    pub fn build_tables<'t>(&'t self, arenas: &'t TableArenas<'t>) -> TableSet<'t> {
        self.table_plan.build_tables(&self.graph, arenas)
    }

    /// Returns the number of items of each kind, such as `structs`, `fields` and `operations`.
    #[must_use]
    pub fn count_items(&self, plans: &ContractPlan<'_>) -> Vec<(&'static str, usize)> {
        let mut all = [0usize; 8];
        for def in &self.shapes.types {
            match &def.body {
                TypeBody::Struct(body) => {
                    all[1] += 1;
                    all[7] += body.fields.len();
                }
                TypeBody::Objects(body) if body.tag().is_some() => all[2] += 1,
                TypeBody::Objects(_) => all[3] += 1,
                TypeBody::ByKind(_) => all[4] += 1,
                TypeBody::Enum(_) => all[5] += 1,
                TypeBody::Newtype(_) | TypeBody::Pending => all[6] += 1,
            }
        }
        all[0] = self.shapes.types.len();
        let names = [
            "types",
            "structs",
            "tagged enums",
            "enums by properties",
            "enums by JSON type",
            "enumerations",
            "newtypes",
            "fields",
        ];
        let mut out: Vec<(&'static str, usize)> = names.into_iter().zip(all).collect();
        out.push(("operations", plans.paths.calls.len()));
        out.push(("webhooks", plans.webhooks.calls.len()));
        out.push(("schemas", self.graph.schemas.len()));
        out.push(("documents", self.sources.sources.len()));
        out
    }
}
