//! Secrets that would print all the same: what the owner calls secret has to be held as such wherever
//! a value of it may stand.
//!
//! `Secret` holds a text. What holds anything else, or any JSON, prints it.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::{Json, schema::Certainty};

use super::select;
use crate::{
    api::Api,
    config::Config,
    diagnostics::{Diagnostic, Diagnostics},
    naming,
    options::Options,
    prune::{bearers, direct, dynamic_anchor},
    schema::{Graph, Schema, SchemaId},
    shape::{self, Body, Shapes, Tagged, TaggedVariant, TypeDef, TypeId, TypeRef},
    together::{Conj, Facts},
};

/// Every selector of `secrets` that names what prints is an error; of one that is kept secret
/// wherever a type can say so, each place that cannot is a warning.
pub(super) fn check(
    config: &Config,
    (graph, api): (&Graph, &Api),
    shapes: &Shapes,
    options: &Options,
    diagnostics: &mut Diagnostics,
) {
    const OPTION: &str = "secrets";
    const HELP: &str = "a secret is a text, with `null` or without: name such a schema, of a list its `items`, of an object its members; or remove the option";
    if options.secrets.is_empty() {
        return;
    }
    let found = Found::of(graph, api, shapes, options);
    let place = |id: SchemaId| graph.schema(id).place.clone();
    let mut warned = BTreeSet::new();
    for selector in &config.secrets {
        let named = select(graph, selector);
        // Nothing of a selector is left where another part of the contract was asked for.
        let Some(first) = named.first() else { continue };
        let shown = named.iter().find_map(|id| Some((*id, found.shown.get(id)?)));
        let is_kept = named.iter().any(|id| found.kept.contains(id));
        let inside = named.iter().find_map(|id| Some((*id, *found.inside.get(id)?.first()?)));
        let problem = match (shown, is_kept, inside) {
            (Some((id, (ty, at))), ..) => {
                Some((id, *at, format!("it is held as `{}`, which prints", shape::text(shapes, ty))))
            }
            (None, true, _) => None,
            (None, false, Some((id, at))) => {
                Some((id, at, "it is held as any JSON, which prints".to_owned()))
            }
            (None, false, None) => Some((*first, *first, "no type holds it".to_owned())),
        };
        if let Some((id, at, why)) = problem {
            let message = match is_kept {
                true => format!("`{OPTION}` does not hide all of `{selector}`"),
                false => format!("`{OPTION}` does nothing for `{selector}`"),
            };
            let problem = Diagnostic::error("config", message).maybe_at(config.place(OPTION, selector));
            let problem = problem.label(place(at), why).help(HELP);
            diagnostics.push(if at == id { problem } else { problem.label(place(id), "this is secret") });
            continue;
        }
        let others =
            named.iter().flat_map(|id| found.inside.get(id).into_iter().flatten().map(move |at| (*id, *at)));
        for (id, at) in others.filter(|pair| warned.insert(*pair)) {
            diagnostics.push(
                Diagnostic::warning(
                    "secret",
                    "a secret may stand here, where any JSON is held, which prints",
                )
                .maybe_at(Some(place(at)))
                .label(place(id), "this is secret")
                .help("print no value that holds this, or give the place a type of your own by `replace`"),
            );
        }
    }
}

/// What became of the secrets of a contract.
#[derive(Default)]
struct Found {
    /// Those that a place holds as such.
    kept: BTreeSet<SchemaId>,
    /// Those that a place holds as something else, as what, and a schema of such a place.
    shown: BTreeMap<SchemaId, (TypeRef, SchemaId)>,
    /// Those that may stand where any JSON is held, and the schemas of such places.
    inside: BTreeMap<SchemaId, BTreeSet<SchemaId>>,
}

impl Found {
    fn of(graph: &Graph, api: &Api, shapes: &Shapes, options: &Options) -> Self {
        let ways = ways(graph, &options.secrets);
        let mut look = Look { graph, shapes, options, ways, around: None, found: Self::default() };
        for id in shapes.ids() {
            look.inside(id);
        }
        look.around = None;
        for (id, _) in naming::places(api) {
            look.place(&Conj::one(id), shapes.of(id));
        }
        look.found
    }
}

