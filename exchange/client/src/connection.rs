//! The connection of this session: what the service document says of it, and the name that the member gives
//! the installation (SVC-07, SVC-12).

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

pub use self::label::{Label, MachineNames, UnusableLabel};
use crate::{
    error::Error,
    exchange::Exchange,
    identity::Identity,
    tokens::Note,
    transport::{Patience, Terms},
    whose::Whose,
};

/// How many writes a day has where the service document does not say (LIM-19).
pub(crate) const WRITES_PER_DAY: usize = 500;

/// What the exchange says of this connection: the service document, read at the start of every session (SVC-07).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    document: ServiceDocument,
    installation_id: Option<InstallationId>,
    update: Option<UpdateNeeded>,
    /// Which connection it is, where that was read here.
    id: Option<Box<str>>,
}

/// This version of the program is older than the exchange supports: the member is told to update (SVC-07, CLI-04).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateNeeded {
    /// The least version that is supported.
    pub least: String,
    /// The version of this program.
    pub own: String,
}

impl fmt::Display for UpdateNeeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { least, own } = self;
        write!(f, "update this program: the exchange supports version {least} and later, this is {own}")
    }
}

impl Exchange {
    /// Reads what the exchange says of this connection, as at the start of every session (SVC-07). The installation's
    /// id is noted with the session, and holds where the exchange cannot look it up the next time (SVC-03).
    ///
    /// # Errors
    /// As every call; the refusals that stop a client come from here first (SVC-06).
    pub async fn connection(&self) -> Result<Connection, Error> {
        self.read_connection(self.settings().patience, None).await
    }

    /// The same for who something is of, and for nobody else who signed in meanwhile.
    pub(crate) async fn connection_of(&self, whose: &Whose, patience: Patience) -> Result<Connection, Error> {
        self.read_connection(patience, Some(Terms { whose: whose.clone(), signed_at: None })).await
    }

    async fn read_connection(&self, patience: Patience, terms: Option<Terms>) -> Result<Connection, Error> {
        let call = self.api().service_document().with(patience);
        let answer = match terms {
            Some(terms) => call.with(terms).await?,
            None => call.await?,
        };
        // The connection that was read: another may have taken its place by now.
        let of = answer.extensions.get::<Whose>().cloned().unwrap_or_default();
        let known = of.installation.as_deref().and_then(|id| id.parse().ok());
        let mut connection = Connection::of(answer.into_body(), self.identity(), known.as_ref());
        connection.id.clone_from(&of.connection);
        if let Some(id) = connection.installation_id() {
            self.note(&of, Note::Installation(id.as_str())).await;
        }
        Ok(connection)
    }

    /// Reads whose the connection is if nobody said so yet: another process may have made it, or its first reading failed.
    /// What belongs to one member waits until that is known.
    pub(crate) async fn recognise(&self, patience: Patience) {
        let is_known = self.tokens().whose().is_none_or(|whose| whose.installation.is_some());
        if !is_known && let Err(error) = self.read_connection(patience, None).await {
            tracing::debug!(%error, "it is not known yet whose the connection is");
        }
    }

    /// Notes what was said of a connection. This process knows it also where it cannot be written down, and the exchange
    /// says it again.
    async fn note(&self, of: &Whose, note: Note<'_>) {
        if let Err(error) = self.tokens().noted(of, note).await {
            tracing::warn!(%error, "what the exchange said of this installation is not written down");
        }
    }

    /// Names this installation as the member wants it, after sign-in and whenever the member changes it, and notes the
    /// name with the session (SVC-12).
    ///
    /// ```
    /// # use exchange_client::{Exchange, Label, MachineNames};
    /// # async fn example(exchange: Exchange, text: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let label = Label::new(text, &MachineNames::of_this_computer())?;
    /// exchange.label(&label).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As every call.
    pub async fn label(&self, wanted: &Label) -> Result<Installation, Error> {
        let body = LabelledInstallation {
            label: wanted.as_contract().clone(),
            installation_id: None,
            first_seen_at: None,
            last_seen_at: None,
            extra: exchange_api::Map::new(),
        };
        let answer = self.api().installation_label(&body).await?;
        let of = answer.extensions.get::<Whose>().cloned().unwrap_or_default();
        let installation = answer.into_body();
        self.note(&of, Note::Label(installation.label.as_str())).await;
        Ok(installation)
    }
}

