//! `sandbox`: the exchange from this checkout.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use crate::{Verdict, cli::SandboxArgs, style::complain};

/// Builds and starts it, and ends as it ends.
pub(crate) fn run(args: &SandboxArgs, root: &Path) -> ExitCode {
    match command(args).current_dir(root).status() {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1).into(),
        Err(error) => {
            complain(&format!("cannot run cargo: {error}"));
            Verdict::NotRun.into()
        }
    }
}

fn command(args: &SandboxArgs) -> Command {
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--package", "exchange-service", "--", "sandbox"]);
    command.args(&args.args);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_handed_on() {
        let args = SandboxArgs { args: vec!["--port".into(), "8080".into()] };
        let command = command(&args);
        let given: Vec<_> = command.get_args().skip(4).collect();
        assert_eq!(given, ["--", "sandbox", "--port", "8080"]);
    }
}
