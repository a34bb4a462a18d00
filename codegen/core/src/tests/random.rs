//! Tests of types and generated checks on random contracts, without a compiler.
//!
//! For each type of a contract and for many values, `is_valid` must agree with the validation tables and with
//! the `jsonschema` crate. The type must be able to hold every valid value. Half of the contracts use options
//! with assumptions; for these, the type must be able to hold every value that is valid under the
//! assumptions. Every value that was parsed must serialize to the same JSON. Under all options, no type may
//! contain itself without indirection, and no type may require more than its schemas.
//!
//! `RANDOM=4711` tests only contract 4711 and prints it. `RANDOMS=15000` tests ten times as many contracts as
//! the default.

#[path = "../../../tests/harness/random.rs"]
pub(crate) mod contracts;
#[path = "../../../tests/harness/split_mix.rs"]
mod split_mix;

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

/// The number of contracts to test.
const CONTRACT_COUNT: u64 = 1_500;
/// The numbers of contracts that exposed a defect, kept as regression tests.
///
/// 2968: A struct that is checked by the validation tables must reject a duplicate property.
const REGRESSIONS: [u64; 1] = [2_968];
/// The minimum number of schemas in all contracts together.
const MIN_SCHEMAS: u64 = 10_000;
/// The number of values to test for each type.
const VALUES_PER_TYPE: usize = 40;

/// Analyzes a document. Returns `None` if the document is rejected.
fn analyze(document: &contracts::Document, assumes: bool) -> Option<AnalyzedContract> {
    let mut config = Config::default();
    config.types.implied_objects = assumes;
    if !assumes {
        config.types.unbounded_integers = UnboundedIntegerType::Exact;
    }
    if let Some(operation) = &document.part {
        config.operations.include =
            vec![OperationSelector { operation: Some(operation.clone()), ..OperationSelector::default() }];
    }
    // Other validators would interpret a contract with faults differently.
    config.input.faults = FaultPolicy::Deny;
    let project = Project { config, ..Project::default() };
    let mut sources = Sources::from_texts(&[("input.json", "", &document.text)]).unwrap();
    sources.offer("meta.json", contracts::META_URI, contracts::META);
    project.analyze_sources(sources).ok()
}

/// Returns true if the contract is tested with assumptions, which is the case for half of the contracts.
const fn assumes(number: u64) -> bool {
    !number.is_multiple_of(2)
}

/// Tests the contract with the given number. Returns the number of comparisons and the number of schemas, or
/// a description of the defect.
fn test_contract(number: u64) -> Result<(u64, u64), String> {
    let document = contracts::document(number);
    let [without, with] = [false, true].map(|assumes| analyze(&document, assumes));
    [&without, &with].into_iter().flatten().try_for_each(check_structure)?;
    let Some(contract) = (if assumes(number) { with } else { without }) else { return Ok((0, 0)) };
    let arenas = TableArenas::default();
    let tables = contract.build_tables(&arenas);
    let scope = CheckScope::new(&contract.graph, &contract.shapes, &tables, contract.options.implied_objects);
    let checks = scope.build_checks();
    let tester = ContractTester {
        contract: &contract,
        evaluator: Evaluator { shapes: &contract.shapes, tables: &tables, checks: &checks },
        validators: build_validators(&document, &contract),
        assuming_validators: if assumes(number) {
            build_assuming_validators(&document, &contract)
        } else {
            BTreeMap::new()
        },
    };
    Ok((tester.test_all_types()?, contract.graph.schemas.len() as u64))
}

/// Checks the types of a contract without any values.
fn check_structure(contract: &AnalyzedContract) -> Result<(), String> {
    let AnalyzedContract { graph, shapes, options, .. } = contract;
    if let Some(id) = shapes.ids().find(|id| contained_types(shapes, *id).contains(id)) {
        return Err(format!("contains itself without indirection\u{0}{}", shapes.get(id).name));
    }
    match find_mismatches(graph, shapes, options.implied_objects).first() {
        Some(gap) => {
            Err(format!("requires more than its schemas\u{0}{}: {}", shapes.get(gap.id).name, gap.reason))
        }
        None => Ok(()),
    }
}

