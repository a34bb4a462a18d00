//! Drafts that the member confirms in a browser. A draft is staged under one idempotency key until the
//! exchange responds. Staging it again after a response uses a new key (DRF-13, DRF-15).

use std::{borrow::Cow, fmt, sync::Arc};

use exchange_api::{
    Client, Contract,
    types::{DraftKind, DraftResult, FrontendUrl, HandoffId, RefineryDraft},
};

use crate::{
    envelope::{SealedEnvelope, find_paths, is_path},
    environment::Environment,
    error::{Error, ErrorKind, is_safe_pointer},
    exchange::Exchange,
    ownership::{Ownership, OwnershipMatch},
    token_source::CurrentSigner,
    transport::SendConditions,
};

/// A factory for [`BlueprintStaging`] and [`RefineryStaging`].
#[derive(Clone)]
pub struct DraftStager {
    api: Client,
    environment: Environment,
    signers: CurrentSigner,
}

/// A staged draft, which can be opened once, within 30 minutes. `Debug` does not print its link and its id,
/// because they are secrets: open the link in the member's browser, and never log or share the link or the id
/// (DRF-13).
///
/// ```
/// fn open(handoff: &exchange_client::DraftHandoff) -> &str {
///     handoff.frontend_url().expose()
/// }
/// ```
///
/// ```compile_fail,E0277
/// fn write(handoff: &exchange_client::DraftHandoff) -> serde_json::Result<String> {
///     serde_json::to_string(handoff)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftHandoff {
    frontend_url: FrontendUrl,
    handoff_id: HandoffId,
    kind: DraftKind,
}

impl DraftHandoff {
    /// Returns the URL of the page where the member reviews and confirms the draft. Open it only in the
    /// browser.
    #[must_use]
    pub const fn frontend_url(&self) -> &FrontendUrl {
        &self.frontend_url
    }

    /// Returns the secret id that the link contains.
    #[must_use]
    pub const fn handoff_id(&self) -> &HandoffId {
        &self.handoff_id
    }

    /// Returns the kind of the draft. Later versions of the exchange may add kinds.
    #[must_use]
    pub const fn kind(&self) -> &DraftKind {
        &self.kind
    }
}

impl From<DraftResult> for DraftHandoff {
    fn from(result: DraftResult) -> Self {
        let DraftResult { frontend_url, handoff_id, kind, .. } = result;
        Self { frontend_url, handoff_id, kind }
    }
}

/// A draft of blueprints that can be staged.
#[derive(Debug)]
pub struct BlueprintStaging {
    api: Client,
    envelope: SealedEnvelope,
    key: StagingKey,
}

/// A draft of a refinery order that can be staged.
#[derive(Debug)]
pub struct RefineryStaging {
    api: Client,
    draft: RefineryDraft,
    key: StagingKey,
}

/// The idempotency key of a draft, and the installation that used it first.
struct StagingKey {
    environment: Environment,
    signers: CurrentSigner,
    current: Option<String>,
    owner: Option<Ownership>,
}

impl Exchange {
    /// Creates a factory of stagings for the signed-in member. A draft is sent again under its key only for
    /// the member who was signed in when it was first sent.
    #[must_use]
    pub fn drafts(&self) -> DraftStager {
        let signers = CurrentSigner::new(Some(Arc::clone(self.tokens())));
        DraftStager { api: self.api().clone(), environment: self.environment().clone(), signers }
    }
}

impl DraftStager {
    /// Creates a factory of stagings that uses an API client. The caller must guarantee that all calls with
    /// one key belong to one member; [`Exchange::drafts`] checks this.
    #[must_use]
    pub const fn new(api: Client, environment: Environment) -> Self {
        Self { api, environment, signers: CurrentSigner::new(None) }
    }

    /// Prepares a draft of blueprints (DRF-06). It is sent by [`BlueprintStaging::stage`].
    #[must_use]
    pub fn blueprints(&self, envelope: SealedEnvelope) -> BlueprintStaging {
        BlueprintStaging { api: self.api.clone(), envelope, key: self.new_key() }
    }

