//! Formats locations in a contract as `file:line #/pointer`.

use std::{cell::RefCell, collections::BTreeMap};

use contract_runtime::text::LineStarts;

use crate::{
    analyzed_contract::AnalyzedContract,
    tree::{DocumentLocation, SourceId},
};

impl AnalyzedContract {
    /// Formats a location in the contract as `file:line #/pointer`.
    #[must_use]
    pub fn format_location(&self, place: &DocumentLocation) -> String {
        LocationFormatter::new(self).format_location(place)
    }
}

/// A formatter for locations in a contract (`file:line #/pointer`), which indexes the lines of each document
/// once.
#[derive(Debug)]
pub struct LocationFormatter<'a> {
    contract: &'a AnalyzedContract,
    lines: RefCell<BTreeMap<SourceId, LineStarts>>,
}

impl<'a> LocationFormatter<'a> {
    /// Creates a formatter for the documents of a contract.
    #[must_use]
    pub fn new(contract: &'a AnalyzedContract) -> Self {
        Self { contract, lines: RefCell::default() }
    }

    /// Formats a location as `file:line #/pointer`.
    #[must_use]
    pub fn format_location(&self, place: &DocumentLocation) -> String {
        let Some(source) = self.contract.sources.get(place.source) else {
            return format!("#{}", place.pointer);
        };
        let mut lines = self.lines.borrow_mut();
        let lines = lines.entry(place.source).or_insert_with(|| LineStarts::new(&source.text));
        let name = self.contract.sources.shown_name(place.source);
        format!("{name}:{} #{}", lines.line_at(place.span.start as usize) + 1, place.pointer)
    }
}
