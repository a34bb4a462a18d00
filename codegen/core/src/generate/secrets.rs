//! Checks that the values of configured secrets cannot be printed: wherever such a value can occur, its type
//! must be `Secret`, which hides its content.
//!
//! `Secret` holds only strings. Any other type, and untyped JSON, prints its content.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::Json;

use super::select_schemas;
use crate::{
    api::OpenApiDocument,
    config::Config,
    conjunction::{SchemaConjunction, SchemaFacts},
    diagnostics::{Diagnostic, Diagnostics},
    naming,
    options::SchemaOptions,
    schema::{
        Schema, SchemaGraph, SchemaId,
        reachable::{direct_dependencies, dynamic_anchor, schemas_with_anchor},
    },
    shape::{self, KindVariant, ObjectUnion, ObjectVariant, Shapes, TypeBody, TypeDef, TypeId, TypeRef},
};

/// Reports an error for every selector of `secrets` whose value a type prints, or whose value no type
/// contains, and a warning for each location where untyped JSON may contain a secret.
pub(super) fn check_secrets(
    config: &Config,
    (graph, api): (&SchemaGraph, &OpenApiDocument),
    shapes: &Shapes,
    options: &SchemaOptions,
    diagnostics: &mut Diagnostics,
) {
    const OPTION: &str = "secrets";
    const HELP: &str = "a secret must be a string, optionally with `null`: select such a schema, the `items` of a list or the properties of an object; or remove the option";
    if options.secrets.is_empty() {
        return;
    }
    let found = SecretFindings::search(graph, api, shapes, options);
    let place = |id: SchemaId| graph.schema(id).place.clone();
    let mut warned = BTreeSet::new();
    for selector in &config.secrets {
        let named = select_schemas(graph, selector);
        // A selector without schemas is not reported here, because the selection of operations may have
        // removed them.
        let Some(first) = named.first() else { continue };
        let shown = named.iter().find_map(|id| Some((*id, found.printed.get(id)?)));
        let is_kept = named.iter().any(|id| found.hidden.contains(id));
        let inside = named.iter().find_map(|id| Some((*id, *found.in_json.get(id)?.first()?)));
        let problem = match (shown, is_kept, inside) {
            (Some((id, (ty, at))), ..) => {
                Some((id, *at, format!("its type `{}` prints the value", shape::display_type(shapes, ty))))
            }
            (None, true, _) => None,
            (None, false, Some((id, at))) => {
                Some((id, at, "it is untyped JSON, which prints the value".to_owned()))
            }
            (None, false, None) => Some((*first, *first, "no type contains it".to_owned())),
        };
        if let Some((id, at, why)) = problem {
            let message = match is_kept {
                true => format!("`{OPTION}` does not hide all of `{selector}`"),
                false => format!("`{OPTION}` does nothing for `{selector}`"),
            };
            let problem = Diagnostic::error("config", message)
                .with_optional_place(config.option_place(OPTION, selector));
            let problem = problem.with_label(place(at), why).help(HELP);
            diagnostics.push(if at == id {
                problem
            } else {
                problem.with_label(place(id), "this is secret")
            });
            continue;
        }
        let others =
            named.iter().flat_map(|id| found.in_json.get(id).into_iter().flatten().map(move |at| (*id, *at)));
        for (id, at) in others.filter(|pair| warned.insert(*pair)) {
            diagnostics.push(
                Diagnostic::warning(
                    "secret",
                    "a secret may occur in this untyped JSON, which prints its content",
                )
                .with_optional_place(Some(place(at)))
                .with_label(place(id), "this is secret")
                .help("do not print values of this type, or use a type of your own by `replace`"),
            );
        }
    }
}

/// The types in which the values of secret schemas occur.
#[derive(Default)]
struct SecretFindings {
    /// The secret schemas for which at least one location has the type `Secret`.
    hidden: BTreeSet<SchemaId>,
    /// The secret schemas for which a location has a type that prints its content, with this type and a
    /// schema of the location.
    printed: BTreeMap<SchemaId, (TypeRef, SchemaId)>,
    /// For each secret schema whose values may occur within untyped JSON: the schemas of the untyped locations.
    in_json: BTreeMap<SchemaId, BTreeSet<SchemaId>>,
}

