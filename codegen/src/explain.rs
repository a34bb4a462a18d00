//! Explanations of generated items: where an item is defined, why it has its form, and which code enforces
//! its rules.
//!
//! Entry point: [`explain_name`]. The module also lists every constraint of a contract for [`crate::report`].
//!
//! ```
//! use contract_codegen::{Project, Sources, explain::explain_name};
//!
//! let text = r#"{"type": "object", "properties": {"code": {"type": "string", "maxLength": 3}}}"#;
//! let project = Project::default();
//! let contract = project.analyze_sources(Sources::from_texts(&[("seat.schema.json", "", text)])?)?;
//! let found = explain_name(&project, &contract, "Seat.code").unwrap_or_default();
//! assert!(found[0].origins[0].starts_with("seat.schema.json:1"));
//! assert!(found[0].to_text().contains("maxLength 3"));
//! assert_eq!(explain_name(&project, &contract, "Seat.cod"), Err(Some("Seat.code".to_owned())));
//! # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
//! ```

pub(crate) mod lookup;
mod operation;
pub(crate) mod reason;
mod render;

use std::collections::BTreeSet;

use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    conjunction::{SchemaConjunction, SchemaFacts},
    enforced_constraints::{ConstraintLister, SchemaConstraint, truncate_value},
    generate::Project,
    load::uri::without_file_scheme,
    plan::{ContractPlan, OperationSide},
    schema::{Schema, SchemaId},
    shape::{
        IntegerVariant, KindVariant, StructField, TypeBody, TypeId, TypeRef, VariantSelector,
        display_place_type, integer_variants,
    },
    stack::run_on_deep_stack,
    tables::TableArenas,
    tree::DocumentLocation,
};

pub use contract_codegen_core::enforced_constraints::EnforcedBy;

/// The explanation of one type, field, schema or operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The kind and the name, such as ``struct StockLot, in module `models` ``.
    pub title: String,
    /// The locations of the item's schemas, such as `stocks/lot.schema.json:12 #/$defs/lot`.
    pub origins: Vec<String>,
    /// The `title` and the `description` in the contract, on separate lines.
    pub description: Option<String>,
    /// The Rust form of the item, and the reason for this form.
    pub form: String,
    /// The rules for the value as a whole, such as `minProperties`. The rules for its parts are in `parts`.
    pub rules: Vec<ExplainedRule>,
    /// The fields of a struct, the variants of an enum, or the parameters, bodies and responses of an
    /// operation.
    pub parts: Vec<ExplainedPart>,
}

/// A constraint or annotation of the contract, and the mechanism that enforces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedRule {
    /// The keyword and its value, such as `maxLength 64`.
    pub text: String,
    /// The mechanism that enforces the rule; `None` for an annotation such as `format` or `default`.
    pub enforcement: Option<EnforcedBy>,
}

/// A part of an explained item: a field, a variant, a parameter, a body or a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplainedPart {
    /// The name of the part in JSON or HTTP: a property name, a tag value, a parameter name or a media type.
    pub wire: String,
    /// The Rust name; empty if the part has none.
    pub name: String,
    /// The Rust type, as printed in generated code.
    pub ty: String,
    /// `required` or `optional`, or the role of the part, such as ``value of `kind` `` for a variant.
    pub presence: String,
    /// The description of the part in the contract.
    pub description: Option<String>,
    /// The rules for the value of the part.
    pub rules: Vec<ExplainedRule>,
}

