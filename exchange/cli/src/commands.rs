//! Every command: what it needs of the client, and what it prints.

mod api;
mod areas;
mod change;
mod claims;
mod completions;
mod copies;
mod draft;
mod envelope;
mod link;
mod lists;
mod outbox;
mod session;
mod sync;
mod told;

use std::{
    io::{Read as _, stdin},
    path::Path,
    sync::Arc,
    time::Duration,
};

use exchange_client::{
    Catalogue, CatalogueMemory, Connection, CredentialStore, Environment, Error, ErrorKind, Exchange,
    InsecureFile, Noted, Patience, Replica, Session, SessionBuilder, Settings, UnixTime,
    api::{
        operations::OperationId,
        runtime::{moment, operation::Operation},
        types::{Blueprint, BlueprintOp, OrgStockLot, OrgStockOp, Ship, ShipOp, StockLot, StockOp},
    },
    outbox::{self as outbox_client, Contents, Entry, Outbox, Policy, State, Unreadable},
};
use exchange_client_keyring::PlatformStore;
use exchange_client_sqlite::{SqliteOutbox, SqliteReplica};
use tokio::sync::OnceCell;

use self::session::Chosen;
use crate::{
    args::{Blueprints, Command, Demand, Global, OrgStock, OrgUnits, Ships, Stock},
    config::Config,
    failure::{Exit, Failure},
    output::{Output, typed_line},
};

/// How many ops a change set has at most when the exchange cannot be asked how many it takes.
const FEW_OPS: usize = 100;

/// For how long Ctrl-C waits for what goes on by itself: tokens that are being kept, or are revoked since nobody waits
/// for them any more.
const ENDING: Duration = Duration::from_secs(3);

/// Carries out what was typed, unless Ctrl-C breaks it off.
pub(crate) async fn run(global: &Global, command: Command, output: &mut Output) -> Result<Exit, Failure> {
    // What needs no exchange works without one.
    let command = match command {
        Command::Completions(args) => return Ok(completions::run(&args, output)),
        Command::Envelope(command) => return or_broken_off(envelope::run(command, output)).await,
        command => command,
    };
    let app = App::new(Config::load(global.config.as_deref(), &global.profile)?, patience(&command));
    let done = or_broken_off(app.run(command, output)).await;
    if let Some(session) = app.session.get() {
        let _ = tokio::time::timeout(ENDING, session.settled()).await;
        // So that the next command begins without a challenge, and no earlier than it may; not worth failing for.
        let _ = session.save().await;
    }
    done
}

/// Dropping what is under way leaves nothing behind but changes that are kept.
async fn or_broken_off(work: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    tokio::select! {
        biased;
        done = work => done,
        Ok(()) = tokio::signal::ctrl_c() => Err(Failure::Said(Exit::Interrupted)),
    }
}

/// How long somebody who looks at it waits. A change is kept when the exchange does not take it at once.
fn patience(command: &Command) -> Patience {
    let changes = matches!(
        command,
        Command::Blueprints(Blueprints::Op(_))
            | Command::Stock(Stock::Op(_))
            | Command::Ships(Ships::Op(_))
            | Command::OrgStock(OrgStock::Op(_))
            | Command::Outbox(_)
    );
    let Patience { time, asked, .. } = Patience::INTERACTIVE;
    if changes { Patience::new(1, time, asked) } else { Patience::INTERACTIVE }
}

/// What a command works with, opened when it is asked for.
struct App {
    config: Config,
    patience: Patience,
    environment: Environment,
    session: OnceCell<Session>,
    exchange: OnceCell<Exchange>,
    connection: OnceCell<Connection>,
    replica: std::cell::OnceCell<Replica>,
    /// What a login made for its secrets. It goes with this, when nothing goes on by itself any more.
    chosen: std::cell::RefCell<Chosen>,
}

impl App {
    fn new(config: Config, patience: Patience) -> Self {
        Self {
            config,
            patience,
            environment: Environment::system(),
            session: OnceCell::new(),
            exchange: OnceCell::new(),
            connection: OnceCell::new(),
            replica: std::cell::OnceCell::new(),
            chosen: std::cell::RefCell::default(),
        }
    }

    async fn run(&self, command: Command, output: &mut Output) -> Result<Exit, Failure> {
        self.expire_or_warn(output).await;
        let done = self.carry_out(command, output).await;
        if self.is_insecure() { done.map_err(Failure::with_files) } else { done }
    }

