//! Types and written checks on random contracts, found out without a compiler.
//!
//! For every type of a contract and many values: what `is_valid` says is what the tables say,
//! and what the `jsonschema` crate says. Every valid value can be read; where the options
//! assume something, which is in half of the contracts, every value that is valid under that too.
//! Whatever is read is written back equal. Whatever the options assume, no type has to be read
//! before itself, and none demands more than its schemas.
//! `RANDOM=4711` asks about one contract and prints it, `RANDOMS=15000`
//! asks about ten times as many.

#[path = "../../tests/harness/random.rs"]
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
    checks::{Scope, evaluate::Evaluator},
    config::{Config, Selection, UnboundedIntegers},
    diagnostics::Faults,
    generate::Project,
    held::{self, Held},
    load::Sources,
    proof::{samples, structure::mismatches},
    reading::Reading,
    schema::{SchemaId, Types},
    shape::{Body, Shapes, TypeId, TypeRef},
    tables::Shelves,
    together::{Conj, Facts, sample::Effort, type_of},
};

/// How many contracts are asked about.
const WANTED: u64 = 1_500;
/// Contracts behind those that found something.
///
/// 2968: a struct whose check is left to the tables refuses a member twice like any other.
const FOUND: [u64; 1] = [2_968];
/// How many schemas they have at least, all together.
const SCHEMAS: u64 = 10_000;
/// How many values are tried for each type.
const VALUES: usize = 40;

/// A document, understood; `None` where it is refused.
fn understood(document: &contracts::Document, assumes: bool) -> Option<Reading> {
    let mut config = Config::default();
    config.types.implied_objects = assumes;
    if !assumes {
        config.types.unbounded_integers = UnboundedIntegers::Exact;
    }
    if let Some(operation) = &document.part {
        config.operations.include =
            vec![Selection { operation: Some(operation.clone()), ..Selection::default() }];
    }
    // What is mended means something else to others.
    config.input.faults = Faults::Deny;
    let project = Project { config, ..Project::default() };
    let mut sources = Sources::from_texts(&[("input.json", "", &document.text)]).unwrap();
    sources.offer("meta.json", contracts::META_URI, contracts::META);
    project.understand(sources).ok()
}

/// Whether the options assume something of a contract: half of them do.
const fn assumes(number: u64) -> bool {
    !number.is_multiple_of(2)
}

/// Everything that is wrong about the contract of a number; how many questions were asked about how
/// many schemas.
fn ask(number: u64) -> Result<(u64, u64), String> {
    let document = contracts::document(number);
    let [without, with] = [false, true].map(|assumes| understood(&document, assumes));
    [&without, &with].into_iter().flatten().try_for_each(structure)?;
    let Some(contract) = (if assumes(number) { with } else { without }) else { return Ok((0, 0)) };
    let shelves = Shelves::default();
    let tables = contract.tables(&shelves);
    let scope = Scope::new(&contract.graph, &contract.shapes, &tables, contract.options.implied_objects);
    let checks = scope.checks();
    let asker = Asker {
        contract: &contract,
        evaluator: Evaluator { shapes: &contract.shapes, tables: &tables, checks: &checks },
        judges: judges(&document, &contract),
        assumed: if assumes(number) { assumed(&document, &contract) } else { BTreeMap::new() },
    };
    Ok((asker.ask()?, contract.graph.schemas.len() as u64))
}

/// What the types alone say, without a value.
fn structure(contract: &Reading) -> Result<(), String> {
    let Reading { graph, shapes, options, .. } = contract;
    if let Some(id) = shapes.ids().find(|id| reached(shapes, *id).contains(id)) {
        return Err(format!("read before itself\u{0}{}", shapes.get(id).name));
    }
    match mismatches(graph, shapes, options.implied_objects).first() {
        Some(gap) => {
            Err(format!("demands more than its schemas\u{0}{}: {}", shapes.get(gap.id).name, gap.what))
        }
        None => Ok(()),
    }
}

/// The types that are read at the very value at which a type is: through variants and wrappers.
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
            Body::Tagged(union) => union.variants.iter().map(|variant| &variant.ty).collect(),
            Body::ByKind(variants) => variants.iter().map(|variant| &variant.ty).collect(),
            Body::Newtype(inner) => vec![inner],
            Body::Struct(_) | Body::Enum(_) | Body::Pending => Vec::new(),
        };
        waiting.extend(inside.into_iter().filter_map(bare).filter(|inner| seen.insert(*inner)));
    }
    seen
}

/// The independent judge of each definition that is left.
fn judges(document: &contracts::Document, contract: &Reading) -> BTreeMap<SchemaId, jsonschema::Validator> {
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
    // The dialect is said in its words here.
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
    options.should_validate_formats(document.asserts).build(&schema).unwrap()
}

/// The judge of each schema that has a type, once everything stands in the document that the options
/// assume of it: the types that keywords imply, and the bounds of an `i64`.
fn assumed(document: &contracts::Document, contract: &Reading) -> BTreeMap<SchemaId, jsonschema::Validator> {
    let graph = &contract.graph;
    let mut whole: serde_json::Value = serde_json::from_str(&document.text).unwrap();
    for id in graph.ids() {
        let types = |implied| Facts::of(graph, &Conj::one(id), implied).types;
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
                schema.insert("type".to_owned(), implied.names().into());
            }
        }
        if types(true).contains(Types::INTEGER) && !types(true).contains(Types::NUMBER) {
            let all = schema.entry("allOf").or_insert_with(|| serde_json::json!([]));
            all.as_array_mut().unwrap().push(serde_json::json!({"minimum": i64::MIN, "maximum": i64::MAX}));
        }
    }
    let ids = contract.shapes.types.iter().flat_map(|def| def.conj.ids.iter().copied());
    ids.map(|id| (id, judge(document, &whole, &format!("#{}", graph.schema(id).place.pointer)))).collect()
}

