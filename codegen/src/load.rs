//! Reading files, folders and texts into trees; no meaning yet, and never the network.
//!
//! A source's URI is its root `$id`, or one made from its name relative to the inputs, so that
//! the same contract gives the same graph in every folder and on every machine.

mod bytes;
pub(crate) mod files;
pub(crate) mod json;
mod metaschemas;
mod overlay;
pub(crate) mod uri;
mod version;
pub(crate) mod yaml;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use contract_runtime::{Json, depth};
use sha2::{Digest, Sha256};

use self::bytes::read;
pub(crate) use self::overlay::Mend;

use crate::{
    config::{Input, Overlay},
    diagnostics::{Diagnostic, Diagnostics, Text, Texts},
    stack::deep,
    tree::{Member, Place, Source, SourceId, Span, Tree, Value},
};

/// Levels of nesting that a document may have, as many as a value; bounds every recursion over trees.
pub const MAX_DEPTH: usize = depth::DEFAULT;

/// The documents of a contract: everything that was read, and where more may be read when a reference asks for it.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The documents: the inputs by name, then those that references asked for.
    pub(crate) sources: Vec<Source>,
    /// What was left out, and why.
    pub(crate) notes: Diagnostics,
    /// What overlays did to documents.
    pub(crate) mends: Vec<Mend>,
    /// The overlays, with their digests.
    pub(crate) overlays: Vec<(Text, String)>,
    /// What of documents came from overlays, and from where.
    origins: BTreeMap<SourceId, overlay::Origins>,
    /// Where the overlays lie.
    mending: Vec<PathBuf>,
    /// Per source: where it came from.
    retrievals: Vec<Retrieval>,
    /// Every URI that names a source as a whole, normalised.
    names: BTreeMap<String, SourceId>,
    /// The folder that all inputs lie in.
    root: Option<PathBuf>,
    mounts: Vec<Mount>,
    /// Where references asked for files that are not there.
    absent: BTreeSet<PathBuf>,
    offered: BTreeMap<String, Offer>,
}

#[derive(Clone, Debug)]
struct Retrieval {
    /// The URI that it has by its place, against which its `$id` is read.
    address: String,
    path: Option<PathBuf>,
    input: bool,
    broken: bool,
}

#[derive(Clone, Debug)]
struct Mount {
    prefix: String,
    path: PathBuf,
    /// Whether a reference asked for something of it.
    used: bool,
}

impl Mount {
    /// What stands behind its prefix in a URI, as the path of a file.
    fn rest(&self, uri: &str) -> Option<String> {
        uri::decode(uri.strip_prefix(&self.prefix)?.trim_start_matches('/'))
    }
}

#[derive(Clone, Debug)]
struct Offer {
    name: String,
    text: String,
}

/// A file that a reference leads to and that is not read, since it lies above the folder of the inputs; paths
/// as they can be typed where the run began.
#[derive(Clone, Debug)]
pub(crate) struct Above {
    /// The folder that holds it and the inputs.
    pub(crate) folder: String,
    /// What a mount of it is called: the URI of its folder, or its own.
    pub(crate) uri: String,
    /// What to mount there.
    pub(crate) path: String,
}

