//! Determines which types may contain values of a certain kind, such as secrets, directly or nested. The
//! caller defines the kind by predicates.

use super::{Shapes, TypeBody, TypeDef, TypeId, TypeRef};
use crate::arena::ArenaMap;

/// The result for all types of a contract: true for each type that may contain values of the kind.
#[derive(Debug)]
pub(crate) struct ContainmentIndex {
    by_type: ArenaMap<TypeDef, bool>,
    place_matches: fn(&TypeRef) -> bool,
}

impl ContainmentIndex {
    /// Computes the index from predicates for the kind: a value is of the kind if `body` returns true for the
    /// structure of its type or `place` returns true for the reference to its type.
    pub(crate) fn from_predicates(
        shapes: &Shapes,
        body: fn(&TypeBody) -> bool,
        place: fn(&TypeRef) -> bool,
    ) -> Self {
        let mut all =
            Self { by_type: shapes.types.map_ids(|id| body(&shapes.get(id).body)), place_matches: place };
        loop {
            let mut changed = false;
            for id in shapes.ids().filter(|id| !all.by_type[*id]).collect::<Vec<_>>() {
                let now = shapes.get(id).body.type_refs().any(|ty| all.place_contains(ty));
                changed |= now;
                all.by_type[id] = now;
            }
            if !changed {
                return all;
            }
        }
    }

    /// Returns true if a value of this type may contain a value of the kind.
    pub(crate) fn type_contains(&self, id: TypeId) -> bool {
        self.by_type[id]
    }

    /// Returns true if a value with this type reference may contain a value of the kind.
    pub(crate) fn place_contains(&self, ty: &TypeRef) -> bool {
        (self.place_matches)(ty)
            || match ty {
                TypeRef::Named(id) => self.type_contains(*id),
                TypeRef::Vec(t) | TypeRef::Map(t) | TypeRef::Nullable(t) | TypeRef::Boxed(t) => {
                    self.place_contains(t)
                }
                TypeRef::Tuple(all) => all.iter().any(|t| self.place_contains(t)),
                TypeRef::Json
                | TypeRef::Bool
                | TypeRef::Int(_)
                | TypeRef::Number
                | TypeRef::String
                | TypeRef::Secret
                | TypeRef::Replaced(..) => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::{ContainmentIndex, TypeBody, TypeRef};
    use crate::{config::Config, generate::Project, load::Sources};

    /// A type contains a secret if the secret is nested in it through lists, maps, nullable types, unions or
    /// recursive types.
    #[test]
    fn nested_types_are_contained() {
        let text = r##"{"$defs": {
            "token": {"type": "string", "minLength": 1},
            "other": {"type": "object", "properties": {"a": {"type": "string"}, "next": {"$ref": "#/$defs/other"}}},
            "keys": {"type": "object", "additionalProperties": {"$ref": "#/$defs/holder"}, "properties": {"b": true}},
            "holder": {"type": "object", "properties": {
                "list": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/token"}, {"type": "null"}]}},
                "next": {"$ref": "#/$defs/holder"}
            }},
            "either": {"oneOf": [{"type": "integer"}, {"$ref": "#/$defs/keys"}]}
        }}"##;
        let config = Config { secrets: vec!["#/$defs/token".to_owned()], ..Config::default() };
        let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
        let contract = Project { config, ..Project::default() }.analyze_sources(sources).unwrap();
        let shapes = &contract.shapes;
        let secrets = ContainmentIndex::from_predicates(shapes, |_| false, |ty| *ty == TypeRef::Secret);
        let contained_names = |holders: &ContainmentIndex| {
            let contained = shapes.ids().filter(|id| holders.type_contains(*id));
            let mut names: Vec<&str> = contained.map(|id| shapes.get(id).name.as_str()).collect();
            names.sort_unstable();
            names
        };
        assert_eq!(contained_names(&secrets), ["Either", "Holder", "Keys", "Token"]);
        let kinds =
            ContainmentIndex::from_predicates(shapes, |body| matches!(body, TypeBody::ByKind(_)), |_| false);
        assert_eq!(contained_names(&kinds), ["Either"]);
    }
}
