//! Drafts that the member confirms in a browser: staged under a key until there is an answer, and anew only under
//! another (DRF-13, DRF-15).

use std::{borrow::Cow, fmt, sync::Arc};

use exchange_api::{
    Client, Contract,
    types::{DraftKind, DraftResult, FrontendUrl, HandoffId, RefineryDraft},
};

use crate::{
    envelope::{SealedEnvelope, is_path, paths},
    environment::Environment,
    error::{Error, ErrorKind, is_plain},
    exchange::Exchange,
    tokens::Signers,
    transport::Terms,
    whose::{Belongs, Whose},
};

/// Stages drafts.
#[derive(Clone)]
pub struct Drafts {
    api: Client,
    environment: Environment,
    signers: Signers,
}

/// A draft that was staged: it works once, for 30 minutes. Prints neither its link nor its id, which are secrets:
/// open the link in the member's browser, never log or share either (DRF-13).
///
/// ```
/// fn open(handoff: &exchange_client::Handoff) -> &str {
///     handoff.frontend_url().expose()
/// }
/// ```
///
/// ```compile_fail,E0277
/// fn write(handoff: &exchange_client::Handoff) -> serde_json::Result<String> {
///     serde_json::to_string(handoff)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handoff {
    frontend_url: FrontendUrl,
    handoff_id: HandoffId,
    kind: DraftKind,
}

impl Handoff {
    /// Where the member looks at the draft and confirms it: for the browser alone.
    #[must_use]
    pub const fn frontend_url(&self) -> &FrontendUrl {
        &self.frontend_url
    }

    /// What the link leads to.
    #[must_use]
    pub const fn handoff_id(&self) -> &HandoffId {
        &self.handoff_id
    }

    /// What was staged; kinds may be added.
    #[must_use]
    pub const fn kind(&self) -> &DraftKind {
        &self.kind
    }
}

impl From<DraftResult> for Handoff {
    fn from(result: DraftResult) -> Self {
        let DraftResult { frontend_url, handoff_id, kind, .. } = result;
        Self { frontend_url, handoff_id, kind }
    }
}

/// Blueprints to be staged.
#[derive(Debug)]
pub struct BlueprintStaging {
    api: Client,
    envelope: SealedEnvelope,
    key: Key,
}

/// A refinery order to be staged.
#[derive(Debug)]
pub struct RefineryStaging {
    api: Client,
    draft: RefineryDraft,
    key: Key,
}

/// The key that a draft is staged under, and whose it is.
struct Key {
    environment: Environment,
    signers: Signers,
    current: Option<String>,
    of: Option<Whose>,
}

impl Exchange {
    /// Stages drafts for the member. One that was sent under a key is sent again under it for nobody but who was signed in
    /// then.
    #[must_use]
    pub fn drafts(&self) -> Drafts {
        let signers = Signers::new(Some(Arc::clone(self.tokens())));
        Drafts { api: self.api().clone(), environment: self.environment().clone(), signers }
    }
}

impl Drafts {
    /// Stages through this client, whose calls are one member's for as long as a draft is sent again;
    /// [`Exchange::drafts`] looks at who is signed in.
    #[must_use]
    pub const fn new(api: Client, environment: Environment) -> Self {
        Self { api, environment, signers: Signers::new(None) }
    }

    /// Blueprints for the member to take over (DRF-06). Nothing is sent before [`BlueprintStaging::stage`].
    #[must_use]
    pub fn blueprints(&self, envelope: SealedEnvelope) -> BlueprintStaging {
        BlueprintStaging { api: self.api.clone(), envelope, key: self.key() }
    }

