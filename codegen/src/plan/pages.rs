//! Decides which operations answer page by page, where a page has its items, and how one page leads
//! to the next, by what the contract's owner says in `[[pages]]`.
//!
//! What is named in `operations` has to fit, and what is wrong with it is said. Of what `include`
//! chooses those operations are meant that fit: a glob is over more than lists.

mod problems;
mod route;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use contract_runtime::Json;

pub(super) use self::problems::check_entries;
pub use self::{
    problems::{Unfit, check},
    route::{Route, Step},
};
use super::{Call, Given, Parameter, Payload, Scalar, Shape, Side};
use crate::{
    api::{ParameterIn, Status},
    config::{self, OffsetBy, Targets},
    prune,
    schema::Types,
    shape::TypeRef,
    together::Conj,
};

/// How an operation answers page by page.
#[derive(Clone, Debug)]
pub struct Pages {
    /// The type of a page: what the operation answers.
    pub page: TypeRef,
    /// Whether it may answer nothing instead.
    pub optional: bool,
    /// Where a page has its items.
    pub items: Route,
    /// What they are.
    pub item: TypeRef,
    /// How it goes on.
    pub way: Way,
    /// The client's method for the pages.
    pub pages_method: String,
    /// The client's method for the items.
    pub items_method: String,
}

impl Pages {
    /// A page that is none of `null`, and the steps from there to the items: `null` is a page of nothing,
    /// whatever else it would be.
    #[must_use]
    pub fn held(&self) -> (&TypeRef, &[Step]) {
        let (mut page, mut steps) = (&self.page, self.items.steps.as_slice());
        while let (TypeRef::Nullable(inner), [Step::Nullable, rest @ ..]) = (page, steps) {
            (page, steps) = (&**inner, rest);
        }
        (page, steps)
    }
}

/// How a page leads to the next. Parameters are rows.
#[derive(Clone, Debug)]
pub enum Way {
    /// A parameter takes what the page says.
    Cursor {
        /// The parameter.
        argument: usize,
        /// What it takes.
        from: Route,
        /// Whether it stands in the last item instead of the page.
        of_last_item: bool,
        /// Whether there is more.
        more: Option<Route>,
    },
    /// A `Link` header.
    Link {
        /// Its relation.
        rel: String,
        /// Which targets are followed.
        targets: Targets,
    },
    /// A URL in the body.
    Url {
        /// Where it stands.
        from: Route,
        /// Which targets are followed.
        targets: Targets,
    },
    /// A parameter counts items.
    Offset {
        /// The parameter.
        argument: usize,
        /// What it is where it is left out.
        first: u64,
        /// By how much it grows.
        by: OffsetBy,
        /// How many items a page has at most.
        limit: Option<Limit>,
        /// How many items there are.
        total: Option<Route>,
    },
    /// A parameter counts pages.
    Page {
        /// The parameter.
        argument: usize,
        /// The number of the first.
        first: u64,
        /// How many items a page has at most.
        limit: Option<Limit>,
        /// How many there are.
        total: Option<Route>,
    },
}

/// The greatest number of items of a page.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The parameter.
    pub argument: usize,
    /// What it is where it is left out.
    pub default: u64,
}

/// Decides the pages of all calls, and gives what is wrong with what was said of them.
pub(super) fn decide(given: Given<'_>, side: Side, calls: &mut [Call<'_>]) -> Vec<Unfit> {
    let mut problems = Vec::new();
    if side == Side::Webhooks || given.pages.is_empty() {
        return problems;
    }
    let mut globs = Globs::default();
    for call in calls.iter_mut().filter(|call| call.unsendable.is_none()) {
        let mut found: Option<(usize, Pages)> = None;
        for (at, fit) in given.chosen(call, &mut globs) {
            match fit {
                Ok(_) if found.is_some() => problems.push(Unfit::twice(call, at)),
                Ok(pages) => found = Some((at, pages)),
                Err(unfit) => problems.push(unfit.of(call, at)),
            }
        }
        call.pages = found;
    }
    problems.extend(globs.0.into_iter().filter_map(|(_, unfit)| unfit));
    problems.extend(other_items(calls));
    name(calls);
    problems
}

/// For each glob that chose something, by entry and number: why nothing of it fits.
#[derive(Default)]
struct Globs(Vec<((usize, usize), Option<Unfit>)>);

impl Globs {
    /// Of one more operation: why it does not fit.
    fn note(&mut self, which: (usize, usize), reason: Option<Unfit>) {
        match self.0.iter_mut().find(|(known, _)| *known == which) {
            Some((_, before)) if reason.is_none() => *before = None,
            Some(_) => {}
            None => self.0.push((which, reason)),
        }
    }
}

