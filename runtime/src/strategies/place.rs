//! The values of a place: made by what its schemas say, checked, and shrunk so that they stay valid.

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
    facts::{Facts, Holder},
    scalars,
};
use crate::{
    Json, Map,
    schema::{SchemaId, Tables, Types, Validator},
};

/// Levels of a value; below the half of them only what has to be is there.
const LEVELS: u8 = 10;
/// Values that are made for one value, its parts among them, before it is enough: tries of parts of
/// parts multiply.
const EFFORT: u32 = 20_000;
/// Steps of simplifying that lead nowhere.
const STEPS: u32 = 4_096;
/// Elements and undeclared members beyond those that have to be.
const MORE: usize = 3;

/// The values that some schemas accept together.
#[derive(Clone)]
pub(super) struct Place {
    tables: &'static Tables<'static>,
    rows: Arc<[SchemaId]>,
    chosen: Arc<[Holder]>,
    level: u8,
    effort: Arc<AtomicU32>,
}

/// How much of what may be missing is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plenty {
    Some,
    All,
    Least,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("rows", &self.rows).field("level", &self.level).finish_non_exhaustive()
    }
}

impl Strategy for Place {
    type Tree = Checked;
    type Value = Json;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let facts = Facts::of(self.tables, &self.rows, &self.chosen);
        if facts.never || self.level == 0 {
            return Err("no value".into());
        }
        if self.level == LEVELS {
            self.effort.store(EFFORT, Ordering::Relaxed);
        }
        // The deeper, the fewer.
        let tries = (self.level * self.level / 4).max(3);
        for attempt in 0..tries {
            let left = self.effort.load(Ordering::Relaxed).checked_sub(1).ok_or("too many tries")?;
            self.effort.store(left, Ordering::Relaxed);
            let plenty = match (attempt % 3, self.level > LEVELS / 2) {
                (0, true) => Plenty::Some,
                (1, true) => Plenty::All,
                _ => Plenty::Least,
            };
            let Ok(tree) = self.some(&facts, plenty).new_tree(runner) else { continue };
            if self.holds(&tree.current()) {
                return Ok(Checked { tree, place: self.clone() });
            }
        }
        Err("no valid value was found".into())
    }
}

impl Place {
    /// The values of a schema.
    pub(super) fn root(validator: Validator<'static>) -> Self {
        let rows = Arc::from([validator.root]);
        Self { tables: validator.tables, rows, chosen: Arc::from([]), level: LEVELS, effort: Arc::default() }
    }

    fn holds(&self, value: &Json) -> bool {
        self.rows.iter().all(|row| Validator::new(self.tables, *row).is_valid(value))
    }

    fn below(&self, rows: Vec<SchemaId>) -> Self {
        Self { rows: rows.into(), chosen: Arc::from([]), level: self.level - 1, ..self.clone() }
    }

    /// Values that probably fit.
    fn some(&self, facts: &Facts, plenty: Plenty) -> BoxedStrategy<Json> {
        if let Some(literals) = &facts.literals {
            return match literals.as_slice() {
                [] => Just(Json::Null).boxed(),
                _ => select(literals.clone()).boxed(),
            };
        }
        if let Some((holder, ways)) = &facts.choice {
            let chosen: Arc<[Holder]> = self.chosen.iter().chain([holder]).copied().collect();
            let ways = ways.iter().map(|way| {
                let rows = self.rows.iter().chain(way).copied().collect();
                Self { rows, chosen: Arc::clone(&chosen), level: self.level - 1, ..self.clone() }
            });
            return Union::new(ways).boxed();
        }
        let kinds = facts.kinds();
        let ways = kinds.into_iter().map(|kind| match kind {
            Types::OBJECT => self.object(facts, plenty),
            Types::ARRAY => self.array(facts, plenty),
            Types::STRING => scalars::texts(facts),
            Types::INTEGER => scalars::numbers(facts, true),
            Types::NUMBER => scalars::numbers(facts, false),
            Types::BOOLEAN => any::<bool>().prop_map(Json::Bool).boxed(),
            _ => Just(Json::Null).boxed(),
        });
        let ways: Vec<BoxedStrategy<Json>> = ways.collect();
        // What has no type has no value, which is found out by asking.
        if ways.is_empty() { Just(Json::Null).boxed() } else { Union::new(ways).boxed() }
    }

