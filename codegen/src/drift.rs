//! What a new version of a contract means for those who use the old one.
//!
//! [`compare`] walks two contracts side by side and returns every difference as a [`Change`]
//! with a verdict for each direction: *readers* take what the service sends, *writers* send
//! what the service takes. A schema that a response reaches is compared as something clients
//! read, one that a request reaches as something they write, one that both reach as both.
//!
//! Schemas are compared by what they say together after `$ref` and `allOf` (`flat`), so that
//! moving a definition or writing a reference out changes nothing. The verdicts come from the
//! table in [`rules`]; where such a verdict must be cautious, `proof` asks whether it holds
//! for this pair. Files are read by [`Version::open`] and [`Version::load`], and those of a
//! revision by [`revision::open`]; [`mod@report`] prints, and everything else here is pure.
//!
//! ```
//! use contract_codegen::drift::{Level, Options, Version, compare};
//!
//! let version = |schema: &str| Version::from_texts(&[("seat.schema.json", "", schema)]);
//! let (old, new) = (version(r#"{"type": "integer"}"#)?, version(r#"{"type": "integer", "minimum": 1}"#)?);
//! let drift = compare(&old, &new, &Options::default());
//! assert_eq!(drift.writers(), Level::Breaking);
//! assert_eq!(drift.changes[0].rule, "range-narrowed");
//! # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
//! ```

mod annotations;
mod answers;
mod arrays;
mod conditions;
mod directions;
mod discriminators;
mod enumerations;
mod faults;
mod finding;
mod flat;
mod formats;
mod identity;
mod media;
mod named;
mod objects;
mod operations;
mod overlaps;
#[cfg(test)]
mod pairs;
mod parameters;
mod places;
mod proof;
pub mod report;
pub mod revision;
pub mod rules;
mod scalars;
mod schemas;
mod security;
mod subject;
mod texts;
mod unions;
mod unseen;
mod ways;
mod wire;
mod xml;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

pub use self::faults::Fault;
use crate::{
    api::Api,
    config::{Config, Input},
    diagnostics::{Diagnostic, Diagnostics, Faults, Texts},
    load::{Sources, files},
    resolve::{ResolveOptions, UnknownKeywords, resolve},
    schema::Graph,
    stack::deep,
    tree::{Source, SourceId},
};

/// The configuration that names the inputs of a contract.
pub const CONFIGURATION: &str = "codegen.toml";

/// One version of a contract: its schemas, its operations, the texts they stand in.
#[derive(Clone, Debug)]
pub struct Version {
    /// All schemas.
    pub(crate) graph: Graph,
    /// One per OpenAPI document.
    pub(crate) apis: Vec<Api>,
    /// The documents.
    pub(crate) sources: Sources,
    /// How they were read.
    options: ResolveOptions,
    faults: Faults,
    /// What was read as it is meant, or left out.
    left: Vec<Diagnostic>,
    /// Per source: the file as it is found from where the version was given.
    files: Vec<String>,
}

impl Version {
    /// Reads files and folders; `mounts` answer URIs from folders, as in [`Sources::from_files`].
    ///
    /// # Errors
    /// Every problem of every file; unknown keywords are none here.
    pub fn load(inputs: &[PathBuf], mounts: &[(String, PathBuf)]) -> Result<Self, Diagnostics> {
        Self::read(inputs, mounts, ResolveOptions::default(), (&Input::default(), &common(inputs)))
    }

    /// Reads files and folders as this version was read, so that one configuration speaks of both.
    ///
    /// # Errors
    /// As [`Version::load`].
    pub fn load_alike(&self, inputs: &[PathBuf], mounts: &[(String, PathBuf)]) -> Result<Self, Diagnostics> {
        let input = Input { faults: self.faults, ..Input::default() };
        Self::read(inputs, mounts, self.options.clone(), (&input, &common(inputs)))
    }

