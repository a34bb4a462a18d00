//! Tests of types and generated checks on random contracts, without a compiler.
//!
//! For each type of a contract and many values, `is_valid` agrees with the validation tables and with the
//! `jsonschema` crate. Every valid value can be read. Half of the contracts use options with assumptions;
//! there, every value that is valid under the assumptions can be read. Every value that was read is written
//! back equal. Under all options, no type contains itself without indirection, and no type requires more than
//! its schemas.
//!
//! `RANDOM=4711` tests one contract and prints it. `RANDOMS=15000` tests ten times as many contracts.

#[path = "../../../tests/harness/random.rs"]
pub(crate) mod contracts;

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use contract_runtime::{Json, Map, Number};

use crate::{
    analyzed_contract::AnalyzedContract,
    checks::{CheckScope, evaluate::Evaluator},
    config::{Config, OperationSelector, UnboundedIntegerType},
    conjunction::{SchemaConjunction, SchemaFacts, sample::SampleEffort, type_of},
    diagnostics::FaultPolicy,
    generate::Project,
    load::Sources,
    proof::{structure::find_mismatches, valid_samples},
    schema::{SchemaId, TypeSet},
    shape::{Shapes, TypeBody, TypeId, TypeRef},
    tables::TableArenas,
    typed_value::{self, TypedValue},
};

/// Number of contracts to test.
const WANTED: u64 = 1_500;
/// Contracts that exposed a defect, kept as regression tests.
///
/// 2968: a struct that is checked by the tables must reject a duplicate property.
const FOUND: [u64; 1] = [2_968];
/// Minimum number of schemas in all contracts together.
const SCHEMAS: u64 = 10_000;
/// Number of values to test for each type.
const VALUES: usize = 40;

/// Analyzes a document; returns `None` if it is rejected.
fn understood(document: &contracts::Document, assumes: bool) -> Option<AnalyzedContract> {
    let mut config = Config::default();
    config.types.implied_objects = assumes;
    if !assumes {
        config.types.unbounded_integers = UnboundedIntegerType::Exact;
    }
    if let Some(operation) = &document.part {
        config.operations.include =
            vec![OperationSelector { operation: Some(operation.clone()), ..OperationSelector::default() }];
    }
    // Other validators interpret a repaired contract differently.
    config.input.faults = FaultPolicy::Deny;
    let project = Project { config, ..Project::default() };
    let mut sources = Sources::from_texts(&[("input.json", "", &document.text)]).unwrap();
    sources.offer("meta.json", contracts::META_URI, contracts::META);
    project.analyze_sources(sources).ok()
}

/// Returns true if the contract is tested with assumptions, as half of the contracts are.
const fn assumes(number: u64) -> bool {
    !number.is_multiple_of(2)
}

/// Tests the contract with the given number. Returns the number of comparisons and of schemas, or a
/// description of the defect.
fn ask(number: u64) -> Result<(u64, u64), String> {
    let document = contracts::document(number);
    let [without, with] = [false, true].map(|assumes| understood(&document, assumes));
    [&without, &with].into_iter().flatten().try_for_each(structure)?;
    let Some(contract) = (if assumes(number) { with } else { without }) else { return Ok((0, 0)) };
    let arenas = TableArenas::default();
    let tables = contract.build_tables(&arenas);
    let scope = CheckScope::new(&contract.graph, &contract.shapes, &tables, contract.options.implied_objects);
    let checks = scope.build_checks();
    let asker = Asker {
        contract: &contract,
        evaluator: Evaluator { shapes: &contract.shapes, tables: &tables, checks: &checks },
        judges: judges(&document, &contract),
        assumed: if assumes(number) { assumed(&document, &contract) } else { BTreeMap::new() },
    };
    Ok((asker.ask()?, contract.graph.schemas.len() as u64))
}

/// Checks the types of a contract without values.
fn structure(contract: &AnalyzedContract) -> Result<(), String> {
    let AnalyzedContract { graph, shapes, options, .. } = contract;
    if let Some(id) = shapes.ids().find(|id| reached(shapes, *id).contains(id)) {
        return Err(format!("read before itself\u{0}{}", shapes.get(id).name));
    }
    match find_mismatches(graph, shapes, options.implied_objects).first() {
        Some(gap) => {
            Err(format!("demands more than its schemas\u{0}{}: {}", shapes.get(gap.id).name, gap.reason))
        }
        None => Ok(()),
    }
}

