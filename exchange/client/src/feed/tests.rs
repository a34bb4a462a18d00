//! The engine alone, page by page.

use std::collections::VecDeque;

use dpop_bound::UnixTime;
use exchange_api::{
    Contract,
    types::{Cursor, InstallationId, OrgStockLot, StockLot},
};
use proptest::prelude::*;

use super::{
    Action, Area, Feed, Input, Kept, PageEvent, Phase, Position, Reader, StuckBecause,
    model::{self, Model, THIS},
};
use crate::replica::{MemoryReplica, Outcome, Replica, ReplicaStore, check};

fn reader(installation: Option<&str>, details: bool) -> Reader {
    let installation = installation.map(|id| InstallationId::new(id).unwrap());
    Reader { installation, version: Some("1.0".into()), details }
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

/// One round: answers in order, `None` being 410; gives the cursors that were asked for, the events, and the end.
fn round(
    feed: &mut Feed<StockLot>,
    store: &MemoryReplica,
    reader: &Reader,
    answers: impl IntoIterator<Item = Option<String>>,
) -> (Vec<Option<String>>, Vec<PageEvent>, Option<Action>) {
    let mut answers: VecDeque<_> = answers.into_iter().collect();
    let (mut asked, mut events) = (Vec::new(), Vec::new());
    let mut input = Input::Go { kept: store.kept(Area::Stock).unwrap(), reader: reader.clone() };
    loop {
        let step = feed.handle(input).unwrap();
        events.extend(step.event);
        input = match step.action {
            Action::Read(from) => {
                asked.push(from.cursor().map(ToString::to_string));
                match answers.pop_front() {
                    None => return (asked, events, None),
                    Some(None) => Input::Expired,
                    Some(Some(page)) => Input::Page {
                        page: Box::new(Contract::parse_valid(page.as_bytes()).unwrap()),
                        asked_at: UnixTime::from_secs(50),
                    },
                }
            }
            Action::Commit(commit) => match store.commit(&commit).unwrap() {
                Outcome::Done(tally) => Input::Committed(tally),
                Outcome::Superseded(kept) => Input::Superseded(kept),
            },
            action => return (asked, events, Some(action)),
        };
    }
}

fn strings<'a>(cursors: impl IntoIterator<Item = &'a Option<String>>) -> Vec<&'a str> {
    cursors.into_iter().map(|cursor| cursor.as_deref().unwrap_or("-")).collect()
}

/// FED-03, FED-05, CON-07: every cursor is stored with its page and sent back as it came, also by another program
/// that goes on in the middle of a snapshot.
#[test]
fn a_round_goes_on_where_the_last_one_stopped() {
    let (store, me) = (MemoryReplica::default(), reader(Some(THIS), false));
    let (asked, ..) = round(
        &mut Feed::new(),
        &store,
        &me,
        [Some(page(&["a"], "z:9", true)), Some(page(&["b"], "a.1", true))],
    );
    assert_eq!(strings(&asked), ["-", "z:9", "a.1"]);
    assert!(matches!(store.kept(Area::Stock).unwrap().position, Position::Snapshot(_)));

    // FED-06: what changed since the snapshot began follows in the feed, which is read at once.
    let last = [Some(page(&["c"], "f-0", false)), Some(page(&["a"], "f-0", false))];
    let (asked, events, end) = round(&mut Feed::new(), &store, &me, last);
    assert_eq!((strings(&asked), matches!(end, Some(Action::Done))), (vec!["a.1", "f-0"], true));
    assert_eq!(
        events.iter().map(|event| (event.phase, event.complete)).collect::<Vec<_>>(),
        [(Phase::Snapshot, false), (Phase::Feed, true)]
    );
    assert!(events.iter().all(|event| !event.restarted));
    assert_eq!(store.count(Area::Stock).unwrap(), 3);

    let (asked, events, _) = round(
        &mut Feed::new(),
        &store,
        &me,
        [Some(page(&["d"], "f-1", true)), Some(page(&[], "f-1", false))],
    );
    assert_eq!(strings(&asked), ["f-0", "f-1"]);
    assert!(events.iter().all(|event| event.phase == Phase::Feed));
    assert_eq!(store.kept(Area::Stock).unwrap().position, Position::Feed(Cursor::new("f-1").unwrap()));
}

/// FED-09: a refused cursor is no error: a snapshot is read, and what it does not list goes with its last page.
#[test]
fn a_refused_cursor_is_a_new_snapshot() {
    let (store, me, mut feed) = (MemoryReplica::default(), reader(Some(THIS), false), Feed::new());
    round(&mut feed, &store, &me, [Some(page(&["a", "b"], "f-0", false))]);
    let answers = [None, Some(page(&["b"], "s-1", true)), None, Some(page(&["c"], "s-2", true))];
    let (asked, events, _) = round(&mut feed, &store, &me, answers);
    assert_eq!(strings(&asked), ["f-0", "-", "s-1", "-", "s-2"]);
    assert!(events.iter().all(|event| event.restarted && event.gone.is_empty()));
    assert_eq!(store.count(Area::Stock).unwrap(), 3, "nothing goes before the end");
    let last = [Some(page(&["d"], "f-1", false)), Some(page(&[], "f-1", false))];
    let (_, events, end) = round(&mut feed, &store, &me, last);
    assert!(matches!(end, Some(Action::Done)));
    assert_eq!(events[0].gone, ["a".into(), "b".into()], "b was seen in the snapshot that broke off alone");
}

