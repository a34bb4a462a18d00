//! A direct interpreter of the eight ops over maps, written from the specification. It shares no code with
//! the service.

use std::collections::{BTreeMap, BTreeSet};

use super::super::stock::{At, GUN, METAL, ORE, PARTS};

/// A location of stock with its properties.
pub(super) fn places() -> Vec<At> {
    let plain = [ORE, ORE.place("Station"), METAL.quality(7), PARTS, GUN];
    plain.into_iter().flat_map(|at| [at, at.stolen()]).collect()
}

pub(super) const MEMBERS: [&str; 3] = ["m-1", "m-2", "m-3"];
pub(super) const UNITS: [&str; 2] = ["u-1", "u-2"];
pub(super) const MISSIONS: [&str; 2] = ["mi-1", "mi-2"];
/// `j-1` needs ore, `j-2` is done, `j-3` needs metal and guns.
pub(super) const ORDERS: [&str; 3] = ["j-1", "j-2", "j-3"];

/// An entry, or a row in no pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its id and insertion order, once the service has assigned them.
    pub(super) id: String,
    pub(super) number: i64,
    pub(super) holder: usize,
    pub(super) at: At,
    /// The pool; none for personal stock and for shared stock in no pool.
    pub(super) unit: Option<usize>,
    pub(super) shared: bool,
    pub(super) amount: i64,
    pub(super) version: i64,
    pub(super) note: Option<String>,
    pub(super) jobs: BTreeMap<String, i64>,
    pub(super) missions: BTreeMap<String, i64>,
    pub(super) donated: i64,
    pub(super) offer: i64,
    pub(super) booked: i64,
}

impl Entry {
    fn jobs(&self) -> i64 {
        self.jobs.values().sum()
    }

    fn missions(&self) -> i64 {
        self.missions.values().sum()
    }

    /// The reserved part for ops that name no earmarks.
    pub(super) fn standing(&self) -> i64 {
        self.jobs().max(self.missions()).max(self.donated)
    }

    fn key(&self) -> (usize, At, Option<usize>) {
        (self.holder, self.at, self.unit)
    }
}

/// A member's role in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    Member,
    Logistician,
}

#[derive(Clone, Default)]
pub(super) struct Oracle {
    pub(super) entries: Vec<Entry>,
    pub(super) roles: BTreeMap<(usize, usize), Is>,
    pub(super) withheld: BTreeSet<usize>,
    pub(super) names: Vec<String>,
    pub(super) missions: Vec<String>,
    pub(super) no_marking: bool,
    /// The holders with taken or moved stock, and the writers, in the current change set.
    pub(super) told: BTreeSet<(usize, &'static str)>,
    /// The missions' income, and the proceeds of sales.
    pub(super) income: BTreeMap<String, i64>,
    pub(super) proceeds: i64,
    pub(super) now: i64,
}

/// Earmarked parts of stock by target.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    pub(super) jobs: Vec<(String, i64)>,
    pub(super) missions: Vec<(String, i64)>,
}

/// An op, with amounts in thousandths or pieces.
#[derive(Clone, Debug)]
pub(super) enum Op {
    BookIn {
        unit: usize,
        holder: Option<usize>,
        at: At,
        amount: i64,
        note: Option<String>,
        shares: Shares,
        merge: bool,
    },
    BookOut {
        unit: usize,
        entry: String,
        version: i64,
        amount: i64,
        shares: Shares,
    },
    Sell {
        unit: usize,
        entry: String,
        version: i64,
        amount: i64,
        shares: Shares,
        proceeds: i64,
    },
    MoveLocation {
        unit: usize,
        entry: String,
        version: i64,
        amount: i64,
        shares: Shares,
        place: Option<&'static str>,
        merge: bool,
    },
    MoveHolder {
        unit: usize,
        entry: String,
        version: i64,
        amount: i64,
        shares: Shares,
        to_unit: usize,
        holder: Option<usize>,
        merge: bool,
    },
    MovePool {
        unit: usize,
        entry: String,
        version: i64,
        amount: Option<i64>,
        to_unit: usize,
        merge: bool,
    },
    Note {
        unit: usize,
        entry: String,
        version: i64,
        note: Option<String>,
    },
    Stolen {
        unit: usize,
        entry: String,
        version: i64,
        stolen: bool,
        amount: Option<i64>,
    },
}