/// The schemas from which each secret can be reached, itself among them.
fn ways(graph: &Graph, secrets: &BTreeSet<SchemaId>) -> BTreeMap<SchemaId, BTreeSet<SchemaId>> {
    let mut back: BTreeMap<SchemaId, Vec<SchemaId>> = BTreeMap::new();
    let mut dynamic: BTreeMap<&str, Vec<SchemaId>> = BTreeMap::new();
    for id in graph.ids() {
        direct(graph, id).for_each(|next| back.entry(next).or_default().push(id));
        dynamic_anchor(graph, id).into_iter().for_each(|anchor| dynamic.entry(anchor).or_default().push(id));
    }
    for (anchor, from) in dynamic {
        bearers(graph, anchor).for_each(|next| back.entry(next).or_default().extend(&from));
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

struct Look<'a> {
    graph: &'a Graph,
    shapes: &'a Shapes,
    options: &'a Options,
    ways: BTreeMap<SchemaId, BTreeSet<SchemaId>>,
    /// A schema of the type that is looked into.
    around: Option<SchemaId>,
    found: Found,
}

impl Look<'_> {
    /// What stands inside a type.
    fn inside(&mut self, id: TypeId) {
        let TypeDef { conj, body, .. } = self.shapes.get(id);
        self.around = conj.ids.first().copied();
        match body {
            Body::Struct(body) => {
                let facts = self.facts(conj);
                for (wire, always, sometimes) in facts.declared(self.graph) {
                    let applies = Conj::all(always.into_iter().chain(sometimes));
                    let field = body.fields.iter().find(|field| field.wire == wire && !field.omitted);
                    field.into_iter().for_each(|field| self.place(&applies, &field.ty));
                }
                let others = self.others(&facts);
                match &body.additional {
                    Some(ty) => self.place(&others, ty),
                    None => self.json(&others),
                }
            }
            Body::Tagged(body) => {
                let holder = self.graph.schema(body.holder);
                let branches = if holder.one_of.is_empty() { &holder.any_of } else { &holder.one_of };
                for variant in &body.variants {
                    if let Some(&branch) = branches.get(variant.branch) {
                        self.place(&conj.choose(body.holder, branch), &variant.ty);
                    }
                }
                if body.certainty == Certainty::Meant {
                    self.branches(conj, body, branches);
                }
            }
            Body::ByKind(variants) => variants.iter().for_each(|v| self.place(&conj.within(v.types), &v.ty)),
            Body::Newtype(inner) => self.place(conj, inner),
            Body::Enum(_) => self.text(conj, &TypeRef::Named(id)),
            Body::Pending => {}
        }
    }

    /// Members that other branches declare. What is held as the branch that a `discriminator` alone says may be
    /// of another one, of a `oneOf` too, where it breaks a limit of its own: what only the others declare is any JSON
    /// there.
    fn branches(&mut self, conj: &Conj, body: &Tagged, branches: &[SchemaId]) {
        let facts = |each: &TaggedVariant| {
            let branch = *branches.get(each.branch)?;
            Some((branch, self.facts(&conj.choose(body.holder, branch))))
        };
        let all: Vec<_> = body.variants.iter().filter_map(|each| Some((each, facts(each)?))).collect();
        for (variant, (branch, own)) in &all {
            if own.schemas(self.graph).any(|schema| self.is_closed(schema)) {
                continue;
            }
            let declared: BTreeSet<&str> = own.declared(self.graph).iter().map(|(wire, ..)| *wire).collect();
            for (_, (_, other)) in all.iter().filter(|(_, (other, _))| other != branch) {
                let members = other.declared(self.graph);
                let tag = members.iter().find(|(wire, ..)| *wire == body.tag);
                let tag = tag.map(|(_, always, _)| Conj::all(always.iter().copied()));
                if tag.is_some_and(|tag| self.excludes(&tag, &variant.literals)) {
                    continue;
                }
                let members = members.into_iter().filter(|(wire, ..)| !declared.contains(wire));
                for (_, always, sometimes) in members {
                    let ids: Vec<SchemaId> = always.into_iter().chain(sometimes).collect();
                    self.json_at(&ids, Some(*branch));
                }
            }
        }
    }

    /// Whether a place lists values, and none of these.
    fn excludes(&self, conj: &Conj, values: &[Json]) -> bool {
        let listed = self.facts(conj).literals(self.graph);
        listed.is_some_and(|listed| !values.iter().any(|value| listed.contains(&value)))
    }

    /// Whether no members are allowed beside those that are declared.
    fn is_closed(&self, schema: &Schema) -> bool {
        let rest = [schema.additional_properties, schema.unevaluated_properties];
        rest.into_iter().flatten().any(|id| self.graph.schema(id).boolean == Some(false))
    }

    /// What a place holds; named types are looked into by themselves.
    fn place(&mut self, conj: &Conj, ty: &TypeRef) {
        match ty {
            TypeRef::Json => self.json(conj),
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => self.place(conj, inner),
            _ if self.is_text(ty) => self.text(conj, ty),
            _ => {
                let facts = self.facts(conj);
                self.held(conj, facts.members.iter(), ty);
                self.parts(conj, &facts, ty);
            }
        }
    }

    /// What stands inside a list, a map or a tuple.
    fn parts(&mut self, conj: &Conj, facts: &Facts, ty: &TypeRef) {
        let graph = self.graph;
        match ty {
            // Any keyword may have led there.
            TypeRef::Vec(inner) | TypeRef::Map(inner) if **inner == TypeRef::Json => self.json(conj),
            TypeRef::Vec(inner) => {
                self.place(&Conj::all(facts.schemas(graph).filter_map(|s| s.items)), inner);
            }
            TypeRef::Map(inner) => self.place(&self.others(facts), inner),
            TypeRef::Tuple(all) => {
                let prefix = facts.schemas(graph).find(|s| !s.prefix_items.is_empty());
                let prefix = prefix.map(|s| s.prefix_items.as_slice()).unwrap_or_default();
                prefix.iter().zip(all).for_each(|(id, ty)| self.place(&Conj::one(*id), ty));
            }
            _ => {}
        }
    }

    /// A text: what applies under a condition or by a choice applies to it, too.
    fn text(&mut self, conj: &Conj, ty: &TypeRef) {
        let facts = self.facts(conj);
        self.held(conj, facts.members.iter().chain(&facts.conditional), ty);
    }

    /// Schemas that say something of a value which is held as a type.
    fn held<'s>(&mut self, conj: &Conj, schemas: impl Iterator<Item = &'s SchemaId>, ty: &TypeRef) {
        let secrets = schemas.copied().filter(|id| self.options.secrets.contains(id));
        if self.is_kept(ty) {
            self.found.kept.extend(secrets);
        } else {
            let place = conj.ids.first().copied().or(self.around);
            self.found.shown.extend(secrets.map(|id| (id, (ty.clone(), place.unwrap_or(id)))));
        }
    }

    /// Any JSON: all that the place may hold prints.
    fn json(&mut self, conj: &Conj) {
        self.json_at(&conj.ids, conj.ids.first().copied());
    }

    fn json_at(&mut self, ids: &[SchemaId], place: Option<SchemaId>) {
        for (id, ways) in &self.ways {
            if ids.iter().any(|from| ways.contains(from)) {
                let place = place.filter(|place| place != id).or(self.around);
                self.found.inside.entry(*id).or_default().insert(place.unwrap_or(*id));
            }
        }
    }

    /// The schemas of members that an object does not declare.
    fn others(&self, facts: &Facts) -> Conj {
        let schemas = facts.members.iter().chain(&facts.conditional).map(|id| self.graph.schema(*id));
        Conj::all(schemas.flat_map(|schema| {
            let patterns = schema.pattern_properties.iter().map(|(_, id)| *id);
            let rest = schema.additional_properties.into_iter().chain(schema.unevaluated_properties);
            patterns.chain(rest).filter(|id| self.graph.schema(*id).boolean.is_none())
        }))
    }

    /// Whether a type holds a text and nothing else.
    fn is_text(&self, ty: &TypeRef) -> bool {
        match ty {
            TypeRef::String | TypeRef::Secret => true,
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => self.is_text(inner),
            TypeRef::Named(id) => match &self.shapes.get(*id).body {
                Body::Newtype(inner) => self.is_text(inner),
                Body::Enum(_) => true,
                Body::Struct(_) | Body::Tagged(_) | Body::ByKind(_) | Body::Pending => false,
            },
            _ => false,
        }
    }

    /// Whether it prints nothing. What a type of the owner's own prints is the owner's matter.
    fn is_kept(&self, ty: &TypeRef) -> bool {
        match ty {
            TypeRef::Secret => true,
            TypeRef::Replaced(_, id) => self.options.replace.contains_key(id),
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => self.is_kept(inner),
            TypeRef::Named(id) => match &self.shapes.get(*id).body {
                Body::Newtype(inner) => self.is_kept(inner),
                _ => false,
            },
            _ => false,
        }
    }

    fn facts(&self, conj: &Conj) -> Facts {
        Facts::of(self.graph, conj, self.options.implied_objects)
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

    /// What is said of the secrets of an object with these members.
    #[track_caller]
    fn check(members: &str, secrets: &[&str], expect: &[&str]) {
        let said: Vec<String> = said(members, secrets, &[])
            .iter()
            .map(|each| match (&each.place, each.labels.first()) {
                (Some(place), _) => format!("{}: {}", place.pointer, each.message),
                (None, Some((_, why))) => format!("{}: {why}", each.message),
                (None, None) => each.message.clone(),
            })
            .collect();
        assert_eq!(said, expect, "{members} {secrets:?}");
    }

    /// The same, where the owner has types of their own.
    fn said(members: &str, secrets: &[&str], replace: &[(&str, &str)]) -> Diagnostics {
        of_text(&format!(r#"{{"type": "object", "properties": {{{members}}}}}"#), secrets, replace)
    }

    fn of_text(text: &str, secrets: &[&str], replace: &[(&str, &str)]) -> Diagnostics {
        let secrets = secrets.iter().map(|selector| (*selector).to_owned()).collect();
        let replace = replace.iter().map(|(what, by)| ((*what).to_owned(), (*by).to_owned())).collect();
        let config = Config { secrets, replace, ..Config::default() };
        let project = Project { config, ..Project::default() };
        let read = project.understand(Sources::from_texts(&[("input.json", "", text)]).unwrap());
        read.map_or_else(|problems| problems, |contract| contract.diagnostics)
    }

    #[test]
    fn texts_are_kept_wherever_they_stand() {
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
    }

    #[test]
    fn what_prints_is_no_secret() {
        let nothing = "`secrets` does nothing for `properties/a`: ";
        for (member, why) in [
            (r#""a": {"type": "integer"}"#, "it is held as `i64`, which prints"),
            (
                r#""a": {"type": "array", "items": {"type": "string"}}"#,
                "it is held as `Vec<String>`, which prints",
            ),
            (r#""a": true"#, "it is held as any JSON, which prints"),
            (
                r#""x": {"not": {"properties": {"a": {"type": "string"}}}}"#,
                "it is held as any JSON, which prints",
            ),
        ] {
            check(member, &["properties/a"], &[&format!("{nothing}{why}")]);
        }
        let twice =
            r#""a": {"type": "string"}, "x": {"type": "object", "properties": {"a": {"type": "integer"}}}"#;
        let some = "`secrets` does not hide all of `properties/a`: it is held as `i64`, which prints";
        check(twice, &["properties/a"], &[some]);
        let kinds = "`secrets` does not hide all of `properties/a`: it is held as `bool`, which prints";
        check(r#""a": {"type": ["string", "boolean"]}"#, &["properties/a"], &[kinds]);
        let patterns = r#""x": {"type": "object", "properties": {"b": true}, "patternProperties": {"^a": {"type": "string"}}}"#;
        let nothing =
            "`secrets` does nothing for `x/patternProperties/^a`: it is held as any JSON, which prints";
        check(patterns, &["x/patternProperties/^a"], &[nothing]);
    }

    /// A union that nothing tells apart holds members of one branch as any JSON.
    #[test]
    fn places_that_hold_any_json_beside_others_are_named() {
        let members = r##""x": {"anyOf": [{"$ref": "#/properties/y"}, {"type": "object", "properties": {"c": true}}]},
            "y": {"type": "object", "properties": {"a": {"type": "string"}}}"##;
        let said = "/properties/x: a secret may stand here, where any JSON is held, which prints";
        check(members, &["properties/a"], &[said]);
    }

    /// What a `discriminator` alone says does not keep the members of another branch away.
    #[test]
    fn a_branch_that_may_hold_the_secret_of_another_is_named() {
        let said = |of: &str, closed: &str, kind: &str| {
            let document = format!(
                r##"{{"openapi": "3.1.0", "info": {{"title": "t", "version": "1"}}, "paths": {{}}, "components": {{"schemas": {{
                    "Event": {{
                        "{of}": [{{"$ref": "#/components/schemas/Opened"}}, {{"$ref": "#/components/schemas/Closed"}}],
                        "discriminator": {{"propertyName": "kind", "mapping": {{
                            "opened": "#/components/schemas/Opened", "closed": "#/components/schemas/Closed"}}}}
                    }},
                    "Opened": {{"type": "object", "required": ["kind"], "properties": {{
                        "kind": {kind}, "a": {{"type": "string"}}}}}},
                    "Closed": {{"type": "object", "required": ["kind"], {closed}
                        "properties": {{"kind": {{"type": "string"}}}}}}
                }}}}}}"##
            );
            let said = of_text(&document, &["properties/a"], &[]);
            let at = |each: &Diagnostic| each.place.as_ref().map(|place| place.pointer.clone());
            said.iter().map(|each| (each.code, at(each).unwrap_or_default())).collect::<Vec<_>>()
        };
        let text = r#"{"type": "string"}"#;
        assert_eq!(said("anyOf", "", text), [("secret", "/components/schemas/Event/anyOf/1".to_owned())]);
        assert_eq!(said("oneOf", "", text), [("secret", "/components/schemas/Event/oneOf/1".to_owned())]);
        assert_eq!(said("oneOf", "", r#"{"const": "opened"}"#), []);
        assert_eq!(said("anyOf", "", r#"{"const": "opened"}"#), []);
        assert_eq!(said("anyOf", r#""additionalProperties": false,"#, text), []);
    }

    #[test]
    fn what_a_type_of_the_owner_prints_is_the_owners_matter() {
        let members = r##""a": {"type": "string", "minLength": 3},
            "b": {"allOf": [{"$ref": "#/properties/a"}], "maxLength": 9}"##;
        let said = said(members, &["properties/a"], &[("properties/b", "my::Own")]);
        assert_eq!(said.len(), 0, "{said}");
    }

    /// What shows a secret is not always where it is described.
    #[test]
    fn both_what_shows_a_secret_and_the_secret_are_pointed_at() {
        let members = r##""a": {"description": "Any."},
            "b": {"allOf": [{"$ref": "#/properties/a"}], "type": "integer"}"##;
        let said = said(members, &["properties/a"], &[]);
        let labels: Vec<(&str, &str)> = said
            .iter()
            .flat_map(|each| &each.labels)
            .map(|(place, why)| (place.pointer.as_str(), why.as_str()))
            .collect();
        let expect =
            [("/properties/b", "it is held as `i64`, which prints"), ("/properties/a", "this is secret")];
        assert_eq!(labels, expect);
    }
}
