//! Whether types can hold what their schemas accept, as far as a look at both tells: cheap
//! enough to be asked whenever something is generated.
//!
//! A type is compared with every place that it stands for, its own and those of the members and
//! variants that take it over: what it demands (a member, a constant, a JSON type) the schemas
//! there have to demand too.

use std::collections::BTreeSet;

use crate::{
    diagnostics::{Diagnostic, Diagnostics},
    schema::{Graph, SchemaId, Types},
    shape::{Body, Shapes, Struct, TypeId, TypeRef},
    together::{Conj, Facts},
};

/// A type that demands more than a place where it stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mismatch {
    /// The type.
    pub id: TypeId,
    /// A schema of the place.
    pub schema: Option<SchemaId>,
    /// What it demands: `` `kind` is always "add" ``.
    pub what: String,
}

/// Every type that demands more than its schemas, each demand once.
#[must_use]
pub fn mismatches(graph: &Graph, shapes: &Shapes, implied_objects: bool) -> Vec<Mismatch> {
    let look = Look { graph, shapes, implied_objects };
    let mut found = BTreeSet::new();
    for id in shapes.ids() {
        let def = shapes.get(id);
        let mut say = |ty: &TypeRef, conj: &Conj| look.place(id, ty, conj, &mut found);
        say(&TypeRef::Named(id), &def.conj);
        match &def.body {
            Body::Struct(body) => {
                // A member that only some branches declare holds anything; one without a field, its
                // constant, whatever type it would have had.
                let always = body.fields.iter().filter(|field| !field.conj.ids.is_empty() && !field.omitted);
                always.for_each(|field| say(&field.ty, &field.conj));
            }
            Body::Tagged(body) => {
                let holder = graph.schema(body.holder);
                let branches = if holder.one_of.is_empty() { &holder.any_of } else { &holder.one_of };
                for variant in &body.variants {
                    if let Some(&branch) = branches.get(variant.branch) {
                        // What is no object has no tag, whatever a branch allows by itself.
                        say(&variant.ty, &def.conj.choose(body.holder, branch).within(Types::OBJECT));
                    }
                }
            }
            Body::ByKind(variants) => variants.iter().for_each(|v| say(&v.ty, &def.conj.within(v.types))),
            Body::Newtype(inner) => say(inner, &def.conj),
            Body::Enum(_) | Body::Pending => {}
        }
    }
    found.into_iter().collect()
}

/// Says which types those are: a bug that nobody should find out from a document that is not read.
pub fn warn_of_gaps(graph: &Graph, shapes: &Shapes, implied_objects: bool, diagnostics: &mut Diagnostics) {
    for found in mismatches(graph, shapes, implied_objects) {
        let name = &shapes.get(found.id).name;
        let message = format!("`{name}` cannot hold all that its schema accepts: {}", found.what);
        diagnostics.push(
            Diagnostic::warning("gap", message)
                .maybe_at(found.schema.map(|id| graph.schema(id).place.clone()))
                .help("this is a bug of the generator; `report` shows a value that is lost"),
        );
    }
}

struct Look<'a> {
    graph: &'a Graph,
    shapes: &'a Shapes,
    implied_objects: bool,
}