/// Explains each item with the given name. `name` is one of these: a type, `Type.field`, the end of a
/// schema's location, or the id, method name or call type of an operation.
///
/// # Errors
/// If no item has the given name, returns the most similar name of an existing item, or `None` if no name is
/// similar.
pub fn explain_name(
    project: &Project,
    contract: &AnalyzedContract,
    name: &str,
) -> Result<Vec<Explanation>, Option<String>> {
    run_on_deep_stack(|| {
        let plans = project.operation_plans(contract);
        let found = lookup::find_targets(contract, &plans, name);
        if found.is_empty() {
            return Err(lookup::nearest_name(contract, &plans, name));
        }
        let arenas = TableArenas::default();
        let tables = contract.build_tables(&arenas);
        let explainer = Explainer { contract, plans, constraints: ConstraintLister::new(contract, &tables) };
        Ok(found.into_iter().filter_map(|target| explainer.explain_target(target)).collect())
    })
}

/// An item that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExplainTarget {
    Type(TypeId),
    Member(TypeId, usize),
    Schema(SchemaId),
    /// An operation, by its index in the plan of the paths or of the webhooks.
    Call(OperationSide, usize),
}

struct Explainer<'a> {
    contract: &'a AnalyzedContract,
    plans: ContractPlan<'a>,
    constraints: ConstraintLister<'a>,
}

