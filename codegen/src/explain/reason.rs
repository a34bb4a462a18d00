//! Why a type looks the way it does, in words.

use contract_runtime::schema::Certainty;

use super::constraint::type_words;
use crate::{
    reading::Reading,
    schema::Types,
    shape::{self, Body, TypeDef, TypeRef},
    together::{Conj, Facts},
};

/// The form of a type and what in the schema decided it.
#[must_use]
pub fn form(contract: &Reading, def: &TypeDef) -> String {
    let facts = Facts::of(&contract.graph, &def.conj, contract.options.implied_objects);
    match &def.body {
        Body::Struct(body) => {
            let conditional = body.fields.iter().filter(|f| f.conj.ids.is_empty()).count();
            let count = body.fields.len();
            let mut text = format!("struct: an object with {count} declared member{}", plural(count));
            if facts.holders.is_empty() && conditional == 0 {
                text.push_str(match &body.additional {
                    Some(_) => "; undeclared members have a type of their own",
                    None => "; undeclared members are kept as they came",
                });
            } else {
                text.push_str(
                    ", those of all branches and conditions together; which of them go together is checked, since no tag tells the branches apart",
                );
            }
            text
        }
        Body::Tagged(body) => {
            let (tag, count) = (&body.tag, body.variants.len());
            match body.certainty {
                Certainty::Required => format!(
                    "enum by tag `{tag}`: each of the {count} branches requires it with values of its own{}",
                    if body.open { "; objects with another tag are kept" } else { "" }
                ),
                Certainty::Present => format!(
                    "enum by tag `{tag}`: each of the {count} branches has values of its own for it; objects with another tag, or none, are kept"
                ),
                Certainty::Meant if !contract.graph.schema(body.holder).family().is_empty() => format!(
                    "enum by tag `{tag}`: the discriminator gives each of {count} schemas values of its own; objects that are not what it says are kept, and what is valid the base says alone"
                ),
                Certainty::Meant => format!(
                    "enum by tag `{tag}`: the discriminator gives each of the {count} branches values of its own; objects that are not what it says are kept, and which branches a value is valid under is checked"
                ),
            }
        }
        Body::ByKind(variants) => {
            let kinds: Vec<String> = variants.iter().map(|v| type_words(v.types)).collect();
            format!("enum by JSON type: {}", kinds.join(", "))
        }
        Body::Enum(list) if list.open => {
            format!("enumeration of {}; a text that is not listed is kept", texts(list.values.len()))
        }
        Body::Enum(list) => {
            format!("enumeration of {}; another text is refused when it is read", texts(list.values.len()))
        }
        Body::Newtype(TypeRef::Json) => format!("JSON value because {}", json(contract, &def.conj)),
        Body::Newtype(inner) => {
            format!("newtype around `{}`: one value with a name and rules of its own", name(contract, inner))
        }
        Body::Pending => "undecided".to_owned(),
    }
}

fn texts(count: usize) -> String {
    if count == 1 { "one text".to_owned() } else { format!("{count} texts") }
}

/// Why a place stays a JSON value.
#[must_use]
pub fn json(contract: &Reading, conj: &Conj) -> &'static str {
    let facts = Facts::of(&contract.graph, conj, contract.options.implied_objects);
    if facts.dynamic {
        "`$dynamicRef` means another schema wherever it is reached from"
    } else if facts.types.is_empty() {
        "no value is valid there"
    } else if facts.types == Types::NULL {
        "only `null` is valid there"
    } else if facts.members.is_empty() || (facts.types == Types::ALL && facts.holders.is_empty()) {
        "the schema takes any JSON type"
    } else {
        "its branches differ and nothing in a value tells them apart"
    }
}

/// A type as generated code writes it.
#[must_use]
pub fn name(contract: &Reading, ty: &TypeRef) -> String {
    shape::text(&contract.shapes, ty)
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