    fn object(&self, facts: &Facts, plenty: Plenty) -> BoxedStrategy<Json> {
        let mut names: Vec<&'static str> = facts.members.iter().map(|(name, _)| *name).collect();
        names.extend(facts.required.iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
        names.dedup();
        let members: Vec<BoxedStrategy<Option<(String, Json)>>> = names
            .iter()
            .map(|name| {
                let place = self.below(facts.of_member(name));
                let name = (*name).to_owned();
                if facts.required.iter().any(|own| *own == name) {
                    place.prop_map(move |value| Some((name.clone(), value))).boxed()
                } else {
                    Perhaps { name, place, plenty }.boxed()
                }
            })
            .collect();
        let missing = usize::try_from(facts.min_members).unwrap_or(0).saturating_sub(names.len());
        let map = names.is_empty() && plenty != Plenty::Least;
        let most = if map { missing + MORE } else { missing };
        let entries = self.entries(facts, missing, most);
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

    /// Members that nobody declares.
    fn entries(&self, facts: &Facts, least: usize, most: usize) -> BoxedStrategy<Vec<(String, Json)>> {
        let closed = |row: &SchemaId| Facts::of(self.tables, &[*row], &[]).never;
        let named = |pattern: &'static crate::pattern::Pattern<'static>| {
            vec(any::<u16>(), 0..12)
                .prop_map(move |choices| pattern.text(&choices, 0, usize::MAX).unwrap_or_default())
                .boxed()
        };
        let mut ways: Vec<BoxedStrategy<(String, Json)>> = Vec::new();
        for (pattern, row) in facts.matched.iter().filter(|(_, row)| !closed(row)) {
            ways.push((named(pattern), self.below(vec![*row])).boxed());
        }
        if !facts.others.iter().any(closed) && (ways.is_empty() || !facts.others.is_empty()) {
            let name = if facts.names.is_empty() {
                vec(proptest::char::range('a', 'z'), 1..8)
                    .prop_map(|letters| letters.into_iter().collect::<String>())
                    .boxed()
            } else {
                let name = |name: Json| name.as_str().map(str::to_owned);
                self.below(facts.names.clone()).prop_filter_map("a name", name).boxed()
            };
            ways.push((name, self.below(facts.others.clone())).boxed());
        }
        if ways.is_empty() || most == 0 || self.level <= 1 {
            return Just(Vec::new()).boxed();
        }
        vec(Union::new(ways), least..=most).boxed()
    }

    fn array(&self, facts: &Facts, plenty: Plenty) -> BoxedStrategy<Json> {
        let count = |count: u64| usize::try_from(count.min(1 << 16)).unwrap_or(0);
        let most = facts.max_items.map_or(usize::MAX, count);
        let prefix: Vec<Self> =
            (0..facts.prefix.len().min(most)).map(|at| self.below(facts.of_item(at))).collect();
        let contained: Vec<Self> = facts
            .contains
            .iter()
            .flat_map(|(row, least)| std::iter::repeat_n(self.below(vec![*row]), count(*least)))
            .collect();
        let there = prefix.len() + contained.len();
        let least = count(facts.min_items).saturating_sub(there);
        let more = if plenty == Plenty::Least { 0 } else { MORE };
        let most = most.saturating_sub(there).min(least + more).max(least);
        let item = self.below(facts.items.clone());
        let never = !facts.items.is_empty() && Facts::of(self.tables, &item.rows, &[]).never;
        let rest = if never { Just(Vec::new()).boxed() } else { vec(item, least..=most).boxed() };
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

/// A value that is simplified to valid ones alone.
pub(super) struct Checked {
    tree: Box<dyn ValueTree<Value = Json>>,
    place: Place,
}

impl ValueTree for Checked {
    type Value = Json;

    fn current(&self) -> Json {
        self.tree.current()
    }

    fn simplify(&mut self) -> bool {
        for _ in 0..STEPS {
            if !self.tree.simplify() {
                return false;
            }
            if self.place.holds(&self.tree.current()) {
                return true;
            }
            // Too simple: back to the last one that held, and on from there.
            while !self.place.holds(&self.tree.current()) {
                if !self.tree.complicate() {
                    return false;
                }
            }
        }
        false
    }

    fn complicate(&mut self) -> bool {
        while self.tree.complicate() {
            if self.place.holds(&self.tree.current()) {
                return true;
            }
        }
        false
    }
}

/// A member that may be missing, as it is where none can be made.
#[derive(Clone, Debug)]
struct Perhaps {
    name: String,
    place: Place,
    plenty: Plenty,
}

/// What is there, and whether it can still go.
struct Going {
    name: String,
    tree: Option<Checked>,
    there: bool,
    asked: bool,
}

impl Strategy for Perhaps {
    type Tree = Going;
    type Value = Option<(String, Json)>;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let wanted = match self.plenty {
            Plenty::All => true,
            Plenty::Least => false,
            Plenty::Some => any::<bool>().new_tree(runner)?.current(),
        };
        let tree = if wanted { self.place.new_tree(runner).ok() } else { None };
        let there = tree.is_some();
        Ok(Going { name: self.name.clone(), tree, there, asked: false })
    }
}

impl ValueTree for Going {
    type Value = Option<(String, Json)>;

    fn current(&self) -> Self::Value {
        let tree = self.tree.as_ref().filter(|_| self.there)?;
        Some((self.name.clone(), tree.current()))
    }

    fn simplify(&mut self) -> bool {
        if !self.asked && self.there {
            (self.asked, self.there) = (true, false);
            return true;
        }
        self.there && self.tree.as_mut().is_some_and(Checked::simplify)
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