    fn read(
        inputs: &[PathBuf],
        mounts: &[(String, PathBuf)],
        options: ResolveOptions,
        (input, base): (&Input, &Path),
    ) -> Result<Self, Diagnostics> {
        deep(|| {
            let mut sources = Sources::from_files(inputs, mounts)?;
            let mut problems = Diagnostics::new();
            sources.mend_all(input, base, &|_| None, &mut problems);
            if problems.has_errors() {
                return Err(problems);
            }
            let mut version = Self::new(sources, options, input.faults)?;
            let home = files::absolute(&base.join(".")).unwrap_or_else(|_| base.to_path_buf());
            for (id, file) in version.sources.ids().zip(&mut version.files) {
                if let Some(path) = version.sources.path(id) {
                    *file = way(&home, path);
                }
            }
            Ok(version)
        })
    }

    /// Reads a contract as its generator does: the inputs, mounts and reading of words of a
    /// `codegen.toml`, or of the one in a folder; without one, the file or everything in the folder.
    ///
    /// # Errors
    /// As [`Version::load`], and a `codegen.toml` that cannot be read.
    pub fn open(path: &Path) -> Result<Self, Diagnostics> {
        let configuration = if path.is_dir() { path.join(CONFIGURATION) } else { path.to_path_buf() };
        if !configuration.is_file() || configuration.extension().is_none_or(|ending| ending != "toml") {
            return Self::load(&[path.to_path_buf()], &[]);
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
        let mut inputs: Vec<PathBuf> = config.inputs.iter().map(|input| base.join(input)).collect();
        if inputs.is_empty() {
            inputs.push(base.to_path_buf());
        }
        let mounts: Vec<_> = config.mounts.iter().map(|(uri, path)| (uri.clone(), base.join(path))).collect();
        Self::read(&inputs, &mounts, ResolveOptions::from(&config.types), (&config.input, base))
    }

    /// Reads texts: name, URI (empty: made from the name), content.
    ///
    /// # Errors
    /// As [`Version::load`].
    pub fn from_texts(texts: &[(&str, &str, &str)]) -> Result<Self, Diagnostics> {
        let options = ResolveOptions::default();
        deep(|| Sources::from_texts(texts).and_then(|sources| Self::new(sources, options, Faults::default())))
    }

    fn new(mut sources: Sources, options: ResolveOptions, faults: Faults) -> Result<Self, Diagnostics> {
        let options = ResolveOptions { unknown_keywords: UnknownKeywords::Ignore, ..options };
        let (graph, apis, mut problems) = resolve(&mut sources, &options);
        problems.settle(faults);
        if problems.has_errors() {
            return Err(problems);
        }
        let files = sources.sources.iter().map(|source| source.name.clone()).collect();
        let left = problems.into_iter().filter(|each| each.mend.is_some()).collect();
        Ok(Self { graph, apis, sources, options, faults, left, files })
    }

    /// The file of a source, as in [`Spot::file`].
    #[must_use]
    pub(crate) fn file(&self, source: SourceId) -> String {
        // Overlays are named from the folder of the configuration as they are.
        let overlay = || self.sources.texts().find(|(id, _)| *id == source).map(|(_, text)| text.name);
        self.files.get(source.0 as usize).cloned().or_else(overlay).unwrap_or_default()
    }

    /// The text of a document or an overlay.
    fn text(&self, source: SourceId) -> Option<Arc<str>> {
        self.sources.texts().find(|(id, _)| *id == source).map(|(_, text)| text.text)
    }

    /// Whether both were read in the same way from the same bytes, so that they say the same: of what
    /// is no input only what something leads to counts. What overlays make of a document is not looked
    /// at: then nobody knows.
    fn is_reread(&self, other: &Self) -> bool {
        let (all, others) = (&self.sources.sources, &other.sources.sources);
        // The address of the only document tells nothing: whatever the file is called, it is that one.
        let alone = all.len() == 1;
        let same = |one: &Source, other: &Source| {
            one.digest == other.digest
                && files::is_yaml(&one.name) == files::is_yaml(&other.name)
                && (alone || (&one.uri, &one.name) == (&other.uri, &other.name))
        };
        self.options == other.options
            && self.faults == other.faults
            && self.sources.overlays.is_empty()
            && other.sources.overlays.is_empty()
            && all.len() == others.len()
            && all.iter().zip(others).all(|(one, other)| same(one, other))
            && self.sources.ids().all(|id| self.sources.is_input(id) == other.sources.is_input(id))
    }

    /// The identifiers of its schema documents: `$id`, or the URI that a document has by its place.
    pub fn identifiers(&self) -> impl Iterator<Item = &str> {
        let own = self.graph.resources.iter().filter(|resource| resource.root.is_some());
        own.map(|resource| resource.uri.as_str())
    }

    /// `info.version` of the first OpenAPI document, by URI; empty without one. A contract of several documents is
    /// one contract, and has one version.
    #[must_use]
    pub fn version(&self) -> &str {
        self.apis.first().map_or("", |api| api.version.as_str())
    }
}

/// The folder that inputs are named from: the only one, or that of the only file.
fn common(inputs: &[PathBuf]) -> PathBuf {
    let folder = |path: &PathBuf| {
        if path.is_dir() { path.clone() } else { path.parent().map_or_else(PathBuf::new, Path::to_path_buf) }
    };
    let folders: Vec<PathBuf> =
        inputs.iter().map(folder).map(|path| files::absolute(&path.join(".")).unwrap_or(path)).collect();
    files::common(&folders).unwrap_or_default()
}

/// The way from a folder to a file, both absolute; the file itself where nothing is shared.
fn way(folder: &Path, file: &Path) -> String {
    let shared = folder.components().zip(file.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().count() - shared;
    let inside: PathBuf = file.components().skip(shared).collect();
    // The root alone is nothing to share.
    let relative = shared > 1 || folder.components().count() <= 1;
    let way: PathBuf = if relative {
        std::iter::repeat_n(Path::new(".."), up).chain([inside.as_path()]).collect()
    } else {
        file.to_path_buf()
    };
    way.to_string_lossy().replace('\\', "/")
}

/// What a change means for one direction; the greater, the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Level {
    /// Nothing to notice.
    #[default]
    Same,
    /// There is something new, or less to expect; whoever ignores it goes on as before.
    Additive,
    /// The wire is the same, but what people and generated code call by name has another one.
    Renamed,
    /// Something that worked may stop working.
    Breaking,
}

impl Level {
    /// `same`, `additive`, `renamed` or `breaking`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Additive => "additive",
            Self::Renamed => "renamed",
            Self::Breaking => "breaking",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// Where something stands, in words that outlive the contract that was read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    /// The file as it is found from where its version was given: from the folder, or from the folder of
    /// the file or of the `codegen.toml`. `/` on every system.
    pub file: String,
    /// JSON Pointer in it.
    pub pointer: String,
    /// Line, from 1.
    pub line: usize,
}

impl fmt::Display for Spot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The rule that judged it, an id of [`rules::RULES`].
    pub rule: &'static str,
    /// What it means for those who read.
    pub readers: Level,
    /// What it means for those who write.
    pub writers: Level,
    /// Where the old version says it.
    pub old: Option<Spot>,
    /// Where the new version says it; where it is gone, the nearest thing that is left.
    pub new: Option<Spot>,
    /// What changed: `GET /me/ships 200 body /items/*/name`.
    pub subject: String,
    /// Everything that reaches the same place: `GET /me/ships 200 body`, sorted.
    pub uses: Vec<String>,
    /// One sentence: what is different and what a reader or writer now meets.
    pub message: String,
    /// Whether a proof or a witness stands behind the verdict.
    pub proven: bool,
    /// A JSON value at the subject's place that only one of the versions accepts.
    pub witness: Option<String>,
}

