//! Compares two versions of a contract and classifies each difference as breaking or not.
//!
//! [`compare`] walks two contracts side by side and returns every difference as a [`ContractChange`] with two
//! levels: one for *readers*, the clients that receive values from the service, and one for *writers*, the
//! clients that send values to it. A schema that is used only in responses is compared only for readers, and
//! a schema that is used only in requests only for writers. All other schemas are compared for both.
//!
//! `$ref` and `allOf` are resolved before schemas are compared (`flattened`), so moved definitions and
//! inlined references are not reported. The levels come from the table in [`rules`]. Many rules are cautious:
//! they report a difference as breaking because it may break clients. For these rules, `proof` tries to prove
//! whether the difference between the given schemas breaks clients. [`ContractVersion::open`] and
//! [`ContractVersion::load`] read files, [`revision::open_revision`] reads the files of a git revision, and
//! [`mod@report`] renders the result. [`accepted`] marks the breaking changes that the maintainers of the
//! contract accepted. All other modules are free of side effects.
//!
//! ```
//! use contract_codegen::drift::{ChangeLevel, CompareOptions, ContractVersion, compare};
//!
//! let version = |schema: &str| ContractVersion::from_strings(&[("seat.schema.json", "", schema)]);
//! let (old, new) = (version(r#"{"type": "integer"}"#)?, version(r#"{"type": "integer", "minimum": 1}"#)?);
//! let drift = compare(&old, &new, &CompareOptions::default());
//! assert_eq!(drift.writer_level(), ChangeLevel::Breaking);
//! assert_eq!(drift.changes[0].rule, "range-narrowed");
//! # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
//! ```

pub mod accepted;
mod alternatives;
mod annotations;
mod apis;
mod arrays;
mod bodies;
mod branches;
mod comparison;
mod conditions;
pub mod dates;
mod difference_cache;
mod directions;
mod discriminators;
mod enumerations;
mod faults;
mod findings;
mod flattened;
mod formats;
mod identity;
mod lifecycle;
mod locations;
mod media;
mod named;
mod objects;
mod operations;
mod overlaps;
mod parameters;
mod paths;
mod proof;
#[cfg(test)]
mod random_pairs;
pub mod report;
mod responses;
pub mod revision;
pub mod rules;
mod scalars;
mod schemas;
mod schemes;
mod security;
mod servers;
mod site;
mod strings;
mod unions;
mod verdicts;
mod whole_values;
mod wire;
mod witness_search;
mod xml;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use contract_codegen_core::{
    api::OpenApiDocument,
    config::{Config, InputConfig},
    diagnostics::{Diagnostic, Diagnostics, FaultPolicy, SourceTextProvider},
    load::{ContractInputs, DocumentFetcher, Sources, files, inputs},
    resolve::{ResolveOptions, UnknownKeywordPolicy, resolve_documents},
    schema::SchemaGraph,
    stack::run_on_deep_stack,
    tree::{SourceDocument, SourceId},
};

use self::accepted::{Acceptance, OutdatedEntry};
pub use self::faults::ContractFault;

/// The name of the configuration file that lists the inputs of a contract.
pub const CONFIGURATION_FILE: &str = "codegen.toml";

/// One version of a contract: its schemas, its operations, and the documents that declare them.
#[derive(Clone, Debug)]
pub struct ContractVersion {
    /// All schemas of the contract.
    pub(crate) graph: SchemaGraph,
    /// The OpenAPI documents with their operations, sorted by URI.
    pub(crate) apis: Vec<OpenApiDocument>,
    /// The documents of the contract, and the overlays that were applied to them.
    pub(crate) sources: Sources,
    /// The options with which the schemas were resolved.
    options: ResolveOptions,
    fault_policy: FaultPolicy,
    /// The faults that the loader repaired or skipped.
    tolerated_faults: Vec<Diagnostic>,
    /// The path of each source's file, relative to the folder that the version was loaded from.
    file_names: Vec<String>,
}

impl ContractVersion {
    /// Reads files and folders; `mounts` map URI prefixes to folders, as in [`Sources::from_files`].
    ///
    /// # Errors
    /// Returns the problems of all files if one of them cannot be read or the contract is invalid. Unknown
    /// keywords are not reported.
    pub fn load(inputs: &[PathBuf], mounts: &[(String, PathBuf)]) -> Result<Self, Diagnostics> {
        Self::load_inputs(&file_inputs(inputs, mounts))
    }

