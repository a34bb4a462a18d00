//! The generated module `credentials`: a setter for each of the contract's `securitySchemes`, and the
//! tables by which the runtime shows them.

use std::collections::BTreeSet;

use contract_runtime::Json;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

pub(crate) use crate::api::schemes::Kind;
use crate::{
    api::{Api, Operation},
    diagnostics::{Diagnostic, Diagnostics},
    emit::{ident, markdown},
    load::uri,
    names,
    operations::doc,
    plan::Plan,
};

/// A scheme that operations ask for.
pub(crate) struct Scheme<'a> {
    /// Its name in the document.
    pub(crate) name: &'a str,
    /// How a request shows its secret.
    pub(crate) kind: Kind,
    /// What the document says of it.
    pub(crate) description: Option<&'a str>,
    /// Whether the document says how its secret is shown.
    is_known: bool,
    /// Whether the words beside it in a `security` are scopes of tokens, and not roles that only the
    /// server knows (OpenAPI 3.1, 4.8.30).
    pub(crate) has_scopes: bool,
    /// `deprecated` (OpenAPI 3.2, 4.27).
    is_deprecated: bool,
}

/// Methods that the struct has beside its setters.
const METHODS: &[&str] = &["new", "over", "clone", "fmt", "default"];

/// Writes the module, or nothing for a contract that asks for no credentials.
pub fn credentials(plan: &Plan<'_>) -> Option<TokenStream> {
    let schemes = asked(plan);
    if schemes.is_empty() {
        return None;
    }
    let wires: Vec<&str> = schemes.iter().map(|scheme| scheme.name).collect();
    let mut setters: Vec<String> = wires.iter().map(|wire| names::field_name(wire)).collect();
    for setter in setters.iter_mut().filter(|setter| METHODS.contains(&setter.as_str())) {
        setter.push_str("_key");
    }
    names::make_distinct(&wires, &mut setters);
    let mut taken: BTreeSet<String> = setters.iter().cloned().collect();
    let rows = schemes.iter().map(row);
    let security = plan.calls.iter().map(|call| requirements(call.operation, &schemes));
    let scopes: Vec<TokenStream> = plan.calls.iter().map(|call| scopes(call.operation, &schemes)).collect();
    let setters = schemes
        .iter()
        .zip(&setters)
        .enumerate()
        .map(|(at, (scheme, name))| setter(at, scheme, name, &mut taken));
    let (table, id) = plan.side.table();
    let (table, id) = (ident(table), ident(id));
    let asks = scopes.iter().any(|rows| !rows.is_empty());
    let import = asks.then(|| quote!(Scopes,));
    let scopes_of = if asks { quote!(scopes) } else { quote!(scopes: |_| &[]) };
    let scopes = asks.then(|| {
        quote! {
            fn scopes(operation: &Operation) -> &'static [Scopes] {
                #id::of(operation).and_then(|id| SCOPES.get(id as usize).copied()).unwrap_or_default()
            }

            /// The scopes that alternatives ask for, in the order of the table.
            static SCOPES: &[&[Scopes]] = &[#(&[#scopes]),*];
        }
    });
    Some(quote! {
        use ::contract_runtime::client::credentials::{
            Authorized, Keyring, Requirement, Scheme, SchemeKind, #import Security,
        };
        use ::contract_runtime::operation::Operation;
        use ::contract_runtime::transport::Transport;

        use super::#table::#id;

        pub use ::contract_runtime::client::credentials::{ClientAuthentication, ClientCredentials, Missing};

        /// What operations ask a caller for, by the names of the contract. Prints none of it.
        ///
        /// Of several alternatives of an operation the first is shown for which everything is here.
        #[derive(Clone, Debug)]
        pub struct Credentials(Keyring);

        impl Credentials {
            /// None.
            #[must_use]
            pub fn new() -> Self {
                Self(Keyring::new(SECURITY))
            }

            #(#setters)*

            /// A transport that adds to each request what its operation asks for. What is not here
            /// is an error before anything is sent.
            #[must_use]
            pub fn over<T: Transport>(self, transport: T) -> Authorized<T> {
                self.0.over(transport)
            }
        }

        impl Default for Credentials {
            fn default() -> Self {
                Self::new()
            }
        }

        /// What the contract says of credentials.
        pub const SECURITY: Security = Security { schemes: SCHEMES, of, #scopes_of };

        const SCHEMES: &[Scheme] = &[#(#rows),*];

        fn of(operation: &Operation) -> &'static [Requirement] {
            #id::of(operation).and_then(|id| REQUIREMENTS.get(id as usize).copied()).unwrap_or_default()
        }

        /// Alternatives for each operation, in the order of the table.
        static REQUIREMENTS: &[&[Requirement]] = &[#(#security),*];

        #scopes
    })
}

/// Whether operations ask for credentials that the contract declares.
#[must_use]
pub fn are_asked(plan: &Plan<'_>) -> bool {
    !asked(plan).is_empty()
}

/// The schemes that operations ask for; none unless the contract declares one of them.
///
/// Nobody knows what shows one that is not declared, so that it is the transport's to show: otherwise
/// no call that asks for it could be made.
pub(crate) fn asked<'a>(plan: &Plan<'a>) -> Vec<Scheme<'a>> {
    let names = plan.calls.iter().flat_map(|call| call.operation.security.iter().flatten());
    let mut names: BTreeSet<&str> = names.map(|(name, _)| name.as_str()).collect();
    let declared = plan.api.security_schemes.iter();
    let asked = declared.filter(|(name, _)| names.remove(name.as_str()));
    let mut asked: Vec<Scheme<'a>> = asked.map(|(name, raw)| scheme(name, raw)).collect();
    if !asked.is_empty() {
        asked.extend(names.into_iter().map(|name| Scheme {
            name,
            kind: Kind::Connection,
            description: None,
            is_known: false,
            has_scopes: false,
            is_deprecated: false,
        }));
    }
    asked
}

