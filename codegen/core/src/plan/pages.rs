//! Plans pagination as configured in `[[pages]]`: which operations are paginated, where a page contains its
//! items, and how the client requests the next page.
//!
//! An operation that `operations` names must be suitable for pagination, and each problem is reported.
//! Operations that only match a glob in `include` are skipped if they are not suitable, because a glob may
//! also match operations that return no list.

mod problems;
#[cfg(test)]
mod tests;
mod value_path;

use std::collections::BTreeSet;

use contract_runtime::Json;

pub(super) use self::problems::check_entries;
pub use self::{
    problems::{PageProblem, report_problems},
    value_path::{ValuePath, ValuePathStep},
};
use super::{
    ClientGroup, OperationSide, PlanInput, PlannedCall, PlannedParameter, ResponsePayload, TextScalar,
    TextShape, client_groups::accessor_names,
};
use crate::{
    api::{ParameterIn, StatusPattern},
    config::{self, LinkTargetScope, OffsetIncrement},
    conjunction::SchemaConjunction,
    prune,
    schema::TypeSet,
    shape::TypeRef,
};

/// The pagination of an operation: where a page contains its items, and how the client requests the next
/// page.
#[derive(Clone, Debug)]
pub struct Pagination {
    /// The Rust type of a page, which is the type of the operation's success response.
    pub page: TypeRef,
    /// True if a success response may have no body.
    pub optional: bool,
    /// The path from a page to its items.
    pub items: ValuePath,
    pub item: TypeRef,
    /// The mechanism by which the next page is requested.
    pub next: NextPage,
    /// The name of the client method that iterates over pages.
    pub pages_method: String,
    /// The name of the client method that iterates over items.
    pub items_method: String,
}

impl Pagination {
    /// Returns the type of a page inside nullable types, and the rest of the path from there to the items. A
    /// page that is `null` has no items.
    #[must_use]
    pub fn non_null_page(&self) -> (&TypeRef, &[ValuePathStep]) {
        let (mut page, mut steps) = (&self.page, self.items.steps.as_slice());
        while let (TypeRef::Nullable(inner), [ValuePathStep::Nullable, rest @ ..]) = (page, steps) {
            (page, steps) = (&**inner, rest);
        }
        (page, steps)
    }
}

/// The mechanism by which the next page is requested. `argument` is the row index of the parameter that
/// selects the page.
#[derive(Clone, Debug)]
pub enum NextPage {
    /// A cursor from the previous page is passed as a parameter.
    Cursor {
        argument: usize,
        from: ValuePath,
        /// True if `from` starts at the last item of the page instead of the page.
        of_last_item: bool,
        /// The path from a page to the flag that is true if there are further pages.
        more: Option<ValuePath>,
    },
    /// The `Link` header contains the URL of the next page.
    Link {
        rel: String,
        targets: LinkTargetScope,
    },
    Url {
        from: ValuePath,
        targets: LinkTargetScope,
    },
    Offset {
        argument: usize,
        first: u64,
        by: OffsetIncrement,
        /// The parameter that limits the number of items in a page.
        limit: Option<PageLimit>,
        /// The path to the total number of items.
        total: Option<ValuePath>,
    },
    Page {
        argument: usize,
        first: u64,
        /// The parameter that limits the number of items in a page.
        limit: Option<PageLimit>,
        /// The path to the total number of pages.
        total_pages: Option<ValuePath>,
        /// The path to the total number of items.
        total_items: Option<ValuePath>,
    },
}

/// The parameter that limits the number of items in a page.
#[derive(Clone, Copy, Debug)]
pub struct PageLimit {
    /// The row index of the parameter.
    pub argument: usize,
    /// The limit that applies if the caller omits the parameter.
    pub default: u64,
}

