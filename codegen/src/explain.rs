//! Where something generated came from, why it looks that way, and what enforces its rules.
//!
//! ```
//! use contract_codegen::{Project, Sources, explain::explain};
//!
//! let text = r#"{"type": "object", "properties": {"code": {"type": "string", "maxLength": 3}}}"#;
//! let project = Project::default();
//! let contract = project.understand(Sources::from_texts(&[("seat.schema.json", "", text)])?)?;
//! let found = explain(&project, &contract, "Seat.code").unwrap_or_default();
//! assert!(found[0].origins[0].starts_with("seat.schema.json:1"));
//! assert!(found[0].text().contains("maxLength 3"));
//! assert_eq!(explain(&project, &contract, "Seat.cod"), Err(Some("Seat.code".to_owned())));
//! # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
//! ```

pub(crate) mod constraint;
mod find;
mod operation;
mod print;
pub(crate) mod reason;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use contract_runtime::{media::MediaType, operation::Framing, text::Lines};

pub use self::constraint::How;
use self::constraint::clip;
pub(crate) use self::constraint::{Constraint, Constraints};
use crate::{
    api::{self, Operation},
    generate::Project,
    plan::{Plans, Side},
    reading::Reading,
    schema::{Schema, SchemaId},
    shape::{Body, Field, TypeId, TypeRef},
    stack::deep,
    tables::Shelves,
    together::{Conj, Facts},
    tree::{Place, SourceId},
};

/// Everything there is to say about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// `struct StockLot`
    pub title: String,
    /// `stocks/lot.schema.json:12 #/$defs/lot`, one for each schema.
    pub origins: Vec<String>,
    /// `title` and `description` of the contract.
    pub description: Option<String>,
    /// Its form and why.
    pub form: String,
    /// What applies to the value as a whole.
    pub rules: Vec<Rule>,
    /// Its parts: members, variants, arguments.
    pub parts: Vec<Part>,
}

/// A constraint in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// `maxLength 64`
    pub text: String,
    /// What enforces it; nothing for what only tells: `format`, `default`.
    pub how: Option<How>,
}

/// A member, a variant, an argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its name on the wire.
    pub wire: String,
    /// Its Rust name.
    pub name: String,
    /// Its Rust type.
    pub ty: String,
    /// `required`, `optional`, or what means this variant.
    pub presence: String,
    /// What the contract says about it.
    pub description: Option<String>,
    /// What applies to its value.
    pub rules: Vec<Rule>,
}

/// Explains a type, `Type.member`, the end of a schema's location, or an operation by its id or its
/// method.
///
/// # Errors
/// The nearest name that there is, when nothing has this one.
pub fn explain(
    project: &Project,
    contract: &Reading,
    name: &str,
) -> Result<Vec<Explanation>, Option<String>> {
    deep(|| {
        let plans = project.plans(contract);
        let found = find::find(contract, &plans, name);
        if found.is_empty() {
            return Err(find::nearest(contract, &plans, name));
        }
        let shelves = Shelves::default();
        let tables = contract.tables(&shelves);
        let explainer = Explainer { contract, plans, constraints: Constraints::new(contract, &tables) };
        Ok(found.into_iter().filter_map(|target| explainer.target(target)).collect())
    })
}

/// What a name can mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Type(TypeId),
    Member(TypeId, usize),
    Schema(SchemaId),
    /// A call of one of the plans, by its index.
    Call(Side, usize),
}

struct Explainer<'a> {
    contract: &'a Reading,
    plans: Plans<'a>,
    constraints: Constraints<'a>,
}