/// Says which schemes operations ask for at once though a request has one place for both.
pub(crate) fn warn_of_clashes(plan: &Plan<'_>, diagnostics: &mut Diagnostics) {
    let schemes = asked(plan);
    let find = |name: &str| schemes.iter().find(|scheme| scheme.name == name);
    let mut said = BTreeSet::new();
    for operation in plan.calls.iter().map(|call| call.operation) {
        for alternative in &operation.security {
            let all: Vec<&Scheme<'_>> = alternative.iter().filter_map(|(name, _)| find(name)).collect();
            for (at, one) in all.iter().enumerate() {
                let mut others = all[at + 1..].iter();
                let Some(other) = others.find(|other| one.place().is_some() && one.place() == other.place())
                else {
                    continue;
                };
                if !said.insert((one.name, other.name)) {
                    continue;
                }
                let message = format!(
                    "`{}` asks for `{}` and `{}` at once, which have the same place in a request: it is not sent \
                     unless both are one token",
                    operation.id, one.name, other.name
                );
                let help = "where either suffices, make each an entry of `security` of its own";
                diagnostics
                    .push(Diagnostic::warning("unsupported", message).at(operation.place.clone()).help(help));
            }
        }
    }
}

impl Scheme<'_> {
    /// Where in a request it is shown, when it is.
    fn place(&self) -> Option<(&'static str, String)> {
        match &self.kind {
            Kind::Header(name) => Some(("header", name.to_ascii_lowercase())),
            Kind::Query(name) => Some(("query", name.clone())),
            Kind::Cookie(name) => Some(("cookie", name.clone())),
            Kind::Basic | Kind::Token { .. } | Kind::Authorization(_) => {
                Some(("header", "authorization".to_owned()))
            }
            Kind::Connection => None,
        }
    }
}

/// Makes the addresses at which clients get tokens absolute: relative ones stand beside the document's
/// server (OpenAPI 3.1, 4.6), and what has none is nobody's to guess.
pub(crate) fn locate_tokens(api: &mut Api) {
    let server = api.servers.iter().find(|server| uri::is_absolute(server));
    for (_, scheme) in &mut api.security_schemes {
        let Some(Json::String(address)) = member(scheme, "flows")
            .and_then(|flows| member(flows, "clientCredentials"))
            .and_then(|flow| member(flow, "tokenUrl"))
        else {
            continue;
        };
        if !address.is_empty() && !uri::is_absolute(address) {
            let found = server.and_then(|server| uri::resolve(server, address).ok());
            *address = found.map(|found| found.uri).unwrap_or_default();
        }
    }
}

fn member<'j>(value: &'j mut Json, name: &str) -> Option<&'j mut Json> {
    match value {
        Json::Object(members) => members.get_mut(name),
        _ => None,
    }
}

