//! Credentials by `securitySchemes`: a transport that adds to each request what its operation's
//! `security` asks for, and sends nothing that lacks it.
//!
//! Which scheme is which stands in a generated table; this is what does not vary. Nothing here
//! prints a credential: not `Debug`, not an error, not the address of a request.

mod attach;
mod oauth;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::StatusCode;

pub use self::{
    attach::Unfit,
    oauth::{ClientAuthentication, ClientCredentials, NoToken},
};

use self::oauth::Tokens;
use crate::{
    operation::Operation,
    secret::Secret,
    transport::{Delivery, Sending, Transport, TransportError, TransportFault, with_body},
};

/// One of `securitySchemes`.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    /// Its name in the document, for messages.
    pub name: &'static str,
    /// How a request shows that it knows the secret.
    pub kind: SchemeKind,
}

/// How a request shows that it knows a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemeKind {
    /// `apiKey` in this header.
    Header(&'static str),
    /// `apiKey` as this parameter of the query.
    Query(&'static str),
    /// `apiKey` as this cookie.
    Cookie(&'static str),
    /// `http` with the scheme `basic` (RFC 7617).
    Basic,
    /// `http` with the scheme `bearer` (RFC 6750), `oauth2`, `openIdConnect`: a token.
    Bearer {
        /// Where a client gets one by its own credentials; empty where the document does not say.
        token_url: &'static str,
    },
    /// `http` with another scheme: what stands behind its name in `Authorization`.
    Authorization(&'static str),
    /// `mutualTLS`: the connection shows it, which is the transport's affair.
    Connection,
}

/// Schemes that go together, by their index in the table.
pub type Requirement = &'static [usize];

/// What a contract's `securitySchemes` and `security` say, generated.
#[derive(Clone, Copy)]
pub struct Security {
    /// All schemes.
    pub schemes: &'static [Scheme],
    /// Alternatives for an operation; none when it asks for nothing.
    pub of: fn(&Operation) -> &'static [Requirement],
    /// The scopes that they name, where they name any.
    pub scopes: fn(&Operation) -> &'static [Scopes],
}

/// What one alternative of an operation asks of the tokens of one scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scopes {
    /// Which of the alternatives of [`Security::of`].
    pub alternative: usize,
    /// The scheme, by its index in the table.
    pub scheme: usize,
    /// All of them are needed.
    pub names: &'static [&'static str],
}

/// What is known for a scheme.
#[derive(Clone)]
enum Credential {
    /// A key, or a token.
    Secret(Secret),
    /// A name and a password.
    Basic(Secret),
    /// Tokens, fetched when they are needed.
    Tokens(Arc<Tokens>),
}

/// Why nothing is known for a scheme.
#[derive(Clone, Copy)]
enum Lack {
    /// Nobody set it.
    Unset,
    /// It was a name with a colon.
    Colon,
}

/// The credentials of a caller, by scheme; generated code has a setter for each.
#[derive(Clone)]
pub struct Keyring {
    security: Security,
    held: Vec<Result<Credential, Lack>>,
}

impl Keyring {
    /// None yet.
    #[must_use]
    pub fn new(security: Security) -> Self {
        Self { security, held: vec![Err(Lack::Unset); security.schemes.len()] }
    }

    /// A key or a token.
    #[must_use]
    pub fn secret(self, scheme: usize, secret: impl Into<String>) -> Self {
        self.with(scheme, Ok(Credential::Secret(Secret::from(secret.into()))))
    }

    /// A name and a password. A name cannot have a colon (RFC 7617, 2): what stands behind one would
    /// be read as the password, so that every call that needs it is refused here, and says why.
    #[must_use]
    pub fn basic(self, scheme: usize, name: &str, password: &str) -> Self {
        if name.contains(':') {
            return self.with(scheme, Err(Lack::Colon));
        }
        self.with(scheme, Ok(Credential::Basic(Secret::from(format!("{name}:{password}")))))
    }

    /// An id and a secret of a client, for which tokens are fetched when they are needed, one fetch
    /// at a time, and again before they expire or when a server refuses one.
    #[must_use]
    pub fn client(self, scheme: usize, client: ClientCredentials) -> Self {
        let token_url = match self.security.schemes.get(scheme).map(|scheme| scheme.kind) {
            Some(SchemeKind::Bearer { token_url }) => token_url,
            _ => "",
        };
        self.with(scheme, Ok(Credential::Tokens(Arc::new(Tokens::new(client, token_url)))))
    }

    fn with(mut self, scheme: usize, credential: Result<Credential, Lack>) -> Self {
        if let Some(held) = self.held.get_mut(scheme) {
            *held = credential;
        }
        self
    }

    /// A transport that shows them.
    #[must_use]
    pub fn over<T: Transport>(self, transport: T) -> Authorized<T> {
        Authorized { keyring: self, transport }
    }

    /// Whether a scheme is met by what is known.
    fn meets(&self, scheme: usize) -> bool {
        let connection =
            self.security.schemes.get(scheme).map(|scheme| scheme.kind) == Some(SchemeKind::Connection);
        connection || self.held(scheme).is_some()
    }

    /// What is known for a scheme.
    fn held(&self, scheme: usize) -> Option<&Credential> {
        self.held.get(scheme)?.as_ref().ok()
    }

    /// The scopes that an operation asks for, of a scheme's tokens, in the alternative that is shown.
    #[must_use]
    pub fn scopes(&self, operation: &Operation, scheme: usize) -> &'static [&'static str] {
        let shown = self.first_met((self.security.of)(operation));
        let mut rows = (self.security.scopes)(operation).iter();
        let row = rows.find(|row| Some(row.alternative) == shown && row.scheme == scheme);
        row.map(|row| row.names).unwrap_or_default()
    }

    /// The first alternative that asks for something and is met.
    fn first_met(&self, alternatives: &[Requirement]) -> Option<usize> {
        let met = |requirement: &Requirement| requirement.iter().all(|scheme| self.meets(*scheme));
        alternatives.iter().position(|requirement| !requirement.is_empty() && met(requirement))
    }

    /// The first alternative that is met, one that asks for something before one that does not.
    fn choose(&self, operation: &Operation) -> Result<Requirement, Missing> {
        let alternatives = (self.security.of)(operation);
        match self.first_met(alternatives).and_then(|at| alternatives.get(at)) {
            Some(requirement) => Ok(requirement),
            None if alternatives.is_empty() || alternatives.iter().any(|all| all.is_empty()) => Ok(&[]),
            None => Err(self.missing(operation, alternatives)),
        }
    }

    fn missing(&self, operation: &Operation, alternatives: &[Requirement]) -> Missing {
        let lack = |scheme: &usize| {
            let name = self.security.schemes.get(*scheme).map_or("?", |scheme| scheme.name);
            match self.held.get(*scheme) {
                Some(Err(Lack::Colon)) => format!("`{name}` (a name cannot have a colon)"),
                _ => format!("`{name}`"),
            }
        };
        let lacking = |requirement: &Requirement| {
            let lacking = requirement.iter().filter(|scheme| !self.meets(**scheme)).map(lack);
            lacking.collect::<Vec<_>>().join(" and ")
        };
        let alternatives: Vec<String> = alternatives.iter().map(lacking).collect();
        Missing { operation: operation.id, lacking: alternatives.join(", or ") }
    }
}

