//! `drift`: what a new version of a contract means for those who use the old one.

use std::{
    panic,
    path::{Path, PathBuf},
    thread,
};

use contract_codegen::drift::{
    Options, Version, compare,
    report::{self, Audience, View},
    revision::{self, Revised, RevisionError},
};
use serde_json::json;

use super::{
    args::DriftArgs,
    failure::{DIFFERENT, Failure},
    project,
    screen::Screen,
};

/// The exit code of [`report::exit_code`] when something breaks.
const BREAKS: u8 = 2;

/// Compares and prints.
pub(crate) fn drift(args: &DriftArgs, screen: &Screen) -> Result<u8, Failure> {
    if let Some(rule) = &args.explain {
        screen.result(&report::explain(rule.as_deref()).map_err(Failure::Usage)?)?;
        return Ok(0);
    }
    let (old, new) = sides(args)?;
    screen.step("reading the versions");
    let (before, after) = thread::scope(|scope| {
        let after = scope.spawn(|| open(&new));
        let before = older(old, &new);
        (before, after.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
    });
    // What is wrong with the version that is worked on is said first.
    let after = after?;
    let (before, old_prefix, named) = before?;
    screen.step("comparing");
    let within_major = !args.across_majors;
    let drift = compare(&before, &after, &Options { within_major, ..Options::default() });
    let view = View {
        all: args.all,
        audience: match (args.readers_only, args.writers_only) {
            (true, _) => Audience::Readers,
            (_, true) => Audience::Writers,
            _ => Audience::Everyone,
        },
        color: screen.is_colored(),
        within_major,
        prefix: prefix(&new),
        old_prefix,
        revision: named,
    };
    let text = match (args.markdown, args.annotations, args.sarif) {
        (true, ..) => report::markdown(&drift, &view),
        (_, true, _) => report::annotations(&drift, &view),
        (.., true) => report::sarif(&drift, &view),
        _ => report::human(&drift, &view),
    };
    screen.result(&text)?;
    let exit = if report::exit_code(&drift, &view) == BREAKS { DIFFERENT } else { 0 };
    let drift: serde_json::Value = serde_json::from_str(&report::json(&drift, &view)).unwrap_or_default();
    screen.summary(json!({ "command": "drift", "exit": exit, "drift": drift }));
    Ok(exit)
}

/// Where the older version is.
enum Older {
    Path(PathBuf),
    Revision(String),
}

fn sides(args: &DriftArgs) -> Result<(Older, PathBuf), Failure> {
    match (&args.against, args.versions.as_slice()) {
        (None, [old, new]) => Ok((Older::Path(old.clone()), new.clone())),
        (Some(revision), [new]) => Ok((Older::Revision(revision.clone()), new.clone())),
        (Some(revision), []) => {
            let usual = project::inputs(&[], ": `drift --against REVISION NEW`")?;
            Ok((Older::Revision(revision.clone()), usual.into_iter().collect()))
        }
        (Some(_), _) => {
            Err(Failure::Usage("`--against` names the older version: give the newer one alone".to_owned()))
        }
        (None, _) => Err(Failure::Usage(
            "two versions are compared: OLD and NEW, or `--against REVISION` and NEW".to_owned(),
        )),
    }
}

/// The older version, the folder that its names are relative to, and the revision that it is.
fn older(old: Older, new: &Path) -> Result<(Version, String, Option<String>), Failure> {
    Ok(match old {
        Older::Path(path) => (open(&path)?, prefix(&path), None),
        Older::Revision(name) => {
            let Revised { version, revision, folder } = revision::open(&name, new)?;
            (version, folder, Some(revision))
        }
    })
}

impl From<RevisionError> for Failure {
    fn from(error: RevisionError) -> Self {
        match error {
            RevisionError::Git(problem) => Self::Io(problem),
            RevisionError::Contract { revision, problems } => Self::Revision { revision, problems },
        }
    }
}

fn open(path: &Path) -> Result<Version, Failure> {
    if !path.exists() {
        return Err(Failure::Io(format!("cannot read {}: there is no such file or folder", path.display())));
    }
    Ok(Version::open(path)?)
}

/// The folder that the names of the newer version's files are relative to.
fn prefix(path: &Path) -> String {
    let folder = if path.is_dir() { Some(path) } else { path.parent() };
    let words = folder.map(|folder| folder.display().to_string().replace('\\', "/")).unwrap_or_default();
    let words = words.trim_start_matches("./").trim_end_matches('/');
    if words.is_empty() || words == "." { String::new() } else { format!("{words}/") }
}
