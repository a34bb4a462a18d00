//! `demo`: generates the code, then runs the exchange with two client installations.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use crate::{
    CommandOutcome,
    cli::RegenArgs,
    regen,
    style::{report_error, report_progress},
    test,
};

/// Generates the code, builds and runs the demo, and returns the exit code of the demo.
pub(crate) fn run(root: &Path) -> ExitCode {
    report_progress("regen", "the exchange's crate from schemas/");
    match regen::run(&RegenArgs::default(), root) {
        CommandOutcome::Passed => {}
        other => return other.into(),
    }
    report_progress("build", "service and client; the first build takes a few minutes");
    match demo_command(root).status() {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1).into(),
        Err(error) => {
            report_error(&format!("cannot run cargo: {error}"));
            CommandOutcome::NotRun.into()
        }
    }
}

/// Builds the command that compiles and runs the demo.
fn demo_command(root: &Path) -> Command {
    let mut command = test::cargo_command();
    command.current_dir(root).args(["run", "--package", "exchange-client-e2e", "--example", "demo"]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demo_example_exists() {
        let root = crate::repository::workspace_root().expect("the tests run in the repository");
        let command = demo_command(&root);
        let arguments: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        assert_eq!(arguments, ["run", "--package", "exchange-client-e2e", "--example", "demo"]);
        assert!(root.join("exchange/client/e2e/examples/demo.rs").is_file());
    }
}
