//! Benchmarks of the pipeline from files to printed modules, with the exchange contract.

#![allow(clippy::unwrap_used, reason = "benchmarks panic on failure")]

use std::path::Path;

use contract_codegen::{Project, Sources, report::Report};

fn main() {
    divan::main();
}

fn project() -> Project {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas/codegen.toml");
    Project::from_config(&file).unwrap()
}

#[divan::bench(sample_count = 20)]
fn read_and_decide() {
    divan::black_box(project().read_contract().unwrap());
}

#[divan::bench(sample_count = 20)]
fn generate() {
    divan::black_box(project().generate().unwrap());
}

/// Returns a document with `count` schemas that refer to each other.
fn many(count: usize) -> String {
    let schema = |at: usize| {
        let (next, other) = ((at * 7 + 3) % count, (at + 1) % count);
        format!(
            r##""S{at}": {{"type": "object", "required": ["id"], "properties": {{
                "id": {{"type": "string", "format": "uuid", "minLength": 1}},
                "count": {{"type": "integer", "minimum": 0, "maximum": {at}}},
                "state": {{"enum": ["on", "off", "x{at}"]}},
                "name": {{"type": "string", "pattern": "^[a-z]{{1,{}}}$"}},
                "next": {{"$ref": "#/components/schemas/S{next}"}},
                "list": {{"type": "array", "items": {{"$ref": "#/components/schemas/S{other}"}}, "maxItems": 9}}
            }}}}"##,
            3 + at % 9
        )
    };
    let schemas: Vec<String> = (0..count).map(schema).collect();
    format!(
        r#"{{"openapi": "3.1.0", "info": {{"title": "Many", "version": "1"}}, "paths": {{}}, "components": {{"schemas": {{{}}}}}}}"#,
        schemas.join(",")
    )
}

#[divan::bench(sample_count = 1, sample_size = 1)]
fn report_on_15_000_schemas() {
    let project = Project::default();
    let sources = Sources::from_texts(&[("many.json", "", &many(15_000))]).unwrap();
    let contract = project.analyze_sources(sources).unwrap();
    divan::black_box(Report::for_contract(&project, &contract, &|_| {}));
}
