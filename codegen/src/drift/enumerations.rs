//! `enum`, `const`, and unions that list values; closed and open ones.

use contract_runtime::Json;

use super::{
    finding::{Comparer, Facet, Pair},
    flat::{Flat, Listing, Union},
    proof::Side,
    rules,
};
use crate::{
    schema::{SchemaId, keywords::Keyword},
    together::type_of,
};

/// What a comparison of lists settled, so that nothing is reported twice.
#[derive(Clone, Debug, Default)]
pub(super) struct Listed {
    /// A list says all there is to say about scalars.
    pub(super) whole: bool,
    /// Unions that were lists of values: old, new.
    pub(super) old: Option<SchemaId>,
    pub(super) new: Option<SchemaId>,
}

const VALUES: &[Keyword] = &[Keyword::Enum, Keyword::Const];
const UNIONS: &[Keyword] = &[Keyword::Enum, Keyword::Const, Keyword::OneOf, Keyword::AnyOf];

impl<'g> Comparer<'g> {
    /// Two different `const`s.
    pub(super) fn constants(&mut self, pair: &Pair<'g>) -> bool {
        let constant = |flat: &Flat<'g>| {
            let values = flat.values()?;
            (values.len() == 1 && flat.any(|schema| schema.constant.is_some())).then(|| values[0])
        };
        let (Some(old), Some(new)) = (constant(&pair.old), constant(&pair.new)) else { return false };
        if old != new {
            let facet = Facet::of(VALUES).tries([old.clone(), new.clone()]);
            self.set(
                rules::CONST_CHANGED,
                pair,
                format!("the value is {}, was {}", short(new), short(old)),
                facet,
            );
        }
        true
    }

    /// Compares lists of values.
    pub(super) fn listing(&mut self, pair: &Pair<'g>) -> Listed {
        if self.constants(pair) {
            let values = |flat: &Flat<'g>| flat.values().unwrap_or_default();
            self.beside(pair, &shared(&values(&pair.old), &values(&pair.new)));
            return Listed { whole: true, ..Listed::default() };
        }
        let id = |holder: Option<Union<'g>>| holder.map(|union| union.holder);
        match (pair.old.listing(), pair.new.listing()) {
            (Listing::None, Listing::None) => Listed::default(),
            (Listing::Closed { values: old, holder }, Listing::Closed { values: new, holder: other }) => {
                for value in new.iter().filter(|value| !old.contains(value)) {
                    let facet = Facet::of(UNIONS).tries([(*value).clone()]);
                    self.set(
                        rules::ENUM_VALUE_ADDED,
                        pair,
                        format!("{} is a new value", short(value)),
                        facet,
                    );
                }
                for value in old.iter().filter(|value| !new.contains(value)) {
                    let facet = Facet::of(UNIONS).tries([(*value).clone()]);
                    self.set(
                        rules::ENUM_VALUE_REMOVED,
                        pair,
                        format!("{} is no longer a value", short(value)),
                        facet,
                    );
                }
                self.beside(pair, &shared(&old, &new));
                Listed { whole: true, old: id(holder), new: id(other) }
            }
            (Listing::Closed { values, holder }, Listing::None) => {
                let message = format!("only {} was valid, now there is no list", list(&values));
                self.set(rules::ENUM_DROPPED, pair, message, Facet::of(UNIONS));
                self.lost(pair, &values);
                Listed { whole: true, old: id(holder), new: id(holder.and(only(&pair.new))) }
            }
            (Listing::None, Listing::Closed { values, holder }) => {
                let message = format!("only {} is valid, there was no list", list(&values));
                self.set(rules::ENUM_ADDED, pair, message, Facet::of(UNIONS));
                self.gained(pair, &values);
                Listed { whole: true, old: id(holder.and(only(&pair.old))), new: id(holder) }
            }
            (Listing::Closed { values: old, holder }, Listing::Open { values: new, holder: other, .. }) => {
                let message = format!("values other than {} are valid", list(&old));
                self.set(rules::ENUM_OPENED, pair, message, Facet::of(UNIONS));
                self.renamed(pair, &old, &new);
                self.lost(pair, &old);
                Listed { whole: true, old: id(holder), new: Some(other.holder) }
            }
            (Listing::Open { values: old, holder, .. }, Listing::Closed { values: new, holder: other }) => {
                let message = format!("only {} is valid, other values were too", list(&new));
                self.set(rules::ENUM_CLOSED, pair, message, Facet::of(UNIONS));
                self.renamed(pair, &old, &new);
                self.gained(pair, &new);
                Listed { whole: true, old: Some(holder.holder), new: id(other) }
            }
            (
                Listing::Open { values: old, rest: others, holder },
                Listing::Open { values: new, rest: more, holder: other },
            ) => {
                self.renamed(pair, &old, &new);
                // One that is listed and fits another branch too is refused by `oneOf`.
                let added = new.iter().filter(|value| !old.contains(value));
                let known: Vec<&'g Json> = old.iter().chain(added).copied().collect();
                self.beside(pair, &known);
                self.one_of(pair, &holder, &other);
                if let ([one], [another]) = (others.as_slice(), more.as_slice()) {
                    self.pair(&[*one], &[*another], &pair.at);
                } else {
                    self.branches(pair, (holder, &others), (other, &more));
                }
                Listed { whole: false, old: Some(holder.holder), new: Some(other.holder) }
            }
            // A list appeared beside or instead of other rules: the union itself is compared.
            (Listing::Open { .. }, Listing::None) | (Listing::None, Listing::Open { .. }) => {
                Listed::default()
            }
        }
    }

    /// Listed values are judged by all that stands beside the lists, and by how many branches take them.
    fn beside(&mut self, pair: &Pair<'g>, listed: &[&'g Json]) {
        self.lost(pair, listed);
        self.gained(pair, listed);
    }

    /// Values of a list that went, or was opened, which what stands in its place refuses.
    fn lost(&mut self, pair: &Pair<'g>, listed: &[&'g Json]) {
        let values = listed.iter().filter(|value| pair.at.within.contains(type_of(value)));
        for value in values {
            let (old, new) = ((Side::Old, &pair.old_ids), (Side::New, &pair.new_ids));
            let prover = self.prover(pair.at.usage);
            if prover.accepts(old.0, old.1, value) && !prover.accepts(new.0, new.1, value) {
                self.note(rules::ENUM_VALUE_REMOVED, pair, format!("{} is no longer valid", short(value)));
            }
        }
    }

    /// Values of a list that came, or was closed, which what stood in its place refused.
    fn gained(&mut self, pair: &Pair<'g>, listed: &[&'g Json]) {
        let values = listed.iter().filter(|value| pair.at.within.contains(type_of(value)));
        for value in values {
            let (old, new) = ((Side::Old, &pair.old_ids), (Side::New, &pair.new_ids));
            let prover = self.prover(pair.at.usage);
            if prover.accepts(new.0, new.1, value) && !prover.accepts(old.0, old.1, value) {
                self.note(rules::ENUM_VALUE_ADDED, pair, format!("{} was not valid", short(value)));
            }
        }
    }

    /// Values of open enumerations that came and went.
    fn renamed(&mut self, pair: &Pair<'g>, old: &[&'g Json], new: &[&'g Json]) {
        for value in new.iter().filter(|value| !old.contains(value)) {
            self.note(rules::ENUM_VALUE_ADDED_OPEN, pair, format!("{} is a new known value", short(value)));
        }
        for value in old.iter().filter(|value| !new.contains(value)) {
            self.note(
                rules::ENUM_VALUE_REMOVED_OPEN,
                pair,
                format!("{} is no longer a known value", short(value)),
            );
        }
    }
}