/// What says which document an overlay is for.
#[derive(Clone, Copy, Debug)]
enum Named<'a> {
    /// The `document` of the configuration.
    ByOwner(&'a str),
    /// The overlay's own `extends`: where its author found the document.
    ByOverlay(&'a str),
}

/// The names of files that texts of a document may lead to, with every ending that a reference may leave
/// out: `b.json` and more for `../b.json#/$defs/c`.
pub(crate) fn file_names(name: &str, bytes: &[u8]) -> BTreeSet<String> {
    deep(|| {
        let tree = read(SourceId(0), name, bytes).1;
        let mut waiting: Vec<&Tree> = tree.iter().collect();
        let mut found = BTreeSet::new();
        while let Some(each) = waiting.pop() {
            waiting.extend(each.members().iter().map(|member| &member.value).chain(each.elements()));
            let text = each.as_str().and_then(|text| text.split(['#', '?']).next());
            let last = text.and_then(|path| path.rsplit('/').next()).filter(|last| !last.is_empty());
            if let Some(last) = last.and_then(uri::decode) {
                found.extend(files::ENDINGS.map(|ending| format!("{last}{ending}")));
            }
        }
        found
    })
}

/// Whether a source is meant.
type Test<'a> = dyn Fn(SourceId, &Source) -> bool + 'a;

/// What [`Sources::from_files`] reads, with whatever could be read beside the problems, so that one run finds
/// all of them.
pub(crate) fn load_all(inputs: &[PathBuf], mounts: &[(String, PathBuf)]) -> (Sources, Diagnostics) {
    let mut sources = Sources::default();
    let mut problems = Diagnostics::new();
    problems.extend(mounts.iter().filter_map(|(prefix, path)| missing(prefix, path)));
    if problems.has_errors() {
        // Each reference that the mount should answer would only say the same again.
        return (sources, problems);
    }
    for (prefix, path) in mounts {
        sources.mount(prefix, path);
    }
    let mut found = Vec::new();
    let mut folders = Vec::new();
    for input in inputs {
        match files::find(input) {
            Ok(more) => {
                let folder = files::absolute(input).unwrap_or_else(|_| input.clone());
                let parent = folder.parent().map(Path::to_path_buf);
                folders.push(if folder.is_dir() { folder } else { parent.unwrap_or_default() });
                if more.is_empty() {
                    let message = format!("no *.json, *.yaml or *.yml in {}", input.display());
                    problems.push(Diagnostic::error("io", message));
                }
                found.extend(more);
            }
            Err(error) => {
                problems.push(Diagnostic::error("io", format!("cannot read {}: {error}", input.display())));
            }
        }
    }
    let root = files::common(&folders).unwrap_or_default();
    // A file that is named itself counts even when a folder holds it too.
    found.sort_by(|left, right| (&left.path, right.explicit).cmp(&(&right.path, left.explicit)));
    found.dedup_by(|later, kept| later.path == kept.path);
    for file in found {
        let name = files::relative(&root, &file.path).unwrap_or_else(|| file.path.display().to_string());
        match fs::read(&file.path) {
            Ok(bytes) => sources.input(name, Some(file.path), &bytes, file.explicit, None, &mut problems),
            Err(error) => problems.push(Diagnostic::error("io", format!("cannot read {name}: {error}"))),
        }
    }
    sources.root = Some(root);
    if sources.sources.is_empty() && !problems.has_errors() {
        problems.push(Diagnostic::error("io", "the inputs hold no schema and no OpenAPI document"));
    }
    sources.settle(&mut problems);
    (sources, problems)
}

/// What is wrong with a mount whose folder or file is not there.
pub(crate) fn missing(prefix: &str, path: &Path) -> Option<Diagnostic> {
    let message = format!("`{prefix}` is mounted to {}, which does not exist", path.display());
    let help =
        "give the folder that holds the documents, relative to codegen.toml, or the file of one document";
    (!path.exists()).then(|| Diagnostic::error("mount", message).help(help))
}

impl Sources {
    /// Reads the inputs: files, and folders with everything in them that looks like a contract.
    ///
    /// `mounts` answer URIs that start with a prefix from a folder (or a whole URI from a file).
    ///
    /// # Errors
    /// Every problem of every file, with excerpts.
    pub fn from_files(inputs: &[PathBuf], mounts: &[(String, PathBuf)]) -> Result<Self, Diagnostics> {
        let (sources, problems) = load_all(inputs, mounts);
        sources.or(problems)
    }

    /// Reads texts: name (its ending tells YAML from JSON), retrieval URI (empty: made from
    /// the name), content. All of them are inputs.
    ///
    /// # Errors
    /// Every problem of every text, with excerpts.
    pub fn from_texts(texts: &[(&str, &str, &str)]) -> Result<Self, Diagnostics> {
        let mut sources = Self::default();
        let mut problems = Diagnostics::new();
        for (name, uri, text) in texts {
            let uri = Some(*uri).filter(|uri| !uri.is_empty());
            sources.input((*name).to_owned(), None, text.as_bytes(), true, uri, &mut problems);
        }
        sources.settle(&mut problems);
        sources.or(problems)
    }

    /// Lets a folder answer the URIs that start with `prefix`, or a file one URI.
    pub fn mount(&mut self, prefix: &str, path: &Path) {
        let path = files::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        self.mounts.push(Mount { prefix: prefix.to_owned(), path, used: false });
        // The longest prefix wins.
        self.mounts.sort_by(|left, right| {
            right.prefix.len().cmp(&left.prefix.len()).then_with(|| left.prefix.cmp(&right.prefix))
        });
    }

    /// The prefixes whose folder or file no reference asked for so far.
    pub(crate) fn unused_mounts(&self) -> impl Iterator<Item = &str> {
        self.mounts.iter().filter(|mount| !mount.used).map(|mount| mount.prefix.as_str())
    }

    /// Mends documents by all overlays that the options name; `place` says where they name a file.
    pub(crate) fn mend_all(
        &mut self,
        input: &Input,
        base: &Path,
        place: &dyn Fn(&Path) -> Option<Place>,
        problems: &mut Diagnostics,
    ) {
        for overlay in &input.overlays {
            self.mend(overlay, base, place(&overlay.file), problems);
        }
        self.settle(problems);
    }

    /// Mends a document by an overlay or a JSON merge patch: the one that is named here or there, or
    /// the only one.
    fn mend(&mut self, entry: &Overlay, base: &Path, named: Option<Place>, problems: &mut Diagnostics) {
        let name = entry.file.to_string_lossy().replace('\\', "/");
        let path = base.join(&entry.file);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                problems.push(
                    Diagnostic::error("io", format!("cannot read {name}: {error}"))
                        .maybe_at(named)
                        .help("give the overlay's file, relative to codegen.toml"),
                );
                return;
            }
        };
        self.mending.push(path);
        let source = SourceId::overlay(self.overlays.len());
        let (text, tree, found) = read(source, &name, &bytes);
        self.overlays.push((Text { name: name.clone(), text: Arc::from(text) }, digest(&bytes)));
        problems.extend(found);
        let Some(tree) = tree else { return };
        let overlay = overlay::Overlay { name: &name, source, tree: &tree };
        let named = entry.document.as_deref().map(Named::ByOwner);
        let named = named.or_else(|| overlay::extends(&tree).map(Named::ByOverlay));
        match self.mended(named) {
            Ok(id) => {
                if let Some(held) = self.sources.get_mut(id.0 as usize) {
                    let origins = self.origins.entry(id).or_default();
                    self.mends.extend(overlay.apply(id, &mut held.tree, origins, problems));
                    self.identify(id);
                }
            }
            Err(message) => {
                let place = Place { source, pointer: String::new(), span: tree.span };
                problems.push(Diagnostic::error("overlay", message).at(place).help(
                    "name it with `extends`, or with `{ file = \"…\", document = \"…\" }` in `overlays`",
                ));
            }
        }
    }

    /// Names a document anew after its `$id` was mended.
    fn identify(&mut self, id: SourceId) {
        let at = id.0 as usize;
        let (Some(source), Some(retrieval)) = (self.sources.get_mut(at), self.retrievals.get(at)) else {
            return;
        };
        let uri = address(&source.tree, &retrieval.address);
        if uri != source.uri {
            let old = uri::key(&std::mem::replace(&mut source.uri, uri.clone()));
            if old != uri::key(&retrieval.address) && self.names.get(&old) == Some(&id) {
                self.names.remove(&old);
            }
            self.names.entry(uri::key(&uri)).or_insert(id);
        }
    }

    /// The document that an overlay is for: by its URI or its whole name before the end of its name or
    /// path, and by that before the file's name alone, where nothing else is said or the rest is where
    /// a vendor has it.
    fn mended(&self, named: Option<Named<'_>>) -> Result<SourceId, String> {
        let inputs = || self.ids().filter(|id| self.is_input(*id) && !self.is_broken(*id));
        let all = |passes: &Test<'_>| -> Vec<SourceId> {
            inputs().filter(|id| self.get(*id).is_some_and(|source| passes(*id, source))).collect()
        };
        let last = |text: &str| text.rsplit('/').next().unwrap_or(text).to_owned();
        let elsewhere = match named {
            Some(Named::ByOwner(named)) => !named.contains('/'),
            Some(Named::ByOverlay(named)) => !named.contains('/') || uri::is_absolute(named),
            None => false,
        };
        let named = named.map(|(Named::ByOwner(named) | Named::ByOverlay(named))| named);
        let found = match named {
            Some(named) => {
                // Where the overlay lies is none of the names.
                let mut rest = named;
                while let Some(less) = rest.strip_prefix("./").or_else(|| rest.strip_prefix("../")) {
                    rest = less;
                }
                let ends = |name: &str| name.strip_suffix(rest).is_some_and(|before| before.ends_with('/'));
                let lies = |id: SourceId| {
                    self.path(id).is_some_and(|path| ends(&path.to_string_lossy().replace('\\', "/")))
                };
                let ways: [&Test<'_>; 3] = [
                    &|_, source| source.uri == named || source.name == rest,
                    &|id, source| ends(&source.name) || lies(id),
                    &|_, source| elsewhere && last(&source.name) == last(named),
                ];
                ways.iter().map(|passes| all(passes)).find(|found| !found.is_empty()).unwrap_or_default()
            }
            None => {
                let documents = all(&|_, source| source.tree.get("openapi").is_some());
                if documents.is_empty() { inputs().collect() } else { documents }
            }
        };
        match (found.as_slice(), named) {
            ([one], _) => Ok(*one),
            ([], Some(named)) => Err(format!("no input is `{named}`, which the overlay is for")),
            (_, Some(named)) => Err(format!("more than one input is `{named}`, which the overlay is for")),
            (_, None) => Err("it is not said which document the overlay is for".to_owned()),
        }
    }

    /// Lets a text answer one URI. It becomes a source only when a reference asks for it.
    pub fn offer(&mut self, name: &str, uri: &str, text: &str) {
        let offer = Offer { name: name.to_owned(), text: text.to_owned() };
        self.offered.insert(uri::key(uri), offer);
    }

    /// The source behind an id.
    #[must_use]
    pub(crate) fn get(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(id.0 as usize)
    }

    /// The file that a source was read from; `None` for texts.
    #[must_use]
    pub(crate) fn path(&self, id: SourceId) -> Option<&Path> {
        self.retrievals.get(id.0 as usize)?.path.as_deref()
    }

    /// All ids, in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = SourceId> + use<> {
        (0..u32::try_from(self.sources.len()).unwrap_or(u32::MAX)).map(SourceId)
    }

    /// Every document as it was read: its absolute URI, and what stands in it.
    ///
    /// ```
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

    /// Every file that was read, as a path that can be opened: the documents, those that references and mounts
    /// led to included, and the overlays.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let documents = self.retrievals.iter().filter_map(|each| each.path.as_deref());
        documents.chain(self.mending.iter().map(PathBuf::as_path))
    }

    /// Where files were looked for, which references lead to, and were not found.
    pub(crate) fn absent(&self) -> impl Iterator<Item = &Path> {
        self.absent.iter().map(PathBuf::as_path)
    }

    /// Whether it was given, not asked for by a reference.
    #[must_use]
    pub(crate) fn is_input(&self, id: SourceId) -> bool {
        self.retrievals.get(id.0 as usize).is_some_and(|retrieval| retrieval.input)
    }

    /// Whether it could not be read; its tree is `null` then.
    pub(crate) fn is_broken(&self, id: SourceId) -> bool {
        self.retrievals.get(id.0 as usize).is_none_or(|retrieval| retrieval.broken)
    }

    /// The source that a URI names as a whole, by `$id` or by where it was read.
    #[must_use]
    pub(crate) fn find(&self, uri: &str) -> Option<SourceId> {
        self.names.get(&uri::key(uri)).copied()
    }

    /// Every URI (normalised) that names a source as a whole.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, SourceId)> {
        self.names.iter().map(|(uri, id)| (uri.as_str(), *id))
    }

    /// Reads the document that a URI names, when a mount, an offer or a file beside the
    /// referring one answers, or when it is a meta-schema of 2020-12. `Ok(false)` when nothing does; problems of a document that is
    /// there but cannot be read go to `problems`.
    pub(crate) fn demand(&mut self, uri: &str, from: SourceId, problems: &mut Diagnostics) -> bool {
        let key = uri::key(uri);
        if self.names.contains_key(&key) {
            return false;
        }
        if let Some(offer) = self.offered.remove(&key) {
            let id = self.add(offer.name, None, offer.text.as_bytes(), uri, false, problems);
            self.names.insert(key, id);
            return true;
        }
        let Some(path) = self.path_of(uri, from) else {
            let Some((name, text)) = metaschemas::find(&key) else { return false };
            let id = self.add(name.to_owned(), None, text.as_bytes(), uri, false, problems);
            self.names.insert(key, id);
            return true;
        };
        let known = self.retrievals.iter().position(|each| each.path.as_ref() == Some(&path));
        if let Some(known) = known {
            self.names.insert(key, SourceId(u32::try_from(known).unwrap_or(u32::MAX)));
            return true;
        }
        let name = self.name_of(&path);
        match fs::read(&path) {
            Ok(bytes) => {
                let id = self.add(name, Some(path), &bytes, uri, false, problems);
                self.names.insert(key, id);
                true
            }
            Err(error) => {
                let problem = Diagnostic::error("io", format!("cannot read {name}: {error}"));
                problems.push(problem.mended("what refers to it is any JSON"));
                false
            }
        }
    }

    /// Where a reference of a file leads, if a file is there and lies above the folder of the inputs. It is
    /// only looked for, never read: no document decides what else of a disk becomes part of a contract.
    pub(crate) fn above(&self, uri: &str, reference: &str, from: SourceId) -> Option<Above> {
        let (root, home) = (self.root.as_deref()?, self.path(from)?.parent()?);
        let way = reference.split(['#', '?']).next()?;
        if !way.contains("../") || way.starts_with('/') || way.contains(':') {
            return None;
        }
        let path = files::absolute(&home.join(uri::decode(way)?)).ok()?;
        if !uri.starts_with("file:///") || path.starts_with(root) {
            return None;
        }
        let found = files::there(&path)?;
        let folder = files::common(&[root.to_path_buf(), found.parent()?.to_path_buf()])?;
        let (prefix, _) = uri.rsplit_once('/')?;
        // At the root of all names a folder would answer for the inputs, too.
        let (uri, path) = match prefix {
            "file://" => (uri.to_owned(), found.as_path()),
            prefix => (format!("{prefix}/"), found.parent()?),
        };
        Some(Above { folder: files::typed(&folder), uri, path: files::typed(path) })
    }

    fn name_of(&self, path: &Path) -> String {
        let root = self.root.as_deref().and_then(|root| files::relative(root, path));
        let mount = self.mounts.iter().find_map(|mount| files::relative(mount.path.parent()?, path));
        root.or(mount).unwrap_or_else(|| path.display().to_string())
    }

    /// The file that a URI stands for.
    fn path_of(&mut self, uri: &str, from: SourceId) -> Option<PathBuf> {
        for mount in &mut self.mounts {
            if mount.path.is_file() {
                if uri::key(&mount.prefix) == uri::key(uri) {
                    mount.used = true;
                    return Some(mount.path.clone());
                }
            } else if let Some(rest) = mount.rest(uri) {
                mount.used = true;
                match files::below(&mount.path, &rest) {
                    Some(path) => return Some(path),
                    None => self.absent.extend(files::inside(&mount.path, &rest)),
                }
            }
        }
        let root = self.root.clone()?;
        let rest = if let Some(rest) = uri.strip_prefix("file:///") {
            uri::decode(rest)?
        } else {
            let (prefix, folder) = self.implied(&root, from)?;
            let rest = uri::decode(uri.strip_prefix(&prefix)?)?;
            files::relative(&root, &folder.join(rest))?
        };
        let found = files::below(&root, &rest);
        if found.is_none() {
            self.absent.extend(files::inside(&root, &rest));
        }
        found
    }

    /// What a mounted folder does not hold of what it is to answer: the file's name there, the folder, and
    /// where that is mounted.
    pub(crate) fn unanswered(&self, uri: &str) -> Option<(String, String, String)> {
        let folders = self.mounts.iter().filter(|mount| !mount.path.is_file());
        let (mount, rest) = folders.filter_map(|mount| Some((mount, mount.rest(uri)?))).next()?;
        Some((rest, files::typed(&mount.path), mount.prefix.clone()))
    }

    /// The URI prefix and the folder that a source's `$id` and file name agree on:
    /// `https://x/v1/a.schema.json` in `schemas/v1/a.schema.json` makes `https://x/` `schemas/`.
    fn implied(&self, root: &Path, from: SourceId) -> Option<(String, PathBuf)> {
        let source = self.get(from)?;
        let path = self.retrievals.get(from.0 as usize)?.path.as_deref()?;
        let mut folder = path.to_path_buf();
        let (authority, mut address) = match source.uri.split_once("://") {
            Some((_, rest)) => {
                let start = source.uri.len() - rest.len() + rest.find('/')?;
                source.uri.split_at_checked(start)?
            }
            None => return None,
        };
        let mut agreed = false;
        while let Some((before, last)) = address.rsplit_once('/') {
            let name = folder.file_name()?.to_str()?;
            let same = last == name
                || (!agreed && name.strip_prefix(last).is_some_and(|rest| rest.starts_with('.')));
            if !same || folder == root {
                break;
            }
            folder.pop();
            address = before;
            agreed = true;
        }
        agreed.then(|| (format!("{authority}{address}/"), folder))
    }

    fn input(
        &mut self,
        name: String,
        path: Option<PathBuf>,
        bytes: &[u8],
        explicit: bool,
        uri: Option<&str>,
        problems: &mut Diagnostics,
    ) {
        let retrieval = uri.map_or_else(|| uri::of_name(&name), str::to_owned);
        // What is wrong with a file that is no contract is nobody's business.
        let mut found = Diagnostics::new();
        let id = self.add(name, path, bytes, &retrieval, true, &mut found);
        let Some(source) = self.get(id) else { return };
        if !explicit && !self.is_broken(id) && !files::is_contract(&source.tree) {
            let message = format!("{} is neither a schema nor an OpenAPI document", source.name);
            let help = "name the file itself as an input to have it read all the same";
            self.notes.push(Diagnostic::note("skipped", message).help(help));
            self.sources.pop();
            self.retrievals.pop();
            return;
        }
        problems.append(found);
        let address = source.uri.clone();
        for each in [address, retrieval] {
            self.names.entry(uri::key(&each)).or_insert(id);
        }
    }

    /// Parses and appends; a document that cannot be read becomes a broken source, so that
    /// diagnostics can show it.
    fn add(
        &mut self,
        name: String,
        path: Option<PathBuf>,
        bytes: &[u8],
        retrieval: &str,
        input: bool,
        problems: &mut Diagnostics,
    ) -> SourceId {
        let id = SourceId(u32::try_from(self.sources.len()).unwrap_or(u32::MAX));
        let digest = digest(bytes);
        let (text, mut tree, mut found) = read(id, &name, bytes);
        found.extend(tree.as_mut().and_then(|tree| version::settle(id, tree)));
        let broken = tree.is_none() || found.iter().any(Diagnostic::is_fatal);
        // What is wrong with a document that only references ask for costs what they ask it for.
        let optional = |each: Diagnostic| {
            if input || each.mend.is_some() { each } else { each.mended("what refers to it is any JSON") }
        };
        let found = found.into_iter().map(optional);
        problems.extend(found);
        let tree = tree.unwrap_or(Tree { value: Value::Null, span: Span::default() });
        let uri = address(&tree, retrieval);
        self.sources.push(Source { name, uri, text: Arc::from(text), tree, digest });
        self.retrievals.push(Retrieval { address: retrieval.to_owned(), path, input, broken });
        if !input {
            let address = self.get(id).map(|source| uri::key(&source.uri)).unwrap_or_default();
            self.names.entry(address).or_insert(id);
        }
        id
    }

    /// Keeps what was read leniently for whoever decides about it, and leaves what nobody could read.
    fn settle(&mut self, problems: &mut Diagnostics) {
        let (fatal, mended) = std::mem::take(problems).into_iter().partition(Diagnostic::is_fatal);
        let (fatal, mended): (Vec<Diagnostic>, Vec<Diagnostic>) = (fatal, mended);
        problems.extend(fatal);
        self.notes.extend(mended);
        problems.attach(self);
    }

    fn or(self, mut problems: Diagnostics) -> Result<Self, Diagnostics> {
        if problems.has_errors() {
            problems.attach(&self);
            problems.sort();
            Err(problems)
        } else {
            Ok(self)
        }
    }
}

