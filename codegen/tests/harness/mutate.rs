//! Changes documents at random places; the same seed gives the same documents.

use contract_runtime::{Json, Map};

/// What may stand anywhere in a schema, right or wrong.
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

/// Members that mean something somewhere.
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

/// A source of documents.
pub(crate) struct Mutator {
    state: u64,
}

impl Mutator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed | 1 }
    }

    /// One of the seeds, changed at one to four places.
    pub(crate) fn mutate(&mut self, seeds: &[Json]) -> Json {
        let mut document = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(4) {
            let size = size(&document);
            let target = self.below(size);
            let donor = {
                let other = &seeds[self.below(seeds.len())];
                let at = self.below(self::size(other));
                find(other, at).clone()
            };
            self.change(at(&mut document, target), donor);
        }
        document
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
                let at = self.below(items.len());
                items.remove(at);
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
        let at = self.below(members.len());
        members.keys().nth(at).unwrap_or_default().to_owned()
    }

    fn value(&mut self) -> Json {
        Json::parse(VALUES[self.below(VALUES.len())].as_bytes()).unwrap()
    }

    /// Xorshift: good enough to spread changes.
    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 11).unwrap() % limit.max(1)
    }
}

fn children(json: &Json) -> Vec<&Json> {
    match json {
        Json::Object(members) => members.iter().map(|(_, value)| value).collect(),
        Json::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

/// How many values a document holds, itself included.
fn size(json: &Json) -> usize {
    1 + children(json).into_iter().map(size).sum::<usize>()
}

fn find(json: &Json, mut at: usize) -> &Json {
    if at == 0 {
        return json;
    }
    at -= 1;
    for child in children(json) {
        let size = size(child);
        if at < size {
            return find(child, at);
        }
        at -= size;
    }
    json
}

fn at(json: &mut Json, mut target: usize) -> &mut Json {
    if target == 0 {
        return json;
    }
    target -= 1;
    let index = children(json).into_iter().position(|child| {
        let size = size(child);
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
    at(child.unwrap(), target)
}
