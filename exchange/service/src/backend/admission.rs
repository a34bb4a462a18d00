//! The admission check of every handler: whether a member's client may perform an operation now (GW-02).

use contract_runtime::operation::Operation;
use contract_runtime::server::{Rejection, RequestContext};
use exchange_api::error_responses::PlainCode;
use exchange_api::server::ErrorResponse;
use rusqlite::Connection;

use super::Backend;
use super::handler_error::{CallerContext, HandlerError};
use crate::caller::Caller;
use crate::ids::InstallationId;
use crate::members::{self, Member};
use crate::registry::{self, RegisteredClient};

/// A caller that has passed the admission check.
#[derive(Clone, Debug)]
pub(crate) struct AdmittedCaller<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) member: Member,
    pub(crate) client: RegisteredClient,
    /// The installation that made the call. It is read from the store if the gateway could not determine it
    /// (SVC-03).
    installation: Option<InstallationId>,
}

impl AdmittedCaller<'_> {
    /// Returns the installation, if it is known.
    pub(crate) fn known_installation(&self) -> Option<&InstallationId> {
        self.installation.as_ref()
    }

    /// Returns the installation, for operations that must record it, such as removals (TYP-15).
    ///
    /// # Errors
    /// Returns `REGISTRY_UNAVAILABLE` if the installation is unknown.
    pub(crate) fn installation(&self) -> Result<&InstallationId, HandlerError> {
        self.installation.as_ref().ok_or(HandlerError::Rejected(PlainCode::RegistryUnavailable))
    }
}

/// Checks the member (A19), then the switch, the registry, the key, disconnection and the scope, in the
/// gateway's order.
///
/// # Errors
/// Returns the error of the first check that fails, or an error if the store cannot be read.
pub(crate) fn admit<'a>(
    connection: &Connection,
    caller: &'a Caller,
    operation: &Operation,
) -> Result<AdmittedCaller<'a>, HandlerError> {
    let member = members::find_acting_member(connection, &caller.member)??;
    let client = registry::admit_client(connection, &caller.client)??;
    let standing = registry::find_key_status(connection, &caller.client, &caller.member, &caller.jkt)?;
    if standing.key_revoked {
        return Err(PlainCode::InstallationRevoked.into());
    }
    if standing.client_is_revoked(caller.auth_time) {
        return Err(PlainCode::ClientRevoked.into());
    }
    client.authorize_operation(&caller.scopes, operation)?;
    let found = standing.installation.map(|(installation, _)| installation);
    let installation = caller.installation.clone().or(found);
    Ok(AdmittedCaller { caller, member, client, installation })
}

impl Backend {
    /// Admits the caller and runs a read on a reader thread, both in one snapshot.
    pub(super) async fn read_admitted<T, F>(
        &self,
        context: &RequestContext,
        work: F,
    ) -> Result<T, ErrorResponse>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &AdmittedCaller) -> Result<T, HandlerError> + Send + 'static,
    {
        let (request, operation) = request_context(context)?;
        let work = with_admission(&request, operation, work);
        self.store.read(work).await.map_err(|failure| request.error_response(failure))
    }

    /// Admits the caller and runs a read on the current thread. The read must fetch only a few rows, by their
    /// keys.
    pub(super) async fn read_inline_admitted<T, F>(
        &self,
        context: &RequestContext,
        work: F,
    ) -> Result<T, ErrorResponse>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &AdmittedCaller) -> Result<T, HandlerError> + Send + 'static,
    {
        let (request, operation) = request_context(context)?;
        let work = with_admission(&request, operation, work);
        self.store.read_inline(work).await.map_err(|failure| request.error_response(failure))
    }

    /// Admits the caller and runs a write, both in one transaction. An error rolls the transaction back.
    pub(super) async fn write_admitted<T, F>(
        &self,
        context: &RequestContext,
        work: F,
    ) -> Result<T, ErrorResponse>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &AdmittedCaller) -> Result<T, HandlerError> + Send + 'static,
    {
        let (request, operation) = request_context(context)?;
        let work = with_admission(&request, operation, work);
        self.store.write(work).await.map_err(|failure| request.error_response(failure))
    }
}

/// Wraps a closure so that it runs the admission check before its own work.
fn with_admission<T, F>(
    request: &CallerContext,
    operation: &'static Operation,
    work: F,
) -> impl FnOnce(&Connection) -> Result<T, HandlerError> + Send + 'static + use<T, F>
where
    T: Send + 'static,
    F: FnOnce(&Connection, &AdmittedCaller) -> Result<T, HandlerError> + Send + 'static,
{
    let request = request.clone();
    move |connection: &Connection| work(connection, &admit(connection, request.caller(), operation)?)
}

/// Returns the caller and the operation of a request.
///
/// # Errors
/// Returns an internal error if the request has no operation or did not pass through the gateway.
pub(super) fn request_context(
    context: &RequestContext,
) -> Result<(CallerContext, &'static Operation), ErrorResponse> {
    let operation = context.operation().ok_or(Rejection::Internal)?;
    Ok((CallerContext::from_context(context)?, operation))
}
