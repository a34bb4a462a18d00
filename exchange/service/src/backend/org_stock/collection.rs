//! The paged collection of the pools that a member reads, with one feed stream per unit (OST-01 to OST-13).
//!
//! Gaining or losing a unit or a role is not recorded in a feed. Instead, the streams of a page are those of
//! the units to which the member belongs at the time of the read. Each stream has a variant that depends on
//! the member's permissions. If a cursor does not contain the stream of a unit, or contains it with another
//! variant, the pool of this unit is delivered from the start. The queries cover only the member's own units,
//! so they never return data that the member may no longer read.

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

use super::super::catalogue::{catalog_entry, location_of};
use super::super::stock::material_kind;
use super::super::units::{UnitMembership, shown_name};
use super::super::warehouse::{EarmarkPurpose, LOT, Lot, Measure, ORG_STOCK, read_lot};
use super::roster::HolderPseudonyms;
use crate::catalogue::contents::EntryKind;
use crate::catalogue::{CatalogueIndex, shown_key};
use crate::feed::{FeedStream, PagedCollection, StreamSource};
use crate::ids::{InstallationId, MemberId, UnitId};
use crate::secrets;
use crate::store::{StoreError, json_list, sql_limit};

/// The maximum number of entries in a lot; further entries are omitted.
const MAX_ENTRIES: usize = 10_000;

/// The pools of one member, as shown to one client.
#[derive(Debug)]
pub(super) struct PoolCollection {
    pub(super) member: MemberId,
    /// The units of which the member is a direct member, sorted by name.
    pub(super) units: Vec<UnitMembership>,
    /// Whether the token has the scope for the entries of lots.
    pub(super) details: bool,
    pub(super) names: HolderPseudonyms,
    /// Provides the names of materials, items and locations.
    pub(super) index: Arc<CatalogueIndex>,
}

/// The variant of a pool for a member without further permissions. If the variant for a reader changes, the
/// pool is delivered again from the start (OST-09).
const MEMBER: u8 = 0;
const LOGISTICIAN: u8 = 1;
const WITH_ENTRIES: u8 = 2;

impl PagedCollection for PoolCollection {
    type Item = OrgStockLot;

    const RESOURCE: &'static str = ORG_STOCK;

    fn reader(&self) -> &MemberId {
        &self.member
    }

    fn list_sources(&self, _: &Connection) -> Result<Vec<StreamSource>, StoreError> {
        let source = |of: &UnitMembership| StreamSource {
            stream: FeedStream::of_unit(ORG_STOCK, &UnitId::new(of.unit.id.as_str())),
            variant: match (of.is_logistician, self.details) {
                (false, _) => MEMBER,
                (true, false) => LOGISTICIAN,
                (true, true) => WITH_ENTRIES,
            },
        };
        Ok(self.units.iter().map(source).collect())
    }

    fn read_snapshot(
        &self,
        connection: &Connection,
        behind: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, OrgStockLot)>, StoreError> {
        let sql = format!(
            "SELECT pool_lot, sum(amount), {LOT} FROM stock_row WHERE unit = ?1 AND pool_lot > ?2 \
             GROUP BY pool_lot ORDER BY pool_lot LIMIT ?3"
        );
        let mut lots = connection.prepare_cached(&sql)?;
        let mut found = Vec::new();
        for (tag, of) in self.in_order() {
            let last = match behind.map(|behind| behind.split_at_checked(TAG_CHARS).unwrap_or((behind, ""))) {
                Some((there, _)) if there > tag.as_str() => continue,
                Some((there, last)) if there == tag => last,
                _ => "",
            };
            let left = sql_limit(limit.saturating_sub(found.len()));
            let lots = LotTotal::read_rows(lots.query(params![of.unit.id.as_str(), last, left])?)?;
            let items = self.build_items(connection, of, lots)?.into_iter();
            found.extend(items.map(|(key, item)| (format!("{tag}{key}"), item)));
        }
        Ok(found)
    }

