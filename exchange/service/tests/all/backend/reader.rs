//! A reader that builds a client's replica of a collection page by page.

use super::*;

/// A replica: entries by key, and the next cursor.
pub(super) struct Reader<T> {
    caller: Caller,
    uri: String,
    entry: fn(&Value) -> (String, T),
    pub(super) entries: BTreeMap<String, T>,
    cursor: Option<String>,
    /// Whether the snapshot is complete.
    follows: bool,
    /// Returns true if an entry is kept after a page.
    keeps: fn(&T, &Value) -> bool,
    /// The body of the last response.
    pub(super) last: String,
}

impl<T> Reader<T> {
    /// Creates a reader of a collection; `entry` converts an item into its key and its entry.
    pub(super) fn new(caller: Caller, uri: impl Into<String>, entry: fn(&Value) -> (String, T)) -> Self {
        let (uri, entries) = (uri.into(), BTreeMap::new());
        let keeps = |_: &T, _: &Value| true;
        Self { caller, uri, entry, entries, cursor: None, follows: false, keeps, last: String::new() }
    }

    /// Creates a reader that also drops entries without a tombstone if a page indicates that they are gone
    /// (OST-05).
    pub(super) fn keeping(self, keeps: fn(&T, &Value) -> bool) -> Self {
        Self { keeps, ..self }
    }

    /// Reads one page and returns whether the replica is current. Starts again with a snapshot if the cursor
    /// has expired.
    pub(super) async fn page(&mut self, fixture: &BackendFixture, limit: u8) -> bool {
        let cursor = self.cursor.as_ref().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let response = fixture.get(&self.caller, &format!("{}?limit={limit}{cursor}", self.uri)).await;
        self.last = String::from_utf8(response.bytes).expect("valid UTF-8");
        if response.status == 410 {
            (self.entries, self.cursor, self.follows) = (BTreeMap::new(), None, false);
            return false;
        }
        let page = response.body;
        assert_eq!(response.status, 200, "{page}");
        self.entries.retain(|_, entry| (self.keeps)(entry, &page));
        self.entries.extend(page["items"].as_array().expect("an array").iter().map(self.entry));
        for tombstone in page["removed"].as_array().expect("an array") {
            self.entries.remove(tombstone["key"].as_str().expect("a string"));
        }
        self.cursor = page["nextCursor"].as_str().map(str::to_owned);
        let followed = self.follows;
        self.follows |= page["hasMore"] == false;
        followed && page["hasMore"] == false
    }

    /// Reads until the replica is current.
    pub(super) async fn read_on(&mut self, fixture: &BackendFixture, limit: u8) {
        while !self.page(fixture, limit).await {}
    }
}
