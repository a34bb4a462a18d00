//! Compares only the structure of types with their schemas. This is cheap enough for every run of the
//! generator.
//!
//! Each type is compared with every conjunction for which it is used: its own, and those of the fields and
//! variants that reuse it. The schemas of each conjunction must require everything that the type requires: a
//! property, a constant, or a JSON type.

use std::collections::BTreeSet;

use crate::{
    conjunction::{SchemaConjunction, SchemaFacts},
    diagnostics::{Diagnostic, Diagnostics},
    schema::{SchemaGraph, SchemaId, TypeSet},
    shape::{KindVariant, Shapes, StructBody, TypeBody, TypeId, TypeRef},
};

/// A requirement of a type that its schemas do not have. A type with such a requirement cannot hold some
/// valid values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeMismatch {
    /// The type with the requirement.
    pub id: TypeId,
    /// One of the schemas for which the type is used, for the location of the warning.
    pub schema: Option<SchemaId>,
    /// The requirement, such as `` `kind` is always "add" ``.
    pub reason: String,
}

/// Returns, for all types, the requirements that their schemas do not have, without duplicates.
#[must_use]
pub(crate) fn find_mismatches(
    graph: &SchemaGraph,
    shapes: &Shapes,
    implied_objects: bool,
) -> Vec<TypeMismatch> {
    let look = MismatchFinder { graph, shapes, implied_objects };
    let mut found = BTreeSet::new();
    for id in shapes.ids() {
        let def = shapes.get(id);
        let mut report = |ty: &TypeRef, conj: &SchemaConjunction| look.check_place(id, ty, conj, &mut found);
        report(&TypeRef::Named(id), &def.conj);
        match &def.body {
            TypeBody::Struct(body) => {
                // A field that only some branches declare has the type `Json`, and an omitted field has no
                // type. Neither is compared.
                let always = body.fields.iter().filter(|field| !field.conj.ids.is_empty() && !field.omitted);
                always.for_each(|field| report(&field.ty, &field.conj));
            }
            TypeBody::Objects(body) => {
                let holder = graph.schema(body.holder);
                let branches = if holder.one_of.is_empty() { &holder.any_of } else { &holder.one_of };
                for variant in &body.variants {
                    if let Some(conj) = variant.conjunction(&body.conj, body.holder, branches) {
                        // Only objects have a tag, even if the branch itself also allows other types.
                        report(&variant.ty, &conj.within(TypeSet::OBJECT));
                    }
                }
                body.others.iter().for_each(|v| report(&v.ty, &v.conj));
            }
            TypeBody::ByKind(variants) => variants.iter().for_each(|v| report(&v.ty, &v.conj)),
            TypeBody::Newtype(inner) => report(inner, &def.conj),
            TypeBody::Enum(_) | TypeBody::Pending => {}
        }
    }
    found.into_iter().collect()
}

/// Adds a warning for each mismatch, so that a generator bug is found before a document fails to parse.
pub(crate) fn warn_of_gaps(
    graph: &SchemaGraph,
    shapes: &Shapes,
    implied_objects: bool,
    diagnostics: &mut Diagnostics,
) {
    for found in find_mismatches(graph, shapes, implied_objects) {
        let name = &shapes.get(found.id).name;
        let message = format!("`{name}` cannot hold all that its schema accepts: {}", found.reason);
        diagnostics.push(
            Diagnostic::warning("gap", message)
                .with_optional_place(found.schema.map(|id| graph.schema(id).place.clone()))
                .help("this is a bug of the generator; `report` shows a value that is lost"),
        );
    }
}

struct MismatchFinder<'a> {
    graph: &'a SchemaGraph,
    shapes: &'a Shapes,
    implied_objects: bool,
}