    fn load_current(
        &self,
        connection: &Connection,
        keys: &BTreeSet<String>,
    ) -> Result<HashMap<String, OrgStockLot>, StoreError> {
        let sql = format!(
            "SELECT pool_lot, sum(amount), {LOT} FROM json_each(?2) k CROSS JOIN stock_row \
             WHERE unit = ?1 AND pool_lot = k.value GROUP BY pool_lot"
        );
        let mut lots = connection.prepare_cached(&sql)?;
        let keys = json_list(keys.iter().map(String::as_str));
        let mut found = HashMap::new();
        // Each key belongs to only one unit, and only the member's own units are queried.
        for of in &self.units {
            let lots = LotTotal::read_rows(lots.query(params![of.unit.id.as_str(), keys])?)?;
            found.extend(self.build_items(connection, of, lots)?);
        }
        Ok(found)
    }

    /// Returns true if the installation belongs to the reader. Installations of other members are not shown.
    fn shows_installation(
        &self,
        connection: &Connection,
        installation: &InstallationId,
    ) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM installation WHERE id = ?1 AND member = ?2)";
        let mut statement = connection.prepare_cached(sql)?;
        Ok(statement.query_row(params![installation, self.member], |row| row.get(0))?)
    }
}

/// The number of characters of a pool's tag. Each snapshot position starts with such a tag.
const TAG_CHARS: usize = 8;

/// Returns a short hash of a unit's id. Snapshot positions contain the hash, because an id can have 128
/// characters.
fn unit_tag(unit: &str) -> String {
    URL_SAFE_NO_PAD.encode(secrets::hash_prefix::<6>(&secrets::sha256(unit)))
}

/// An earmark of an entry, with the display name of its target.
struct TargetEarmark {
    purpose: EarmarkPurpose,
    target: String,
    amount: i64,
    delivered: bool,
    number: Option<i64>,
    mission_name: Option<String>,
}

/// A lot of a pool, with the total of its entries.
struct LotTotal {
    key: String,
    amount: i64,
    lot: Lot,
}

impl LotTotal {
    /// Reads rows that consist of the lot key, the total amount and the columns of a lot.
    fn read_rows(mut rows: Rows<'_>) -> Result<Vec<Self>, StoreError> {
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(Self { key: row.get(0)?, amount: row.get(1)?, lot: read_lot(row, 2)? });
        }
        Ok(found)
    }
}

struct HolderShare {
    id: String,
    version: i64,
    amount: i64,
    note: Option<String>,
    /// The id and the name of the holder; `None` if the holder's name is withheld.
    visible_holder: Option<(MemberId, String)>,
}

impl PoolCollection {
    /// Returns the pools with their tags, sorted by tag. Snapshot positions have the same order.
    fn in_order(&self) -> Vec<(String, &UnitMembership)> {
        let mut pools: Vec<_> = self.units.iter().map(|of| (unit_tag(of.unit.id.as_str()), of)).collect();
        pools.sort_by(|(one, of), (other, than)| {
            (one, of.unit.id.as_str()).cmp(&(other, than.unit.id.as_str()))
        });
        pools
    }

