//! What blueprints produce, and which items are variants of each other (DEM-04).

use std::collections::HashMap;

use super::index::Part;

/// Whether a blueprint of a variant is one of the item that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matching {
    /// Only the item itself.
    Exact,
    /// Every variant of it.
    Variants,
}

/// Blueprints by what they produce. An item whose facts name another one as `variantOf` is a variant of it, and
/// of all its other variants.
#[derive(Clone, Debug, Default)]
pub struct Products {
    /// Blueprints of an item.
    of_item: HashMap<String, Vec<String>>,
    /// Blueprints of any variant, by the item that the variants are of.
    of_family: HashMap<String, Vec<String>>,
    /// What an item is a variant of, where it is one.
    base: HashMap<String, String>,
}

impl Products {
    pub(super) fn of(blueprints: &Part, items: &Part) -> Self {
        let mut products = Self::default();
        for item in &items.entries {
            if let Some(base) = item.facts.get("variantOf").and_then(serde_json::Value::as_str) {
                products.base.insert(item.id.clone(), base.to_owned());
            }
        }
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
