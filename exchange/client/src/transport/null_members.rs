//! Removal of `null` members from JSON responses. The contract has no response in which `null` means anything
//! other than absence, but an exchange may write absent values as `null`.

use bytes::Bytes;
use exchange_api::{
    Json,
    runtime::operation::{BodyFormat, Operation},
};
use http::Response;

/// The member that contains data of third parties, which is passed on unchanged (TYP-12).
const EXTENSIONS: &str = "extensions";

/// Removes the members with the value `null` from a JSON response of the contract. Other bodies, such as raw
/// files and truncated documents, are not changed.
pub(super) fn remove_null_members(operation: &Operation, response: &mut Response<Bytes>) {
    let expected = operation.response_for_status(response.status().as_u16());
    let is_json = expected.is_some_and(|expected| {
        expected.content.first().is_some_and(|content| matches!(content.format, BodyFormat::Json))
    });
    let contains_null = std::str::from_utf8(response.body()).is_ok_and(|text| text.contains("null"));
    if !(is_json && contains_null) {
        return;
    }
    let Ok(mut document) = Json::parse(response.body()) else { return };
    if remove_nulls(&mut document) {
        *response.body_mut() = document.to_string().into();
    }
}

/// Removes `null` members at every depth. Returns true if there was one.
fn remove_nulls(value: &mut Json) -> bool {
    match value {
        Json::Object(object) => {
            let is_null = |(name, value): (&str, &Json)| (*value == Json::Null).then(|| name.to_owned());
            let nulls: Vec<String> = object.iter().filter_map(is_null).collect();
            nulls.iter().for_each(|name| drop(object.remove(name)));
            let members = object.iter_mut().filter(|(name, _)| *name != EXTENSIONS);
            members.fold(!nulls.is_empty(), |found, (_, value)| remove_nulls(value) | found)
        }
        Json::Array(items) => items.iter_mut().fold(false, |found, item| remove_nulls(item) | found),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use exchange_api::operations::OperationId;

    use super::*;

    fn body_after(operation: OperationId, status: u16, body: &str) -> String {
        let mut response = Response::new(Bytes::from(body.to_owned()));
        *response.status_mut() = status.try_into().unwrap();
        remove_null_members(operation.operation(), &mut response);
        String::from_utf8(response.into_body().to_vec()).unwrap()
    }

    /// BPR-02: `null` is read as absent, at every depth. Digits and third-party data are kept.
    #[test]
    fn null_members_are_removed() {
        let page = r#"{"items":[{"note":null,"a":1.50,"extensions":{"x.y":{"z":null}}}],"removed":null}"#;
        let expected = r#"{"items":[{"a":1.50,"extensions":{"x.y":{"z":null}}}]}"#;
        assert_eq!(body_after(OperationId::BlueprintsRead, 200, page), expected);
        let problem = r#"{"code":"NOT_PERMITTED","title":null}"#;
        assert_eq!(body_after(OperationId::BlueprintsRead, 403, problem), r#"{"code":"NOT_PERMITTED"}"#);
    }

    #[test]
    fn other_bodies_are_unchanged() {
        for (operation, status, body) in [
            (OperationId::ContractOpenapi, 200, r#"{"default": null}"#),
            (OperationId::StockRead, 200, r#"{"items": [], "name": "null"}"#),
            (OperationId::StockRead, 200, r#"{"items": null, "#),
            (OperationId::StockRead, 200, "<html>null</html>"),
            (OperationId::StockRead, 200, r#"{"items": [null]}"#),
        ] {
            assert_eq!(body_after(operation, status, body), body);
        }
    }
}
