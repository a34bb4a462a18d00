//! Resolves references in rounds, because the target of one reference may be found only by following another.
//! The rounds end when no further reference can be resolved.

use crate::{
    diagnostics::Diagnostic,
    load::uri,
    schema::{SchemaOrigin, keywords::Keyword},
    tree::{SourceId, unescape_token},
};

use super::{
    super::{
        dialect::SchemaDialect,
        locate::{ReferenceError, ReferenceTarget, malformed_reference},
        openapi::object::ObjectKind,
    },
    Discovery, ExpectedTarget, PendingReference, RECURSIVE_ANCHOR, SchemaNode, VisitJob, VisitKind,
    is_schema, schema_stem,
};

impl<'t> Discovery<'t> {
    /// Resolves all pending references. References that remain after a round without progress are reported as
    /// unresolved.
    pub(super) fn resolve_pending(&mut self) {
        self.drain_queue();
        loop {
            let batch = std::mem::take(&mut self.pending);
            if batch.is_empty() {
                return;
            }
            let mut kept = Vec::new();
            let mut progress = false;
            for pending in batch {
                match self.resolve_reference(&pending) {
                    Ok(()) => progress = true,
                    Err(lost) => kept.push((pending, lost)),
                }
            }
            if !progress && self.pending.is_empty() {
                for (pending, lost) in kept {
                    self.report_unresolved(&pending, &lost);
                }
                return;
            }
            self.pending.extend(kept.into_iter().map(|(pending, _)| pending));
        }
    }

    fn resolve_reference(&mut self, pending: &PendingReference<'t>) -> Result<(), ReferenceError> {
        let mut target = match self.find_target(pending) {
            // The anchors of a document are known only after it was visited.
            Err(ReferenceError::Anchor { uri, .. }) if self.queue_document_by_uri(&uri, pending.dialect) => {
                self.find_target(pending)?
            }
            other => other?,
        };
        let object = matches!(pending.expect, ExpectedTarget::Object(_));
        if !self.walked.get(target.source.0 as usize).copied().unwrap_or(true) {
            let whole = !(object && target.pointer.is_empty());
            self.queue_document(target.source, pending.dialect, whole);
            self.drain_queue();
            target = self.find_target(pending)?;
        }
        if self.sources.is_broken(target.source) {
            if let ExpectedTarget::Schema { node, .. } = pending.expect {
                self.dangling.insert(node, pending.reference);
            }
            return Ok(());
        }
        // Other tools interpret such a reference as a file name without percent-encoding, which is probably
        // what its author intended.
        if let Some(meant) = uri::escape_file_reference(pending.reference)
            && let Err(reason) = uri::resolve_reference("file:///", pending.reference)
        {
            let problem = malformed_reference(pending, &reason);
            self.problems.push(problem.with_fallback(format!("it is read as `{meant}`")));
        }
        if target.hopped {
            let message =
                format!("the JSON Pointer of `{}` leads through another reference", pending.reference);
            let problem = Diagnostic::warning("pointer-through-reference", message)
                .with_place(pending.place.clone())
                .help("other tools do not follow references in JSON Pointers: refer to the target itself");
            self.problems.push(problem);
        }
        match pending.expect {
            ExpectedTarget::Schema { node, keyword } => self.link_schema(node, keyword, pending, target),
            ExpectedTarget::Object(kind) => {
                let holder = (pending.place.source, pending.holder.clone());
                self.links.insert(holder, (target.source, target.pointer.clone()));
                let (resource, dialect) =
                    self.position_context(target.source, &target.pointer, pending.dialect);
                let job = VisitJob {
                    what: VisitKind::Object(kind),
                    source: target.source,
                    pointer: target.pointer,
                    tree: target.tree,
                    resource,
                    dialect,
                };
                self.queue.push(job);
                self.drain_queue();
                Ok(())
            }
        }
    }

    /// Visits the document that has this URI. Returns true if the document was not visited before, and false
    /// if it was or is not loaded.
    fn queue_document_by_uri(&mut self, address: &str, dialect: SchemaDialect) -> bool {
        let held = self.uris.get(&uri::normalized_key(address)).and_then(|index| self.resources.get(*index));
        let Some(source) = held.map(|held| held.source) else { return false };
        let new = !self.walked.get(source.0 as usize).copied().unwrap_or(true);
        self.queue_document(source, dialect, true);
        self.drain_queue();
        new
    }

