//! `exchange-service sandbox`: runs an exchange with seed data in this process.

use exchange_service::logging::LogFormat;
use exchange_service::sandbox::{EnvironmentVariable, Sandbox, SandboxDirectory, SandboxOptions};

use super::serve::stop_signal;
use super::{CommandError, SandboxArgs, print_line};

/// Runs a sandbox until a signal stops it.
pub(super) fn run_sandbox(args: SandboxArgs) -> Result<(), CommandError> {
    super::init_log(LogFormat::Text, "info")?;
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| CommandError::failed("cannot start the async runtime")(&error))?;
    let ended = runtime.block_on(async {
        let SandboxArgs { port, data, seed, json } = args;
        let options = SandboxOptions { port, data, seed, config: None };
        let mut sandbox =
            Sandbox::with_options(options).await.map_err(|error| CommandError::Failed(error.to_string()))?;
        let directory = sandbox.directory();
        if json {
            let line = serde_json::to_string(&directory).map_err(|error| {
                CommandError::failed("cannot write the addresses of the sandbox as JSON")(&error)
            })?;
            print_line(&line);
        } else {
            print_line(&welcome_text(&directory));
        }
        tokio::select! {
            () = sandbox.wait() => Err(CommandError::Failed("the sandbox ended unexpectedly".to_owned())),
            () = stop_signal() => {
                sandbox.stop().await;
                Ok(())
            }
        }
    });
    runtime.shutdown_background();
    ended
}

fn welcome_text(directory: &SandboxDirectory) -> String {
    let SandboxDirectory { issuer, gateway, control, pages, developer_variable, clients, accounts } =
        directory;
    let EnvironmentVariable { name: variable, value } = developer_variable;
    let accounts: Vec<String> = accounts
        .iter()
        .filter(|account| !account.username.starts_with("sandbox-load-"))
        .map(|account| format!("  {:<18} {}", account.username, account.password))
        .collect();
    format!(
        "The exchange is running, reachable from this machine only. Stop it with Ctrl-C.\n\n\
         gateway   {gateway}\n\
         issuer    {issuer}\n\
         sign-in   {pages}\n\
         control   {control}\n\n\
         Clients: {}\n\
         Accounts, with their passwords (and sandbox-load-01 to 16 of the same kind):\n{}\n\n\
         Point a client at it:\n  export {variable}={value}\n\n\
         Approve a client's code without a browser:\n  \
         curl {control}/approve --json '{{\"userCode\": \"…\", \"account\": \"sandbox-member\"}}'",
        clients.join(", "),
        accounts.join("\n"),
    )
}
