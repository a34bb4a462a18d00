//! A client's replica of a collection, built page by page.

use super::*;

/// Entries by key, and the next cursor.
pub(super) struct Reader<T> {
    caller: Caller,
    uri: String,
    entry: fn(&Value) -> (String, T),
    pub(super) entries: BTreeMap<String, T>,
    cursor: Option<String>,
    /// Whether the snapshot is complete.
    follows: bool,
    /// Selects the entries that a page keeps.
    keeps: fn(&T, &Value) -> bool,
    /// The last response body.
    pub(super) last: String,
}

impl<T> Reader<T> {
    /// Creates a reader of a collection; the closure converts an item into key and entry.
    pub(super) fn new(caller: Caller, uri: impl Into<String>, entry: fn(&Value) -> (String, T)) -> Self {
        let (uri, entries) = (uri.into(), BTreeMap::new());
        let keeps = |_: &T, _: &Value| true;
        Self { caller, uri, entry, entries, cursor: None, follows: false, keeps, last: String::new() }
    }

    /// Creates a reader that also drops entries without tombstones, as a page indicates (OST-05).
    pub(super) fn keeping(self, keeps: fn(&T, &Value) -> bool) -> Self {
        Self { keeps, ..self }
    }

    /// Reads one page, and returns whether the replica is current. Restarts if the cursor has expired.
    pub(super) async fn page(&mut self, bench: &Bench, limit: u8) -> bool {
        let cursor = self.cursor.as_ref().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let response = bench.get(&self.caller, &format!("{}?limit={limit}{cursor}", self.uri)).await;
        self.last = String::from_utf8(response.bytes).expect("text");
        if response.status == 410 {
            (self.entries, self.cursor, self.follows) = (BTreeMap::new(), None, false);
            return false;
        }
        let page = response.body;
        assert_eq!(response.status, 200, "{page}");
        self.entries.retain(|_, entry| (self.keeps)(entry, &page));
        self.entries.extend(page["items"].as_array().expect("a list").iter().map(self.entry));
        for tombstone in page["removed"].as_array().expect("a list") {
            self.entries.remove(tombstone["key"].as_str().expect("a text"));
        }
        self.cursor = page["nextCursor"].as_str().map(str::to_owned);
        let followed = self.follows;
        self.follows |= page["hasMore"] == false;
        followed && page["hasMore"] == false
    }

    /// Reads until the replica is current.
    pub(super) async fn read_on(&mut self, bench: &Bench, limit: u8) {
        while !self.page(bench, limit).await {}
    }
}