impl SecretFindings {
    fn search(graph: &SchemaGraph, api: &OpenApiDocument, shapes: &Shapes, options: &SchemaOptions) -> Self {
        let ways = schemas_reaching(graph, &options.secrets);
        let mut look =
            SecretSearch { graph, shapes, options, reaching: ways, enclosing: None, found: Self::default() };
        for id in shapes.ids() {
            look.visit_type(id);
        }
        look.enclosing = None;
        for (id, _) in naming::type_places(api) {
            look.visit_place(&SchemaConjunction::from_schema(id), shapes.type_of_schema(id));
        }
        look.found
    }
}

/// Returns, for each secret schema, all schemas from which it can be reached, including itself.
fn schemas_reaching(
    graph: &SchemaGraph,
    secrets: &BTreeSet<SchemaId>,
) -> BTreeMap<SchemaId, BTreeSet<SchemaId>> {
    let mut back: BTreeMap<SchemaId, Vec<SchemaId>> = BTreeMap::new();
    let mut dynamic: BTreeMap<&str, Vec<SchemaId>> = BTreeMap::new();
    for id in graph.ids() {
        direct_dependencies(graph, id).for_each(|next| back.entry(next).or_default().push(id));
        dynamic_anchor(graph, id).into_iter().for_each(|anchor| dynamic.entry(anchor).or_default().push(id));
    }
    for (anchor, from) in dynamic {
        schemas_with_anchor(graph, anchor).for_each(|next| back.entry(next).or_default().extend(&from));
    }
    let way = |secret: SchemaId| {
        let mut found = BTreeSet::new();
        let mut waiting = vec![secret];
        while let Some(id) = waiting.pop() {
            if found.insert(id) {
                waiting.extend(back.get(&id).into_iter().flatten());
            }
        }
        (secret, found)
    };
    secrets.iter().copied().map(way).collect()
}

struct SecretSearch<'a> {
    graph: &'a SchemaGraph,
    shapes: &'a Shapes,
    options: &'a SchemaOptions,
    reaching: BTreeMap<SchemaId, BTreeSet<SchemaId>>,
    /// A schema of the type that is being visited, for the locations of diagnostics.
    enclosing: Option<SchemaId>,
    found: SecretFindings,
}

