//! Compares the responses of an operation: statuses, bodies and headers.

use contract_codegen_core::api::{MediaType, Response, ResponseHeader, StatusPattern};

use super::{
    bodies::ContentComparer,
    comparison::Comparison,
    findings::PlacePair,
    media,
    operations::{OperationPair, optional_schema},
    rules::{self, DriftRule},
    site::{ComparisonSite, StringScope, ValueUse},
    wire::describe_header_change,
};

/// A comparer for the responses of an operation.
pub(super) struct ResponseComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    operation: &'c OperationPair<'g>,
}

impl<'c, 'g> ResponseComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, operation: &'c OperationPair<'g>) -> Self {
        Self { comparison, operation }
    }

    /// Matches the responses of both versions by status, compares the pairs, and reports added and removed
    /// responses.
    pub(super) fn compare_responses(&mut self) {
        let OperationPair { old, new, .. } = *self.operation;
        for before in &old.responses {
            match new.responses.iter().find(|after| after.status == before.status) {
                Some(after) => self.compare_response(before, after),
                None => self.compare_removed_response(before),
            }
        }
        for after in &new.responses {
            if !old.responses.iter().any(|before| before.status == after.status) {
                self.compare_added_response(after);
            }
        }
    }

    fn report(&mut self, rule: &'static DriftRule, places: PlacePair<'_>, subject: &str, message: String) {
        self.operation.report(self.comparison, rule, places, subject, message);
    }

    fn compare_removed_response(&mut self, before: &'g Response) {
        let OperationPair { old, new, response_use, .. } = *self.operation;
        let status = format_status(before.status);
        let subject = format!("{} {status}", self.operation.label());
        if let Some(after) = covering_response(&new.responses, before.status) {
            let wider = format_status(after.status);
            let message = format!("{status} no longer has its own entry and falls under {wider}");
            let places = (Some(&before.place), Some(&after.place));
            self.report(rules::RESPONSE_FOLDED, places, &subject, message);
            self.compare_response(before, after);
            return;
        }
        // These entries of the new version replace parts of the removed entry.
        let narrowed: Vec<String> = newly_named_statuses(&old.responses, &new.responses)
            .filter(|(wider, _)| wider.status == before.status)
            .map(|(_, after)| format_status(after.status))
            .collect();
        let (rule, message) = if response_use == ValueUse::Read && !narrowed.is_empty() {
            (rules::RESPONSE_NARROWED, format!("{status} was narrowed to {}", narrowed.join(", ")))
        } else if is_success(before.status) {
            (rules::RESPONSE_REMOVED, format!("{status} was removed"))
        } else {
            (rules::ERROR_RESPONSE_REMOVED, format!("{status} was removed"))
        };
        self.report(rule, (Some(&before.place), Some(&new.place)), &subject, message);
    }

    fn compare_added_response(&mut self, after: &'g Response) {
        let OperationPair { old, response_use, .. } = *self.operation;
        let status = format_status(after.status);
        let subject = format!("{} {status}", self.operation.label());
        if let Some(before) = covering_response(&old.responses, after.status) {
            let wider = format_status(before.status);
            let message = format!("{status} now has its own entry, separate from {wider}");
            let places = (Some(&before.place), Some(&after.place));
            self.report(rules::RESPONSE_NAMED, places, &subject, message);
            self.compare_response(before, after);
            return;
        }
        // Clients send the responses to webhooks, so a new response only gives them one more choice.
        let can_be_read = response_use == ValueUse::Write
            || !matches!(after.status, StatusPattern::Code(200..300) | StatusPattern::Range(2))
            || old.responses.iter().any(|before| self.can_read_response(before, after));
        let (rule, message) = if can_be_read {
            (rules::RESPONSE_ADDED, format!("{status} is new"))
        } else {
            let message =
                format!("{status} is new, and its body matches no success response of the old version");
            (rules::RESPONSE_ADDED_SUCCESS, message)
        };
        self.report(rule, (Some(&old.place), Some(&after.place)), &subject, message);
    }

    /// Returns true if readers of the success response `known` can read the response `other` in every media
    /// type that both responses declare.
    fn can_read_response(&mut self, known: &'g Response, other: &'g Response) -> bool {
        let shared = |media: &'g MediaType| {
            let same = media::find_equivalent(&known.content, &media.name);
            same.map(|same| (optional_schema(same.schema), optional_schema(media.schema)))
        };
        let shared: Vec<_> = other.content.iter().filter_map(shared).collect();
        is_success(known.status)
            && known.content.is_empty() == other.content.is_empty()
            && known.content.is_empty() == shared.is_empty()
            && shared.iter().all(|(known, other)| self.comparison.can_read(known, other))
    }

    fn compare_response(&mut self, before: &'g Response, after: &'g Response) {
        let base = format!("{} {}", self.operation.label(), format_status(after.status));
        let places = (Some(&before.place), Some(&after.place));
        if before.description != after.description {
            let message = "the description of the response changed".to_owned();
            self.report(rules::OPERATION_EDITORIAL, places, &base, message);
        }
        let site = ComparisonSite::new(format!("{base} body"), self.operation.response_use);
        ContentComparer::for_response(self.comparison, self.operation, places, &site)
            .compare_content(&before.content, &after.content);
        self.compare_headers((&before.headers, &after.headers), places, &base);
    }

    fn compare_headers(
        &mut self,
        (old, new): (&'g [ResponseHeader], &'g [ResponseHeader]),
        places: PlacePair<'_>,
        base: &str,
    ) {
        for before in old {
            let site =
                ComparisonSite::new(format!("{base} header {}", before.name), self.operation.response_use);
            match new.iter().find(|after| after.name.eq_ignore_ascii_case(&before.name)) {
                Some(after) => self.compare_header((before, after), places, site),
                None => {
                    let rule = match before.required {
                        true => rules::RESPONSE_HEADER_REMOVED,
                        false => rules::RESPONSE_HEADER_REMOVED_OPTIONAL,
                    };
                    self.report(
                        rule,
                        places,
                        &site.base,
                        format!("the header `{}` was removed", before.name),
                    );
                }
            }
        }
        for after in new {
            if !old.iter().any(|before| before.name.eq_ignore_ascii_case(&after.name)) {
                let subject = format!("{base} header {}", after.name);
                // Existing receivers do not send the new header.
                let is_demanded = self.operation.response_use == ValueUse::Write && after.required;
                let (rule, kind) = match is_demanded {
                    true => (rules::RESPONSE_HEADER_REQUIRED, " and required"),
                    false => (rules::RESPONSE_HEADER_ADDED, ""),
                };
                self.report(rule, places, &subject, format!("the header `{}` is new{kind}", after.name));
            }
        }
    }

    fn compare_header(
        &mut self,
        (before, after): (&'g ResponseHeader, &'g ResponseHeader),
        places: PlacePair<'_>,
        site: ComparisonSite,
    ) {
        match (before.required, after.required) {
            (false, true) => {
                let message = match site.value_use {
                    ValueUse::Read => "the header is now always sent",
                    ValueUse::Write => "the header became required",
                };
                self.report(rules::RESPONSE_HEADER_REQUIRED, places, &site.base, message.to_owned());
            }
            (true, false) => {
                let message = "the header may now be missing".to_owned();
                self.report(rules::RESPONSE_HEADER_OPTIONAL, places, &site.base, message);
            }
            _ => {}
        }
        if before.description != after.description {
            let message = "the description of the header changed".to_owned();
            self.report(rules::OPERATION_EDITORIAL, places, &site.base, message);
        }
        if let Some(message) = describe_header_change(self.comparison, before, after) {
            self.report(rules::RESPONSE_HEADER_STYLE_CHANGED, places, &site.base, message);
        }
        let is_plain = before.content.is_none() && after.content.is_none();
        let site = if is_plain { site.with_string_scope(StringScope::Members) } else { site };
        let (old, new) = (optional_schema(before.schema), optional_schema(after.schema));
        self.comparison.compare_schemas(&old, &new, &site);
    }
}