    async fn carry_out(&self, command: Command, output: &mut Output) -> Result<Exit, Failure> {
        match command {
            Command::Login(args) => session::login(self, &args, output).await,
            Command::Logout(args) => session::logout(self, &args, output).await,
            Command::Status => session::status(self, output).await,
            Command::Whoami => session::whoami(self, output).await,
            Command::Label(args) => areas::set_label(self, &args.text, output).await,
            Command::CheckHandle(args) => areas::check_handle(self, &args, output).await,
            Command::Resolve(args) => areas::resolve(self, &args, output).await,
            Command::Locations(args) => areas::locations(self, &args, output).await,
            Command::Blueprints(command) => match command {
                Blueprints::List(args) => lists::list::<Blueprint>(self, &args, output).await,
                Blueprints::Show(args) => lists::show::<Blueprint>(self, &args, output).await,
                Blueprints::Op(op) => {
                    change::send::<BlueprintOp>(self, change::blueprints(&op).await?, output).await
                }
            },
            Command::Stock(command) => match command {
                Stock::List(args) => lists::list::<StockLot>(self, &args, output).await,
                Stock::Show(args) => lists::show::<StockLot>(self, &args, output).await,
                Stock::Op(op) => change::send::<StockOp>(self, change::stock(&op).await?, output).await,
            },
            Command::Ships(command) => match command {
                Ships::List(args) => lists::list::<Ship>(self, &args, output).await,
                Ships::Show(args) => lists::show::<Ship>(self, &args, output).await,
                Ships::Op(op) => change::send::<ShipOp>(self, change::ships(&op).await?, output).await,
            },
            Command::OrgStock(command) => match command {
                OrgStock::List(args) => lists::list::<OrgStockLot>(self, &args, output).await,
                OrgStock::Show(args) => lists::show::<OrgStockLot>(self, &args, output).await,
                OrgStock::Members(args) => areas::members(self, &args.unit, output).await,
                OrgStock::Op(op) => {
                    change::send::<OrgStockOp>(self, change::org_stock(&op).await?, output).await
                }
            },
            Command::OrgUnits(command) => match command {
                OrgUnits::List => areas::org_units(self, output).await,
                OrgUnits::Show(args) => areas::org_unit(self, &args, output).await,
            },
            Command::Demand(command) => match command {
                Demand::List(args) => areas::demand(self, &args, output).await,
                Demand::Show(args) => areas::demand_for(self, &args, output).await,
            },
            Command::Sync(args) => sync::run(self, &args, output).await,
            Command::Outbox(command) => outbox::run(self, command, output).await,
            Command::Draft(command) => draft::run(self, command, output).await,
            Command::Api(args) => {
                if args.call.operation.anonymous {
                    self.without_secrets().await?;
                }
                api::run(args.call, &self.exchange().await?, output).await
            }
            // Carried out before there was an exchange.
            Command::Envelope(command) => envelope::run(command, output).await,
            Command::Completions(args) => Ok(completions::run(&args, output)),
        }
    }

    fn now(&self) -> UnixTime {
        self.environment.now().wall
    }

    /// The replica, whosever it is, without what is of the organisation and older than seven days (LIM-38). What is
    /// shown of it goes through [`App::copies`].
    fn replica(&self) -> Result<&Replica, Failure> {
        if let Some(replica) = self.replica.get() {
            return Ok(replica);
        }
        let replica = Replica::new(SqliteReplica::open(&self.config.folders.cache)?);
        // What grows too old while the command runs is not shown either.
        let replica = replica.with_clocks(&self.environment);
        replica.expire(self.now())?;
        Ok(self.replica.get_or_init(|| replica))
    }

    /// The session with the secrets where they are kept: in files only because the member said so at login.
    async fn session(&self) -> Result<&Session, Failure> {
        self.session.get_or_try_init(|| self.open_session()).await
    }

    /// The same where the secret store cannot be used: with why, and of what was noted alone.
    async fn session_or_notes(&self) -> Result<(&Session, Option<Error>), Failure> {
        match self.session().await {
            Ok(session) => Ok((session, None)),
            Err(Failure::Client(error)) if error.kind() == ErrorKind::Secrets => {
                Ok((self.without_secrets().await?, Some(error)))
            }
            Err(failure) => Err(failure),
        }
    }

    /// A session for which no secret store is asked: what was noted, and what the exchange asked to wait.
    async fn without_secrets(&self) -> Result<&Session, Failure> {
        let opened = async {
            let builder = self.builder().credentials(self.store()?);
            Ok::<_, Failure>(builder.unopened().await?)
        };
        self.session.get_or_try_init(|| opened).await
    }

