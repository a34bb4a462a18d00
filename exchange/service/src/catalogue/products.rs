//! What blueprints produce, and which items are variants of each other (DEM-04).

use std::collections::HashMap;

use super::index::{Entry, Part};

/// Whether a blueprint of a variant is one of the item that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matching {
    /// Only the item itself.
    Exact,
    /// Every variant of it.
    Variants,
}

/// Blueprints by what they produce. An item whose facts name another one as `variantOf` is a variant of it, and
/// of all its other variants, their variants among them.
#[derive(Clone, Debug, Default)]
pub struct Products {
    /// Blueprints of an item.
    of_item: HashMap<String, Vec<String>>,
    /// Blueprints of any variant, by the item that the variants are of.
    of_family: HashMap<String, Vec<String>>,
    /// What an item is a variant of in the end, where it is one.
    base: HashMap<String, String>,
}

impl Products {
    pub(super) fn of<'i>(blueprints: &Part, items: &'i Part) -> Self {
        let variant = |item: &'i Entry| Some((&*item.id, item.facts.get("variantOf")?.as_str()?));
        let base = families(&items.entries.iter().filter_map(variant).collect());
        let mut products = Self { base, ..Self::default() };
        for (guid, blueprint) in &blueprints.outputs {
            let Some(blueprint) = blueprints.entries.get(*blueprint as usize) else { continue };
            for item in items.by_guid.get(guid).into_iter().flatten() {
                let Some(item) = items.entries.get(*item as usize) else { continue };
                let family = products.family(&item.id).to_owned();
                products.of_item.entry(item.id.clone()).or_default().push(blueprint.id.clone());
                products.of_family.entry(family).or_default().push(blueprint.id.clone());
            }
        }
        products
    }

    /// The blueprints that produce an item, by the keys that the store has.
    #[must_use]
    pub fn blueprints(&self, item: &str, matching: Matching) -> &[String] {
        let found = match matching {
            Matching::Exact => self.of_item.get(item),
            Matching::Variants => self.of_family.get(self.family(item)),
        };
        found.map(Vec::as_slice).unwrap_or_default()
    }

    fn family<'a>(&'a self, item: &'a str) -> &'a str {
        self.base.get(item).map_or(item, String::as_str)
    }
}

/// What each variant is one of in the end. Of variants in a circle, the first by its id stands for all of them.
fn families(base: &HashMap<&str, &str>) -> HashMap<String, String> {
    let mut families: HashMap<&str, &str> = HashMap::new();
    for &item in base.keys() {
        let (mut way, mut places, mut at) = (Vec::new(), HashMap::new(), item);
        let end = loop {
            if let Some(known) = families.get(at) {
                break *known;
            }
            if let Some(place) = places.get(at) {
                break way.iter().skip(*place).min().copied().unwrap_or(at);
            }
            let Some(next) = base.get(at) else { break at };
            places.insert(at, way.len());
            way.push(at);
            at = next;
        };
        families.extend(way.into_iter().map(|one| (one, end)));
    }
    families.into_iter().map(|(item, family)| (item.to_owned(), family.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DEM-04: a variant of a variant is one of the first, and circles end.
    #[test]
    fn variants_of_variants_are_of_one_family() {
        let check = |base: &[(&str, &str)], expect: &[(&str, &str)]| {
            let found = families(&base.iter().copied().collect());
            let expect = expect.iter().map(|(item, family)| ((*item).to_owned(), (*family).to_owned()));
            assert_eq!(found, expect.collect(), "{base:?}");
        };
        check(&[], &[]);
        check(&[("b", "a")], &[("b", "a")]);
        check(
            &[("d", "c"), ("c", "b"), ("b", "a"), ("x", "c")],
            &[("b", "a"), ("c", "a"), ("d", "a"), ("x", "a")],
        );
        check(&[("a", "a")], &[("a", "a")]);
        check(&[("c", "b"), ("b", "c"), ("d", "c")], &[("b", "b"), ("c", "b"), ("d", "b")]);
    }
}
