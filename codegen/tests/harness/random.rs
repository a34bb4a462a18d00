//! Small random contracts with arbitrary combinations of common keywords.
//!
//! A seed number determines a document. Documents are generated as strings, so that they contain all
//! spellings of JSON numbers. Some documents are also converted to OpenAPI 3.0.

use serde_json::{Value, json};

use super::split_mix::SplitMix64;

/// The names of members. The list is short, so that conflicts are frequent.
const NAMES: [&str; 5] = ["kind", "a", "b", "c", "type"];
/// The values of tags.
const TAGS: [&str; 4] = ["x", "y", "zz", "w-1"];

/// The meta-schema of contracts that assert formats.
pub(crate) const META: &str = r#"{"$vocabulary":{
    "https://json-schema.org/draft/2020-12/vocab/core":true,
    "https://json-schema.org/draft/2020-12/vocab/applicator":true,
    "https://json-schema.org/draft/2020-12/vocab/unevaluated":true,
    "https://json-schema.org/draft/2020-12/vocab/validation":true,
    "https://json-schema.org/draft/2020-12/vocab/meta-data":true,
    "https://json-schema.org/draft/2020-12/vocab/format-assertion":true}}"#;
/// The URI of [`META`].
pub(crate) const META_URI: &str = "https://meta.example/with-formats";

/// A generator of documents.
pub(crate) struct Random {
    generator: SplitMix64,
    /// Whether formats are asserted. The dialect that asserts them has no OpenAPI keywords.
    asserts: bool,
    /// The pointer prefix of definitions, such as `#/$defs/`.
    prefix: &'static str,
    definitions: usize,
}

/// A generated document.
pub(crate) struct Document {
    /// The text of the contract.
    pub(crate) text: String,
    /// The equivalent contract in JSON Schema 2020-12, for independent validators.
    pub(crate) draft_2020_12: String,
    /// The pointers of the definitions.
    pub(crate) definitions: Vec<String>,
    /// The id of an operation to select as part of the contract. `None` if the whole contract is used.
    pub(crate) part: Option<String>,
    /// Whether the dialect asserts formats.
    pub(crate) asserts: bool,
}

/// Generates the document with the given number. Every third document has operations, and half of those use
/// OpenAPI 3.0. Every fourth document asserts formats.
pub(crate) fn document(number: u64) -> Document {
    let prefix = if number % 3 == 2 { "#/components/schemas/" } else { "#/$defs/" };
    let asserts = number % 4 == 1;
    let dialect = |keyword: &str| match asserts {
        true => format!("\"{keyword}\":\"{META_URI}\","),
        false => String::new(),
    };
    let mut random = Random { generator: SplitMix64(number), asserts, prefix, definitions: 0 };
    random.definitions = 2 + random.below(4);
    let definitions: Vec<String> =
        (0..random.definitions).map(|index| format!("\"D{index}\":{}", random.definition(index))).collect();
    let pointers = (0..random.definitions).map(|index| format!("{prefix}D{index}")).collect();
    let definitions = definitions.join(",");
    if number % 3 != 2 {
        let text = format!("{{{}\"$defs\":{{{definitions}}}}}", dialect("$schema"));
        return Document { draft_2020_12: text.clone(), text, definitions: pointers, part: None, asserts };
    }
    let paths: Vec<String> = (0..random.definitions)
        .map(|index| {
            format!(
                r#""/d{index}":{{"get":{{"operationId":"d{index}","responses":{{"200":{{"description":"","content":{{"application/json":{{"schema":{{"$ref":"{prefix}D{index}"}}}}}}}}}}}}}}"#
            )
        })
        .collect();
    let part = random.chance(2).then(|| format!("d{}", random.below(random.definitions)));
    let text = format!(
        r#"{{"openapi":"3.1.0","info":{{"title":"t","version":"1"}},{}"paths":{{{}}},"components":{{"schemas":{{{definitions}}}}}}}"#,
        dialect("jsonSchemaDialect"),
        paths.join(",")
    );
    let (text, draft_2020_12) =
        if number % 6 == 2 { convert_to_openapi_30(&text) } else { (text.clone(), text) };
    Document { text, draft_2020_12, definitions: pointers, part, asserts }
}

