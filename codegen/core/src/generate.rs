//! The pipeline from a contract to generated files.
//!
//! Stages: load → resolve → naming → prune → shape → tables → plan, then emit and the other writers → render.
//! [`Project`] is the entry point; [`crate::write`] writes the files.

mod builders;
mod code_names;
mod directions;
mod lint;
mod media_ranges;
mod media_selection;
mod models;
mod modules;
mod operations;
mod options;
mod output;
mod registries;
mod secrets;
mod suggestions;
mod unchecked;
mod user_names;
mod vendor_extensions;
mod views;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub use self::options::RESERVED;
pub use self::options::{select_schemas, shortest_selector};
use self::{
    lint::LintInput,
    modules::{ModuleOrigin, ModuleSet},
};
use crate::{
    analyzed_contract::AnalyzedContract,
    api::OpenApiDocument,
    command_line,
    config::{self, Config, ConfigFile},
    conjunction::sample::SampleCache,
    credentials::resolve_token_urls,
    diagnostics::{Diagnostic, Diagnostics},
    emit::ModelEmitter,
    formats::MappedFormat,
    load::{self, ContractInputs, DocumentFetcher, InputDocument, Sources, files, inputs, load_all},
    naming::TypeNames,
    package::CallSources,
    plan::{
        ContractPlan, DONE_MARKER, OperationSide, PlanInput, SCOPE, SidePlan, add_idempotency_headers,
        assign_constants, build_plan, check_ambiguous_paths, check_wire,
    },
    proof::structure::warn_of_gaps,
    prune::{NamedContract, prune_contract},
    render::OutputFiles,
    resolve::{ResolveOptions, is_openapi_30, resolve_documents},
    shape::build_shapes,
    stack::run_on_deep_stack,
    tables::{TableArenas, TablePlan, TableSet, compile_patterns},
    write::CargoWorkspace,
};

/// A contract to generate code from: its files and its options.
#[derive(Clone, Debug, Default)]
pub struct Project {
    /// The options, as a `codegen.toml` contains them.
    pub config: Config,
    /// The folder that relative paths in the options refer to.
    pub base: PathBuf,
    /// Files, folders and URLs of the contract, in addition to `inputs` in the options.
    pub inputs: Vec<PathBuf>,
    /// The folder to which the files in messages are relative. By default, it is the common folder of the inputs.
    pub shown_from: Option<PathBuf>,
    /// Documents of the contract that the caller has read.
    pub documents: Vec<InputDocument>,
    /// Downloads inputs and references that are URLs. Without it, nothing is downloaded.
    pub fetcher: Option<Arc<dyn DocumentFetcher>>,
}

/// A callback that receives a short description of each step of the generation, for progress output.
pub type ProgressCallback<'a> = &'a (dyn Fn(&str) + Sync);

/// The result of generating code for a contract.
#[derive(Debug)]
pub struct GeneratedCode {
    /// The content of the generated files by path.
    pub files: OutputFiles,
    /// The contract from which the files were generated, with its diagnostics.
    pub contract: AnalyzedContract,
    /// The number of generated items of each kind: `structs`, `fields`, `operations`.
    pub counts: Vec<(&'static str, usize)>,
}

impl Project {
    /// Opens a `codegen.toml` without reading the contract.
    ///
    /// The options are relative to the folder of the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not valid TOML, or contains an unknown option.
    pub fn from_config(path: &Path) -> Result<Self, Diagnostics> {
        let text = std::fs::read_to_string(path).map_err(|e| {
            single_diagnostic(
                Diagnostic::error("config", format!("cannot read {}: {e}", path.display()))
                    .help("give the path of a codegen.toml, or the contract's own files"),
            )
        })?;
        let mut config: Config = toml::from_str(&text).map_err(|error| {
            let table = error.span().and_then(|span| config::table_at(&text, span.start));
            let table = table.map_or_else(String::new, |table| format!("in the table `[{table}]`"));
            let message = format!("{} is not a valid codegen.toml:\n{error}{table}", path.display());
            let problem = Diagnostic::error("config", message);
            single_diagnostic(match suggestions::suggest_option(error.message()) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem,
            })
        })?;
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        config.file = Some(ConfigFile { name, text: text.into() });
        let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(Self { config, base, ..Self::default() })
    }

