//! Credentials for the schemes in `securitySchemes`. A transport adds the credentials that the operation's
//! `security` requires to each request, and does not send a request without them.
//!
//! The schemes are a generated table ([`SecurityTable`]). No `Debug` output and no error in this module shows
//! a credential or the URL of a request.

mod attach;
mod oauth;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::StatusCode;

pub use self::{
    attach::InvalidCredential,
    oauth::{ClientAuthentication, ClientCredentials, TokenError},
};
pub use crate::security::{RequiredScopes, SchemeKind, SecurityRequirement, SecurityScheme, SecurityTable};

use self::oauth::TokenCache;
use crate::{
    operation::Operation,
    secret::Secret,
    transport::{Delivery, ResponseFuture, Transport, TransportError, TransportFault, copy_with_body},
};

#[derive(Clone)]
enum SchemeCredential {
    Secret(Secret),
    /// The user name and password, joined by `:`.
    UserPassword(Secret),
    Tokens(Arc<TokenCache>),
}

/// The reason why a scheme has no credential.
#[derive(Clone, Copy)]
enum MissingReason {
    NotSet,
    /// The user name contains a colon.
    ColonInName,
}

/// The credentials of a caller, by security scheme. Generated code has a setter for each scheme.
#[derive(Clone)]
pub struct Keyring {
    security: SecurityTable,
    /// Replaces the requirements of the table.
    requirements: Option<RequirementLookup>,
    credentials: Vec<Result<SchemeCredential, MissingReason>>,
}

/// A function that returns the alternative requirements of an operation.
type RequirementLookup = Arc<dyn Fn(&Operation) -> &'static [SecurityRequirement] + Send + Sync>;

impl Keyring {
    /// Creates a keyring without credentials.
    #[must_use]
    pub fn new(security: SecurityTable) -> Self {
        let credentials = vec![Err(MissingReason::NotSet); security.schemes.len()];
        Self { security, requirements: None, credentials }
    }

    /// Replaces the function of the table that returns the alternative requirements of an operation, for tables
    /// that are built at run time.
    #[must_use]
    pub fn with_requirements(
        mut self,
        requirements: impl Fn(&Operation) -> &'static [SecurityRequirement] + Send + Sync + 'static,
    ) -> Self {
        self.requirements = Some(Arc::new(requirements));
        self
    }

