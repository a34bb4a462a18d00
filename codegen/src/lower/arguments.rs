//! Parameters: which are arguments, how they are named and written.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::ToTokens;
use serde_json::{Value, json};

use super::{Argument, List, Lowering, distinct};
use crate::{
    api::{Operation, Parameter, ParameterIn},
    schema::SchemaId,
};

impl Lowering<'_> {
    /// The lowered path, the arguments in the order of the method, the lowered parameters.
    pub(super) fn arguments(
        &mut self,
        operation: &Operation,
    ) -> Result<(String, Vec<Argument>, Vec<Value>), String> {
        // progenitor names an argument after its parameter, wherever that stands, and drops
        // the first of two with one name.
        let mut seen = BTreeSet::from(["body".to_owned()]);
        let mut path = operation.path.clone();
        let mut arguments = Vec::new();
        for placeholder in placeholders(&operation.path)? {
            let (index, parameter) = operation
                .parameters
                .iter()
                .enumerate()
                .find(|(_, each)| each.location == ParameterIn::Path && each.name == placeholder)
                .ok_or_else(|| format!("the path's `{{{placeholder}}}` is no parameter"))?;
            let name = distinct(placeholder, &mut seen, "path");
            path = path.replace(&format!("{{{placeholder}}}"), &format!("{{{name}}}"));
            arguments.push(self.argument(index, parameter, name)?);
        }
        for (index, parameter) in operation.parameters.iter().enumerate() {
            if self.is_supplied(parameter) {
                continue;
            }
            let prefix = match parameter.location {
                ParameterIn::Path => {
                    if arguments.iter().any(|argument| argument.parameter == index) {
                        continue;
                    }
                    return Err(format!("path parameter `{}` is not in the path", parameter.name));
                }
                ParameterIn::Query => "query",
                ParameterIn::Header => "header",
                ParameterIn::Cookie => {
                    return Err(format!("cookie parameter `{}` is not supported", parameter.name));
                }
            };
            let name = distinct(&parameter.name, &mut seen, prefix);
            arguments.push(self.argument(index, parameter, name)?);
        }
        let lowered = arguments.iter().map(|argument| self.parameter(operation, argument));
        let lowered = lowered.collect();
        Ok((path, arguments, lowered))
    }

    /// Whether the transport supplies it, or HTTP itself does (OpenAPI 3.1, 4.8.12.1).
    fn is_supplied(&mut self, parameter: &Parameter) -> bool {
        if !matches!(parameter.location, ParameterIn::Header | ParameterIn::Cookie) {
            return false;
        }
        let named = |name: &str| name.eq_ignore_ascii_case(&parameter.name);
        let ours = self.options.transport_parameters.iter().any(|name| named(name));
        let https = parameter.location == ParameterIn::Header
            && ["Accept", "Authorization", "Content-Type"].into_iter().any(named);
        if ours {
            let what = format!("parameter `{}`", parameter.name);
            self.lose(&parameter.place, what, "the transport supplies it");
        } else if https {
            let what = format!("header `{}`, which OpenAPI says to ignore", parameter.name);
            self.lose(&parameter.place, what, "the client and its transport");
        }
        ours || https
    }

    fn argument(&mut self, index: usize, parameter: &Parameter, name: String) -> Result<Argument, String> {
        let wire = &parameter.name;
        if let Some(media_type) = &parameter.content {
            return Err(format!("parameter `{wire}` with `content` ({media_type}) is not supported"));
        }
        let schema = parameter.schema.ok_or_else(|| format!("parameter `{wire}` has no schema"))?;
        let style = match parameter.location {
            ParameterIn::Query => "form",
            _ => "simple",
        };
        let (element, list) = if self.types.is_scalar(schema) {
            (self.types.rust_type(schema), List::No)
        } else {
            let list = if parameter.explode { List::Repeated } else { List::Joined };
            match self.element(schema) {
                Some(item) if parameter.location == ParameterIn::Query => (self.types.rust_type(item), list),
                _ => match self.not_null(schema) {
                    Some(plain) => (plain, List::No),
                    None => {
                        let what = format!("`{wire}` is neither a plain value nor a list of such");
                        return Err(format!("parameter {what}, or not in the query"));
                    }
                },
            }
        };
        if parameter.style != style && !(list == List::No && is_plain_style(&parameter.style)) {
            return Err(format!("style `{}` of parameter `{wire}` is not supported", parameter.style));
        }
        let element = match without_null(&element) {
            Some(plain) => {
                let what = format!("`null` for parameter `{wire}`");
                self.lose(&parameter.place, what, "nothing: it has no form there; leave it out");
                plain
            }
            None => element,
        };
        if parameter.allow_reserved {
            let what = format!("`allowReserved` of parameter `{wire}`");
            self.lose(&parameter.place, what, "reserved characters are sent encoded, which means the same");
        }
        let limits = crate::client::limits(self.graph, schema);
        if !limits.is_empty() {
            let what = format!("limits of parameter `{wire}`: {limits}");
            let checked = self.types.is_contract(schema) || self.types.validator(schema).is_some();
            let enforced = if checked {
                "checked before it is sent, by its schema"
            } else {
                "the server alone: the generated crate has no validator for it"
            };
            self.lose(&parameter.place, what, enforced);
        }
        Ok(Argument {
            parameter: index,
            name,
            location: parameter.location,
            required: parameter.required || parameter.location == ParameterIn::Path,
            list,
            rust_type: element,
        })
    }

    fn parameter(&mut self, operation: &Operation, argument: &Argument) -> Value {
        let schema = operation.parameters[argument.parameter].schema;
        let key = self.components.key(argument.rust_type.clone(), schema);
        let reference = json!({ "$ref": format!("#/components/schemas/{key}") });
        let location = match argument.location {
            ParameterIn::Path => "path",
            ParameterIn::Query => "query",
            ParameterIn::Header | ParameterIn::Cookie => "header",
        };
        json!({
            "name": argument.name,
            "in": location,
            "required": argument.required,
            "schema": reference,
        })
    }

    /// The schema of a list's elements, when they are plain values.
    fn element(&self, schema: SchemaId) -> Option<SchemaId> {
        let mut id = schema;
        // References were checked for cycles when the graph was built; this bound is for
        // graphs made by hand.
        for _ in 0..64 {
            let schema = self.graph.schema(id);
            if let Some(items) = schema.items {
                let rust_type = self.types.rust_type(id).to_string().replace(' ', "");
                let list = rust_type.starts_with("Vec<") || rust_type.starts_with("::std::vec::Vec<");
                return (list && self.types.is_scalar(items)).then_some(items);
            }
            id = schema.reference?;
        }
        None
    }

    /// The type without its `null`, when what remains is a plain value.
    fn not_null(&self, schema: SchemaId) -> Option<TokenStream> {
        let wrapped = self.types.rust_type(schema);
        without_null(&wrapped)?;
        let held = self.graph.schema(schema);
        let branches = held.any_of.iter().chain(&held.one_of).copied();
        let plain = held.types.is_some_and(|types| {
            !types.contains(crate::schema::Types::ARRAY) && !types.contains(crate::schema::Types::OBJECT)
        }) || branches.into_iter().any(|branch| self.types.is_scalar(branch));
        plain.then_some(wrapped)
    }
}

