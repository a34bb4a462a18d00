//! Restricts items to the Cargo features of the tags that use them (`[client] tag-features`).
//!
//! The files of a tag are behind its feature. An item of another module is restricted to the features of the tags whose
//! files refer to it, directly or through other items. An item that no code of the package uses has the feature
//! [`UNUSED_TYPES`]. An item is always compiled if code that is always compiled or more than [`MAX_FEATURES`] features
//! use it. References are compared by name. The features of an item therefore always include the
//! features of the items that refer to it.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::{Attribute, Item, ItemUse, UseTree, parse_quote};

use super::{GeneratedModule, PrintedItem, print_attributes};

/// The maximum number of features of an item. An item that more tags use is always compiled.
const MAX_FEATURES: usize = 8;

/// The feature of the types that no operation uses.
pub(crate) const UNUSED_TYPES: &str = "unused-types";

/// The prefix of the modules of webhooks and callbacks, which have no features.
const WEBHOOK_PREFIX: &str = "webhook_";

/// Modules that refer to no types of the contract, although they may contain the same names.
const UNRELATED_MODULES: &[&str] =
    &["operations", "webhooks", "schemas", "servers", "security_requirements", "cli", "types"];

/// Modules that declare the files of the tags. Their other members are already restricted to the features of their
/// tags.
const TAGGED_MODULES: &[&str] = &["calls", "client", "server"];

/// The features of each item, by its name. Items without an entry are always compiled.
type ItemFeatures = BTreeMap<String, BTreeSet<String>>;

/// Adds `#[cfg]` to the items that only some tags or no operations use. `features` are the features of the tags, by the
/// names of their files. Returns true if an item has the feature [`UNUSED_TYPES`].
pub(crate) fn gate_items(modules: &mut [GeneratedModule], features: &BTreeMap<String, String>) -> bool {
    let mut usage = ItemUsage::default();
    for module in modules.iter() {
        usage.add_module(module, features);
    }
    let gated = usage.item_features();
    for module in modules.iter_mut() {
        let is_tagged = TAGGED_MODULES.contains(&module.name.as_str());
        let has_types = module.name == "types"
            || !UNRELATED_MODULES.contains(&module.name.as_str()) && !module.name.starts_with(WEBHOOK_PREFIX);
        if is_tagged || !module.is_submodule() && has_types && gate_module(module, &gated) {
            module.add_attribute(parse_quote!(
                #![allow(
                    unreachable_patterns, unused_imports, unused_variables,
                    reason = "depends on the features of the tags"
                )]
            ));
        }
    }
    gated.values().any(|features| features.contains(UNUSED_TYPES))
}

/// The references between items, and from the files of tags.
#[derive(Default)]
struct ItemUsage {
    /// The names in each item, by the name of the item.
    references: BTreeMap<String, BTreeSet<String>>,
    /// The names of type aliases. They are for callers, and generated code may use only their targets.
    aliases: BTreeSet<String>,
    /// The names in the code of each feature; `None` is code that is always compiled.
    roots: BTreeMap<Option<String>, BTreeSet<String>>,
}

impl ItemUsage {
    fn add_module(&mut self, module: &GeneratedModule, features: &BTreeMap<String, String>) {
        let name = module.name.as_str();
        if UNRELATED_MODULES.contains(&name) {
            return;
        }
        let texts = || module.items.iter().flatten().map(|item| &item.text);
        let tokens = || texts().filter_map(|text| text.parse::<TokenStream>().ok());
        if let Some((_, file)) = name.split_once('/') {
            let names = self.roots.entry(features.get(file).cloned()).or_default();
            tokens().for_each(|item| collect_names(item, names));
        } else if TAGGED_MODULES.contains(&name) {
            tokens().for_each(|item| self.add_tagged(item));
        } else if name.starts_with(WEBHOOK_PREFIX) {
            let names = self.roots.entry(None).or_default();
            tokens().for_each(|item| collect_names(item, names));
        } else {
            let printed: TokenStream = module.printed.parse().unwrap_or_default();
            collect_names(printed, self.roots.entry(None).or_default());
            self.add_items(&texts().filter_map(|text| syn::parse_str(text).ok()).collect::<Vec<_>>());
        }
    }

