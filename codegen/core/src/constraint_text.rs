//! Formats the constraints of a schema as English text for documentation and messages, and escapes contract
//! text for comments.

use std::collections::BTreeSet;

use contract_runtime::Json;

use crate::schema::{Schema, SchemaGraph, SchemaId};

/// Describes the combined constraints of several schemas, such as `1 to 128 characters; matches …`.
#[must_use]
pub fn describe_limits(schemas: &[&Schema]) -> String {
    let mut phrases = Vec::new();
    let least = |of: fn(&Schema) -> Option<u64>| schemas.iter().filter_map(|s| of(s)).max();
    let smallest = |of: fn(&Schema) -> Option<u64>| schemas.iter().filter_map(|s| of(s)).min();
    let mut range = |min: Option<u64>, max: Option<u64>, one: &str, many: &str| {
        let noun = |n: u64| if n == 1 { one.to_owned() } else { many.to_owned() };
        phrases.extend(match (min, max) {
            (Some(a), Some(b)) if a == b => Some(format!("exactly {a} {}", noun(a))),
            (Some(a), Some(b)) => Some(format!("{a} to {b} {}", noun(b))),
            (Some(a), None) => Some(format!("at least {a} {}", noun(a))),
            (None, Some(b)) => Some(format!("at most {b} {}", noun(b))),
            (None, None) => None,
        });
    };
    range(least(|s| s.min_length), smallest(|s| s.max_length), "character", "characters");
    range(least(|s| s.min_items), smallest(|s| s.max_items), "entry", "entries");
    range(least(|s| s.min_properties), smallest(|s| s.max_properties), "member", "members");
    let lower = schemas.iter().filter_map(|s| s.minimum.as_ref()).max();
    let upper = schemas.iter().filter_map(|s| s.maximum.as_ref()).min();
    let above = schemas.iter().filter_map(|s| s.exclusive_minimum.as_ref()).max();
    let below = schemas.iter().filter_map(|s| s.exclusive_maximum.as_ref()).min();
    phrases.extend(match (lower, upper) {
        (Some(a), Some(b)) => Some(format!("{a} to {b}")),
        (Some(a), None) => Some(format!("at least {a}")),
        (None, Some(b)) => Some(format!("at most {b}")),
        (None, None) => None,
    });
    phrases.extend(above.map(|n| format!("more than {n}")));
    phrases.extend(below.map(|n| format!("less than {n}")));
    phrases.extend(schemas.iter().find_map(|s| s.multiple_of.as_ref()).map(|n| format!("a multiple of {n}")));
    if schemas.iter().any(|s| s.unique_items) {
        phrases.push("unique items".to_owned());
    }
    let formats: BTreeSet<&str> = schemas.iter().filter_map(|s| s.format.as_deref()).collect();
    phrases.extend(formats.into_iter().filter(|f| !f.contains('`')).map(|f| format!("format `{f}`")));
    for pattern in schemas.iter().filter_map(|s| s.pattern.as_deref()) {
        if !pattern.contains('`') {
            phrases.push(format!("matches `{pattern}`"));
        }
    }
    phrases.join("; ")
}

/// Describes the combined constraints of a schema and of the schemas that it references.
#[must_use]
pub fn describe_schema_limits(graph: &SchemaGraph, schema: SchemaId) -> String {
    let mut schemas = Vec::new();
    let mut next = Some(schema);
    // The number of steps is limited, because a graph that was built by other code may contain cycles.
    while let Some(id) = next.filter(|_| schemas.len() < 64) {
        schemas.push(graph.schema(id));
        next = graph.schema(id).reference;
    }
    describe_limits(&schemas)
}

/// Returns the default value. The last schema with a default takes precedence, since it is nearest to the use.
#[must_use]
pub(crate) fn find_default<'s>(schemas: &[&'s Schema]) -> Option<&'s Json> {
    schemas.iter().rev().find_map(|schema| schema.default.as_ref())
}

/// Describes the default value, if it is short enough to print; see [`find_default`].
#[must_use]
pub(crate) fn describe_default(schemas: &[&Schema]) -> Option<String> {
    /// The maximum length in bytes of a default list or object that is printed.
    const LONGEST: usize = 72;
    let default = find_default(schemas)?;
    let text = default.to_string();
    let short = !matches!(default, Json::Object(_) | Json::Array(_)) || text.len() <= LONGEST;
    short.then(|| format!("Default: `{text}`."))
}

/// Escapes text for a comment: normalizes line endings, expands tabs to spaces, and escapes unprintable
/// characters.
#[must_use]
pub(crate) fn sanitize_comment(text: &str) -> String {
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

/// Returns true for control characters and for characters that change the text direction. The compiler
/// rejects the latter in comments, because they can hide code.
pub(crate) fn is_unprintable(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && c != '\n')
}
