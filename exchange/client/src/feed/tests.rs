//! Tests of the state machine, which process a feed page by page.

use std::collections::VecDeque;

use dpop_bound::UnixTime;
use exchange_api::{
    Contract,
    types::{Cursor, InstallationId, OrgStockLot, StockLot},
};
use proptest::prelude::*;

use super::{
    Area, AreaState, Feed, FeedAction, FeedInput, FeedPhase, FeedPosition, FeedReader, LoopReason, PageEvent,
    model::{self, ExchangeModel, THIS_INSTALLATION},
};
use crate::replica::{CommitOutcome, MemoryReplica, Replica, ReplicaStore, check};

fn reader(installation: Option<&str>, details: bool) -> FeedReader {
    let installation = installation.map(|id| InstallationId::new(id).unwrap());
    FeedReader { installation, version: Some("1.0".into()), details }
}

fn page(keys: &[&str], cursor: &str, more: bool) -> String {
    let lot = |key: &&str| {
        format!(
            r#"{{"material":{{"bt":"m","name":"M"}},"location":{{"name":"L"}},"quality":0,"stolen":false,"quantity":{{"amount":1,"unit":"SCU"}},"key":"{key}"}}"#
        )
    };
    let items: Vec<_> = keys.iter().map(lot).collect();
    format!(r#"{{"items":[{}],"removed":[],"nextCursor":"{cursor}","hasMore":{more}}}"#, items.join(","))
}

/// Runs one round with these responses, where `None` stands for status 410. Returns the requested cursors,
/// the events and the last action.
fn round(
    feed: &mut Feed<StockLot>,
    store: &MemoryReplica,
    reader: &FeedReader,
    responses: impl IntoIterator<Item = Option<String>>,
) -> (Vec<Option<String>>, Vec<PageEvent>, Option<FeedAction>) {
    let mut responses: VecDeque<_> = responses.into_iter().collect();
    let (mut requests, mut events) = (Vec::new(), Vec::new());
    let mut input =
        FeedInput::Begin { area_state: store.area_state(Area::Stock).unwrap(), reader: reader.clone() };
    loop {
        let step = feed.handle_input(input).unwrap();
        events.extend(step.event);
        input = match step.action {
            FeedAction::Read(from) => {
                requests.push(from.cursor().map(ToString::to_string));
                match responses.pop_front() {
                    None => return (requests, events, None),
                    Some(None) => FeedInput::Expired,
                    Some(Some(page)) => FeedInput::Page {
                        page: Box::new(Contract::parse_valid(page.as_bytes()).unwrap()),
                        asked_at: UnixTime::from_secs(50),
                    },
                }
            }
            FeedAction::Commit(commit) => match store.commit(&commit).unwrap() {
                CommitOutcome::Done(tally) => FeedInput::Committed(tally),
                CommitOutcome::Superseded(area_state) => FeedInput::Superseded(area_state),
            },
            action => return (requests, events, Some(action)),
        };
    }
}

fn strings<'a>(cursors: impl IntoIterator<Item = &'a Option<String>>) -> Vec<&'a str> {
    cursors.into_iter().map(|cursor| cursor.as_deref().unwrap_or("-")).collect()
}

/// FED-03, FED-05, CON-07: each cursor is stored with its page and sent back unchanged, even after a restart
/// within a snapshot.
#[test]
fn round_continues_at_the_stored_cursor() {
    let (store, me) = (MemoryReplica::default(), reader(Some(THIS_INSTALLATION), false));
    let (requests, ..) = round(
        &mut Feed::new(),
        &store,
        &me,
        [Some(page(&["a"], "z:9", true)), Some(page(&["b"], "a.1", true))],
    );
    assert_eq!(strings(&requests), ["-", "z:9", "a.1"]);
    assert!(matches!(store.area_state(Area::Stock).unwrap().position, FeedPosition::Snapshot(_)));

    // FED-06: the changes since the start of the snapshot follow in the feed, which is read immediately.
    let last = [Some(page(&["c"], "f-0", false)), Some(page(&["a"], "f-0", false))];
    let (requests, events, end) = round(&mut Feed::new(), &store, &me, last);
    assert_eq!((strings(&requests), matches!(end, Some(FeedAction::Done))), (vec!["a.1", "f-0"], true));
    assert_eq!(
        events.iter().map(|event| (event.phase, event.complete)).collect::<Vec<_>>(),
        [(FeedPhase::Snapshot, false), (FeedPhase::Feed, true)]
    );
    assert!(events.iter().all(|event| !event.restarted));
    assert_eq!(store.count(Area::Stock).unwrap(), 3);

    let (requests, events, _) = round(
        &mut Feed::new(),
        &store,
        &me,
        [Some(page(&["d"], "f-1", true)), Some(page(&[], "f-1", false))],
    );
    assert_eq!(strings(&requests), ["f-0", "f-1"]);
    assert!(events.iter().all(|event| event.phase == FeedPhase::Feed));
    assert_eq!(
        store.area_state(Area::Stock).unwrap().position,
        FeedPosition::Feed(Cursor::new("f-1").unwrap())
    );
}

