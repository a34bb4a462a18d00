//! Removes types that no other type and no operation uses: those of base schemas that occur only in an
//! `allOf`, of generic schemas that other schemas complete, and of tags without a field.

use std::collections::BTreeSet;

use super::{Shapes, TypeBody, TypeDef, TypeId, TypeRef};
use crate::{
    arena::{Arena, ArenaMap},
    schema::{SchemaGraph, SchemaId, SchemaOrigin, reachable::reachable_schemas},
};

/// Removes the types that are reachable neither from `places` nor from named schemas that are more than a
/// base for other schemas. `places` are the schemas that operations use.
pub(super) fn remove_unused_types(graph: &SchemaGraph, shapes: &mut Shapes, places: &BTreeSet<SchemaId>) {
    let parts = base_schemas(graph, shapes, places);
    let mut kept: BTreeSet<TypeId> = BTreeSet::new();
    let mut work: Vec<TypeId> = Vec::new();
    for id in shapes.ids() {
        let named = shapes.get(id).schema;
        let is_used = |schema: &SchemaId| {
            !parts.contains(schema)
                && !graph.schema(*schema).is_generic
                && !shapes.unexchanged.contains(schema)
        };
        work.extend(named.filter(is_used).map(|_| id));
    }
    for &place in places {
        shapes.type_of_schema(place).collect_named(&mut work);
    }
    while let Some(id) = work.pop() {
        if kept.insert(id) {
            shapes.get(id).body.type_refs().for_each(|ty| ty.collect_named(&mut work));
        }
    }
    if kept.len() == shapes.types.len() {
        return;
    }
    let mut left = Arena::<TypeDef>::first_ids(kept.len());
    let numbers = shapes.types.map_ids(|id| if kept.contains(&id) { left.next() } else { None });
    let types = std::mem::take(&mut shapes.types);
    let ids: Vec<TypeId> = types.ids().collect();
    for (id, mut def) in ids.into_iter().zip(types) {
        change_types(&mut def.body, &mut |ty| renumber_type(ty, &numbers));
        if numbers[id].is_some() {
            shapes.types.push(def);
        } else if matches!(def.body, TypeBody::Objects(_)) {
            shapes.parts.push(def);
        }
    }
    shapes.places.retain(|_, ty| is_kept(ty, &numbers));
    shapes.places.values_mut().for_each(|ty| renumber_type(ty, &numbers));
}

/// Removes the schemas from `unexchanged` that a type or another schema uses. For example, a reference may
/// point into an omitted body.
pub(super) fn retain_unreachable(graph: &SchemaGraph, shapes: &mut Shapes) {
    if shapes.unexchanged.is_empty() {
        return;
    }
    let seeds = graph.ids().filter(|id| !shapes.unexchanged.contains(id));
    let of_types = shapes.types.iter().flat_map(|def| def.conj.ids.iter().copied());
    let reachable = reachable_schemas(graph, seeds.chain(of_types).collect());
    shapes.unexchanged.retain(|id| !reachable.contains(id));
}

/// The new id of each type, or `None` if the type is removed.
type NewIds = ArenaMap<TypeDef, Option<TypeId>>;

/// Returns the definitions and components that other schemas only extend, by `allOf` or by `$ref` with
/// further keywords. No value has their type.
fn base_schemas(graph: &SchemaGraph, shapes: &Shapes, places: &BTreeSet<SchemaId>) -> BTreeSet<SchemaId> {
    let end = |id: SchemaId| shapes.aliases.get(&id).copied().unwrap_or(id);
    let mut taken_in = BTreeSet::new();
    let mut whole: BTreeSet<SchemaId> = places.iter().map(|&id| end(id)).collect();
    for id in graph.ids() {
        let schema = graph.schema(id);
        // An alias does not extend its target. A named alias counts as a use of the target.
        if let Some(target) = shapes.aliases.get(&id) {
            whole.extend(Some(*target).filter(|_| schema.origin != SchemaOrigin::Inline));
            continue;
        }
        // A base with an enum of its children is used as a type, because the configuration requests the enum.
        whole.extend(Some(id).filter(|_| !schema.family_members().is_empty()));
        let inside: BTreeSet<SchemaId> = schema.reference.iter().chain(&schema.all_of).copied().collect();
        whole.extend(schema.child_schemas().filter(|child| !inside.contains(child)).map(end));
        taken_in.extend(inside.into_iter().map(end));
    }
    taken_in.retain(|id| {
        let named =
            matches!(graph.schema(*id).origin, SchemaOrigin::Definition(_) | SchemaOrigin::Component(_));
        named && !whole.contains(id)
    });
    taken_in
}

fn change_types(body: &mut TypeBody, change: &mut dyn FnMut(&mut TypeRef)) {
    match body {
        TypeBody::Struct(body) => {
            body.fields.iter_mut().for_each(|f| change(&mut f.ty));
            body.additional.iter_mut().for_each(change);
        }
        TypeBody::Objects(body) => body.content_types_mut().for_each(change),
        TypeBody::ByKind(variants) => variants.iter_mut().for_each(|v| change(&mut v.ty)),
        TypeBody::Newtype(inner) => change(inner),
        TypeBody::Enum(_) | TypeBody::Pending => {}
    }
}

