//! Tests of size limits: ops of a change set, entries of a page, and warnings.

use super::*;

/// WRT-01, LIM-01, WRT-05, WRT-07, CON-08, CON-11, RES-14: 500 ops run in one transaction; up to 50 warnings
/// report undeclared fields and unresolved keys.
#[tokio::test]
async fn change_set_of_500_ops_is_written_completely() {
    let fixture = BackendFixture::new().await;
    let ops: Vec<Value> = (0..500)
        .map(|number| {
            let key = format!("BP_MANY_{number:03}");
            let name = format!("many {number:03}");
            match number {
                0 => json!({ "op": "add", "ref": { "bt": key }, "ours": 1 }),
                _ => json!({ "op": "add", "ref": { "locKey": "nothing", "name": name } }),
            }
        })
        .collect();
    let response = fixture.change(&first(), ops).await;
    assert_eq!(response.counts(), (500, 0, 0));
    assert_eq!(response.body.get("cursor"), None);
    let warnings = response.body["warnings"].as_array().expect("an array");
    assert_eq!(warnings.len(), 50);
    assert_eq!(warnings[0], json!({ "pointer": "/ops/0/ours", "code": "UNKNOWN_FIELD" }));
    assert_eq!(warnings[1], json!({ "pointer": "/ops/1/ref/locKey", "code": "LOC_KEY_UNRESOLVED" }));
    assert_eq!(fixture.held(&first()).await.len(), 502);
    let head = "SELECT seq FROM feed_head WHERE stream = 'member/blueprints/m-1'";
    assert_eq!(fixture.rows(head).await, ["Integer(500)"]);
    assert_eq!(
        fixture.rows("SELECT count(DISTINCT change_set), count(*) FROM journal").await,
        ["Integer(1) Integer(500)"]
    );
}

/// FED-01, LIM-14, FED-02, FED-03, TYP-13: a page has 500 entries, or as many as the limit in the query,
/// without duplicates or gaps. An invalid limit is rejected at `/limit`.
#[tokio::test]
async fn page_has_as_many_entries_as_its_limit() {
    let fixture = BackendFixture::new().await;
    for part in [0..300, 300..600] {
        let ops = part.map(|number| add(&format!("BP_MANY_{number:03}"))).collect();
        assert_eq!(fixture.change(&first(), ops).await.counts(), (300, 0, 0));
    }
    let page = fixture.get(&first(), READ).await.body;
    assert_eq!((page["items"].as_array().expect("an array").len(), &page["hasMore"]), (500, &json!(true)));
    for limit in [1, 7, 301, 602, 1000] {
        let (mut keys, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = fixture.get(&first(), &format!("{READ}?limit={limit}{cursor}")).await.body;
            let items = page["items"].as_array().expect("an array");
            assert!(items.len() <= limit && page["removed"] == json!([]));
            keys.extend(items.iter().map(|item| item["key"].as_str().expect("a string").to_owned()));
            cursor = format!("&cursor={}", page["nextCursor"].as_str().expect("a string"));
            if page["hasMore"] == false {
                break;
            }
            assert_eq!(items.len(), limit);
        }
        let distinct: BTreeSet<&String> = keys.iter().collect();
        assert_eq!((keys.len(), distinct.len()), (602, 602), "{limit}");
    }
    for limit in ["0", "1001", "x", "-1", "1.5", ""] {
        let refused = fixture.get(&first(), &format!("{READ}?limit={limit}")).await;
        assert_eq!((refused.status, refused.code()), (400, "SCHEMA_INVALID"), "{limit}");
        assert_eq!(refused.body["errors"][0]["pointer"], "/limit", "{limit}");
    }
}

/// FED-04: a feed page is also truncated at the limit, and the next page continues in all streams.
#[tokio::test]
async fn feed_page_is_truncated_at_its_limit() {
    let fixture = BackendFixture::unguarded().await;
    let start = fixture.get(&first(), READ).await.body["nextCursor"].as_str().expect("a string").to_owned();
    fixture.change(&first(), products().into_iter().map(add).collect()).await;
    fixture.defaults(vec!["BP_RIFLE", "BP_KNIFE", "BP_MANY_001"]).await;
    for limit in 1..=12 {
        let (mut keys, mut cursor) = (Vec::new(), start.clone());
        loop {
            let page = fixture.get(&first(), &format!("{READ}?limit={limit}&cursor={cursor}")).await.body;
            let list = |name: &str| page[name].as_array().expect("an array").clone();
            let entries: Vec<Value> = [list("items"), list("removed")].concat();
            assert!(entries.len() <= limit);
            keys.extend(entries.iter().map(|entry| entry["key"].as_str().expect("a string").to_owned()));
            cursor = page["nextCursor"].as_str().expect("a string").to_owned();
            if page["hasMore"] == false {
                break;
            }
            assert!(!entries.is_empty(), "a page with `hasMore` is not empty");
        }
        let distinct: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
        let expected = [
            "BP_ARMS",
            "BP_CORE",
            "BP_FLASK",
            "BP_HELMET",
            "BP_KNIFE",
            "BP_LAMP",
            "BP_LEGS",
            "BP_MANY_001",
            "BP_RIFLE",
        ];
        assert_eq!(distinct.into_iter().collect::<Vec<_>>(), expected, "{limit}");
    }
}

/// WRT-10, LIM-21: a client's first 25 removals within the rolling window are applied, and the 26th is held.
/// Five removals are held if they exceed a fifth of the entries.
#[tokio::test]
async fn guard_counts_removals_in_a_rolling_window() {
    let fixture = BackendFixture::new().await;
    let build_ops = |range: std::ops::Range<usize>, op: fn(&str) -> Value| -> Vec<Value> {
        range.map(|number| op(&format!("BP_MANY_{number:03}"))).collect()
    };
    assert_eq!(fixture.change(&first(), build_ops(0..300, add)).await.counts(), (300, 0, 0));
    assert_eq!(fixture.change(&first(), build_ops(0..20, remove)).await.status, 200);
    fixture.clock.advance(DAY - Duration::from_millis(1));
    assert_eq!(
        fixture.change(&second(), build_ops(20..25, remove)).await.status,
        200,
        "removals of all installations count"
    );
    assert_eq!(
        fixture.change(&first(), build_ops(25..26, remove)).await.code(),
        "MASS_CHANGE_CONFIRMATION_REQUIRED"
    );
    assert_eq!(
        fixture.change(&other_client(), build_ops(25..30, remove)).await.status,
        200,
        "removals of other clients do not count"
    );
    let again = fixture.change(&first(), [build_ops(30..31, remove), build_ops(30..31, add)].concat()).await;
    assert_eq!(again.status, 200, "a removal that the batch reverts does not count");
    fixture.clock.advance(Duration::from_millis(1));
    assert_eq!(
        fixture.change(&first(), build_ops(31..51, remove)).await.status,
        200,
        "20 of the 25 removals are a day old"
    );
    // Member two has two default blueprints in addition to these entries.
    for (held, removed, status) in [(22, 5, 409), (23, 5, 200)] {
        let fixture = BackendFixture::new().await;
        fixture.change(&other_member(), build_ops(0..held, add)).await;
        assert_eq!(fixture.change(&other_member(), build_ops(0..4, remove)).await.status, 200);
        let last = fixture.change(&other_member(), build_ops(4..removed, remove)).await;
        assert_eq!(last.status, status, "{removed} of {held} and 2");
    }
}