/// How many there are, and of which schemes.
impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schemes = self.security.schemes.iter().enumerate();
        let names = schemes.filter(|(at, _)| self.held(*at).is_some()).map(|(_, scheme)| scheme.name);
        f.debug_set().entries(names).finish()
    }
}

/// An operation needs what is not there; nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// `operationId`
    pub operation: &'static str,
    /// What each alternative lacks, in words.
    lacking: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` needs credentials that are not set: {}", self.operation, self.lacking)
    }
}

impl std::error::Error for Missing {}

/// A transport that shows credentials. What an operation lacks is
/// [`TransportFault::Declined`] and [`Delivery::NotSent`], with [`Missing`] as its cause, or [`NoToken`]
/// where a token was not to be had; what no request can hold is [`TransportFault::Request`] with
/// [`Unfit`].
#[derive(Clone)]
pub struct Authorized<T> {
    keyring: Keyring,
    transport: T,
}

impl<T> fmt::Debug for Authorized<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorized").field("credentials", &self.keyring).finish_non_exhaustive()
    }
}

/// Whether a token was shown that can be replaced.
type Shown<'a> = Vec<(&'a Tokens, Secret)>;

impl<T: Transport> Authorized<T> {
    /// The transport below.
    pub const fn transport(&self) -> &T {
        &self.transport
    }

    /// Adds what the operation asks for.
    async fn authorize<B>(
        &self,
        operation: &'static Operation,
        request: &mut http::Request<B>,
    ) -> Result<Shown<'_>, TransportError> {
        let missing = |missing| declined().with_source(missing);
        let unfit =
            |reason| TransportError::new(TransportFault::Request, Delivery::NotSent).with_source(reason);
        let requirement = self.keyring.choose(operation).map_err(missing)?;
        let mut shown = Vec::new();
        let mut attached: Vec<(&'static Scheme, Secret)> = Vec::new();
        for &index in requirement {
            let scheme = self.keyring.security.schemes.get(index);
            let (Some(scheme), Some(held)) = (scheme, self.keyring.held(index)) else { continue };
            let secret = match held {
                Credential::Secret(secret) | Credential::Basic(secret) => secret.clone(),
                Credential::Tokens(tokens) => {
                    let token = tokens.token(&self.transport).await?;
                    shown.push((&**tokens, token.clone()));
                    token
                }
            };
            // The second would take the place of the first, and the call go out half authorised.
            let clashes = |(earlier, other): &&(&'static Scheme, Secret)| {
                let same = attach::are_alike(earlier.kind, scheme.kind) && *other == secret;
                !same && attach::share_a_place(earlier.kind, scheme.kind)
            };
            if let Some((earlier, _)) = attached.iter().find(clashes) {
                return Err(unfit(Unfit::Clash(earlier.name, scheme.name)));
            }
            attach::attach(scheme, secret.expose(), request).map_err(unfit)?;
            attached.push((scheme, secret));
        }
        Ok(shown)
    }

    async fn exchange(
        &self,
        operation: &'static Operation,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, TransportError> {
        let mut first = with_body(&request, request.body().clone());
        let shown = self.authorize(operation, &mut first).await?;
        let answer = self.transport.send(operation, first).await?;
        if answer.status() != StatusCode::UNAUTHORIZED || !refused(shown) {
            return Ok(answer);
        }
        // A server that answers 401 did nothing, so that another sending is no repetition. Where there
        // is no other token that answer is the caller's: to say that nothing was sent would be untrue.
        let mut second = request;
        if self.authorize(operation, &mut second).await.is_err() {
            return Ok(answer);
        }
        self.transport.send(operation, second).await
    }
}

/// Forgets tokens that were refused; whether there were any.
fn refused(shown: Shown<'_>) -> bool {
    shown.iter().for_each(|(tokens, token)| tokens.refused(token));
    !shown.is_empty()
}

fn declined() -> TransportError {
    TransportError::new(TransportFault::Declined, Delivery::NotSent)
}

impl<T: Transport> Transport for Authorized<T> {
    fn send<'a>(&'a self, operation: &'static Operation, request: http::Request<Bytes>) -> Sending<'a> {
        Box::pin(self.exchange(operation, request))
    }

    #[cfg(feature = "stream")]
    fn streams(&self) -> Option<&dyn crate::transport::StreamTransport> {
        self.transport.streams().map(|_| self as &dyn crate::transport::StreamTransport)
    }
}

#[cfg(feature = "stream")]
impl<T: Transport> crate::transport::StreamTransport for Authorized<T> {
    fn open<'a>(
        &'a self,
        operation: &'static Operation,
        mut request: http::Request<crate::transport::RequestBody>,
    ) -> crate::transport::Opening<'a> {
        Box::pin(async move {
            let streams = self.transport.streams().ok_or_else(crate::transport::no_streams)?;
            let again = request.body().again().map(|body| with_body(&request, body));
            let shown = self.authorize(operation, &mut request).await?;
            let answer = streams.open(operation, request).await?;
            if answer.status() != StatusCode::UNAUTHORIZED || !refused(shown) {
                return Ok(answer);
            }
            let Some(mut second) = again else { return Ok(answer) };
            if self.authorize(operation, &mut second).await.is_err() {
                return Ok(answer);
            }
            drop(answer);
            streams.open(operation, second).await
        })
    }
}