/// Returns the types that are read from the same JSON value as a type, through variants and wrappers.
fn reached(shapes: &Shapes, id: TypeId) -> BTreeSet<TypeId> {
    fn bare(ty: &TypeRef) -> Option<TypeId> {
        match ty {
            TypeRef::Named(id) => Some(*id),
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => bare(inner),
            _ => None,
        }
    }
    let mut seen = BTreeSet::new();
    let mut waiting = vec![id];
    while let Some(next) = waiting.pop() {
        let inside: Vec<&TypeRef> = match &shapes.get(next).body {
            TypeBody::Objects(union) => union.variants.iter().map(|variant| &variant.ty).collect(),
            TypeBody::ByKind(variants) => variants.iter().map(|variant| &variant.ty).collect(),
            TypeBody::Newtype(inner) => vec![inner],
            TypeBody::Struct(_) | TypeBody::Enum(_) | TypeBody::Pending => Vec::new(),
        };
        waiting.extend(inside.into_iter().filter_map(bare).filter(|inner| seen.insert(*inner)));
    }
    seen
}

/// Builds an independent validator for each remaining definition.
fn judges(
    document: &contracts::Document,
    contract: &AnalyzedContract,
) -> BTreeMap<SchemaId, jsonschema::Validator> {
    let whole: serde_json::Value = serde_json::from_str(&document.judged).unwrap();
    let own = |pointer: &String| {
        let location = pointer.strip_prefix('#').unwrap();
        let id = contract.graph.ids().find(|id| contract.graph.schema(*id).location == *location)?;
        Some((id, judge(document, &whole, pointer)))
    };
    document.definitions.iter().filter_map(own).collect()
}

fn judge(document: &contracts::Document, whole: &serde_json::Value, pointer: &str) -> jsonschema::Validator {
    let mut schema = whole.clone();
    schema["$ref"] = pointer.into();
    // Make the dialect explicit for the validator.
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
    options.should_validate_formats(document.asserts).build(&schema).unwrap()
}

/// Builds an independent validator for each schema that has a type. The assumptions of the options are
/// written into the document: the types implied by keywords, and the bounds of `i64`.
fn assumed(
    document: &contracts::Document,
    contract: &AnalyzedContract,
) -> BTreeMap<SchemaId, jsonschema::Validator> {
    let graph = &contract.graph;
    let mut whole: serde_json::Value = serde_json::from_str(&document.text).unwrap();
    for id in graph.ids() {
        let types = |implied| {
            SchemaFacts::from_conjunction(graph, &SchemaConjunction::from_schema(id), implied).types
        };
        let serde_json::Value::Object(schema) = whole.pointer_mut(&graph.schema(id).place.pointer).unwrap()
        else {
            continue;
        };
        match types(true) {
            implied if implied == types(false) => {}
            none if none.is_empty() => {
                schema.insert("not".to_owned(), true.into());
            }
            implied => {
                schema.insert("type".to_owned(), implied.type_names().into());
            }
        }
        if types(true).contains(TypeSet::INTEGER) && !types(true).contains(TypeSet::NUMBER) {
            let all = schema.entry("allOf").or_insert_with(|| serde_json::json!([]));
            all.as_array_mut().unwrap().push(serde_json::json!({"minimum": i64::MIN, "maximum": i64::MAX}));
        }
    }
    let ids = contract.shapes.types.iter().flat_map(|def| def.conj.ids.iter().copied());
    ids.map(|id| (id, judge(document, &whole, &format!("#{}", graph.schema(id).place.pointer)))).collect()
}

struct Asker<'a> {
    contract: &'a AnalyzedContract,
    evaluator: Evaluator<'a>,
    judges: BTreeMap<SchemaId, jsonschema::Validator>,
    /// Validators that include the assumptions of the options. Values valid under these must be
    /// representable.
    assumed: BTreeMap<SchemaId, jsonschema::Validator>,
}