    /// Returns the absolute paths of the inputs, mounts and overlays in the options, without URLs. The result
    /// contains folders, because new files may appear in them, and because an invalid contract has no list of
    /// files that were read.
    pub fn configured_paths(&self) -> impl Iterator<Item = PathBuf> {
        let overlays = self.config.input.overlays.iter().map(|overlay| &overlay.file);
        let named = self.config.inputs.iter().chain(self.config.mounts.values()).chain(overlays);
        let local = named.filter(|path| inputs::as_url(path).is_none());
        local.map(|path| self.base.join(path)).map(|path| files::absolute_path(&path).unwrap_or(path))
    }

    /// Loads and analyzes the contract: resolves its references and determines the Rust type of each schema.
    pub fn read_contract(&self) -> Result<AnalyzedContract, Diagnostics> {
        self.read_contract_with(&|_| {})
    }

    /// Reads the contract like [`Self::read_contract`] and reports progress to `step`.
    ///
    /// # Errors
    /// Returns all problems of all files if the contract is invalid.
    pub fn read_contract_with(&self, step: ProgressCallback<'_>) -> Result<AnalyzedContract, Diagnostics> {
        run_on_deep_stack(|| self.read_unchecked(step).and_then(|contract| self.reject_errors(contract)))
    }

    /// Reads the contract without rejecting errors: they are among the diagnostics of the result. Returns an
    /// error only if a stage cannot continue.
    fn read_unchecked(&self, step: ProgressCallback<'_>) -> Result<AnalyzedContract, Diagnostics> {
        let (sources, problems) = self.load_sources(step)?;
        self.analyze_with(sources, problems, step)
    }

    fn load_sources(&self, step: ProgressCallback<'_>) -> Result<(Sources, Diagnostics), Diagnostics> {
        step("reading the contract");
        let configured = self.config.inputs.iter().map(|input| inputs::join_base(&self.base, input));
        let paths = configured.chain(self.inputs.iter().cloned()).collect();
        let mounts: Vec<(String, PathBuf)> =
            self.config.mounts.iter().map(|(uri, path)| (uri.clone(), self.base.join(path))).collect();
        self.check_mounts(&mounts)?;
        let Self { documents, fetcher, shown_from, .. } = self.clone();
        Ok(load_all(&ContractInputs { paths, documents, mounts, fetcher, shown_from }))
    }

    /// Returns an error if a folder or file in `mounts` does not exist.
    fn check_mounts(&self, mounts: &[(String, PathBuf)]) -> Result<(), Diagnostics> {
        let mut problems = Diagnostics::new();
        for (prefix, path) in mounts {
            let place = self.config.option_place("mounts", prefix);
            problems
                .extend(load::check_mount(prefix, path).map(|problem| problem.with_optional_place(place)));
        }
        if let Some(file) = &self.config.file {
            problems.attach_sources(file);
        }
        if problems.has_errors() { Err(problems) } else { Ok(()) }
    }

    /// Analyzes documents that are already loaded: resolves references and determines the Rust type of each
    /// schema.
    pub fn analyze_sources(&self, sources: Sources) -> Result<AnalyzedContract, Diagnostics> {
        run_on_deep_stack(|| {
            self.analyze_with(sources, Diagnostics::new(), &|_| {})
                .and_then(|contract| self.reject_errors(contract))
        })
    }

    /// Applies the option `input.faults`. Returns the contract, or its diagnostics if any of them is an
    /// error.
    fn reject_errors(&self, mut contract: AnalyzedContract) -> Result<AnalyzedContract, Diagnostics> {
        contract.diagnostics.apply_fault_policy(self.config.input.faults);
        if contract.diagnostics.has_errors() { Err(contract.diagnostics) } else { Ok(contract) }
    }

