//! Generates documents that violate one constraint by changing a valid document at one position. The
//! validator determines which constraint is violated.

use super::constraints::{ChoiceSite, ValueConstraints};
use crate::{
    Json, Map, Number, pointer,
    schema::{SchemaId, SchemaTables, Validator},
    violation::Violation,
};

/// The maximum number of mutated documents that are validated for one result.
const MAX_CANDIDATES: usize = 400;
/// The maximum depth at which a document is mutated.
const MAX_DEPTH: u8 = 6;
/// The maximum length of mutated strings and arrays.
const MAX_LENGTH: u64 = 2_000;

/// Returns a document with one change, together with its single violation. `choice` determines where the
/// search starts.
pub(super) fn break_one_rule(
    validator: Validator<'static>,
    document: &Json,
    choice: u32,
) -> Option<(Json, Violation)> {
    let mut changes = Vec::new();
    let spot = MutationSite { tables: validator.tables, document, pointer: String::new() };
    spot.collect_mutations(vec![validator.root], document, MAX_DEPTH, &mut changes);
    let from = choice as usize % changes.len().max(1);
    changes.rotate_left(from);
    changes.into_iter().take(MAX_CANDIDATES).find_map(|changed| {
        let violations = validator.validate(&changed).err()?;
        match violations.as_slice() {
            [one] if !matches!(one.keyword, "depth" | "effort") => Some((changed, one.clone())),
            _ => None,
        }
    })
}

struct MutationSite<'d> {
    tables: &'static SchemaTables<'static>,
    document: &'d Json,
    pointer: String,
}

impl<'d> MutationSite<'d> {
    /// Appends copies of the document in which this value, or a value inside it, is changed.
    fn collect_mutations(&self, rows: Vec<SchemaId>, value: &'d Json, depth: u8, out: &mut Vec<Json>) {
        let facts = self.collect_constraints(rows, value);
        let put = |value: Json| self.document.with_value_at(&self.pointer, value);
        out.extend(mutate_value(&facts, value).into_iter().filter_map(put));
        let Some(deeper) = depth.checked_sub(1) else { return };
        let below =
            |token: &str| MutationSite { pointer: pointer::join_token(&self.pointer, token), ..*self };
        match value {
            Json::Object(members) => {
                for (name, value) in members.iter() {
                    below(name).collect_mutations(facts.member_schemas(name), value, deeper, out);
                }
            }
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate().take(3) {
                    below(&index.to_string()).collect_mutations(facts.item_schemas(index), item, deeper, out);
                }
            }
            _ => {}
        }
    }

    /// Collects the constraints of the schemas and of the branches that the value matches.
    fn collect_constraints(&self, mut rows: Vec<SchemaId>, value: &Json) -> ValueConstraints {
        let mut chosen: Vec<ChoiceSite> = Vec::new();
        loop {
            let facts = ValueConstraints::collect(self.tables, &rows, &chosen);
            let Some((holder, ways)) = &facts.choice else { return facts };
            let fits = |row: &SchemaId| Validator::new(self.tables, *row).is_valid(value);
            let way = ways.iter().find(|way| !way.is_empty() && way.iter().all(fits));
            rows.extend(way.into_iter().flatten());
            chosen.push(*holder);
        }
    }
}

/// Returns replacements for a value that may violate one of its constraints.
fn mutate_value(facts: &ValueConstraints, value: &Json) -> Vec<Json> {
    let mut out = Vec::new();
    match value {
        Json::String(text) => {
            let count = text.chars().count() as u64;
            let shorter = facts.min_length.saturating_sub(1).min(count);
            let mut texts: Vec<String> =
                vec![text.chars().take(usize::try_from(shorter).unwrap_or(0)).collect()];
            if let Some(max) = facts.max_length.filter(|max| *max < MAX_LENGTH) {
                let last = text.chars().last().unwrap_or('a').to_string();
                let missing = usize::try_from((max + 1).saturating_sub(count)).unwrap_or(0);
                texts.push(text.clone() + &last.repeat(missing));
            }
            texts.extend([
                format!("{text}\u{7f}"),
                format!("\u{7f}{text}"),
                text.to_uppercase(),
                "~".repeat(text.len()),
            ]);
            out.extend(texts.into_iter().map(Json::from));
        }
        Json::Number(_) => {
            for bound in facts.minimum.iter().chain(&facts.maximum) {
                let near =
                    bound.as_i64().into_iter().flat_map(|n| [n.saturating_sub(1), n, n.saturating_add(1)]);
                out.extend(
                    near.map(|n| Json::Number(Number::from_i64(n))).chain([Json::Number(bound.clone())]),
                );
            }
            out.extend([Number::from_decimal(1, 18), Number::from_i64(918_273)].map(Json::Number));
        }
        Json::Array(items) => {
            let least = usize::try_from(facts.min_items.saturating_sub(1)).unwrap_or(0);
            out.push(Json::Array(items.iter().take(least).cloned().collect()));
            if let Some(max) = facts.max_items.filter(|max| *max < MAX_LENGTH) {
                let max = usize::try_from(max).unwrap_or(0) + 1;
                out.push(Json::Array(items.iter().cycle().take(max).cloned().collect()));
            }
            let again = items.first().map(|first| items.iter().chain([first]).cloned().collect());
            out.extend(again.map(Json::Array));
            out.push(Json::Array(Vec::new()));
            let longer = |odd: Json| Json::Array(items.iter().cloned().chain([odd]).collect());
            out.extend(unusual_values().map(longer));
        }
        Json::Object(members) => {
            let without = |name: &str| {
                let mut left = members.clone();
                left.remove(name);
                Json::Object(left)
            };
            let with = |name: &str, value: Json| {
                let mut more: Map<Json> = members.clone();
                more.insert(name.to_owned(), value);
                Json::Object(more)
            };
            out.extend(members.keys().map(without));
            out.extend(unusual_values().map(|odd| with("undeclared", odd)));
            // These names may be invalid. Their value is valid for another member.
            let usual = members.values().next().cloned().unwrap_or(Json::Bool(true));
            out.extend(["", "~ ~", "UPPER"].map(|name| with(name, usual.clone())));
            let missing =
                facts.members.iter().map(|(name, _)| *name).filter(|name| !members.contains_key(name));
            out.extend(missing.flat_map(|name| unusual_values().map(move |odd| with(name, odd))));
            out.push(Json::Object(Map::new()));
        }
        Json::Null | Json::Bool(_) => {}
    }
    out.extend(unusual_values());
    out
}

/// Returns one value of each JSON type.
fn unusual_values() -> impl Iterator<Item = Json> {
    let scalars =
        [Json::from("odd"), Json::Number(Number::from_i64(7)), Json::Number(Number::from_decimal(15, 1))];
    let others = [Json::Bool(true), Json::Null, Json::Array(Vec::new()), Json::Object(Map::new())];
    scalars.into_iter().chain(others)
}
