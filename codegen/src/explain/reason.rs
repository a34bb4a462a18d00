//! Describes the form of a type and the reason for it.

use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    conjunction::{SchemaConjunction, SchemaFacts},
    enforced_constraints::join_type_names,
    schema::TypeSet,
    shape::{self, KindVariant, ObjectUnion, TypeBody, TypeDef, TypeRef, VariantTag},
};
use contract_runtime::schema::TagCertainty;

/// Describes the Rust form of a type, and the part of its schema that determines this form.
#[must_use]
pub(crate) fn type_form(contract: &AnalyzedContract, def: &TypeDef) -> String {
    let facts = SchemaFacts::from_conjunction(&contract.graph, &def.conj, contract.options.implied_objects);
    match &def.body {
        TypeBody::Struct(body) => {
            let conditional = body.fields.iter().filter(|f| f.conj.ids.is_empty()).count();
            let count = body.fields.len();
            let mut text = format!("struct: an object with {count} declared propert{}", plural_suffix(count));
            if facts.open_unions.is_empty() && conditional == 0 {
                text.push_str(match &body.additional {
                    Some(_) => "; undeclared properties have a type of their own",
                    None => "; undeclared properties are kept unchanged",
                });
            } else {
                text.push_str(
                    ", the properties of all branches and conditions; validation checks their combination",
                );
            }
            text
        }
        TypeBody::Objects(body) if !body.others.is_empty() => {
            let kinds: Vec<String> = body.others.iter().map(describe_kind).collect();
            let objects = describe_objects(contract, body);
            format!("enum by JSON type: {}, object; for objects, {objects}", kinds.join(", "))
        }
        TypeBody::Objects(body) => describe_objects(contract, body),
        TypeBody::ByKind(variants) => {
            let kinds: Vec<String> = variants.iter().map(describe_kind).collect();
            format!("enum by JSON type: {}", kinds.join(", "))
        }
        TypeBody::Enum(list) if list.open => {
            format!("enumeration of {}; an unlisted string is kept", count_strings(list.values.len()))
        }
        TypeBody::Enum(list) => {
            format!(
                "enumeration of {}; an unlisted string is rejected when parsed",
                count_strings(list.values.len())
            )
        }
        TypeBody::Newtype(TypeRef::Json) => {
            format!("JSON value because {}", json_reason(contract, &def.conj))
        }
        TypeBody::Newtype(inner) => match shape::integer_variants(&contract.graph, &facts, inner) {
            Some(variants) => {
                let integers = if variants.len() == 1 { "integer" } else { "integers" };
                format!("enumeration of {} {integers}; an unlisted integer is kept", variants.len())
            }
            None => {
                format!(
                    "newtype around `{}`: a value with its own name and rules",
                    type_name(contract, inner)
                )
            }
        },
        TypeBody::Pending => "undecided".to_owned(),
    }
}

/// Describes how the variant of an object is selected.
fn describe_objects(contract: &AnalyzedContract, body: &ObjectUnion) -> String {
    let count = body.variants.len();
    let kept = if body.open { "; objects that fit none are kept" } else { "" };
    let Some(VariantTag { name: tag, certainty, .. }) = body.tag() else {
        let tag = body.optional_tag.as_ref();
        let tag = tag.map(|tag| format!("tag `{}`, and where it is absent by ", tag.name));
        return format!(
            "enum by {}properties: the names, JSON types and constants of an object's properties select one of {count} branches{kept}",
            tag.unwrap_or_default()
        );
    };
    match certainty {
        TagCertainty::Required => format!(
            "enum by tag `{tag}`: each of the {count} branches requires it with distinct values{}",
            if body.open { "; objects with another tag are kept" } else { "" }
        ),
        TagCertainty::Present => format!(
            "enum by tag `{tag}`: each of the {count} branches has distinct values for it; objects with another tag, or without it, are kept"
        ),
        TagCertainty::Hint if !contract.graph.schema(body.holder).family_members().is_empty() => {
            format!(
                "enum by tag `{tag}`: the discriminator assigns distinct values to {count} schemas; objects that do not match their schema are kept, and only the base schema is validated"
            )
        }
        TagCertainty::Hint => format!(
            "enum by tag `{tag}`: the discriminator assigns distinct values to the {count} branches; objects that do not match their branch are kept, and validation checks which branches accept a value"
        ),
    }
}

fn count_strings(count: usize) -> String {
    if count == 1 { "one string".to_owned() } else { format!("{count} strings") }
}

/// Returns the reason why values of a conjunction have the Rust type `Json`, as a clause to write after
/// "because".
#[must_use]
pub(crate) fn json_reason(contract: &AnalyzedContract, conj: &SchemaConjunction) -> &'static str {
    let facts = SchemaFacts::from_conjunction(&contract.graph, conj, contract.options.implied_objects);
    if facts.has_dynamic_reference {
        "`$dynamicRef` resolves to a different schema in each context"
    } else if facts.types.is_empty() {
        "no value is valid"
    } else if facts.types == TypeSet::NULL {
        "only `null` is valid"
    } else if facts.unconditional.is_empty() || (facts.types == TypeSet::ALL && facts.open_unions.is_empty())
    {
        "the schema accepts any JSON type"
    } else {
        "its branches differ and neither a tag nor the JSON type distinguishes them"
    }
}

/// Describes the JSON types that select a variant, such as `string` or `array of integer`.
pub(crate) fn describe_kind(variant: &KindVariant) -> String {
    let types = join_type_names(variant.types);
    if variant.items == TypeSet::ALL {
        types
    } else {
        format!("{types} of {}", join_type_names(variant.items))
    }
}

/// Returns a type as generated code prints it.
#[must_use]
pub(crate) fn type_name(contract: &AnalyzedContract, ty: &TypeRef) -> String {
    shape::display_type(&contract.shapes, ty)
}

fn plural_suffix(count: usize) -> &'static str {
    if count == 1 { "y" } else { "ies" }
}
