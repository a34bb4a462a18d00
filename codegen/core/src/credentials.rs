//! Generates the modules `security_requirements`, with the tables of `securitySchemes` and `security` that client and
//! server share, and `credentials`, with a setter for each scheme.

use std::collections::BTreeSet;

use contract_runtime::Json;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

pub use crate::api::schemes::SecuritySchemeKind;
use crate::{
    api::{OpenApiDocument, Operation},
    diagnostics::{Diagnostic, Diagnostics},
    emit::{ident, rustdoc_markdown},
    load::uri,
    names,
    operations::doc_attributes,
    plan::SidePlan,
};

/// A security scheme that operations use.
pub struct CredentialScheme<'a> {
    /// The name of the scheme in `securitySchemes`.
    pub name: &'a str,
    /// The part of the request that carries the credential.
    pub kind: SecuritySchemeKind,
    /// The description of the scheme in the contract.
    pub(crate) description: Option<&'a str>,
    /// True if the contract declares the scheme in a supported form.
    is_supported: bool,
    /// True if the strings of a `security` entry are scopes. Otherwise, they are roles that only the server
    /// evaluates (OpenAPI 3.1, 4.8.30).
    pub(crate) has_scopes: bool,
    /// True if the scheme is `deprecated` (OpenAPI 3.2, 4.27).
    pub(crate) is_deprecated: bool,
}

/// The names of other methods of the generated struct, which setters must not have.
const RESERVED_METHODS: &[&str] = &["new", "wrap", "clone", "fmt", "default"];

