//! Loads files, folders and strings into trees. The loader does not interpret schemas. It never accesses the
//! network itself: a [`DocumentFetcher`] of the caller downloads URLs.
//!
//! The URI of a source is the `$id` of its root, or it is derived from the source's name relative to the
//! inputs. The same contract therefore results in the same graph in every folder and on every machine.

mod bytes;
mod document_names;
pub mod files;
pub mod inputs;
pub(crate) mod json;
mod metaschemas;
mod mounts;
mod openapi_version;
mod overlay;
pub mod uri;
pub(crate) mod yaml;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use contract_runtime::{Json, depth};
use sha2::{Digest, Sha256};

use self::bytes::decode_document;
pub use self::inputs::{ContractInputs, DocumentFetcher, DocumentRequest, FetchError, InputDocument};
use self::mounts::MountPoint;
pub(crate) use self::mounts::{FileAboveRoot, check_mount};
pub(crate) use self::overlay::OverlayEdit;

use crate::{
    config::{InputConfig, OverlayEntry},
    diagnostics::{Diagnostic, Diagnostics, SourceText, SourceTextProvider},
    stack::run_on_deep_stack,
    tree::{DocumentLocation, DocumentNode, NodeValue, ObjectMember, SourceDocument, SourceId, Span},
};

/// The maximum nesting depth of a document, which is also the limit for JSON values. It limits every
/// recursion over document trees.
pub const MAX_DEPTH: usize = depth::DEFAULT_DEPTH;

/// The name of the document that a command reads from standard input.
pub const STDIN_NAME: &str = "stdin";

/// The loaded documents of a contract, and the mounts and folders from which referenced documents are loaded.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The documents: first the inputs (those from files sorted by path), then those that were loaded for
    /// references.
    pub sources: Vec<SourceDocument>,
    /// Notes about skipped files, and faults of the documents, to which the fault policy is applied later.
    pub(crate) notes: Diagnostics,
    /// The changes that overlays made to the documents.
    pub overlay_edits: Vec<OverlayEdit>,
    /// The overlay files with their SHA-256 digests.
    pub overlays: Vec<(SourceText, String)>,
    /// For each source, the location in the overlay of every value that an overlay inserted.
    origins: BTreeMap<SourceId, overlay::OverlayOrigins>,
    /// The paths of all overlay files, which [`Sources::files`] includes.
    overlay_paths: Vec<PathBuf>,
    /// How each source was obtained, in the order of `sources`.
    retrievals: Vec<SourceRetrieval>,
    /// The sources by the normalized URIs under which references can find them: `$id` and retrieval URI.
    names: BTreeMap<String, SourceId>,
    /// The deepest folder that contains all inputs. References can load files below it.
    root: Option<PathBuf>,
    /// The folder to which names in messages are relative, instead of `root`.
    shown_from: Option<PathBuf>,
    mounts: Vec<MountPoint>,
    /// The paths of referenced files that do not exist.
    absent: BTreeSet<PathBuf>,
    offered: BTreeMap<String, OfferedText>,
    fetcher: Option<Arc<dyn DocumentFetcher>>,
    /// The normalized URLs that could not be downloaded.
    unfetched: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct SourceRetrieval {
    /// The URI from which the document was loaded, or the URI that is derived from its file name. A relative
    /// `$id` is resolved against it.
    base_uri: String,
    path: Option<PathBuf>,
    is_input: bool,
    is_broken: bool,
}

#[derive(Clone, Debug)]
struct OfferedText {
    name: String,
    text: String,
}