impl Change {
    /// The worse of its two levels.
    #[must_use]
    pub fn level(&self) -> Level {
        self.readers.max(self.writers)
    }
}

/// How to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether both are versions of one major version. Then nothing that was declared may go,
    /// even where readers could do without it.
    pub within_major: bool,
    /// Whether cautious verdicts are put to the proof, which costs time. Without, what breaks nobody may
    /// be called breaking, and what says the same in other words a change.
    pub proofs: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { within_major: true, proofs: true }
    }
}

/// How a version number must move (Semantic Versioning 2.0.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bump {
    /// Not at all.
    None,
    /// `1.2.3` to `1.2.4`: only words changed.
    Patch,
    /// `1.2.3` to `1.3.0`.
    Minor,
    /// `1.2.3` to `2.0.0`.
    Major,
}

impl Bump {
    /// `none`, `patch`, `minor` or `major`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Patch => "patch",
            Self::Minor => "minor",
            Self::Major => "major",
        }
    }

    /// The step that changes of a level ask for; within a major version a new name asks for no more
    /// than a new member does.
    pub(crate) const fn of(level: Level, no_change: bool) -> Self {
        match level {
            Level::Breaking => Self::Major,
            Level::Renamed | Level::Additive => Self::Minor,
            Level::Same if no_change => Self::None,
            Level::Same => Self::Patch,
        }
    }

    /// The step between two `info.version`s, `None` when one of them is no version number.
    #[must_use]
    pub fn between(old: &str, new: &str) -> Option<Self> {
        let (old, new) = (numbers(old)?, numbers(new)?);
        Some(match () {
            () if new <= old => Self::None,
            () if new[0] > old[0] => Self::Major,
            () if new[1] > old[1] => Self::Minor,
            () => Self::Patch,
        })
    }
}

