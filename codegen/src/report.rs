//! What a run made of a contract: its types, where they are looser than the schemas and what
//! enforces the rest, what was assumed, what engines lost, what is proven.
//!
//! ```
//! use contract_codegen::{Project, Sources, report::Report};
//!
//! let text = r#"{"type": "object", "properties": {"code": {"type": "string", "maxLength": 3}}}"#;
//! let project = Project::default();
//! let contract = project.understand(Sources::from_texts(&[("seat.schema.json", "", text)])?)?;
//! let report = Report::of(&project, &contract, &|_| {});
//! assert_eq!(report.gaps().count(), 0);
//! assert!(report.text(false).contains("maxLength"));
//! # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
//! ```

mod open;
mod print;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub use self::open::LeftOpen;
#[cfg(feature = "engines")]
use crate::engines::{Opinion, Refusal, Row};
pub use crate::proof::Proof;
use crate::{
    config::Config,
    explain::{Constraints, How, Whereabouts, carried, reason},
    formats::Mapped,
    generate::{Project, Step, selector},
    plan::Plans,
    proof::prove,
    reading::Reading,
    shape::{Body, TypeId, TypeRef},
    stack::deep,
    tables::Shelves,
    together::{Conj, Facts, meaning},
};

/// The report of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Title and version of the contract.
    pub title: String,
    /// What there is, by what it is called: `structs`, `fields`, `operations`.
    pub counts: Vec<(&'static str, usize)>,
    /// What overlays did to the documents.
    pub mends: Vec<Mended>,
    /// Constraints by keyword, and by what enforces them.
    pub constraints: BTreeMap<&'static str, BTreeMap<How, usize>>,
    /// Types that hold more than their schemas accept.
    pub looser: Vec<Looser>,
    /// What the options assume.
    pub assumptions: Vec<String>,
    /// Bases with a `discriminator` that are no enums of their children.
    pub families: Vec<Family>,
    /// Operations and webhooks that no client can send, with the reason.
    pub unsent: Vec<Unsent>,
    /// What other generators do with the contract; `None` when they were not asked.
    #[cfg(feature = "engines")]
    pub engines: Option<Vec<Opinion>>,
    /// What is known about each type, in order of the types.
    pub proofs: Vec<(String, Proof)>,
}

/// What one action of an overlay did.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mended {
    /// The overlay's file.
    pub file: String,
    /// What it says of the action, or what that selects.
    pub what: String,
    /// `updated` or `removed`.
    pub how: &'static str,
    /// Where, `file:line #/pointer`.
    pub places: Vec<String>,
}

/// A place whose type holds more than its schema accepts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Looser {
    /// `Type` or `Type.member`
    pub name: String,
    /// `file:line #/pointer`
    pub place: String,
    /// What it is instead, and why.
    pub what: String,
    /// What enforces the rest.
    pub enforced: &'static str,
}

/// A base with a `discriminator` and no `oneOf`, read as itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Family {
    /// Its selector.
    pub selector: String,
    /// `file:line #/pointer`
    pub place: String,
    /// How many schemas take it in.
    pub children: usize,
}

/// An operation or webhook that no client can send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unsent {
    /// Its `operationId`.
    pub id: String,
    /// `file:line #/pointer`
    pub place: String,
    /// Why not.
    pub reason: String,
}

impl Report {
    /// Puts together what there is to say, proofs of every type included. Other generators are asked by
    /// whoever wants to know.
    #[must_use]
    pub fn of(project: &Project, contract: &Reading, step: Step<'_>) -> Self {
        deep(|| {
            let count = contract.shapes.types.len();
            let proofs = prove(contract, |done| step(&format!("proving {done} of {count} types")));
            put_together(&project.config, contract, &project.plans(contract), proofs)
        })
    }
}

