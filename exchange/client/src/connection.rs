//! The connection of a session: limits and capabilities from the service document, and the label of the
//! installation (SVC-07, SVC-12).
//!
//! Entry points: [`Exchange::connection`] and [`Exchange::set_label`].

mod label;

use std::fmt;

use exchange_api::{
    runtime::operation::Operation,
    scopes::Scope,
    types::{
        Deprecation, Installation, InstallationId, LabelledInstallation, ServiceDocument, ServiceLimits,
    },
};
use semver::Version;

pub use self::label::{ComputerNames, Label, LabelError};
use crate::{
    error::Error,
    exchange::Exchange,
    identity::ClientIdentity,
    ownership::Ownership,
    token_source::ConnectionNote,
    transport::{RetryPolicy, SendConditions},
};

/// The number of writes per day if the service document sets no limit (LIM-19).
pub(crate) const WRITES_PER_DAY: usize = 500;

/// The maximum number of ops in a change set (LIM-01).
const MAX_OPS: usize = 500;

/// The service document of this connection, read at the start of every session (SVC-07).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    document: ServiceDocument,
    installation_id: Option<InstallationId>,
    required_update: Option<RequiredUpdate>,
    /// The local id of the connection; `None` if the document was evaluated by
    /// [`from_document`](Self::from_document).
    id: Option<Box<str>>,
}

/// The update that a program needs if it is older than the oldest supported version. Ask the member to update
/// the program (SVC-07, CLI-04).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequiredUpdate {
    /// The oldest version that the exchange supports.
    pub minimum_version: String,
    /// The version of the running program.
    pub current_version: String,
}

impl fmt::Display for RequiredUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { minimum_version: minimum, current_version: current } = self;
        write!(f, "update this program: the exchange supports version {minimum} and later, this is {current}")
    }
}

impl Exchange {
    /// Reads the service document. Call this at the start of every session (SVC-07).
    ///
    /// Stores the installation id with the session. If a later service document contains no id, the stored
    /// one remains valid (SVC-03).
    ///
    /// # Errors
    /// Returns the errors that every call can return. Errors that stop the whole client are reported here
    /// first (SVC-06).
    pub async fn connection(&self) -> Result<Connection, Error> {
        self.read_connection(self.settings().retry_policy, None).await
    }

    /// Reads the service document for `owner`. Fails if another member has signed in since.
    pub(crate) async fn connection_for(
        &self,
        owner: &Ownership,
        patience: RetryPolicy,
    ) -> Result<Connection, Error> {
        self.read_connection(patience, Some(SendConditions { owner: owner.clone(), proof_time: None })).await
    }

    async fn read_connection(
        &self,
        patience: RetryPolicy,
        terms: Option<SendConditions>,
    ) -> Result<Connection, Error> {
        let call = self.api().service_document().with_extension(patience);
        let response = match terms {
            Some(terms) => call.with_extension(terms).await?,
            None => call.await?,
        };
        // The owner comes from the response, because another connection may have replaced this one since the
        // request.
        let owner = response.extensions().get::<Ownership>().cloned().unwrap_or_default();
        let known = owner.installation.as_deref().and_then(|id| id.parse().ok());
        let mut connection = Connection::from_document(response.into_body(), self.identity(), known.as_ref());
        connection.id.clone_from(&owner.connection);
        if let Some(id) = connection.installation_id() {
            self.record_note(&owner, ConnectionNote::Installation(id.as_str())).await;
        }
        Ok(connection)
    }

    /// Reads the service document if the owner of the connection is still unknown, for example because
    /// another process signed in or the first read failed. Data of a member is not processed until the owner
    /// is known.
    pub(crate) async fn identify_connection(&self, patience: RetryPolicy) {
        let is_known = self.tokens().current_owner().is_none_or(|owner| owner.installation.is_some());
        if !is_known && let Err(error) = self.read_connection(patience, None).await {
            tracing::debug!(%error, "cannot determine the owner of the connection");
        }
    }