/// Returns the document in OpenAPI 3.0 and its equivalent in JSON Schema 2020-12, both without the keywords
/// that 3.0 does not support.
fn convert_to_openapi_30(text: &str) -> (String, String) {
    let mut draft_2020_12: Value = serde_json::from_str(text).unwrap();
    let mut openapi_30 = draft_2020_12.clone();
    openapi_30["openapi"] = "3.0.3".into();
    let definitions = draft_2020_12["components"]["schemas"].as_object_mut().unwrap();
    for (name, schema) in definitions {
        remove_unsupported_keywords(schema);
        openapi_30["components"]["schemas"][name] = convert_schema_to_30(schema);
    }
    (openapi_30.to_string(), draft_2020_12.to_string())
}

/// Removes the keywords that OpenAPI 3.0 does not support.
fn remove_unsupported_keywords(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    for keyword in [
        "patternProperties",
        "propertyNames",
        "dependentRequired",
        "dependentSchemas",
        "unevaluatedProperties",
        "if",
        "then",
        "else",
        "prefixItems",
        "contains",
    ] {
        members.remove(keyword);
    }
    for (keyword, value) in members {
        match keyword.as_str() {
            "properties" => value.as_object_mut().unwrap().values_mut().for_each(remove_unsupported_keywords),
            "allOf" | "anyOf" | "oneOf" => {
                value.as_array_mut().unwrap().iter_mut().for_each(remove_unsupported_keywords)
            }
            "items" | "not" | "additionalProperties" => remove_unsupported_keywords(value),
            _ => {}
        }
    }
}

/// Converts a schema to OpenAPI 3.0, in which `nullable` replaces `null` at any location.
fn convert_schema_to_30(schema: &Value) -> Value {
    let Value::Object(members) = schema else {
        return if *schema == json!(false) { json!({"not": {}}) } else { json!({}) };
    };
    let null = json!({"type": "null"});
    if members.len() == 1
        && let Some([inner, other]) = members.get("anyOf").and_then(Value::as_array).map(Vec::as_slice)
        && *other == null
    {
        return match convert_schema_to_30(inner) {
            Value::Object(inside) if inside.is_empty() => json!({}),
            inside if inside.get("$ref").is_some() => json!({"allOf": [inside], "nullable": true}),
            mut inside => {
                inside["nullable"] = true.into();
                inside
            }
        };
    }
    if *schema == null {
        return json!({"nullable": true});
    }
    let mut out = serde_json::Map::new();
    let list = |all: &Value| {
        Value::from(all.as_array().unwrap().iter().map(convert_schema_to_30).collect::<Vec<_>>())
    };
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            // In OpenAPI 3.0, siblings of `$ref` have no effect.
            ("$ref", _) if members.len() > 1 => {
                let all = members.get("allOf").map_or_else(|| json!([]), list);
                let all = std::iter::once(json!({"$ref": value})).chain(all.as_array().unwrap().clone());
                out.insert("allOf".to_owned(), all.collect());
            }
            ("allOf", _) if members.contains_key("$ref") => {}
            ("const", _) => drop(out.insert("enum".to_owned(), json!([value]))),
            ("exclusiveMinimum", _) => {
                out.extend([("minimum".to_owned(), value.clone()), (keyword.clone(), true.into())]);
            }
            ("exclusiveMaximum", _) => {
                out.extend([("maximum".to_owned(), value.clone()), (keyword.clone(), true.into())]);
            }
            ("type", Value::Array(types)) => {
                let others: Vec<&Value> = types.iter().filter(|name| **name != "null").collect();
                match others.as_slice() {
                    [one] => out.extend([("type".to_owned(), (*one).clone())]),
                    _ => {
                        let each = others.iter().map(|name| convert_schema_to_30(&json!({"type": name})));
                        out.extend([("anyOf".to_owned(), each.collect())]);
                    }
                }
                if others.len() < types.len() {
                    out.insert("nullable".to_owned(), true.into());
                }
            }
            ("properties", Value::Object(all)) => {
                let all = all.iter().map(|(name, schema)| (name.clone(), convert_schema_to_30(schema)));
                out.insert(keyword.clone(), Value::Object(all.collect()));
            }
            ("allOf" | "anyOf" | "oneOf", _) => drop(out.insert(keyword.clone(), list(value))),
            ("additionalProperties", Value::Bool(_)) => drop(out.insert(keyword.clone(), value.clone())),
            ("items" | "not" | "additionalProperties", _) => {
                out.insert(keyword.clone(), convert_schema_to_30(value));
            }
            _ => drop(out.insert(keyword.clone(), value.clone())),
        }
    }
    if out.get("type").is_some_and(|name| name == "array") {
        out.entry("items").or_insert_with(|| json!({}));
    }
    Value::Object(out)
}