    fn requirements_of(&self, operation: &Operation) -> &'static [SecurityRequirement] {
        match &self.requirements {
            Some(lookup) => lookup(operation),
            None => (self.security.requirements)(operation),
        }
    }

    /// Sets an API key or a token.
    #[must_use]
    pub fn secret(self, scheme: usize, secret: impl Into<String>) -> Self {
        self.with_credential(scheme, Ok(SchemeCredential::Secret(Secret::from(secret.into()))))
    }

    /// Sets a user name and a password. The name must not contain a colon (RFC 7617, 2), because a server
    /// would read the part after the colon as the password. If it contains one, every call that needs this
    /// credential fails with [`MissingCredentials`] and is not sent.
    #[must_use]
    pub fn basic(self, scheme: usize, name: &str, password: &str) -> Self {
        if name.contains(':') {
            return self.with_credential(scheme, Err(MissingReason::ColonInName));
        }
        self.with_credential(
            scheme,
            Ok(SchemeCredential::UserPassword(Secret::from(format!("{name}:{password}")))),
        )
    }

    /// Sets the id and secret of an OAuth client. A token is fetched when it is first needed. A new one is
    /// fetched before the token expires, and after a server rejects it. Only one token request is sent at a
    /// time.
    #[must_use]
    pub fn client(self, scheme: usize, client: ClientCredentials) -> Self {
        let token_url = match self.security.schemes.get(scheme).map(|scheme| scheme.kind) {
            Some(SchemeKind::Bearer { token_url }) => token_url,
            _ => "",
        };
        self.with_credential(
            scheme,
            Ok(SchemeCredential::Tokens(Arc::new(TokenCache::new(client, token_url)))),
        )
    }

    fn with_credential(mut self, scheme: usize, credential: Result<SchemeCredential, MissingReason>) -> Self {
        if let Some(held) = self.credentials.get_mut(scheme) {
            *held = credential;
        }
        self
    }

    /// Wraps a transport so that it adds these credentials to each request.
    #[must_use]
    pub fn wrap<T: Transport>(self, transport: T) -> AuthorizedTransport<T> {
        AuthorizedTransport { keyring: self, transport }
    }

    /// Returns true if the scheme has a credential, or if the transport authenticates the client
    /// (`mutualTLS`).
    fn is_scheme_available(&self, scheme: usize) -> bool {
        let connection =
            self.security.schemes.get(scheme).map(|scheme| scheme.kind) == Some(SchemeKind::Connection);
        connection || self.credential(scheme).is_some()
    }

    fn credential(&self, scheme: usize) -> Option<&SchemeCredential> {
        self.credentials.get(scheme)?.as_ref().ok()
    }

    /// Returns the scopes that a token of the scheme must have for the operation, in the alternative of
    /// `security` that is used with these credentials.
    #[must_use]
    pub fn scopes(&self, operation: &Operation, scheme: usize) -> &'static [&'static str] {
        let shown = self.first_available(self.requirements_of(operation));
        let mut rows = (self.security.scopes)(operation).iter();
        let row = rows.find(|row| Some(row.alternative) == shown && row.scheme == scheme);
        row.map(|row| row.names).unwrap_or_default()
    }

    /// Returns the index of the first alternative that requires at least one scheme and for which all
    /// credentials are available.
    fn first_available(&self, alternatives: &[SecurityRequirement]) -> Option<usize> {
        let met = |requirement: &SecurityRequirement| {
            requirement.iter().all(|scheme| self.is_scheme_available(*scheme))
        };
        alternatives.iter().position(|requirement| !requirement.is_empty() && met(requirement))
    }

    /// Returns the first alternative for which all credentials are available. Alternatives that require
    /// credentials take precedence over one that requires none.
    fn choose_requirement(&self, operation: &Operation) -> Result<SecurityRequirement, MissingCredentials> {
        let alternatives = self.requirements_of(operation);
        match self.first_available(alternatives).and_then(|at| alternatives.get(at)) {
            Some(requirement) => Ok(requirement),
            None if alternatives.is_empty() || alternatives.iter().any(|all| all.is_empty()) => Ok(&[]),
            None => Err(self.missing_credentials(operation, alternatives)),
        }
    }

    fn missing_credentials(
        &self,
        operation: &Operation,
        alternatives: &[SecurityRequirement],
    ) -> MissingCredentials {
        let lack = |scheme: &usize| {
            let name = self.security.schemes.get(*scheme).map_or("?", |scheme| scheme.name);
            match self.credentials.get(*scheme) {
                Some(Err(MissingReason::ColonInName)) => {
                    format!("`{name}` (the user name must not contain a colon)")
                }
                _ => format!("`{name}`"),
            }
        };
        let lacking = |requirement: &SecurityRequirement| {
            let lacking = requirement.iter().filter(|scheme| !self.is_scheme_available(**scheme)).map(lack);
            lacking.collect::<Vec<_>>().join(" and ")
        };
        let alternatives: Vec<String> = alternatives.iter().map(lacking).collect();
        MissingCredentials { operation: operation.id, alternatives: alternatives.join(", or ") }
    }
}

/// Shows only the names of the schemes that have a credential.
impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schemes = self.security.schemes.iter().enumerate();
        let names =
            schemes.filter(|(index, _)| self.credential(*index).is_some()).map(|(_, scheme)| scheme.name);
        f.debug_set().entries(names).finish()
    }
}

/// The error of an operation whose required credentials are not set. The request was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingCredentials {
    /// The `operationId`.
    pub operation: &'static str,
    /// The missing schemes of each alternative, for the message.
    alternatives: String,
}

