//! Serves the files of the contract byte for byte, without authentication (CON-03, CON-05, A44), and
//! `OPTIONS` (GW-03).
//!
//! The files are embedded at build time, so the service serves exactly the files from which its code was
//! generated.

use std::sync::LazyLock;

use bytes::Bytes;
use contract_runtime::operation::OperationLookup;
use contract_runtime::server::{EncodedResponse, HeaderMap, HeaderValue, StatusCode};
use exchange_api::error_responses::PlainCode;
use exchange_api::operations::{OperationId, TABLE};
use http::{Method, header};

use super::early_response::{EarlyResponse, StageRejection};
use super::facts::RequestFacts;
use crate::secrets;

/// A file of the contract.
#[derive(Clone, Copy, Debug)]
pub struct ContractFile {
    /// The name of the file, without `.schema.json`.
    pub name: &'static str,
    /// The content of the file.
    pub bytes: &'static [u8],
}

const fn contract_file(name: &'static str, bytes: &'static [u8]) -> ContractFile {
    ContractFile { name, bytes }
}

/// The OpenAPI document.
pub static OPENAPI: ContractFile =
    contract_file("openapi", include_bytes!("../../../../schemas/openapi.json"));

/// All schema files, sorted by name.
pub static SCHEMAS: &[ContractFile] = &[
    contract_file(
        "account-check-request",
        include_bytes!("../../../../schemas/exchange/v1/account-check-request.schema.json"),
    ),
    contract_file(
        "account-check-response",
        include_bytes!("../../../../schemas/exchange/v1/account-check-response.schema.json"),
    ),
    contract_file("blueprint", include_bytes!("../../../../schemas/exchange/v1/blueprint.schema.json")),
    contract_file(
        "blueprint-draft",
        include_bytes!("../../../../schemas/exchange/v1/blueprint-draft.schema.json"),
    ),
    contract_file(
        "change-result",
        include_bytes!("../../../../schemas/exchange/v1/change-result.schema.json"),
    ),
    contract_file("change-set", include_bytes!("../../../../schemas/exchange/v1/change-set.schema.json")),
    contract_file("draft-result", include_bytes!("../../../../schemas/exchange/v1/draft-result.schema.json")),
    contract_file("envelope", include_bytes!("../../../../schemas/exchange/v1/envelope.schema.json")),
    contract_file("extensions", include_bytes!("../../../../schemas/exchange/v1/extensions.schema.json")),
    contract_file("installation", include_bytes!("../../../../schemas/exchange/v1/installation.schema.json")),
    contract_file("item-ref", include_bytes!("../../../../schemas/exchange/v1/item-ref.schema.json")),
    contract_file("location", include_bytes!("../../../../schemas/exchange/v1/location.schema.json")),
    contract_file(
        "location-list",
        include_bytes!("../../../../schemas/exchange/v1/location-list.schema.json"),
    ),
    contract_file("location-ref", include_bytes!("../../../../schemas/exchange/v1/location-ref.schema.json")),
    contract_file(
        "material-kind",
        include_bytes!("../../../../schemas/exchange/v1/material-kind.schema.json"),
    ),
    contract_file("org-demand", include_bytes!("../../../../schemas/exchange/v1/org-demand.schema.json")),
    contract_file(
        "org-stock-entry",
        include_bytes!("../../../../schemas/exchange/v1/org-stock-entry.schema.json"),
    ),
    contract_file(
        "org-stock-lot",
        include_bytes!("../../../../schemas/exchange/v1/org-stock-lot.schema.json"),
    ),
    contract_file(
        "org-stock-members",
        include_bytes!("../../../../schemas/exchange/v1/org-stock-members.schema.json"),
    ),
    contract_file("org-unit", include_bytes!("../../../../schemas/exchange/v1/org-unit.schema.json")),
    contract_file(
        "org-unit-list",
        include_bytes!("../../../../schemas/exchange/v1/org-unit-list.schema.json"),
    ),
    contract_file("page", include_bytes!("../../../../schemas/exchange/v1/page.schema.json")),
    contract_file("problem", include_bytes!("../../../../schemas/exchange/v1/problem.schema.json")),
    contract_file("provenance", include_bytes!("../../../../schemas/exchange/v1/provenance.schema.json")),
    contract_file("quality", include_bytes!("../../../../schemas/exchange/v1/quality.schema.json")),
    contract_file("quantity", include_bytes!("../../../../schemas/exchange/v1/quantity.schema.json")),
    contract_file(
        "refinery-draft",
        include_bytes!("../../../../schemas/exchange/v1/refinery-draft.schema.json"),
    ),
    contract_file(
        "resolve-request",
        include_bytes!("../../../../schemas/exchange/v1/resolve-request.schema.json"),
    ),
    contract_file(
        "resolve-response",
        include_bytes!("../../../../schemas/exchange/v1/resolve-response.schema.json"),
    ),
    contract_file(
        "service-document",
        include_bytes!("../../../../schemas/exchange/v1/service-document.schema.json"),
    ),
    contract_file("ship", include_bytes!("../../../../schemas/exchange/v1/ship.schema.json")),
    contract_file("stock-lot", include_bytes!("../../../../schemas/exchange/v1/stock-lot.schema.json")),
    contract_file("tombstone", include_bytes!("../../../../schemas/exchange/v1/tombstone.schema.json")),
];

