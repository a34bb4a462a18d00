//! A compiler from JSON Schema to leaked tables. It is a minimal version of the generator for tests and
//! panics on unsupported schemas.

use std::collections::BTreeMap;
use std::collections::HashMap;

use serde_json::Value;

use crate::Number;
use crate::pattern::Pattern;
use crate::pattern::tests::compile as pattern;
use crate::pointer::escape_token;
use crate::schema::*;

/// The URI of a schema without an `$id`.
pub(super) const ROOT: &str = "https://test.example/root.json";

/// Keywords whose value is a schema.
const ONE: &[&str] = &[
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
const LIST: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];
const NAMED: &[&str] = &["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// All documents, split into resources and indexed by URI.
#[derive(Clone, Default)]
pub(super) struct Documents {
    resources: BTreeMap<String, Value>,
    /// The retrieval URIs of documents with a different `$id`.
    addresses: BTreeMap<String, String>,
    /// Maps a resource and an anchor to the pointer inside the resource, and to a flag that is true for
    /// dynamic anchors.
    anchors: BTreeMap<(String, String), (String, bool)>,
}

impl Documents {
    /// Adds a document with the retrieval URI `uri`.
    pub(super) fn add(&mut self, uri: &str, document: &Value) {
        self.resources.insert(uri.to_owned(), document.clone());
        self.scan(document, uri, "");
        if let Some(id) = document.get("$id").and_then(Value::as_str) {
            self.addresses.insert(uri.to_owned(), resolve(uri, id));
        }
    }

    fn scan(&mut self, schema: &Value, base: &str, pointer: &str) {
        let Value::Object(members) = schema else {
            return;
        };
        let (mut base, mut pointer) = (base.to_owned(), pointer.to_owned());
        if let Some(id) = members.get("$id").and_then(Value::as_str) {
            base = resolve(&base, id);
            pointer.clear();
        }
        if pointer.is_empty() {
            self.resources.insert(base.clone(), schema.clone());
        }
        for (keyword, dynamic) in [("$anchor", false), ("$dynamicAnchor", true)] {
            if let Some(name) = members.get(keyword).and_then(Value::as_str) {
                self.anchors.insert((base.clone(), name.to_owned()), (pointer.clone(), dynamic));
            }
        }
        for (keyword, value) in members {
            let key = format!("{pointer}/{}", escape_token(keyword));
            match value {
                below if ONE.contains(&keyword.as_str()) => self.scan(below, &base, &key),
                Value::Array(list) if LIST.contains(&keyword.as_str()) => {
                    for (index, below) in list.iter().enumerate() {
                        self.scan(below, &base, &format!("{key}/{index}"));
                    }
                }
                Value::Object(named) if NAMED.contains(&keyword.as_str()) => {
                    for (name, below) in named {
                        self.scan(below, &base, &format!("{key}/{}", escape_token(name)));
                    }
                }
                _ => {}
            }
        }
    }

    /// Resolves a URI reference to a resource and to a pointer inside it.
    fn locate(&self, base: &str, reference: &str) -> (String, String) {
        let full = resolve(base, reference);
        let (uri, fragment) = full.split_once('#').unwrap_or((&full, ""));
        let uri = self.addresses.get(uri).map_or(uri, String::as_str);
        let fragment = percent_decode(fragment);
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let anchor = &self.anchors[&(uri.to_owned(), fragment)];
            return (uri.to_owned(), anchor.0.clone());
        }
        let (mut uri, mut pointer) = (uri.to_owned(), String::new());
        for step in fragment.split('/').skip(1) {
            pointer = format!("{pointer}/{step}");
            let here = self.value(&uri, &pointer);
            if let Some(id) = here.get("$id").and_then(Value::as_str) {
                uri = resolve(&uri, id);
                pointer.clear();
            }
        }
        (uri, pointer)
    }

    fn value(&self, uri: &str, pointer: &str) -> &Value {
        let root = self.resources.get(uri).unwrap_or_else(|| panic!("no resource {uri}"));
        root.pointer(pointer).unwrap_or_else(|| panic!("nothing at {uri}#{pointer}"))
    }
}

/// Compiles the validator of one schema.
pub(crate) fn compile(schema: &Value) -> Validator<'static> {
    compile_with(schema, Documents::default())
}

