//! Where things stand in the files of both versions, in words that outlive what was read.

use std::collections::BTreeMap;

use contract_runtime::{pointer::join, text::Lines};

use super::{Spot, Version, proof::Side};
use crate::{
    diagnostics::Texts,
    schema::keywords::Keyword,
    tree::{Place, SourceId, Span},
};

/// Where something stands on both sides.
pub(super) type Spots = (Option<Spot>, Option<Spot>);

/// The files of both versions.
pub(super) struct Places<'g> {
    old: &'g Version,
    new: &'g Version,
    /// Per source.
    lines: BTreeMap<(bool, SourceId), Lines>,
}

impl<'g> Places<'g> {
    pub(super) const fn new(old: &'g Version, new: &'g Version) -> Self {
        Self { old, new, lines: BTreeMap::new() }
    }

    /// The line of a place, or of a keyword there.
    pub(super) fn spot(&mut self, side: Side, place: &Place, keyword: Option<Keyword>) -> Spot {
        let version = if side == Side::Old { self.old } else { self.new };
        // Older drafts and overlays may say it elsewhere, or in another way.
        let named = keyword.and_then(|keyword| {
            let member =
                version.sources.get(place.source)?.tree.at(&place.pointer)?.member(keyword.name())?;
            let pointer = join(&place.pointer, keyword.name());
            Some(Place { source: place.source, pointer, span: member.key_span })
        });
        let place = named.as_ref().unwrap_or(place);
        // What an overlay says is changed there.
        let origin = version.sources.origin(place);
        let place = origin.as_ref().unwrap_or(place);
        let lines = self.lines.entry((side == Side::New, place.source));
        let lines = lines.or_insert_with(|| Lines::of(&version.text(place.source).unwrap_or_default()));
        let line = lines.line(place.span.start as usize) + 1;
        Spot { file: version.file(place.source), pointer: place.pointer.clone(), line }
    }
}

/// The deepest place of a document that a pointer leads to: what is missing is looked for where it
/// would be.
pub(super) fn in_document(version: &Version, source: SourceId, pointer: &str) -> Option<Place> {
    let tree = &version.sources.get(source)?.tree;
    let mut pointer = pointer;
    loop {
        if let Some(found) = tree.at(pointer) {
            let Span { start, end } = found.span;
            return Some(Place { source, pointer: pointer.to_owned(), span: Span { start, end } });
        }
        pointer = pointer.rsplit_once('/')?.0;
    }
}
