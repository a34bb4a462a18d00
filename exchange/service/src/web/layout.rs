//! How a page looks, and the headers that every page has.

use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue, StatusCode};
use maud::{DOCTYPE, Markup, html};

use super::notices;
use super::session::SignedIn;
use crate::records::MOST_COUNTED;

const STYLE: &str = include_str!("style.css");

/// Nothing but our own style, forms to us, and nobody's frame around it.
const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; \
                      base-uri 'none'";

/// A page with a title and what stands on it. `member` is who sees it, when somebody is signed in.
#[must_use]
pub fn page(status: StatusCode, title: &str, member: Option<&SignedIn>, body: &Markup) -> Response {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                title { (title) " – Exchange" }
                link rel="stylesheet" href="/style.css";
            }
            body {
                header {
                    p .brand { "Exchange" }
                    @if let Some(member) = member {
                        nav {
                            @for (address, name) in member.pages() {
                                a href=(address) {
                                    (name)
                                    @if address == notices::PATH && member.unread() > 0 {
                                        " " span .new { (unread(member)) }
                                    }
                                }
                                " "
                            }
                        }
                        form method="post" action="/sign-out" {
                            (member.csrf().field())
                            span { "Signed in as " strong { (member.name()) } }
                            button .quiet type="submit" { "Sign out" }
                        }
                    }
                }
                main {
                    h1 { (title) }
                    (body)
                }
            }
        }
    };
    let mut answer = (status, document.into_string()).into_response();
    let headers = answer.headers_mut();
    let fixed = |text| HeaderValue::from_static(text);
    headers.insert(CONTENT_TYPE, fixed("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, fixed(POLICY));
    headers.insert(X_FRAME_OPTIONS, fixed("DENY"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    headers.insert(REFERRER_POLICY, fixed("no-referrer"));
    headers.insert(CACHE_CONTROL, fixed("no-store"));
    headers.insert(HeaderName::from_static("cross-origin-opener-policy"), fixed("same-origin"));
    headers.insert(HeaderName::from_static("cross-origin-resource-policy"), fixed("same-origin"));
    headers.insert(
        HeaderName::from_static("permissions-policy"),
        fixed("camera=(), geolocation=(), microphone=()"),
    );
    answer
}

/// How many notices the member has not read; more than are counted are so many and more.
fn unread(member: &SignedIn) -> Markup {
    let (number, most) = (member.unread(), MOST_COUNTED as u64);
    html! { @if number < most { (number) } @else { (most - 1) "+" } }
}

/// What is no page, such as a redirect or the refusal of a broken form, is kept by nobody and read as
/// nothing else, either.
pub(super) async fn guarded(mut answer: Response) -> Response {
    for (name, value) in
        [(CACHE_CONTROL, "no-store"), (REFERRER_POLICY, "no-referrer"), (X_CONTENT_TYPE_OPTIONS, "nosniff")]
    {
        answer.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    answer
}

/// A page that says one thing, and where to go on.
#[must_use]
pub fn message(
    status: StatusCode,
    title: &str,
    member: Option<&SignedIn>,
    text: &str,
    next: Option<(&str, &str)>,
) -> Response {
    let body = html! {
        p { (text) }
        @if let Some((address, name)) = next {
            p { a .button href=(address) { (name) } }
        }
    };
    page(status, title, member, &body)
}

/// The style of all pages.
pub(super) fn style() -> impl IntoResponse {
    (
        [
            (CONTENT_TYPE, "text/css; charset=utf-8"),
            (CACHE_CONTROL, "public, max-age=3600"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ],
        STYLE,
    )
}
