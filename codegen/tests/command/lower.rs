//! Tests that `lower` prints the contract in OpenAPI 3.0.3.

use serde_json::Value;

use super::Folder;

#[test]
fn lower_prints_openapi_3_0() {
    let folder = Folder::new("lower");
    let result = folder.run(&["lower", "tickets.yaml", "--losses"]).expect_exit(0);
    let document: Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!(document["openapi"], "3.0.3");
    assert!(result.err.contains("OpenAPI 3.0: `dependentRequired`"), "{}", result.err);
    let plain = folder.run(&["lower", "tickets.yaml"]).expect_exit(0);
    assert!(plain.err.contains("OpenAPI 3.0 lacks them: 0 of 2 operations and webhooks"), "{}", plain.err);
    assert_eq!(plain.out, result.out);
    // The names and limits are the same as in the contract.
    let parameter = &document["paths"]["/tickets/{id}"]["get"]["parameters"][0];
    assert_eq!(
        (&parameter["name"], &parameter["schema"]["minLength"]),
        (&"id".into(), &4.into()),
        "{document}"
    );
    assert_eq!(
        document["components"]["schemas"]["Ticket"]["properties"]["seat"]["maximum"], 99,
        "{document}"
    );
    let result = folder.run(&["lower", "tickets.yaml", "--draft-07"]).expect_exit(0);
    let schemas: Value = serde_json::from_str(&result.out).unwrap();
    assert!(schemas["definitions"]["Ticket"]["dependencies"]["refund"].is_array(), "{schemas}");
    let result = folder.run(&["lower", "tickets.yaml", "--json"]).expect_exit(0);
    assert_eq!(result.summary()["document"], document);
    assert!(result.summary()["losses"].as_array().is_some_and(|losses| !losses.is_empty()));
}