impl SecretSearch<'_> {
    /// Visits the fields, variants or elements of a type.
    fn visit_type(&mut self, id: TypeId) {
        let TypeDef { conj, body, .. } = self.shapes.get(id);
        self.enclosing = conj.ids.first().copied();
        match body {
            TypeBody::Struct(body) => {
                let facts = self.schema_facts(conj);
                for (wire, always, sometimes) in facts.declared_properties(self.graph) {
                    let applies = SchemaConjunction::from_schemas(always.into_iter().chain(sometimes));
                    let field = body.fields.iter().find(|field| field.wire == wire && !field.omitted);
                    field.into_iter().for_each(|field| self.visit_place(&applies, &field.ty));
                }
                let others = self.undeclared_members(&facts);
                match &body.additional {
                    Some(ty) => self.visit_place(&others, ty),
                    None => self.visit_json(&others),
                }
            }
            TypeBody::Objects(body) => {
                let holder = self.graph.schema(body.holder);
                let branches = if holder.one_of.is_empty() { &holder.any_of } else { &holder.one_of };
                for variant in &body.variants {
                    if let Some(conj) = variant.conjunction(&body.conj, body.holder, branches) {
                        self.visit_place(&conj, &variant.ty);
                    }
                }
                if body.is_loose() {
                    self.visit_branches(&body.conj, body, branches);
                }
                body.others.iter().for_each(|variant| self.visit_kind(conj, variant));
            }
            TypeBody::ByKind(variants) => {
                variants.iter().for_each(|variant| self.visit_kind(conj, variant));
            }
            TypeBody::Newtype(inner) => self.visit_place(conj, inner),
            TypeBody::Enum(_) => self.visit_string(conj, &TypeRef::Named(id)),
            TypeBody::Pending => {}
        }
    }

    fn visit_kind(&mut self, conj: &SchemaConjunction, variant: &KindVariant) {
        self.visit_place(&conj.within(variant.types), &variant.ty);
        // The conjunction of the variant includes the branch that it stands for.
        self.visit_place(&variant.conj, &variant.ty);
    }

    /// Records properties of a union that may be parsed as untyped JSON. The `discriminator` may assign a
    /// value to one branch although the value is also valid under another branch. The type of the first
    /// branch then holds the properties that only the other branch declares as untyped JSON.
    fn visit_branches(&mut self, conj: &SchemaConjunction, body: &ObjectUnion, branches: &[SchemaId]) {
        let facts = |each: &ObjectVariant| {
            let outer = *branches.get(each.branch)?;
            let branch = each.inner.last().map_or(outer, |(_, branch)| *branch);
            Some((branch, self.schema_facts(&each.conjunction(conj, body.holder, branches)?)))
        };
        let all: Vec<_> = body.variants.iter().filter_map(|each| Some((each, facts(each)?))).collect();
        let tag = body.tag();
        for (index, (_, (branch, own))) in all.iter().enumerate() {
            if own.unconditional_schemas(self.graph).any(|schema| self.is_closed(schema)) {
                continue;
            }
            let declared: BTreeSet<&str> =
                own.declared_properties(self.graph).iter().map(|(wire, ..)| *wire).collect();
            for (_, (_, other)) in all.iter().filter(|(_, (other, _))| other != branch) {
                let members = other.declared_properties(self.graph);
                let values = tag.and_then(|tag| {
                    let (_, always, _) = members.iter().find(|(wire, ..)| *wire == tag.name)?;
                    Some((SchemaConjunction::from_schemas(always.iter().copied()), tag.literals.get(index)?))
                });
                if values.is_some_and(|(place, literals)| self.excludes_values(&place, literals)) {
                    continue;
                }
                let members = members.into_iter().filter(|(wire, ..)| !declared.contains(wire));
                for (_, always, sometimes) in members {
                    let ids: Vec<SchemaId> = always.into_iter().chain(sometimes).collect();
                    self.record_json(&ids, Some(*branch));
                }
            }
        }
    }

    /// Returns true if the conjunction lists its allowed values and contains none of `values`.
    fn excludes_values(&self, conj: &SchemaConjunction, values: &[Json]) -> bool {
        let listed = self.schema_facts(conj).allowed_literals(self.graph);
        listed.is_some_and(|listed| !values.iter().any(|value| listed.contains(&value)))
    }

    /// Returns true if a schema rejects undeclared properties.
    fn is_closed(&self, schema: &Schema) -> bool {
        let rest = [schema.additional_properties, schema.unevaluated_properties];
        rest.into_iter().flatten().any(|id| self.graph.schema(id).boolean == Some(false))
    }

    /// Visits a field or element with the given schemas and type. The content of named types is visited
    /// separately.
    fn visit_place(&mut self, conj: &SchemaConjunction, ty: &TypeRef) {
        match ty {
            TypeRef::Json => self.visit_json(conj),
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => self.visit_place(conj, inner),
            _ if self.holds_string(ty) => self.visit_string(conj, ty),
            _ => {
                let facts = self.schema_facts(conj);
                self.record_holder(conj, facts.unconditional.iter(), ty);
                self.visit_elements(conj, &facts, ty);
            }
        }
    }

    /// Visits the elements of a list, map or tuple.
    fn visit_elements(&mut self, conj: &SchemaConjunction, facts: &SchemaFacts, ty: &TypeRef) {
        let graph = self.graph;
        match ty {
            // If the elements are untyped JSON, they are covered by the visit of the whole list or map.
            TypeRef::Vec(inner) | TypeRef::Map(inner) if **inner == TypeRef::Json => self.visit_json(conj),
            TypeRef::Vec(inner) => {
                self.visit_place(
                    &SchemaConjunction::from_schemas(
                        facts.unconditional_schemas(graph).filter_map(|s| s.items),
                    ),
                    inner,
                );
            }
            TypeRef::Map(inner) => self.visit_place(&self.undeclared_members(facts), inner),
            TypeRef::Tuple(all) => {
                let prefix = facts.unconditional_schemas(graph).find(|s| !s.prefix_items.is_empty());
                let prefix = prefix.map(|s| s.prefix_items.as_slice()).unwrap_or_default();
                prefix
                    .iter()
                    .zip(all)
                    .for_each(|(id, ty)| self.visit_place(&SchemaConjunction::from_schema(*id), ty));
            }
            _ => {}
        }
    }

    /// Visits a string. Conditional schemas and union branches also apply to it, so they may be secrets as
    /// well.
    fn visit_string(&mut self, conj: &SchemaConjunction, ty: &TypeRef) {
        let facts = self.schema_facts(conj);
        self.record_holder(conj, facts.unconditional.iter().chain(&facts.conditional), ty);
    }

    /// For each of these schemas that is configured as a secret, records whether the given type hides its
    /// value when printed.
    fn record_holder<'s>(
        &mut self,
        conj: &SchemaConjunction,
        schemas: impl Iterator<Item = &'s SchemaId>,
        ty: &TypeRef,
    ) {
        let secrets = schemas.copied().filter(|id| self.options.secrets.contains(id));
        if self.is_hidden(ty) {
            self.found.hidden.extend(secrets);
        } else {
            let place = conj.ids.first().copied().or(self.enclosing);
            self.found.printed.extend(secrets.map(|id| (id, (ty.clone(), place.unwrap_or(id)))));
        }
    }

    /// Records all secrets that a location with untyped JSON may contain.
    fn visit_json(&mut self, conj: &SchemaConjunction) {
        self.record_json(&conj.ids, conj.ids.first().copied());
    }

    fn record_json(&mut self, ids: &[SchemaId], place: Option<SchemaId>) {
        for (id, ways) in &self.reaching {
            if ids.iter().any(|from| ways.contains(from)) {
                let place = place.filter(|place| place != id).or(self.enclosing);
                self.found.in_json.entry(*id).or_default().insert(place.unwrap_or(*id));
            }
        }
    }

    /// Returns the schemas that may apply to properties of an object that `properties` does not declare.
    fn undeclared_members(&self, facts: &SchemaFacts) -> SchemaConjunction {
        let schemas = facts.unconditional.iter().chain(&facts.conditional).map(|id| self.graph.schema(*id));
        SchemaConjunction::from_schemas(schemas.flat_map(|schema| {
            let patterns = schema.pattern_properties.iter().map(|(_, id)| *id);
            let rest = schema.additional_properties.into_iter().chain(schema.unevaluated_properties);
            patterns.chain(rest).filter(|id| self.graph.schema(*id).boolean.is_none())
        }))
    }

    /// Returns true if all values of a type are strings.
    fn holds_string(&self, ty: &TypeRef) -> bool {
        match ty {
            TypeRef::String | TypeRef::Secret => true,
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => self.holds_string(inner),
            TypeRef::Named(id) => match &self.shapes.get(*id).body {
                TypeBody::Newtype(inner) => self.holds_string(inner),
                TypeBody::Enum(_) => true,
                TypeBody::Struct(_) | TypeBody::Objects(_) | TypeBody::ByKind(_) | TypeBody::Pending => false,
            },
            _ => false,
        }
    }

    /// Returns true if the `Debug` output of a type hides its content. Types from the configuration are
    /// assumed to do so.
    fn is_hidden(&self, ty: &TypeRef) -> bool {
        match ty {
            TypeRef::Secret => true,
            TypeRef::Replaced(_, id) => self.options.replace.contains_key(id),
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => self.is_hidden(inner),
            TypeRef::Named(id) => match &self.shapes.get(*id).body {
                TypeBody::Newtype(inner) => self.is_hidden(inner),
                _ => false,
            },
            _ => false,
        }
    }

    fn schema_facts(&self, conj: &SchemaConjunction) -> SchemaFacts {
        SchemaFacts::from_conjunction(self.graph, conj, self.options.implied_objects)
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        config::Config,
        diagnostics::{Diagnostic, Diagnostics},
        generate::Project,
        load::Sources,
    };

    /// Asserts the diagnostics for an object with the properties `members`, of which the selectors `secrets`
    /// are secret.
    #[track_caller]
    fn check(members: &str, secrets: &[&str], expect: &[&str]) {
        let found: Vec<String> = diagnostics_for(members, secrets, &[])
            .iter()
            .map(|each| match (&each.place, each.labels.first()) {
                (Some(place), _) => format!("{}: {}", place.pointer, each.message),
                (None, Some((_, reason))) => format!("{}: {reason}", each.message),
                (None, None) => each.message.clone(),
            })
            .collect();
        assert_eq!(found, expect, "{members} {secrets:?}");
    }

    /// Returns the diagnostics for an object with these properties. `replace` maps selectors to types as the
    /// option `replace` does.
    fn diagnostics_for(members: &str, secrets: &[&str], replace: &[(&str, &str)]) -> Diagnostics {
        diagnostics_of_text(
            &format!(r#"{{"type": "object", "properties": {{{members}}}}}"#),
            secrets,
            replace,
        )
    }

    fn diagnostics_of_text(text: &str, secrets: &[&str], replace: &[(&str, &str)]) -> Diagnostics {
        let secrets = secrets.iter().map(|selector| (*selector).to_owned()).collect();
        let replace = replace
            .iter()
            .map(|(path, replacement)| ((*path).to_owned(), (*replacement).to_owned()))
            .collect();
        let config = Config { secrets, replace, ..Config::default() };
        let project = Project { config, ..Project::default() };
        let result = project.analyze_sources(Sources::from_texts(&[("input.json", "", text)]).unwrap());
        result.map_or_else(|problems| problems, |contract| contract.diagnostics)
    }

    #[test]
    fn secret_strings_are_accepted_at_any_location() {
        for member in [
            r#""a": {"type": "string"}"#,
            r#""a": {"type": ["string", "null"], "format": "date-time"}"#,
            r#""x": {"anyOf": [{"properties": {"a": {"type": "string"}}, "type": "object"}, {"type": "null"}]}"#,
            r#""x": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}"#,
            r#""x": {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}}"#,
            r#""a": {"anyOf": [{"type": "string"}, {"enum": ["b"]}]}"#,
            r#""a": {"enum": ["b", "c"]}"#,
            r##""a": {"type": "string"}, "x": {"allOf": [{"$ref": "#/properties/a"}, {"enum": ["b", "c"]}]}"##,
        ] {
            check(member, &["properties/a"], &[]);
        }
        check(r#""x": {"type": "array", "items": {"type": "string"}}"#, &["x/items"], &[]);
        check(
            r#""x": {"type": "object", "additionalProperties": {"type": "string"}}"#,
            &["x/additionalProperties"],
            &[],
        );
        let pair = r#""x": {"type": "array", "prefixItems": [{"type": "string"}, true], "items": false, "minItems": 2}"#;
        check(pair, &["prefixItems/0"], &[]);
        let branch = r#""x": {"anyOf": [{"type": "string"}, {"type": "integer"}]}"#;
        check(branch, &["anyOf/0"], &[]);
        for list in [r#"{"type": "array", "items": {"type": "integer"}}"#, r#"{"type": "integer"}"#] {
            let lists =
                format!(r#""x": {{"anyOf": [{{"type": "array", "items": {{"type": "string"}}}}, {list}]}}"#);
            check(&lists, &["anyOf/0/items"], &[]);
        }
    }

    #[test]
    fn printable_types_are_rejected_as_secrets() {
        let prefix = "`secrets` does nothing for `properties/a`: ";
        for (member, reason) in [
            (r#""a": {"type": "integer"}"#, "its type `i64` prints the value"),
            (
                r#""a": {"type": "array", "items": {"type": "string"}}"#,
                "its type `Vec<String>` prints the value",
            ),
            (r#""a": true"#, "it is untyped JSON, which prints the value"),
            (
                r#""x": {"not": {"properties": {"a": {"type": "string"}}}}"#,
                "it is untyped JSON, which prints the value",
            ),
        ] {
            check(member, &["properties/a"], &[&format!("{prefix}{reason}")]);
        }
        let mixed =
            r#""a": {"type": "string"}, "x": {"type": "object", "properties": {"a": {"type": "integer"}}}"#;
        let partial = "`secrets` does not hide all of `properties/a`: its type `i64` prints the value";
        check(mixed, &["properties/a"], &[partial]);
        let partial_union = "`secrets` does not hide all of `properties/a`: its type `bool` prints the value";
        check(r#""a": {"type": ["string", "boolean"]}"#, &["properties/a"], &[partial_union]);
        let patterns = r#""x": {"type": "object", "properties": {"b": true}, "patternProperties": {"^a": {"type": "string"}}}"#;
        let prefix =
            "`secrets` does nothing for `x/patternProperties/^a`: it is untyped JSON, which prints the value";
        check(patterns, &["x/patternProperties/^a"], &[prefix]);
    }

    /// If a union has no discriminating property, a variant may hold the secret property of another branch as
    /// untyped JSON, which is reported at that variant.
    #[test]
    fn untyped_json_that_may_contain_secrets_is_reported() {
        let members = r##""x": {"anyOf": [{"$ref": "#/properties/y"}, {"type": "object", "properties": {"c": true}}]},
            "y": {"type": "object", "properties": {"a": {"type": "string"}}}"##;
        let expected =
            "/properties/x/anyOf/1: a secret may occur in this untyped JSON, which prints its content";
        check(members, &["properties/a"], &[expected]);
    }

    /// If the tags of a union are not constants, the type of one branch may hold the secret property of
    /// another branch as untyped JSON, which is reported. Constant tags or `additionalProperties: false`
    /// exclude this.
    #[test]
    fn branches_with_secrets_of_others_are_reported() {
        let diagnostics = |keyword: &str, closed: &str, kind: &str| {
            let document = format!(
                r##"{{"openapi": "3.1.0", "info": {{"title": "t", "version": "1"}}, "paths": {{}}, "components": {{"schemas": {{
                    "Event": {{
                        "{keyword}": [{{"$ref": "#/components/schemas/Opened"}}, {{"$ref": "#/components/schemas/Closed"}}],
                        "discriminator": {{"propertyName": "kind", "mapping": {{
                            "opened": "#/components/schemas/Opened", "closed": "#/components/schemas/Closed"}}}}
                    }},
                    "Opened": {{"type": "object", "required": ["kind"], "properties": {{
                        "kind": {kind}, "a": {{"type": "string"}}}}}},
                    "Closed": {{"type": "object", "required": ["kind"], {closed}
                        "properties": {{"kind": {{"type": "string"}}}}}}
                }}}}}}"##
            );
            let diagnostics = diagnostics_of_text(&document, &["properties/a"], &[]);
            let pointer_of = |each: &Diagnostic| each.place.as_ref().map(|place| place.pointer.clone());
            diagnostics
                .iter()
                .filter(|each| each.code == "secret")
                .map(|each| (each.code, pointer_of(each).unwrap_or_default()))
                .collect::<Vec<_>>()
        };
        let string_schema = r#"{"type": "string"}"#;
        assert_eq!(
            diagnostics("anyOf", "", string_schema),
            [("secret", "/components/schemas/Event/anyOf/1".to_owned())]
        );
        assert_eq!(
            diagnostics("oneOf", "", string_schema),
            [("secret", "/components/schemas/Event/oneOf/1".to_owned())]
        );
        assert_eq!(diagnostics("oneOf", "", r#"{"const": "opened"}"#), []);
        assert_eq!(diagnostics("anyOf", "", r#"{"const": "opened"}"#), []);
        assert_eq!(diagnostics("anyOf", r#""additionalProperties": false,"#, string_schema), []);
    }

    #[test]
    fn configured_types_are_not_inspected() {
        let members = r##""a": {"type": "string", "minLength": 3},
            "b": {"allOf": [{"$ref": "#/properties/a"}], "maxLength": 9}"##;
        let found = diagnostics_for(members, &["properties/a"], &[("properties/b", "my::Own")]);
        assert_eq!(found.len(), 0, "{found}");
    }

    /// The diagnostic has two labels: the schema of the secret, and the location whose type prints the secret.
    #[test]
    fn secret_and_exposing_location_are_both_labeled() {
        let members = r##""a": {"description": "Any."},
            "b": {"allOf": [{"$ref": "#/properties/a"}], "type": "integer"}"##;
        let diagnostics = diagnostics_for(members, &["properties/a"], &[]);
        let labels: Vec<(&str, &str)> = diagnostics
            .iter()
            .flat_map(|each| &each.labels)
            .map(|(place, reason)| (place.pointer.as_str(), reason.as_str()))
            .collect();
        let expect =
            [("/properties/b", "its type `i64` prints the value"), ("/properties/a", "this is secret")];
        assert_eq!(labels, expect);
    }
}
