//! CON-13: the scopes of the exchange.

use exchange_api::scopes::Scope;

use super::*;

/// Scope, area and access of each row.
pub(super) const SCOPES: [(&str, &str, &str); 14] = [
    ("exchange.connect", "connection", "connect"),
    ("exchange.blueprints.read", "blueprints", "read"),
    ("exchange.blueprints.write", "blueprints", "write"),
    ("exchange.stock.read", "stock", "read"),
    ("exchange.stock.write", "stock", "write"),
    ("exchange.hangar.read", "ships", "read"),
    ("exchange.hangar.write", "ships", "write"),
    ("exchange.orgunits.read", "org-units", "read"),
    ("exchange.orgstock.read", "org-stock", "read"),
    ("exchange.orgstock.write", "org-stock", "write"),
    ("exchange.orgstock.details", "org-stock", "details"),
    ("exchange.demand.read", "demand", "read"),
    ("exchange.drafts.blueprints", "drafts", "draft"),
    ("exchange.drafts.refinery", "drafts", "draft"),
];

/// CON-13: there are 14 scopes; each belongs to an area and grants one kind of access.
#[test]
fn there_are_14_scopes() {
    let found: Vec<_> = Scope::ALL
        .iter()
        .map(|scope| (scope.as_str(), scope.area().unwrap(), scope.access().unwrap().as_str()))
        .collect();
    assert_eq!(found, SCOPES);
    let listed = SCOPES.map(|(scope, ..)| scope);
    assert_eq!(schema("service-document--exchangeScope")["anyOf"][0]["enum"], serde_json::json!(listed));
    // The scopes that operations require are in the registry.
    let required = exchange_api::operations::OPERATIONS.iter().flat_map(|o| o.scopes).copied().flatten();
    assert!(
        required.copied().map(exchange_api::operations::Scope::from).all(|scope: Scope| scope.is_known())
    );
}