/// Generates the module `security_requirements`, or returns `None` if no operation requires declared credentials.
pub fn security_module(plan: &SidePlan<'_>) -> Option<TokenStream> {
    let schemes = used_schemes(plan);
    if schemes.is_empty() {
        return None;
    }
    let rows = schemes.iter().map(scheme_row);
    let security = plan.calls.iter().map(|call| requirement_rows(call.operation, &schemes));
    let scopes: Vec<TokenStream> =
        plan.calls.iter().map(|call| scope_rows(call.operation, &schemes)).collect();
    let (table, id) = plan.side.table_names();
    let (table, id) = (ident(table), ident(id));
    let has_scopes = scopes.iter().any(|rows| !rows.is_empty());
    let import = has_scopes.then(|| quote!(RequiredScopes,));
    let scopes_of = if has_scopes { quote!(scopes) } else { quote!(scopes: |_| &[]) };
    let scopes = has_scopes.then(|| {
        quote! {
            fn scopes(operation: &Operation) -> &'static [RequiredScopes] {
                #id::from_operation(operation).and_then(|id| SCOPES.get(id as usize).copied()).unwrap_or_default()
            }

            /// The scopes of each alternative, in the order of the table.
            static SCOPES: &[&[RequiredScopes]] = &[#(&[#scopes]),*];
        }
    });
    Some(quote! {
        use ::contract_runtime::operation::Operation;
        use ::contract_runtime::security::{
            #import SchemeKind, SecurityRequirement, SecurityScheme, SecurityTable,
        };

        use super::#table::#id;

        /// The security requirements of the contract.
        pub const SECURITY: SecurityTable = SecurityTable { schemes: SCHEMES, requirements, #scopes_of };

        const SCHEMES: &[SecurityScheme] = &[#(#rows),*];

        fn requirements(operation: &Operation) -> &'static [SecurityRequirement] {
            #id::from_operation(operation).and_then(|id| REQUIREMENTS.get(id as usize).copied()).unwrap_or_default()
        }

        /// The alternatives of each operation, in the order of the table.
        static REQUIREMENTS: &[&[SecurityRequirement]] = &[#(#security),*];

        #scopes
    })
}

/// Generates the module `credentials`, or returns `None` if no operation requires declared credentials.
pub fn credentials_module(plan: &SidePlan<'_>) -> Option<TokenStream> {
    let schemes = used_schemes(plan);
    if schemes.is_empty() {
        return None;
    }
    let setters = setter_names(&schemes);
    let mut taken: BTreeSet<String> = setters.iter().cloned().collect();
    let setters = schemes
        .iter()
        .zip(&setters)
        .enumerate()
        .map(|(at, (scheme, name))| write_setter(at, scheme, name, &mut taken));
    Some(quote! {
        use ::contract_runtime::client::credentials::{AuthorizedTransport, Keyring};
        use ::contract_runtime::transport::Transport;

        pub use ::contract_runtime::client::credentials::{ClientAuthentication, ClientCredentials, MissingCredentials};

        pub use super::security_requirements::SECURITY;

        /// Credentials for operations, by the names of the contract. `Debug` output omits the secrets.
        ///
        /// If an operation has several alternatives, the first one with all its credentials present is used.
        #[derive(Clone, Debug)]
        pub struct Credentials(Keyring);

        impl Credentials {
            /// Creates credentials without any secret.
            #[must_use]
            pub fn new() -> Self {
                Self(Keyring::new(SECURITY))
            }

            #(#setters)*

            /// Returns a transport that adds the required credentials to each request. A request whose
            /// credentials are missing is not sent and returns an error.
            #[must_use]
            pub fn wrap<T: Transport>(self, transport: T) -> AuthorizedTransport<T> {
                self.0.wrap(transport)
            }
        }

        impl Default for Credentials {
            fn default() -> Self {
                Self::new()
            }
        }
    })
}

/// Returns the names of the generated setters, one for each scheme.
fn setter_names(schemes: &[CredentialScheme<'_>]) -> Vec<String> {
    method_names(schemes, RESERVED_METHODS)
}

/// Returns distinct names of methods, one for each scheme, other than the reserved ones.
pub(crate) fn method_names(schemes: &[CredentialScheme<'_>], reserved: &[&str]) -> Vec<String> {
    let wires: Vec<&str> = schemes.iter().map(|scheme| scheme.name).collect();
    let mut methods: Vec<String> = wires.iter().map(|wire| names::field_name(wire)).collect();
    for method in methods.iter_mut().filter(|method| reserved.contains(&method.as_str())) {
        method.push_str("_key");
    }
    names::make_distinct(&wires, &mut methods);
    methods
}

/// A generated setter of a credential.
pub(crate) struct SchemeSetter<'a> {
    /// The name of the scheme in the contract.
    pub(crate) scheme: &'a str,
    /// The name of the method.
    pub(crate) name: String,
    /// True if the arguments are a user name and a password.
    pub(crate) has_user_name: bool,
}

/// Returns the generated setters.
pub(crate) fn credential_setters<'a>(plan: &SidePlan<'a>) -> Vec<SchemeSetter<'a>> {
    let schemes = used_schemes(plan);
    let names = setter_names(&schemes);
    let all = schemes.iter().zip(names).filter(|(scheme, _)| scheme.kind != SecuritySchemeKind::MutualTls);
    all.map(|(scheme, name)| SchemeSetter {
        scheme: scheme.name,
        name,
        has_user_name: scheme.kind == SecuritySchemeKind::Basic,
    })
    .collect()
}

/// Returns true if operations require credentials that the contract declares.
#[must_use]
pub fn uses_credentials(plan: &SidePlan<'_>) -> bool {
    !used_schemes(plan).is_empty()
}

/// Returns the schemes that operations require. The result is empty if the contract declares none of them.
///
/// Undeclared schemes are included with the kind `MutualTls`, because their location in a request is unknown and the
/// transport must supply their credentials. Without this, requests that require such a scheme could not be sent.
pub fn used_schemes<'a>(plan: &SidePlan<'a>) -> Vec<CredentialScheme<'a>> {
    let names = plan.calls.iter().flat_map(|call| call.operation.security.iter().flatten());
    let mut names: BTreeSet<&str> = names.map(|(name, _)| name.as_str()).collect();
    let declared = plan.api.security_schemes.iter();
    let used = declared.filter(|(name, _)| names.remove(name.as_str()));
    let mut schemes: Vec<CredentialScheme<'a>> = used.map(|(name, raw)| parse_scheme(name, raw)).collect();
    if !schemes.is_empty() {
        schemes.extend(names.into_iter().map(|name| CredentialScheme {
            name,
            kind: SecuritySchemeKind::MutualTls,
            description: None,
            is_supported: false,
            has_scopes: false,
            is_deprecated: false,
        }));
    }
    schemes
}