/// Returns the types that are parsed from the same JSON value as a type, through variants and wrappers.
fn contained_types(shapes: &Shapes, id: TypeId) -> BTreeSet<TypeId> {
    fn named_type(ty: &TypeRef) -> Option<TypeId> {
        match ty {
            TypeRef::Named(id) => Some(*id),
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => named_type(inner),
            _ => None,
        }
    }
    let mut reached_ids = BTreeSet::new();
    let mut waiting = vec![id];
    while let Some(next) = waiting.pop() {
        let inner_types: Vec<&TypeRef> = match &shapes.get(next).body {
            TypeBody::Objects(union) => union.contents().map(|(_, ty)| ty).collect(),
            TypeBody::ByKind(variants) => variants.iter().map(|variant| &variant.ty).collect(),
            TypeBody::Newtype(inner) => vec![inner],
            TypeBody::Struct(_) | TypeBody::Enum(_) | TypeBody::Pending => Vec::new(),
        };
        waiting.extend(
            inner_types.into_iter().filter_map(named_type).filter(|inner| reached_ids.insert(*inner)),
        );
    }
    reached_ids
}

/// Builds an independent validator for each definition that the analyzed contract contains.
fn build_validators(
    document: &contracts::Document,
    contract: &AnalyzedContract,
) -> BTreeMap<SchemaId, jsonschema::Validator> {
    let document_json: serde_json::Value = serde_json::from_str(&document.draft_2020_12).unwrap();
    let validator_for = |pointer: &String| {
        let location = pointer.strip_prefix('#').unwrap();
        let id = contract.graph.ids().find(|id| contract.graph.schema(*id).location == *location)?;
        Some((id, build_validator(document, &document_json, pointer)))
    };
    document.definitions.iter().filter_map(validator_for).collect()
}

fn build_validator(
    document: &contracts::Document,
    document_json: &serde_json::Value,
    pointer: &str,
) -> jsonschema::Validator {
    let mut schema = document_json.clone();
    schema["$ref"] = pointer.into();
    // The dialect is stated explicitly, because the validator would otherwise have to guess it.
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
    options.should_validate_formats(document.asserts).build(&schema).unwrap()
}

/// Builds an independent validator for each schema that has a type, from a copy of the document with two
/// additions that correspond to options of the generator: the `type` that other keywords imply, and the
/// bounds of `i64`.
fn build_assuming_validators(
    document: &contracts::Document,
    contract: &AnalyzedContract,
) -> BTreeMap<SchemaId, jsonschema::Validator> {
    let graph = &contract.graph;
    let mut document_json: serde_json::Value = serde_json::from_str(&document.text).unwrap();
    for id in graph.ids() {
        let types = |implied| {
            SchemaFacts::from_conjunction(graph, &SchemaConjunction::from_schema(id), implied).types
        };
        let serde_json::Value::Object(schema) =
            document_json.pointer_mut(&graph.schema(id).place.pointer).unwrap()
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
            let bounds = schema.entry("allOf").or_insert_with(|| serde_json::json!([]));
            bounds
                .as_array_mut()
                .unwrap()
                .push(serde_json::json!({"minimum": i64::MIN, "maximum": i64::MAX}));
        }
    }
    let ids = contract.shapes.types.iter().flat_map(|def| def.conj.ids.iter().copied());
    ids.map(|id| {
        (id, build_validator(document, &document_json, &format!("#{}", graph.schema(id).place.pointer)))
    })
    .collect()
}

struct ContractTester<'a> {
    contract: &'a AnalyzedContract,
    evaluator: Evaluator<'a>,
    validators: BTreeMap<SchemaId, jsonschema::Validator>,
    /// The validators that include the assumptions of the options. Types must be able to hold every value
    /// that these accept.
    assuming_validators: BTreeMap<SchemaId, jsonschema::Validator>,
}

