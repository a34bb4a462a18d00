//! A direct interpreter of the eight ops on maps, written from the specification. It shares no code with the
//! service.

use std::collections::{BTreeMap, BTreeSet};

use super::super::stock::{GUN, LotKey, METAL, ORE, PARTS};

/// Returns the lots of the model.
pub(super) fn places() -> Vec<LotKey> {
    let plain = [ORE, ORE.place("Station"), METAL.quality(7), PARTS, GUN];
    plain.into_iter().flat_map(|lot_key| [lot_key, lot_key.stolen()]).collect()
}

pub(super) const MEMBERS: [&str; 3] = ["m-1", "m-2", "m-3"];
pub(super) const UNITS: [&str; 2] = ["u-1", "u-2"];
pub(super) const MISSIONS: [&str; 2] = ["mi-1", "mi-2"];
/// The job orders: `j-1` needs ore, `j-2` is done, `j-3` needs metal and guns.
pub(super) const ORDERS: [&str; 3] = ["j-1", "j-2", "j-3"];

/// An entry of a pool, or a row outside of pools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The id and the insertion order, once the service has assigned them.
    pub(super) id: String,
    pub(super) number: i64,
    pub(super) holder: usize,
    pub(super) at: LotKey,
    /// The pool; `None` for personal stock and for shared stock outside of pools.
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

    /// Returns the amount that ops without named earmarks must leave.
    pub(super) fn standing(&self) -> i64 {
        self.jobs().max(self.missions()).max(self.donated)
    }

    fn key(&self) -> (usize, LotKey, Option<usize>) {
        (self.holder, self.at, self.unit)
    }
}

/// A member's role in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelRole {
    Member,
    Logistician,
}

#[derive(Clone, Default)]
pub(super) struct Oracle {
    pub(super) entries: Vec<Entry>,
    pub(super) roles: BTreeMap<(usize, usize), ModelRole>,
    pub(super) withheld: BTreeSet<usize>,
    pub(super) names: Vec<String>,
    pub(super) missions: Vec<String>,
    pub(super) no_marking: bool,
    /// The members who receive a notice about taken or moved stock in the current change set, with its kind.
    pub(super) sent_notices: BTreeSet<(usize, &'static str)>,
    /// The income of missions, and the proceeds of all sales.
    pub(super) income: BTreeMap<String, i64>,
    pub(super) proceeds: i64,
    pub(super) now: i64,
}

/// Earmarked amounts by target.
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
        at: LotKey,
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

/// `Ok` if the op is applied, otherwise its result and its reason.
type OpResult = Result<(), &'static str>;

const UNCHANGED: OpResult = Err("unchanged -");

fn rejected<T>(reason: &'static str) -> Result<T, &'static str> {
    Err(reason)
}

impl Oracle {
    fn check_permission(&self, who: usize, unit: usize) -> OpResult {
        let is_permitted = self.roles.get(&(who, unit)) == Some(&ModelRole::Logistician);
        if is_permitted { Ok(()) } else { rejected("rejected NOT_PERMITTED") }
    }

    /// Returns the index of an entry in a pool of the member's units, or the reason for rejecting the op.
    fn find_entry(&self, who: usize, unit: usize, id: &str) -> Result<usize, &'static str> {
        self.check_permission(who, unit)?;
        let matches_entry = |entry: &Entry| entry.id == id && entry.unit == Some(unit) && entry.amount > 0;
        self.entries.iter().position(matches_entry).ok_or("rejected NOT_PERMITTED")
    }

    fn check_roster(&self, unit: usize, holder: Option<usize>) -> Result<usize, &'static str> {
        let on =
            |holder: &usize| self.roles.contains_key(&(*holder, unit)) && !self.withheld.contains(holder);
        holder.filter(on).ok_or("rejected HOLDER_UNKNOWN")
    }