/// The one union of a side.
fn only<'g>(flat: &Flat<'g>) -> Option<Union<'g>> {
    let unions = flat.unions();
    unions.first().copied().filter(|_| unions.len() == 1)
}

/// The values that both lists hold.
fn shared<'g>(old: &[&'g Json], new: &[&'g Json]) -> Vec<&'g Json> {
    old.iter().filter(|value| new.contains(value)).copied().collect()
}

/// A value in a message.
pub(super) fn short(value: &Json) -> String {
    let text = visible(&value.to_string());
    if text.chars().count() <= 60 {
        return format!("`{text}`");
    }
    let start: String = text.chars().take(57).collect();
    format!("`{start}…`")
}

/// JSON or a pattern with what nobody sees, or what moves what stands beside it, written as JSON and
/// patterns escape it.
pub(super) fn visible(text: &str) -> String {
    let is_hidden = |letter: char| {
        letter.is_control()
            || letter.is_whitespace() && letter != ' '
            // Letters of no width, marks of direction, tags (Unicode, `Default_Ignorable_Code_Point`).
            || matches!(
                letter,
                '\u{ad}'
                    | '\u{61c}'
                    | '\u{180e}'
                    | '\u{200b}'..='\u{200f}'
                    | '\u{202a}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}'
                    | '\u{fe00}'..='\u{fe0f}'
                    | '\u{feff}'
                    | '\u{e0000}'..='\u{e0fff}'
            )
    };
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hidden(letter) {
            out.extend(letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(letter);
        }
    }
    out
}

fn list(values: &[&Json]) -> String {
    let mut words: Vec<String> = values.iter().take(4).map(|value| short(value)).collect();
    if values.len() > 4 {
        words.push(format!("{} more", values.len() - 4));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_escaped() {
        for (text, shown) in [
            ("a\u{2028}b\u{a0}c d", "`\"a\\u2028b\\u00a0c d\"`"),
            ("\u{7f}\u{200b}\u{202e}", "`\"\\u007f\\u200b\\u202e\"`"),
            ("\u{e0001}\u{e9}\u{1f600}", "`\"\\udb40\\udc01\u{e9}\u{1f600}\"`"),
        ] {
            assert_eq!(short(&Json::String(text.to_owned())), shown);
        }
    }
}
