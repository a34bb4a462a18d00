//! The items of a module that is divided into files.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

use crate::{
    emit::ident,
    plan::{ClientGroup, PlannedCall, SidePlan},
};

/// The items of a module and of its submodules.
pub struct ModuleItems {
    /// The items of the module itself, with the declarations of its submodules.
    pub(crate) root: TokenStream,
    pub(crate) groups: Vec<Submodule>,
}

/// A submodule in a file of its own.
pub struct Submodule {
    pub(crate) name: String,
    /// The documentation of the module.
    pub(crate) doc: String,
    pub(crate) items: TokenStream,
}

/// Returns the `#[cfg]` of the items of a tag, if tags have features.
pub(crate) fn group_gate(group: &ClientGroup) -> Option<TokenStream> {
    group.feature.as_ref().map(|feature| quote!(#[cfg(feature = #feature)]))
}

/// Returns the `#[cfg]` of the items of a call, if tags have features and it has a tag.
pub(crate) fn call_gate(plan: &SidePlan<'_>, call: &PlannedCall<'_>) -> Option<TokenStream> {
    let accessor = call.accessor.as_ref()?;
    plan.groups.iter().find(|group| group.accessor == *accessor).and_then(group_gate)
}

/// Returns imports of the sibling modules that submodules use as `super::name`, which resolves to these imports.
pub(crate) fn imported_siblings(submodules: &[Submodule]) -> Option<TokenStream> {
    let mut names = BTreeSet::new();
    submodules.iter().for_each(|submodule| collect_siblings(&submodule.items, &mut names));
    let names: Vec<_> = names.iter().map(|name| ident(name)).collect();
    (!names.is_empty()).then(|| quote!(use super::{#(#names),*};))
}

/// Collects each `name` in paths that start with `super::name::`.
fn collect_siblings(tokens: &TokenStream, names: &mut BTreeSet<String>) {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let is_colon = |tree: &TokenTree| matches!(tree, TokenTree::Punct(sign) if sign.as_char() == ':');
    for window in trees.windows(5) {
        if let [TokenTree::Ident(start), first, second, TokenTree::Ident(name), third] = window
            && start == "super"
            && [first, second, third].into_iter().all(is_colon)
        {
            names.insert(name.to_string());
        }
    }
    for tree in trees {
        if let TokenTree::Group(group) = tree {
            collect_siblings(&group.stream(), names);
        }
    }
}