    /// Builds the lots of one pool, as pairs of key and lot.
    fn build_items(
        &self,
        connection: &Connection,
        of: &UnitMembership,
        lots: Vec<LotTotal>,
    ) -> Result<Vec<(String, OrgStockLot)>, StoreError> {
        let corrupt = |_| StoreError::Corrupt("invalid pool lot");
        if lots.is_empty() {
            return Ok(Vec::new());
        }
        let (unit, keys) = (of.unit.id.as_str(), json_list(lots.iter().map(|lot| lot.key.as_str())));
        let mut marked = load_earmarks(connection, unit, &keys)?;
        let shows_entries = of.is_logistician && self.details;
        let mut shares = if shows_entries { load_shares(connection, unit, &keys)? } else { HashMap::new() };
        let mut refs = HashMap::new();
        let unit = UnitRef { id: of.unit.id.clone(), name: of.unit.name.clone(), extra: Map::new() };
        let item = |LotTotal { key, amount, lot }: LotTotal| {
            let Lot { kind, material, measure, location, quality, stolen } = lot;
            let marked = marked.remove(&key).unwrap_or_default();
            let all = || marked.values().flatten();
            let entries = shows_entries.then(|| {
                let lot_shares = shares.remove(&key).unwrap_or_default().into_iter();
                lot_shares.map(|share| self.build_entry(share, measure, &marked, &mut refs)).collect()
            });
            let item = OrgStockLot {
                key: OrgLotKey::new(key.as_str()).map_err(corrupt)?,
                unit: unit.clone(),
                material: catalog_entry(&shown_key(&material), self.index.name_of(kind, &material))?,
                material_kind: (kind == EntryKind::Material).then(|| material_kind(&self.index, &material)),
                location: location_of(&self.index, &location)?,
                quality: Quality::new(quality).map_err(corrupt)?,
                stolen,
                quantity: measure.to_quantity(amount)?,
                earmarked: earmark_split(
                    measure,
                    sum_earmarks(all(), EarmarkPurpose::JobOrder),
                    sum_earmarks(all(), EarmarkPurpose::Mission),
                )?,
                entries: entries.transpose()?,
                extra: Map::new(),
            };
            Ok((key, item))
        };
        lots.into_iter().map(item).collect()
    }

    /// Builds an entry of one holder. `refs` caches the client's pseudonyms, because most holders have
    /// several entries.
    fn build_entry(
        &self,
        share: HolderShare,
        measure: Measure,
        marked: &HashMap<String, Vec<TargetEarmark>>,
        refs: &mut HashMap<MemberId, HolderRef>,
    ) -> Result<OrgStockEntry, StoreError> {
        let corrupt = |_| StoreError::Corrupt("invalid pool entry");
        let HolderShare { id, version, amount, note, visible_holder: named } = share;
        let withheld = named.is_none();
        let holder = match named {
            None => Holder::WithheldHolder(WithheldHolder { extra: Map::new() }),
            Some((member, name)) => {
                let ref_ = match refs.get(&member) {
                    Some(known) => known.clone(),
                    None => {
                        let holder_ref = self.names.holder_ref(&member)?;
                        refs.insert(member, holder_ref.clone());
                        holder_ref
                    }
                };
                Holder::NamedHolder(NamedHolder { name: shown_name(&name), ref_, extra: Map::new() })
            }
        };
        let marked = marked.get(&id).map_or(&[][..], Vec::as_slice);
        let free = |purpose| amount - sum_earmarks(marked.iter(), purpose);
        Ok(OrgStockEntry {
            id: EntryId::new(id.as_str()).map_err(corrupt)?,
            version: EntryVersion::new(version).map_err(corrupt)?,
            holder,
            quantity: measure.to_quantity(amount)?,
            // The note is omitted as well, because it can reveal the holder.
            note: note.filter(|_| !withheld),
            job_orders: earmarks_for(marked, EarmarkPurpose::JobOrder)
                .map(|one| one.to_job_order_earmark(measure))
                .collect::<Result<Vec<_>, _>>()
                .map(Some)?,
            missions: earmarks_for(marked, EarmarkPurpose::Mission)
                .map(|one| one.to_mission_earmark(measure))
                .collect::<Result<Vec<_>, _>>()
                .map(Some)?,
            free: earmark_split(measure, free(EarmarkPurpose::JobOrder), free(EarmarkPurpose::Mission))?,
            extra: Map::new(),
        })
    }
}

impl TargetEarmark {
    fn to_job_order_earmark(&self, measure: Measure) -> Result<JobOrderEarmark, StoreError> {
        Ok(JobOrderEarmark {
            id: JobOrderId::new(self.target.as_str())
                .map_err(|_| StoreError::Corrupt("invalid job order id"))?,
            number: self.number,
            quantity: measure.to_quantity(self.amount)?,
            delivered: self.delivered,
            extra: Map::new(),
        })
    }

