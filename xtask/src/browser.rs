//! `browser`: tests the members' pages of the exchange in Chromium.
//!
//! Entry point: [`run`]. The tests are the package `exchange-browser-tests`; this command starts ChromeDriver for
//! them, and installs axe-core, which checks accessibility.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    CommandOutcome,
    background::BackgroundProcess,
    cli::BrowserArgs,
    packages::{self, ToolPackage},
    playground::{CHROMIUM_VARIABLE, find_chromium},
    style::{SUCCESS, report_error, report_progress},
    test,
};

const PACKAGE: &str = "exchange-browser-tests";
/// The folder for axe-core, the log of ChromeDriver, and the screenshots.
const FOLDER: &str = "target/browser";
const AXE: ToolPackage = ToolPackage::from_npm("axe-core", "4.14.1");
/// The path of ChromeDriver.
const DRIVER_VARIABLE: &str = "CHROMEDRIVER";
const START_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &BrowserArgs, root: &Path) -> CommandOutcome {
    match prepare(root) {
        Ok(prepared) => run_tests(args, root, &prepared),
        Err(reasons) => {
            reasons.iter().for_each(|reason| report_error(reason));
            CommandOutcome::NotRun
        }
    }
}

/// What the tests need. ChromeDriver stops when the value is dropped.
struct Prepared {
    chromium: PathBuf,
    axe: PathBuf,
    screenshots: PathBuf,
    driver: String,
    _process: BackgroundProcess,
}

/// Finds the programs, installs axe-core and starts ChromeDriver. Returns one message for each missing part.
fn prepare(root: &Path) -> Result<Prepared, Vec<String>> {
    let folder = root.join(FOLDER);
    let mut missing = Vec::new();
    let chromium = find_chromium().map_err(|error| missing.push(error)).ok();
    let installed = packages::install_packages(&[AXE], &folder);
    if let Err(errors) = installed {
        missing.extend(errors);
    }
    let (Some(chromium), true) = (chromium, missing.is_empty()) else { return Err(missing) };
    let screenshots = folder.join("screenshots");
    fs::create_dir_all(&screenshots)
        .map_err(|error| vec![format!("cannot create {}: {error}", screenshots.display())])?;
    let (process, driver) = start_driver(&folder).map_err(|error| vec![error])?;
    let axe = folder.join("node_modules/axe-core/axe.min.js");
    Ok(Prepared { chromium, axe, screenshots, driver, _process: process })
}

/// Starts ChromeDriver on a free port. Returns it with its address.
fn start_driver(folder: &Path) -> Result<(BackgroundProcess, String), String> {
    let program = env::var_os(DRIVER_VARIABLE).unwrap_or_else(|| "chromedriver".into());
    let mut command = Command::new(program);
    command.arg("--port=0");
    let started = BackgroundProcess::start(&mut command, folder.join("chromedriver.log"));
    let mut process = started.map_err(|error| {
        format!("{error}\nInstall ChromeDriver of the same version as Chromium, or set {DRIVER_VARIABLE} to its path.")
    })?;
    let begun = Instant::now();
    loop {
        let line = process.first_line(START_TIMEOUT.saturating_sub(begun.elapsed()))?;
        if let Some(port) = driver_port(&line) {
            return Ok((process, format!("http://127.0.0.1:{port}")));
        }
    }
}

/// Returns the port in the line with which ChromeDriver reports that it has started.
fn driver_port(line: &str) -> Option<u16> {
    line.split_once("started successfully on port ")?.1.trim_end_matches('.').parse().ok()
}

fn run_tests(args: &BrowserArgs, root: &Path, prepared: &Prepared) -> CommandOutcome {
    let Prepared { chromium, axe, screenshots, driver, .. } = prepared;
    report_progress("test", &format!("{PACKAGE} in {}", chromium.display()));
    let mut cargo = test_command(root, &args.args);
    cargo.env(CHROMIUM_VARIABLE, chromium).env("BROWSER_AXE", axe).env("BROWSER_DRIVER", driver);
    cargo.env("BROWSER_SCREENSHOTS", screenshots).current_dir(root).stdin(Stdio::null());
    match cargo.status() {
        Ok(status) if status.success() => {
            anstream::println!(
                "{SUCCESS}passed{SUCCESS:#}; screenshots of all pages: {}",
                screenshots.display()
            );
            CommandOutcome::Passed
        }
        Ok(_) => CommandOutcome::Failed,
        Err(error) => {
            report_error(&format!("cannot run cargo: {error}"));
            CommandOutcome::NotRun
        }
    }
}

/// Returns the command that runs the tests. With cargo-nextest, it has the flags of the whole workspace, so that
/// nothing is compiled again with other features.
fn test_command(root: &Path, args: &[String]) -> Command {
    let mut cargo = test::cargo_command();
    if test::has_nextest(root) {
        cargo.args(["nextest", "run"]).args(test::WORKSPACE_FLAGS);
        cargo
            .args(["--test-threads=2", "--no-fail-fast", "-E"])
            .arg(format!("package({PACKAGE})"))
            .args(args);
    } else {
        cargo.args(["test", "--package", PACKAGE, "--", "--test-threads=2"]).args(args);
    }
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_of_the_driver_is_found() {
        assert_eq!(driver_port("ChromeDriver was started successfully on port 40123."), Some(40_123));
        assert_eq!(driver_port("Starting ChromeDriver 148.0.7778.167 on port 0"), None);
    }
}