impl Look<'_> {
    /// A type at a place of the type `id`.
    fn place(&self, id: TypeId, ty: &TypeRef, conj: &Conj, found: &mut BTreeSet<Mismatch>) {
        let facts = Facts::of(self.graph, conj, self.implied_objects);
        // Where nothing is valid, or nobody knows what is, there is nothing to hold.
        if facts.types.is_empty() || facts.dynamic {
            return;
        }
        let mut say = |what: String| {
            found.insert(Mismatch { id, schema: conj.ids.last().copied(), what });
        };
        if !self.takes(ty, 32).contains(facts.types) {
            say("it is of fewer JSON types".to_owned());
        }
        // Where a choice is open, the struct is that of a branch, and is looked at there.
        if let Some(body) = self.record(ty, 32).filter(|_| facts.holders.is_empty()) {
            self.members(body, &facts, &mut say);
        }
    }

    fn members(&self, body: &Struct, facts: &Facts, say: &mut dyn FnMut(String)) {
        let required = facts.required(self.graph);
        let declared = facts.declared(self.graph);
        for field in &body.fields {
            if field.required && !required.contains(field.wire.as_str()) {
                say(format!("`{}` is always there", field.wire));
            }
            let Some(constant) = field.constant.as_ref().filter(|_| field.omitted) else { continue };
            let always = declared.iter().find(|(name, ..)| *name == field.wire).map(|(_, always, _)| always);
            let literals = always.filter(|always| !always.is_empty()).and_then(|always| {
                let place = Conj::all(always.iter().copied());
                Facts::of(self.graph, &place, self.implied_objects).literals(self.graph)
            });
            if literals.is_none_or(|literals| literals.iter().any(|literal| *literal != constant)) {
                say(format!("`{}` is always {constant}", field.wire));
            }
        }
    }

    /// The JSON types that a type takes.
    fn takes(&self, ty: &TypeRef, left: u8) -> Types {
        let Some(left) = left.checked_sub(1) else { return Types::default() };
        match ty {
            TypeRef::Json | TypeRef::Replaced(..) => Types::ALL,
            TypeRef::Bool => Types::BOOLEAN,
            TypeRef::Int(_) => Types::INTEGER,
            TypeRef::Number => Types::NUMBER,
            TypeRef::String | TypeRef::Secret => Types::STRING,
            TypeRef::Vec(_) | TypeRef::Tuple(_) => Types::ARRAY,
            TypeRef::Map(_) => Types::OBJECT,
            TypeRef::Nullable(inner) => Types::NULL.or(self.takes(inner, left)),
            TypeRef::Boxed(inner) => self.takes(inner, left),
            TypeRef::Named(id) => match &self.shapes.get(*id).body {
                Body::Struct(_) | Body::Tagged(_) => Types::OBJECT,
                Body::ByKind(variants) => variants
                    .iter()
                    .fold(Types::default(), |all, v| all.or(v.types.and(self.takes(&v.ty, left)))),
                Body::Enum(_) => Types::STRING,
                Body::Newtype(inner) => self.takes(inner, left),
                Body::Pending => Types::default(),
            },
        }
    }

    /// The struct that stands at a place itself.
    fn record(&self, ty: &TypeRef, left: u8) -> Option<&Struct> {
        let left = left.checked_sub(1)?;
        match ty {
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => self.record(inner, left),
            TypeRef::Named(id) => match &self.shapes.get(*id).body {
                Body::Struct(body) => Some(body),
                Body::Newtype(inner) => self.record(inner, left),
                _ => None,
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{generate::Project, load::Sources, reading::Reading};

    /// A contract of which `name` was made wrong.
    fn spoilt(name: &str, spoil: impl FnOnce(&mut Body)) -> Reading {
        let text = r##"{ "$defs": {
            "base": { "type": "object", "required": ["kind"], "properties": { "kind": { "type": "string" }, "id": { "type": ["integer", "null"] } } },
            "page": { "type": "array", "items": { "$ref": "#/$defs/base" } },
            "either": { "oneOf": [
                { "$ref": "#/$defs/base", "properties": { "kind": { "const": "a" } } },
                { "$ref": "#/$defs/base", "properties": { "kind": { "const": "b" } } } ] } } }"##;
        let sources = Sources::from_texts(&[("a.json", "", text)]).unwrap();
        let mut contract = Project::default().understand(sources).unwrap();
        contract.shapes.types.iter_mut().filter(|def| def.name == name).map(|def| &mut def.body).for_each({
            let mut spoil = Some(spoil);
            move |body| spoil.take().into_iter().for_each(|spoil| spoil(body))
        });
        contract
    }

    /// What is found once `name` was made wrong.
    fn found(name: &str, spoil: impl FnOnce(&mut Body)) -> Vec<String> {
        let Reading { graph, shapes, .. } = spoilt(name, spoil);
        mismatches(&graph, &shapes, true).into_iter().map(|found| found.what).collect()
    }

    fn field(body: &mut Body, wire: &str, spoil: impl FnOnce(&mut crate::shape::Field)) {
        let Body::Struct(body) = body else { panic!("no struct") };
        spoil(body.fields.iter_mut().find(|field| field.wire == wire).unwrap());
    }

    /// Each gap is a warning with the place of its schema, and nothing is one without.
    #[test]
    fn gaps_are_warned_of() {
        let warned = |spoil: &dyn Fn(&mut Body)| {
            let Reading { graph, shapes, sources, .. } = spoilt("Base", spoil);
            let mut problems = Diagnostics::new();
            warn_of_gaps(&graph, &shapes, true, &mut problems);
            assert!(!problems.has_errors());
            problems.attach(&sources);
            problems.to_string()
        };
        assert_eq!(warned(&|_| {}), "");
        let text = warned(&|body| field(body, "id", |id| id.required = true));
        for words in [
            "warning[gap]: `Base` cannot hold all that its schema accepts: `id` is always",
            "a.json:2:21",
            "this is a bug of the generator",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }

    /// The type of a tag that no field holds is gone.
    #[test]
    fn a_tag_without_a_field_is_its_constant() {
        let text = r##"{
            "oneOf": [{ "$ref": "#/$defs/row" }, { "$ref": "#/$defs/button" }],
            "$defs": {
                "kinds": { "type": "integer", "oneOf": [{ "const": 1 }, { "const": 2 }] },
                "row": { "type": "object", "required": ["type"], "properties": { "type": { "enum": [1], "allOf": [{ "$ref": "#/$defs/kinds" }] } } },
                "button": { "type": "object", "required": ["type"], "properties": { "type": { "enum": [2], "allOf": [{ "$ref": "#/$defs/kinds" }] } } } } }"##;
        let sources = Sources::from_texts(&[("a.json", "", text)]).unwrap();
        let contract = Project::default().understand(sources).unwrap();
        assert!(contract.diagnostics.is_empty(), "{}", contract.diagnostics);
    }

    #[test]
    fn what_a_type_demands_its_schemas_demand() {
        assert_eq!(found("Base", |_| {}), [""; 0]);
        let constant = |body: &mut Body| {
            field(body, "kind", |kind| {
                kind.constant = Some(contract_runtime::Json::String("b".to_owned()));
                kind.omitted = true;
            });
        };
        assert_eq!(found("Base", constant), ["`kind` is always \"b\""]);
        assert_eq!(
            found("Base", |body| field(body, "id", |id| id.required = true)),
            ["`id` is always there"]
        );
        let narrow = |body: &mut Body| field(body, "id", |id| id.ty = TypeRef::Bool);
        assert_eq!(found("Base", narrow), ["it is of fewer JSON types"]);
        // The variants have types of their own, so that the base keeps its tag.
        assert_eq!(found("EitherA", |body| field(body, "kind", |kind| kind.omitted = false)), [""; 0]);
    }
}
