//! Views (`[[view]]`): generated traits over several types with common properties, or over several client
//! calls with common parameters. Code that uses a view works for all of these types or calls.
//!
//! [`resolve_views`] determines the content of each view; [`views_module`] and [`call_views_module`] generate
//! code from it. A getter has the same signature in all implementations: a property with different types
//! becomes an associated type, and a property with incompatible types is an error.

mod calls;
mod problems;
mod write;

use std::collections::BTreeSet;

use self::problems::ViewProblems;
pub use self::{
    calls::{CallView, SharedParameter},
    write::{call_views_module, views_module},
};
use crate::{
    config::{Config, ViewConfig},
    diagnostics::Diagnostics,
    names,
    plan::{SidePlan, description_of},
    schema::{SchemaGraph, SchemaId},
    shape::{Shapes, StructField, TypeBody, TypeId, TypeRef, display_type},
};

/// The views of a contract.
#[derive(Debug, Default)]
pub struct ContractViews<'a> {
    /// The views whose configuration lists `types`.
    pub types: Vec<TypeView<'a>>,
    /// The views whose configuration lists `operations`.
    pub calls: Vec<CallView<'a>>,
}

/// A view over types, for which a trait is generated.
#[derive(Debug)]
pub struct TypeView<'a> {
    /// The `[[view]]` table of the view.
    pub view: &'a ViewConfig,
    /// The properties that all types of the view have, in the order of the configuration.
    pub members: Vec<ViewMember>,
    /// The types that implement the trait, each with its fields for `members`, in the same order.
    pub types: Vec<(TypeId, Vec<&'a StructField>)>,
}

/// A property that all types of a view have.
#[derive(Debug)]
pub struct ViewMember {
    /// The name of the property in JSON.
    pub wire: String,
    /// The name of the getter.
    pub name: String,
    /// The description of the property, if it is the same in all types.
    pub doc: Option<String>,
    /// True if the property is optional in at least one type.
    pub optional: bool,
    /// The type that the getter returns.
    pub holds: MemberType,
}

/// The type that the getter of a property returns.
#[derive(Debug)]
pub enum MemberType {
    /// The property has the same type in all types of the view.
    Same(TypeRef),
    /// The property has different types, which become an associated type.
    Each(AssociatedType),
    /// The property is a list. The types of its elements differ and become an associated type.
    ListOf(AssociatedType),
}

/// The associated type for a property that has different types in the types of a view.
#[derive(Debug)]
pub struct AssociatedType {
    /// The name of the associated type.
    pub name: String,
    /// The concrete type for each type of the view, in the order of these types.
    pub types: Vec<TypeRef>,
}

impl ViewMember {
    /// Returns the associated type of the property, or `None` if the property has the same type in all types
    /// of the view.
    #[must_use]
    pub const fn associated_type(&self) -> Option<&AssociatedType> {
        match &self.holds {
            MemberType::Same(_) => None,
            MemberType::Each(associated) | MemberType::ListOf(associated) => Some(associated),
        }
    }
}

/// Resolves the views of a contract. `listed` contains, for each configured view, the schemas of its types
/// that remain after operations were selected. A view without remaining types or calls is omitted.
#[must_use]
pub fn resolve_views<'a>(
    config: &'a Config,
    (graph, shapes): (&'a SchemaGraph, &'a Shapes),
    listed: &[Vec<SchemaId>],
    plan: &'a SidePlan<'a>,
    diagnostics: &mut Diagnostics,
) -> ContractViews<'a> {
    let mut found = ContractViews::default();
    let mut valid = Vec::new();
    for (index, view) in config.views.iter().enumerate() {
        let mut problems = ViewProblems { config, index, view, found: diagnostics };
        if problems.check_options() {
            valid.push((index, view));
        }
    }
    let (over_types, over_calls): (Vec<_>, Vec<_>) =
        valid.into_iter().partition(|(_, view)| !view.types.is_empty());
    for (index, view) in over_types {
        let mut problems = ViewProblems { config, index, view, found: diagnostics };
        let schemas = listed.get(index).map_or(&[][..], Vec::as_slice);
        found.types.extend(type_view(schemas, (graph, shapes), &mut problems));
    }
    for (index, view) in over_calls {
        let mut problems = ViewProblems { config, index, view, found: diagnostics };
        found.calls.extend(calls::call_view(plan, &found.types, shapes, &mut problems));
    }
    found
}

