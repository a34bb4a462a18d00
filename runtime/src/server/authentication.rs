//! Verifies the credentials of requests, as `security` and `securitySchemes` of the contract require.
//!
//! [`Authentication`] is the entry point. It extracts the credentials of a request and passes each to
//! generated code, which calls the user's method for the scheme. It then evaluates alternatives and scopes.
//! It does not verify credentials itself.

mod challenge;
mod credential;

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use self::challenge::ChallengeWriter;
use self::credential::ExtractedCredential;
pub use self::credential::PresentedCredential;
use super::{Rejection, RequestContext};
use crate::operation::Operation;
pub use crate::security::{RequiredScopes, SchemeKind, SecurityRequirement, SecurityScheme, SecurityTable};

/// The principal of a token with the scopes that the token grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenGrant<P> {
    /// The principal.
    pub principal: P,
    /// The granted scopes. The router compares them with the scopes that the operation requires.
    pub scopes: Vec<String>,
}

impl<P> TokenGrant<P> {
    /// Creates a grant from a list of scopes.
    pub fn new(principal: P, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { principal, scopes: scopes.into_iter().map(Into::into).collect() }
    }

    /// Creates a grant from the value of `scope` in a token: scopes that are separated by spaces (RFC 6749,
    /// 3.3).
    pub fn from_scope(principal: P, scope: &str) -> Self {
        Self::new(principal, scope.split_ascii_whitespace())
    }
}

impl<P> From<P> for TokenGrant<P> {
    /// Creates a grant without scopes.
    fn from(principal: P) -> Self {
        Self { principal, scopes: Vec::new() }
    }
}

/// The reason why a credential was not accepted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AuthenticationError {
    /// The credential is unknown, malformed, expired or revoked. The response is `401`, unless another
    /// alternative of the contract is satisfied.
    Invalid,
    /// The credential is valid, but its principal must not make this call. The response is `403`, unless
    /// another alternative of the contract is satisfied.
    Forbidden,
    /// The credential could not be verified, or the method returned a rejection with its own challenge. No
    /// other alternative is tried.
    Rejected(Rejection),
}

impl From<Rejection> for AuthenticationError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

/// The result of one verification; `None` if a connection has no credential.
pub type VerificationResult<P> = Result<Option<TokenGrant<P>>, AuthenticationError>;

/// The future of one verification.
pub type VerificationFuture<'a, P> = Pin<Box<dyn Future<Output = VerificationResult<P>> + Send + 'a>>;

/// Passes credentials to the user's methods, by the index of their scheme. Generated for each contract.
pub trait SchemeVerifier: Send + Sync + 'static {
    /// The verified caller.
    type Principal: Clone + Send + Sync + 'static;

    /// Verifies the credential of a scheme.
    fn verify<'a>(
        &'a self,
        scheme: usize,
        credential: PresentedCredential,
        context: &'a RequestContext,
    ) -> VerificationFuture<'a, Self::Principal>;

    /// Combines the principals of schemes that are required together. By default, the call is forbidden.
    ///
    /// # Errors
    /// If the principals do not belong together.
    fn combine(&self, principals: Vec<Self::Principal>) -> Result<Self::Principal, AuthenticationError> {
        drop(principals);
        Err(AuthenticationError::Forbidden)
    }

    /// Returns the `realm` of challenges.
    fn realm(&self) -> String;

    /// Returns the challenge for a scheme, or `None` for the default.
    fn challenge(&self, scheme: &SecurityScheme, context: &RequestContext) -> Option<String>;
}

/// The result of the authentication of a request.
#[derive(Clone)]
pub(super) enum AuthenticationOutcome {
    /// The request has this principal.
    Verified(Arc<dyn Any + Send + Sync>),
    /// The operation can be called without credentials. Contains the challenge for a handler that requires a
    /// principal.
    Anonymous(String),
}

impl AuthenticationOutcome {
    /// Returns the principal, if there is one of this type.
    pub(super) fn principal<P: Clone + 'static>(&self) -> Option<P> {
        match self {
            Self::Verified(principal) => principal.downcast_ref::<P>().cloned(),
            Self::Anonymous(_) => None,
        }
    }
}