    /// Runs all analysis stages, from the overlays to the tables. Faults are collected, and the stages
    /// continue with the fallbacks. Returns the diagnostics if a fatal error prevents a later stage.
    fn analyze_with(
        &self,
        mut sources: Sources,
        mut unread: Diagnostics,
        step: ProgressCallback<'_>,
    ) -> Result<AnalyzedContract, Diagnostics> {
        user_names::check_names(&self.config)?;
        let named = |file: &Path| self.config.option_place("input.overlays", &file.to_string_lossy());
        sources.apply_overlays(&self.config.input, &self.base, &named, &mut unread);
        let bytes: usize = sources.sources.iter().map(|source| source.text.len()).sum();
        step(&format!("resolving references in {} KB of {}", bytes / 1000, count_documents(&sources)));
        let (mut graph, apis, mut diagnostics) =
            resolve_documents(&mut sources, &ResolveOptions::from(&self.config.types));
        for prefix in sources.unused_mounts() {
            diagnostics.push(
                Diagnostic::warning("mount", format!("no reference uses the mount `{prefix}`"))
                    .with_optional_place(self.config.option_place("mounts", prefix))
                    .help("remove the mount, or correct its prefix, which must be the start of the URIs in references"),
            );
        }
        // If only some operations are selected, an error may concern a part that is omitted, so it does not
        // stop the analysis.
        let stuck = diagnostics.has_fatal() && self.config.operations.selects_all();
        if stuck || unread.has_fatal() {
            diagnostics.append(unread);
            if let Some(file) = &self.config.file {
                diagnostics.attach_sources(file);
            }
            diagnostics.apply_fault_policy(self.config.input.faults);
            return Err(diagnostics);
        }
        let mut api = merge_apis(apis);
        code_names::apply_operation_names(&self.config, &mut api, &mut diagnostics);
        let is_old = |source| is_openapi_30(&sources, source);
        directions::relax_one_way_members(&mut graph, &api, is_old, &mut diagnostics);
        options::apply_implied_otherwise(&self.config, &mut graph, &mut diagnostics);
        options::apply_families(&self.config, &mut graph, &mut diagnostics);
        options::allow_null(&self.config, &mut graph, &mut diagnostics);
        let variants = code_names::apply_variant_names(&self.config, &mut graph, &mut diagnostics);
        let mut options = self.resolve_options(&graph, &api, &mut diagnostics);
        options.value_names = variants;
        media_selection::premark_media_types(&mut api, &self.config);
        let names = TypeNames::assign_names(&graph, &api, &options);
        user_names::check_contested_names(&self.config, &graph, &names, &mut diagnostics);
        user_names::note_changed_names(&graph, &names, &mut diagnostics);
        let named = NamedContract { graph, api, options, names };
        let (named, whole) = prune_contract(named, &self.config, &sources, &mut diagnostics);
        let NamedContract { mut graph, mut api, options, names } = named;
        check_ambiguous_paths(&graph, &self.config.operations, &api.operations, &mut diagnostics);
        add_idempotency_headers(&self.config.operations, &mut api);
        assign_constants(&graph, &self.config, &mut api.operations);
        step(&format!("determining the types of {} schemas", graph.schemas.len()));
        let (compiled, refused) = compile_patterns(&graph);
        let unchecked =
            unchecked::report_patterns(&self.config.types, &graph, &options, refused, &mut diagnostics);
        unchecked::loosen_schemas(&mut graph, &options, &unchecked, &mut diagnostics);
        let named_rows = names.rows.clone();
        let shapes = build_shapes(&graph, &api, &options, names);
        media_ranges::read_ranges_as_json(&mut api, &self.config, (&graph, &shapes), &mut diagnostics);
        media_selection::omit_media_types(&mut api, &self.config, &mut diagnostics);
        vendor_extensions::check_enum_extensions(&graph, &shapes, options.implied_objects, &mut diagnostics);
        warn_of_gaps(&graph, &shapes, options.implied_objects, &mut diagnostics);
        options::check_unused_options(&self.config, &graph, &shapes, &options, &mut diagnostics);
        code_names::check_variant_names(&self.config, &graph, &shapes, &options, &mut diagnostics);
        secrets::check_secrets(&self.config, (&graph, &api), &shapes, &options, &mut diagnostics);
        let rows = TablePlan::new(&graph, &shapes, compiled, &named_rows, &options.formats);
        let input = LintInput {
            sources: &sources,
            graph: &graph,
            api: &api,
            shapes: &shapes,
            options: &options,
            plan: &rows,
        };
        let overlapping_unions = lint::lint_contract(input, &mut diagnostics);
        let has_done_marker = sources.sources.iter().any(|source| source.text.contains(DONE_MARKER));
        diagnostics.attach_sources(&sources);
        if let Some(file) = &self.config.file {
            diagnostics.attach_sources(file);
        }
        Ok(AnalyzedContract {
            sources,
            graph,
            api,
            shapes,
            table_plan: rows,
            diagnostics,
            options,
            full_size: whole,
            has_done_marker,
            overlapping_unions,
        })
    }

