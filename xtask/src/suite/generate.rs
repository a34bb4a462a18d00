//! Every schema of the suite as a contract of its own, generated like anybody's.
//!
//! Groups share nothing: `$id`s repeat between files, and what one group refers to is no other's
//! business. So each is a module with its own types and tables, and all modules are one package.

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use contract_codegen::{
    Files, Generated, Project, Sources,
    config::{Builders, Config, Layout, Output, TypeOptions, UnboundedIntegers, UnknownKeywords},
    report::LeftOpen,
};

use super::cases::Group;

/// Where the suite's remotes are said to lie.
const REMOTES: &str = "http://localhost:1234/";
/// What the document of a group is called.
const FILE: &str = "schema.json";

/// What came of one group.
#[derive(Debug)]
pub(super) enum Outcome {
    /// A module.
    Module(Module),
    /// Nothing, and what the generator says about it.
    Refused(String),
}

/// The module of a group.
#[derive(Debug)]
pub(super) struct Module {
    /// `optional_bignum_003`
    pub(super) name: String,
    /// The type of the schema's root.
    pub(super) root: String,
    /// The row of the schema's root.
    pub(super) row: String,
    /// What came out.
    pub(super) files: Files,
    /// What the report says that types alone do not carry.
    pub(super) open: LeftOpen,
}

/// Generates all groups, on as many threads as there are processors; in the order of the groups.
pub(super) fn generate(groups: &[Group], suite: &Path, setting: Setting) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Outcome)>> = Mutex::default();
    let put = |index, outcome| done.lock().unwrap_or_else(PoisonError::into_inner).push((index, outcome));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let work = || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(group) = groups.get(index) else { break };
                    put(index, of_group(group, suite, setting).unwrap_or_else(Outcome::Refused));
                }
            };
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// The options that a package is generated with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    /// What JSON Schema itself says, nothing assumed: a type holds whatever is valid.
    Exact,
    /// The generator's own defaults, which assume that `properties` mean an object and that
    /// integers have 64 bits. What is valid only without that is refused by the types.
    Defaults,
}

impl Setting {
    fn config(self) -> Config {
        let own = TypeOptions::default();
        let types = match self {
            Self::Exact => TypeOptions {
                unbounded_integers: UnboundedIntegers::Exact,
                implied_objects: false,
                builders: Builders::None,
                ..own
            },
            // Builders of everything, to see all of them compile.
            Self::Defaults => TypeOptions { builders: Builders::All, ..own },
        };
        Config {
            output: Output { layout: Layout::Modules, client: false, server: false, ..Output::default() },
            types: TypeOptions { unknown_keywords: UnknownKeywords::Ignore, ..types },
            ..Config::default()
        }
    }
}

fn of_group(group: &Group, suite: &Path, setting: Setting) -> Result<Outcome, String> {
    let project = Project { config: setting.config(), ..Project::default() };
    let text = group.schema.to_string();
    let generate = || {
        let mut sources = Sources::from_texts(&[(FILE, "", &text)])?;
        sources.mount(REMOTES, &suite.join("remotes"));
        let contract = project.understand(sources)?;
        project.emit(contract)
    };
    let generated = generate().map_err(|problems| problems.render(false))?;
    let Generated { files, contract, .. } = generated;
    let (root, row) = contract.type_at(FILE, "").ok_or("the document has no type of its own")?;
    Ok(Outcome::Module(Module {
        name: module_name(group),
        root: root.to_owned(),
        row,
        files,
        open: LeftOpen::of(&contract),
    }))
}

/// `optional/format/date-time.json`, 3 → `optional_format_date_time_003`
fn module_name(group: &Group) -> String {
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
