//! Every op of every change set, as arguments, and the op of the contract that they make.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use exchange_client::api::Json;

use super::values::{Amount, Insured, Object, Place, Reference, Share};

/// What every change has.
#[derive(Clone, Debug, Args)]
pub(crate) struct Sending {
    /// Ask what would become of it, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Ops from a file.
#[derive(Clone, Debug, Args)]
pub(crate) struct FromFile {
    /// A JSON list of ops as the contract has them; - reads the standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

/// Where a blueprint is known from.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Source {
    /// The game's log.
    Log,
    /// The member said so.
    Manual,
    /// A file.
    Import,
    /// Something else.
    Other,
}

impl Source {
    const fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Manual => "manual",
            Self::Import => "import",
            Self::Other => "other",
        }
    }
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum BlueprintOps {
    /// Add blueprints by their products.
    Add(AddBlueprints),
    /// Remove blueprints.
    Remove(RemoveBlueprints),
    /// Send ops from a file.
    Change(FromFile),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct AddBlueprints {
    /// A product: its name, bt:KEY, record:NAME, guid:UUID, uex:ID, loc:KEY, or JSON with several of them.
    #[arg(required = true, value_name = "PRODUCT")]
    products: Vec<Reference>,
    /// When the member got them (2026-01-31T12:00:00Z).
    #[arg(long, value_name = "WHEN")]
    acquired_at: Option<String>,
    /// Where that is known from.
    #[arg(long, value_enum, default_value = "manual")]
    source: Source,
    /// Add what was removed elsewhere: only after the member said so.
    #[arg(long = "override")]
    override_: bool,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RemoveBlueprints {
    /// A product, as for `add`.
    #[arg(value_name = "PRODUCT", required_unless_present = "keys")]
    products: Vec<Reference>,
    /// A blueprint by its key, as `list` shows it.
    #[arg(long = "key", value_name = "KEY", allow_hyphen_values = true)]
    keys: Vec<String>,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

impl AddBlueprints {
    pub(crate) fn ops(&self) -> Vec<Json> {
        let provenance = Object::default().with("source", self.source.name());
        let op = |product: &Reference| {
            Object::of("add")
                .with("ref", product.0.clone())
                .maybe("acquiredAt", self.acquired_at.as_deref())
                .with("provenance", Json::from(provenance.clone()))
                .flag("override", self.override_)
                .into()
        };
        self.products.iter().map(op).collect()
    }
}

impl RemoveBlueprints {
    pub(crate) fn ops(&self) -> Vec<Json> {
        let by_key = self.keys.iter().map(|key| Object::of("remove").with("key", key.as_str()).into());
        let by_product =
            self.products.iter().map(|product| Object::of("remove").with("ref", product.0.clone()).into());
        by_key.chain(by_product).collect()
    }
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum StockOps {
    /// Set what a lot should hold.
    Set(SetLot),
    /// Move stock from one place to another, in one change set.
    Move(MoveStock),
    /// Send ops from a file.
    Change(FromFile),
}

/// Which lot.
#[derive(Clone, Debug, Args)]
pub(crate) struct LotArgs {
    /// The material or item: its name, bt:KEY, or as for `blueprints add`.
    #[arg(value_name = "MATERIAL")]
    material: Reference,
    /// Quality 0 to 1000; 0 when it is unknown, and for items.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..=1000))]
    quality: i64,
    /// Stock that is marked as stolen.
    #[arg(long)]
    stolen: bool,
    /// Bring back what was removed elsewhere: only after the member said so.
    #[arg(long = "override")]
    override_: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct SetLot {
    #[command(flatten)]
    lot: LotArgs,
    /// The place: its exact name (see `locations`), or city:ID or station:ID.
    #[arg(long = "at", value_name = "PLACE")]
    at: Place,
    /// What it should hold: 12.5scu, 40pc.
    #[arg(long = "to", value_name = "QUANTITY")]
    to: Amount,
    /// What it held when it was last seen; a lot that is not there yet holds 0.
    #[arg(long = "from", value_name = "QUANTITY")]
    from: Amount,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MoveStock {
    #[command(flatten)]
    lot: LotArgs,
    /// The place that it leaves.
    #[arg(long, value_name = "PLACE")]
    from: Place,
    /// What it held there, and what it holds afterwards: 12.5scu..10scu.
    #[arg(long, value_name = "BEFORE..AFTER")]
    from_lot: Span,
    /// The place that it comes to.
    #[arg(long, value_name = "PLACE")]
    to: Place,
    /// What it held there, and what it holds afterwards: 0scu..2.5scu.
    #[arg(long, value_name = "BEFORE..AFTER")]
    to_lot: Span,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

/// A quantity before and after.
#[derive(Clone, Debug)]
pub(crate) struct Span(Amount, Amount);

impl std::str::FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (before, after) =
            text.split_once("..").ok_or_else(|| format!("{text:?} is no span like 12.5scu..10scu"))?;
        Ok(Self(before.parse()?, after.parse()?))
    }
}

impl LotArgs {
    fn op(&self, at: &Place, before: &Amount, after: &Amount) -> Json {
        Object::of("set-quantity")
            .with("material", self.material.0.clone())
            .with("location", at.0.clone())
            .with("quality", self.quality)
            .with("stolen", self.stolen)
            .with("quantity", after.0.clone())
            .with("expectedQuantity", before.0.clone())
            .flag("override", self.override_)
            .into()
    }
}

impl SetLot {
    pub(crate) fn ops(&self) -> Vec<Json> {
        vec![self.lot.op(&self.at, &self.from, &self.to)]
    }
}

impl MoveStock {
    /// The fall and the rise together (STK-20).
    pub(crate) fn ops(&self) -> Vec<Json> {
        let Self { lot, from, from_lot, to, to_lot, .. } = self;
        vec![lot.op(from, &from_lot.0, &from_lot.1), lot.op(to, &to_lot.0, &to_lot.1)]
    }
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ShipOps {
    /// Create a ship, or give one its current values: a name and a place that are left out are cleared.
    Upsert(UpsertShip),
    /// Say that a ship of the exchange is one of this client's.
    Link(LinkShip),
    /// Remove a ship.
    Remove(RemoveShip),
    /// Send ops from a file.
    Change(FromFile),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct UpsertShip {
    /// This client's own id of the ship.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    external_id: String,
    /// The exchange's id, for a ship that it has.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    ship: Option<String>,
    /// The version that was last seen.
    #[arg(long, value_name = "N")]
    version: Option<i64>,
    /// The ship's type, as a product of `blueprints add`.
    #[arg(long = "type", value_name = "TYPE")]
    ship_type: Reference,
    /// `lifetime`, or a number of months.
    #[arg(long, value_name = "INSURANCE")]
    insurance: Insured,
    /// Its name.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Where it is.
    #[arg(long = "at", value_name = "PLACE")]
    at: Option<Place>,
    /// Whether it is fitted; left out, that stays as it is.
    #[arg(long, value_name = "true|false")]
    fitted: Option<bool>,
    /// The org unit that it serves; `none` takes it out of one. Left out, that stays as it is, and a new ship gets the
    /// only unit of a member who has one.
    #[arg(long, value_name = "UNIT", allow_hyphen_values = true)]
    unit: Option<String>,
    /// The counter of its org unit that was last seen; a ship that the exchange has needs it with --unit.
    #[arg(long, value_name = "N")]
    unit_version: Option<i64>,
    /// Bring back what was removed elsewhere: only after the member said so.
    #[arg(long = "override")]
    override_: bool,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct LinkShip {
    /// The exchange's id of the ship.
    #[arg(value_name = "SHIP", allow_hyphen_values = true)]
    ship: String,
    /// This client's own id of it.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    external_id: String,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RemoveShip {
    /// The exchange's id of the ship.
    #[arg(value_name = "SHIP", allow_hyphen_values = true)]
    ship: String,
    /// The version that was last seen.
    #[arg(long, value_name = "N")]
    version: i64,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

impl UpsertShip {
    pub(crate) fn ops(&self) -> Vec<Json> {
        let unit = self.unit.as_deref().map(|unit| if unit == "none" { Json::Null } else { unit.into() });
        let op = Object::of("upsert")
            .with("externalId", self.external_id.as_str())
            .maybe("shipId", self.ship.as_deref())
            .maybe("version", self.version)
            .with("shipType", self.ship_type.0.clone())
            .with("insurance", self.insurance.0.clone())
            .maybe("name", self.name.as_deref())
            .maybe("location", self.at.as_ref().map(|at| at.0.clone()))
            .maybe("fitted", self.fitted)
            .maybe("orgUnit", unit)
            .maybe("orgUnitVersion", self.unit_version)
            .flag("override", self.override_);
        vec![op.into()]
    }
}

impl LinkShip {
    pub(crate) fn ops(&self) -> Vec<Json> {
        let op = Object::of("link").with("externalId", self.external_id.as_str());
        vec![op.with("shipId", self.ship.as_str()).into()]
    }
}

impl RemoveShip {
    pub(crate) fn ops(&self) -> Vec<Json> {
        vec![Object::of("remove").with("shipId", self.ship.as_str()).with("version", self.version).into()]
    }
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum OrgStockOps {
    /// Book stock into a pool.
    BookIn(BookIn),
    /// Book stock out of an entry.
    BookOut(BookOut),
    /// Sell stock of an entry.
    Sell(Sell),
    /// Move stock of an entry to another place.
    MoveLocation(MoveLocation),
    /// Give stock of an entry to another holder.
    MoveHolder(MoveHolder),
    /// Move stock of an entry to another unit's pool.
    MovePool(MovePool),
    /// Write or clear the note of an entry.
    Note(Note),
    /// Mark stock of an entry as stolen, or as not stolen.
    Stolen(Stolen),
    /// Send ops from a file.
    Change(FromFile),
}

/// Which entry of a pool.
#[derive(Clone, Debug, Args)]
pub(crate) struct EntryArgs {
    /// The entry, as `org-stock show` names it.
    #[arg(value_name = "ENTRY", allow_hyphen_values = true)]
    entry: String,
    /// The unit whose pool it is in.
    #[arg(long, value_name = "UNIT", allow_hyphen_values = true)]
    unit: String,
    /// The version that was last seen.
    #[arg(long, value_name = "N")]
    version: i64,
}

impl EntryArgs {
    fn op(&self, op: &str) -> Object {
        let Self { entry, unit, version } = self;
        Object::of(op).with("unit", unit.as_str()).with("entry", entry.as_str()).with("version", *version)
    }
}

/// How much, and from which reservations.
#[derive(Clone, Debug, Args)]
pub(crate) struct TakeArgs {
    /// How much: 12.5scu, 40pc.
    #[arg(long, value_name = "QUANTITY")]
    quantity: Amount,
    /// Of that, what comes from a job order: ID=2scu.
    #[arg(long, value_name = "ID=QUANTITY", allow_hyphen_values = true)]
    from_job_order: Vec<Share>,
    /// Of that, what comes from a mission: ID=2scu.
    #[arg(long, value_name = "ID=QUANTITY", allow_hyphen_values = true)]
    from_mission: Vec<Share>,
}

impl TakeArgs {
    fn on(&self, op: Object) -> Object {
        let shares = |shares: &[Share], kind: &str| shares.iter().map(|share| share.of(kind)).collect();
        op.with("quantity", self.quantity.0.clone())
            .list("fromJobOrders", shares(&self.from_job_order, "jobOrder"))
            .list("fromMissions", shares(&self.from_mission, "mission"))
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BookIn {
    /// The material or item, as for `blueprints add`.
    #[arg(value_name = "MATERIAL")]
    material: Reference,
    /// The unit whose pool it goes into.
    #[arg(long, value_name = "UNIT", allow_hyphen_values = true)]
    unit: String,
    /// Who holds it: a reference of the unit's roster (`org-stock members`).
    #[arg(long, value_name = "REF", allow_hyphen_values = true)]
    holder: String,
    /// The place: its exact name, or city:ID or station:ID.
    #[arg(long = "at", value_name = "PLACE")]
    at: Place,
    /// How much: 12.5scu, 40pc.
    #[arg(long, value_name = "QUANTITY")]
    quantity: Amount,
    /// Quality 0 to 1000.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..=1000))]
    quality: i64,
    /// Mark it as stolen.
    #[arg(long)]
    stolen: bool,
    /// A note.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Reserve a part for a job order: ID=2scu.
    #[arg(long, value_name = "ID=QUANTITY", allow_hyphen_values = true)]
    job_order: Vec<Share>,
    /// Reserve a part for a mission: ID=2scu.
    #[arg(long, value_name = "ID=QUANTITY", allow_hyphen_values = true)]
    mission: Vec<Share>,
    /// Join an entry of the same kind instead of making a new one.
    #[arg(long)]
    merge: bool,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

impl BookIn {
    pub(crate) fn ops(&self) -> Vec<Json> {
        let shares = |shares: &[Share], kind: &str| shares.iter().map(|share| share.of(kind)).collect();
        let op = Object::of("book-in")
            .with("unit", self.unit.as_str())
            .with("holder", self.holder.as_str())
            .with("material", self.material.0.clone())
            .with("location", self.at.0.clone())
            .with("quality", self.quality)
            .with("stolen", self.stolen)
            .with("quantity", self.quantity.0.clone())
            .maybe("note", self.note.as_deref())
            .list("jobOrders", shares(&self.job_order, "jobOrder"))
            .list("missions", shares(&self.mission, "mission"))
            .flag("mergeScu", self.merge);
        vec![op.into()]
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BookOut {
    #[command(flatten)]
    entry: EntryArgs,
    #[command(flatten)]
    take: TakeArgs,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

impl BookOut {
    pub(crate) fn ops(&self) -> Vec<Json> {
        vec![self.take.on(self.entry.op("book-out")).into()]
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Sell {
    #[command(flatten)]
    entry: EntryArgs,
    #[command(flatten)]
    take: TakeArgs,
    /// Where it is sold.
    #[arg(long, value_name = "NAME")]
    terminal: String,
    /// What it brings, in whole aUEC.
    #[arg(long, value_name = "AUEC")]
    proceeds: i64,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

impl Sell {
    pub(crate) fn ops(&self) -> Vec<Json> {
        let op = self.take.on(self.entry.op("sell")).with("terminal", self.terminal.as_str());
        vec![op.with("proceeds", self.proceeds).into()]
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MoveLocation {
    #[command(flatten)]
    entry: EntryArgs,
    #[command(flatten)]
    take: TakeArgs,
    /// The place that it comes to.
    #[arg(long, value_name = "PLACE")]
    to: Place,
    /// Join an entry of the same kind there.
    #[arg(long)]
    merge: bool,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

impl MoveLocation {
    pub(crate) fn ops(&self) -> Vec<Json> {
        let op = self.take.on(self.entry.op("move-location")).with("location", self.to.0.clone());
        vec![op.flag("mergeScu", self.merge).into()]
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MoveHolder {
    #[command(flatten)]
    entry: EntryArgs,
    #[command(flatten)]
    take: TakeArgs,
    /// Who holds it from now on: a reference of the roster.
    #[arg(long, value_name = "REF", allow_hyphen_values = true)]
    holder: String,
    /// The unit whose pool it comes to.
    #[arg(long, value_name = "UNIT", allow_hyphen_values = true)]
    to_unit: String,
    /// Join an entry of the same kind there.
    #[arg(long)]
    merge: bool,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

impl MoveHolder {
    pub(crate) fn ops(&self) -> Vec<Json> {
        let op = self.take.on(self.entry.op("move-holder")).with("toUnit", self.to_unit.as_str());
        vec![op.with("holder", self.holder.as_str()).flag("mergeScu", self.merge).into()]
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MovePool {
    #[command(flatten)]
    entry: EntryArgs,
    /// The unit whose pool it comes to.
    #[arg(long, value_name = "UNIT", allow_hyphen_values = true)]
    to_unit: String,
    /// How much; left out, all of it.
    #[arg(long, value_name = "QUANTITY")]
    quantity: Option<Amount>,
    /// Join an entry of the same kind there.
    #[arg(long)]
    merge: bool,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

impl MovePool {
    pub(crate) fn ops(&self) -> Vec<Json> {
        let quantity = self.quantity.as_ref().map(|quantity| quantity.0.clone());
        let op = self.entry.op("move-pool").with("toUnit", self.to_unit.as_str());
        vec![op.maybe("quantity", quantity).flag("mergeScu", self.merge).into()]
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Note {
    #[command(flatten)]
    entry: EntryArgs,
    /// The note; left out, it is cleared.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

impl Note {
    pub(crate) fn ops(&self) -> Vec<Json> {
        vec![self.entry.op("note").maybe("note", self.note.as_deref()).into()]
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Stolen {
    #[command(flatten)]
    entry: EntryArgs,
    /// It is not stolen.
    #[arg(long)]
    not: bool,
    /// How much; left out, all of it.
    #[arg(long, value_name = "QUANTITY")]
    quantity: Option<Amount>,
    #[command(flatten)]
    pub(crate) sending: Sending,
}

impl Stolen {
    pub(crate) fn ops(&self) -> Vec<Json> {
        let quantity = self.quantity.as_ref().map(|quantity| quantity.0.clone());
        vec![self.entry.op("stolen").with("stolen", !self.not).maybe("quantity", quantity).into()]
    }
}