/// Compiles the validator of a schema that may refer to other documents.
pub(super) fn compile_with(schema: &Value, mut documents: Documents) -> Validator<'static> {
    documents.add(ROOT, schema);
    let meta = schema.get("$schema").and_then(Value::as_str);
    let vocabularies = meta.and_then(|uri| {
        documents.resources.get(documents.addresses.get(uri).map_or(uri, String::as_str))?.get("$vocabulary")
    });
    let validates = vocabularies
        .is_none_or(|v| v.get("https://json-schema.org/draft/2020-12/vocab/validation").is_some());
    let (root, pointer) = documents.locate(ROOT, "");
    let mut build =
        Build { documents, validates, known: HashMap::new(), schemas: Vec::new(), resources: Vec::new() };
    let root = build.schema(&root, &pointer);
    let mut resources = Vec::new();
    let mut at = 0;
    // Anchors can lead to resources that no reference leads to.
    while let Some(uri) = build.resources.get(at).cloned() {
        let anchors = build.documents.anchors.clone();
        let dynamic = anchors.iter().filter(|((own, _), (_, dynamic))| *own == uri && *dynamic);
        let dynamic_anchors: Vec<_> = dynamic
            .map(|((_, name), (pointer, _))| (&*name.clone().leak(), build.schema(&uri, pointer)))
            .collect();
        resources.push(SchemaResource { uri: uri.leak(), dynamic_anchors: dynamic_anchors.leak() });
        at += 1;
    }
    let schemas: Vec<Schema<'static>> = build.schemas.into_iter().map(Option::unwrap).collect();
    let tables = SchemaTables { schemas: schemas.leak(), resources: resources.leak() };
    Validator::new(Box::leak(Box::new(tables)), root)
}

struct Build {
    documents: Documents,
    validates: bool,
    known: HashMap<(String, String), SchemaId>,
    schemas: Vec<Option<Schema<'static>>>,
    resources: Vec<String>,
}

impl Build {
    fn schema(&mut self, uri: &str, pointer: &str) -> SchemaId {
        let value = self.documents.value(uri, pointer).clone();
        // A nested `$id` starts another resource.
        let (uri, pointer) = match value.get("$id").and_then(Value::as_str) {
            Some(id) if !pointer.is_empty() => (resolve(uri, id), String::new()),
            _ => (uri.to_owned(), pointer.to_owned()),
        };
        if let Some(id) = self.known.get(&(uri.clone(), pointer.clone())) {
            return *id;
        }
        let id = SchemaId(self.schemas.len() as u32);
        self.known.insert((uri.clone(), pointer.clone()), id);
        self.schemas.push(None);
        let resource = self.resource(&uri);
        let keywords = self.keywords(&value, &uri, &pointer);
        self.schemas[id.0 as usize] =
            Some(Schema { resource, location: pointer.leak(), keywords: keywords.leak() });
        id
    }

    fn resource(&mut self, uri: &str) -> ResourceId {
        let found = self.resources.iter().position(|known| known == uri);
        let index = found.unwrap_or_else(|| {
            self.resources.push(uri.to_owned());
            self.resources.len() - 1
        });
        ResourceId(index as u32)
    }