impl Random {
    /// Returns the next random number.
    pub(crate) fn next(&mut self) -> u64 {
        self.generator.next_number()
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// Returns true with a probability of 1 in `of`.
    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }

    /// Returns a reference to a definition, usually to an earlier one, so that cycles are rare.
    fn reference(&mut self, before: usize) -> String {
        let index =
            if before == 0 || self.chance(12) { self.below(self.definitions) } else { self.below(before) };
        format!("\"$ref\":\"{}D{index}\"", self.prefix)
    }

    fn definition(&mut self, index: usize) -> String {
        match self.below(8) {
            0 if index > 0 => self.union(index, 3),
            1 if index > 0 => self.union(index, 3),
            2 if index > 0 => self.union(index, 3),
            3 => self.schema(index, 3),
            _ => self.object(index, 3),
        }
    }

    /// Returns an object schema with its own members, members of other definitions, or both.
    fn object(&mut self, before: usize, depth: usize) -> String {
        let mut out = vec!["\"type\":\"object\"".to_owned()];
        let mut names = Vec::new();
        let mut members = Vec::new();
        for _ in 0..=self.below(3) {
            let name = self.pick(&NAMES);
            if !names.contains(&name) {
                names.push(name);
                let member = if name == "kind" { self.tag() } else { self.schema(before, depth - 1) };
                members.push(format!("\"{name}\":{member}"));
            }
        }
        out.push(format!("\"properties\":{{{}}}", members.join(",")));
        let required: Vec<String> = names
            .iter()
            .filter(|name| **name == "kind" || name.len() == 1)
            .map(|n| format!("\"{n}\""))
            .collect();
        let required: Vec<String> = required.into_iter().filter(|_| !self.chance(3)).collect();
        if !required.is_empty() {
            out.push(format!("\"required\":[{}]", required.join(",")));
        }
        out.extend(self.object_rules(before, depth));
        if self.chance(6) {
            out.push(format!("\"allOf\":[{{{}}}]", self.reference(before)));
        }
        if self.chance(5) {
            out.extend(self.applicator(before, depth));
        }
        format!("{{{}}}", out.join(","))
    }

    /// Returns a schema for a tag.
    fn tag(&mut self) -> String {
        let tag = self.pick(&TAGS);
        match self.below(6) {
            0 => format!("{{\"const\":\"{tag}\"}}"),
            1 => format!("{{\"enum\":[\"{tag}\"]}}"),
            2 => "{\"enum\":[\"x\",\"y\",\"zz\"]}".to_owned(),
            3 => "{\"type\":\"string\",\"maxLength\":1}".to_owned(),
            4 => "{}".to_owned(),
            _ => "{\"type\":\"string\"}".to_owned(),
        }
    }

    fn object_rules(&mut self, before: usize, depth: usize) -> Vec<String> {
        let mut out = Vec::new();
        match self.below(9) {
            0 => out.push("\"additionalProperties\":false".to_owned()),
            1 => out.push("\"additionalProperties\":{\"type\":\"string\"}".to_owned()),
            2 if depth > 1 => {
                out.push(format!("\"additionalProperties\":{}", self.schema(before, depth - 1)));
            }
            3 => out.push("\"patternProperties\":{\"^c\":{\"type\":\"integer\"}}".to_owned()),
            4 => out.push("\"propertyNames\":{\"maxLength\":4}".to_owned()),
            5 => out.push(format!("\"minProperties\":{}", self.below(3))),
            6 => out.push(format!("\"maxProperties\":{}", 1 + self.below(3))),
            7 => out.push("\"dependentRequired\":{\"a\":[\"b\"]}".to_owned()),
            _ => {}
        }
        out
    }