/// The future of the authentication of a request.
pub(super) type OutcomeFuture<'a> =
    Pin<Box<dyn Future<Output = Result<AuthenticationOutcome, Rejection>> + Send + 'a>>;

/// Authenticates requests. Hides the type of the principal.
trait RequestAuthenticator: Send + Sync {
    fn authenticate<'a>(&'a self, context: &'a RequestContext) -> OutcomeFuture<'a>;
}

/// The authentication of a router by the user's methods.
///
/// For each alternative of `security`, in the order of the contract, the credentials of all its schemes are
/// extracted and verified, each at most once per request. The first alternative that is satisfied, scopes
/// included, determines the principal. Otherwise, the first of these cases applies:
///
/// 1. A method returned [`AuthenticationError::Forbidden`]: [`Rejection::Forbidden`].
/// 2. The contract allows calls without credentials, and no credential is invalid: the request has no
///    principal.
/// 3. A token lacks scopes: [`Rejection::Forbidden`] with the required scopes.
/// 4. [`Rejection::Unauthorized`] with a challenge for each scheme of the operation.
#[derive(Clone)]
pub struct Authentication(Arc<dyn RequestAuthenticator>);

impl Authentication {
    /// Creates the authentication of a contract from its table and the user's methods.
    pub fn new(security: SecurityTable, verifier: impl SchemeVerifier) -> Self {
        Self(Arc::new(TableAuthenticator { security, verifier }))
    }

    pub(super) fn authenticate<'a>(&'a self, context: &'a RequestContext) -> OutcomeFuture<'a> {
        self.0.authenticate(context)
    }
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authentication").finish_non_exhaustive()
    }
}

struct TableAuthenticator<V> {
    security: SecurityTable,
    verifier: V,
}

/// The result for one scheme.
#[derive(Clone)]
enum SchemeOutcome<P> {
    Absent,
    Invalid,
    Forbidden,
    Verified(TokenGrant<P>),
}

/// The results of a request so far.
struct RequestProgress<'a, P> {
    operation: &'a Operation,
    context: &'a RequestContext,
    /// The results by scheme, so that each credential is verified once.
    outcomes: Vec<Option<SchemeOutcome<P>>>,
    is_forbidden: bool,
    /// The first scheme whose token lacks scopes, and the scopes that it needs.
    missing_scopes: Option<(usize, &'static [&'static str])>,
}

impl<V: SchemeVerifier> RequestAuthenticator for TableAuthenticator<V> {
    fn authenticate<'a>(&'a self, context: &'a RequestContext) -> OutcomeFuture<'a> {
        Box::pin(async move {
            let Some(operation) = context.operation() else {
                return Ok(AuthenticationOutcome::Anonymous(String::new()));
            };
            self.authenticate_call(operation, context).await
        })
    }
}

impl<V: SchemeVerifier> TableAuthenticator<V> {
    async fn authenticate_call(
        &self,
        operation: &Operation,
        context: &RequestContext,
    ) -> Result<AuthenticationOutcome, Rejection> {
        let alternatives = (self.security.requirements)(operation);
        let mut progress = RequestProgress {
            operation,
            context,
            outcomes: vec![None; self.security.schemes.len()],
            is_forbidden: false,
            missing_scopes: None,
        };
        for (at, alternative) in alternatives.iter().enumerate().filter(|(_, schemes)| !schemes.is_empty()) {
            if let Some(principal) = self.try_alternative(at, alternative, &mut progress).await? {
                return Ok(AuthenticationOutcome::Verified(Arc::new(principal)));
            }
        }
        let writer = ChallengeWriter { security: &self.security, operation, realm: self.verifier.realm() };
        let is_optional = alternatives.is_empty() || alternatives.iter().any(|schemes| schemes.is_empty());
        let is_invalid =
            |scheme: usize| matches!(progress.outcomes.get(scheme), Some(Some(SchemeOutcome::Invalid)));
        let has_invalid = (0..self.security.schemes.len()).any(is_invalid);
        let own = |scheme: &SecurityScheme| self.verifier.challenge(scheme, context);
        if progress.is_forbidden {
            return Err(Rejection::Forbidden { challenge: None });
        }
        if is_optional && !has_invalid {
            return Ok(AuthenticationOutcome::Anonymous(writer.challenges(&own, &is_invalid)));
        }
        if let Some((scheme, scopes)) = progress.missing_scopes.filter(|_| !is_optional) {
            return Err(Rejection::Forbidden { challenge: writer.insufficient_scope(scheme, scopes) });
        }
        Err(Rejection::Unauthorized { challenge: writer.challenges(&own, &is_invalid) })
    }

