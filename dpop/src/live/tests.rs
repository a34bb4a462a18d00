//! Live proofs: tables of named cases, the grid of replays, and what memory they take.

use super::*;

/// 2026-01-15, a whole second.
const T0: u64 = 1_768_435_200;
const KEY: Thumbprint = Thumbprint::from_bytes([1; 32]);
const SECOND: i64 = 1_000_000_000;

/// Nanoseconds after `T0`.
fn at(nanos: i64) -> UnixTime {
    let by = Duration::from_nanos(nanos.unsigned_abs());
    let start = UnixTime::from_secs(T0);
    if nanos < 0 { start.saturating_sub(by) } else { start + by }
}

pub(super) fn secs(secs: i64) -> UnixTime {
    at(secs * SECOND)
}

/// The exchange's gateway: LIM-10, LIM-06.
pub(super) const WINDOW: Window = Window::seconds(30, 30);
const GATEWAY: Caps = Caps { per_account: 600, per_source: 600, total: 100_000 };

/// A proof of Ada's, issued so many seconds after `T0`.
pub(super) fn proof(jti: &str, iat: i64) -> Candidate<'_> {
    let iat = T0.saturating_add_signed(iat);
    Candidate { key: &KEY, jti, holder: Holder::Account("ada"), iat }
}

fn of<'a>(account: &'a str, proof: Candidate<'a>) -> Candidate<'a> {
    Candidate { holder: Holder::Account(account), ..proof }
}

fn from<'a>(source: Holder<'a>, proof: Candidate<'a>) -> Candidate<'a> {
    Candidate { holder: source, ..proof }
}

/// A host of its own for each number, each with all of its addresses.
fn source(host: u16, address: u16) -> Holder<'static> {
    Holder::Source { address: [0x2001, 0xdb8, 0, host, 0, 0, 0, address].into(), client: "client" }
}

pub(super) fn caps(per_account: usize, total: usize) -> LiveProofs {
    LiveProofs::new(WINDOW, Caps { per_account, per_source: per_account, total })
}

type Answer = Result<(), LiveRefusal>;

