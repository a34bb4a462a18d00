//! `discriminator`: which values of a member mean which branch, where no constants of the branches say
//! so. An annotation for what is valid, and what readers choose a branch by.

use contract_runtime::Json;

use super::{
    finding::{Comparer, Pair},
    flat::Flat,
    rules,
    unions::name,
};
use crate::{
    schema::{Discriminator, SchemaId},
    together::meaning::meant,
};

/// A member, and the branch that each value of it means.
struct Meanings<'g> {
    tag: &'g str,
    /// Whether the branches say it themselves, by `const` or `enum`.
    by_constants: bool,
    values: Vec<(&'g str, SchemaId)>,
}

impl<'g> Comparer<'g> {
    /// Compares what the values of a tag mean.
    pub(super) fn discriminators(&mut self, pair: &Pair<'g>) {
        let says = |flat: &Flat<'g>| flat.first(|schema| schema.discriminator.as_ref());
        let tag = |flat| says(flat).map(|found| found.tag.as_str());
        let (Some(was), Some(is)) = (tag(&pair.old).or(tag(&pair.new)), tag(&pair.new).or(tag(&pair.old)))
        else {
            return;
        };
        match (meanings(&pair.old, was), meanings(&pair.new, is)) {
            (Some(old), Some(new)) => self.meanings(pair, &old, &new),
            (None, Some(new)) if !new.by_constants => {
                let message = format!("`{is}` says which form is meant, nothing did");
                self.note(rules::DISCRIMINATOR_ADDED, pair, message);
            }
            (Some(old), None) if !old.by_constants => {
                let message = format!("`{was}` no longer says which form is meant");
                self.note(rules::DISCRIMINATOR_REMOVED, pair, message);
            }
            _ => {}
        }
        self.other_values(pair, was, is);
    }

    /// Compares what any other value of a tag means, and none (`defaultMapping`, OpenAPI 3.2, 4.25).
    fn other_values(&mut self, pair: &Pair<'g>, was: &str, is: &str) {
        let said = |flat: &Flat<'g>| flat.first(|schema| schema.discriminator.as_ref());
        // That one came or went as a whole, or is about another member, is said as that.
        let (Some(old), Some(new), true) = (said(&pair.old), said(&pair.new), was == is) else { return };
        let word = |graph, id| name(graph, id).unwrap_or_else(|| "a form without a name".to_owned());
        let (rule, message) = match (old.default, new.default) {
            (Some(before), Some(after)) if !self.is_branch(pair, before, after) => {
                let (was, now) = (word(pair.old.graph, before), word(pair.new.graph, after));
                let message = format!("any other value of `{is}`, and none, means {now}, meant {was}");
                (rules::DISCRIMINATOR_CHANGED, message)
            }
            (None, Some(after)) => {
                let message =
                    format!("any other value of `{is}`, and none, means {}", word(pair.new.graph, after));
                (rules::DISCRIMINATOR_VALUE_ADDED, message)
            }
            (Some(before), None) => {
                let was = word(pair.old.graph, before);
                let message =
                    format!("any other value of `{is}`, and none, means nothing any more, meant {was}");
                (rules::DISCRIMINATOR_VALUE_REMOVED, message)
            }
            _ => return,
        };
        self.note(rule, pair, message);
    }

    fn meanings(&mut self, pair: &Pair<'g>, old: &Meanings<'g>, new: &Meanings<'g>) {
        // What the branches say is compared with them.
        if old.by_constants && new.by_constants {
            return;
        }
        if old.tag != new.tag {
            let message = format!("`{}` says which form is meant, `{}` did", new.tag, old.tag);
            self.note(rules::DISCRIMINATOR_CHANGED, pair, message);
            return;
        }
        for (value, branch) in &old.values {
            let now = new.values.iter().find(|(other, _)| other == value);
            let word = |graph, id| name(graph, id).unwrap_or_else(|| "the same form".to_owned());
            let was = word(pair.old.graph, *branch);
            let (rule, message) = match now {
                Some((_, other)) if self.is_branch(pair, *branch, *other) => continue,
                Some((_, other)) => {
                    let is = word(pair.new.graph, *other);
                    let message = format!("`{value}` of `{}` means {is}, meant {was}", old.tag);
                    (rules::DISCRIMINATOR_CHANGED, message)
                }
                None => {
                    let message = format!("`{value}` of `{}` means nothing any more, meant {was}", old.tag);
                    (rules::DISCRIMINATOR_VALUE_REMOVED, message)
                }
            };
            self.note(rule, pair, message);
        }
        for (value, branch) in &new.values {
            let known =
                |this: &mut Self| old.values.iter().any(|(_, other)| this.is_branch(pair, *other, *branch));
            if old.values.iter().all(|(other, _)| other != value) && known(self) {
                let form = name(pair.new.graph, *branch).unwrap_or_else(|| "a known form".to_owned());
                let message = format!("`{value}` of `{}` means {form} too", new.tag);
                self.note(rules::DISCRIMINATOR_VALUE_ADDED, pair, message);
            }
        }
    }

    /// Whether one branch is what the other was: by its name, or by what it says.
    fn is_branch(&mut self, pair: &Pair<'g>, old: SchemaId, new: SchemaId) -> bool {
        let known = name(pair.old.graph, old);
        known.is_some() && known == name(pair.new.graph, new) || self.same(&[old], &[new])
    }
}

/// What the values of a member mean: by the branches, else by the `discriminator` beside them.
fn meanings<'g>(flat: &Flat<'g>, tag: &'g str) -> Option<Meanings<'g>> {
    let holder = flat.schemas().find(|schema| schema.discriminator.is_some());
    let branches: Vec<SchemaId> = match holder {
        Some(holder) => holder.one_of.iter().chain(&holder.any_of).copied().collect(),
        None => flat.unions().first().map(|union| union.branches.to_vec()).unwrap_or_default(),
    };
    if let Some(values) = constants(flat, tag, &branches) {
        return Some(Meanings { tag, by_constants: true, values });
    }
    let discriminator = holder?.discriminator.as_ref()?;
    Some(Meanings { tag, by_constants: false, values: mapped(flat, discriminator, &branches) })
}

fn mapped<'g>(
    flat: &Flat<'g>,
    discriminator: &'g Discriminator,
    branches: &[SchemaId],
) -> Vec<(&'g str, SchemaId)> {
    if branches.is_empty() {
        // Those that refer to it by `allOf` are meant, as far as the mapping names them.
        return discriminator.mapping.iter().map(|(value, id)| (value.as_str(), *id)).collect();
    }
    let each = |branch: &SchemaId| {
        let values = meant(flat.graph, discriminator, *branch);
        values.into_iter().map(|value| (value, *branch)).collect::<Vec<_>>()
    };
    branches.iter().flat_map(each).collect()
}

/// The texts that the branches list for a member, where these tell all of them apart.
fn constants<'g>(flat: &Flat<'g>, tag: &str, branches: &[SchemaId]) -> Option<Vec<(&'g str, SchemaId)>> {
    let mut all: Vec<(&str, SchemaId)> = Vec::new();
    for branch in branches {
        let one = Flat::of(flat.graph, &[*branch]);
        for value in Flat::of(flat.graph, &one.applicable(tag)).values()? {
            let Json::String(text) = value else { return None };
            if all.iter().any(|(other, _)| other == text) {
                return None;
            }
            all.push((text, *branch));
        }
    }
    (!all.is_empty()).then_some(all)
}
