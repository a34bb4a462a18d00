//! Compares the servers of documents and operations, including their variables.

use contract_codegen_core::api::{Server, ServerVariable};

use super::{
    comparison::Comparison,
    findings::PlacePair,
    operations::anonymous_path,
    rules::{self, DriftRule},
};

/// A comparer for the servers of a document or an operation.
pub(super) struct ServerComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    places: PlacePair<'c>,
    subject: &'c str,
}

impl<'c, 'g> ServerComparer<'c, 'g> {
    pub(super) const fn new(
        comparison: &'c mut Comparison<'g>,
        places: PlacePair<'c>,
        subject: &'c str,
    ) -> Self {
        Self { comparison, places, subject }
    }

    /// Compares the URLs of the servers in both versions, and the values of their variables. A change of the
    /// first server is reported separately, because clients use the first server by default.
    pub(super) fn compare_servers(&mut self, old: &[Server], new: &[Server]) {
        let has_url = |list: &[Server], url: &str| list.iter().any(|server| server.url == url);
        for Server { url, .. } in old.iter().filter(|server| !has_url(new, &server.url)) {
            self.report(rules::SERVER_REMOVED, format!("the server {url} is no longer listed"));
        }
        for Server { url, .. } in new.iter().filter(|server| !has_url(old, &server.url)) {
            self.report(rules::SERVER_ADDED, format!("the server {url} was added"));
        }
        if let (Some(Server { url: before, .. }), Some(Server { url: after, .. })) =
            (old.first(), new.first())
            && before != after
            && has_url(new, before)
        {
            self.report(rules::SERVER_CHANGED, format!("the first server changed from {before} to {after}"));
        }
        self.compare_variables(old, new);
    }

    /// Compares the values of server variables. Servers correspond if their URL templates differ only in the
    /// names of variables, because these names are not sent.
    fn compare_variables(&mut self, old: &[Server], new: &[Server]) {
        let variables = |server| {
            let Server { template, variables, .. }: &Server = server;
            variables.iter().map(|variable| (template.as_str(), variable))
        };
        let new: Vec<(&str, &ServerVariable)> = new.iter().flat_map(variables).collect();
        for (template, before) in old.iter().flat_map(variables) {
            let found = new.iter().find(|after| is_same_variable((template, before), **after));
            let Some((address, ServerVariable { name, values, .. })) = found else { continue };
            // A variable without a list of values accepts every value.
            let is_valid = |value: &String, list: &[String]| list.is_empty() || list.contains(value);
            for value in before.values.iter().filter(|value| !is_valid(value, values)) {
                let message = format!("`{value}` is no longer a value of `{name}` in {address}");
                self.report(rules::SERVER_REMOVED, message);
            }
            match (before.values.is_empty(), values.is_empty()) {
                (true, false) => {
                    let message = format!("`{name}` in {address} is now restricted to {}", values.join(", "));
                    self.report(rules::SERVER_REMOVED, message);
                }
                (false, true) => {
                    self.report(rules::SERVER_ADDED, format!("`{name}` in {address} now accepts any value"));
                }
                _ => {}
            }
            for value in values.iter().filter(|value| !is_valid(value, &before.values)) {
                let message = format!("`{value}` is a new value of `{name}` in {address}");
                self.report(rules::SERVER_ADDED, message);
            }
        }
    }

    fn report(&mut self, rule: &'static DriftRule, message: String) {
        self.comparison.report_contract_change(rule, self.places, self.subject, message);
    }
}

/// Returns true if two variables have the same position in the same URL template. Names of variables are
/// ignored.
fn is_same_variable(one: (&str, &ServerVariable), other: (&str, &ServerVariable)) -> bool {
    let address_before = |(template, variable): (&str, &ServerVariable)| {
        let position = template.find(&format!("{{{}}}", variable.name));
        position.and_then(|position| template.get(..position)).map(anonymous_path)
    };
    anonymous_path(one.0) == anonymous_path(other.0) && address_before(one) == address_before(other)
}