fn type_view<'a>(
    schemas: &[SchemaId],
    (graph, shapes): (&'a SchemaGraph, &'a Shapes),
    problems: &mut ViewProblems<'a, '_>,
) -> Option<TypeView<'a>> {
    let view = problems.view;
    let mut types: Vec<(TypeId, Vec<&StructField>)> = Vec::new();
    let mut whole = true;
    for &schema in schemas {
        let Some((id, fields)) = struct_of(schema, shapes) else {
            problems.report_no_struct(&graph.absolute_location(schema));
            whole = false;
            continue;
        };
        if types.iter().any(|(known, _)| *known == id) {
            continue;
        }
        let found = view.members.iter().filter_map(|member| {
            let field = fields.iter().find(|field| field.wire == *member && !field.omitted);
            if field.is_none() {
                problems.report_missing_member(member, &shapes.get(id).name, fields);
            }
            field
        });
        let found: Vec<&StructField> = found.collect();
        whole &= found.len() == view.members.len();
        types.push((id, found));
    }
    if types.is_empty() || !whole {
        return None;
    }
    let mut members: Vec<ViewMember> = Vec::new();
    for (at, wire) in view.members.iter().enumerate() {
        let of: Vec<(TypeId, &StructField)> =
            types.iter().filter_map(|(id, fields)| Some((*id, *fields.get(at)?))).collect();
        let mut docs =
            of.iter().map(|(_, field)| field.described_by.and_then(|id| description_of(graph, id)));
        let first = docs.next().flatten();
        let doc = first.filter(|first| docs.all(|doc| doc.as_ref() == Some(first)));
        let optional = of.iter().any(|(_, field)| !field.required);
        let Some(holds) = member_type(wire, &of, shapes, problems) else {
            whole = false;
            continue;
        };
        members.push(ViewMember { wire: wire.clone(), name: names::field_name(wire), doc, optional, holds });
    }
    (whole && check_associated(&members, problems)).then_some(TypeView { view, members, types })
}

/// Returns the struct that is generated for a schema, with its fields. Returns `None` if the type of the
/// schema is not a struct.
fn struct_of(schema: SchemaId, shapes: &Shapes) -> Option<(TypeId, &[StructField])> {
    let TypeRef::Named(id) = strip_boxes(shapes.type_of_schema(schema)) else { return None };
    let TypeBody::Struct(body) = &shapes.get(*id).body else { return None };
    Some((*id, &body.fields))
}

