//! Tests of object unions without a tag: objects are parsed as the expected variant and serialize to the same
//! JSON.

use contract_runtime::{Contract, Json};

use crate::compiled::union_by_members::types::{
    Input, InputNested, InputOwner, InputPet, InputPets, InputPrice, InputStrict, Tree,
};

/// Parses a document with one property of the root type, and checks that it serializes to the same JSON.
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
    assert!(matches!(read("nested", r#"{"slug":"a","id":2}"#).nested.unwrap(), InputNested::Org(_)));
}

/// A union of a struct and an empty object, which vendors describe as "a user or an empty object", has a
/// variant for the empty object.
#[test]
fn empty_object_is_a_variant() {
    use crate::compiled::union_by_members::types::InputAuthor;

    let author = |value| read("author", value).author.unwrap().into_option().unwrap();
    assert!(matches!(author("{}"), InputAuthor::Empty(_)));
    assert!(matches!(author(r#"{"login":"a","id":1}"#), InputAuthor::User(_)));
    assert!(matches!(author(r#"{"id":1}"#), InputAuthor::Unknown(_)));
}

#[test]
fn json_types_select_the_variant() {
    // `login` must be a string, so the object can only be an organization.
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

/// Several branches declare the properties of an object with only `age`. The branch whose schema accepts the
/// object is selected: only cats may be older than 20.
#[test]
fn the_schemas_decide_between_several_forms() {
    assert!(matches!(pet(r#"{"age":25}"#), InputPet::Cat(_)));
    assert!(matches!(pet(r#"{"bark":true,"age":25}"#), InputPet::Cat(_)));
    assert!(matches!(pet(r#"{"bark":true,"age":19}"#), InputPet::Dog(_)));
    assert!(matches!(pet(r#"{"meow":true,"bark":1}"#), InputPet::Cat(_)));
    let pets = |value| read("pets", value).pets.unwrap();
    assert!(matches!(pets(r#"{"bark":true}"#), InputPets::Dog(_)));
    assert!(matches!(pets(r#"[{"bark":true}]"#), InputPets::List(_)));
}

/// A union of a string and of a nested union of objects becomes one enum, unless the nested union has a name.
#[test]
fn alternatives_of_alternatives_are_one_enum() {
    use crate::compiled::union_flattened::types::{
        Input, InputAsset, InputCustomer, InputOwner, InputParty, InputPayer, InputShape, Party,
    };
    let read = |text: &str| Input::parse(text.as_bytes()).unwrap();
    let expanded =
        r#"{"customer":{"object":"customer","id":"c"},"payer":{"deleted":true,"object":"deleted","id":"d"}}"#;
    let found = read(expanded);
    assert!(matches!(&found.customer, Some(InputCustomer::Customer(customer)) if customer.id == "c"));
    assert!(matches!(&found.payer, Some(InputPayer::Deleted(payer)) if payer.id == "d"));
    assert!(matches!(read(r#"{"customer":"c"}"#).customer, Some(InputCustomer::Text(_))));
    assert!(matches!(read(r#"{"payer":{"object":"new"}}"#).payer, Some(InputPayer::Unknown(_))));
    assert!(matches!(read(r#"{"owner":7}"#).owner, Some(InputOwner::Integer(7))));
    assert!(matches!(read(r#"{"owner":{"text":"t","lang":"de"}}"#).owner, Some(InputOwner::Text(_))));
    assert!(matches!(read(r#"{"owner":{"name":"n"}}"#).owner, Some(InputOwner::Unknown(_))));
    assert!(matches!(read(r#"{"shape":{"kind":"point","x":1}}"#).shape, Some(InputShape::Point(_))));
    assert!(matches!(read(r#"{"shape":{"kind":"oval"}}"#).shape, Some(InputShape::Unknown(_))));
    assert!(matches!(read(r#"{"asset":{"name":"n"}}"#).asset, Some(InputAsset::Named(_))));
    // A union with a name stays a type of its own.
    let party = read(r#"{"party":{"text":"t"}}"#).party;
    assert!(matches!(party, Some(InputParty::Party(Party::Text(_)))), "{party:?}");
    let error = serde_json::from_str::<InputOwner>(r#""x""#).unwrap_err();
    let expected = "expected true or false or a whole number or an object";
    assert!(error.to_string().contains(expected), "{error}");
}

/// An object that no branch accepts is parsed as the most similar variant and is invalid.
#[test]
fn invalid_objects_keep_their_variant() {
    let old = read("pet", r#"{"bark":true,"age":31}"#);
    assert!(matches!(old.pet, Some(InputPet::Dog(_))));
    assert!(!old.is_valid());
    let price = read("price", r#"{"currency":"EUR","percent":120}"#);
    assert!(matches!(price.price, Some(InputPrice::Percent(_))));
    assert!(!price.is_valid());
}

/// An object that two branches of a `oneOf` accept is invalid, regardless of the variant as which it is
/// parsed.
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

/// `as_…` and `into_…` return the value of a variant, and each variant's value can be converted to the union.
#[test]
fn variants_have_accessors_and_conversions() {
    let user = owner(r#"{"login":"a","id":1}"#);
    assert_eq!(user.as_user().unwrap().login, "a");
    assert!(user.as_org().is_none());
    let unchanged = user.clone().into_org().unwrap_err();
    assert_eq!(unchanged, user);
    let inner = user.clone().into_user().unwrap();
    assert_eq!(InputOwner::from(inner), user);
}

/// The first element of an array selects the variant. An empty array is parsed as the first variant.
#[test]
fn elements_select_the_variant() {
    use crate::compiled::union_by_items::types::{Input, InputInput, InputLists};

    let input = |value: &str| {
        let text = format!(r#"{{"input":{value}}}"#);
        let read = Input::parse(text.as_bytes()).unwrap();
        assert_eq!(read.to_json().unwrap(), Json::parse(text.as_bytes()).unwrap());
        read.input.unwrap()
    };
    assert_eq!(input(r#""a""#), InputInput::from("a"));
    assert_eq!(input(r#"[ "a" ]"#).as_text_list().unwrap(), &["a".to_owned()]);
    assert_eq!(input("[1,2]").into_integer_list(), Ok(vec![1, 2]));
    assert_eq!(input("[[1],[]]"), InputInput::ListList(vec![vec![1], vec![]]));
    assert_eq!(input("[]"), InputInput::TextList(vec![]));
    assert!(Input::parse(br#"{"input":[true]}"#).is_err());
    assert!(Input::parse(br#"{"input":[1,"a"]}"#).is_err());
    let lists = Input::parse(br#"{"lists":[null,true]}"#).unwrap().lists.unwrap();
    assert_eq!(lists.as_bool_list().unwrap().len(), 2);
    assert!(matches!(lists, InputLists::BoolList(_)));
}

/// The constructor of a struct takes its required members. A struct without required members implements
/// `Default`.
#[test]
fn structs_have_constructors() {
    use crate::compiled::union_by_members::types::{Cat, Fork, Leaf, User};

    assert_eq!(owner(r#"{"login":"a","id":1}"#), InputOwner::User(User::new("a", 1)));
    let cat = Cat { age: Some(25), ..Cat::default() };
    assert_eq!(pet(r#"{"age":25}"#), InputPet::Cat(cat));
    let fork = Fork::new(Leaf::new("x"));
    assert_eq!(fork.to_json().unwrap().to_string(), r#"{"left":{"value":"x"}}"#);
}

/// A constructor accepts a list of a union's values. The elements may be values of one variant's type or
/// values of the union.
#[test]
fn constructors_convert_lists_of_unions() {
    use crate::compiled::union_by_kind::types::{Keys, KeysKeysItem};

    let keys = |keys: Keys| keys.to_json().unwrap().to_string();
    assert_eq!(keys(Keys::new(["a", "b"])), r#"{"keys":["a","b"]}"#);
    assert_eq!(keys(Keys::new(vec![1, 2])), r#"{"keys":[1,2]}"#);
    assert_eq!(keys(Keys::new(vec!["a".to_owned()])), r#"{"keys":["a"]}"#);
    assert_eq!(keys(Keys::new([KeysKeysItem::from(1), "a".into()])), r#"{"keys":[1,"a"]}"#);
    assert_eq!(keys(Keys::new(Vec::<KeysKeysItem>::new())), r#"{"keys":[]}"#);
}

/// Undeclared properties can be parsed as a type that the caller selects.
#[test]
fn undeclared_properties_have_typed_readers() {
    use crate::compiled::union_by_members::types::User;

    let user = User::parse(br#"{"login":"a","id":1,"badges":["new"]}"#).unwrap();
    assert_eq!(user.extra.get_as::<Vec<String>>("badges").unwrap().unwrap(), ["new"]);
    assert_eq!(User::from_json(&user.to_json().unwrap()).unwrap(), user);
}