    /// Reads the contract and generates all configured files, without writing them.
    ///
    /// # Errors
    /// Returns all problems of the contract if any of them is an error.
    pub fn generate(&self) -> Result<GeneratedCode, Diagnostics> {
        self.generate_with(&|_| {})
    }

    /// Generates files like [`Self::generate`] and reports progress to `step`.
    ///
    /// # Errors
    /// Returns all problems of the contract if any of them is an error.
    pub fn generate_with(&self, step: ProgressCallback<'_>) -> Result<GeneratedCode, Diagnostics> {
        run_on_deep_stack(|| self.read_unchecked(step).and_then(|contract| self.emit_files(contract, step)))
    }

    /// Generates files from a contract that this project has already read.
    ///
    /// # Errors
    /// Returns all problems of the contract if any of them is an error.
    pub fn generate_from(&self, contract: AnalyzedContract) -> Result<GeneratedCode, Diagnostics> {
        run_on_deep_stack(|| self.emit_files(contract, &|_| {}))
    }

    fn emit_files(
        &self,
        mut contract: AnalyzedContract,
        step: ProgressCallback<'_>,
    ) -> Result<GeneratedCode, Diagnostics> {
        let config = &self.config;
        let mut diagnostics = std::mem::take(&mut contract.diagnostics);
        let mut modules = ModuleSet::default();
        step(&format!("writing {} types", contract.shapes.types.len()));
        let registries =
            registries::registry_modules(self, &contract.api, &mut contract.sources, &mut diagnostics);
        let arenas = TableArenas::default();
        let tables = contract.build_tables(&arenas);
        let emitter = self.type_emitter(&contract, &tables);
        modules.insert_all(
            models::area_modules(config, &emitter),
            ModuleOrigin::Area,
            config,
            &mut diagnostics,
        );
        modules.insert_all(
            models::shared_modules(&emitter, &tables),
            ModuleOrigin::Generator,
            config,
            &mut diagnostics,
        );
        let formats = models::format_module(&contract.options.formats);
        modules.insert_all(formats.into_iter().collect(), ModuleOrigin::Generator, config, &mut diagnostics);
        if config.has_schemas() {
            let replaced = registries::replaced_schemas(config, &contract.options);
            let module = models::json_schema_module(&emitter, &replaced, &registries::unbound_enums(config));
            modules.insert_all(
                module.into_iter().collect(),
                ModuleOrigin::Generator,
                config,
                &mut diagnostics,
            );
        }
        if config.has_strategies() {
            let module = models::strategy_module(&emitter);
            modules.insert_all(
                module.into_iter().collect(),
                ModuleOrigin::Generator,
                config,
                &mut diagnostics,
            );
        }
        let plans = self.operation_plans(&contract);
        code_names::check_operation_names(config, &plans, &mut diagnostics);
        command_line::check_config(config, &plans.paths, &mut diagnostics);
        operations::check_unused_options(config, &plans, &mut diagnostics);
        check_wire(self.plan_input(&contract), config, &plans, &mut diagnostics);
        let views = views::view_modules(config, &contract, &plans, &emitter, &mut diagnostics);
        modules.insert_all(views, ModuleOrigin::Generator, config, &mut diagnostics);
        for plan in plans.iter().filter(|plan| self.has_output_for(plan)) {
            step(&format!("writing {} {}", plan.calls.len(), plan.side.table_names().0));
            let written =
                operations::operation_modules(config, plan, &contract.graph, &emitter, &mut diagnostics);
            modules.insert_all(written, ModuleOrigin::Generator, config, &mut diagnostics);
        }
        modules.insert_all(registries, ModuleOrigin::Table, config, &mut diagnostics);
        let counts = contract.count_items(&plans);
        step(&format!("printing {} modules", modules.len() + 1));
        let calls = CallSources {
            plan: &plans.paths,
            graph: &contract.graph,
            types: &emitter,
            implied_objects: contract.options.implied_objects,
            samples: &SampleCache::default(),
        };
        let files = output::print_files(self, &contract, modules, calls, &mut diagnostics);
        diagnostics.attach_sources(&contract.sources);
        diagnostics.apply_fault_policy(config.input.faults);
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        contract.diagnostics = diagnostics;
        Ok(GeneratedCode { files, contract, counts })
    }