    fn link_schema(
        &mut self,
        node: usize,
        keyword: Keyword,
        pending: &PendingReference<'t>,
        target: ReferenceTarget<'t>,
    ) -> Result<(), ReferenceError> {
        if !is_schema(target.tree) {
            return Err(ReferenceError::NotASchema(target.tree.kind_with_article()));
        }
        let document = (target.source, target.pointer.clone(), ObjectKind::Document);
        if self.objects.contains(&document) {
            return Err(ReferenceError::NotASchema(ObjectKind::Document.display_name()));
        }
        let at = (target.source.0 as usize, target.pointer.clone());
        let known = |this: &Self| this.schemas.get(at.0).and_then(|known| known.get(&at.1)).copied();
        if known(self).is_none() {
            let (resource, dialect) = self.position_context(target.source, &target.pointer, pending.dialect);
            let origin = match target.pointer.rsplit_once('/') {
                // A position that no keyword identifies as a schema, such as `#/fragments/x`, has the name of
                // its last token, like a member of `$defs`.
                Some((_, last)) => SchemaOrigin::Definition(unescape_token(last).into_owned()),
                None => SchemaOrigin::Root(
                    self.sources.get(target.source).map(|s| schema_stem(&s.name)).unwrap_or_default(),
                ),
            };
            let ReferenceTarget { source, pointer, tree, .. } = target;
            let what = VisitKind::Schema(origin);
            self.queue.push(VisitJob { what, source, pointer, tree, resource, dialect });
            self.drain_queue();
        }
        let Some(found) = known(self) else { return Ok(()) };
        if let Some(holder) = self.nodes.get_mut(node) {
            match keyword {
                Keyword::Ref => holder.reference = Some(found),
                _ => holder.dynamic = Some((target.anchor, found)),
            }
        }
        Ok(())
    }

    fn find_target(&self, pending: &PendingReference<'t>) -> Result<ReferenceTarget<'t>, ReferenceError> {
        if let ExpectedTarget::Schema { keyword: Keyword::RecursiveRef, .. } = pending.expect {
            // `#` is the only allowed value (2019-09, 8.2.4.2).
            if pending.reference != "#" {
                return Err(ReferenceError::Malformed("`$recursiveRef` must be `#`".to_owned()));
            }
            let mut target = self.locate_reference(pending.resource, "#", 0)?;
            let root = self.resources.get(pending.resource).and_then(|held| held.root);
            let anchored = self.anchors.get(&(pending.resource, RECURSIVE_ANCHOR.to_owned()));
            target.anchor =
                anchored.filter(|(node, _)| Some(*node) == root).map(|_| RECURSIVE_ANCHOR.to_owned());
            return Ok(target);
        }
        self.locate_reference(pending.resource, pending.reference, 0)
    }

    /// Returns the resource and the dialect of a position that no keyword identifies as a schema. The
    /// position inherits both from the nearest enclosing schema.
    pub(crate) fn position_context(
        &self,
        source: SourceId,
        pointer: &str,
        fallback: SchemaDialect,
    ) -> (usize, SchemaDialect) {
        let index = source.0 as usize;
        let known = self.schemas.get(index);
        let mut rest = pointer;
        while let Some((before, _)) = rest.rsplit_once('/') {
            rest = before;
            if let Some(node) = known.and_then(|known| known.get(rest)).and_then(|at| self.nodes.get(*at)) {
                return (node.resource, node.dialect);
            }
        }
        let document = self.resources.get(index).and_then(|held| held.dialect);
        (index, document.unwrap_or(fallback))
    }

    fn report_unresolved(&mut self, pending: &PendingReference<'t>, error: &ReferenceError) {
        if let ReferenceError::Unknown(uri) | ReferenceError::Unescaped { uri, .. } = error {
            self.missing.push((uri.clone(), pending.place.clone()));
        }
        let fallback = match pending.expect {
            ExpectedTarget::Schema { node, .. } => {
                self.dangling.insert(node, pending.reference);
                let is_alone = self.nodes.get(node).is_none_or(SchemaNode::is_only_a_reference);
                if is_alone { "any JSON is accepted" } else { "only the adjacent keywords apply" }
            }
            ExpectedTarget::Object(kind) => kind.fallback_if_unresolved(),
        };
        let nearer = match error {
            ReferenceError::Unknown(uri) if self.sources.is_unfetched(uri) => {
                Some(ReferenceError::Unfetched(uri.clone()))
            }
            ReferenceError::Unknown(uri) => match self.sources.find_unanswered_mount(uri) {
                Some((file, folder, prefix)) => Some(ReferenceError::Unmounted { file, folder, prefix }),
                None => self
                    .sources
                    .find_above_root(uri, pending.reference, pending.place.source)
                    .map(ReferenceError::FileAboveRoot),
            },
            _ => None,
        };
        self.lost.push(nearer.as_ref().unwrap_or(error).diagnostic(pending).with_fallback(fallback));
    }
}
