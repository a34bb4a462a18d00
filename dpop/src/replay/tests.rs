//! Tests of the replay cache: tables of named cases, a grid of replays, and the memory use.

use super::*;

/// 2026-01-15, a whole second.
const T0: u64 = 1_768_435_200;
const KEY: Thumbprint = Thumbprint::from_bytes([1; 32]);
const SECOND: i64 = 1_000_000_000;

/// Returns the time `nanos` nanoseconds after `T0`.
fn at(nanos: i64) -> UnixTime {
    let by = Duration::from_nanos(nanos.unsigned_abs());
    let start = UnixTime::from_secs(T0);
    if nanos < 0 { start.saturating_sub(by) } else { start + by }
}

pub(super) fn secs(secs: i64) -> UnixTime {
    at(secs * SECOND)
}

/// The window and limits of the exchange's gateway: LIM-10, LIM-06.
pub(super) const WINDOW: ProofWindow = ProofWindow::from_secs(30, 30);
const GATEWAY: ReplayLimits = ReplayLimits { per_account: 600, per_source: 600, total: 100_000 };

/// Returns a proof of Ada's account; `iat` is in seconds relative to `T0`.
pub(super) fn proof(jti: &str, iat: i64) -> ReplayCandidate<'_> {
    let iat = T0.saturating_add_signed(iat);
    ReplayCandidate { key: &KEY, jti, holder: ProofHolder::Account("ada"), iat }
}

fn of_account<'a>(account: &'a str, proof: ReplayCandidate<'a>) -> ReplayCandidate<'a> {
    ReplayCandidate { holder: ProofHolder::Account(account), ..proof }
}

fn from_source<'a>(source: ProofHolder<'a>, proof: ReplayCandidate<'a>) -> ReplayCandidate<'a> {
    ReplayCandidate { holder: source, ..proof }
}

/// Returns the source with this address in the network (/64) of this host. Different addresses of one network
/// count as one source.
fn source(host: u16, address: u16) -> ProofHolder<'static> {
    ProofHolder::Source { address: [0x2001, 0xdb8, 0, host, 0, 0, 0, address].into(), client: "client" }
}

pub(super) fn cache_with_limits(per_account: usize, total: usize) -> ReplayCache {
    ReplayCache::new(WINDOW, ReplayLimits { per_account, per_source: per_account, total })
}

type AdmitResult = Result<(), ReplayError>;