    /// Stores data about a connection. If this fails, the error is only logged, because this process keeps
    /// the value in memory. In the next session, the exchange returns the installation id again.
    async fn record_note(&self, owner: &Ownership, note: ConnectionNote<'_>) {
        if let Err(error) = self.tokens().record_note(owner, note).await {
            tracing::warn!(%error, "cannot store the note about this installation");
        }
    }

    /// Sets the label of this installation and stores it with the session. Call it after sign-in and whenever
    /// the member changes the label (SVC-12).
    ///
    /// ```
    /// # use exchange_client::{Exchange, Label, ComputerNames};
    /// # async fn example(exchange: Exchange, text: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let label = Label::new(text, &ComputerNames::detect())?;
    /// exchange.set_label(&label).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns the errors that every call can return.
    pub async fn set_label(&self, wanted: &Label) -> Result<Installation, Error> {
        let body = LabelledInstallation {
            label: wanted.as_contract().clone(),
            installation_id: None,
            first_seen_at: None,
            last_seen_at: None,
            extra: exchange_api::Map::new(),
        };
        let response = self.api().installation_label(&body).await?;
        let owner = response.extensions().get::<Ownership>().cloned().unwrap_or_default();
        let installation = response.into_body();
        self.record_note(&owner, ConnectionNote::Label(installation.label.as_str())).await;
        Ok(installation)
    }
}

impl Connection {
    /// Evaluates a service document that the program requested directly. In contrast,
    /// [`Exchange::connection`] also requests the document and records the owner.
    ///
    /// `known` is the stored installation id, which is used if the document contains none (SVC-03).
    #[must_use]
    pub fn from_document(
        document: ServiceDocument,
        identity: &ClientIdentity,
        known: Option<&InstallationId>,
    ) -> Self {
        let installation_id = document.installation_id.clone().or_else(|| known.cloned());
        let least = document.min_client_version.as_ref().and_then(|least| least.value());
        let update = least.filter(|least| is_older_version(identity.version(), least)).map(|least| {
            RequiredUpdate { minimum_version: least.clone(), current_version: identity.version().to_owned() }
        });
        Self { document, installation_id, required_update: update, id: None }
    }

    /// Returns the owner of this connection.
    pub(crate) fn ownership(&self) -> Ownership {
        let installation = self.installation_id.as_ref().map(|id| id.as_str().into());
        Ownership { connection: self.id.clone(), installation }
    }

    /// Returns the id that identifies removals made by this installation (TYP-16). `None` if no service
    /// document has contained it yet.
    #[must_use]
    pub const fn installation_id(&self) -> Option<&InstallationId> {
        self.installation_id.as_ref()
    }

    /// Returns the capabilities that both the token and the client registry of the exchange permit, including
    /// capabilities that are unknown to this version. Offer the member only features that the capabilities
    /// cover (SVC-07).
    #[must_use]
    pub fn capabilities(&self) -> &[Scope] {
        &self.document.capabilities
    }

    /// Returns true if [`capabilities`](Self::capabilities) contains this scope.
    #[must_use]
    pub fn has_capability(&self, scope: &Scope) -> bool {
        self.document.capabilities.contains(scope)
    }

    /// Returns true if the capabilities permit an operation of the contract ([`exchange_api::operations`]).
    #[must_use]
    pub fn permits_operation(&self, operation: &Operation) -> bool {
        operation
            .permits(|scope| self.document.capabilities.iter().any(|capability| capability.as_str() == scope))
    }

    /// Returns the limits that the service document sets for this client; `None` if it contains none.
    #[must_use]
    pub const fn limits(&self) -> Option<&ServiceLimits> {
        self.document.limits.as_ref()
    }

    /// Returns the maximum number of ops in a change set: the document's limit, clamped to 1 to 500 (LIM-01),
    /// or 500 if it has none.
    #[must_use]
    pub fn max_ops(&self) -> usize {
        let limit = self.limits().and_then(|limits| limits.batch_max_ops);
        limit.map_or(MAX_OPS, |ops| usize::try_from(ops).unwrap_or(1).clamp(1, MAX_OPS))
    }