/// The proofs in this order at these times, with their answers and how many are live after each.
#[track_caller]
fn check(live: &mut LiveProofs, rows: &[(&str, Candidate<'_>, UnixTime, Answer, usize)]) {
    for (name, proof, now, answer, count) in rows {
        assert_eq!(live.admit(proof, *now), *answer, "{name}");
        assert_eq!(live.live(), *count, "{name}");
    }
}

/// DPP-18, ERR-09, ERR-10: how long to wait behind one proof, as `Retry-After` has it, and that waiting
/// so long is enough and a nanosecond less is not.
#[test]
fn the_wait_ends_just_after_the_end() {
    let nano = Duration::from_nanos(1);
    // Issued at (s), now (ns), to the end, `Retry-After`.
    let rows = [
        ("issued now", 0, 0, Duration::from_secs(30), 31),
        ("issued now, sub-second", 0, SECOND / 2, Duration::from_millis(29_500), 30),
        ("a nanosecond into the second", 0, 1, Duration::from_secs(30) - nano, 30),
        ("a nanosecond before the second", 1, -1, Duration::from_secs(31) + nano, 32),
        ("30 s ahead", 30, 0, Duration::from_secs(60), 61),
        ("29 s ago", -29, 0, Duration::from_secs(1), 2),
        ("29 s ago and a nanosecond", -29, 1, Duration::from_secs(1) - nano, 1),
        ("a millisecond before its end", -30, -SECOND / 1000, Duration::from_millis(1), 1),
        ("at its end", -30, 0, Duration::ZERO, 1),
    ];
    for (name, iat, now, to_end, retry_after) in rows {
        let wait = to_end + nano;
        for (mut live, refused) in
            [(caps(1, 9), LiveRefusal::AccountFull { wait }), (caps(9, 1), LiveRefusal::Full { wait })]
        {
            assert_eq!(refused.retry_after(), Some(retry_after), "{name}");
            let last = LiveRefusal::AccountFull { wait: nano };
            let last = if live.caps.total == 1 { LiveRefusal::Full { wait: nano } } else { last };
            let (first, second, third) =
                (proof("first", iat), proof("second", iat), proof("third", iat + 30));
            let end = at(now) + to_end;
            check(
                &mut live,
                &[
                    (name, first, at(now), Ok(()), 1),
                    (name, second, at(now), Err(refused), 1),
                    (name, second, end, Err(last), 1),
                    (name, first, end, Err(LiveRefusal::Replayed), 1),
                    (name, first, end + nano, Err(LiveRefusal::Expired), 0),
                    (name, third, at(now) + wait, Ok(()), 1),
                    (name, first, at(now) + wait, Err(LiveRefusal::Expired), 1),
                ],
            );
        }
    }
}

/// DPP-18: a proof is admitted up to its end and not after.
#[test]
fn a_proof_counts_up_to_its_end() {
    let rows = [
        ("issued now", 0, 0, Ok(())),
        ("at its end", 0, 30 * SECOND, Ok(())),
        ("a nanosecond after its end", 0, 30 * SECOND + 1, Err(LiveRefusal::Expired)),
        ("a millisecond after its end", 0, 30 * SECOND + SECOND / 1000, Err(LiveRefusal::Expired)),
        ("an hour after its end", 0, 3600 * SECOND, Err(LiveRefusal::Expired)),
        ("as far ahead as may be", 30, 0, Ok(())),
        ("further ahead", 31, 0, Err(LiveRefusal::TooFarAhead)),
        ("further ahead by a nanosecond", 30, -1, Err(LiveRefusal::TooFarAhead)),
        ("the greatest `iat`", i64::MAX, 0, Err(LiveRefusal::TooFarAhead)),
        ("the epoch", -(T0.cast_signed()), 0, Err(LiveRefusal::Expired)),
    ];
    for (name, iat, now, answer) in rows {
        check(&mut caps(9, 9), &[(name, proof("a", iat), at(now), answer, usize::from(answer.is_ok()))]);
    }
    let longest = Window { past: Duration::MAX, future: Duration::MAX };
    for iat in [0, u64::MAX] {
        let mut live = LiveProofs::new(longest, GATEWAY);
        let ever = Candidate { iat, ..proof("a", 0) };
        let rows = [("ever", ever, at(0), Ok(()), 1), ("again", ever, at(9), Err(LiveRefusal::Replayed), 1)];
        check(&mut live, &rows);
    }
    for refused in [LiveRefusal::Replayed, LiveRefusal::Expired, LiveRefusal::TooFarAhead] {
        assert_eq!(refused.retry_after(), None, "{refused}");
    }
}

/// DPP-18: the same proof again, every half second of the 61 s after it was admitted, for every second of
/// the window it may have been issued in.
#[test]
fn a_replay_is_refused_at_every_offset() {
    for iat in -30..=30 {
        for offset in 0..=2 * 61 {
            let mut live = caps(9, 9);
            let now = at(offset * SECOND / 2);
            let answer = if now <= secs(iat + 30) { LiveRefusal::Replayed } else { LiveRefusal::Expired };
            live.admit(&proof("a", iat), at(0)).unwrap();
            assert_eq!(
                live.admit(&proof("a", iat), now),
                Err(answer),
                "issued at {iat} s, again at {offset}/2 s"
            );
        }
    }
}

/// DPP-18, DPP-19: names are of one key, and other `iat`s make no other proof.
#[test]
fn a_jti_belongs_to_a_key() {
    let (other, nul) = (Thumbprint::from_bytes([2; 32]), "a\0");
    let full = Duration::from_secs(30) + Duration::from_nanos(1);
    check(
        &mut caps(3, 9),
        &[
            ("one key", proof("a", 0), at(0), Ok(()), 1),
            ("another key", Candidate { key: &other, ..proof("a", 0) }, at(0), Ok(()), 2),
            ("issued later", proof("a", 1), at(0), Err(LiveRefusal::Replayed), 2),
            ("of another member", of("bob", proof("a", 0)), at(0), Err(LiveRefusal::Replayed), 2),
            ("of a source", from(source(1, 1), proof("a", 0)), at(0), Err(LiveRefusal::Replayed), 2),
            ("longer", proof(nul, 0), at(0), Ok(()), 3),
            ("a replay where there is no room", proof("a", 0), at(0), Err(LiveRefusal::Replayed), 3),
            (
                "a new one where there is no room",
                proof("b", 0),
                at(0),
                Err(LiveRefusal::AccountFull { wait: full }),
                3,
            ),
            ("used again when it is forgotten", proof("a", 31), secs(31), Ok(()), 1),
        ],
    );
}

/// DPP-18: what a clock does that steps back.
#[test]
fn nothing_forgotten_is_admitted_again() {
    check(
        &mut caps(9, 9),
        &[
            ("ends at 30", proof("a", 0), at(0), Ok(()), 1),
            ("ends at 40", proof("b", 10), at(0), Ok(()), 2),
            ("the first is forgotten", proof("c", 20), at(30 * SECOND + 1), Ok(()), 2),
            ("back: the forgotten one", proof("a", 0), secs(20), Err(LiveRefusal::Expired), 2),
            ("back: a new one with its end", proof("d", 0), secs(20), Err(LiveRefusal::Expired), 2),
            ("back: one that is held", proof("b", 10), secs(20), Err(LiveRefusal::Replayed), 2),
            ("back: a new one, later", proof("e", 1), secs(20), Ok(()), 3),
            ("as in order of time", proof("e", 1), secs(31), Err(LiveRefusal::Replayed), 3),
            ("forgotten as well", proof("e", 1), at(31 * SECOND + 1), Err(LiveRefusal::Expired), 2),
        ],
    );
}

/// DPP-18, LIM-06: a step back puts the later of two ends out of reach. Its room is free, the earlier one is
/// still the one to wait for, and the proof is not admitted again.
#[test]
fn an_end_out_of_reach_gives_its_room_back() {
    let wait = Duration::from_secs(60) + Duration::from_nanos(1);
    let early = Err(LiveRefusal::TooFarAhead);
    check(
        &mut caps(2, 9),
        &[
            ("ends at 30", proof("a", 0), at(0), Ok(()), 1),
            ("ends at 60", proof("b", 30), at(0), Ok(()), 2),
            ("back by 61 s, and there is room", proof("c", -31), secs(-61), Ok(()), 2),
            ("behind the first", proof("d", -31), secs(-61), Err(LiveRefusal::AccountFull { wait }), 2),
            ("not in the window yet", proof("b", 30), secs(-61), early, 2),
            ("in reach again", proof("b", 30), secs(0), Err(LiveRefusal::Expired), 1),
            ("just before its end", proof("b", 30), secs(31), Err(LiveRefusal::Expired), 0),
            ("others count as ever", proof("e", 31), secs(31), Ok(()), 1),
        ],
    );
    check(
        &mut caps(9, 9),
        &[
            ("ends at 60", proof("b", 30), at(0), Ok(()), 1),
            ("back by 60 s: not in the window yet", proof("b", 30), secs(-60), early, 1),
            ("known as itself", proof("b", 30), at(0), Err(LiveRefusal::Replayed), 1),
        ],
    );
}

/// DPP-18, LIM-06: a clock a year ahead for an hour. Neither cap stays exhausted, the time in between is
/// open, and a year later what was admitted in that hour is still refused.
#[test]
fn a_clock_far_ahead_is_recovered_from() {
    let year = 365 * 86_400;
    let new: Vec<String> = (0..9).map(|i| format!("new {i}")).collect();
    let new = |i: usize, iat| proof(&new[i], iat);
    let full =
        |secs| Err(LiveRefusal::AccountFull { wait: Duration::from_secs(secs) + Duration::from_nanos(1) });
    check(
        &mut caps(2, 2),
        &[
            ("before", proof("a", 0), at(0), Ok(()), 1),
            ("before, ahead", proof("b", 30), at(0), Ok(()), 2),
            ("a year ahead: an old proof", new(0, 0), secs(year), Err(LiveRefusal::Expired), 0),
            ("a year ahead: a proof of that time", proof("c", year), secs(year), Ok(()), 1),
            ("a year ahead: another", proof("d", year + 5), secs(year + 5), Ok(()), 2),
            ("a year ahead: no room", new(0, year + 5), secs(year + 5), full(25), 2),
            ("back: there is room", new(1, 11), secs(11), Ok(()), 1),
            ("back: what was forgotten", proof("a", 0), secs(11), Err(LiveRefusal::Expired), 1),
            ("back: what was forgotten, ahead", proof("b", 30), secs(11), Err(LiveRefusal::Expired), 1),
            ("31 s later all is as before", new(2, 31), secs(31), Ok(()), 2),
            ("a day later", new(3, 86_400), secs(86_400), Ok(()), 1),
            ("the year before", new(4, year - 1), secs(year - 1), Ok(()), 1),
            ("the year comes: one from the hour", proof("c", year), secs(year), Err(LiveRefusal::Expired), 1),
            ("the year comes: the other", proof("d", year + 5), secs(year + 5), Err(LiveRefusal::Expired), 1),
            ("the year comes: in between", new(5, year + 4), secs(year + 5), Ok(()), 2),
            ("the year is over", new(6, year + 36), secs(year + 36), Ok(()), 1),
        ],
    );
}

/// LIM-06, ERR-09: 600 per member over all keys; others are not concerned.
#[test]
fn an_account_has_600() {
    let mut live = LiveProofs::new(WINDOW, GATEWAY);
    for i in 0..600_u32 {
        let key = Thumbprint::from_bytes([(i % 7) as u8; 32]);
        let jti = i.to_string();
        // Ten arrive each second and are issued by a clock 5 s ahead.
        let second = i64::from(i / 10);
        let presented = Candidate { key: &key, ..proof(&jti, 5) };
        live.admit(&presented, secs(second.min(30))).unwrap();
    }
    assert_eq!(
        (
            live.live(),
            live.live_of(&Holder::Account("ada")),
            live.live_of(&Holder::Account("bob")),
            live.holders()
        ),
        (600, 600, 0, 1)
    );
    let refused = live.admit(&proof("more", 30), at(30 * SECOND + 1)).unwrap_err();
    assert_eq!(refused, LiveRefusal::AccountFull { wait: Duration::from_secs(5) });
    assert_eq!(refused.retry_after(), Some(5));
    check(
        &mut live,
        &[
            ("another account", of("bob", proof("bob's", 30)), secs(30), Ok(()), 601),
            ("a source", from(source(1, 1), proof("nobody's", 30)), secs(30), Ok(()), 602),
            ("after Retry-After", proof("more", 30), at(35 * SECOND + 1), Ok(()), 3),
        ],
    );
    assert_eq!(
        (live.live_of(&Holder::Account("ada")), live.live_of(&Holder::Account("bob")), live.holders()),
        (1, 1, 3)
    );
}

/// LIM-06, ERR-10: 100 000 in all; the member's cap comes first, replay before both.
#[test]
fn there_are_100_000() {
    let mut live = LiveProofs::new(WINDOW, GATEWAY);
    let names: Vec<String> = (0..167).map(|i| format!("member {i}")).collect();
    for i in 0..100_000_usize {
        let jti = i.to_string();
        // Each second's arrivals are spread over 30 s; the earliest end is at 30 s.
        live.admit(&of(&names[i / 600], proof(&jti, (i % 30) as i64)), at(0)).unwrap();
    }
    assert_eq!((live.live(), live.holders()), (100_000, 167));
    let last = &names[166];
    assert_eq!((live.live_of(&Holder::Account(&names[0])), live.live_of(&Holder::Account(last))), (600, 400));
    let wait = Duration::from_millis(29_250) + Duration::from_nanos(1);
    let now = at(SECOND * 3 / 4);
    check(
        &mut live,
        &[
            ("a replay", of(&names[0], proof("0", 0)), now, Err(LiveRefusal::Replayed), 100_000),
            (
                "of a full account",
                of(&names[0], proof("a", 0)),
                now,
                Err(LiveRefusal::AccountFull { wait }),
                100_000,
            ),
            ("of another", of(last, proof("a", 0)), now, Err(LiveRefusal::Full { wait }), 100_000),
            ("of a new one", of("new", proof("a", 0)), now, Err(LiveRefusal::Full { wait }), 100_000),
            ("of a source", from(source(1, 1), proof("a", 0)), now, Err(LiveRefusal::Full { wait }), 100_000),
        ],
    );
    assert_eq!(LiveRefusal::Full { wait }.retry_after(), Some(30));
    // 3 334 of the 100 000 have ended.
    check(&mut live, &[("room again", of("new", proof("a", 30)), now + wait, Ok(()), 96_667)]);
    check(&mut live, &[("all over", of("new", proof("b", 90)), secs(90), Ok(()), 1)]);
    assert_eq!((live.live_of(&Holder::Account("new")), live.holders()), (1, 1));
}

/// DPP-19: each kind of refusal, and that the same proof is admitted where nothing else stands against it.
#[test]
fn what_is_refused_takes_no_room() {
    let after = |secs| Duration::from_secs(secs) + Duration::from_nanos(1);
    let mut live = caps(1, 2);
    check(
        &mut live,
        &[
            ("ada's", proof("a", 0), at(0), Ok(()), 1),
            ("replayed", of("eve", proof("a", 0)), at(0), Err(LiveRefusal::Replayed), 1),
            ("over", of("eve", proof("b", -31)), at(0), Err(LiveRefusal::Expired), 1),
            ("too far ahead", of("eve", proof("b", 31)), at(0), Err(LiveRefusal::TooFarAhead), 1),
            ("account full", proof("b", 30), at(0), Err(LiveRefusal::AccountFull { wait: after(30) }), 1),
        ],
    );
    assert_eq!(
        (live.live_of(&Holder::Account("eve")), live.live_of(&Holder::Account("ada")), live.holders()),
        (0, 1, 1)
    );
    check(
        &mut live,
        &[
            ("bob's, refused of eve and ada", of("bob", proof("b", 30)), at(0), Ok(()), 2),
            ("full", of("eve", proof("c", 30)), at(0), Err(LiveRefusal::Full { wait: after(30) }), 2),
        ],
    );
    assert_eq!((live.live_of(&Holder::Account("eve")), live.holders()), (0, 2));
    check(&mut live, &[("the same when there is room", of("eve", proof("c", 30)), secs(31), Ok(()), 2)]);
    assert_eq!(
        (live.live_of(&Holder::Account("eve")), live.live_of(&Holder::Account("ada")), live.holders()),
        (1, 0, 2)
    );
}

/// LIM-06: without an admission counts follow the time as well; when all is over, so does the memory.
#[test]
fn forgetting_gives_back() {
    let mut live = LiveProofs::new(WINDOW, GATEWAY);
    let jtis: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
    for (i, jti) in jtis.iter().enumerate() {
        live.admit(&of(&jtis[i % 10], proof(jti, (i % 2) as i64)), at(0)).unwrap();
    }
    // Now, live, members, of member 0 (whose proofs all end first) and of member 1.
    let rows = [
        ("at the first end", secs(30), 1000, 10, 100, 100),
        ("after it", at(30 * SECOND + 1), 500, 5, 0, 100),
        ("at the last end", secs(31), 500, 5, 0, 100),
        ("after it", at(31 * SECOND + 1), 0, 0, 0, 0),
    ];
    for (name, now, all, members, first, second) in rows {
        live.forget(now);
        let counts = (
            live.live(),
            live.holders(),
            live.live_of(&Holder::Account(&jtis[0])),
            live.live_of(&Holder::Account(&jtis[1])),
        );
        assert_eq!(counts, (all, members, first, second), "{name}");
        assert_eq!(memory(&live) == 0, all == 0, "{name}");
    }
    check(&mut live, &[("both ends are remembered", proof("0", 0), secs(29), Err(LiveRefusal::Expired), 0)]);
    check(&mut live, &[("both ends are remembered", proof("1", 1), secs(29), Err(LiveRefusal::Expired), 0)]);
}

/// Zero counts as one.
#[test]
fn there_is_room_for_one() {
    let wait = Duration::from_secs(30) + Duration::from_nanos(1);
    check(
        &mut caps(0, 0),
        &[
            ("the first", proof("a", 0), at(0), Ok(()), 1),
            ("its account's second", proof("b", 0), at(0), Err(LiveRefusal::AccountFull { wait }), 1),
            ("another's", of("bob", proof("b", 0)), at(0), Err(LiveRefusal::Full { wait }), 1),
            ("a source's", from(source(1, 1), proof("b", 0)), at(0), Err(LiveRefusal::Full { wait }), 1),
        ],
    );
}

/// Upper bound of what is allocated, from capacities and the sizes of what is in them.
fn memory(live: &LiveProofs) -> usize {
    // A hash table has 8 slots for 7 entries, and a byte for each slot.
    let slots = |capacity: usize| capacity.div_ceil(7) * 8;
    // A node of the standard tree has room for 11 entries and is half full at worst; inner nodes, each
    // with at least 6 children, add a fifth.
    let ends = live.by_iat.len() * size_of::<(u64, Vec<Record>)>() * 11 / 5 * 6 / 5;
    let records: usize = live.by_iat.values().map(Vec::capacity).sum();
    let holders: usize = live.holders.values().map(VecDeque::capacity).sum();
    slots(live.names.capacity()) * (size_of::<Name>() + 1)
        + ends
        + records * size_of::<Record>()
        + slots(live.holders.capacity()) * (size_of::<(Name, VecDeque<u64>)>() + 1)
        + holders * size_of::<u64>()
}

/// LIM-06: the most that was held per proof that the cap allows, while three times as many as may be live
/// pass through in three times the window's past.
fn most_per_proof(total: usize, holders: usize, window: Window) -> usize {
    let cap = total.div_ceil(holders) + 1;
    let mut live = LiveProofs::new(window, Caps { per_account: cap, per_source: cap, total });
    let (mut most, mut fullest) = (0, 0);
    let past = window.past.as_secs().cast_signed();
    for i in 0..3 * total {
        let now = at(past * SECOND * i as i64 / total as i64);
        let (jti, holder) = (i.to_string(), (i % holders).to_string());
        let presented = Candidate { iat: now.as_secs(), ..of(&holder, proof(&jti, 0)) };
        match live.admit(&presented, now) {
            Ok(()) | Err(LiveRefusal::Full { .. } | LiveRefusal::AccountFull { .. }) => {}
            Err(other) => panic!("{other}"),
        }
        fullest = fullest.max(live.live());
        if i % (total / 10) == 0 {
            most = most.max(memory(&live));
        }
    }
    assert_eq!(fullest, total);
    assert!(live.forgotten.spans() <= Forgotten::SPANS);
    most / total
}

/// LIM-06: a member that was busy once and holds one proof since has the room of one.
#[test]
fn an_account_gives_back_its_room() {
    let mut live = LiveProofs::new(WINDOW, GATEWAY);
    for i in 0..600 {
        live.admit(&proof(&i.to_string(), i64::from(i / 200)), at(0)).unwrap();
    }
    let room = |live: &LiveProofs| live.holders.values().map(VecDeque::capacity).sum::<usize>();
    let busy = room(&live);
    assert!((600..=2400).contains(&busy), "{busy}");
    live.admit(&proof("last", 30), secs(31)).unwrap();
    live.forget(secs(33));
    assert_eq!((live.live(), live.live_of(&Holder::Account("ada"))), (1, 1));
    let left = room(&live);
    assert!((1..=4).contains(&left), "{left}");
}

/// LIM-06: [`LiveProofs::BYTES_PER_PROOF`] holds where tables are emptiest, with one proof per holder
/// and second, and is not idle; the usual figure holds at the gateway's caps.
#[test]
fn memory_is_bounded() {
    // One more than fits a table of 2 048.
    let worst = most_per_proof(1793, 1793, Window::seconds(1793, 0));
    assert!((LiveProofs::BYTES_PER_PROOF / 2..=LiveProofs::BYTES_PER_PROOF).contains(&worst), "{worst}");
    let gateway = most_per_proof(GATEWAY.total, 167, WINDOW);
    assert!(
        (LiveProofs::USUAL_BYTES_PER_PROOF / 2..=LiveProofs::USUAL_BYTES_PER_PROOF).contains(&gateway),
        "{gateway}"
    );
}

/// A proof that the server's own window takes is admitted, however long the window, and remembered for as long.
#[test]
fn the_window_may_be_long() {
    for past in [121, 300, 86_400] {
        let mut live = LiveProofs::new(Window::seconds(past, 0), GATEWAY);
        let past = past.cast_signed();
        let replayed = Err(LiveRefusal::Replayed);
        check(
            &mut live,
            &[
                ("made now", proof("a", 0), at(0), Ok(()), 1),
                ("at its end", proof("a", 0), secs(past), replayed, 1),
                ("another, made then", proof("b", 0), secs(past), Ok(()), 2),
                ("after its end", proof("a", 0), at(past * SECOND + 1), Err(LiveRefusal::Expired), 0),
            ],
        );
    }
}

/// A window that is widened while the server runs admits nothing twice, and stops nobody for longer than it was
/// widened by.
#[test]
fn the_window_may_change() {
    let mut live = caps(9, 9);
    let expired = Err(LiveRefusal::Expired);
    check(&mut live, &[("in the narrow one", proof("a", 0), at(0), Ok(()), 1)]);
    check(&mut live, &[("forgets it", proof("b", 31), secs(31), Ok(()), 1)]);
    live.set_window(Window::seconds(60, 60));
    check(
        &mut live,
        &[
            ("in the wide one again", proof("a", 0), secs(31), expired, 1),
            ("new, of the same second", proof("c", 0), secs(31), expired, 1),
            ("new, of the next", proof("c", 1), secs(31), Ok(()), 2),
            ("ahead in the wide one", proof("d", 91), secs(31), Ok(()), 3),
            ("to the wide one's end", proof("b", 31), secs(91), Err(LiveRefusal::Replayed), 2),
        ],
    );
    live.set_window(Window::seconds(5, 5));
    check(&mut live, &[("what is left of it is over", proof("e", 91), secs(91), Ok(()), 2)]);
}

/// DPP-19; the exchange's token endpoint: a source with a new key for each request has the room of one source,
/// whatever addresses its network gives it.
#[test]
fn new_keys_of_one_source_take_its_room_alone() {
    let mut live = LiveProofs::new(WINDOW, Caps { per_account: 600, per_source: 60, total: 600 });
    let wait = Duration::from_secs(30) + Duration::from_nanos(1);
    for i in 0..5_000_u16 {
        let key = Thumbprint::from_bytes(std::array::from_fn(|at| i.to_be_bytes()[at % 2]));
        let jti = i.to_string();
        let thrown_away = Candidate { key: &key, ..from(source(1, i), proof(&jti, 0)) };
        let answer = if i < 60 { Ok(()) } else { Err(LiveRefusal::SourceFull { wait }) };
        assert_eq!(live.admit(&thrown_away, at(0)), answer, "{i}");
    }
    assert_eq!((live.live(), live.live_of(&source(1, 9)), live.holders()), (60, 60, 1));
    check(&mut live, &[("another source", from(source(2, 1), proof("a", 0)), at(0), Ok(()), 61)]);
    check(&mut live, &[("an account", proof("b", 0), at(0), Ok(()), 62)]);
    assert_eq!(LiveRefusal::SourceFull { wait }.retry_after(), Some(31));
}