impl Connection {
    /// What a service document says that was read by hand; [`Exchange::connection`] reads it and notes whose it is. `known`
    /// is the installation's id as it was stored before: it holds where the exchange could not look it up this time
    /// (SVC-03).
    #[must_use]
    pub fn of(document: ServiceDocument, identity: &Identity, known: Option<&InstallationId>) -> Self {
        let installation_id = document.installation_id.clone().or_else(|| known.cloned());
        let least = document.min_client_version.value();
        let update = least
            .filter(|least| is_older(identity.version(), least))
            .map(|least| UpdateNeeded { least: least.clone(), own: identity.version().to_owned() });
        Self { document, installation_id, update, id: None }
    }

    /// Whose it is.
    pub(crate) fn whose(&self) -> Whose {
        let installation = self.installation_id.as_ref().map(|id| id.as_str().into());
        Whose { connection: self.id.clone(), installation }
    }

    /// By which own removals are told from those of others (TYP-16). `None` until the exchange has said it once.
    #[must_use]
    pub const fn installation_id(&self) -> Option<&InstallationId> {
        self.installation_id.as_ref()
    }

    /// What both the token and the registry allow, also capabilities that this version does not know: offer the
    /// member only features that they cover (SVC-07).
    #[must_use]
    pub fn capabilities(&self) -> &[Scope] {
        &self.document.capabilities
    }

    /// Whether a capability is among them.
    #[must_use]
    pub fn can(&self, scope: &Scope) -> bool {
        self.document.capabilities.contains(scope)
    }

    /// Whether they cover an operation of the contract ([`exchange_api::operations`]).
    #[must_use]
    pub fn covers(&self, operation: &Operation) -> bool {
        operation.permits(|scope| self.document.capabilities.iter().any(|own| own.as_str() == scope))
    }

    /// The limits of this client.
    #[must_use]
    pub const fn limits(&self) -> &ServiceLimits {
        &self.document.limits
    }

    /// How many ops a change set may have: the document's word, and 1 to 500 whatever it says (LIM-01).
    #[must_use]
    pub fn most_ops(&self) -> usize {
        usize::try_from(self.document.limits.batch_max_ops).unwrap_or(1).clamp(1, 500)
    }

    /// How many writes a day has for this client and member: the document's word, which it gives where the client has a
    /// quota of its own (SVC-04), and else the usual 500 (LIM-19).
    #[must_use]
    pub fn writes_per_day(&self) -> usize {
        let own = self.document.limits.writes_per_day;
        own.map_or(WRITES_PER_DAY, |writes| usize::try_from(writes).unwrap_or(1).max(1))
    }

    /// Set when the member has to update this program.
    #[must_use]
    pub const fn update_needed(&self) -> Option<&UpdateNeeded> {
        self.update.as_ref()
    }

    /// Features that will go.
    #[must_use]
    pub fn deprecations(&self) -> &[Deprecation] {
        &self.document.deprecations
    }

    /// The documentation's root.
    #[must_use]
    pub fn docs_url(&self) -> &str {
        &self.document.docs_url
    }

    /// The document itself.
    #[must_use]
    pub const fn document(&self) -> &ServiceDocument {
        &self.document
    }
}

/// As the gateway compares: a pre-release comes before its release, and build metadata do not count. What is no
/// version is older than any that is (ERR-16); a minimum that is none says nothing.
fn is_older(own: &str, least: &str) -> bool {
    let Ok(least) = Version::parse(least) else { return false };
    Version::parse(own).map_or(true, |own| own.cmp_precedence(&least).is_lt())
}

#[cfg(test)]
mod tests {
    use exchange_api::Contract as _;

    use super::*;
    use crate::{
        members::Members,
        testkit::{Reply, ScriptedServer, VirtualEnvironment},
    };

    fn identity(version: &str) -> Identity {
        Identity::new("desk", "Desk", version, "https://desk.example").unwrap()
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
        Connection::of(document, &identity(version), known.as_ref())
    }

