//! Compares `format`, which is an annotation or an assertion, depending on the dialect.

use contract_codegen_core::schema::{TypeSet, keywords::Keyword};
use contract_runtime::{Json, format::StringFormat};

use super::{
    annotations::content_encoding_and_type,
    comparison::{Comparison, SchemaPair},
    flattened::FlattenedSchema,
    rules,
    site::ValueUse,
    verdicts::KeywordFacet,
};

/// The keywords of the facet for formats that a dialect asserts.
pub(super) const FORMAT_KEYWORDS: &[Keyword] = &[Keyword::AssertedFormat];

/// Strings that match no format.
const STRINGS_WITHOUT_FORMAT: [&str; 2] = ["", "\u{7f} "];

/// A comparer for the formats of a pair of schemas.
pub(super) struct FormatComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    pair: &'c SchemaPair<'g>,
}

impl<'c, 'g> FormatComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, pair: &'c SchemaPair<'g>) -> Self {
        Self { comparison, pair }
    }

    /// Compares the formats. A change of asserted formats is reported as a change of the valid strings.
    /// Without such a change, the formats are compared as annotations.
    pub(super) fn compare_formats(&mut self) {
        let pair = self.pair;
        if self.compare_asserted_formats() {
            return;
        }
        let pick = |flat: &FlattenedSchema<'g>| flat.distinct_strings(|schema| schema.format.as_ref());
        let (mut old, mut new) = (pick(&pair.old), pick(&pair.new));
        if content_encoding_and_type(&pair.old) == content_encoding_and_type(&pair.new) {
            // The formats `byte` and `binary` describe the content of the string. It is unchanged, even if
            // other keywords describe it now.
            let is_other = |format: &&str| !matches!(*format, "byte" | "binary");
            old.retain(is_other);
            new.retain(is_other);
        }
        if old == new {
            return;
        }
        let (is, was) = (join_formats(new.iter().copied()), join_formats(old.iter().copied()));
        let fits = |flat: &FlattenedSchema<'g>| {
            old.iter().chain(&new).all(|format| integer_format_fits(format, flat))
        };
        let both = || fits(&pair.old) && fits(&pair.new);
        // If only one version has formats, a removed format matters to readers and an added one to writers.
        // It has to hold the numbers of the version without formats.
        let fits_without_format = || match pair.site.value_use {
            ValueUse::Read => new.is_empty() && fits(&pair.new),
            ValueUse::Write => old.is_empty() && fits(&pair.old),
        };
        let (rule, message) = match (old.is_empty(), new.is_empty()) {
            _ if accepts_only_numbers(pair) && (both() || fits_without_format()) => {
                let named = |names: String| if names.is_empty() { "none".to_owned() } else { names };
                let message = format!("the number format changed from {} to {}", named(was), named(is));
                (rules::NUMBER_FORMAT_REWRITTEN, format!("{message}, and every valid number fits"))
            }
            (true, _) => (rules::FORMAT_ADDED, format!("the format {is} was added")),
            (_, true) => (rules::FORMAT_REMOVED, format!("the format {was} was removed")),
            _ if accepts_only_numbers(pair) && number_format_includes(&new, &old) => {
                (rules::NUMBER_FORMAT_WIDENED, format!("the format changed from {was} to {is}"))
            }
            _ if accepts_only_numbers(pair) && number_format_includes(&old, &new) => {
                (rules::NUMBER_FORMAT_NARROWED, format!("the format changed from {was} to {is}"))
            }
            _ => (rules::FORMAT_CHANGED, format!("the format changed from {was} to {is}")),
        };
        self.comparison.report_change(rule, pair, message);
    }

    /// Reports a change of the asserted formats. Returns false if there is no change to report: if the
    /// formats are equal or imply each other, or if one version accepts no strings.
    fn compare_asserted_formats(&mut self) -> bool {
        let pair = self.pair;
        let (old, new) = (asserted_formats(&pair.old), asserted_formats(&pair.new));
        if old == new || !pair.old.types().intersection(pair.new.types()).contains(TypeSet::STRING) {
            return false;
        }
        let rule = match (formats_imply(&old, &new), formats_imply(&new, &old)) {
            (true, true) => return false,
            (true, false) => rules::FORMAT_WIDENED,
            (false, true) => rules::FORMAT_NARROWED,
            (false, false) => rules::FORMAT_REPLACED,
        };
        let names = |formats: &[StringFormat]| join_formats(formats.iter().map(|format| format.as_str()));
        let message = match (old.is_empty(), new.is_empty()) {
            (true, _) => format!("strings must have the format {}", names(&new)),
            (_, true) => format!("strings need not have the format {}", names(&old)),
            _ => format!("strings must have the format {} instead of {}", names(&new), names(&old)),
        };
        let tries = old.iter().chain(&new).map(|format| format.example()).chain(STRINGS_WITHOUT_FORMAT);
        let tries = tries.map(|text| Json::String(text.to_owned()));
        self.comparison.report_restriction(
            rule,
            pair,
            message,
            KeywordFacet::new(FORMAT_KEYWORDS).with_candidates(tries),
        );
        true
    }
}

