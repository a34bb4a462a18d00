//! Any interleaving of writers, readers, page sizes, default grants, retention and clocks: whoever reads to
//! the end has what the server has; nothing is lost, nothing comes back.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

#[derive(Clone, Debug)]
enum Act {
    /// An installation adds or removes.
    Write {
        who: usize,
        ops: Vec<(usize, bool)>,
        overrule: bool,
    },
    /// These products are granted to everybody.
    Defaults(u8),
    /// A reader reads one page.
    Page {
        reader: usize,
        limit: u8,
    },
    Advance(u8),
    StepBack(u16),
    Sweep(u8),
    Restore,
}

fn act() -> impl Strategy<Value = Act> {
    let ops = prop::collection::vec((0_usize..8, any::<bool>()), 1..4);
    prop_oneof![
        8 => (0_usize..3, ops, any::<bool>()).prop_map(|(who, ops, overrule)| Act::Write { who, ops, overrule }),
        2 => any::<u8>().prop_map(Act::Defaults),
        10 => (0_usize..3, 1_u8..5).prop_map(|(reader, limit)| Act::Page { reader, limit }),
        2 => select(vec![1, 30, 60, 91]).prop_map(Act::Advance),
        1 => any::<u16>().prop_map(Act::StepBack),
        2 => (1_u8..4).prop_map(Act::Sweep),
        1 => Just(Act::Restore),
    ]
}

/// What the server has to have: the member's own products, and the default ones.
#[derive(Default)]
struct Truth {
    own: BTreeSet<String>,
    defaults: BTreeSet<String>,
}

impl Truth {
    fn set(&self) -> BTreeMap<String, bool> {
        let all = self.own.iter().chain(&self.defaults);
        all.map(|key| (key.clone(), self.defaults.contains(key))).collect()
    }

    /// What an applied op does.
    fn apply(&mut self, key: &str, adds: bool) {
        if adds {
            self.own.insert(key.to_owned())
        } else {
            self.own.remove(key)
        };
    }
}

/// A client's replica: entries by key, and where to go on.
#[derive(Default)]
struct Reader {
    entries: BTreeMap<String, bool>,
    cursor: Option<String>,
    /// Whether the snapshot is whole.
    follows: bool,
}

impl Reader {
    /// Reads one page; says whether it has everything up to now.
    async fn page(&mut self, bench: &Bench, limit: u8) -> bool {
        let cursor = self.cursor.as_ref().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let answered = bench.get(&first(), &format!("{READ}?limit={limit}{cursor}")).await;
        if answered.status == 410 {
            *self = Self::default();
            return false;
        }
        assert_eq!(answered.status, 200);
        let page = answered.body;
        for item in page["items"].as_array().expect("a list") {
            let key = item["key"].as_str().expect("a text").to_owned();
            self.entries.insert(key, item["isDefault"].as_bool().expect("a flag"));
        }
        for gone in page["removed"].as_array().expect("a list") {
            self.entries.remove(gone["key"].as_str().expect("a text"));
        }
        self.cursor = page["nextCursor"].as_str().map(str::to_owned);
        let followed = self.follows;
        self.follows |= page["hasMore"] == false;
        followed && page["hasMore"] == false
    }
}

async fn run(acts: Vec<Act>) {
    let bench = Bench::unguarded().await;
    let mut truth = Truth { defaults: ["BP_CORE", "BP_LAMP"].map(str::to_owned).into(), ..Truth::default() };
    let mut readers: [Reader; 3] = Default::default();
    let writers = [first(), second(), other_client()];
    for act in acts {
        match act {
            Act::Write { who, ops, overrule } => {
                let names: Vec<(&str, bool)> =
                    ops.iter().map(|(at, adds)| (products()[*at], *adds)).collect();
                let op = |(key, adds): &(&str, bool)| match (adds, overrule) {
                    (false, _) => remove(key),
                    (true, true) => add_anyway(key),
                    (true, false) => add(key),
                };
                let answered = bench.change(&writers[who], names.iter().map(op).collect()).await;
                let ended: BTreeSet<u64> = answered.outcomes().into_iter().map(|(index, _)| index).collect();
                for (index, (key, adds)) in (0..).zip(names) {
                    if !ended.contains(&index) {
                        truth.apply(key, adds);
                    }
                }
            }
            Act::Defaults(bits) => {
                let granted: Vec<&'static str> = products()
                    .into_iter()
                    .enumerate()
                    .filter(|(at, _)| bits >> at & 1 == 1)
                    .map(|(_, key)| key)
                    .collect();
                truth.defaults = granted.iter().map(|key| (*key).to_owned()).collect();
                bench.defaults(granted).await;
            }
            Act::Page { reader, limit } => {
                let reader = &mut readers[reader];
                if reader.page(&bench, limit).await {
                    assert_eq!(reader.entries, truth.set(), "at the end of the feed");
                }
            }
            Act::Advance(days) => bench.clock.advance(u32::from(days) * DAY),
            Act::StepBack(seconds) => bench.clock.step_back(Duration::from_secs(seconds.into())),
            Act::Sweep(most) => drop(bench.backend().sweep(most.into()).await.expect("a sweep")),
            Act::Restore => {
                let renew = |connection: &rusqlite::Connection| {
                    exchange_service::store::epoch::renew(connection, &SystemRandom)
                };
                bench.store.write(renew).await.expect("an epoch");
            }
        }
    }
    let held: BTreeMap<String, bool> = bench.held(&first()).await.into_iter().collect();
    assert_eq!(held, truth.set(), "a snapshot");
    for mut reader in readers {
        while !reader.page(&bench, 3).await {}
        assert_eq!(reader.entries, truth.set(), "a replica");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// FED-02, FED-03, FED-04, FED-05, FED-06, FED-07, FED-08, FED-09, FED-10, BPR-10, LIM-13: see the
    /// head of this file.
    #[test]
    fn whoever_reads_to_the_end_has_what_the_server_has(acts in prop::collection::vec(act(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(run(acts));
    }
}
