//! The door of every handler: may this member's client do this, now (GW-02)?

use contract_runtime::operation::Operation;
use contract_runtime::server::{Context, Rejection};
use exchange_api::refusals::PlainCode;
use exchange_api::server::Refusal;
use rusqlite::Connection;

use super::Backend;
use super::refusal::{Asked, Failure};
use crate::caller::Caller;
use crate::ids::InstallationId;
use crate::members::{self, Member};
use crate::registry::{self, Client};

/// A caller who may go on.
#[derive(Clone, Debug)]
pub(crate) struct Admitted<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) member: Member,
    pub(crate) client: Client,
    /// Looked up here when the gateway could not (SVC-03).
    installation: Option<InstallationId>,
}

impl Admitted<'_> {
    /// The installation, when there is one.
    pub(crate) fn known_installation(&self) -> Option<&InstallationId> {
        self.installation.as_ref()
    }

    /// The installation, for what cannot be done without one: a removal says whose it is (TYP-15).
    pub(crate) fn installation(&self) -> Result<&InstallationId, Failure> {
        self.installation.as_ref().ok_or(Failure::Refused(PlainCode::RegistryUnavailable))
    }
}

/// The member's checks (A19), then switch, registry, key, disconnect and scope as the gateway has them.
///
/// # Errors
/// The first check that fails, or the store.
pub(crate) fn admit<'a>(
    connection: &Connection,
    caller: &'a Caller,
    operation: &Operation,
) -> Result<Admitted<'a>, Failure> {
    let member = members::acting(connection, &caller.member)??;
    let client = registry::admit(connection, &caller.client)??;
    let standing = registry::standing(connection, &caller.client, &caller.member, &caller.jkt)?;
    if standing.key_revoked {
        return Err(PlainCode::InstallationRevoked.into());
    }
    if standing.client_is_revoked(caller.auth_time) {
        return Err(PlainCode::ClientRevoked.into());
    }
    client.allow(&caller.scopes, operation)?;
    let found = standing.installation.map(|(installation, _)| installation);
    let installation = caller.installation.clone().or(found);
    Ok(Admitted { caller, member, client, installation })
}

impl Backend {
    /// Admits the caller and reads, both in one snapshot.
    pub(super) async fn read<T, F>(&self, context: &Context, work: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &Admitted) -> Result<T, Failure> + Send + 'static,
    {
        let (asked, operation) = asked(context)?;
        let work = admitted(&asked, operation, work);
        self.store.read(work).await.map_err(|failure| asked.refuse(failure))
    }

    /// The same in place: for a few rows by their keys.
    pub(super) async fn look<T, F>(&self, context: &Context, work: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &Admitted) -> Result<T, Failure> + Send + 'static,
    {
        let (asked, operation) = asked(context)?;
        let work = admitted(&asked, operation, work);
        self.store.look(work).await.map_err(|failure| asked.refuse(failure))
    }

    /// Admits the caller and writes, both in one transaction; a failure undoes the write.
    pub(super) async fn write<T, F>(&self, context: &Context, work: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &Admitted) -> Result<T, Failure> + Send + 'static,
    {
        let (asked, operation) = asked(context)?;
        let work = admitted(&asked, operation, work);
        self.store.write(work).await.map_err(|failure| asked.refuse(failure))
    }
}

/// The work behind the door.
fn admitted<T, F>(
    asked: &Asked,
    operation: &'static Operation,
    work: F,
) -> impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static + use<T, F>
where
    T: Send + 'static,
    F: FnOnce(&Connection, &Admitted) -> Result<T, Failure> + Send + 'static,
{
    let asked = asked.clone();
    move |connection: &Connection| work(connection, &admit(connection, asked.caller(), operation)?)
}

/// Who asks for what.
pub(super) fn asked(context: &Context) -> Result<(Asked, &'static Operation), Refusal> {
    let operation = context.operation().ok_or(Rejection::Internal)?;
    Ok((Asked::of(context)?, operation))
}