fn numbers(version: &str) -> Option<[u64; 3]> {
    let core = version.trim_start_matches('v').split(['-', '+']).next()?;
    let mut parts = core.split('.').map(str::parse::<u64>);
    let major = parts.next()?.ok()?;
    let minor = parts.next().unwrap_or(Ok(0)).ok()?;
    let patch = parts.next().unwrap_or(Ok(0)).ok()?;
    Some([major, minor, patch])
}

/// Every difference between two versions, in the order of the contract: operations first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// The differences, those of level [`Level::Same`] included.
    pub changes: Vec<Change>,
    /// The old contract's version, as [`Version::version`]: that of all changes, whichever document they are in.
    pub old_version: String,
    /// The new contract's version, in the same way.
    pub new_version: String,
    /// Faults that only the new version has. They were read as they are meant, or left out, and compared
    /// as that.
    pub faults: Vec<Fault>,
    /// How many faults the old version has.
    pub old_faults: usize,
}

impl Drift {
    /// The worst that readers meet.
    #[must_use]
    pub fn readers(&self) -> Level {
        self.changes.iter().map(|change| change.readers).max().unwrap_or_default()
    }

    /// The worst that writers meet.
    #[must_use]
    pub fn writers(&self) -> Level {
        self.changes.iter().map(|change| change.writers).max().unwrap_or_default()
    }

    /// The worse of both.
    #[must_use]
    pub fn level(&self) -> Level {
        self.readers().max(self.writers())
    }

    /// The step that these changes ask of the version.
    #[must_use]
    pub fn bump(&self) -> Bump {
        Bump::of(self.level(), self.changes.is_empty())
    }
}

/// Compares two versions of a contract.
///
/// The same two contracts always give the same changes in the same order.
#[must_use]
pub fn compare(old: &Version, new: &Version, options: &Options) -> Drift {
    let changes = if old.is_reread(new) { Vec::new() } else { compared(old, new, options) };
    Drift {
        changes,
        old_version: old.version().to_owned(),
        new_version: new.version().to_owned(),
        faults: faults::fresh(old, new),
        old_faults: old.left.len(),
    }
}

fn compared(old: &Version, new: &Version, options: &Options) -> Vec<Change> {
    deep(|| {
        let directions = directions::Directions::of(old, new);
        let grounds = <[proof::Grounds<'_>; 3]>::default();
        finding::Comparer::new(old, new, &directions, &grounds, options).run()
    })
}