/// The name of the document to which an overlay applies, by its source.
#[derive(Clone, Copy, Debug)]
enum OverlayTarget<'a> {
    /// The value of `document` in the configuration.
    FromConfig(&'a str),
    /// The value of `extends` in the overlay: the location from which the author of the overlay retrieved the
    /// document.
    FromExtends(&'a str),
}

/// Returns the names of all files to which strings in the document `name` may refer, including names with an
/// extension that the reference omits. For example, the string `../b.json#/$defs/c` may refer to `b.json` and
/// to `b.json.yaml`.
pub fn referenced_file_names(name: &str, bytes: &[u8]) -> BTreeSet<String> {
    run_on_deep_stack(|| {
        let tree = decode_document(SourceId(0), name, bytes).1;
        let mut waiting: Vec<&DocumentNode> = tree.iter().collect();
        let mut found = BTreeSet::new();
        while let Some(each) = waiting.pop() {
            waiting.extend(each.members().iter().map(|member| &member.value).chain(each.elements()));
            let text = each.as_str().and_then(|text| text.split(['#', '?']).next());
            let last = text.and_then(|path| path.rsplit('/').next()).filter(|last| !last.is_empty());
            if let Some(last) = last.and_then(uri::percent_decode) {
                found.extend(files::EXTENSIONS.map(|ending| format!("{last}{ending}")));
            }
        }
        found
    })
}

/// A condition that selects sources.
type SourcePredicate<'a> = dyn Fn(SourceId, &SourceDocument) -> bool + 'a;

/// Loads the inputs like [`Sources::from_inputs`], but also returns the sources if there are problems, so that
/// one run finds all problems.
pub(crate) fn load_all(inputs: &ContractInputs) -> (Sources, Diagnostics) {
    let ContractInputs { paths, documents, mounts, fetcher, shown_from } = inputs;
    let mut sources =
        Sources { fetcher: fetcher.clone(), shown_from: shown_from.clone(), ..Sources::default() };
    let mut problems = Diagnostics::new();
    problems.extend(mounts.iter().filter_map(|(prefix, path)| check_mount(prefix, path)));
    if problems.has_errors() {
        // If the search continued, each reference below the mount would repeat this error.
        return (sources, problems);
    }
    for (prefix, path) in mounts {
        sources.mount(prefix, path);
    }
    let mut found = Vec::new();
    let mut folders = Vec::new();
    for input in paths.iter().filter(|path| inputs::as_url(path).is_none()) {
        match files::find_input_files(input) {
            Ok(more) => {
                let folder = files::absolute_path(input).unwrap_or_else(|_| input.clone());
                let parent = folder.parent().map(Path::to_path_buf);
                folders.push(if folder.is_dir() { folder } else { parent.unwrap_or_default() });
                if more.is_empty() {
                    let message = format!("no *.json, *.yaml or *.yml in {}", input.display());
                    problems.push(Diagnostic::error("io", message));
                }
                found.extend(more);
            }
            Err(error) => {
                let reason = inputs::unsupported_scheme(input).unwrap_or_else(|| error.to_string());
                problems.push(Diagnostic::error("io", format!("cannot read {}: {reason}", input.display())));
            }
        }
    }
    if !documents.is_empty() {
        folders.extend(files::absolute_path(Path::new(".")).ok());
    }
    let root = files::common_ancestor(&folders).unwrap_or_default();
    // A file that is itself an input counts as explicit, even if an input folder also contains it.
    found.sort_by(|left, right| (&left.path, right.explicit).cmp(&(&right.path, left.explicit)));
    found.dedup_by(|later, kept| later.path == kept.path);
    for file in found {
        let name = files::relative_path(&root, &file.path).unwrap_or_else(|| file.path.display().to_string());
        match fs::read(&file.path) {
            Ok(bytes) => sources.add_input(name, Some(file.path), &bytes, file.explicit, None, &mut problems),
            Err(error) => problems.push(Diagnostic::error("io", format!("cannot read {name}: {error}"))),
        }
    }
    sources.root = (!folders.is_empty()).then_some(root);
    for InputDocument { name, content } in documents {
        sources.add_input(name.clone(), None, content, true, None, &mut problems);
    }
    for url in paths.iter().filter_map(|path| inputs::as_url(path)) {
        // A query may contain a secret, such as a signature. It does not affect how references are resolved (RFC 3986,
        // 5.2.2), and no name contains it.
        let name = uri::without_query(url);
        if let Some(content) = sources.fetch_input(url, name, &mut problems) {
            sources.add_input(name.to_owned(), None, &content, true, Some(name), &mut problems);
        }
    }
    if sources.sources.is_empty() && !problems.has_errors() {
        problems.push(Diagnostic::error("io", "the inputs contain neither a schema nor an OpenAPI document"));
    }
    sources.defer_faults(&mut problems);
    (sources, problems)
}

impl Sources {
    /// Loads the inputs: files, and all contract documents in folders.
    ///
    /// `mounts` map URI prefixes to folders, or single URIs to files.
    ///
    /// # Errors
    /// Returns all problems of all files, with excerpts.
    pub fn from_files(inputs: &[PathBuf], mounts: &[(String, PathBuf)]) -> Result<Self, Diagnostics> {
        let (paths, mounts) = (inputs.to_vec(), mounts.to_vec());
        Self::from_inputs(&ContractInputs { paths, mounts, ..ContractInputs::default() })
    }

    /// Loads the inputs like [`Self::from_files`], and also documents that the caller has read, and URLs.
    ///
    /// # Errors
    /// Returns all problems of all documents, with excerpts.
    pub fn from_inputs(inputs: &ContractInputs) -> Result<Self, Diagnostics> {
        let (sources, problems) = load_all(inputs);
        sources.into_result(problems)
    }

    /// Loads documents from memory; all of them are inputs. Each document is a name, a retrieval URI and the
    /// content. A YAML extension in the name selects YAML. If the retrieval URI is empty, it is derived from
    /// the name.
    ///
    /// # Errors
    /// Returns all problems of all documents, with excerpts.
    pub fn from_texts(texts: &[(&str, &str, &str)]) -> Result<Self, Diagnostics> {
        let mut sources = Self::default();
        let mut problems = Diagnostics::new();
        for (name, uri, text) in texts {
            let uri = Some(*uri).filter(|uri| !uri.is_empty());
            sources.add_input((*name).to_owned(), None, text.as_bytes(), true, uri, &mut problems);
        }
        sources.defer_faults(&mut problems);
        sources.into_result(problems)
    }

    /// Applies the overlays that the options list. `place` returns the location of an overlay's file name in
    /// the options, for diagnostics.
    pub fn apply_overlays(
        &mut self,
        input: &InputConfig,
        base: &Path,
        place: &dyn Fn(&Path) -> Option<DocumentLocation>,
        problems: &mut Diagnostics,
    ) {
        for overlay in &input.overlays {
            self.apply_overlay(overlay, base, place(&overlay.file), problems);
        }
        self.defer_faults(problems);
    }

    /// Applies an overlay or a JSON merge patch to one document: the one that the options or the overlay
    /// name, or else the only document.
    fn apply_overlay(
        &mut self,
        entry: &OverlayEntry,
        base: &Path,
        named: Option<DocumentLocation>,
        problems: &mut Diagnostics,
    ) {
        let name = entry.file.to_string_lossy().replace('\\', "/");
        let path = base.join(&entry.file);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                problems.push(
                    Diagnostic::error("io", format!("cannot read {name}: {error}"))
                        .with_optional_place(named)
                        .help("write the path of the overlay relative to codegen.toml"),
                );
                return;
            }
        };
        self.overlay_paths.push(path);
        let source = SourceId::overlay(self.overlays.len());
        let (text, tree, found) = decode_document(source, &name, &bytes);
        self.overlays.push((SourceText { name: name.clone(), text: Arc::from(text) }, sha256_hex(&bytes)));
        problems.extend(found);
        let Some(tree) = tree else { return };
        let overlay = overlay::OverlayDocument { name: &name, source, tree: &tree };
        let named = entry.document.as_deref().map(OverlayTarget::FromConfig);
        let named = named.or_else(|| overlay::extends_target(&tree).map(OverlayTarget::FromExtends));
        match self.find_overlay_target(named) {
            Ok(id) => {
                if let Some(source_entry) = self.sources.get_mut(id.0 as usize) {
                    let origins = self.origins.entry(id).or_default();
                    self.overlay_edits.extend(overlay.apply(id, &mut source_entry.tree, origins, problems));
                    self.update_uri(id);
                }
            }
            Err(message) => {
                let place = DocumentLocation { source, pointer: String::new(), span: tree.span };
                problems.push(Diagnostic::error("overlay", message).with_place(place).help(
                    "name it with `extends`, or with `{ file = \"…\", document = \"…\" }` in `overlays`",
                ));
            }
        }
    }

    /// Computes the URI of a document again and registers it, because an overlay may have changed the `$id`.
    fn update_uri(&mut self, id: SourceId) {
        let at = id.0 as usize;
        let (Some(source), Some(retrieval)) = (self.sources.get_mut(at), self.retrievals.get(at)) else {
            return;
        };
        let uri = document_uri(&source.tree, &retrieval.base_uri);
        if uri != source.uri {
            let old = uri::normalized_key(&std::mem::replace(&mut source.uri, uri.clone()));
            if old != uri::normalized_key(&retrieval.base_uri) && self.names.get(&old) == Some(&id) {
                self.names.remove(&old);
            }
            self.names.entry(uri::normalized_key(&uri)).or_insert(id);
        }
    }

    /// Returns the input to which an overlay applies. Three criteria are tried until one matches: the URI or
    /// full name, the end of the name or path, and the file name. File names are compared only if the overlay
    /// names no folder, or if `extends` is an absolute URI. If the overlay names no document, it applies to
    /// the only OpenAPI document, or to the only input if there is no OpenAPI document. The error is a
    /// message.
    fn find_overlay_target(&self, named: Option<OverlayTarget<'_>>) -> Result<SourceId, String> {
        let inputs = || self.ids().filter(|id| self.is_input(*id) && !self.is_broken(*id));
        let all = |passes: &SourcePredicate<'_>| -> Vec<SourceId> {
            inputs().filter(|id| self.get(*id).is_some_and(|source| passes(*id, source))).collect()
        };
        let last = |text: &str| text.rsplit('/').next().unwrap_or(text).to_owned();
        let elsewhere = match named {
            Some(OverlayTarget::FromConfig(named)) => !named.contains('/'),
            Some(OverlayTarget::FromExtends(named)) => !named.contains('/') || uri::is_absolute(named),
            None => false,
        };
        let named = named.map(|(OverlayTarget::FromConfig(named) | OverlayTarget::FromExtends(named))| named);
        let found = match named {
            Some(named) => {
                // Leading `./` and `../` are ignored, because documents are identified by the end of their
                // path.
                let mut rest = named;
                while let Some(less) = rest.strip_prefix("./").or_else(|| rest.strip_prefix("../")) {
                    rest = less;
                }
                let ends = |name: &str| name.strip_suffix(rest).is_some_and(|before| before.ends_with('/'));
                let lies = |id: SourceId| {
                    self.path(id).is_some_and(|path| ends(&path.to_string_lossy().replace('\\', "/")))
                };
                let ways: [&SourcePredicate<'_>; 3] = [
                    &|_, source| source.uri == named || source.name == rest,
                    &|id, source| ends(&source.name) || lies(id),
                    &|_, source| elsewhere && last(&source.name) == last(named),
                ];
                ways.iter().map(|passes| all(passes)).find(|found| !found.is_empty()).unwrap_or_default()
            }
            None => {
                let documents = all(&|_, source| is_openapi(&source.tree));
                if documents.is_empty() { inputs().collect() } else { documents }
            }
        };
        match (found.as_slice(), named) {
            ([one], _) => Ok(*one),
            ([], Some(named)) => Err(format!("no input matches the document `{named}` of the overlay")),
            (_, Some(named)) => Err(format!("several inputs match the document `{named}` of the overlay")),
            (_, None) => Err("the overlay does not name its document".to_owned()),
        }
    }

    /// Offers a document from memory for a URI. It becomes a source only if a reference needs it.
    pub fn offer(&mut self, name: &str, uri: &str, text: &str) {
        let offer = OfferedText { name: name.to_owned(), text: text.to_owned() };
        self.offered.insert(uri::normalized_key(uri), offer);
    }

    #[must_use]
    pub fn get(&self, id: SourceId) -> Option<&SourceDocument> {
        self.sources.get(id.0 as usize)
    }

    /// Returns the path of a source, or `None` if it was not loaded from a file.
    #[must_use]
    pub fn path(&self, id: SourceId) -> Option<&Path> {
        self.retrievals.get(id.0 as usize)?.path.as_deref()
    }

    pub fn ids(&self) -> impl Iterator<Item = SourceId> + use<> {
        (0..u32::try_from(self.sources.len()).unwrap_or(u32::MAX)).map(SourceId)
    }

    /// Iterates over all documents with their absolute URIs.
    ///
    /// ```
    /// # use contract_codegen_core as contract_codegen;
    /// use contract_codegen::Sources;
    ///
    /// let text = "$id: https://a.example/seat\ntype: string";
    /// let sources = Sources::from_texts(&[("seat.yaml", "", text)])?;
    /// let [(uri, document)] = &sources.documents().collect::<Vec<_>>()[..] else { panic!("one text") };
    /// assert_eq!((*uri, document.to_string().as_str()), (
    ///     "https://a.example/seat",
    ///     r#"{"$id":"https://a.example/seat","type":"string"}"#,
    /// ));
    /// # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
    /// ```
    pub fn documents(&self) -> impl Iterator<Item = (&str, Json)> {
        self.sources.iter().map(|source| (source.uri.as_str(), source.tree.to_json()))
    }

    /// Iterates over the paths of all files that were loaded: inputs, referenced and mounted documents, and
    /// overlays.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let documents = self.retrievals.iter().filter_map(|each| each.path.as_deref());
        documents.chain(self.overlay_paths.iter().map(PathBuf::as_path))
    }

    /// Iterates over the paths of referenced files that do not exist.
    pub(crate) fn absent(&self) -> impl Iterator<Item = &Path> {
        self.absent.iter().map(PathBuf::as_path)
    }

    /// Returns true if the source is an input, and false if it was loaded for a reference.
    #[must_use]
    pub fn is_input(&self, id: SourceId) -> bool {
        self.retrievals.get(id.0 as usize).is_some_and(|retrieval| retrieval.is_input)
    }

    /// Returns true if the source has a syntax error or another fatal problem. If it could not be parsed at
    /// all, its tree is `null`.
    pub(crate) fn is_broken(&self, id: SourceId) -> bool {
        self.retrievals.get(id.0 as usize).is_none_or(|retrieval| retrieval.is_broken)
    }

    /// Returns the source that has the given URI, either by its `$id` or because it was loaded from there.
    #[must_use]
    pub(crate) fn find(&self, uri: &str) -> Option<SourceId> {
        self.names.get(&uri::normalized_key(uri)).copied()
    }

    /// Iterates over the normalized URIs by which references can find sources, with the sources.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, SourceId)> {
        self.names.iter().map(|(uri, id)| (uri.as_str(), *id))
    }

    /// Loads the document of a URI from an offer, a mount, a file below the common folder of the inputs, or
    /// the built-in meta-schemas. Returns true if references with the URI now find a source. Returns false if
    /// the URI was already known, or if the document is not found or cannot be read. Problems of the document
    /// are added to `problems`.
    pub(crate) fn load_referenced(&mut self, uri: &str, from: SourceId, problems: &mut Diagnostics) -> bool {
        let key = uri::normalized_key(uri);
        if self.names.contains_key(&key) {
            return false;
        }
        if let Some(offer) = self.offered.remove(&key) {
            let id = self.add_source(offer.name, None, offer.text.as_bytes(), uri, false, problems);
            self.names.insert(key, id);
            return true;
        }
        let Some(path) = self.file_for_uri(uri, from) else {
            let Some((name, text)) = metaschemas::find_metaschema(&key) else {
                return self.load_url(uri, key, from, problems);
            };
            let id = self.add_source(name.to_owned(), None, text.as_bytes(), uri, false, problems);
            self.names.insert(key, id);
            return true;
        };
        let known = self.retrievals.iter().position(|each| each.path.as_ref() == Some(&path));
        if let Some(known) = known {
            self.names.insert(key, SourceId(u32::try_from(known).unwrap_or(u32::MAX)));
            return true;
        }
        let name = self.display_name(&path);
        match fs::read(&path) {
            Ok(bytes) => {
                let id = self.add_source(name, Some(path), &bytes, uri, false, problems);
                self.names.insert(key, id);
                true
            }
            Err(error) => {
                let problem = Diagnostic::error("io", format!("cannot read {name}: {error}"));
                problems.push(problem.with_fallback("references to it accept any JSON"));
                false
            }
        }
    }

    /// Returns the file that a URI identifies, by a mount or relative to the inputs. If it does not exist,
    /// its path is recorded in `absent`.
    fn file_for_uri(&mut self, uri: &str, from: SourceId) -> Option<PathBuf> {
        for mount in &mut self.mounts {
            if mount.path.is_file() {
                if uri::normalized_key(&mount.prefix) == uri::normalized_key(uri) {
                    mount.is_used = true;
                    return Some(mount.path.clone());
                }
            } else if let Some(rest) = mount.rest(uri) {
                mount.is_used = true;
                match files::find_inside(&mount.path, &rest) {
                    Some(path) => return Some(path),
                    None => self.absent.extend(files::join_inside(&mount.path, &rest)),
                }
            }
        }
        let root = self.root.clone()?;
        let rest = if let Some(rest) = uri.strip_prefix("file:///") {
            uri::percent_decode(rest)?
        } else {
            let (prefix, folder) = self.implied_folder(&root, from)?;
            let rest = uri::percent_decode(uri.strip_prefix(&prefix)?)?;
            files::relative_path(&root, &folder.join(rest))?
        };
        let found = files::find_inside(&root, &rest);
        if found.is_none() {
            self.absent.extend(files::join_inside(&root, &rest));
        }
        found
    }

    fn add_input(
        &mut self,
        name: String,
        path: Option<PathBuf>,
        bytes: &[u8],
        explicit: bool,
        uri: Option<&str>,
        problems: &mut Diagnostics,
    ) {
        let retrieval = uri.map_or_else(|| uri::from_file_name(&name), str::to_owned);
        // The problems of the file are dropped if it is not a contract document and is therefore skipped.
        let mut found = Diagnostics::new();
        let id = self.add_source(name, path, bytes, &retrieval, true, &mut found);
        let Some(source) = self.get(id) else { return };
        if self.path(id).is_none() && inputs::is_unnamed(&source.name) && !self.is_broken(id) {
            found.extend(inputs::check_unnamed_document(&source.name, &source.tree));
        }
        if !explicit && !self.is_broken(id) && !files::is_contract(&source.tree) {
            let message = format!("{} is neither a schema nor an OpenAPI document", source.name);
            let help = "to read it anyway, list the file itself as an input";
            self.notes.push(Diagnostic::note("skipped", message).help(help));
            self.sources.pop();
            self.retrievals.pop();
            return;
        }
        problems.append(found);
        let address = source.uri.clone();
        for each in [address, retrieval] {
            self.names.entry(uri::normalized_key(&each)).or_insert(id);
        }
    }

    /// Parses a document and appends it to the sources. A document that cannot be parsed is also appended,
    /// marked as broken, so that diagnostics can show excerpts of it.
    fn add_source(
        &mut self,
        name: String,
        path: Option<PathBuf>,
        bytes: &[u8],
        retrieval: &str,
        input: bool,
        problems: &mut Diagnostics,
    ) -> SourceId {
        let id = SourceId(u32::try_from(self.sources.len()).unwrap_or(u32::MAX));
        let digest = sha256_hex(bytes);
        let is_unnamed = path.is_none() && inputs::is_unnamed(&name);
        let syntax = if is_unnamed { inputs::syntax_name(&name, bytes) } else { &name };
        let (text, mut tree, mut found) = decode_document(id, syntax, bytes);
        found.extend(tree.as_mut().and_then(|tree| openapi_version::normalize_version(id, tree)));
        let broken = tree.is_none() || found.iter().any(Diagnostic::is_fatal);
        // A problem of a document that is not an input affects only the references to the document, so it has
        // a fallback.
        let optional = |each: Diagnostic| {
            if input || each.fallback.is_some() {
                each
            } else {
                each.with_fallback("references to it accept any JSON")
            }
        };
        let found = found.into_iter().map(optional);
        problems.extend(found);
        let tree = tree.unwrap_or(DocumentNode { value: NodeValue::Null, span: Span::default() });
        let uri = document_uri(&tree, retrieval);
        self.sources.push(SourceDocument { name, uri, text: Arc::from(text), tree, digest });
        self.retrievals.push(SourceRetrieval {
            base_uri: retrieval.to_owned(),
            path,
            is_input: input,
            is_broken: broken,
        });
        if !input {
            let address = self.get(id).map(|source| uri::normalized_key(&source.uri)).unwrap_or_default();
            self.names.entry(address).or_insert(id);
        }
        id
    }

    /// Moves faults to `notes`, so that the fault policy can be applied to them later. Fatal errors remain in
    /// `problems`.
    fn defer_faults(&mut self, problems: &mut Diagnostics) {
        let (fatal, mended) = std::mem::take(problems).into_iter().partition(Diagnostic::is_fatal);
        let (fatal, mended): (Vec<Diagnostic>, Vec<Diagnostic>) = (fatal, mended);
        problems.extend(fatal);
        self.notes.extend(mended);
        problems.attach_sources(self);
    }

    fn into_result(self, mut problems: Diagnostics) -> Result<Self, Diagnostics> {
        if problems.has_errors() {
            problems.attach_sources(&self);
            problems.sort();
            Err(problems)
        } else {
            Ok(self)
        }
    }
}

