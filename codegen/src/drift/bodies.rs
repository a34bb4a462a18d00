//! Compares the content of request and response bodies for each media type.

use contract_codegen_core::api::MediaType;
use contract_runtime::media_type;

use super::{
    comparison::Comparison,
    findings::PlacePair,
    media,
    operations::{OperationPair, optional_schema},
    rules::{self, DriftRule},
    site::{ComparisonSite, ValueUse},
    wire::{compare_encodings, with_string_encoding},
    xml::{XmlComparer, are_xml},
};

/// A comparer for the media types of a request or response body.
pub(super) struct ContentComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    operation: &'c OperationPair<'g>,
    places: PlacePair<'g>,
    site: &'c ComparisonSite,
    /// The rule for an added media type.
    added: &'static DriftRule,
    /// The rule for a removed media type.
    removed: &'static DriftRule,
    /// Whether the body is a response that clients read. Clients that can read a media range, such as
    /// `image/*`, can read each media type in this range.
    is_read_response: bool,
}

impl<'c, 'g> ContentComparer<'c, 'g> {
    pub(super) const fn for_request(
        comparison: &'c mut Comparison<'g>,
        operation: &'c OperationPair<'g>,
        places: PlacePair<'g>,
        site: &'c ComparisonSite,
    ) -> Self {
        let (added, removed) = (rules::REQUEST_MEDIA_TYPE_ADDED, rules::REQUEST_MEDIA_TYPE_REMOVED);
        Self { comparison, operation, places, site, added, removed, is_read_response: false }
    }

    pub(super) fn for_response(
        comparison: &'c mut Comparison<'g>,
        operation: &'c OperationPair<'g>,
        places: PlacePair<'g>,
        site: &'c ComparisonSite,
    ) -> Self {
        let (added, removed) = (rules::RESPONSE_MEDIA_TYPE_ADDED, rules::RESPONSE_MEDIA_TYPE_REMOVED);
        let is_read_response = site.value_use == ValueUse::Read;
        Self { comparison, operation, places, site, added, removed, is_read_response }
    }

    /// Matches the media types of both versions, compares the schemas of each pair, and reports added media
    /// types.
    pub(super) fn compare_content(&mut self, old: &'g [MediaType], new: &'g [MediaType]) {
        for before in old {
            for after in self.match_media_type(before, new) {
                // The site names the media type only if there are several.
                let site = match old.len() {
                    1 => self.site.clone(),
                    _ => {
                        let base = format!("{} ({})", self.site.base, before.name);
                        ComparisonSite::new(base, self.site.value_use)
                    }
                };
                self.compare_media_type(before, after, site);
            }
        }
        for after in new {
            let is_in_range = |before: &MediaType| {
                self.is_read_response
                    && media_types_in_range(before, new).any(|each| std::ptr::eq(each, after))
            };
            if media::find_equivalent(old, &after.name).is_none()
                && !old.iter().any(is_in_range)
                && !self.is_replacement(after, old, new)
            {
                self.report(self.added, format!("`{}` is new", after.name));
            }
        }
    }

    /// Returns the media types of the new version that correspond to the media type `before`. Reports
    /// `before` if it was removed or narrowed.
    fn match_media_type(&mut self, before: &'g MediaType, new: &'g [MediaType]) -> Vec<&'g MediaType> {
        let same = media::find_equivalent(new, &before.name);
        if let Some(after) = same.or_else(|| find_accepting_range(new, &before.name, self.site.value_use)) {
            return vec![after];
        }
        let remaining: Vec<&MediaType> = media_types_in_range(before, new).collect();
        if !remaining.is_empty() {
            let names: Vec<String> = remaining.iter().map(|media| format!("`{}`", media.name)).collect();
            let message = format!("`{}` was narrowed to {}", before.name, names.join(", "));
            // Readers of a media range can read each media type in it.
            self.report(if self.is_read_response { rules::RESPONSE_NARROWED } else { self.removed }, message);
            return remaining;
        }
        if let Some(range) = find_enclosing_range(new, &before.name) {
            self.report(self.removed, format!("`{}` was widened to `{}`", before.name, range.name));
            return vec![range];
        }
        self.report(self.removed, format!("`{}` was removed", before.name));
        Vec::new()
    }

    /// Returns true if the new media type `after` is reported as the replacement of an old one: as a media type
    /// to which a removed range was narrowed, or as a range to which readers' media types were widened.
    fn is_replacement(&self, after: &MediaType, old: &[MediaType], new: &[MediaType]) -> bool {
        let is_removed = |before: &MediaType| media::find_equivalent(new, &before.name).is_none();
        let is_narrowed =
            |before: &MediaType| media_types_in_range(before, new).any(|each| std::ptr::eq(each, after));
        let is_widened = |before: &MediaType| {
            self.site.value_use == ValueUse::Read
                && find_enclosing_range(new, &before.name).is_some_and(|range| std::ptr::eq(range, after))
        };
        old.iter().any(|before| is_removed(before) && (is_narrowed(before) || is_widened(before)))
    }

    fn compare_media_type(&mut self, before: &'g MediaType, after: &'g MediaType, site: ComparisonSite) {
        compare_encodings(self.comparison, (before, after), self.places, self.site);
        let site = with_string_encoding(self.comparison, (before, after), site);
        let (old, new) = (optional_schema(before.schema), optional_schema(after.schema));
        self.comparison.compare_schemas(&old, &new, &site);
        self.comparison.compare_schemas(
            &optional_schema(before.item_schema),
            &optional_schema(after.item_schema),
            &site,
        );
        if are_xml(&before.name, &after.name) {
            XmlComparer::new(self.comparison).compare_xml(&old, &new, &site);
        }
    }

    fn report(&mut self, rule: &'static DriftRule, message: String) {
        self.operation.report(self.comparison, rule, self.places, &self.site.base, message);
    }
}

/// Returns the most specific media range in `all` that includes the media type `name`. Returns `None` if
/// there is none, and for bodies that clients read.
fn find_accepting_range<'g>(all: &'g [MediaType], name: &str, value_use: ValueUse) -> Option<&'g MediaType> {
    // Readers could receive any other media type of the range.
    if value_use == ValueUse::Read { None } else { find_enclosing_range(all, name) }
}

/// Returns the most specific media range in `all` that includes the media type `name`.
fn find_enclosing_range<'g>(all: &'g [MediaType], name: &str) -> Option<&'g MediaType> {
    let sent = media_type::MediaType::parse(name);
    let accepts = |other: &&MediaType| {
        let range = parse_media_type(other);
        range.is_range() && range.contains(&sent)
    };
    all.iter().filter(accepts).min_by_key(|other| parse_media_type(other).wildcard_rank())
}

/// Returns the media types in `all` that the media range `range` includes. Returns none if `range` is not a
/// media range.
fn media_types_in_range<'a, 'g>(
    range: &'a MediaType,
    all: &'g [MediaType],
) -> impl Iterator<Item = &'g MediaType> + use<'a, 'g> {
    let range = parse_media_type(range);
    all.iter().filter(move |media| range.is_range() && range.contains(&parse_media_type(media)))
}

fn parse_media_type(media: &MediaType) -> media_type::MediaType<'_> {
    media_type::MediaType::parse(&media.name)
}