/// What one of `securitySchemes` comes to.
pub(crate) fn scheme<'a>(name: &'a str, raw: &'a Json) -> Scheme<'a> {
    // What is wrong with it was said where it was read.
    let found = Kind::of(raw);
    let is_known = found.is_ok();
    let kind = found.unwrap_or(Kind::Connection);
    let text = |pointer: &str| raw.pointer(pointer).and_then(Json::as_str);
    let description = text("/description");
    let has_scopes = matches!(text("/type"), Some("oauth2" | "openIdConnect"));
    let is_deprecated = raw.pointer("/deprecated") == Some(&Json::Bool(true));
    Scheme { name, kind, description, is_known, has_scopes, is_deprecated }
}

fn row(scheme: &Scheme<'_>) -> TokenStream {
    let name = scheme.name;
    let kind = match &scheme.kind {
        Kind::Header(own) => quote!(Header(#own)),
        Kind::Query(own) => quote!(Query(#own)),
        Kind::Cookie(own) => quote!(Cookie(#own)),
        Kind::Basic => quote!(Basic),
        Kind::Token { token_url } => quote!(Bearer { token_url: #token_url }),
        Kind::Authorization(word) => quote!(Authorization(#word)),
        Kind::Connection => quote!(Connection),
    };
    quote!(Scheme { name: #name, kind: SchemeKind::#kind })
}

/// The alternatives of an operation in the order in which they are tried. What nobody says how to show is taken
/// to be shown, so that an alternative that asks for it comes behind those whose schemes are known.
fn alternatives<'o>(operation: &'o Operation, schemes: &[Scheme<'_>]) -> Vec<&'o Vec<(String, Vec<String>)>> {
    let is_unknown = |name: &str| !schemes.iter().any(|scheme| scheme.name == name && scheme.is_known);
    let mut alternatives: Vec<_> = operation.security.iter().collect();
    alternatives.sort_by_key(|alternative| alternative.iter().any(|(name, _)| is_unknown(name)));
    alternatives
}

/// Alternatives as lists of indices.
fn requirements(operation: &Operation, schemes: &[Scheme<'_>]) -> TokenStream {
    let alternatives = alternatives(operation, schemes).into_iter().map(|alternative| {
        let indices = alternative.iter().map(|(name, _)| {
            let at = schemes.iter().position(|scheme| scheme.name == name);
            Literal::usize_unsuffixed(at.unwrap_or(schemes.len()))
        });
        quote!(&[#(#indices),*])
    });
    quote!(&[#(#alternatives),*])
}

/// What alternatives ask of tokens.
fn scopes(operation: &Operation, schemes: &[Scheme<'_>]) -> TokenStream {
    let asked = alternatives(operation, schemes).into_iter().enumerate();
    let rows = asked.flat_map(|(at, alternative)| alternative.iter().map(move |asked| (at, asked)));
    let rows = rows.filter_map(|(at, (name, scopes))| {
        let scheme = schemes.iter().position(|scheme| scheme.name == name && scheme.has_scopes)?;
        let (at, scheme) = (Literal::usize_unsuffixed(at), Literal::usize_unsuffixed(scheme));
        let row = || quote!(Scopes { alternative: #at, scheme: #scheme, names: &[#(#scopes),*] });
        (!scopes.is_empty()).then(row)
    });
    quote!(#(#rows),*)
}

fn setter(at: usize, scheme: &Scheme<'_>, setter: &str, taken: &mut BTreeSet<String>) -> Option<TokenStream> {
    let (at, name) = (Literal::usize_unsuffixed(at), ident(setter));
    let what = match &scheme.kind {
        Kind::Header(own) => format!("`{}`: a key in the header `{own}`.", scheme.name),
        Kind::Query(own) => format!("`{}`: a key as the parameter `{own}` of the query.", scheme.name),
        Kind::Cookie(own) => format!("`{}`: a key as the cookie `{own}`.", scheme.name),
        Kind::Basic => format!("`{}`: a name, which has no colon, and a password.", scheme.name),
        Kind::Token { .. } => format!("`{}`: a token.", scheme.name),
        Kind::Authorization(word) => {
            format!("`{}`: what stands behind `{word}` in `Authorization`.", scheme.name)
        }
        Kind::Connection => return None,
    };
    let deprecated = scheme.is_deprecated.then(|| quote!(#[deprecated = "the contract says so"]));
    let about = |what: String| {
        let text = doc(&[what].into_iter().chain(scheme.description.map(markdown)).collect::<Vec<_>>());
        quote!(#text #deprecated)
    };
    let first = about(what);
    let plain = match scheme.kind {
        Kind::Basic => quote! {
            #first
            #[must_use]
            pub fn #name(self, name: &str, password: &str) -> Self {
                Self(self.0.basic(#at, name, password))
            }
        },
        _ => quote! {
            #first
            #[must_use]
            pub fn #name(self, secret: impl Into<String>) -> Self {
                Self(self.0.secret(#at, secret))
            }
        },
    };
    let fetched = match &scheme.kind {
        Kind::Token { token_url } => {
            let from = if token_url.is_empty() {
                "from where the client's credentials say".to_owned()
            } else {
                format!("from `{token_url}`")
            };
            let second = about(format!(
                "`{}`: tokens for a client's own credentials, fetched {from} when they are needed.",
                scheme.name
            ));
            let mut name = format!("{}_client", setter.trim_end_matches('_'));
            while !taken.insert(name.clone()) {
                name.push_str("_credentials");
            }
            let name = ident(&name);
            Some(quote! {
                #second
                #[must_use]
                pub fn #name(self, client: ClientCredentials) -> Self {
                    Self(self.0.client(#at, client))
                }
            })
        }
        _ => None,
    };
    Some(quote!(#plain #fetched))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{generate::Project, load::Sources, plan::Side};

    /// One fault costs one spot, and no call.
    #[test]
    fn a_scheme_that_nobody_declares_is_the_transports_to_show() {
        let document = r#"{"openapi": "3.1.0", "info": {"title": "", "version": "1"}, "security": [{"nowhere": []}],
            "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
            "paths": {"/a": {
                "get": {"operationId": "a", "responses": {"204": {"description": ""}}},
                "put": {"operationId": "b", "security": [{"nowhere": []}, {"key": []}], "responses": {"204": {"description": ""}}}}}}"#;
        let contract =
            Project::default().understand(Sources::from_texts(&[("a.json", "", document)]).unwrap());
        let contract = contract.unwrap();
        let project = Project::default();
        let plan = project.plan(&contract, Side::Paths);
        let schemes = asked(&plan);
        let found: Vec<(&str, &Kind)> = schemes.iter().map(|scheme| (scheme.name, &scheme.kind)).collect();
        assert_eq!(
            found,
            [("key", &Kind::Token { token_url: String::new() }), ("nowhere", &Kind::Connection)]
        );
        let asking =
            plan.calls.iter().map(|call| requirements(call.operation, &schemes).to_string().replace(' ', ""));
        assert_eq!(asking.collect::<Vec<_>>(), ["&[&[1]]", "&[&[0],&[1]]"]);
    }

    /// As one that nobody declares: it must not hide what can be shown.
    #[test]
    fn an_alternative_that_nobody_knows_how_to_show_comes_last() {
        let document = r#"{"openapi": "3.1.0", "info": {"title": "", "version": "1"}, "security": [{"odd": []}, {"key": []}],
            "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}, "odd": {"type": "basic"}}},
            "paths": {"/a": {"get": {"operationId": "a", "responses": {"204": {"description": ""}}}}}}"#;
        let project = Project::default();
        let contract = project.understand(Sources::from_texts(&[("a.json", "", document)]).unwrap()).unwrap();
        let plan = project.plan(&contract, Side::Paths);
        let schemes = asked(&plan);
        let found: Vec<&Kind> = schemes.iter().map(|scheme| &scheme.kind).collect();
        assert_eq!(found, [&Kind::Token { token_url: String::new() }, &Kind::Connection]);
        let asking = requirements(plan.calls[0].operation, &schemes).to_string().replace(' ', "");
        assert_eq!(asking, "&[&[0],&[1]]");
    }

    /// Roles are the server's affair (OpenAPI 3.1, 4.8.30), and an alternative without scopes hides
    /// none of another.
    #[test]
    fn scopes_belong_to_a_scheme_of_an_alternative() {
        let document = r#"{"openapi": "3.1.0", "info": {"title": "", "version": "1"},
            "security": [{"key": ["clerk"]}, {"oauth": ["read", "list"]}, {"nowhere": ["x"], "oauth": ["all"]}, {"oauth": []}],
            "components": {"securitySchemes": {
                "key": {"type": "http", "scheme": "bearer"}, "oauth": {"type": "oauth2", "flows": {}}}},
            "paths": {"/a": {
                "get": {"operationId": "a", "responses": {"204": {"description": ""}}},
                "put": {"operationId": "b", "security": [{"key": ["clerk"]}], "responses": {"204": {"description": ""}}}}}}"#;
        let contract =
            Project::default().understand(Sources::from_texts(&[("a.json", "", document)]).unwrap());
        let contract = contract.unwrap();
        let project = Project::default();
        let plan = project.plan(&contract, Side::Paths);
        let schemes = asked(&plan);
        let asking = plan.calls.iter().map(|call| scopes(call.operation, &schemes).to_string());
        let asking: Vec<String> = asking.map(|rows| rows.replace(' ', "")).collect();
        let expected = concat!(
            r#"Scopes{alternative:1,scheme:1,names:&["read","list"]},"#,
            r#"Scopes{alternative:3,scheme:1,names:&["all"]}"#,
        );
        assert_eq!(asking, [expected, ""]);
    }

    /// OpenAPI 3.1, 4.6: beside the document's server, whatever other documents say.
    #[test]
    fn a_relative_address_of_tokens_stands_beside_the_server() {
        let located = |servers: &[&str], address: &str| {
            let flow = format!(
                r#"{{"type": "oauth2", "flows": {{"clientCredentials": {{"tokenUrl": "{address}"}}}}}}"#
            );
            let mut api = Api {
                servers: servers.iter().map(|&server| server.to_owned()).collect(),
                security_schemes: vec![("oauth".to_owned(), Json::parse(flow.as_bytes()).unwrap())],
                ..Api::default()
            };
            locate_tokens(&mut api);
            scheme("oauth", &api.security_schemes[0].1).kind
        };
        let check = |servers: &[&str], address: &str, expected: &str| {
            assert_eq!(
                located(servers, address),
                Kind::Token { token_url: expected.to_owned() },
                "{address}"
            );
        };
        let servers = ["/v1", "https://api.example/v1"];
        check(&servers, "/token", "https://api.example/token");
        check(&servers, "oauth/token", "https://api.example/oauth/token");
        check(&servers, "https://id.example/token", "https://id.example/token");
        check(&["/v1"], "/token", "");
        check(&[], "https://id.example/token", "https://id.example/token");
    }

    /// Two setters of one name do not compile, and nor would a lint let `type__client` pass.
    #[test]
    fn setters_are_named_apart() {
        let schemes = [
            ("oauth", r#""type": "http", "scheme": "bearer""#),
            ("oauth_client", r#""type": "http", "scheme": "basic""#),
            ("Type", r#""type": "openIdConnect", "openIdConnectUrl": "https://a.example/""#),
            ("type", r#""type": "apiKey", "in": "header", "name": "X-Type""#),
            ("yield", r#""type": "oauth2", "flows": {}"#),
            ("over", r#""type": "apiKey", "in": "query", "name": "over""#),
        ];
        let declared = schemes.map(|(name, scheme)| format!(r#""{name}": {{{scheme}}}"#)).join(",");
        let asked = schemes.map(|(name, _)| format!(r#"{{"{name}": []}}"#)).join(",");
        let document = format!(
            r#"{{"openapi": "3.1.0", "info": {{"title": "", "version": "1"}}, "security": [{asked}],
                "components": {{"securitySchemes": {{{declared}}}}},
                "paths": {{"/a": {{"get": {{"operationId": "a", "responses": {{"204": {{"description": ""}}}}}}}}}}}}"#
        );
        let project = Project::default();
        let sources = Sources::from_texts(&[("a.json", "", &document)]).unwrap();
        let contract = project.understand(sources).unwrap();
        let module: syn::File =
            syn::parse2(credentials(&project.plan(&contract, Side::Paths)).unwrap()).unwrap();
        let block = module.items.iter().find_map(|item| match item {
            syn::Item::Impl(block) if block.trait_.is_none() => Some(block),
            _ => None,
        });
        let methods = block.unwrap().items.iter().filter_map(|item| match item {
            syn::ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
            _ => None,
        });
        let expected = [
            "new",
            "oauth",
            "oauth_client_credentials",
            "oauth_client",
            "type_",
            "type_client",
            "lower_type",
            "yield_",
            "yield_client",
            "over_key",
            "over",
        ];
        assert_eq!(methods.collect::<Vec<_>>(), expected);
    }
}