impl Explainer<'_> {
    fn target(&self, target: Target) -> Option<Explanation> {
        Some(match target {
            Target::Type(id) => self.definition(id),
            Target::Member(id, index) => self.member(id, index),
            Target::Schema(id) => self.schema(id),
            Target::Call(side, index) => self.operation(side, self.plans.of(side).calls.get(index)?),
        })
    }

    fn definition(&self, id: TypeId) -> Explanation {
        let def = self.contract.shapes.get(id);
        let word = match &def.body {
            Body::Struct(_) | Body::Newtype(_) | Body::Pending => "struct",
            Body::Tagged(_) | Body::ByKind(_) | Body::Enum(_) => "enum",
        };
        let own = TypeRef::Named(id);
        let mut rules = self.rules(&def.conj, &own, &[]);
        if let Body::Newtype(inner) = &def.body {
            rules.extend(self.inside(&def.conj, inner));
        }
        Explanation {
            title: format!("{word} {}, in module `{}`", def.name, def.area),
            origins: self.origins(&def.conj),
            description: self.description(&def.conj, def.schema),
            form: reason::form(self.contract, def),
            rules,
            parts: self.parts(id),
        }
    }

    fn parts(&self, id: TypeId) -> Vec<Part> {
        let def = self.contract.shapes.get(id);
        let variant = |wire: String, name: &str, ty: &TypeRef, presence: &str| Part {
            wire,
            name: name.to_owned(),
            ty: reason::name(self.contract, ty),
            presence: presence.to_owned(),
            description: None,
            rules: Vec::new(),
        };
        match &def.body {
            Body::Struct(body) => (0..body.fields.len()).filter_map(|index| self.part(id, index)).collect(),
            Body::Tagged(body) => {
                let parts = body.variants.iter().map(|v| {
                    let literals: Vec<String> = v.literals.iter().map(ToString::to_string).collect();
                    variant(literals.join(" or "), &v.name, &v.ty, &format!("value of `{}`", body.tag))
                });
                parts.collect()
            }
            Body::ByKind(variants) => variants
                .iter()
                .map(|v| variant(constraint::type_words(v.types), &v.name, &v.ty, "JSON type"))
                .collect(),
            Body::Enum(list) => {
                let parts = list.values.iter().map(|(wire, rust, doc)| Part {
                    description: doc.clone(),
                    ..variant(wire.clone(), rust, &TypeRef::String, "value")
                });
                parts.collect()
            }
            Body::Newtype(_) | Body::Pending => Vec::new(),
        }
    }

    fn part(&self, id: TypeId, index: usize) -> Option<Part> {
        let Body::Struct(body) = &self.contract.shapes.get(id).body else { return None };
        let field = body.fields.get(index)?;
        let covered = self.covered(&field.ty);
        let presence = match (field.omitted, field.required) {
            (true, _) => "written without a field: the type stands for it",
            (false, true) => "required",
            (false, false) => "optional",
        };
        Some(Part {
            wire: field.wire.clone(),
            name: field.name.clone(),
            ty: reason::name(self.contract, &field.ty),
            presence: presence.to_owned(),
            description: self.description(&field.conj, field.describe),
            rules: self.rules_of_member(field, &covered),
        })
    }

    fn rules_of_member(&self, field: &Field, covered: &[SchemaId]) -> Vec<Rule> {
        let mut all = rules(self.constraints.of_member(field, covered));
        all.extend(self.told(&field.conj, covered));
        all.extend(self.inside(&field.conj, &field.ty));
        all
    }

    /// The schemas whose rules a field's own type carries and explains.
    fn covered(&self, ty: &TypeRef) -> Vec<SchemaId> {
        match ty {
            TypeRef::Named(id) => self.members(&self.contract.shapes.get(*id).conj),
            TypeRef::Boxed(inner) | TypeRef::Nullable(inner) => self.covered(inner),
            _ => Vec::new(),
        }
    }

    fn member(&self, id: TypeId, index: usize) -> Explanation {
        let def = self.contract.shapes.get(id);
        let field = match &def.body {
            Body::Struct(body) => body.fields.get(index),
            _ => None,
        };
        let (Some(field), Some(part)) = (field, self.part(id, index)) else { return self.definition(id) };
        let form = match &field.ty {
            TypeRef::Json => format!(
                "`Json`, {}: JSON value because {}",
                part.presence,
                reason::json(self.contract, &field.conj)
            ),
            TypeRef::Named(inner) => {
                let inner = self.contract.shapes.get(*inner);
                format!("`{}`, {}: {}", inner.name, part.presence, reason::form(self.contract, inner))
            }
            _ => format!("`{}`, {}", part.ty, part.presence),
        };
        Explanation {
            title: format!("{}.{}, `{}` on the wire", def.name, field.name, field.wire),
            origins: self.origins(&field.conj),
            description: part.description,
            form,
            rules: self.rules_of_member(field, &[]),
            parts: Vec::new(),
        }
    }

    fn schema(&self, id: SchemaId) -> Explanation {
        let conj = Conj::one(id);
        let ty = self.contract.shapes.of(id);
        if let TypeRef::Named(named) = ty {
            return self.definition(*named);
        }
        // A schema inside others may be a field, where it has a type.
        let field =
            self.contract.shapes.ids().find_map(|owner| match &self.contract.shapes.get(owner).body {
                Body::Struct(body) => {
                    let index = body.fields.iter().position(|field| field.conj.ids.contains(&id))?;
                    Some((owner, index))
                }
                _ => None,
            });
        if let Some((owner, index)) = field {
            return self.member(owner, index);
        }
        Explanation {
            title: format!("schema {}", self.contract.graph.location(id)),
            origins: self.origins(&conj),
            description: self.description(&conj, Some(id)),
            form: match ty {
                TypeRef::Json => "has no type of its own: a part of others, or a JSON value".to_owned(),
                other => format!("`{}`", reason::name(self.contract, other)),
            },
            rules: self.rules(&conj, ty, &[]),
            parts: Vec::new(),
        }
    }

    fn rules(&self, conj: &Conj, ty: &TypeRef, covered: &[SchemaId]) -> Vec<Rule> {
        let mut all = rules(self.constraints.at(conj, ty, covered));
        all.extend(self.told(conj, covered));
        all.extend(self.inside(conj, ty));
        all
    }

    /// What a place is told that nothing enforces.
    fn told(&self, conj: &Conj, covered: &[SchemaId]) -> Vec<Rule> {
        let members = self.members(conj).into_iter().filter(|id| !covered.contains(id));
        let schemas = members.map(|id| self.contract.graph.schema(id));
        let schemas: Vec<&Schema> = schemas.collect();
        let formats = schemas.iter().filter_map(|schema| schema.format.as_ref());
        let mut texts: BTreeSet<String> = formats.map(|format| format!("format {format}")).collect();
        // The nearest to the use is what is meant there.
        let default = schemas.iter().rev().find_map(|schema| schema.default.as_ref());
        texts.extend(default.map(|default| format!("default {}", clip(&default.to_string()))));
        texts.into_iter().map(|text| Rule { text, how: None }).collect()
    }

    /// The rules of what stands in a list or a map, unless a type of its own has them.
    fn inside(&self, conj: &Conj, ty: &TypeRef) -> Vec<Rule> {
        let graph = &self.contract.graph;
        let schemas = self.members(conj).into_iter().map(|id| graph.schema(id));
        let (inner, inside, what): (&TypeRef, Vec<SchemaId>, _) = match ty {
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => return self.inside(conj, inner),
            TypeRef::Vec(inner) => (inner, schemas.filter_map(|s| s.items).collect(), "each element"),
            TypeRef::Map(inner) => {
                (inner, schemas.filter_map(|s| s.additional_properties).collect(), "each member")
            }
            _ => return Vec::new(),
        };
        if inside.is_empty() || !self.covered(inner).is_empty() {
            return Vec::new();
        }
        let mut all = self.rules(&Conj::all(inside), inner, &[]);
        all.iter_mut().for_each(|rule| rule.text = format!("{what}: {}", rule.text));
        all
    }

    /// All schemas that apply at a place.
    fn members(&self, conj: &Conj) -> Vec<SchemaId> {
        Facts::of(&self.contract.graph, conj, self.contract.options.implied_objects).members
    }

    fn description(&self, conj: &Conj, first: Option<SchemaId>) -> Option<String> {
        let ids = first.into_iter().chain(conj.ids.iter().rev().copied());
        let mut schemas = ids.map(|id| self.contract.graph.schema(id));
        let schema = schemas.find(|s| s.title.is_some() || s.description.is_some())?;
        let text = [schema.title.clone(), schema.description.clone()].into_iter().flatten();
        Some(text.collect::<Vec<_>>().join("\n"))
    }

    fn origins(&self, conj: &Conj) -> Vec<String> {
        conj.ids.iter().map(|&id| self.whereabouts(&self.contract.graph.schema(id).place)).collect()
    }

    fn whereabouts(&self, place: &Place) -> String {
        self.contract.whereabouts(place)
    }
}

