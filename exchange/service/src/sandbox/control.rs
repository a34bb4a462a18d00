//! The control interface at `/_sandbox`, through which scripts perform the actions of people.
//!
//! The interface refuses requests to other addresses, and requests that a page in a browser sends.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use exchange_api::Contract;
use exchange_api::types::{BlueprintChangeSet, BlueprintOp, ChangeResult, ItemRef};
use http::header::{CACHE_CONTROL, HOST, ORIGIN};
use http::{HeaderValue, StatusCode};
use rusqlite::params;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::json;

use super::faults::{PlannedFault, SandboxFault};
use super::{SandboxDirectory, SandboxError, SandboxInner};
use crate::admin::{self, AdminContext, AdminError, ClientState};
use crate::backend::undo::{UndoArea, UndoError, UndoMode, UndoReport, UndoSelection};
use crate::backend::{EarmarkPurpose, StockOwnership};
use crate::feed::ChangeAuthor;
use crate::idp::{DecisionError, LoginDecision, disconnect_client};
use crate::ids::MemberId;
use crate::members::UnitRole;
use crate::names::DisplayName;
use crate::records::Actor;
use crate::store::StoreError;
use crate::time::{ManualClock, Moment};
use crate::web::is_cross_site;

/// The maximum step of the clock, in seconds: ten years.
const MAX_STEP_SECONDS: u64 = 10 * 366 * 86_400;

/// The valid states of a job order.
const JOB_ORDER_STATES: [&str; 4] = ["open", "in-progress", "completed", "cancelled"];

/// An action of a member on the web pages, or of an administrator.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub enum SandboxAction {
    /// The member changes blueprints on the web pages. Products are identified by key.
    Blueprints {
        /// The keys of the products to add.
        #[serde(default)]
        add: Vec<String>,
        /// The keys of the products to remove.
        #[serde(default)]
        remove: Vec<String>,
    },
    /// The member changes stock on the web pages, with ops of the contract.
    Stock {
        /// The ops as JSON, in the contract's form.
        ops: Vec<serde_json::Value>,
    },
    /// The member changes ships on the web pages, with ops of the contract.
    Ships {
        /// The ops as JSON, in the contract's form.
        ops: Vec<serde_json::Value>,
    },
    /// The member transfers the unreserved stock of a lot to another member.
    GiveStock {
        /// The key of the lot.
        lot: String,
        /// The account of the other member.
        to: String,
    },
    /// The member moves the stock of a lot to the pool of a unit, or makes it personal again.
    ShareStock {
        /// The key of the lot.
        lot: String,
        /// The id of the unit; without it, the stock becomes personal.
        unit: Option<String>,
    },
    /// The member transfers a ship to another member.
    GiveShip {
        /// The id of the ship.
        ship: String,
        /// The account of the other member.
        to: String,
    },
    /// An administrator changes a unit's name and shorthand.
    RenameUnit {
        /// The id of the unit.
        unit: String,
        /// The new name of the unit.
        name: String,
        /// The new shorthand of the unit.
        shorthand: String,
    },
    /// The member changes pools on the web pages, with ops of the contract. The holder references in the ops
    /// are member ids.
    OrgStock {
        /// The ops as JSON, in the contract's form.
        ops: Vec<serde_json::Value>,
    },
    /// The member sets the amount of a pool entry that is earmarked to a target.
    EarmarkStock {
        /// The id of the entry.
        entry: String,
        /// The purpose of the earmark.
        purpose: EarmarkPurpose,
        /// The id of the job order, mission or donation.
        target: String,
        /// The amount in thousandths of SCU or in pieces; 0 removes the earmark.
        amount: i64,
    },
    /// The member joins a unit, gets another role in it, or leaves it.
    Role {
        /// The id of the unit.
        unit: String,
        /// The new role; without it, the member leaves the unit.
        role: Option<UnitRole>,
    },
    /// The member withholds the name from connected applications, or shows it again.
    WithholdName {
        /// Whether the name is withheld.
        #[serde(rename = "withholds")]
        is_withheld: bool,
    },
    /// The member's name is changed.
    RenameMember {
        /// The new name of the member.
        name: String,
    },
    /// An administrator changes a mission's name.
    RenameMission {
        /// The id of the mission.
        mission: String,
        /// The new name of the mission.
        name: String,
    },
    /// An administrator sets the state of a job order: `open`, `in-progress`, `completed` or `cancelled`.
    JobOrder {
        /// The id of the order.
        order: String,
        /// The new state of the order.
        state: String,
    },
    /// The member undoes a client's writes. The response contains the outcome of each entry.
    Undo {
        /// The id of the client.
        client: String,
        /// The start of the time span to undo.
        #[serde(deserialize_with = "parse_string")]
        from: Moment,
        /// The end of the time span, inclusive.
        #[serde(deserialize_with = "parse_string")]
        to: Moment,
        /// The areas to undo: `blueprints`, `stock`, `ships` or `org-stock`. An empty list selects all areas.
        #[serde(default, deserialize_with = "parse_strings")]
        areas: Vec<UndoArea>,
    },
    /// The member disconnects a client.
    Disconnect {
        /// The id of the client.
        client: String,
    },
    /// The member stores another handle of the game account in the profile, or removes it.
    Handle {
        /// The new handle; without it, the handle is removed.
        handle: Option<String>,
    },
    /// An administrator switches the exchange on or off.
    Switch {
        /// Whether the exchange is on afterwards.
        on: bool,
    },
    /// An administrator suspends a client, or lifts the suspension.
    Suspend {
        /// The id of the client.
        client: String,
        /// Whether the client is suspended.
        suspended: bool,
    },
}

