//! Test support: the fixtures of the contract, and a common interface to every generated type.

mod fixtures;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use contract_runtime::{
    schema::{SchemaId, Validator},
    violation::Violations,
};
use exchange_api::{Contract, Json, codes::Code, reasons::Reason, schemas::TABLES, scopes::Scope, types::*};
use schemars::SchemaGenerator;
use serde::{Serialize, de::DeserializeOwned};

pub use fixtures::{Fixture, RECIPES, Recipe, fixtures, published};

/// The folder `schemas/` of this repository.
#[must_use]
pub fn schemas() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas")
}

/// The result of parsing a document as a generated type.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The document as the type serializes it; `None` if it could not be parsed.
    pub written: Option<Json>,
    /// The violations of the typed value, if it could be parsed.
    pub typed: Option<Vec<(String, String)>>,
    /// The violations that parsing and validation in one step reports; empty if the document is valid.
    pub checked: Vec<(String, String)>,
    /// JSON Pointers of the undeclared properties.
    pub undeclared: Vec<String>,
    /// The error, if parsing failed for a reason other than violations.
    pub failure: Option<String>,
}

/// A generated type: the location of its schema, and a function that checks a document.
#[derive(Clone, Debug)]
pub struct Model {
    /// The name of the Rust type.
    pub name: &'static str,
    /// The URI of its schema, with the JSON Pointer as fragment.
    pub location: String,
    /// Parses, validates and serializes a document.
    check: fn(&[u8], Validator<'static>) -> Outcome,
    validator: Validator<'static>,
    /// Adds the schema that the type publishes to a generator and returns a reference to it; `None` for types
    /// that publish no schema.
    pub published: Option<fn(&mut SchemaGenerator) -> schemars::Schema>,
}

impl Model {
    /// Returns the validator of the type's schema.
    #[must_use]
    pub const fn validator(&self) -> Validator<'static> {
        self.validator
    }

    /// Parses, validates and serializes a document.
    #[must_use]
    pub fn check(&self, bytes: &[u8]) -> Outcome {
        (self.check)(bytes, self.validator)
    }
}

fn pairs(violations: &Violations) -> Vec<(String, String)> {
    let mut all: Vec<_> = violations.iter().map(|v| (v.pointer.clone(), v.keyword.to_owned())).collect();
    all.sort();
    all.dedup();
    all
}

fn check<T: Contract>(bytes: &[u8], _: Validator<'_>) -> Outcome {
    use contract_runtime::DocumentError;
    let read = T::parse(bytes);
    let typed = read.as_ref().ok().map(|v| v.validate().map_or_else(|e| pairs(&e), |()| Vec::new()));
    let (checked, failure) = match T::parse_valid(bytes) {
        Ok(_) => (Vec::new(), None),
        Err(DocumentError::Invalid(violations)) => (pairs(&violations), None),
        Err(other) => (Vec::new(), Some(other.to_string())),
    };
    Outcome {
        written: read.as_ref().ok().and_then(|v| v.to_json().ok()),
        typed,
        checked,
        undeclared: read.map(|v| v.undeclared_members(50)).unwrap_or_default(),
        failure,
    }
}

/// Adds a model for a schema without a generated type, or with a type that a registry table describes. The
/// validator is found by the location of the schema.
fn described<T: Serialize + DeserializeOwned>(
    all: &mut BTreeMap<String, Model>,
    name: &'static str,
    published: Option<fn(&mut SchemaGenerator) -> schemars::Schema>,
) {
    let rows = 0..u32::try_from(TABLES.schemas.len()).unwrap_or(0);
    let validator = rows
        .map(|row| Validator::new(&TABLES, SchemaId(row)))
        .find(|v| folder(&v.schema_location()) == name)
        .unwrap_or_else(|| panic!("no schema for {name}"));
    let location = validator.schema_location();
    let model = Model { name, location, check: check_described::<T>, validator, published };
    all.insert(name.to_owned(), model);
}

fn check_described<T: Serialize + DeserializeOwned>(bytes: &[u8], validator: Validator<'_>) -> Outcome {
    let written = serde_json::from_slice::<T>(bytes)
        .ok()
        .and_then(|value| Json::parse(&serde_json::to_vec(&value).ok()?).ok());
    let checked = match Json::parse(bytes).map(|json| validator.validate(&json)) {
        Ok(Ok(())) => Vec::new(),
        Ok(Err(violations)) => pairs(&violations),
        Err(error) => panic!("{error}"),
    };
    Outcome { written, typed: None, checked, undeclared: Vec::new(), failure: None }
}

