//! Generates code for every schema of the suite as a separate contract.
//!
//! The groups must be separate: several files use the same `$id`, and references in one group must not
//! resolve to schemas of another one. Each group is therefore a module with its own types and tables, and all
//! modules are in one package.

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use contract_codegen::{
    GeneratedCode, OutputFiles, Project, Sources,
    config::{
        BuilderScope, Config, OutputConfig, OutputLayout, TypeOptions, UnboundedIntegerType,
        UnknownKeywordSetting,
    },
    report::UnenforcedConstraints,
};

use super::cases::SchemaGroup;

/// The base URL of the remote schemas that the suite refers to.
const REMOTES_URL: &str = "http://localhost:1234/";
const DOCUMENT_NAME: &str = "schema.json";

#[derive(Debug)]
pub(super) enum GroupOutcome {
    Generated(GeneratedModule),
    /// The generator rejected the schema with this message.
    Rejected(String),
}

#[derive(Debug)]
pub(super) struct GeneratedModule {
    /// The name of the module, such as `optional_bignum_003`.
    pub(super) name: String,
    /// The name of the root schema's type.
    pub(super) root: String,
    /// The row of the root schema in the validation tables.
    pub(super) row: String,
    pub(super) files: OutputFiles,
    /// The constraints that the types do not enforce, as the generator's report lists them.
    pub(super) unenforced: UnenforcedConstraints,
}

/// Generates all groups in parallel. The results have the order of the groups.
pub(super) fn generate_groups(groups: &[SchemaGroup], suite: &Path, setting: OptionSet) -> Vec<GroupOutcome> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, GroupOutcome)>> = Mutex::default();
    let put = |index, outcome| done.lock().unwrap_or_else(PoisonError::into_inner).push((index, outcome));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let work = || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(group) = groups.get(index) else { break };
                    put(index, generate_group(group, suite, setting).unwrap_or_else(GroupOutcome::Rejected));
                }
            };
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// The options with which a package is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionSet {
    /// Options with the exact semantics of JSON Schema: a type accepts every valid value.
    Exact,
    /// The default options. They assume that a schema with `properties` accepts only objects, and that
    /// integers have 64 bits. Types reject valid values that contradict these assumptions.
    Defaults,
}

impl OptionSet {
    fn to_config(self) -> Config {
        let options = TypeOptions::default();
        let types = match self {
            Self::Exact => TypeOptions {
                unbounded_integers: UnboundedIntegerType::Exact,
                implied_objects: false,
                builders: BuilderScope::None,
                ..options
            },
            // This is the package in which the builders of all types are compiled.
            Self::Defaults => TypeOptions { builders: BuilderScope::All, ..options },
        };
        Config {
            output: OutputConfig {
                layout: OutputLayout::Modules,
                client: false,
                server: false,
                ..OutputConfig::default()
            },
            types: TypeOptions { unknown_keywords: UnknownKeywordSetting::Ignore, ..types },
            ..Config::default()
        }
    }
}

fn generate_group(group: &SchemaGroup, suite: &Path, setting: OptionSet) -> Result<GroupOutcome, String> {
    let project = Project { config: setting.to_config(), ..Project::default() };
    let text = group.schema.to_string();
    let generate = || {
        let mut sources = Sources::from_texts(&[(DOCUMENT_NAME, "", &text)])?;
        sources.mount(REMOTES_URL, &suite.join("remotes"));
        let contract = project.analyze_sources(sources)?;
        project.generate_from(contract)
    };
    let generated = generate().map_err(|problems| problems.render(false))?;
    let GeneratedCode { files, contract, .. } = generated;
    let (root, row) = contract.type_at(DOCUMENT_NAME, "").ok_or("no type was generated for the document")?;
    Ok(GroupOutcome::Generated(GeneratedModule {
        name: module_name(group),
        root: root.to_owned(),
        row,
        files,
        unenforced: UnenforcedConstraints::for_contract(&contract),
    }))
}

/// Builds the name of a module from file and index: `optional/format/date-time.json` and 3 become
/// `optional_format_date_time_003`.
fn module_name(group: &SchemaGroup) -> String {
    let stem = group.file.strip_suffix(".json").unwrap_or(&group.file);
    let mut name = String::new();
    for c in stem.chars() {
        match c {
            'A'..='Z' => name.extend(['_', c.to_ascii_lowercase()]),
            'a'..='z' | '0'..='9' => name.push(c),
            _ => name.push('_'),
        }
    }
    format!("{name}_{:03}", group.index)
}
