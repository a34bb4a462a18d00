//! Tests of setters of lists: they convert arrays, infer the items of vectors, and accept `null` where it is allowed.

/// Lists of unions accept arrays of values that convert into the union, vectors whose items are inferred from
/// `into`, empty vectors and mapped iterators. Lists that may be `null` accept the same and `null`.
#[test]
fn setters_of_lists_convert_items() {
    use crate::cloud::models::{DropletCreateSshKeysItem, DropletSingleCreate};
    use crate::language_model::models::{
        ChatCompletionRequestMessage, ChatCompletionRequestSystemMessage as System,
        ChatCompletionRequestUserMessage as User, CreateChatCompletionRequest as Completion,
    };
    use contract_runtime::Nullable;
    use serde_json::to_string;

    let homogenous = Completion::new([User::new("a"), User::new("b")], "gpt-5");
    let inferred = Completion::new(vec![User::new("a").into(), User::new("b").into()], "gpt-5");
    assert_eq!(homogenous, inferred);
    assert_eq!(Completion::new(["a", "b"].into_iter().map(User::new), "gpt-5"), inferred);
    let built = Completion::builder().messages([User::new("a"), User::new("b")]).model("gpt-5").build();
    assert_eq!(built.unwrap(), inferred);
    let mixed = vec![System::new("a").into(), User::new("b").into()];
    assert_eq!(Completion::new(mixed, "gpt-5").messages.len(), 2);
    assert_eq!(Completion::new(Vec::new(), "gpt-5").messages, Vec::<ChatCompletionRequestMessage>::new());

    let droplet = || DropletSingleCreate::builder().name("lamp").size("s-1").image("debian");
    let tags =
        |droplet: crate::cloud::models::DropletSingleCreateBuilder| to_string(&droplet.build().unwrap().tags);
    assert_eq!(tags(droplet().tags(["a", "b"])).unwrap(), r#"["a","b"]"#);
    assert_eq!(tags(droplet().tags(vec!["a".into()])).unwrap(), r#"["a"]"#);
    assert_eq!(tags(droplet().tags([1, 2].iter().map(ToString::to_string))).unwrap(), r#"["1","2"]"#);
    assert_eq!(tags(droplet().tags(Vec::new())).unwrap(), "[]");
    assert_eq!(tags(droplet().tags(Nullable::Null)).unwrap(), "null");
    let keys = droplet().ssh_keys([1, 2]).build().unwrap().ssh_keys.unwrap();
    assert_eq!(keys, [DropletCreateSshKeysItem::from(1), DropletCreateSshKeysItem::from(2)]);
}