    /// Returns `oneOf` or `anyOf` of earlier definitions, with the usual notations for tags. Some unions have
    /// no tag.
    fn union(&mut self, before: usize, depth: usize) -> String {
        let keyword = self.pick(&["oneOf", "oneOf", "anyOf"]);
        let outside = self.chance(3).then(|| self.reference(before));
        let mut branches = Vec::new();
        let mut mapping = Vec::new();
        for tag in TAGS.into_iter().take(1 + self.below(3)) {
            let literal = match self.below(3) {
                0 => format!("{{\"enum\":[\"{tag}\"]}}"),
                1 => format!("{{\"type\":\"string\",\"const\":\"{tag}\"}}"),
                _ => format!("{{\"const\":\"{tag}\"}}"),
            };
            let required = if self.chance(4) { "" } else { ",\"required\":[\"kind\"]" };
            let tag_keywords = format!("\"properties\":{{\"kind\":{literal}}}{required}");
            let base = self.reference(before);
            if self.chance(2) {
                mapping.push(base.replacen("$ref", tag, 1));
            }
            branches.push(match self.below(6) {
                0 => format!("{{\"allOf\":[{{{base}}},{{{tag_keywords}}}]}}"),
                1 => format!("{{{base},{tag_keywords}}}"),
                2 => format!("{{\"type\":\"object\",{tag_keywords}}}"),
                3 if outside.is_some() => format!("{{{tag_keywords}}}"),
                3 => format!("{{\"anyOf\":[{{{base}}}],{tag_keywords}}}"),
                4 => format!("{{\"allOf\":[{{{base}}}],\"type\":\"object\",{tag_keywords}}}"),
                _ if self.chance(3) => self.schema(before, depth - 1),
                _ => format!("{{{base}}}"),
            });
        }
        if self.chance(8) {
            branches.push("{\"type\":\"null\"}".to_owned());
        }
        let mut out: Vec<String> = outside.into_iter().collect();
        if self.chance(4) {
            out.push("\"type\":\"object\"".to_owned());
        }
        if self.chance(4) {
            let rule = self.pick(&[
                "{\"maxLength\":1}",
                "{\"type\":\"string\"}",
                "{\"pattern\":\"^[xz]\"}",
                "{\"not\":{\"const\":\"y\"}}",
                "{\"type\":\"integer\"}",
            ]);
            out.push(format!("\"properties\":{{\"kind\":{rule}}}"));
        }
        out.push(format!("\"{keyword}\":[{}]", branches.join(",")));
        if !self.asserts && self.chance(4) {
            let mapping = mapping.join(",");
            out.push(format!("\"discriminator\":{{\"propertyName\":\"kind\",\"mapping\":{{{mapping}}}}}"));
        }
        if self.chance(8) {
            out.push(format!("\"unevaluatedProperties\":{}", self.pick(&["false", "{\"type\":\"string\"}"])));
        }
        format!("{{{}}}", out.join(","))
    }

    fn applicator(&mut self, before: usize, depth: usize) -> Vec<String> {
        if depth < 2 {
            return Vec::new();
        }
        let name = self.pick(&NAMES);
        let about = |inner: &str| format!("{{\"properties\":{{\"{name}\":{inner}}}}}");
        let inner = if self.chance(2) { "{}".to_owned() } else { self.schema(before, depth - 1) };
        let needs = format!("{{\"required\":[\"{}\"]}}", self.pick(&NAMES));
        vec![match self.below(6) {
            0 => format!("\"not\":{}", about(&inner)),
            1 => format!("\"not\":{needs}"),
            2 => format!("\"if\":{},\"then\":{needs}", about(&inner)),
            3 => format!("\"if\":{needs},\"then\":{},\"else\":{{\"maxProperties\":2}}", about(&inner)),
            4 => format!("\"dependentSchemas\":{{\"{name}\":{needs}}}"),
            _ => format!("\"anyOf\":[{needs},{}]", about(&inner)),
        }]
    }