/// The result of an action that the sandbox performed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActionOutcome {
    /// The action was performed; there is nothing to report.
    Done,
    /// A client's writes were undone. The report also lists the conflicts.
    Undone(UndoReport),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DecideRequest {
    user_code: String,
    account: String,
}

/// Moves the clock forward or back.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClockRequest {
    advance_seconds: Option<u64>,
    set_back_seconds: Option<u64>,
}

#[derive(Deserialize)]
struct FaultRequest {
    method: Option<String>,
    path: Option<String>,
    #[serde(default = "once")]
    times: u32,
    #[serde(flatten)]
    fault: SandboxFault,
}

const fn once() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JournalQuery {
    /// The number of the last request that the caller knows.
    #[serde(default)]
    after: u64,
}

#[derive(Deserialize)]
struct ActionRequest {
    account: String,
    #[serde(flatten)]
    act: SandboxAction,
}

pub(super) fn control_routes(inner: Arc<SandboxInner>) -> Router {
    Router::new()
        .route("/", get(get_directory))
        .route("/approve", post(post_approve))
        .route("/decline", post(post_decline))
        .route("/clock", get(get_clock).post(post_clock))
        .route("/act", post(post_action))
        .route("/faults", get(get_faults).post(post_fault).delete(delete_faults))
        .route("/requests", get(get_requests).delete(delete_requests))
        .route("/restart", post(post_restart))
        .route("/reset", post(post_reset))
        .layer(from_fn(require_loopback))
        .with_state(inner)
}

fn parse_string<'de, T, D>(text: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    String::deserialize(text)?.parse().map_err(D::Error::custom)
}

/// Deserializes a list of strings and parses each string.
fn parse_strings<'de, T, D>(texts: D) -> Result<Vec<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    let texts = Vec::<String>::deserialize(texts)?;
    texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}

type JsonBody<T> = Result<Json<T>, JsonRejection>;