/// Constraints in words, each once.
fn rules(constraints: Vec<Constraint>) -> Vec<Rule> {
    let mut out: Vec<Rule> = Vec::new();
    for constraint in constraints {
        let text = format!("{} {}", constraint.keyword, constraint.value);
        let rule = Rule { text, how: Some(constraint.how) };
        if !out.contains(&rule) {
            out.push(rule);
        }
    }
    out
}

impl Reading {
    /// A place of the contract as people find it: `file:line #/pointer`.
    #[must_use]
    pub fn whereabouts(&self, place: &Place) -> String {
        Whereabouts::new(self).of(place)
    }
}

/// Where many places are, for whom the lines of a document are counted once.
#[derive(Debug)]
pub(crate) struct Whereabouts<'a> {
    contract: &'a Reading,
    lines: RefCell<BTreeMap<SourceId, Lines>>,
}

impl<'a> Whereabouts<'a> {
    /// Of the documents of a contract.
    #[must_use]
    pub(crate) fn new(contract: &'a Reading) -> Self {
        Self { contract, lines: RefCell::default() }
    }

    /// `file:line #/pointer`
    #[must_use]
    pub(crate) fn of(&self, place: &Place) -> String {
        let Some(source) = self.contract.sources.get(place.source) else {
            return format!("#{}", place.pointer);
        };
        let mut lines = self.lines.borrow_mut();
        let lines = lines.entry(place.source).or_insert_with(|| Lines::of(&source.text));
        format!("{}:{} #{}", source.name, lines.line(place.span.start as usize) + 1, place.pointer)
    }
}