/// Returns true if every string that `producing` accepts has the asserted formats of `accepting`. This
/// follows from the asserted formats of `producing` or from the values that it lists.
pub(super) fn implies_formats_of(producing: &FlattenedSchema<'_>, accepting: &FlattenedSchema<'_>) -> bool {
    let formats = asserted_formats(accepting);
    let matches_all =
        |value: &&Json| value.as_str().is_none_or(|text| formats.iter().all(|format| format.is_match(text)));
    producing.listed_values().is_some_and(|values| values.iter().all(matches_all))
        || formats_imply(&asserted_formats(producing), &formats)
}

fn asserted_formats(flat: &FlattenedSchema<'_>) -> Vec<StringFormat> {
    let mut all: Vec<StringFormat> = flat.schemas().filter_map(|schema| schema.asserted).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns true if strings that match all given formats also match all expected formats.
fn formats_imply(producing: &[StringFormat], accepting: &[StringFormat]) -> bool {
    accepting
        .iter()
        .all(|format| producing.iter().any(|produced| produced == format || is_kind_of(*produced, *format)))
}

/// Returns true if every string that matches one format also matches another.
///
/// A URI is a URI reference (RFC 3986, 4.1), and every URI is an IRI (RFC 3987, 1.2).
const fn is_kind_of(one: StringFormat, other: StringFormat) -> bool {
    use StringFormat::{Iri, IriReference, Uri, UriReference};
    matches!((one, other), (Uri, UriReference | Iri | IriReference) | (UriReference | Iri, IriReference))
}

/// Returns true if both versions accept only numbers and `null`.
fn accepts_only_numbers(pair: &SchemaPair<'_>) -> bool {
    let numbers = TypeSet::NUMBER.union(TypeSet::NULL);
    pair.old.types().union(pair.new.types()).difference(numbers).is_empty()
}

/// Parses the name of an integer format, such as `int32` or `uint8`. Returns true for a signed format, and
/// the number of bits.
fn parse_integer_format(name: &str) -> Option<(bool, u32)> {
    match name.strip_prefix("uint") {
        Some(bits) => Some((false, bits.parse().ok()?)),
        None => Some((true, name.strip_prefix("int")?.parse().ok()?)),
    }
}

/// Returns true if an integer format can represent all numbers that a schema accepts.
fn integer_format_fits(format: &str, flat: &FlattenedSchema<'_>) -> bool {
    let Some((signed, bits @ 1..=64)) = parse_integer_format(format) else { return false };
    let above = 1_i128 << (bits - u32::from(signed));
    let least = if signed { -above } else { 0 };
    let inside = |value: Option<i128>| value.is_some_and(|value| (least..above).contains(&value));
    if let Some(values) = flat.listed_values() {
        let mut numbers = values.iter().filter_map(|value| match value {
            Json::Number(number) => Some(number),
            _ => None,
        });
        return numbers.all(|number| number.floor() == number.ceil() && inside(number.floor()));
    }
    let (Some(lower), Some(upper)) = (flat.lower_bound(), flat.upper_bound()) else { return false };
    let is_integer = flat.types().contains(TypeSet::INTEGER) && !flat.types().contains(TypeSet::NUMBER);
    // These are the first and the last integer in the range.
    let first = lower.value.floor().and_then(|end| end.checked_add(lower.exclusive.into()));
    let last = upper.value.ceil().and_then(|end| end.checked_sub(upper.exclusive.into()));
    is_integer && inside(first) && inside(last)
}

/// Returns true if the format in `wide` can represent every number of the format in `narrow`. Returns false
/// if one of the lists does not contain exactly one format.
fn number_format_includes(wide: &[&str], narrow: &[&str]) -> bool {
    let ([wide], [narrow]) = (wide, narrow) else { return false };
    match (parse_integer_format(wide), parse_integer_format(narrow)) {
        (Some((true, wide)), Some((false, narrow))) => wide > narrow,
        (Some((signed, wide)), Some((other, narrow))) => signed == other && wide >= narrow,
        (None, None) => (*wide, *narrow) == ("double", "float"),
        _ => false,
    }
}

fn join_formats<'a>(formats: impl Iterator<Item = &'a str>) -> String {
    formats.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
}
