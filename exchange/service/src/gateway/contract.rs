//! The contract's files, byte for byte, for everybody (CON-03, CON-05, A44), and `OPTIONS` (GW-03).
//!
//! They are embedded when the service is built, so that what it serves is what it was generated from.

use std::sync::LazyLock;

use bytes::Bytes;
use contract_runtime::operation::Lookup;
use contract_runtime::server::{Answer, HeaderMap, HeaderValue, StatusCode};
use exchange_api::operations::{OperationId, TABLE};
use exchange_api::refusals::PlainCode;
use http::{Method, header};

use super::ending::{Ending, Refused};
use super::facts::Facts;
use crate::secrets;

/// One file of the contract.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its name without `.schema.json`.
    pub name: &'static str,
    /// Its bytes.
    pub bytes: &'static [u8],
}

const fn file(name: &'static str, bytes: &'static [u8]) -> File {
    File { name, bytes }
}

/// The OpenAPI document.
pub static OPENAPI: File = file("openapi", include_bytes!("../../../../schemas/openapi.json"));

/// Every schema file, by name.
pub static SCHEMAS: &[File] = &[
    file(
        "account-check-request",
        include_bytes!("../../../../schemas/exchange/v1/account-check-request.schema.json"),
    ),
    file(
        "account-check-response",
        include_bytes!("../../../../schemas/exchange/v1/account-check-response.schema.json"),
    ),
    file("blueprint", include_bytes!("../../../../schemas/exchange/v1/blueprint.schema.json")),
    file("blueprint-draft", include_bytes!("../../../../schemas/exchange/v1/blueprint-draft.schema.json")),
    file("change-result", include_bytes!("../../../../schemas/exchange/v1/change-result.schema.json")),
    file("change-set", include_bytes!("../../../../schemas/exchange/v1/change-set.schema.json")),
    file("draft-result", include_bytes!("../../../../schemas/exchange/v1/draft-result.schema.json")),
    file("envelope", include_bytes!("../../../../schemas/exchange/v1/envelope.schema.json")),
    file("extensions", include_bytes!("../../../../schemas/exchange/v1/extensions.schema.json")),
    file("installation", include_bytes!("../../../../schemas/exchange/v1/installation.schema.json")),
    file("item-ref", include_bytes!("../../../../schemas/exchange/v1/item-ref.schema.json")),
    file("location", include_bytes!("../../../../schemas/exchange/v1/location.schema.json")),
    file("location-list", include_bytes!("../../../../schemas/exchange/v1/location-list.schema.json")),
    file("location-ref", include_bytes!("../../../../schemas/exchange/v1/location-ref.schema.json")),
    file("material-kind", include_bytes!("../../../../schemas/exchange/v1/material-kind.schema.json")),
    file("org-demand", include_bytes!("../../../../schemas/exchange/v1/org-demand.schema.json")),
    file("org-stock-entry", include_bytes!("../../../../schemas/exchange/v1/org-stock-entry.schema.json")),
    file("org-stock-lot", include_bytes!("../../../../schemas/exchange/v1/org-stock-lot.schema.json")),
    file(
        "org-stock-members",
        include_bytes!("../../../../schemas/exchange/v1/org-stock-members.schema.json"),
    ),
    file("org-unit", include_bytes!("../../../../schemas/exchange/v1/org-unit.schema.json")),
    file("org-unit-list", include_bytes!("../../../../schemas/exchange/v1/org-unit-list.schema.json")),
    file("page", include_bytes!("../../../../schemas/exchange/v1/page.schema.json")),
    file("problem", include_bytes!("../../../../schemas/exchange/v1/problem.schema.json")),
    file("provenance", include_bytes!("../../../../schemas/exchange/v1/provenance.schema.json")),
    file("quality", include_bytes!("../../../../schemas/exchange/v1/quality.schema.json")),
    file("quantity", include_bytes!("../../../../schemas/exchange/v1/quantity.schema.json")),
    file("refinery-draft", include_bytes!("../../../../schemas/exchange/v1/refinery-draft.schema.json")),
    file("resolve-request", include_bytes!("../../../../schemas/exchange/v1/resolve-request.schema.json")),
    file("resolve-response", include_bytes!("../../../../schemas/exchange/v1/resolve-response.schema.json")),
    file("service-document", include_bytes!("../../../../schemas/exchange/v1/service-document.schema.json")),
    file("ship", include_bytes!("../../../../schemas/exchange/v1/ship.schema.json")),
    file("stock-lot", include_bytes!("../../../../schemas/exchange/v1/stock-lot.schema.json")),
    file("tombstone", include_bytes!("../../../../schemas/exchange/v1/tombstone.schema.json")),
];

