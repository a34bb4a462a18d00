//! Generates the modules `views` and `call_views`, which are direct children of the generated root.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{
    AssociatedType, CallView, MemberType, SharedParameter, TypeView, ViewMember, problems::setter_name,
};
use crate::{
    calls::refused_type,
    emit::{ident, rustdoc_markdown},
    operations::doc_attributes,
    plan::OperationSide,
    rust_types::{EqualityTraits, PassingMode, RustTypes},
    shape::{StructField, TypeRef},
};

/// Generates the module `views`. Returns `None` if there are no views over types.
pub fn views_module(views: &[TypeView<'_>], types: &dyn RustTypes) -> Option<TokenStream> {
    let views: Vec<TokenStream> =
        views.iter().map(|view| TypeViewWriter { view, types }.write_view()).collect();
    (!views.is_empty()).then(|| {
        quote! {
            use ::core::fmt::Debug;

            use ::contract_runtime::Contract;

            #(#views)*
        }
    })
}

/// Generates the module `call_views` for clients. Returns `None` if there are no views over calls.
pub fn call_views_module(views: &[CallView<'_>], types: &dyn RustTypes) -> Option<TokenStream> {
    let views: Vec<TokenStream> = views.iter().map(|view| write_call_view(view, types)).collect();
    (!views.is_empty()).then(|| {
        quote! {
            use ::contract_runtime::client::Call;

            #(#views)*
        }
    })
}

/// Returns the documentation of a trait, with links to its implementors.
fn trait_docs(
    description: &str,
    otherwise: &str,
    module: &str,
    names: impl Iterator<Item = String>,
) -> TokenStream {
    let description =
        if description.is_empty() { otherwise.to_owned() } else { rustdoc_markdown(description) };
    let links: Vec<String> = names.map(|name| format!("[`{name}`](super::{module}::{name})")).collect();
    let links = match links.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("Implemented by {} and {last}.", first.join(", ")),
        links => format!("Implemented by {}.", links.concat()),
    };
    doc_attributes(&[description, links])
}

/// Returns an expression for the value of the field `place` in the form that the getter returns: by value for
/// `Copy` types, and by reference otherwise. A boxed field is neither a string nor a list.
fn read_field(handed: PassingMode, place: &TokenStream, boxed: bool) -> TokenStream {
    match handed {
        PassingMode::ByValue => quote!(#place),
        PassingMode::Str => quote!(#place.as_str()),
        PassingMode::Slice => quote!(#place.as_slice()),
        PassingMode::ByReference if boxed => quote!(&*#place),
        PassingMode::ByReference => quote!(&#place),
    }
}

/// Returns an expression for the optional field `place` in the form that the getter returns.
fn read_optional(handed: PassingMode, place: &TokenStream, boxed: bool) -> TokenStream {
    match handed {
        PassingMode::ByValue => quote!(#place),
        PassingMode::Str | PassingMode::Slice => quote!(#place.as_deref()),
        PassingMode::ByReference if boxed => quote!(#place.as_deref()),
        PassingMode::ByReference => quote!(#place.as_ref()),
    }
}

fn optional_type(ty: TokenStream, optional: bool) -> TokenStream {
    if optional { quote!(Option<#ty>) } else { ty }
}

/// A generator for the code of a view over types.
struct TypeViewWriter<'a> {
    view: &'a TypeView<'a>,
    types: &'a dyn RustTypes,
}

impl TypeViewWriter<'_> {
    fn write_view(&self) -> TokenStream {
        let TypeView { view, members, types } = self.view;
        let (name, parts) = (ident(&view.name), self.parts_name());
        let named =
            types.iter().filter_map(|(id, _)| self.types.type_name(&TypeRef::Named(*id)).map(str::to_owned));
        let about = trait_docs(&view.doc, "The common properties of these types.", "types", named);
        let declared = members.iter().filter_map(|member| {
            let associated = member.associated_type()?;
            let about = doc_attributes(&[match member.holds {
                MemberType::ListOf(_) => format!("An element of `{}`.", member.wire),
                MemberType::Same(_) | MemberType::Each(_) => format!("The type of `{}`.", member.wire),
            }]);
            let (name, bounds) = (ident(&associated.name), associated_bounds(associated));
            Some(quote!(#about type #name: #bounds;))
        });
        let getters = members.iter().map(|member| {
            let (about, name, (_, given)) =
                (about_member(member), ident(&member.name), self.getter_type(member));
            quote!(#about fn #name(&self) -> #given;)
        });
        let fields = members.iter().map(|member| {
            let (about, name, ty) = (about_member(member), ident(&member.name), self.part_type(member));
            quote!(#about pub #name: #ty,)
        });
        let (generics, own) = self.parts_generics();
        let about_parts = doc_attributes(&[format!("The properties of a [`{}`] by value.", view.name)]);
        let implementations = (0..types.len()).filter_map(|at| self.write_implementation(at));
        // Associated types become generic parameters of the struct, so that its equality traits depend only
        // on the other types.
        let equality = EqualityTraits::weakest_of(members.iter().map(|member| match &member.holds {
            MemberType::Same(ty) => self.types.equality(ty),
            MemberType::ListOf(_) | MemberType::Each(_) => EqualityTraits::Hashable,
        }));
        let equality = equality.derive_list();
        quote! {
            #about
            pub trait #name: Contract + Clone + Debug + PartialEq + Sync + 'static {
                #(#declared)*

                #(#getters)*

                /// Returns all properties by value.
                fn into_parts(self) -> #parts #own;
            }

            #about_parts
            #[derive(Clone, Debug, #equality)]
            pub struct #parts #generics { #(#fields)* }

            #(#implementations)*
        }
    }

    fn parts_name(&self) -> Ident {
        format_ident!("{}Parts", self.view.view.name)
    }

    /// Returns the generic parameters of the `Parts` struct, for its declaration and for its implementation.
    /// Both are `None` if no property has an associated type.
    fn parts_generics(&self) -> (Option<TokenStream>, Option<TokenStream>) {
        let names: Vec<Ident> = self
            .view
            .members
            .iter()
            .filter_map(|member| Some(ident(&member.associated_type()?.name)))
            .collect();
        let some = !names.is_empty();
        (some.then(|| quote!(<#(#names),*>)), some.then(|| quote!(<#(Self::#names),*>)))
    }

    fn write_implementation(&self, at: usize) -> Option<TokenStream> {
        let TypeView { view, members, types } = self.view;
        let (id, fields) = types.get(at)?;
        let (name, parts, (_, generics)) = (ident(&view.name), self.parts_name(), self.parts_generics());
        let own = self.types.rust_type(&TypeRef::Named(*id));
        let associated = members.iter().filter_map(|member| {
            let associated = member.associated_type()?;
            let (name, ty) = (ident(&associated.name), self.types.rust_type(associated.types.get(at)?));
            Some(quote!(type #name = #ty;))
        });
        let getters = members.iter().zip(fields).map(|(member, field)| {
            let (handed, given) = self.getter_type(member);
            let (name, field_name) = (ident(&member.name), ident(&field.name));
            let (place, boxed) = (quote!(self.#field_name), is_boxed(field));
            let value = match (member.optional, field.required) {
                (true, false) => read_optional(handed, &place, boxed),
                (optional, _) => wrap_some(read_field(handed, &place, boxed), optional),
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
            let value = wrap_some(value, member.optional && field.required);
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

    /// Returns how a getter passes its result (by value or by reference), and its return type.
    fn getter_type(&self, member: &ViewMember) -> (PassingMode, TokenStream) {
        let own = |handed: PassingMode, associated| (handed, handed.argument_type(&own_type(associated)));
        let (handed, given) = match &member.holds {
            MemberType::Same(ty) => PassingMode::with_argument_type(ty, self.types),
            MemberType::ListOf(associated) => own(PassingMode::Slice, associated),
            MemberType::Each(associated) => own(PassingMode::ByReference, associated),
        };
        (handed, optional_type(given, member.optional))
    }

    /// Returns the type of a property in the `Parts` struct.
    fn part_type(&self, member: &ViewMember) -> TokenStream {
        let ty = match &member.holds {
            MemberType::Same(ty) => self.types.rust_type(ty),
            MemberType::ListOf(associated) => {
                let name = ident(&associated.name);
                quote!(Vec<#name>)
            }
            MemberType::Each(associated) => {
                let name = ident(&associated.name);
                quote!(#name)
            }
        };
        optional_type(ty, member.optional)
    }
}

fn wrap_some(value: TokenStream, optional: bool) -> TokenStream {
    if optional { quote!(Some(#value)) } else { value }
}

fn own_type(associated: &AssociatedType) -> TokenStream {
    let name = ident(&associated.name);
    quote!(Self::#name)
}

const fn is_boxed(field: &StructField) -> bool {
    matches!(field.ty, TypeRef::Boxed(_))
}

fn about_member(member: &ViewMember) -> TokenStream {
    doc_attributes(&[member
        .doc
        .as_deref()
        .map_or_else(|| format!("The property `{}`.", member.wire), rustdoc_markdown)])
}

/// Returns the trait bounds of an associated type. Named types of the contract implement `Contract`.
fn associated_bounds(associated: &AssociatedType) -> TokenStream {
    let named = associated.types.iter().all(|ty| matches!(ty, TypeRef::Named(_)));
    let able = ident(if named { "Contract" } else { "Send" });
    quote!(#able + Clone + Debug + PartialEq + Sync + 'static)
}

fn write_call_view(view: &CallView<'_>, types: &dyn RustTypes) -> TokenStream {
    let name = ident(&view.view.name);
    let module = OperationSide::Paths.calls_module();
    let named = view.calls.iter().map(|call| call.name.to_owned());
    let about = trait_docs(&view.view.doc, "The common parameters of these calls.", module, named);
    let answer = view.view.answer.as_ref().map(|answer| {
        let answer = ident(answer);
        quote!(Success: super::views::#answer)
    });
    let error_bound = view.error_type.as_ref().map(|error_type| {
        let ty = refused_type(OperationSide::Paths, error_type, types);
        quote!(ErrorBody = #ty)
    });
    let bounds: Vec<TokenStream> = answer.into_iter().chain(error_bound).collect();
    let bounds = (!bounds.is_empty()).then(|| quote!(<#(#bounds),*>));
    let declared = view.parameters.iter().map(|parameter| {
        let description =
            parameter.doc.map_or_else(|| format!("The parameter `{}`.", parameter.wire), rustdoc_markdown);
        let about = doc_attributes(&[description]);
        let without = if parameter.optional { ", or without one" } else { "" };
        let about_setter =
            doc_attributes(&[format!("Returns the call with another `{}`{without}.", parameter.wire)]);
        let (get, set) = parameter_methods(parameter, types, &quote!(self));
        quote!(#about #get; #about_setter #[must_use] #set;)
    });
    let implementations = view.calls.iter().map(|call| {
        let (own, module) = (ident(call.name), ident(module));
        let methods = view.parameters.iter().zip(&call.fields).map(|(parameter, field)| {
            let (value, field) = (ident(&parameter.name), ident(field));
            let place = if parameter.optional { quote!(self.options.#field) } else { quote!(self.#field) };
            let handed = PassingMode::for_type(parameter.ty, types);
            let read = match parameter.optional {
                true => read_optional(handed, &place, false),
                false => read_field(handed, &place, false),
            };
            let (get, set) = parameter_methods(parameter, types, &quote!(mut self));
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
        pub trait #name: Call #bounds + Clone + Send + Sync + 'static {
            #(#declared)*
        }

        #(#implementations)*
    }
}

/// Returns the signatures of the getter and the setter of a parameter.
fn parameter_methods(
    parameter: &SharedParameter<'_>,
    types: &dyn RustTypes,
    own: &TokenStream,
) -> (TokenStream, TokenStream) {
    let (_, given) = PassingMode::with_argument_type(parameter.ty, types);
    let taken = types.rust_type(parameter.ty);
    let (given, taken) = (optional_type(given, parameter.optional), optional_type(taken, parameter.optional));
    let (get, set) = (ident(&parameter.name), ident(&setter_name(&parameter.name)));
    (quote!(fn #get(&self) -> #given), quote!(fn #set(#own, #get: #taken) -> Self))
}
