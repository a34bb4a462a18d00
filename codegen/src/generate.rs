//! The pipeline: load → resolve → shape → tables → emit → render.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    api::{Api, Operation},
    client::client,
    config::{Builders, Config, Layout, UnknownKeywords, Unsupported},
    diagnostics::{Diagnostic, Diagnostics},
    emit::{Emitter, ident},
    load::{Sources, load},
    lower::{ClientOptions, Loss},
    names,
    operations::{self, Side},
    registry::registry,
    render::{self, Files, Module},
    resolve::{self, ResolveOptions, resolve},
    schema::{Graph, SchemaId},
    server::server,
    shape::{self, Body, Options, Shapes, TypeId, TypeRef, shape},
    tables::{TableSet, patterns},
    tree::SourceId,
};

/// A contract and what its owner decided about it.
#[derive(Clone, Debug, Default)]
pub struct Project {
    /// The options.
    pub config: Config,
    /// The folder that paths of the options are relative to.
    pub base: PathBuf,
    /// Files and folders of the contract, beside those that the options name.
    pub inputs: Vec<PathBuf>,
}

/// A contract, read and understood.
#[derive(Debug)]
pub struct Contract {
    /// The documents.
    pub sources: Sources,
    /// Every schema.
    pub graph: Graph,
    /// Every operation, of all documents together.
    pub api: Api,
    /// Every type.
    pub shapes: Shapes,
    /// The tables of all schemas.
    pub tables: TableSet,
    /// What was noticed.
    pub diagnostics: Diagnostics,
    /// What the shapes were made with.
    pub options: Options,
}

/// Output, and what there is to say about it.
#[derive(Debug)]
pub struct Generated {
    /// The files.
    pub files: Files,
    /// The contract that they were made from.
    pub contract: Contract,
    /// Constraints that an engine does not carry, and what enforces them.
    pub losses: Vec<Loss>,
}

impl Project {
    /// Reads a `codegen.toml`.
    ///
    /// # Errors
    /// When the file cannot be read or holds something that is no option.
    pub fn from_config(path: &Path) -> Result<Self, Diagnostics> {
        let text = std::fs::read_to_string(path).map_err(|e| {
            only(
                Diagnostic::error("config", format!("cannot read {}: {e}", path.display()))
                    .help("give the path of a codegen.toml, or the contract's own files"),
            )
        })?;
        let config: Config = toml::from_str(&text).map_err(|e| {
            let message = format!("{} is not a valid codegen.toml:\n{e}", path.display());
            only(Diagnostic::error("config", message))
        })?;
        let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(Self { config, base, inputs: Vec::new() })
    }

    /// Reads the contract and decides all types.
    ///
    /// # Errors
    /// Every problem of every file.
    pub fn read(&self) -> Result<Contract, Diagnostics> {
        let mut inputs: Vec<PathBuf> = self.config.inputs.iter().map(|p| self.base.join(p)).collect();
        inputs.extend(self.inputs.iter().cloned());
        let mounts: Vec<(String, PathBuf)> =
            self.config.mounts.iter().map(|(uri, path)| (uri.clone(), self.base.join(path))).collect();
        let sources = load(&inputs, &mounts)?;
        self.understand(sources)
    }

    /// The same for documents that were read already.
    ///
    /// # Errors
    /// Every problem of every document.
    pub fn understand(&self, mut sources: Sources) -> Result<Contract, Diagnostics> {
        let unknown_keywords = match self.config.types.unknown_keywords {
            UnknownKeywords::Deny => resolve::UnknownKeywords::Deny,
            UnknownKeywords::Warn => resolve::UnknownKeywords::Warn,
            UnknownKeywords::Ignore => resolve::UnknownKeywords::Ignore,
        };
        let (graph, apis, mut diagnostics) = resolve(&mut sources, &ResolveOptions { unknown_keywords });
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        let api = merged(apis);
        let options = self.options(&graph, &mut diagnostics);
        let (compiled, refused) = patterns(&graph);
        for (id, source, error) in refused {
            let place = graph.schema(id).place.clone();
            let why = format!("pattern `{source}`: {}", error.reason);
            diagnostics.push(match self.config.types.unsupported {
                Unsupported::Deny => Diagnostic::error("unsupported", why).at(place).help(
                    "write it without look-around and back-references: they cannot be matched in linear time; \
                     or set `unsupported = \"keep\"` below [types] to leave it unchecked",
                ),
                Unsupported::Keep => {
                    Diagnostic::warning("unsupported", format!("{why}; it is not checked")).at(place)
                }
            });
        }
        let shapes = shape(&graph, &options, &places(&api));
        let tables = TableSet::new(&graph, &shapes, compiled);
        diagnostics.attach(&sources);
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        Ok(Contract { sources, graph, api, shapes, tables, diagnostics, options })
    }