/// FED-09: a refused cursor starts a snapshot. Entries that the snapshot does not contain are removed with
/// its last page.
#[test]
fn rejected_cursor_starts_a_snapshot() {
    let (store, me, mut feed) =
        (MemoryReplica::default(), reader(Some(THIS_INSTALLATION), false), Feed::new());
    round(&mut feed, &store, &me, [Some(page(&["a", "b"], "f-0", false))]);
    let responses = [None, Some(page(&["b"], "s-1", true)), None, Some(page(&["c"], "s-2", true))];
    let (requests, events, _) = round(&mut feed, &store, &me, responses);
    assert_eq!(strings(&requests), ["f-0", "-", "s-1", "-", "s-2"]);
    assert!(events.iter().all(|event| event.restarted && event.gone.is_empty()));
    assert_eq!(store.count(Area::Stock).unwrap(), 3, "an entry was removed before the end");
    let last = [Some(page(&["d"], "f-1", false)), Some(page(&[], "f-1", false))];
    let (_, events, end) = round(&mut feed, &store, &me, last);
    assert!(matches!(end, Some(FeedAction::Done)));
    assert_eq!(events[0].gone, ["a".into(), "b".into()], "b was only in the interrupted snapshot");
}

/// FED-09: if the exchange refuses every cursor, the feed is stuck, and each later round makes one attempt.
#[test]
fn endless_cursor_rejections_are_stuck() {
    let (store, me, mut feed) =
        (MemoryReplica::default(), reader(Some(THIS_INSTALLATION), false), Feed::new());
    round(&mut feed, &store, &me, [Some(page(&["a"], "f-0", false))]);
    let refused = |end| matches!(end, Some(FeedAction::Stuck(LoopReason::CursorsRefused)));
    let (requests, _, end) = round(&mut feed, &store, &me, [None, None, None, None]);
    assert_eq!((strings(&requests), refused(end)), (vec!["f-0", "-", "-"], true));
    let (requests, _, end) = round(&mut feed, &store, &me, [None]);
    assert_eq!((strings(&requests), refused(end)), (vec!["-"], true));
    let (_, events, end) = round(&mut feed, &store, &me, [Some(page(&["b"], "f-1", false))]);
    assert!(matches!(end, Some(FeedAction::Done)) && events[0].restarted);

    // The feed is also stuck if snapshots return pages but never reach their end.
    let broken = (0..20).flat_map(|at| [None, Some(page(&["a"], &format!("s-{at}"), true))]);
    let (requests, _, end) = round(&mut feed, &store, &me, broken);
    assert_eq!((requests.len(), refused(end)), (15, true));
}

/// FED-05: `hasMore` without progress is a loop. A page with a new cursor or with entries is progress.
#[test]
fn feed_without_progress_is_stuck() {
    let (store, me, mut feed) =
        (MemoryReplica::default(), reader(Some(THIS_INSTALLATION), false), Feed::new());
    round(&mut feed, &store, &me, [Some(page(&["a"], "f-0", false))]);
    let same = |keys: &[&str]| Some(page(keys, "f-0", true));
    let stuck = |end| matches!(end, Some(FeedAction::Stuck(LoopReason::NoProgress)));
    let (requests, _, end) =
        round(&mut feed, &store, &me, [same(&[]), same(&["b"]), same(&[]), same(&[]), same(&[])]);
    assert_eq!((requests.len(), stuck(end)), (5, true));
    let (requests, _, end) = round(&mut feed, &store, &me, [same(&[])]);
    assert_eq!((requests.len(), stuck(end)), (1, true), "one request per round");
    let (_, _, end) = round(&mut feed, &store, &me, [Some(page(&[], "f-1", false))]);
    assert!(matches!(end, Some(FeedAction::Done)));
    let (requests, _, end) =
        round(&mut feed, &store, &me, (0..1000).map(|at| Some(page(&[], &format!("f-{at}"), true))));
    assert_eq!((requests.len(), stuck(end)), (256, true));
}