    /// Prepares a draft of a refinery order (DRF-08). It is sent by [`RefineryStaging::stage`].
    ///
    /// # Errors
    /// Returns [`ErrorKind::Invalid`] if the draft violates the contract or the content rules of the route
    /// (DRF-11), or contains data that must not be uploaded (CLI-05): an undeclared property, a string that
    /// is a file path, or a screenshot name with a folder.
    pub fn refinery(&self, draft: RefineryDraft) -> Result<RefineryStaging, Error> {
        if let Some(what) = content_error(&draft) {
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        if let Err(violations) = draft.validate() {
            return Err(Error::with_source(
                ErrorKind::Invalid,
                "the draft violates the contract",
                violations,
            ));
        }
        if let Some(what) = privacy_error(&draft)? {
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        Ok(RefineryStaging { api: self.api.clone(), draft, key: self.new_key() })
    }

    fn new_key(&self) -> StagingKey {
        let (environment, signers) = (self.environment.clone(), self.signers.clone());
        StagingKey { environment, signers, current: None, owner: None }
    }
}

/// Returns the content rule that a draft violates although it matches its schema (DRF-11). Folders in image
/// names are also a violation.
fn content_error(draft: &RefineryDraft) -> Option<&'static str> {
    if draft.schema_version != 1 {
        return Some("the draft's schemaVersion is not 1");
    }
    let Some(first) = draft.orders.first() else { return Some("the draft has no order") };
    if first.panel_type.as_str() != "SETUP" {
        return Some("the first order of the draft is not a SETUP panel");
    }
    let named = draft.orders.iter().flat_map(|order| {
        let of_goods = order.goods.iter().filter_map(|good| good.source_image.as_deref());
        order.source_images.iter().map(|image| image.name.as_str()).chain(of_goods)
    });
    let mut named = named;
    named
        .any(|name| is_path(name) || name.contains('/'))
        .then_some("a screenshot name contains a folder: use the file name only")
}

/// Returns a description of data that cannot come from a refinery panel of the game, or `None` if the draft
/// contains no such data. These are undeclared properties, which the type keeps, and file paths, which may
/// contain an account name (CLI-05).
fn privacy_error(draft: &RefineryDraft) -> Result<Option<Cow<'static, str>>, Error> {
    let at = |pointer: &str| if is_safe_pointer(pointer) { format!(" at {pointer}") } else { String::new() };
    if let Some(pointer) = draft.undeclared_members(1).first() {
        let what = format!("undeclared member of the draft{}: remove it", at(pointer));
        return Ok(Some(what.into()));
    }
    let json = draft
        .to_json()
        .map_err(|error| Error::with_source(ErrorKind::Invalid, "the draft cannot be serialized", error))?;
    let found = find_paths(&json).into_iter().next();
    Ok(found.map(|pointer| format!("a string of the draft is a path{}: remove it", at(&pointer)).into()))
}

impl BlueprintStaging {
    /// Stages the draft. After a success, or after an error response that the exchange stores under the key,
    /// the next call stages the draft again under a new key (DRF-15). After any other outcome, such as a lost
    /// response or a `Retry-After`, the next call uses the same key, so that the draft is staged once.
    ///
    /// # Errors
    /// Returns the errors that every call can return, and [`ErrorKind::SignInNeeded`] if the draft may
    /// already be staged for a member who is no longer signed in. The signed-in member then needs a new
    /// staging.
    pub async fn stage(&mut self) -> Result<DraftHandoff, Error> {
        let (api, envelope) = (&self.api, self.envelope.as_draft());
        let send = async |key: String, terms: Option<SendConditions>| {
            let call = api.drafts_blueprints(&key, envelope);
            let call = if let Some(terms) = terms { call.with_extension(terms) } else { call };
            Ok(call.await?.into_body())
        };
        self.key.stage_with(send).await
    }
}

impl RefineryStaging {
    /// Stages the draft in the same way as [`BlueprintStaging::stage`].
    ///
    /// # Errors
    /// Returns the errors of [`BlueprintStaging::stage`].
    pub async fn stage(&mut self) -> Result<DraftHandoff, Error> {
        let (api, draft) = (&self.api, &self.draft);
        let send = async |key: String, terms: Option<SendConditions>| {
            let call = api.drafts_refinery(&key, draft);
            let call = if let Some(terms) = terms { call.with_extension(terms) } else { call };
            Ok(call.await?.into_body())
        };
        self.key.stage_with(send).await
    }
}

impl StagingKey {
    async fn stage_with(
        &mut self,
        send: impl AsyncFnOnce(String, Option<SendConditions>) -> Result<DraftResult, Error>,
    ) -> Result<DraftHandoff, Error> {
        let key = match &self.current {
            Some(key) => key.clone(),
            None => self.current.insert(idempotency_key(&self.environment)?).clone(),
        };
        let terms = self.owner().map(|owner| SendConditions { owner, proof_time: None });
        let staged = send(key, terms).await;
        if staged.as_ref().map_or_else(is_stored_error, |_| true) {
            (self.current, self.owner) = (None, None);
        }
        staged.map(DraftHandoff::from)
    }
}

impl StagingKey {
    /// Returns the installation that used the key first. The result includes ids of this installation that
    /// became known later.
    fn owner(&mut self) -> Option<Ownership> {
        let now = self.signers.owner();
        let is_own = |owner: &Ownership| {
            now.as_ref().is_some_and(|now| owner.compare_with(now) == OwnershipMatch::Same)
        };
        if self.owner.as_ref().is_none_or(is_own) {
            self.owner = now;
        }
        self.owner.clone()
    }
}

