//! What a sandbox begins with: members, units, clients, catalogue, blueprints, goods, missions,
//! job orders.
//!
//! The same as on the platform's own sandbox, so that scripts written for that one find what they expect.
//! Everything stands in `seed.json`; the same seed gives the same ids in every run.

mod goods;
mod orders;

use exchange_api::scopes::Scope;
use rusqlite::{Connection, params};
use serde::Deserialize;

use crate::catalogue::contents::{self, Contents};
use crate::environment::Environment;
use crate::idp::accounts;
use crate::ids::{MemberId, UnitId};
use crate::members::{self, Role};
use crate::records::Actor;
use crate::store::StoreError;
use crate::time::Moment;

use goods::{Mission, Ship, Stock};
use orders::Order;

const SEED: &str = include_str!("seed.json");

/// An account of the sandbox; its password is public, and works nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxAccount {
    /// The name to sign in with.
    pub username: String,
    /// The password to sign in with.
    pub password: String,
    /// The member's id, which no client ever sees.
    pub member: String,
}

/// What stands in `seed.json`, and the members for load tests.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Seed {
    terms: String,
    units: Vec<Unit>,
    members: Vec<Member>,
    missions: Vec<Mission>,
    job_orders: Vec<Order>,
    load: Load,
    clients: Vec<Client>,
    defaults: Vec<String>,
    catalogue: Contents,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Unit {
    id: String,
    name: String,
    shorthand: String,
    kind: String,
    profit_sharing: bool,
    /// The unit that it stands below.
    above: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Member {
    id: String,
    account: String,
    name: String,
    handle: Option<String>,
    #[serde(default)]
    admin: bool,
    #[serde(default)]
    units: Vec<Membership>,
    #[serde(default)]
    blueprints: Vec<Blueprint>,
    #[serde(default)]
    stock: Vec<Stock>,
    #[serde(default)]
    ships: Vec<Ship>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Membership {
    unit: UnitId,
    #[serde(default)]
    role: Role,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Blueprint {
    product: String,
    /// Milliseconds since the epoch.
    acquired_at: Option<i64>,
    source: String,
    note: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Load {
    count: u32,
    unit: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Client {
    id: String,
    name: String,
    suspended: bool,
}

impl Seed {
    /// Reads it.
    ///
    /// # Errors
    /// When what is compiled in is no seed.
    pub(super) fn read() -> Result<Self, StoreError> {
        let mut seed: Self =
            serde_json::from_str(SEED).map_err(|_| StoreError::Corrupt("the seed that is compiled in"))?;
        for number in 1..=seed.load.count {
            seed.members.push(Member::of_load(number, &seed.load.unit));
        }
        Ok(seed)
    }

    /// The accounts, in the order of their members.
    pub(super) fn accounts(&self) -> Vec<SandboxAccount> {
        let account = |member: &Member| SandboxAccount {
            username: member.account.clone(),
            password: format!("{}-pw-do-not-use-in-prod", member.account),
            member: member.id.clone(),
        };
        self.members.iter().map(account).collect()
    }

    /// The ids of the clients.
    pub(super) fn clients(&self) -> Vec<String> {
        self.clients.iter().map(|client| client.id.clone()).collect()
    }

    /// Writes it into a store that has none of it; the hashes are those of the passwords of
    /// [`accounts`](Self::accounts), in their order.
    ///
    /// # Errors
    /// What the database says, or that there are no random numbers.
    pub(super) fn plant(
        &self,
        connection: &Connection,
        environment: &Environment,
        hashes: &[String],
    ) -> Result<(), StoreError> {
        let now = environment.now();
        settings(connection, self)?;
        plant_clients(connection, self, now)?;
        contents::replace(connection, environment.random(), &self.catalogue)?;
        for product in &self.defaults {
            connection.execute("INSERT INTO default_blueprint (product) VALUES (?1)", [product])?;
        }
        for (member, hash) in self.members.iter().zip(hashes) {
            plant_member(connection, member, &self.terms, hash, now)?;
            goods::plant(connection, member, &self.catalogue, now)?;
        }
        self.missions.iter().try_for_each(|mission| mission.plant(connection))?;
        self.job_orders.iter().try_for_each(|order| order.plant(connection))
    }
}

impl Seed {
    /// The same in the place of everything that a sandbox's store has.
    ///
    /// # Errors
    /// As of [`plant`](Self::plant).
    pub(super) fn plant_anew(
        &self,
        connection: &Connection,
        environment: &Environment,
        hashes: &[String],
    ) -> Result<(), StoreError> {
        clear(connection)?;
        self.plant(connection, environment, hashes)
    }
}

impl Member {
    fn of_load(number: u32, unit: &str) -> Self {
        Self {
            id: format!("member-load-{number:02}"),
            account: format!("sandbox-load-{number:02}"),
            name: format!("Sandbox Load {number:02}"),
            handle: None,
            admin: false,
            units: vec![Membership { unit: unit.into(), role: Role::Member }],
            blueprints: Vec::new(),
            stock: Vec::new(),
            ships: Vec::new(),
        }
    }
}

/// The setting that only a sandbox's store has.
const MARK: &str = "sandbox";

/// Whose a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Nobody's yet.
    Nobody,
    /// A sandbox's: it has the seed.
    Sandbox,
    /// A service's, with members, accounts or clients of its own.
    Service,
}

/// Whose a store is.
///
/// # Errors
/// What the database says.
pub(super) fn owner(connection: &Connection) -> Result<Owner, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM setting WHERE name = ?1), \
               EXISTS (SELECT 1 FROM member) OR EXISTS (SELECT 1 FROM account) \
                 OR EXISTS (SELECT 1 FROM client)";
    Ok(connection.query_row(sql, [MARK], |row| {
        Ok(match (row.get(0)?, row.get(1)?) {
            (true, _) => Owner::Sandbox,
            (false, true) => Owner::Service,
            (false, false) => Owner::Nobody,
        })
    })?)
}

/// Empties every table but that of the migrations.
///
/// # Errors
/// What the database says.
fn clear(connection: &Connection) -> Result<(), StoreError> {
    connection.execute_batch("PRAGMA defer_foreign_keys = ON")?;
    let mut tables = connection.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'migration' \
         AND name NOT LIKE 'sqlite_%'",
    )?;
    let tables = tables.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    for table in tables {
        connection.execute_batch(&format!("DELETE FROM \"{table}\""))?;
    }
    Ok(())
}

fn settings(connection: &Connection, seed: &Seed) -> Result<(), StoreError> {
    let sql = "INSERT INTO setting (name, value) VALUES (?1, ?2)";
    for (name, value) in [("exchange", "on"), ("terms", &seed.terms), ("stolen-marking", "on"), (MARK, "yes")]
    {
        connection.execute(sql, params![name, value])?;
    }
    for Unit { id, name, shorthand, kind, profit_sharing, above } in &seed.units {
        connection.execute(
            "INSERT INTO unit (id, name, shorthand, kind, profit_sharing, above) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![id, name, shorthand, kind, profit_sharing, above],
        )?;
    }
    Ok(())
}

fn plant_clients(connection: &Connection, seed: &Seed, now: Moment) -> Result<(), StoreError> {
    for Client { id, name, suspended } in &seed.clients {
        let state = if *suspended { "suspended" } else { "active" };
        connection.execute(
            "INSERT INTO client (id, name, state, created_at) VALUES (?1, ?2, ?3, ?4)",
            params![id, name, state, now.millis()],
        )?;
        for scope in Scope::ALL {
            connection.execute(
                "INSERT INTO client_scope (client, scope) VALUES (?1, ?2)",
                params![id, scope.as_str()],
            )?;
        }
    }
    Ok(())
}

fn plant_member(
    connection: &Connection,
    member: &Member,
    terms: &str,
    password: &str,
    now: Moment,
) -> Result<(), StoreError> {
    let Member { id, account, name, handle, admin, units, blueprints, .. } = member;
    connection.execute(
        "INSERT INTO member (id, name, handle, state, is_admin, terms, created_at) \
         VALUES (?1, ?2, ?3, 'active', ?4, ?5, ?6)",
        params![id, name, handle, admin, terms, now.millis()],
    )?;
    let own = MemberId::from(id.as_str());
    accounts::set(connection, &own, account, password)?;
    for Membership { unit, role } in units {
        if !members::set_role(connection, (Actor::Service, now), &own, unit, Some(*role))? {
            return Err(StoreError::Corrupt("a membership of the seed"));
        }
    }
    for Blueprint { product, acquired_at, source, note } in blueprints {
        connection.execute(
            "INSERT INTO blueprint (member, product, acquired_at, source, note) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![id, product, acquired_at, source, note],
        )?;
    }
    Ok(())
}
