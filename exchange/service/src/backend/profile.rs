//! What members say of themselves on the web, as far as the exchange goes by it (WEB-12).

use exchange_api::types::AccountHandle;
use rusqlite::{Connection, params};

use super::Backend;
use crate::ids::MemberId;
use crate::members;
use crate::records::{self, Actor, Deed};
use crate::store::{StoreError, setting};

/// A member's profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The game-account handle, which no client is told (SVC-14).
    pub handle: Option<String>,
    /// The version of the terms that the member accepted last.
    pub accepted: Option<String>,
    /// The version that members have to have accepted, where there are terms (ERR-17).
    pub terms: Option<String>,
    /// Whether the name is kept from connected applications (WEB-07).
    pub withholds_name: bool,
}

impl Backend {
    /// A member's profile; an empty one of nobody.
    ///
    /// # Errors
    /// What the store says.
    pub async fn profile(&self, member: &MemberId) -> Result<Profile, StoreError> {
        let member = member.clone();
        let read = move |connection: &Connection| {
            let terms = setting(connection, "terms")?;
            let found = members::find(connection, &member)?;
            Ok::<_, StoreError>(found.map_or_else(Profile::default, |found| Profile {
                handle: found.handle,
                accepted: found.terms,
                terms,
                withholds_name: found.withholds_name,
            }))
        };
        self.store.read(read).await
    }

    /// The member accepts a version of the terms. Says whether it is the current one; of any other nothing is written.
    ///
    /// # Errors
    /// What the store says; nothing is written then.
    pub async fn accept_terms(&self, member: &MemberId, version: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE member SET terms = ?2 WHERE id = ?1 \
                   AND ?2 = (SELECT value FROM setting WHERE name = 'terms')";
        self.say(member, sql, version, ("terms.accept", version)).await
    }

    /// The member enters the game-account handle, or confirms it. The audit names no handle.
    ///
    /// # Errors
    /// What the store says; nothing is written then.
    pub async fn set_handle(&self, member: &MemberId, handle: &AccountHandle) -> Result<(), StoreError> {
        let sql = "UPDATE member SET handle = ?2 WHERE id = ?1";
        self.say(member, sql, handle.as_str(), ("profile.handle", "")).await.map(drop)
    }

    async fn say(
        &self,
        member: &MemberId,
        sql: &'static str,
        value: &str,
        (action, detail): (&'static str, &str),
    ) -> Result<bool, StoreError> {
        let (member, value, detail) = (member.clone(), value.to_owned(), detail.to_owned());
        let now = self.environment.now();
        let write = move |connection: &Connection| {
            let is_done = connection.prepare_cached(sql)?.execute(params![member, value])? > 0;
            if is_done {
                let deed = Deed { client: None, action, subject: member.as_str(), detail: &detail };
                records::audit(connection, now, Actor::Member(&member), deed)?;
            }
            Ok::<_, StoreError>(is_done)
        };
        self.store.write(write).await
    }
}
