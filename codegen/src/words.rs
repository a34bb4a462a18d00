//! The rules of a place in words, as documentation and messages say them, and what of a contract's
//! text a comment can hold.

use std::collections::BTreeSet;

use contract_runtime::Json;

use crate::schema::{Graph, Schema, SchemaId};

/// The limits of a place in words: `1 to 128 characters; matches …`.
#[must_use]
pub fn limits(schemas: &[&Schema]) -> String {
    let mut words = Vec::new();
    let least = |of: fn(&Schema) -> Option<u64>| schemas.iter().filter_map(|s| of(s)).max();
    let most = |of: fn(&Schema) -> Option<u64>| schemas.iter().filter_map(|s| of(s)).min();
    let mut range = |min: Option<u64>, max: Option<u64>, one: &str, many: &str| {
        let noun = |n: u64| if n == 1 { one.to_owned() } else { many.to_owned() };
        words.extend(match (min, max) {
            (Some(a), Some(b)) if a == b => Some(format!("exactly {a} {}", noun(a))),
            (Some(a), Some(b)) => Some(format!("{a} to {b} {}", noun(b))),
            (Some(a), None) => Some(format!("at least {a} {}", noun(a))),
            (None, Some(b)) => Some(format!("at most {b} {}", noun(b))),
            (None, None) => None,
        });
    };
    range(least(|s| s.min_length), most(|s| s.max_length), "character", "characters");
    range(least(|s| s.min_items), most(|s| s.max_items), "entry", "entries");
    range(least(|s| s.min_properties), most(|s| s.max_properties), "member", "members");
    let lower = schemas.iter().filter_map(|s| s.minimum.as_ref()).max();
    let upper = schemas.iter().filter_map(|s| s.maximum.as_ref()).min();
    let above = schemas.iter().filter_map(|s| s.exclusive_minimum.as_ref()).max();
    let below = schemas.iter().filter_map(|s| s.exclusive_maximum.as_ref()).min();
    words.extend(match (lower, upper) {
        (Some(a), Some(b)) => Some(format!("{a} to {b}")),
        (Some(a), None) => Some(format!("at least {a}")),
        (None, Some(b)) => Some(format!("at most {b}")),
        (None, None) => None,
    });
    words.extend(above.map(|n| format!("more than {n}")));
    words.extend(below.map(|n| format!("less than {n}")));
    words.extend(schemas.iter().find_map(|s| s.multiple_of.as_ref()).map(|n| format!("a multiple of {n}")));
    if schemas.iter().any(|s| s.unique_items) {
        words.push("no two equal".to_owned());
    }
    let formats: BTreeSet<&str> = schemas.iter().filter_map(|s| s.format.as_deref()).collect();
    words.extend(formats.into_iter().filter(|f| !f.contains('`')).map(|f| format!("format `{f}`")));
    for pattern in schemas.iter().filter_map(|s| s.pattern.as_deref()) {
        if !pattern.contains('`') {
            words.push(format!("matches `{pattern}`"));
        }
    }
    words.join("; ")
}

/// The limits of a plain value in words, those of its references among them.
#[must_use]
pub fn limits_of(graph: &Graph, schema: SchemaId) -> String {
    let mut schemas = Vec::new();
    let mut next = Some(schema);
    // Bounded like every walk over references: a graph may be made by hand.
    while let Some(id) = next.filter(|_| schemas.len() < 64) {
        schemas.push(graph.schema(id));
        next = graph.schema(id).reference;
    }
    limits(&schemas)
}

/// The default of a place, when it is short enough to print: of several the one that is nearest to the use, which
/// stands last.
#[must_use]
pub(crate) fn default(schemas: &[&Schema]) -> Option<String> {
    /// Lists and objects that take more are left to the contract.
    const LONGEST: usize = 72;
    let default = schemas.iter().rev().find_map(|schema| schema.default.as_ref())?;
    let text = default.to_string();
    let short = !matches!(default, Json::Object(_) | Json::Array(_)) || text.len() <= LONGEST;
    short.then(|| format!("Default: `{text}`."))
}

/// Text as a comment may hold it: line ends of one kind, spaces for tabs, escapes for the rest.
#[must_use]
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\t' => out.push_str("    "),
            c if is_unprintable(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// What no comment may hold as it is: control characters, and marks that turn the direction of
/// text, which the compiler refuses since they can hide code.
pub(crate) fn is_unprintable(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && c != '\n')
}
