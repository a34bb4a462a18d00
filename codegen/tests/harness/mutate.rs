//! Changes documents at random locations. The same seed always produces the same documents.

use contract_runtime::{Json, Map};

use super::split_mix::SplitMix64;

/// Valid and invalid values for any location in a schema.
const VALUES: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "1.5",
    "1e400",
    "18446744073709551616",
    "\"\"",
    "\"a\"",
    "\"object\"",
    "\"string\"",
    "\"#\"",
    "\"#/$defs/a\"",
    "\"#/components/schemas/Ship\"",
    "\"^(\"",
    "\"\\u0000\"",
    "\"☃\"",
    "[]",
    "{}",
    "[\"object\",\"null\"]",
    "[\"string\",\"integer\"]",
    "[null]",
    "[{}]",
    "[true,false]",
    "{\"type\":\"string\"}",
    "{\"type\":\"object\",\"properties\":{\"a\":{\"const\":1}}}",
    "{\"$ref\":\"#\"}",
    "{\"not\":{}}",
    "{\"$dynamicRef\":\"#node\"}",
    "{\"enum\":[\"a\",\"A\",null,1]}",
    "[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]",
    "{\"a\":[\"b\"]}",
    "{\"a\":{\"$ref\":\"#\"}}",
    "{\"^x\":{\"type\":\"integer\"}}",
    "[{\"type\":\"object\",\"required\":[\"k\"],\"properties\":{\"k\":{\"const\":\"a\"}}},{\"type\":\"object\",\"required\":[\"k\"],\"properties\":{\"k\":{\"const\":\"b\"}}}]",
];

/// Member names that have a meaning in schemas or OpenAPI documents.
const NAMES: &[&str] = &[
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "items",
    "prefixItems",
    "contains",
    "minContains",
    "oneOf",
    "anyOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "$ref",
    "$id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$defs",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "dependentRequired",
    "dependentSchemas",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "title",
    "description",
    "default",
    "format",
    "schema",
    "content",
    "parameters",
    "in",
    "name",
    "style",
    "explode",
    "responses",
    "200",
    "default",
    "requestBody",
    "headers",
    "security",
    "tags",
    "operationId",
    "get",
    "components",
    "schemas",
    "type ",
    "self",
    "",
];

/// Keywords, each with a valid value.
const KEYWORDS: &[(&str, &str)] = &[
    ("type", "\"string\""),
    ("type", "[\"object\",\"null\"]"),
    ("type", "[\"integer\",\"string\",\"array\"]"),
    ("enum", "[\"Self\",\"self\",\"\",\"a b\",\"A B\"]"),
    ("enum", "[1,1.0,\"1\",null,[],{}]"),
    ("const", "{\"a\":[1]}"),
    ("required", "[\"a\",\"type\",\"\"]"),
    (
        "properties",
        "{\"type\":{\"const\":\"x\"},\"Type\":true,\"a\":false,\"self\":{\"items\":{\"minimum\":1}}}",
    ),
    ("additionalProperties", "false"),
    ("additionalProperties", "{\"type\":[\"string\",\"null\"]}"),
    ("patternProperties", "{\"^x-\":{\"type\":\"object\"},\"\\\\d+\":true}"),
    ("propertyNames", "{\"maxLength\":4}"),
    ("unevaluatedProperties", "{\"type\":\"integer\"}"),
    ("unevaluatedItems", "false"),
    ("items", "{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}"),
    ("prefixItems", "[{\"type\":\"string\"},true,{\"enum\":[1,2]}]"),
    ("contains", "{\"type\":\"null\"}"),
    ("uniqueItems", "true"),
    ("minItems", "2"),
    ("maxItems", "0"),
    ("minProperties", "1"),
    ("minimum", "-1e3"),
    ("exclusiveMaximum", "18446744073709551616"),
    ("multipleOf", "0.01"),
    ("maxLength", "1.0"),
    ("pattern", "\"^[a-z]{2,}(x|y)?$\""),
    (
        "oneOf",
        "[{\"type\":\"object\",\"required\":[\"k\"],\"properties\":{\"k\":{\"const\":1}}},{\"type\":\"object\",\"required\":[\"k\"],\"properties\":{\"k\":{\"const\":2}}}]",
    ),
    ("oneOf", "[{\"type\":\"string\"},{\"type\":\"object\"},{\"type\":\"object\"}]"),
    ("anyOf", "[{\"$ref\":\"#\"},{\"type\":\"null\"}]"),
    ("anyOf", "[{\"enum\":[\"a\",\"Unknown\"]},{\"type\":\"string\"}]"),
    (
        "allOf",
        "[{\"properties\":{\"a\":{\"type\":\"integer\"}}},{\"properties\":{\"a\":{\"type\":\"string\"}}}]",
    ),
    ("not", "{\"required\":[\"a\"]}"),
    ("if", "{\"required\":[\"a\"]}"),
    ("then", "{\"properties\":{\"b\":{\"type\":\"string\"}},\"required\":[\"b\"]}"),
    ("dependentSchemas", "{\"a\":{\"properties\":{\"c\":{\"type\":\"boolean\"}}}}"),
    ("default", "\"x\""),
    ("format", "\"date-time\""),
    ("title", "\"a */ title\""),
    ("description", "\"```\\nfn main() {\\n\""),
    ("deprecated", "true"),
    ("readOnly", "true"),
];

/// A generator of mutated documents.
pub(crate) struct Mutator {
    state: u64,
}

