//! Compares two versions of an operation.

use contract_codegen_core::{
    api::{OpenApiDocument, Operation, RequestBody, Server},
    resolve::openapi::make_operation_id,
    schema::SchemaId,
    tree::DocumentLocation,
};

use super::{
    bodies::ContentComparer,
    comparison::Comparison,
    findings::PlacePair,
    parameters::ParameterComparer,
    responses::ResponseComparer,
    rules::{self, DriftRule},
    schemes::RenamedSchemes,
    security::SecurityComparer,
    servers::ServerComparer,
    site::{ComparisonSite, ValueUse},
};

/// The two documents that declare the versions of an operation.
#[derive(Clone, Copy)]
pub(super) struct DocumentPair<'g> {
    pub(super) old: &'g OpenApiDocument,
    pub(super) new: &'g OpenApiDocument,
    /// Whether the documents correspond to each other. If not, the operation moved to another document.
    pub(super) is_matched: bool,
}

/// Two versions of one operation.
#[derive(Clone, Copy)]
pub(super) struct OperationPair<'g> {
    pub(super) old: &'g Operation,
    pub(super) new: &'g Operation,
    pub(super) documents: DocumentPair<'g>,
    /// The direction of response values. It is `Write` for webhooks and callbacks, because clients send their
    /// responses.
    pub(super) response_use: ValueUse,
}

impl<'g> OperationPair<'g> {
    pub(super) fn label(&self) -> String {
        operation_label(self.new)
    }

    pub(super) const fn places(&self) -> (Option<&'g DocumentLocation>, Option<&'g DocumentLocation>) {
        (Some(&self.old.place), Some(&self.new.place))
    }

    /// Returns the direction of request values. It is `Read` for webhooks and callbacks, because the service
    /// sends their requests.
    pub(super) const fn request_use(&self) -> ValueUse {
        self.response_use.reversed()
    }

    /// Records a change of the operation with the levels of the rule. A change of a webhook or a callback
    /// gets the levels for webhooks.
    pub(super) fn report(
        &self,
        comparison: &mut Comparison<'g>,
        rule: &'static DriftRule,
        places: PlacePair<'_>,
        subject: &str,
        message: String,
    ) {
        match self.response_use {
            ValueUse::Read => comparison.report_contract_change(rule, places, subject, message),
            ValueUse::Write => comparison.report_webhook_change(rule, places, subject, message),
        }
    }
}

/// Formats the method and the path of an operation.
pub(super) fn operation_label(operation: &Operation) -> String {
    format!("{} {}", operation.method, operation.path)
}

/// A comparer for two versions of an operation.
pub(super) struct OperationComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    operation: &'c OperationPair<'g>,
}