/// Formats a status, such as `404`, `4XX` or `default`.
fn format_status(status: StatusPattern) -> String {
    match status {
        StatusPattern::Code(code) => code.to_string(),
        StatusPattern::Range(digit) => format!("{digit}XX"),
        StatusPattern::Default => "default".to_owned(),
    }
}

/// Returns true for informational, success and redirection statuses.
const fn is_success(status: StatusPattern) -> bool {
    matches!(status, StatusPattern::Code(100..400) | StatusPattern::Range(1..=3))
}

/// Returns the range or `default` entry that applies to a status without its own entry (OpenAPI 3.1, 4.8.16).
/// If `responses` contains a success response, `default` does not apply to success statuses.
fn covering_response(responses: &[Response], status: StatusPattern) -> Option<&Response> {
    let range = match status {
        StatusPattern::Code(code) => u8::try_from(code / 100).ok().map(StatusPattern::Range),
        _ => None,
    };
    let find = |status| responses.iter().find(|response| response.status == status);
    let has_success = responses.iter().any(|response| is_success(response.status));
    let by_default = status != StatusPattern::Default && !(is_success(status) && has_success);
    range.and_then(find).or_else(|| by_default.then(|| find(StatusPattern::Default)).flatten())
}

/// Returns pairs of an old and a new response for each status that has its own entry only in the new version.
/// The old response is the range, such as `4XX`, or the `default` that covered the status in the old version.
fn newly_named_statuses<'g>(
    old: &'g [Response],
    new: &'g [Response],
) -> impl Iterator<Item = (&'g Response, &'g Response)> {
    let is_new = move |after: &&Response| !old.iter().any(|before| before.status == after.status);
    new.iter().filter(is_new).filter_map(move |after| Some((covering_response(old, after.status)?, after)))
}
