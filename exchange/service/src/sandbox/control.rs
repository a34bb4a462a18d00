//! The control interface under `/_sandbox`: what a person would do elsewhere, for scripts.
//!
//! Only requests that name this machine's loopback interface are served, and nothing that a page in a browser sends is
//! carried out.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Request, State};
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

use super::{Directory, Inner, SandboxError};
use crate::admin::{self, AdminError, By, Standing};
use crate::backend::undo::{Mode, Report, UndoArea, UndoError, Writes};
use crate::backend::{Keeping, Purpose};
use crate::feed::Author;
use crate::idp::{Decision, Undecided, disconnect_client};
use crate::ids::MemberId;
use crate::members::Role;
use crate::names::Name;
use crate::records::Actor;
use crate::store::StoreError;
use crate::time::Moment;
use crate::web::is_from_elsewhere;

/// The longest step of the clock: ten years.
const LONGEST_STEP: u64 = 10 * 366 * 86_400;

/// The states of a job order.
const JOB_ORDER_STATES: [&str; 4] = ["open", "in-progress", "completed", "cancelled"];

/// What is done as somebody else.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub enum Act {
    /// The member changes their blueprints on the web; products are named by their keys.
    Blueprints {
        /// Products to add.
        #[serde(default)]
        add: Vec<String>,
        /// Products to remove.
        #[serde(default)]
        remove: Vec<String>,
    },
    /// The member changes their stock on the web; the ops are those of the contract.
    Stock {
        /// The ops.
        ops: Vec<serde_json::Value>,
    },
    /// The member changes their ships on the web; the ops are those of the contract.
    Ships {
        /// The ops.
        ops: Vec<serde_json::Value>,
    },
    /// The member gives a lot's stock to another member, but for what is reserved.
    GiveStock {
        /// The lot's key.
        lot: String,
        /// The other member's account.
        to: String,
    },
    /// The member books a lot's stock into a unit's pool, or makes it personal again.
    ShareStock {
        /// The lot's key.
        lot: String,
        /// The unit.
        unit: Option<String>,
    },
    /// The member gives a ship to another member.
    GiveShip {
        /// The ship.
        ship: String,
        /// The other member's account.
        to: String,
    },
    /// An administrator gives a unit another name and shorthand.
    RenameUnit {
        /// The unit.
        unit: String,
        /// Its name.
        name: String,
        /// Its shorthand.
        shorthand: String,
    },
    /// The member changes pools on the web; the ops are those of the contract, but that holders are named by their
    /// members' ids.
    OrgStock {
        /// The ops.
        ops: Vec<serde_json::Value>,
    },
    /// The member earmarks so much of an entry of a pool, in the place of what it was earmarked to the target
    /// before.
    EarmarkStock {
        /// The entry.
        entry: String,
        /// For what.
        purpose: Purpose,
        /// To which job order, mission or donation.
        target: String,
        /// How much: thousandths of SCU, or pieces; 0 ends it.
        amount: i64,
    },
    /// The member joins a unit, has another role in it, or, without one, leaves it.
    Role {
        /// The unit.
        unit: String,
        /// The role.
        role: Option<Role>,
    },
    /// The member keeps the name from connected applications, or shows it again.
    WithholdName {
        /// Whether it is kept back.
        withholds: bool,
    },
    /// The member has another name from now on.
    RenameMember {
        /// The name.
        name: String,
    },
    /// Somebody gives a mission another name.
    RenameMission {
        /// The mission.
        mission: String,
        /// Its name.
        name: String,
    },
    /// Somebody sets the state of a job order: `open`, `in-progress`, `completed` or `cancelled`.
    JobOrder {
        /// The order.
        order: String,
        /// Its state.
        state: String,
    },
    /// The member takes back what a client wrote for them; what became of each entry is told.
    Undo {
        /// The client.
        client: String,
        /// What it wrote from this moment on.
        #[serde(deserialize_with = "typed")]
        from: Moment,
        /// What it wrote up to this moment.
        #[serde(deserialize_with = "typed")]
        to: Moment,
        /// `blueprints`, `stock`, `ships` or `org-stock`; all of them where none is named.
        #[serde(default, deserialize_with = "all_typed")]
        areas: Vec<UndoArea>,
    },
    /// The member disconnects a client.
    Disconnect {
        /// The client.
        client: String,
    },
    /// The member stores another handle in the profile, or none.
    Handle {
        /// The handle.
        handle: Option<String>,
    },
    /// An administrator switches the exchange on or off.
    Switch {
        /// Whether it is on.
        on: bool,
    },
    /// An administrator suspends a client, or lets it go on.
    Suspend {
        /// The client.
        client: String,
        /// Whether it is suspended.
        suspended: bool,
    },
}

