//! Whose writes a member can take back: the clients of which the journal still has any.

use rusqlite::Connection;

use super::super::Backend;
use crate::ids::{ClientId, MemberId};
use crate::store::StoreError;

/// A client that wrote for a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrote {
    /// The client, connected or not.
    pub client: ClientId,
    /// As it is registered.
    pub name: String,
}

impl Backend {
    /// The clients that wrote for a member, as far as the journal goes back, by their names.
    ///
    /// # Errors
    /// What the store says.
    pub async fn wrote_for(&self, member: &MemberId) -> Result<Vec<Wrote>, StoreError> {
        let member = member.clone();
        let read = move |connection: &Connection| {
            let mut rows = connection.prepare_cached(
                "SELECT client, coalesce((SELECT name FROM client WHERE id = s.client), client) \
                 FROM (SELECT DISTINCT client FROM journal_set WHERE member = ?1 AND client IS NOT NULL) s \
                 ORDER BY 2, 1",
            )?;
            let rows =
                rows.query_map([member], |row| Ok(Wrote { client: row.get(0)?, name: row.get(1)? }))?;
            Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
        };
        self.store.read(read).await
    }
}