impl Asker<'_> {
    fn ask(&self) -> Result<u64, String> {
        let AnalyzedContract { shapes, .. } = self.contract;
        let samples: Vec<Vec<Json>> = shapes
            .types
            .iter()
            .map(|def| valid_samples(self.contract, self.evaluator.tables, def, SampleEffort::Quick))
            .collect();
        let mut pool: Vec<Json> = samples.iter().flat_map(|all| all.iter().take(4).cloned()).collect();
        pool.extend(odd());
        let mut asked = 0;
        for (id, own) in shapes.ids().zip(&samples) {
            let spoilt = own.iter().take(6).flat_map(spoil);
            let values = own.iter().cloned().chain(spoilt).chain(pool.iter().cloned());
            for value in values.take(VALUES) {
                asked += 1;
                self.value(&TypeRef::Named(id), &value)
                    .map_err(|what| format!("{what}\u{0}{} of {value}", shapes.get(id).name))?;
            }
        }
        Ok(asked)
    }

    /// Tests one value against one type.
    fn value(&self, ty: &TypeRef, value: &Json) -> Result<(), String> {
        let (shapes, tables) = (&self.contract.shapes, self.evaluator.tables);
        let TypeRef::Named(id) = ty else { return Ok(()) };
        let def = shapes.get(*id);
        let within = def.conj.within.contains(type_of(value));
        let valid = within && def.conj.ids.iter().all(|id| tables.is_valid(*id, value));
        if let [one] = def.conj.ids.as_slice()
            && let Some(judge) = self.judges.get(one)
            && judge.is_valid(&value.to_value()) != valid
            && within
        {
            return Err(format!("the tables say {valid}, jsonschema does not"));
        }
        let Some(held) = typed_value::read_value(shapes, ty, value) else {
            let assumed = def.conj.ids.iter().filter_map(|id| self.assumed.get(id));
            let due = valid && assumed.into_iter().all(|judge| judge.is_valid(&value.to_value()));
            return if due { Err("valid, and not read".to_owned()) } else { Ok(()) };
        };
        let written = typed_value::write_value(shapes, &held);
        if written != *value {
            return Err(format!("written back as something else\u{0}{written}, "));
        }
        match self.evaluator.is_valid(&held) {
            Err(wrong) => Err(format!("does not compile\u{0}{}, ", wrong.0)),
            Ok(found) if found == valid => self.twice(&held),
            Ok(found) => {
                let check = self.evaluator.checks.for_type(*id);
                Err(format!("is_valid says {found}, the tables do not\u{0}{check:?}, "))
            }
        }
    }
}

impl Asker<'_> {
    /// Tests that a struct is invalid if its additional properties repeat a declared property, because the
    /// serialized form could not be read back.
    fn twice(&self, held: &TypedValue) -> Result<(), String> {
        for twice in twice(&self.contract.shapes, held) {
            match self.evaluator.is_valid(&twice) {
                Ok(false) => {}
                found => return Err(format!("a member twice\u{0}{found:?} for {twice:?}, ")),
            }
        }
        Ok(())
    }
}

