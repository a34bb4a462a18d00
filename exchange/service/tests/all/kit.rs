//! Shared test tools: an independent validator of requests and responses, the log, the binary as a command, a
//! router on a port, the number and size of model cases.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

use axum::Router;
use contract_runtime::operation::OperationLookup;
use exchange_api::operations::TABLE;
use exchange_service::Environment;
use exchange_service::config::Config;
use exchange_service::serve::Server;
use jsonschema::{Registry, Validator};
use proptest::collection::vec;
use proptest::prelude::{Strategy, prop_oneof};
use proptest::test_runner::Config as ModelConfig;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::fixtures::{read, schemas};

/// Validates bodies against the original files in `schemas/` with an independent validator, so that it does
/// not share mistakes with the generated checks.
pub(crate) struct ContractValidator {
    requests: HashMap<String, Validator>,
    /// Validators by operation and status, including `default`.
    answers: HashMap<(String, String), Option<Validator>>,
}

/// Returns the validator, which is created once.
pub(crate) static CONTRACT_VALIDATOR: LazyLock<ContractValidator> = LazyLock::new(ContractValidator::read);

impl ContractValidator {
    fn read() -> Self {
        let mut registry = Registry::new();
        for file in fs::read_dir(schemas().join("exchange/v1")).expect("the schemas") {
            let schema = read(&file.expect("a file").path());
            let id = schema["$id"].as_str().expect("an id").to_owned();
            registry = registry.add(id, schema).expect("a schema");
        }
        let registry = registry.prepare().expect("all schemas");
        let validator = |content: &Value| {
            let mut bodies = content.as_object()?.values();
            let schema = bodies.next()?.get("schema")?;
            Some(jsonschema::options().with_registry(&registry).build(schema).expect("a validator"))
        };
        let document = read(&schemas().join("openapi.json"));
        let mut judge = Self { requests: HashMap::new(), answers: HashMap::new() };
        for methods in document["paths"].as_object().expect("paths").values() {
            for operation in methods.as_object().expect("methods").values() {
                let Some(id) = operation["operationId"].as_str() else { continue };
                if let Some(validator) = validator(&operation["requestBody"]["content"]) {
                    judge.requests.insert(id.to_owned(), validator);
                }
                for (status, response) in operation["responses"].as_object().expect("answers") {
                    let shared = response["$ref"]
                        .as_str()
                        .and_then(|pointer| document.pointer(pointer.trim_start_matches('#')));
                    let response = shared.unwrap_or(response);
                    judge.answers.insert((id.to_owned(), status.clone()), validator(&response["content"]));
                }
            }
        }
        judge
    }

    /// Panics if a request violates its schema.
    pub(crate) fn request(&self, operation: &str, body: &Value) {
        let validator = self.requests.get(operation).unwrap_or_else(|| panic!("{operation} reads no body"));
        assert_valid(validator, operation, body);
    }

    /// Panics if a response violates its schema, or if the operation does not have it.
    pub(crate) fn answer(&self, operation: &str, status: u16, body: &Value) {
        match self.validator(operation, status) {
            Some(validator) => assert_valid(validator, &format!("{operation} {status}"), body),
            None => assert_eq!(body, &json!(null), "{operation} {status} has no body"),
        }
    }

    /// Reports whether a response matches its schema.
    pub(crate) fn would_take(&self, operation: &str, status: u16, body: &Value) -> bool {
        self.validator(operation, status).is_some_and(|validator| validator.is_valid(body))
    }

    /// Panics if a response violates the contract, or if an accepted request does. Method and target
    /// determine the operation; an unknown target has the error response of any operation.
    pub(crate) fn exchanged(
        &self,
        (method, target): (&str, &str),
        sent: Option<&Value>,
        (status, body): (u16, &Value),
    ) {
        let path = target.split('?').next().unwrap_or_default();
        let OperationLookup::Found(operation) = TABLE.find(method, path) else {
            return self.answer("service_document", status, body);
        };
        self.answer(operation.id, status, body);
        if let Some(sent) = sent.filter(|_| status == 200) {
            self.request(operation.id, sent);
        }
    }

    /// Returns the validator of a response; `None` for one without a body.
    fn validator(&self, operation: &str, status: u16) -> Option<&Validator> {
        let find = |status: String| self.answers.get(&(operation.to_owned(), status));
        let found = find(status.to_string()).or_else(|| find("default".to_owned()));
        found.unwrap_or_else(|| panic!("{operation} has no answer {status}")).as_ref()
    }
}

fn assert_valid(validator: &Validator, subject: &str, body: &Value) {
    let errors: Vec<String> =
        validator.iter_errors(body).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{subject}: {errors:#?}\n{body:#}");
}

/// Runs the binary with arguments, empty standard input, and without the developer's environment variables
/// for the service.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_exchange-service"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("EXCHANGE_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Serves a router on a free port while the test runs, and returns its origin.
pub(crate) async fn served(router: Router, config: &Config, environment: &Environment) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = Server::new(router, config, environment).expect("a server");
    tokio::spawn(server.serve_until(listener, std::future::pending()));
    format!("http://{address}")
}

/// Returns the number of model cases, from `MODEL_CASES`.
pub(crate) fn cases(usual: u32) -> ModelConfig {
    let configured = std::env::var("MODEL_CASES").ok();
    let configured = configured.map(|cases| cases.parse().expect("MODEL_CASES is a number"));
    ModelConfig { cases: configured.unwrap_or(usual), ..ModelConfig::default() }
}

/// Returns the size of a generated change set: mostly small, sometimes up to the limit (LIM-01).
pub(crate) fn ops<S: Strategy>(op: impl Fn() -> S) -> impl Strategy<Value = Vec<S::Value>> {
    prop_oneof![60 => vec(op(), 1..7), 1 => vec(op(), 100..=500)]
}

/// Captures everything that this process logs from now on, from any thread and test.
pub(crate) struct Log(Mutex<Vec<u8>>);

/// The captured log.
pub(crate) fn log() -> &'static Log {
    static LOG: LazyLock<&'static Log> = LazyLock::new(|| {
        let log: &'static Log = Box::leak(Box::new(Log(Mutex::default())));
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(move || log)
            .with_ansi(false)
            .finish();
        tracing::subscriber::set_global_default(subscriber).expect("nobody else takes the log");
        // Callsites that another thread reached before the subscriber was set are disabled until the cache is
        // rebuilt.
        tracing::callsite::rebuild_interest_cache();
        log
    });
    &LOG
}

impl Log {
    /// Returns the log so far.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Write for &Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