    /// Returns the number of writes per day for this client and member: the document's quota, or 500 if it
    /// has none (SVC-04, LIM-19).
    #[must_use]
    pub fn writes_per_day(&self) -> usize {
        let limit = self.limits().and_then(|limits| limits.writes_per_day);
        limit.map_or(WRITES_PER_DAY, |writes| usize::try_from(writes).unwrap_or(1).max(1))
    }

    /// Returns the required update if this program is older than the exchange supports.
    #[must_use]
    pub const fn required_update(&self) -> Option<&RequiredUpdate> {
        self.required_update.as_ref()
    }

    /// Returns the announced deprecations of features.
    #[must_use]
    pub fn deprecations(&self) -> &[Deprecation] {
        self.document.deprecations.as_deref().unwrap_or_default()
    }

    /// Returns the root URL of the documentation.
    #[must_use]
    pub fn docs_url(&self) -> &str {
        &self.document.docs_url
    }

    /// Returns the unmodified service document.
    #[must_use]
    pub const fn document(&self) -> &ServiceDocument {
        &self.document
    }
}

/// Compares versions as the gateway does: a pre-release precedes its release, build metadata is ignored, and
/// an invalid version of this program is older than any valid one (ERR-16). An invalid minimum is ignored.
fn is_older_version(version: &str, minimum: &str) -> bool {
    let Ok(minimum) = Version::parse(minimum) else { return false };
    Version::parse(version).map_or(true, |version| version.cmp_precedence(&minimum).is_lt())
}

#[cfg(test)]
mod tests {
    use exchange_api::Contract as _;

    use super::*;
    use crate::{
        test_members::TestMembers,
        testkit::{ScriptedReply, ScriptedServer, VirtualEnvironment},
    };

    fn identity(version: &str) -> ClientIdentity {
        ClientIdentity::new("desk", "Desk", version, "https://desk.example").unwrap()
    }