impl Texts for Sources {
    fn texts(&self) -> impl Iterator<Item = (SourceId, Text)> {
        let text = |source: &Source| Text { name: source.name.clone(), text: Arc::clone(&source.text) };
        let overlays = self.overlays.iter().enumerate();
        let overlays = overlays.map(|(at, (text, _))| (SourceId::overlay(at), text.clone()));
        self.ids().zip(self.sources.iter().map(text)).chain(overlays)
    }

    /// Where an overlay says what stands at a place, or nearest around it.
    fn origin(&self, place: &Place) -> Option<Place> {
        let origins = self.origins.get(&place.source)?;
        let tree = &self.get(place.source)?.tree;
        let mut pointer = place.pointer.as_str();
        loop {
            if let Some(origin) = origins.get(pointer) {
                return Some(origin.clone());
            }
            if tree.at(pointer).is_some() {
                return None;
            }
            pointer = pointer.rsplit_once('/')?.0;
        }
    }
}

/// The URI of a document: its `$id` against the one that it has by its place.
fn address(tree: &Tree, retrieval: &str) -> String {
    let id = identifier(tree).and_then(|member| member.value.as_str());
    let named = id.and_then(|id| uri::resolve(retrieval, id).ok());
    named.map_or_else(|| retrieval.to_owned(), |absolute| absolute.uri)
}

