//! A contract, read and understood: what all who write or say something about it start from.

use crate::{
    api::Api,
    diagnostics::Diagnostics,
    load::Sources,
    options::Options,
    prune::Whole,
    schema::Graph,
    shape::Shapes,
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
}