    /// Reads a contract like [`ContractVersion::load`], also from documents that the caller has read, and
    /// from URLs.
    ///
    /// # Errors
    /// Returns the same errors as [`ContractVersion::load`].
    pub fn load_inputs(inputs: &ContractInputs) -> Result<Self, Diagnostics> {
        let base = common_folder(&inputs.paths);
        Self::read_inputs(inputs, ResolveOptions::default(), (&InputConfig::default(), &base))
    }

    /// Reads the files of the other version with the type options and the fault policy of this version, so
    /// that one configuration applies to both versions.
    ///
    /// # Errors
    /// Returns the same errors as [`ContractVersion::load`].
    pub fn load_with_same_options(
        &self,
        inputs: &[PathBuf],
        mounts: &[(String, PathBuf)],
    ) -> Result<Self, Diagnostics> {
        let input = InputConfig { faults: self.fault_policy, ..InputConfig::default() };
        let base = common_folder(inputs);
        Self::read_inputs(&file_inputs(inputs, mounts), self.options.clone(), (&input, &base))
    }

    fn read_inputs(
        inputs: &ContractInputs,
        options: ResolveOptions,
        (input, base): (&InputConfig, &Path),
    ) -> Result<Self, Diagnostics> {
        run_on_deep_stack(|| {
            let mut sources = Sources::from_inputs(inputs)?;
            let mut problems = Diagnostics::new();
            sources.apply_overlays(input, base, &|_| None, &mut problems);
            if problems.has_errors() {
                return Err(problems);
            }
            let mut version = Self::new(sources, options, input.faults)?;
            let home = files::absolute_path(&base.join(".")).unwrap_or_else(|_| base.to_path_buf());
            for (id, file) in version.sources.ids().zip(&mut version.file_names) {
                if let Some(path) = version.sources.path(id) {
                    *file = files::path_from_folder(&home, path);
                }
            }
            Ok(version)
        })
    }

    /// Reads a contract as the generator does, with the inputs, mounts and type options of a `codegen.toml`.
    /// The path is the `codegen.toml` itself or its folder. If there is no `codegen.toml`, the given file or
    /// all documents in the given folder are read.
    ///
    /// # Errors
    /// Returns the same errors as [`ContractVersion::load`], and an error if the `codegen.toml` cannot be
    /// read.
    pub fn open(path: &Path) -> Result<Self, Diagnostics> {
        Self::open_with(path, None)
    }

    /// Reads a contract like [`ContractVersion::open`], and downloads inputs and references that are URLs.
    ///
    /// # Errors
    /// Returns the same errors as [`ContractVersion::open`].
    pub fn open_with(path: &Path, fetcher: Option<Arc<dyn DocumentFetcher>>) -> Result<Self, Diagnostics> {
        let configuration = if path.is_dir() { path.join(CONFIGURATION_FILE) } else { path.to_path_buf() };
        if !configuration.is_file() || configuration.extension().is_none_or(|ending| ending != "toml") {
            let paths = vec![path.to_path_buf()];
            return Self::load_inputs(&ContractInputs { paths, fetcher, ..ContractInputs::default() });
        }
        let refuse = |problem: String| {
            let message = format!("cannot read {}: {problem}", configuration.display());
            let mut problems = Diagnostics::new();
            problems.push(Diagnostic::error("config", message));
            problems
        };
        let text = fs::read_to_string(&configuration).map_err(|error| refuse(error.to_string()))?;
        let config: Config = toml::from_str(&text).map_err(|error| refuse(error.to_string()))?;
        let base = configuration.parent().unwrap_or_else(|| Path::new(""));
        let mut paths: Vec<PathBuf> =
            config.inputs.iter().map(|input| inputs::join_base(base, input)).collect();
        if paths.is_empty() {
            paths.push(base.to_path_buf());
        }
        let mounts = config.mounts.iter().map(|(uri, path)| (uri.clone(), base.join(path))).collect();
        let inputs = ContractInputs { paths, mounts, fetcher, ..ContractInputs::default() };
        Self::read_inputs(&inputs, ResolveOptions::from(&config.types), (&config.input, base))
    }

