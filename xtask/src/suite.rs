//! `suite`: runs the official JSON-Schema-Test-Suite with generated code.
//!
//! Every schema of the suite is a separate contract ([`cases`], [`generate`]). All schemas of a draft are
//! modules of one package, which also contains a small runner ([`package`]). The results of the runner are
//! compared with the suite and with the recorded score ([`score`]). The suite is not part of the repository
//! ([`location`]).

mod cases;
mod generate;
mod location;
mod package;
mod print;
mod score;

use std::{
    env,
    path::{Path, PathBuf},
    time::Instant,
};

use self::{
    cases::SchemaGroup,
    generate::{GroupOutcome, OptionSet},
    print::SuiteRun,
    score::ScoreRecord,
};
use crate::{
    CommandOutcome,
    cli::{SchemaDraft, SuiteArgs},
    style::report_error,
};

/// The folder for everything that this command creates.
const TARGET_FOLDER: &str = "target/suite";

pub(crate) fn run(args: &SuiteArgs, root: &Path) -> CommandOutcome {
    let suite = match locate_suite(args, root) {
        Ok(suite) => suite,
        Err(error) => {
            report_error(&error);
            return CommandOutcome::NotRun;
        }
    };
    // If there is a copy of the suite, any other error is a failure and not a missing prerequisite.
    let runs = match run_drafts(args, root, &suite) {
        Ok(runs) => runs,
        Err(error) => {
            report_error(&error);
            return CommandOutcome::Failed;
        }
    };
    for run in &runs {
        anstream::print!("{}", if args.json { run.render_json() } else { run.render_text() });
    }
    if runs.iter().all(|run| run.problems.is_empty()) {
        CommandOutcome::Passed
    } else {
        CommandOutcome::Failed
    }
}

/// Finds or downloads the copy of the suite.
fn locate_suite(args: &SuiteArgs, root: &Path) -> Result<PathBuf, String> {
    let fetched = root.join(TARGET_FOLDER).join("fetched");
    let variable = env::var_os(location::SUITE_VARIABLE).map(PathBuf::from);
    if args.fetch {
        location::download_suite(&fetched)?;
        return location::find_suite(None, None, &fetched);
    }
    location::find_suite(args.folder.as_deref(), variable, &fetched)
}

fn run_drafts(args: &SuiteArgs, root: &Path, suite: &Path) -> Result<Vec<SuiteRun>, String> {
    let record = ScoreRecord::read_from(root)?;
    let drafts = args.draft.map_or(SchemaDraft::ALL.to_vec(), |draft| vec![draft]);
    let mut worlds: Vec<SuiteConfiguration> =
        drafts.into_iter().map(|draft| SuiteConfiguration { draft, setting: OptionSet::Exact }).collect();
    if args.draft.is_none_or(|draft| draft == SchemaDraft::Latest) {
        worlds.insert(1, SuiteConfiguration { draft: SchemaDraft::Latest, setting: OptionSet::Defaults });
    }
    worlds.into_iter().map(|world| run_configuration(args, root, suite, &record, world)).collect()
}

/// A draft and the options with which one package is generated.
#[derive(Clone, Copy, Debug)]
struct SuiteConfiguration {
    draft: SchemaDraft,
    setting: OptionSet,
}

impl SuiteConfiguration {
    /// Returns the name that the recorded score and the report use.
    fn label(self) -> String {
        let SuiteConfiguration { draft, setting } = self;
        match setting {
            OptionSet::Exact => draft.name().to_owned(),
            OptionSet::Defaults => format!("{} by default", draft.name()),
        }
    }

    /// Returns the name of the package's folder.
    fn folder(self) -> &'static str {
        match (self.draft, self.setting) {
            (SchemaDraft::Latest, OptionSet::Exact) => "2020-12",
            (SchemaDraft::Draft2019, OptionSet::Exact) => "2019-09",
            (SchemaDraft::Draft7, OptionSet::Exact) => "7",
            (_, OptionSet::Defaults) => "defaults",
        }
    }
}

fn run_configuration(
    args: &SuiteArgs,
    root: &Path,
    suite: &Path,
    record: &ScoreRecord,
    world: SuiteConfiguration,
) -> Result<SuiteRun, String> {
    let mut groups = cases::read_groups(suite, world.draft)?;
    if let Some(only) = &args.only {
        groups.retain(|group| group.file.contains(only.as_str()));
    }

    let start = Instant::now();
    let outcomes = generate::generate_groups(&groups, suite, world.setting);
    let generating = start.elapsed();
    let folder = root.join(TARGET_FOLDER).join(world.folder());
    let size = package::write_package(&outcomes, root, &folder)?;

    let start = Instant::now();
    package::build_package(&folder)?;
    let compiling = start.elapsed();

    let start = Instant::now();
    let pairs = groups.iter().zip(&outcomes);
    let generated: Vec<&SchemaGroup> = pairs
        .filter(|(_, outcome)| matches!(outcome, GroupOutcome::Generated(_)))
        .map(|(group, _)| group)
        .collect();
    let mut score =
        score::score_cases(&groups, &outcomes, &package::run_cases(&folder, &generated)?, world.setting);
    score::score_cross_checks(
        &generated,
        &package::run_cross_checks(&folder, &groups)?,
        world.setting,
        &mut score,
    )?;
    let running = start.elapsed();

    let problems = record.compare_with(&world.label(), &groups, &mut score);
    // The recorded score applies only to the whole suite.
    let problems = if args.only.is_some() { Vec::new() } else { problems };
    Ok(SuiteRun {
        name: world.label(),
        suite: suite.to_path_buf(),
        score,
        size,
        generating,
        compiling,
        running,
        problems,
    })
}