/// Returns true if the exchange has stored this error response under the key and would only return it again
/// (A2). This applies to responses with an error code, but not to the page of a proxy or an error of the
/// identity provider.
fn is_stored_error(error: &Error) -> bool {
    let is_kept = |status: http::StatusCode| matches!(status.as_u16(), 400 | 404 | 409 | 410 | 413 | 422);
    !error.may_have_been_applied() && error.code().is_some() && error.status().is_some_and(is_kept)
}

/// Generates an idempotency key of 128 random bits for a write. All retries of the write must use the same
/// key and the same body (GW-12).
///
/// # Errors
/// Returns an error if the random number generator of the environment fails.
pub fn idempotency_key(environment: &Environment) -> Result<String, Error> {
    environment.random_token()
}

impl fmt::Debug for DraftStager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DraftStager").finish_non_exhaustive()
    }
}

impl fmt::Debug for StagingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StagingKey").field("in_use", &self.current.is_some()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use dpop_bound::UnixTime;
    use exchange_api::{codes::Code, types::ItemRef};

    use super::*;
    use crate::{
        envelope::{EnvelopeBlueprint, EnvelopeBuilder},
        identity::ClientIdentity,
        mock_gateway::{MockGateway, problem_response},
        test_members::TestMembers,
        testkit::{ScriptedReply, ScriptedServer, VirtualEnvironment},
    };

    fn staged() -> (u16, String) {
        let body =
            r#"{"frontendUrl": "https://web.example/hush", "handoffId": "hush-1", "kind": "BLUEPRINT"}"#;
        (200, body.to_owned())
    }

    fn drafts(double: &MockGateway) -> DraftStager {
        DraftStager::new(double.client(), Environment::system())
    }

    fn envelope() -> SealedEnvelope {
        let program = ClientIdentity::new("desk", "Desk", "1.4.0", "https://desk.example").unwrap();
        let mut envelope = EnvelopeBuilder::new(&program, UnixTime::from_secs(0)).unwrap();
        let reference = ItemRef::builder().name("P4-AR").build().unwrap();
        envelope.add(EnvelopeBlueprint::new(&reference).unwrap()).unwrap();
        envelope.seal()
    }

    fn refinery(panel: &str, image: &str) -> RefineryDraft {
        let json = format!(
            r#"{{"schemaVersion": 1, "orders": [{{"panelType": "{panel}",
                "goods": [{{"inputQuantity": 1.5, "rawMaterialName": "Quantanium", "refine": true}}],
                "sourceImages": [{{"name": "{image}"}}]}}]}}"#
        );
        RefineryDraft::parse(json.as_bytes()).unwrap()
    }

    /// DRF-15: after a lost response, the draft is sent again under the same key. After a response, the next
    /// staging has a new key.
    #[tokio::test]
    async fn restaging_uses_a_new_key() {
        let responses = [
            (0, String::new()),
            problem_response(503, "EXCHANGE_BUDGET_EXHAUSTED"),
            problem_response(500, "INTERNAL_ERROR"),
            staged(),
            staged(),
        ];
        let double = MockGateway::with_responses(responses);
        let mut staging = drafts(&double).blueprints(envelope());
        for kind in [ErrorKind::OutcomeUnknown, ErrorKind::Busy, ErrorKind::OutcomeUnknown] {
            assert_eq!(staging.stage().await.unwrap_err().kind(), kind);
        }
        let handoff = staging.stage().await.unwrap();
        assert_eq!(handoff.kind(), &DraftKind::Blueprint);
        staging.stage().await.unwrap();
        let keys = double.idempotency_keys();
        assert!(keys[..4].iter().all(|key| *key == keys[0]) && keys[4] != keys[0], "{keys:?}");
        assert!(
            keys[0].len() == 32
                && double.requests()[0].starts_with("POST /exchange/v1/me/drafts/blueprints ")
        );
    }

    /// DRF-15, GW-12: a draft that may already be staged for one member is not staged for another member who
    /// is signed in at the retry. Staging continues when the first member is signed in again.
    #[tokio::test(start_paused = true)]
    async fn draft_is_staged_only_for_its_member() {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.set_script(|_| ScriptedReply::problem(Code::RelayBusy));
        let members = TestMembers::new(&machine);
        let mut staging = members.exchange_for(&machine, &gateway).drafts().blueprints(envelope());
        assert_eq!(staging.stage().await.unwrap_err().kind(), ErrorKind::Busy);
        let sent = gateway.request_count();
        for (installation, kind) in [(Some("i-2"), ErrorKind::SignInNeeded), (None, ErrorKind::Busy)] {
            members.sign_in(&[installation]);
            assert_eq!(staging.stage().await.unwrap_err().kind(), kind);
        }
        assert_eq!(gateway.request_count(), sent);
        gateway.set_script(|_| ScriptedReply::json(200, staged().1));
        members.sign_in(&[Some("i-1")]);
        staging.stage().await.unwrap();
        let keys: Vec<_> =
            gateway.requests().iter().map(|seen| seen.idempotency_key().unwrap().to_owned()).collect();
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        // After a response, the next staging is made for the signed-in member.
        members.sign_in(&[Some("i-2")]);
        staging.stage().await.unwrap();
        assert_eq!(gateway.requests().last().unwrap().token(), Some("token-of-i-2"));
    }

    /// DRF-15, A2: a key is not used again after an error response that the exchange has stored under it.
    #[tokio::test]
    async fn stored_rejection_ends_its_key() {
        let responses =
            [problem_response(413, "PAYLOAD_TOO_LARGE"), problem_response(401, "UNAUTHENTICATED"), staged()];
        let double = MockGateway::with_responses(responses);
        let mut staging = drafts(&double).refinery(refinery("SETUP", "a.png")).unwrap();
        for _ in 0..2 {
            staging.stage().await.unwrap_err();
        }
        staging.stage().await.unwrap();
        let keys = double.idempotency_keys();
        assert!(keys[0] != keys[1] && keys[1] == keys[2], "{keys:?}");
    }

    /// DRF-15: the page of a proxy or an error of another server is not a response to the draft. The key is
    /// kept, because the draft may already be staged under it.
    #[tokio::test]
    async fn foreign_response_keeps_the_key() {
        let page = |status: u16| (status, "<html>".to_owned());
        let double = MockGateway::with_responses([(0, String::new()), page(404), page(413), staged()]);
        let mut staging = drafts(&double).blueprints(envelope());
        for _ in 0..3 {
            staging.stage().await.unwrap_err();
        }
        staging.stage().await.unwrap();
        let keys = double.idempotency_keys();
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        let provider = exchange_api::oauth_errors::OauthError::InvalidRequest;
        assert!(!is_stored_error(&Error::from_oauth_error(provider, http::StatusCode::BAD_REQUEST, None)));
    }

    /// DRF-13, CLI-05: the link and the id are not printed.
    #[tokio::test]
    async fn debug_output_hides_the_handoff() {
        let double = MockGateway::with_responses([staged()]);
        let mut staging = drafts(&double).blueprints(envelope());
        let handoff = staging.stage().await.unwrap();
        assert_eq!(handoff.frontend_url().expose(), "https://web.example/hush");
        assert_eq!(handoff.handoff_id().expose(), "hush-1");
        let printed = format!("{handoff:?} {staging:?} {:#?}", drafts(&double));
        assert!(!printed.contains("hush") && !printed.contains(&double.idempotency_keys()[0]), "{printed}");
    }

    /// DRF-11, CLI-05: a draft that violates a content rule is not sent; this includes a folder in an image
    /// name.
    #[tokio::test]
    async fn refinery_draft_is_validated_before_sending() {
        let double = MockGateway::with_responses([] as [(u16, &str); 0]);
        let refused = |draft: RefineryDraft| {
            let error = drafts(&double).refinery(draft).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            error.to_string()
        };
        assert!(refused(refinery("OTHER", "a.png")).contains("SETUP"));
        for image in ["C:\\\\Users\\\\hush\\\\a.png", "/srv/hush/a.png", "hush/a.png"] {
            let message = refused(refinery("SETUP", image));
            assert!(message.contains("folder") && !message.contains("hush"), "{message}");
        }
        let mut draft = refinery("SETUP", "a.png");
        draft.tool = Some("/srv/hush/reader".to_owned());
        let message = refused(draft);
        assert!(message.contains("a path at /tool:") && !message.contains("hush"), "{message}");
        for (place, member, at) in [
            ("\"schemaVersion\"", "player", "/player"),
            ("\"name\"", "path", "/orders/0/sourceImages/0/path"),
        ] {
            let more = format!("\"{member}\": \"hush\", {place}");
            let json = refinery("SETUP", "a.png").to_json().unwrap().to_string().replacen(place, &more, 1);
            let message = refused(RefineryDraft::parse(json.as_bytes()).unwrap());
            assert!(message.contains(&format!(" at {at}:")) && !message.contains("hush"), "{message}");
        }
        let mut draft = refinery("SETUP", "a.png");
        draft.schema_version = 2;
        assert!(refused(draft).contains("schemaVersion"));
        let mut draft = refinery("SETUP", "a.png");
        draft.orders.clear();
        assert!(refused(draft).contains("no order"));
        let mut draft = refinery("SETUP", "a.png");
        draft.orders[0].goods.clear();
        assert!(refused(draft).contains("violates the contract"));
        assert!(double.requests().is_empty());
    }
}
