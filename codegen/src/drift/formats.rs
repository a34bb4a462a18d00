//! `format`: what a text means, and what it must be where the dialect asserts it.

use contract_runtime::{Json, format::Format};

use super::{
    annotations::held,
    finding::{Comparer, Facet, Pair},
    flat::Flat,
    rules,
    subject::Use,
};
use crate::schema::{Types, keywords::Keyword};

/// The keyword that alone decides by formats.
pub(super) const FORMATS: &[Keyword] = &[Keyword::AssertedFormat];

/// Texts without any format.
const FORMLESS: [&str; 2] = ["", "\u{7f} "];

impl<'g> Comparer<'g> {
    /// Compares formats, as what they refuse or as what they say.
    pub(super) fn formats(&mut self, pair: &Pair<'g>) {
        if self.asserted_formats(pair) {
            return;
        }
        let pick = |flat: &Flat<'g>| flat.texts(|schema| schema.format.as_ref());
        let (mut old, mut new) = (pick(&pair.old), pick(&pair.new));
        if held(&pair.old) == held(&pair.new) {
            // It is said otherwise what the text holds.
            let is_other = |format: &&str| !matches!(*format, "byte" | "binary");
            old.retain(is_other);
            new.retain(is_other);
        }
        if old == new {
            return;
        }
        let (is, was) = (words(new.iter().copied()), words(old.iter().copied()));
        let fits = |flat: &Flat<'g>| old.iter().chain(&new).all(|format| holds_all(format, flat));
        let both = || fits(&pair.old) && fits(&pair.new);
        // One side alone asks: readers of the old version, or the new one of those who write.
        let given = || match pair.at.usage {
            Use::Read => new.is_empty() && fits(&pair.new),
            Use::Write => old.is_empty() && fits(&pair.old),
        };
        let (rule, message) = match (old.is_empty(), new.is_empty()) {
            _ if holds_numbers(pair) && (both() || given()) => {
                let named = |words: String| if words.is_empty() { "none".to_owned() } else { words };
                let message = format!("the format of numbers is {}, was {}", named(is), named(was));
                (rules::NUMBER_FORMAT_REWRITTEN, format!("{message}, and all that are valid have room in it"))
            }
            (true, _) => (rules::FORMAT_ADDED, format!("the format is {is}, there was none")),
            (_, true) => (rules::FORMAT_REMOVED, format!("there is no format, was {was}")),
            _ if holds_numbers(pair) && has_room(&new, &old) => {
                (rules::NUMBER_FORMAT_WIDENED, format!("the format is {is}, was {was}"))
            }
            _ if holds_numbers(pair) && has_room(&old, &new) => {
                (rules::NUMBER_FORMAT_NARROWED, format!("the format is {is}, was {was}"))
            }
            _ => (rules::FORMAT_CHANGED, format!("the format is {is}, was {was}")),
        };
        self.note(rule, pair, message);
    }

    /// Whether other texts are valid than before, which is said then.
    fn asserted_formats(&mut self, pair: &Pair<'g>) -> bool {
        let (old, new) = (asserted(&pair.old), asserted(&pair.new));
        if old == new || !pair.old.types().and(pair.new.types()).contains(Types::STRING) {
            return false;
        }
        let rule = match (within(&old, &new), within(&new, &old)) {
            (true, true) => return false,
            (true, false) => rules::FORMAT_WIDENED,
            (false, true) => rules::FORMAT_NARROWED,
            (false, false) => rules::FORMAT_REPLACED,
        };
        let names = |formats: &[Format]| words(formats.iter().map(|format| format.name()));
        let message = match (old.is_empty(), new.is_empty()) {
            (true, _) => format!("a text must have the format {}, any was valid", names(&new)),
            (_, true) => format!("a text need not have the format {}", names(&old)),
            _ => format!("a text must have the format {}, was {}", names(&new), names(&old)),
        };
        let tries = old.iter().chain(&new).map(|format| format.example()).chain(FORMLESS);
        let tries = tries.map(|text| Json::String(text.to_owned()));
        self.set(rule, pair, message, Facet::of(FORMATS).tries(tries));
        true
    }
}

/// Whether all texts of one side have the formats that the other asserts.
pub(super) fn holds(given: &Flat<'_>, taken: &Flat<'_>) -> bool {
    within(&asserted(given), &asserted(taken))
}

fn asserted(flat: &Flat<'_>) -> Vec<Format> {
    let mut all: Vec<Format> = flat.schemas().filter_map(|schema| schema.asserted).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether texts of all the first formats have all the others.
fn within(given: &[Format], taken: &[Format]) -> bool {
    taken.iter().all(|format| given.iter().any(|own| own == format || is_kind_of(*own, *format)))
}

/// RFC 3986, 4.1: a URI is a URI reference; RFC 3987, 1.2: every URI is an IRI.
const fn is_kind_of(one: Format, other: Format) -> bool {
    use Format::{Iri, IriReference, Uri, UriReference};
    matches!((one, other), (Uri, UriReference | Iri | IriReference) | (UriReference | Iri, IriReference))
}

/// Whether values are numbers, or nothing.
fn holds_numbers(pair: &Pair<'_>) -> bool {
    let numbers = Types::NUMBER.or(Types::NULL);
    pair.old.types().or(pair.new.types()).without(numbers).is_empty()
}

/// Whether a format is signed, and its bits.
fn integer(name: &str) -> Option<(bool, u32)> {
    match name.strip_prefix("uint") {
        Some(bits) => Some((false, bits.parse().ok()?)),
        None => Some((true, name.strip_prefix("int")?.parse().ok()?)),
    }
}

/// Whether a format of integers has room for all that the bounds of a place leave.
fn holds_all(format: &str, flat: &Flat<'_>) -> bool {
    let Some((signed, bits @ 1..=64)) = integer(format) else { return false };
    let above = 1_i128 << (bits - u32::from(signed));
    let least = if signed { -above } else { 0 };
    let inside = |value: Option<i128>| value.is_some_and(|value| (least..above).contains(&value));
    if let Some(values) = flat.values() {
        let mut numbers = values.iter().filter_map(|value| match value {
            Json::Number(number) => Some(number),
            _ => None,
        });
        return numbers.all(|number| number.floor() == number.ceil() && inside(number.floor()));
    }
    let (Some(lower), Some(upper)) = (flat.lower(), flat.upper()) else { return false };
    let whole = flat.types().contains(Types::INTEGER) && !flat.types().contains(Types::NUMBER);
    // The first and the last integer within.
    let first = lower.value.floor().and_then(|end| end.checked_add(lower.exclusive.into()));
    let last = upper.value.ceil().and_then(|end| end.checked_sub(upper.exclusive.into()));
    whole && inside(first) && inside(last)
}

/// Whether one format has room for every number of another.
fn has_room(wide: &[&str], narrow: &[&str]) -> bool {
    let ([wide], [narrow]) = (wide, narrow) else { return false };
    match (integer(wide), integer(narrow)) {
        (Some((true, wide)), Some((false, narrow))) => wide > narrow,
        (Some((signed, wide)), Some((other, narrow))) => signed == other && wide >= narrow,
        (None, None) => (*wide, *narrow) == ("double", "float"),
        _ => false,
    }
}

fn words<'a>(formats: impl Iterator<Item = &'a str>) -> String {
    formats.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
}
