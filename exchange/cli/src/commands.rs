//! The implementation of every command. [`run_command`] is the entry point.

mod api;
mod areas;
mod candidates;
mod change;
mod completions;
mod draft;
mod envelope;
mod held_stock;
mod link;
mod lists;
mod outbox;
mod outcomes;
mod replica_view;
mod report_claims;
mod session;
mod sync;

use std::{
    io::{Read as _, stdin},
    path::Path,
    sync::Arc,
    time::Duration,
};

use exchange_client::{
    CatalogMemory, CatalogResolver, Connection, ConnectionSummary, CredentialStore, Environment, Error,
    ErrorKind, Exchange, InsecureFileCredentials, Replica, RetryPolicy, Session, SessionBuilder,
    TransportSettings, UnixTime,
    api::{
        operations::OperationId,
        runtime::{operation::Operation, timestamp},
        types::{Blueprint, BlueprintOp, OrgStockLot, OrgStockOp, Ship, ShipOp, StockLot, StockOp},
    },
    outbox::{
        self as outbox_client, EntryState, Outbox, OutboxContents, OutboxEntry, OutboxPolicy, UnreadableEntry,
    },
};
use exchange_client_keyring::PlatformStore;
use exchange_client_sqlite::{SqliteOutbox, SqliteReplica};
use tokio::sync::OnceCell;

use self::session::FileStoreGuard;
use crate::{
    args::{
        BlueprintsCommand, Command, DemandCommand, GlobalArgs, OrgStockCommand, OrgUnitsCommand,
        ShipsCommand, StockCommand,
    },
    config::Config,
    error::{CommandError, ExitStatus},
    output::{Output, read_stdin_line},
};

/// The maximum number of ops in a change set if the limit of the exchange is not available.
const DEFAULT_MAX_OPS: usize = 100;

/// The maximum time to wait after a command for background work, such as storing new tokens or revoking the
/// tokens of an aborted login.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// Runs a command until it completes or Ctrl-C interrupts it.
pub(crate) async fn run_command(
    global: &GlobalArgs,
    command: Command,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    // These commands do not need the exchange.
    let command = match command {
        Command::Completions(args) => return Ok(completions::print_completions(&args, output)),
        Command::Man(args) => return completions::write_manual_pages(&args, output),
        Command::Envelope(command) => {
            return run_until_interrupt(envelope::run_envelope(command, output)).await;
        }
        command => command,
    };
    let context = CommandContext::new(
        Config::load(global.config.as_deref(), &global.profile)?,
        retry_policy_for(&command),
    );
    let done = run_until_interrupt(context.run_command(command, output)).await;
    if let Some(session) = context.session.get() {
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, session.wait_until_idle()).await;
        // Saved nonces and `Retry-After` times spare the next command a challenge or a rejected request. A
        // failure has no other effect, so it is not reported.
        let _ = session.save_state().await;
    }
    done
}

/// Runs a command until it completes or Ctrl-C interrupts it. After an interruption, only changes in the
/// outbox remain.
async fn run_until_interrupt(
    work: impl Future<Output = Result<ExitStatus, CommandError>>,
) -> Result<ExitStatus, CommandError> {
    tokio::select! {
        biased;
        done = work => done,
        Ok(()) = tokio::signal::ctrl_c() => Err(CommandError::Reported(ExitStatus::Interrupted)),
    }
}

/// Returns the retry policy for a user who waits at the terminal. Writes are tried once, because the outbox
/// keeps a change that cannot be sent.
fn retry_policy_for(command: &Command) -> RetryPolicy {
    let changes = matches!(
        command,
        Command::Blueprints(BlueprintsCommand::Op(_))
            | Command::Stock(StockCommand::Op(_))
            | Command::Ships(ShipsCommand::Op(_))
            | Command::OrgStock(OrgStockCommand::Op(_))
            | Command::Outbox(_)
    );
    let RetryPolicy { time_limit: time, initiator: asked, .. } = RetryPolicy::INTERACTIVE;
    if changes { RetryPolicy::new(1, time, asked) } else { RetryPolicy::INTERACTIVE }
}

