//! Generates enums for unions. Generated code selects the variant of a value by a tag, by the properties of
//! an object, or by the JSON type.

use contract_runtime::{Json, schema::TagCertainty};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, quote};

use super::{ModelEmitter, RuntimeImport, docs::doc_lines, ident, records::macro_section};
use crate::{
    names,
    rust_types::RustTypes as _,
    schema::TypeSet,
    shape::{
        KindVariant, MemberRule, ObjectForm, ObjectUnion, TypeBody, TypeDef, TypeId, TypeRef,
        VariantSelector, VariantTag,
    },
};

impl ModelEmitter<'_> {
    pub(super) fn object_union_item(&self, id: TypeId, def: &TypeDef, body: &ObjectUnion) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let hidden = self.secret_debug_impl(def, body);
        let derives = match hidden {
            Some(_) => {
                let equality = self.equality.equality_of_type(id).derive_list();
                quote!(Clone, #equality)
            }
            None => self.derive_list(id),
        };
        let large = (body.contents().count() > 1).then(|| {
            quote!(#[allow(clippy::large_enum_variant, reason = "variants are held one at a time or in a list; a pointer for each costs more than the space")])
        });
        let variants = self.variants_macro(def, body.contents().collect());
        let others = body.others.iter().map(|v| self.kind_variant(v));
        let (declared, unknown_doc, implementation) = match &body.selector {
            VariantSelector::Tag(tag) => self.tag_selection(def, body, tag),
            VariantSelector::Members(forms) => self.form_selection(def, body, forms),
        };
        let unknown = body.open.then(|| {
            let json = self.runtime_item(RuntimeImport::Json);
            let docs = doc_lines(&[unknown_doc]);
            quote!(#docs Unknown(#json),)
        });
        quote! {
            #docs
            #[derive(#derives)]
            #large
            pub enum #name {
                #(#others)*
                #(#declared)*
                #unknown
            }
            #implementation
            #hidden
            #variants
        }
    }

    /// Returns the parts of an enum whose variants are distinguished by a tag: the variants, the
    /// documentation of `Unknown`, and the macro call that implements parsing and serialization.
    fn tag_selection(
        &self,
        def: &TypeDef,
        body: &ObjectUnion,
        tag: &VariantTag,
    ) -> (Vec<TokenStream>, String, TokenStream) {
        let tag_name = &tag.name;
        let rows = body.variants.iter().zip(&tag.literals).enumerate().map(|(at, (v, literals))| {
            let (variant, ty) = (ident(&v.name), self.type_tokens(&v.ty));
            let literals: Vec<_> = literals.iter().map(|literal| self.constant_expression(literal)).collect();
            let values: Vec<String> = literals.iter().map(|literal| format!("`{literal}`")).collect();
            let doc = doc_lines(&[format!("`{tag_name}` is {}.", values.join(" or "))]);
            let others = (tag.default_variant == Some(at))
                .then(|| quote!(#[doc = " Also used for other tags, or none, if it can hold the object."]));
            (quote!(#others #doc #variant(#ty),), quote!(#variant = #(#literals)|*))
        });
        let (declared, rows): (Vec<_>, Vec<_>) = rows.unzip();
        let unknown_doc = match tag.certainty {
            TagCertainty::Required => format!("Any other `{tag_name}`; the object as received."),
            TagCertainty::Present => format!("Any other `{tag_name}`, or none; the object as received."),
            TagCertainty::Hint => format!(
                "Any other `{tag_name}`, or none, or an object that does not match its tag, or that contains such an object more than eight unions deep; the object as received."
            ),
        };
        let default = tag.default_variant.and_then(|at| body.variants.get(at)).map(|v| ident(&v.name));
        let by = ident(match tag.certainty {
            TagCertainty::Required => "tag",
            TagCertainty::Present => "optional_tag",
            TagCertainty::Hint => "discriminator",
        });
        let (name, kind) = (ident(&def.name), ident(if body.open { "open_union" } else { "closed_union" }));
        let others = other_kinds(body).map(|(head, rows)| quote!(#head #rows));
        let implementation = quote! {
            ::contract_runtime::#kind! { #name by #by #tag_name #default { variants { #(#rows),* } #others } }
        };
        (declared, unknown_doc, implementation)
    }

    /// Returns the parts of an enum without a tag, whose variants are distinguished by their properties: the
    /// variants, the documentation of `Unknown`, and the macro call that implements parsing and
    /// serialization.
    ///
    /// The macro call lists the properties of each variant with their JSON types and constants, as in
    /// `User(User) { "id" required [Number], "kind" optional_tag [String] = Text("a") }`. An empty list allows
    /// all types.
    fn form_selection(
        &self,
        def: &TypeDef,
        body: &ObjectUnion,
        forms: &[ObjectForm],
    ) -> (Vec<TokenStream>, String, TokenStream) {
        let rows = body.variants.iter().zip(forms).enumerate().map(|(at, (v, form))| {
            let (variant, ty) = (ident(&v.name), self.type_tokens(&v.ty));
            let tagged = body.optional_tag.as_ref().and_then(|tag| Some((&tag.name, tag.literals.get(at)?)));
            let doc = doc_lines(&[match tagged {
                Some((tag, values)) => {
                    let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
                    format!("`{tag}` is {}, or is absent from an object {form}.", values.join(" or "))
                }
                None => format!("An object {form}."),
            }]);
            let declared = quote!(#doc #variant(#ty),);
            let ty = self.type_tokens(v.ty.unboxed());
            let members = form.members.iter().map(|rule| self.member_rule_row(rule));
            let closed = form.closed.then(|| quote!(closed));
            (declared, quote!(#variant(#ty) #closed { #(#members),* }))
        });
        let (declared, rows): (Vec<_>, Vec<_>) = rows.unzip();
        let name = ident(&def.name);
        let rest = body.open.then(|| quote!(open Unknown));
        let others = other_kinds(body).map(|(head, rows)| quote!([#head] #rows));
        let implementation = quote!(::contract_runtime::object_union! { #name #rest { #others #(#rows)* } });
        (declared, "Any other object, as received.".to_owned(), implementation)
    }

    fn member_rule_row(&self, rule: &MemberRule) -> TokenStream {
        let name = &rule.name;
        let presence = ident(match (rule.required, rule.is_tag) {
            (true, false) => "required",
            (false, false) => "optional",
            (true, true) => "required_tag",
            (false, true) => "optional_tag",
        });
        let types = runtime_kinds(rule.types);
        let types = if types.len() == KINDS.len() { Vec::new() } else { types };
        let literals = rule.literals.iter().map(|literal| {
            let kind = ident(match literal {
                Json::String(_) => "Text",
                Json::Bool(_) => "Bool",
                _ => "Int",
            });
            let value = self.constant_expression(literal);
            quote!(#kind(#value))
        });
        let literals = (!rule.literals.is_empty()).then(|| quote!(= #(#literals)|*));
        quote!(#name #presence [#(#types),*] #literals)
    }

    /// Generates a `Debug` implementation that hides unknown objects, because they may contain secrets.
    /// Returns `None` if the union is closed or if no variant contains secrets.
    fn secret_debug_impl(&self, def: &TypeDef, body: &ObjectUnion) -> Option<TokenStream> {
        if !body.open || !body.contents().any(|(_, ty)| self.may_hold_secrets.place_contains(ty)) {
            return None;
        }
        let (name, tag) = (ident(&def.name), body.tag().map(|tag| &tag.name));
        let variants = body.contents().map(|(name, _)| ident(name));
        Some(quote!(::contract_runtime::secret_union! { #name #tag { #(#variants),* } }))
    }

    pub(super) fn kind_union_item(&self, id: TypeId, def: &TypeDef, variants: &[KindVariant]) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let derives = self.derive_list(id);
        let declared = variants.iter().map(|v| self.kind_variant(v));
        let rows = variants.iter().map(kind_row);
        let all: Vec<String> = variants.iter().map(kind_phrase).collect();
        let expected = all.join(" or ");
        let held = self.variants_macro(def, variants.iter().map(|v| (v.name.as_str(), &v.ty)).collect());
        quote! {
            #docs
            #[derive(#derives)]
            pub enum #name {
                #(#declared)*
            }
            ::contract_runtime::untagged_union! { #name expects #expected { variants { #(#rows),* } } }
            #held
        }
    }

    /// Generates the declaration of a variant that the JSON type selects.
    fn kind_variant(&self, v: &KindVariant) -> TokenStream {
        let (variant, ty) = (ident(&v.name), self.place_type_tokens(&v.ty, &v.conj));
        let doc = format!(" The value is {}.", kind_phrase(v));
        quote!(#[doc = #doc] #variant(#ty),)
    }

    /// Generates a macro call that implements methods to access the value of each variant, `From` for every
    /// variant with a unique type, and the search for undeclared properties.
    fn variants_macro(&self, def: &TypeDef, variants: Vec<(&str, &TypeRef)>) -> TokenStream {
        let name = ident(&def.name);
        let access = macro_section("access", self.accessor_rows(&variants).into_iter());
        let unique = variants.iter().filter(|(_, ty)| {
            variants.iter().filter(|(_, other)| other == ty).count() == 1 && **ty != TypeRef::Json
        });
        let from = macro_section(
            "from",
            unique.map(|(variant, ty)| {
                let (variant, ty) = (ident(variant), self.type_tokens(ty.unboxed()));
                quote!(#variant(#ty))
            }),
        );
        let mut texts = variants.iter().filter(|(_, ty)| self.is_built_from_str(ty));
        let text = match (texts.next(), texts.next()) {
            (Some((variant, _)), None) => Some(ident(variant)),
            _ => None,
        };
        let from_text = text.map(|variant| quote!(from_text { #variant }));
        let from_array = self.array_section(&variants);
        let nested = variants.iter().filter(|(_, ty)| self.holds_members(ty));
        let nested = macro_section("nested", nested.map(|(variant, _)| ident(variant).to_token_stream()));
        quote!(::contract_runtime::union_variants! { #name { #access #from #from_text #from_array #nested } })
    }

    /// Returns the part of the macro call that converts an array into the only variant that is a list. A replaced
    /// type may be an array itself.
    fn array_section(&self, variants: &[(&str, &TypeRef)]) -> Option<TokenStream> {
        if variants.iter().any(|(_, ty)| matches!(ty.unboxed(), TypeRef::Replaced(..))) {
            return None;
        }
        let mut lists = variants.iter().filter(|(_, ty)| matches!(ty, TypeRef::Vec(_)));
        let (Some((variant, ty)), None) = (lists.next(), lists.next()) else { return None };
        let (variant, kind) = (ident(variant), ident(self.list_argument(ty)?.keyword()));
        let ty = self.type_tokens(ty);
        Some(quote!(from_array { #variant: #kind #ty }))
    }

    /// Returns the macro row of each variant whose value has access methods, such as
    /// `User: one User = as_user into_user`. Variants of untyped JSON, and variants with the same method
    /// names, have none.
    fn accessor_rows(&self, variants: &[(&str, &TypeRef)]) -> Vec<TokenStream> {
        let words: Vec<String> = variants.iter().map(|(variant, _)| names::snake_case(variant)).collect();
        let rows = variants.iter().zip(&words).filter(|((_, ty), word)| {
            **ty != TypeRef::Json && words.iter().filter(|other| other == word).count() == 1
        });
        let rows = rows.map(|((variant, ty), word)| {
            let kind = ident(match ty {
                TypeRef::String => "text",
                TypeRef::Boxed(_) => "boxed",
                ty if self.shapes.is_copy(ty) => "copy",
                _ => "one",
            });
            let (variant, payload) = (ident(variant), self.type_tokens(ty.unboxed()));
            let (get, take) = (ident(&format!("as_{word}")), ident(&format!("into_{word}")));
            quote!(#variant: #kind #payload = #get #take)
        });
        rows.collect()
    }

    /// Returns true if the type can be created from a `&str` by `From`.
    fn is_built_from_str(&self, ty: &TypeRef) -> bool {
        match ty {
            TypeRef::String => true,
            TypeRef::Named(id) => {
                matches!(&self.shapes.get(*id).body, TypeBody::Enum(list) if list.open)
            }
            _ => false,
        }
    }
}

/// The JSON types and the names of the runtime's variants for them.
const KINDS: [(TypeSet, &str); 6] = [
    (TypeSet::NULL, "Null"),
    (TypeSet::BOOLEAN, "Boolean"),
    (TypeSet::NUMBER, "Number"),
    (TypeSet::STRING, "String"),
    (TypeSet::ARRAY, "Array"),
    (TypeSet::OBJECT, "Object"),
];

/// Returns the name of the runtime's variant for the JSON type of a union variant.
fn runtime_kind(types: TypeSet) -> Ident {
    let found = KINDS.into_iter().find(|(t, _)| !types.intersection(*t).is_empty());
    ident(found.map_or("Object", |(_, name)| name))
}

/// Returns the names of the runtime's variants for all JSON types in a set.
fn runtime_kinds(types: TypeSet) -> Vec<Ident> {
    let kinds = KINDS.into_iter().filter(|(kind, _)| !kind.intersection(types).is_empty());
    kinds.map(|(_, name)| ident(name)).collect()
}

/// For an object union that also has variants for other JSON types, returns the two parts of the macro call
/// that describe these variants: `others expects "a string or an object"` and `{ Text = String }`.
fn other_kinds(body: &ObjectUnion) -> Option<(TokenStream, TokenStream)> {
    if body.others.is_empty() {
        return None;
    }
    let kinds: Vec<String> = body.others.iter().map(kind_phrase).collect();
    let expected = format!("{} or {}", kinds.join(" or "), type_phrase(TypeSet::OBJECT));
    let rows = body.others.iter().map(kind_row);
    Some((quote!(others expects #expected), quote!({ #(#rows),* })))
}

/// Returns the macro row of a variant that the JSON type selects, such as `Text = String`.
fn kind_row(variant: &KindVariant) -> TokenStream {
    let (name, kind) = (ident(&variant.name), runtime_kind(variant.types));
    let items = (variant.items != TypeSet::ALL).then(|| {
        let kinds = runtime_kinds(variant.items);
        quote!([#(#kinds),*])
    });
    quote!(#name = #kind #items)
}

fn kind_phrase(variant: &KindVariant) -> String {
    if variant.items == TypeSet::ALL {
        return type_phrase(variant.types).to_owned();
    }
    let kinds = KINDS.into_iter().map(|(kind, _)| kind.intersection(variant.items));
    let items: Vec<&str> = kinds.filter(|types| !types.is_empty()).map(items_phrase).collect();
    format!("an array of {}", items.join(" or "))
}

fn items_phrase(types: TypeSet) -> &'static str {
    if types == TypeSet::NULL {
        "null"
    } else if types == TypeSet::BOOLEAN {
        "booleans"
    } else if types == TypeSet::INTEGER {
        "whole numbers"
    } else if !types.intersection(TypeSet::NUMBER).is_empty() {
        "numbers"
    } else if types == TypeSet::STRING {
        "strings"
    } else if types == TypeSet::ARRAY {
        "arrays"
    } else {
        "objects"
    }
}

fn type_phrase(types: TypeSet) -> &'static str {
    if types == TypeSet::NULL {
        "null"
    } else if types == TypeSet::BOOLEAN {
        "true or false"
    } else if types == TypeSet::INTEGER {
        "a whole number"
    } else if !types.intersection(TypeSet::NUMBER).is_empty() {
        "a number"
    } else if types == TypeSet::STRING {
        "a string"
    } else if types == TypeSet::ARRAY {
        "an array"
    } else {
        "an object"
    }
}