/// Styles that write a single plain value as the default style does.
fn is_plain_style(style: &str) -> bool {
    matches!(style, "form" | "simple" | "spaceDelimited" | "pipeDelimited")
}

/// `T` of `Nullable<T>` or `Option<T>`.
fn without_null(rust_type: &TokenStream) -> Option<TokenStream> {
    let syn::Type::Path(path) = syn::parse2(rust_type.clone()).ok()? else { return None };
    let last = path.path.segments.last()?;
    if last.ident != "Nullable" && last.ident != "Option" {
        return None;
    }
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        syn::GenericArgument::Type(inner) => Some(inner.to_token_stream()),
        _ => None,
    }
}

/// The names between braces, in order, each once.
fn placeholders(path: &str) -> Result<Vec<&str>, String> {
    let mut names: Vec<&str> = Vec::new();
    let mut rest = path;
    if !path.starts_with('/') {
        return Err("its path does not begin with `/`".to_owned());
    }
    while let Some(open) = rest.find(['{', '}']) {
        let (_, from) = rest.split_at(open);
        let name = from.strip_prefix('{').and_then(|from| from.split_once('}'));
        let Some((name, after)) = name.filter(|(name, _)| !name.is_empty() && !name.contains(['{', '/']))
        else {
            return Err(format!("its path `{path}` is no template"));
        };
        if names.contains(&name) {
            return Err(format!("its path has `{{{name}}}` twice"));
        }
        names.push(name);
        rest = after;
    }
    Ok(names)
}
