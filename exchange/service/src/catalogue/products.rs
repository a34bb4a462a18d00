//! The blueprints of each item, and the families of item variants (DEM-04).

use std::collections::HashMap;

use super::index::{CatalogueEntry, KindIndex};

/// Whether the blueprints of an item's variants also count as blueprints of the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VariantMatching {
    /// Only blueprints of the item itself count.
    Exact,
    /// The blueprints of every variant of the item count.
    Variants,
}

/// An index of blueprints by the items that they produce. An item whose fact `variantOf` names another item
/// belongs to the family of that item. All items of a family are variants of each other.
#[derive(Clone, Debug, Default)]
pub struct ProductIndex {
    /// The ids of the blueprints that produce an item, by item.
    of_item: HashMap<String, Vec<String>>,
    /// For the base item of each group of variants: the ids of the blueprints that produce an item of the group.
    of_family: HashMap<String, Vec<String>>,
    /// For each variant: the base item of its group.
    base: HashMap<String, String>,
}

impl ProductIndex {
    pub(super) fn from_indexes<'i>(blueprints: &KindIndex, items: &'i KindIndex) -> Self {
        let variant = |item: &'i CatalogueEntry| Some((&*item.id, item.facts.get("variantOf")?.as_str()?));
        let base = resolve_families(&items.entries.iter().filter_map(variant).collect());
        let mut products = Self { base, ..Self::default() };
        for (guid, blueprint) in &blueprints.outputs {
            let Some(blueprint) = blueprints.entries.get(*blueprint as usize) else { continue };
            for item in items.by_guid.get(guid).into_iter().flatten() {
                let Some(item) = items.entries.get(*item as usize) else { continue };
                let family = products.family_of(&item.id).to_owned();
                products.of_item.entry(item.id.clone()).or_default().push(blueprint.id.clone());
                products.of_family.entry(family).or_default().push(blueprint.id.clone());
            }
        }
        products
    }

    /// Returns the ids of the blueprints that produce an item.
    #[must_use]
    pub fn blueprints_for(&self, item: &str, matching: VariantMatching) -> &[String] {
        let found = match matching {
            VariantMatching::Exact => self.of_item.get(item),
            VariantMatching::Variants => self.of_family.get(self.family_of(item)),
        };
        found.map(Vec::as_slice).unwrap_or_default()
    }

    fn family_of<'a>(&'a self, item: &'a str) -> &'a str {
        self.base.get(item).map_or(item, String::as_str)
    }
}

/// Returns the base item of each variant. In a cycle of variants, the item with the lowest id is the base.
fn resolve_families(base: &HashMap<&str, &str>) -> HashMap<String, String> {
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

    /// DEM-04: variants of variants belong to the same family, and cycles terminate.
    #[test]
    fn variant_families_are_transitive() {
        let check = |base: &[(&str, &str)], expect: &[(&str, &str)]| {
            let found = resolve_families(&base.iter().copied().collect());
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
