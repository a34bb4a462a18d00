//! Live proofs: random sequences, beside the model and by themselves.

use std::{collections::HashSet, net::Ipv4Addr};

use proptest::prelude::*;

use super::{
    model::Model,
    tests::{WINDOW, caps, proof, secs},
    *,
};

const KEYS: [Thumbprint; 2] = [Thumbprint::from_bytes([1; 32]), Thumbprint::from_bytes([2; 32])];
const JTIS: [&str; 4] = ["a", "b", "c", "d"];
const HOLDERS: [Holder<'static>; 4] = [
    Holder::Source { address: std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), client: "c" },
    Holder::Account("ada"),
    Holder::Account("bob"),
    Holder::Account("eve"),
];

/// A proof by indices into the above, `iat` relative to the time it is presented at.
#[derive(Clone, Debug)]
struct Step {
    /// Milliseconds the clock moves first.
    by: i64,
    key: usize,
    jti: usize,
    holder: usize,
    /// Seconds before or after the clock's.
    iat: i64,
}

impl Step {
    fn candidate(&self, now: UnixTime) -> Candidate<'static> {
        Candidate {
            key: &KEYS[self.key],
            jti: JTIS[self.jti],
            holder: HOLDERS[self.holder],
            iat: now.as_secs().saturating_add_signed(self.iat),
        }
    }

    fn moved(&self, now: UnixTime) -> UnixTime {
        let by = Duration::from_millis(self.by.unsigned_abs());
        if self.by < 0 { now.saturating_sub(by) } else { now + by }
    }
}

fn steps(by: impl Strategy<Value = i64> + 'static) -> impl Strategy<Value = Vec<Step>> {
    let step = (by, 0..KEYS.len(), 0..JTIS.len(), 0..HOLDERS.len(), -40..=40_i64);
    let step = step.prop_map(|(by, key, jti, holder, iat)| Step { by, key, jti, holder, iat });
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

/// The window of each step: the same mostly.
fn windows() -> impl Strategy<Value = Vec<Window>> {
    let window = prop_oneof![
        20 => Just(WINDOW),
        1 => (0..=60_u64, 0..=40_u64).prop_map(|(past, future)| Window::seconds(past, future)),
        1 => (0..=60_000_u64, 0..=40_000_u64).prop_map(|(past, future)| Window {
            past: Duration::from_millis(past),
            future: Duration::from_millis(future),
        }),
        1 => Just(Window::seconds(400, 100)),
    ];
    prop::collection::vec(window, 120)
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    /// DPP-18, DPP-19, LIM-06: every answer and every count are the model's, and whatever clock and window do,
    /// no proof is admitted twice.
    #[test]
    fn live_proofs_are_as_the_model_says(
        (per_account, per_source, total) in (0..=4_usize, 0..=3_usize, 0..=7_usize),
        steps in steps(any_clock()),
        windows in windows(),
    ) {
        let caps = Caps { per_account, per_source, total };
        let (mut live, mut model) = (LiveProofs::new(WINDOW, caps), Model::new(WINDOW, caps));
        let mut admitted = HashSet::new();
        let mut now = secs(0);
        for (step, window) in steps.iter().zip(windows) {
            now = step.moved(now);
            live.set_window(window);
            model.window = window;
            let presented = step.candidate(now);
            let answer = live.admit(&presented, now);
            prop_assert_eq!(answer, model.admit(&presented, now));
            prop_assert_eq!((live.live(), live.holders()), (model.live(), model.holders()));
            for holder in HOLDERS {
                prop_assert_eq!(live.live_of(&holder), model.live_of(&holder));
            }
            prop_assert!(answer.is_err() || admitted.insert((step.key, step.jti, presented.iat)));
        }
    }

    /// DPP-18: while time goes forwards, nothing that counts is expired, however long the window.
    #[test]
    fn time_that_goes_forwards_expires_what_is_over(
        steps in steps(0..=90_000_i64),
        (past, future) in (0..=500_u64, 0..=500_u64),
    ) {
        let window = Window::seconds(past, future);
        let roomy = Caps { per_account: usize::MAX, per_source: usize::MAX, total: usize::MAX };
        let mut live = LiveProofs::new(window, roomy);
        let mut now = secs(0);
        for step in steps {
            now = step.moved(now);
            let presented = step.candidate(now);
            let over = UnixTime::from_secs(presented.iat) + window.past < now;
            prop_assert_eq!(live.admit(&presented, now) == Err(LiveRefusal::Expired), over);
        }
    }

    /// ERR-09, ERR-10: whoever waits as long as told finds room, and a nanosecond less does not do.
    #[test]
    fn waiting_helps(steps in steps(0..=4_000_i64), per_account in 1..=3_usize) {
        let mut live = caps(per_account, 5);
        let mut now = secs(0);
        for (i, step) in steps.iter().enumerate() {
            now = step.moved(now);
            let jti = i.to_string();
            let presented = Candidate { jti: &jti, key: &KEYS[0], ..step.candidate(now) };
            if let Err(
                LiveRefusal::AccountFull { wait } | LiveRefusal::SourceFull { wait } | LiveRefusal::Full { wait },
            ) = live.admit(&presented, now)
            {
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
        prop_assert_eq!(live.admit(&proof("last", 3600), secs(3600)), Ok(()));
    }
}
