//! The schemas of both versions as they apply in each direction.
//!
//! In OpenAPI 3.0, a required property may be missing from requests if it is read-only, and from responses if
//! it is write-only. Such a requirement is *waived* in that direction. Each version follows the rules of its
//! own OpenAPI version. Validators do not distinguish directions, so each direction gets copies of the
//! schemas without the waived names in `required`.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    rc::Rc,
};

use contract_codegen_core::{
    directions::{Direction, OneWayProperties},
    resolve::is_openapi_30,
    schema::{Schema, SchemaGraph, SchemaId},
};

use super::{
    ContractVersion,
    flattened::FlattenedSchema,
    proof::{SchemaProver, TableStores, VersionSide},
    site::ValueUse,
    strings::PatternCache,
};

/// The schemas of one version, with the compiled patterns of property names and the properties that are sent
/// in only one direction.
#[derive(Debug)]
pub(super) struct VersionSchemas<'g> {
    graph: Cow<'g, SchemaGraph>,
    pub(super) programs: Rc<PatternCache>,
    pub(super) one_way: Rc<OneWayProperties>,
    /// The original of each schema that was copied because of waived requirements; the key is the copy.
    relaxed_copies: BTreeMap<SchemaId, SchemaId>,
}

impl VersionSchemas<'_> {
    /// Returns true if a property is never sent in a direction, because one of its schemas is `readOnly` or
    /// `writeOnly`. `schema_ids` are the subschemas of `properties` that apply to the property.
    pub(super) fn is_never_sent(&self, schema_ids: &[SchemaId], usage: ValueUse) -> bool {
        self.one_way.sent_direction(schema_ids).is_some_and(|sent| sent != message_direction(usage))
    }

    /// Returns the schemas that apply to one value, without the schemas that are already part of another
    /// schema in the list by `$ref` or `allOf`.
    pub(super) fn without_nested_parts<'i>(&self, ids: &'i [SchemaId]) -> Cow<'i, [SchemaId]> {
        if self.relaxed_copies.is_empty() || ids.len() < 2 {
            return Cow::Borrowed(ids);
        }
        let part = |id: &SchemaId| self.relaxed_copies.get(id).copied().unwrap_or(*id);
        let parts = |id: SchemaId| -> BTreeSet<SchemaId> {
            FlattenedSchema::from_schemas(self, &[id])
                .schema_ids
                .iter()
                .filter(|part| **part != id)
                .map(part)
                .collect()
        };
        let inner: BTreeSet<SchemaId> = ids.iter().flat_map(|id| parts(*id)).collect();
        let outer: Vec<SchemaId> = ids.iter().copied().filter(|id| !inner.contains(id)).collect();
        if outer.len() == ids.len() {
            Cow::Borrowed(ids)
        } else {
            Cow::Owned(FlattenedSchema::from_schemas(self, &outer).schema_ids)
        }
    }
}

impl Deref for VersionSchemas<'_> {
    type Target = SchemaGraph;

    fn deref(&self) -> &SchemaGraph {
        &self.graph
    }
}

/// The schemas of both versions.
pub(super) struct SchemaVersions<'g> {
    old: VersionSchemas<'g>,
    new: VersionSchemas<'g>,
}

impl<'g> SchemaVersions<'g> {
    pub(super) fn from_versions(old: &'g ContractVersion, new: &'g ContractVersion) -> Self {
        let programs = Rc::<PatternCache>::default();
        let side = |version: &'g ContractVersion| VersionSchemas {
            graph: Cow::Borrowed(&version.graph),
            programs: Rc::clone(&programs),
            one_way: Rc::new(OneWayProperties::from_graph(&version.graph, |source| {
                is_openapi_30(&version.sources, source)
            })),
            relaxed_copies: BTreeMap::new(),
        };
        Self { old: side(old), new: side(new) }
    }

    pub(super) const fn get(&self, side: VersionSide) -> &VersionSchemas<'g> {
        match side {
            VersionSide::Old => &self.old,
            VersionSide::New => &self.new,
        }
    }

    /// Returns the schemas without the requirements that are waived in a direction. Returns `None` if no
    /// requirement is waived, in which case the schemas of the documents apply.
    pub(super) fn for_direction(&self, usage: ValueUse) -> Option<Self> {
        let of = |schemas: &VersionSchemas<'g>| {
            let left_out = find_waived_requirements(schemas, usage);
            let is_other = !left_out.is_empty();
            let (mut graph, mut copies) = (schemas.graph.clone(), BTreeMap::new());
            if is_other {
                (graph, copies) = RequirementRelaxer::new(schemas, &left_out).relax_graph();
            }
            let (programs, one_way) = (Rc::clone(&schemas.programs), Rc::clone(&schemas.one_way));
            (is_other, VersionSchemas { graph, programs, one_way, relaxed_copies: copies })
        };
        let ((old_is_other, old), (new_is_other, new)) = (of(&self.old), of(&self.new));
        (old_is_other || new_is_other).then_some(Self { old, new })
    }
}

/// The schemas of both versions: those of the documents (`plain`), and those of each direction in which
/// requirements are waived.
pub(super) struct DirectionViews<'g> {
    pub(super) plain: SchemaVersions<'g>,
    read: Option<SchemaVersions<'g>>,
    write: Option<SchemaVersions<'g>>,
}

impl<'g> DirectionViews<'g> {
    pub(super) fn from_versions(old: &'g ContractVersion, new: &'g ContractVersion) -> Self {
        let plain = SchemaVersions::from_versions(old, new);
        let (read, write) = (plain.for_direction(ValueUse::Read), plain.for_direction(ValueUse::Write));
        Self { plain, read, write }
    }
}

