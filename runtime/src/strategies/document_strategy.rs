//! [`DocumentStrategy`]: generates values from the constraints of their schemas, validates these values, and
//! shrinks them to values that remain valid.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use proptest::{
    arbitrary::any,
    collection::vec,
    sample::select,
    strategy::{BoxedStrategy, Just, NewTree, Strategy, Union, ValueTree},
    test_runner::TestRunner,
};

use super::{
    constraints::{ChoiceSite, ValueConstraints},
    scalars,
};
use crate::{
    Json, Map,
    schema::{SchemaId, SchemaTables, TypeSet, Validator},
};

/// The maximum number of nested levels. Optional parts are generated only in the outer half of the levels.
const MAX_LEVELS: u8 = 10;
/// The maximum number of candidates before generation fails, including candidates for parts of a value,
/// because retries of nested parts multiply.
const MAX_GENERATED: u32 = 20_000;
/// The maximum number of shrinking steps without success.
const MAX_SHRINK_STEPS: u32 = 4_096;
/// The maximum number of elements, and of undeclared members, beyond the required ones.
const MAX_EXTRA_PARTS: usize = 3;

/// A strategy for values that several schemas accept simultaneously.
#[derive(Clone)]
pub(super) struct DocumentStrategy {
    tables: &'static SchemaTables<'static>,
    rows: Arc<[SchemaId]>,
    chosen: Arc<[ChoiceSite]>,
    level: u8,
    effort: Arc<AtomicU32>,
}

/// The selection of optional members and elements that are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OptionalParts {
    Some,
    All,
    Least,
}

impl fmt::Debug for DocumentStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentStrategy")
            .field("rows", &self.rows)
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}

impl Strategy for DocumentStrategy {
    type Tree = ValidTree;
    type Value = Json;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let facts = ValueConstraints::collect(self.tables, &self.rows, &self.chosen);
        if facts.never || self.level == 0 {
            return Err("no value satisfies the schema".into());
        }
        if self.level == MAX_LEVELS {
            self.effort.store(MAX_GENERATED, Ordering::Relaxed);
        }
        // Deeper levels have fewer attempts.
        let tries = (self.level * self.level / 4).max(3);
        for attempt in 0..tries {
            let left = self.effort.load(Ordering::Relaxed).checked_sub(1).ok_or("too many attempts")?;
            self.effort.store(left, Ordering::Relaxed);
            let plenty = match (attempt % 3, self.level > MAX_LEVELS / 2) {
                (0, true) => OptionalParts::Some,
                (1, true) => OptionalParts::All,
                _ => OptionalParts::Least,
            };
            let Ok(tree) = self.candidate_strategy(&facts, plenty).new_tree(runner) else { continue };
            if self.accepts(&tree.current()) {
                return Ok(ValidTree { tree, place: self.clone() });
            }
        }
        Err("no valid value was found".into())
    }
}

impl DocumentStrategy {
    /// Creates a strategy for the root schema of a validator.
    pub(super) fn for_schema(validator: Validator<'static>) -> Self {
        let rows = Arc::from([validator.root]);
        Self {
            tables: validator.tables,
            rows,
            chosen: Arc::from([]),
            level: MAX_LEVELS,
            effort: Arc::default(),
        }
    }

    fn accepts(&self, value: &Json) -> bool {
        self.rows.iter().all(|row| Validator::new(self.tables, *row).is_valid(value))
    }

    fn child_strategy(&self, rows: Vec<SchemaId>) -> Self {
        Self { rows: rows.into(), chosen: Arc::from([]), level: self.level - 1, ..self.clone() }
    }