    fn insecure_folder(&self) -> std::path::PathBuf {
        self.config.folders.state.join("credentials")
    }

    /// Whether the member chose files.
    fn is_insecure(&self) -> bool {
        self.insecure_folder().is_dir()
    }

    async fn open_session(&self) -> Result<Session, Failure> {
        Ok(self.session_over(self.store()?).await?)
    }

    async fn session_over(
        &self,
        store: impl CredentialStore + 'static,
    ) -> Result<Session, exchange_client::Error> {
        self.builder().credentials(store).open().await
    }

    fn builder(&self) -> SessionBuilder {
        Session::builder(&self.config.place, &self.config.identity)
            .profile(&self.config.profile)
            .state_folder(&self.config.folders.state)
    }

    /// What an earlier run noted of the connection: no secret store is asked for it.
    async fn noted(&self) -> Result<Noted, Failure> {
        Ok(self.builder().noted().await?)
    }

    /// Files where the member chose them at login, and else the platform's store. Where that is missing or locked the
    /// session says so, and nobody can sign in.
    fn store(&self) -> Result<Arc<dyn CredentialStore>, Failure> {
        if self.is_insecure() {
            return Ok(Arc::new(self.files()?));
        }
        Ok(Arc::new(PlatformStore::new()))
    }

    fn files(&self) -> Result<InsecureFile, Failure> {
        InsecureFile::open(self.insecure_folder()).map_err(|error| {
            let next = "make it a folder of this account that nobody else can read (chmod 700), or remove it";
            Failure::new(Exit::Failed, error.to_string(), next)
        })
    }

    async fn exchange(&self) -> Result<Exchange, Failure> {
        let build = async {
            let session = self.session().await?;
            let Config { place, identity, .. } = &self.config;
            let mut settings = Settings::default();
            settings.patience = self.patience;
            let builder = Exchange::builder(place.clone(), identity.clone()).settings(settings);
            Ok::<_, Failure>(builder.build(session)?)
        };
        self.exchange.get_or_try_init(|| build).await.cloned()
    }

    /// Begins a session with the exchange: reads the service document, tells what the member has to know, and
    /// refuses what this connection does not cover (SVC-07).
    async fn begin(&self, operation: OperationId, output: &mut Output) -> Result<Exchange, Failure> {
        let exchange = self.exchange().await?;
        let connection = self.connection(&exchange, output).await?;
        let operation = operation.operation();
        if connection.covers(operation) { Ok(exchange) } else { Err(not_covered(operation)) }
    }

    /// What the exchange says of this connection: read once (SVC-07).
    async fn connection(&self, exchange: &Exchange, output: &mut Output) -> Result<&Connection, Failure> {
        let read = async {
            let connection = exchange.connection().await?;
            if let Some(update) = connection.update_needed() {
                output.warn(update);
            }
            for gone in connection.deprecations() {
                output.warn(format!("{} will go", gone.feature));
            }
            Ok(connection)
        };
        self.connection.get_or_try_init(|| read).await
    }

    fn catalogue(&self, exchange: &Exchange) -> Catalogue {
        let stored = std::fs::read(self.catalogue_file()).ok();
        // What cannot be read is learned anew.
        let memory = stored.and_then(|json| CatalogueMemory::from_json(&json).ok()).unwrap_or_default();
        exchange.catalogue(memory)
    }

    /// RES-13: the keys are known to the next command too. Not worth failing for.
    fn keep_catalogue(&self, catalogue: &Catalogue) {
        let _ = catalogue.remember().write_to(&self.catalogue_file());
    }

    fn catalogue_file(&self) -> std::path::PathBuf {
        self.config.folders.state.join("catalogue.json")
    }

    fn outbox_store(&self) -> Result<SqliteOutbox, Failure> {
        Ok(SqliteOutbox::open(&self.config.folders.state)?)
    }

    /// The outbox as it is here, whatever the exchange says; nothing while it is not known whose it is.
    async fn outbox_here(&self) -> Result<Option<Outbox>, Failure> {
        let exchange = self.exchange().await?;
        let Some(owner) = self.session.get().and_then(Session::installation_id) else { return Ok(None) };
        let mut policy = Policy::default();
        policy.most_ops = FEW_OPS;
        let (core, environment) = (exchange.api().core(), exchange.environment().clone());
        Ok(Some(Outbox::new(core, self.outbox_store()?, environment, owner, policy)?))
    }

