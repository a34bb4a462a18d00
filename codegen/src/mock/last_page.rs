//! The pages of paginated operations. The first request for a list gets the usual body, with a reference to a next page.
//! A request for a later page gets this body without items and without a next page. A client that reads all pages then
//! stops.

use contract_codegen_core::{
    api::{self, ParameterIn},
    plan::{NextPage, Pagination, PlannedCall, ValuePath},
};
use contract_runtime::{Json, Number, media_type::MediaType, parameters::QueryPairs, pointer, server::Bytes};

use http::{HeaderMap, header, request::Parts};

use super::{MockServer, bodies::GeneratedBody};

/// The value of the cursor that leads from the first page to the last page, and of the query parameter in a URL.
const SECOND_PAGE: &str = "2";
/// The end of the query of a URL that leads to the last page.
const SECOND_PAGE_QUERY: &str = "page=2";

impl MockServer {
    /// Returns the page of a list that a request selects, derived from the usual body `first`: the first page, with a
    /// reference to a next page, or the last page. Returns `None` if the usual body already is this page, or if no such
    /// page satisfies the contract.
    pub(super) fn list_page(
        &self,
        call: &PlannedCall<'_>,
        media: &'static api::MediaType,
        request: &Parts,
        first: &GeneratedBody,
    ) -> Option<GeneratedBody> {
        let (_, pages) = call.pages.as_ref()?;
        if !MediaType::parse(&media.name).is_json() {
            return None;
        }
        let is_valid = |page: &Json| media.schema.is_none_or(|schema| self.tables.is_valid(schema, page));
        let usual = Json::parse(&first.body).ok()?;
        let continued = first_page_candidates(pages, &usual, request).into_iter().find(is_valid);
        let page = continued.as_ref().unwrap_or(&usual);
        if !is_later_page(call, pages, request.uri.query().unwrap_or_default(), page) {
            let source = format!("{}, with a next page", first.source);
            return continued.map(|page| GeneratedBody { body: Bytes::from(page.to_string()), source });
        }
        let candidates = last_page_candidates(pages, usual);
        // A client may follow other links to the next page than the configured one.
        let unlinked = candidates.iter().cloned().map(|mut page| {
            remove_next(&mut page);
            page
        });
        let page = unlinked.chain(candidates.iter().cloned()).find(is_valid)?;
        Some(GeneratedBody { body: Bytes::from(page.to_string()), source: "the last page".to_owned() })
    }
}