impl fmt::Display for MissingCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` requires credentials that are not set: {}", self.operation, self.alternatives)
    }
}

impl std::error::Error for MissingCredentials {}

/// A transport that adds credentials to each request.
///
/// A call fails with [`TransportFault::Declined`] and [`Delivery::NotSent`] if credentials are missing or if
/// no token could be fetched. The source of the error is [`MissingCredentials`] or [`TokenError`]. A call
/// whose credential cannot be sent fails with [`TransportFault::Request`], and the source is
/// [`InvalidCredential`].
#[derive(Clone)]
pub struct AuthorizedTransport<T> {
    keyring: Keyring,
    transport: T,
}

impl<T> fmt::Debug for AuthorizedTransport<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorizedTransport").field("credentials", &self.keyring).finish_non_exhaustive()
    }
}

/// Tokens that were added to a request and can be replaced by new ones.
type AttachedTokens<'a> = Vec<(&'a TokenCache, Secret)>;

impl<T: Transport> AuthorizedTransport<T> {
    /// Returns the wrapped transport.
    pub const fn transport(&self) -> &T {
        &self.transport
    }

    /// Adds the credentials that the operation requires.
    async fn authorize<B>(
        &self,
        operation: &'static Operation,
        request: &mut http::Request<B>,
    ) -> Result<AttachedTokens<'_>, TransportError> {
        let missing = |missing| declined_error().with_source(missing);
        let unfit =
            |reason| TransportError::new(TransportFault::Request, Delivery::NotSent).with_source(reason);
        let requirement = self.keyring.choose_requirement(operation).map_err(missing)?;
        let mut shown = Vec::new();
        let mut attached: Vec<(&'static SecurityScheme, Secret)> = Vec::new();
        for &index in requirement {
            let scheme = self.keyring.security.schemes.get(index);
            let (Some(scheme), Some(credential)) = (scheme, self.keyring.credential(index)) else { continue };
            let secret = match credential {
                SchemeCredential::Secret(secret) | SchemeCredential::UserPassword(secret) => secret.clone(),
                SchemeCredential::Tokens(tokens) => {
                    let token = tokens.get_token(&self.transport).await?;
                    shown.push((&**tokens, token.clone()));
                    token
                }
            };
            // The second credential would replace the first, and the request would lack a required
            // credential.
            let clashes = |(earlier, other): &&(&'static SecurityScheme, Secret)| {
                let same = attach::are_equivalent(earlier.kind, scheme.kind) && *other == secret;
                !same && attach::share_location(earlier.kind, scheme.kind)
            };
            if let Some((earlier, _)) = attached.iter().find(clashes) {
                return Err(unfit(InvalidCredential::SameLocation(earlier.name, scheme.name)));
            }
            attach::attach_secret(scheme, secret.expose(), request).map_err(unfit)?;
            attached.push((scheme, secret));
        }
        Ok(shown)
    }

    async fn send_authorized(
        &self,
        operation: &'static Operation,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, TransportError> {
        let mut first = copy_with_body(&request, request.body().clone());
        let shown = self.authorize(operation, &mut first).await?;
        let response = self.transport.send(operation, first).await?;
        if response.status() != StatusCode::UNAUTHORIZED || !discard_rejected_tokens(shown) {
            return Ok(response);
        }
        // A server that responds with 401 did not process the request, so it is safe to send it again. If no
        // new token is available, that response is returned, because an error would imply that nothing was
        // sent.
        let mut second = request;
        if self.authorize(operation, &mut second).await.is_err() {
            return Ok(response);
        }
        self.transport.send(operation, second).await
    }
}

/// Removes rejected tokens from their caches. Returns true if there were any.
fn discard_rejected_tokens(shown: AttachedTokens<'_>) -> bool {
    shown.iter().for_each(|(tokens, token)| tokens.discard_token(token));
    !shown.is_empty()
}

fn declined_error() -> TransportError {
    TransportError::new(TransportFault::Declined, Delivery::NotSent)
}

impl<T: Transport> Transport for AuthorizedTransport<T> {
    fn send<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<Bytes>,
    ) -> ResponseFuture<'a> {
        Box::pin(self.send_authorized(operation, request))
    }

    #[cfg(feature = "stream")]
    fn stream_transport(&self) -> Option<&dyn crate::transport::StreamTransport> {
        self.transport.stream_transport().map(|_| self as &dyn crate::transport::StreamTransport)
    }
}

#[cfg(feature = "stream")]
impl<T: Transport> crate::transport::StreamTransport for AuthorizedTransport<T> {
    fn open_stream<'a>(
        &'a self,
        operation: &'static Operation,
        mut request: http::Request<crate::transport::RequestBody>,
    ) -> crate::transport::StreamResponseFuture<'a> {
        Box::pin(async move {
            let streams =
                self.transport.stream_transport().ok_or_else(crate::transport::streams_unsupported)?;
            let again = request.body().try_clone().map(|body| copy_with_body(&request, body));
            let shown = self.authorize(operation, &mut request).await?;
            let response = streams.open_stream(operation, request).await?;
            if response.status() != StatusCode::UNAUTHORIZED || !discard_rejected_tokens(shown) {
                return Ok(response);
            }
            let Some(mut second) = again else { return Ok(response) };
            if self.authorize(operation, &mut second).await.is_err() {
                return Ok(response);
            }
            drop(response);
            streams.open_stream(operation, second).await
        })
    }
}