/// Sets the pagination of all calls that `[[pages]]` entries select, and returns the problems of unsuitable
/// operations.
pub(super) fn plan_pages(
    given: PlanInput<'_>,
    side: OperationSide,
    groups: &[ClientGroup],
    calls: &mut [PlannedCall<'_>],
) -> Vec<PageProblem> {
    let mut problems = Vec::new();
    if side == OperationSide::Webhooks || given.pages.is_empty() {
        return problems;
    }
    let mut globs = GlobProblems::default();
    for call in calls.iter_mut().filter(|call| call.unsendable_reason.is_none()) {
        let mut found: Option<(usize, Pagination)> = None;
        for (at, fit) in given.matching_entries(call, &mut globs) {
            match fit {
                Ok(_) if found.is_some() => problems.push(PageProblem::two_entries(call, at)),
                Ok(pages) => found = Some((at, pages)),
                Err(unfit) => problems.push(unfit.for_operation(call, at)),
            }
        }
        call.pages = found;
    }
    problems.extend(globs.0.into_iter().filter_map(|(_, unfit)| unfit));
    problems.extend(reject_other_items(calls));
    name_methods(groups, calls);
    problems
}

/// The problems of globs that match no suitable operation. The key of an element consists of the indices of
/// the entry and of the glob within it. The value is the problem of the first matched operation, or `None` if
/// one of the matched operations is suitable.
#[derive(Default)]
struct GlobProblems(Vec<((usize, usize), Option<PageProblem>)>);

impl GlobProblems {
    /// Records that a glob matched an operation. `reason` is `None` if the operation is suitable.
    fn record(&mut self, which: (usize, usize), reason: Option<PageProblem>) {
        match self.0.iter_mut().find(|(known, _)| *known == which) {
            Some((_, before)) if reason.is_none() => *before = None,
            Some(_) => {}
            None => self.0.push((which, reason)),
        }
    }
}

/// If two operations have the same page type, but their items are at different pointers, removes the
/// pagination of the second operation and returns a problem.
fn reject_other_items(calls: &mut [PlannedCall<'_>]) -> Vec<PageProblem> {
    let mut problems = Vec::new();
    for at in 0..calls.len() {
        let (before, rest) = calls.split_at_mut(at);
        let Some(call) = rest.first_mut() else { continue };
        let Some((entry, own)) = &call.pages else { continue };
        let same = |(_, other): &(usize, Pagination)| {
            other.non_null_page().0.is_same_rust_type(own.non_null_page().0)
                && other.items.pointer != own.items.pointer
        };
        let other = before.iter().find(|other| other.pages.as_ref().is_some_and(same));
        if let Some(other) = other {
            problems.push(PageProblem::other_items(call, other, *entry, &own.items.pointer));
            call.pages = None;
        }
    }
    problems
}

/// Assigns distinct names to the pagination methods.
fn name_methods(groups: &[ClientGroup], calls: &mut [PlannedCall<'_>]) {
    let methods = calls.iter().flat_map(|call| {
        [&call.client_method, &call.streams.method].map(|name| (call.accessor.clone(), name.clone()))
    });
    let mut taken: BTreeSet<(Option<String>, String)> = methods.chain(accessor_names(groups)).collect();
    for call in calls.iter_mut() {
        let (plain, group) = (call.client_method.trim_end_matches('_').to_owned(), call.accessor.clone());
        let Some((_, pages)) = &mut call.pages else { continue };
        let mut free = |end: &str, other: &str| {
            let (mut name, mut longer) = (format!("{plain}{end}"), plain.clone());
            while !taken.insert((group.clone(), name.clone())) {
                longer.push_str(other);
                name.clone_from(&longer);
            }
            name
        };
        pages.pages_method = free("_pages", "_paged");
        pages.items_method = free("_items", "_each");
    }
}

impl PlanInput<'_> {
    /// Returns the indices of the entries that apply to an operation, each with the resulting pagination or
    /// problem. Entries that name the operation take precedence over entries with a matching glob. If only
    /// globs match, entries for which the operation is not suitable are omitted, and the problem is recorded
    /// in `globs`.
    fn matching_entries(
        &self,
        call: &PlannedCall<'_>,
        globs: &mut GlobProblems,
    ) -> Vec<(usize, Result<Pagination, PageProblem>)> {
        // `check_entries` reports malformed entries.
        let entries = || self.pages.iter().enumerate().filter(|(_, entry)| entry.is_well_formed());
        let named = entries().filter(|(_, entry)| entry.operations.contains(&call.operation.id));
        let named: Vec<_> = named.map(|(at, entry)| (at, self.pagination(entry, call))).collect();
        let mut fitting: Vec<(usize, Result<Pagination, PageProblem>)> = Vec::new();
        for (at, entry) in entries() {
            for (number, selection) in entry.include.iter().enumerate() {
                if !prune::matches_selection(self.api, selection, call.operation, false) {
                    continue;
                }
                let fit = if self.declares_link(entry, call) {
                    self.pagination(entry, call)
                } else {
                    Err(PageProblem::no_link(entry))
                };
                match fit {
                    _ if !named.is_empty() => globs.record((at, number), None),
                    Ok(pages) => {
                        globs.record((at, number), None);
                        if fitting.iter().all(|(known, _)| *known != at) {
                            fitting.push((at, Ok(pages)));
                        }
                    }
                    Err(unfit) => globs.record((at, number), Some(unfit.for_glob(call, at, selection))),
                }
            }
        }
        if named.is_empty() { fitting } else { named }
    }

    /// Returns the pagination of an operation according to an entry, or the reason why the operation is not
    /// suitable for it.
    fn pagination(
        &self,
        entry: &config::PaginationConfig,
        call: &PlannedCall<'_>,
    ) -> Result<Pagination, PageProblem> {
        let (page, optional) = page_type(call)?;
        let items = self.resolve_path(page, &entry.items, "items", "its response")?;
        let (items, item) = self.resolve_array(items)?;
        Ok(Pagination {
            next: self.next_page(entry, call, page, &item)?,
            page: page.clone(),
            optional,
            items,
            item,
            pages_method: String::new(),
            items_method: String::new(),
        })
    }

    fn next_page(
        &self,
        entry: &config::PaginationConfig,
        call: &PlannedCall<'_>,
        page: &TypeRef,
        item: &TypeRef,
    ) -> Result<NextPage, PageProblem> {
        let body =
            |pointer: &str, option, wanted| self.resolve_value(page, pointer, option, "its response", wanted);
        let optional = |pointer: &Option<String>, option, wanted| {
            pointer.as_deref().map(|pointer| body(pointer, option, wanted)).transpose()
        };
        let text = ExpectedValue::Text;
        if let Some(way) = &entry.cursor {
            let argument = query_parameter(call, "cursor", &way.to, text)?;
            let from = body(&way.from, "cursor", text)?;
            let more = optional(&way.more, "cursor", ExpectedValue::Boolean)?;
            return Ok(NextPage::Cursor { argument, from, of_last_item: false, more });
        }
        if let Some(way) = &entry.last_item {
            let argument = query_parameter(call, "last-item", &way.to, text)?;
            let from = self.resolve_value(item, &way.from, "last-item", "an item", text)?;
            let more = optional(&way.more, "last-item", ExpectedValue::Boolean)?;
            return Ok(NextPage::Cursor { argument, from, of_last_item: true, more });
        }
        if let Some(way) = &entry.next_url {
            let (from, targets) = way.pointer_and_scope();
            return Ok(NextPage::Url { from: body(from, "next-url", ExpectedValue::Url)?, targets });
        }
        if let Some(way) = &entry.offset {
            let argument = query_parameter(call, "offset", &way.to, ExpectedValue::Number)?;
            return Ok(NextPage::Offset {
                argument,
                first: self.first_number(call, "offset", argument, way.first, 0)?,
                by: way.by,
                limit: self.page_limit(call, "offset", way.limit.as_deref())?,
                total: optional(&way.total, "offset", ExpectedValue::Number)?,
            });
        }
        if let Some(way) = &entry.page {
            let argument = query_parameter(call, "page", &way.to, ExpectedValue::Number)?;
            return Ok(NextPage::Page {
                argument,
                first: self.first_number(call, "page", argument, way.first, 1)?,
                limit: self.page_limit(call, "page", way.limit.as_deref())?,
                total_pages: optional(&way.total_pages, "page", ExpectedValue::Number)?,
                total_items: optional(&way.total, "page", ExpectedValue::Number)?,
            });
        }
        let (rel, targets) =
            entry.link.as_ref().map(config::LinkPagination::relation_and_scope).unwrap_or_default();
        Ok(NextPage::Link { rel: rel.to_owned(), targets })
    }

    /// Returns the value of a page number or offset parameter for the first page: the default in the
    /// contract, or else the configured value, or else `usual`. Returns a problem if the default and the
    /// configured value differ.
    fn first_number(
        &self,
        call: &PlannedCall<'_>,
        option: &'static str,
        index: usize,
        configured: Option<u64>,
        usual: u64,
    ) -> Result<u64, PageProblem> {
        let name = &call.parameters[index].row.name;
        match (configured, self.default_number(call, index)) {
            (Some(configured), Some(default)) if configured != default => {
                let message = format!("has the default {default} for `{name}`, not {configured}");
                Err(PageProblem::new(option, name, message, "remove `first`: the contract defines the value"))
            }
            (configured, default) => Ok(configured.or(default).unwrap_or(usual)),
        }
    }

    /// Returns the configured parameter that limits the number of items in a page, with its default, or
    /// `None` if none is configured.
    fn page_limit(
        &self,
        call: &PlannedCall<'_>,
        option: &'static str,
        name: Option<&str>,
    ) -> Result<Option<PageLimit>, PageProblem> {
        let Some(name) = name else { return Ok(None) };
        let argument = query_parameter(call, option, name, ExpectedValue::Number)?;
        // The caller always passes a required parameter, so its default is never used.
        let required = call.parameters[argument].row.required.then_some(0);
        let Some(default) = required.or_else(|| self.default_number(call, argument)) else {
            let message =
                format!("may be called without `{name}`, and the contract does not define its default");
            let help = "add a `default` to the parameter with an overlay, or remove `limit`";
            return Err(PageProblem::new(option, name, message, help));
        };
        Ok(Some(PageLimit { argument, default }))
    }

    /// Returns the numeric default that the contract defines for a parameter.
    fn default_number(&self, call: &PlannedCall<'_>, index: usize) -> Option<u64> {
        let facts = self.facts_of(&SchemaConjunction::from_schema(call.parameters[index].row.schema?));
        facts.unconditional_schemas(self.graph).find_map(|schema| match &schema.default {
            Some(Json::Number(number)) => number.as_u64(),
            _ => None,
        })
    }

    /// Returns false if the entry uses `Link` headers and no response of the operation declares one. Without
    /// this check, a glob would match every operation that returns an array.
    fn declares_link(&self, entry: &config::PaginationConfig, call: &PlannedCall<'_>) -> bool {
        entry.link.is_none()
            || call.operation.responses.iter().any(|response| {
                let is_success = call.responses.cases.iter().any(|case| case.status == response.status);
                is_success && response.headers.iter().any(|header| header.name.eq_ignore_ascii_case("link"))
            })
    }
}

/// The JSON type that the value of a pointer or parameter must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpectedValue {
    Text,
    Url,
    Number,
    Boolean,
}

impl ExpectedValue {
    const fn types(self) -> TypeSet {
        match self {
            Self::Text => TypeSet::STRING.union(TypeSet::NUMBER),
            Self::Url => TypeSet::STRING,
            Self::Number => TypeSet::NUMBER,
            Self::Boolean => TypeSet::BOOLEAN,
        }
    }

    const fn describe(self) -> &'static str {
        match self {
            Self::Text => "a string or a number",
            Self::Url => "a string",
            Self::Number => "a number",
            Self::Boolean => "`true` or `false`",
        }
    }
}

