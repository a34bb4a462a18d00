//! The pipeline: load → resolve → prune → shape → plan → tables, then emit → operations
//! → views → registries → render.

mod builders;
mod directions;
mod models;
mod modules;
mod named;
mod operations;
mod options;
mod output;
mod ranges;
mod registries;
mod secrets;
mod unchecked;
mod vendor;
mod views;

use std::path::{Path, PathBuf};

use self::modules::{Modules, Source};
pub(crate) use self::options::RESERVED;
pub use self::options::{select, selector};
use crate::{
    api::Api,
    command_line,
    config::{Config, ConfigFile},
    credentials::locate_tokens,
    diagnostics::{Diagnostic, Diagnostics},
    emit::Emitter,
    formats::Mapped,
    load::{self, Sources, load_all},
    naming::Names,
    plan::{Given, Plan, Plans, SCOPE, Side, check_places, plan, settle_constants},
    proof::structure::warn_of_gaps,
    prune::{Settled, prune},
    reading::Reading,
    render::Files,
    resolve::{ResolveOptions, is_openapi_30, resolve},
    shape::shape,
    stack::deep,
    tables::{Shelves, TablePlan, TableSet, patterns},
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
    /// What there is, by what it is called: `structs`, `fields`, `operations`.
    pub counts: Vec<(&'static str, usize)>,
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
        deep(|| self.understood(step).and_then(|contract| self.accepted(contract)))
    }

    /// What could be read, with all problems; an error where nobody could go on.
    fn understood(&self, step: Step<'_>) -> Result<Reading, Diagnostics> {
        let (sources, problems) = self.load(step)?;
        self.understand_with(sources, problems, step)
    }

    fn load(&self, step: Step<'_>) -> Result<(Sources, Diagnostics), Diagnostics> {
        step("reading the contract");
        let mut inputs: Vec<PathBuf> = self.config.inputs.iter().map(|p| self.base.join(p)).collect();
        inputs.extend(self.inputs.iter().cloned());
        let mounts: Vec<(String, PathBuf)> =
            self.config.mounts.iter().map(|(uri, path)| (uri.clone(), self.base.join(path))).collect();
        self.mounted(&mounts)?;
        Ok(load_all(&inputs, &mounts))
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
        deep(|| {
            self.understand_with(sources, Diagnostics::new(), &|_| {})
                .and_then(|contract| self.accepted(contract))
        })
    }

    /// A contract in which nothing is wrong, or nothing that its owner does not let pass.
    fn accepted(&self, mut contract: Reading) -> Result<Reading, Diagnostics> {
        contract.diagnostics.settle(self.config.input.faults);
        if contract.diagnostics.has_errors() { Err(contract.diagnostics) } else { Ok(contract) }
    }

    /// All rounds of reading: each goes on as long as what the ones before found can be mended.
    fn understand_with(
        &self,
        mut sources: Sources,
        mut unread: Diagnostics,
        step: Step<'_>,
    ) -> Result<Reading, Diagnostics> {
        named::check(&self.config)?;
        let named = |file: &Path| self.config.place("input.overlays", &file.to_string_lossy());
        sources.mend_all(&self.config.input, &self.base, &named, &mut unread);
        let bytes: usize = sources.sources.iter().map(|source| source.text.len()).sum();
        step(&format!("settling the references of {} KB in {}", bytes / 1000, documents(&sources)));
        let (mut graph, apis, mut diagnostics) =
            resolve(&mut sources, &ResolveOptions::from(&self.config.types));
        for prefix in sources.unused_mounts() {
            diagnostics.push(
                Diagnostic::warning("mount", format!("no reference asks for what is mounted at `{prefix}`"))
                    .maybe_at(self.config.place("mounts", prefix))
                    .help("remove the mount, or correct its prefix: it is the start of the URIs that it answers"),
            );
        }
        // What is wrong in a part that nobody asked for may stay wrong.
        let stuck = diagnostics.has_fatal() && self.config.operations.takes_all();
        if stuck || unread.has_fatal() {
            diagnostics.append(unread);
            if let Some(file) = &self.config.file {
                diagnostics.attach(file);
            }
            diagnostics.settle(self.config.input.faults);
            return Err(diagnostics);
        }
        let api = merged(apis);
        let is_old = |source| is_openapi_30(&sources, source);
        directions::settle(&mut graph, &api, is_old, &mut diagnostics);
        options::imply(&self.config, &mut graph, &mut diagnostics);
        options::families(&self.config, &mut graph, &mut diagnostics);
        options::allow_null(&self.config, &mut graph, &mut diagnostics);
        let options = self.options(&graph, &api, &mut diagnostics);
        let names = Names::settle(&graph, &api, &options);
        named::settled(&self.config, &graph, &names, &mut diagnostics);
        let settled = Settled { graph, api, options, names };
        let (settled, whole) = prune(settled, &self.config, &sources, &mut diagnostics);
        let Settled { mut graph, mut api, options, names } = settled;
        check_places(&graph, &self.config.operations, &api.operations, &mut diagnostics);
        settle_constants(&graph, &self.config, &mut api.operations);
        step(&format!("deciding the types of {} schemas", graph.schemas.len()));
        let (compiled, refused) = patterns(&graph);
        let unchecked = unchecked::patterns(&self.config.types, &graph, &options, refused, &mut diagnostics);
        unchecked::loosen(&mut graph, &options, &unchecked, &mut diagnostics);
        let named_rows = names.rows.clone();
        let shapes = shape(&graph, &api, &options, names);
        ranges::settle(&mut api, &self.config, (&graph, &shapes), &mut diagnostics);
        vendor::enumerations(&graph, &shapes, options.implied_objects, &mut diagnostics);
        warn_of_gaps(&graph, &shapes, options.implied_objects, &mut diagnostics);
        options::idle(&self.config, &graph, &shapes, &mut diagnostics);
        secrets::check(&self.config, (&graph, &api), &shapes, &options, &mut diagnostics);
        let rows = TablePlan::new(&graph, &shapes, compiled, &named_rows, &options.formats);
        diagnostics.attach(&sources);
        if let Some(file) = &self.config.file {
            diagnostics.attach(file);
        }
        Ok(Reading { sources, graph, api, shapes, rows, diagnostics, options, whole })
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
        deep(|| self.understood(step).and_then(|contract| self.emit_with(contract, step)))
    }

    /// The same for a contract that was read already.
    ///
    /// # Errors
    /// Every problem of the contract.
    pub fn emit(&self, contract: Reading) -> Result<Generated, Diagnostics> {
        deep(|| self.emit_with(contract, &|_| {}))
    }

    fn emit_with(&self, mut contract: Reading, step: Step<'_>) -> Result<Generated, Diagnostics> {
        let config = &self.config;
        let mut diagnostics = std::mem::take(&mut contract.diagnostics);
        let mut modules = Modules::default();
        step(&format!("writing {} types", contract.shapes.types.len()));
        let registries = registries::modules(self, &contract.api, &mut contract.sources, &mut diagnostics);
        let shelves = Shelves::default();
        let tables = contract.tables(&shelves);
        let emitter = self.emitter(&contract, &tables);
        modules.add(models::areas(config, &emitter), Source::Area, config, &mut diagnostics);
        modules.add(models::shared(&emitter, &tables), Source::Generator, config, &mut diagnostics);
        let formats = models::formats(&contract.options.formats);
        modules.add(formats.into_iter().collect(), Source::Generator, config, &mut diagnostics);
        if config.output.has_schemas() {
            let replaced = registries::replaced(config, &contract.options);
            let module = models::json_schemas(&emitter, &replaced, &registries::texts(config));
            modules.add(module.into_iter().collect(), Source::Generator, config, &mut diagnostics);
        }
        if config.output.has_strategies() {
            let module = models::strategies(&emitter);
            modules.add(module.into_iter().collect(), Source::Generator, config, &mut diagnostics);
        }
        let plans = self.plans(&contract);
        command_line::check(config, &plans.paths, &mut diagnostics);
        operations::idle(config, &plans, &mut diagnostics);
        let views = views::modules(config, &contract, &plans, &emitter, &mut diagnostics);
        modules.add(views, Source::Generator, config, &mut diagnostics);
        for plan in plans.iter().filter(|plan| self.writes(plan)) {
            step(&format!("writing {} {}", plan.calls.len(), plan.side.table().0));
            let written = operations::modules(config, plan, &contract.graph, &emitter, &mut diagnostics);
            modules.add(written, Source::Generator, config, &mut diagnostics);
        }
        modules.add(registries, Source::Table, config, &mut diagnostics);
        let counts = contract.counts(&plans);
        step(&format!("printing {} modules", modules.len() + 1));
        let files = output::print(self, &contract, modules, &mut diagnostics);
        diagnostics.attach(&contract.sources);
        diagnostics.settle(config.input.faults);
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        contract.diagnostics = diagnostics;
        Ok(Generated { files, contract, counts })
    }

    /// The writer of types, which all others ask how a type is printed.
    fn emitter<'a>(&self, contract: &'a Reading, tables: &'a TableSet<'a>) -> Emitter<'a> {
        let Reading { graph, api, shapes, options, .. } = contract;
        let mut generated = registries::types(&self.config);
        generated.extend(options.formats.iter().map(Mapped::path));
        let builders = builders::of(self.config.types.builders, api, shapes);
        Emitter::new(graph, shapes, tables, options.implied_objects, builders)
            .beside(&generated)
            .dressed(options)
    }

    /// What is decided about the operations of both sides.
    #[must_use]
    pub(crate) fn plans<'a>(&'a self, contract: &'a Reading) -> Plans<'a> {
        Plans { paths: self.plan(contract, Side::Paths), webhooks: self.plan(contract, Side::Webhooks) }
    }

    /// Whether anything is written of a side: it has operations, and either half is asked for.
    const fn writes(&self, plan: &Plan<'_>) -> bool {
        !plan.calls.is_empty() && (self.config.output.client || self.config.output.server)
    }

    /// What is decided about the operations of one side.
    #[must_use]
    pub(crate) fn plan<'a>(&'a self, contract: &'a Reading, side: Side) -> Plan<'a> {
        deep(|| plan(self.given(contract), side))
    }

    /// What plans are made from.
    pub(crate) fn given<'a>(&'a self, contract: &'a Reading) -> Given<'a> {
        Given {
            graph: &contract.graph,
            shapes: &contract.shapes,
            api: &contract.api,
            operations: &self.config.operations,
            client: &self.config.client,
            streams: self.config.streams.as_ref(),
            pages: &self.config.pages,
            scope_table: self.config.tables.iter().any(|table| table.name == SCOPE),
            implied_objects: contract.options.implied_objects,
        }
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

/// All documents' operations as one.
fn merged(mut apis: Vec<Api>) -> Api {
    apis.iter_mut().for_each(locate_tokens);
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