/// Every constraint of the contract with what enforces it, each once: a schema that several
/// places share is written once.
#[must_use]
pub(crate) fn carried(contract: &Reading) -> Vec<Constraint> {
    let shelves = Shelves::default();
    let tables = contract.tables(&shelves);
    let constraints = Constraints::new(contract, &tables);
    let mut all = Vec::new();
    for id in contract.shapes.ids() {
        let def = contract.shapes.get(id);
        all.extend(constraints.at(&def.conj, &TypeRef::Named(id), &[]));
        if let Body::Struct(body) = &def.body {
            all.extend(body.fields.iter().flat_map(|field| constraints.of_member(field, &[])));
        }
    }
    let operations = || contract.api.operations.iter().chain(&contract.api.webhooks);
    let at = |id: SchemaId| constraints.at(&Conj::one(id), contract.shapes.of(id), &[]);
    all.extend(operations().flat_map(judged).flat_map(at));
    // Text and bytes are texts; what else is said of them nobody asks.
    let asked = |found: &Constraint| found.keyword != "type" || !found.value.contains("string");
    let passed = operations().flat_map(passed).flat_map(at).filter(asked);
    all.extend(passed.map(|found| Constraint { how: How::Nothing, ..found }));
    let mut seen = BTreeSet::new();
    all.retain(|found| seen.insert((found.schema, found.keyword, found.value.clone())));
    all
}

/// Schemas of an operation that its values are held against: those of parameters, of what is no mere text or
/// bytes in requests, and of JSON in answers.
fn judged(operation: &Operation) -> impl Iterator<Item = SchemaId> {
    let parameters = operation.parameters.iter().map(|parameter| parameter.schema);
    let sent = sent(operation).filter(|media| holds_values(media)).map(|media| media.schema);
    let answers = answered(operation).filter(|media| MediaType::of(&media.name).is_json());
    parameters.chain(sent).chain(answers.map(|media| media.schema)).flatten()
}

/// Schemas of an operation's text and bytes, which are handed on as they are. Of several items that follow one
/// another the options decide.
fn passed(operation: &Operation) -> impl Iterator<Item = SchemaId> {
    let is_one = |media: &&api::MediaType| Framing::of(&MediaType::of(&media.name)).is_none();
    let sent = sent(operation).filter(|media| !holds_values(media));
    let answers = answered(operation).filter(|media| !MediaType::of(&media.name).is_json());
    sent.chain(answers).filter(is_one).filter_map(|media| media.schema)
}