    /// Returns the principal if the request satisfies the alternative.
    async fn try_alternative(
        &self,
        alternative: usize,
        schemes: &[usize],
        progress: &mut RequestProgress<'_, V::Principal>,
    ) -> Result<Option<V::Principal>, Rejection> {
        let context = progress.context;
        let mut presented = Vec::new();
        for &scheme in schemes {
            let Some(row) = self.security.schemes.get(scheme) else { return Ok(None) };
            match credential::extract_credential(row.kind, context) {
                ExtractedCredential::Absent => return Ok(None),
                ExtractedCredential::Malformed => presented.push((scheme, None)),
                ExtractedCredential::Present(credential) => presented.push((scheme, Some(credential))),
            }
        }
        let mut principals = Vec::new();
        for (scheme, credential) in presented {
            let outcome = match progress.outcomes.get(scheme).cloned().flatten() {
                Some(known) => known,
                None => match credential {
                    Some(credential) => self.verify_scheme(scheme, credential, context).await?,
                    None => SchemeOutcome::Invalid,
                },
            };
            if let Some(known) = progress.outcomes.get_mut(scheme) {
                *known = Some(outcome.clone());
            }
            match outcome {
                SchemeOutcome::Verified(grant) => {
                    let required = self.required_scopes(progress.operation, alternative, scheme);
                    if required.iter().any(|name| !grant.scopes.iter().any(|scope| scope == name)) {
                        progress.missing_scopes.get_or_insert((scheme, required));
                        return Ok(None);
                    }
                    principals.push(grant.principal);
                }
                SchemeOutcome::Forbidden => {
                    progress.is_forbidden = true;
                    return Ok(None);
                }
                SchemeOutcome::Absent | SchemeOutcome::Invalid => return Ok(None),
            }
        }
        match self.combine_principals(principals) {
            Ok(principal) => Ok(Some(principal)),
            Err(AuthenticationError::Rejected(rejection)) => Err(rejection),
            Err(AuthenticationError::Forbidden) => {
                progress.is_forbidden = true;
                Ok(None)
            }
            Err(AuthenticationError::Invalid) => {
                let last = schemes.last().and_then(|scheme| progress.outcomes.get_mut(*scheme));
                last.into_iter().for_each(|outcome| *outcome = Some(SchemeOutcome::Invalid));
                Ok(None)
            }
        }
    }

    async fn verify_scheme(
        &self,
        scheme: usize,
        credential: PresentedCredential,
        context: &RequestContext,
    ) -> Result<SchemeOutcome<V::Principal>, Rejection> {
        match self.verifier.verify(scheme, credential, context).await {
            Ok(Some(grant)) => Ok(SchemeOutcome::Verified(grant)),
            Ok(None) => Ok(SchemeOutcome::Absent),
            Err(AuthenticationError::Invalid) => Ok(SchemeOutcome::Invalid),
            Err(AuthenticationError::Forbidden) => Ok(SchemeOutcome::Forbidden),
            Err(AuthenticationError::Rejected(rejection)) => Err(rejection),
        }
    }

    fn combine_principals(
        &self,
        mut principals: Vec<V::Principal>,
    ) -> Result<V::Principal, AuthenticationError> {
        match (principals.len(), principals.pop()) {
            (1, Some(principal)) => Ok(principal),
            (_, last) => {
                principals.extend(last);
                self.verifier.combine(principals)
            }
        }
    }

    fn required_scopes(
        &self,
        operation: &Operation,
        alternative: usize,
        scheme: usize,
    ) -> &'static [&'static str] {
        let mut rows = (self.security.scopes)(operation).iter();
        let row = rows.find(|row| row.alternative == alternative && row.scheme == scheme);
        row.map(|row| row.names).unwrap_or_default()
    }
}