/// Returns `None` if the op is applied, else `result reason`.
type Ends = Result<(), &'static str>;

const UNCHANGED: Ends = Err("unchanged -");

fn rejected<T>(reason: &'static str) -> Result<T, &'static str> {
    Err(reason)
}

impl Oracle {
    fn may(&self, who: usize, unit: usize) -> Ends {
        let is = self.roles.get(&(who, unit)) == Some(&Is::Logistician);
        if is { Ok(()) } else { rejected("rejected NOT_PERMITTED") }
    }

    /// Returns the index of an entry in a pool of the member's units.
    fn find(&self, who: usize, unit: usize, id: &str) -> Result<usize, &'static str> {
        self.may(who, unit)?;
        let is = |entry: &Entry| entry.id == id && entry.unit == Some(unit) && entry.amount > 0;
        self.entries.iter().position(is).ok_or("rejected NOT_PERMITTED")
    }

    fn on_roster(&self, unit: usize, holder: Option<usize>) -> Result<usize, &'static str> {
        let on =
            |holder: &usize| self.roles.contains_key(&(*holder, unit)) && !self.withheld.contains(holder);
        holder.filter(on).ok_or("rejected HOLDER_UNKNOWN")
    }

    /// Applies one op.
    pub(super) fn op(&mut self, who: usize, op: &Op) -> Ends {
        match op.clone() {
            Op::BookIn { unit, holder, at, amount, note, shares, merge } => {
                self.may(who, unit)?;
                let holder = self.on_roster(unit, holder)?;
                if at.stolen && amount > 0 && self.no_marking {
                    return rejected("rejected STOLEN_MARKING_DISABLED");
                }
                for (order, _) in &shares.jobs {
                    let needs = match order.as_str() {
                        "j-1" => at.material == "ore",
                        "j-3" => at.material == "metal" || at.material == "gun",
                        _ => false,
                    };
                    if !needs || shares.jobs.iter().filter(|(other, _)| other == order).count() > 1 {
                        return rejected("rejected EARMARK_TARGET_INVALID");
                    }
                }
                for (mission, _) in &shares.missions {
                    let twice = shares.missions.iter().filter(|(other, _)| other == mission).count() > 1;
                    if at.material == "gun" || twice || !MISSIONS.contains(&mission.as_str()) {
                        return rejected("rejected EARMARK_TARGET_INVALID");
                    }
                }
                let sum = |shares: &[(String, i64)]| shares.iter().map(|(_, amount)| amount).sum::<i64>();
                if sum(&shares.jobs) > amount || sum(&shares.missions) > amount {
                    return rejected("rejected OVER_ALLOCATION");
                }
                if amount == 0 {
                    return UNCHANGED;
                }
                let note = note.filter(|note| !note.trim().is_empty());
                let new = self.fresh(holder, at, unit, amount, shares);
                self.put(Entry { note: note.clone(), ..new }, merge, note);
                Ok(())
            }
            Op::BookOut { unit, entry, version, amount, shares } => {
                let at = self.find(who, unit, &entry)?;
                self.current(at, version)?;
                let part = self.take(at, amount, &shares)?;
                self.tell(who, part.holder, "org-stock.book-out");
                Ok(())
            }
            Op::Sell { unit, entry, version, amount, shares, proceeds } => {
                let at = self.find(who, unit, &entry)?;
                self.current(at, version)?;
                let part = self.take(at, amount, &shares)?;
                self.proceeds += proceeds;
                for (mission, sold) in part.missions {
                    // Only member one takes part in a mission, the first one.
                    if who == 0 && mission == "mi-1" {
                        *self.income.entry(mission).or_default() += proceeds * sold / amount;
                    }
                }
                self.tell(who, part.holder, "org-stock.sale");
                Ok(())
            }
            Op::MoveLocation { unit, entry, version, amount, shares, place, merge } => {
                let at = self.find(who, unit, &entry)?;
                let place = place.ok_or("rejected LOCATION_UNKNOWN")?;
                self.current(at, version)?;
                if self.entries[at].at.place == place {
                    return UNCHANGED;
                }
                let part = self.take(at, amount, &shares)?;
                self.tell(who, part.holder, "org-stock.move");
                let to = part.at.place(place);
                self.put(Entry { at: to, ..part }, merge, None);
                Ok(())
            }
            Op::MoveHolder { unit, entry, version, amount, shares, to_unit, holder, merge } => {
                let at = self.find(who, unit, &entry)?;
                self.may(who, to_unit)?;
                let to = self.on_roster(to_unit, holder)?;
                let own = to == self.entries[at].holder;
                if own && to_unit != unit {
                    return rejected("rejected NOT_PERMITTED");
                }
                self.current(at, version)?;
                if own {
                    return UNCHANGED;
                }
                let part = self.take(at, amount, &shares)?;
                self.tell(who, part.holder, "org-stock.move");
                self.tell(who, to, "org-stock.move");
                self.put(Entry { holder: to, unit: Some(to_unit), note: None, ..part }, merge, None);
                Ok(())
            }
            Op::MovePool { unit, entry, version, amount, to_unit, merge } => {
                let at = self.find(who, unit, &entry)?;
                self.may(who, to_unit)?;
                let was = self.entries[at].clone();
                if to_unit != unit && !self.roles.contains_key(&(was.holder, to_unit)) {
                    return rejected("rejected HOLDER_UNKNOWN");
                }
                self.current(at, version)?;
                if to_unit == unit {
                    return UNCHANGED;
                }
                let Some(amount) = amount else {
                    if was.donated > 0 {
                        return rejected("rejected STOCK_EARMARKED");
                    }
                    self.tell(who, was.holder, "org-stock.move");
                    let whole = Entry { unit: Some(to_unit), ..was };
                    let joins = (merge || whole.at.is_counted()) && whole.offer == 0;
                    self.entries[at].amount = 0;
                    if joins && self.like(&whole).is_some() {
                        self.put(whole, true, None);
                    } else {
                        self.entries[at] = Entry { version: whole.version + 1, ..whole };
                    }
                    return Ok(());
                };
                let part = self.split(at, amount)?;
                self.tell(who, part.holder, "org-stock.move");
                self.put(Entry { unit: Some(to_unit), ..part }, merge, None);
                Ok(())
            }
            Op::Note { unit, entry, version, note } => {
                let at = self.find(who, unit, &entry)?;
                self.current(at, version)?;
                let note = note.filter(|note| !note.trim().is_empty());
                if self.entries[at].note == note {
                    return UNCHANGED;
                }
                self.entries[at].note = note;
                self.entries[at].version += 1;
                Ok(())
            }
            Op::Stolen { unit, entry, version, stolen, amount } => {
                let at = self.find(who, unit, &entry)?;
                if stolen && amount != Some(0) && self.no_marking {
                    return rejected("rejected STOLEN_MARKING_DISABLED");
                }
                self.current(at, version)?;
                if self.entries[at].at.stolen == stolen {
                    return UNCHANGED;
                }
                match amount {
                    None => {
                        self.entries[at].at.stolen = stolen;
                        self.entries[at].version += 1;
                    }
                    Some(amount) => {
                        let mut part = self.split(at, amount)?;
                        part.at.stolen = stolen;
                        self.entries.push(part);
                    }
                }
                Ok(())
            }
        }
    }

    fn tell(&mut self, who: usize, holder: usize, kind: &'static str) {
        if who != holder {
            self.told.insert((holder, kind));
        }
    }

    fn current(&self, at: usize, version: i64) -> Ends {
        if self.entries[at].version == version { Ok(()) } else { rejected("rejected VERSION_CONFLICT") }
    }

    /// Creates an entry.
    fn fresh(&self, holder: usize, at: At, unit: usize, amount: i64, shares: Shares) -> Entry {
        let map = |shares: Vec<(String, i64)>| shares.into_iter().filter(|(_, amount)| *amount > 0).collect();
        let (jobs, missions) = (map(shares.jobs), map(shares.missions));
        let (id, number) = (String::new(), i64::MAX);
        let unit = Some(unit);
        Entry {
            id,
            number,
            holder,
            at,
            unit,
            shared: true,
            amount,
            version: 1,
            note: None,
            jobs,
            missions,
            donated: 0,
            offer: 0,
            booked: self.now,
        }
    }

    /// Takes a part with named earmarks; the rest must be free.
    fn take(&mut self, at: usize, amount: i64, shares: &Shares) -> Result<Entry, &'static str> {
        let mut entry = self.entries[at].clone();
        for (wanted, has) in [(&shares.jobs, &mut entry.jobs), (&shares.missions, &mut entry.missions)] {
            for (target, part) in wanted {
                let twice = wanted.iter().filter(|(other, _)| other == target).count() > 1;
                let there = has.get(target).copied().unwrap_or(0);
                if twice || there == 0 || there < *part {
                    return rejected("rejected EARMARK_TARGET_INVALID");
                }
            }
            for (target, part) in wanted {
                *has.get_mut(target).expect("it is there") -= part;
            }
            has.retain(|_, amount| *amount > 0);
            if wanted.iter().map(|(_, part)| part).sum::<i64>() > amount {
                return rejected("rejected EARMARK_TARGET_INVALID");
            }
        }
        if amount > entry.amount {
            return rejected("rejected INSUFFICIENT_STOCK");
        }
        entry.amount -= amount;
        if entry.standing() > entry.amount {
            return rejected("rejected STOCK_EARMARKED");
        }
        if amount == 0 {
            return Err("unchanged -");
        }
        entry.offer = entry.offer.min(entry.amount);
        entry.version += 1;
        let unit = entry.unit.expect("a pool");
        let part = self.fresh(entry.holder, entry.at, unit, amount, shares.clone());
        let part = Entry { note: entry.note.clone(), booked: entry.booked, ..part };
        self.entries[at] = entry;
        Ok(part)
    }

    /// Takes a free part.
    fn split(&mut self, at: usize, amount: i64) -> Result<Entry, &'static str> {
        let entry = &self.entries[at];
        if amount > entry.amount {
            return rejected("rejected INSUFFICIENT_STOCK");
        }
        if entry.amount - amount < entry.standing() {
            return rejected("rejected STOCK_EARMARKED");
        }
        if entry.amount - amount < entry.offer {
            return rejected("rejected STOCK_OFFERED");
        }
        self.take(at, amount, &Shares::default())
    }

    /// Finds the oldest entry of the same holder, lot and pool.
    fn like(&self, part: &Entry) -> Option<usize> {
        let mut all: Vec<usize> = (0..self.entries.len())
            .filter(|at| self.entries[*at].key() == part.key() && self.entries[*at].amount > 0)
            .collect();
        // At the same age, entries of this change set follow existing ones.
        all.sort_by_key(|at| {
            let entry = &self.entries[*at];
            (entry.booked, entry.id.is_empty(), entry.number, *at)
        });
        all.first().copied()
    }

    fn put(&mut self, part: Entry, merge: bool, note: Option<String>) {
        let like = if merge || part.at.is_counted() { self.like(&part) } else { None };
        let Some(at) = like else { return self.entries.push(part) };
        let entry = &mut self.entries[at];
        entry.amount += part.amount;
        entry.version += 1;
        for (more, has) in [(part.jobs, &mut entry.jobs), (part.missions, &mut entry.missions)] {
            for (target, amount) in more {
                *has.entry(target).or_default() += amount;
            }
        }
        if note.is_some() {
            entry.note = note;
        }
    }

    /// Deletes empty entries.
    pub(super) fn settle(&mut self) {
        self.entries.retain(|entry| entry.amount > 0);
    }

    /// Sets a holder's lot on the web; `None` if reservations forbid it.
    pub(super) fn set(&mut self, holder: usize, at: At, to: i64) -> Ends {
        let mut own: Vec<usize> = (0..self.entries.len())
            .filter(|one| self.entries[*one].holder == holder && self.entries[*one].at == at)
            .collect();
        let held: i64 = own.iter().map(|one| self.entries[*one].amount).sum();
        let reserved: i64 = own.iter().map(|one| self.entries[*one].standing()).sum();
        if at.stolen && to > 0 && self.no_marking {
            return rejected("rejected STOLEN_MARKING_DISABLED");
        }
        if held == to {
            return UNCHANGED;
        }
        if to < reserved {
            return rejected("rejected STOCK_EARMARKED");
        }
        own.sort_by_key(|one| {
            let Entry { unit, shared, booked, number, .. } = &self.entries[*one];
            (if unit.is_some() { 2 } else { i32::from(*shared) }, *booked, *number)
        });
        let mut fall = held - to;
        if fall < 0 {
            let first = own.first().filter(|one| at.is_counted() && !self.entries[**one].shared);
            match first {
                Some(one) => {
                    self.entries[*one].amount -= fall;
                    self.entries[*one].version += 1;
                }
                None => {
                    let new = self.fresh(holder, at, 0, -fall, Shares::default());
                    self.entries.push(Entry { unit: None, shared: false, ..new });
                }
            }
            return Ok(());
        }
        for one in own {
            let entry = &mut self.entries[one];
            let part = fall.min(entry.amount - entry.standing());
            if part > 0 {
                fall -= part;
                entry.amount -= part;
                entry.offer = entry.offer.min(entry.amount);
                entry.version += 1;
            }
        }
        self.settle();
        Ok(())
    }

    /// Returns the pools that a member reads: each lot with its entries where permitted.
    pub(super) fn view(&self, member: usize, details: bool) -> Vec<String> {
        let mut lots: BTreeMap<(usize, At), Vec<&Entry>> = BTreeMap::new();
        for entry in &self.entries {
            if let Some(unit) = entry.unit
                && self.roles.contains_key(&(member, unit))
            {
                lots.entry((unit, entry.at)).or_default().push(entry);
            }
        }
        let mut told = Vec::new();
        for ((unit, at), mut entries) in lots {
            entries.sort_by_key(|entry| (entry.booked, entry.number));
            let sum = |of: fn(&Entry) -> i64| shown(at, entries.iter().map(|entry| of(entry)).sum());
            let (held, jobs, missions) = (sum(|entry| entry.amount), sum(Entry::jobs), sum(Entry::missions));
            let stolen = if at.stolen { "!" } else { "" };
            let lot = format!(
                "{} {} {} q{}{stolen}: {held} {jobs}/{missions}",
                UNITS[unit], at.material, at.place, at.quality
            );
            if !details || self.roles.get(&(member, unit)) != Some(&Is::Logistician) {
                told.push(lot);
                continue;
            }
            let entries: Vec<String> = entries.iter().map(|entry| self.told(entry)).collect();
            told.push(format!("{lot} [{}]", entries.join(", ")));
        }
        told.sort();
        told
    }

    fn told(&self, entry: &Entry) -> String {
        let at = entry.at;
        let withheld = self.withheld.contains(&entry.holder);
        let holder = if withheld { "?" } else { &self.names[entry.holder] };
        let note =
            entry.note.as_ref().filter(|_| !withheld).map(|note| format!(" '{note}'")).unwrap_or_default();
        let mut marks = String::new();
        for (order, amount) in &entry.jobs {
            let number = 11 + ORDERS.iter().position(|one| one == order).expect("an order");
            marks += &format!(" {order}({number}):{}", shown(at, *amount));
        }
        for (mission, amount) in &entry.missions {
            let at_list = MISSIONS.iter().position(|one| one == mission).expect("a mission");
            marks += &format!(" {mission}(\"{}\"):{}", self.missions[at_list], shown(at, *amount));
        }
        let free = |of: i64| shown(at, entry.amount - of);
        let (jobs, missions) = (free(entry.jobs()), free(entry.missions()));
        format!("{holder} {} v{}{note}{marks} free {jobs}/{missions}", shown(at, entry.amount), entry.version)
    }
}

/// Formats an amount as JSON.
pub(super) fn shown(at: At, amount: i64) -> String {
    if at.is_counted() {
        return amount.to_string();
    }
    let text = format!("{}.{:03}", amount / 1000, amount % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
