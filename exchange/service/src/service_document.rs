//! Builds the service document (SVC-01).
//!
//! The backend builds it with the id of the installation. If the gateway cannot reach the backend, it builds
//! the document itself, without the id (SVC-03).

use contract_runtime::{Map, Nullable};
use exchange_api::scopes::Scope;
use exchange_api::types::{InstallationId, ServiceDocument, ServiceLimits};

use crate::caller::TokenScopes;
use crate::registry::RegisteredClient;

/// The version of the interface, as reported in the service document (CON-10).
const API_VERSION: &str = "1.0";
/// The maximum number of ops in a change set (SVC-04).
const MAX_BATCH_OPS: i64 = 500;

/// Builds the service document for a client with a token of these scopes. `docs_url` is the root URL of the
/// documentation site.
pub(crate) fn build_service_document(
    client: &RegisteredClient,
    scopes: &TokenScopes,
    installation_id: Option<InstallationId>,
    docs_url: String,
) -> ServiceDocument {
    let granted = client.granted_scopes(scopes);
    let limits = ServiceLimits {
        batch_max_ops: Some(MAX_BATCH_OPS),
        requests_per_minute: client.requests_per_minute.map(i64::from),
        writes_per_day: client.writes_per_day.map(i64::from),
        extra: Map::new(),
    };
    ServiceDocument {
        api_version: API_VERSION.to_owned(),
        capabilities: granted.into_iter().map(Scope::from).filter(Scope::is_known).collect(),
        installation_id,
        limits: Some(limits),
        deprecations: Some(Vec::new()),
        docs_url,
        min_client_version: Some(
            client.min_version.as_ref().map_or(Nullable::Null, |oldest| Nullable::Value(oldest.to_string())),
        ),
        extra: Map::new(),
    }
}