fn put_together(
    config: &Config,
    contract: &Reading,
    plans: &Plans<'_>,
    proofs: Vec<(TypeId, Proof)>,
) -> Report {
    let name = |id: TypeId| contract.shapes.get(id).name.clone();
    Report {
        title: contract.title(),
        counts: contract.counts(plans),
        mends: mends(contract),
        constraints: constraints(contract),
        looser: looser(contract),
        assumptions: assumptions(config, contract, &proofs),
        families: families(contract),
        unsent: unsent(contract, plans),
        #[cfg(feature = "engines")]
        engines: None,
        proofs: proofs.into_iter().map(|(id, proof)| (name(id), proof)).collect(),
    }
}

/// Every place with a type: the types themselves and their fields.
fn places(contract: &Reading) -> Vec<(String, Conj, TypeRef)> {
    let mut out = Vec::new();
    for id in contract.shapes.ids() {
        let def = contract.shapes.get(id);
        out.push((def.name.clone(), def.conj.clone(), TypeRef::Named(id)));
        if let Body::Struct(body) = &def.body {
            out.extend(
                body.fields
                    .iter()
                    .map(|f| (format!("{}.{}", def.name, f.name), f.conj.clone(), f.ty.clone())),
            );
        }
    }
    out
}

fn constraints(contract: &Reading) -> BTreeMap<&'static str, BTreeMap<How, usize>> {
    let mut out: BTreeMap<&'static str, BTreeMap<How, usize>> = BTreeMap::new();
    for found in carried(contract) {
        *out.entry(found.keyword).or_default().entry(found.how).or_default() += 1;
    }
    out
}

fn looser(contract: &Reading) -> Vec<Looser> {
    let shelves = Shelves::default();
    let tables = contract.tables(&shelves);
    let constraints = Constraints::new(contract, &tables);
    let whereabouts = Whereabouts::new(contract);
    let mut out = Vec::new();
    for (name, conj, ty) in places(contract) {
        let facts = Facts::of(&contract.graph, &conj, contract.options.implied_objects);
        let mut say = |what: String, enforced: &'static str| {
            let place = conj.ids.last().map(|&id| whereabouts.of(&contract.graph.schema(id).place));
            out.push(Looser { name: name.clone(), place: place.unwrap_or_default(), what, enforced });
        };
        let holds_json = match &ty {
            TypeRef::Json => true,
            TypeRef::Named(id) => matches!(contract.shapes.get(*id).body, Body::Newtype(TypeRef::Json)),
            _ => false,
        };
        let says_something =
            holds_json && constraints.at(&conj, &ty, &[]).iter().any(|c| c.how == How::Tables);
        match &ty {
            TypeRef::Json if says_something => {
                say(format!("a JSON value: {}", reason::json(contract, &conj)), "the tables");
            }
            TypeRef::Vec(inner) if **inner == TypeRef::Json && positions(contract, &facts) => {
                say(
                    "a list of JSON values: its positions have schemas of their own".to_owned(),
                    "the tables",
                );
            }
            TypeRef::Replaced(path, _) if let Some(name) = Mapped::of_path(path) => {
                say(format!("`{name}`, the type of its format"), "that type and the checks");
            }
            TypeRef::Replaced(path, _) => say(format!("`{path}`, a type of the owner's"), "that type"),
            TypeRef::Named(id) => match &contract.shapes.get(*id).body {
                Body::Newtype(TypeRef::Json) if says_something && !name.contains('.') => {
                    say(format!("a JSON value: {}", reason::json(contract, &conj)), "the tables");
                }
                Body::Struct(_) if !facts.holders.is_empty() && !name.contains('.') => {
                    say(
                        "a struct of the members of all branches: no tag tells them apart".to_owned(),
                        "`is_valid`",
                    );
                }
                Body::Struct(_) if !facts.conditional.is_empty() && !name.contains('.') => {
                    say("a struct without the conditions on its members".to_owned(), "`is_valid`");
                }
                _ => {}
            },
            _ => {}
        }
    }
    out.sort();
    out.dedup();
    out
}

fn positions(contract: &Reading, facts: &Facts) -> bool {
    facts.members.iter().any(|&id| !contract.graph.schema(id).prefix_items.is_empty())
}