impl ContractTester<'_> {
    fn test_all_types(&self) -> Result<u64, String> {
        let AnalyzedContract { shapes, .. } = self.contract;
        let samples: Vec<Vec<Json>> = shapes
            .types
            .iter()
            .map(|def| valid_samples(self.contract, self.evaluator.tables, def, SampleEffort::Quick))
            .collect();
        let mut pool: Vec<Json> =
            samples.iter().flat_map(|samples| samples.iter().take(4).cloned()).collect();
        pool.extend(odd_values());
        let mut comparisons = 0;
        for (id, own_samples) in shapes.ids().zip(&samples) {
            let mutated = own_samples.iter().take(6).flat_map(mutate_value);
            let values = own_samples.iter().cloned().chain(mutated).chain(pool.iter().cloned());
            for value in values.take(VALUES_PER_TYPE) {
                comparisons += 1;
                self.test_value(&TypeRef::Named(id), &value)
                    .map_err(|defect| format!("{defect}\u{0}{} of {value}", shapes.get(id).name))?;
            }
        }
        Ok(comparisons)
    }

    /// Tests one value with one type.
    fn test_value(&self, ty: &TypeRef, value: &Json) -> Result<(), String> {
        let (shapes, tables) = (&self.contract.shapes, self.evaluator.tables);
        let TypeRef::Named(id) = ty else { return Ok(()) };
        let def = shapes.get(*id);
        let within = def.conj.within.contains(type_of(value));
        let valid = within && def.conj.ids.iter().all(|id| tables.is_valid(*id, value));
        if let [one] = def.conj.ids.as_slice()
            && let Some(validator) = self.validators.get(one)
            && validator.is_valid(&value.to_value()) != valid
            && within
        {
            return Err(format!("is_valid of the tables is {valid}, jsonschema disagrees"));
        }
        let Some(typed) = typed_value::read_value(shapes, ty, value) else {
            let validators = def.conj.ids.iter().filter_map(|id| self.assuming_validators.get(id));
            let must_be_read = valid && validators.into_iter().all(|each| each.is_valid(&value.to_value()));
            return if must_be_read { Err("a valid value is not read".to_owned()) } else { Ok(()) };
        };
        let written = typed_value::write_value(shapes, &typed);
        if written != *value {
            return Err(format!("written back as a different value\u{0}{written}, "));
        }
        match self.evaluator.is_valid(&typed) {
            Err(error) => Err(format!("does not compile\u{0}{}, ", error.0)),
            Ok(found) if found == valid => self.test_duplicate_properties(&typed),
            Ok(found) => {
                let check = self.evaluator.checks.for_type(*id);
                Err(format!("is_valid is {found}, the tables disagree\u{0}{check:?}, "))
            }
        }
    }
}

impl ContractTester<'_> {
    /// Tests that a struct is invalid if its additional properties contain a declared property, because its
    /// serialized form could not be parsed again.
    fn test_duplicate_properties(&self, typed: &TypedValue) -> Result<(), String> {
        for duplicated in with_duplicate_property(&self.contract.shapes, typed) {
            match self.evaluator.is_valid(&duplicated) {
                Ok(false) => {}
                found => {
                    return Err(format!("a duplicate property is valid\u{0}{found:?} for {duplicated:?}, "));
                }
            }
        }
        Ok(())
    }
}