/// The `$id`, or what an old draft calls so, of a root that is a schema; fragments of old drafts
/// name no document. Of an OpenAPI document `$self` (OpenAPI 3.2, 4.1).
pub(crate) fn identifier(tree: &Tree) -> Option<&Member> {
    if tree.get("openapi").is_some() {
        return tree.member("$self").filter(|member| member.value.as_str().is_some());
    }
    let early = tree.get("$schema").and_then(Tree::as_str).is_some_and(is_early);
    let member = tree.member(if early { "id" } else { "$id" })?;
    member.value.as_str().filter(|id| !id.is_empty() && !id.starts_with('#')).map(|_| member)
}

/// Whether a `$schema` names draft-04, which calls a schema by `id`.
pub(crate) fn is_early(dialect: &str) -> bool {
    let bare = dialect.strip_suffix('#').unwrap_or(dialect);
    let path = bare.strip_prefix("https://").or_else(|| bare.strip_prefix("http://"));
    path == Some("json-schema.org/draft-04/schema")
}

/// SHA-256, lower-case hex.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn span(start: usize, end: usize) -> Span {
    let narrow = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
    Span { start: narrow(start), end: narrow(end) }
}

/// Adds a member, or puts it in the place of the one that has its key.
pub(crate) fn put(members: &mut Vec<Member>, member: Member, known: Option<usize>) {
    match known.and_then(|at| members.get_mut(at)) {
        Some(known) => *known = member,
        None => members.push(member),
    }
}

/// Keys of the object being read, hashed only once there are many.
#[derive(Default)]
pub(crate) struct Seen {
    keys: HashMap<String, usize>,
}

impl Seen {
    /// Which member has the key, `None` for a new one.
    pub(crate) fn find(&mut self, key: &str, members: &[Member]) -> Option<usize> {
        const FEW: usize = 12;
        if members.len() < FEW {
            look(members.len());
            return members.iter().position(|member| member.key == key);
        }
        // Members stay where they are, and no two have one key, so that only new ones are missing.
        let new = self.keys.len();
        look(members.len() - new);
        for (at, member) in members.iter().enumerate().skip(new) {
            self.keys.insert(member.key.clone(), at);
        }
        self.keys.get(key).copied()
    }
}

/// Counts members that were looked at, which tests ask instead of time.
#[cfg(test)]
fn look(members: usize) {
    tests::LOOKED.set(tests::LOOKED.get() + members);
}

#[cfg(not(test))]
const fn look(_: usize) {}

#[cfg(test)]
mod tests;
