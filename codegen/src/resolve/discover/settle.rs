//! Settles references: in rounds, until nothing that was found leads to anything new.

use crate::{
    diagnostics::Diagnostic,
    load::uri,
    schema::{Origin, keywords::Keyword},
    tree::{SourceId, name_of},
};

use super::{
    super::{
        dialect::Dialect,
        locate::{Lost, Target, malformed},
        openapi::object::Kind,
    },
    Discovery, Expect, Job, Node, Pending, RECURSIVE, What, is_schema, stem,
};

impl<'t> Discovery<'t> {
    /// Settles references until nothing new turns up; what is left then is lost.
    pub(super) fn settle_all(&mut self) {
        self.drain();
        loop {
            let batch = std::mem::take(&mut self.pending);
            if batch.is_empty() {
                return;
            }
            let mut kept = Vec::new();
            let mut progress = false;
            for pending in batch {
                match self.settle(&pending) {
                    Ok(()) => progress = true,
                    Err(lost) => kept.push((pending, lost)),
                }
            }
            if !progress && self.pending.is_empty() {
                for (pending, lost) in kept {
                    self.lose(&pending, &lost);
                }
                return;
            }
            self.pending.extend(kept.into_iter().map(|(pending, _)| pending));
        }
    }

    fn settle(&mut self, pending: &Pending<'t>) -> Result<(), Lost> {
        let mut target = match self.target(pending) {
            // Anchors are known only once their document was walked.
            Err(Lost::Anchor { uri, .. }) if self.walk_named(&uri, pending.dialect) => {
                self.target(pending)?
            }
            other => other?,
        };
        let object = matches!(pending.expect, Expect::Object(_));
        if !self.walked.get(target.source.0 as usize).copied().unwrap_or(true) {
            let whole = !(object && target.pointer.is_empty());
            self.walk(target.source, pending.dialect, whole);
            self.drain();
            target = self.target(pending)?;
        }
        if self.sources.is_broken(target.source) {
            if let Expect::Schema { node, .. } = pending.expect {
                self.dangling.insert(node, pending.reference);
            }
            return Ok(());
        }
        // Other tools take the text for the name of a file, and so did its author.
        if let Some(meant) = uri::escaped(pending.reference)
            && let Err(reason) = uri::resolve("file:///", pending.reference)
        {
            let problem = malformed(pending, &reason);
            self.problems.push(problem.mended(format!("it is read as `{meant}`")));
        }
        if target.hopped {
            let message = format!("`{}` points through another reference", pending.reference);
            let problem = Diagnostic::warning("pointer-through-reference", message)
                .at(pending.place.clone())
                .help("JSON Pointers do not follow references elsewhere: name the target itself");
            self.problems.push(problem);
        }
        match pending.expect {
            Expect::Schema { node, keyword } => self.settle_schema(node, keyword, pending, target),
            Expect::Object(kind) => {
                let holder = (pending.place.source, pending.holder.clone());
                self.links.insert(holder, (target.source, target.pointer.clone()));
                let (resource, dialect) = self.context(target.source, &target.pointer, pending.dialect);
                let job = Job {
                    what: What::Object(kind),
                    source: target.source,
                    pointer: target.pointer,
                    tree: target.tree,
                    resource,
                    dialect,
                };
                self.queue.push(job);
                self.drain();
                Ok(())
            }
        }
    }

    /// Walks the document of a URI; whether that was new.
    fn walk_named(&mut self, address: &str, dialect: Dialect) -> bool {
        let held = self.uris.get(&uri::key(address)).and_then(|index| self.resources.get(*index));
        let Some(source) = held.map(|held| held.source) else { return false };
        let new = !self.walked.get(source.0 as usize).copied().unwrap_or(true);
        self.walk(source, dialect, true);
        self.drain();
        new
    }

    fn settle_schema(
        &mut self,
        node: usize,
        keyword: Keyword,
        pending: &Pending<'t>,
        target: Target<'t>,
    ) -> Result<(), Lost> {
        if !is_schema(target.tree) {
            return Err(Lost::NotASchema(target.tree.kind()));
        }
        let document = (target.source, target.pointer.clone(), Kind::Document);
        if self.objects.contains(&document) {
            return Err(Lost::NotASchema(Kind::Document.name()));
        }
        let at = (target.source.0 as usize, target.pointer.clone());
        let known = |this: &Self| this.schemas.get(at.0).and_then(|known| known.get(&at.1)).copied();
        if known(self).is_none() {
            let (resource, dialect) = self.context(target.source, &target.pointer, pending.dialect);
            let origin = match target.pointer.rsplit_once('/') {
                // Positions that no keyword makes a schema: `#/fragments/x` is as good as `$defs`.
                Some((_, last)) => Origin::Definition(name_of(last).into_owned()),
                None => {
                    Origin::Root(self.sources.get(target.source).map(|s| stem(&s.name)).unwrap_or_default())
                }
            };
            let Target { source, pointer, tree, .. } = target;
            let what = What::Schema(origin);
            self.queue.push(Job { what, source, pointer, tree, resource, dialect });
            self.drain();
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

    fn target(&self, pending: &Pending<'t>) -> Result<Target<'t>, Lost> {
        if let Expect::Schema { keyword: Keyword::RecursiveRef, .. } = pending.expect {
            // 2019-09, 8.2.4.2: `#` is its only value.
            if pending.reference != "#" {
                return Err(Lost::Malformed("`$recursiveRef` is always `#`".to_owned()));
            }
            let mut target = self.locate(pending.resource, "#", 0)?;
            let root = self.resources.get(pending.resource).and_then(|held| held.root);
            let anchored = self.anchors.get(&(pending.resource, RECURSIVE.to_owned()));
            target.anchor = anchored.filter(|(node, _)| Some(*node) == root).map(|_| RECURSIVE.to_owned());
            return Ok(target);
        }
        self.locate(pending.resource, pending.reference, 0)
    }

    /// Resource and dialect of a position that no keyword led to: those of the nearest schema
    /// around it.
    pub(crate) fn context(&self, source: SourceId, pointer: &str, fallback: Dialect) -> (usize, Dialect) {
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

    fn lose(&mut self, pending: &Pending<'t>, lost: &Lost) {
        if let Lost::Unknown(uri) | Lost::Unescaped { uri, .. } = lost {
            self.missing.push((uri.clone(), pending.place.clone()));
        }
        let mend = match pending.expect {
            Expect::Schema { node, .. } => {
                self.dangling.insert(node, pending.reference);
                let is_alone = self.nodes.get(node).is_none_or(Node::is_only_a_reference);
                if is_alone { "any JSON passes" } else { "what stands beside it counts alone" }
            }
            Expect::Object(kind) => kind.lost(),
        };
        let nearer = match lost {
            Lost::Unknown(uri) => match self.sources.unanswered(uri) {
                Some((file, folder, prefix)) => Some(Lost::Unmounted { file, folder, prefix }),
                None => self.sources.above(uri, pending.reference, pending.place.source).map(Lost::Above),
            },
            _ => None,
        };
        self.lost.push(nearer.as_ref().unwrap_or(lost).diagnostic(pending).mended(mend));
    }
}
