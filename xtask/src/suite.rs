//! `suite`: the official JSON-Schema-Test-Suite through generated code.
//!
//! Every schema of the suite is a contract of its own ([`cases`], [`generate`]);
//! all of a draft are one package with types, tables and a small runner ([`package`]), whose answers
//! are compared with the suite and with the record in the repository ([`score`]). The suite
//! itself stays outside ([`copy`]).

mod cases;
mod copy;
mod generate;
mod package;
mod print;
mod score;

use std::{
    env,
    path::{Path, PathBuf},
    time::Instant,
};

use self::{
    cases::Group,
    generate::{Outcome, Setting},
    print::Run,
    score::Record,
};
use crate::{
    Verdict,
    cli::{Draft, SuiteArgs},
    style::complain,
};

/// Where everything goes that this command makes.
const TARGET: &str = "target/suite";

/// Carries the command out.
pub(crate) fn run(args: &SuiteArgs, root: &Path) -> Verdict {
    let suite = match locate(args, root) {
        Ok(suite) => suite,
        Err(error) => {
            complain(&error);
            return Verdict::NotRun;
        }
    };
    // With a copy at hand, whatever keeps it from being run is the generator's.
    let runs = match carry_out(args, root, &suite) {
        Ok(runs) => runs,
        Err(error) => {
            complain(&error);
            return Verdict::ToRepair;
        }
    };
    for run in &runs {
        anstream::print!("{}", if args.json { run.json() } else { run.text() });
    }
    if runs.iter().all(|run| run.problems.is_empty()) { Verdict::InOrder } else { Verdict::ToRepair }
}

/// The copy of the suite.
fn locate(args: &SuiteArgs, root: &Path) -> Result<PathBuf, String> {
    let fetched = root.join(TARGET).join("fetched");
    let variable = env::var_os(copy::VARIABLE).map(PathBuf::from);
    if args.fetch {
        copy::fetch(&fetched)?;
        return copy::find(None, None, &fetched);
    }
    copy::find(args.folder.as_deref(), variable, &fetched)
}

fn carry_out(args: &SuiteArgs, root: &Path, suite: &Path) -> Result<Vec<Run>, String> {
    let record = Record::read(root)?;
    let drafts = args.draft.map_or(Draft::ALL.to_vec(), |draft| vec![draft]);
    let mut worlds: Vec<World> =
        drafts.into_iter().map(|draft| World { draft, setting: Setting::Exact }).collect();
    if args.draft.is_none_or(|draft| draft == Draft::Latest) {
        worlds.insert(1, World { draft: Draft::Latest, setting: Setting::Defaults });
    }
    worlds.into_iter().map(|world| of_world(args, root, suite, &record, world)).collect()
}

/// What one package is made of.
#[derive(Clone, Copy, Debug)]
struct World {
    draft: Draft,
    setting: Setting,
}

impl World {
    /// What the record and the report call it.
    fn name(self) -> String {
        let World { draft, setting } = self;
        match setting {
            Setting::Exact => draft.name().to_owned(),
            Setting::Defaults => format!("{} by default", draft.name()),
        }
    }

    /// Where its package lies.
    fn folder(self) -> &'static str {
        match (self.draft, self.setting) {
            (Draft::Latest, Setting::Exact) => "2020-12",
            (Draft::Draft2019, Setting::Exact) => "2019-09",
            (Draft::Draft7, Setting::Exact) => "7",
            (_, Setting::Defaults) => "defaults",
        }
    }
}

fn of_world(
    args: &SuiteArgs,
    root: &Path,
    suite: &Path,
    record: &Record,
    world: World,
) -> Result<Run, String> {
    let mut groups = cases::read(suite, world.draft)?;
    if let Some(only) = &args.only {
        groups.retain(|group| group.file.contains(only.as_str()));
    }

    let start = Instant::now();
    let outcomes = generate::generate(&groups, suite, world.setting);
    let generating = start.elapsed();
    let folder = root.join(TARGET).join(world.folder());
    let size = package::write(&outcomes, root, &folder)?;

    let start = Instant::now();
    package::build(&folder)?;
    let compiling = start.elapsed();

    let start = Instant::now();
    let pairs = groups.iter().zip(&outcomes);
    let generated: Vec<&Group> =
        pairs.filter(|(_, outcome)| matches!(outcome, Outcome::Module(_))).map(|(group, _)| group).collect();
    let mut score = score::judge(&groups, &outcomes, &package::ask(&folder, &generated)?, world.setting);
    score::across(&generated, &package::across(&folder, &groups)?, world.setting, &mut score)?;
    let asking = start.elapsed();

    let problems = record.compare(&world.name(), &groups, &mut score);
    // Of a part of the suite nothing was recorded.
    let problems = if args.only.is_some() { Vec::new() } else { problems };
    Ok(Run {
        name: world.name(),
        suite: suite.to_path_buf(),
        score,
        size,
        generating,
        compiling,
        asking,
        problems,
    })
}