/// Adds a warning for each operation that requires two schemes with the same location in a request.
pub(crate) fn warn_of_conflicts(plan: &SidePlan<'_>, diagnostics: &mut Diagnostics) {
    let schemes = used_schemes(plan);
    let find = |name: &str| schemes.iter().find(|scheme| scheme.name == name);
    let mut reported = BTreeSet::new();
    for operation in plan.calls.iter().map(|call| call.operation) {
        for alternative in &operation.security {
            let all: Vec<&CredentialScheme<'_>> =
                alternative.iter().filter_map(|(name, _)| find(name)).collect();
            for (at, one) in all.iter().enumerate() {
                let mut others = all[at + 1..].iter();
                let Some(other) = others.find(|other| {
                    one.request_place().is_some() && one.request_place() == other.request_place()
                }) else {
                    continue;
                };
                if !reported.insert((one.name, other.name)) {
                    continue;
                }
                let message = format!(
                    "`{}` requires both `{}` and `{}`, which have the same location in a request: the client sends it only if both have the same token",
                    operation.id, one.name, other.name
                );
                let help = "if either suffices, make them separate entries of `security`";
                diagnostics.push(
                    Diagnostic::warning("unsupported", message)
                        .with_place(operation.place.clone())
                        .help(help),
                );
            }
        }
    }
}

impl CredentialScheme<'_> {
    /// Returns the location and the name of the credential in a request.
    fn request_place(&self) -> Option<(&'static str, String)> {
        match &self.kind {
            SecuritySchemeKind::Header(name) => Some(("header", name.to_ascii_lowercase())),
            SecuritySchemeKind::Query(name) => Some(("query", name.clone())),
            SecuritySchemeKind::Cookie(name) => Some(("cookie", name.clone())),
            SecuritySchemeKind::Basic
            | SecuritySchemeKind::BearerToken { .. }
            | SecuritySchemeKind::HttpScheme(_) => Some(("header", "authorization".to_owned())),
            SecuritySchemeKind::MutualTls => None,
        }
    }
}

/// Makes the token URLs of client credentials absolute. A relative URL refers to the first server of the document
/// (OpenAPI 3.1, 4.6). A relative URL is removed if the document has no server.
pub(crate) fn resolve_token_urls(api: &mut OpenApiDocument) {
    let server = api.servers.iter().map(|server| server.url.as_str()).find(|url| uri::is_absolute(url));
    for (_, scheme) in &mut api.security_schemes {
        let Some(Json::String(address)) = object_member(scheme, "flows")
            .and_then(|flows| object_member(flows, "clientCredentials"))
            .and_then(|flow| object_member(flow, "tokenUrl"))
        else {
            continue;
        };
        if !address.is_empty() && !uri::is_absolute(address) {
            let found = server.and_then(|server| uri::resolve_reference(server, address).ok());
            *address = found.map(|found| found.uri).unwrap_or_default();
        }
    }
}

fn object_member<'j>(value: &'j mut Json, name: &str) -> Option<&'j mut Json> {
    match value {
        Json::Object(members) => members.get_mut(name),
        _ => None,
    }
}