fn is_kept(ty: &TypeRef, numbers: &NewIds) -> bool {
    let mut named_ids = Vec::new();
    ty.collect_named(&mut named_ids);
    named_ids.iter().all(|id| numbers[*id].is_some())
}

/// Replaces the ids in a type reference by the new ids. A reference to a removed type becomes `String`; such
/// references occur only in omitted fields and in removed types.
fn renumber_type(ty: &mut TypeRef, numbers: &NewIds) {
    match ty {
        TypeRef::Named(id) => match numbers[*id] {
            Some(number) => *id = number,
            None => *ty = TypeRef::String,
        },
        TypeRef::Vec(t) | TypeRef::Map(t) | TypeRef::Nullable(t) | TypeRef::Boxed(t) => {
            renumber_type(t, numbers)
        }
        TypeRef::Tuple(all) => all.iter_mut().for_each(|t| renumber_type(t, numbers)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::{generate::Project, load::Sources};

    fn check(families: &[&str], schemas: &str, expected: &[&str]) {
        let text = format!(
            "openapi: 3.0.3\ninfo: {{ title: T, version: '1' }}\npaths: {{}}\ncomponents:\n  schemas:\n{schemas}"
        );
        let mut project = Project::default();
        project.config.types.families = Some(families.iter().map(|&family| family.to_owned()).collect());
        let contract =
            project.analyze_sources(Sources::from_texts(&[("api.yaml", "", &text)]).unwrap()).unwrap();
        let mut names: Vec<&str> = contract.shapes.types.iter().map(|def| def.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{schemas}");
    }

    const NAME: &str = "    Name: { type: object, properties: { a: { type: string } } }\n";
    const MORE: &str = "    More: { allOf: [{ $ref: '#/components/schemas/Name' }, { required: [a] }] }\n";

    /// A schema that other schemas only extend has no type, unless a named schema refers to it without
    /// further keywords.
    #[test]
    fn targets_of_named_aliases_have_a_type() {
        check(&[], &format!("{NAME}{MORE}"), &["More"]);
        for alias in
            ["{ $ref: '#/components/schemas/Name' }", "{ allOf: [{ $ref: '#/components/schemas/Name' }] }"]
        {
            check(&[], &format!("{NAME}{MORE}    Alias: {alias}\n"), &["More", "Name"]);
        }
    }

    /// A media type that is not exchanged has neither types nor table rows, unless an exchanged one has an equal
    /// schema. Components always have a type.
    #[test]
    fn media_types_without_code_have_no_types() {
        let object = |name: &str| {
            format!(
                "{{ type: object, properties: {{ {name}: {{ type: object, properties: {{ own: {{ type: string }} }} }} }} }}"
            )
        };
        let printed = |json: &str, other: &str, options: &str| {
            let text = format!(
                "openapi: 3.1.0\ninfo: {{ title: T, version: '1' }}\npaths:\n  /a:\n    post:\n      operationId: a\n      \
                 requestBody: {{ content: {{ application/xml: {{ schema: {other} }}, application/json: {{ schema: {json} }} }} }}\n      \
                 responses: {{ '200': {{ description: '', content: {{ application/json: {{ schema: {json} }}, text/csv: {{ schema: {other} }} }} }} }}\n\
                 components: {{ schemas: {{ Name: {{ type: object, properties: {{ a: {{ type: string }} }} }} }} }}\n"
            );
            let project = Project { config: toml::from_str(options).unwrap(), ..Project::default() };
            let contract = project.analyze_sources(Sources::from_texts(&[("api.yaml", "", &text)]).unwrap());
            let code = project.generate_from(contract.unwrap()).unwrap();
            let mut names: Vec<String> =
                code.contract.shapes.types.iter().map(|def| def.name.clone()).collect();
            names.sort_unstable();
            let file = |name: &str| code.files.iter().any(|(_, text)| text.contains(name));
            (names.join(" "), file("unsent"))
        };
        let all = "operations.media = ['*/*']";
        let (json, other) = (object("json"), object("unsent"));
        assert_eq!(
            printed(&json, &other, ""),
            ("ABody ABodyJson AResponse AResponseJson Name".to_owned(), false)
        );
        assert!(printed(&json, &other, all).1);
        assert_eq!(
            printed(&json, "{ $ref: '#/components/schemas/Name' }", "").0,
            "ABody ABodyJson AResponse AResponseJson Name"
        );
        assert_eq!(
            printed(&json, &json, ""),
            ("ABody ABodyJson AResponse AResponseJson Name".to_owned(), false)
        );
        assert_eq!(printed("{ $ref: '#/components/schemas/Name' }", &other, ""), ("Name".to_owned(), false));
    }

    #[test]
    fn families_have_a_type_without_operations() {
        let base = "    Base: { type: object, required: [kind], properties: { kind: { type: string } }, discriminator: { propertyName: kind } }\n";
        let child = "    Child: { allOf: [{ $ref: '#/components/schemas/Base' }, { properties: { b: { type: string } } }] }\n";
        check(&[], &format!("{base}{child}"), &["Child"]);
        check(&["#/components/schemas/Base"], &format!("{base}{child}"), &["Base", "BaseBase", "Child"]);
    }
}
