//! Tests of cursors, which are valid only for the reader to whom they were issued and in the current epoch of
//! the store, and of collections whose streams change.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use exchange_service::feed::{
    self, ChangeAuthor, CollectionPage, FeedStream, KeyChange, PageError, PagedCollection, StreamSource,
};
use exchange_service::store::epoch;
use rusqlite::Connection;

use super::*;

async fn cursor(fixture: &BackendFixture, caller: &Caller) -> String {
    cursor_of(fixture, caller, READ).await
}

async fn cursor_of(fixture: &BackendFixture, caller: &Caller, uri: &str) -> String {
    fixture.get(caller, uri).await.body["nextCursor"].as_str().expect("a string").to_owned()
}

async fn read(fixture: &BackendFixture, caller: &Caller, cursor: &str) -> u16 {
    read_of(fixture, caller, READ, cursor).await
}

async fn read_of(fixture: &BackendFixture, caller: &Caller, uri: &str, cursor: &str) -> u16 {
    let response = fixture.get(caller, &format!("{uri}?cursor={cursor}")).await;
    if response.status == 410 {
        assert_eq!(response.code(), "CURSOR_EXPIRED");
    }
    response.status
}

/// FED-08, ERR-28: a cursor with a changed, removed or added character is expired, and so is any other
/// string.
#[tokio::test]
async fn forged_cursor_is_expired() {
    let fixture = BackendFixture::new().await;
    let cursor = cursor(&fixture, &first()).await;
    assert_eq!(read(&fixture, &first(), &cursor).await, 200);
    for index in 0..cursor.len() {
        for letter in ["A", "B", "-", "_", "z"] {
            let mut forged = cursor.clone();
            forged.replace_range(index..=index, letter);
            if forged != cursor {
                assert_eq!(read(&fixture, &first(), &forged).await, 410, "{letter} at {index}");
            }
        }
    }
    let other = [
        "",
        "x",
        "%00",
        "%F0%9F%9A%80",
        ".:",
        &"A".repeat(128),
        &"A".repeat(5000),
        &format!("{cursor}A"),
        &cursor[1..],
    ];
    for forged in other {
        assert_eq!(read(&fixture, &first(), forged).await, 410, "{forged}");
    }
}

/// FED-08: a cursor is valid only for its member and its collection, but for all installations and
/// clients of the member.
#[tokio::test]
async fn cursor_is_bound_to_member_and_collection() {
    let fixture = BackendFixture::new().await;
    let resources = [READ, super::stock::STOCK, super::ships::SHIPS, super::org_stock::POOLS];
    for own in resources {
        let cursor = cursor_of(&fixture, &first(), own).await;
        for uri in resources {
            let status = if uri == own { 200 } else { 410 };
            assert_eq!(read_of(&fixture, &first(), uri, &cursor).await, status, "of {own} at {uri}");
            assert_eq!(read_of(&fixture, &other_client(), uri, &cursor).await, status, "of {own} at {uri}");
            assert_eq!(read_of(&fixture, &other_member(), uri, &cursor).await, 410, "of {own} at {uri}");
        }
    }
}

/// FED-08, FED-11, LIM-13: a cursor is valid for exactly 90 days, and every page contains a new one.
#[tokio::test]
async fn cursor_is_valid_for_90_days() {
    let fixture = BackendFixture::new().await;
    let old = cursor(&fixture, &first()).await;
    fixture.clock.advance(90 * DAY);
    assert_eq!(read(&fixture, &first(), &old).await, 200);
    let fresh = fixture.get(&first(), &format!("{READ}?cursor={old}")).await.body["nextCursor"].clone();
    fixture.clock.advance(Duration::from_millis(1));
    assert_eq!(read(&fixture, &first(), &old).await, 410);
    assert_eq!(read(&fixture, &first(), fresh.as_str().expect("a string")).await, 200);
    fixture.clock.step_back(Duration::from_secs(3600));
    assert_eq!(
        read(&fixture, &first(), fresh.as_str().expect("a string")).await,
        200,
        "the clock was set back"
    );
}

