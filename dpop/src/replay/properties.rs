//! Property tests of the replay cache: random sequences, compared with the model and with general invariants.

use std::{collections::HashSet, net::Ipv4Addr};

use proptest::prelude::*;

use super::{
    model::ReplayModel,
    tests::{WINDOW, cache_with_limits, proof, secs},
    *,
};

const KEYS: [Thumbprint; 2] = [Thumbprint::from_bytes([1; 32]), Thumbprint::from_bytes([2; 32])];
const JTIS: [&str; 4] = ["a", "b", "c", "d"];
const HOLDERS: [ProofHolder<'static>; 4] = [
    ProofHolder::Source { address: std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), client: "c" },
    ProofHolder::Account("ada"),
    ProofHolder::Account("bob"),
    ProofHolder::Account("eve"),
];

/// A step of the clock, after which one proof is presented. Key, `jti` and holder are indices into the
/// constants above.
#[derive(Clone, Debug)]
struct ClockStep {
    /// The duration of the clock step, in milliseconds.
    by: i64,
    key: usize,
    jti: usize,
    holder: usize,
    /// The offset of `iat` from the new time, in seconds.
    iat: i64,
}

impl ClockStep {
    fn candidate(&self, now: UnixTime) -> ReplayCandidate<'static> {
        ReplayCandidate {
            key: &KEYS[self.key],
            jti: JTIS[self.jti],
            holder: HOLDERS[self.holder],
            iat: now.as_secs().saturating_add_signed(self.iat),
        }
    }

    fn shift_time(&self, now: UnixTime) -> UnixTime {
        let by = Duration::from_millis(self.by.unsigned_abs());
        if self.by < 0 { now.saturating_sub(by) } else { now + by }
    }
}

fn clock_steps(by: impl Strategy<Value = i64> + 'static) -> impl Strategy<Value = Vec<ClockStep>> {
    let step = (by, 0..KEYS.len(), 0..JTIS.len(), 0..HOLDERS.len(), -40..=40_i64);
    let step = step.prop_map(|(by, key, jti, holder, iat)| ClockStep { by, key, jti, holder, iat });
    prop::collection::vec(step, 1..120)
}

/// Generates clock steps: mostly forwards, sometimes back a little, rarely far in either direction.
fn any_clock() -> impl Strategy<Value = i64> {
    prop_oneof![
        12 => 0..=12_000_i64,
        3 => Just(500_i64),
        2 => -20_000..=0_i64,
        1 => prop::sample::select(vec![-3_600_000, -200_000, 200_000, 3_600_000]),
    ]
}

/// Generates the window of each step, which rarely changes.
fn windows() -> impl Strategy<Value = Vec<ProofWindow>> {
    let window = prop_oneof![
        20 => Just(WINDOW),
        1 => (0..=60_u64, 0..=40_u64).prop_map(|(past, future)| ProofWindow::from_secs(past, future)),
        1 => (0..=60_000_u64, 0..=40_000_u64).prop_map(|(past, future)| ProofWindow {
            past: Duration::from_millis(past),
            future: Duration::from_millis(future),
        }),
        1 => Just(ProofWindow::from_secs(400, 100)),
    ];
    prop::collection::vec(window, 120)
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    /// DPP-18, DPP-19, LIM-06: all results and counts equal those of the model, and no proof is admitted
    /// twice, for any changes of the clock and the window.
    #[test]
    fn replay_cache_agrees_with_the_model(
        (per_account, per_source, total) in (0..=4_usize, 0..=3_usize, 0..=7_usize),
        steps in clock_steps(any_clock()),
        windows in windows(),
    ) {
        let limits = ReplayLimits { per_account, per_source, total };
        let (mut live, mut model) = (ReplayCache::new(WINDOW, limits), ReplayModel::new(WINDOW, limits));
        let mut admitted = HashSet::new();
        let mut now = secs(0);
        for (step, window) in steps.iter().zip(windows) {
            now = step.shift_time(now);
            live.set_window(window);
            model.window = window;
            let presented = step.candidate(now);
            let result = live.admit(&presented, now);
            prop_assert_eq!(result, model.admit(&presented, now));
            prop_assert_eq!((live.proof_count(), live.holder_count()), (model.proof_count(), model.holder_count()));
            for holder in HOLDERS {
                prop_assert_eq!(live.proof_count_for(&holder), model.proof_count_for(&holder));
            }
            prop_assert!(result.is_err() || admitted.insert((step.key, step.jti, presented.iat)));
        }
    }

    /// DPP-18: while time moves forward, no valid proof expires, for any length of the window.
    #[test]
    fn forward_time_expires_only_old_proofs(
        steps in clock_steps(0..=90_000_i64),
        (past, future) in (0..=500_u64, 0..=500_u64),
    ) {
        let window = ProofWindow::from_secs(past, future);
        let roomy = ReplayLimits { per_account: usize::MAX, per_source: usize::MAX, total: usize::MAX };
        let mut live = ReplayCache::new(window, roomy);
        let mut now = secs(0);
        for step in steps {
            now = step.shift_time(now);
            let presented = step.candidate(now);
            let over = UnixTime::from_secs(presented.iat) + window.past < now;
            prop_assert_eq!(live.admit(&presented, now) == Err(ReplayError::Expired), over);
        }
    }

    /// ERR-09, ERR-10: a proof is admitted after the reported wait, and rejected one nanosecond earlier.
    #[test]
    fn proof_is_admitted_after_the_reported_wait(steps in clock_steps(0..=4_000_i64), per_account in 1..=3_usize) {
        let mut live = cache_with_limits(per_account, 5);
        let mut now = secs(0);
        for (i, step) in steps.iter().enumerate() {
            now = step.shift_time(now);
            let jti = i.to_string();
            let presented = ReplayCandidate { jti: &jti, key: &KEYS[0], ..step.candidate(now) };
            if let Err(
                ReplayError::AccountFull { wait } | ReplayError::SourceFull { wait } | ReplayError::Full { wait },
            ) = live.admit(&presented, now)
            {
                let iat = (now + wait).as_secs();
                let almost = now + (wait - Duration::from_nanos(1));
                let again = ReplayCandidate { iat, ..presented };
                prop_assert!(live.admit(&again, almost).is_err());
                let result = live.admit(&again, now + wait);
                let full_of_others = matches!(result, Err(ReplayError::Full { .. }));
                prop_assert!(result == Ok(()) || full_of_others, "{:?}", result);
                now = now + wait;
            }
        }
        prop_assert_eq!(live.admit(&proof("last", 3600), secs(3600)), Ok(()));
    }
}
