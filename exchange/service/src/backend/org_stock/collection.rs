//! The pools that a member reads, as one collection: a stream for each of the member's units (OST-01 to
//! OST-13).
//!
//! A unit gained or lost, or a role in it, is told by nobody: the streams are those of the units that the
//! member belongs to at the moment of reading, each as what the member may see of it. A cursor that does not
//! know a stream, or knows it as something else, is given that pool anew; what the member may no longer read
//! is in nothing that is looked up here.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract_runtime::Map;
use exchange_api::types::{
    EarmarkSplit, EntryId, EntryVersion, Holder, HolderRef, JobOrderEarmark, JobOrderId, MissionEarmark,
    MissionId, NamedHolder, OrgLotKey, OrgStockEntry, OrgStockLot, Quality, UnitRef, WithheldHolder,
};
use rusqlite::{Connection, Rows, params};

use super::super::catalogue::{location_of, shown};
use super::super::stock::material_kind;
use super::super::units::{Membership, shown_name};
use super::super::warehouse::{LOT, Lot, Measure, ORG_STOCK, Purpose, lot};
use super::roster::Pseudonyms;
use crate::catalogue::contents::Kind;
use crate::catalogue::{Index, shown_key};
use crate::feed::{Collection, Source, Stream};
use crate::ids::{InstallationId, MemberId, UnitId};
use crate::secrets;
use crate::store::{StoreError, limit, list};

/// The most entries that a lot shows.
const MOST_ENTRIES: usize = 10_000;

/// What one member reads through one client.
#[derive(Debug)]
pub(super) struct Pools {
    pub(super) member: MemberId,
    /// The member's units, by name.
    pub(super) units: Vec<Membership>,
    /// Whether the token has the scope for entries.
    pub(super) details: bool,
    pub(super) names: Pseudonyms,
    /// Names materials, items and locations.
    pub(super) index: Arc<Index>,
}

/// As what a pool is shown: another number, and the pool is delivered anew (OST-09).
const MEMBER: u8 = 0;
const LOGISTICIAN: u8 = 1;
const WITH_ENTRIES: u8 = 2;

impl Collection for Pools {
    type Item = OrgStockLot;

    const RESOURCE: &'static str = ORG_STOCK;

    fn member(&self) -> &MemberId {
        &self.member
    }

    fn sources(&self, _: &Connection) -> Result<Vec<Source>, StoreError> {
        let source = |of: &Membership| Source {
            stream: Stream::of_unit(ORG_STOCK, &UnitId::new(of.unit.id.as_str())),
            variant: match (of.logistician, self.details) {
                (false, _) => MEMBER,
                (true, false) => LOGISTICIAN,
                (true, true) => WITH_ENTRIES,
            },
        };
        Ok(self.units.iter().map(source).collect())
    }

    fn snapshot(
        &self,
        connection: &Connection,
        behind: Option<&str>,
        most: usize,
    ) -> Result<Vec<(String, OrgStockLot)>, StoreError> {
        let sql = format!(
            "SELECT pool_lot, sum(amount), {LOT} FROM stock_row WHERE unit = ?1 AND pool_lot > ?2 \
             GROUP BY pool_lot ORDER BY pool_lot LIMIT ?3"
        );
        let mut lots = connection.prepare_cached(&sql)?;
        let mut found = Vec::new();
        for (tag, of) in self.in_order() {
            let last = match behind.map(|behind| behind.split_at_checked(TAG).unwrap_or((behind, ""))) {
                Some((there, _)) if there > tag.as_str() => continue,
                Some((there, last)) if there == tag => last,
                _ => "",
            };
            let left = limit(most.saturating_sub(found.len()));
            let lots = Summed::read(lots.query(params![of.unit.id.as_str(), last, left])?)?;
            let items = self.items(connection, of, lots)?.into_iter();
            found.extend(items.map(|(key, item)| (format!("{tag}{key}"), item)));
        }
        Ok(found)
    }

    fn current(
        &self,
        connection: &Connection,
        keys: &BTreeSet<String>,
    ) -> Result<HashMap<String, OrgStockLot>, StoreError> {
        let sql = format!(
            "SELECT pool_lot, sum(amount), {LOT} FROM json_each(?2) k CROSS JOIN stock_row \
             WHERE unit = ?1 AND pool_lot = k.value GROUP BY pool_lot"
        );
        let mut lots = connection.prepare_cached(&sql)?;
        let keys = list(keys.iter().map(String::as_str));
        let mut found = HashMap::new();
        // A key is of one unit only, and only the member's own are asked.
        for of in &self.units {
            let lots = Summed::read(lots.query(params![of.unit.id.as_str(), keys])?)?;
            found.extend(self.items(connection, of, lots)?);
        }
        Ok(found)
    }