impl SourceTextProvider for Sources {
    fn source_texts(&self) -> impl Iterator<Item = (SourceId, SourceText)> {
        let text = |(id, source): (SourceId, &SourceDocument)| {
            (id, SourceText { name: self.shown_name(id), text: Arc::clone(&source.text) })
        };
        let overlays = self.overlays.iter().enumerate();
        let overlays = overlays.map(|(at, (text, _))| (SourceId::overlay(at), text.clone()));
        self.ids().zip(&self.sources).map(text).chain(overlays)
    }

    /// Returns the location in an overlay from which the value at `place`, or the nearest existing value that
    /// contains it, was inserted. Returns `None` if that value is part of the original document.
    fn original_place(&self, place: &DocumentLocation) -> Option<DocumentLocation> {
        let origins = self.origins.get(&place.source)?;
        let tree = &self.get(place.source)?.tree;
        let mut pointer = place.pointer.as_str();
        loop {
            if let Some(origin) = origins.get(pointer) {
                return Some(origin.clone());
            }
            if tree.resolve_pointer(pointer).is_some() {
                return None;
            }
            pointer = pointer.rsplit_once('/')?.0;
        }
    }
}

/// Returns the URI of a document: its `$id` or `$self` resolved against its retrieval URI, or the retrieval
/// URI itself.
fn document_uri(tree: &DocumentNode, retrieval: &str) -> String {
    let id = identifier_member(tree).and_then(|member| member.value.as_str());
    let named = id.and_then(|id| uri::resolve_reference(retrieval, id).ok());
    named.map_or_else(|| retrieval.to_owned(), |absolute| absolute.uri)
}

