//! The pipeline: load → resolve → prune → shape → tables → emit → render.

mod modules;
mod options;
mod output;
mod unchecked;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use proc_macro2::TokenStream;

use self::modules::{Modules, Source};
pub(crate) use self::options::RESERVED;
pub use self::{
    options::{select, selector},
    output::FILE,
};
/// Another name of [`Reading`].
use crate::{
    api::Api,
    calls,
    client::client,
    config::{Builders, Config, ConfigFile, Table, UnknownKeywords},
    diagnostics::{Diagnostic, Diagnostics},
    emit::Emitter,
    load::{self, Sources, load},
    lower::{self, Loss},
    names,
    naming::Names,
    operations,
    plan::{Given, Plan, Side, plan},
    proof::structure::warn_of_gaps,
    prune::{Settled, prune},
    reading::Reading,
    registry::registry,
    render::{Files, Gate, Module, Part},
    resolve::{self, ResolveOptions, resolve},
    schema::Graph,
    server::server,
    shape::{Body, Shapes, TypeId, TypeRef, shape},
    stack::deep,
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

/// Hears what is done at the moment, in a few words.
pub type Step<'a> = &'a (dyn Fn(&str) + Sync);

/// Output, and what there is to say about it.
#[derive(Debug)]
pub struct Generated {
    /// The files.
    pub files: Files,
    /// The contract that they were made from.
    pub contract: Reading,
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
        let mut config: Config = toml::from_str(&text).map_err(|e| {
            let message = format!("{} is not a valid codegen.toml:\n{e}", path.display());
            only(Diagnostic::error("config", message))
        })?;
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        config.file = Some(ConfigFile { name, text: text.into() });
        let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(Self { config, base, inputs: Vec::new() })
    }

    /// Reads the contract and decides all types.
    ///
    /// # Errors
    /// Every problem of every file.
    pub fn read(&self) -> Result<Reading, Diagnostics> {
        self.read_with(&|_| {})
    }

    /// The same, and hears what is done at the moment.
    ///
    /// # Errors
    /// Every problem of every file.
    pub fn read_with(&self, step: Step<'_>) -> Result<Reading, Diagnostics> {
        deep(|| self.load(step).and_then(|sources| self.understand_with(sources, step)))
    }

    fn load(&self, step: Step<'_>) -> Result<Sources, Diagnostics> {
        step("reading the contract");
        let mut inputs: Vec<PathBuf> = self.config.inputs.iter().map(|p| self.base.join(p)).collect();
        inputs.extend(self.inputs.iter().cloned());
        let mounts: Vec<(String, PathBuf)> =
            self.config.mounts.iter().map(|(uri, path)| (uri.clone(), self.base.join(path))).collect();
        self.mounted(&mounts)?;
        load(&inputs, &mounts)
    }

    /// Whether everything is there that is mounted.
    fn mounted(&self, mounts: &[(String, PathBuf)]) -> Result<(), Diagnostics> {
        let mut problems = Diagnostics::new();
        for (prefix, path) in mounts {
            let place = self.config.place("mounts", prefix);
            problems.extend(load::missing(prefix, path).map(|problem| problem.maybe_at(place)));
        }
        if let Some(file) = &self.config.file {
            problems.attach(file);
        }
        if problems.has_errors() { Err(problems) } else { Ok(()) }
    }

    /// The same for documents that were read already.
    ///
    /// # Errors
    /// Every problem of every document.
    pub fn understand(&self, sources: Sources) -> Result<Reading, Diagnostics> {
        deep(|| self.understand_with(sources, &|_| {}))
    }

    fn understand_with(&self, mut sources: Sources, step: Step<'_>) -> Result<Reading, Diagnostics> {
        let bytes: usize = sources.sources.iter().map(|source| source.text.len()).sum();
        step(&format!("settling the references of {} KB in {}", bytes / 1000, documents(&sources)));
        let unknown_keywords = match self.config.types.unknown_keywords {
            UnknownKeywords::Deny => resolve::UnknownKeywords::Deny,
            UnknownKeywords::Warn => resolve::UnknownKeywords::Warn,
            UnknownKeywords::Ignore => resolve::UnknownKeywords::Ignore,
        };
        let nullable = match self.config.types.nullable {
            crate::config::Nullable::OrNull => resolve::Nullable::OrNull,
            crate::config::Nullable::Strict => resolve::Nullable::Strict,
        };
        let (graph, apis, mut diagnostics) =
            resolve(&mut sources, &ResolveOptions { unknown_keywords, nullable });
        for prefix in sources.unused_mounts() {
            diagnostics.push(
                Diagnostic::warning("mount", format!("no reference asks for what is mounted at `{prefix}`"))
                    .maybe_at(self.config.place("mounts", prefix))
                    .help("remove the mount, or correct its prefix: it is the start of the URIs that it answers"),
            );
        }
        // What is wrong in a part that nobody asked for may stay wrong; circles have to go, since
        // all types are looked at.
        let circular = diagnostics.iter().any(|each| each.code == "reference-cycle");
        if diagnostics.has_errors() && (circular || self.config.operations.takes_all()) {
            return Err(diagnostics);
        }
        let api = merged(apis);
        let options = self.options(&graph, &api, &mut diagnostics);
        let names = Names::settle(&graph, &api, &options);
        let settled = Settled { graph, api, options, names };
        let (settled, whole) = prune(settled, &self.config, &sources, &mut diagnostics);
        let Settled { mut graph, api, options, names } = settled;
        step(&format!("deciding the types of {} schemas", graph.schemas.len()));
        let (compiled, refused) = patterns(&graph);
        let unchecked = unchecked::patterns(&self.config.types, &graph, &options, refused, &mut diagnostics);
        unchecked::loosen(&mut graph, &options, &unchecked, &mut diagnostics);
        let shapes = shape(&graph, &api, &options, names);
        warn_of_gaps(&graph, &shapes, options.implied_objects, &mut diagnostics);
        options::idle(&self.config, &graph, &shapes.decided, &mut diagnostics);
        let tables = TableSet::new(&graph, &shapes, compiled);
        diagnostics.attach(&sources);
        if let Some(file) = &self.config.file {
            diagnostics.attach(file);
        }
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        Ok(Reading { sources, graph, api, shapes, tables, diagnostics, options, whole })
    }

    /// Generates everything that the configuration asks for.
    ///
    /// # Errors
    /// Every problem of the contract; nothing is written half.
    pub fn generate(&self) -> Result<Generated, Diagnostics> {
        self.generate_with(&|_| {})
    }

    /// The same, and hears what is done at the moment.
    ///
    /// # Errors
    /// Every problem of the contract; nothing is written half.
    pub fn generate_with(&self, step: Step<'_>) -> Result<Generated, Diagnostics> {
        deep(|| self.read_with(step).and_then(|contract| self.emit_with(contract, step)))
    }

    /// The same for a contract that was read already.
    ///
    /// # Errors
    /// Every problem of the contract.
    pub fn emit(&self, contract: Reading) -> Result<Generated, Diagnostics> {
        deep(|| self.emit_with(contract, &|_| {}))
    }

    fn emit_with(&self, mut contract: Reading, step: Step<'_>) -> Result<Generated, Diagnostics> {
        step(&format!("writing {} types", contract.shapes.types.len()));
        let mut modules = Modules::default();
        let mut losses = Vec::new();
        let mut diagnostics = std::mem::take(&mut contract.diagnostics);
        {
            let Reading { graph, api, shapes, tables, options, .. } = &contract;
            let builders = self.builders(api, shapes);
            let emitter = Emitter::new(graph, shapes, tables, options.implied_objects, builders)
                .beside(&self.config.tables.iter().map(table_path).collect());
            for (area, tokens) in emitter.areas() {
                let doc = self.config.areas.iter().find(|a| a.name == area).map(|a| a.doc.clone());
                let doc = doc.unwrap_or_else(|| "The types of the contract.".to_owned());
                modules.add(
                    Module::new(area, lines(&doc), &tokens),
                    Source::Area,
                    &self.config,
                    &mut diagnostics,
                );
            }
            let types = lines("Every type of the contract by its own name.");
            let types = Module::new("types", types, &emitter.reexports());
            modules.add(types, Source::Generator, &self.config, &mut diagnostics);
            let schemas = lines("The schemas as tables, for the validators.");
            let schemas = Module::new("schemas", schemas, &tables.tokens()).followed_by(tables.text());
            modules.add(schemas, Source::Generator, &self.config, &mut diagnostics);
            let output = &self.config.output;
            for side in [Side::Paths, Side::Webhooks] {
                let plan = plan(self.given(&contract), side, &mut diagnostics);
                if plan.calls.is_empty() || !(output.client || output.server) {
                    continue;
                }
                let what = match side {
                    Side::Paths => "operations",
                    Side::Webhooks => "webhooks",
                };
                step(&format!("writing {} {what}", plan.calls.len()));
                if side == Side::Paths && output.client {
                    losses = lower::lower(&plan, graph, shapes).losses;
                }
                for (name, doc, tokens, feature) in self.calls(&plan, graph, &emitter, &mut diagnostics) {
                    let module = Module::new(name, lines(doc), &tokens).behind(gate(feature));
                    modules.add(module, Source::Generator, &self.config, &mut diagnostics);
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
                let module = Module::new(name, lines(&doc), &tokens);
                modules.add(module, Source::Table, &self.config, &mut diagnostics);
            }
        }
        step(&format!("printing {} modules", modules.len() + 1));
        let files = output::print(self, &contract, modules, &mut diagnostics);
        diagnostics.attach(&contract.sources);
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        contract.diagnostics = diagnostics;
        Ok(Generated { files, contract, losses })
    }

    /// What is decided about the operations of one side.
    #[must_use]
    pub fn plan<'a>(&'a self, contract: &'a Reading, side: Side, diagnostics: &mut Diagnostics) -> Plan<'a> {
        plan(self.given(contract), side, diagnostics)
    }

    fn given<'a>(&'a self, contract: &'a Reading) -> Given<'a> {
        Given {
            graph: &contract.graph,
            shapes: &contract.shapes,
            api: &contract.api,
            operations: &self.config.operations,
            client: &self.config.client,
            implied_objects: contract.options.implied_objects,
        }
    }

    /// The modules of the operations of one side: name, documentation, code, feature.
    fn calls(
        &self,
        plan: &Plan<'_>,
        graph: &Graph,
        types: &Emitter<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Vec<(&'static str, &'static str, TokenStream, Option<&'static str>)> {
        let output = &self.config.output;
        let paths = plan.side == Side::Paths;
        let both = match (output.client, output.server) {
            (true, true) => Some("client,server"),
            (true, false) => Some("client"),
            (false, _) => Some("server"),
        };
        let mut out = Vec::new();
        let about = if paths {
            "The operations of the contract."
        } else {
            "The webhooks and callbacks of the contract."
        };
        out.push((plan.side.table().0, about, operations::operations(plan, graph, types), None));
        if let Some(tokens) = operations::bodies(plan, graph, types) {
            let about = "Request bodies of several media types, or of parts.";
            out.push((plan.side.bodies(), about, tokens, both));
        }
        if let Some(tokens) = calls::answers(plan, types) {
            let about = "Answers and refusals of several types.";
            out.push((plan.side.answers(), about, tokens, both));
        }
        let about = "What each operation is asked, in types that client and server share.";
        out.push((plan.side.calls(), about, calls::calls(plan, graph, types), both));
        if output.server {
            let (name, about) = match plan.side {
                Side::Paths => ("server", "The server interface: a trait, and the router that calls it."),
                Side::Webhooks => {
                    ("webhook_server", "What receives webhooks: a trait, and the router that calls it.")
                }
            };
            out.push((name, about, server(plan, types), Some("server")));
        }
        if output.client {
            let (name, about) = match plan.side {
                Side::Paths => ("client", "The client: one method for each operation."),
                Side::Webhooks => ("webhook_client", "The sender of webhooks: one method for each."),
            };
            let tokens = client(plan, graph, types, &self.config.client, diagnostics);
            out.push((name, about, tokens, Some("client")));
        }
        out
    }

    /// The module of a registry table; its file joins the sources, so that diagnostics show it.
    fn table(
        &self,
        table: &Table,
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
        Some((table_module(table), tokens))
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

/// The module of a registry table.
fn table_module(table: &Table) -> String {
    format!("{}s", names::field_name(&table.name).trim_end_matches('_'))
}

/// The enum of a registry table, as the models name it.
fn table_path(table: &Table) -> String {
    format!("super::{}::{}", table_module(table), table.name)
}

fn gate(feature: Option<&str>) -> Gate {
    match feature {
        None => &[],
        Some("client") => &[Part::Client],
        Some("server") => &[Part::Server],
        Some(_) => &[Part::Client, Part::Server],
    }
}

/// Documentation by lines.
fn lines(doc: &str) -> Vec<String> {
    if doc.is_empty() { vec![String::new()] } else { doc.lines().map(str::to_owned).collect() }
}

fn documents(sources: &Sources) -> String {
    match sources.sources.len() {
        1 => "one document".to_owned(),
        several => format!("{several} documents"),
    }
}

fn only(diagnostic: Diagnostic) -> Diagnostics {
    let mut all = Diagnostics::new();
    all.push(diagnostic);
    all
}

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

#[cfg(test)]
mod tests;
