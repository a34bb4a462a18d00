//! `sandbox`: runs the exchange of this checkout with sample data.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use crate::{CommandOutcome, cli::SandboxArgs, style::report_error, test};

/// Builds and starts the sandbox, and returns its exit code.
pub(crate) fn run(args: &SandboxArgs, root: &Path) -> ExitCode {
    match sandbox_command(args, root).status() {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1).into(),
        Err(error) => {
            report_error(&format!("cannot run cargo: {error}"));
            CommandOutcome::NotRun.into()
        }
    }
}

/// Builds the command. It runs in the caller's folder, so that relative paths such as `--data ./d` work.
fn sandbox_command(args: &SandboxArgs, root: &Path) -> Command {
    let mut command = test::cargo_command();
    command.args(["run", "--manifest-path"]).arg(root.join("Cargo.toml"));
    command.args(["--package", "exchange-service", "--", "sandbox"]).args(&args.args);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_passed_on() {
        let args = SandboxArgs { args: vec!["--port".into(), "8080".into()] };
        let command = sandbox_command(&args, Path::new("/checkout"));
        let arguments: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        assert_eq!(arguments[1..3], ["--manifest-path", "/checkout/Cargo.toml"]);
        assert_eq!(arguments[5..], ["--", "sandbox", "--port", "8080"]);
        assert_eq!(command.get_current_dir(), None, "the command runs in the folder of the caller");
    }
}
