//! The two ways to run a check: stop at the first failure, or collect.

use std::sync::Arc;

use super::ResourceId;
use super::Schema;
use super::Tables;
use crate::violation::Path;
use crate::violation::Violation;

/// Takes the failures of a check.
pub(super) trait Sink {
    /// Whether anything reads the failures.
    const COLLECTS: bool;

    /// Takes one failure.
    fn record(&mut self, path: &Path<'_>, keyword: &'static str, schema: &Schema<'_>);

    /// Whether another failure would change nothing.
    fn done(&self) -> bool;

    /// Whether a failure there or below would change nothing. Cheap unless much has failed.
    fn is_deaf_to(&self, path: &Path<'_>) -> bool;
}

/// Asks only whether there is a failure.
pub(super) struct Probe;

impl Sink for Probe {
    const COLLECTS: bool = false;

    #[inline]
    fn record(&mut self, _: &Path<'_>, _: &'static str, _: &Schema<'_>) {}

    #[inline]
    fn done(&self) -> bool {
        true
    }

    #[inline]
    fn is_deaf_to(&self, _: &Path<'_>) -> bool {
        false
    }
}

/// Keeps failures up to a number: of more than that the shallower ones, those found first where
/// they are equally deep. What is wrong with a value as a whole (`maxItems`) so never gets lost
/// among what is wrong inside it.
pub(super) struct Collect<'t> {
    tables: &'t Tables<'t>,
    /// How many more are kept before one has to go for each that comes.
    room: usize,
    /// What is kept, by the depth of the place; the last list is not empty.
    found: Vec<Vec<Violation>>,
    /// The last location that was asked for: its resource, the length of its pointer, the whole.
    last: Option<(ResourceId, usize, Arc<str>)>,
}

impl<'t> Collect<'t> {
    /// Keeps at most `cap`.
    pub(super) fn new(tables: &'t Tables<'t>, cap: usize) -> Self {
        Self { tables, room: cap, found: Vec::new(), last: None }
    }

    /// What was kept.
    pub(super) fn into_violations(self) -> Vec<Violation> {
        self.found.into_iter().flatten().collect()
    }

    /// What is wrong in many places is mostly so by one schema, whose location is written once.
    fn location(&mut self, schema: &Schema<'_>) -> Arc<str> {
        let pointer = schema.location;
        if let Some((resource, length, location)) = &self.last
            && *resource == schema.resource
            && *length == pointer.len()
            && location.ends_with(pointer)
        {
            return Arc::clone(location);
        }
        let location = Arc::from(self.tables.location(schema));
        self.last = Some((schema.resource, pointer.len(), Arc::clone(&location)));
        location
    }

    /// Whether there is room at this depth, if need be in the place of something deeper.
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

impl Sink for Collect<'_> {
    const COLLECTS: bool = true;

    #[cold]
    #[inline(never)]
    fn record(&mut self, path: &Path<'_>, keyword: &'static str, schema: &Schema<'_>) {
        let depth = path.depth();
        if self.make_room(depth) {
            if self.found.len() <= depth {
                self.found.resize_with(depth + 1, Vec::new);
            }
            let location = self.location(schema);
            if let Some(found) = self.found.get_mut(depth) {
                found.push(Violation { pointer: path.pointer(), keyword, schema: location });
            }
        }
    }

    /// Nothing is shallower than the document itself.
    fn done(&self) -> bool {
        self.room == 0 && self.found.len() <= 1
    }

    /// What has failed already is at most as deep.
    #[inline]
    fn is_deaf_to(&self, path: &Path<'_>) -> bool {
        self.room == 0 && path.depth() + 1 >= self.found.len()
    }
}
