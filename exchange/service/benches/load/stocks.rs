//! Benchmarks of stock and org stock: pages, large change sets, a pool with many readers, and the memory of
//! the service during a long read.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use exchange_service::catalogue::contents::{CatalogueContents, EntryKind, NewEntry};
use exchange_service::feed::ChangeAuthor;
use exchange_service::ids::UnitId;
use exchange_service::members::UnitRole;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::data_folder::{DataFolder, MEMBERS, member};
use crate::http_connection::HttpConnection;
use crate::report::{Goal, Report, millis};
use crate::server::Server;
use crate::signed_requests::{LOTS, Signer, Target};
use crate::{Options, Outcome, load_generators, reads};

/// The number of lots of a member, and of ops in a large change set.
const LOTS_PER_MEMBER: usize = 500;
/// The number of lots in the pool.
const POOL: usize = 5000;
/// The number of concurrent readers of the pool.
const READERS: usize = 40;
/// The number of rows of a member with a very large stock.
const LARGE_STOCK_ROWS: usize = 200_000;
/// The number of materials.
const MATERIALS: usize = 100;
/// The unit to which the sandbox's members for load tests belong.
const UNIT: &str = "unit-squadron";
const STOCK_CHANGES: &str = "/exchange/v1/me/stock/changes";
const POOL_CHANGES: &str = "/exchange/v1/org-stock/changes";
/// The number of change sets for warming up, and the maximum number for the measurement.
const WARM_UP_SETS: usize = 32;
const SETS: usize = 3000;
/// The goal for the 99th percentile of change sets with 500 ops, in milliseconds.
const MAX_P99_MILLIS: f64 = 15.0;
/// The maximum factor by which memory may grow between the first and the last rows.
const MAX_MEMORY_GROWTH: f64 = 1.1;

/// Adds the materials to the catalogue.
pub(crate) fn add_materials(contents: &mut CatalogueContents) {
    contents.entries.extend((0..MATERIALS).map(|number| {
        let name = format!("Load Metal {number:03}");
        let entry = NewEntry::new(EntryKind::Material, material(number), name);
        NewEntry { facts: json!({ "unit": "SCU", "type": "REFINED", "refined": true }), ..entry }
    }));
}

fn material(number: usize) -> String {
    format!("material-load-{number:03}")
}

/// Returns the properties of the lot with this number; there are 200,000 different lots.
fn lot(number: usize) -> Value {
    let data_folder =
        if (number / 1000).is_multiple_of(2) { ("CITY", 990_001) } else { ("SPACE_STATION", 990_002) };
    json!({
        "material": { "bt": material(number / 2000 % MATERIALS) },
        "location": { "uex": { "kind": data_folder.0, "id": data_folder.1 } },
        "quality": number % 1000,
        "stolen": false,
    })
}

/// Builds a change set with one op per lot.
fn set(lots: std::ops::Range<usize>, op: &Value) -> Value {
    let of = |number| {
        let mut one = lot(number);
        if let (Some(one), Some(op)) = (one.as_object_mut(), op.as_object()) {
            one.extend(op.clone());
        }
        one
    };
    json!({ "ops": lots.map(of).collect::<Vec<_>>() })
}

fn set_quantity(before: u32, after: u32) -> Value {
    let scu = |amount: u32| json!({ "amount": amount, "unit": "SCU" });
    json!({ "op": "set-quantity", "expectedQuantity": scu(before), "quantity": scu(after) })
}

fn book_in(holder: &str, amount: f64) -> Value {
    let quantity = json!({ "amount": amount, "unit": "SCU" });
    json!({ "op": "book-in", "unit": UNIT, "holder": holder, "quantity": quantity, "mergeScu": true })
}

/// Adds lots to a member.
async fn plant_stock(data_folder: &DataFolder, number: u32, lots: usize) -> Outcome<()> {
    let app = data_folder.app().await?;
    for first in (0..lots).step_by(LOTS_PER_MEMBER) {
        let body =
            serde_json::from_value(set(first..lots.min(first + LOTS_PER_MEMBER), &set_quantity(0, 1)))?;
        let response = app.backend().change_stock(&member(number), ChangeAuthor::Web, body).await?;
        applied(response.counts().applied, lots.min(first + LOTS_PER_MEMBER) - first)?;
    }
    Ok(())
}