/// FED-09: refusals without end are no expiry. One attempt is made whenever it is tried again.
#[test]
fn a_feed_that_refuses_everything_is_stuck() {
    let (store, me, mut feed) = (MemoryReplica::default(), reader(Some(THIS), false), Feed::new());
    round(&mut feed, &store, &me, [Some(page(&["a"], "f-0", false))]);
    let refused = |end| matches!(end, Some(Action::Stuck(StuckBecause::Refused)));
    let (asked, _, end) = round(&mut feed, &store, &me, [None, None, None, None]);
    assert_eq!((strings(&asked), refused(end)), (vec!["f-0", "-", "-"], true));
    let (asked, _, end) = round(&mut feed, &store, &me, [None]);
    assert_eq!((strings(&asked), refused(end)), (vec!["-"], true));
    let (_, events, end) = round(&mut feed, &store, &me, [Some(page(&["b"], "f-1", false))]);
    assert!(matches!(end, Some(Action::Done)) && events[0].restarted);

    // Snapshots that never end, with pages in between.
    let broken = (0..20).flat_map(|at| [None, Some(page(&["a"], &format!("s-{at}"), true))]);
    let (asked, _, end) = round(&mut feed, &store, &me, broken);
    assert_eq!((asked.len(), refused(end)), (15, true));
}

/// FED-05: more without going on is a circle; a page that moves, or brings something, is none.
#[test]
fn a_feed_that_does_not_go_on_is_stuck() {
    let (store, me, mut feed) = (MemoryReplica::default(), reader(Some(THIS), false), Feed::new());
    round(&mut feed, &store, &me, [Some(page(&["a"], "f-0", false))]);
    let same = |keys: &[&str]| Some(page(keys, "f-0", true));
    let stuck = |end| matches!(end, Some(Action::Stuck(StuckBecause::Still)));
    let (asked, _, end) =
        round(&mut feed, &store, &me, [same(&[]), same(&["b"]), same(&[]), same(&[]), same(&[])]);
    assert_eq!((asked.len(), stuck(end)), (5, true));
    let (asked, _, end) = round(&mut feed, &store, &me, [same(&[])]);
    assert_eq!((asked.len(), stuck(end)), (1, true), "once for each try");
    let (_, _, end) = round(&mut feed, &store, &me, [Some(page(&[], "f-1", false))]);
    assert!(matches!(end, Some(Action::Done)));
    let (asked, _, end) =
        round(&mut feed, &store, &me, (0..1000).map(|at| Some(page(&[], &format!("f-{at}"), true))));
    assert_eq!((asked.len(), stuck(end)), (256, true));
}

/// FED-05: places that come again are a circle, whatever is on their pages and however many they are: no other area waits
/// for the end of it.
#[test]
fn a_feed_that_turns_in_a_circle_is_stuck() {
    let stuck = |end| matches!(end, Some(Action::Stuck(StuckBecause::Still)));
    for places in [2, 3, 100] {
        let (store, me, mut feed) = (MemoryReplica::default(), reader(Some(THIS), false), Feed::new());
        round(&mut feed, &store, &me, [Some(page(&["a"], "f-0", false))]);
        let circle = || (0..1000).map(|at| Some(page(&["a"], &format!("c-{}", at % places), true)));
        let (asked, _, end) = round(&mut feed, &store, &me, circle());
        assert_eq!((asked.len(), stuck(end)), (places + 256, true));
        let (asked, _, end) = round(&mut feed, &store, &me, circle());
        assert_eq!((asked.len(), stuck(end)), (1, true), "once for each try");
        let (_, _, end) = round(&mut feed, &store, &me, [Some(page(&[], "f-1", false))]);
        assert!(matches!(end, Some(Action::Done)));
        // Whatever comes again in another round is none.
        for _ in 0..300 {
            let answers = [Some(page(&["a"], "c-0", true)), Some(page(&["a"], "f-1", false))];
            let (_, _, end) = round(&mut feed, &store, &me, answers);
            assert!(matches!(end, Some(Action::Done)));
        }
    }
}

/// A position is worth nothing to another installation, and its entries are not shown to it.
#[test]
fn another_installation_starts_from_nothing() {
    let (store, me) = (MemoryReplica::default(), reader(Some(THIS), false));
    round(&mut Feed::new(), &store, &me, [Some(page(&["a"], "f-0", false))]);
    // One that cannot be told is no other one.
    let (asked, ..) = round(&mut Feed::new(), &store, &reader(None, false), []);
    assert_eq!(strings(&asked), ["f-0"]);
    let other = reader(Some("another"), false);
    let (asked, events, _) = round(&mut Feed::new(), &store, &other, []);
    assert_eq!((strings(&asked), store.count(Area::Stock).unwrap()), (vec!["-"], 0));
    assert_eq!(events[0].gone, ["a".into()]);
    assert_eq!(store.kept(Area::Stock).unwrap().position, Position::Start);
}