/// Of two operations with one page, the second that has its items elsewhere in it.
fn other_items(calls: &mut [Call<'_>]) -> Vec<Unfit> {
    let mut problems = Vec::new();
    for at in 0..calls.len() {
        let (before, rest) = calls.split_at_mut(at);
        let Some(call) = rest.first_mut() else { continue };
        let Some((entry, own)) = &call.pages else { continue };
        let same = |(_, other): &(usize, Pages)| {
            other.held().0.is_as_rust(own.held().0) && other.items.pointer != own.items.pointer
        };
        let other = before.iter().find(|other| other.pages.as_ref().is_some_and(same));
        if let Some(other) = other {
            problems.push(Unfit::other_items(call, other, *entry, &own.items.pointer));
            call.pages = None;
        }
    }
    problems
}

/// Names the methods apart from all others.
fn name(calls: &mut [Call<'_>]) {
    let methods = calls.iter().flat_map(|call| [&call.method, &call.streams.method]);
    let mut taken: BTreeSet<String> = methods.cloned().collect();
    for call in calls.iter_mut() {
        let plain = call.method.trim_end_matches('_').to_owned();
        let Some((_, pages)) = &mut call.pages else { continue };
        let mut free = |end: &str, other: &str| {
            let (mut name, mut longer) = (format!("{plain}{end}"), plain.clone());
            while !taken.insert(name.clone()) {
                longer.push_str(other);
                name.clone_from(&longer);
            }
            name
        };
        pages.pages_method = free("_pages", "_paged");
        pages.items_method = free("_items", "_each");
    }
}

impl Given<'_> {
    /// The entries that are over an operation, with its pages. A name goes before a glob, and of
    /// what a glob chooses those are meant that fit.
    fn chosen(&self, call: &Call<'_>, globs: &mut Globs) -> Vec<(usize, Result<Pages, Unfit>)> {
        // What is wrong with an entry itself was said where options are settled.
        let entries = || self.pages.iter().enumerate().filter(|(_, entry)| entry.is_settled());
        let named = entries().filter(|(_, entry)| entry.operations.contains(&call.operation.id));
        let named: Vec<_> = named.map(|(at, entry)| (at, self.pages_of(entry, call))).collect();
        let mut fitting: Vec<(usize, Result<Pages, Unfit>)> = Vec::new();
        for (at, entry) in entries() {
            for (number, selection) in entry.include.iter().enumerate() {
                if !prune::fits(self.api, selection, call.operation, false) {
                    continue;
                }
                let fit = if self.looks_paged(entry, call) {
                    self.pages_of(entry, call)
                } else {
                    Err(Unfit::no_link(entry))
                };
                match fit {
                    _ if !named.is_empty() => globs.note((at, number), None),
                    Ok(pages) => {
                        globs.note((at, number), None);
                        if fitting.iter().all(|(known, _)| *known != at) {
                            fitting.push((at, Ok(pages)));
                        }
                    }
                    Err(unfit) => globs.note((at, number), Some(unfit.of_glob(call, at, selection))),
                }
            }
        }
        if named.is_empty() { fitting } else { named }
    }

    /// The pages of an operation, as an entry has them.
    fn pages_of(&self, entry: &config::Pages, call: &Call<'_>) -> Result<Pages, Unfit> {
        let (page, optional) = page(call)?;
        let items = self.route(page, &entry.items, "items", "its answer")?;
        let (items, item) = self.list(items)?;
        Ok(Pages {
            way: self.way(entry, call, page, &item)?,
            page: page.clone(),
            optional,
            items,
            item,
            pages_method: String::new(),
            items_method: String::new(),
        })
    }

    fn way(
        &self,
        entry: &config::Pages,
        call: &Call<'_>,
        page: &TypeRef,
        item: &TypeRef,
    ) -> Result<Way, Unfit> {
        let body = |pointer: &str, option, wanted| self.leaf(page, pointer, option, "its answer", wanted);
        let optional = |pointer: &Option<String>, option, wanted| {
            pointer.as_deref().map(|pointer| body(pointer, option, wanted)).transpose()
        };
        let text = Wanted::Text;
        if let Some(way) = &entry.cursor {
            let argument = argument(call, "cursor", &way.to, text)?;
            let from = body(&way.from, "cursor", text)?;
            let more = optional(&way.more, "cursor", Wanted::Boolean)?;
            return Ok(Way::Cursor { argument, from, of_last_item: false, more });
        }
        if let Some(way) = &entry.last_item {
            let argument = argument(call, "last-item", &way.to, text)?;
            let from = self.leaf(item, &way.from, "last-item", "an item", text)?;
            let more = optional(&way.more, "last-item", Wanted::Boolean)?;
            return Ok(Way::Cursor { argument, from, of_last_item: true, more });
        }
        if let Some(way) = &entry.next_url {
            let (from, targets) = way.parts();
            return Ok(Way::Url { from: body(from, "next-url", Wanted::Url)?, targets });
        }
        if let Some(way) = &entry.offset {
            let argument = argument(call, "offset", &way.to, Wanted::Number)?;
            return Ok(Way::Offset {
                argument,
                first: self.first(call, "offset", argument, way.first, 0)?,
                by: way.by,
                limit: self.limit(call, "offset", way.limit.as_deref())?,
                total: optional(&way.total, "offset", Wanted::Number)?,
            });
        }
        if let Some(way) = &entry.page {
            let argument = argument(call, "page", &way.to, Wanted::Number)?;
            return Ok(Way::Page {
                argument,
                first: self.first(call, "page", argument, way.first, 1)?,
                limit: self.limit(call, "page", way.limit.as_deref())?,
                total: optional(&way.total_pages, "page", Wanted::Number)?,
            });
        }
        let (rel, targets) = entry.link.as_ref().map(config::LinkWay::parts).unwrap_or_default();
        Ok(Way::Link { rel: rel.to_owned(), targets })
    }

    /// Where a parameter begins to count: what the contract gives it, where that says anything.
    fn first(
        &self,
        call: &Call<'_>,
        option: &'static str,
        index: usize,
        said: Option<u64>,
        usual: u64,
    ) -> Result<u64, Unfit> {
        let name = &call.parameters[index].row.name;
        match (said, self.default(call, index)) {
            (Some(said), Some(default)) if said != default => {
                let message = format!("has {default} where a caller leaves `{name}` out, and not {said}");
                Err(Unfit::new(option, name, message, "remove `first`: the contract says it"))
            }
            (said, default) => Ok(said.or(default).unwrap_or(usual)),
        }
    }

    /// The parameter that says how many items a page has at most.
    fn limit(
        &self,
        call: &Call<'_>,
        option: &'static str,
        name: Option<&str>,
    ) -> Result<Option<Limit>, Unfit> {
        let Some(name) = name else { return Ok(None) };
        let argument = argument(call, option, name, Wanted::Number)?;
        // Whoever has to say it needs no default.
        let required = call.parameters[argument].row.required.then_some(0);
        let Some(default) = required.or_else(|| self.default(call, argument)) else {
            let message =
                format!("may be called without `{name}`, and the contract does not say what that means");
            let help = "give the parameter a `default` by an overlay, or go on without `limit`";
            return Err(Unfit::new(option, name, message, help));
        };
        Ok(Some(Limit { argument, default }))
    }

    /// The number that the contract gives a parameter which is left out.
    fn default(&self, call: &Call<'_>, index: usize) -> Option<u64> {
        let facts = self.facts(&Conj::one(call.parameters[index].row.schema?));
        facts.schemas(self.graph).find_map(|schema| match &schema.default {
            Some(Json::Number(number)) => number.as_u64(),
            _ => None,
        })
    }

    /// Whether an operation that a glob chose is a list by what the contract says: any array could
    /// be, where nothing but a header leads on.
    fn looks_paged(&self, entry: &config::Pages, call: &Call<'_>) -> bool {
        entry.link.is_none()
            || call.operation.responses.iter().any(|response| {
                let is_success = call.answers.cases.iter().any(|case| case.status == response.status);
                is_success && response.headers.iter().any(|header| header.name.eq_ignore_ascii_case("link"))
            })
    }
}

/// What a pointer or a parameter has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Text,
    Url,
    Number,
    Boolean,
}

