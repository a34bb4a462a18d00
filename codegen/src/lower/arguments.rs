//! Parameters: which are arguments, how they are named and written.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use serde_json::{Value, json};

use super::{Argument, Lowering, TRANSPORT, distinct, exceed};
use crate::{
    api::{Operation, Parameter, ParameterIn},
    operations::Side,
    schema::SchemaId,
};

impl Lowering<'_> {
    /// The lowered path, the arguments in the order of the method, the lowered parameters.
    pub(super) fn arguments(
        &mut self,
        operation: &Operation,
        beyond: &mut Option<String>,
    ) -> Result<(String, Vec<Argument>, Vec<Value>), String> {
        // progenitor names an argument after its parameter, wherever that stands, and drops
        // the first of two with one name.
        let mut seen = BTreeSet::from(["body".to_owned()]);
        let mut path = operation.path.clone();
        let mut arguments = Vec::new();
        // A webhook has a name where others have a path.
        let template = if self.side == Side::Webhooks { "/" } else { &operation.path };
        for placeholder in placeholders(template)? {
            let (index, parameter) = operation
                .parameters
                .iter()
                .enumerate()
                .find(|(_, each)| each.location == ParameterIn::Path && each.name == placeholder)
                .ok_or_else(|| format!("the path's `{{{placeholder}}}` is no parameter"))?;
            let name = distinct(placeholder, &mut seen, "path");
            path = path.replace(&format!("{{{placeholder}}}"), &format!("{{{name}}}"));
            arguments.push(self.argument(index, parameter, name, beyond));
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
                ParameterIn::Cookie => "cookie",
            };
            let name = distinct(&parameter.name, &mut seen, prefix);
            arguments.push(self.argument(index, parameter, name, beyond));
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
            self.lose(&parameter.place, what, TRANSPORT);
        } else if https {
            let what = format!("header `{}`, which OpenAPI says to ignore", parameter.name);
            self.lose(&parameter.place, what, "the client and its transport");
        }
        ours || https
    }

    fn argument(
        &mut self,
        index: usize,
        parameter: &Parameter,
        name: String,
        beyond: &mut Option<String>,
    ) -> Argument {
        let wire = &parameter.name;
        let any = || quote!(::contract_runtime::Json);
        let whole = parameter.schema.map_or_else(any, |schema| self.types.rust_type(schema));
        let scalar = parameter.schema.is_some_and(|schema| self.types.is_scalar(schema));
        let query = parameter.location == ParameterIn::Query;
        let element = parameter.schema.and_then(|schema| self.element(schema));
        let plain_style = matches!(
            (query, parameter.style.as_str()),
            (true, "form" | "spaceDelimited" | "pipeDelimited") | (false, "simple")
        );
        if parameter.location == ParameterIn::Cookie {
            exceed(beyond, format!("`{wire}` is a cookie"));
        } else if let Some(media_type) = &parameter.content {
            exceed(beyond, format!("parameter `{wire}` is `{media_type}`"));
        } else if !plain_style || (element.is_some() && parameter.style != "form") {
            exceed(beyond, format!("parameter `{wire}` has the style `{}`", parameter.style));
        } else if !scalar && (element.is_none_or(|item| !self.types.is_scalar(item)) || !query) {
            let null = parameter.schema.is_some_and(|schema| self.is_plain_or_null(schema));
            if !null {
                exceed(
                    beyond,
                    format!("parameter `{wire}` is neither a plain value nor a list of such in the query"),
                );
            }
        }
        let (rust_type, list) = match element {
            Some(item) if !scalar => (self.types.rust_type(item), true),
            _ => (whole, false),
        };
        let rust_type = match without_null(&rust_type) {
            Some(plain) => {
                let what = format!("`null` for parameter `{wire}`");
                self.lose(&parameter.place, what, "nothing: it has no form there; leave it out");
                plain
            }
            None => rust_type,
        };
        if parameter.allow_reserved {
            let what = format!("`allowReserved` of parameter `{wire}`");
            self.lose(&parameter.place, what, "the client sends reserved characters as they are");
        }
        let limits = parameter.schema.map(|schema| crate::client::limits(self.graph, schema));
        if let Some((limits, schema)) = limits.zip(parameter.schema).filter(|(limits, _)| !limits.is_empty())
        {
            let what = format!("limits of parameter `{wire}`: {limits}");
            let checked = self.types.is_contract(schema) || self.types.validator(schema).is_some();
            let enforced = if checked {
                "checked before it is sent, by its schema"
            } else {
                "the server alone: the generated crate has no validator for it"
            };
            self.lose(&parameter.place, what, enforced);
        }
        Argument {
            parameter: index,
            name,
            location: parameter.location,
            required: parameter.required || parameter.location == ParameterIn::Path,
            list,
            rust_type,
        }
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

    /// The schema of a list's elements, when the type is a plain list.
    fn element(&self, schema: SchemaId) -> Option<SchemaId> {
        let mut id = schema;
        // References were checked for cycles when the graph was built; this bound is for
        // graphs made by hand.
        for _ in 0..64 {
            let schema = self.graph.schema(id);
            if let Some(items) = schema.items {
                let rust_type = self.types.rust_type(id).to_string().replace(' ', "");
                let list = rust_type.starts_with("Vec<") || rust_type.starts_with("::std::vec::Vec<");
                return list.then_some(items);
            }
            id = schema.reference?;
        }
        None
    }

    /// Whether the type is a plain value or `null`.
    fn is_plain_or_null(&self, schema: SchemaId) -> bool {
        if without_null(&self.types.rust_type(schema)).is_none() {
            return false;
        }
        let held = self.graph.schema(schema);
        let mut branches = held.any_of.iter().chain(&held.one_of).copied();
        held.types.is_some_and(|types| {
            !types.contains(crate::schema::Types::ARRAY) && !types.contains(crate::schema::Types::OBJECT)
        }) || branches.any(|branch| self.types.is_scalar(branch))
    }
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
