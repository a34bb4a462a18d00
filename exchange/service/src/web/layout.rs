//! The layout and the headers that all pages have.

use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue, StatusCode};
use maud::{DOCTYPE, Markup, html};

use super::session::SignedInMember;
use super::{notices, text};
use crate::records::MAX_COUNTED;

const STYLE: &str = include_str!("style.css");

/// The content security policy. It allows only the style sheet of this service and forms that are sent to
/// this service, and forbids framing.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; \
                      base-uri 'none'";

/// The element that contains the content of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PageWidth {
    #[default]
    Normal,
    /// For pages with one short form, such as the sign-in.
    Narrow,
}

/// Renders a page with a title and a body. The navigation and the message of the last action are rendered
/// for `member`, the signed-in member.
#[must_use]
pub fn render_page(
    status: StatusCode,
    title: &str,
    member: Option<&SignedInMember>,
    body: &Markup,
) -> Response {
    render_with_width(PageWidth::Normal, status, title, member, body)
}

/// Renders a page as [`render_page`] does, with a given width.
pub(super) fn render_with_width(
    width: PageWidth,
    status: StatusCode,
    title: &str,
    member: Option<&SignedInMember>,
    body: &Markup,
) -> Response {
    let flash = member.and_then(SignedInMember::flash);
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
                a .skip href="#main" { "Skip to content" }
                header .bar {
                    div .bar-row {
                        a .brand href="/" { "Exchange" }
                        @if let Some(member) = member { (render_navigation(member)) }
                    }
                }
                main #main tabindex="-1" .narrow[width == PageWidth::Narrow] {
                    h1 { (title) }
                    @if let Some(message) = flash {
                        div .message.good role="status" tabindex="-1" autofocus { p { (message) } }
                    }
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
    if let Some(member) = member.filter(|_| flash.is_some()) {
        member.forget_flash(headers);
    }
    response
}

/// Renders the navigation. On small screens, the style sheet shows it only while the preceding `details`
/// element is open.
fn render_navigation(member: &SignedInMember) -> Markup {
    html! {
        details .menu {
            summary { "Menu" @if member.unread_count() > 0 { " " (render_unread_count(member)) } }
        }
        nav aria-label="Pages" {
            ul {
                @for page in member.pages() {
                    li {
                        a href=(page.path) aria-current=[page.current_mark(member.path())] {
                            (page.label)
                            @if page.path == notices::PATH && member.unread_count() > 0 {
                                " " (render_unread_count(member))
                            }
                        }
                    }
                }
            }
            form .who method="post" action="/sign-out" {
                (member.csrf().hidden_field())
                span .visually-hidden { "Signed in as " }
                (text::name(member.name()))
                button .plain.small type="submit" { "Sign out" }
            }
        }
    }
}

/// A page in the navigation.
#[derive(Clone, Copy, Debug)]
pub(super) struct NavigationItem {
    pub(super) path: &'static str,
    pub(super) label: &'static str,
    /// The beginnings of the paths of other pages that belong to the item.
    pub(super) section: &'static [&'static str],
}

impl NavigationItem {
    /// Returns the value of `aria-current` on the page with a path.
    fn current_mark(&self, path: &str) -> Option<&'static str> {
        if path == self.path {
            return Some("page");
        }
        self.section.iter().any(|begin| path.starts_with(begin)).then_some("true")
    }
}

/// Renders links between pages of one section.
pub(super) fn render_tabs(label: &str, pages: &[(&str, &str)], path: &str) -> Markup {
    html! {
        nav aria-label=(label) {
            ul .tabs {
                @for (address, name) in pages {
                    li { a href=(address) aria-current=[is_below(path, address).then_some("page")] { (name) } }
                }
            }
        }
    }
}

/// Returns true if a path is an address or below it, such as the address of a form.
fn is_below(path: &str, address: &str) -> bool {
    path.strip_prefix(address).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Renders an error above a form, and moves the focus to it unless a field has the focus.
pub(super) fn render_error(text: &str, is_focused: bool) -> Markup {
    html! {
        div .message.error role="alert" tabindex="-1" autofocus[is_focused] { p { (text) } }
    }
}

/// Renders the number of unread notices as a mark in the navigation.
fn render_unread_count(member: &SignedInMember) -> Markup {
    html! {
        span .badge.new { (render_count(member.unread_count())) }
        span .visually-hidden { " unread" }
    }
}

/// Renders a number of unread notices. If the number reaches the counted maximum, renders `99+`.
pub(super) fn render_count(number: u64) -> Markup {
    let limit = MAX_COUNTED as u64;
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
        div .card {
            p { (text) }
            @if let Some((address, name)) = next {
                p .actions { a .button href=(address) { (name) } }
            }
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