    /// Returns true if the generated package is a member of the workspace around the output path.
    #[must_use]
    pub fn joins_workspace(&self) -> bool {
        let output = &self.config.output;
        let folder = output.path.as_ref().map(|path| self.base.join(path));
        folder.map_or(output.member == Some(true), |folder| {
            CargoWorkspace::of_package(&folder, output.member).1
        })
    }

    /// Returns the emitter of types, which all other writers use to print a type.
    fn type_emitter<'a>(&self, contract: &'a AnalyzedContract, tables: &'a TableSet<'a>) -> ModelEmitter<'a> {
        let AnalyzedContract { graph, api, shapes, options, .. } = contract;
        let mut generated = registries::registry_types(&self.config);
        generated.extend(options.formats.iter().map(MappedFormat::type_path));
        let builders = builders::select_builder_types(self.config.types.builders, api, shapes);
        ModelEmitter::new(graph, shapes, tables, options.implied_objects, builders)
            .with_generated_types(&generated)
            .with_attributes(options)
    }

    /// Plans the generated code for the operations and the webhooks of a contract.
    #[must_use]
    pub fn operation_plans<'a>(&'a self, contract: &'a AnalyzedContract) -> ContractPlan<'a> {
        ContractPlan {
            paths: self.operation_plan(contract, OperationSide::Paths),
            webhooks: self.operation_plan(contract, OperationSide::Webhooks),
        }
    }

    /// Returns true if code is generated for a side: it has operations, and a client or server is configured.
    const fn has_output_for(&self, plan: &SidePlan<'_>) -> bool {
        !plan.calls.is_empty() && (self.config.output.client || self.config.output.server)
    }

    /// Plans the generated code for the operations of one side: those in `paths`, or the webhooks and
    /// callbacks.
    #[must_use]
    pub fn operation_plan<'a>(&'a self, contract: &'a AnalyzedContract, side: OperationSide) -> SidePlan<'a> {
        run_on_deep_stack(|| build_plan(self.plan_input(contract), side))
    }

    /// Returns the parts of the contract and of the options from which operation plans are built.
    pub fn plan_input<'a>(&'a self, contract: &'a AnalyzedContract) -> PlanInput<'a> {
        PlanInput {
            graph: &contract.graph,
            shapes: &contract.shapes,
            api: &contract.api,
            operations: &self.config.operations,
            client: &self.config.client,
            streams: &self.config.streams,
            has_done_marker: contract.has_done_marker,
            pages: &self.config.pages,
            scope_table: self.config.tables.iter().any(|table| table.name == SCOPE),
            implied_objects: contract.options.implied_objects,
            wire: &self.config.wire,
            wire_schemas: &contract.options.wire,
            wire_selectors: &contract.options.wire_selectors,
            shown: &contract.options.shown,
        }
    }
}

/// Splits documentation into lines; empty documentation is one empty line.
fn doc_lines(doc: &str) -> Vec<String> {
    if doc.is_empty() { vec![String::new()] } else { doc.lines().map(str::to_owned).collect() }
}

fn count_documents(sources: &Sources) -> String {
    match sources.sources.len() {
        1 => "one document".to_owned(),
        several => format!("{several} documents"),
    }
}

fn single_diagnostic(diagnostic: Diagnostic) -> Diagnostics {
    let mut all = Diagnostics::new();
    all.push(diagnostic);
    all
}

/// Merges the operations, tags and security schemes of all documents into one API.
fn merge_apis(mut apis: Vec<OpenApiDocument>) -> OpenApiDocument {
    apis.iter_mut().for_each(resolve_token_urls);
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
