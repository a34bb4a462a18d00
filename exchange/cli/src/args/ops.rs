//! The ops of all areas as command-line arguments, and their conversion into ops of the contract.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use exchange_client::api::Json;

use super::values::{
    CatalogueReference, InsuranceValue, JsonObject, LocationValue, QuantityValue, ReservationShare,
};

/// The options of every change.
#[derive(Clone, Debug, Args)]
pub(crate) struct SendOptions {
    /// Preview the result without changing anything.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The arguments of `change`, which reads ops from a file.
#[derive(Clone, Debug, Args)]
pub(crate) struct OpsFileArgs {
    /// A file with a JSON array of ops in the format of the contract, or - to read the standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

/// How it is known that a member owns a blueprint.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum BlueprintSource {
    /// The log of the game.
    Log,
    /// The member's own statement.
    Manual,
    /// An imported file.
    Import,
    /// Another source.
    Other,
}

impl BlueprintSource {
    const fn contract_name(self) -> &'static str {
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
    /// Remove blueprints by their products or keys.
    Remove(RemoveBlueprints),
    /// Send ops from a file.
    Change(OpsFileArgs),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct AddBlueprints {
    /// A product: its name, bt:KEY, record:NAME, guid:UUID, uex:ID, loc:KEY, or a JSON object with several of
    /// these.
    #[arg(required = true, value_name = "PRODUCT")]
    products: Vec<CatalogueReference>,
    /// The time at which you acquired the blueprints, such as 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "WHEN")]
    acquired_at: Option<String>,
    /// How it is known that you own the blueprints.
    #[arg(long, value_enum, default_value = "manual")]
    source: BlueprintSource,
    /// Add blueprints even if they were removed elsewhere. Use it only if the member confirmed this.
    #[arg(long = "override")]
    override_: bool,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RemoveBlueprints {
    /// A product, in the same format as for `add`.
    #[arg(value_name = "PRODUCT", required_unless_present = "keys")]
    products: Vec<CatalogueReference>,
    /// The key of a blueprint, as `list` shows it.
    #[arg(long = "key", value_name = "KEY", allow_hyphen_values = true)]
    keys: Vec<String>,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

impl AddBlueprints {
    pub(crate) fn to_ops(&self) -> Vec<Json> {
        let provenance = JsonObject::default().with("source", self.source.contract_name());
        let op = |product: &CatalogueReference| {
            JsonObject::for_op("add")
                .with("ref", product.0.clone())
                .with_optional("acquiredAt", self.acquired_at.as_deref())
                .with("provenance", Json::from(provenance.clone()))
                .with_flag("override", self.override_)
                .into()
        };
        self.products.iter().map(op).collect()
    }
}

impl RemoveBlueprints {
    pub(crate) fn to_ops(&self) -> Vec<Json> {
        let by_key =
            self.keys.iter().map(|key| JsonObject::for_op("remove").with("key", key.as_str()).into());
        let by_product = self
            .products
            .iter()
            .map(|product| JsonObject::for_op("remove").with("ref", product.0.clone()).into());
        by_key.chain(by_product).collect()
    }
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum StockOps {
    /// Set the quantity of a lot.
    Set(SetLot),
    /// Move stock from one place to another, in one change set.
    Move(MoveStock),
    /// Send ops from a file.
    Change(OpsFileArgs),
}

/// The arguments that identify a lot.
#[derive(Clone, Debug, Args)]
pub(crate) struct LotArgs {
    /// The material or item: its name, bt:KEY, or another format of `blueprints add`.
    #[arg(value_name = "MATERIAL")]
    material: CatalogueReference,
    /// The quality, 0 to 1000; 0, the default, is for items and if the quality is unknown.
    #[arg(long, value_parser = clap::value_parser!(i64).range(0..=1000))]
    quality: Option<i64>,
    /// Select the lot that is marked as stolen.
    #[arg(long)]
    stolen: bool,
    /// Restore the lot if it was removed elsewhere. Use it only if the member confirmed this.
    #[arg(long = "override")]
    override_: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct SetLot {
    #[command(flatten)]
    lot: LotArgs,
    /// The place: its exact name (see `locations`), or city:ID or station:ID.
    #[arg(long = "at", value_name = "PLACE")]
    at: LocationValue,
    /// The new quantity, such as 12.5scu or 40pc.
    #[arg(long = "to", value_name = "QUANTITY")]
    to: QuantityValue,
    /// The quantity when you last read it; 0 for a new lot. Default: the quantity as of the last `sync`.
    #[arg(long = "from", value_name = "QUANTITY")]
    from: Option<QuantityValue>,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MoveStock {
    #[command(flatten)]
    lot: LotArgs,
    /// The place from which the stock is moved.
    #[arg(long, value_name = "PLACE")]
    from: LocationValue,
    /// The quantity to move, such as 2.5scu. The quantities at both places are those of the last `sync`.
    #[arg(long, value_name = "QUANTITY", required_unless_present = "from_range")]
    quantity: Option<QuantityValue>,
    /// The quantity at that place before and after the move, such as 12.5scu..10scu; instead of --quantity.
    #[arg(
        long = "from-lot",
        value_name = "BEFORE..AFTER",
        requires = "to_range",
        conflicts_with = "quantity"
    )]
    from_range: Option<QuantityRange>,
    /// The place to which the stock is moved.
    #[arg(long, value_name = "PLACE")]
    to: LocationValue,
    /// The quantity at the target place before and after the move, such as 0scu..2.5scu.
    #[arg(
        long = "to-lot",
        value_name = "BEFORE..AFTER",
        requires = "from_range",
        conflicts_with = "quantity"
    )]
    to_range: Option<QuantityRange>,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

/// A quantity before and after a change.
#[derive(Clone, Debug)]
pub(crate) struct QuantityRange(QuantityValue, QuantityValue);

impl std::str::FromStr for QuantityRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (before, after) =
            text.split_once("..").ok_or_else(|| format!("{text:?} is not a range like 12.5scu..10scu"))?;
        Ok(Self(before.parse()?, after.parse()?))
    }
}

impl LotArgs {
    /// Returns the description of the lot at a place.
    fn at<'a>(&'a self, at: &'a LocationValue) -> LotDescription<'a> {
        LotDescription {
            material: &self.material.0,
            place: &at.0,
            quality: self.quality.unwrap_or_default(),
            stolen: self.stolen,
        }
    }