/// Returns the member that identifies a document: `$id` (`id` in draft-04) of a root schema, or `$self` of an
/// OpenAPI document (OpenAPI 3.2, 4.1). In old drafts, an `$id` that is only a fragment does not identify a
/// document.
pub(crate) fn identifier_member(tree: &DocumentNode) -> Option<&ObjectMember> {
    if is_openapi(tree) {
        return tree.member("$self").filter(|member| member.value.as_str().is_some());
    }
    let early = tree.get("$schema").and_then(DocumentNode::as_str).is_some_and(is_draft_04);
    let member = tree.member(if early { "id" } else { "$id" })?;
    member.value.as_str().filter(|id| !id.is_empty() && !id.starts_with('#')).map(|_| member)
}

/// Returns true if a `$schema` value identifies draft-04, in which `id` identifies schemas.
pub(crate) fn is_draft_04(dialect: &str) -> bool {
    let bare = dialect.strip_suffix('#').unwrap_or(dialect);
    uri::strip_http_scheme(bare) == Some("json-schema.org/draft-04/schema")
}

/// Returns true if a document is an OpenAPI document, even if its version is invalid.
pub(crate) fn is_openapi(tree: &DocumentNode) -> bool {
    tree.get("openapi").is_some()
}

/// Returns the SHA-256 digest of a document in lowercase hexadecimal.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn span(start: usize, end: usize) -> Span {
    let narrow = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
    Span { start: narrow(start), end: narrow(end) }
}