/// The state that commands share. Each part is opened when it is first used.
struct CommandContext {
    config: Config,
    retry_policy: RetryPolicy,
    environment: Environment,
    session: OnceCell<Session>,
    exchange: OnceCell<Exchange>,
    connection: OnceCell<Connection>,
    replica: std::cell::OnceCell<Replica>,
    /// Removes the file store that a login created, unless a sign-in was completed.
    file_store_guard: std::cell::RefCell<FileStoreGuard>,
}

impl CommandContext {
    fn new(config: Config, patience: RetryPolicy) -> Self {
        Self {
            config,
            retry_policy: patience,
            environment: Environment::system(),
            session: OnceCell::new(),
            exchange: OnceCell::new(),
            connection: OnceCell::new(),
            replica: std::cell::OnceCell::new(),
            file_store_guard: std::cell::RefCell::default(),
        }
    }

    async fn run_command(&self, command: Command, output: &mut Output) -> Result<ExitStatus, CommandError> {
        self.expire_or_warn(output).await;
        let done = self.dispatch_command(command, output).await;
        if self.is_insecure() { done.map_err(CommandError::with_file_store_advice) } else { done }
    }

    async fn dispatch_command(
        &self,
        command: Command,
        output: &mut Output,
    ) -> Result<ExitStatus, CommandError> {
        match command {
            Command::Login(args) => session::log_in(self, &args, output).await,
            Command::Logout(args) => session::log_out(self, &args, output).await,
            Command::Status => session::print_status(self, output).await,
            Command::Whoami => session::print_whoami(self, output).await,
            Command::Label(args) => areas::set_label(self, &args.text, output).await,
            Command::CheckHandle(args) => areas::check_handle(self, &args, output).await,
            Command::Resolve(args) => areas::resolve_references(self, &args, output).await,
            Command::Locations(args) => areas::list_locations(self, &args, output).await,
            Command::Blueprints(command) => match command {
                BlueprintsCommand::List(args) => lists::list_entries::<Blueprint>(self, &args, output).await,
                BlueprintsCommand::Show(args) => lists::show_entry::<Blueprint>(self, &args, output).await,
                BlueprintsCommand::Op(op) => {
                    change::send_ops::<BlueprintOp>(self, change::parse_blueprint_ops(&op).await?, output)
                        .await
                }
            },
            Command::Stock(command) => match command {
                StockCommand::List(args) => lists::list_entries::<StockLot>(self, &args, output).await,
                StockCommand::Show(args) => lists::show_entry::<StockLot>(self, &args, output).await,
                StockCommand::Op(op) => {
                    change::send_ops::<StockOp>(self, change::parse_stock_ops(self, &op).await?, output).await
                }
            },
            Command::Ships(command) => match command {
                ShipsCommand::List(args) => lists::list_entries::<Ship>(self, &args, output).await,
                ShipsCommand::Show(args) => lists::show_entry::<Ship>(self, &args, output).await,
                ShipsCommand::Op(op) => {
                    change::send_ops::<ShipOp>(self, change::parse_ship_ops(&op).await?, output).await
                }
            },
            Command::OrgStock(command) => match command {
                OrgStockCommand::List(args) => lists::list_entries::<OrgStockLot>(self, &args, output).await,
                OrgStockCommand::Show(args) => lists::show_entry::<OrgStockLot>(self, &args, output).await,
                OrgStockCommand::Members(args) => areas::list_members(self, &args.unit, output).await,
                OrgStockCommand::Op(op) => {
                    change::send_ops::<OrgStockOp>(self, change::parse_org_stock_ops(&op).await?, output)
                        .await
                }
            },
            Command::OrgUnits(command) => match command {
                OrgUnitsCommand::List => areas::list_org_units(self, output).await,
                OrgUnitsCommand::Show(args) => areas::show_org_unit(self, &args, output).await,
            },
            Command::Demand(command) => match command {
                DemandCommand::List(args) => areas::list_demand(self, &args, output).await,
                DemandCommand::Show(args) => areas::show_demand(self, &args, output).await,
            },
            Command::Sync(args) => sync::run_sync(self, &args, output).await,
            Command::Outbox(command) => outbox::run_outbox(self, command, output).await,
            Command::Draft(command) => draft::stage_draft(self, command, output).await,
            Command::Api(args) => {
                if args.call.operation.anonymous {
                    self.session_without_secrets().await?;
                }
                api::run_api_call(args.call, &self.exchange().await?, output).await
            }
            // `run_command` handles these commands before it creates a context.
            Command::Envelope(command) => envelope::run_envelope(command, output).await,
            Command::Completions(args) => Ok(completions::print_completions(&args, output)),
            Command::Man(args) => completions::write_manual_pages(&args, output),
        }
    }