    fn build_op(&self, at: &LocationValue, before: &QuantityValue, after: &QuantityValue) -> Json {
        JsonObject::for_op("set-quantity")
            .with("material", self.material.0.clone())
            .with("location", at.0.clone())
            .with("quality", self.quality.unwrap_or_default())
            .with("stolen", self.stolen)
            .with("quantity", after.0.clone())
            .with("expectedQuantity", before.0.clone())
            .with_flag("override", self.override_)
            .into()
    }
}

/// A lot as the arguments describe it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LotDescription<'a> {
    pub(crate) material: &'a Json,
    pub(crate) place: &'a Json,
    pub(crate) quality: i64,
    pub(crate) stolen: bool,
}

impl SetLot {
    /// Returns the lot whose current quantity is needed, or `None` if the arguments contain the quantity.
    pub(crate) fn needed_lot(&self) -> Option<LotDescription<'_>> {
        self.from.is_none().then(|| self.lot.at(&self.at))
    }

    /// Returns the op. `held` is the quantity of [`Self::needed_lot`]; `None` if there is no such lot.
    pub(crate) fn to_ops(&self, held: Option<QuantityValue>) -> Vec<Json> {
        let before = self.from.clone().or(held).unwrap_or_else(|| self.to.zero());
        vec![self.lot.build_op(&self.at, &before, &self.to)]
    }
}

impl MoveStock {
    /// Returns the lots whose current quantities are needed, at the source and at the target, or `None` if the
    /// arguments contain the quantities.
    pub(crate) fn needed_lots(&self) -> Option<[LotDescription<'_>; 2]> {
        self.quantity.is_some().then(|| [self.lot.at(&self.from), self.lot.at(&self.to)])
    }

