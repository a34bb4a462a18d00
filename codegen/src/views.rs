//! Traits over types of one outline, and over calls that take the same parameters (`[[view]]`), so
//! that code for all of them is written once.
//!
//! What a view says is decided here, as plain data; [`types`] and [`calls`] print it. A getter has
//! one type in all implementations: a member that holds another type in each of them, or whose type
//! the owner names, becomes an associated type, and a difference that none can say is an error.

mod calls;
mod problems;
mod write;

use std::collections::BTreeSet;

use self::problems::Problems;
pub use self::{
    calls::{CallView, Shared},
    write::{calls, types},
};
use crate::{
    config::{Config, View},
    diagnostics::Diagnostics,
    names,
    plan::{Plan, described},
    schema::{Graph, SchemaId},
    shape::{Body, Field, Shapes, TypeId, TypeRef, text},
};

/// The views of a contract.
#[derive(Debug, Default)]
pub struct Views<'a> {
    /// Those over types.
    pub types: Vec<TypeView<'a>>,
    /// Those over calls.
    pub calls: Vec<CallView<'a>>,
}

/// A trait over types.
#[derive(Debug)]
pub struct TypeView<'a> {
    /// What its owner says of it.
    pub view: &'a View,
    /// What all types have.
    pub members: Vec<Member>,
    /// The types, and the fields of the members, in the order of the members.
    pub types: Vec<(TypeId, Vec<&'a Field>)>,
}

/// A member that all types of a view have.
#[derive(Debug)]
pub struct Member {
    /// Its name on the wire.
    pub wire: String,
    /// The getter.
    pub name: String,
    /// What is said of it, when all types say the same.
    pub doc: Option<String>,
    /// Whether some type may leave it out.
    pub optional: bool,
    /// What it holds.
    pub holds: Holds,
}

/// What a member holds.
#[derive(Debug)]
pub enum Holds {
    /// One type everywhere.
    Same(TypeRef),
    /// A type of its own in each type.
    Each(Associated),
    /// A list of such.
    ListOf(Associated),
}

/// A type that differs.
#[derive(Debug)]
pub struct Associated {
    /// Its name.
    pub name: String,
    /// What it is, in the order of the view's types.
    pub types: Vec<TypeRef>,
}

impl Member {
    /// The associated type, when there is one.
    #[must_use]
    pub const fn associated(&self) -> Option<&Associated> {
        match &self.holds {
            Holds::Same(_) => None,
            Holds::Each(associated) | Holds::ListOf(associated) => Some(associated),
        }
    }
}

/// Decides the views of a contract; `listed` are the schemas of each one's types, as far as they are
/// in the part that is generated. A view of which that part has nothing is left out.
#[must_use]
pub fn views<'a>(
    config: &'a Config,
    (graph, shapes): (&'a Graph, &'a Shapes),
    listed: &[Vec<SchemaId>],
    plan: &'a Plan<'a>,
    diagnostics: &mut Diagnostics,
) -> Views<'a> {
    let mut found = Views::default();
    let mut asked = Vec::new();
    for (index, view) in config.views.iter().enumerate() {
        let mut problems = Problems { config, index, view, found: diagnostics };
        if problems.form() {
            asked.push((index, view));
        }
    }
    let (over_types, over_calls): (Vec<_>, Vec<_>) =
        asked.into_iter().partition(|(_, view)| !view.types.is_empty());
    for (index, view) in over_types {
        let mut problems = Problems { config, index, view, found: diagnostics };
        let schemas = listed.get(index).map_or(&[][..], Vec::as_slice);
        found.types.extend(type_view(schemas, (graph, shapes), &mut problems));
    }
    for (index, view) in over_calls {
        let mut problems = Problems { config, index, view, found: diagnostics };
        found.calls.extend(calls::call_view(plan, &found.types, shapes, &mut problems));
    }
    found
}

fn type_view<'a>(
    schemas: &[SchemaId],
    (graph, shapes): (&'a Graph, &'a Shapes),
    problems: &mut Problems<'a, '_>,
) -> Option<TypeView<'a>> {
    let view = problems.view;
    let mut types: Vec<(TypeId, Vec<&Field>)> = Vec::new();
    let mut whole = true;
    for &schema in schemas {
        let Some((id, fields)) = struct_of(schema, shapes) else {
            problems.no_struct(&graph.location(schema));
            whole = false;
            continue;
        };
        if types.iter().any(|(known, _)| *known == id) {
            continue;
        }
        let found = view.members.iter().filter_map(|member| {
            let field = fields.iter().find(|field| field.wire == *member && !field.omitted);
            if field.is_none() {
                problems.no_member(member, &shapes.get(id).name, fields);
            }
            field
        });
        let found: Vec<&Field> = found.collect();
        whole &= found.len() == view.members.len();
        types.push((id, found));
    }
    if types.is_empty() || !whole {
        return None;
    }
    let mut members: Vec<Member> = Vec::new();
    for (at, wire) in view.members.iter().enumerate() {
        let of: Vec<(TypeId, &Field)> =
            types.iter().filter_map(|(id, fields)| Some((*id, *fields.get(at)?))).collect();
        let mut docs = of.iter().map(|(_, field)| field.describe.and_then(|id| described(graph, id)));
        let first = docs.next().flatten();
        let doc = first.filter(|first| docs.all(|doc| doc.as_ref() == Some(first)));
        let optional = of.iter().any(|(_, field)| !field.required);
        let Some(holds) = holds(wire, &of, shapes, problems) else {
            whole = false;
            continue;
        };
        members.push(Member { wire: wire.clone(), name: names::field_name(wire), doc, optional, holds });
    }
    (whole && check_associated(&members, problems)).then_some(TypeView { view, members, types })
}