    /// A refinery order for the member to take over (DRF-08). Nothing is sent before [`RefineryStaging::stage`].
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when it breaks the contract or what the route asks for by content (DRF-11), and when it holds
    /// what is not for the web (CLI-05): a member that the contract does not have, a text that is a path, a screenshot that
    /// is named with its folder.
    pub fn refinery(&self, draft: RefineryDraft) -> Result<RefineryStaging, Error> {
        if let Some(what) = refused_by_content(&draft) {
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        if let Err(violations) = draft.validate() {
            return Err(Error::caused(ErrorKind::Invalid, "the draft breaks the contract", violations));
        }
        if let Some(what) = tells_more(&draft)? {
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        Ok(RefineryStaging { api: self.api.clone(), draft, key: self.key() })
    }

    fn key(&self) -> Key {
        let (environment, signers) = (self.environment.clone(), self.signers.clone());
        Key { environment, signers, current: None, of: None }
    }
}

/// What is wrong with a refinery draft that its schema lets pass (DRF-11), and folders in names of images.
fn refused_by_content(draft: &RefineryDraft) -> Option<&'static str> {
    if draft.schema_version != 1 {
        return Some("the draft's schemaVersion is not 1");
    }
    let Some(first) = draft.orders.first() else { return Some("the draft has no order") };
    if first.panel_type.as_str() != "SETUP" {
        return Some("the first order of the draft is no SETUP panel");
    }
    let named = draft.orders.iter().flat_map(|order| {
        let of_goods = order.goods.iter().filter_map(|good| good.source_image.as_deref());
        order.source_images.iter().map(|image| image.name.as_str()).chain(of_goods)
    });
    let mut named = named;
    named
        .any(|name| is_path(name) || name.contains('/'))
        .then_some("a screenshot is named with its folder: leave the folder out")
}

/// What a refinery draft tells beside what a panel shows: the type keeps members that it does not know, and any text may be
/// a path, which names an account (CLI-05).
fn tells_more(draft: &RefineryDraft) -> Result<Option<Cow<'static, str>>, Error> {
    let at = |pointer: &str| if is_plain(pointer) { format!(" at {pointer}") } else { String::new() };
    if let Some(pointer) = draft.undeclared(1).first() {
        let what = format!("the contract knows no such member of a draft{}: leave it out", at(pointer));
        return Ok(Some(what.into()));
    }
    let json = draft
        .to_json()
        .map_err(|error| Error::caused(ErrorKind::Invalid, "the draft cannot be written", error))?;
    let found = paths(&json).into_iter().next();
    Ok(found.map(|pointer| format!("a text of the draft is a path{}: leave it out", at(&pointer)).into()))
}

impl BlueprintStaging {
    /// Stages it. Called again after no answer, or after one that asks to wait, it goes under the same key, so
    /// that it is staged once; called again after an answer it is staged anew, under another key (DRF-15).
    ///
    /// # Errors
    /// As every call; [`ErrorKind::SignInNeeded`] where it may be staged already for another member than who is signed in
    /// now: a new staging is theirs.
    pub async fn stage(&mut self) -> Result<Handoff, Error> {
        let (api, envelope) = (&self.api, self.envelope.as_draft());
        let send = async |key: String, terms: Option<Terms>| {
            let call = api.drafts_blueprints(&key, envelope);
            let call = if let Some(terms) = terms { call.with(terms) } else { call };
            Ok(call.await?.into_body())
        };
        self.key.stage(send).await
    }
}

impl RefineryStaging {
    /// Stages it, as [`BlueprintStaging::stage`] does.
    ///
    /// # Errors
    /// As every call.
    pub async fn stage(&mut self) -> Result<Handoff, Error> {
        let (api, draft) = (&self.api, &self.draft);
        let send = async |key: String, terms: Option<Terms>| {
            let call = api.drafts_refinery(&key, draft);
            let call = if let Some(terms) = terms { call.with(terms) } else { call };
            Ok(call.await?.into_body())
        };
        self.key.stage(send).await
    }
}

impl Key {
    async fn stage(
        &mut self,
        send: impl AsyncFnOnce(String, Option<Terms>) -> Result<DraftResult, Error>,
    ) -> Result<Handoff, Error> {
        let key = match &self.current {
            Some(key) => key.clone(),
            None => self.current.insert(idempotency_key(&self.environment)?).clone(),
        };
        let terms = self.whose().map(|whose| Terms { whose, signed_at: None });
        let staged = send(key, terms).await;
        if staged.as_ref().map_or_else(is_remembered, |_| true) {
            (self.current, self.of) = (None, None);
        }
        staged.map(Handoff::from)
    }
}

impl Key {
    /// Whose it was when it was sent first, by all that is known of them by now.
    fn whose(&mut self) -> Option<Whose> {
        let now = self.signers.now();
        let is_own = |of: &Whose| now.as_ref().is_some_and(|now| of.belongs_to(now) == Belongs::Own);
        if self.of.as_ref().is_none_or(is_own) {
            self.of = now;
        }
        self.of.clone()
    }
}

