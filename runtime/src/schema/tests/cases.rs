//! Expected violations for each keyword. A case consists of a schema, a value, and all violations in the form
//! `pointer keyword`. Each case runs in both modes, collecting and probing.

use serde_json::Value;

use super::compile::{Documents, ROOT, compile, compile_with};
use crate::Json;
use crate::violation::Violations;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Checks the cases of one schema, which are values with their expected violations.
#[track_caller]
fn check(schema: &str, cases: &[(&str, &[&str])]) {
    let validator = compile(&json(schema));
    for (value, expected) in cases {
        let value = Json::parse(value.as_bytes()).unwrap_or_else(|e| panic!("{value}: {e}"));
        let violations = validator.validate(&value).map_or_else(Violations::into_vec, |()| Vec::new());
        let found: Vec<_> = violations.iter().map(|one| format!("{} {}", one.pointer, one.keyword)).collect();
        assert_eq!(found, *expected, "{value} under {schema}");
        assert_eq!(validator.is_valid(&value), expected.is_empty(), "{value} under {schema}");
    }
}

const OK: &[&str] = &[];

#[test]
fn types() {
    check(
        r#"{"type":"integer"}"#,
        &[("1", OK), ("1.0", OK), ("1e2", OK), ("-0.0", OK), ("1.5", &[" type"]), ("\"1\"", &[" type"])],
    );
    check(r#"{"type":"number"}"#, &[("1", OK), ("1.5", OK), ("null", &[" type"])]);
    check(r#"{"type":["string","null"]}"#, &[("\"a\"", OK), ("null", OK), ("false", &[" type"])]);
    check(r#"{"type":"object"}"#, &[("{}", OK), ("[]", &[" type"])]);
    check(r#"{"type":"array"}"#, &[("[]", OK), ("{}", &[" type"])]);
    check(r#"{"type":"boolean"}"#, &[("true", OK), ("0", &[" type"])]);
}

#[test]
fn wrong_type_suppresses_other_violations() {
    check(
        r#"{"type":"string","const":"a","minimum":3,"not":{"const":1}}"#,
        &[("1", &[" type"]), ("\"b\"", &[" const"])],
    );
    check(r#"{"type":"string","enum":["a"],"unevaluatedProperties":false}"#, &[(r#"{"a":1}"#, &[" type"])]);
    check(r#"{"enum":["a"],"minLength":3}"#, &[("\"b\"", &[" enum", " minLength"])]);
}

#[test]
fn constants() {
    check(r#"{"const":1}"#, &[("1", OK), ("1.0", OK), ("10e-1", OK), ("true", &[" const"])]);
    check(
        r#"{"const":{"a":[1,null],"b":"x"}}"#,
        &[
            (r#"{"b":"x","a":[1.0,null]}"#, OK),
            (r#"{"a":[1,null]}"#, &[" const"]),
            (r#"{"a":[null,1],"b":"x"}"#, &[" const"]),
        ],
    );
    check(r#"{"const":false}"#, &[("false", OK), ("0", &[" const"])]);
    check(
        r#"{"enum":[null,"a",[1],{"k":0}]}"#,
        &[("null", OK), ("[1.0]", OK), (r#"{"k":-0}"#, OK), ("\"b\"", &[" enum"]), ("{}", &[" enum"])],
    );
}

#[test]
fn numbers() {
    check(r#"{"minimum":0.1}"#, &[("0.1", OK), ("0.09999999999999999999999", &[" minimum"]), ("\"\"", OK)]);
    check(
        r#"{"maximum":9007199254740993}"#,
        &[("9007199254740993", OK), ("9007199254740994", &[" maximum"])],
    );
    check(
        r#"{"exclusiveMinimum":1,"exclusiveMaximum":2}"#,
        &[("1.5", OK), ("1.0", &[" exclusiveMinimum"]), ("2", &[" exclusiveMaximum"])],
    );
    check(
        r#"{"multipleOf":0.01}"#,
        &[("19.99", OK), ("4.35", OK), ("0", OK), ("1e300", OK), ("0.005", &[" multipleOf"])],
    );
    check(r#"{"minimum":5,"multipleOf":2}"#, &[("3", &[" minimum", " multipleOf"])]);
}

#[test]
fn strings() {
    check(
        r#"{"minLength":2,"maxLength":3}"#,
        &[
            ("\"ab\"", OK),
            ("\"😀😀\"", OK),
            ("\"😀\"", &[" minLength"]),
            ("\"abcd\"", &[" maxLength"]),
            ("1", OK),
        ],
    );
    check(r#"{"pattern":"^a+$"}"#, &[("\"aa\"", OK), ("\"ab\"", &[" pattern"]), ("null", OK)]);
    check(
        r#"{"properties":{"n":{"minLength":3,"pattern":"^a"}}}"#,
        &[(r#"{"n":"b"}"#, &["/n minLength", "/n pattern"])],
    );
}

#[test]
fn arrays() {
    check(
        r#"{"minItems":1,"maxItems":2}"#,
        &[("[1]", OK), ("[]", &[" minItems"]), ("[1,2,3]", &[" maxItems"])],
    );
    check(
        r#"{"uniqueItems":true}"#,
        &[
            ("[1,2]", OK),
            ("[1,true,\"1\",[1]]", OK),
            ("[1,1.0]", &[" uniqueItems"]),
            (r#"[{"a":1,"b":2},{"b":2,"a":1}]"#, &[" uniqueItems"]),
            ("[0,1,2,3,4,5,6,7,8,9,0]", &[" uniqueItems"]),
            ("[0,1,2,3,4,5,6,7,8,9]", OK),
        ],
    );
    check(r#"{"items":{"type":"string"}}"#, &[("[\"a\"]", OK), ("[1,\"a\",null]", &["/0 type", "/2 type"])]);
    check(r#"{"items":false}"#, &[("[]", OK), ("[1,2]", &["/0 items", "/1 items"])]);
    check(
        r#"{"prefixItems":[{"type":"string"},false],"items":{"type":"null"}}"#,
        &[("[\"a\"]", OK), ("[1]", &["/0 type"]), ("[\"a\",1,2]", &["/1 false", "/2 type"])],
    );
    check(r#"{"prefixItems":[true],"items":false}"#, &[("[1]", OK), ("[1,2]", &["/1 items"])]);
}

#[test]
fn contains() {
    check(
        r#"{"contains":{"const":1}}"#,
        &[("[0,1]", OK), ("[]", &[" contains"]), ("[0]", &[" contains"]), ("{}", OK)],
    );
    check(
        r#"{"contains":{"const":1},"minContains":2}"#,
        &[("[1,1]", OK), ("[1]", &[" minContains"]), ("[0]", &[" contains"])],
    );
    check(
        r#"{"contains":{"const":1},"maxContains":1}"#,
        &[("[1]", OK), ("[1,1]", &[" maxContains"]), ("[]", &[" contains"])],
    );
    check(r#"{"contains":{"const":1},"minContains":0}"#, &[("[]", OK)]);
    check(
        r#"{"contains":{"const":1},"minContains":0,"maxContains":1}"#,
        &[("[]", OK), ("[1,1]", &[" maxContains"])],
    );
    check(r#"{"contains":false}"#, &[("[1]", &[" contains"])]);
}

#[test]
fn members() {
    check(
        r#"{"minProperties":1,"maxProperties":1}"#,
        &[(r#"{"a":1}"#, OK), ("{}", &[" minProperties"]), (r#"{"a":1,"b":1}"#, &[" maxProperties"])],
    );
    check(
        r#"{"required":["b","a/~"]}"#,
        &[(r#"{"b":null,"a/~":1}"#, OK), ("{}", &["/a~1~0 required", "/b required"]), ("[]", OK)],
    );
    check(
        r#"{"properties":{"ops":{"items":{"required":["material"]}}}}"#,
        &[(r#"{"ops":[{}]}"#, &["/ops/0/material required"])],
    );
    check(
        r#"{"dependentRequired":{"a":["b","c"]}}"#,
        &[
            ("{}", OK),
            (r#"{"a":1,"b":1,"c":1}"#, OK),
            (r#"{"a":1}"#, &["/b dependentRequired", "/c dependentRequired"]),
        ],
    );
    check(
        r#"{"properties":{"a":{"type":"string"},"b":false}}"#,
        &[(r#"{"a":1,"b":1,"c":1}"#, &["/a type", "/b false"])],
    );
    check(
        r#"{"patternProperties":{"^x":{"type":"string"},"y$":false}}"#,
        &[(r#"{"x":1,"z":1}"#, &["/x type"]), (r#"{"xy":1}"#, &["/xy false", "/xy type"])],
    );
    check(
        r#"{"properties":{"a":true},"patternProperties":{"^x":true},"additionalProperties":false}"#,
        &[
            (r#"{"a":1,"x1":1}"#, OK),
            (r#"{"b":1,"é":2}"#, &["/b additionalProperties", "/é additionalProperties"]),
        ],
    );
    check(r#"{"additionalProperties":{"type":"string"}}"#, &[(r#"{"a":1}"#, &["/a type"])]);
    check(
        r##"{"additionalProperties":{"$ref":"#/$defs/no"},"$defs":{"no":false}}"##,
        &[(r#"{"a":1}"#, &["/a false"])],
    );
    check(
        r#"{"propertyNames":{"pattern":"^a","maxLength":2}}"#,
        &[(r#"{"a":1}"#, OK), (r#"{"b":1,"abc":{}}"#, &["/abc propertyNames", "/b propertyNames"])],
    );
    check(r#"{"propertyNames":false}"#, &[("{}", OK), (r#"{"b":1}"#, &["/b propertyNames"])]);
    check(
        r#"{"dependentSchemas":{"a":{"required":["b"]},"c":false}}"#,
        &[(r#"{"a":1}"#, &["/b required"]), (r#"{"c":1}"#, &[" false"]), ("{}", OK)],
    );
}

#[test]
fn logic() {
    check(r#"{"allOf":[{"minimum":3},{"multipleOf":2}]}"#, &[("4", OK), ("1", &[" minimum", " multipleOf"])]);
    check(r#"{"allOf":[false]}"#, &[("4", &[" false"])]);
    check(r#"{"not":{"type":"string"}}"#, &[("1", OK), ("\"a\"", &[" not"])]);
    check(r#"{"not":true}"#, &[("1", &[" not"])]);
    check(
        r#"{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}"#,
        &[
            (r#"{"a":1,"b":1}"#, OK),
            (r#"{"a":1}"#, &["/b required"]),
            ("{}", &["/c required"]),
            (r#"{"c":1}"#, OK),
        ],
    );
    check(r#"{"if":{"const":1},"then":false}"#, &[("1", &[" false"]), ("2", OK)]);
    check("false", &[("1", &[" false"])]);
    check("true", &[("1", OK)]);
}

#[test]
fn unions_without_a_tag() {
    check(
        r#"{"anyOf":[{"type":"string","maxLength":1},{"type":"null"}]}"#,
        &[("null", OK), ("\"a\"", OK), ("\"ab\"", &[" maxLength"]), ("1", &[" anyOf"])],
    );
    check(
        r#"{"anyOf":[{"required":["a"]},{"required":["b"]}]}"#,
        &[(r#"{"a":1}"#, OK), (r#"{"a":1,"b":1}"#, OK), ("{}", &[" anyOf"])],
    );
    check(
        r#"{"oneOf":[{"required":["a"]},{"required":["b"]}]}"#,
        &[(r#"{"a":1}"#, OK), (r#"{"a":1,"b":1}"#, &[" oneOf"]), ("{}", &[" oneOf"])],
    );
    check(r#"{"oneOf":[{"const":"a"},{"const":"b"}]}"#, &[("\"a\"", OK), ("\"c\"", &[" oneOf"])]);
    check(
        r##"{"oneOf":[{"const":null},{"$ref":"#/$defs/o"}],"$defs":{"o":{"allOf":[{"type":"object"}],"required":["x"]}}}"##,
        &[("null", OK), ("{}", &["/x required"]), ("1", &[" oneOf"])],
    );
    check(r#"{"anyOf":[{"enum":["a","b"]},{"type":"null"}]}"#, &[("\"c\"", &[" enum"]), ("1", &[" anyOf"])]);
    check(
        r#"{"anyOf":[{"type":"string","const":"a"},{"type":"string","pattern":"^x"}]}"#,
        &[("\"c\"", &[" pattern"]), ("1", &[" anyOf"])],
    );
    check(r#"{"anyOf":[false,{"minimum":3}]}"#, &[("1", &[" minimum"])]);
    check(
        r#"{"anyOf":[{"enum":["a"]},{"anyOf":[{"type":"string","pattern":"^x"},{"type":"null"}]}]}"#,
        &[("\"y\"", &[" pattern"])],
    );
    check(r#"{"anyOf":[{"type":"object"}]}"#, &[("1", &[" type"])]);
    check(
        r#"{"items":{"anyOf":[{"items":{"type":"string"}},{"type":"null"}]}}"#,
        &[("[[1]]", &["/0/0 type"])],
    );
}

const CREATE: &str = r##"{
    "oneOf":[
        {"$ref":"#/$defs/single"},
        {"allOf":[{"$ref":"#/$defs/base"}],"required":["names"],"properties":{"names":{"type":"array","items":{"type":"string"}}}}
    ],
    "$defs":{
        "base":{"type":"object","required":["region"],"properties":{
            "region":{"enum":["ams","nyc"]},"backup":{"oneOf":[{"required":["hour"],"properties":{"hour":{"maximum":23}}},{"required":["day"]}]}
        }},
        "single":{"allOf":[{"$ref":"#/$defs/base"}],"required":["name"],"properties":{"name":{"type":"string","minLength":1}}}
    }}"##;

/// A union also reports the violations of the branch to which the value is closest: the branch with the fewest
/// members that are missing or have a wrong type.
#[test]
fn closest_branches_are_reported() {
    check(
        CREATE,
        &[
            (r#"{"region":"ams","name":"a"}"#, OK),
            (r#"{"region":"sfo","name":"a"}"#, &[" oneOf", "/region enum"]),
            (r#"{"region":"sfo","names":["a"]}"#, &[" oneOf", "/region enum"]),
            (r#"{"names":["a",1]}"#, &[" oneOf", "/names/1 type", "/region required"]),
            (r#"{"region":"ams","name":""}"#, &[" oneOf", "/name minLength"]),
            (r#"{"region":"ams","name":"a","names":["a"]}"#, &[" oneOf"]),
            // Both branches are equally close.
            (r#"{"region":"ams"}"#, &[" oneOf"]),
            (r#"{"region":"ams","name":1,"names":2}"#, &[" oneOf"]),
            // Unions inside of the closest branch.
            (
                r#"{"region":"ams","name":"a","backup":{"hour":24}}"#,
                &[" oneOf", "/backup oneOf", "/backup/hour maximum"],
            ),
        ],
    );
    // Only branches for the type of the value are compared.
    check(
        r#"{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}},{"type":"array","minItems":2,"items":{"type":"integer"}}]}"#,
        &[("[1]", &[" anyOf", " minItems"]), ("[\"a\",true]", &[" anyOf", "/1 type"]), ("{}", &[" anyOf"])],
    );
}

/// The violation of a union names the closest branch, or the members that are missing.
#[test]
fn unions_name_the_closest_branch() {
    let explain = |schema: &str, value: &str| {
        let found = compile(&json(schema)).validate(&Json::parse(value.as_bytes()).unwrap()).unwrap_err();
        found.as_slice()[0].message()
    };
    assert_eq!(
        explain(CREATE, r#"{"region":"sfo","name":"a"}"#),
        "must match exactly one of the alternatives; the closest is `single`"
    );
    assert_eq!(
        explain(CREATE, r#"{"region":"sfo","names":[]}"#),
        "must match exactly one of the alternatives; the closest is alternative 2"
    );
    assert_eq!(
        explain(CREATE, r#"{"region":"ams"}"#),
        "must match exactly one of the alternatives; `name` or `names` is required"
    );
    // The name of a document has no extension.
    let mut documents = Documents::default();
    let single = json(r#"{"properties":{"name":{"type":"string"}},"required":["name"]}"#);
    documents.add("file:///v1/single.schema.yml", &single);
    let files =
        r#"{"oneOf":[{"$ref":"file:///v1/single.schema.yml"},{"type":"object","required":["names"]}]}"#;
    let found = compile_with(&json(files), documents).validate(&Json::parse(br#"{"name":1}"#).unwrap());
    let message = found.unwrap_err().as_slice()[0].message();
    assert_eq!(message, "must match exactly one of the alternatives; the closest is `single`");
    let any = r#"{"anyOf":[{"required":["a"],"maxProperties":0},{"required":["b"]},{"required":["c"]}]}"#;
    assert_eq!(explain(any, "{}"), "matches none of the alternatives; `a` or `b` or `c` is required");
    // A name that several branches require is listed once, in any order of the branches.
    let repeated =
        r#"{"anyOf":[{"required":["a"]},{"required":["b"]},{"required":["a"]},{"required":["b"]}]}"#;
    assert_eq!(explain(repeated, "{}"), "matches none of the alternatives; `a` or `b` is required");
    assert_eq!(explain(any, r#"{"a":1}"#), "matches none of the alternatives; the closest is alternative 1");
    let types = r#"{"oneOf":[{"type":"string"},{"anyOf":[{"type":"object"},{"allOf":[{"type":"null"}]}]}]}"#;
    assert_eq!(
        explain(types, "1"),
        "must match exactly one of the alternatives; must be an object, a string or null"
    );
    let some = r#"{"anyOf":[{"type":"string"},{"const":2}]}"#;
    assert_eq!(explain(some, "true"), "matches none of the alternatives");
    let open = r#"{"anyOf":[{"const":1},{"const":2}]}"#;
    assert_eq!(explain(open, "3"), "matches none of the alternatives");
    let found = compile(&json(CREATE)).validate(&Json::parse(br#"{"region":"ams"}"#).unwrap()).unwrap_err();
    let text = "#: must match exactly one of the alternatives; `name` or `names` is required";
    assert_eq!(found.to_string(), text);
    let [one] = found.as_slice() else { panic!("{found}") };
    assert_eq!((one.keyword, &*one.schema), ("oneOf", &*format!("{ROOT}#")));
}

const OPS: &str = r##"{
    "items": {"oneOf":[{"$ref":"#/$defs/add"},{"$ref":"#/$defs/drop"}],"discriminator":{"propertyName":"op"}},
    "$defs":{
        "add":{"type":"object","properties":{"op":{"const":"add"},"n":{"type":"integer","minimum":1}},"required":["op","n"],"additionalProperties":false},
        "drop":{"type":"object","properties":{"op":{"const":"drop"}},"required":["op"],"additionalProperties":false}
    }}"##;

#[test]
fn unions_with_a_tag() {
    check(
        OPS,
        &[
            (r#"[{"op":"add","n":1},{"op":"drop"}]"#, OK),
            (r#"[{"op":"add","n":0}]"#, &["/0/n minimum"]),
            (r#"[{"op":"add"},{"op":"drop","n":1}]"#, &["/0/n required", "/1/n additionalProperties"]),
            (r#"[{"n":1}]"#, &["/0/op required"]),
            (r#"[{"op":"move"},{"op":null}]"#, &["/0/op oneOf", "/1/op oneOf"]),
            (r#"["add"]"#, &["/0 type"]),
        ],
    );
    check(
        r#"{"anyOf":[{"properties":{"t":{"const":1}},"required":["t"],"minProperties":2},{"type":"string","minLength":3}],"discriminator":{"propertyName":"t"}}"#,
        &[
            ("{\"t\":1.0}", &[" minProperties"]),
            ("{\"t\":2}", &["/t anyOf"]),
            ("{}", &["/t required"]),
            ("\"abc\"", OK),
            ("7", OK),
            ("\"ab\"", OK),
        ],
    );
    check(
        r#"{"oneOf":[{"type":"object","properties":{"t":{"const":1}},"required":["t"]},{"minimum":9,"properties":{"t":{"const":2}},"required":["t"]}],"discriminator":{"propertyName":"t"}}"#,
        &[("1", &[" oneOf"])],
    );
    // An object without the optional tag may match any branch.
    check(
        r#"{"anyOf":[{"properties":{"t":{"const":1},"n":{"minimum":1}}},{"properties":{"t":{"const":2},"m":{"minimum":1}}}],"discriminator":{"propertyName":"t","x-certainty":"present"}}"#,
        &[
            (r#"{"n":0}"#, OK),
            (r#"{"t":1,"n":0}"#, &["/n minimum"]),
            (r#"{"t":2,"n":0}"#, OK),
            (r#"{"t":3}"#, &["/t anyOf"]),
            (r#"{"n":0,"m":0}"#, &[" anyOf"]),
            ("7", OK),
        ],
    );
    // A `discriminator` selects the reported branch and does not affect validity.
    check(
        r#"{"oneOf":[{"required":["t","n"]},{"required":["t"],"properties":{"m":{"minimum":1}}}],"discriminator":{"propertyName":"t","mapping":["a","b"],"x-certainty":"meant"}}"#,
        &[
            (r#"{"t":"a","n":1,"m":0}"#, OK),
            (r#"{"t":"b","n":1,"m":0}"#, OK),
            (r#"{"t":"a"}"#, OK),
            (r#"{"t":"a","n":1}"#, &[" oneOf"]),
            (r#"{"t":"a","m":0}"#, &["/n required"]),
            (r#"{"t":"b","m":0}"#, &["/m minimum"]),
            (r#"{"t":"c","m":0}"#, &[" oneOf", "/m minimum"]),
            (r#"{"m":0}"#, &[" oneOf", "/m minimum", "/t required"]),
        ],
    );
    // A tag is also evaluated for a union with a single branch.
    check(
        r#"{"oneOf":[{"properties":{"t":{"const":1},"n":{"minimum":1}},"required":["t"]}],"discriminator":{"propertyName":"t"}}"#,
        &[
            (r#"{"t":1}"#, OK),
            (r#"{"t":1,"n":0}"#, &["/n minimum"]),
            (r#"{"t":2,"n":0}"#, &["/t oneOf"]),
            (r#"{"n":0}"#, &["/t required"]),
        ],
    );
}

#[test]
fn references() {
    check(
        r##"{"$ref":"#/$defs/a","minimum":2,"$defs":{"a":{"type":"integer"}}}"##,
        &[("3", OK), ("1.5", &[" minimum", " type"])],
    );
    check(
        r##"{"properties":{"child":{"$ref":"#"},"v":{"type":"null"}},"additionalProperties":false}"##,
        &[
            (r#"{"child":{"child":{"v":null}}}"#, OK),
            (
                r#"{"child":{"child":{"v":1,"w":1}}}"#,
                &["/child/child/v type", "/child/child/w additionalProperties"],
            ),
        ],
    );
    check(r##"{"$ref":"#here","$defs":{"a":{"$anchor":"here","type":"null"}}}"##, &[("1", &[" type"])]);
    check(
        r##"{"$ref":"other.json#/items","$defs":{"a":{"$id":"other.json","items":{"type":"null"}}}}"##,
        &[("1", &[" type"])],
    );
    check(r##"{"$ref":"#/$defs/a~1b%25","$defs":{"a/b%":false}}"##, &[("1", &[" false"])]);
}

const TREE: &str = r##"
    "tree":{"$id":"tree.json","$dynamicAnchor":"node","type":"object",
        "properties":{"data":true,"children":{"items":{"$dynamicRef":"#node"}}}}"##;

#[test]
fn dynamic_references() {
    // The outermost resource with the anchor is used (Core 8.2.3.2).
    let strict = format!(
        r##"{{"$id":"https://test.example/strict.json","$dynamicAnchor":"node","$ref":"tree.json","unevaluatedProperties":false,"$defs":{{{TREE}}}}}"##
    );
    check(
        &strict,
        &[
            (r#"{"children":[{"data":1}]}"#, OK),
            (r#"{"children":[{"daat":1}]}"#, &["/children/0/daat unevaluatedProperties"]),
            (r#"{"children":[{"children":[1]}]}"#, &["/children/0/children/0 type"]),
        ],
    );
    // Without a matching anchor, the outer resource has no effect.
    let open = format!(
        r##"{{"$id":"https://test.example/open.json","$ref":"tree.json","unevaluatedProperties":false,"$defs":{{{TREE}}}}}"##
    );
    check(
        &open,
        &[(r#"{"children":[{"daat":1}]}"#, OK), (r#"{"daat":1}"#, &["/daat unevaluatedProperties"])],
    );
    // An `$anchor` with the same name is not a dynamic anchor.
    let plain = format!(
        r##"{{"$id":"https://test.example/plain.json","$ref":"tree.json","$defs":{{"x":{{"$anchor":"node","not":true}},{TREE}}}}}"##
    );
    check(&plain, &[(r#"{"children":[{"data":1}]}"#, OK)]);
    // A reference whose initial target is not a dynamic anchor behaves like `$ref`.
    check(
        r##"{"$id":"https://test.example/a.json","$dynamicAnchor":"n","$ref":"b.json","$defs":{"b":{"$id":"b.json","items":{"$dynamicRef":"#n"},"$defs":{"n":{"$anchor":"n","type":"null"}}}}}"##,
        &[("[null]", OK), ("[1]", &["/0 type"])],
    );
}

/// A `$dynamicRef` below a condition can refer to the resource of the condition, even though conditions on
/// one member are otherwise evaluated without a stack frame.
#[test]
fn conditions_are_part_of_the_dynamic_scope() {
    const LEAF: &str =
        r##"{"$id":"leaf.json","$dynamicRef":"#n","$defs":{"x":{"$dynamicAnchor":"n","type":"null"}}}"##;
    let asks = format!(r##""$id":"asks.json","$dynamicAnchor":"n","properties":{{"a":{LEAF}}}"##);
    let schema = |condition: &str| {
        format!(
            r##"{{"$id":"https://test.example/a.json","if":{{{condition}}},"then":{{"required":["yes"]}}}}"##
        )
    };
    // The anchor of the condition applies, and its schema accepts everything.
    check(&schema(&asks), &[(r#"{"a":{"a":5}}"#, &["/yes required"])]);
    // With the anchor of the leaf, only `null` is valid.
    let plain = format!(r##""properties":{{"a":{LEAF}}}"##);
    check(&schema(&plain), &[(r#"{"a":{"a":5}}"#, OK), (r#"{"a":null}"#, &["/yes required"])]);
    // The same rules apply to the schema of a member.
    let inside = format!(r##""properties":{{"a":{{{asks}}}}}"##);
    check(&schema(&inside), &[(r#"{"a":{"a":{"a":5}}}"#, &["/yes required"])]);
}

#[test]
fn unevaluated_properties() {
    check(
        r#"{"unevaluatedProperties":false}"#,
        &[("{}", OK), (r#"{"a":1}"#, &["/a unevaluatedProperties"]), ("[1]", OK)],
    );
    check(
        r#"{"properties":{"a":true},"patternProperties":{"^x":true},"unevaluatedProperties":{"type":"null"}}"#,
        &[(r#"{"a":1,"x":1,"b":null}"#, OK), (r#"{"b":1}"#, &["/b type"])],
    );
    check(r#"{"additionalProperties":true,"unevaluatedProperties":false}"#, &[(r#"{"a":1}"#, OK)]);
    check(
        r#"{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}"#,
        &[(r#"{"a":1}"#, OK), (r#"{"b":1}"#, &["/b unevaluatedProperties"])],
    );
    check(
        r#"{"anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":true},"required":["b"]}],"unevaluatedProperties":false}"#,
        &[(r#"{"a":1,"b":1}"#, OK), (r#"{"a":2,"b":1}"#, &["/a unevaluatedProperties"]), (r#"{"a":1}"#, OK)],
    );
    check(
        r#"{"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"properties":{"b":true}},"else":{"properties":{"c":true}},"unevaluatedProperties":false}"#,
        &[
            (r#"{"a":1,"b":1}"#, OK),
            (r#"{"a":1,"c":1}"#, &["/c unevaluatedProperties"]),
            (r#"{"a":2,"c":1}"#, &["/a unevaluatedProperties"]),
        ],
    );
    check(
        r#"{"not":{"not":{"properties":{"a":true},"required":["a"]}},"unevaluatedProperties":false}"#,
        &[(r#"{"a":1}"#, &["/a unevaluatedProperties"])],
    );
    check(
        r#"{"dependentSchemas":{"a":{"properties":{"b":true}}},"properties":{"a":true},"unevaluatedProperties":false}"#,
        &[(r#"{"a":1,"b":1}"#, OK), (r#"{"b":1}"#, &["/b unevaluatedProperties"])],
    );
    // Subschemas of `allOf` do not see what the others evaluated (Core 11.1).
    check(
        r#"{"allOf":[{"properties":{"a":true}},{"unevaluatedProperties":false}]}"#,
        &[(r#"{"a":1}"#, &["/a unevaluatedProperties"])],
    );
    check(
        r#"{"allOf":[{"unevaluatedProperties":true}],"unevaluatedProperties":false}"#,
        &[(r#"{"a":1}"#, OK)],
    );
    check(
        r#"{"properties":{"a":{"properties":{"b":true}}},"unevaluatedProperties":false}"#,
        &[(r#"{"a":{"c":1}}"#, OK)],
    );
    check(
        r##"{"$ref":"#/$defs/a","unevaluatedProperties":false,"$defs":{"a":{"properties":{"a":{"type":"string"}}}}}"##,
        &[(r#"{"a":"x"}"#, OK), (r#"{"a":1,"b":1}"#, &["/a type", "/b unevaluatedProperties"])],
    );
}

/// A part that failed is reported once, and not additionally as unevaluated.
#[test]
fn failed_parts_are_not_also_reported_as_unevaluated() {
    check(
        r#"{"allOf":[{"properties":{"a":true},"required":["b"]}],"unevaluatedProperties":false}"#,
        &[(r#"{"a":1}"#, &["/b required"])],
    );
    check(
        r#"{"anyOf":[{"properties":{"a":{"const":1}}},{"properties":{"a":{"const":2}}}],"unevaluatedProperties":false}"#,
        &[(r#"{"a":3}"#, &[" anyOf"])],
    );
    check(
        &OPS.replace(r#""propertyName":"op"}}"#, r#""propertyName":"op"},"unevaluatedProperties":false}"#)
            .replace(r#","additionalProperties":false"#, ""),
        &[
            (r#"[{"op":"add","n":0,"x":1}]"#, &["/0/n minimum", "/0/x unevaluatedProperties"]),
            (r#"[{"op":"move","x":1}]"#, &["/0/op oneOf"]),
            (r#"[{"op":"add","n":1}]"#, OK),
        ],
    );
}

#[test]
fn unevaluated_items() {
    check(
        r#"{"unevaluatedItems":false}"#,
        &[("[]", OK), ("[1]", &["/0 unevaluatedItems"]), (r#"{"a":1}"#, OK)],
    );
    check(
        r#"{"prefixItems":[true],"unevaluatedItems":{"type":"null"}}"#,
        &[("[1,null]", OK), ("[1,2]", &["/1 type"])],
    );
    check(
        r#"{"unevaluatedItems":false,"unevaluatedProperties":false}"#,
        &[
            ("[1]", &["/0 unevaluatedItems"]),
            (r#"{"a":1}"#, &["/a unevaluatedProperties"]),
            ("1", OK),
            ("[]", OK),
        ],
    );
    check(r#"{"items":true,"unevaluatedItems":false}"#, &[("[1,2]", OK)]);
    check(
        r#"{"contains":{"type":"string"},"unevaluatedItems":false}"#,
        &[("[\"a\"]", OK), ("[\"a\",1]", &["/1 unevaluatedItems"])],
    );
    check(
        r#"{"allOf":[{"prefixItems":[true]},{"prefixItems":[true,true]}],"unevaluatedItems":false}"#,
        &[("[1,2]", OK), ("[1,2,3]", &["/2 unevaluatedItems"])],
    );
    check(
        r#"{"anyOf":[{"prefixItems":[{"const":1}]},{"prefixItems":[true,{"const":2}]}],"unevaluatedItems":false}"#,
        &[("[1]", OK), ("[1,2]", OK), ("[1,3]", &["/1 unevaluatedItems"])],
    );
    check(
        r#"{"if":{"prefixItems":[{"const":1}]},"then":{"prefixItems":[true,true]},"unevaluatedItems":false}"#,
        &[("[1,2]", OK), ("[2]", &["/0 unevaluatedItems"])],
    );
    check(
        r#"{"allOf":[{"prefixItems":[true]},{"unevaluatedItems":false}]}"#,
        &[("[1]", &["/0 unevaluatedItems"])],
    );
}

#[test]
fn annotations_assert_nothing() {
    check(
        r#"{"format":"email","title":"x","contentEncoding":"base64","default":3,"deprecated":true}"#,
        &[("\"no email\"", OK)],
    );
}

#[test]
fn locations_name_resource_and_pointer() {
    let validator = compile(&json(
        r##"{"properties":{"a/b":{"$ref":"in.json#/$defs/n"},"c":false},"required":["d"],"$defs":{"in":{"$id":"in.json","$defs":{"n":{"type":"null"}}}}}"##,
    ));
    let value = Json::from(&json(r#"{"a/b":1,"c":2}"#));
    let found = validator.validate(&value).map_or_else(Violations::into_vec, |()| Vec::new());
    let schemas: Vec<_> = found.iter().map(|one| &*one.schema).collect();
    assert_eq!(
        schemas,
        ["https://test.example/in.json#/$defs/n", &format!("{ROOT}#/properties/c"), &format!("{ROOT}#")]
    );
}

/// Long lists of names are searched by binary search, with the same results.
#[test]
fn many_names_use_binary_search() {
    let names = (0..40).map(|n| format!(r#""n{n}":{{"type":"null"}}"#)).collect::<Vec<_>>();
    let schema = format!(r#"{{"properties":{{{}}},"additionalProperties":false}}"#, names.join(","));
    check(
        &schema,
        &[
            (r#"{"n0":null,"n17":null,"n39":null}"#, OK),
            (
                r#"{"n9":1,"n40":null,"a":1,"z":1}"#,
                &[
                    "/a additionalProperties",
                    "/n40 additionalProperties",
                    "/n9 type",
                    "/z additionalProperties",
                ],
            ),
        ],
    );
}