/// FED-08: a restored or reset store has a new epoch, in which earlier cursors are expired.
#[tokio::test]
async fn cursor_expires_with_its_epoch() {
    let fixture = BackendFixture::new().await;
    let cursor = cursor(&fixture, &first()).await;
    let renew = |connection: &Connection| epoch::renew_epoch(connection, &SystemRandom);
    fixture.store.write(renew).await.expect("the new epoch is stored");
    assert_eq!(read(&fixture, &first(), &cursor).await, 410);
}

/// FED-08, LIM-13: a cursor below the floor or above the head of a stream is expired, regardless of its age.
#[tokio::test]
async fn cursor_outside_of_the_stream_is_expired() {
    let fixture = BackendFixture::new().await;
    let before = cursor(&fixture, &first()).await;
    fixture.change(&first(), vec![add("BP_RIFLE"), remove("BP_RIFLE")]).await;
    let after = cursor(&fixture, &first()).await;
    fixture.sql("UPDATE feed_head SET floor = seq WHERE stream = 'member/blueprints/m-1'").await;
    assert_eq!((read(&fixture, &first(), &before).await, read(&fixture, &first(), &after).await), (410, 200));
    fixture.sql("UPDATE feed_head SET floor = 0, seq = 0 WHERE stream = 'member/blueprints/m-1'").await;
    assert_eq!((read(&fixture, &first(), &before).await, read(&fixture, &first(), &after).await), (200, 410));
}

/// LIM-13, FED-08: retention deletes tombstones older than 90 days in steps of limited size, raises the
/// floor, and keeps existing entries.
#[tokio::test]
async fn retention_is_bounded_and_resumes() {
    let fixture = BackendFixture::unguarded().await;
    fixture.change(&first(), products().into_iter().map(add).collect()).await;
    let removed_keys = ["BP_RIFLE", "BP_HELMET", "BP_KNIFE", "BP_ARMS", "BP_LEGS"];
    fixture.change(&first(), removed_keys.into_iter().map(remove).collect()).await;
    fixture.clock.advance(90 * DAY);
    assert_eq!(fixture.retain(2).await, 0, "no tombstone is deleted too early");
    let recent_cursor = cursor(&fixture, &first()).await;
    fixture.clock.advance(Duration::from_millis(1));
    let taken =
        [fixture.retain(2).await, fixture.retain(2).await, fixture.retain(2).await, fixture.retain(2).await];
    assert_eq!(taken, [2, 2, 1, 0]);
    let heads = fixture.rows("SELECT floor, seq FROM feed_head WHERE stream LIKE 'member%'").await;
    assert_eq!(heads.len(), 1);
    assert_eq!(fixture.rows("SELECT key FROM feed_entry WHERE gone = 1").await, [""; 0]);
    assert_eq!(read(&fixture, &first(), &recent_cursor).await, 200, "a later cursor stays valid");
    assert_eq!(fixture.held(&first()).await.len(), 3);
}

/// FED-08, LIM-13: after the clock was set back, a tombstone can be older than an earlier cursor. If
/// retention deleted the tombstone, the cursor is expired although it is less than 90 days old.
#[tokio::test]
async fn recent_cursor_before_a_deleted_tombstone_is_expired() {
    let fixture = BackendFixture::unguarded().await;
    fixture.change(&first(), vec![add("BP_RIFLE")]).await;
    let before = cursor(&fixture, &first()).await;
    fixture.clock.step_back(10 * DAY);
    fixture.change(&first(), vec![remove("BP_RIFLE")]).await;
    fixture.clock.advance(90 * DAY + Duration::from_millis(1));
    assert_eq!(read(&fixture, &first(), &before).await, 200, "the cursor is 80 days old");
    assert_eq!(fixture.retain(10).await, 1);
    assert_eq!(read(&fixture, &first(), &before).await, 410);
}

/// A collection of stock pools: each pool has a stream, and the reader sees it with or without details.
struct Pools {
    member: MemberId,
    pools: Mutex<Vec<(String, u8)>>,
    /// The amount of each lot, by pool and lot.
    lots: Mutex<BTreeMap<(String, String), u32>>,
}

impl PagedCollection for Pools {
    type Item = String;

    const RESOURCE: &'static str = "pools";

    fn reader(&self) -> &MemberId {
        &self.member
    }