impl Explainer<'_> {
    fn explain_target(&self, target: ExplainTarget) -> Option<Explanation> {
        Some(match target {
            ExplainTarget::Type(id) => self.explain_type(id),
            ExplainTarget::Member(id, index) => self.explain_member(id, index),
            ExplainTarget::Schema(id) => self.explain_schema(id),
            ExplainTarget::Call(side, index) => {
                self.explain_operation(side, self.plans.side(side).calls.get(index)?)
            }
        })
    }

    fn explain_type(&self, id: TypeId) -> Explanation {
        let def = self.contract.shapes.get(id);
        let kind = match &def.body {
            TypeBody::Newtype(inner) if self.integer_variants(&def.conj, inner).is_some() => "enum",
            TypeBody::Struct(_) | TypeBody::Newtype(_) | TypeBody::Pending => "struct",
            TypeBody::Objects(_) | TypeBody::ByKind(_) | TypeBody::Enum(_) => "enum",
        };
        let own = TypeRef::Named(id);
        let mut rules = self.rules_at(&def.conj, &own, &[]);
        if let TypeBody::Newtype(inner) = &def.body {
            rules.extend(self.inner_rules(&def.conj, inner));
        }
        Explanation {
            title: format!("{kind} {}, in module `{}`", def.name, def.area),
            origins: self.format_origins(&def.conj),
            description: self.find_description(&def.conj, def.schema),
            form: reason::type_form(self.contract, def),
            rules,
            parts: self.type_parts(id),
        }
    }

    fn type_parts(&self, id: TypeId) -> Vec<ExplainedPart> {
        let def = self.contract.shapes.get(id);
        let variant = |wire: String, name: &str, ty: &TypeRef, presence: &str| ExplainedPart {
            wire,
            name: name.to_owned(),
            ty: reason::type_name(self.contract, ty),
            presence: presence.to_owned(),
            description: None,
            rules: Vec::new(),
        };
        let by_kind = |v: &KindVariant| ExplainedPart {
            ty: display_place_type(&self.contract.graph, &self.contract.shapes, &v.ty, &v.conj),
            ..variant(reason::describe_kind(v), &v.name, &v.ty, "JSON type")
        };
        match &def.body {
            TypeBody::Struct(body) => {
                (0..body.fields.len()).filter_map(|index| self.field_part(id, index)).collect()
            }
            TypeBody::Objects(body) => {
                let mut parts: Vec<ExplainedPart> = body.others.iter().map(by_kind).collect();
                match &body.selector {
                    VariantSelector::Tag(tag) => {
                        parts.extend(body.variants.iter().zip(&tag.literals).map(|(v, literals)| {
                            let literals: Vec<String> = literals.iter().map(ToString::to_string).collect();
                            let presence = format!("value of `{}`", tag.name);
                            variant(literals.join(" or "), &v.name, &v.ty, &presence)
                        }));
                    }
                    VariantSelector::Members(forms) => parts.extend(
                        body.variants
                            .iter()
                            .zip(forms)
                            .map(|(v, form)| variant(form.to_string(), &v.name, &v.ty, "properties")),
                    ),
                }
                parts
            }
            TypeBody::ByKind(variants) => variants.iter().map(by_kind).collect(),
            TypeBody::Enum(list) => {
                let parts = list.values.iter().map(|(wire, rust, doc)| ExplainedPart {
                    description: doc.clone(),
                    ..variant(wire.clone(), rust, &TypeRef::String, "value")
                });
                parts.collect()
            }
            TypeBody::Newtype(inner) => {
                let variants = self.integer_variants(&def.conj, inner).unwrap_or_default();
                let part = |of: IntegerVariant| ExplainedPart {
                    description: of.description,
                    ..variant(of.value.to_string(), &of.name, inner, "value")
                };
                variants.into_iter().map(part).collect()
            }
            TypeBody::Pending => Vec::new(),
        }
    }

    fn integer_variants(&self, conj: &SchemaConjunction, inner: &TypeRef) -> Option<Vec<IntegerVariant>> {
        let graph = &self.contract.graph;
        let facts = SchemaFacts::from_conjunction(graph, conj, self.contract.options.implied_objects);
        integer_variants(graph, &facts, inner)
    }

    fn field_part(&self, id: TypeId, index: usize) -> Option<ExplainedPart> {
        let TypeBody::Struct(body) = &self.contract.shapes.get(id).body else { return None };
        let field = body.fields.get(index)?;
        let covered = self.schemas_of_type(&field.ty);
        let presence = match (field.omitted, field.required) {
            (true, _) => "constant, without a field of its own",
            (false, true) => "required",
            (false, false) => "optional",
        };
        Some(ExplainedPart {
            wire: field.wire.clone(),
            name: field.name.clone(),
            ty: display_place_type(&self.contract.graph, &self.contract.shapes, &field.ty, &field.conj),
            presence: presence.to_owned(),
            description: self.find_description(&field.conj, field.described_by),
            rules: self.field_rules(field, &covered),
        })
    }

    fn field_rules(&self, field: &StructField, covered: &[SchemaId]) -> Vec<ExplainedRule> {
        let mut all = rules_from_constraints(self.constraints.field_constraints(field, covered));
        all.extend(self.unenforced_rules(&field.conj, covered));
        all.extend(self.inner_rules(&field.conj, &field.ty));
        all
    }

    /// Returns the schemas of the named type of a field. The explanation of this type lists their rules, so
    /// the explanation of the field does not repeat them.
    fn schemas_of_type(&self, ty: &TypeRef) -> Vec<SchemaId> {
        match ty {
            TypeRef::Named(id) => self.applied_schemas(&self.contract.shapes.get(*id).conj),
            TypeRef::Boxed(inner) | TypeRef::Nullable(inner) => self.schemas_of_type(inner),
            _ => Vec::new(),
        }
    }

    fn explain_member(&self, id: TypeId, index: usize) -> Explanation {
        let def = self.contract.shapes.get(id);
        let field = match &def.body {
            TypeBody::Struct(body) => body.fields.get(index),
            _ => None,
        };
        let (Some(field), Some(part)) = (field, self.field_part(id, index)) else {
            return self.explain_type(id);
        };
        let form = match &field.ty {
            TypeRef::Json => format!(
                "`Json`, {}: JSON value because {}",
                part.presence,
                reason::json_reason(self.contract, &field.conj)
            ),
            TypeRef::Named(inner) => {
                let inner = self.contract.shapes.get(*inner);
                format!("`{}`, {}: {}", inner.name, part.presence, reason::type_form(self.contract, inner))
            }
            _ => format!("`{}`, {}", part.ty, part.presence),
        };
        Explanation {
            title: format!("{}.{}, `{}` on the wire", def.name, field.name, field.wire),
            origins: self.format_origins(&field.conj),
            description: part.description,
            form,
            rules: self.field_rules(field, &[]),
            parts: Vec::new(),
        }
    }

    fn explain_schema(&self, id: SchemaId) -> Explanation {
        let conj = SchemaConjunction::from_schema(id);
        let ty = self.contract.shapes.type_of_schema(id);
        if let TypeRef::Named(named) = ty {
            return self.explain_type(*named);
        }
        // A schema without a named type may be the schema of a field, in which case the field is explained.
        let field =
            self.contract.shapes.ids().find_map(|owner| match &self.contract.shapes.get(owner).body {
                TypeBody::Struct(body) => {
                    let index = body.fields.iter().position(|field| field.conj.ids.contains(&id))?;
                    Some((owner, index))
                }
                _ => None,
            });
        if let Some((owner, index)) = field {
            return self.explain_member(owner, index);
        }
        Explanation {
            title: format!("schema {}", without_file_scheme(&self.contract.graph.absolute_location(id))),
            origins: self.format_origins(&conj),
            description: self.find_description(&conj, Some(id)),
            form: match ty {
                TypeRef::Json => "has no type of its own: part of other schemas, or a JSON value".to_owned(),
                other => format!("`{}`", reason::type_name(self.contract, other)),
            },
            rules: self.rules_at(&conj, ty, &[]),
            parts: Vec::new(),
        }
    }

    fn rules_at(&self, conj: &SchemaConjunction, ty: &TypeRef, covered: &[SchemaId]) -> Vec<ExplainedRule> {
        let mut all = rules_from_constraints(self.constraints.constraints_at(conj, ty, covered));
        all.extend(self.unenforced_rules(conj, covered));
        all.extend(self.inner_rules(conj, ty));
        all
    }

    /// Returns the `format` and `default` annotations of a conjunction, as rules without enforcement. Skips
    /// the schemas in `covered`.
    fn unenforced_rules(&self, conj: &SchemaConjunction, covered: &[SchemaId]) -> Vec<ExplainedRule> {
        let members = self.applied_schemas(conj).into_iter().filter(|id| !covered.contains(id));
        let schemas = members.map(|id| self.contract.graph.schema(id));
        let schemas: Vec<&Schema> = schemas.collect();
        let formats = schemas.iter().filter_map(|schema| schema.format.as_ref());
        let mut texts: BTreeSet<String> = formats.map(|format| format!("format {format}")).collect();
        // A `default` next to a `$ref` overrides that of the referenced schema.
        let default = schemas.iter().rev().find_map(|schema| schema.default.as_ref());
        texts.extend(default.map(|default| format!("default {}", truncate_value(&default.to_string()))));
        texts.into_iter().map(|text| ExplainedRule { text, enforcement: None }).collect()
    }

    /// Returns the rules for the elements of a list or for the values of a map. Returns none if they have a
    /// named type, because the explanation of this type lists the rules.
    fn inner_rules(&self, conj: &SchemaConjunction, ty: &TypeRef) -> Vec<ExplainedRule> {
        let graph = &self.contract.graph;
        let schemas = self.applied_schemas(conj).into_iter().map(|id| graph.schema(id));
        let (inner, inside, what): (&TypeRef, Vec<SchemaId>, _) = match ty {
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => return self.inner_rules(conj, inner),
            TypeRef::Vec(inner) => (inner, schemas.filter_map(|s| s.items).collect(), "each element"),
            TypeRef::Map(inner) => {
                (inner, schemas.filter_map(|s| s.additional_properties).collect(), "each value")
            }
            _ => return Vec::new(),
        };
        if inside.is_empty() || !self.schemas_of_type(inner).is_empty() {
            return Vec::new();
        }
        let mut all = self.rules_at(&SchemaConjunction::from_schemas(inside), inner, &[]);
        all.iter_mut().for_each(|rule| rule.text = format!("{what}: {}", rule.text));
        all
    }

    /// Returns the schemas of a conjunction together with those that they include by `$ref` or `allOf`.
    fn applied_schemas(&self, conj: &SchemaConjunction) -> Vec<SchemaId> {
        SchemaFacts::from_conjunction(&self.contract.graph, conj, self.contract.options.implied_objects)
            .unconditional
    }

    fn find_description(&self, conj: &SchemaConjunction, first: Option<SchemaId>) -> Option<String> {
        let ids = first.into_iter().chain(conj.ids.iter().rev().copied());
        let mut schemas = ids.map(|id| self.contract.graph.schema(id));
        let schema = schemas.find(|s| s.title.is_some() || s.description.is_some())?;
        let text = [schema.title.clone(), schema.description.clone()].into_iter().flatten();
        Some(text.collect::<Vec<_>>().join("\n"))
    }

    fn format_origins(&self, conj: &SchemaConjunction) -> Vec<String> {
        conj.ids.iter().map(|&id| self.format_location(&self.contract.graph.schema(id).place)).collect()
    }

    fn format_location(&self, place: &DocumentLocation) -> String {
        self.contract.format_location(place)
    }
}

