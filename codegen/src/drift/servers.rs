//! Compares the servers of documents and operations, including their variables.

use contract_codegen_core::api::ServerVariable;

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

    /// Compares the URLs of the servers in both versions. Clients that select no server use the first one.
    pub(super) fn compare_servers(&mut self, old: &[String], new: &[String]) {
        for server in old.iter().filter(|server| !new.contains(server)) {
            self.report(rules::SERVER_REMOVED, format!("the server {server} is no longer listed"));
        }
        for server in new.iter().filter(|server| !old.contains(server)) {
            self.report(rules::SERVER_ADDED, format!("the server {server} is listed"));
        }
        if let (Some(was), Some(is)) = (old.first(), new.first())
            && was != is
            && new.contains(was)
        {
            self.report(rules::SERVER_CHANGED, format!("the first server is {is}, was {was}"));
        }
    }

    /// Compares the values of server variables, for servers whose addresses differ at most in the names of
    /// variables, which are not sent.
    pub(super) fn compare_variables(&mut self, old: &[ServerVariable], new: &[ServerVariable]) {
        for before in old {
            let Some(after) = new.iter().find(|after| is_same_variable(before, after)) else { continue };
            let ServerVariable { server_url: address, name, values } = after;
            // A variable without a list of values accepts every value.
            let is_valid = |value: &String, list: &[String]| list.is_empty() || list.contains(value);
            for value in before.values.iter().filter(|value| !is_valid(value, values)) {
                let message = format!("`{value}` is no longer a value of `{name}` in {address}");
                self.report(rules::SERVER_REMOVED, message);
            }
            match (before.values.is_empty(), values.is_empty()) {
                (true, false) => {
                    let message = format!("`{name}` in {address} is restricted to {}", values.join(", "));
                    self.report(rules::SERVER_REMOVED, message);
                }
                (false, true) => {
                    self.report(rules::SERVER_ADDED, format!("`{name}` in {address} accepts any value"));
                }
                _ => {}
            }
            for value in values.iter().filter(|value| !is_valid(value, &before.values)) {
                let message = format!("`{value}` is a value of `{name}` in {address}");
                self.report(rules::SERVER_ADDED, message);
            }
        }
    }

    fn report(&mut self, rule: &'static DriftRule, message: String) {
        self.comparison.report_contract_change(rule, self.places, self.subject, message);
    }
}

/// Returns true if two variables have the same position in the same address.
fn is_same_variable(one: &ServerVariable, other: &ServerVariable) -> bool {
    let address_before = |variable: &ServerVariable| {
        let position = variable.server_url.find(&format!("{{{}}}", variable.name));
        position.and_then(|position| variable.server_url.get(..position)).map(anonymous_path)
    };
    anonymous_path(&one.server_url) == anonymous_path(&other.server_url)
        && address_before(one) == address_before(other)
}