    /// Parses documents from strings. Each tuple is the name, the URI and the content of one document. If the
    /// URI is empty, a URI is derived from the name.
    ///
    /// # Errors
    /// Returns the same errors as [`ContractVersion::load`].
    pub fn from_strings(texts: &[(&str, &str, &str)]) -> Result<Self, Diagnostics> {
        let options = ResolveOptions::default();
        run_on_deep_stack(|| {
            Sources::from_texts(texts).and_then(|sources| Self::new(sources, options, FaultPolicy::default()))
        })
    }

    fn new(mut sources: Sources, options: ResolveOptions, faults: FaultPolicy) -> Result<Self, Diagnostics> {
        let options = ResolveOptions { unknown_keywords: UnknownKeywordPolicy::Ignore, ..options };
        let (graph, apis, mut problems) = resolve_documents(&mut sources, &options);
        problems.apply_fault_policy(faults);
        if problems.has_errors() {
            return Err(problems);
        }
        let files = sources.sources.iter().map(|source| source.name.clone()).collect();
        let left = problems.into_iter().filter(|each| each.fallback.is_some()).collect();
        Ok(Self {
            graph,
            apis,
            sources,
            options,
            fault_policy: faults,
            tolerated_faults: left,
            file_names: files,
        })
    }

    /// Returns the path of a document or an overlay, in the form of [`SourceLocation::file`].
    #[must_use]
    pub(crate) fn file_name(&self, source: SourceId) -> String {
        // `file_names` does not contain overlays. The name of an overlay is already relative to the folder of
        // the configuration file.
        let overlay = || self.sources.source_texts().find(|(id, _)| *id == source).map(|(_, text)| text.name);
        self.file_names.get(source.0 as usize).cloned().or_else(overlay).unwrap_or_default()
    }

    /// Returns the content of a document or an overlay.
    fn source_text(&self, source: SourceId) -> Option<Arc<str>> {
        self.sources.source_texts().find(|(id, _)| *id == source).map(|(_, text)| text.text)
    }

    /// Returns true if no comparison is needed, because both versions consist of the same files, byte by
    /// byte, and were read with the same options. Each file must be an input in both versions or in neither,
    /// because schemas of other files are compared only if an input refers to them. Returns false for
    /// contracts with overlays, because overlays are not compared here.
    fn is_same_input(&self, other: &Self) -> bool {
        let (all, others) = (&self.sources.sources, &other.sources.sources);
        // The name of a single document is irrelevant, because it can only be compared with the single
        // document of the other version.
        let alone = all.len() == 1;
        let same = |one: &SourceDocument, other: &SourceDocument| {
            one.digest == other.digest
                && files::is_yaml(&one.name) == files::is_yaml(&other.name)
                && (alone || (&one.uri, &one.name) == (&other.uri, &other.name))
        };
        self.options == other.options
            && self.fault_policy == other.fault_policy
            && self.sources.overlays.is_empty()
            && other.sources.overlays.is_empty()
            && all.len() == others.len()
            && all.iter().zip(others).all(|(one, other)| same(one, other))
            && self.sources.ids().all(|id| self.sources.is_input(id) == other.sources.is_input(id))
    }

    /// Returns the identifiers of all schema documents. An identifier is the `$id`, or the URI that is
    /// derived from the path of the document.
    pub fn schema_identifiers(&self) -> impl Iterator<Item = &str> {
        let own = self.graph.resources.iter().filter(|resource| resource.root.is_some());
        own.map(|resource| resource.uri.as_str())
    }

    /// Returns `info.version` of the first OpenAPI document by URI, or an empty string if there is no OpenAPI
    /// document. The comparison uses this value for all documents of the contract.
    #[must_use]
    pub fn info_version(&self) -> &str {
        self.apis.first().map_or("", |api| api.version.as_str())
    }
}

fn file_inputs(paths: &[PathBuf], mounts: &[(String, PathBuf)]) -> ContractInputs {
    ContractInputs { paths: paths.to_vec(), mounts: mounts.to_vec(), ..ContractInputs::default() }
}

/// Returns the innermost folder that contains all files and folders among the inputs. File names are relative
/// to it.
fn common_folder(inputs: &[PathBuf]) -> PathBuf {
    let folder = |path: &PathBuf| {
        if path.is_dir() { path.clone() } else { path.parent().map_or_else(PathBuf::new, Path::to_path_buf) }
    };
    let files = inputs.iter().filter(|path| inputs::as_url(path).is_none());
    let folders: Vec<PathBuf> =
        files.map(folder).map(|path| files::absolute_path(&path.join(".")).unwrap_or(path)).collect();
    files::common_ancestor(&folders).unwrap_or_default()
}