impl Mutator {
    pub(crate) fn new(seed: u64) -> Self {
        // Consecutive seeds produce unrelated states, and the state is never 0.
        Self { state: SplitMix64(seed).next_number() | 1 }
    }

    /// Returns one of the documents with one to four changes. In half of the results, the changes are
    /// arbitrary. In the other half, a schema is replaced by another schema or gets a further keyword, so
    /// that the later stages of the generator are tested.
    pub(crate) fn mutate(&mut self, seeds: &[Json]) -> Json {
        let mut document = seeds[self.below(seeds.len())].clone();
        let is_arbitrary = self.below(2) == 0;
        for _ in 0..=self.below(4) {
            if !is_arbitrary {
                self.graft(&mut document, seeds);
                continue;
            }
            let size = count_values(&document);
            let target = self.below(size);
            let donor = {
                let other = &seeds[self.below(seeds.len())];
                let index = self.below(self::count_values(other));
                find(other, index).clone()
            };
            self.change(find_mut(&mut document, target), donor);
        }
        document
    }

    /// Replaces a schema with another one, or adds a keyword to it.
    fn graft(&mut self, document: &mut Json, seeds: &[Json]) {
        let places = find_schemas(document);
        let place = places[self.below(places.len())];
        if self.below(3) == 0 {
            let other = &seeds[self.below(seeds.len())];
            let donors = find_schemas(other);
            let donor = find(other, donors[self.below(donors.len())]).clone();
            *find_mut(document, place) = donor;
        } else if let Json::Object(members) = find_mut(document, place) {
            let (name, value) = KEYWORDS[self.below(KEYWORDS.len())];
            members.insert(name.to_owned(), Json::parse(value.as_bytes()).unwrap());
        }
    }

    fn change(&mut self, place: &mut Json, donor: Json) {
        match (self.below(8), place) {
            (0 | 1, place) => *place = self.value(),
            (2, place) => *place = donor,
            (3, Json::Object(members)) if !members.is_empty() => {
                let name = self.key(members);
                members.remove(&name);
            }
            (4, Json::Object(members)) if !members.is_empty() => {
                let name = self.key(members);
                if let Some(value) = members.remove(&name) {
                    members.insert(NAMES[self.below(NAMES.len())].to_owned(), value);
                }
            }
            (5, Json::Object(members)) => {
                let value = self.value();
                members.insert(NAMES[self.below(NAMES.len())].to_owned(), value);
            }
            (6, Json::Object(members)) => {
                members.insert(NAMES[self.below(NAMES.len())].to_owned(), donor);
            }
            (3, Json::Array(items)) if !items.is_empty() => {
                let index = self.below(items.len());
                items.remove(index);
            }
            (4, Json::Array(items)) if !items.is_empty() => {
                let item = items[self.below(items.len())].clone();
                items.push(item);
            }
            (_, Json::Array(items)) => items.push(donor),
            (_, place) => *place = self.value(),
        }
    }

    fn key(&mut self, members: &Map<Json>) -> String {
        let index = self.below(members.len());
        members.keys().nth(index).unwrap_or_default().to_owned()
    }

    fn value(&mut self) -> Json {
        Json::parse(VALUES[self.below(VALUES.len())].as_bytes()).unwrap()
    }

    /// Returns a random number below a limit (Xorshift).
    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 11).unwrap() % limit.max(1)
    }
}

fn child_values(json: &Json) -> Vec<&Json> {
    match json {
        Json::Object(members) => members.iter().map(|(_, value)| value).collect(),
        Json::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

/// Returns the number of values in a document, including the document itself.
fn count_values(json: &Json) -> usize {
    1 + child_values(json).into_iter().map(count_values).sum::<usize>()
}

/// Returns the indices of the values that are probably schemas, counted as by [`find`]. Returns the index of
/// the root if there are none.
fn find_schemas(json: &Json) -> Vec<usize> {
    fn walk(json: &Json, next: &mut usize, found: &mut Vec<usize>) {
        let here = *next;
        *next += 1;
        if let Json::Object(members) = json
            && ["type", "$ref", "enum", "oneOf", "anyOf", "allOf"].iter().any(|keyword| {
                match members.get(keyword) {
                    Some(Json::String(_)) => {
                        matches!(*keyword, "type" | "$ref") && !members.contains_key("in")
                    }
                    Some(Json::Array(_)) => true,
                    _ => false,
                }
            })
        {
            found.push(here);
        }
        for child in child_values(json) {
            walk(child, next, found);
        }
    }
    let mut found = Vec::new();
    walk(json, &mut 0, &mut found);
    if found.is_empty() {
        found.push(0);
    }
    found
}

fn find(json: &Json, mut target: usize) -> &Json {
    if target == 0 {
        return json;
    }
    target -= 1;
    for child in child_values(json) {
        let size = count_values(child);
        if target < size {
            return find(child, target);
        }
        target -= size;
    }
    json
}

fn find_mut(json: &mut Json, mut target: usize) -> &mut Json {
    if target == 0 {
        return json;
    }
    target -= 1;
    let index = child_values(json).into_iter().position(|child| {
        let size = count_values(child);
        let here = target < size;
        if !here {
            target -= size;
        }
        here
    });
    let child = match json {
        Json::Object(members) => members.iter_mut().nth(index.unwrap_or_default()).map(|(_, value)| value),
        Json::Array(items) => items.get_mut(index.unwrap_or_default()),
        _ => None,
    };
    find_mut(child.unwrap(), target)
}