    /// Applies one op.
    pub(super) fn op(&mut self, who: usize, op: &Op) -> OpResult {
        match op.clone() {
            Op::BookIn { unit, holder, at, amount, note, shares, merge } => {
                self.check_permission(who, unit)?;
                let holder = self.check_roster(unit, holder)?;
                if at.stolen && amount > 0 && self.no_marking {
                    return rejected("rejected STOLEN_MARKING_DISABLED");
                }
                for (order, _) in &shares.jobs {
                    let needs = match order.as_str() {
                        "j-1" => at.material == "ore",
                        "j-3" => at.material == "metal" || at.material == "gun",
                        _ => false,
                    };
                    if !needs
                        || shares.jobs.iter().filter(|(other_target, _)| other_target == order).count() > 1
                    {
                        return rejected("rejected EARMARK_TARGET_INVALID");
                    }
                }
                for (mission, _) in &shares.missions {
                    let twice =
                        shares.missions.iter().filter(|(other_target, _)| other_target == mission).count()
                            > 1;
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
                let new = self.new_entry(holder, at, unit, amount, shares);
                self.add_part(Entry { note: note.clone(), ..new }, merge, note);
                Ok(())
            }
            Op::BookOut { unit, entry, version, amount, shares } => {
                let at = self.find_entry(who, unit, &entry)?;
                self.check_version(at, version)?;
                let part = self.take(at, amount, &shares)?;
                self.notify(who, part.holder, "org-stock.book-out");
                Ok(())
            }
            Op::Sell { unit, entry, version, amount, shares, proceeds } => {
                let at = self.find_entry(who, unit, &entry)?;
                self.check_version(at, version)?;
                let part = self.take(at, amount, &shares)?;
                self.proceeds += proceeds;
                for (mission, sold) in part.missions {
                    // Only member one takes part in a mission, which is `mi-1`.
                    if who == 0 && mission == "mi-1" {
                        *self.income.entry(mission).or_default() += proceeds * sold / amount;
                    }
                }
                self.notify(who, part.holder, "org-stock.sale");
                Ok(())
            }
            Op::MoveLocation { unit, entry, version, amount, shares, place, merge } => {
                let at = self.find_entry(who, unit, &entry)?;
                let place = place.ok_or("rejected LOCATION_UNKNOWN")?;
                self.check_version(at, version)?;
                if self.entries[at].at.place == place {
                    return UNCHANGED;
                }
                let part = self.take(at, amount, &shares)?;
                self.notify(who, part.holder, "org-stock.move");
                let to = part.at.place(place);
                self.add_part(Entry { at: to, ..part }, merge, None);
                Ok(())
            }
            Op::MoveHolder { unit, entry, version, amount, shares, to_unit, holder, merge } => {
                let at = self.find_entry(who, unit, &entry)?;
                self.check_permission(who, to_unit)?;
                let to = self.check_roster(to_unit, holder)?;
                let own = to == self.entries[at].holder;
                if own && to_unit != unit {
                    return rejected("rejected NOT_PERMITTED");
                }
                self.check_version(at, version)?;
                if own {
                    return UNCHANGED;
                }
                let part = self.take(at, amount, &shares)?;
                self.notify(who, part.holder, "org-stock.move");
                self.notify(who, to, "org-stock.move");
                self.add_part(Entry { holder: to, unit: Some(to_unit), note: None, ..part }, merge, None);
                Ok(())
            }
            Op::MovePool { unit, entry, version, amount, to_unit, merge } => {
                let at = self.find_entry(who, unit, &entry)?;
                self.check_permission(who, to_unit)?;
                let previous = self.entries[at].clone();
                if to_unit != unit && !self.roles.contains_key(&(previous.holder, to_unit)) {
                    return rejected("rejected HOLDER_UNKNOWN");
                }
                self.check_version(at, version)?;
                if to_unit == unit {
                    return UNCHANGED;
                }
                let Some(amount) = amount else {
                    if previous.donated > 0 {
                        return rejected("rejected STOCK_EARMARKED");
                    }
                    self.notify(who, previous.holder, "org-stock.move");
                    let whole_entry = Entry { unit: Some(to_unit), ..previous };
                    let joins = (merge || whole_entry.at.is_counted()) && whole_entry.offer == 0;
                    self.entries[at].amount = 0;
                    if joins && self.find_mergeable(&whole_entry).is_some() {
                        self.add_part(whole_entry, true, None);
                    } else {
                        self.entries[at] = Entry { version: whole_entry.version + 1, ..whole_entry };
                    }
                    return Ok(());
                };
                let part = self.split(at, amount)?;
                self.notify(who, part.holder, "org-stock.move");
                self.add_part(Entry { unit: Some(to_unit), ..part }, merge, None);
                Ok(())
            }
            Op::Note { unit, entry, version, note } => {
                let at = self.find_entry(who, unit, &entry)?;
                self.check_version(at, version)?;
                let note = note.filter(|note| !note.trim().is_empty());
                if self.entries[at].note == note {
                    return UNCHANGED;
                }
                self.entries[at].note = note;
                self.entries[at].version += 1;
                Ok(())
            }
            Op::Stolen { unit, entry, version, stolen, amount } => {
                let at = self.find_entry(who, unit, &entry)?;
                if stolen && amount != Some(0) && self.no_marking {
                    return rejected("rejected STOLEN_MARKING_DISABLED");
                }
                self.check_version(at, version)?;
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

    fn notify(&mut self, who: usize, holder: usize, kind: &'static str) {
        if who != holder {
            self.sent_notices.insert((holder, kind));
        }
    }

    fn check_version(&self, index: usize, version: i64) -> OpResult {
        if self.entries[index].version == version { Ok(()) } else { rejected("rejected VERSION_CONFLICT") }
    }

    /// Creates an entry.
    fn new_entry(&self, holder: usize, lot_key: LotKey, unit: usize, amount: i64, shares: Shares) -> Entry {
        let map = |shares: Vec<(String, i64)>| shares.into_iter().filter(|(_, amount)| *amount > 0).collect();
        let (jobs, missions) = (map(shares.jobs), map(shares.missions));
        let (id, number) = (String::new(), i64::MAX);
        let unit = Some(unit);
        Entry {
            id,
            number,
            holder,
            at: lot_key,
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

    /// Takes an amount with the named earmarks from an entry; the rest of the amount must be free.
    fn take(&mut self, index: usize, amount: i64, shares: &Shares) -> Result<Entry, &'static str> {
        let mut entry = self.entries[index].clone();
        for (named_targets, has) in [(&shares.jobs, &mut entry.jobs), (&shares.missions, &mut entry.missions)]
        {
            for (target, part) in named_targets {
                let twice = named_targets.iter().filter(|(other, _)| other == target).count() > 1;
                let earmarked = has.get(target).copied().unwrap_or(0);
                if twice || earmarked == 0 || earmarked < *part {
                    return rejected("rejected EARMARK_TARGET_INVALID");
                }
            }
            for (target, part) in named_targets {
                *has.get_mut(target).expect("the target exists") -= part;
            }
            has.retain(|_, amount| *amount > 0);
            if named_targets.iter().map(|(_, part)| part).sum::<i64>() > amount {
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
        let unit = entry.unit.expect("the entry is in a pool");
        let part = self.new_entry(entry.holder, entry.at, unit, amount, shares.clone());
        let part = Entry { note: entry.note.clone(), booked: entry.booked, ..part };
        self.entries[index] = entry;
        Ok(part)
    }

    /// Takes a free amount from an entry.
    fn split(&mut self, index: usize, amount: i64) -> Result<Entry, &'static str> {
        let entry = &self.entries[index];
        if amount > entry.amount {
            return rejected("rejected INSUFFICIENT_STOCK");
        }
        if entry.amount - amount < entry.standing() {
            return rejected("rejected STOCK_EARMARKED");
        }
        if entry.amount - amount < entry.offer {
            return rejected("rejected STOCK_OFFERED");
        }
        self.take(index, amount, &Shares::default())
    }

    /// Returns the oldest other entry of the same holder, lot and pool.
    fn find_mergeable(&self, part: &Entry) -> Option<usize> {
        let mut candidates: Vec<usize> = (0..self.entries.len())
            .filter(|index| self.entries[*index].key() == part.key() && self.entries[*index].amount > 0)
            .collect();
        // Of entries with the same age, those of this change set follow existing ones.
        candidates.sort_by_key(|index| {
            let entry = &self.entries[*index];
            (entry.booked, entry.id.is_empty(), entry.number, *index)
        });
        candidates.first().copied()
    }

    fn add_part(&mut self, part: Entry, merge: bool, note: Option<String>) {
        let oldest = if merge || part.at.is_counted() { self.find_mergeable(&part) } else { None };
        let Some(index) = oldest else { return self.entries.push(part) };
        let entry = &mut self.entries[index];
        entry.amount += part.amount;
        entry.version += 1;
        for (added, has) in [(part.jobs, &mut entry.jobs), (part.missions, &mut entry.missions)] {
            for (target, amount) in added {
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

    /// Sets the amount of a holder's lot through the web pages.
    pub(super) fn set(&mut self, holder: usize, lot_key: LotKey, to: i64) -> OpResult {
        let mut own: Vec<usize> = (0..self.entries.len())
            .filter(|one| self.entries[*one].holder == holder && self.entries[*one].at == lot_key)
            .collect();
        let held: i64 = own.iter().map(|one| self.entries[*one].amount).sum();
        let reserved: i64 = own.iter().map(|one| self.entries[*one].standing()).sum();
        if lot_key.stolen && to > 0 && self.no_marking {
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
            let first = own.first().filter(|one| lot_key.is_counted() && !self.entries[**one].shared);
            match first {
                Some(one) => {
                    self.entries[*one].amount -= fall;
                    self.entries[*one].version += 1;
                }
                None => {
                    let new = self.new_entry(holder, lot_key, 0, -fall, Shares::default());
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

    /// Returns the lots of the pools that a member reads, with entries where these are permitted.
    pub(super) fn view(&self, member: usize, details: bool) -> Vec<String> {
        let mut lots: BTreeMap<(usize, LotKey), Vec<&Entry>> = BTreeMap::new();
        for entry in &self.entries {
            if let Some(unit) = entry.unit
                && self.roles.contains_key(&(member, unit))
            {
                lots.entry((unit, entry.at)).or_default().push(entry);
            }
        }
        let mut lines = Vec::new();
        for ((unit, lot_key), mut entries) in lots {
            entries.sort_by_key(|entry| (entry.booked, entry.number));
            let sum = |amount_of: fn(&Entry) -> i64| {
                format_amount(lot_key, entries.iter().map(|entry| amount_of(entry)).sum())
            };
            let (held, jobs, missions) = (sum(|entry| entry.amount), sum(Entry::jobs), sum(Entry::missions));
            let stolen = if lot_key.stolen { "!" } else { "" };
            let lot = format!(
                "{} {} {} q{}{stolen}: {held} {jobs}/{missions}",
                UNITS[unit], lot_key.material, lot_key.place, lot_key.quality
            );
            if !details || self.roles.get(&(member, unit)) != Some(&ModelRole::Logistician) {
                lines.push(lot);
                continue;
            }
            let entries: Vec<String> = entries.iter().map(|entry| self.describe_entry(entry)).collect();
            lines.push(format!("{lot} [{}]", entries.join(", ")));
        }
        lines.sort();
        lines
    }

    fn describe_entry(&self, entry: &Entry) -> String {
        let lot_key = entry.at;
        let withheld = self.withheld.contains(&entry.holder);
        let holder = if withheld { "?" } else { &self.names[entry.holder] };
        let note =
            entry.note.as_ref().filter(|_| !withheld).map(|note| format!(" '{note}'")).unwrap_or_default();
        let mut marks = String::new();
        for (order, amount) in &entry.jobs {
            let number = 11 + ORDERS.iter().position(|one| one == order).expect("a known order");
            marks += &format!(" {order}({number}):{}", format_amount(lot_key, *amount));
        }
        for (mission, amount) in &entry.missions {
            let at_list = MISSIONS.iter().position(|one| one == mission).expect("a known mission");
            marks +=
                &format!(" {mission}(\"{}\"):{}", self.missions[at_list], format_amount(lot_key, *amount));
        }
        let free = |reserved: i64| format_amount(lot_key, entry.amount - reserved);
        let (jobs, missions) = (free(entry.jobs()), free(entry.missions()));
        format!(
            "{holder} {} v{}{note}{marks} free {jobs}/{missions}",
            format_amount(lot_key, entry.amount),
            entry.version
        )
    }
}

/// Formats an amount as JSON.
pub(super) fn format_amount(lot_key: LotKey, amount: i64) -> String {
    if lot_key.is_counted() {
        return amount.to_string();
    }
    let text = format!("{}.{:03}", amount / 1000, amount % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