    /// Another member's installations are nobody's business.
    fn tells_installation(
        &self,
        connection: &Connection,
        installation: &InstallationId,
    ) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM installation WHERE id = ?1 AND member = ?2)";
        let mut own = connection.prepare_cached(sql)?;
        Ok(own.query_row(params![installation, self.member], |row| row.get(0))?)
    }
}

/// How many characters of a place say which pool it is in.
const TAG: usize = 8;

/// A short name of a unit, for places in a snapshot: units have ids of up to 128 characters.
fn tag(unit: &str) -> String {
    URL_SAFE_NO_PAD.encode(secrets::head::<6>(&secrets::hash(unit)))
}

/// An earmark of an entry, with what its target is called.
struct Marked {
    purpose: Purpose,
    target: String,
    amount: i64,
    delivered: bool,
    number: Option<i64>,
    mission: Option<String>,
}

/// A lot, and what all of its entries come to.
struct Summed {
    key: String,
    amount: i64,
    lot: Lot,
}

impl Summed {
    /// From key, sum, and the columns of a lot.
    fn read(mut rows: Rows<'_>) -> Result<Vec<Self>, StoreError> {
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(Self { key: row.get(0)?, amount: row.get(1)?, lot: lot(row, 2)? });
        }
        Ok(found)
    }
}

/// What one holder has of a lot.
struct Held {
    id: String,
    version: i64,
    amount: i64,
    note: Option<String>,
    /// Who it is, with their name; none for a holder who withholds it.
    named: Option<(MemberId, String)>,
}

impl Pools {
    /// The pools in the order of their places.
    fn in_order(&self) -> Vec<(String, &Membership)> {
        let mut pools: Vec<_> = self.units.iter().map(|of| (tag(of.unit.id.as_str()), of)).collect();
        pools.sort_by(|(one, of), (other, than)| {
            (one, of.unit.id.as_str()).cmp(&(other, than.unit.id.as_str()))
        });
        pools
    }

    /// Lots of one pool, by their keys.
    fn items(
        &self,
        connection: &Connection,
        of: &Membership,
        lots: Vec<Summed>,
    ) -> Result<Vec<(String, OrgStockLot)>, StoreError> {
        let corrupt = |_| StoreError::Corrupt("a lot of a pool");
        if lots.is_empty() {
            return Ok(Vec::new());
        }
        let (unit, keys) = (of.unit.id.as_str(), list(lots.iter().map(|lot| lot.key.as_str())));
        let mut marked = marked(connection, unit, &keys)?;
        let shows_entries = of.logistician && self.details;
        let mut held = if shows_entries { held(connection, unit, &keys)? } else { HashMap::new() };
        let mut refs = HashMap::new();
        let unit = UnitRef { id: of.unit.id.clone(), name: of.unit.name.clone(), extra: Map::new() };
        let item = |Summed { key, amount, lot }: Summed| {
            let Lot { kind, material, measure, location, quality, stolen } = lot;
            let marked = marked.remove(&key).unwrap_or_default();
            let all = || marked.values().flatten();
            let entries = shows_entries.then(|| {
                let held = held.remove(&key).unwrap_or_default().into_iter();
                held.map(|held| self.entry(held, measure, &marked, &mut refs)).collect()
            });
            let item = OrgStockLot {
                key: OrgLotKey::new(key.as_str()).map_err(corrupt)?,
                unit: unit.clone(),
                material: shown(&shown_key(&material), self.index.name_of(kind, &material))?,
                material_kind: (kind == Kind::Material).then(|| material_kind(&self.index, &material)),
                location: location_of(&self.index, &location)?,
                quality: Quality::new(quality).map_err(corrupt)?,
                stolen,
                quantity: measure.written(amount)?,
                earmarked: split(measure, sum(all(), Purpose::JobOrder), sum(all(), Purpose::Mission))?,
                entries: entries.transpose()?,
                extra: Map::new(),
            };
            Ok((key, item))
        };
        lots.into_iter().map(item).collect()
    }

    /// What one holder has of a lot; what the client calls holders is kept beside, since most have several.
    fn entry(
        &self,
        held: Held,
        measure: Measure,
        marked: &HashMap<String, Vec<Marked>>,
        refs: &mut HashMap<MemberId, HolderRef>,
    ) -> Result<OrgStockEntry, StoreError> {
        let corrupt = |_| StoreError::Corrupt("an entry of a pool");
        let Held { id, version, amount, note, named } = held;
        let withheld = named.is_none();
        let holder = match named {
            None => Holder::WithheldHolder(WithheldHolder { extra: Map::new() }),
            Some((member, name)) => {
                let ref_ = match refs.get(&member) {
                    Some(known) => known.clone(),
                    None => {
                        let made = self.names.holder(&member)?;
                        refs.insert(member, made.clone());
                        made
                    }
                };
                Holder::NamedHolder(NamedHolder { name: shown_name(&name), ref_, extra: Map::new() })
            }
        };
        let marked = marked.get(&id).map_or(&[][..], Vec::as_slice);
        let free = |purpose| amount - sum(marked.iter(), purpose);
        Ok(OrgStockEntry {
            id: EntryId::new(id.as_str()).map_err(corrupt)?,
            version: EntryVersion::new(version).map_err(corrupt)?,
            holder,
            quantity: measure.written(amount)?,
            // A note may say whose it is.
            note: note.filter(|_| !withheld),
            job_orders: of(marked, Purpose::JobOrder)
                .map(|one| one.job_order(measure))
                .collect::<Result<_, _>>()?,
            missions: of(marked, Purpose::Mission)
                .map(|one| one.mission(measure))
                .collect::<Result<_, _>>()?,
            free: split(measure, free(Purpose::JobOrder), free(Purpose::Mission))?,
            extra: Map::new(),
        })
    }
}