/// Responds to requests that need no token: for the files of the contract, and `OPTIONS`. Returns `None` for
/// all other requests.
pub(super) fn serve_anonymous(facts: &RequestFacts) -> Option<Result<EncodedResponse, EarlyResponse>> {
    if facts.head.method == Method::OPTIONS {
        return Some(list_methods(facts));
    }
    let operation = facts.operation.filter(|operation| operation.anonymous)?;
    Some(match OperationId::from_operation(operation)? {
        OperationId::ContractOpenapi => {
            Ok(serve_file(&OPENAPI, openapi_tag(), HeaderValue::from_static("application/json"), facts))
        }
        _ => {
            let name = operation.path_value(facts.path(), "name").unwrap_or_default();
            match SCHEMAS.binary_search_by(|file| file.name.cmp(name)) {
                Ok(at) => {
                    let json = HeaderValue::from_static("application/schema+json");
                    Ok(serve_file(&SCHEMAS[at], schema_tag(at), json, facts))
                }
                Err(_) => Err(StageRejection::from_code(PlainCode::NotFound).into()),
            }
        }
    })
}

/// Responds with the methods of a path in the header `Allow`.
fn list_methods(facts: &RequestFacts) -> Result<EncodedResponse, EarlyResponse> {
    let allowed: Vec<&str> = match TABLE.find("OPTIONS", facts.path()) {
        OperationLookup::MethodNotAllowed(allowed) => allowed.methods().chain(["OPTIONS"]).collect(),
        _ => return Err(StageRejection::from_code(PlainCode::NotFound).into()),
    };
    let mut headers = HeaderMap::new();
    if let Ok(allowed) = HeaderValue::from_str(&allowed.join(", ")) {
        headers.insert(header::ALLOW, allowed);
    }
    Ok(EncodedResponse { status: StatusCode::NO_CONTENT, headers, body: Bytes::new() })
}

fn serve_file(
    file: &ContractFile,
    tag: &HeaderValue,
    media_type: HeaderValue,
    facts: &RequestFacts,
) -> EncodedResponse {
    let mut headers = HeaderMap::new();
    headers.insert(header::ETAG, tag.clone());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    if matches_etag(facts, tag) {
        return EncodedResponse { status: StatusCode::NOT_MODIFIED, headers, body: Bytes::new() };
    }
    headers.insert(header::CONTENT_TYPE, media_type);
    EncodedResponse { status: StatusCode::OK, headers, body: Bytes::from_static(file.bytes) }
}

/// Returns true if `If-None-Match` contains the tag. Uses the weak comparison, and accepts lists and repeated
/// header lines (RFC 9110, section 13.1.2).
fn matches_etag(facts: &RequestFacts, tag: &HeaderValue) -> bool {
    let lines = facts.head.headers.get_all(header::IF_NONE_MATCH).iter();
    let mut tags = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    tags.any(|listed| {
        let listed = listed.trim();
        listed == "*" || listed.strip_prefix("W/").unwrap_or(listed).as_bytes() == tag.as_bytes()
    })
}

fn openapi_tag() -> &'static HeaderValue {
    static TAG: LazyLock<HeaderValue> = LazyLock::new(|| compute_etag(&OPENAPI));
    &TAG
}

fn schema_tag(index: usize) -> &'static HeaderValue {
    static TAGS: LazyLock<Vec<HeaderValue>> = LazyLock::new(|| SCHEMAS.iter().map(compute_etag).collect());
    &TAGS[index]
}

/// Computes an entity tag from the first 128 bits of the file's SHA-256 hash.
fn compute_etag(file: &ContractFile) -> HeaderValue {
    let half = secrets::encode_hex(&secrets::hash_prefix::<16>(&secrets::sha256(file.bytes)));
    HeaderValue::from_str(&format!("\"{half}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// CON-03: the embedded files are exactly those of the folder, and are sorted for the binary search.
    #[test]
    fn every_schema_file_is_embedded() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/exchange/v1");
        let mut names: Vec<String> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .map(|name| name.strip_suffix(".schema.json").unwrap().to_owned())
            .collect();
        names.sort();
        assert_eq!(SCHEMAS.iter().map(|file| file.name).collect::<Vec<_>>(), names);
        for file in SCHEMAS {
            let path = folder.join(format!("{}.schema.json", file.name));
            assert!(std::fs::read(path).unwrap() == file.bytes, "{} changed after the build", file.name);
        }
    }

    /// CON-05: files with different bytes have different tags.
    #[test]
    fn tags_differ_per_file() {
        let mut tags: Vec<_> = SCHEMAS.iter().map(compute_etag).chain([compute_etag(&OPENAPI)]).collect();
        let all = tags.len();
        tags.sort_by(|one, other| one.as_bytes().cmp(other.as_bytes()));
        tags.dedup();
        assert_eq!(tags.len(), all);
        assert!(tags.iter().all(|tag| tag.len() == 34));
    }
}