    fn keywords(&mut self, value: &Value, uri: &str, pointer: &str) -> Vec<Keyword<'static>> {
        let members = match value {
            Value::Bool(true) => return Vec::new(),
            Value::Bool(false) => return vec![Keyword::False],
            other => other.as_object().unwrap(),
        };
        let mut out = Vec::new();
        for (name, value) in members {
            let below = format!("{pointer}/{}", escape_token(name));
            if let Some(keyword) = self.applicator(name, value, members, uri, &below) {
                out.push(keyword);
            } else if self.validates
                && let Some(keyword) = assertion(name, value)
            {
                out.push(keyword);
            }
        }
        let needed = out.iter().find_map(|keyword| match keyword {
            Keyword::Required(names) => Some(*names),
            _ => None,
        });
        for keyword in &mut out {
            if let (Keyword::Properties(declared, bits), Some(names)) = (keyword, needed) {
                let (found, others) = split_required(declared, names);
                *bits = found;
                out.retain(|keyword| !matches!(keyword, Keyword::Required(_)));
                out.push(Keyword::Required(others.leak()));
                break;
            }
        }
        out.sort_by_key(|keyword| match keyword {
            Keyword::Type(_) => 0,
            Keyword::UnevaluatedItems(_) => 2,
            Keyword::UnevaluatedProperties(_) => 3,
            _ => 1,
        });
        out
    }

    fn applicator(
        &mut self,
        name: &str,
        value: &Value,
        siblings: &serde_json::Map<String, Value>,
        uri: &str,
        below: &str,
    ) -> Option<Keyword<'static>> {
        let count = |name: &str| siblings.get(name).map(count);
        Some(match name {
            "$ref" => {
                let (uri, pointer) = self.documents.locate(uri, value.as_str().unwrap());
                Keyword::Ref(self.schema(&uri, &pointer))
            }
            "$dynamicRef" => {
                let reference = value.as_str().unwrap();
                let (uri, pointer) = self.documents.locate(uri, reference);
                let anchor = reference.split_once('#').unwrap().1.to_owned().leak();
                Keyword::DynamicRef { anchor, initial: self.schema(&uri, &pointer) }
            }
            "allOf" => Keyword::AllOf(self.list(value, uri, below)),
            "anyOf" => {
                Keyword::AnyOf(self.list(value, uri, below), self.branch_selector(value, siblings, uri))
            }
            "oneOf" => {
                Keyword::OneOf(self.list(value, uri, below), self.branch_selector(value, siblings, uri))
            }
            "prefixItems" => Keyword::PrefixItems(self.list(value, uri, below)),
            "properties" => Keyword::Properties(self.named(value, uri, below), 0),
            "dependentSchemas" => Keyword::DependentSchemas(self.named(value, uri, below)),
            "patternProperties" => {
                let named = self.named(value, uri, below);
                let with = |(name, id): &(&'static str, SchemaId)| (pattern::compile(name), *id);
                Keyword::PatternProperties(named.iter().map(with).collect::<Vec<_>>().leak())
            }
            "additionalProperties" => Keyword::AdditionalProperties {
                schema: self.schema(uri, below),
                declared: names(siblings.get("properties")),
                patterns: names(siblings.get("patternProperties"))
                    .iter()
                    .map(|name| -> &'static Pattern<'static> { pattern::compile(name) })
                    .collect::<Vec<_>>()
                    .leak(),
            },
            "items" => {
                let from = siblings.get("prefixItems").map_or(0, |list| list.as_array().unwrap().len());
                Keyword::Items { schema: self.schema(uri, below), from }
            }
            "contains" => Keyword::Contains {
                schema: self.schema(uri, below),
                min: count("minContains").filter(|_| self.validates),
                max: count("maxContains").filter(|_| self.validates),
            },
            "propertyNames" => Keyword::PropertyNames(self.schema(uri, below)),
            "not" => Keyword::Not(self.schema(uri, below)),
            "unevaluatedItems" => Keyword::UnevaluatedItems(self.schema(uri, below)),
            "unevaluatedProperties" => Keyword::UnevaluatedProperties(self.schema(uri, below)),
            "if" => {
                let parent = below.strip_suffix("/if").unwrap();
                let mut branch = |name: &str| {
                    siblings.contains_key(name).then(|| self.schema(uri, &format!("{parent}/{name}")))
                };
                let (then, otherwise) = (branch("then"), branch("else"));
                Keyword::If { condition: self.schema(uri, below), then, otherwise }
            }
            _ => return None,
        })
    }

    /// Creates the branch selector of a union from the `discriminator` beside it, and `None` without one. The
    /// certainty is [`TagCertainty::Required`], as if the generator had proven it, unless `x-certainty` sets
    /// a weaker one.
    fn branch_selector(
        &self,
        branches: &Value,
        siblings: &serde_json::Map<String, Value>,
        uri: &str,
    ) -> Option<&'static BranchSelector<'static>> {
        let discriminator = siblings.get("discriminator")?;
        let tag = discriminator["propertyName"].as_str().unwrap();
        let certainty = match discriminator.get("x-certainty").and_then(Value::as_str) {
            None => TagCertainty::Required,
            Some("present") => TagCertainty::Present,
            Some("meant") => TagCertainty::Hint,
            Some(other) => panic!("{other}"),
        };
        let branches = branches.as_array().unwrap().iter().enumerate().map(|(index, branch)| {
            let target = branch.get("$ref").map(|to| self.documents.locate(uri, to.as_str().unwrap()));
            let branch = target.as_ref().map_or(branch, |(uri, to)| self.documents.value(uri, to));
            let by_mapping = discriminator.get("mapping").map(|mapping| &mapping[index]);
            (literal(by_mapping.unwrap_or(&branch["properties"][tag]["const"])), index)
        });
        let branches = branches.collect::<Vec<_>>().leak();
        Some(Box::leak(Box::new(BranchSelector { tag: tag.to_owned().leak(), certainty, branches })))
    }

    fn list(&mut self, value: &Value, uri: &str, below: &str) -> &'static [SchemaId] {
        let indexes = 0..value.as_array().unwrap().len();
        let ids = indexes.map(|index| self.schema(uri, &format!("{below}/{index}")));
        ids.collect::<Vec<_>>().leak()
    }

    fn named(&mut self, value: &Value, uri: &str, below: &str) -> &'static [(&'static str, SchemaId)] {
        let named = names(Some(value)).iter();
        let ids = named.map(|name| (*name, self.schema(uri, &format!("{below}/{}", escape_token(name)))));
        ids.collect::<Vec<_>>().leak()
    }
}

