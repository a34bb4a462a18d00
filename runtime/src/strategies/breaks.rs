//! Documents that break one rule: a valid one, changed at one place in a way that a keyword there minds.
//! Which rule it is, say the tables.

use super::facts::{Facts, Holder};
use crate::{
    Json, Map, Number, pointer,
    schema::{SchemaId, Tables, Validator},
    violation::Violation,
};

/// Changed documents that are judged for one.
const MOST: usize = 400;
/// Levels of a document that are changed.
const DEPTH: u8 = 6;
/// Texts and lists get no longer.
const LONGEST: u64 = 2_000;

/// A document with one change, and the one rule that it breaks; `choice` says where it begins to look.
pub(super) fn broken(
    validator: Validator<'static>,
    document: &Json,
    choice: u32,
) -> Option<(Json, Violation)> {
    let mut changes = Vec::new();
    let spot = Spot { tables: validator.tables, document, pointer: String::new() };
    spot.changes(vec![validator.root], document, DEPTH, &mut changes);
    let from = choice as usize % changes.len().max(1);
    changes.rotate_left(from);
    changes.into_iter().take(MOST).find_map(|changed| {
        let violations = validator.validate(&changed).err()?;
        match violations.as_slice() {
            [one] if !matches!(one.keyword, "depth" | "effort") => Some((changed, one.clone())),
            _ => None,
        }
    })
}

struct Spot<'d> {
    tables: &'static Tables<'static>,
    document: &'d Json,
    pointer: String,
}

impl<'d> Spot<'d> {
    /// The document with this place or one below it changed.
    fn changes(&self, rows: Vec<SchemaId>, value: &'d Json, depth: u8, out: &mut Vec<Json>) {
        let facts = self.facts(rows, value);
        let put = |value: Json| self.document.replaced(&self.pointer, value);
        out.extend(changed(&facts, value).into_iter().filter_map(put));
        let Some(deeper) = depth.checked_sub(1) else { return };
        let below = |token: &str| Spot { pointer: pointer::join(&self.pointer, token), ..*self };
        match value {
            Json::Object(members) => {
                for (name, value) in members.iter() {
                    below(name).changes(facts.of_member(name), value, deeper, out);
                }
            }
            Json::Array(items) => {
                for (at, item) in items.iter().enumerate().take(3) {
                    below(&at.to_string()).changes(facts.of_item(at), item, deeper, out);
                }
            }
            _ => {}
        }
    }

    /// What the schemas of a place say, with the branches that the value takes.
    fn facts(&self, mut rows: Vec<SchemaId>, value: &Json) -> Facts {
        let mut chosen: Vec<Holder> = Vec::new();
        loop {
            let facts = Facts::of(self.tables, &rows, &chosen);
            let Some((holder, ways)) = &facts.choice else { return facts };
            let fits = |row: &SchemaId| Validator::new(self.tables, *row).is_valid(value);
            let way = ways.iter().find(|way| !way.is_empty() && way.iter().all(fits));
            rows.extend(way.into_iter().flatten());
            chosen.push(*holder);
        }
    }
}

/// Values in place of a value that one of its rules may refuse.
fn changed(facts: &Facts, value: &Json) -> Vec<Json> {
    let mut out = Vec::new();
    match value {
        Json::String(text) => {
            let count = text.chars().count() as u64;
            let shorter = facts.min_length.saturating_sub(1).min(count);
            let mut texts: Vec<String> =
                vec![text.chars().take(usize::try_from(shorter).unwrap_or(0)).collect()];
            if let Some(most) = facts.max_length.filter(|most| *most < LONGEST) {
                let last = text.chars().last().unwrap_or('a').to_string();
                let missing = usize::try_from((most + 1).saturating_sub(count)).unwrap_or(0);
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
                out.extend(near.map(|n| Json::Number(Number::int(n))).chain([Json::Number(bound.clone())]));
            }
            out.extend([Number::decimal(1, 18), Number::int(918_273)].map(Json::Number));
        }
        Json::Array(items) => {
            let least = usize::try_from(facts.min_items.saturating_sub(1)).unwrap_or(0);
            out.push(Json::Array(items.iter().take(least).cloned().collect()));
            if let Some(most) = facts.max_items.filter(|most| *most < LONGEST) {
                let most = usize::try_from(most).unwrap_or(0) + 1;
                out.push(Json::Array(items.iter().cycle().take(most).cloned().collect()));
            }
            let again = items.first().map(|first| items.iter().chain([first]).cloned().collect());
            out.extend(again.map(Json::Array));
            out.push(Json::Array(Vec::new()));
            let longer = |odd: Json| Json::Array(items.iter().cloned().chain([odd]).collect());
            out.extend(odd().map(longer));
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
            out.extend(odd().map(|odd| with("undeclared", odd)));
            // Names that may be wrong, with a value that is right where the others are.
            let usual = members.values().next().cloned().unwrap_or(Json::Bool(true));
            out.extend(["", "~ ~", "UPPER"].map(|name| with(name, usual.clone())));
            let missing =
                facts.members.iter().map(|(name, _)| *name).filter(|name| !members.contains_key(name));
            out.extend(missing.flat_map(|name| odd().map(move |odd| with(name, odd))));
            out.push(Json::Object(Map::new()));
        }
        Json::Null | Json::Bool(_) => {}
    }
    out.extend(odd());
    out
}

/// One value of each JSON type.
fn odd() -> impl Iterator<Item = Json> {
    let scalars = [Json::from("odd"), Json::Number(Number::int(7)), Json::Number(Number::decimal(15, 1))];
    let others = [Json::Bool(true), Json::Null, Json::Array(Vec::new()), Json::Object(Map::new())];
    scalars.into_iter().chain(others)
}