impl Wanted {
    const fn types(self) -> Types {
        match self {
            Self::Text => Types::STRING.or(Types::NUMBER),
            Self::Url => Types::STRING,
            Self::Number => Types::NUMBER,
            Self::Boolean => Types::BOOLEAN,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Text => "text or a number",
            Self::Url => "text",
            Self::Number => "a number",
            Self::Boolean => "`true` or `false`",
        }
    }
}

/// The one type that an operation answers, and whether it may answer nothing instead.
fn page<'c>(call: &'c Call<'_>) -> Result<(&'c TypeRef, bool), Unfit> {
    match &call.answers.one {
        Some(Payload::Json(ty)) => Ok((ty, call.answers.optional)),
        _ => {
            let statuses: Vec<String> =
                call.answers.cases.iter().map(|case| Status::key(case.status)).collect();
            let message = format!("answers no JSON of one type (`{}`)", statuses.join("`, `"));
            Err(Unfit::new("operations", &call.operation.id, message, "leave the operation out"))
        }
    }
}

/// The row of a parameter of the query that holds one value.
fn argument(call: &Call<'_>, option: &'static str, name: &str, wanted: Wanted) -> Result<usize, Unfit> {
    let is_own = |place: ParameterIn| {
        let is_it = |parameter: &Parameter<'_>| {
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
            Some((_, place)) => format!("has `{name}` in {place}, and not in the query"),
            None => format!("has no parameter `{name}`"),
        };
        let query = call.parameters.iter().filter(|parameter| parameter.row.location == ParameterIn::Query);
        let names: Vec<String> = query.map(|parameter| format!("`{}`", parameter.row.name)).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(Unfit::new(option, name, message, format!("its query takes {names}")));
    };
    let fits = match &call.parameters[index].row.shape {
        Shape::Scalar(Scalar::Number | Scalar::Integer(_) | Scalar::Text | Scalar::Any) => true,
        Shape::Scalar(Scalar::Of(types)) => !types.and(wanted.types().or(Types::STRING)).is_empty(),
        _ => false,
    };
    if fits {
        return Ok(index);
    }
    let message =
        format!("takes no {} as `{name}`", if wanted == Wanted::Number { "number" } else { "single text" });
    Err(Unfit::new(option, name, message, "name a parameter that is one text or one number"))
}
