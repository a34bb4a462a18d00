//! The two modes of a validation: it stops at the first failure, or collects violations.

use std::sync::Arc;

use super::ResourceId;
use super::Schema;
use super::SchemaTables;
use super::limit_text::limit_text;
use crate::violation::InstancePath;
use crate::violation::Violation;

/// A receiver of validation failures.
pub(super) trait ViolationSink {
    /// Whether the sink stores the failures.
    const COLLECTS: bool;

    /// Whether the violations of a union include those of the closest branch.
    const FINDS_CLOSEST: bool;

    /// Records that the value at `path` violates `keyword` of `schema`. An implementation may drop the
    /// violation.
    fn record_violation(&mut self, path: &InstancePath<'_>, keyword: &'static str, schema: &Schema<'_>);

    /// Records a violation like [`Self::record_violation`], with a limit other than the value of the keyword.
    fn record_with_limit(
        &mut self,
        path: &InstancePath<'_>,
        keyword: &'static str,
        schema: &Schema<'_>,
        limit: String,
    ) {
        let _ = limit;
        self.record_violation(path, keyword, schema);
    }

    /// Returns true if further failures have no effect.
    fn is_done(&self) -> bool;

    /// Returns true if failures at or below `path` have no effect. This check is cheap unless the sink is
    /// full.
    fn ignores_path(&self, path: &InstancePath<'_>) -> bool;
}

/// A sink that stores nothing, for callers that only need to know whether there is a failure.
pub(super) struct ProbeSink;

impl ViolationSink for ProbeSink {
    const COLLECTS: bool = false;
    const FINDS_CLOSEST: bool = false;

    #[inline]
    fn record_violation(&mut self, _: &InstancePath<'_>, _: &'static str, _: &Schema<'_>) {}

    #[inline]
    fn is_done(&self) -> bool {
        true
    }

    #[inline]
    fn ignores_path(&self, _: &InstancePath<'_>) -> bool {
        false
    }
}

/// A sink that collects violations up to a limit. Beyond the limit, violations with shorter pointers displace
/// those with longer ones, and among pointers of equal length the first ones are kept. A violation of a value
/// itself, such as `maxItems`, is therefore never displaced by violations inside the value.
pub(super) struct ViolationCollector<'t> {
    tables: &'t SchemaTables<'t>,
    /// The remaining capacity before violations are displaced.
    room: usize,
    /// The violations, grouped by the depth of their path. Invariant: the last list is not empty.
    found: Vec<Vec<Violation>>,
    /// The most recently used location: the resource, the length of the pointer, and the complete string.
    last: Option<(ResourceId, usize, Arc<str>)>,
    /// The keyword and limit of the most recent violation at `last`.
    last_limit: Option<(&'static str, Option<Arc<str>>)>,
}

impl<'t> ViolationCollector<'t> {
    /// Creates a collector of at most `cap` violations.
    pub(super) fn new(tables: &'t SchemaTables<'t>, cap: usize) -> Self {
        Self { tables, room: cap, found: Vec::new(), last: None, last_limit: None }
    }

    /// Returns the collected violations, sorted by the depth of their path.
    pub(super) fn into_violations(self) -> Vec<Violation> {
        self.found.into_iter().flatten().collect()
    }

    /// Returns the location of a schema. Consecutive violations of the same schema share the string.
    fn shared_location(&mut self, schema: &Schema<'_>) -> Arc<str> {
        let pointer = schema.location;
        if let Some((resource, length, location)) = &self.last
            && *resource == schema.resource
            && *length == pointer.len()
            && location.ends_with(pointer)
        {
            return Arc::clone(location);
        }
        self.last_limit = None;
        let location = Arc::from(self.tables.schema_location(schema));
        self.last = Some((schema.resource, pointer.len(), Arc::clone(&location)));
        location
    }

    /// Returns the limit of a keyword. Consecutive violations of one keyword share the string. Must be called after
    /// [`Self::shared_location`], which discards the limit of another schema.
    fn shared_limit(&mut self, schema: &Schema<'_>, keyword: &'static str) -> Option<Arc<str>> {
        if let Some((last, limit)) = &self.last_limit
            && *last == keyword
        {
            return limit.clone();
        }
        let limit = limit_text(schema, keyword).map(Arc::from);
        self.last_limit = Some((keyword, limit.clone()));
        limit
    }

    /// Records a violation. Without `limit`, its limit is the value of the keyword.
    fn record(
        &mut self,
        path: &InstancePath<'_>,
        keyword: &'static str,
        schema: &Schema<'_>,
        limit: Option<Arc<str>>,
    ) {
        let depth = path.depth();
        if self.make_room(depth) {
            if self.found.len() <= depth {
                self.found.resize_with(depth + 1, Vec::new);
            }
            let location = self.shared_location(schema);
            let limit = limit.or_else(|| self.shared_limit(schema, keyword));
            if let Some(found) = self.found.get_mut(depth) {
                found.push(Violation { pointer: path.to_pointer(), keyword, schema: location, limit });
            }
        }
    }

    /// Makes room for a violation at this depth, displacing a deeper one if necessary. Returns false if there
    /// is no room.
    fn make_room(&mut self, depth: usize) -> bool {
        if let Some(room) = self.room.checked_sub(1) {
            self.room = room;
            return true;
        }
        if self.found.len() <= depth + 1 {
            return false;
        }
        if let Some(deepest) = self.found.last_mut() {
            deepest.pop();
        }
        while self.found.last().is_some_and(Vec::is_empty) {
            self.found.pop();
        }
        true
    }
}

impl ViolationSink for ViolationCollector<'_> {
    const COLLECTS: bool = true;
    const FINDS_CLOSEST: bool = true;

    #[cold]
    #[inline(never)]
    fn record_violation(&mut self, path: &InstancePath<'_>, keyword: &'static str, schema: &Schema<'_>) {
        self.record(path, keyword, schema, None);
    }

    #[cold]
    #[inline(never)]
    fn record_with_limit(
        &mut self,
        path: &InstancePath<'_>,
        keyword: &'static str,
        schema: &Schema<'_>,
        limit: String,
    ) {
        self.record(path, keyword, schema, Some(limit.into()));
    }

    /// Returns true if the collector is full of violations at the root of the document, which no other
    /// violation can displace.
    fn is_done(&self) -> bool {
        self.room == 0 && self.found.len() <= 1
    }

    /// Returns true if the collector is full and no collected violation is deeper than `path`.
    #[inline]
    fn ignores_path(&self, path: &InstancePath<'_>) -> bool {
        self.room == 0 && path.depth() + 1 >= self.found.len()
    }
}