    /// Settles every selector of the configuration; one that names nothing is an error.
    fn options(&self, graph: &Graph, diagnostics: &mut Diagnostics) -> Options {
        let config = &self.config;
        let mut options = Options::from_types(&config.types);
        let problems = std::cell::RefCell::new(diagnostics);
        let find = |selector: &str, option: &str| -> Vec<SchemaId> {
            let found = select(graph, selector);
            if found.is_empty() {
                problems.borrow_mut().push(
                    Diagnostic::error("config", format!("`{option}` names a schema that the contract does not have: `{selector}`"))
                        .help("a selector is the end of a schema's location, such as `problem.schema.json#/properties/status`; remove the option if the schema is gone"),
                );
            }
            found
        };
        for (selector, name) in &config.names {
            options.names.extend(find(selector, "names").into_iter().map(|id| (id, name.clone())));
        }
        for selector in &config.secrets {
            options.secrets.extend(find(selector, "secrets"));
        }
        for selector in &config.open {
            options.open.extend(find(selector, "open"));
        }
        for (selector, path) in &config.replace {
            options.replace.extend(find(selector, "replace").into_iter().map(|id| (id, path.clone())));
        }
        for area in &config.areas {
            for wanted in &area.schemas {
                let found: Vec<SchemaId> = graph
                    .ids()
                    .filter(|&id| shape::stem(&graph.resource(graph.schema(id).resource).uri) == *wanted)
                    .collect();
                let found = if found.is_empty() { find(wanted, "area.schemas") } else { found };
                options.areas.extend(found.into_iter().map(|id| (id, area.name.clone())));
            }
            if RESERVED.contains(&area.name.as_str()) {
                problems.borrow_mut().push(
                    Diagnostic::error(
                        "config",
                        format!(
                            "no area can be called `{}`: generated code has a module of that name",
                            area.name
                        ),
                    )
                    .help("choose another name"),
                );
            }
        }
        options
    }

    /// Generates everything that the configuration asks for.
    ///
    /// # Errors
    /// Every problem of the contract; nothing is written half.
    pub fn generate(&self) -> Result<Generated, Diagnostics> {
        let contract = self.read()?;
        self.emit(contract)
    }