/// The effect of a change on readers or on writers, in ascending order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ChangeLevel {
    /// The change has no effect on values, names or generated code.
    #[default]
    Same,
    /// An element was added, or is sent less often than before. Clients that ignore the element work as
    /// before.
    Additive,
    /// The wire format is unchanged, but a name that people and generated code use has changed.
    Renamed,
    /// Clients that worked with the old version may stop working.
    Breaking,
}

impl ChangeLevel {
    /// Returns `same`, `additive`, `renamed` or `breaking`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Additive => "additive",
            Self::Renamed => "renamed",
            Self::Breaking => "breaking",
        }
    }
}

impl fmt::Display for ChangeLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A location in a source file that stays valid after the contract is dropped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLocation {
    /// The path of the file, relative to the folder that its version was loaded from (the given folder, or
    /// the folder of the given file or `codegen.toml`). The separator is `/` on every system.
    pub file: String,
    /// The JSON Pointer of the element in the file.
    pub pointer: String,
    /// The line number, starting at 1.
    pub line: usize,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)
    }
}

/// A difference between two versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractChange {
    /// The id of the rule that classified the change, one of [`rules::RULES`].
    pub rule: &'static str,
    /// The level for clients that receive values from the service.
    pub readers: ChangeLevel,
    /// The level for clients that send values to the service.
    pub writers: ChangeLevel,
    /// The reason for the levels. For a webhook or a callback, it is about the receivers of its requests.
    pub reason: String,
    /// The location of the changed element in the old version. For an added element, the location of the
    /// element to which it was added, or `None`.
    pub old: Option<SourceLocation>,
    /// The location of the changed element in the new version. For a removed element, the location of the
    /// element that contained it, or `None`.
    pub new: Option<SourceLocation>,
    /// The changed element, as the shortest path to it, such as `GET /me/ships 200 body /items/*/name`.
    pub subject: String,
    /// Every part of an operation that uses the element, sorted, such as `GET /me/ships 200 body`.
    pub uses: Vec<String>,
    /// The first part of `message`, which states the difference without its effect on clients.
    pub difference: String,
    /// One sentence that states the difference and its effect on readers or writers.
    pub message: String,
    /// Whether a proof or an example value confirms the level.
    pub proven: bool,
    /// A JSON value of the changed element that only one of the versions accepts.
    pub witness: Option<String>,
    /// The whole body, parameter or header that contains the witness. Only one of the versions accepts it.
    pub whole_witness: Option<String>,
    /// The acceptance of the breaking change; `None` if no entry covers the change. See [`accepted`].
    pub accepted: Option<Acceptance>,
}

impl ContractChange {
    /// Returns the higher of the two levels.
    #[must_use]
    pub fn level(&self) -> ChangeLevel {
        self.readers.max(self.writers)
    }

    /// Returns the level that counts towards the result. For an accepted change, this is at most `Additive`.
    pub(crate) fn counted_level(&self, level: ChangeLevel) -> ChangeLevel {
        if self.accepted.is_some() { level.min(ChangeLevel::Additive) } else { level }
    }
}

/// Options of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompareOptions {
    /// Whether both versions belong to one major version. If so, the removal of a declared element is
    /// breaking, even if readers do not depend on the element.
    pub within_major: bool,
    /// Whether to try proofs. A proof decides whether a change breaks clients if the rule alone cannot
    /// decide. Proofs take time. Without proofs, a harmless change may be reported as breaking, and an
    /// equivalent rewrite as a change.
    pub proofs: bool,
    /// The current date, with which the `x-sunset` of a removed element is compared. If the date is `None`,
    /// `x-sunset` has no effect.
    pub today: Option<dates::CalendarDate>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { within_major: true, proofs: true, today: None }
    }
}

/// The part of a version number that has to be incremented (Semantic Versioning 2.0.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VersionBump {
    /// No increment is required.
    None,
    /// `1.2.3` to `1.2.4`: only documentation changed.
    Patch,
    /// `1.2.3` to `1.3.0`: something was added or renamed.
    Minor,
    /// `1.2.3` to `2.0.0`: a breaking change was made.
    Major,
}