impl Marked {
    fn job_order(&self, measure: Measure) -> Result<JobOrderEarmark, StoreError> {
        Ok(JobOrderEarmark {
            id: JobOrderId::new(self.target.as_str()).map_err(|_| StoreError::Corrupt("a job order's id"))?,
            number: self.number,
            quantity: measure.written(self.amount)?,
            delivered: self.delivered,
            extra: Map::new(),
        })
    }

    fn mission(&self, measure: Measure) -> Result<MissionEarmark, StoreError> {
        Ok(MissionEarmark {
            id: MissionId::new(self.target.as_str()).map_err(|_| StoreError::Corrupt("a mission's id"))?,
            name: self.mission.as_deref().map(shown_name).filter(|name| !name.is_empty()),
            quantity: measure.written(self.amount)?,
            extra: Map::new(),
        })
    }
}

/// The earmarks of one purpose.
fn of(marked: &[Marked], purpose: Purpose) -> impl Iterator<Item = &Marked> {
    marked.iter().filter(move |one| one.purpose == purpose)
}

fn sum<'m>(marked: impl Iterator<Item = &'m Marked>, purpose: Purpose) -> i64 {
    marked.filter(|one| one.purpose == purpose).map(|one| one.amount).sum()
}

fn split(measure: Measure, job_orders: i64, missions: i64) -> Result<EarmarkSplit, StoreError> {
    let (job_orders, missions) = (measure.written(job_orders)?, measure.written(missions)?);
    Ok(EarmarkSplit { job_orders, missions, extra: Map::new() })
}

/// The earmarks of lots of a pool: by lot, then by entry, in the order of their targets.
fn marked(
    connection: &Connection,
    unit: &str,
    lots: &str,
) -> Result<HashMap<String, HashMap<String, Vec<Marked>>>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT r.pool_lot, e.stock_row, e.kind, e.target, e.amount, e.delivered, j.number, m.name \
         FROM json_each(?2) k CROSS JOIN stock_row r CROSS JOIN stock_earmark e ON e.stock_row = r.id \
         LEFT JOIN job_order j ON e.kind = 'job-order' AND j.id = e.target \
         LEFT JOIN mission m ON e.kind = 'mission' AND m.id = e.target \
         WHERE r.unit = ?1 AND r.pool_lot = k.value ORDER BY e.stock_row, e.kind, e.target",
    )?;
    let mut rows = rows.query(params![unit, lots])?;
    let mut found: HashMap<String, HashMap<String, Vec<Marked>>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let kind: String = row.get(2)?;
        found.entry(row.get(0)?).or_default().entry(row.get(1)?).or_default().push(Marked {
            purpose: Purpose::named(&kind)?,
            target: row.get(3)?,
            amount: row.get(4)?,
            delivered: row.get(5)?,
            number: row.get(6)?,
            mission: row.get(7)?,
        });
    }
    Ok(found)
}

/// What each holder has of lots of a pool: by lot, the oldest first.
fn held(connection: &Connection, unit: &str, lots: &str) -> Result<HashMap<String, Vec<Held>>, StoreError> {
    // Of whom nothing is known any more, nothing is shown.
    let mut rows = connection.prepare_cached(
        "SELECT r.pool_lot, r.id, r.version, r.amount, r.note, r.member, m.name, \
         coalesce(m.withholds_name OR m.state = 'deleted' OR m.name = '', 1) \
         FROM json_each(?2) k CROSS JOIN stock_row r LEFT JOIN member m ON m.id = r.member \
         WHERE r.unit = ?1 AND r.pool_lot = k.value ORDER BY r.booked_at, r.number",
    )?;
    let mut rows = rows.query(params![unit, lots])?;
    let mut found: HashMap<String, Vec<Held>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let of_lot = found.entry(row.get(0)?).or_default();
        if of_lot.len() == MOST_ENTRIES {
            continue;
        }
        let withheld: bool = row.get(7)?;
        of_lot.push(Held {
            id: row.get(1)?,
            version: row.get(2)?,
            amount: row.get(3)?,
            note: row.get(4)?,
            named: if withheld { None } else { Some((row.get(5)?, row.get(6)?)) },
        });
    }
    Ok(found)
}