/// The struct of a schema and its fields.
fn struct_of(schema: SchemaId, shapes: &Shapes) -> Option<(TypeId, &[Field])> {
    let TypeRef::Named(id) = unboxed(shapes.of(schema)) else { return None };
    let Body::Struct(body) = &shapes.get(*id).body else { return None };
    Some((*id, &body.fields))
}

/// What a member holds in each of the types; an error where they differ in form.
fn holds(
    wire: &str,
    of: &[(TypeId, &Field)],
    shapes: &Shapes,
    problems: &mut Problems<'_, '_>,
) -> Option<Holds> {
    let all: Vec<&TypeRef> = of.iter().map(|(_, field)| unboxed(&field.ty)).collect();
    let first = *all.first()?;
    let chosen = problems.view.associated.get(wire).cloned();
    // What its owner named stays: the part that is generated may have one of the types alone.
    if chosen.is_none() && all.iter().all(|ty| ty.is_as_rust(first)) {
        return Some(Holds::Same(first.clone()));
    }
    let element = |ty: &&TypeRef| match ty {
        TypeRef::Vec(inner) => Some((**inner).clone()),
        _ => None,
    };
    if let Some(types) = all.iter().map(element).collect::<Option<Vec<_>>>() {
        let name = chosen.unwrap_or_else(|| element_name(wire));
        return Some(Holds::ListOf(Associated { name, types }));
    }
    // A box inside one of them is no reason for an associated type that nobody named.
    let alike = chosen.is_none() && all.iter().all(|ty| without_boxes(ty).is_as_rust(&without_boxes(first)));
    let other = of.iter().find(|(_, field)| {
        let ty = unboxed(&field.ty);
        form(ty) != form(first) || (alike && !ty.is_as_rust(first))
    });
    if let (Some(one), Some(other)) = (of.first(), other) {
        let said = |(id, field): &(TypeId, &Field)| {
            format!("`{}` in `{}`", text(shapes, unboxed(&field.ty)), shapes.get(*id).name)
        };
        problems.say(
            ("members", wire),
            &format!("cannot say what `{wire}` holds: {} and {}", said(one), said(other)),
            if alike {
                "leave the member out, or name a type for it in `associated`: a pointer stands where a type \
                 would contain itself"
            } else {
                "leave the member out, or make a view of the types that agree"
            },
        );
        return None;
    }
    let name = chosen.unwrap_or_else(|| names::type_name(&names::variant_name(wire)));
    Some(Holds::Each(Associated { name, types: all.into_iter().cloned().collect() }))
}

/// What stands around a type; one associated type stands for types of one form only.
const fn form(ty: &TypeRef) -> u8 {
    match ty {
        TypeRef::Vec(_) => 1,
        TypeRef::Map(_) => 2,
        TypeRef::Nullable(_) => 3,
        TypeRef::Tuple(_) => 4,
        _ => 0,
    }
}

/// Whether associated types have names of their own, and every chosen name is that of a member.
fn check_associated(members: &[Member], problems: &mut Problems<'_, '_>) -> bool {
    let view = problems.view;
    let mut good = true;
    let mut seen = BTreeSet::new();
    for (wire, name) in members.iter().filter_map(|m| Some((&m.wire, &m.associated()?.name))) {
        if names::model_name(name) != *name {
            let help = "choose a name such as `Item`";
            problems.say(("associated", name), &format!("cannot call a type `{name}`"), help);
        } else if !seen.insert(name) {
            let help = format!("name it in `associated`, as in `associated = {{ {wire} = \"Item\" }}`");
            problems.say(("members", wire), &format!("has two types called `{name}`"), &help);
        } else {
            continue;
        }
        good = false;
    }
    for wire in view.associated.keys().filter(|wire| !view.members.contains(wire)) {
        let help = "name it in `members` too, or remove it from `associated`";
        problems.say(
            ("associated", wire),
            &format!("names a type for `{wire}`, which is none of its members"),
            help,
        );
        good = false;
    }
    good
}

/// `items` → `Item`, `entries` → `Entry`; what has no singular of that kind is `…Item`.
fn element_name(wire: &str) -> String {
    let name = names::variant_name(wire);
    match name.strip_suffix('s') {
        Some(one) if one.ends_with("ie") => names::type_name(&format!("{}y", one.trim_end_matches("ie"))),
        Some(one) if one.len() > 1 && !one.ends_with('s') => names::type_name(one),
        _ => format!("{name}Item"),
    }
}

/// A box is no difference: it is there for the size of another type.
fn unboxed(ty: &TypeRef) -> &TypeRef {
    match ty {
        TypeRef::Boxed(inner) => unboxed(inner),
        ty => ty,
    }
}

/// A type as it would be if none stood behind a pointer.
fn without_boxes(ty: &TypeRef) -> TypeRef {
    let inside = |inner: &TypeRef| Box::new(without_boxes(inner));
    match ty {
        TypeRef::Boxed(inner) => without_boxes(inner),
        TypeRef::Nullable(inner) => TypeRef::Nullable(inside(inner)),
        TypeRef::Vec(inner) => TypeRef::Vec(inside(inner)),
        TypeRef::Map(inner) => TypeRef::Map(inside(inner)),
        TypeRef::Tuple(all) => TypeRef::Tuple(all.iter().map(without_boxes).collect()),
        ty => ty.clone(),
    }
}

#[cfg(test)]
mod tests;