    /// Returns two ops for one change set: the decrease at one place and the increase at the other (STK-20). `held`
    /// contains the quantities of [`Self::needed_lots`].
    ///
    /// # Errors
    /// Returns an error if the source has less than the quantity to move, or another unit.
    pub(crate) fn to_ops(&self, held: [Option<QuantityValue>; 2]) -> Result<Vec<Json>, String> {
        let Self { lot, from, from_range, to, to_range, quantity, .. } = self;
        let (from_range, to_range) = match (quantity, from_range, to_range) {
            (Some(quantity), ..) => {
                let [here, there] = held.map(|held| held.unwrap_or_else(|| quantity.zero()));
                let rest = here.minus(quantity).ok_or_else(|| {
                    format!("--quantity {quantity} is more than the {here} that you hold there")
                })?;
                let sum = there.plus(quantity);
                let sum = sum.ok_or_else(|| format!("--quantity {quantity} cannot be added to {there}"))?;
                (QuantityRange(here, rest), QuantityRange(there, sum))
            }
            (None, Some(from_range), Some(to_range)) => (from_range.clone(), to_range.clone()),
            // The definition of the arguments excludes this case.
            (None, ..) => return Err("give --quantity, or --from-lot and --to-lot".to_owned()),
        };
        Ok(vec![lot.build_op(from, &from_range.0, &from_range.1), lot.build_op(to, &to_range.0, &to_range.1)])
    }
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ShipOps {
    /// Create or update a ship. If the name or the place is omitted, it is cleared.
    Upsert(UpsertShip),
    /// Link a ship of the exchange to this client's own id for it.
    Link(LinkShip),
    /// Remove a ship.
    Remove(RemoveShip),
    /// Send ops from a file.
    Change(OpsFileArgs),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct UpsertShip {
    /// This client's own id for the ship.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    external_id: String,
    /// The exchange's id of an existing ship.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    ship: Option<String>,
    /// The version of the ship when you last read it.
    #[arg(long, value_name = "N")]
    version: Option<i64>,
    /// The type of the ship, in the format of a product of `blueprints add`.
    #[arg(long = "type", value_name = "TYPE")]
    ship_type: CatalogueReference,
    /// The insurance: `lifetime`, or a number of months.
    #[arg(long, value_name = "INSURANCE")]
    insurance: InsuranceValue,
    /// The name of the ship.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The place of the ship.
    #[arg(long = "at", value_name = "PLACE")]
    at: Option<LocationValue>,
    /// Whether the ship is fitted; unchanged if omitted.
    #[arg(long, value_name = "true|false")]
    fitted: Option<bool>,
    /// The org unit of the ship, or `none` to remove it from its unit. If omitted, the unit is unchanged; a
    /// new ship joins the member's unit if the member has exactly one.
    #[arg(long, value_name = "UNIT", allow_hyphen_values = true)]
    unit: Option<String>,
    /// The version of the ship's org unit when you last read it; required with --unit for an existing ship.
    #[arg(long, value_name = "N")]
    unit_version: Option<i64>,
    /// Restore the ship if it was removed elsewhere. Use it only if the member confirmed this.
    #[arg(long = "override")]
    override_: bool,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct LinkShip {
    /// The exchange's id of the ship.
    #[arg(value_name = "SHIP", allow_hyphen_values = true)]
    ship: String,
    /// This client's own id for the ship.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    external_id: String,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RemoveShip {
    /// The exchange's id of the ship.
    #[arg(value_name = "SHIP", allow_hyphen_values = true)]
    ship: String,
    /// The version of the ship when you last read it.
    #[arg(long, value_name = "N")]
    version: i64,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

impl UpsertShip {
    pub(crate) fn to_ops(&self) -> Vec<Json> {
        let unit = self.unit.as_deref().map(|unit| if unit == "none" { Json::Null } else { unit.into() });
        let op = JsonObject::for_op("upsert")
            .with("externalId", self.external_id.as_str())
            .with_optional("shipId", self.ship.as_deref())
            .with_optional("version", self.version)
            .with("shipType", self.ship_type.0.clone())
            .with("insurance", self.insurance.0.clone())
            .with_optional("name", self.name.as_deref())
            .with_optional("location", self.at.as_ref().map(|at| at.0.clone()))
            .with_optional("fitted", self.fitted)
            .with_optional("orgUnit", unit)
            .with_optional("orgUnitVersion", self.unit_version)
            .with_flag("override", self.override_);
        vec![op.into()]
    }
}

impl LinkShip {
    pub(crate) fn to_ops(&self) -> Vec<Json> {
        let op = JsonObject::for_op("link").with("externalId", self.external_id.as_str());
        vec![op.with("shipId", self.ship.as_str()).into()]
    }
}

impl RemoveShip {
    pub(crate) fn to_ops(&self) -> Vec<Json> {
        vec![
            JsonObject::for_op("remove")
                .with("shipId", self.ship.as_str())
                .with("version", self.version)
                .into(),
        ]
    }
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum OrgStockOps {
    /// Book stock into a pool.
    BookIn(BookIn),
    /// Book stock out of a pool.
    BookOut(BookOut),
    /// Sell stock of a pool.
    Sell(SellStock),
    /// Move stock of an entry to another place.
    MoveLocation(MoveLocation),
    /// Give stock of an entry to another holder.
    MoveHolder(MoveHolder),
    /// Move stock of an entry to another unit's pool.
    MovePool(MovePool),
    /// Write or clear the note of an entry.
    Note(WriteNote),
    /// Mark stock of an entry as stolen, or as not stolen.
    Stolen(MarkStolen),
    /// Send ops from a file.
    Change(OpsFileArgs),
}

/// The arguments that identify an entry of a pool.
#[derive(Clone, Debug, Args)]
pub(crate) struct EntryArgs {
    /// The id of the entry, as `org-stock show` shows it.
    #[arg(value_name = "ENTRY", allow_hyphen_values = true)]
    entry: String,
    /// The unit that owns the pool.
    #[arg(long, value_name = "UNIT", allow_hyphen_values = true)]
    unit: String,
    /// The version of the entry when you last read it.
    #[arg(long, value_name = "N")]
    version: i64,
}

impl EntryArgs {
    fn build_op(&self, op: &str) -> JsonObject {
        let Self { entry, unit, version } = self;
        JsonObject::for_op(op)
            .with("unit", unit.as_str())
            .with("entry", entry.as_str())
            .with("version", *version)
    }
}

/// The quantity to take, and how much of it is taken from reservations.
#[derive(Clone, Debug, Args)]
pub(crate) struct TakeArgs {
    /// The quantity to take, such as 12.5scu or 40pc.
    #[arg(long, value_name = "QUANTITY")]
    quantity: QuantityValue,
    /// The part of the quantity that is reserved for a job order, such as ID=2scu.
    #[arg(long, value_name = "ID=QUANTITY", allow_hyphen_values = true)]
    from_job_order: Vec<ReservationShare>,
    /// The part of the quantity that is reserved for a mission, such as ID=2scu.
    #[arg(long, value_name = "ID=QUANTITY", allow_hyphen_values = true)]
    from_mission: Vec<ReservationShare>,
}

impl TakeArgs {
    fn add_to_op(&self, op: JsonObject) -> JsonObject {
        let shares = |shares: &[ReservationShare], kind: &str| {
            shares.iter().map(|share| share.to_json(kind)).collect()
        };
        op.with("quantity", self.quantity.0.clone())
            .with_list("fromJobOrders", shares(&self.from_job_order, "jobOrder"))
            .with_list("fromMissions", shares(&self.from_mission, "mission"))
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BookIn {
    /// The material or item, in the same format as for `blueprints add`.
    #[arg(value_name = "MATERIAL")]
    material: CatalogueReference,
    /// The unit that owns the pool.
    #[arg(long, value_name = "UNIT", allow_hyphen_values = true)]
    unit: String,
    /// The holder: a reference from the unit's roster (see `org-stock members`).
    #[arg(long, value_name = "REF", allow_hyphen_values = true)]
    holder: String,
    /// The place: its exact name (see `locations`), or city:ID or station:ID.
    #[arg(long = "at", value_name = "PLACE")]
    at: LocationValue,
    /// The quantity, such as 12.5scu or 40pc.
    #[arg(long, value_name = "QUANTITY")]
    quantity: QuantityValue,
    /// The quality, 0 to 1000.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..=1000))]
    quality: i64,
    /// Mark the stock as stolen.
    #[arg(long)]
    stolen: bool,
    /// A note for the entry.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Reserve a part of the quantity for a job order, such as ID=2scu.
    #[arg(long, value_name = "ID=QUANTITY", allow_hyphen_values = true)]
    job_order: Vec<ReservationShare>,
    /// Reserve a part of the quantity for a mission, such as ID=2scu.
    #[arg(long, value_name = "ID=QUANTITY", allow_hyphen_values = true)]
    mission: Vec<ReservationShare>,
    /// Merge into an entry of the same kind, instead of creating one.
    #[arg(long)]
    merge: bool,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

impl BookIn {
    pub(crate) fn to_ops(&self) -> Vec<Json> {
        let shares = |shares: &[ReservationShare], kind: &str| {
            shares.iter().map(|share| share.to_json(kind)).collect()
        };
        let op = JsonObject::for_op("book-in")
            .with("unit", self.unit.as_str())
            .with("holder", self.holder.as_str())
            .with("material", self.material.0.clone())
            .with("location", self.at.0.clone())
            .with("quality", self.quality)
            .with("stolen", self.stolen)
            .with("quantity", self.quantity.0.clone())
            .with_optional("note", self.note.as_deref())
            .with_list("jobOrders", shares(&self.job_order, "jobOrder"))
            .with_list("missions", shares(&self.mission, "mission"))
            .with_flag("mergeScu", self.merge);
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
    pub(crate) sending: SendOptions,
}

impl BookOut {
    pub(crate) fn to_ops(&self) -> Vec<Json> {
        vec![self.take.add_to_op(self.entry.build_op("book-out")).into()]
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct SellStock {
    #[command(flatten)]
    entry: EntryArgs,
    #[command(flatten)]
    take: TakeArgs,
    /// The name of the terminal.
    #[arg(long, value_name = "NAME")]
    terminal: String,
    /// The proceeds in whole aUEC.
    #[arg(long, value_name = "AUEC")]
    proceeds: i64,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

impl SellStock {
    pub(crate) fn to_ops(&self) -> Vec<Json> {
        let op = self.take.add_to_op(self.entry.build_op("sell")).with("terminal", self.terminal.as_str());
        vec![op.with("proceeds", self.proceeds).into()]
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MoveLocation {
    #[command(flatten)]
    entry: EntryArgs,
    #[command(flatten)]
    take: TakeArgs,
    /// The place to which the stock is moved.
    #[arg(long, value_name = "PLACE")]
    to: LocationValue,
    /// Merge into an entry of the same kind at the target place, instead of creating one.
    #[arg(long)]
    merge: bool,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

impl MoveLocation {
    pub(crate) fn to_ops(&self) -> Vec<Json> {
        let op =
            self.take.add_to_op(self.entry.build_op("move-location")).with("location", self.to.0.clone());
        vec![op.with_flag("mergeScu", self.merge).into()]
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MoveHolder {
    #[command(flatten)]
    entry: EntryArgs,
    #[command(flatten)]
    take: TakeArgs,
    /// The new holder: a reference from the roster of the target unit (see `org-stock members`).
    #[arg(long, value_name = "REF", allow_hyphen_values = true)]
    holder: String,
    /// The unit that owns the target pool.
    #[arg(long, value_name = "UNIT", allow_hyphen_values = true)]
    to_unit: String,
    /// Merge into an entry of the same kind of that holder, instead of creating one.
    #[arg(long)]
    merge: bool,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

impl MoveHolder {
    pub(crate) fn to_ops(&self) -> Vec<Json> {
        let op =
            self.take.add_to_op(self.entry.build_op("move-holder")).with("toUnit", self.to_unit.as_str());
        vec![op.with("holder", self.holder.as_str()).with_flag("mergeScu", self.merge).into()]
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MovePool {
    #[command(flatten)]
    entry: EntryArgs,
    /// The unit that owns the target pool.
    #[arg(long, value_name = "UNIT", allow_hyphen_values = true)]
    to_unit: String,
    /// The quantity to move; the whole entry if omitted.
    #[arg(long, value_name = "QUANTITY")]
    quantity: Option<QuantityValue>,
    /// Merge into an entry of the same kind in the target pool, instead of creating one.
    #[arg(long)]
    merge: bool,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

impl MovePool {
    pub(crate) fn to_ops(&self) -> Vec<Json> {
        let quantity = self.quantity.as_ref().map(|quantity| quantity.0.clone());
        let op = self.entry.build_op("move-pool").with("toUnit", self.to_unit.as_str());
        vec![op.with_optional("quantity", quantity).with_flag("mergeScu", self.merge).into()]
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct WriteNote {
    #[command(flatten)]
    entry: EntryArgs,
    /// The new note; the note is cleared if omitted.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

impl WriteNote {
    pub(crate) fn to_ops(&self) -> Vec<Json> {
        vec![self.entry.build_op("note").with_optional("note", self.note.as_deref()).into()]
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MarkStolen {
    #[command(flatten)]
    entry: EntryArgs,
    /// Mark the stock as not stolen.
    #[arg(long)]
    not: bool,
    /// The quantity to mark; the whole entry if omitted.
    #[arg(long, value_name = "QUANTITY")]
    quantity: Option<QuantityValue>,
    #[command(flatten)]
    pub(crate) sending: SendOptions,
}

impl MarkStolen {
    pub(crate) fn to_ops(&self) -> Vec<Json> {
        let quantity = self.quantity.as_ref().map(|quantity| quantity.0.clone());
        vec![
            self.entry
                .build_op("stolen")
                .with("stolen", !self.not)
                .with_optional("quantity", quantity)
                .into(),
        ]
    }
}