impl VersionBump {
    /// Returns `none`, `patch`, `minor` or `major`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Patch => "patch",
            Self::Minor => "minor",
            Self::Major => "major",
        }
    }

    /// Returns the increment that a set of changes requires. `level` is the highest level of these changes. A
    /// renamed element requires the same increment as an added one. `no_change` is true if there is no change
    /// at all, not even of documentation.
    pub(crate) const fn for_level(level: ChangeLevel, no_change: bool) -> Self {
        match level {
            ChangeLevel::Breaking => Self::Major,
            ChangeLevel::Renamed | ChangeLevel::Additive => Self::Minor,
            ChangeLevel::Same if no_change => Self::None,
            ChangeLevel::Same => Self::Patch,
        }
    }

    /// Returns the increment between two values of `info.version`. Returns [`VersionBump::None`] if the new
    /// version is not higher. Returns `None` if one of the values is not a version number.
    #[must_use]
    pub fn between_versions(old: &str, new: &str) -> Option<Self> {
        let (old, new) = (parse_version_numbers(old)?, parse_version_numbers(new)?);
        Some(match () {
            () if new <= old => Self::None,
            () if new[0] > old[0] => Self::Major,
            () if new[1] > old[1] => Self::Minor,
            () => Self::Patch,
        })
    }
}

fn parse_version_numbers(version: &str) -> Option<[u64; 3]> {
    let core = version.trim_start_matches('v').split(['-', '+']).next()?;
    let mut parts = core.split('.').map(str::parse::<u64>);
    let major = parts.next()?.ok()?;
    let minor = parts.next().unwrap_or(Ok(0)).ok()?;
    let patch = parts.next().unwrap_or(Ok(0)).ok()?;
    Some([major, minor, patch])
}

/// All differences between two versions, in the order of the contract, with operations first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContractDrift {
    /// The differences, including those of level [`ChangeLevel::Same`].
    pub changes: Vec<ContractChange>,
    /// `info.version` of the old contract, as returned by [`ContractVersion::info_version`]. This one value
    /// applies to all documents of the contract.
    pub old_version: String,
    /// `info.version` of the new contract, as returned by [`ContractVersion::info_version`].
    pub new_version: String,
    /// The faults that only the new version has. The loader repaired or skipped them, and the comparison uses
    /// the repaired contract.
    pub faults: Vec<ContractFault>,
    /// The number of faults that the loader repaired or skipped in the old version.
    pub old_faults: usize,
    /// The outdated entries of the file with accepted changes. They have expired or cover no change.
    pub outdated_entries: Vec<OutdatedEntry>,
}

impl ContractDrift {
    /// Returns the highest level of all changes for readers; accepted changes count as additive.
    #[must_use]
    pub fn reader_level(&self) -> ChangeLevel {
        self.changes.iter().map(|change| change.counted_level(change.readers)).max().unwrap_or_default()
    }

    /// Returns the highest level of all changes for writers; accepted changes count as additive.
    #[must_use]
    pub fn writer_level(&self) -> ChangeLevel {
        self.changes.iter().map(|change| change.counted_level(change.writers)).max().unwrap_or_default()
    }

    /// Returns the highest level of all changes for readers or writers.
    #[must_use]
    pub fn overall_level(&self) -> ChangeLevel {
        self.reader_level().max(self.writer_level())
    }

    /// Returns the version increment that these changes require.
    #[must_use]
    pub fn required_bump(&self) -> VersionBump {
        VersionBump::for_level(self.overall_level(), self.changes.is_empty())
    }
}

/// Compares two versions of a contract.
///
/// The result is deterministic: the same contracts always produce the same changes in the same order.
#[must_use]
pub fn compare(old: &ContractVersion, new: &ContractVersion, options: &CompareOptions) -> ContractDrift {
    let changes = if old.is_same_input(new) { Vec::new() } else { find_changes(old, new, options) };
    ContractDrift {
        changes,
        old_version: old.info_version().to_owned(),
        new_version: new.info_version().to_owned(),
        faults: faults::find_new_faults(old, new),
        old_faults: old.tolerated_faults.len(),
        outdated_entries: Vec::new(),
    }
}

fn find_changes(
    old: &ContractVersion,
    new: &ContractVersion,
    options: &CompareOptions,
) -> Vec<ContractChange> {
    run_on_deep_stack(|| {
        let directions = directions::DirectionViews::from_versions(old, new);
        let stores = <[proof::TableStores<'_>; 3]>::default();
        comparison::Comparison::new(old, new, &directions, &stores, options).compare_contracts()
    })
}