/// Whether the exchange keeps such a refusal under its key, and would only repeat it (A2): its own word, which has a
/// code, and not a proxy's page or what the identity provider says.
fn is_remembered(error: &Error) -> bool {
    let is_kept = |status: http::StatusCode| matches!(status.as_u16(), 400 | 404 | 409 | 410 | 413 | 422);
    !error.may_have_happened() && error.code().is_some() && error.status().is_some_and(is_kept)
}

/// A key for a write, to be kept over its retries together with the exact body: 128 random bits as text (GW-12).
///
/// # Errors
/// When the environment gives no random numbers.
pub fn idempotency_key(environment: &Environment) -> Result<String, Error> {
    environment.token()
}

impl fmt::Debug for Drafts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drafts").finish_non_exhaustive()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("in_use", &self.current.is_some()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use dpop_bound::UnixTime;
    use exchange_api::{codes::Code, types::ItemRef};

    use super::*;
    use crate::{
        double::{Double, problem},
        envelope::{EnvelopeBlueprint, EnvelopeBuilder},
        identity::Identity,
        members::Members,
        testkit::{Reply, ScriptedServer, VirtualEnvironment},
    };

    fn staged() -> (u16, String) {
        let body =
            r#"{"frontendUrl": "https://web.example/hush", "handoffId": "hush-1", "kind": "BLUEPRINT"}"#;
        (200, body.to_owned())
    }

    fn drafts(double: &Double) -> Drafts {
        Drafts::new(double.client(), Environment::system())
    }

    fn envelope() -> SealedEnvelope {
        let program = Identity::new("desk", "Desk", "1.4.0", "https://desk.example").unwrap();
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

    /// DRF-15: a lost answer is asked for under the same key; what is staged again has another.
    #[tokio::test]
    async fn a_draft_is_staged_again_only_under_a_new_key() {
        let answers = [
            (0, String::new()),
            problem(503, "EXCHANGE_BUDGET_EXHAUSTED"),
            problem(500, "INTERNAL_ERROR"),
            staged(),
            staged(),
        ];
        let double = Double::answering(answers);
        let mut staging = drafts(&double).blueprints(envelope());
        for kind in [ErrorKind::OutcomeUnknown, ErrorKind::Busy, ErrorKind::OutcomeUnknown] {
            assert_eq!(staging.stage().await.unwrap_err().kind(), kind);
        }
        let handoff = staging.stage().await.unwrap();
        assert_eq!(handoff.kind(), &DraftKind::Blueprint);
        staging.stage().await.unwrap();
        let keys = double.keys();
        assert!(keys[..4].iter().all(|key| *key == keys[0]) && keys[4] != keys[0], "{keys:?}");
        assert!(
            keys[0].len() == 32
                && double.requests()[0].starts_with("POST /exchange/v1/me/drafts/blueprints ")
        );
    }

    /// DRF-15, GW-12: what may be staged for one member is staged for nobody else, whoever is signed in when it is tried
    /// again; once it is known to be the same member it goes on.
    #[tokio::test(start_paused = true)]
    async fn a_draft_is_staged_for_nobody_but_its_member() {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.answer(|_| Reply::problem(Code::RelayBusy));
        let members = Members::new(&machine);
        let mut staging = members.exchange(&machine, &gateway).drafts().blueprints(envelope());
        assert_eq!(staging.stage().await.unwrap_err().kind(), ErrorKind::Busy);
        let sent = gateway.count();
        for (installation, kind) in [(Some("i-2"), ErrorKind::SignInNeeded), (None, ErrorKind::Busy)] {
            members.sign_in(&[installation]);
            assert_eq!(staging.stage().await.unwrap_err().kind(), kind);
        }
        assert_eq!(gateway.count(), sent);
        gateway.answer(|_| Reply::json(200, staged().1));
        members.sign_in(&[Some("i-1")]);
        staging.stage().await.unwrap();
        let keys: Vec<_> =
            gateway.requests().iter().map(|seen| seen.idempotency_key().unwrap().to_owned()).collect();
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        // After an answer it is a staging of whoever is signed in.
        members.sign_in(&[Some("i-2")]);
        staging.stage().await.unwrap();
        assert_eq!(gateway.requests().last().unwrap().token(), Some("token-of-i-2"));
    }

    /// DRF-15, A2: a refusal that the exchange remembers is not asked for twice.
    #[tokio::test]
    async fn a_refusal_ends_its_key() {
        let answers = [problem(413, "PAYLOAD_TOO_LARGE"), problem(401, "UNAUTHENTICATED"), staged()];
        let double = Double::answering(answers);
        let mut staging = drafts(&double).refinery(refinery("SETUP", "a.png")).unwrap();
        for _ in 0..2 {
            staging.stage().await.unwrap_err();
        }
        staging.stage().await.unwrap();
        let keys = double.keys();
        assert!(keys[0] != keys[1] && keys[1] == keys[2], "{keys:?}");
    }

    /// DRF-15: neither a proxy's page nor what somebody else refuses is an answer to the draft, which may be staged
    /// already under its key.
    #[tokio::test]
    async fn what_is_no_answer_ends_no_key() {
        let page = |status: u16| (status, "<html>".to_owned());
        let double = Double::answering([(0, String::new()), page(404), page(413), staged()]);
        let mut staging = drafts(&double).blueprints(envelope());
        for _ in 0..3 {
            staging.stage().await.unwrap_err();
        }
        staging.stage().await.unwrap();
        let keys = double.keys();
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        let provider = exchange_api::oauth_errors::OauthError::InvalidRequest;
        assert!(!is_remembered(&Error::of_oauth(provider, http::StatusCode::BAD_REQUEST, None)));
    }

    /// DRF-13, CLI-05: a link and an id that are printed nowhere.
    #[tokio::test]
    async fn a_handoff_prints_no_secret() {
        let double = Double::answering([staged()]);
        let mut staging = drafts(&double).blueprints(envelope());
        let handoff = staging.stage().await.unwrap();
        assert_eq!(handoff.frontend_url().expose(), "https://web.example/hush");
        assert_eq!(handoff.handoff_id().expose(), "hush-1");
        let printed = format!("{handoff:?} {staging:?} {:#?}", drafts(&double));
        assert!(!printed.contains("hush") && !printed.contains(&double.keys()[0]), "{printed}");
    }

    /// DRF-11, CLI-05: what the route refuses by content is not sent, and no image tells a folder.
    #[tokio::test]
    async fn a_refinery_draft_is_checked_before_it_is_sent() {
        let double = Double::answering([] as [(u16, &str); 0]);
        let refused = |draft: RefineryDraft| {
            let error = drafts(&double).refinery(draft).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            error.to_string()
        };
        assert!(refused(refinery("OTHER", "a.png")).contains("SETUP"));
        for image in ["C:\\\\Users\\\\hush\\\\a.png", "/srv/hush/a.png", "hush/a.png"] {
            let told = refused(refinery("SETUP", image));
            assert!(told.contains("folder") && !told.contains("hush"), "{told}");
        }
        let mut draft = refinery("SETUP", "a.png");
        draft.tool = Some("/srv/hush/reader".to_owned());
        let told = refused(draft);
        assert!(told.contains("a path at /tool:") && !told.contains("hush"), "{told}");
        for (place, member, at) in [
            ("\"schemaVersion\"", "player", "/player"),
            ("\"name\"", "path", "/orders/0/sourceImages/0/path"),
        ] {
            let more = format!("\"{member}\": \"hush\", {place}");
            let json = refinery("SETUP", "a.png").to_json().unwrap().to_string().replacen(place, &more, 1);
            let told = refused(RefineryDraft::parse(json.as_bytes()).unwrap());
            assert!(told.contains(&format!(" at {at}:")) && !told.contains("hush"), "{told}");
        }
        let mut draft = refinery("SETUP", "a.png");
        draft.schema_version = 2;
        assert!(refused(draft).contains("schemaVersion"));
        let mut draft = refinery("SETUP", "a.png");
        draft.orders.clear();
        assert!(refused(draft).contains("no order"));
        let mut draft = refinery("SETUP", "a.png");
        draft.orders[0].goods.clear();
        assert!(refused(draft).contains("breaks the contract"));
        assert!(double.requests().is_empty());
    }
}