impl<'c, 'g> OperationComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, operation: &'c OperationPair<'g>) -> Self {
        Self { comparison, operation }
    }

    /// Compares all parts of the operation. `renamed_schemes` contains the renamed security schemes of the
    /// operation's document.
    pub(super) fn compare_operation(&mut self, renamed_schemes: &RenamedSchemes<'g>) {
        let OperationPair { old, .. } = *self.operation;
        self.comparison.mark_operation_stability(&self.operation.label(), &old.place);
        self.compare_route();
        self.compare_names();
        self.compare_documentation();
        self.compare_servers();
        SecurityComparer::new(self.comparison, self.operation).compare_security(renamed_schemes);
        ParameterComparer::new(self.comparison, self.operation).compare_parameters();
        self.compare_request();
        ResponseComparer::new(self.comparison, self.operation).compare_responses();
    }

    fn report(&mut self, rule: &'static DriftRule, message: String) {
        let operation = self.operation;
        operation.report(self.comparison, rule, operation.places(), &operation.label(), message);
    }

    fn compare_route(&mut self) {
        let OperationPair { old, new, .. } = *self.operation;
        let are_callbacks = old.callback.is_some() && new.callback.is_some();
        let has_other_path = !are_callbacks && anonymous_path(&old.path) != anonymous_path(&new.path);
        if old.method != new.method || has_other_path {
            let message =
                format!("`{}` moved from {} to {}", new.id, operation_label(old), operation_label(new));
            self.report(rules::OPERATION_MOVED, message);
        }
        let expression =
            |operation: &'g Operation| operation.callback.as_ref().map(|(_, expression)| expression);
        if let (Some(was), Some(is)) = (expression(old), expression(new))
            && was != is
        {
            self.report(
                rules::OPERATION_MOVED,
                format!("the callback address changed from `{was}` to `{is}`"),
            );
        }
    }

    fn compare_names(&mut self) {
        let OperationPair { old, new, .. } = *self.operation;
        if old.id != new.id {
            // The name of an operation without `operationId` is derived and appears only in generated code.
            let name = match has_derived_id(old) && has_derived_id(new) {
                true => "generated name of the operation without `operationId`",
                false => "`operationId`",
            };
            let message = format!("the {name} changed from `{}` to `{}`", old.id, new.id);
            self.report(rules::OPERATION_RENAMED, message);
        }
    }

    fn compare_documentation(&mut self) {
        let OperationPair { old, new, .. } = *self.operation;
        if old.deprecated != new.deprecated {
            let (rule, message) = if new.deprecated {
                (rules::OPERATION_DEPRECATED, "the operation became deprecated")
            } else {
                (rules::OPERATION_UNDEPRECATED, "the operation is no longer deprecated")
            };
            self.report(rule, message.to_owned());
        }
        if (&old.summary, &old.description, &old.tags) != (&new.summary, &new.description, &new.tags) {
            self.report(rules::OPERATION_EDITORIAL, "summary, description or tags changed".to_owned());
        }
        let mut keys: Vec<&str> = old.extensions.keys().chain(new.extensions.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys.into_iter().filter(|key| old.extensions.get(key) != new.extensions.get(key)) {
            self.report(rules::EXTENSION_CHANGED, format!("`{key}` changed"));
        }
    }

    /// Compares the servers of the operation. Skips operations without their own servers in corresponding
    /// documents, because the comparison of the documents covers their servers.
    fn compare_servers(&mut self) {
        let OperationPair { old, new, documents, .. } = *self.operation;
        if documents.is_matched && old.servers.is_empty() && new.servers.is_empty() {
            return;
        }
        let subject = self.operation.label();
        let mut servers = ServerComparer::new(self.comparison, self.operation.places(), &subject);
        servers.compare_servers(
            effective_servers(old, &documents.old.servers),
            effective_servers(new, &documents.new.servers),
        );
    }

    fn compare_request(&mut self) {
        let operation = self.operation;
        let OperationPair { old, new, .. } = *operation;
        let site = ComparisonSite::new(format!("{} body", operation.label()), operation.request_use());
        let (rule, places, message) = match (&old.request_body, &new.request_body) {
            (None, None) => return,
            (Some(before), Some(after)) => return self.compare_request_bodies(before, after, &site),
            (None, Some(body)) => {
                let (rule, kind) = match body.required {
                    true => (rules::REQUEST_BODY_ADDED_REQUIRED, "required"),
                    false => (rules::REQUEST_BODY_ADDED_OPTIONAL, "optional"),
                };
                let places = (Some(&old.place), Some(&body.place));
                (rule, places, format!("the request body is new and {kind}"))
            }
            (Some(body), None) => {
                let places = (Some(&body.place), Some(&new.place));
                (rules::REQUEST_BODY_REMOVED, places, "the request body was removed".to_owned())
            }
        };
        operation.report(self.comparison, rule, places, &site.base, message);
    }

    fn compare_request_bodies(
        &mut self,
        before: &'g RequestBody,
        after: &'g RequestBody,
        site: &ComparisonSite,
    ) {
        let operation = self.operation;
        let places = (Some(&before.place), Some(&after.place));
        let mut report = |rule: &'static DriftRule, message: &str| {
            operation.report(self.comparison, rule, places, &site.base, message.to_owned());
        };
        if before.description != after.description {
            report(rules::OPERATION_EDITORIAL, "the description of the request body changed");
        }
        match (before.required, after.required) {
            (false, true) => report(rules::REQUEST_BODY_REQUIRED, "the request body became required"),
            (true, false) => report(rules::REQUEST_BODY_OPTIONAL, "the request body became optional"),
            _ => {}
        }
        ContentComparer::for_request(self.comparison, operation, places, site)
            .compare_content(&before.content, &after.content);
    }
}

/// Returns true if the id of an operation is derived from its method and path.
fn has_derived_id(operation: &Operation) -> bool {
    operation.id == make_operation_id(&operation.method.to_ascii_lowercase(), &operation.path)
}

/// Returns the servers of an operation, or those of the document if the operation declares none.
fn effective_servers<'g>(operation: &'g Operation, document: &'g [Server]) -> &'g [Server] {
    if operation.servers.is_empty() { document } else { &operation.servers }
}

/// Converts an optional schema to a list with one schema or none.
pub(super) fn optional_schema(schema: Option<SchemaId>) -> Vec<SchemaId> {
    schema.into_iter().collect()
}

/// Returns a path without the names of its parameters, which are not sent.
pub(super) fn anonymous_path(path: &str) -> String {
    let mut out = String::new();
    let mut is_name = false;
    for c in path.chars() {
        match c {
            '{' => is_name = true,
            '}' => is_name = false,
            _ if is_name => continue,
            _ => {}
        }
        out.push(c);
    }
    out
}