fn assumptions(config: &Config, contract: &Reading, proofs: &[(TypeId, Proof)]) -> Vec<String> {
    let types = &config.types;
    let assumed = proofs.iter().filter(|(_, proof)| *proof == Proof::Assumed).count();
    let graph = &contract.graph;
    let implied = graph.ids().filter(|&id| {
        let place = Conj::one(id);
        Facts::of(graph, &place, types.implied_objects).types != Facts::stated(graph, &place)
    });
    let implied = implied.count();
    let mut out = Vec::new();
    if implied > 0 {
        out.push(format!(
            "implied-objects: {implied} schemas without `type` are read as what their keywords speak about"
        ));
    }
    out.extend(config.nullable.iter().map(|selector| format!("nullable: `{selector}` is `null`, too")));
    if types.unbounded_integers == crate::config::UnboundedIntegers::I64 {
        out.push(
            "unbounded-integers = \"i64\": an integer beyond 64 bits is refused when it is read".to_owned(),
        );
    }
    if assumed > 0 {
        out.push(format!("{assumed} types hold all that their schemas accept only under these assumptions"));
    }
    for (schema, path) in &config.replace {
        out.push(format!("replace: `{path}` holds all that `{schema}` accepts"));
    }
    out
}

fn mends(contract: &Reading) -> Vec<Mended> {
    let whereabouts = Whereabouts::new(contract);
    let mended = contract.sources.mends.iter().map(|mend| Mended {
        file: mend.file.clone(),
        what: mend.what.clone(),
        how: mend.how,
        places: mend.places.iter().map(|place| whereabouts.of(place)).collect(),
    });
    mended.collect()
}

fn families(contract: &Reading) -> Vec<Family> {
    let graph = &contract.graph;
    let whereabouts = Whereabouts::new(contract);
    let families = meaning::families(graph).into_iter();
    let read_as_themselves = families.filter(|(base, _)| graph.schema(*base).family().is_empty());
    let family = read_as_themselves.map(|(base, children)| Family {
        selector: selector(graph, base),
        place: whereabouts.of(&graph.schema(base).place),
        children: children.len(),
    });
    family.collect()
}

fn unsent(contract: &Reading, plans: &Plans<'_>) -> Vec<Unsent> {
    let whereabouts = Whereabouts::new(contract);
    let calls = plans.iter().flat_map(|plan| &plan.calls);
    let unsent = calls.filter_map(|call| {
        let (id, place) = (call.operation.id.clone(), whereabouts.of(&call.operation.place));
        Some(Unsent { id, place, reason: call.unsendable.clone()? })
    });
    unsent.collect()
}

impl Report {
    /// Values that a schema accepts and its type does not hold: bugs of the generator.
    pub fn gaps(&self) -> impl Iterator<Item = (&str, Option<String>)> {
        self.proofs.iter().filter_map(|(name, proof)| match proof {
            Proof::Gap(instance) => Some((name.as_str(), instance.as_ref().map(ToString::to_string))),
            _ => None,
        })
    }