    /// The same for a contract that was read already.
    ///
    /// # Errors
    /// Every problem of the contract.
    pub fn emit(&self, mut contract: Contract) -> Result<Generated, Diagnostics> {
        let mut modules: BTreeMap<String, (Vec<String>, TokenStream, Option<&'static str>)> = BTreeMap::new();
        let mut losses = Vec::new();
        let mut diagnostics = std::mem::take(&mut contract.diagnostics);
        {
            let Contract { graph, api, shapes, tables, options, .. } = &contract;
            let builders = self.builders(api, shapes);
            let emitter = Emitter::new(graph, shapes, tables, options.implied_objects, builders);
            for (area, tokens) in emitter.areas() {
                let doc = self.config.areas.iter().find(|a| a.name == area).map(|a| a.doc.clone());
                let doc = doc.unwrap_or_else(|| "The types of the contract.".to_owned());
                modules.insert(area, (vec![doc], tokens, None));
            }
            modules.insert(
                "types".into(),
                (vec!["Every type of the contract by its own name.".into()], emitter.reexports(), None),
            );
            modules.insert(
                "schemas".into(),
                (vec!["The schemas as tables, for the validators.".into()], tables.tokens(), None),
            );
            for side in [Side::Paths, Side::Webhooks] {
                let what = operations::Contract {
                    graph,
                    api,
                    types: &emitter,
                    config: &self.config.operations,
                    side,
                };
                for (name, doc, tokens, feature) in self.calls(what, &mut losses, &mut diagnostics) {
                    modules.insert(name.to_owned(), (vec![doc.to_owned()], tokens, feature));
                }
            }
        }
        for table in &self.config.tables {
            if let Some((name, tokens)) = self.table(table, &mut contract.sources, &mut diagnostics) {
                let doc = if table.doc.is_empty() {
                    format!("The rows of `{}`.", table.name)
                } else {
                    table.doc.clone()
                };
                modules.insert(name, (vec![doc], tokens, None));
            }
        }
        let files = self.print(&contract, modules, &mut diagnostics);
        diagnostics.attach(&contract.sources);
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        contract.diagnostics = diagnostics;
        Ok(Generated { files, contract, losses })
    }

    /// The modules of the operations of one side: name, documentation, code, feature.
    fn calls(
        &self,
        what: operations::Contract<'_>,
        losses: &mut Vec<Loss>,
        diagnostics: &mut Diagnostics,
    ) -> Vec<(&'static str, &'static str, TokenStream, Option<&'static str>)> {
        let output = &self.config.output;
        let (operations, webhooks) = (what.side == Side::Paths, what.side == Side::Webhooks);
        let mut out = Vec::new();
        if what.operations().is_empty() {
            return out;
        }
        let table = operations::operations(what, diagnostics);
        out.push(match what.side {
            Side::Paths => ("operations", "The operations of the contract.", table, None),
            Side::Webhooks => ("webhooks", "The webhooks and callbacks of the contract.", table, None),
        });
        let both = match (output.client, output.server) {
            (true, true) => Some("client,server"),
            (true, false) => Some("client"),
            (false, true) => Some("server"),
            (false, false) => return out,
        };
        if let Some(tokens) = operations::bodies(what) {
            let name = if operations { "bodies" } else { "webhook_bodies" };
            out.push((name, "Request bodies of several media types, or of parts.", tokens, both));
        }
        if output.server {
            let tokens = server(what, diagnostics);
            out.push(match what.side {
                Side::Paths => (
                    "server",
                    "The server interface: a trait, and the router that calls it.",
                    tokens,
                    Some("server"),
                ),
                Side::Webhooks => (
                    "webhook_server",
                    "What receives webhooks: a trait, and the router that calls it.",
                    tokens,
                    Some("server"),
                ),
            });
        }
        if output.client {
            let options = ClientOptions::from(&self.config.client);
            match client(what.api, what.graph, what.types, &options, what.side) {
                Ok(module) => {
                    losses.extend(module.losses.into_iter().filter(|_| !webhooks));
                    diagnostics.append(module.diagnostics);
                    out.push(match what.side {
                        Side::Paths => (
                            "client",
                            "The client: one method for each operation.",
                            module.tokens,
                            Some("client"),
                        ),
                        Side::Webhooks => (
                            "webhook_client",
                            "The sender of webhooks: one method for each.",
                            module.tokens,
                            Some("client"),
                        ),
                    });
                }
                Err(problems) => diagnostics.append(problems),
            }
        }
        out
    }

    fn print(
        &self,
        contract: &Contract,
        mut modules: BTreeMap<String, (Vec<String>, TokenStream, Option<&'static str>)>,
        diagnostics: &mut Diagnostics,
    ) -> Files {
        let folder = match self.config.output.layout {
            Layout::Crate => "src/",
            Layout::Modules => "",
        };
        let declarations = modules.iter().map(|(name, (_, _, feature))| {
            let name = ident(name);
            let gate = feature.map(|f| match f.split_once(',') {
                Some((one, other)) => quote!(#[cfg(any(feature = #one, feature = #other))]),
                None => quote!(#[cfg(feature = #f)]),
            });
            quote!(#gate pub mod #name;)
        });
        // The compiler's own limit is 128, and it descends a few steps for each type.
        let depth = contract.shapes.depth();
        let limit = (depth > COMFORTABLE_DEPTH).then(|| (depth * 8).to_string());
        let attribute = match (&limit, self.config.output.layout) {
            (Some(limit), Layout::Crate) => Some(quote!(#![recursion_limit = #limit])),
            (Some(limit), Layout::Modules) => {
                let message =
                    format!("{depth} types stand inside each other, more than the compiler allows by itself");
                let help = format!("write `#![recursion_limit = \"{limit}\"]` at the top of your lib.rs");
                diagnostics.push(Diagnostic::note("deep-types", message).help(help));
                None
            }
            (None, _) => None,
        };
        let root = quote!(#attribute #(#declarations)*);
        let version = if contract.api.version.is_empty() {
            String::new()
        } else {
            format!(", version {}", contract.api.version)
        };
        let title = if contract.api.title.is_empty() {
            "the contract".to_owned()
        } else {
            crate::emit::markdown(&contract.api.title)
        };
        let mut doc = vec![format!("Generated from {title}{version}.")];
        doc.push(String::new());
        doc.push("Inputs:".to_owned());
        doc.push(String::new());
        for source in contract.sources.sources.iter() {
            doc.push(format!(
                "* `{}` sha256 {}",
                source.name,
                source.digest.get(..16).unwrap_or(&source.digest)
            ));
        }
        let root_name = match self.config.output.layout {
            Layout::Crate => "lib",
            Layout::Modules => "root",
        };
        modules.insert(root_name.to_owned(), (doc, root, None));
        let modules: Vec<Module> = modules
            .into_iter()
            .map(|(name, (doc, tokens, _))| {
                let doc = doc.iter().flat_map(|d| d.lines().chain(d.is_empty().then_some("")));
                Module::new(name, doc.map(str::to_owned).collect(), &tokens)
            })
            .collect();
        let mut files = Files::default();
        for (module, printed) in modules.iter().zip(render::modules(&modules)) {
            let name = &module.name;
            match printed {
                Ok(text) => files.insert(format!("{folder}{name}.rs"), text),
                Err(error) => diagnostics.push(Diagnostic::error(
                    "internal",
                    format!("the generator wrote no valid Rust for module `{name}`: {error}"),
                )),
            }
        }
        if self.config.output.layout == Layout::Crate {
            crate::package::add(self, contract, &mut files);
        }
        files
    }

    /// The module of a registry table; its file joins the sources, so that diagnostics show it.
    fn table(
        &self,
        table: &crate::config::Table,
        sources: &mut Sources,
        diagnostics: &mut Diagnostics,
    ) -> Option<(String, TokenStream)> {
        let path = self.base.join(&table.file);
        let read = match load(std::slice::from_ref(&path), &[]) {
            Ok(read) => read,
            Err(problems) => {
                diagnostics.append(problems);
                return None;
            }
        };
        let source = read.sources.into_iter().next()?;
        let known = sources.sources.iter().position(|s| s.uri == source.uri && s.digest == source.digest);
        let index = known.unwrap_or_else(|| {
            sources.sources.push(source);
            sources.sources.len() - 1
        });
        let id = SourceId(u32::try_from(index).ok()?);
        let tokens = registry(table, id, &sources.sources[index].tree, diagnostics)?;
        let name = names::field_name(&table.name).trim_start_matches("r#").to_owned();
        Some((format!("{name}s"), tokens))
    }

    /// The structs that get a builder.
    fn builders(&self, api: &Api, shapes: &Shapes) -> BTreeSet<TypeId> {
        let mut found = BTreeSet::new();
        match self.config.types.builders {
            Builders::None => {}
            Builders::All => found.extend(shapes.ids()),
            Builders::Requests => {
                for operation in &api.operations {
                    let bodies = operation.request_body.iter().flat_map(|b| &b.content);
                    for schema in bodies.filter_map(|m| m.schema) {
                        reach(shapes, shapes.of(schema), &mut found);
                    }
                }
            }
        }
        found
    }
}

fn only(diagnostic: Diagnostic) -> Diagnostics {
    let mut all = Diagnostics::new();
    all.push(diagnostic);
    all
}

/// How many types may stand inside each other before the compiler has to be told.
const COMFORTABLE_DEPTH: usize = 24;

/// Module names that generated code uses itself.
const RESERVED: &[&str] = &[
    "types",
    "schemas",
    "operations",
    "bodies",
    "client",
    "server",
    "webhooks",
    "webhook_bodies",
    "webhook_client",
    "webhook_server",
    "root",
    "lib",
];

fn reach(shapes: &Shapes, ty: &TypeRef, found: &mut BTreeSet<TypeId>) {
    match ty {
        TypeRef::Named(id) => {
            if !found.insert(*id) {
                return;
            }
            match &shapes.get(*id).body {
                Body::Struct(s) => {
                    s.fields.iter().for_each(|f| reach(shapes, &f.ty, found));
                    s.additional.iter().for_each(|t| reach(shapes, t, found));
                }
                Body::Tagged(t) => t.variants.iter().for_each(|v| reach(shapes, &v.ty, found)),
                Body::ByKind(v) => v.iter().for_each(|v| reach(shapes, &v.ty, found)),
                Body::Newtype(inner) => reach(shapes, inner, found),
                Body::Enum(_) | Body::Pending => {}
            }
        }
        TypeRef::Vec(t) | TypeRef::Map(t) | TypeRef::Nullable(t) | TypeRef::Boxed(t) => {
            reach(shapes, t, found)
        }
        TypeRef::Tuple(inner) => inner.iter().for_each(|t| reach(shapes, t, found)),
        _ => {}
    }
}

/// The schemas whose location ends with a selector.
#[must_use]
pub fn select(graph: &Graph, selector: &str) -> Vec<SchemaId> {
    let whole = |location: &str| {
        location.strip_suffix(selector).is_some_and(|before| {
            before.is_empty() || before.ends_with(['/', '#']) || selector.starts_with('#')
        })
    };
    graph
        .ids()
        .filter(|&id| {
            let location = graph.location(id);
            whole(&location) || whole(location.trim_end_matches('#'))
        })
        .collect()
}

/// Every place of an operation that has a type, with the name that an anonymous one takes.
fn places(api: &Api) -> Vec<(SchemaId, String)> {
    let mut out = Vec::new();
    for operation in api.operations.iter().chain(&api.webhooks) {
        operation_places(operation, &mut out);
    }
    out
}

fn operation_places(operation: &Operation, out: &mut Vec<(SchemaId, String)>) {
    let base = names::type_name(&operation.id);
    for parameter in &operation.parameters {
        if let Some(schema) = parameter.schema {
            out.push((schema, format!("{base}{}", names::variant_name(&parameter.name))));
        }
    }
    if let Some(body) = &operation.request_body {
        out.extend(body.content.iter().filter_map(|m| Some((m.schema?, format!("{base}Body")))));
    }
    for response in &operation.responses {
        let status = match response.status {
            crate::api::Status::Code(code) => format!("{code}"),
            crate::api::Status::Range(digit) => format!("{digit}xx"),
            crate::api::Status::Default => "Default".to_owned(),
        };
        out.extend(
            response.content.iter().filter_map(|m| Some((m.schema?, format!("{base}Answer{status}")))),
        );
        out.extend(
            response
                .headers
                .iter()
                .filter_map(|h| Some((h.schema?, format!("{base}{}", names::variant_name(&h.name))))),
        );
    }
}

/// All documents' operations as one.
fn merged(apis: Vec<Api>) -> Api {
    let mut apis = apis.into_iter();
    let mut all = apis.next().unwrap_or_default();
    for api in apis {
        all.tags.extend(api.tags);
        all.operations.extend(api.operations);
        all.webhooks.extend(api.webhooks);
        all.servers.extend(api.servers);
        all.security_schemes.extend(api.security_schemes);
    }
    all
}