/// Returns the type of the property `wire` in a view over the types `of`. Returns `None` and reports an error
/// if its types are incompatible.
fn member_type(
    wire: &str,
    of: &[(TypeId, &StructField)],
    shapes: &Shapes,
    problems: &mut ViewProblems<'_, '_>,
) -> Option<MemberType> {
    let all: Vec<&TypeRef> = of.iter().map(|(_, field)| strip_boxes(&field.ty)).collect();
    let first = *all.first()?;
    let chosen = problems.view.associated.get(wire).cloned();
    // A configured associated type is kept even if all types are equal, because a selection of operations may
    // have removed the others.
    if chosen.is_none() && all.iter().all(|ty| ty.is_same_rust_type(first)) {
        return Some(MemberType::Same(first.clone()));
    }
    let element = |ty: &&TypeRef| match ty {
        TypeRef::Vec(inner) => Some((**inner).clone()),
        _ => None,
    };
    if let Some(types) = all.iter().map(element).collect::<Option<Vec<_>>>() {
        let name = chosen.unwrap_or_else(|| element_name(wire));
        return Some(MemberType::ListOf(AssociatedType { name, types }));
    }
    // Types that differ only in `Box` do not become an associated type automatically.
    let alike =
        chosen.is_none() && all.iter().all(|ty| without_boxes(ty).is_same_rust_type(&without_boxes(first)));
    let other = of.iter().find(|(_, field)| {
        let ty = strip_boxes(&field.ty);
        container_kind(ty) != container_kind(first) || (alike && !ty.is_same_rust_type(first))
    });
    if let (Some(one), Some(other)) = (of.first(), other) {
        let describe = |(id, field): &(TypeId, &StructField)| {
            format!("`{}` in `{}`", display_type(shapes, strip_boxes(&field.ty)), shapes.get(*id).name)
        };
        problems.report(
            ("members", wire),
            &format!("has incompatible types for `{wire}`: {} and {}", describe(one), describe(other)),
            if alike {
                "omit the member, or name a type for it in `associated`: one of the types is boxed because it \
                 would contain itself"
            } else {
                "omit the member, or use separate views for the incompatible types"
            },
        );
        return None;
    }
    let name = chosen.unwrap_or_else(|| names::type_name(&names::variant_name(wire)));
    Some(MemberType::Each(AssociatedType { name, types: all.into_iter().cloned().collect() }))
}

/// Returns a number for the kind of container that a type is, such as a list or map. All types that the
/// implementations of a view assign to one associated type must have the same number.
const fn container_kind(ty: &TypeRef) -> u8 {
    match ty {
        TypeRef::Vec(_) => 1,
        TypeRef::Map(_) => 2,
        TypeRef::Nullable(_) => 3,
        TypeRef::Tuple(_) => 4,
        _ => 0,
    }
}

/// Checks that the associated types of a view have unique and valid names, and that each configured one
/// belongs to a property of the view.
fn check_associated(members: &[ViewMember], problems: &mut ViewProblems<'_, '_>) -> bool {
    let view = problems.view;
    let mut good = true;
    let mut seen = BTreeSet::new();
    for (wire, name) in members.iter().filter_map(|m| Some((&m.wire, &m.associated_type()?.name))) {
        if names::type_name(name) != *name {
            let help = "choose a name such as `Item`";
            problems.report(("associated", name), &format!("has the invalid type name `{name}`"), help);
        } else if !seen.insert(name) {
            let help = format!("name it in `associated`, as in `associated = {{ {wire} = \"Item\" }}`");
            problems.report(
                ("members", wire),
                &format!("has two associated types with the name `{name}`"),
                &help,
            );
        } else {
            continue;
        }
        good = false;
    }
    for wire in view.associated.keys().filter(|wire| !view.members.contains(wire)) {
        let help = "add it to `members`, or remove it from `associated`";
        problems.report(
            ("associated", wire),
            &format!("names a type for `{wire}`, which is not one of its members"),
            help,
        );
        good = false;
    }
    good
}

/// Derives the name for the elements of a list: `items` becomes `Item`, and `entries` becomes `Entry`. Names
/// for which no singular is known become `…Item`.
fn element_name(wire: &str) -> String {
    let name = names::variant_name(wire);
    match name.strip_suffix('s') {
        Some(one) if one.ends_with("ie") => names::type_name(&format!("{}y", one.trim_end_matches("ie"))),
        Some(one) if one.len() > 1 && !one.ends_with('s') => names::type_name(one),
        _ => format!("{name}Item"),
    }
}

/// Returns the type inside a `Box`, or the type itself. Getters do not expose boxes.
fn strip_boxes(ty: &TypeRef) -> &TypeRef {
    match ty {
        TypeRef::Boxed(inner) => strip_boxes(inner),
        ty => ty,
    }
}

/// Removes all boxes from a type.
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