    /// Returns a strategy for values that probably match. The caller validates them.
    fn candidate_strategy(&self, facts: &ValueConstraints, plenty: OptionalParts) -> BoxedStrategy<Json> {
        if let Some(literals) = &facts.literals {
            return match literals.as_slice() {
                [] => Just(Json::Null).boxed(),
                _ => select(literals.clone()).boxed(),
            };
        }
        if let Some((holder, ways)) = &facts.choice {
            let chosen: Arc<[ChoiceSite]> = self.chosen.iter().chain([holder]).copied().collect();
            let ways = ways.iter().map(|way| {
                let rows = self.rows.iter().chain(way).copied().collect();
                Self { rows, chosen: Arc::clone(&chosen), level: self.level - 1, ..self.clone() }
            });
            return Union::new(ways).boxed();
        }
        let kinds = facts.possible_types();
        let ways = kinds.into_iter().map(|kind| match kind {
            TypeSet::OBJECT => self.object_strategy(facts, plenty),
            TypeSet::ARRAY => self.array_strategy(facts, plenty),
            TypeSet::STRING => scalars::string_strategy(facts),
            TypeSet::INTEGER => scalars::number_strategy(facts, true),
            TypeSet::NUMBER => scalars::number_strategy(facts, false),
            TypeSet::BOOLEAN => any::<bool>().prop_map(Json::Bool).boxed(),
            _ => Just(Json::Null).boxed(),
        });
        let ways: Vec<BoxedStrategy<Json>> = ways.collect();
        // If no type is possible, there is no valid value. Validation detects this.
        if ways.is_empty() { Just(Json::Null).boxed() } else { Union::new(ways).boxed() }
    }

    fn object_strategy(&self, facts: &ValueConstraints, plenty: OptionalParts) -> BoxedStrategy<Json> {
        let mut names: Vec<&'static str> = facts.members.iter().map(|(name, _)| *name).collect();
        names.extend(facts.required.iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
        names.dedup();
        let members: Vec<BoxedStrategy<Option<(String, Json)>>> = names
            .iter()
            .map(|name| {
                let place = self.child_strategy(facts.member_schemas(name));
                let name = (*name).to_owned();
                if facts.required.iter().any(|own| *own == name) {
                    place.prop_map(move |value| Some((name.clone(), value))).boxed()
                } else {
                    OptionalMember { name, place, plenty }.boxed()
                }
            })
            .collect();
        let missing = usize::try_from(facts.min_members).unwrap_or(0).saturating_sub(names.len());
        let map = names.is_empty() && plenty != OptionalParts::Least;
        let max = if map { missing + MAX_EXTRA_PARTS } else { missing };
        let entries = self.undeclared_strategy(facts, missing, max);
        (members, entries)
            .prop_map(|(members, entries)| {
                let mut object: Map<Json> = entries.into_iter().collect();
                for (name, value) in members.into_iter().flatten() {
                    object.insert(name, value);
                }
                Json::Object(object)
            })
            .boxed()
    }

    /// Returns a strategy for undeclared members.
    fn undeclared_strategy(
        &self,
        facts: &ValueConstraints,
        least: usize,
        max: usize,
    ) -> BoxedStrategy<Vec<(String, Json)>> {
        let closed = |row: &SchemaId| ValueConstraints::collect(self.tables, &[*row], &[]).never;
        let named = |pattern: &'static crate::pattern::Pattern<'static>| {
            vec(any::<u16>(), 0..12)
                .prop_map(move |choices| pattern.sample_string(&choices, 0, usize::MAX).unwrap_or_default())
                .boxed()
        };
        let mut ways: Vec<BoxedStrategy<(String, Json)>> = Vec::new();
        for (pattern, row) in facts.matched.iter().filter(|(_, row)| !closed(row)) {
            ways.push((named(pattern), self.child_strategy(vec![*row])).boxed());
        }
        if !facts.others.iter().any(closed) && (ways.is_empty() || !facts.others.is_empty()) {
            let name = if facts.names.is_empty() {
                vec(proptest::char::range('a', 'z'), 1..8)
                    .prop_map(|letters| letters.into_iter().collect::<String>())
                    .boxed()
            } else {
                let name = |name: Json| name.as_str().map(str::to_owned);
                self.child_strategy(facts.names.clone()).prop_filter_map("not a string", name).boxed()
            };
            ways.push((name, self.child_strategy(facts.others.clone())).boxed());
        }
        if ways.is_empty() || max == 0 || self.level <= 1 {
            return Just(Vec::new()).boxed();
        }
        vec(Union::new(ways), least..=max).boxed()
    }

    fn array_strategy(&self, facts: &ValueConstraints, plenty: OptionalParts) -> BoxedStrategy<Json> {
        let count = |count: u64| usize::try_from(count.min(1 << 16)).unwrap_or(0);
        let max = facts.max_items.map_or(usize::MAX, count);
        let prefix: Vec<Self> =
            (0..facts.prefix.len().min(max)).map(|at| self.child_strategy(facts.item_schemas(at))).collect();
        let contained: Vec<Self> = facts
            .contains
            .iter()
            .flat_map(|(row, least)| std::iter::repeat_n(self.child_strategy(vec![*row]), count(*least)))
            .collect();
        let there = prefix.len() + contained.len();
        let least = count(facts.min_items).saturating_sub(there);
        let more = if plenty == OptionalParts::Least { 0 } else { MAX_EXTRA_PARTS };
        let max = max.saturating_sub(there).min(least + more).max(least);
        let item = self.child_strategy(facts.items.clone());
        let never = !facts.items.is_empty() && ValueConstraints::collect(self.tables, &item.rows, &[]).never;
        let rest = if never { Just(Vec::new()).boxed() } else { vec(item, least..=max).boxed() };
        let unique = facts.unique;
        (prefix, contained, rest)
            .prop_map(move |(prefix, contained, rest)| {
                let mut items: Vec<Json> = Vec::new();
                for item in prefix.into_iter().chain(contained).chain(rest) {
                    if !(unique && items.contains(&item)) {
                        items.push(item);
                    }
                }
                Json::Array(items)
            })
            .boxed()
    }
}

/// A value tree that shrinks only to valid values.
pub(super) struct ValidTree {
    tree: Box<dyn ValueTree<Value = Json>>,
    place: DocumentStrategy,
}

impl ValueTree for ValidTree {
    type Value = Json;