/// Returns copies of a value, each with a duplicate property in one of its structs.
fn with_duplicate_property(shapes: &Shapes, typed: &TypedValue) -> Vec<TypedValue> {
    let duplicate = |typed: &TypedValue| with_duplicate_property(shapes, typed);
    let duplicate_items = |list: &[TypedValue]| -> Vec<Vec<TypedValue>> {
        let each = list.iter().enumerate();
        each.flat_map(|(index, item)| {
            duplicate(item).into_iter().map(move |item| with_element(list, index, item))
        })
        .collect()
    };
    let boxed = |inner: &TypedValue| duplicate(inner).into_iter().map(Box::new);
    match typed {
        TypedValue::NonNull(inner) => boxed(inner).map(TypedValue::NonNull).collect(),
        TypedValue::Newtype(id, inner) => boxed(inner).map(|inner| TypedValue::Newtype(*id, inner)).collect(),
        TypedValue::Variant(id, index, inner) => {
            boxed(inner).map(|inner| TypedValue::Variant(*id, *index, inner)).collect()
        }
        TypedValue::Vec(items) => duplicate_items(items).into_iter().map(TypedValue::Vec).collect(),
        TypedValue::Tuple(items) => duplicate_items(items).into_iter().map(TypedValue::Tuple).collect(),
        TypedValue::Map(members) => {
            let each = members.iter().enumerate();
            let each = each.flat_map(|(index, (name, value))| {
                duplicate(value)
                    .into_iter()
                    .map(move |value| with_element(members, index, (name.clone(), value)))
            });
            each.map(TypedValue::Map).collect()
        }
        TypedValue::Struct(id, fields, rest) => {
            let in_fields = fields.iter().enumerate().flat_map(|(index, field)| {
                let values = field.iter().flat_map(duplicate);
                values.map(move |value| {
                    TypedValue::Struct(*id, with_element(fields, index, Some(value)), rest.clone())
                })
            });
            let in_rest = boxed(rest).map(|rest| TypedValue::Struct(*id, fields.clone(), rest));
            let in_struct =
                with_declared(shapes, *id, rest).map(|rest| TypedValue::Struct(*id, fields.clone(), rest));
            in_fields.chain(in_rest).chain(in_struct).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the additional properties of a struct together with a declared property, if a value of the
/// required type is known.
fn with_declared(shapes: &Shapes, id: TypeId, rest: &TypedValue) -> Option<Box<TypedValue>> {
    let (TypeBody::Struct(body), TypedValue::Map(rest)) = (&shapes.get(id).body, rest) else { return None };
    let value = rest.first().map(|(_, value)| value.clone());
    let value = value.or_else(|| body.additional.is_none().then_some(TypedValue::Json(Json::Null)))?;
    let declared = (body.fields.last()?.wire.clone(), value);
    Some(Box::new(TypedValue::Map(rest.iter().cloned().chain([declared]).collect())))
}

fn with_element<T: Clone>(list: &[T], index: usize, element: T) -> Vec<T> {
    let mut list = list.to_vec();
    list[index] = element;
    list
}

/// Returns one value of each JSON type, and objects with property names that the random contracts use.
fn odd_values() -> Vec<Json> {
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
fn mutate_value(value: &Json) -> Vec<Json> {
    let mut copies = Vec::new();
    match value {
        Json::Object(members) => {
            for name in members.keys() {
                let mut without: Map<Json> = members.clone();
                without.remove(name);
                copies.push(Json::Object(without));
                for replacement in
                    [Json::Null, Json::String("zz".to_owned()), Json::Number(Number::from_i64(4))]
                {
                    let mut changed = members.clone();
                    changed.insert(name.to_owned(), replacement);
                    copies.push(Json::Object(changed));
                }
            }
            for (name, replacement) in [("cc", Json::Bool(true)), ("type", Json::String("x".to_owned()))] {
                let mut extended = members.clone();
                extended.insert(name.to_owned(), replacement);
                copies.push(Json::Object(extended));
            }
        }
        Json::Array(items) => {
            let duplicated = items.iter().chain(items.first()).cloned().collect();
            copies.push(Json::Array(duplicated));
        }
        _ => {}
    }
    copies
}

fn env_number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|number| number.parse().unwrap())
}

/// The defects by description. Each entry contains the smallest contract with the defect.
type Defects = BTreeMap<String, (usize, u64, String, usize)>;

#[test]
fn types_and_checks_agree_with_the_schemas() {
    let start = Instant::now();
    let numbers: Vec<u64> = match env_number("RANDOM") {
        Some(number) => {
            eprintln!("{}", contracts::document(number).text);
            vec![number]
        }
        None => (0..env_number("RANDOMS").unwrap_or(CONTRACT_COUNT)).chain(REGRESSIONS).collect(),
    };
    let tried = numbers.len() as u64;
    let next = AtomicUsize::new(0);
    let [comparisons, analyzed, schemas] = [const { AtomicU64::new(0) }; 3];
    let defects = Mutex::new(Defects::new());
    let work = || {
        loop {
            let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let result = catch_unwind(AssertUnwindSafe(|| test_contract(number))).unwrap_or_else(|panic| {
                let message = panic.downcast_ref::<String>().cloned();
                Err(format!("panic: {}", message.unwrap_or_default()))
            });
            match result {
                Ok((0, _)) => {}
                Ok((count, schema_count)) => {
                    analyzed.fetch_add(1, Ordering::Relaxed);
                    comparisons.fetch_add(count, Ordering::Relaxed);
                    schemas.fetch_add(schema_count, Ordering::Relaxed);
                }
                Err(defect) => {
                    let (kind, detail) = defect.split_once('\u{0}').unwrap_or((&defect, ""));
                    let size = contracts::document(number).text.len();
                    let mut defects = defects.lock().unwrap();
                    let entry =
                        defects.entry(kind.to_owned()).or_insert_with(|| (usize::MAX, 0, String::new(), 0));
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
    let [comparisons, analyzed, schemas] = [comparisons, analyzed, schemas].map(AtomicU64::into_inner);
    let elapsed = start.elapsed();
    eprintln!(
        "{comparisons} comparisons for {schemas} schemas of {analyzed} of {tried} contracts in {elapsed:?}"
    );
    let list: Vec<String> = defects
        .into_inner()
        .unwrap()
        .into_iter()
        .map(|(kind, (_, number, detail, count))| {
            format!(
                "{count} failures: {kind}\n    {detail}\n    RANDOM={number}\n    {}",
                contracts::document(number).text
            )
        })
        .collect();
    assert!(list.is_empty(), "{} kinds of failures:\n{}", list.len(), list.join("\n"));
    assert!(tried == 1 || analyzed > tried / 2, "{analyzed} of {tried} contracts were analyzed");
    assert!(tried < CONTRACT_COUNT || schemas >= MIN_SCHEMAS, "only {schemas} schemas were tested");
    assert!(tried == 1 || comparisons > 20 * tried, "only {comparisons} comparisons were made");
}
