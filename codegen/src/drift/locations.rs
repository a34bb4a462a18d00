//! Locates elements of both versions in their source files.

use std::collections::BTreeMap;

use contract_codegen_core::{
    diagnostics::SourceTextProvider,
    schema::keywords::Keyword,
    tree::{DocumentLocation, SourceId, Span},
};
use contract_runtime::{pointer::join_token, text::LineStarts};

use super::{ContractVersion, SourceLocation, proof::VersionSide};

/// The source locations of an element in both versions; `None` for a version without the element.
pub(super) type LocationPair = (Option<SourceLocation>, Option<SourceLocation>);

/// A lookup of the source locations of elements in the files of both versions.
pub(super) struct SourceLocator<'g> {
    old: &'g ContractVersion,
    new: &'g ContractVersion,
    /// The line starts of each source file; the key is `true` for files of the new version.
    lines: BTreeMap<(bool, SourceId), LineStarts>,
}

impl<'g> SourceLocator<'g> {
    pub(super) const fn new(old: &'g ContractVersion, new: &'g ContractVersion) -> Self {
        Self { old, new, lines: BTreeMap::new() }
    }

    /// Returns the source location of an element, or of a keyword in it.
    pub(super) fn locate(
        &mut self,
        side: VersionSide,
        place: &DocumentLocation,
        keyword: Option<Keyword>,
    ) -> SourceLocation {
        let version = if side == VersionSide::Old { self.old } else { self.new };
        // Older drafts may use another keyword, and an overlay may add the keyword.
        let named = keyword.and_then(|keyword| {
            let member = version
                .sources
                .get(place.source)?
                .tree
                .resolve_pointer(&place.pointer)?
                .member(keyword.name())?;
            let pointer = join_token(&place.pointer, keyword.name());
            Some(DocumentLocation { source: place.source, pointer, span: member.key_span })
        });
        let place = named.as_ref().unwrap_or(place);
        // A value that an overlay adds is located in the overlay.
        let origin = version.sources.original_place(place);
        let place = origin.as_ref().unwrap_or(place);
        let lines = self.lines.entry((side == VersionSide::New, place.source));
        let lines =
            lines.or_insert_with(|| LineStarts::new(&version.source_text(place.source).unwrap_or_default()));
        let line = lines.line_at(place.span.start as usize) + 1;
        SourceLocation { file: version.file_name(place.source), pointer: place.pointer.clone(), line }
    }
}

/// Returns the location of the element to which a JSON Pointer refers. If the element does not exist, returns
/// the location of its deepest existing ancestor.
pub(super) fn nearest_place(
    version: &ContractVersion,
    source: SourceId,
    pointer: &str,
) -> Option<DocumentLocation> {
    let tree = &version.sources.get(source)?.tree;
    let mut pointer = pointer;
    loop {
        if let Some(found) = tree.resolve_pointer(pointer) {
            let Span { start, end } = found.span;
            return Some(DocumentLocation { source, pointer: pointer.to_owned(), span: Span { start, end } });
        }
        pointer = pointer.rsplit_once('/')?.0;
    }
}