/// What is answered without a token: the contract's files, and `OPTIONS`; `None` for everything else.
pub(super) fn anonymous(facts: &Facts) -> Option<Result<Answer, Ending>> {
    if facts.head.method == Method::OPTIONS {
        return Some(options(facts));
    }
    let operation = facts.operation.filter(|operation| operation.anonymous)?;
    Some(match OperationId::of(operation)? {
        OperationId::ContractOpenapi => {
            Ok(serve(&OPENAPI, openapi_tag(), HeaderValue::from_static("application/json"), facts))
        }
        _ => {
            let name = operation.path_value(facts.path(), "name").unwrap_or_default();
            match SCHEMAS.binary_search_by(|file| file.name.cmp(name)) {
                Ok(at) => {
                    let json = HeaderValue::from_static("application/schema+json");
                    Ok(serve(&SCHEMAS[at], schema_tag(at), json, facts))
                }
                Err(_) => Err(Refused::plain(PlainCode::NotFound).into()),
            }
        }
    })
}

/// The methods of a path, without a token.
fn options(facts: &Facts) -> Result<Answer, Ending> {
    let allowed: Vec<&str> = match TABLE.find("OPTIONS", facts.path()) {
        Lookup::WrongMethod(allowed) => allowed.methods().chain(["OPTIONS"]).collect(),
        _ => return Err(Refused::plain(PlainCode::NotFound).into()),
    };
    let mut headers = HeaderMap::new();
    if let Ok(allowed) = HeaderValue::from_str(&allowed.join(", ")) {
        headers.insert(header::ALLOW, allowed);
    }
    Ok(Answer { status: StatusCode::NO_CONTENT, headers, body: Bytes::new() })
}

fn serve(file: &File, tag: &HeaderValue, media_type: HeaderValue, facts: &Facts) -> Answer {
    let mut headers = HeaderMap::new();
    headers.insert(header::ETAG, tag.clone());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    if is_known(facts, tag) {
        return Answer { status: StatusCode::NOT_MODIFIED, headers, body: Bytes::new() };
    }
    headers.insert(header::CONTENT_TYPE, media_type);
    Answer { status: StatusCode::OK, headers, body: Bytes::from_static(file.bytes) }
}

/// RFC 9110, 13.1.2: weak comparison, in a list, over several lines.
fn is_known(facts: &Facts, tag: &HeaderValue) -> bool {
    let lines = facts.head.headers.get_all(header::IF_NONE_MATCH).iter();
    let mut tags = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    tags.any(|own| {
        let own = own.trim();
        own == "*" || own.strip_prefix("W/").unwrap_or(own).as_bytes() == tag.as_bytes()
    })
}

fn openapi_tag() -> &'static HeaderValue {
    static TAG: LazyLock<HeaderValue> = LazyLock::new(|| tag(&OPENAPI));
    &TAG
}

fn schema_tag(at: usize) -> &'static HeaderValue {
    static TAGS: LazyLock<Vec<HeaderValue>> = LazyLock::new(|| SCHEMAS.iter().map(tag).collect());
    &TAGS[at]
}

/// The first half of the file's SHA-256.
fn tag(file: &File) -> HeaderValue {
    let half = secrets::hex(&secrets::head::<16>(&secrets::hash(file.bytes)));
    HeaderValue::from_str(&format!("\"{half}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// CON-03: what is embedded is what lies in the folder, every file of it, in the order that is searched.
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
            assert_eq!(std::fs::read(path).unwrap(), file.bytes, "{}", file.name);
        }
    }

    /// CON-05: different bytes have different tags.
    #[test]
    fn tags_tell_files_apart() {
        let mut tags: Vec<_> = SCHEMAS.iter().map(tag).chain([tag(&OPENAPI)]).collect();
        let all = tags.len();
        tags.sort_by(|one, other| one.as_bytes().cmp(other.as_bytes()));
        tags.dedup();
        assert_eq!(tags.len(), all);
        assert!(tags.iter().all(|tag| tag.len() == 34));
    }
}