    fn wall_clock_now(&self) -> UnixTime {
        self.environment.now().wall
    }

    /// Opens the replica. Does not check for which installation its entries were read. Removes data of the
    /// organization that is older than seven days first (LIM-38). Use [`CommandContext::replica_view`] to
    /// display entries.
    fn replica(&self) -> Result<&Replica, CommandError> {
        if let Some(replica) = self.replica.get() {
            return Ok(replica);
        }
        let replica = Replica::new(SqliteReplica::open(&self.config.folders.cache)?);
        // With the clock, the replica also hides data that becomes too old while the command runs.
        let replica = replica.with_clocks(&self.environment);
        // `expire_or_warn` has reported a failure. With the clock, expired data stays hidden (LIM-38).
        let _ = replica.expire(self.wall_clock_now());
        Ok(self.replica.get_or_init(|| replica))
    }

    /// Opens the session with the configured secret store, which is a file store if the member chose it at
    /// login.
    async fn session(&self) -> Result<&Session, CommandError> {
        self.session.get_or_try_init(|| self.open_session()).await
    }

    /// Opens the session. If the secret store is unavailable, opens a session without secrets and also
    /// returns the error.
    async fn session_with_or_without_secrets(&self) -> Result<(&Session, Option<Error>), CommandError> {
        match self.session().await {
            Ok(session) => Ok((session, None)),
            Err(CommandError::Client(error)) if error.kind() == ErrorKind::Secrets => {
                Ok((self.session_without_secrets().await?, Some(error)))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Opens a session without secrets. It has only the saved summary and the saved `Retry-After` times.
    async fn session_without_secrets(&self) -> Result<&Session, CommandError> {
        let opened = async {
            let builder = self.session_builder().credentials(self.open_credential_store()?);
            Ok::<_, CommandError>(builder.open_without_credentials().await?)
        };
        self.session.get_or_try_init(|| opened).await
    }

    fn insecure_folder(&self) -> std::path::PathBuf {
        self.config.folders.state.join("credentials")
    }

    /// Returns true if the member chose the file store for the secrets.
    fn is_insecure(&self) -> bool {
        self.insecure_folder().is_dir()
    }

    async fn open_session(&self) -> Result<Session, CommandError> {
        Ok(self.session_over(self.open_credential_store()?).await?)
    }

    async fn session_over(
        &self,
        store: impl CredentialStore + 'static,
    ) -> Result<Session, exchange_client::Error> {
        self.session_builder().credentials(store).open().await
    }

    fn session_builder(&self) -> SessionBuilder {
        Session::builder(&self.config.address, &self.config.identity)
            .profile(&self.config.profile)
            .state_folder(&self.config.folders.state)
    }

    /// Reads the connection summary that an earlier run saved. Does not need the secret store.
    async fn connection_summary(&self) -> Result<ConnectionSummary, CommandError> {
        Ok(self.session_builder().connection_summary().await?)
    }

    /// Opens the secret store: the file store if the member chose it at login, or else the platform's store.
    /// If the platform's store is missing or locked, the session reports it when it reads or writes secrets.
    fn open_credential_store(&self) -> Result<Arc<dyn CredentialStore>, CommandError> {
        if self.is_insecure() {
            return Ok(Arc::new(self.open_file_store()?));
        }
        Ok(Arc::new(PlatformStore::new()))
    }

    fn open_file_store(&self) -> Result<InsecureFileCredentials, CommandError> {
        InsecureFileCredentials::open(self.insecure_folder()).map_err(|error| {
            let next = "make it a folder of this account that nobody else can read (chmod 700), or remove it";
            CommandError::new(ExitStatus::Failure, error.to_string(), next)
        })
    }

    async fn exchange(&self) -> Result<Exchange, CommandError> {
        let build = async {
            let session = self.session().await?;
            let Config { address, identity, .. } = &self.config;
            let mut settings = TransportSettings::default();
            settings.retry_policy = self.retry_policy;
            let builder = Exchange::builder(address.clone(), identity.clone()).settings(settings);
            Ok::<_, CommandError>(builder.build(session)?)
        };
        self.exchange.get_or_try_init(|| build).await.cloned()
    }

    /// Reads the service document, prints its warnings and returns the exchange. Returns an error if the
    /// connection lacks the scope of the operation (SVC-07).
    async fn exchange_for_operation(
        &self,
        operation: OperationId,
        output: &mut Output,
    ) -> Result<Exchange, CommandError> {
        let exchange = self.exchange().await?;
        let connection = self.connection(&exchange, output).await?;
        let operation = operation.operation();
        if connection.permits_operation(operation) {
            Ok(exchange)
        } else {
            Err(scope_missing_error(operation))
        }
    }

    /// Reads the service document once and returns the connection that it describes (SVC-07).
    async fn connection(
        &self,
        exchange: &Exchange,
        output: &mut Output,
    ) -> Result<&Connection, CommandError> {
        let read = async {
            let connection = exchange.connection().await?;
            if let Some(update) = connection.required_update() {
                output.print_warning(update);
            }
            for gone in connection.deprecations() {
                output.print_warning(format!("{} is deprecated and will be removed", gone.feature));
            }
            Ok(connection)
        };
        self.connection.get_or_try_init(|| read).await
    }

    fn catalogue(&self, exchange: &Exchange) -> CatalogResolver {
        let stored = std::fs::read(self.catalogue_file()).ok();
        // If the file cannot be read, new lookups replace it.
        let memory = stored.and_then(|json| CatalogMemory::from_json(&json).ok()).unwrap_or_default();
        exchange.catalog(memory)
    }

    /// RES-13: saves the resolved keys for the next command. A failure only costs later lookups, so it is not
    /// reported.
    fn save_catalogue(&self, catalogue: &CatalogResolver) {
        let _ = catalogue.memory_snapshot().write_to(&self.catalogue_file());
    }

    fn catalogue_file(&self) -> std::path::PathBuf {
        self.config.folders.state.join("catalogue.json")
    }

    fn outbox_store(&self) -> Result<SqliteOutbox, CommandError> {
        Ok(SqliteOutbox::open(&self.config.folders.state)?)
    }

    /// Opens the outbox without contacting the exchange. Returns `None` if the installation id is not known
    /// yet.
    async fn open_local_outbox(&self) -> Result<Option<Outbox>, CommandError> {
        let exchange = self.exchange().await?;
        let Some(owner) = self.session.get().and_then(Session::installation_id) else { return Ok(None) };
        let mut policy = OutboxPolicy::default();
        policy.max_ops = DEFAULT_MAX_OPS;
        let (core, environment) = (exchange.api().api_client(), exchange.environment().clone());
        Ok(Some(Outbox::new(core, self.outbox_store()?, environment, owner, policy)?))
    }

    /// Reads the changes of this connection, and counts the changes of earlier connections.
    async fn read_local_changes(&self) -> Result<LocalChanges, CommandError> {
        let (mut own_entries, mut cannot_be_read) = (Vec::new(), Vec::new());
        if let Some(outbox) = self.open_local_outbox().await? {
            let OutboxContents { entries, unreadable, .. } = outbox.contents().await?;
            (own_entries, cannot_be_read) = (entries, unreadable);
        }
        let open = own_entries.iter().filter(|entry| entry.state() != EntryState::Done).count()
            + cannot_be_read.iter().filter(|entry| !entry.done).count();
        let all = match self.config.folders.state.exists() {
            true => self.outbox_store()?.count_undecided().await?,
            false => 0,
        };
        let earlier = all.saturating_sub(u64::try_from(open).unwrap_or(u64::MAX));
        Ok(LocalChanges { entries: own_entries, unreadable: cannot_be_read, earlier })
    }

    /// Removes old data. A failure is only printed as a warning, so that the command can continue.
    async fn expire_or_warn(&self, output: &mut Output) {
        if let Err(failure) = self.expire_old_data(output).await
            && let Some(report) = failure.to_report()
        {
            output.print_warning(format!(
                "data older than seven days could not be removed: {}",
                report.message
            ));
        }
    }

    /// Removes data of the organization that is older than seven days, for all installations (LIM-38,
    /// OST-14): replica entries and outcomes of changes, even if the outcomes were never shown.
    ///
    /// An error in one of the two stores does not prevent the removal in the other one. Returns the first
    /// error.
    async fn expire_old_data(&self, output: &mut Output) -> Result<(), CommandError> {
        let (folders, now) = (&self.config.folders, self.wall_clock_now());
        let mut done = Ok(());
        if folders.cache.exists() {
            done = SqliteReplica::expire(&folders.cache, now).map(drop).map_err(CommandError::from);
        }
        if !folders.state.exists() {
            return done;
        }
        let store = match self.outbox_store() {
            Ok(store) => store,
            Err(failure) => return done.and(Err(failure)),
        };
        // The own installation id only determines whether a warning is printed.
        let own_id = self.connection_summary().await.ok().and_then(|summary| summary.installation_id);
        let owners = match store.owners().await {
            Ok(owners) => owners,
            Err(error) => return done.and(Err(error.into())),
        };
        for owner in owners {
            let gone =
                match outbox_client::expire_decided(&store, &owner, now, &OutboxPolicy::default()).await {
                    Ok(gone) => gone,
                    Err(error) => {
                        done = done.and(Err(error.into()));
                        continue;
                    }
                };
            for number in gone.iter().filter(|_| own_id.as_ref() == Some(&owner)) {
                output.print_warning(format!(
                    "change {number} of org-stock was decided seven days ago, and its outcome was never shown; it has \
                     been deleted"
                ));
            }
        }
        done
    }
}

/// The changes in the local outbox.
struct LocalChanges {
    /// The readable changes of this connection.
    entries: Vec<OutboxEntry>,
    /// The changes of this connection in a format that this version cannot read.
    unreadable: Vec<UnreadableEntry>,
    /// The number of undecided changes of earlier connections, which this installation cannot send (ERR-13).
    earlier: u64,
}

impl LocalChanges {
    /// Warns about changes of earlier connections, because no list contains them.
    fn warn_about_earlier(&self, output: &mut Output) {
        if self.earlier > 0 {
            output.print_warning(format!(
                "changes of an earlier connection are stored here and will not be sent ({}): `exchange logout` deletes them with \
                 everything else",
                self.earlier
            ));
        }
    }
}

/// Creates the error for an operation whose scope the member did not grant. The operation was not sent.
fn scope_missing_error(operation: &Operation) -> CommandError {
    let wanted = operation.scopes.first().and_then(|scopes| scopes.first()).copied().unwrap_or_default();
    let what = format!("this command needs the scope {wanted}, which was not granted at sign-in");
    CommandError::new(ExitStatus::SignInRequired, what, "sign in again with --allow to grant it")
}

/// Formats a time in the format of the contract (RFC 3339).
fn format_timestamp(time: UnixTime) -> Option<String> {
    timestamp::format_unix_seconds(i64::try_from(time.as_secs()).ok()?)
}

/// Reads a file, or the standard input for `-`. The standard input is read on a blocking thread, so that
/// Ctrl-C can interrupt the command.
async fn read_input(file: &Path) -> Result<Vec<u8>, CommandError> {
    let read = if file == Path::new("-") {
        let read = tokio::task::spawn_blocking(|| {
            let mut bytes = Vec::new();
            stdin().read_to_end(&mut bytes).map(|_| bytes)
        });
        read.await.unwrap_or_else(|_| Err(std::io::ErrorKind::Interrupted.into()))
    } else {
        std::fs::read(file)
    };
    read.map_err(|error| CommandError::from_input_file(file, error))
}

/// Returns the argument, or the first line of the standard input if the argument is `-`.
async fn resolve_dash(text: &str) -> Result<String, CommandError> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let line = read_stdin_line().await.map_err(|error| {
        let what = format!("cannot read the standard input: {error}");
        CommandError::new(ExitStatus::Failure, what, "check the command that writes to it")
    })?;
    Ok(line.unwrap_or_default())
}