    fn current(&self) -> Json {
        self.tree.current()
    }

    fn simplify(&mut self) -> bool {
        for _ in 0..MAX_SHRINK_STEPS {
            if !self.tree.simplify() {
                return false;
            }
            if self.place.accepts(&self.tree.current()) {
                return true;
            }
            // The value was simplified too far, so return to the last valid value and continue from there.
            while !self.place.accepts(&self.tree.current()) {
                if !self.tree.complicate() {
                    return false;
                }
            }
        }
        false
    }

    fn complicate(&mut self) -> bool {
        while self.tree.complicate() {
            if self.place.accepts(&self.tree.current()) {
                return true;
            }
        }
        false
    }
}

/// A strategy for an optional member. The member is absent if no value can be generated for it.
#[derive(Clone, Debug)]
struct OptionalMember {
    name: String,
    place: DocumentStrategy,
    plenty: OptionalParts,
}

/// The value tree of an optional member. Shrinking first removes the member.
struct OptionalMemberTree {
    name: String,
    tree: Option<ValidTree>,
    there: bool,
    requested: bool,
}

impl Strategy for OptionalMember {
    type Tree = OptionalMemberTree;
    type Value = Option<(String, Json)>;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let wanted = match self.plenty {
            OptionalParts::All => true,
            OptionalParts::Least => false,
            OptionalParts::Some => any::<bool>().new_tree(runner)?.current(),
        };
        let tree = if wanted { self.place.new_tree(runner).ok() } else { None };
        let there = tree.is_some();
        Ok(OptionalMemberTree { name: self.name.clone(), tree, there, requested: false })
    }
}

impl ValueTree for OptionalMemberTree {
    type Value = Option<(String, Json)>;

    fn current(&self) -> Self::Value {
        let tree = self.tree.as_ref().filter(|_| self.there)?;
        Some((self.name.clone(), tree.current()))
    }

    fn simplify(&mut self) -> bool {
        if !self.requested && self.there {
            (self.requested, self.there) = (true, false);
            return true;
        }
        self.there && self.tree.as_mut().is_some_and(ValidTree::simplify)
    }

    fn complicate(&mut self) -> bool {
        let Some(tree) = &mut self.tree else { return false };
        if !self.there {
            self.there = true;
            return true;
        }
        tree.complicate()
    }
}