    /// What is in it, what of that this version cannot read, and how much of others is beside it.
    async fn changes_here(&self) -> Result<Changes, Failure> {
        let (mut own, mut cannot_be_read) = (Vec::new(), Vec::new());
        if let Some(outbox) = self.outbox_here().await? {
            let Contents { entries, unreadable, .. } = outbox.contents().await?;
            (own, cannot_be_read) = (entries, unreadable);
        }
        let open = own.iter().filter(|entry| entry.state() != State::Done).count()
            + cannot_be_read.iter().filter(|entry| !entry.done).count();
        let all = match self.config.folders.state.exists() {
            true => self.outbox_store()?.waiting().await?,
            false => 0,
        };
        let earlier = all.saturating_sub(u64::try_from(open).unwrap_or(u64::MAX));
        Ok(Changes { entries: own, unreadable: cannot_be_read, earlier })
    }

    /// The same; trouble keeps no command from what it is for.
    async fn expire_or_warn(&self, output: &mut Output) {
        if let Err(failure) = self.expire(output).await
            && let Some(told) = failure.envelope()
        {
            output.warn(format!("what is older than seven days could not be looked for: {}", told.message));
        }
    }

    /// What is of the organisation goes after seven days, whatever command comes then and whosever it was (LIM-38,
    /// OST-14): copies, and what became of changes, told or not.
    ///
    /// Trouble with one place keeps nothing in another: the first there was is told.
    async fn expire(&self, output: &mut Output) -> Result<(), Failure> {
        let (folders, now) = (&self.config.folders, self.now());
        let mut done = Ok(());
        if folders.cache.exists() {
            done = SqliteReplica::expire(&folders.cache, now).map(drop).map_err(Failure::from);
        }
        if !folders.state.exists() {
            return done;
        }
        let store = match self.outbox_store() {
            Ok(store) => store,
            Err(failure) => return done.and(Err(failure)),
        };
        // For the words of a warning alone.
        let own = self.noted().await.ok().and_then(|noted| noted.installation_id);
        let owners = match store.owners().await {
            Ok(owners) => owners,
            Err(error) => return done.and(Err(error.into())),
        };
        for owner in owners {
            let gone = match outbox_client::expire(&store, &owner, now, &Policy::default()).await {
                Ok(gone) => gone,
                Err(error) => {
                    done = done.and(Err(error.into()));
                    continue;
                }
            };
            for number in gone.iter().filter(|_| own.as_ref() == Some(&owner)) {
                output.warn(format!(
                    "change {number} of org-stock was decided seven days ago, and nobody read what became of it: \
                     it is not kept any longer"
                ));
            }
        }
        done
    }
}

/// The changes that are kept here.
struct Changes {
    /// Of this connection.
    entries: Vec<Entry>,
    /// Of this connection too.
    unreadable: Vec<Unreadable>,
    /// How many were not decided that earlier connections left: another installation sends nothing of them (ERR-13).
    earlier: u64,
}

impl Changes {
    /// Tells of what no list has.
    fn tell_of_earlier(&self, output: &mut Output) {
        if self.earlier > 0 {
            output.warn(format!(
                "changes of an earlier connection are kept here and not sent ({}): `exchange logout` deletes them with \
                 everything else",
                self.earlier
            ));
        }
    }
}

/// Refused before it is sent: the member did not allow it.
fn not_covered(operation: &Operation) -> Failure {
    let wanted = operation.scopes.first().and_then(|scopes| scopes.first()).copied().unwrap_or_default();
    let what = format!("this connection does not cover it: {wanted} was not granted");
    Failure::new(Exit::SignIn, what, "sign in again and --allow it, if you want it")
}

/// A time as the contract writes it.
fn written(time: UnixTime) -> Option<String> {
    moment::text_of(i64::try_from(time.as_secs()).ok()?)
}

/// The bytes of a file, or of the standard input. Whoever waits for what is typed there can be broken off.
async fn input(file: &Path) -> Result<Vec<u8>, Failure> {
    let read = if file == Path::new("-") {
        let read = tokio::task::spawn_blocking(|| {
            let mut bytes = Vec::new();
            stdin().read_to_end(&mut bytes).map(|_| bytes)
        });
        read.await.unwrap_or_else(|_| Err(std::io::ErrorKind::Interrupted.into()))
    } else {
        std::fs::read(file)
    };
    read.map_err(|error| Failure::file(&file.display().to_string(), &error))
}

/// What was typed, or the first line of the standard input where that is `-`.
async fn typed_or_read(text: &str) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let line = typed_line().await.map_err(|error| Failure::file("the standard input", &error))?;
    Ok(line.unwrap_or_default())
}