    fn to_mission_earmark(&self, measure: Measure) -> Result<MissionEarmark, StoreError> {
        Ok(MissionEarmark {
            id: MissionId::new(self.target.as_str())
                .map_err(|_| StoreError::Corrupt("invalid mission id"))?,
            name: self.mission_name.as_deref().map(shown_name).filter(|name| !name.is_empty()),
            quantity: measure.to_quantity(self.amount)?,
            extra: Map::new(),
        })
    }
}

/// Returns the earmarks for one purpose.
fn earmarks_for(marked: &[TargetEarmark], purpose: EarmarkPurpose) -> impl Iterator<Item = &TargetEarmark> {
    marked.iter().filter(move |one| one.purpose == purpose)
}

fn sum_earmarks<'m>(marked: impl Iterator<Item = &'m TargetEarmark>, purpose: EarmarkPurpose) -> i64 {
    marked.filter(|one| one.purpose == purpose).map(|one| one.amount).sum()
}

fn earmark_split(measure: Measure, job_orders: i64, missions: i64) -> Result<EarmarkSplit, StoreError> {
    let (job_orders, missions) = (measure.to_quantity(job_orders)?, measure.to_quantity(missions)?);
    Ok(EarmarkSplit { job_orders, missions, extra: Map::new() })
}

/// Loads the earmarks of a pool's lots, by lot key and then by entry id. The earmarks of an entry are sorted
/// by target.
fn load_earmarks(
    connection: &Connection,
    unit: &str,
    lots: &str,
) -> Result<HashMap<String, HashMap<String, Vec<TargetEarmark>>>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT r.pool_lot, e.stock_row, e.kind, e.target, e.amount, e.delivered, j.number, m.name \
         FROM json_each(?2) k CROSS JOIN stock_row r CROSS JOIN stock_earmark e ON e.stock_row = r.id \
         LEFT JOIN job_order j ON e.kind = 'job-order' AND j.id = e.target \
         LEFT JOIN mission m ON e.kind = 'mission' AND m.id = e.target \
         WHERE r.unit = ?1 AND r.pool_lot = k.value ORDER BY e.stock_row, e.kind, e.target",
    )?;
    let mut rows = rows.query(params![unit, lots])?;
    let mut found: HashMap<String, HashMap<String, Vec<TargetEarmark>>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let kind: String = row.get(2)?;
        found.entry(row.get(0)?).or_default().entry(row.get(1)?).or_default().push(TargetEarmark {
            purpose: EarmarkPurpose::from_name(&kind)?,
            target: row.get(3)?,
            amount: row.get(4)?,
            delivered: row.get(5)?,
            number: row.get(6)?,
            mission_name: row.get(7)?,
        });
    }
    Ok(found)
}

/// Loads the entries of a pool's lots by lot key. The entries of a lot are sorted from oldest to newest.
fn load_shares(
    connection: &Connection,
    unit: &str,
    lots: &str,
) -> Result<HashMap<String, Vec<HolderShare>>, StoreError> {
    // The name of a holder without a member record is withheld.
    let mut rows = connection.prepare_cached(
        "SELECT r.pool_lot, r.id, r.version, r.amount, r.note, r.member, m.name, \
         coalesce(m.withholds_name OR m.state = 'deleted' OR m.name = '', 1) \
         FROM json_each(?2) k CROSS JOIN stock_row r LEFT JOIN member m ON m.id = r.member \
         WHERE r.unit = ?1 AND r.pool_lot = k.value ORDER BY r.booked_at, r.number",
    )?;
    let mut rows = rows.query(params![unit, lots])?;
    let mut found: HashMap<String, Vec<HolderShare>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let of_lot = found.entry(row.get(0)?).or_default();
        if of_lot.len() == MAX_ENTRIES {
            continue;
        }
        let withheld: bool = row.get(7)?;
        of_lot.push(HolderShare {
            id: row.get(1)?,
            version: row.get(2)?,
            amount: row.get(3)?,
            note: row.get(4)?,
            visible_holder: if withheld { None } else { Some((row.get(5)?, row.get(6)?)) },
        });
    }
    Ok(found)
}