/// Returns variants of a first page that refers to no next page, such as an example without a cursor: each refers to a
/// next page. Returns none if the page has no items or already refers to a next page.
fn first_page_candidates(pages: &Pagination, page: &Json, request: &Parts) -> Vec<Json> {
    if page.pointer(&pages.items.pointer).and_then(Json::as_array).is_none_or(<[Json]>::is_empty) {
        return Vec::new();
    }
    let is_absent = |pointer: &str| match page.pointer(pointer) {
        None | Some(Json::Null) => true,
        Some(value) => value.as_str().is_some_and(str::is_empty),
    };
    let with_more = |mut page: Json, more: Option<&ValuePath>| {
        more.and_then(|more| set_value(&mut page, &more.pointer, Json::Bool(true)));
        page
    };
    let with_values = |pointer: &str, values: Vec<Json>, more: Option<&ValuePath>| {
        let pages = values.into_iter().filter_map(|value| {
            let mut page = page.clone();
            set_value(&mut page, pointer, value)?;
            Some(with_more(page, more))
        });
        pages.collect()
    };
    match &pages.next {
        NextPage::Cursor { from, of_last_item: false, more, .. } if is_absent(&from.pointer) => {
            with_values(&from.pointer, vec![Json::from(SECOND_PAGE), Json::from(2)], more.as_ref())
        }
        NextPage::Cursor { of_last_item: true, more: Some(more), .. }
            if page.pointer(&more.pointer).and_then(Json::as_bool) != Some(true) =>
        {
            vec![with_more(page.clone(), Some(more))]
        }
        NextPage::Url { from, .. } if is_absent(&from.pointer) => {
            let host = request.headers.get(header::HOST).and_then(|host| host.to_str().ok());
            let origin = host.map_or_else(String::new, |host| format!("http://{host}"));
            let query = request.uri.query().filter(|query| !query.is_empty());
            let query = query.map_or_else(String::new, |query| format!("{query}&"));
            let url = format!("{origin}{}?{query}{SECOND_PAGE_QUERY}", request.uri.path());
            with_values(&from.pointer, vec![Json::from(url.as_str())], None)
        }
        NextPage::Page { total_pages: Some(total), .. } => {
            let has_one = number_at(page, total).is_none_or(|total| total < 2);
            if has_one { with_values(&total.pointer, vec![Json::from(2)], None) } else { Vec::new() }
        }
        // A total below the number of items contradicts the page.
        NextPage::Offset { .. } | NextPage::Page { .. } => match total_items(pages) {
            Some(total) if number_at(page, total).is_none_or(|total| total < item_count(pages, page)) => {
                with_values(&total.pointer, vec![Json::from(item_count(pages, page))], None)
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Returns the whole number at a path.
fn number_at(page: &Json, path: &ValuePath) -> Option<i64> {
    page.pointer(&path.pointer).and_then(Json::as_number).and_then(Number::as_i64)
}

/// Sets the value at a pointer. Returns `None` if the object around it does not exist.
fn set_value(page: &mut Json, pointer: &str, value: Json) -> Option<()> {
    let (parent, token) = pointer.rsplit_once('/')?;
    let Some(Json::Object(members)) = page.pointer_mut(parent) else { return None };
    members.insert(pointer::unescape_token(token)?.into_owned(), value);
    Some(())
}

/// Removes the header `Link` from a response if it leads to the request itself, so that a client that follows the
/// links of an example stops.
pub(super) fn remove_own_link(headers: &mut HeaderMap, query: Option<&str>) {
    let leads_here = |link: &str| {
        let targets = link.split('<').skip(1).filter_map(|rest| rest.split('>').next());
        targets.into_iter().any(|target| target.split_once('?').map(|(_, query)| query) == query)
    };
    let line = headers.get(header::LINK).and_then(|line| line.to_str().ok());
    if query.is_some() && line.is_some_and(leads_here) {
        headers.remove(header::LINK);
    }
}

/// Returns true if the query of a request selects a page after the first.
fn is_later_page(call: &PlannedCall<'_>, pages: &Pagination, query: &str, first: &Json) -> bool {
    // The request was validated, so its query can be parsed. Cursors are only compared with the empty string, and
    // clients do not encode digits.
    let pairs = QueryPairs::parse(query).ok();
    let argument = |argument: usize| {
        let row = &call.parameters.get(argument)?.row;
        pairs.as_ref().filter(|_| row.location == ParameterIn::Query)?.values(&row.name).next()
    };
    match &pages.next {
        NextPage::Cursor { argument: at, .. } => argument(*at).is_some_and(|cursor| !cursor.is_empty()),
        NextPage::Offset { argument: at, first, .. } | NextPage::Page { argument: at, first, .. } => {
            argument(*at).and_then(|position| position.parse::<u64>().ok()).is_some_and(|at| at > *first)
        }
        NextPage::Url { from, .. } => {
            let url = first.pointer(&from.pointer).and_then(Json::as_str);
            let next = url.and_then(|url| url.split_once('?')?.1.split('#').next());
            let is_second = query.rsplit('&').next() == Some(SECOND_PAGE_QUERY);
            is_second || next.is_some_and(|next| next == query)
        }
        // `remove_own_link` ends these lists.
        NextPage::Link { .. } => false,
    }
}

/// Returns variants of a page without items and without a next page. A schema may require the property that
/// refers to the next page. One variant therefore omits the property, one sets it to `null`, and one to an
/// empty string.
fn last_page_candidates(pages: &Pagination, mut page: Json) -> Vec<Json> {
    let count = item_count(pages, &page);
    if let Some(items) = page.pointer_mut(&pages.items.pointer) {
        *items = Json::Array(Vec::new());
    }
    let (next, more) = match &pages.next {
        NextPage::Cursor { from, of_last_item: false, more, .. } => (Some(from), more.as_ref()),
        NextPage::Cursor { more, .. } => (None, more.as_ref()),
        NextPage::Url { from, .. } => (Some(from), None),
        NextPage::Link { .. } | NextPage::Offset { .. } | NextPage::Page { .. } => (None, None),
    };
    if let NextPage::Page { total_pages: Some(total), .. } = &pages.next
        && let Some(total) = page.pointer_mut(&total.pointer)
    {
        // Every later page is the last one, whatever number of pages the first page contains.
        *total = Json::from(1);
    }
    // All items are on the first page, whatever number of items its example contains.
    if let Some(total) = total_items(pages).and_then(|total| page.pointer_mut(&total.pointer)) {
        *total = Json::from(count);
    }
    if let Some(more) = more.and_then(|more| page.pointer_mut(&more.pointer)) {
        *more = Json::Bool(false);
    }
    let Some(next) = next else { return vec![page] };
    let mut forms = vec![without_property(&page, &next.pointer)];
    for value in [Json::Null, Json::String(String::new())] {
        let mut form = page.clone();
        if let Some(next) = form.pointer_mut(&next.pointer) {
            *next = value;
        }
        forms.push(form);
    }
    forms
}

/// Returns the path to the total number of items.
const fn total_items(pages: &Pagination) -> Option<&ValuePath> {
    match &pages.next {
        NextPage::Offset { total, .. } => total.as_ref(),
        NextPage::Page { total_items, .. } => total_items.as_ref(),
        NextPage::Cursor { .. } | NextPage::Link { .. } | NextPage::Url { .. } => None,
    }
}

/// Returns the number of items in a page.
fn item_count(pages: &Pagination, page: &Json) -> i64 {
    let items = page.pointer(&pages.items.pointer).and_then(Json::as_array);
    items.map_or(0, |items| i64::try_from(items.len()).unwrap_or(i64::MAX))
}

/// Removes the properties that lead to the next page from an object and from the objects in it.
fn remove_next(page: &mut Json) {
    let Json::Object(members) = page else { return };
    let is_next = |name: &str| name.to_ascii_lowercase().starts_with("next");
    let next: Vec<String> = members.keys().filter(|name| is_next(name)).map(Into::into).collect();
    for name in next {
        members.remove(&name);
    }
    members.iter_mut().for_each(|(_, value)| remove_next(value));
}

/// Returns a copy of the page without the property at `pointer`.
fn without_property(page: &Json, pointer: &str) -> Json {
    let mut page = page.clone();
    if let Some((parent, token)) = pointer.rsplit_once('/')
        && let Some(Json::Object(members)) = page.pointer_mut(parent)
        && let Some(name) = pointer::unescape_token(token)
    {
        members.remove(&name);
    }
    page
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic on failure")]

    use contract_codegen_core::{config::Config, generate::Project, load::Sources};
    use http::Request;

    use super::*;

    const API: &str = r"
openapi: 3.1.0
info: { title: Fleet, version: '1' }
paths:
  /ships:
    get:
      operationId: ships
      parameters:
        - { name: position, in: query, schema: { type: string } }
      responses:
        '200':
          description: All.
          content:
            application/json:
              schema:
                type: object
                required: [items, REQUIRED]
                properties:
                  items: { type: array, items: { $ref: '#/components/schemas/Ship' }, minItems: MINIMUM }
                  next: { type: [string, 'NULL'] }
                  more: { type: boolean }
              example: { items: [{ id: a }], next: '/ships?position=b%20c', more: true }
components:
  schemas:
    Ship: { type: object, required: [id], properties: { id: { type: string } } }
";

    /// Returns the bodies of the responses to the queries.
    fn bodies<const N: usize>(document: &str, strategy: &str, queries: [&str; N]) -> [String; N] {
        let options = match strategy {
            "" => String::new(),
            strategy => format!("[[pages]]\noperations = [\"ships\"]\nitems = \"/items\"\n{strategy}\n"),
        };
        let config: Config = toml::from_str(&options).unwrap();
        let project = Project { config, ..Project::default() };
        let sources = Sources::from_texts(&[("api.yaml", "", document)]).unwrap();
        let contract = project.analyze_sources(sources).unwrap_or_else(|problems| panic!("{problems}"));
        let mock = MockServer::new(project, contract, 0);
        queries.map(|query| {
            let request = Request::get(format!("/ships{query}")).body(Bytes::new()).unwrap();
            String::from_utf8(mock.respond_to(request).into_body().to_vec()).unwrap()
        })
    }

    fn document(required: &str, null: &str, min_items: &str) -> String {
        API.replace("REQUIRED", required).replace("'NULL'", null).replace("MINIMUM", min_items)
    }

    const FIRST: &str = r#"{"items":[{"id":"a"}],"next":"/ships?position=b%20c","more":true}"#;

    /// The request for the page after the first page gets a page without items. If the property that refers
    /// to the next page is required, its value is `null`, or an empty string if `null` is invalid.
    #[test]
    fn later_pages_are_the_last_page() {
        let cursor = "cursor = { from = \"/next\", to = \"position\" }";
        let flagged = "cursor = { from = \"/next\", to = \"position\", more = \"/more\" }";
        let last_item = "last-item = { from = \"/id\", to = \"position\", more = \"/more\" }";
        let url = "next-url = \"/next\"";
        for (strategy, required, null, last) in [
            (cursor, "items", "'null'", r#"{"items":[],"more":true}"#),
            (cursor, "next", "'null'", r#"{"items":[],"next":null,"more":true}"#),
            (cursor, "next", "integer", r#"{"items":[],"next":"","more":true}"#),
            (flagged, "items", "'null'", r#"{"items":[],"more":false}"#),
            (last_item, "items", "'null'", r#"{"items":[],"more":false}"#),
            (last_item, "next", "'null'", r#"{"items":[],"next":"/ships?position=b%20c","more":false}"#),
            (url, "items", "'null'", r#"{"items":[],"more":true}"#),
        ] {
            let document = document(required, null, "0");
            let [first, empty, next] = bodies(&document, strategy, ["", "?position=", "?position=b%20c"]);
            assert_eq!([first.as_str(), &empty, &next], [FIRST, FIRST, last], "{strategy} {required} {null}");
        }
    }

    /// An example without a reference to a next page is the first of two pages.
    #[test]
    fn examples_without_a_next_page_are_continued() {
        let cursor = "cursor = { from = \"/next\", to = \"position\" }";
        let flagged = "cursor = { from = \"/next\", to = \"position\", more = \"/more\" }";
        let last_item = "last-item = { from = \"/id\", to = \"position\", more = \"/more\" }";
        let url = "next-url = \"/next\"";
        let example = "example: { items: [{ id: a }], next: '/ships?position=b%20c', more: true }";
        for (members, strategy, query, first, last) in [
            ("", cursor, "?position=2", r#"{"items":[{"id":"a"}],"next":"2"}"#, r#"{"items":[]}"#),
            (
                ", next: null",
                cursor,
                "?position=2",
                r#"{"items":[{"id":"a"}],"next":"2"}"#,
                r#"{"items":[]}"#,
            ),
            (", next: b", cursor, "?position=b", r#"{"items":[{"id":"a"}],"next":"b"}"#, r#"{"items":[]}"#),
            (
                ", more: false",
                flagged,
                "?position=2",
                r#"{"items":[{"id":"a"}],"more":true,"next":"2"}"#,
                r#"{"items":[],"more":false}"#,
            ),
            (
                ", more: false",
                last_item,
                "?position=a",
                r#"{"items":[{"id":"a"}],"more":true}"#,
                r#"{"items":[],"more":false}"#,
            ),
            ("", url, "?page=2", r#"{"items":[{"id":"a"}],"next":"/ships?page=2"}"#, r#"{"items":[]}"#),
        ] {
            let own = format!("example: {{ items: [{{ id: a }}]{members} }}");
            let document = document("items", "'null'", "0").replace(example, &own);
            assert_eq!(bodies(&document, strategy, ["", query]), [first, last], "{members} {strategy}");
        }
        // A list without items has one page.
        let document = document("items", "'null'", "0").replace(example, "example: { items: [] }");
        assert_eq!(bodies(&document, cursor, [""]), [r#"{"items":[]}"#]);
    }

    #[test]
    fn positions_after_the_first_are_the_last_page() {
        let document =
            document("items", "'null'", "0").replace("schema: { type: string }", "schema: { type: integer }");
        let last = r#"{"items":[],"more":true}"#;
        let [none, first, second] =
            bodies(&document, "page = { to = \"position\" }", ["", "?position=1", "?position=2"]);
        assert_eq!([none.as_str(), &first, &second], [FIRST, FIRST, last]);
        let [first, second] =
            bodies(&document, "offset = { to = \"position\" }", ["?position=0", "?position=1"]);
        assert_eq!([first.as_str(), &second], [FIRST, last]);
    }

    /// A client that compares its position with the number of pages stops after the second page.
    #[test]
    fn number_of_pages_ends_the_list() {
        let document = document("items", "'null'", "0")
            .replace("more: { type: boolean }", "pages: { type: integer }")
            .replace(", more: true", ", pages: 9")
            .replace("schema: { type: string }", "schema: { type: integer }");
        let strategy = "page = { to = \"position\", total-pages = \"/pages\" }";
        let [first, second] = bodies(&document, strategy, ["?position=1", "?position=2"]);
        assert!(first.contains(r#""pages":9"#), "{first}");
        assert_eq!(second, r#"{"items":[],"pages":1}"#);
    }

    /// The last page contains the number of items that were sent, so that a client that compares its position with
    /// the total stops. A total below the number of items is corrected.
    #[test]
    fn number_of_items_ends_the_list() {
        for (strategy, second) in [
            ("offset = { to = \"position\", total = \"/total\" }", "?position=1"),
            ("page = { to = \"position\", total = \"/total\" }", "?position=2"),
        ] {
            for (example, shown) in [("9", "9"), ("1", "1"), ("0", "1")] {
                let document = document("items", "'null'", "0")
                    .replace("more: { type: boolean }", "total: { type: integer }")
                    .replace(", next: '/ships?position=b%20c', more: true", &format!(", total: {example}"))
                    .replace("schema: { type: string }", "schema: { type: integer }");
                let pages = bodies(&document, strategy, ["", second]);
                let first = format!(r#"{{"items":[{{"id":"a"}}],"total":{shown}}}"#);
                assert_eq!(pages, [first.as_str(), r#"{"items":[],"total":1}"#], "{strategy} {example}");
            }
        }
    }

    /// Without `[[pages]]`, the pagination is the one that `init` suggests.
    #[test]
    fn suggested_pagination_ends() {
        let page = |parameter: &str, total: &str| {
            let document = document("items", "'null'", "0")
                .replace("position, in: query", &format!("{parameter}, in: query"));
            document
                .replace("more: { type: boolean }", total)
                .replace(", more: true", "")
                .replace("schema: { type: string } }", "schema: { type: integer } }")
        };
        let first = r#"{"items":[{"id":"a"}],"next":"/ships?position=b%20c"}"#;
        for (parameter, second) in [("page", "2"), ("offset", "1"), ("skip", "7")] {
            let total = "meta: { allOf: [{ type: object, properties: { total: { type: integer } } }] }";
            let bodies = bodies(&page(parameter, total), "", ["", &format!("?{parameter}={second}")]);
            assert_eq!(bodies, [first, r#"{"items":[]}"#], "{parameter}");
        }
    }

    /// If no page without items satisfies the contract, each request gets the usual body.
    #[test]
    fn last_pages_satisfy_the_contract() {
        let cursor = "cursor = { from = \"/next\", to = \"position\" }";
        let [next] = bodies(&document("items", "'null'", "1"), cursor, ["?position=b"]);
        assert_eq!(next, FIRST);
    }
}
