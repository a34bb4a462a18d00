//! Creates contracts of any size for tests and benchmarks.

/// Creates an OpenAPI document with schemas that refer to each other. For every tenth schema, there is an
/// operation that reads and writes it. `limit` is the `maxLength` of a property in every hundredth schema.
pub(crate) fn contract(schemas: usize, limit: usize) -> String {
    let schema = |index: usize| {
        let limit = if index.is_multiple_of(100) { limit } else { 50 };
        let (next, far) = ((index + 1) % schemas, (index * 7 + 3) % schemas);
        let link = |to: usize| format!(r##"{{"$ref":"#/components/schemas/S{to}"}}"##);
        format!(
            r#""S{index}":{{"type":"object","required":["id"],"properties":{{
            "id":{{"type":"string","maxLength":{limit}}},
            "n{index}":{{"type":"integer","minimum":0}},
            "state":{{"enum":["OPEN","CLOSED"]}},
            "next":{},"some":{{"type":"array","items":{}}},
            "kind":{{"oneOf":[{},{{"type":"string"}}]}}}}}}"#,
            link(next),
            link(far),
            link(far),
        )
    };
    let path = |index: usize| {
        let body =
            format!(r##"{{"application/json":{{"schema":{{"$ref":"#/components/schemas/S{index}"}}}}}}"##);
        format!(
            r#""/p{index}":{{"put":{{"operationId":"o{index}","requestBody":{{"content":{body}}},
            "responses":{{"200":{{"description":"","content":{body}}}}}}}}}"#
        )
    };
    let paths: Vec<String> = (0..schemas).step_by(10).map(path).collect();
    let schemas: Vec<String> = (0..schemas).map(schema).collect();
    format!(
        r#"{{"openapi":"3.1.0","info":{{"title":"t","version":"1.0.0"}},"paths":{{{}}},
        "components":{{"schemas":{{{}}}}}}}"#,
        paths.join(",\n"),
        schemas.join(",\n")
    )
}