/// Parses an entry of `securitySchemes`.
pub fn parse_scheme<'a>(name: &'a str, raw: &'a Json) -> CredentialScheme<'a> {
    // The loader has already reported invalid entries.
    let found = SecuritySchemeKind::from_json(raw);
    let is_supported = found.is_ok();
    let kind = found.unwrap_or(SecuritySchemeKind::MutualTls);
    let text = |pointer: &str| raw.pointer(pointer).and_then(Json::as_str);
    let description = text("/description");
    let has_scopes = matches!(text("/type"), Some("oauth2" | "openIdConnect"));
    let is_deprecated = raw.pointer("/deprecated") == Some(&Json::Bool(true));
    CredentialScheme { name, kind, description, is_supported, has_scopes, is_deprecated }
}

fn scheme_row(scheme: &CredentialScheme<'_>) -> TokenStream {
    let name = scheme.name;
    let kind = match &scheme.kind {
        SecuritySchemeKind::Header(own) => quote!(Header(#own)),
        SecuritySchemeKind::Query(own) => quote!(Query(#own)),
        SecuritySchemeKind::Cookie(own) => quote!(Cookie(#own)),
        SecuritySchemeKind::Basic => quote!(Basic),
        SecuritySchemeKind::BearerToken { token_url } => quote!(Bearer { token_url: #token_url }),
        SecuritySchemeKind::HttpScheme(word) => quote!(Authorization(#word)),
        SecuritySchemeKind::MutualTls => quote!(Connection),
    };
    quote!(SecurityScheme { name: #name, kind: SchemeKind::#kind })
}

/// Returns the alternatives of an operation in the order in which they are tried. The transport must supply
/// the credentials of unsupported schemes, so alternatives with such a scheme come last.
pub fn ordered_alternatives<'o>(
    operation: &'o Operation,
    schemes: &[CredentialScheme<'_>],
) -> Vec<&'o Vec<(String, Vec<String>)>> {
    let is_unknown = |name: &str| !schemes.iter().any(|scheme| scheme.name == name && scheme.is_supported);
    let mut alternatives: Vec<_> = operation.security.iter().collect();
    alternatives.sort_by_key(|alternative| alternative.iter().any(|(name, _)| is_unknown(name)));
    alternatives
}

/// Generates the alternatives as lists of scheme indices.
fn requirement_rows(operation: &Operation, schemes: &[CredentialScheme<'_>]) -> TokenStream {
    let alternatives = ordered_alternatives(operation, schemes).into_iter().map(|alternative| {
        let indices = alternative.iter().map(|(name, _)| {
            let at = schemes.iter().position(|scheme| scheme.name == name);
            Literal::usize_unsuffixed(at.unwrap_or(schemes.len()))
        });
        quote!(&[#(#indices),*])
    });
    quote!(&[#(#alternatives),*])
}

/// Generates the scopes that each alternative requires of a token.
fn scope_rows(operation: &Operation, schemes: &[CredentialScheme<'_>]) -> TokenStream {
    let entries = ordered_alternatives(operation, schemes).into_iter().enumerate();
    let rows = entries.flat_map(|(at, alternative)| alternative.iter().map(move |entry| (at, entry)));
    let rows = rows.filter_map(|(at, (name, scopes))| {
        let scheme = schemes.iter().position(|scheme| scheme.name == name && scheme.has_scopes)?;
        let (at, scheme) = (Literal::usize_unsuffixed(at), Literal::usize_unsuffixed(scheme));
        let row = || quote!(RequiredScopes { alternative: #at, scheme: #scheme, names: &[#(#scopes),*] });
        (!scopes.is_empty()).then(row)
    });
    quote!(#(#rows),*)
}

fn write_setter(
    at: usize,
    scheme: &CredentialScheme<'_>,
    setter: &str,
    taken: &mut BTreeSet<String>,
) -> Option<TokenStream> {
    let (at, name) = (Literal::usize_unsuffixed(at), ident(setter));
    let what = match &scheme.kind {
        SecuritySchemeKind::Header(own) => format!("`{}`: an API key in the header `{own}`.", scheme.name),
        SecuritySchemeKind::Query(own) => {
            format!("`{}`: an API key in the query parameter `{own}`.", scheme.name)
        }
        SecuritySchemeKind::Cookie(own) => format!("`{}`: an API key in the cookie `{own}`.", scheme.name),
        SecuritySchemeKind::Basic => format!("`{}`: a user name without colon, and a password.", scheme.name),
        SecuritySchemeKind::BearerToken { .. } => format!("`{}`: a bearer token.", scheme.name),
        SecuritySchemeKind::HttpScheme(word) => {
            format!("`{}`: the value after `{word}` in `Authorization`.", scheme.name)
        }
        SecuritySchemeKind::MutualTls => return None,
    };
    let deprecated = scheme.is_deprecated.then(|| quote!(#[deprecated = "deprecated by the contract"]));
    let about = |what: String| {
        let text = doc_attributes(
            &[what].into_iter().chain(scheme.description.map(rustdoc_markdown)).collect::<Vec<_>>(),
        );
        quote!(#text #deprecated)
    };
    let first = about(what);
    let plain = match scheme.kind {
        SecuritySchemeKind::Basic => quote! {
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
        SecuritySchemeKind::BearerToken { token_url } => {
            let from = if token_url.is_empty() {
                "from the URL in the client credentials".to_owned()
            } else {
                format!("from `{token_url}`")
            };
            let second = about(format!(
                "`{}`: tokens for client credentials, fetched {from} when needed.",
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
    use crate::{api::Server, generate::Project, load::Sources, plan::OperationSide};

    /// Calls that require an undeclared scheme are possible; the transport supplies its credential.
    #[test]
    fn undeclared_schemes_are_left_to_the_transport() {
        let document = r#"{"openapi": "3.1.0", "info": {"title": "", "version": "1"}, "security": [{"nowhere": []}],
            "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
            "paths": {"/a": {
                "get": {"operationId": "a", "responses": {"204": {"description": ""}}},
                "put": {"operationId": "b", "security": [{"nowhere": []}, {"key": []}], "responses": {"204": {"description": ""}}}}}}"#;
        let contract =
            Project::default().analyze_sources(Sources::from_texts(&[("a.json", "", document)]).unwrap());
        let contract = contract.unwrap();
        let project = Project::default();
        let plan = project.operation_plan(&contract, OperationSide::Paths);
        let schemes = used_schemes(&plan);
        let found: Vec<(&str, &SecuritySchemeKind)> =
            schemes.iter().map(|scheme| (scheme.name, &scheme.kind)).collect();
        assert_eq!(
            found,
            [
                ("key", &SecuritySchemeKind::BearerToken { token_url: String::new() }),
                ("nowhere", &SecuritySchemeKind::MutualTls)
            ]
        );
        let requirements = plan
            .calls
            .iter()
            .map(|call| requirement_rows(call.operation, &schemes).to_string().replace(' ', ""));
        assert_eq!(requirements.collect::<Vec<_>>(), ["&[&[1]]", "&[&[0],&[1]]"]);
    }

    /// Alternatives with an unsupported scheme come after those with only supported schemes.
    #[test]
    fn alternatives_with_unsupported_schemes_come_last() {
        let document = r#"{"openapi": "3.1.0", "info": {"title": "", "version": "1"}, "security": [{"odd": []}, {"key": []}],
            "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}, "odd": {"type": "basic"}}},
            "paths": {"/a": {"get": {"operationId": "a", "responses": {"204": {"description": ""}}}}}}"#;
        let project = Project::default();
        let contract =
            project.analyze_sources(Sources::from_texts(&[("a.json", "", document)]).unwrap()).unwrap();
        let plan = project.operation_plan(&contract, OperationSide::Paths);
        let schemes = used_schemes(&plan);
        let found: Vec<&SecuritySchemeKind> = schemes.iter().map(|scheme| &scheme.kind).collect();
        assert_eq!(
            found,
            [&SecuritySchemeKind::BearerToken { token_url: String::new() }, &SecuritySchemeKind::MutualTls]
        );
        let requirements = requirement_rows(plan.calls[0].operation, &schemes).to_string().replace(' ', "");
        assert_eq!(requirements, "&[&[0],&[1]]");
    }

    /// Only OAuth scopes are generated, because the server evaluates roles (OpenAPI 3.1, 4.8.30). An
    /// alternative without scopes does not hide the scopes of another one.
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
            Project::default().analyze_sources(Sources::from_texts(&[("a.json", "", document)]).unwrap());
        let contract = contract.unwrap();
        let project = Project::default();
        let plan = project.operation_plan(&contract, OperationSide::Paths);
        let schemes = used_schemes(&plan);
        let scopes = plan.calls.iter().map(|call| scope_rows(call.operation, &schemes).to_string());
        let scopes: Vec<String> = scopes.map(|rows| rows.replace(' ', "")).collect();
        let expected = concat!(
            r#"RequiredScopes{alternative:1,scheme:1,names:&["read","list"]},"#,
            r#"RequiredScopes{alternative:3,scheme:1,names:&["all"]}"#,
        );
        assert_eq!(scopes, [expected, ""]);
    }

    /// A relative token URL is resolved against the server of its own document (OpenAPI 3.1, 4.6).
    #[test]
    fn relative_token_urls_resolve_against_the_server() {
        let resolve = |servers: &[&str], address: &str| {
            let flow = format!(
                r#"{{"type": "oauth2", "flows": {{"clientCredentials": {{"tokenUrl": "{address}"}}}}}}"#
            );
            let mut api = OpenApiDocument {
                servers: servers
                    .iter()
                    .map(|&url| Server { url: url.to_owned(), ..Server::default() })
                    .collect(),
                security_schemes: vec![("oauth".to_owned(), Json::parse(flow.as_bytes()).unwrap())],
                ..OpenApiDocument::default()
            };
            resolve_token_urls(&mut api);
            parse_scheme("oauth", &api.security_schemes[0].1).kind
        };
        let check = |servers: &[&str], address: &str, expected: &str| {
            assert_eq!(
                resolve(servers, address),
                SecuritySchemeKind::BearerToken { token_url: expected.to_owned() },
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

    /// Setter names are distinct, because duplicates would not compile, and contain no double underscore,
    /// which a lint rejects.
    #[test]
    fn setter_names_are_distinct() {
        let schemes = [
            ("oauth", r#""type": "http", "scheme": "bearer""#),
            ("oauth_client", r#""type": "http", "scheme": "basic""#),
            ("Type", r#""type": "openIdConnect", "openIdConnectUrl": "https://a.example/""#),
            ("type", r#""type": "apiKey", "in": "header", "name": "X-Type""#),
            ("yield", r#""type": "oauth2", "flows": {}"#),
            ("wrap", r#""type": "apiKey", "in": "query", "name": "wrap""#),
        ];
        let declared = schemes.map(|(name, scheme)| format!(r#""{name}": {{{scheme}}}"#)).join(",");
        let schemes = schemes.map(|(name, _)| format!(r#"{{"{name}": []}}"#)).join(",");
        let document = format!(
            r#"{{"openapi": "3.1.0", "info": {{"title": "", "version": "1"}}, "security": [{schemes}],
                "components": {{"securitySchemes": {{{declared}}}}},
                "paths": {{"/a": {{"get": {{"operationId": "a", "responses": {{"204": {{"description": ""}}}}}}}}}}}}"#
        );
        let project = Project::default();
        let sources = Sources::from_texts(&[("a.json", "", &document)]).unwrap();
        let contract = project.analyze_sources(sources).unwrap();
        let module: syn::File = syn::parse2(
            credentials_module(&project.operation_plan(&contract, OperationSide::Paths)).unwrap(),
        )
        .unwrap();
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
            "wrap_key",
            "wrap",
        ];
        assert_eq!(methods.collect::<Vec<_>>(), expected);
    }
}
