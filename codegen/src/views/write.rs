//! Prints views: the modules `views` and `call_views`, direct children of the generated root.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{Associated, CallView, Holds, Member, Shared, TypeView, problems::setter};
use crate::{
    calls::refused_type,
    emit::{ident, markdown},
    operations::doc,
    plan::Side,
    rust_types::{Equality, Handed, RustTypes},
    shape::{Field, TypeRef},
};

/// Writes the module `views`; nothing without views over types.
pub fn types(views: &[TypeView<'_>], types: &dyn RustTypes) -> Option<TokenStream> {
    let views: Vec<TokenStream> = views.iter().map(|view| OverTypes { view, types }.written()).collect();
    (!views.is_empty()).then(|| {
        quote! {
            use ::core::fmt::Debug;

            use ::contract_runtime::Contract;

            #(#views)*
        }
    })
}

/// Writes the module `call_views`, for clients; nothing without views over calls.
pub fn calls(views: &[CallView<'_>], types: &dyn RustTypes) -> Option<TokenStream> {
    let views: Vec<TokenStream> = views.iter().map(|view| over_calls(view, types)).collect();
    (!views.is_empty()).then(|| {
        quote! {
            use ::contract_runtime::client::Call;

            #(#views)*
        }
    })
}

/// What is said of a trait, and what it is implemented by.
fn about(said: &str, otherwise: &str, module: &str, names: impl Iterator<Item = String>) -> TokenStream {
    let said = if said.is_empty() { otherwise.to_owned() } else { markdown(said) };
    let links: Vec<String> = names.map(|name| format!("[`{name}`](super::{module}::{name})")).collect();
    let links = match links.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("They are {} and {last}.", first.join(", ")),
        links => format!("It is {}.", links.concat()),
    };
    doc(&[said, links])
}

/// How a field is read through a reference. What is boxed is neither text nor list.
fn read(handed: Handed, place: &TokenStream, boxed: bool) -> TokenStream {
    match handed {
        Handed::Copied => quote!(#place),
        Handed::Text => quote!(#place.as_str()),
        Handed::List => quote!(#place.as_slice()),
        Handed::Borrowed if boxed => quote!(&*#place),
        Handed::Borrowed => quote!(&#place),
    }
}

/// The same of a field that may be left out.
fn read_optional(handed: Handed, place: &TokenStream, boxed: bool) -> TokenStream {
    match handed {
        Handed::Copied => quote!(#place),
        Handed::Text | Handed::List => quote!(#place.as_deref()),
        Handed::Borrowed if boxed => quote!(#place.as_deref()),
        Handed::Borrowed => quote!(#place.as_ref()),
    }
}

fn option(ty: TokenStream, optional: bool) -> TokenStream {
    if optional { quote!(Option<#ty>) } else { ty }
}

/// A view over types, and what prints their types.
struct OverTypes<'a> {
    view: &'a TypeView<'a>,
    types: &'a dyn RustTypes,
}

impl OverTypes<'_> {
    fn written(&self) -> TokenStream {
        let TypeView { view, members, types } = self.view;
        let (name, parts) = (ident(&view.name), self.parts());
        let named =
            types.iter().filter_map(|(id, _)| self.types.name(&TypeRef::Named(*id)).map(str::to_owned));
        let about = about(&view.doc, "What these types have in common.", "types", named);
        let declared = members.iter().filter_map(|member| {
            let associated = member.associated()?;
            let about = doc(&[match member.holds {
                Holds::ListOf(_) => format!("One of `{}`.", member.wire),
                Holds::Same(_) | Holds::Each(_) => format!("What `{}` holds.", member.wire),
            }]);
            let (name, bounds) = (ident(&associated.name), bounds(associated));
            Some(quote!(#about type #name: #bounds;))
        });
        let getters = members.iter().map(|member| {
            let (about, name, (_, given)) = (about_member(member), ident(&member.name), self.getter(member));
            quote!(#about fn #name(&self) -> #given;)
        });
        let fields = members.iter().map(|member| {
            let (about, name, ty) = (about_member(member), ident(&member.name), self.held(member));
            quote!(#about pub #name: #ty,)
        });
        let (generics, own) = self.generics();
        let about_parts = doc(&[format!("What a [`{}`] holds, taken out of it.", view.name)]);
        let implementations = (0..types.len()).filter_map(|at| self.implementation(at));
        // What differs is a parameter of the struct, on which the derived traits depend.
        let equality = Equality::of_all(members.iter().map(|member| match &member.holds {
            Holds::Same(ty) => self.types.equality(ty),
            Holds::ListOf(_) | Holds::Each(_) => Equality::Hashed,
        }));
        let equality = equality.derives();
        quote! {
            #about
            pub trait #name: Contract + Clone + Debug + PartialEq + Sync + 'static {
                #(#declared)*

                #(#getters)*

                /// All of it by value.
                fn into_parts(self) -> #parts #own;
            }

            #about_parts
            #[derive(Clone, Debug, #equality)]
            pub struct #parts #generics { #(#fields)* }

            #(#implementations)*
        }
    }

    fn parts(&self) -> Ident {
        format_ident!("{}Parts", self.view.view.name)
    }

    /// The parameters of the struct of parts: where it is declared, and of a type's own.
    fn generics(&self) -> (Option<TokenStream>, Option<TokenStream>) {
        let names: Vec<Ident> =
            self.view.members.iter().filter_map(|member| Some(ident(&member.associated()?.name))).collect();
        let some = !names.is_empty();
        (some.then(|| quote!(<#(#names),*>)), some.then(|| quote!(<#(Self::#names),*>)))
    }

    fn implementation(&self, at: usize) -> Option<TokenStream> {
        let TypeView { view, members, types } = self.view;
        let (id, fields) = types.get(at)?;
        let (name, parts, (_, generics)) = (ident(&view.name), self.parts(), self.generics());
        let own = self.types.rust_type(&TypeRef::Named(*id));
        let associated = members.iter().filter_map(|member| {
            let associated = member.associated()?;
            let (name, ty) = (ident(&associated.name), self.types.rust_type(associated.types.get(at)?));
            Some(quote!(type #name = #ty;))
        });
        let getters = members.iter().zip(fields).map(|(member, field)| {
            let (handed, given) = self.getter(member);
            let (name, field_name) = (ident(&member.name), ident(&field.name));
            let (place, boxed) = (quote!(self.#field_name), is_boxed(field));
            let value = match (member.optional, field.required) {
                (true, false) => read_optional(handed, &place, boxed),
                (optional, _) => some(read(handed, &place, boxed), optional),
            };
            quote!(fn #name(&self) -> #given { #value })
        });
        let taken = members.iter().zip(fields).map(|(member, field)| {
            let (name, field_name) = (ident(&member.name), ident(&field.name));
            let place = quote!(self.#field_name);
            let value = match (field.required, is_boxed(field)) {
                (_, false) => place,
                (true, true) => quote!(*#place),
                (false, true) => quote!(#place.map(|value| *value)),
            };
            let value = some(value, member.optional && field.required);
            quote!(#name: #value,)
        });
        Some(quote! {
            impl #name for #own {
                #(#associated)*

                #(#getters)*

                fn into_parts(self) -> #parts #generics {
                    #parts { #(#taken)* }
                }
            }
        })
    }

    /// How a member is handed over, and the type of its getter.
    fn getter(&self, member: &Member) -> (Handed, TokenStream) {
        let own = |handed: Handed, associated| (handed, handed.rust_type(&own_type(associated)));
        let (handed, given) = match &member.holds {
            Holds::Same(ty) => Handed::given(ty, self.types),
            Holds::ListOf(associated) => own(Handed::List, associated),
            Holds::Each(associated) => own(Handed::Borrowed, associated),
        };
        (handed, option(given, member.optional))
    }

    /// The type of a member among the parts.
    fn held(&self, member: &Member) -> TokenStream {
        let ty = match &member.holds {
            Holds::Same(ty) => self.types.rust_type(ty),
            Holds::ListOf(associated) => {
                let name = ident(&associated.name);
                quote!(Vec<#name>)
            }
            Holds::Each(associated) => {
                let name = ident(&associated.name);
                quote!(#name)
            }
        };
        option(ty, member.optional)
    }
}

fn some(value: TokenStream, optional: bool) -> TokenStream {
    if optional { quote!(Some(#value)) } else { value }
}

fn own_type(associated: &Associated) -> TokenStream {
    let name = ident(&associated.name);
    quote!(Self::#name)
}

const fn is_boxed(field: &Field) -> bool {
    matches!(field.ty, TypeRef::Boxed(_))
}

fn about_member(member: &Member) -> TokenStream {
    doc(&[member.doc.as_deref().map_or_else(|| format!("The member `{}`.", member.wire), markdown)])
}

/// What every one of the types is: each type of the contract is a `Contract`.
fn bounds(associated: &Associated) -> TokenStream {
    let named = associated.types.iter().all(|ty| matches!(ty, TypeRef::Named(_)));
    let able = ident(if named { "Contract" } else { "Send" });
    quote!(#able + Clone + Debug + PartialEq + Sync + 'static)
}

fn over_calls(view: &CallView<'_>, types: &dyn RustTypes) -> TokenStream {
    let name = ident(&view.view.name);
    let module = Side::Paths.calls();
    let named = view.calls.iter().map(|call| call.name.to_owned());
    let about = about(&view.view.doc, "What these calls have in common.", module, named);
    let answer = view.view.answer.as_ref().map(|answer| {
        let answer = ident(answer);
        quote!(Success: super::views::#answer)
    });
    let refused = view.refused.as_ref().map(|refused| {
        let ty = refused_type(Side::Paths, refused, types);
        quote!(Refusal = #ty)
    });
    let said: Vec<TokenStream> = answer.into_iter().chain(refused).collect();
    let said = (!said.is_empty()).then(|| quote!(<#(#said),*>));
    let declared = view.parameters.iter().map(|parameter| {
        let said = parameter.doc.map_or_else(|| format!("The parameter `{}`.", parameter.wire), markdown);
        let about = doc(&[said]);
        let without = if parameter.optional { ", or without one" } else { "" };
        let about_setter = doc(&[format!("The same call with another `{}`{without}.", parameter.wire)]);
        let (get, set) = methods(parameter, types, &quote!(self));
        quote!(#about #get; #about_setter #[must_use] #set;)
    });
    let implementations = view.calls.iter().map(|call| {
        let (own, module) = (ident(call.name), ident(module));
        let methods = view.parameters.iter().zip(&call.fields).map(|(parameter, field)| {
            let (value, field) = (ident(&parameter.name), ident(field));
            let place = if parameter.optional { quote!(self.options.#field) } else { quote!(self.#field) };
            let handed = Handed::of(parameter.ty, types);
            let read = match parameter.optional {
                true => read_optional(handed, &place, false),
                false => read(handed, &place, false),
            };
            let (get, set) = methods(parameter, types, &quote!(mut self));
            quote! {
                #get { #read }

                #set {
                    #place = #value;
                    self
                }
            }
        });
        quote!(impl #name for super::#module::#own { #(#methods)* })
    });
    quote! {
        #about
        pub trait #name: Call #said + Clone + Send + Sync + 'static {
            #(#declared)*
        }

        #(#implementations)*
    }
}

/// The getter and the setter of a parameter, without their bodies.
fn methods(parameter: &Shared<'_>, types: &dyn RustTypes, own: &TokenStream) -> (TokenStream, TokenStream) {
    let (_, given) = Handed::given(parameter.ty, types);
    let taken = types.rust_type(parameter.ty);
    let (given, taken) = (option(given, parameter.optional), option(taken, parameter.optional));
    let (get, set) = (ident(&parameter.name), ident(&setter(&parameter.name)));
    (quote!(fn #get(&self) -> #given), quote!(fn #set(#own, #get: #taken) -> Self))
}