/// Converts constraints into rules, without duplicates.
fn rules_from_constraints(constraints: Vec<SchemaConstraint>) -> Vec<ExplainedRule> {
    let mut out: Vec<ExplainedRule> = Vec::new();
    for constraint in constraints {
        let text = format!("{} {}", constraint.keyword, constraint.value);
        let rule = ExplainedRule { text, enforcement: Some(constraint.enforcement) };
        if !out.contains(&rule) {
            out.push(rule);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic on failure")]

    use super::*;
    use contract_codegen_core::load::Sources;

    /// If a field has a `default` next to its `$ref`, the explanation shows this default and not the default
    /// of the referenced schema. Generated code uses the same default.
    #[test]
    fn the_nearest_default_is_explained() {
        let text = r##"{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {}, "components": {"schemas": {
            "S": {"type": "string", "default": "x"},
            "O": {"type": "object", "properties": {
                "beside": {"$ref": "#/components/schemas/S", "default": "y"},
                "part": {"allOf": [{"$ref": "#/components/schemas/S"}], "default": "z"},
                "none": {"$ref": "#/components/schemas/S"}}}}}}"##;
        let project = Project::default();
        let contract =
            project.analyze_sources(Sources::from_texts(&[("t.json", "", text)]).unwrap()).unwrap();
        let defaults = |name: &str| {
            let rules = explain_name(&project, &contract, name).unwrap().remove(0).rules;
            let defaults = rules.into_iter().filter(|rule| rule.text.starts_with("default"));
            defaults.map(|rule| rule.text).collect::<Vec<_>>()
        };
        let expect = [("O.beside", "y"), ("O.part", "z"), ("O.none", "x")];
        for (name, default) in expect {
            assert_eq!(defaults(name), [format!("default \"{default}\"")], "{name}");
        }
        let files = project.generate_from(contract).unwrap().files.0;
        let code: String = files.into_values().collect();
        for (name, default) in expect {
            let name = &name[2..];
            let field = code.lines().position(|line| line.contains(&format!("pub {name}:"))).unwrap();
            let docs = code.lines().take(field).collect::<Vec<_>>();
            let nearest = docs.iter().rfind(|line| line.contains("Default: ")).unwrap();
            assert!(nearest.contains(&format!("`\"{default}\"`")), "{name}: {nearest}");
        }
    }

    /// A type that two equal inline schemas share has an alias at the second. The field, the constructor, the
    /// builder and the explanation use the alias, and the explanation accepts it as a name.
    #[test]
    fn aliases_are_used_and_explained() {
        let text = r##"{"$defs": {
            "a": {"type": "object", "required": ["way"], "properties": {"way": {"enum": ["up", "down"]}}},
            "b": {"type": "object", "required": ["way"], "properties": {"way": {"enum": ["up", "down"]}}}}}"##;
        let mut project = Project::default();
        project.config.types.builders = contract_codegen_core::config::BuilderScope::All;
        let contract =
            project.analyze_sources(Sources::from_texts(&[("t.json", "", text)]).unwrap()).unwrap();
        let explain = |name: &str| explain_name(&project, &contract, name).unwrap().remove(0);
        assert_eq!(explain("BWay"), explain("AWay"));
        assert_eq!((explain("B").parts[0].ty.as_str(), explain("A").parts[0].ty.as_str()), ("BWay", "AWay"));
        assert_eq!(explain_name(&project, &contract, "BWey"), Err(Some("BWay".to_owned())));
        let code: String = project.generate_from(contract).unwrap().files.0.into_values().collect();
        for part in ["pub type BWay = AWay;", "pub way: BWay,", "way: into BWay", "way: one BWay = \"way\""] {
            assert!(code.contains(part), "{part}");
        }
    }

    /// The explanation of a union of a string and several objects lists the string variant and the object
    /// variants.
    #[test]
    fn variants_of_mixed_unions_are_explained() {
        let text = r##"{"$defs": {
            "user": {"type": "object", "required": ["login"], "properties": {"login": {"type": "string"}}},
            "org": {"type": "object", "required": ["slug"], "properties": {"slug": {"type": "string"}}},
            "owner": {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/user"}, {"$ref": "#/$defs/org"}]}}}"##;
        let project = Project::default();
        let contract =
            project.analyze_sources(Sources::from_texts(&[("t.json", "", text)]).unwrap()).unwrap();
        let owner = explain_name(&project, &contract, "Owner").unwrap().remove(0);
        assert_eq!(
            owner.form,
            "enum by JSON type: string, object; for objects, enum by properties: the names, JSON types and constants of an object's properties select one of 2 branches; objects that fit none are kept"
        );
        let parts: Vec<_> =
            owner.parts.iter().map(|part| (&*part.name, &*part.ty, &*part.presence)).collect();
        assert_eq!(
            parts,
            [("Text", "String", "JSON type"), ("User", "User", "properties"), ("Org", "Org", "properties")]
        );
    }

    /// The explanation of an operation shows the body types of the generated code. It shows no rules for text
    /// and byte bodies, because such bodies are not validated.
    #[test]
    fn body_types_match_the_generated_code() {
        let text = r##"{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {"/a": {"post": {
            "operationId": "a", "responses": {"204": {"description": ""}},
            "requestBody": {"content": {
                "application/xml": {"schema": {"$ref": "#/components/schemas/Pet"}},
                "text/plain": {"schema": {"type": "string", "maxLength": 5}},
                "application/json": {"schema": {"type": "array", "maxItems": 3, "items": {"$ref": "#/components/schemas/Pet"}}},
                "image/*": {"schema": {"type": "string", "maxLength": 7}}}}}}},
            "components": {"schemas": {"Pet": {"type": "object", "minProperties": 1, "properties": {"id": {"type": "integer"}}}}}}"##;
        let mut project = Project::default();
        project.config.operations.media = vec!["*/*".to_owned()];
        let contract =
            project.analyze_sources(Sources::from_texts(&[("t.json", "", text)]).unwrap()).unwrap();
        let found = explain_name(&project, &contract, "a").unwrap().remove(0).parts;
        let found: Vec<_> = found
            .iter()
            .map(|part| {
                let rules: Vec<&str> = part.rules.iter().map(|rule| rule.text.as_str()).collect();
                (part.wire.as_str(), part.ty.as_str(), rules.join(", "))
            })
            .collect();
        let empty = String::new;
        let expect = [
            ("application/xml", "String", empty()),
            ("text/plain", "String", empty()),
            ("application/json", "Vec<Pet>", "type array, maxItems 3, items elements".to_owned()),
            ("image/*", "bytes of any media type in the range", empty()),
        ];
        assert_eq!(found, expect);
    }
}