    /// For programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let constraints: serde_json::Map<String, Value> = self
            .constraints
            .iter()
            .map(|(keyword, by)| {
                let by: serde_json::Map<String, Value> =
                    by.iter().map(|(how, count)| (how.words().to_owned(), json!(count))).collect();
                ((*keyword).to_owned(), Value::Object(by))
            })
            .collect();
        let proof = |(name, proof): &(String, Proof)| {
            let detail = match proof {
                Proof::Tested(count) => json!(count),
                Proof::Gap(Some(instance)) => instance.to_value(),
                Proof::Skipped(reason) => json!(reason),
                _ => Value::Null,
            };
            json!({ "type": name, "proof": proof.word(), "detail": detail })
        };
        let counts: serde_json::Map<String, Value> =
            self.counts.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
        let looser =
            |l: &Looser| json!({ "name": l.name, "place": l.place, "what": l.what, "enforced": l.enforced });
        let mend = |m: &Mended| json!({ "file": m.file, "what": m.what, "how": m.how, "places": m.places });
        let family = |f: &Family| json!({ "selector": f.selector, "place": f.place, "children": f.children });
        let unsent = |u: &Unsent| json!({ "id": u.id, "place": u.place, "reason": u.reason });
        let mut out = json!({
            "title": self.title,
            "counts": counts,
            "mends": self.mends.iter().map(mend).collect::<Vec<_>>(),
            "constraints": constraints,
            "looser": self.looser.iter().map(looser).collect::<Vec<_>>(),
            "assumptions": self.assumptions,
            "families": self.families.iter().map(family).collect::<Vec<_>>(),
            "unsent": self.unsent.iter().map(unsent).collect::<Vec<_>>(),
            "proofs": self.proofs.iter().map(proof).collect::<Vec<_>>(),
        });
        out["engines"] = self.engines_json();
        out
    }

    #[cfg(not(feature = "engines"))]
    const fn engines_json(&self) -> Value {
        Value::Null
    }

    #[cfg(feature = "engines")]
    fn engines_json(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "construct": row.construct,
                "kept": row.kept,
                "dropped": row.dropped,
                "refused": row.refused,
                "unasked": row.unasked,
                "places": row.places,
            })
        };
        let refusal = |each: &Refusal| json!({ "place": each.place, "reason": each.reason });
        let opinion = |each: &Opinion| {
            json!({
                "engine": each.engine,
                "constructs": each.rows.iter().map(row).collect::<Vec<_>>(),
                "refusals": each.refusals.iter().map(refusal).collect::<Vec<_>>(),
            })
        };
        self.engines.as_ref().map_or(Value::Null, |all| all.iter().map(opinion).collect())
    }

    /// For people; `markdown` for a file or a pull request.
    #[must_use]
    pub fn text(&self, markdown: bool) -> String {
        print::text(self, markdown)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::{explain::explain, load::Sources};

    /// What is asked of parameters and of bodies without a type of their own is counted, and explained, as what is
    /// asked of types.
    #[test]
    fn rules_of_operations_count() {
        let text = r#"{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {"/t": {"post": {
            "operationId": "t",
            "parameters": [{"name": "req", "in": "query", "schema": {"type": "string", "minLength": 1}}],
            "requestBody": {"content": {
                "text/plain": {"schema": {"type": "string", "maxLength": 3, "pattern": "^[a-z]+$"}},
                "application/octet-stream": {"schema": {"type": "string", "minLength": 2}}
            }},
            "responses": {"200": {"description": "", "content": {
                "application/json": {"schema": {"type": "array", "items": {}, "maxItems": 2}},
                "text/csv": {"schema": {"type": "string", "pattern": "^b"}}
            }}}
        }}}}"#;
        let project = Project::default();
        let contract = project.understand(Sources::from_texts(&[("t.json", "", text)]).unwrap()).unwrap();
        let report = Report::of(&project, &contract, &|_| {});
        // Nobody looks into texts and bytes.
        let counts = |keyword: &str| {
            let by = &report.constraints[keyword];
            let passed = by.get(&How::Nothing).copied().unwrap_or(0);
            (by.values().sum::<usize>() - passed, passed, by.contains_key(&How::Type))
        };
        assert_eq!(counts("minLength"), (1, 1, false));
        assert_eq!(counts("maxLength"), (0, 1, false));
        assert_eq!(counts("pattern"), (0, 2, false));
        assert_eq!(counts("maxItems"), (1, 0, false));
        assert!(!report.constraints["type"].contains_key(&How::Nothing));
        let said = explain(&project, &contract, "t").unwrap()[0].text();
        assert!(
            said.contains("minLength 1") && said.contains("text/plain: String, body, optional"),
            "{said}"
        );
        for rule in ["minLength 2", "maxLength 3", "pattern"] {
            assert!(!said.contains(rule), "{rule}: {said}");
        }
    }
}
