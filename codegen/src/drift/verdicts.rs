//! Decides whether individual keywords of the receiving version refuse values that the sending version accepts
//! (see `proof`). Caches the decisions.

use std::collections::HashMap;

use contract_codegen_core::{
    schema::{Schema, SchemaId, TypeSet, keywords::Keyword},
    tree::DocumentLocation,
};
use contract_runtime::Json;

use super::{
    directions::{DirectionProvers, DirectionViews},
    flattened::FlattenedSchema,
    proof::{ProofVerdict, SchemaProver, TableStores, VersionSide},
    site::{ComparisonSite, ValueUse},
    strings::are_string_keywords,
};

/// A group of keywords that one difference concerns, such as `if`, `then` and `else`. A proof considers only
/// the effect of these keywords on validity.
#[derive(Clone, Debug, Default)]
pub(super) struct KeywordFacet {
    pub(super) keywords: &'static [Keyword],
    /// The keyword that changed, if it is known. It determines the location of the finding.
    changed_keyword: Option<Keyword>,
    /// Candidates for a witness. A witness is a value that only one version accepts.
    pub(super) candidates: Vec<Json>,
}

impl KeywordFacet {
    pub(super) const fn new(keywords: &'static [Keyword]) -> Self {
        Self { keywords, changed_keyword: None, candidates: Vec::new() }
    }

    pub(super) fn with_changed_keyword(self, keyword: Keyword) -> Self {
        Self { changed_keyword: Some(keyword), ..self }
    }

    pub(super) fn with_candidates(mut self, more: impl IntoIterator<Item = Json>) -> Self {
        self.candidates.extend(more);
        self
    }

    /// Returns the location of the schema in `flat` that contains the changed keyword, and the keyword.
    /// Prefers the outermost schema whose value of the keyword does not occur in `other`, which is the schema
    /// of the other version. With this preference, a change of a shared schema always has the same location
    /// and is reported once.
    pub(super) fn find_changed_keyword<'g>(
        &self,
        flat: &FlattenedSchema<'g>,
        other: &FlattenedSchema<'g>,
    ) -> Option<(&'g DocumentLocation, Keyword)> {
        let possible = self
            .changed_keyword
            .iter()
            .chain(self.keywords.iter().filter(|_| self.changed_keyword.is_none()));
        // A reference itself has no effect on validity.
        let keywords: Vec<Keyword> = possible.copied().filter(|keyword| *keyword != Keyword::Ref).collect();
        let pairs = flat.schemas().flat_map(|schema| keywords.iter().map(move |keyword| (schema, *keyword)));
        let present: Vec<_> = pairs.filter(|(schema, keyword)| keyword.value(schema).is_some()).collect();
        let is_shared = |schema: &Schema, keyword: Keyword| {
            other.schemas().any(|each| keyword.value(each) == keyword.value(schema))
        };
        let changed = present.iter().find(|(schema, keyword)| !is_shared(schema, *keyword));
        changed.or_else(|| present.first()).map(|(schema, keyword)| (&schema.place, *keyword))
    }
}

/// The schemas of one version.
pub(super) type SideSchemas<'a> = (VersionSide, &'a [SchemaId]);

/// The schemas of the sending version, and the schemas of the receiving version that may refuse the values.
#[derive(Clone, Copy, Debug)]
pub(super) struct GivenAndRefusing<'a> {
    pub(super) giving: SideSchemas<'a>,
    pub(super) refusing: SideSchemas<'a>,
}

#[derive(PartialEq, Eq, Hash)]
struct VerdictKey {
    giving_side: VersionSide,
    giving: Vec<SchemaId>,
    refusing: Vec<SchemaId>,
    /// The direction in which values are sent; `None` if requirements are waived in neither version for this
    /// direction.
    view: Option<ValueUse>,
    types: TypeSet,
    /// The indices of the facet's keywords.
    keywords: Vec<usize>,
    candidates: Vec<Json>,
}

/// The provers, and a cache of their decisions.
pub(super) struct VerdictCache<'g> {
    provers: DirectionProvers<'g>,
    verdicts: HashMap<VerdictKey, Option<ProofVerdict>>,
}

impl<'g> VerdictCache<'g> {
    pub(super) fn new(directions: &'g DirectionViews<'g>, stores: &'g [TableStores<'g>; 3]) -> Self {
        Self { provers: DirectionProvers::new(directions, stores), verdicts: HashMap::new() }
    }

    /// Returns the prover for a direction.
    pub(super) fn prover(&self, value_use: ValueUse) -> &SchemaProver<'g> {
        self.provers.for_direction(value_use)
    }

    /// Decides whether the facet's keywords of the receiving version refuse a value that the sending version
    /// accepts at a site. Returns `None` if no decision is possible.
    pub(super) fn judge_values(
        &mut self,
        schemas: GivenAndRefusing<'_>,
        site: &ComparisonSite,
        facet: &KeywordFacet,
    ) -> Option<ProofVerdict> {
        let GivenAndRefusing { giving, refusing } = schemas;
        let key = VerdictKey {
            giving_side: giving.0,
            giving: giving.1.to_vec(),
            refusing: refusing.1.to_vec(),
            view: self.provers.own_view(site.value_use),
            types: site.types,
            keywords: facet.keywords.iter().map(|keyword| *keyword as usize).collect(),
            candidates: facet.candidates.clone(),
        };
        if let Some(known) = self.verdicts.get(&key) {
            return known.clone();
        }
        let prover = self.prover(site.value_use);
        let verdict = if facet.candidates.is_empty() || are_string_keywords(facet.keywords) {
            prover.prove_accepted(giving, refusing, site.types, facet)
        } else if let Some(found) = prover.find_refused_candidate(giving, refusing, site.types, facet) {
            Some(Err(Some(found)))
        } else {
            // Without candidates, the question is the same for all changes at this location.
            self.judge_values(schemas, site, &KeywordFacet::new(facet.keywords))
        };
        self.verdicts.insert(key, verdict.clone());
        verdict
    }
}
