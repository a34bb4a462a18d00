//! `sandbox`: the exchange from this checkout.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use crate::{Verdict, cli::SandboxArgs, style::complain, test};

/// Builds and starts it, and ends as it ends.
pub(crate) fn run(args: &SandboxArgs, root: &Path) -> ExitCode {
    match command(args, root).status() {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1).into(),
        Err(error) => {
            complain(&format!("cannot run cargo: {error}"));
            Verdict::NotRun.into()
        }
    }
}

/// In the folder of whoever calls: `--data ./d` is there.
fn command(args: &SandboxArgs, root: &Path) -> Command {
    let mut command = test::cargo();
    command.args(["run", "--quiet", "--manifest-path"]).arg(root.join("Cargo.toml"));
    command.args(["--package", "exchange-service", "--", "sandbox"]).args(&args.args);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_handed_on() {
        let args = SandboxArgs { args: vec!["--port".into(), "8080".into()] };
        let command = command(&args, Path::new("/checkout"));
        let given: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        assert_eq!(given[2..4], ["--manifest-path", "/checkout/Cargo.toml"]);
        assert_eq!(given[6..], ["--", "sandbox", "--port", "8080"]);
        assert_eq!(command.get_current_dir(), None, "folders are meant from where it is called");
    }
}