/// A later version of the interface may show more of every entry.
#[test]
fn a_new_version_of_the_interface_is_read_anew() {
    let (store, me) = (MemoryReplica::default(), reader(Some(THIS), false));
    round(&mut Feed::new(), &store, &me, [Some(page(&["a"], "f-0", false))]);
    let newer = Reader { version: Some("1.1".into()), ..me };
    let (asked, events, _) = round(&mut Feed::new(), &store, &newer, [Some(page(&["a"], "f-1", false))]);
    assert_eq!((strings(&asked), events[0].restarted), (vec!["-"], true));
    let (asked, ..) = round(&mut Feed::new(), &store, &newer, []);
    assert_eq!(strings(&asked), ["f-1"]);
}

/// OST-10: details gained are read in a new snapshot; lost, they go before anything is read, and the lots stay.
#[test]
fn details_come_and_go_with_their_scope() {
    let (replica, mut model) = (Replica::in_memory(), Model::new(Area::OrgStock));
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

    // Lost: the first thing that happens, before a page is asked for.
    let mut feed = Feed::<OrgStockLot>::new();
    let kept = replica.store().kept(Area::OrgStock).unwrap();
    let Action::Commit(commit) =
        feed.handle(Input::Go { kept, reader: reader(Some(THIS), false) }).unwrap().action
    else {
        panic!("the details go first");
    };
    let Outcome::Done(tally) = replica.store().commit(&commit).unwrap() else {
        panic!("nobody else commits")
    };
    assert_eq!(has(&replica), [false, false]);
    let step = feed.handle(Input::Committed(tally)).unwrap();
    assert_eq!(step.event.unwrap().changed, ["a1".into(), "b1".into()]);
    assert!(matches!(step.action, Action::Read(Position::Feed(_))), "the feed goes on");
}

/// OST-05: a unit that is not listed is gone with its lots, without a tombstone, in the same commit.
#[test]
fn a_unit_that_is_left_goes_with_its_lots() {
    let (replica, mut model) = (Replica::in_memory(), Model::new(Area::OrgStock));
    for key in ["a1", "a2", "b1"] {
        model.put(key, 1);
    }
    model::read_all::<OrgStockLot>(&replica, &mut model, 10);
    model.turn_unit('a');
    let events = model::read_all::<OrgStockLot>(&replica, &mut model, 10);
    assert_eq!((events.len(), &events[0].gone), (1, &vec!["a1".into(), "a2".into()]));
    assert_eq!(replica.count(Area::OrgStock).unwrap(), 1);
}

/// TYP-16: what this installation removed is told as its own, and remembered as that.
#[test]
fn own_removals_are_told_apart() {
    let (replica, mut model) = (Replica::in_memory(), Model::new(Area::Ships));
    model.put("s1", 1);
    model.put("s2", 1);
    model::read_all::<exchange_api::types::Ship>(&replica, &mut model, 10);
    model.remove("s1", true);
    model.remove("s2", false);
    let events = model::read_all::<exchange_api::types::Ship>(&replica, &mut model, 10);
    let own: Vec<_> = events[0].removed.iter().map(|change| (&*change.key, change.own)).collect();
    assert_eq!(own, [("s1", true), ("s2", false)]);
    assert!(replica.removal(Area::Ships, "s1").unwrap().unwrap().own);
    assert!(!replica.removal(Area::Ships, "s2").unwrap().unwrap().own);
}

/// What was not asked for changes nothing.
#[test]
fn what_was_not_asked_for_is_ignored() {
    let mut feed = Feed::<StockLot>::new();
    assert!(matches!(feed.handle(Input::Expired).unwrap().action, Action::Ignore));
    let go = Input::Go { kept: Kept::default(), reader: Reader::default() };
    assert!(matches!(feed.handle(go).unwrap().action, Action::Read(Position::Start)));
    assert!(matches!(feed.handle(Input::Superseded(Kept::default())).unwrap().action, Action::Ignore));
    assert!(matches!(feed.handle(Input::Expired).unwrap().action, Action::Read(Position::Start)));
}

/// The store in memory is one.
#[test]
fn the_store_in_memory_does_what_every_store_must() {
    check::store(MemoryReplica::default, |store| store);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// FED-06, FED-09, OST-05, OST-10: whatever happens in whatever order, the replica is what the exchange was
    /// when a page reached the end, and in the end what it is.
    #[test]
    fn any_order_of_edits_pages_and_kills_gives_the_servers_state(
        moves in proptest::collection::vec(any::<(u8, u8, u8)>(), 0..120),
    ) {
        model::play(MemoryReplica::default(), |store| store, moves);
    }
}
