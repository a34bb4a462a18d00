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
    EarmarkSplit, EntryId, EntryVersion, Holder, JobOrderEarmark, JobOrderId, MissionEarmark, MissionId,
    NamedHolder, OrgLotKey, OrgStockEntry, OrgStockLot, Quality, UnitRef, WithheldHolder,
};
use rusqlite::{Connection, Row, params};

use super::super::catalogue::{location_of, shown};
use super::super::stock::material_kind;
use super::super::units::Membership;
use super::super::warehouse::{LOT, Lot, Measure, ORG_STOCK, Purpose, lot};
use super::roster::{Pseudonyms, shown_name};
use crate::catalogue::contents::Kind;
use crate::catalogue::{Index, shown_key};
use crate::feed::{Collection, Source, Stream};
use crate::ids::{InstallationId, MemberId, UnitId};
use crate::secrets;
use crate::store::{StoreError, limit};

/// The most entries that a lot shows.
const MOST_ENTRIES: i64 = 10_000;

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
            let mut rows = lots.query(params![of.unit.id.as_str(), last, left])?;
            while let Some(row) = rows.next()? {
                let (key, item) = self.item(connection, of, row)?;
                found.push((format!("{tag}{key}"), item));
            }
        }
        Ok(found)
    }

    fn current(
        &self,
        connection: &Connection,
        keys: &BTreeSet<String>,
    ) -> Result<HashMap<String, OrgStockLot>, StoreError> {
        let sql = format!(
            "SELECT pool_lot, sum(amount), {LOT} FROM stock_row WHERE unit = ?1 AND pool_lot = ?2 \
             GROUP BY pool_lot"
        );
        let mut one = connection.prepare_cached(&sql)?;
        let mut found = HashMap::new();
        for key in keys {
            // A key is of one unit only, and only the member's own are asked.
            for of in &self.units {
                let mut rows = one.query(params![of.unit.id.as_str(), key])?;
                if let Some(row) = rows.next()? {
                    found.extend([self.item(connection, of, row)?]);
                    break;
                }
            }
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

impl Pools {
    /// The pools in the order of their places.
    fn in_order(&self) -> Vec<(String, &Membership)> {
        let mut pools: Vec<_> = self.units.iter().map(|of| (tag(of.unit.id.as_str()), of)).collect();
        pools.sort_by(|(one, of), (other, than)| {
            (one, of.unit.id.as_str()).cmp(&(other, than.unit.id.as_str()))
        });
        pools
    }

    /// A lot by its key; the columns are those of the queries above.
    fn item(
        &self,
        connection: &Connection,
        of: &Membership,
        row: &Row<'_>,
    ) -> Result<(String, OrgStockLot), StoreError> {
        let corrupt = |_| StoreError::Corrupt("a lot of a pool");
        let (key, amount): (String, i64) = (row.get(0)?, row.get(1)?);
        let Lot { kind, material, measure, location, quality, stolen } = lot(row, 2)?;
        let unit = of.unit.id.as_str();
        let marked = marked(connection, unit, &key)?;
        let all = || marked.values().flatten();
        let entries = if of.logistician && self.details {
            Some(self.entries(connection, unit, &key, measure, &marked)?)
        } else {
            None
        };
        let item = OrgStockLot {
            key: OrgLotKey::new(key.as_str()).map_err(corrupt)?,
            unit: UnitRef { id: of.unit.id.clone(), name: shown_name(&of.unit.name), extra: Map::new() },
            material: shown(&shown_key(&material), self.index.name_of(kind, &material))?,
            material_kind: (kind == Kind::Material).then(|| material_kind(&self.index, &material)),
            location: location_of(&self.index, &location)?,
            quality: Quality::new(quality).map_err(corrupt)?,
            stolen,
            quantity: measure.written(amount)?,
            earmarked: split(measure, sum(all(), Purpose::JobOrder), sum(all(), Purpose::Mission))?,
            entries,
            extra: Map::new(),
        };
        Ok((key, item))
    }

    /// What each holder has of a lot, the oldest first.
    fn entries(
        &self,
        connection: &Connection,
        unit: &str,
        key: &str,
        measure: Measure,
        marked: &HashMap<String, Vec<Marked>>,
    ) -> Result<Vec<OrgStockEntry>, StoreError> {
        let corrupt = |_| StoreError::Corrupt("an entry of a pool");
        // Of whom nothing is known any more, nothing is shown.
        let mut rows = connection.prepare_cached(
            "SELECT r.id, r.version, r.amount, r.note, r.member, m.name, \
             coalesce(m.withholds_name OR m.state = 'deleted' OR m.name = '', 1) \
             FROM stock_row r LEFT JOIN member m ON m.id = r.member \
             WHERE r.unit = ?1 AND r.pool_lot = ?2 ORDER BY r.booked_at, r.number LIMIT ?3",
        )?;
        let mut rows = rows.query(params![unit, key, MOST_ENTRIES])?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            let (id, amount): (String, i64) = (row.get(0)?, row.get(2)?);
            let withheld: bool = row.get(6)?;
            let holder = if withheld {
                Holder::WithheldHolder(WithheldHolder { extra: Map::new() })
            } else {
                let (member, name): (MemberId, String) = (row.get(4)?, row.get(5)?);
                let (name, ref_) = (shown_name(&name), self.names.holder(&member)?);
                Holder::NamedHolder(NamedHolder { name, ref_, extra: Map::new() })
            };
            let marked = marked.get(&id).map_or(&[][..], Vec::as_slice);
            let free = |purpose| amount - sum(marked.iter(), purpose);
            entries.push(OrgStockEntry {
                id: EntryId::new(id.as_str()).map_err(corrupt)?,
                version: EntryVersion::new(row.get(1)?).map_err(corrupt)?,
                holder,
                quantity: measure.written(amount)?,
                // A note may say whose it is.
                note: if withheld { None } else { row.get(3)? },
                job_orders: of(marked, Purpose::JobOrder)
                    .map(|one| one.job_order(measure))
                    .collect::<Result<_, _>>()?,
                missions: of(marked, Purpose::Mission)
                    .map(|one| one.mission(measure))
                    .collect::<Result<_, _>>()?,
                free: split(measure, free(Purpose::JobOrder), free(Purpose::Mission))?,
                extra: Map::new(),
            });
        }
        Ok(entries)
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

/// The earmarks of a lot's entries, by entry, in the order of their targets.
fn marked(
    connection: &Connection,
    unit: &str,
    key: &str,
) -> Result<HashMap<String, Vec<Marked>>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT e.stock_row, e.kind, e.target, e.amount, e.delivered, j.number, m.name \
         FROM stock_row r JOIN stock_earmark e ON e.stock_row = r.id \
         LEFT JOIN job_order j ON e.kind = 'job-order' AND j.id = e.target \
         LEFT JOIN mission m ON e.kind = 'mission' AND m.id = e.target \
         WHERE r.unit = ?1 AND r.pool_lot = ?2 ORDER BY e.stock_row, e.kind, e.target",
    )?;
    let mut rows = rows.query(params![unit, key])?;
    let mut found: HashMap<String, Vec<Marked>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let kind: String = row.get(1)?;
        found.entry(row.get(0)?).or_default().push(Marked {
            purpose: Purpose::named(&kind)?,
            target: row.get(2)?,
            amount: row.get(3)?,
            delivered: row.get(4)?,
            number: row.get(5)?,
            mission: row.get(6)?,
        });
    }
    Ok(found)
}