    fn list_sources(&self, _: &Connection) -> Result<Vec<StreamSource>, StoreError> {
        let pools = self.pools.lock().expect("the lock is not poisoned");
        let source = |(pool, variant): &(String, u8)| StreamSource {
            stream: FeedStream::shared_by_area(pool),
            variant: *variant,
        };
        Ok(pools.iter().map(source).collect())
    }

    fn read_snapshot(
        &self,
        _: &Connection,
        behind: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let behind = behind.unwrap_or_default();
        let mut items: Vec<(String, String)> = self.shown().into_iter().collect();
        items.retain(|(key, _)| key.as_str() > behind);
        items.truncate(limit);
        Ok(items)
    }

    fn load_current(
        &self,
        _: &Connection,
        keys: &BTreeSet<String>,
    ) -> Result<HashMap<String, String>, StoreError> {
        Ok(self.shown().into_iter().filter(|(key, _)| keys.contains(key)).collect())
    }
}

impl Pools {
    fn shown(&self) -> BTreeMap<String, String> {
        let variants: HashMap<String, u8> =
            self.pools.lock().expect("the lock is not poisoned").iter().cloned().collect();
        let lots = self.lots.lock().expect("the lock is not poisoned");
        let shown = lots.iter().filter_map(|((pool, lot), amount)| {
            let variant = variants.get(pool)?;
            let key = format!("{pool}/{lot}");
            Some((key.clone(), format!("{key} {amount} {variant}")))
        });
        shown.collect()
    }

    async fn put(&self, fixture: &BackendFixture, pool: &str, lot: &str, amount: u32) {
        {
            let mut lots = self.lots.lock().expect("the lock is not poisoned");
            let key = (pool.to_owned(), lot.to_owned());
            if amount == 0 {
                lots.remove(&key)
            } else {
                lots.insert(key, amount)
            };
        }
        let (pool, key, now) = (pool.to_owned(), format!("{pool}/{lot}"), fixture.clock.now());
        let record = move |connection: &Connection| {
            let changes = [KeyChange { key: &key, gone: amount == 0 }];
            feed::record_changes(
                connection,
                &FeedStream::shared_by_area(&pool),
                &ChangeAuthor::Web,
                now,
                changes,
            )
        };
        fixture.store.write(record).await.expect("the change succeeds");
    }

    /// Reads one page and advances `cursor`.
    async fn page(
        self: &Arc<Self>,
        fixture: &BackendFixture,
        cursor: &mut Option<String>,
        limit: usize,
    ) -> CollectionPage<String> {
        let (pools, from, now) = (Arc::clone(self), cursor.clone(), fixture.clock.now());
        let page = fixture
            .store
            .read(move |connection| feed::read_page(connection, &*pools, from.as_deref(), limit, now))
            .await
            .expect("the page can be read")
            .store_cursor(&fixture.store, now)
            .await
            .expect("the cursor is stored");
        let letters = |c: char| c.is_ascii_alphanumeric() || ".:_-".contains(c);
        assert!(
            (1..=128).contains(&page.next_cursor.len()) && page.next_cursor.chars().all(letters),
            "{}",
            page.next_cursor
        );
        *cursor = Some(page.next_cursor.clone());
        page
    }

    /// Reads all pages.
    async fn all(
        self: &Arc<Self>,
        fixture: &BackendFixture,
        cursor: &mut Option<String>,
        limit: usize,
    ) -> Vec<String> {
        let mut items = Vec::new();
        loop {
            let page = self.page(fixture, cursor, limit).await;
            items.extend(page.items);
            items.extend(page.removed.into_iter().map(|removed| format!("{} gone", removed.key)));
            if !page.has_more {
                items.sort();
                return items;
            }
        }
    }
}

fn pools(names: &[(&str, u8)]) -> Arc<Pools> {
    let pools = names.iter().map(|(name, variant)| ((*name).to_owned(), *variant)).collect();
    Arc::new(Pools { member: MemberId::new("m-1"), pools: Mutex::new(pools), lots: Mutex::default() })
}

