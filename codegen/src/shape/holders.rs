//! Which types hold what somebody asks about, themselves or in what stands inside them.

use super::{Body, Shapes, TypeDef, TypeId, TypeRef};
use crate::arena::ById;

/// The answer for each type of a contract.
#[derive(Debug)]
pub(crate) struct Holders {
    known: ById<TypeDef, bool>,
    place: fn(&TypeRef) -> bool,
}

impl Holders {
    /// The types of which `body` says yes, or `place` of a place inside them, and all types that
    /// hold one of these, at any depth.
    pub(crate) fn of(shapes: &Shapes, body: fn(&Body) -> bool, place: fn(&TypeRef) -> bool) -> Self {
        let mut all = Self { known: shapes.types.map(|id| body(&shapes.get(id).body)), place };
        loop {
            let mut changed = false;
            for id in shapes.ids().filter(|id| !all.known[*id]).collect::<Vec<_>>() {
                let now = shapes.get(id).body.places().any(|ty| all.of_place(ty));
                changed |= now;
                all.known[id] = now;
            }
            if !changed {
                return all;
            }
        }
    }

    /// Whether a value of the type may hold it.
    pub(crate) fn of_type(&self, id: TypeId) -> bool {
        self.known[id]
    }

    /// Whether what stands at a place may hold it.
    pub(crate) fn of_place(&self, ty: &TypeRef) -> bool {
        (self.place)(ty)
            || match ty {
                TypeRef::Named(id) => self.of_type(*id),
                TypeRef::Vec(t) | TypeRef::Map(t) | TypeRef::Nullable(t) | TypeRef::Boxed(t) => {
                    self.of_place(t)
                }
                TypeRef::Tuple(all) => all.iter().any(|t| self.of_place(t)),
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
    use super::{Body, Holders, TypeRef};
    use crate::{config::Config, generate::Project, load::Sources};

    /// Through lists, maps, `null`, unions and themselves.
    #[test]
    fn what_stands_inside_is_held() {
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
        let contract = Project { config, ..Project::default() }.understand(sources).unwrap();
        let shapes = &contract.shapes;
        let secrets = Holders::of(shapes, |_| false, |ty| *ty == TypeRef::Secret);
        let named = |holders: &Holders| {
            let held = shapes.ids().filter(|id| holders.of_type(*id));
            let mut names: Vec<&str> = held.map(|id| shapes.get(id).name.as_str()).collect();
            names.sort_unstable();
            names
        };
        assert_eq!(named(&secrets), ["Either", "Holder", "Keys", "Token"]);
        let kinds = Holders::of(shapes, |body| matches!(body, Body::ByKind(_)), |_| false);
        assert_eq!(named(&kinds), ["Either"]);
    }
}