/// Presents the proofs in order and compares each result, and the number of valid proofs after it.
#[track_caller]
fn check(live: &mut ReplayCache, rows: &[(&str, ReplayCandidate<'_>, UnixTime, AdmitResult, usize)]) {
    for (name, proof, now, result, count) in rows {
        assert_eq!(live.admit(proof, *now), *result, "{name}");
        assert_eq!(live.proof_count(), *count, "{name}");
    }
}

/// DPP-18, ERR-09, ERR-10: if the limit is one proof, the reported wait and `Retry-After` extend to one
/// nanosecond after its expiry. The next proof is admitted then, and rejected one nanosecond earlier.
#[test]
fn wait_ends_one_nanosecond_after_expiry() {
    let nano = Duration::from_nanos(1);
    // Each row: `iat` and current time in seconds and nanoseconds, the remaining validity, and `Retry-After`.
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
        for (mut live, refused) in [
            (cache_with_limits(1, 9), ReplayError::AccountFull { wait }),
            (cache_with_limits(9, 1), ReplayError::Full { wait }),
        ] {
            assert_eq!(refused.retry_after(), Some(retry_after), "{name}");
            let last = ReplayError::AccountFull { wait: nano };
            let last = if live.limits.total == 1 { ReplayError::Full { wait: nano } } else { last };
            let (first, second, third) =
                (proof("first", iat), proof("second", iat), proof("third", iat + 30));
            let end = at(now) + to_end;
            check(
                &mut live,
                &[
                    (name, first, at(now), Ok(()), 1),
                    (name, second, at(now), Err(refused), 1),
                    (name, second, end, Err(last), 1),
                    (name, first, end, Err(ReplayError::Replayed), 1),
                    (name, first, end + nano, Err(ReplayError::Expired), 0),
                    (name, third, at(now) + wait, Ok(()), 1),
                    (name, first, at(now) + wait, Err(ReplayError::Expired), 1),
                ],
            );
        }
    }
}

/// DPP-18: a proof is valid up to and including the last moment of its window.
#[test]
fn proof_is_valid_until_its_last_moment() {
    let rows = [
        ("issued now", 0, 0, Ok(())),
        ("at its end", 0, 30 * SECOND, Ok(())),
        ("a nanosecond after its end", 0, 30 * SECOND + 1, Err(ReplayError::Expired)),
        ("a millisecond after its end", 0, 30 * SECOND + SECOND / 1000, Err(ReplayError::Expired)),
        ("an hour after its end", 0, 3600 * SECOND, Err(ReplayError::Expired)),
        ("as far ahead as may be", 30, 0, Ok(())),
        ("further ahead", 31, 0, Err(ReplayError::TooFarAhead)),
        ("further ahead by a nanosecond", 30, -1, Err(ReplayError::TooFarAhead)),
        ("the greatest `iat`", i64::MAX, 0, Err(ReplayError::TooFarAhead)),
        ("the epoch", -(T0.cast_signed()), 0, Err(ReplayError::Expired)),
    ];
    for (name, iat, now, result) in rows {
        check(
            &mut cache_with_limits(9, 9),
            &[(name, proof("a", iat), at(now), result, usize::from(result.is_ok()))],
        );
    }
    let max_window = ProofWindow { past: Duration::MAX, future: Duration::MAX };
    for iat in [0, u64::MAX] {
        let mut live = ReplayCache::new(max_window, GATEWAY);
        let ever = ReplayCandidate { iat, ..proof("a", 0) };
        let rows = [("ever", ever, at(0), Ok(()), 1), ("again", ever, at(9), Err(ReplayError::Replayed), 1)];
        check(&mut live, &rows);
    }
    for refused in [ReplayError::Replayed, ReplayError::Expired, ReplayError::TooFarAhead] {
        assert_eq!(refused.retry_after(), None, "{refused}");
    }
}

/// DPP-18: a proof is rejected as a replay every half second in the 61 s after its admission, for every `iat`
/// of the window.
#[test]
fn replay_is_rejected_at_every_offset() {
    for iat in -30..=30 {
        for offset in 0..=2 * 61 {
            let mut live = cache_with_limits(9, 9);
            let now = at(offset * SECOND / 2);
            let result = if now <= secs(iat + 30) { ReplayError::Replayed } else { ReplayError::Expired };
            live.admit(&proof("a", iat), at(0)).unwrap();
            assert_eq!(
                live.admit(&proof("a", iat), now),
                Err(result),
                "issued at {iat} s, again at {offset}/2 s"
            );
        }
    }
}

/// DPP-18, DPP-19: a `jti` belongs to one key, and another `iat` does not make it another proof.
#[test]
fn jti_is_scoped_to_its_key() {
    let (other, nul) = (Thumbprint::from_bytes([2; 32]), "a\0");
    let full = Duration::from_secs(30) + Duration::from_nanos(1);
    check(
        &mut cache_with_limits(3, 9),
        &[
            ("one key", proof("a", 0), at(0), Ok(()), 1),
            ("another key", ReplayCandidate { key: &other, ..proof("a", 0) }, at(0), Ok(()), 2),
            ("issued later", proof("a", 1), at(0), Err(ReplayError::Replayed), 2),
            ("of another member", of_account("bob", proof("a", 0)), at(0), Err(ReplayError::Replayed), 2),
            ("of a source", from_source(source(1, 1), proof("a", 0)), at(0), Err(ReplayError::Replayed), 2),
            ("longer", proof(nul, 0), at(0), Ok(()), 3),
            ("a replay where there is no room", proof("a", 0), at(0), Err(ReplayError::Replayed), 3),
            (
                "a new one where there is no room",
                proof("b", 0),
                at(0),
                Err(ReplayError::AccountFull { wait: full }),
                3,
            ),
            ("used again when it is forgotten", proof("a", 31), secs(31), Ok(()), 1),
        ],
    );
}

/// DPP-18: after the clock is set back, a proof whose record was removed is not admitted again.
#[test]
fn removed_proof_is_not_admitted_again() {
    check(
        &mut cache_with_limits(9, 9),
        &[
            ("ends at 30", proof("a", 0), at(0), Ok(()), 1),
            ("ends at 40", proof("b", 10), at(0), Ok(()), 2),
            ("the first is forgotten", proof("c", 20), at(30 * SECOND + 1), Ok(()), 2),
            ("back: the forgotten one", proof("a", 0), secs(20), Err(ReplayError::Expired), 2),
            ("back: a new one with its end", proof("d", 0), secs(20), Err(ReplayError::Expired), 2),
            ("back: one that is held", proof("b", 10), secs(20), Err(ReplayError::Replayed), 2),
            ("back: a new one, later", proof("e", 1), secs(20), Ok(()), 3),
            ("as in order of time", proof("e", 1), secs(31), Err(ReplayError::Replayed), 3),
            ("forgotten as well", proof("e", 1), at(31 * SECOND + 1), Err(ReplayError::Expired), 2),
        ],
    );
}

/// DPP-18, LIM-06: if the clock is set back, the later of two records is removed. It no longer counts against
/// the limit, the wait extends to the expiry of the earlier one, and the removed proof is not admitted again.
#[test]
fn clock_step_back_frees_the_later_record() {
    let wait = Duration::from_secs(60) + Duration::from_nanos(1);
    let early = Err(ReplayError::TooFarAhead);
    check(
        &mut cache_with_limits(2, 9),
        &[
            ("ends at 30", proof("a", 0), at(0), Ok(()), 1),
            ("ends at 60", proof("b", 30), at(0), Ok(()), 2),
            ("back by 61 s, and there is room", proof("c", -31), secs(-61), Ok(()), 2),
            ("behind the first", proof("d", -31), secs(-61), Err(ReplayError::AccountFull { wait }), 2),
            ("not in the window yet", proof("b", 30), secs(-61), early, 2),
            ("in reach again", proof("b", 30), secs(0), Err(ReplayError::Expired), 1),
            ("just before its end", proof("b", 30), secs(31), Err(ReplayError::Expired), 0),
            ("others count as ever", proof("e", 31), secs(31), Ok(()), 1),
        ],
    );
    check(
        &mut cache_with_limits(9, 9),
        &[
            ("ends at 60", proof("b", 30), at(0), Ok(()), 1),
            ("back by 60 s: not in the window yet", proof("b", 30), secs(-60), early, 1),
            ("known as itself", proof("b", 30), at(0), Err(ReplayError::Replayed), 1),
        ],
    );
}

/// DPP-18, LIM-06: the clock is a year ahead for an hour. No limit stays exhausted, the time in between is
/// unaffected, and a year later the proofs of that hour are still rejected.
#[test]
fn clock_far_ahead_recovers() {
    let year = 365 * 86_400;
    let new: Vec<String> = (0..9).map(|i| format!("new {i}")).collect();
    let new = |i: usize, iat| proof(&new[i], iat);
    let full =
        |secs| Err(ReplayError::AccountFull { wait: Duration::from_secs(secs) + Duration::from_nanos(1) });
    check(
        &mut cache_with_limits(2, 2),
        &[
            ("before", proof("a", 0), at(0), Ok(()), 1),
            ("before, ahead", proof("b", 30), at(0), Ok(()), 2),
            ("a year ahead: an old proof", new(0, 0), secs(year), Err(ReplayError::Expired), 0),
            ("a year ahead: a proof of that time", proof("c", year), secs(year), Ok(()), 1),
            ("a year ahead: another", proof("d", year + 5), secs(year + 5), Ok(()), 2),
            ("a year ahead: no room", new(0, year + 5), secs(year + 5), full(25), 2),
            ("back: there is room", new(1, 11), secs(11), Ok(()), 1),
            ("back: what was forgotten", proof("a", 0), secs(11), Err(ReplayError::Expired), 1),
            ("back: what was forgotten, ahead", proof("b", 30), secs(11), Err(ReplayError::Expired), 1),
            ("31 s later all is as before", new(2, 31), secs(31), Ok(()), 2),
            ("a day later", new(3, 86_400), secs(86_400), Ok(()), 1),
            ("the year before", new(4, year - 1), secs(year - 1), Ok(()), 1),
            ("the year comes: one from the hour", proof("c", year), secs(year), Err(ReplayError::Expired), 1),
            ("the year comes: the other", proof("d", year + 5), secs(year + 5), Err(ReplayError::Expired), 1),
            ("the year comes: in between", new(5, year + 4), secs(year + 5), Ok(()), 2),
            ("the year is over", new(6, year + 36), secs(year + 36), Ok(()), 1),
        ],
    );
}

/// LIM-06, ERR-09: a member may have 600 valid proofs over all keys, and other members are not affected.
#[test]
fn account_limit_is_600() {
    let mut live = ReplayCache::new(WINDOW, GATEWAY);
    for i in 0..600_u32 {
        let key = Thumbprint::from_bytes([(i % 7) as u8; 32]);
        let jti = i.to_string();
        // Ten proofs arrive each second, from a client whose clock is 5 s ahead.
        let second = i64::from(i / 10);
        let presented = ReplayCandidate { key: &key, ..proof(&jti, 5) };
        live.admit(&presented, secs(second.min(30))).unwrap();
    }
    assert_eq!(
        (
            live.proof_count(),
            live.proof_count_for(&ProofHolder::Account("ada")),
            live.proof_count_for(&ProofHolder::Account("bob")),
            live.holder_count()
        ),
        (600, 600, 0, 1)
    );
    let refused = live.admit(&proof("more", 30), at(30 * SECOND + 1)).unwrap_err();
    assert_eq!(refused, ReplayError::AccountFull { wait: Duration::from_secs(5) });
    assert_eq!(refused.retry_after(), Some(5));
    check(
        &mut live,
        &[
            ("another account", of_account("bob", proof("bob's", 30)), secs(30), Ok(()), 601),
            ("a source", from_source(source(1, 1), proof("nobody's", 30)), secs(30), Ok(()), 602),
            ("after Retry-After", proof("more", 30), at(35 * SECOND + 1), Ok(()), 3),
        ],
    );
    assert_eq!(
        (
            live.proof_count_for(&ProofHolder::Account("ada")),
            live.proof_count_for(&ProofHolder::Account("bob")),
            live.holder_count()
        ),
        (1, 1, 3)
    );
}

/// LIM-06, ERR-10: the total limit is 100,000 proofs. The member's limit is checked first, and a replay
/// before both.
#[test]
fn total_limit_is_100_000() {
    let mut live = ReplayCache::new(WINDOW, GATEWAY);
    let names: Vec<String> = (0..167).map(|i| format!("member {i}")).collect();
    for i in 0..100_000_usize {
        let jti = i.to_string();
        // The `iat` values of the proofs are spread over 30 s; the first proofs expire after 30 s.
        live.admit(&of_account(&names[i / 600], proof(&jti, (i % 30) as i64)), at(0)).unwrap();
    }
    assert_eq!((live.proof_count(), live.holder_count()), (100_000, 167));
    let last = &names[166];
    assert_eq!(
        (
            live.proof_count_for(&ProofHolder::Account(&names[0])),
            live.proof_count_for(&ProofHolder::Account(last))
        ),
        (600, 400)
    );
    let wait = Duration::from_millis(29_250) + Duration::from_nanos(1);
    let now = at(SECOND * 3 / 4);
    check(
        &mut live,
        &[
            ("a replay", of_account(&names[0], proof("0", 0)), now, Err(ReplayError::Replayed), 100_000),
            (
                "of a full account",
                of_account(&names[0], proof("a", 0)),
                now,
                Err(ReplayError::AccountFull { wait }),
                100_000,
            ),
            ("of another", of_account(last, proof("a", 0)), now, Err(ReplayError::Full { wait }), 100_000),
            ("of a new one", of_account("new", proof("a", 0)), now, Err(ReplayError::Full { wait }), 100_000),
            (
                "of a source",
                from_source(source(1, 1), proof("a", 0)),
                now,
                Err(ReplayError::Full { wait }),
                100_000,
            ),
        ],
    );
    assert_eq!(ReplayError::Full { wait }.retry_after(), Some(30));
    // Of the 100,000 proofs, 3,334 have expired.
    check(&mut live, &[("room again", of_account("new", proof("a", 30)), now + wait, Ok(()), 96_667)]);
    check(&mut live, &[("all over", of_account("new", proof("b", 90)), secs(90), Ok(()), 1)]);
    assert_eq!((live.proof_count_for(&ProofHolder::Account("new")), live.holder_count()), (1, 1));
}

/// DPP-19: a proof that was rejected is admitted when the cause of the rejection is gone, for every kind of
/// error.
#[test]
fn rejected_proof_takes_no_capacity() {
    let after = |secs| Duration::from_secs(secs) + Duration::from_nanos(1);
    let mut live = cache_with_limits(1, 2);
    check(
        &mut live,
        &[
            ("ada's", proof("a", 0), at(0), Ok(()), 1),
            ("replayed", of_account("eve", proof("a", 0)), at(0), Err(ReplayError::Replayed), 1),
            ("over", of_account("eve", proof("b", -31)), at(0), Err(ReplayError::Expired), 1),
            ("too far ahead", of_account("eve", proof("b", 31)), at(0), Err(ReplayError::TooFarAhead), 1),
            ("account full", proof("b", 30), at(0), Err(ReplayError::AccountFull { wait: after(30) }), 1),
        ],
    );
    assert_eq!(
        (
            live.proof_count_for(&ProofHolder::Account("eve")),
            live.proof_count_for(&ProofHolder::Account("ada")),
            live.holder_count()
        ),
        (0, 1, 1)
    );
    check(
        &mut live,
        &[
            ("bob's, refused of eve and ada", of_account("bob", proof("b", 30)), at(0), Ok(()), 2),
            ("full", of_account("eve", proof("c", 30)), at(0), Err(ReplayError::Full { wait: after(30) }), 2),
        ],
    );
    assert_eq!((live.proof_count_for(&ProofHolder::Account("eve")), live.holder_count()), (0, 2));
    check(
        &mut live,
        &[("the same when there is room", of_account("eve", proof("c", 30)), secs(31), Ok(()), 2)],
    );
    assert_eq!(
        (
            live.proof_count_for(&ProofHolder::Account("eve")),
            live.proof_count_for(&ProofHolder::Account("ada")),
            live.holder_count()
        ),
        (1, 0, 2)
    );
}

/// LIM-06: counts decrease with time even without an admission; when all proofs have expired, the memory is
/// freed.
#[test]
fn expired_proofs_free_their_memory() {
    let mut live = ReplayCache::new(WINDOW, GATEWAY);
    let jtis: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
    for (i, jti) in jtis.iter().enumerate() {
        live.admit(&of_account(&jtis[i % 10], proof(jti, (i % 2) as i64)), at(0)).unwrap();
    }
    // Each row: the time, and the numbers of valid proofs, of members, of member 0's proofs (which all expire
    // first) and of member 1's proofs.
    let rows = [
        ("at the first end", secs(30), 1000, 10, 100, 100),
        ("after it", at(30 * SECOND + 1), 500, 5, 0, 100),
        ("at the last end", secs(31), 500, 5, 0, 100),
        ("after it", at(31 * SECOND + 1), 0, 0, 0, 0),
    ];
    for (name, now, all, members, first, second) in rows {
        live.remove_expired(now);
        let counts = (
            live.proof_count(),
            live.holder_count(),
            live.proof_count_for(&ProofHolder::Account(&jtis[0])),
            live.proof_count_for(&ProofHolder::Account(&jtis[1])),
        );
        assert_eq!(counts, (all, members, first, second), "{name}");
        assert_eq!(memory(&live) == 0, all == 0, "{name}");
    }
    check(&mut live, &[("both ends are remembered", proof("0", 0), secs(29), Err(ReplayError::Expired), 0)]);
    check(&mut live, &[("both ends are remembered", proof("1", 1), secs(29), Err(ReplayError::Expired), 0)]);
}

/// A limit of zero counts as one.
#[test]
fn zero_limit_counts_as_one() {
    let wait = Duration::from_secs(30) + Duration::from_nanos(1);
    check(
        &mut cache_with_limits(0, 0),
        &[
            ("the first", proof("a", 0), at(0), Ok(()), 1),
            ("its account's second", proof("b", 0), at(0), Err(ReplayError::AccountFull { wait }), 1),
            ("another's", of_account("bob", proof("b", 0)), at(0), Err(ReplayError::Full { wait }), 1),
            (
                "a source's",
                from_source(source(1, 1), proof("b", 0)),
                at(0),
                Err(ReplayError::Full { wait }),
                1,
            ),
        ],
    );
}

/// Returns an upper bound of the allocated memory, from capacities and element sizes.
fn memory(live: &ReplayCache) -> usize {
    // A hash table has 8 slots for 7 entries, and a byte for each slot.
    let slots = |capacity: usize| capacity.div_ceil(7) * 8;
    // A node of the standard library's tree has capacity for 11 entries and is at least half full; inner
    // nodes, each with at least 6 children, add a fifth.
    let ends = live.by_iat.len() * size_of::<(u64, Vec<CacheRecord>)>() * 11 / 5 * 6 / 5;
    let records: usize = live.by_iat.values().map(Vec::capacity).sum();
    let holders: usize = live.holders.values().map(VecDeque::capacity).sum();
    slots(live.names.capacity()) * (size_of::<RecordHash>() + 1)
        + ends
        + records * size_of::<CacheRecord>()
        + slots(live.holders.capacity()) * (size_of::<(RecordHash, VecDeque<u64>)>() + 1)
        + holders * size_of::<u64>()
}

/// Returns the maximum memory per allowed proof, while three times the allowed number of proofs arrive in
/// three times the window's past (LIM-06).
fn most_per_proof(total: usize, holders: usize, window: ProofWindow) -> usize {
    let cap = total.div_ceil(holders) + 1;
    let mut live = ReplayCache::new(window, ReplayLimits { per_account: cap, per_source: cap, total });
    let (mut max_proofs, mut max_holders) = (0, 0);
    let past = window.past.as_secs().cast_signed();
    for i in 0..3 * total {
        let now = at(past * SECOND * i as i64 / total as i64);
        let (jti, holder) = (i.to_string(), (i % holders).to_string());
        let presented = ReplayCandidate { iat: now.as_secs(), ..of_account(&holder, proof(&jti, 0)) };
        match live.admit(&presented, now) {
            Ok(()) | Err(ReplayError::Full { .. } | ReplayError::AccountFull { .. }) => {}
            Err(other) => panic!("{other}"),
        }
        max_holders = max_holders.max(live.proof_count());
        if i % (total / 10) == 0 {
            max_proofs = max_proofs.max(memory(&live));
        }
    }
    assert_eq!(max_holders, total);
    assert!(live.forgotten_times.span_count() <= ForgottenTimes::MAX_SPANS);
    max_proofs / total
}

/// LIM-06: a member that had many proofs and now has one uses only the memory for one.
#[test]
fn idle_account_frees_its_memory() {
    let mut live = ReplayCache::new(WINDOW, GATEWAY);
    for i in 0..600 {
        live.admit(&proof(&i.to_string(), i64::from(i / 200)), at(0)).unwrap();
    }
    let room = |live: &ReplayCache| live.holders.values().map(VecDeque::capacity).sum::<usize>();
    let busy = room(&live);
    assert!((600..=2400).contains(&busy), "{busy}");
    live.admit(&proof("last", 30), secs(31)).unwrap();
    live.remove_expired(secs(33));
    assert_eq!((live.proof_count(), live.proof_count_for(&ProofHolder::Account("ada"))), (1, 1));
    let left = room(&live);
    assert!((1..=4).contains(&left), "{left}");
}

/// LIM-06: [`ReplayCache::BYTES_PER_PROOF`] is a tight bound in the worst case, when tables are emptiest and
/// every holder and second has one proof. The typical value is a bound at the gateway's limits.
#[test]
fn memory_is_bounded() {
    // This is one more than the capacity of a table with 2,048 slots.
    let worst = most_per_proof(1793, 1793, ProofWindow::from_secs(1793, 0));
    assert!((ReplayCache::BYTES_PER_PROOF / 2..=ReplayCache::BYTES_PER_PROOF).contains(&worst), "{worst}");
    let gateway = most_per_proof(GATEWAY.total, 167, WINDOW);
    assert!(
        (ReplayCache::TYPICAL_BYTES_PER_PROOF / 2..=ReplayCache::TYPICAL_BYTES_PER_PROOF).contains(&gateway),
        "{gateway}"
    );
}

/// A proof within the server's window is admitted, and remembered until it expires, for any length of the
/// window.
#[test]
fn long_window_is_supported() {
    for past in [121, 300, 86_400] {
        let mut live = ReplayCache::new(ProofWindow::from_secs(past, 0), GATEWAY);
        let past = past.cast_signed();
        let replayed = Err(ReplayError::Replayed);
        check(
            &mut live,
            &[
                ("made now", proof("a", 0), at(0), Ok(()), 1),
                ("at its end", proof("a", 0), secs(past), replayed, 1),
                ("another, made then", proof("b", 0), secs(past), Ok(()), 2),
                ("after its end", proof("a", 0), at(past * SECOND + 1), Err(ReplayError::Expired), 0),
            ],
        );
    }
}

/// After the window is widened at run time, no proof is admitted twice, and new proofs are rejected for at
/// most the time by which the window grew.
#[test]
fn window_may_change_at_run_time() {
    let mut live = cache_with_limits(9, 9);
    let expired = Err(ReplayError::Expired);
    check(&mut live, &[("in the narrow one", proof("a", 0), at(0), Ok(()), 1)]);
    check(&mut live, &[("forgets it", proof("b", 31), secs(31), Ok(()), 1)]);
    live.set_window(ProofWindow::from_secs(60, 60));
    check(
        &mut live,
        &[
            ("in the wide one again", proof("a", 0), secs(31), expired, 1),
            ("new, of the same second", proof("c", 0), secs(31), expired, 1),
            ("new, of the next", proof("c", 1), secs(31), Ok(()), 2),
            ("ahead in the wide one", proof("d", 91), secs(31), Ok(()), 3),
            ("to the wide one's end", proof("b", 31), secs(91), Err(ReplayError::Replayed), 2),
        ],
    );
    live.set_window(ProofWindow::from_secs(5, 5));
    check(&mut live, &[("what is left of it is over", proof("e", 91), secs(91), Ok(()), 2)]);
}

/// DPP-19: at the exchange's token endpoint, a source that uses a new key for each request has the limit of
/// one source, from any address of its network.
#[test]
fn new_keys_share_the_limit_of_their_source() {
    let mut live = ReplayCache::new(WINDOW, ReplayLimits { per_account: 600, per_source: 60, total: 600 });
    let wait = Duration::from_secs(30) + Duration::from_nanos(1);
    for i in 0..5_000_u16 {
        let key = Thumbprint::from_bytes(std::array::from_fn(|at| i.to_be_bytes()[at % 2]));
        let jti = i.to_string();
        let thrown_away = ReplayCandidate { key: &key, ..from_source(source(1, i), proof(&jti, 0)) };
        let result = if i < 60 { Ok(()) } else { Err(ReplayError::SourceFull { wait }) };
        assert_eq!(live.admit(&thrown_away, at(0)), result, "{i}");
    }
    assert_eq!((live.proof_count(), live.proof_count_for(&source(1, 9)), live.holder_count()), (60, 60, 1));
    check(&mut live, &[("another source", from_source(source(2, 1), proof("a", 0)), at(0), Ok(()), 61)]);
    check(&mut live, &[("an account", proof("b", 0), at(0), Ok(()), 62)]);
    assert_eq!(ReplayError::SourceFull { wait }.retry_after(), Some(31));
}
