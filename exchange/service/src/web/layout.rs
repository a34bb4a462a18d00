//! The layout and the headers that all pages have.

use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue, StatusCode};
use maud::{DOCTYPE, Markup, html};

use super::notices;
use super::session::SignedInMember;
use crate::records::MAX_COUNTED;

const STYLE: &str = include_str!("style.css");

/// The content security policy. It allows only the style sheet of this service and forms that are sent to
/// this service, and forbids framing.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; \
                      base-uri 'none'";

/// Renders a page with a title and a body. The navigation is rendered for `member`, the signed-in member.
#[must_use]
pub fn render_page(
    status: StatusCode,
    title: &str,
    member: Option<&SignedInMember>,
    body: &Markup,
) -> Response {
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
                                    @if address == notices::PATH && member.unread_count() > 0 {
                                        " " span .new { (render_unread_count(member)) }
                                    }
                                }
                                " "
                            }
                        }
                        form method="post" action="/sign-out" {
                            (member.csrf().hidden_field())
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
    let mut response = (status, document.into_string()).into_response();
    let headers = response.headers_mut();
    let fixed = |text| HeaderValue::from_static(text);
    headers.insert(CONTENT_TYPE, fixed("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, fixed(CONTENT_POLICY));
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
    response
}

/// Renders the number of unread notices. If the number reaches the counted maximum, renders `99+`.
fn render_unread_count(member: &SignedInMember) -> Markup {
    let (number, limit) = (member.unread_count(), MAX_COUNTED as u64);
    html! { @if number < limit { (number) } @else { (limit - 1) "+" } }
}

/// Adds security headers to responses that are not pages, such as redirects and rejections of malformed
/// forms.
pub(super) async fn add_default_headers(mut response: Response) -> Response {
    for (name, value) in
        [(CACHE_CONTROL, "no-store"), (REFERRER_POLICY, "no-referrer"), (X_CONTENT_TYPE_OPTIONS, "nosniff")]
    {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Renders a page with a message, and an optional link for continuing.
#[must_use]
pub fn render_message(
    status: StatusCode,
    title: &str,
    member: Option<&SignedInMember>,
    text: &str,
    next: Option<(&str, &str)>,
) -> Response {
    let body = html! {
        p { (text) }
        @if let Some((address, name)) = next {
            p { a .button href=(address) { (name) } }
        }
    };
    render_page(status, title, member, &body)
}

/// Returns the response with the style sheet of all pages.
pub(super) fn style_response() -> impl IntoResponse {
    (
        [
            (CONTENT_TYPE, "text/css; charset=utf-8"),
            (CACHE_CONTROL, "public, max-age=3600"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ],
        STYLE,
    )
}