/// Refuses requests for other hosts, which DNS rebinding could direct to this process, and requests that
/// pages in a browser send.
async fn require_loopback(request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    if !matches!(name, "127.0.0.1" | "localhost" | "[::1]") {
        return error_response(StatusCode::FORBIDDEN, "the host must be 127.0.0.1 or localhost");
    }
    // A form or a script on a page can send requests even if it cannot read the response.
    if request.headers().contains_key(ORIGIN) || is_cross_site(request.method(), request.headers()) {
        return error_response(StatusCode::FORBIDDEN, "requests from pages in a browser are not allowed");
    }
    let mut response = next.run(request).await;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn get_directory(State(inner): State<Arc<SandboxInner>>) -> Json<SandboxDirectory> {
    Json(inner.directory())
}

async fn post_approve(State(inner): State<Arc<SandboxInner>>, body: JsonBody<DecideRequest>) -> Response {
    handle_decision(&inner, body, LoginDecision::Approve).await
}

async fn post_decline(State(inner): State<Arc<SandboxInner>>, body: JsonBody<DecideRequest>) -> Response {
    handle_decision(&inner, body, LoginDecision::Decline).await
}

async fn handle_decision(
    inner: &SandboxInner,
    body: JsonBody<DecideRequest>,
    decision: LoginDecision,
) -> Response {
    match body {
        Ok(Json(DecideRequest { user_code, account })) => {
            outcome_response(inner.decide_login(&user_code, &account, decision).await)
        }
        Err(error) => invalid_body_response(&error),
    }
}

async fn get_clock(State(inner): State<Arc<SandboxInner>>) -> Response {
    Json(json!({ "now": inner.environment.now().to_string() })).into_response()
}

async fn post_clock(State(inner): State<Arc<SandboxInner>>, body: JsonBody<ClockRequest>) -> Response {
    let ClockRequest { advance_seconds, set_back_seconds } = match body {
        Ok(Json(request)) => request,
        Err(error) => return invalid_body_response(&error),
    };
    let (seconds, step): (u64, fn(&ManualClock, Duration)) = match (advance_seconds, set_back_seconds) {
        (Some(seconds), None) => (seconds, ManualClock::advance),
        (None, Some(seconds)) => (seconds, ManualClock::step_back),
        _ => {
            let error = "give either advanceSeconds or setBackSeconds";
            return error_response(StatusCode::BAD_REQUEST, error);
        }
    };
    if seconds > MAX_STEP_SECONDS {
        return error_response(StatusCode::BAD_REQUEST, "a step of the clock must be at most ten years");
    }
    step(&inner.clock, Duration::from_secs(seconds));
    get_clock(State(inner)).await
}

async fn get_faults(State(inner): State<Arc<SandboxInner>>) -> Response {
    Json(json!({ "faults": inner.faults.list() })).into_response()
}

async fn post_fault(State(inner): State<Arc<SandboxInner>>, body: JsonBody<FaultRequest>) -> Response {
    match body {
        Ok(Json(FaultRequest { method, path, times, fault })) => {
            outcome_response(inner.faults.plan(PlannedFault { fault, method, path, times }))
        }
        Err(error) => invalid_body_response(&error),
    }
}

async fn delete_faults(State(inner): State<Arc<SandboxInner>>) -> StatusCode {
    inner.faults.clear();
    StatusCode::NO_CONTENT
}

async fn get_requests(
    State(inner): State<Arc<SandboxInner>>,
    query: Result<Query<JournalQuery>, QueryRejection>,
) -> Response {
    match query {
        Ok(Query(JournalQuery { after })) => {
            Json(json!({ "requests": inner.journal.after(after) })).into_response()
        }
        Err(error) => error_response(error.status(), &error.body_text()),
    }
}

async fn delete_requests(State(inner): State<Arc<SandboxInner>>) -> StatusCode {
    inner.journal.clear();
    StatusCode::NO_CONTENT
}

async fn post_restart(State(inner): State<Arc<SandboxInner>>) -> Response {
    outcome_response(inner.restart().await)
}

async fn post_action(State(inner): State<Arc<SandboxInner>>, body: JsonBody<ActionRequest>) -> Response {
    match body {
        Ok(Json(ActionRequest { account, act })) => match inner.perform_action(&account, act).await {
            Ok(ActionOutcome::Undone(report)) => Json(report.to_json()).into_response(),
            acted => outcome_response(acted.map(drop)),
        },
        Err(error) => invalid_body_response(&error),
    }
}

async fn post_reset(State(inner): State<Arc<SandboxInner>>) -> Response {
    outcome_response(inner.reset_store().await)
}

fn outcome_response(outcome: Result<(), SandboxError>) -> Response {
    let error = match outcome {
        Ok(()) => return StatusCode::NO_CONTENT.into_response(),
        Err(error) => error,
    };
    let status = match &error {
        SandboxError::UnknownAccount | SandboxError::Undecided(DecisionError::NotFound) => {
            StatusCode::NOT_FOUND
        }
        SandboxError::InvalidUserCode
        | SandboxError::Refused(_)
        | SandboxError::InvalidName { .. }
        | SandboxError::InvalidChangeSet(_)
        | SandboxError::Undo(UndoError::JournalTruncated(_))
        | SandboxError::NotApplied { .. } => StatusCode::BAD_REQUEST,
        SandboxError::Undecided(DecisionError::AlreadyDecided(_) | DecisionError::Suspended(_))
        | SandboxError::Undo(UndoError::InProgress) => StatusCode::CONFLICT,
        SandboxError::Undecided(DecisionError::Wait(_)) => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    error_response(status, &error.to_string())
}

fn invalid_body_response(error: &JsonRejection) -> Response {
    error_response(error.status(), &error.body_text())
}

fn error_response(status: StatusCode, error: &str) -> Response {
    (status, Json(json!({ "error": error }))).into_response()
}

impl SandboxInner {
    pub(super) async fn perform_action(
        &self,
        account: &str,
        act: SandboxAction,
    ) -> Result<ActionOutcome, SandboxError> {
        let member = MemberId::new(self.find_account(account)?.member.clone());
        let now = self.environment.now();
        let app = self.app.load_full();
        let backend = app.backend();
        let done: Result<(), SandboxError> = match act {
            SandboxAction::Blueprints { add, remove } => {
                let ops = blueprint_ops(add, remove).ok_or(SandboxError::Refused("invalid product key"))?;
                let result = backend.change_blueprints(&member, ChangeAuthor::Web, ops).await?;
                if result.counts().not_applied > 0 {
                    return Err(SandboxError::Refused("a product is unknown or cannot be removed"));
                }
                Ok(())
            }
            SandboxAction::Stock { ops } => {
                require_all_applied(backend.change_stock(&member, ChangeAuthor::Web, change_set(ops)?).await?)
            }
            SandboxAction::Ships { ops } => {
                require_all_applied(backend.change_ships(&member, ChangeAuthor::Web, change_set(ops)?).await?)
            }
            SandboxAction::GiveStock { lot, to } => {
                let to = MemberId::new(self.find_account(&to)?.member.clone());
                require_found(backend.give_stock(&member, ChangeAuthor::Web, &lot, &to).await?)
            }
            SandboxAction::ShareStock { lot, unit } => {
                let keeping = unit.map_or(StockOwnership::Personal, |unit| StockOwnership::Pool(unit.into()));
                require_found(backend.rebook_stock(&member, ChangeAuthor::Web, &lot, keeping).await?)
            }
            SandboxAction::GiveShip { ship, to } => {
                let to = MemberId::new(self.find_account(&to)?.member.clone());
                require_found(backend.give_ship(&member, ChangeAuthor::Web, &ship, &to).await?)
            }
            SandboxAction::RenameUnit { unit, name, shorthand } => {
                let (name, shorthand) = (parse_name("name", &name)?, parse_name("shorthand", &shorthand)?);
                require_found(backend.rename_unit(&unit.into(), name, shorthand).await?)
            }
            SandboxAction::OrgStock { ops } => require_all_applied(
                backend.change_org_stock(&member, ChangeAuthor::Web, change_set(ops)?).await?,
            ),
            SandboxAction::EarmarkStock { entry, purpose, target, amount } => {
                let of = (purpose, &*target);
                require_found(backend.earmark_stock(&member, ChangeAuthor::Web, &entry, of, amount).await?)
            }
            SandboxAction::Role { unit, role } => {
                require_found(backend.set_role(&member, &unit.into(), role).await?)
            }
            // An account always has a member, so `false` means that nothing had to be changed.
            SandboxAction::WithholdName { is_withheld } => {
                backend.withhold_name(&member, is_withheld).await?;
                Ok(())
            }
            SandboxAction::RenameMember { name } => {
                backend.rename_member(&member, parse_name("name", &name)?).await?;
                Ok(())
            }
            SandboxAction::RenameMission { mission, name } => {
                require_found(backend.rename_mission(&mission, parse_name("name", &name)?).await?)
            }
            SandboxAction::JobOrder { order, state } => {
                if !JOB_ORDER_STATES.contains(&state.as_str()) {
                    return Err(SandboxError::Refused("unknown state of a job order"));
                }
                self.update_row("UPDATE job_order SET state = ?1 WHERE id = ?2", state, order).await
            }
            SandboxAction::Undo { client, from, to, areas } => {
                let areas = if areas.is_empty() { UndoArea::ALL.to_vec() } else { areas };
                let writes = UndoSelection { client: client.into(), member, from, to };
                let (client, mode) = (writes.client.clone(), UndoMode::Apply);
                let outcomes = backend.undo_writes(writes, &areas, mode).await?;
                return Ok(ActionOutcome::Undone(UndoReport { client, mode, outcomes }));
            }
            SandboxAction::Disconnect { client } => {
                let write = self.store.write(move |connection| {
                    disconnect_client(connection, Actor::Member(&member), &client.into(), &member, now)
                });
                write.await?;
                Ok(())
            }
            SandboxAction::Handle { handle } => {
                self.update_row("UPDATE member SET handle = ?1 WHERE id = ?2", handle, member.to_string())
                    .await
            }
            SandboxAction::Switch { on } => {
                self.run_as_administrator(account, now, move |database, admin| {
                    admin::set_switch(database, admin, on)
                })
                .await
            }
            SandboxAction::Suspend { client, suspended } => {
                let standing = if suspended { ClientState::Suspended } else { ClientState::Active };
                let client = client.into();
                let act = move |database: &rusqlite::Connection, admin: &AdminContext<'_>| {
                    admin::set_client_state(database, admin, &client, standing)
                };
                self.run_as_administrator(account, now, act).await
            }
        };
        done.map(|()| ActionOutcome::Done)
    }

    async fn update_row(
        &self,
        sql: &'static str,
        value: impl rusqlite::ToSql + Send + 'static,
        of: String,
    ) -> Result<(), SandboxError> {
        let write = self
            .store
            .write(move |connection| Ok::<_, StoreError>(connection.execute(sql, params![value, of])?));
        require_found(write.await? > 0)
    }

    /// Runs an administrative function in the name of the account.
    async fn run_as_administrator(
        &self,
        account: &str,
        now: Moment,
        act: impl FnOnce(&rusqlite::Connection, &AdminContext<'_>) -> Result<(), AdminError> + Send + 'static,
    ) -> Result<(), SandboxError> {
        let name = account.to_owned();
        let done = self.store.write(move |connection| act(connection, &AdminContext::new(&name, now)?)).await;
        done.map_err(|error| match error {
            AdminError::Store(error) => SandboxError::Store(error),
            _ => SandboxError::Refused("the object of the action does not exist"),
        })
    }
}

/// Returns the error for an object that does not exist, unless `is` is true.
fn require_found(is: bool) -> Result<(), SandboxError> {
    if is { Ok(()) } else { Err(SandboxError::Refused("the object of the action does not exist")) }
}

/// Returns an error if any op was refused.
fn require_all_applied(result: ChangeResult) -> Result<(), SandboxError> {
    let refused = result.results.iter().flatten().find_map(|op| Some((op.index, op.reason.as_ref()?)));
    refused.map_or(Ok(()), |(op, reason)| Err(SandboxError::NotApplied { op, reason: reason.to_string() }))
}

/// Parses a name. The error contains the name of the field.
fn parse_name<const MAX_CHARS: usize>(
    what: &'static str,
    text: &str,
) -> Result<DisplayName<MAX_CHARS>, SandboxError> {
    text.try_into().map_err(|why| SandboxError::InvalidName { what, why })
}

/// Builds a change set of the contract from its ops.
fn change_set<T: Contract>(ops: Vec<serde_json::Value>) -> Result<T, SandboxError> {
    let body = json!({ "ops": ops }).to_string();
    Ok(T::parse_valid(body.as_bytes())?)
}

fn blueprint_ops(add: Vec<String>, remove: Vec<String>) -> Option<BlueprintChangeSet> {
    use exchange_api::types::{AddBlueprint, BlueprintKey, RemoveBlueprint};
    let added = add.into_iter().map(|key| {
        let reference = ItemRef::by_key(key).ok()?;
        Some(BlueprintOp::Add(AddBlueprint::builder().ref_(reference).override_(true).build().ok()?))
    });
    let removed = remove.into_iter().map(|key| {
        let key = BlueprintKey::new(key).ok()?;
        Some(BlueprintOp::Remove(RemoveBlueprint::builder().key(key).build().ok()?))
    });
    let ops = added.chain(removed).collect::<Option<Vec<_>>>()?;
    BlueprintChangeSet::builder().ops(ops).build().ok()
}
