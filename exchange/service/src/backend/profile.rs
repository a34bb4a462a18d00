//! The member's profile, which the member edits on the web pages (WEB-12).

use exchange_api::types::AccountHandle;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::Backend;
use crate::ids::MemberId;
use crate::members;
use crate::records::{self, Actor, AuditEntry};
use crate::store::{StoreError, read_setting};

/// A member's profile, as shown on the web pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberProfile {
    /// The handle of the member's game account, which is never sent to clients (SVC-14).
    pub handle: Option<String>,
    /// The version of the terms that the member accepted most recently.
    pub accepted: Option<String>,
    /// The version of the terms that members must have accepted; `None` if there are no terms (ERR-17).
    pub terms: Option<String>,
    /// The text of that version, if an administrator has stored it.
    pub terms_text: Option<String>,
    /// Whether the member's name is withheld from connected applications (WEB-07).
    pub withholds_name: bool,
}

impl Backend {
    /// Loads a member's profile. Returns an empty profile if the member does not exist.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the read fails.
    pub async fn load_profile(&self, member: &MemberId) -> Result<MemberProfile, StoreError> {
        let member = member.clone();
        let read = move |connection: &Connection| {
            let terms = read_setting(connection, "terms")?;
            let sql = "SELECT text FROM terms_text WHERE version = ?1";
            let terms_text =
                connection.prepare_cached(sql)?.query_row([&terms], |row| row.get(0)).optional()?;
            let found = members::find_member(connection, &member)?;
            Ok::<_, StoreError>(found.map_or_else(MemberProfile::default, |found| MemberProfile {
                handle: found.handle,
                accepted: found.terms,
                terms,
                terms_text,
                withholds_name: found.withholds_name,
            }))
        };
        self.store.read(read).await
    }

    /// Records that the member accepted a version of the terms. Returns false and writes nothing if `version`
    /// is not the current version.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; nothing is written in that case.
    pub async fn accept_terms(&self, member: &MemberId, version: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE member SET terms = ?2 WHERE id = ?1 \
                   AND ?2 = (SELECT value FROM setting WHERE name = 'terms')";
        self.update_member(member, sql, version, ("terms.accept", version)).await
    }

    /// Stores the handle of the member's game account. The audit entry does not contain the handle.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; nothing is written in that case.
    pub async fn set_handle(&self, member: &MemberId, handle: &AccountHandle) -> Result<(), StoreError> {
        let sql = "UPDATE member SET handle = ?2 WHERE id = ?1";
        self.update_member(member, sql, handle.as_str(), ("profile.handle", "")).await.map(drop)
    }

    async fn update_member(
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
                let entry = AuditEntry { client: None, action, subject: member.as_str(), detail: &detail };
                records::record_audit(connection, now, Actor::Member(&member), entry)?;
            }
            Ok::<_, StoreError>(is_done)
        };
        self.store.write(write).await
    }
}
