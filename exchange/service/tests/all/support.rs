//! Shared test tools: an independent validator of requests and responses, the captured log, the binary as a
//! command, a server for a router, and the configuration of model tests.

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

/// Validates bodies against the original files in `schemas/` with an independent validator, so that the
/// generated checks and this validation cannot have the same mistakes.
pub(crate) struct ContractValidator {
    requests: HashMap<String, Validator>,
    /// The validators by operation and status, including `default`.
    answers: HashMap<(String, String), Option<Validator>>,
}

/// The validator, which is created on first use.
pub(crate) static CONTRACT_VALIDATOR: LazyLock<ContractValidator> = LazyLock::new(ContractValidator::read);

impl ContractValidator {
    fn read() -> Self {
        let mut registry = Registry::new();
        for file in fs::read_dir(schemas().join("exchange/v1")).expect("the schema folder can be read") {
            let schema = read(&file.expect("the file can be read").path());
            let id = schema["$id"].as_str().expect("a string").to_owned();
            registry = registry.add(id, schema).expect("a valid schema");
        }
        let registry = registry.prepare().expect("all references resolve");
        let validator = |content: &Value| {
            let mut bodies = content.as_object()?.values();
            let schema = bodies.next()?.get("schema")?;
            Some(jsonschema::options().with_registry(&registry).build(schema).expect("a valid schema"))
        };
        let document = read(&schemas().join("openapi.json"));
        let mut judge = Self { requests: HashMap::new(), answers: HashMap::new() };
        for methods in document["paths"].as_object().expect("an object").values() {
            for operation in methods.as_object().expect("an object").values() {
                let Some(id) = operation["operationId"].as_str() else { continue };
                if let Some(validator) = validator(&operation["requestBody"]["content"]) {
                    judge.requests.insert(id.to_owned(), validator);
                }
                for (status, response) in operation["responses"].as_object().expect("an object") {
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

    /// Asserts that a request matches its schema.
    pub(crate) fn request(&self, operation: &str, body: &Value) {
        let validator =
            self.requests.get(operation).unwrap_or_else(|| panic!("{operation} has no request body"));
        assert_valid(validator, operation, body);
    }

    /// Asserts that the operation declares a response with this status, and that the response matches its
    /// schema.
    pub(crate) fn check_response(&self, operation: &str, status: u16, body: &Value) {
        match self.validator(operation, status) {
            Some(validator) => assert_valid(validator, &format!("{operation} {status}"), body),
            None => assert_eq!(body, &json!(null), "{operation} {status} has no body"),
        }
    }

    /// Returns true if a response matches its schema.
    pub(crate) fn would_take(&self, operation: &str, status: u16, body: &Value) -> bool {
        self.validator(operation, status).is_some_and(|validator| validator.is_valid(body))
    }

    /// Asserts that a response matches the contract, and also the request if it was accepted. Method and
    /// target determine the operation; for an unknown target, the error response that all operations share is
    /// used.
    pub(crate) fn exchanged(
        &self,
        (method, target): (&str, &str),
        sent: Option<&Value>,
        (status, body): (u16, &Value),
    ) {
        let path = target.split('?').next().unwrap_or_default();
        let OperationLookup::Found(operation) = TABLE.find(method, path) else {
            return self.check_response("service_document", status, body);
        };
        self.check_response(operation.id, status, body);
        if let Some(sent) = sent.filter(|_| status == 200) {
            self.request(operation.id, sent);
        }
    }

    /// Returns the validator of a response, or `None` for a response without a body.
    fn validator(&self, operation: &str, status: u16) -> Option<&Validator> {
        let find = |status: String| self.answers.get(&(operation.to_owned(), status));
        let found = find(status.to_string()).or_else(|| find("default".to_owned()));
        found.unwrap_or_else(|| panic!("{operation} has no response {status}")).as_ref()
    }
}

fn assert_valid(validator: &Validator, subject: &str, body: &Value) {
    let errors: Vec<String> =
        validator.iter_errors(body).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{subject}: {errors:#?}\n{body:#}");
}

/// Returns a command that runs the binary with arguments and empty standard input, without the developer's
/// environment variables for the service.
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

/// Serves a router on a free port until the test ends, and returns its origin.
pub(crate) async fn served(router: Router, config: &Config, environment: &Environment) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a local address");
    let server = Server::new(router, config, environment).expect("the server can be created");
    tokio::spawn(server.serve_until(listener, std::future::pending()));
    format!("http://{address}")
}

/// Returns the configuration of a model test; `MODEL_CASES` overrides the number of cases.
pub(crate) fn cases(usual: u32) -> ModelConfig {
    let configured = std::env::var("MODEL_CASES").ok();
    let configured = configured.map(|cases| cases.parse().expect("a number"));
    ModelConfig { cases: configured.unwrap_or(usual), ..ModelConfig::default() }
}

/// Generates the ops of a change set: mostly a few, sometimes up to the limit (LIM-01).
pub(crate) fn ops<S: Strategy>(op: impl Fn() -> S) -> impl Strategy<Value = Vec<S::Value>> {
    prop_oneof![60 => vec(op(), 1..7), 1 => vec(op(), 100..=500)]
}

/// A log of everything that this process logs after the first call of [`log`], from all threads and tests.
pub(crate) struct Log(Mutex<Vec<u8>>);

/// Returns the captured log.
pub(crate) fn log() -> &'static Log {
    static LOG: LazyLock<&'static Log> = LazyLock::new(|| {
        let log: &'static Log = Box::leak(Box::new(Log(Mutex::default())));
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(move || log)
            .with_ansi(false)
            .finish();
        tracing::subscriber::set_global_default(subscriber).expect("no other subscriber is set");
        // If another thread reached a callsite before the subscriber was set, the callsite is disabled until
        // this cache is rebuilt.
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