fn assertion(name: &str, value: &Value) -> Option<Keyword<'static>> {
    Some(match name {
        "type" => {
            let one = |value: &Value| match value.as_str().unwrap() {
                "null" => TypeSet::NULL,
                "boolean" => TypeSet::BOOLEAN,
                "integer" => TypeSet::INTEGER,
                "number" => TypeSet::NUMBER,
                "string" => TypeSet::STRING,
                "array" => TypeSet::ARRAY,
                "object" => TypeSet::OBJECT,
                other => panic!("type {other}"),
            };
            match value {
                Value::Array(list) => Keyword::Type(list.iter().map(one).reduce(TypeSet::union).unwrap()),
                other => Keyword::Type(one(other)),
            }
        }
        "enum" => Keyword::Enum(value.as_array().unwrap().iter().map(literal).collect::<Vec<_>>().leak()),
        "const" => Keyword::Const(literal(value)),
        "multipleOf" => Keyword::MultipleOf(number(value)),
        "maximum" => Keyword::Maximum(number(value)),
        "exclusiveMaximum" => Keyword::ExclusiveMaximum(number(value)),
        "minimum" => Keyword::Minimum(number(value)),
        "exclusiveMinimum" => Keyword::ExclusiveMinimum(number(value)),
        "maxLength" => Keyword::MaxLength(count(value)),
        "minLength" => Keyword::MinLength(count(value)),
        "pattern" => Keyword::Pattern(pattern::compile(value.as_str().unwrap())),
        "maxItems" => Keyword::MaxItems(count(value)),
        "minItems" => Keyword::MinItems(count(value)),
        "uniqueItems" if *value == Value::Bool(true) => Keyword::UniqueItems,
        "maxProperties" => Keyword::MaxProperties(count(value)),
        "minProperties" => Keyword::MinProperties(count(value)),
        "required" => Keyword::Required(strings(value)),
        "dependentRequired" => {
            let entries = value.as_object().unwrap().iter();
            let entries = entries.map(|(name, list)| (&*name.clone().leak(), strings(list)));
            Keyword::DependentRequired(entries.collect::<Vec<_>>().leak())
        }
        _ => return None,
    })
}

fn literal(value: &Value) -> Literal<'static> {
    match value {
        Value::Null => Literal::Null,
        Value::Bool(value) => Literal::Bool(*value),
        Value::Number(_) => Literal::Number(number(value)),
        Value::String(text) => Literal::String(text.clone().leak()),
        Value::Array(list) => Literal::Array(list.iter().map(literal).collect::<Vec<_>>().leak()),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (&*name.clone().leak(), literal(value)));
            Literal::Object(members.collect::<Vec<_>>().leak())
        }
    }
}

fn number(value: &Value) -> Number {
    Number::parse(&value.to_string()).unwrap()
}

/// Returns a count, which may be written as `2.0`.
fn count(value: &Value) -> u64 {
    value.as_f64().unwrap() as u64
}

fn strings(value: &Value) -> &'static [&'static str] {
    let list = value.as_array().unwrap().iter().map(|one| &*one.as_str().unwrap().to_owned().leak());
    list.collect::<Vec<_>>().leak()
}

fn names(object: Option<&Value>) -> &'static [&'static str] {
    let Some(Value::Object(members)) = object else {
        return &[];
    };
    let mut names: Vec<&'static str> = members.keys().map(|name| &*name.clone().leak()).collect();
    names.sort_unstable();
    names.leak()
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Resolves a URI reference as RFC 3986, 5.2 defines, for the cases that occur in schemas.
fn resolve(base: &str, reference: &str) -> String {
    let base = base.split_once('#').map_or(base, |(uri, _)| uri);
    let scheme = reference.split(['/', '#']).next().unwrap_or("").contains(':');
    let full = if scheme {
        reference.to_owned()
    } else if reference.is_empty() || reference.starts_with('#') {
        format!("{base}{reference}")
    } else if reference.starts_with('/') {
        let authority = base.find("://").map_or(0, |at| at + 3);
        let root = base[authority..].find('/').map_or(base.len(), |at| authority + at);
        format!("{}{reference}", &base[..root])
    } else {
        format!("{}{reference}", &base[..=base.rfind('/').unwrap()])
    };
    full.strip_suffix('#').unwrap_or(&full).replace("/./", "/")
}