/// FED-05: a feed that repeats its cursors is in a loop, whatever its pages contain. It ends, so that it does
/// not delay other areas.
#[test]
fn circular_feed_is_stuck() {
    let stuck = |end| matches!(end, Some(FeedAction::Stuck(LoopReason::NoProgress)));
    for places in [2, 3, 100] {
        let (store, me, mut feed) =
            (MemoryReplica::default(), reader(Some(THIS_INSTALLATION), false), Feed::new());
        round(&mut feed, &store, &me, [Some(page(&["a"], "f-0", false))]);
        let circle = || (0..1000).map(|at| Some(page(&["a"], &format!("c-{}", at % places), true)));
        let (requests, _, end) = round(&mut feed, &store, &me, circle());
        assert_eq!((requests.len(), stuck(end)), (places + 256, true));
        let (requests, _, end) = round(&mut feed, &store, &me, circle());
        assert_eq!((requests.len(), stuck(end)), (1, true), "one request per round");
        let (_, _, end) = round(&mut feed, &store, &me, [Some(page(&[], "f-1", false))]);
        assert!(matches!(end, Some(FeedAction::Done)));
        // A cursor that repeats in a later round is not a loop.
        for _ in 0..300 {
            let responses = [Some(page(&["a"], "c-0", true)), Some(page(&["a"], "f-1", false))];
            let (_, _, end) = round(&mut feed, &store, &me, responses);
            assert!(matches!(end, Some(FeedAction::Done)));
        }
    }
}

/// If another installation reads the feed, the position is invalid and the stored entries are deleted.
#[test]
fn another_installation_starts_empty() {
    let (store, me) = (MemoryReplica::default(), reader(Some(THIS_INSTALLATION), false));
    round(&mut Feed::new(), &store, &me, [Some(page(&["a"], "f-0", false))]);
    // An unknown installation is not treated as a different one.
    let (requests, ..) = round(&mut Feed::new(), &store, &reader(None, false), []);
    assert_eq!(strings(&requests), ["f-0"]);
    let other = reader(Some("another"), false);
    let (requests, events, _) = round(&mut Feed::new(), &store, &other, []);
    assert_eq!((strings(&requests), store.count(Area::Stock).unwrap()), (vec!["-"], 0));
    assert_eq!(events[0].gone, ["a".into()]);
    assert_eq!(store.area_state(Area::Stock).unwrap().position, FeedPosition::Start);
}

/// A new API version starts a snapshot, because it may return more fields of each entry.
#[test]
fn new_api_version_restarts_the_feed() {
    let (store, me) = (MemoryReplica::default(), reader(Some(THIS_INSTALLATION), false));
    round(&mut Feed::new(), &store, &me, [Some(page(&["a"], "f-0", false))]);
    let newer = FeedReader { version: Some("1.1".into()), ..me };
    let (requests, events, _) = round(&mut Feed::new(), &store, &newer, [Some(page(&["a"], "f-1", false))]);
    assert_eq!((strings(&requests), events[0].restarted), (vec!["-"], true));
    let (requests, ..) = round(&mut Feed::new(), &store, &newer, []);
    assert_eq!(strings(&requests), ["f-1"]);
}