    /// Returns a random schema of any kind.
    fn schema(&mut self, before: usize, depth: usize) -> String {
        if depth == 0 {
            return self.scalar();
        }
        match self.below(14) {
            0 => format!("{{{}}}", self.reference(before)),
            1 => format!("{{\"anyOf\":[{},{{\"type\":\"null\"}}]}}", self.schema(before, depth - 1)),
            2 => self.array(before, depth),
            3 => self.object(before, depth),
            4 if before > 0 => self.union(before, depth),
            5 => format!(
                "{{\"type\":[\"{}\",\"{}\"]}}",
                self.pick(&["string", "null"]),
                self.pick(&["integer", "array"])
            ),
            6 => format!("{{\"allOf\":[{},{}]}}", self.scalar(), self.scalar()),
            7 => format!("{{{},\"description\":\"beside\"}}", self.reference(before)),
            8 => {
                let (one, other) = (self.schema(before, depth - 1), self.schema(before, depth - 1));
                format!("{{\"{}\":[{one},{other}]}}", self.pick(&["oneOf", "anyOf"]))
            }
            9 => self
                .pick(&["true", "{}", "false", "{\"const\":1}", "{\"not\":{\"type\":\"string\"}}"])
                .to_owned(),
            _ => self.scalar(),
        }
    }

    fn array(&mut self, before: usize, depth: usize) -> String {
        let items = self.schema(before, depth - 1);
        match self.below(6) {
            0 => format!("{{\"type\":\"array\",\"items\":{items},\"minItems\":1}}"),
            1 => format!("{{\"type\":\"array\",\"items\":{items},\"uniqueItems\":true}}"),
            2 => format!(
                "{{\"type\":\"array\",\"prefixItems\":[{items},{{\"type\":\"string\"}}],\"items\":false,\"minItems\":2}}"
            ),
            3 => format!("{{\"type\":\"array\",\"contains\":{items},\"maxItems\":3}}"),
            _ => format!("{{\"type\":\"array\",\"items\":{items}}}"),
        }
    }

    fn scalar(&mut self) -> String {
        if self.asserts && self.chance(3) {
            let asserted = [
                "{\"type\":\"string\",\"format\":\"date\"}",
                "{\"format\":\"ipv4\"}",
                "{\"type\":[\"string\",\"null\"],\"format\":\"uuid\"}",
                "{\"type\":\"string\",\"not\":{\"format\":\"email\"}}",
                "{\"enum\":[\"127.0.0.1\",\"x\",1],\"format\":\"ipv4\"}",
            ];
            return self.pick(&asserted).to_owned();
        }
        let number = self.pick(&["0", "3", "1.25e1", "-2", "1e1", "2.5", "1e19", "-1E0", "30e-1"]);
        match self.below(12) {
            0 => "{\"type\":\"string\"}".to_owned(),
            1 => "{\"type\":\"string\",\"maxLength\":2}".to_owned(),
            2 => "{\"type\":\"string\",\"pattern\":\"^[a-z]+$\",\"minLength\":1}".to_owned(),
            3 => "{\"type\":\"integer\"}".to_owned(),
            4 => format!(
                "{{\"type\":\"integer\",\"{}\":{number}}}",
                self.pick(&["minimum", "exclusiveMinimum"])
            ),
            5 => format!(
                "{{\"type\":\"integer\",\"{}\":{number}}}",
                self.pick(&["maximum", "exclusiveMaximum"])
            ),
            6 => format!("{{\"type\":\"number\",\"minimum\":{number}}}"),
            7 => "{\"type\":\"integer\",\"multipleOf\":3,\"minimum\":0,\"maximum\":30}".to_owned(),
            8 => "{\"type\":\"boolean\"}".to_owned(),
            9 => "{\"type\":[\"string\",\"null\"]}".to_owned(),
            10 => "{\"enum\":[\"x\",\"y\"]}".to_owned(),
            _ => "{\"enum\":[1,\"x\",null]}".to_owned(),
        }
    }
}