impl MismatchFinder<'_> {
    /// Compares the type `ty`, which is the type `id` or one of its parts, with a conjunction for which it is
    /// used.
    fn check_place(
        &self,
        id: TypeId,
        ty: &TypeRef,
        conj: &SchemaConjunction,
        found: &mut BTreeSet<TypeMismatch>,
    ) {
        let facts = SchemaFacts::from_conjunction(self.graph, conj, self.implied_objects);
        // If no value is valid or the facts are incomplete, there is nothing to compare.
        if facts.types.is_empty() || facts.has_dynamic_reference {
            return;
        }
        let mut report = |what: String| {
            found.insert(TypeMismatch { id, schema: conj.ids.last().copied(), reason: what });
        };
        if !self.accepted_types(ty, 32).contains(facts.types) {
            report("it accepts fewer JSON types".to_owned());
        }
        // If no branch of a union is chosen yet, the struct belongs to a branch, which is checked separately.
        if let Some(body) = self.direct_struct(ty, 32).filter(|_| facts.open_unions.is_empty()) {
            self.check_fields(body, &facts, &mut report);
        }
    }

    fn check_fields(&self, body: &StructBody, facts: &SchemaFacts, report: &mut dyn FnMut(String)) {
        let required = facts.required_names(self.graph);
        let declared = facts.declared_properties(self.graph);
        for field in &body.fields {
            if field.required && !required.contains(field.wire.as_str()) {
                report(format!("`{}` is always required", field.wire));
            }
            let Some(constant) = field.constant.as_ref().filter(|_| field.omitted) else { continue };
            let always = declared.iter().find(|(name, ..)| *name == field.wire).map(|(_, always, _)| always);
            let literals = always.filter(|always| !always.is_empty()).and_then(|always| {
                let place = SchemaConjunction::from_schemas(always.iter().copied());
                SchemaFacts::from_conjunction(self.graph, &place, self.implied_objects)
                    .allowed_literals(self.graph)
            });
            if literals.is_none_or(|literals| literals.iter().any(|literal| *literal != constant)) {
                report(format!("`{}` is always {constant}", field.wire));
            }
        }
    }

    /// Returns the JSON types that a type accepts.
    fn accepted_types(&self, ty: &TypeRef, left: u8) -> TypeSet {
        let Some(left) = left.checked_sub(1) else { return TypeSet::default() };
        match ty {
            TypeRef::Json | TypeRef::Replaced(..) => TypeSet::ALL,
            TypeRef::Bool => TypeSet::BOOLEAN,
            TypeRef::Int(_) => TypeSet::INTEGER,
            TypeRef::Number => TypeSet::NUMBER,
            TypeRef::String | TypeRef::Secret => TypeSet::STRING,
            TypeRef::Vec(_) | TypeRef::Tuple(_) => TypeSet::ARRAY,
            TypeRef::Map(_) => TypeSet::OBJECT,
            TypeRef::Nullable(inner) => TypeSet::NULL.union(self.accepted_types(inner, left)),
            TypeRef::Boxed(inner) => self.accepted_types(inner, left),
            TypeRef::Named(id) => match &self.shapes.get(*id).body {
                TypeBody::Struct(_) => TypeSet::OBJECT,
                TypeBody::Objects(body) => TypeSet::OBJECT.union(self.variant_types(&body.others, left)),
                TypeBody::ByKind(variants) => self.variant_types(variants, left),
                TypeBody::Enum(_) => TypeSet::STRING,
                TypeBody::Newtype(inner) => self.accepted_types(inner, left),
                TypeBody::Pending => TypeSet::default(),
            },
        }
    }

    /// Returns the JSON types that the variants of an enum accept.
    fn variant_types(&self, variants: &[KindVariant], left: u8) -> TypeSet {
        let types = |v: &KindVariant| v.types.intersection(self.accepted_types(&v.ty, left));
        variants.iter().map(types).fold(TypeSet::default(), TypeSet::union)
    }

    /// Returns the struct inside nullable types, boxes and newtypes.
    fn direct_struct(&self, ty: &TypeRef, left: u8) -> Option<&StructBody> {
        let left = left.checked_sub(1)?;
        match ty {
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => self.direct_struct(inner, left),
            TypeRef::Named(id) => match &self.shapes.get(*id).body {
                TypeBody::Struct(body) => Some(body),
                TypeBody::Newtype(inner) => self.direct_struct(inner, left),
                _ => None,
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analyzed_contract::AnalyzedContract, generate::Project, load::Sources};

    /// Returns a contract in which the type `name` is modified.
    fn modified_contract(name: &str, change: impl FnOnce(&mut TypeBody)) -> AnalyzedContract {
        let text = r##"{ "$defs": {
            "base": { "type": "object", "required": ["kind"], "properties": { "kind": { "type": "string" }, "id": { "type": ["integer", "null"] } } },
            "page": { "type": "array", "items": { "$ref": "#/$defs/base" } },
            "either": { "oneOf": [
                { "$ref": "#/$defs/base", "properties": { "kind": { "const": "a" } } },
                { "$ref": "#/$defs/base", "properties": { "kind": { "const": "b" } } } ] } } }"##;
        let sources = Sources::from_texts(&[("a.json", "", text)]).unwrap();
        let mut contract = Project::default().analyze_sources(sources).unwrap();
        contract.shapes.types.iter_mut().filter(|def| def.name == name).map(|def| &mut def.body).for_each({
            let mut change = Some(change);
            move |body| change.take().into_iter().for_each(|change| change(body))
        });
        contract
    }

    /// Returns the mismatches after the type `name` is modified.
    fn find_reasons(name: &str, change: impl FnOnce(&mut TypeBody)) -> Vec<String> {
        let AnalyzedContract { graph, shapes, .. } = modified_contract(name, change);
        find_mismatches(&graph, &shapes, true).into_iter().map(|mismatch| mismatch.reason).collect()
    }

    fn modify_field(body: &mut TypeBody, wire: &str, change: impl FnOnce(&mut crate::shape::StructField)) {
        let TypeBody::Struct(body) = body else { panic!("no struct") };
        change(body.fields.iter_mut().find(|field| field.wire == wire).unwrap());
    }

    /// A type that cannot hold a value of its schema causes a warning at the schema. Unmodified types cause
    /// no warning.
    #[test]
    fn gaps_are_reported_as_warnings() {
        let warnings_for = |change: &dyn Fn(&mut TypeBody)| {
            let AnalyzedContract { graph, shapes, sources, .. } = modified_contract("Base", change);
            let mut problems = Diagnostics::new();
            warn_of_gaps(&graph, &shapes, true, &mut problems);
            assert!(!problems.has_errors());
            problems.attach_sources(&sources);
            problems.to_string()
        };
        assert_eq!(warnings_for(&|_| {}), "");
        let text = warnings_for(&|body| modify_field(body, "id", |id| id.required = true));
        for expected in [
            "warning[gap]: `Base` cannot hold all that its schema accepts: `id` is always",
            "a.json:2:21",
            "this is a bug of the generator",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }

    /// If a tag property has no field, its type is not compared with the schema, and no mismatch is found.
    #[test]
    fn omitted_tags_are_constants() {
        let text = r##"{
            "oneOf": [{ "$ref": "#/$defs/row" }, { "$ref": "#/$defs/button" }],
            "$defs": {
                "kinds": { "type": "integer", "oneOf": [{ "const": 1 }, { "const": 2 }] },
                "row": { "type": "object", "required": ["type"], "properties": { "type": { "enum": [1], "allOf": [{ "$ref": "#/$defs/kinds" }] } } },
                "button": { "type": "object", "required": ["type"], "properties": { "type": { "enum": [2], "allOf": [{ "$ref": "#/$defs/kinds" }] } } } } }"##;
        let sources = Sources::from_texts(&[("a.json", "", text)]).unwrap();
        let contract = Project::default().analyze_sources(sources).unwrap();
        assert!(contract.diagnostics.is_empty(), "{}", contract.diagnostics);
    }

    #[test]
    fn types_require_no_more_than_their_schemas() {
        assert_eq!(find_reasons("Base", |_| {}), [""; 0]);
        let constant = |body: &mut TypeBody| {
            modify_field(body, "kind", |kind| {
                kind.constant = Some(contract_runtime::Json::String("b".to_owned()));
                kind.omitted = true;
            });
        };
        assert_eq!(find_reasons("Base", constant), ["`kind` is always \"b\""]);
        assert_eq!(
            find_reasons("Base", |body| modify_field(body, "id", |id| id.required = true)),
            ["`id` is always required"]
        );
        let narrow = |body: &mut TypeBody| modify_field(body, "id", |id| id.ty = TypeRef::Bool);
        assert_eq!(find_reasons("Base", narrow), ["it accepts fewer JSON types"]);
        // Each variant has its own type, so the tag of the base has a field and is compared.
        assert_eq!(
            find_reasons("EitherA", |body| modify_field(body, "kind", |kind| kind.omitted = false)),
            [""; 0]
        );
    }
}