    /// Adds code whose members may have a `#[cfg]` of a feature.
    fn add_tagged(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(tree) = trees.get(at) {
            let attribute = trees.get(at + 1).filter(|_| is_sign(tree, '#')).and_then(cfg_feature);
            if let Some(feature) = attribute {
                let end = at + 2 + member_length(&trees[at + 2..]);
                let member = trees[at + 2..end].iter().cloned().collect();
                collect_names(member, self.roots.entry(Some(feature)).or_default());
                at = end;
                continue;
            }
            match tree {
                TokenTree::Group(group) => self.add_tagged(group.stream()),
                TokenTree::Ident(name) => {
                    self.roots.entry(None).or_default().insert(name.to_string());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            at += 1;
        }
    }

    fn add_items(&mut self, items: &[Item]) {
        let names: BTreeSet<String> = items.iter().filter_map(defined_name).collect();
        for item in items.iter().filter(|item| !matches!(item, Item::Use(_))) {
            if let Item::Type(alias) = item {
                self.aliases.insert(alias.ident.to_string());
            }
            let owner = item_owner(item, &|name| names.contains(name));
            let target = match owner {
                Some(owner) => self.references.entry(owner).or_default(),
                None => self.roots.entry(None).or_default(),
            };
            collect_names(item.to_token_stream(), target);
        }
    }

    /// Returns the features of the items that are not always compiled.
    fn item_features(&self) -> ItemFeatures {
        let mut found = ItemFeatures::new();
        for (feature, roots) in &self.roots {
            let Some(feature) = feature else { continue };
            for name in self.reachable(roots.iter()) {
                found.entry(name.to_owned()).or_default().insert(feature.clone());
            }
        }
        let always = self.reachable(self.roots.get(&None).into_iter().flatten());
        let is_unused = |name: &&String| {
            !found.contains_key(*name) && !always.contains(name.as_str()) && !self.aliases.contains(*name)
        };
        let unused: Vec<&String> = self.references.keys().filter(is_unused).collect();
        for name in self.reachable(unused.into_iter()) {
            found.entry(name.to_owned()).or_default().insert(UNUSED_TYPES.to_owned());
        }
        found.retain(|name, features| features.len() <= MAX_FEATURES && !always.contains(name.as_str()));
        // An alias that generated code does not use is compiled with its target.
        for alias in self.aliases.iter().filter(|name| !always.contains(name.as_str())) {
            let targets = self.references.get(alias).into_iter().flatten().filter(|name| *name != alias);
            if let Some(features) = targets.filter_map(|name| found.get(name)).next().cloned() {
                found.insert(alias.clone(), features);
            }
        }
        found
    }

    /// Returns the items that code with these names uses, directly or through other items.
    fn reachable<'a>(&'a self, names: impl Iterator<Item = &'a String>) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut waiting: Vec<&String> = names.collect();
        while let Some(name) = waiting.pop() {
            if let Some(references) = self.references.get(name)
                && found.insert(name.as_str())
            {
                waiting.extend(references);
            }
        }
        found
    }
}

/// Adds `#[cfg]` to the items of a module. Returns false if all of them are always compiled.
fn gate_module(module: &mut GeneratedModule, gated: &ItemFeatures) -> bool {
    let Ok(printed) = &mut module.items else { return false };
    let parsed: Vec<Option<Item>> = printed.iter().map(|item| syn::parse_str(&item.text).ok()).collect();
    let names: BTreeSet<String> = parsed.iter().flatten().filter_map(defined_name).collect();
    let mut is_gated = false;
    let mut out = Vec::new();
    for (mut printed, item) in std::mem::take(printed).into_iter().zip(parsed) {
        if let Some(Item::Use(import)) = &item
            && let Some(parts) = split_imports(import, gated)
        {
            is_gated = true;
            out.extend(parts.into_iter().map(|part| PrintedItem::new(Item::Use(part))));
            continue;
        }
        let owner = item.and_then(|item| item_owner(&item, &|name| names.contains(name)));
        if let Some(features) = owner.and_then(|owner| gated.get(&owner)) {
            is_gated = true;
            printed.text.insert_str(0, &print_attributes(&[feature_attribute(features)]));
        }
        out.push(printed);
    }
    module.items = Ok(out);
    is_gated
}

/// Splits an import such as `use super::models::{A, B}` by the features of the imported items. Returns `None` if all of
/// them are always compiled.
fn split_imports(import: &ItemUse, gated: &ItemFeatures) -> Option<Vec<ItemUse>> {
    let mut paths = Vec::new();
    flatten_imports(&import.tree, &TokenStream::new(), &mut paths);
    let mut groups: BTreeMap<Option<&BTreeSet<String>>, Vec<TokenStream>> = BTreeMap::new();
    for (path, name) in paths {
        groups.entry(gated.get(&name)).or_default().push(path);
    }
    if groups.keys().all(Option::is_none) {
        return None;
    }
    let (attributes, visibility) = (&import.attrs, &import.vis);
    let parts = groups.into_iter().flat_map(|(features, paths)| {
        let condition = features.map(feature_attribute);
        paths.into_iter().map(move |path| {
            let condition = &condition;
            parse_quote!(#condition #(#attributes)* #visibility use #path;)
        })
    });
    Some(parts.collect())
}

/// Collects the full paths of an import with the names that they import.
fn flatten_imports(tree: &UseTree, prefix: &TokenStream, out: &mut Vec<(TokenStream, String)>) {
    match tree {
        UseTree::Path(path) => {
            let name = &path.ident;
            flatten_imports(&path.tree, &quote!(#prefix #name::), out);
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten_imports(tree, prefix, out)),
        UseTree::Name(name) => out.push((quote!(#prefix #name), name.ident.to_string())),
        UseTree::Rename(_) | UseTree::Glob(_) => out.push((quote!(#prefix #tree), String::new())),
    }
}

fn feature_attribute(features: &BTreeSet<String>) -> Attribute {
    let features: Vec<TokenStream> = features.iter().map(|feature| quote!(feature = #feature)).collect();
    match features.as_slice() {
        [feature] => parse_quote!(#[cfg(#feature)]),
        _ => parse_quote!(#[cfg(any(#(#features),*))]),
    }
}

/// Returns the name that an item defines. A macro call defines the type in its argument.
fn defined_name(item: &Item) -> Option<String> {
    Some(match item {
        Item::Struct(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Const(item) => item.ident.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Macro(call) => {
            let trees: Vec<TokenTree> = call.mac.tokens.clone().into_iter().collect();
            let mut pairs = trees.windows(2);
            pairs.find_map(|pair| match pair {
                [TokenTree::Ident(keyword), TokenTree::Ident(name)]
                    if ["struct", "enum", "type"].iter().any(|word| keyword == word) =>
                {
                    Some(name.to_string())
                }
                _ => None,
            })?
        }
        _ => return None,
    })
}

/// Returns the name of the item whose features apply to `item`: its own name or, for an `impl` block and for a macro
/// call that defines no type, the first known item in its type, trait or arguments.
fn item_owner(item: &Item, is_item: &dyn Fn(&str) -> bool) -> Option<String> {
    if let Some(name) = defined_name(item) {
        return Some(name);
    }
    let header = match item {
        Item::Impl(block) => {
            let (ty, path) = (&block.self_ty, block.trait_.as_ref().map(|(path, _)| path));
            quote!(#ty #path)
        }
        Item::Macro(call) => call.mac.tokens.clone(),
        _ => return None,
    };
    first_name(header, is_item)
}

fn first_name(tokens: TokenStream, is_item: &dyn Fn(&str) -> bool) -> Option<String> {
    tokens.into_iter().find_map(|tree| match tree {
        TokenTree::Ident(name) => Some(name.to_string()).filter(|name| is_item(name)),
        TokenTree::Group(group) => first_name(group.stream(), is_item),
        TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    })
}

fn collect_names(tokens: TokenStream, names: &mut BTreeSet<String>) {
    for tree in tokens {
        match tree {
            TokenTree::Ident(name) => drop(names.insert(name.to_string())),
            TokenTree::Group(group) => collect_names(group.stream(), names),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Returns the feature in `[cfg(feature = "…")]`.
fn cfg_feature(attribute: &TokenTree) -> Option<String> {
    let TokenTree::Group(attribute) = attribute else { return None };
    let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
    let [TokenTree::Ident(cfg), TokenTree::Group(condition)] = tokens.as_slice() else { return None };
    let condition: Vec<TokenTree> = condition.stream().into_iter().collect();
    let [TokenTree::Ident(key), _, TokenTree::Literal(value)] = condition.as_slice() else { return None };
    (cfg == "cfg" && key == "feature").then(|| value.to_string().trim_matches('"').to_owned())
}

/// Returns the number of tokens of a member of a block: a function ends with its body, others with a comma or
/// semicolon.
fn member_length(trees: &[TokenTree]) -> usize {
    let mut is_function = false;
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Ident(word) if word == "fn" => is_function = true,
            TokenTree::Group(body) if is_function && body.delimiter() == Delimiter::Brace => return at + 1,
            tree if is_sign(tree, ';') || !is_function && is_sign(tree, ',') => return at + 1,
            _ => {}
        }
    }
    trees.len()
}

fn is_sign(tree: &TokenTree, sign: char) -> bool {
    matches!(tree, TokenTree::Punct(own) if own.as_char() == sign)
}

#[cfg(test)]
mod tests {
    use super::{super::print_module, *};

    fn module(name: &'static str, tokens: TokenStream) -> GeneratedModule {
        GeneratedModule::new(name, Vec::new(), tokens)
    }

    /// An item has the features of all tags that use it, and so do the items that it uses. Items of no tag are
    /// always compiled.
    #[test]
    fn items_have_the_features_of_their_users() {
        let models = quote! {
            use super::schemas;
            pub struct One { pub part: Part }
            impl One { fn f() {} }
            impl From<One> for String { fn from(one: One) -> Self { String::new() } }
            pub struct Two { pub part: Part }
            pub struct Part;
            pub struct Shared;
            pub struct Unused { pub also: OfUnused }
            pub struct OfUnused;
            pub type Alias = One;
            pub type AliasOfShared = Shared;
            string_type! { pub struct Text(String); }
        };
        let mut modules = [
            module(
                "calls/a",
                quote!(
                    pub struct ReadCall {
                        pub one: super::types::One,
                        pub unused: OfUnused,
                    }
                ),
            ),
            module(
                "calls/b",
                quote!(
                    pub struct WriteCall {
                        pub two: super::types::Two,
                        pub text: Text,
                    }
                ),
            ),
            module(
                "server",
                quote! {
                    pub trait Service {
                        #[cfg(feature = "tag-b")]
                        fn write(&self) -> Result<Shared, Part> { todo() }
                        fn other(&self) -> Shared;
                    }
                },
            ),
            module("models", models),
            module(
                "types",
                quote!(
                    pub use super::models::{One, Part, Shared, Two};
                ),
            ),
        ];
        let features = [("a", "tag-a"), ("b", "tag-b")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        gate_items(&mut modules, &BTreeMap::from(features));
        let expected = quote! {
            use super::schemas;
            #[cfg(feature = "tag-a")]
            pub struct One { pub part: Part }
            #[cfg(feature = "tag-a")]
            impl One { fn f() {} }
            #[cfg(feature = "tag-a")]
            impl From<One> for String { fn from(one: One) -> Self { String::new() } }
            #[cfg(feature = "tag-b")]
            pub struct Two { pub part: Part }
            #[cfg(any(feature = "tag-a", feature = "tag-b"))]
            pub struct Part;
            pub struct Shared;
            #[cfg(feature = "unused-types")]
            pub struct Unused { pub also: OfUnused }
            #[cfg(any(feature = "tag-a", feature = "unused-types"))]
            pub struct OfUnused;
            #[cfg(feature = "tag-a")]
            pub type Alias = One;
            pub type AliasOfShared = Shared;
            #[cfg(feature = "tag-b")]
            string_type! { pub struct Text(String); }
        };
        let mut expected = module("models", expected);
        expected.attributes.clone_from(&modules[3].attributes);
        assert_eq!(expected.attributes.len(), 1);
        assert_eq!(print_module(&modules[3]).unwrap(), print_module(&expected).unwrap());
        let imports = quote! {
            pub use super::models::Shared;
            #[cfg(any(feature = "tag-a", feature = "tag-b"))]
            pub use super::models::Part;
            #[cfg(feature = "tag-a")]
            pub use super::models::One;
            #[cfg(feature = "tag-b")]
            pub use super::models::Two;
        };
        let sorted = |module: &GeneratedModule| {
            let mut items: Vec<String> =
                module.items.iter().flatten().map(|item| item.text.clone()).collect();
            items.sort();
            items
        };
        assert_eq!(sorted(&modules[4]), sorted(&module("types", imports)));
    }
}
