//! Object unions without a tag: which variant an object is read as, and that it is written back equal.

use contract_runtime::{Contract, Json};

use crate::compiled::union_by_members::types::{
    Input, InputNested, InputOwner, InputPet, InputPetsObject, InputPrice, InputStrict, Tree,
};

/// Reads one property of the root type, and checks that the document is written back equal.
#[track_caller]
fn read(property: &str, value: &str) -> Input {
    let text = format!(r#"{{"{property}":{value}}}"#);
    let input = Input::parse(text.as_bytes()).unwrap();
    assert_eq!(input.to_json().unwrap(), Json::parse(text.as_bytes()).unwrap());
    input
}

#[track_caller]
fn owner(value: &str) -> InputOwner {
    read("owner", value).owner.unwrap()
}

#[track_caller]
fn pet(value: &str) -> InputPet {
    read("pet", value).pet.unwrap()
}

#[test]
fn required_members_select_the_variant() {
    assert!(matches!(owner(r#"{"login":"a","id":1}"#), InputOwner::User(_)));
    assert!(matches!(owner(r#"{"slug":"a","id":1,"more":[1]}"#), InputOwner::Org(_)));
    assert!(matches!(owner(r#"{"id":1}"#), InputOwner::Unknown(Json::Object(_))));
    assert!(matches!(read("nested", r#"{"slug":"a","id":2}"#).nested.unwrap(), InputNested::UserOrOrg(_)));
}

#[test]
fn json_types_select_the_variant() {
    // `login` must be a string: the object can only be an organization.
    assert!(matches!(owner(r#"{"login":7,"slug":"a","id":1}"#), InputOwner::Org(_)));
    assert!(matches!(owner(r#"{"login":7,"id":1}"#), InputOwner::Unknown(_)));
}

#[test]
fn closed_variants_hold_no_other_members() {
    let strict = |value| read("strict", value).strict.unwrap();
    assert!(matches!(strict(r#"{"a":1}"#), InputStrict::Small(_)));
    assert!(matches!(strict(r#"{"a":1,"b":2}"#), InputStrict::Large(_)));
    assert!(matches!(strict(r#"{"a":1,"c":2}"#), InputStrict::Unknown(_)));
}

/// Several forms fit an object with `age` alone; only cats may be older than 20.
#[test]
fn the_schemas_decide_between_several_forms() {
    assert!(matches!(pet(r#"{"age":25}"#), InputPet::Cat(_)));
    assert!(matches!(pet(r#"{"bark":true,"age":25}"#), InputPet::Cat(_)));
    assert!(matches!(pet(r#"{"bark":true,"age":19}"#), InputPet::Dog(_)));
    assert!(matches!(pet(r#"{"meow":true,"bark":1}"#), InputPet::Cat(_)));
    let object = |value| read("pets", value).pets.unwrap();
    let crate::compiled::union_by_members::types::InputPets::Object(object) = object(r#"{"bark":true}"#)
    else {
        panic!("an object is no list")
    };
    assert!(matches!(object, InputPetsObject::Dog(_)));
}

/// An object that no branch accepts is read as the best form, and is invalid.
#[test]
fn invalid_objects_keep_their_variant() {
    let old = read("pet", r#"{"bark":true,"age":31}"#);
    assert!(matches!(old.pet, Some(InputPet::Dog(_))));
    assert!(!old.is_valid());
    let price = read("price", r#"{"currency":"EUR","percent":120}"#);
    assert!(matches!(price.price, Some(InputPrice::Percent(_))));
    assert!(!price.is_valid());
}

/// `oneOf`: two branches accept the object, so that it is invalid whatever variant holds it.
#[test]
fn objects_of_two_branches_violate_one_of() {
    let both = read("owner", r#"{"login":"a","id":1,"slug":"b"}"#);
    assert!(matches!(both.owner, Some(InputOwner::User(_))));
    assert!(!both.is_valid());
}

#[test]
fn recursive_unions_are_read_at_each_level() {
    let tree = read("tree", r#"{"left":{"value":"x"},"right":{"left":{"note":"n"}}}"#).tree.unwrap();
    let Tree::Fork(fork) = tree else { panic!("{tree:?}") };
    assert!(matches!(&*fork.left, Tree::Leaf(leaf) if leaf.value == "x"));
    let Some(Tree::Fork(right)) = fork.right.as_deref() else { panic!("{fork:?}") };
    assert!(matches!(*right.left, Tree::Unknown(_)));
}

#[test]
fn variants_convert_into_the_union() {
    let cat = crate::compiled::union_by_members::types::Cat {
        meow: Some(true),
        age: None,
        extra: Default::default(),
    };
    let pet: InputPet = cat.into();
    assert_eq!(pet.to_json().unwrap().to_string(), r#"{"meow":true}"#);
}
