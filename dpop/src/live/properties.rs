//! Live proofs: random sequences, beside the model and by themselves.

use std::collections::HashSet;

use proptest::prelude::*;

use super::{
    model::Model,
    tests::{caps, proof, secs},
    *,
};

const KEYS: [Thumbprint; 2] = [Thumbprint::from_bytes([1; 32]), Thumbprint::from_bytes([2; 32])];
const JTIS: [&str; 4] = ["a", "b", "c", "d"];
const MEMBERS: [Option<&str>; 4] = [None, Some("ada"), Some("bob"), Some("eve")];

/// A proof by indices into the above, `iat` and lifetime relative to the time it is presented at.
#[derive(Clone, Debug)]
struct Step {
    /// Milliseconds the clock moves first.
    by: i64,
    key: usize,
    jti: usize,
    member: usize,
    /// Seconds before or after the clock's.
    iat: i64,
    lifetime: u64,
}

fn steps(by: impl Strategy<Value = i64> + 'static) -> impl Strategy<Value = Vec<Step>> {
    let step = (by, 0..KEYS.len(), 0..JTIS.len(), 0..MEMBERS.len(), -40..=110_i64, 28..=30_u64);
    let step =
        step.prop_map(|(by, key, jti, member, iat, lifetime)| Step { by, key, jti, member, iat, lifetime });
    prop::collection::vec(step, 1..120)
}

/// Forwards mostly, sometimes back a little, seldom far in either direction.
fn any_clock() -> impl Strategy<Value = i64> {
    prop_oneof![
        12 => 0..=12_000_i64,
        3 => Just(500_i64),
        2 => -20_000..=0_i64,
        1 => prop::sample::select(vec![-3_600_000, -200_000, 200_000, 3_600_000]),
    ]
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    /// DPP-18, DPP-19, LIM-06: every answer and every count are the model's, and whatever the clock does,
    /// no proof is admitted twice.
    #[test]
    fn live_proofs_are_as_the_model_says(
        (per_member, total) in (0..=4_usize, 0..=7_usize),
        steps in steps(any_clock()),
    ) {
        let caps = Caps { per_member, total };
        let (mut live, mut model) = (LiveProofs::new(caps), Model::new(caps));
        let mut admitted = HashSet::new();
        let mut now = secs(0);
        for step in steps {
            let by = Duration::from_millis(step.by.unsigned_abs());
            now = if step.by < 0 { now.saturating_sub(by) } else { now + by };
            let presented = Candidate {
                key: &KEYS[step.key],
                jti: JTIS[step.jti],
                member: MEMBERS[step.member],
                iat: now.as_secs().saturating_add_signed(step.iat),
                lifetime: Duration::from_secs(step.lifetime),
            };
            let answer = live.admit(&presented, now);
            prop_assert_eq!(answer, model.admit(&presented, now));
            prop_assert_eq!((live.live(), live.members()), (model.live(), model.members()));
            for member in MEMBERS.into_iter().flatten() {
                prop_assert_eq!(live.live_of(member), model.live_of(member));
            }
            let end = presented.iat + step.lifetime;
            prop_assert!(answer.is_err() || admitted.insert((step.key, step.jti, end)));
        }
    }

    /// DPP-18: while time goes forwards, nothing that counts is expired.
    #[test]
    fn time_that_goes_forwards_expires_what_is_over(steps in steps(0..=90_000_i64)) {
        let mut live = caps(usize::MAX, usize::MAX);
        let mut now = secs(0);
        for step in steps {
            now = now + Duration::from_millis(step.by.unsigned_abs());
            let iat = now.as_secs().saturating_add_signed(step.iat);
            let lifetime = Duration::from_secs(step.lifetime);
            let presented = Candidate { iat, lifetime, jti: JTIS[step.jti], ..proof("", 0) };
            let over = UnixTime::from_secs(iat) + lifetime < now;
            prop_assert_eq!(live.admit(&presented, now) == Err(LiveRefusal::Expired), over);
        }
    }

    /// ERR-09, ERR-10: whoever waits as long as told finds room, and a nanosecond less does not do.
    #[test]
    fn waiting_helps(steps in steps(0..=4_000_i64), per_member in 1..=3_usize) {
        let mut live = caps(per_member, 5);
        let mut now = secs(0);
        for (i, step) in steps.iter().enumerate() {
            now = now + Duration::from_millis(step.by.unsigned_abs());
            let jti = i.to_string();
            let iat = now.as_secs().saturating_add_signed(step.iat);
            let presented = Candidate { iat, member: MEMBERS[step.member], ..proof(&jti, 0) };
            if let Err(LiveRefusal::MemberFull { wait } | LiveRefusal::Full { wait }) = live.admit(&presented, now) {
                let iat = (now + wait).as_secs();
                let almost = now + (wait - Duration::from_nanos(1));
                let again = Candidate { iat, ..presented };
                prop_assert!(live.admit(&again, almost).is_err());
                let answer = live.admit(&again, now + wait);
                let full_of_others = matches!(answer, Err(LiveRefusal::Full { .. }));
                prop_assert!(answer == Ok(()) || full_of_others, "{:?}", answer);
                now = now + wait;
            }
        }
    }
}