/// Returns a model of every generated type, keyed by the fixture folder of its schema.
#[must_use]
pub fn models() -> BTreeMap<String, Model> {
    let mut all = BTreeMap::new();
    macro_rules! models {
        ($($name:ident),* $(,)?) => {$(
            let location = $name::VALIDATOR.schema_location();
            let validator = $name::VALIDATOR;
            let published = Some(SchemaGenerator::subschema_for::<$name> as _);
            let model = Model { name: stringify!($name), location, check: check::<$name>, validator, published };
            all.insert(folder(&model.location), model);
        )*};
    }
    models![
        AccountCheckRequest,
        AccountCheckResponse,
        AccountCheckResult,
        AccountHandle,
        AddBlueprint,
        AmbiguousResult,
        Attribution,
        Blueprint,
        BlueprintChangeSet,
        BlueprintDraft,
        BlueprintKey,
        BlueprintOp,
        BlueprintPage,
        BookIn,
        BookOut,
        CatalogEntry,
        CatalogKey,
        CatalogKind,
        ChangeResult,
        ChangeSet,
        ClientId,
        ConfirmationUrl,
        CorrelationId,
        Cursor,
        DemandReason,
        DemandSource,
        Deprecation,
        DraftKind,
        DraftResult,
        EarmarkSplit,
        EntryId,
        EntryVersion,
        Envelope,
        EnvelopeItem,
        Extensions,
        ExternalId,
        FrontendUrl,
        GeneratorInfo,
        HandoffId,
        Holder,
        HolderRef,
        Installation,
        InstallationId,
        InstallationLabel,
        Insurance,
        ItemDemand,
        ItemRef,
        JobOrderEarmark,
        JobOrderId,
        JobOrderShare,
        JsonPointer,
        KeyedItemRef,
        LabelledInstallation,
        LifetimeInsurance,
        LinkShip,
        Location,
        LocationLink,
        LocationLinkKind,
        LocationList,
        LocationName,
        LocationRef,
        LotKey,
        MarkStolen,
        MaterialDemand,
        MaterialKind,
        MaterialType,
        MissionEarmark,
        MissionId,
        MissionShare,
        MonthlyInsurance,
        MoveHolder,
        MoveLocation,
        MovePool,
        NamedHolder,
        OpId,
        OpOutcome,
        OpResult,
        OrgDemand,
        OrgLotKey,
        OrgStockChangeSet,
        OrgStockEntry,
        OrgStockLot,
        OrgStockMembers,
        OrgStockOp,
        OrgStockPage,
        OrgUnit,
        OrgUnitKind,
        OrgUnitList,
        OrgUnitVersion,
        Page,
        PanelType,
        PieceQuantity,
        Problem,
        ProblemError,
        Provenance,
        ProvenanceSource,
        Quality,
        Quantity,
        QuantityAmount,
        QuantityUnit,
        RefineryDraft,
        RefineryGood,
        RefineryOrder,
        RemovalChannel,
        RemoveBlueprint,
        RemoveShip,
        RemovedBy,
        ResolveRequest,
        ResolveResponse,
        ResolveResult,
        ResolvedResult,
        RosterMember,
        SellStock,
        ServiceDocument,
        ServiceLimits,
        SetNote,
        SetQuantity,
        Ship,
        ShipChangeSet,
        ShipId,
        ShipName,
        ShipOp,
        ShipPage,
        ShipVersion,
        SourceImage,
        StockChangeSet,
        StockLot,
        StockOp,
        StockPage,
        Timestamp,
        Tombstone,
        TombstoneKey,
        UexId,
        UnitId,
        UnitRef,
        UnmatchedResult,
        UpsertShip,
        Warning,
        WarningCode,
        WithheldHolder,
    ];
    let published = Some(SchemaGenerator::subschema_for::<Code> as _);
    described::<Code>(&mut all, "problem--problemCode", published);
    let published = Some(SchemaGenerator::subschema_for::<Reason> as _);
    described::<Reason>(&mut all, "change-result--opReason", published);
    let published = Some(SchemaGenerator::subschema_for::<Scope> as _);
    described::<Scope>(&mut all, "service-document--exchangeScope", published);
    // Parts of other schemas; no document is an instance of one of them alone.
    for part in [
        "change-set--changeOp",
        "change-set--entryOp",
        "change-set--poolOp",
        "change-set--takeOp",
        "stock-lot--lotContent",
    ] {
        described::<Json>(&mut all, part, None);
    }
    all
}

/// Converts the location of a schema to its fixture folder: `…/ship.schema.json#/$defs/shipName` becomes
/// `ship--shipName`.
fn folder(location: &str) -> String {
    let (uri, pointer) = location.split_once('#').unwrap_or((location, ""));
    let stem = uri.rsplit('/').next().unwrap_or(uri).trim_end_matches(".schema.json");
    match pointer.strip_prefix("/$defs/") {
        Some(def) => format!("{stem}--{def}"),
        None => stem.to_owned(),
    }
}
