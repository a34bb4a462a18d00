//! A contract, read and understood: what all who write or say something about it start from.

use crate::{
    api::Api,
    diagnostics::Diagnostics,
    load::Sources,
    options::Options,
    plan::Plans,
    prune::Whole,
    schema::Graph,
    shape::{Body, Shapes},
    tables::{Shelves, TablePlan, TableSet},
};

/// What is known of a contract once its types are decided.
#[derive(Debug)]
pub struct Reading {
    /// The documents.
    pub sources: Sources,
    /// Every schema.
    pub graph: Graph,
    /// Every operation, of all documents together.
    pub api: Api,
    /// Every type.
    pub shapes: Shapes,
    /// What the tables of all schemas will be.
    pub rows: TablePlan,
    /// What was noticed.
    pub diagnostics: Diagnostics,
    /// What the shapes were made with.
    pub options: Options,
    /// What there was before a part was taken.
    pub whole: Option<Whole>,
}

impl Reading {
    /// The tables of all schemas.
    #[must_use]
    pub fn tables<'t>(&'t self, shelves: &'t Shelves<'t>) -> TableSet<'t> {
        self.rows.build(&self.graph, shelves)
    }

    /// What there is, by what it is called: `structs`, `fields`, `operations`.
    #[must_use]
    pub fn counts(&self, plans: &Plans<'_>) -> Vec<(&'static str, usize)> {
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
