//! The results of a test of a live service: text, JSON and JUnit.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// The result of testing one operation.
#[derive(Debug, Default)]
pub(super) struct OperationResult {
    pub(super) operation: String,
    /// The number of requests.
    pub(super) requests: usize,
    pub(super) findings: Vec<Finding>,
    /// The reason why the operation was not tested.
    pub(super) skipped: Option<String>,
}

/// A violation of the contract by the service.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) message: String,
    /// The number of requests that show it.
    pub(super) count: usize,
    /// The first request as a curl command.
    pub(super) curl: String,
}

impl OperationResult {
    /// Adds a finding, or counts it if the operation has an equal one.
    pub(super) fn add_finding(&mut self, message: String, curl: impl FnOnce() -> String) {
        match self.findings.iter_mut().find(|each| each.message == message) {
            Some(known) => known.count += 1,
            None => self.findings.push(Finding { message, count: 1, curl: curl() }),
        }
    }

    /// Returns the text of the result; empty for an operation without findings.
    pub(super) fn format_text(&self) -> String {
        let mut text = String::new();
        if let Some(reason) = &self.skipped {
            let _ = writeln!(text, "{}: skipped: {reason}", self.operation);
        }
        for Finding { message, count, curl } in &self.findings {
            let _ = writeln!(text, "{}: {message} ({count} of {})\n  {curl}", self.operation, self.requests);
        }
        text
    }

    pub(super) fn to_json(&self) -> Value {
        let findings = self
            .findings
            .iter()
            .map(|each| json!({ "message": each.message, "count": each.count, "curl": each.curl }));
        json!({ "operation": {
            "operation": self.operation, "requests": self.requests, "skipped": self.skipped,
            "findings": findings.collect::<Vec<Value>>(),
        } })
    }
}

/// Returns a JUnit file with one test case for each operation.
pub(super) fn junit_document(name: &str, results: &[OperationResult]) -> String {
    let failures = results.iter().filter(|each| !each.findings.is_empty()).count();
    let skipped = results.iter().filter(|each| each.skipped.is_some()).count();
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let _ = writeln!(
        xml,
        "<testsuites>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" skipped=\"{skipped}\">",
        escape_xml(name),
        results.len()
    );
    for result in results {
        let _ = writeln!(xml, "<testcase name=\"{}\">", escape_xml(&result.operation));
        if let Some(reason) = &result.skipped {
            let _ = writeln!(xml, "<skipped message=\"{}\"/>", escape_xml(reason));
        }
        for finding in &result.findings {
            let (message, curl) = (escape_xml(&finding.message), escape_xml(&finding.curl));
            let _ = writeln!(xml, "<failure message=\"{message}\">{curl}</failure>");
        }
        xml.push_str("</testcase>\n");
    }
    xml.push_str("</testsuite>\n</testsuites>\n");
    xml
}

/// Escapes a string for XML 1.0. Tabs and line breaks become character references. Characters that XML 1.0 does not
/// allow, such as other control characters, are replaced by U+FFFD.
fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", u32::from(letter));
            }
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junit_escapes_texts() {
        let mut result =
            OperationResult { operation: "a<b".to_owned(), requests: 2, ..OperationResult::default() };
        result.add_finding("is \"bad\" \u{1}".to_owned(), || "curl 'a&b'".to_owned());
        result.add_finding("is \"bad\" \u{1}".to_owned(), String::new);
        let skipped = OperationResult { skipped: Some("no".to_owned()), ..OperationResult::default() };
        assert_eq!(
            junit_document("t", &[result, skipped]),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n\
             <testsuite name=\"t\" tests=\"2\" failures=\"1\" skipped=\"1\">\n<testcase name=\"a&lt;b\">\n\
             <failure message=\"is &quot;bad&quot; \u{fffd}\">curl 'a&amp;b'</failure>\n</testcase>\n\
             <testcase name=\"\">\n<skipped message=\"no\"/>\n</testcase>\n</testsuite>\n</testsuites>\n"
        );
    }
}
