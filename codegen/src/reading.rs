//! A contract, read and understood: what all who write or say something about it start from.

use crate::{
    api::Api,
    diagnostics::Diagnostics,
    load::Sources,
    options::Options,
    plan::Plans,
    prune::Whole,
    schema::{Graph, SchemaId},
    shape::{Body, Shapes, TypeRef},
    tables::{Shelves, TablePlan, TableSet},
};

/// What is known of a contract once its types are decided.
#[derive(Debug)]
pub struct Reading {
    /// The documents.
    pub sources: Sources,
    /// What was noticed.
    pub diagnostics: Diagnostics,
    /// What there was before a part was taken; `None` where all of it is.
    pub whole: Option<Whole>,
    /// Every schema.
    pub(crate) graph: Graph,
    /// Every operation, of all documents together.
    pub(crate) api: Api,
    /// Every type.
    pub(crate) shapes: Shapes,
    /// What the tables of all schemas will be.
    pub(crate) rows: TablePlan,
    /// What the shapes were made with.
    pub(crate) options: Options,
}

impl Reading {
    /// How many operations it has, of all documents together.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.api.operations.len()
    }

    /// Title and version of the contract: `Tickets 1.2.0`; empty where it is schemas alone.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.api.title, self.api.version).trim().to_owned()
    }

    /// The Rust type of the schema at a place, by the file's name and the JSON Pointer in it, and the row of
    /// the tables that judges by it; `None` where no schema stands there, or one that needs no type of its own.
    ///
    /// ```
    /// use contract_codegen::{Project, Sources};
    ///
    /// let text = r#"{"title": "Seat", "type": "object", "properties": {"row": {"type": "integer"}}}"#;
    /// let sources = Sources::from_texts(&[("seat.schema.json", "", text)])?;
    /// let contract = Project::default().understand(sources)?;
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
        let TypeRef::Named(ty) = self.shapes.of(id) else { return None };
        Some((&self.shapes.get(*ty).name, self.rows.row_name(id)?))
    }

    /// The tables of all schemas.
    #[must_use]
    pub(crate) fn tables<'t>(&'t self, shelves: &'t Shelves<'t>) -> TableSet<'t> {
        self.rows.build(&self.graph, shelves)
    }

    /// What there is, by what it is called: `structs`, `fields`, `operations`.
    #[must_use]
    pub(crate) fn counts(&self, plans: &Plans<'_>) -> Vec<(&'static str, usize)> {
        let mut all = [0usize; 7];
        for def in &self.shapes.types {
            match &def.body {
                Body::Struct(body) => {
                    all[1] += 1;
                    all[6] += body.fields.len();
                }
                Body::Tagged(_) => all[2] += 1,
                Body::ByKind(_) => all[3] += 1,
                Body::Enum(_) => all[4] += 1,
                Body::Newtype(_) | Body::Pending => all[5] += 1,
            }
        }
        all[0] = self.shapes.types.len();
        let names =
            ["types", "structs", "tagged enums", "enums by JSON type", "enumerations", "newtypes", "fields"];
        let mut out: Vec<(&'static str, usize)> = names.into_iter().zip(all).collect();
        out.push(("operations", plans.paths.calls.len()));
        out.push(("webhooks", plans.webhooks.calls.len()));
        out.push(("schemas", self.graph.schemas.len()));
        out.push(("documents", self.sources.sources.len()));
        out
    }
}