    /// SVC-07: only what the capabilities cover is offered, and one that is not known yet breaks nothing.
    #[tokio::test(start_paused = true)]
    async fn a_session_begins_with_the_service_document() {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.answer(|_| Reply::json(200, document(r#""installationId": "i-1","#, "null")));
        let exchange = Members::new(&machine).exchange(&machine, &gateway);
        let connection = exchange.connection().await.unwrap();
        assert_eq!(gateway.count(), 1);
        assert_eq!(connection.installation_id().unwrap().as_str(), "i-1");
        assert!(connection.can(&Scope::ExchangeStockRead) && !connection.can(&Scope::ExchangeStockWrite));
        assert_eq!(connection.capabilities().len(), 3);
        let offered: Vec<_> = exchange_api::operations::OPERATIONS
            .iter()
            .filter(|operation| !operation.anonymous && connection.covers(operation))
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
        assert_eq!(connection.update_needed(), None);
    }

    /// SVC-07: the id is stored, and what was stored holds where the exchange could not look it up.
    #[test]
    fn the_installation_keeps_its_id() {
        let id = |installation, known| {
            let connection = connection(installation, "null", "1.0.0", known);
            connection.installation_id().map(|id| id.as_str().to_owned())
        };
        assert_eq!(id("", None), None);
        assert_eq!(id("", Some("i-7")).as_deref(), Some("i-7"));
        assert_eq!(id(r#""installationId": "i-8","#, Some("i-7")).as_deref(), Some("i-8"));
    }

    /// SVC-07, ERR-16: versions are compared as the gateway does.
    #[test]
    fn the_member_is_told_to_update_an_old_program() {
        let told = |own, least: &str| connection("", least, own, None).update_needed().cloned();
        for (own, least) in
            [("1.4.0", "1.4.1"), ("1.4.0", "2.0.0-rc.1"), ("1.4.0-rc.2", "1.4.0"), ("1.9.0", "1.10.0")]
        {
            let update = told(own, &format!("\"{least}\"")).unwrap();
            assert_eq!((&*update.own, &*update.least), (own, least));
            assert_eq!(
                update.to_string(),
                format!(
                    "update this program: the exchange supports version {least} and later, this is {own}"
                )
            );
        }
        for (own, least) in
            [("1.4.0", "1.4.0"), ("1.4.0+5", "1.4.0+9"), ("2.0.0", "1.99.99"), ("1.0.0", "new")]
        {
            assert_eq!(told(own, &format!("\"{least}\"")), None, "{own} {least}");
        }
        assert_eq!(told("0.0.1", "null"), None);
    }

    /// The number of ops that fit one change set is never more than the contract's, and never none.
    #[test]
    fn the_limits_stay_within_the_contract() {
        let most = |ops: &str| {
            let text =
                document("", "null").replace("\"batchMaxOps\": 500", &format!("\"batchMaxOps\": {ops}"));
            let document = ServiceDocument::parse(text.as_bytes()).unwrap();
            Connection::of(document, &identity("1.0.0"), None).most_ops()
        };
        assert_eq!((most("100"), most("500"), most("0"), most("-3"), most("9000")), (100, 500, 1, 1, 500));
    }

    /// SVC-04, LIM-19: the document says how many writes a day has where that is not the usual.
    #[test]
    fn the_writes_of_a_day_are_the_documents_or_the_usual() {
        let writes = |limit: &str| {
            let text = document("", "null").replace("\"later\": 1", limit);
            let document = ServiceDocument::parse(text.as_bytes()).unwrap();
            Connection::of(document, &identity("1.0.0"), None).writes_per_day()
        };
        assert_eq!((writes("\"later\": 1"), writes("\"writesPerDay\": 20")), (500, 20));
        assert_eq!((writes("\"writesPerDay\": 0"), writes("\"writesPerDay\": 5000")), (1, 5000));
    }

    /// SVC-12: the label goes alone.
    #[tokio::test(start_paused = true)]
    async fn a_label_is_sent_alone() {
        let answer = r#"{"label": "Desk", "installationId": "i-1", "firstSeenAt": "2026-01-01T00:00:00Z",
            "lastSeenAt": "2026-01-01T00:00:00Z"}"#;
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.answer(move |_| Reply::json(200, answer));
        let exchange = Members::new(&machine).exchange(&machine, &gateway);
        let wanted = Label::new("Desk", &MachineNames::none()).unwrap();
        let installation = exchange.label(&wanted).await.unwrap();
        assert_eq!(installation.label.as_str(), "Desk");
        let seen = &gateway.requests()[0];
        assert_eq!((seen.operation, &*seen.body), ("installation_label", &br#"{"label":"Desk"}"#[..]));
    }
}