/// Adds a pool whose stock the first member holds, and makes half of the members Logisticians.
async fn plant_pool(data_folder: &DataFolder) -> Outcome<()> {
    let app = data_folder.app().await?;
    let unit = UnitId::new(UNIT);
    for number in 1..=MEMBERS / 2 {
        app.backend().set_role(&member(number), &unit, Some(UnitRole::Logistician)).await?;
    }
    let op = book_in(member(1).as_str(), 1.0);
    for first in (0..POOL).step_by(LOTS_PER_MEMBER) {
        let body = serde_json::from_value(set(first..first + LOTS_PER_MEMBER, &op))?;
        let response = app.backend().change_org_stock(&member(1), ChangeAuthor::Web, body).await?;
        applied(response.counts().applied, LOTS_PER_MEMBER)?;
    }
    Ok(())
}

fn applied(applied: i64, expected: usize) -> Outcome<()> {
    if applied == i64::try_from(expected)? {
        Ok(())
    } else {
        Err(format!("{applied} of {expected} ops were applied").into())
    }
}

/// Sends change sets of 500 ops one after another.
async fn sets(
    report: &mut Report,
    options: &Options,
    (data_folder, signer): (&DataFolder, &Signer),
    callers: usize,
    targets: &[Target],
) -> Outcome<()> {
    let sign = |from: usize, count: usize| {
        let one = |number: usize| {
            let target = &targets[number / callers % targets.len()];
            signer.sign(number % callers, target, Some(&format!("goods-{number:08}")))
        };
        (from..from + count).map(one).collect::<Outcome<Vec<_>>>()
    };
    let connections = load_generators::connect(data_folder.address(), 1).await?;
    let (warm, connections) =
        load_generators::closed(connections, sign(0, WARM_UP_SETS)?, options.length(), 200).await?;
    warm.ensure_expected()?;
    let (driven, _) =
        load_generators::closed(connections, sign(WARM_UP_SETS, SETS)?, options.length(), 200).await?;
    let driven = driven.ensure_expected()?;
    #[allow(clippy::cast_precision_loss, reason = "the count is far below 2^52")]
    report.record("500 ops over 500 lots, sets", driven.count() as f64, "");
    report.latencies("500 ops over 500 lots", &driven.latencies);
    let p99 = millis(driven.latencies.value_at_quantile(0.99));
    report.record_with_goal(
        "500 ops over 500 lots, p99 and its goal",
        p99,
        "ms",
        Goal::AtMost(MAX_P99_MILLIS),
    );
    Ok(())
}

/// Measures a page of 20 lots, and change sets that raise and lower 500 lots.
pub(crate) async fn stock(report: &mut Report, options: &Options) -> Outcome<()> {
    let data_folder = DataFolder::prepare(0).await?;
    for number in 1..=MEMBERS {
        plant_stock(&data_folder, number, LOTS_PER_MEMBER).await?;
    }
    reads::on(report, &data_folder, &LOTS, options).await?;
    let server = Server::serve(&data_folder.configuration(|_| {})?, data_folder.address())?;
    let signer = Signer::new(&data_folder).await?;
    let body = |op: &Value| Arc::from(set(0..LOTS_PER_MEMBER, op).to_string().into_bytes());
    let targets =
        [(1, 2), (2, 1)].map(|(from, to)| Target::changes(STOCK_CHANGES, body(&set_quantity(from, to))));
    sets(report, options, (&data_folder, &signer), MEMBERS as usize, &targets).await?;
    drop(server);
    Ok(())
}

/// The result of one reader.
struct ReaderResult {
    /// The latencies of its pages, in microseconds.
    pages: hdrhistogram::Histogram<u64>,
    /// The number of complete reads of the pool.
    pools: u64,
}

/// Measures many readers of the pool, and change sets of 500 ops on it.
pub(crate) async fn org_stock(report: &mut Report, options: &Options) -> Outcome<()> {
    let data_folder = DataFolder::prepare(0).await?;
    plant_pool(&data_folder).await?;
    let server = Server::serve(&data_folder.configuration(|_| {})?, data_folder.address())?;
    let signer = Arc::new(Signer::new(&data_folder).await?);
    let began = Instant::now();
    let until = began + options.length();
    let mut readers = JoinSet::new();
    for reader in 0..READERS {
        let (signer, mut http_connection) =
            (Arc::clone(&signer), HttpConnection::open(data_folder.address()).await?);
        readers.spawn(async move {
            let mut read = ReaderResult { pages: load_generators::histogram()?, pools: 0 };
            while Instant::now() < until {
                snapshot(&signer, &mut http_connection, reader, &mut read).await?;
            }
            Outcome::Ok(read)
        });
    }
    let (mut pages, mut pools) = (load_generators::histogram()?, 0);
    while let Some(read) = readers.join_next().await {
        let read = read??;
        pages.add(&read.pages)?;
        pools += read.pools;
    }
    let took = began.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "the count is far below 2^52")]
    report.record("pools of 5,000 lots read per second, 40 readers", pools as f64 / took, "1/s");
    report.latencies("a page of 500 lots, 40 readers", &pages);
    if pools == 0 {
        return Err("nobody came to the end of the pool".into());
    }
    let mut http_connection = HttpConnection::open(data_folder.address()).await?;
    let refs = call(
        &signer,
        &mut http_connection,
        0,
        &Target::page("/exchange/v1/org-stock/members", "?unit=unit-squadron"),
    )
    .await?;
    let holder = refs["items"].as_array().and_then(|items| {
        items.iter().find(|one| one["name"] == "Sandbox Load 01").and_then(|one| one["ref"].as_str())
    });
    let holder = holder.ok_or("the roster does not name the first member")?;
    let body = Arc::from(set(0..LOTS_PER_MEMBER, &book_in(holder, 0.001)).to_string().into_bytes());
    let targets = [Target::changes(POOL_CHANGES, body)];
    sets(report, options, (&data_folder, &signer), MEMBERS as usize / 2, &targets).await?;
    drop(server);
    Ok(())
}

