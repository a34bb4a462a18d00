//! `demo`: the contract in, the exchange out, and two installations of a client that use it.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use crate::{
    Verdict,
    cli::RegenArgs,
    regen,
    style::{complain, progress},
    test,
};

/// Generates, builds, shows; ends as the demonstration ends.
pub(crate) fn run(root: &Path) -> ExitCode {
    progress("regen", "the exchange's crate from schemas/");
    match regen::run(&RegenArgs::default(), root) {
        Verdict::InOrder => {}
        other => return other.into(),
    }
    progress("build", "service and client, which takes a few minutes the first time");
    match command(root).status() {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1).into(),
        Err(error) => {
            complain(&format!("cannot run cargo: {error}"));
            Verdict::NotRun.into()
        }
    }
}

/// cargo shows what it builds, then the demonstration what it does.
fn command(root: &Path) -> Command {
    let mut command = test::cargo();
    command.current_dir(root).args(["run", "--package", "exchange-client-e2e", "--example", "demo"]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_run_is_there() {
        let root = crate::repository::root().expect("the tests run in the repository");
        let command = command(&root);
        let given: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        assert_eq!(given, ["run", "--package", "exchange-client-e2e", "--example", "demo"]);
        assert!(root.join("exchange/client/e2e/examples/demo.rs").is_file());
    }
}
