//! The types of results and refusals: one type where one will do, else an enum with a variant
//! for each status. Operations that refuse alike share one enum.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    api::Status,
    emit::{ident, markdown},
    lower::{Answers, Call, Case, Lowered, Payload},
    operations::doc,
};

/// Names that the module has already.
const TAKEN: [&str; 6] = ["Answer", "Bytes", "Client", "Error", "Refusal", "RequestChecks"];

/// The enums of a client.
pub(super) struct Enums {
    /// For each call: the enum of its results, of its refusals.
    names: Vec<(Option<String>, Option<String>)>,
    /// Their items.
    pub(super) items: TokenStream,
}

impl Enums {
    /// Decides the enums. `operations` gives the type name of a call's operation, and what
    /// messages call it.
    pub(super) fn of(lowered: &Lowered, operations: &dyn Fn(&Call) -> (String, String)) -> Self {
        let mut uses: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, call) in lowered.calls.iter().enumerate() {
            if call.refusals.one.is_none() {
                uses.entry(shape(&call.refusals)).or_default().push(index);
            }
        }
        // The commonest has the plain name; of several the one that comes first.
        let most = uses.values().max_by_key(|users| (users.len(), usize::MAX - users[0]));
        let commonest = most.filter(|users| users.len() > 1).map(|users| users[0]);
        let mut names = Vec::new();
        let mut items = TokenStream::new();
        let mut taken: Vec<String> = TAKEN.iter().map(|&name| name.to_owned()).collect();
        let mut free = |name: String| {
            let mut name = name;
            while taken.contains(&name) {
                name.push('s');
            }
            taken.push(name.clone());
            name
        };
        let mut shared: BTreeMap<String, String> = BTreeMap::new();
        for (index, call) in lowered.calls.iter().enumerate() {
            let (type_name, place) = operations(call);
            let result = call.results.one.is_none().then(|| {
                let name = free(format!("{type_name}Answer"));
                items.extend(item(lowered, &name, &format!("What `{place}` answers."), &call.results));
                name
            });
            let refusal = call.refusals.one.is_none().then(|| {
                let key = shape(&call.refusals);
                if let Some(known) = shared.get(&key) {
                    return known.clone();
                }
                let users = uses.get(&key).map_or(1, Vec::len);
                let name = if commonest == Some(index) {
                    "Refusal".to_owned()
                } else {
                    free(format!("{type_name}Refusal"))
                };
                let about = match users {
                    1 => format!("What `{place}` refuses with."),
                    2 => format!("What `{place}` and one more refuse with."),
                    _ => format!("What `{place}` and {} more refuse with.", users - 1),
                };
                items.extend(item(lowered, &name, &about, &call.refusals));
                shared.insert(key, name.clone());
                name
            });
            names.push((result, refusal));
        }
        Self { names, items }
    }

    /// The type of a call's result.
    pub(super) fn result(&self, lowered: &Lowered, index: usize, call: &Call) -> TokenStream {
        let name = self.names.get(index).and_then(|(result, _)| result.as_deref());
        let ty = type_of(lowered, &call.results, name);
        if call.results.optional { quote!(Option<#ty>) } else { ty }
    }

    /// The type of a call's refusal.
    pub(super) fn refusal(&self, lowered: &Lowered, index: usize, call: &Call) -> TokenStream {
        type_of(lowered, &call.refusals, self.refusal_name(index))
    }

    /// The enum of a call's results.
    pub(super) fn result_name(&self, index: usize) -> Option<&str> {
        self.names.get(index)?.0.as_deref()
    }

    /// The enum of a call's refusals.
    pub(super) fn refusal_name(&self, index: usize) -> Option<&str> {
        self.names.get(index)?.1.as_deref()
    }
}

/// What makes two enums the same: variants and what they hold.
fn shape(answers: &Answers) -> String {
    let each = answers.cases.iter();
    let each = each
        .map(|case| format!("{:?} {:?} {:?} {};", case.status, case.media_type, case.payload, case.variant));
    each.collect()
}

fn type_of(lowered: &Lowered, answers: &Answers, name: Option<&str>) -> TokenStream {
    match (&answers.one, name) {
        (Some(one), _) => payload(lowered, one),
        (None, Some(name)) => {
            let name = ident(name);
            quote!(#name)
        }
        (None, None) => quote!(()),
    }
}

fn payload(lowered: &Lowered, payload: &Payload) -> TokenStream {
    match payload {
        Payload::Json(key) => match lowered.components.get(key) {
            Some(component) => component.rust_type.clone(),
            None => quote!(::contract_runtime::Json),
        },
        Payload::Text => quote!(String),
        Payload::Raw => quote!(Bytes),
        Payload::Nothing => quote!(()),
    }
}

fn item(lowered: &Lowered, name: &str, about: &str, answers: &Answers) -> TokenStream {
    let name = ident(name);
    let about = doc(&[about.to_owned()]);
    let variants = answers.cases.iter().map(|case| variant(lowered, case));
    quote! {
        #about
        #[derive(Clone, Debug, PartialEq)]
        pub enum #name { #(#variants),* }
    }
}

fn variant(lowered: &Lowered, case: &Case) -> TokenStream {
    let status = match case.status {
        Status::Code(code) => format!("`{code}`"),
        Status::Range(class) => format!("`{class}XX`"),
        Status::Default => "Any other".to_owned(),
    };
    let media = case.media_type.as_deref().map(|name| format!(" as `{name}`")).unwrap_or_default();
    let told = if case.doc.trim().is_empty() { String::new() } else { format!(": {}", markdown(&case.doc)) };
    let about = doc(&[format!("{status}{media}{told}")]);
    let name = ident(&case.variant);
    match &case.payload {
        Payload::Nothing => quote!(#about #name),
        held => {
            let ty = payload(lowered, held);
            quote!(#about #name(#ty))
        }
    }
}