/// A prover for the schemas of the documents, and one for each direction in which requirements are waived.
pub(super) struct DirectionProvers<'g> {
    plain: SchemaProver<'g>,
    read: Option<SchemaProver<'g>>,
    write: Option<SchemaProver<'g>>,
}

impl<'g> DirectionProvers<'g> {
    pub(super) fn new(
        directions: &'g DirectionViews<'g>,
        [plain, read, write]: &'g [TableStores<'g>; 3],
    ) -> Self {
        let prover = |sides: &'g Option<SchemaVersions<'g>>, tables| {
            sides.as_ref().map(|sides| SchemaProver::new(sides, tables))
        };
        Self {
            plain: SchemaProver::new(&directions.plain, plain),
            read: prover(&directions.read, read),
            write: prover(&directions.write, write),
        }
    }

    /// Returns `usage` if requirements are waived in this direction. Returns `None` if the schemas of the
    /// documents apply.
    pub(super) fn own_view(&self, usage: ValueUse) -> Option<ValueUse> {
        self.own_prover(usage).map(|_| usage)
    }

    pub(super) fn for_direction(&self, usage: ValueUse) -> &SchemaProver<'g> {
        self.own_prover(usage).unwrap_or(&self.plain)
    }

    const fn own_prover(&self, usage: ValueUse) -> Option<&SchemaProver<'g>> {
        match usage {
            ValueUse::Read => self.read.as_ref(),
            ValueUse::Write => self.write.as_ref(),
        }
    }
}

/// Converts a value use to the direction of messages: `Read` to responses, `Write` to requests.
const fn message_direction(usage: ValueUse) -> Direction {
    match usage {
        ValueUse::Read => Direction::Response,
        ValueUse::Write => Direction::Request,
    }
}

/// Required property names, by the schema whose `required` lists them.
type RequiredNames = BTreeMap<SchemaId, BTreeSet<String>>;

/// Returns the requirements of each schema that are waived in a direction. They come from the `required` of
/// the schema itself and of its parts (`$ref` and `allOf`).
fn find_waived_requirements(
    schemas: &VersionSchemas<'_>,
    usage: ValueUse,
) -> BTreeMap<SchemaId, RequiredNames> {
    let mut all: BTreeMap<SchemaId, RequiredNames> = BTreeMap::new();
    for (schema_ids, required) in schemas.one_way.requirements_by_schema() {
        for required in required.iter().filter(|required| required.direction != message_direction(usage)) {
            let names = all.entry(schema_ids).or_default().entry(required.required_by).or_default();
            names.insert(required.name.clone());
        }
    }
    all
}

/// A transformation of one version's schemas that removes the waived names from `required`. If several
/// schemas share a part but waive different names in it, the part is copied.
struct RequirementRelaxer<'a, 'g> {
    schemas: &'a VersionSchemas<'g>,
    waived: &'a BTreeMap<SchemaId, RequiredNames>,
    graph: SchemaGraph,
    copies_by_requirement: BTreeMap<(SchemaId, RequiredNames), SchemaId>,
    originals: BTreeMap<SchemaId, SchemaId>,
}

impl<'a, 'g> RequirementRelaxer<'a, 'g> {
    fn new(schemas: &'a VersionSchemas<'g>, left_out: &'a BTreeMap<SchemaId, RequiredNames>) -> Self {
        let graph = SchemaGraph::clone(schemas);
        Self {
            schemas,
            waived: left_out,
            graph,
            copies_by_requirement: BTreeMap::new(),
            originals: BTreeMap::new(),
        }
    }

    fn relax_graph(mut self) -> (Cow<'g, SchemaGraph>, BTreeMap<SchemaId, SchemaId>) {
        for (id, required) in self.waived {
            self.graph.schemas[*id] = self.relax_schema(*id, required);
        }
        (Cow::Owned(self.graph), self.originals)
    }

    fn relax_schema(&mut self, id: SchemaId, required_names: &RequiredNames) -> Schema {
        let mut schema = self.schemas.schema(id).clone();
        if let Some(names) = required_names.get(&id) {
            schema.required.retain(|name| !names.contains(name));
        }
        schema.reference = schema.reference.map(|part| self.relax_part(part, required_names));
        schema.all_of = schema.all_of.iter().map(|part| self.relax_part(*part, required_names)).collect();
        schema
    }

    /// Returns the part to which a relaxed schema refers. `required_names` are the names that this schema
    /// waives. Returns the part itself if the part waives the same names when it is used alone. Otherwise,
    /// returns a copy of the part that waives these names.
    fn relax_part(&mut self, id: SchemaId, required_names: &RequiredNames) -> SchemaId {
        let parts = FlattenedSchema::from_schemas(self.schemas, &[id]).schema_ids;
        let own_names: RequiredNames =
            parts.iter().filter_map(|part| Some((*part, required_names.get(part)?.clone()))).collect();
        if self.waived.get(&id).map_or(own_names.is_empty(), |alone| *alone == own_names) {
            return id;
        }
        let key = (id, own_names);
        if let Some(copy) = self.copies_by_requirement.get(&key) {
            return *copy;
        }
        let schema = self.relax_schema(id, &key.1);
        let copy = self.graph.schemas.push(schema);
        self.originals.insert(copy, id);
        self.copies_by_requirement.insert(key, copy);
        copy
    }
}