/// Reads the whole pool.
async fn snapshot(
    signer: &Signer,
    http_connection: &mut HttpConnection,
    reader: usize,
    read: &mut ReaderResult,
) -> Outcome<()> {
    let mut query = "?limit=500".to_owned();
    let mut lots = 0;
    loop {
        let started = Instant::now();
        let target = Target { query: Cow::Owned(query), ..Target::page("/exchange/v1/org-stock", "") };
        let page = call(signer, http_connection, reader, &target).await?;
        read.pages.record(u64::try_from(started.elapsed().as_micros())?.max(1))?;
        lots += page["items"].as_array().map_or(0, Vec::len);
        let cursor = page["nextCursor"].as_str().ok_or("a page has no cursor")?;
        if page["hasMore"] != true {
            break;
        }
        query = format!("?limit=500&cursor={cursor}");
    }
    if lots < POOL {
        return Err(format!("{lots} of {POOL} lots were read").into());
    }
    read.pools += 1;
    Ok(())
}

/// Sends one request and parses the response.
async fn call(
    signer: &Signer,
    http_connection: &mut HttpConnection,
    caller: usize,
    target: &Target,
) -> Outcome<Value> {
    let mut bytes = Vec::new();
    signer.sign(caller, target, None)?.write(&mut bytes);
    let response = http_connection.fetch(&bytes).await?;
    if response.status != 200 {
        return Err(format!("{}: {}", response.status, response.error_excerpt).into());
    }
    Ok(serde_json::from_slice(&response.body)?)
}

/// Measures the memory while a reader pages through a very large stock.
pub(crate) async fn rows(report: &mut Report) -> Outcome<()> {
    let data_folder = DataFolder::prepare(0).await?;
    plant_stock(&data_folder, 1, LARGE_STOCK_ROWS).await?;
    let server = Server::serve(&data_folder.configuration(|_| {})?, data_folder.address())?;
    let signer = Signer::new(&data_folder).await?;
    let mut http_connection = HttpConnection::open(data_folder.address()).await?;
    let (mut read, mut first, mut max_pages) = (0, 0, 0);
    let mut query = "?limit=1000".to_owned();
    let began = Instant::now();
    loop {
        let target = Target { query: Cow::Owned(query), ..Target::page("/exchange/v1/me/stock", "") };
        let page = call(&signer, &mut http_connection, 0, &target).await?;
        read += page["items"].as_array().map_or(0, Vec::len);
        let now = server.memory().map_or(0, |memory| memory.anonymous);
        max_pages = max_pages.max(now);
        // By this time, SQLite's page cache is full.
        if read <= LARGE_STOCK_ROWS / 4 {
            first = first.max(now);
        }
        let cursor = page["nextCursor"].as_str().ok_or("a page has no cursor")?;
        if page["hasMore"] != true {
            break;
        }
        query = format!("?limit=1000&cursor={cursor}");
    }
    if read < LARGE_STOCK_ROWS {
        return Err(format!("{read} of {LARGE_STOCK_ROWS} rows were read").into());
    }
    report.record("200,000 rows, page by page", began.elapsed().as_secs_f64(), "s");
    report.record("memory after 50,000 rows", crate::start::mebibytes(first), "MiB");
    report.record("maximum memory", crate::start::mebibytes(max_pages), "MiB");
    #[allow(clippy::cast_precision_loss, reason = "the number of bytes is far below 2^52")]
    report.record_with_goal(
        "memory at most, to that after 50,000",
        max_pages as f64 / first.max(1) as f64,
        "",
        Goal::AtMost(MAX_MEMORY_GROWTH),
    );
    Ok(())
}