/// FED-06: a stream that the cursor does not contain is delivered from its start. A stream with another
/// variant is delivered again, and one that the reader may no longer read is dropped.
#[tokio::test]
async fn streams_are_added_changed_and_dropped() {
    let fixture = BackendFixture::new().await;
    let reader = pools(&[("a", 0)]);
    for lot in ["1", "2", "3"] {
        reader.put(&fixture, "a", lot, 1).await;
        reader.put(&fixture, "b", lot, 1).await;
    }
    for limit in [1, 2, 50] {
        *reader.pools.lock().expect("the lock is not poisoned") = vec![("a".to_owned(), 0)];
        let mut cursor = None;
        assert_eq!(reader.all(&fixture, &mut cursor, limit).await, ["a/1 1 0", "a/2 1 0", "a/3 1 0"]);
        *reader.pools.lock().expect("the lock is not poisoned") =
            vec![("a".to_owned(), 0), ("b".to_owned(), 0)];
        // A lot is removed while the new pool is being delivered.
        reader.page(&fixture, &mut cursor, 1).await;
        reader.put(&fixture, "b", "1", 0).await;
        let items = reader.all(&fixture, &mut cursor, limit).await;
        assert!(items.contains(&"b/1 gone".to_owned()) && items.contains(&"b/3 1 0".to_owned()), "{items:?}");
        reader.put(&fixture, "b", "1", 1).await;
        reader.all(&fixture, &mut cursor, limit).await;
        *reader.pools.lock().expect("the lock is not poisoned") =
            vec![("a".to_owned(), 1), ("b".to_owned(), 0)];
        assert_eq!(reader.all(&fixture, &mut cursor, limit).await, ["a/1 1 1", "a/2 1 1", "a/3 1 1"]);
        *reader.pools.lock().expect("the lock is not poisoned") = vec![("b".to_owned(), 0)];
        assert_eq!(reader.all(&fixture, &mut cursor, limit).await, Vec::<String>::new());
    }
}

/// FED-08, CON-07: a position in many streams that is too long for a cursor is stored under its hash as long
/// as it is used.
#[tokio::test]
async fn position_in_many_streams_is_stored_by_hash() {
    let fixture = BackendFixture::new().await;
    let names: Vec<String> = (0..20).map(|number| format!("pool-{number:02}")).collect();
    let reader = pools(&names.iter().map(|name| (name.as_str(), 0)).collect::<Vec<_>>());
    let mut cursor = None;
    reader.all(&fixture, &mut cursor, 10).await;
    for _ in 0..3 {
        fixture.clock.advance(80 * DAY);
        // The stored position is in use, so it is not deleted; the time of its last use is updated at most
        // once a day.
        let mut same = cursor.clone();
        assert_eq!(reader.all(&fixture, &mut same, 10).await, Vec::<String>::new());
        assert_eq!(fixture.run_upkeep_task("cursors").await, 0);
        cursor = same;
        assert_eq!(fixture.rows("SELECT count(*) FROM cursor_vector").await, ["Integer(1)"]);
    }
    reader.put(&fixture, "pool-13", "x", 1).await;
    assert_eq!(reader.all(&fixture, &mut cursor, 10).await, ["pool-13/x 1 0"]);
    fixture.clock.advance(91 * DAY);
    assert_eq!(fixture.run_upkeep_task("cursors").await, 2);
    let (now, expired) = (fixture.clock.now(), cursor.clone());
    let read = fixture
        .store
        .read(move |connection| feed::read_page(connection, &*reader, expired.as_deref(), 1, now))
        .await;
    assert!(matches!(read, Err(PageError::Expired)));
}

/// FED-02: a snapshot cursor with a long key is stored under its hash, as a long position in many streams is.
#[tokio::test]
async fn long_key_in_a_snapshot_is_stored_by_hash() {
    let fixture = BackendFixture::new().await;
    let long = exchange_service::catalogue::shown_key(&format!("BP_{}", "LONG_".repeat(40)));
    fixture.change(&first(), vec![add(&long), add("BP_RIFLE")]).await;
    let (mut keys, mut next) = (0, String::new());
    loop {
        let page = fixture.get(&first(), &format!("{READ}?limit=1{next}")).await.body;
        keys += page["items"].as_array().expect("an array").len();
        next = format!("&cursor={}", page["nextCursor"].as_str().expect("a string"));
        if page["hasMore"] == false {
            break;
        }
    }
    assert_eq!(keys, 4);
    assert_eq!(fixture.rows("SELECT count(*) FROM cursor_vector").await, ["Integer(1)"]);
}