/// What came of an act.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acted {
    /// It was done.
    Done,
    /// What a client wrote was taken back, but for what is told to stay.
    Undone(Report),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Decide {
    user_code: String,
    account: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Step {
    advance_seconds: u64,
}

#[derive(Deserialize)]
struct Acting {
    account: String,
    #[serde(flatten)]
    act: Act,
}

pub(super) fn routes(inner: Arc<Inner>) -> Router {
    Router::new()
        .route("/", get(directory))
        .route("/approve", post(approve))
        .route("/decline", post(decline))
        .route("/clock", get(clock).post(step))
        .route("/act", post(act))
        .route("/reset", post(reset))
        .layer(from_fn(loopback))
        .with_state(inner)
}

/// A text as people type it.
fn typed<'de, T, D>(text: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    String::deserialize(text)?.parse().map_err(D::Error::custom)
}

/// Several of them.
fn all_typed<'de, T, D>(texts: D) -> Result<Vec<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    let texts = Vec::<String>::deserialize(texts)?;
    texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}

type Sent<T> = Result<Json<T>, JsonRejection>;

/// A name that points here by somebody else's DNS is not served, and no page in a browser.
async fn loopback(request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    if !matches!(name, "127.0.0.1" | "localhost" | "[::1]") {
        return refused(StatusCode::FORBIDDEN, "only 127.0.0.1 and localhost are served here");
    }
    // A form or a script of some page needs nobody's leave to send what it cannot read the answer to.
    if request.headers().contains_key(ORIGIN) || is_from_elsewhere(request.method(), request.headers()) {
        return refused(StatusCode::FORBIDDEN, "no page in a browser is served here");
    }
    let mut response = next.run(request).await;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn directory(State(inner): State<Arc<Inner>>) -> Json<Directory> {
    Json(inner.directory())
}

async fn approve(State(inner): State<Arc<Inner>>, body: Sent<Decide>) -> Response {
    decided(&inner, body, Decision::Approve).await
}

async fn decline(State(inner): State<Arc<Inner>>, body: Sent<Decide>) -> Response {
    decided(&inner, body, Decision::Decline).await
}

async fn decided(inner: &Inner, body: Sent<Decide>, decision: Decision) -> Response {
    match body {
        Ok(Json(Decide { user_code, account })) => done(inner.decide(&user_code, &account, decision).await),
        Err(error) => unread(&error),
    }
}

async fn clock(State(inner): State<Arc<Inner>>) -> Response {
    Json(json!({ "now": inner.environment.now().to_string() })).into_response()
}

async fn step(State(inner): State<Arc<Inner>>, body: Sent<Step>) -> Response {
    match body {
        Ok(Json(Step { advance_seconds })) if advance_seconds <= LONGEST_STEP => {
            inner.clock.advance(Duration::from_secs(advance_seconds));
            clock(State(inner)).await
        }
        Ok(_) => refused(StatusCode::BAD_REQUEST, "advanceSeconds is at most ten years"),
        Err(error) => unread(&error),
    }
}

async fn act(State(inner): State<Arc<Inner>>, body: Sent<Acting>) -> Response {
    match body {
        Ok(Json(Acting { account, act })) => match inner.act(&account, act).await {
            Ok(Acted::Undone(report)) => Json(report.to_json()).into_response(),
            acted => done(acted.map(drop)),
        },
        Err(error) => unread(&error),
    }
}

async fn reset(State(inner): State<Arc<Inner>>) -> Response {
    done(inner.reset().await)
}

fn done(outcome: Result<(), SandboxError>) -> Response {
    let error = match outcome {
        Ok(()) => return StatusCode::NO_CONTENT.into_response(),
        Err(error) => error,
    };
    let status = match &error {
        SandboxError::Account | SandboxError::Undecided(Undecided::NotFound) => StatusCode::NOT_FOUND,
        SandboxError::Code
        | SandboxError::Refused(_)
        | SandboxError::Name { .. }
        | SandboxError::Broken(_)
        | SandboxError::Undo(UndoError::Forgotten(_))
        | SandboxError::NotApplied { .. } => StatusCode::BAD_REQUEST,
        SandboxError::Undecided(Undecided::Decided(_)) | SandboxError::Undo(UndoError::UnderWay) => {
            StatusCode::CONFLICT
        }
        SandboxError::Undecided(Undecided::Wait(_)) => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    refused(status, &error.to_string())
}

fn unread(error: &JsonRejection) -> Response {
    refused(error.status(), &error.body_text())
}

fn refused(status: StatusCode, error: &str) -> Response {
    (status, Json(json!({ "error": error }))).into_response()
}

impl Inner {
    pub(super) async fn act(&self, account: &str, act: Act) -> Result<Acted, SandboxError> {
        let member = MemberId::new(self.account(account)?.member.clone());
        let now = self.environment.now();
        let app = self.app.load_full();
        let backend = app.backend();
        let done: Result<(), SandboxError> = match act {
            Act::Blueprints { add, remove } => {
                let ops = ops(add, remove).ok_or(SandboxError::Refused("a product's key cannot be read"))?;
                let result = backend.change_blueprints(&member, Author::Web, ops).await?;
                if result.not_applied > 0 {
                    return Err(SandboxError::Refused("there is no such product, or it cannot be removed"));
                }
                Ok(())
            }
            Act::Stock { ops } => all(backend.change_stock(&member, Author::Web, change_set(ops)?).await?),
            Act::Ships { ops } => all(backend.change_ships(&member, Author::Web, change_set(ops)?).await?),
            Act::GiveStock { lot, to } => {
                let to = MemberId::new(self.account(&to)?.member.clone());
                there(backend.give_stock(&member, Author::Web, &lot, &to).await?)
            }
            Act::ShareStock { lot, unit } => {
                let keeping = unit.map_or(Keeping::Personal, |unit| Keeping::Pool(unit.into()));
                there(backend.rebook_stock(&member, Author::Web, &lot, keeping).await?)
            }
            Act::GiveShip { ship, to } => {
                let to = MemberId::new(self.account(&to)?.member.clone());
                there(backend.give_ship(&member, Author::Web, &ship, &to).await?)
            }
            Act::RenameUnit { unit, name, shorthand } => {
                let (name, shorthand) = (named("name", &name)?, named("shorthand", &shorthand)?);
                there(backend.rename_unit(&unit.into(), name, shorthand).await?)
            }
            Act::OrgStock { ops } => {
                all(backend.change_org_stock(&member, Author::Web, change_set(ops)?).await?)
            }
            Act::EarmarkStock { entry, purpose, target, amount } => {
                let of = (purpose, &*target);
                there(backend.earmark_stock(&member, Author::Web, &entry, of, amount).await?)
            }
            Act::Role { unit, role } => there(backend.set_role(&member, &unit.into(), role).await?),
            // Of an account there is always a member; as it was is as it should be.
            Act::WithholdName { withholds } => {
                backend.withhold_name(&member, withholds).await?;
                Ok(())
            }
            Act::RenameMember { name } => {
                backend.rename_member(&member, named("name", &name)?).await?;
                Ok(())
            }
            Act::RenameMission { mission, name } => {
                there(backend.rename_mission(&mission, named("name", &name)?).await?)
            }
            Act::JobOrder { order, state } => {
                if !JOB_ORDER_STATES.contains(&state.as_str()) {
                    return Err(SandboxError::Refused("a job order has no such state"));
                }
                self.set("UPDATE job_order SET state = ?1 WHERE id = ?2", state, order).await
            }
            Act::Undo { client, from, to, areas } => {
                let areas = if areas.is_empty() { UndoArea::ALL.to_vec() } else { areas };
                let writes = Writes { client: client.into(), member, from, to };
                let (client, mode) = (writes.client.clone(), Mode::Apply);
                let outcomes = backend.undo(writes, &areas, mode).await?;
                return Ok(Acted::Undone(Report { client, mode, outcomes }));
            }
            Act::Disconnect { client } => {
                let write = self.store.write(move |connection| {
                    disconnect_client(connection, Actor::Member(&member), &client.into(), &member, now)
                });
                write.await?;
                Ok(())
            }
            Act::Handle { handle } => {
                self.set("UPDATE member SET handle = ?1 WHERE id = ?2", handle, member.to_string()).await
            }
            Act::Switch { on } => {
                self.administer(account, now, move |database, by| admin::switch(database, by, on)).await
            }
            Act::Suspend { client, suspended } => {
                let standing = if suspended { Standing::Suspended } else { Standing::Active };
                let client = client.into();
                let act = move |database: &rusqlite::Connection, by: &By<'_>| {
                    admin::set_standing(database, by, &client, standing)
                };
                self.administer(account, now, act).await
            }
        };
        done.map(|()| Acted::Done)
    }

    async fn set(
        &self,
        sql: &'static str,
        value: impl rusqlite::ToSql + Send + 'static,
        of: String,
    ) -> Result<(), SandboxError> {
        let write = self
            .store
            .write(move |connection| Ok::<_, StoreError>(connection.execute(sql, params![value, of])?));
        there(write.await? > 0)
    }

    /// Does what an administrator does by a command, under the account's name.
    async fn administer(
        &self,
        account: &str,
        now: Moment,
        act: impl FnOnce(&rusqlite::Connection, &By<'_>) -> Result<(), AdminError> + Send + 'static,
    ) -> Result<(), SandboxError> {
        let name = account.to_owned();
        let done = self.store.write(move |connection| act(connection, &By::new(&name, now)?)).await;
        done.map_err(|error| match error {
            AdminError::Store(error) => SandboxError::Store(error),
            _ => SandboxError::Refused("there is no such thing"),
        })
    }
}

/// Whether what was named is there.
fn there(is: bool) -> Result<(), SandboxError> {
    if is { Ok(()) } else { Err(SandboxError::Refused("there is no such thing")) }
}

/// Whether every op was applied or found what it asked for.
fn all(result: ChangeResult) -> Result<(), SandboxError> {
    let refused = result.results.iter().find_map(|op| Some((op.index, op.reason.as_ref()?)));
    refused.map_or(Ok(()), |(op, reason)| Err(SandboxError::NotApplied { op, reason: reason.to_string() }))
}

/// A text as a name, or which of those that were given is none.
fn named<const MOST: usize>(what: &'static str, text: &str) -> Result<Name<MOST>, SandboxError> {
    text.try_into().map_err(|why| SandboxError::Name { what, why })
}

/// A change set of the contract.
fn change_set<T: Contract>(ops: Vec<serde_json::Value>) -> Result<T, SandboxError> {
    let body = json!({ "ops": ops }).to_string();
    Ok(T::parse_valid(body.as_bytes())?)
}

fn ops(add: Vec<String>, remove: Vec<String>) -> Option<BlueprintChangeSet> {
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
