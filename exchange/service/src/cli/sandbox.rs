//! `sandbox`

use exchange_service::logging::Form;
use exchange_service::sandbox::{Directory, Options, Sandbox, Variable};

use super::serve::told_to_stop;
use super::{Failure, SandboxArgs, say};

/// Runs until it is interrupted.
pub(super) fn run(args: SandboxArgs) -> Result<(), Failure> {
    super::log(Form::Text)?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::undone("cannot start")(&error))?;
    let ended = runtime.block_on(async {
        let SandboxArgs { port, data, seed, json } = args;
        let options = Options { port, data, seed, config: None };
        let mut sandbox = Sandbox::with(options).await.map_err(|error| Failure::Undone(error.to_string()))?;
        let directory = sandbox.directory();
        if json {
            let line =
                serde_json::to_string(&directory).map_err(|error| Failure::undone("cannot print")(&error))?;
            say(&line);
        } else {
            say(&page(&directory));
        }
        tokio::select! {
            () = sandbox.ended() => Err(Failure::Undone("the sandbox ended by itself".to_owned())),
            () = told_to_stop() => {
                sandbox.stop().await;
                Ok(())
            }
        }
    });
    runtime.shutdown_background();
    ended
}

fn page(directory: &Directory) -> String {
    let Directory { issuer, gateway, control, pages, developer_variable, clients, accounts } = directory;
    let Variable { name: variable, value } = developer_variable;
    let accounts: Vec<String> = accounts
        .iter()
        .filter(|account| !account.username.starts_with("sandbox-load-"))
        .map(|account| format!("  {:<18} {}", account.username, account.password))
        .collect();
    format!(
        "The exchange is running on this machine alone. Stop it with Ctrl-C.\n\n\
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
