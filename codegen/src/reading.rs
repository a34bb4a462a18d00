//! A contract, read and understood: what all who write or say something about it start from.

use crate::{
    api::Api, diagnostics::Diagnostics, load::Sources, options::Options, prune::Whole, schema::Graph,
    shape::Shapes, tables::TableSet,
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
    /// The tables of all schemas.
    pub tables: TableSet,
    /// What was noticed.
    pub diagnostics: Diagnostics,
    /// What the shapes were made with.
    pub options: Options,
    /// What there was before a part was taken.
    pub whole: Option<Whole>,
}