/// Returns the type of the operation's success responses, and true if some of them have no body. Returns a
/// problem if there are several types.
fn page_type<'c>(call: &'c PlannedCall<'_>) -> Result<(&'c TypeRef, bool), PageProblem> {
    match &call.responses.single {
        Some(ResponsePayload::Json(ty)) => Ok((ty, call.responses.optional)),
        _ => {
            let statuses: Vec<String> =
                call.responses.cases.iter().map(|case| StatusPattern::key(case.status)).collect();
            let message = format!("has no single JSON response type (`{}`)", statuses.join("`, `"));
            Err(PageProblem::new("operations", &call.operation.id, message, "leave the operation out"))
        }
    }
}

/// Returns the row index of the query parameter `name`, or a problem if there is none or if its value is not
/// a single string or number.
fn query_parameter(
    call: &PlannedCall<'_>,
    option: &'static str,
    name: &str,
    wanted: ExpectedValue,
) -> Result<usize, PageProblem> {
    let is_own = |place: ParameterIn| {
        let is_it = |parameter: &PlannedParameter<'_>| {
            parameter.row.name == name
                && parameter.row.location == place
                && parameter.parameter.constant.is_none()
        };
        call.parameters.iter().position(is_it)
    };
    let Some(index) = is_own(ParameterIn::Query) else {
        let elsewhere = [
            (ParameterIn::Path, "the path"),
            (ParameterIn::Header, "a header"),
            (ParameterIn::Cookie, "a cookie"),
        ];
        let elsewhere = elsewhere.into_iter().find(|(place, _)| is_own(*place).is_some());
        let message = match elsewhere {
            Some((_, place)) => format!("has `{name}` in {place}, not in the query"),
            None => format!("has no parameter `{name}`"),
        };
        let query = call.parameters.iter().filter(|parameter| parameter.row.location == ParameterIn::Query);
        let names: Vec<String> = query.map(|parameter| format!("`{}`", parameter.row.name)).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(PageProblem::new(option, name, message, format!("its query parameters are: {names}")));
    };
    let fits = match &call.parameters[index].row.shape {
        TextShape::Scalar(
            TextScalar::Number | TextScalar::Integer(_) | TextScalar::Text | TextScalar::Any,
        ) => true,
        TextShape::Scalar(TextScalar::OneOf(types)) => {
            !types.intersection(wanted.types().union(TypeSet::STRING)).is_empty()
        }
        _ => false,
    };
    if fits {
        return Ok(index);
    }
    let message = format!(
        "takes no {} as `{name}`",
        if wanted == ExpectedValue::Number { "number" } else { "single string" }
    );
    Err(PageProblem::new(option, name, message, "name a parameter that is a single string or number"))
}