/// Replaces the member at index `known`, or appends the member if `known` is `None`.
pub(crate) fn insert_member(members: &mut Vec<ObjectMember>, member: ObjectMember, known: Option<usize>) {
    match known.and_then(|at| members.get_mut(at)) {
        Some(known) => *known = member,
        None => members.push(member),
    }
}

/// The keys of the object that is being parsed. They are hashed only if there are many of them.
#[derive(Default)]
pub(crate) struct KeyIndex {
    keys: HashMap<String, usize>,
}

impl KeyIndex {
    /// Returns the index of the member with this key, or `None` if `members` does not contain the key.
    pub(crate) fn find(&mut self, key: &str, members: &[ObjectMember]) -> Option<usize> {
        const FEW: usize = 12;
        if members.len() < FEW {
            count_lookups(members.len());
            return members.iter().position(|member| member.key == key);
        }
        // Members are only appended and their keys are distinct, so only the new ones must be indexed.
        let new = self.keys.len();
        count_lookups(members.len() - new);
        for (at, member) in members.iter().enumerate().skip(new) {
            self.keys.insert(member.key.clone(), at);
        }
        self.keys.get(key).copied()
    }
}

/// Adds to the number of inspected members, so that tests can check the complexity without measuring time.
#[cfg(test)]
fn count_lookups(members: usize) {
    tests::INSPECTED_MEMBERS.set(tests::INSPECTED_MEMBERS.get() + members);
}

#[cfg(not(test))]
const fn count_lookups(_: usize) {}

#[cfg(test)]
mod tests;