/// Returns copies of a value, each with a duplicate property in one of its structs.
fn twice(shapes: &Shapes, held: &TypedValue) -> Vec<TypedValue> {
    let again = |held: &TypedValue| twice(shapes, held);
    let items = |all: &[TypedValue]| -> Vec<Vec<TypedValue>> {
        let each = all.iter().enumerate();
        each.flat_map(|(at, item)| again(item).into_iter().map(move |item| replaced(all, at, item))).collect()
    };
    let boxed = |inner: &TypedValue| again(inner).into_iter().map(Box::new);
    match held {
        TypedValue::NonNull(inner) => boxed(inner).map(TypedValue::NonNull).collect(),
        TypedValue::Newtype(id, inner) => boxed(inner).map(|inner| TypedValue::Newtype(*id, inner)).collect(),
        TypedValue::Variant(id, at, inner) => {
            boxed(inner).map(|inner| TypedValue::Variant(*id, *at, inner)).collect()
        }
        TypedValue::Vec(all) => items(all).into_iter().map(TypedValue::Vec).collect(),
        TypedValue::Tuple(all) => items(all).into_iter().map(TypedValue::Tuple).collect(),
        TypedValue::Map(members) => {
            let each = members.iter().enumerate();
            let each = each.flat_map(|(at, (name, value))| {
                again(value).into_iter().map(move |value| replaced(members, at, (name.clone(), value)))
            });
            each.map(TypedValue::Map).collect()
        }
        TypedValue::Struct(id, fields, rest) => {
            let inside = fields.iter().enumerate().flat_map(|(at, field)| {
                let values = field.iter().flat_map(again);
                values.map(move |value| {
                    TypedValue::Struct(*id, replaced(fields, at, Some(value)), rest.clone())
                })
            });
            let beside = boxed(rest).map(|rest| TypedValue::Struct(*id, fields.clone(), rest));
            let own =
                with_declared(shapes, *id, rest).map(|rest| TypedValue::Struct(*id, fields.clone(), rest));
            inside.chain(beside).chain(own).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the additional properties of a struct with a declared property added, if a value of their type is
/// known.
fn with_declared(shapes: &Shapes, id: TypeId, rest: &TypedValue) -> Option<Box<TypedValue>> {
    let (TypeBody::Struct(body), TypedValue::Map(rest)) = (&shapes.get(id).body, rest) else { return None };
    let other = rest.first().map(|(_, value)| value.clone());
    let other = other.or_else(|| body.additional.is_none().then_some(TypedValue::Json(Json::Null)))?;
    let declared = (body.fields.last()?.wire.clone(), other);
    Some(Box::new(TypedValue::Map(rest.iter().cloned().chain([declared]).collect())))
}

fn replaced<T: Clone>(all: &[T], at: usize, one: T) -> Vec<T> {
    let mut all = all.to_vec();
    all[at] = one;
    all
}

/// Returns one value of each JSON type, and objects with the property names that the random contracts use.
fn odd() -> Vec<Json> {
    let texts = [
        "null",
        "true",
        "0",
        "12",
        "13",
        "2.5",
        "20000000000000000000",
        "\"\"",
        "\"x\"",
        "\"abc\"",
        "\"127.0.0.1\"",
        "\"2024-02-30\"",
        "\"a@b.example\"",
        "[]",
        "[\"x\",\"x\"]",
        "{}",
        "{\"kind\":\"x\"}",
        "{\"kind\":\"y\",\"a\":1}",
        "{\"kind\":\"zz\",\"b\":\"x\"}",
        "{\"type\":1,\"c\":\"x\"}",
        "{\"kind\":1}",
        "{\"other\":\"x\"}",
    ];
    texts.iter().map(|text| Json::parse(text.as_bytes()).unwrap()).collect()
}

/// Returns copies of a value, each with a part removed, changed or added.
fn spoil(value: &Json) -> Vec<Json> {
    let mut out = Vec::new();
    match value {
        Json::Object(members) => {
            for name in members.keys() {
                let mut less: Map<Json> = members.clone();
                less.remove(name);
                out.push(Json::Object(less));
                for other in [Json::Null, Json::String("zz".to_owned()), Json::Number(Number::from_i64(4))] {
                    let mut changed = members.clone();
                    changed.insert(name.to_owned(), other);
                    out.push(Json::Object(changed));
                }
            }
            for (name, other) in [("cc", Json::Bool(true)), ("type", Json::String("x".to_owned()))] {
                let mut more = members.clone();
                more.insert(name.to_owned(), other);
                out.push(Json::Object(more));
            }
        }
        Json::Array(items) => {
            let twice = items.iter().chain(items.first()).cloned().collect();
            out.push(Json::Array(twice));
        }
        _ => {}
    }
    out
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|number| number.parse().unwrap())
}

/// Defects by description, each with its smallest contract.
type Complaints = BTreeMap<String, (usize, u64, String, usize)>;

#[test]
fn types_and_checks_say_what_the_schemas_say() {
    let start = Instant::now();
    let numbers: Vec<u64> = match variable("RANDOM") {
        Some(number) => {
            eprintln!("{}", contracts::document(number).text);
            vec![number]
        }
        None => (0..variable("RANDOMS").unwrap_or(WANTED)).chain(FOUND).collect(),
    };
    let tried = numbers.len() as u64;
    let next = AtomicUsize::new(0);
    let [asked, understood, schemas] = [const { AtomicU64::new(0) }; 3];
    let complaints = Mutex::new(Complaints::new());
    let work = || {
        loop {
            let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let found = catch_unwind(AssertUnwindSafe(|| ask(number))).unwrap_or_else(|panic| {
                let message = panic.downcast_ref::<String>().cloned();
                Err(format!("panic: {}", message.unwrap_or_default()))
            });
            match found {
                Ok((0, _)) => {}
                Ok((questions, about)) => {
                    understood.fetch_add(1, Ordering::Relaxed);
                    asked.fetch_add(questions, Ordering::Relaxed);
                    schemas.fetch_add(about, Ordering::Relaxed);
                }
                Err(complaint) => {
                    let (what, detail) = complaint.split_once('\u{0}').unwrap_or((&complaint, ""));
                    let size = contracts::document(number).text.len();
                    let mut complaints = complaints.lock().unwrap();
                    let entry = complaints
                        .entry(what.to_owned())
                        .or_insert_with(|| (usize::MAX, 0, String::new(), 0));
                    entry.3 += 1;
                    if size < entry.0 {
                        (entry.0, entry.1, entry.2) = (size, number, detail.replace('\u{0}', ""));
                    }
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            thread::Builder::new().stack_size(16 << 20).spawn_scoped(scope, work).unwrap();
        }
    });
    let [asked, understood, schemas] = [asked, understood, schemas].map(AtomicU64::into_inner);
    let elapsed = start.elapsed();
    eprintln!(
        "{asked} questions about {schemas} schemas of {understood} of {tried} contracts in {elapsed:?}"
    );
    let list: Vec<String> = complaints
        .into_inner()
        .unwrap()
        .into_iter()
        .map(|(what, (_, number, detail, count))| {
            format!(
                "{count} times: {what}\n    {detail}\n    RANDOM={number}\n    {}",
                contracts::document(number).text
            )
        })
        .collect();
    assert!(list.is_empty(), "{} kinds of failure\n{}", list.len(), list.join("\n"));
    assert!(tried == 1 || understood > tried / 2, "{understood} of {tried} contracts were understood");
    assert!(tried < WANTED || schemas >= SCHEMAS, "only {schemas} schemas were asked about");
    assert!(tried == 1 || asked > 20 * tried, "only {asked} questions were asked");
}
