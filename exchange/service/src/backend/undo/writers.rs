//! Lists the clients whose writes for a member are in the journal, so that they can be undone.

use rusqlite::Connection;

use super::super::Backend;
use crate::ids::{ClientId, MemberId};
use crate::store::StoreError;

/// A client that wrote data for a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WritingClient {
    /// The client's id. The client need not be connected now.
    pub client: ClientId,
    /// The client's registered name, or its id if it is no longer registered.
    pub name: String,
}

/// The query uses a loose index scan: it reads one index entry per client, however much each client wrote.
const WROTE: &str = "\
    WITH RECURSIVE wrote (client) AS (
        SELECT min(client) FROM journal_set WHERE member = ?1 AND client > ''
        UNION ALL
        SELECT (SELECT min(client) FROM journal_set WHERE member = ?1 AND client > wrote.client)
        FROM wrote WHERE wrote.client IS NOT NULL
    )
    SELECT client, coalesce((SELECT name FROM client WHERE id = wrote.client), client)
    FROM wrote WHERE client IS NOT NULL ORDER BY 2, 1";

impl Backend {
    /// Lists the clients that wrote data for a member, sorted by name.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the read fails.
    pub async fn list_writing_clients(&self, member: &MemberId) -> Result<Vec<WritingClient>, StoreError> {
        let member = member.clone();
        let read = move |connection: &Connection| {
            let mut rows = connection.prepare_cached(WROTE)?;
            let rows =
                rows.query_map([member], |row| Ok(WritingClient { client: row.get(0)?, name: row.get(1)? }))?;
            Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
        };
        self.store.read(read).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Store, StoreLocation, StoreOptions};

    /// The cost of the query depends on the number of clients, not on the length of the journal.
    #[tokio::test]
    async fn query_cost_is_independent_of_the_journal() {
        let store = Store::open(&StoreOptions::new(StoreLocation::Memory)).expect("the store opens");
        let plan = store.read(|connection| {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {WROTE}"))?;
            let steps = plan.query_map(["m-1"], |row| row.get::<_, String>("detail"))?;
            Ok::<_, StoreError>(steps.collect::<Result<Vec<_>, _>>()?)
        });
        let plan = plan.await.expect("the query is planned");
        let journal: Vec<_> = plan.iter().filter(|step| step.contains("journal_set")).collect();
        let by_client =
            "SEARCH journal_set USING COVERING INDEX journal_set_of_client (member=? AND client>?)";
        assert_eq!(journal, [by_client, by_client], "{plan:#?}");
    }
}