struct Asker<'a> {
    contract: &'a Reading,
    evaluator: Evaluator<'a>,
    judges: BTreeMap<SchemaId, jsonschema::Validator>,
    /// Where the options assume something: what is valid under that too has to be held.
    assumed: BTreeMap<SchemaId, jsonschema::Validator>,
}

impl Asker<'_> {
    fn ask(&self) -> Result<u64, String> {
        let Reading { shapes, .. } = self.contract;
        let samples: Vec<Vec<Json>> = shapes
            .types
            .iter()
            .map(|def| samples(self.contract, self.evaluator.tables, def, Effort::Quick))
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

    /// One value for one type.
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
        let Some(held) = held::read(shapes, ty, value) else {
            let assumed = def.conj.ids.iter().filter_map(|id| self.assumed.get(id));
            let due = valid && assumed.into_iter().all(|judge| judge.is_valid(&value.to_value()));
            return if due { Err("valid, and not read".to_owned()) } else { Ok(()) };
        };
        let written = held::write(shapes, &held);
        if written != *value {
            return Err(format!("written back as something else\u{0}{written}, "));
        }
        match self.evaluator.is_valid(&held) {
            Err(wrong) => Err(format!("does not compile\u{0}{}, ", wrong.0)),
            Ok(found) if found == valid => self.twice(&held),
            Ok(found) => {
                let check = self.evaluator.checks.of(*id);
                Err(format!("is_valid says {found}, the tables do not\u{0}{check:?}, "))
            }
        }
    }
}

impl Asker<'_> {
    /// The other members of any struct may be given what it declares: then the whole is not valid,
    /// since nobody could read what it is written as.
    fn twice(&self, held: &Held) -> Result<(), String> {
        for twice in twice(&self.contract.shapes, held) {
            match self.evaluator.is_valid(&twice) {
                Ok(false) => {}
                found => return Err(format!("a member twice\u{0}{found:?} for {twice:?}, ")),
            }
        }
        Ok(())
    }
}

/// A value with a member twice, in each of the structs that it holds.
fn twice(shapes: &Shapes, held: &Held) -> Vec<Held> {
    let again = |held: &Held| twice(shapes, held);
    let items = |all: &[Held]| -> Vec<Vec<Held>> {
        let each = all.iter().enumerate();
        each.flat_map(|(at, item)| again(item).into_iter().map(move |item| replaced(all, at, item))).collect()
    };
    let boxed = |inner: &Held| again(inner).into_iter().map(Box::new);
    match held {
        Held::Value(inner) => boxed(inner).map(Held::Value).collect(),
        Held::New(id, inner) => boxed(inner).map(|inner| Held::New(*id, inner)).collect(),
        Held::Variant(id, at, inner) => boxed(inner).map(|inner| Held::Variant(*id, *at, inner)).collect(),
        Held::Vec(all) => items(all).into_iter().map(Held::Vec).collect(),
        Held::Tuple(all) => items(all).into_iter().map(Held::Tuple).collect(),
        Held::Map(members) => {
            let each = members.iter().enumerate();
            let each = each.flat_map(|(at, (name, value))| {
                again(value).into_iter().map(move |value| replaced(members, at, (name.clone(), value)))
            });
            each.map(Held::Map).collect()
        }
        Held::Struct(id, fields, rest) => {
            let inside = fields.iter().enumerate().flat_map(|(at, field)| {
                let values = field.iter().flat_map(again);
                values.map(move |value| Held::Struct(*id, replaced(fields, at, Some(value)), rest.clone()))
            });
            let beside = boxed(rest).map(|rest| Held::Struct(*id, fields.clone(), rest));
            let own = with_declared(shapes, *id, rest).map(|rest| Held::Struct(*id, fields.clone(), rest));
            inside.chain(beside).chain(own).collect()
        }
        _ => Vec::new(),
    }
}

/// The other members of a struct with one that it declares, where their type is known to have a
/// value.
fn with_declared(shapes: &Shapes, id: TypeId, rest: &Held) -> Option<Box<Held>> {
    let (Body::Struct(body), Held::Map(rest)) = (&shapes.get(id).body, rest) else { return None };
    let other = rest.first().map(|(_, value)| value.clone());
    let other = other.or_else(|| body.additional.is_none().then_some(Held::Json(Json::Null)))?;
    let declared = (body.fields.last()?.wire.clone(), other);
    Some(Box::new(Held::Map(rest.iter().cloned().chain([declared]).collect())))
}

fn replaced<T: Clone>(all: &[T], at: usize, one: T) -> Vec<T> {
    let mut all = all.to_vec();
    all[at] = one;
    all
}

/// One value of each JSON type, and objects with the members that contracts speak of.
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

/// A value with something missing, changed, or too much.
fn spoil(value: &Json) -> Vec<Json> {
    let mut out = Vec::new();
    match value {
        Json::Object(members) => {
            for name in members.keys() {
                let mut less: Map<Json> = members.clone();
                less.remove(name);
                out.push(Json::Object(less));
                for other in [Json::Null, Json::String("zz".to_owned()), Json::Number(Number::int(4))] {
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

/// Complaints by what they are, with the smallest contract of each.
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