/// OST-10: after access to details is gained, they are read in a new snapshot. After it is lost, stored
/// details are deleted before any page is requested.
#[test]
fn details_follow_their_scope() {
    let (replica, mut model) = (Replica::in_memory(), ExchangeModel::new(Area::OrgStock));
    model.put("a1", 1);
    model.put("b1", 2);
    let has =
        |replica: &Replica| replica.org_stock().map(|lot| lot.unwrap().entries.is_some()).collect::<Vec<_>>();
    model::read_all::<OrgStockLot>(&replica, &mut model, 1);
    assert_eq!(has(&replica), [false, false]);
    model.details = true;
    let events = model::read_all::<OrgStockLot>(&replica, &mut model, 1);
    assert!(events[0].restarted);
    assert_eq!(has(&replica), [true, true]);

    // After the loss of access, details are deleted before a page is requested.
    let mut feed = Feed::<OrgStockLot>::new();
    let area_state = replica.store().area_state(Area::OrgStock).unwrap();
    let FeedAction::Commit(commit) = feed
        .handle_input(FeedInput::Begin { area_state, reader: reader(Some(THIS_INSTALLATION), false) })
        .unwrap()
        .action
    else {
        panic!("the details are deleted first");
    };
    let CommitOutcome::Done(tally) = replica.store().commit(&commit).unwrap() else {
        panic!("there is no other writer")
    };
    assert_eq!(has(&replica), [false, false]);
    let step = feed.handle_input(FeedInput::Committed(tally)).unwrap();
    assert_eq!(step.event.unwrap().changed, ["a1".into(), "b1".into()]);
    assert!(matches!(step.action, FeedAction::Read(FeedPosition::Feed(_))), "the feed continues");
}

/// OST-05: when a unit is missing from `units`, its stock lots are deleted in the same commit, without
/// tombstones.
#[test]
fn lots_of_a_left_unit_are_deleted() {
    let (replica, mut model) = (Replica::in_memory(), ExchangeModel::new(Area::OrgStock));
    for key in ["a1", "a2", "b1"] {
        model.put(key, 1);
    }
    model::read_all::<OrgStockLot>(&replica, &mut model, 10);
    model.toggle_unit('a');
    let events = model::read_all::<OrgStockLot>(&replica, &mut model, 10);
    assert_eq!((events.len(), &events[0].gone), (1, &vec!["a1".into(), "a2".into()]));
    assert_eq!(replica.count(Area::OrgStock).unwrap(), 1);
}

/// TYP-16: removals by this installation are reported and stored with `is_own`.
#[test]
fn own_removals_are_distinguished() {
    let (replica, mut model) = (Replica::in_memory(), ExchangeModel::new(Area::Ships));
    model.put("s1", 1);
    model.put("s2", 1);
    model::read_all::<exchange_api::types::Ship>(&replica, &mut model, 10);
    model.remove("s1", true);
    model.remove("s2", false);
    let events = model::read_all::<exchange_api::types::Ship>(&replica, &mut model, 10);
    let removals: Vec<_> = events[0].removed.iter().map(|change| (&*change.key, change.is_own)).collect();
    assert_eq!(removals, [("s1", true), ("s2", false)]);
    assert!(replica.removal(Area::Ships, "s1").unwrap().unwrap().is_own);
    assert!(!replica.removal(Area::Ships, "s2").unwrap().unwrap().is_own);
}

/// An input that does not match the pending action changes nothing.
#[test]
fn unexpected_input_is_ignored() {
    let mut feed = Feed::<StockLot>::new();
    assert!(matches!(feed.handle_input(FeedInput::Expired).unwrap().action, FeedAction::Ignore));
    let go = FeedInput::Begin { area_state: AreaState::default(), reader: FeedReader::default() };
    assert!(matches!(feed.handle_input(go).unwrap().action, FeedAction::Read(FeedPosition::Start)));
    assert!(matches!(
        feed.handle_input(FeedInput::Superseded(AreaState::default())).unwrap().action,
        FeedAction::Ignore
    ));
    assert!(matches!(
        feed.handle_input(FeedInput::Expired).unwrap().action,
        FeedAction::Read(FeedPosition::Start)
    ));
}

/// The in-memory store passes the conformance checks.
#[test]
fn memory_store_passes_conformance_checks() {
    check::check_store(MemoryReplica::default, |store| store);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// FED-06, FED-09, OST-05, OST-10: for any order of events, the replica equals the state of the exchange
    /// whenever a page reaches the end of the feed, and at the end of the run.
    #[test]
    fn replica_converges_for_any_order_of_events(
        moves in proptest::collection::vec(any::<(u8, u8, u8)>(), 0..120),
    ) {
        model::run_moves(MemoryReplica::default(), |store| store, moves);
    }
}