    fn document(installation: &str, least: &str) -> String {
        format!(
            r#"{{"apiVersion": "1.4", "capabilities": ["exchange.connect", "exchange.later.read", "exchange.stock.read"],
                {installation} "limits": {{"batchMaxOps": 500, "later": 1}}, "deprecations": [],
                "docsUrl": "https://docs.example", "minClientVersion": {least}, "later": true}}"#
        )
    }

    fn connection(installation: &str, least: &str, version: &str, known: Option<&str>) -> Connection {
        let document = ServiceDocument::parse(document(installation, least).as_bytes()).unwrap();
        let known = known.map(|id| InstallationId::new(id).unwrap());
        Connection::from_document(document, &identity(version), known.as_ref())
    }

    /// SVC-07: only features that the capabilities cover are offered, and an unknown capability is not an
    /// error.
    #[tokio::test(start_paused = true)]
    async fn session_begins_with_the_service_document() {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.set_script(|_| ScriptedReply::json(200, document(r#""installationId": "i-1","#, "null")));
        let exchange = TestMembers::new(&machine).exchange_for(&machine, &gateway);
        let connection = exchange.connection().await.unwrap();
        assert_eq!(gateway.request_count(), 1);
        assert_eq!(connection.installation_id().unwrap().as_str(), "i-1");
        assert!(
            connection.has_capability(&Scope::ExchangeStockRead)
                && !connection.has_capability(&Scope::ExchangeStockWrite)
        );
        assert_eq!(connection.capabilities().len(), 3);
        let offered: Vec<_> = exchange_api::operations::OPERATIONS
            .iter()
            .filter(|operation| !operation.anonymous && connection.permits_operation(operation))
            .map(|operation| operation.id)
            .collect();
        assert_eq!(
            offered,
            [
                "service_document",
                "installation_label",
                "account_check",
                "catalog_resolve",
                "catalog_locations",
                "stock_read"
            ]
        );
        assert_eq!(connection.required_update(), None);
    }

    /// SVC-07: the stored installation id is used if the service document contains none.
    #[test]
    fn installation_id_is_retained() {
        let id = |installation, known| {
            let connection = connection(installation, "null", "1.0.0", known);
            connection.installation_id().map(|id| id.as_str().to_owned())
        };
        assert_eq!(id("", None), None);
        assert_eq!(id("", Some("i-7")).as_deref(), Some("i-7"));
        assert_eq!(id(r#""installationId": "i-8","#, Some("i-7")).as_deref(), Some("i-8"));
    }

    /// SVC-07, ERR-16: versions are compared as the gateway compares them.
    #[test]
    fn outdated_program_requires_an_update() {
        let update_for =
            |version, minimum: &str| connection("", minimum, version, None).required_update().cloned();
        for (version, minimum) in
            [("1.4.0", "1.4.1"), ("1.4.0", "2.0.0-rc.1"), ("1.4.0-rc.2", "1.4.0"), ("1.9.0", "1.10.0")]
        {
            let update = update_for(version, &format!("\"{minimum}\"")).unwrap();
            assert_eq!((&*update.current_version, &*update.minimum_version), (version, minimum));
            assert_eq!(
                update.to_string(),
                format!(
                    "update this program: the exchange supports version {minimum} and later, this is {version}"
                )
            );
        }
        for (version, minimum) in
            [("1.4.0", "1.4.0"), ("1.4.0+5", "1.4.0+9"), ("2.0.0", "1.99.99"), ("1.0.0", "new")]
        {
            assert_eq!(update_for(version, &format!("\"{minimum}\"")), None, "{version} {minimum}");
        }
        assert_eq!(update_for("0.0.1", "null"), None);
    }

    /// The maximum number of ops stays within 1 to 500.
    #[test]
    fn limits_stay_within_the_contract() {
        let max_ops = |ops: &str| {
            let text =
                document("", "null").replace("\"batchMaxOps\": 500", &format!("\"batchMaxOps\": {ops}"));
            let document = ServiceDocument::parse(text.as_bytes()).unwrap();
            Connection::from_document(document, &identity("1.0.0"), None).max_ops()
        };
        assert_eq!(
            (max_ops("100"), max_ops("500"), max_ops("0"), max_ops("-3"), max_ops("9000")),
            (100, 500, 1, 1, 500)
        );
    }

    /// SVC-04, LIM-19: a quota in the document replaces the default number of writes per day.
    #[test]
    fn daily_writes_default_unless_in_the_document() {
        let writes = |limit: &str| {
            let text = document("", "null").replace("\"later\": 1", limit);
            let document = ServiceDocument::parse(text.as_bytes()).unwrap();
            Connection::from_document(document, &identity("1.0.0"), None).writes_per_day()
        };
        assert_eq!((writes("\"later\": 1"), writes("\"writesPerDay\": 20")), (500, 20));
        assert_eq!((writes("\"writesPerDay\": 0"), writes("\"writesPerDay\": 5000")), (1, 5000));
    }

    /// SVC-12: the request body contains only the label.
    #[tokio::test(start_paused = true)]
    async fn label_request_contains_only_the_label() {
        let response = r#"{"label": "Desk", "installationId": "i-1", "firstSeenAt": "2026-01-01T00:00:00Z",
            "lastSeenAt": "2026-01-01T00:00:00Z"}"#;
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.set_script(move |_| ScriptedReply::json(200, response));
        let exchange = TestMembers::new(&machine).exchange_for(&machine, &gateway);
        let wanted = Label::new("Desk", &ComputerNames::none()).unwrap();
        let installation = exchange.set_label(&wanted).await.unwrap();
        assert_eq!(installation.label.as_str(), "Desk");
        let seen = &gateway.requests()[0];
        assert_eq!((seen.operation, &*seen.body), ("installation_label", &br#"{"label":"Desk"}"#[..]));
    }
}