fn sent(operation: &Operation) -> impl Iterator<Item = &api::MediaType> {
    operation.request_body.iter().flat_map(|body| &body.content)
}

fn answered(operation: &Operation) -> impl Iterator<Item = &api::MediaType> {
    operation.responses.iter().flat_map(|response| &response.content)
}

/// Whether a body is read as its schema says, and not as text or bytes alone.
fn holds_values(media: &api::MediaType) -> bool {
    let name = MediaType::of(&media.name);
    name.is_json() || name.is_form() || name.is_multipart()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::load::Sources;

    /// Of a default beside a reference and the target's the one beside it counts, in code and in words.
    #[test]
    fn the_nearest_default_is_told() {
        let text = r##"{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {}, "components": {"schemas": {
            "S": {"type": "string", "default": "x"},
            "O": {"type": "object", "properties": {
                "beside": {"$ref": "#/components/schemas/S", "default": "y"},
                "part": {"allOf": [{"$ref": "#/components/schemas/S"}], "default": "z"},
                "none": {"$ref": "#/components/schemas/S"}}}}}}"##;
        let project = Project::default();
        let contract = project.understand(Sources::from_texts(&[("t.json", "", text)]).unwrap()).unwrap();
        let told = |name: &str| {
            let rules = explain(&project, &contract, name).unwrap().remove(0).rules;
            let told = rules.into_iter().filter(|rule| rule.text.starts_with("default"));
            told.map(|rule| rule.text).collect::<Vec<_>>()
        };
        let expect = [("O.beside", "y"), ("O.part", "z"), ("O.none", "x")];
        for (name, default) in expect {
            assert_eq!(told(name), [format!("default \"{default}\"")], "{name}");
        }
        let files = project.emit(contract).unwrap().files.0;
        let code: String = files.into_values().collect();
        for (name, default) in expect {
            let name = &name[2..];
            let field = code.lines().position(|line| line.contains(&format!("pub {name}:"))).unwrap();
            let docs = code.lines().take(field).collect::<Vec<_>>();
            let nearest = docs.iter().rfind(|line| line.contains("Default: ")).unwrap();
            assert!(nearest.contains(&format!("`\"{default}\"`")), "{name}: {nearest}");
        }
    }

    /// A body is of the type that both sides have; of text and bytes nobody asks what a schema says.
    #[test]
    fn bodies_are_of_the_types_that_the_code_has() {
        let text = r##"{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {"/a": {"post": {
            "operationId": "a", "responses": {"204": {"description": ""}},
            "requestBody": {"content": {
                "application/xml": {"schema": {"$ref": "#/components/schemas/Pet"}},
                "text/plain": {"schema": {"type": "integer", "maximum": 5}},
                "application/json": {"schema": {"type": "array", "maxItems": 3, "items": {"$ref": "#/components/schemas/Pet"}}},
                "image/*": {"schema": {"type": "string", "maxLength": 7}}}}}}},
            "components": {"schemas": {"Pet": {"type": "object", "minProperties": 1, "properties": {"id": {"type": "integer"}}}}}}"##;
        let project = Project::default();
        let contract = project.understand(Sources::from_texts(&[("t.json", "", text)]).unwrap()).unwrap();
        let found = explain(&project, &contract, "a").unwrap().remove(0).parts;
        let found: Vec<_> = found
            .iter()
            .map(|part| {
                let rules: Vec<&str> = part.rules.iter().map(|rule| rule.text.as_str()).collect();
                (part.wire.as_str(), part.ty.as_str(), rules.join(", "))
            })
            .collect();
        let none = String::new;
        let expect = [
            ("application/xml", "String", none()),
            ("text/plain", "String", none()),
            ("application/json", "Vec<Pet>", "type array, maxItems 3, items elements".to_owned()),
            ("image/*", "bytes of any media type in the range", none()),
        ];
        assert_eq!(found, expect);
    }
}
