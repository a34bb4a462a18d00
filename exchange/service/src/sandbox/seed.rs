//! The initial data of a sandbox: members, units, clients, catalogue, blueprints, stock, ships, missions and
//! job orders.
//!
//! The data equals that of the platform's own sandbox, so that scripts work with both. All data is in
//! `seed.json`, and ids are the same in every run.

mod goods;
mod orders;

use exchange_api::scopes::Scope;
use rusqlite::{Connection, params};
use serde::Deserialize;

use crate::catalogue::contents::{self, CatalogueContents};
use crate::environment::Environment;
use crate::idp::accounts;
use crate::ids::{MemberId, UnitId};
use crate::members::{self, UnitRole};
use crate::records::Actor;
use crate::store::StoreError;
use crate::time::Moment;

use goods::{SeedMission, SeedShip, SeedStock};
use orders::SeedOrder;

const SEED: &str = include_str!("seed.json");

/// An account of the sandbox. Its password is public and is valid only in sandboxes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxAccount {
    /// The user name for signing in.
    pub username: String,
    /// The password for signing in.
    pub password: String,
    /// The member's id, which clients never see.
    pub member: String,
}

/// The content of `seed.json`, with additional members for load tests.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SandboxSeed {
    terms: String,
    units: Vec<SeedUnit>,
    members: Vec<SeedMember>,
    missions: Vec<SeedMission>,
    job_orders: Vec<SeedOrder>,
    load: LoadMembers,
    clients: Vec<SeedClient>,
    defaults: Vec<String>,
    catalogue: CatalogueContents,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SeedUnit {
    id: String,
    name: String,
    shorthand: String,
    kind: String,
    profit_sharing: bool,
    /// The id of the parent unit.
    above: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SeedMember {
    id: String,
    account: String,
    name: String,
    handle: Option<String>,
    #[serde(default)]
    admin: bool,
    #[serde(default)]
    units: Vec<SeedMembership>,
    #[serde(default)]
    blueprints: Vec<SeedBlueprint>,
    #[serde(default)]
    stock: Vec<SeedStock>,
    #[serde(default)]
    ships: Vec<SeedShip>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeedMembership {
    unit: UnitId,
    #[serde(default)]
    role: UnitRole,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SeedBlueprint {
    product: String,
    /// The time in milliseconds since the Unix epoch.
    acquired_at: Option<i64>,
    source: String,
    note: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadMembers {
    count: u32,
    unit: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeedClient {
    id: String,
    name: String,
    suspended: bool,
}

impl SandboxSeed {
    /// Parses the embedded `seed.json`.
    ///
    /// # Errors
    /// Returns [`StoreError::Corrupt`] if the embedded file is invalid.
    pub(super) fn parse_embedded() -> Result<Self, StoreError> {
        let mut seed: Self =
            serde_json::from_str(SEED).map_err(|_| StoreError::Corrupt("the embedded seed is invalid"))?;
        for number in 1..=seed.load.count {
            seed.members.push(SeedMember::for_load_test(number, &seed.load.unit));
        }
        Ok(seed)
    }

    /// Returns the accounts in the order of their members.
    pub(super) fn accounts(&self) -> Vec<SandboxAccount> {
        let account = |member: &SeedMember| SandboxAccount {
            username: member.account.clone(),
            password: format!("{}-pw-do-not-use-in-prod", member.account),
            member: member.id.clone(),
        };
        self.members.iter().map(account).collect()
    }

    pub(super) fn clients(&self) -> Vec<String> {
        self.clients.iter().map(|client| client.id.clone()).collect()
    }

    /// Writes the seed into an empty store. `hashes` must contain the password hashes of
    /// [`accounts`](Self::accounts), in the same order.
    ///
    /// # Errors
    /// Returns [`StoreError::Random`] if the random number generator fails, or another [`StoreError`] if the
    /// database fails.
    pub(super) fn plant_all(
        &self,
        connection: &Connection,
        environment: &Environment,
        hashes: &[String],
    ) -> Result<(), StoreError> {
        let now = environment.now();
        plant_settings(connection, self)?;
        plant_clients(connection, self, now)?;
        contents::replace_contents(connection, environment.random(), &self.catalogue)?;
        for product in &self.defaults {
            connection.execute("INSERT INTO default_blueprint (product) VALUES (?1)", [product])?;
        }
        for (member, hash) in self.members.iter().zip(hashes) {
            plant_member(connection, member, &self.terms, hash, now)?;
            goods::plant_goods(connection, member, &self.catalogue, now)?;
        }
        self.missions.iter().try_for_each(|mission| mission.plant_mission(connection))?;
        self.job_orders.iter().try_for_each(|order| order.plant_order(connection))
    }
}

impl SandboxSeed {
    /// Replaces all data in the store of a sandbox with the seed.
    ///
    /// # Errors
    /// Returns the same errors as [`plant_all`](Self::plant_all).
    pub(super) fn replace_all(
        &self,
        connection: &Connection,
        environment: &Environment,
        hashes: &[String],
    ) -> Result<(), StoreError> {
        clear_tables(connection)?;
        self.plant_all(connection, environment, hashes)
    }
}

impl SeedMember {
    fn for_load_test(number: u32, unit: &str) -> Self {
        Self {
            id: format!("member-load-{number:02}"),
            account: format!("sandbox-load-{number:02}"),
            name: format!("Sandbox Load {number:02}"),
            handle: None,
            admin: false,
            units: vec![SeedMembership { unit: unit.into(), role: UnitRole::Member }],
            blueprints: Vec::new(),
            stock: Vec::new(),
            ships: Vec::new(),
        }
    }
}

/// The name of a setting that exists only in the stores of sandboxes.
const MARK: &str = "sandbox";

/// The kind of program to which a store belongs: a sandbox or a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreOwner {
    /// The store contains no members, accounts or clients yet.
    Unclaimed,
    /// The store belongs to a sandbox and contains the seed.
    Sandbox,
    /// The store belongs to a service, with members, accounts or clients of that service.
    Service,
}

/// Determines whether a store belongs to a sandbox or to a service.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(super) fn find_owner(connection: &Connection) -> Result<StoreOwner, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM setting WHERE name = ?1), \
               EXISTS (SELECT 1 FROM member) OR EXISTS (SELECT 1 FROM account) \
                 OR EXISTS (SELECT 1 FROM client)";
    Ok(connection.query_row(sql, [MARK], |row| {
        Ok(match (row.get(0)?, row.get(1)?) {
            (true, _) => StoreOwner::Sandbox,
            (false, true) => StoreOwner::Service,
            (false, false) => StoreOwner::Unclaimed,
        })
    })?)
}

/// Deletes the rows of all tables except the table of migrations.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
fn clear_tables(connection: &Connection) -> Result<(), StoreError> {
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

fn plant_settings(connection: &Connection, seed: &SandboxSeed) -> Result<(), StoreError> {
    let sql = "INSERT INTO setting (name, value) VALUES (?1, ?2)";
    for (name, value) in [("exchange", "on"), ("terms", &seed.terms), ("stolen-marking", "on"), (MARK, "yes")]
    {
        connection.execute(sql, params![name, value])?;
    }
    for SeedUnit { id, name, shorthand, kind, profit_sharing, above } in &seed.units {
        connection.execute(
            "INSERT INTO unit (id, name, shorthand, kind, profit_sharing, above) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![id, name, shorthand, kind, profit_sharing, above],
        )?;
    }
    Ok(())
}

fn plant_clients(connection: &Connection, seed: &SandboxSeed, now: Moment) -> Result<(), StoreError> {
    for SeedClient { id, name, suspended } in &seed.clients {
        let state = if *suspended { "suspended" } else { "active" };
        connection.execute(
            "INSERT INTO client (id, name, state, created_at) VALUES (?1, ?2, ?3, ?4)",
            params![id, name, state, now.as_millis()],
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
    member: &SeedMember,
    terms: &str,
    password: &str,
    now: Moment,
) -> Result<(), StoreError> {
    let SeedMember { id, account, name, handle, admin, units, blueprints, .. } = member;
    connection.execute(
        "INSERT INTO member (id, name, handle, state, is_admin, terms, created_at) \
         VALUES (?1, ?2, ?3, 'active', ?4, ?5, ?6)",
        params![id, name, handle, admin, terms, now.as_millis()],
    )?;
    let member_id = MemberId::from(id.as_str());
    accounts::set_account(connection, &member_id, account, password)?;
    for SeedMembership { unit, role } in units {
        if !members::set_role(connection, (Actor::Service, now), &member_id, unit, Some(*role))? {
            return Err(StoreError::Corrupt("a seeded membership refers to an unknown unit"));
        }
    }
    for SeedBlueprint { product, acquired_at, source, note } in blueprints {
        connection.execute(
            "INSERT INTO blueprint (member, product, acquired_at, source, note) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![id, product, acquired_at, source, note],
        )?;
    }
    Ok(())
}
