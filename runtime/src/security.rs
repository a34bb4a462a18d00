//! The generated tables of `securitySchemes` and `security`, which client and server share.

use crate::operation::Operation;

/// One entry of `securitySchemes`.
#[derive(Clone, Copy, Debug)]
pub struct SecurityScheme {
    /// The name in the document, for messages.
    pub name: &'static str,
    /// The location and form of the secret in a request.
    pub kind: SchemeKind,
}

/// The location and form of a secret in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemeKind {
    /// `apiKey` in a header of this name.
    Header(&'static str),
    /// `apiKey` in a query parameter of this name.
    Query(&'static str),
    /// `apiKey` in a cookie of this name.
    Cookie(&'static str),
    /// `http` with the scheme `basic` (RFC 7617).
    Basic,
    /// `http` with the scheme `bearer` (RFC 6750), `oauth2` and `openIdConnect`: a bearer token.
    Bearer {
        /// The token endpoint for the client credentials grant; empty if the document has none.
        token_url: &'static str,
    },
    /// `http` with another scheme. The secret is the part of `Authorization` after the scheme name.
    Authorization(&'static str),
    /// `mutualTLS`, and schemes that the document does not declare. The transport authenticates the client,
    /// for example by the TLS connection.
    Connection,
}

/// The schemes that are required together, as indices into the table of schemes.
pub type SecurityRequirement = &'static [usize];

/// The generated table of `securitySchemes` and `security`.
#[derive(Clone, Copy)]
pub struct SecurityTable {
    /// All entries of `securitySchemes`.
    pub schemes: &'static [SecurityScheme],
    /// Returns the alternative requirements of an operation; empty if it requires no credentials.
    pub requirements: fn(&Operation) -> &'static [SecurityRequirement],
    /// Returns the scopes that the alternative requirements of an operation need.
    pub scopes: fn(&Operation) -> &'static [RequiredScopes],
}

/// The scopes that the tokens of one scheme need for one alternative requirement of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequiredScopes {
    /// The index into the alternatives of [`SecurityTable::requirements`].
    pub alternative: usize,
    /// The index of the scheme in the table.
    pub scheme: usize,
    /// The scopes, all of which are required.
    pub names: &'static [&'static str],
}
