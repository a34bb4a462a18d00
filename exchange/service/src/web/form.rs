//! The extractor of submitted forms.

use axum::body::{Body, Bytes};
use axum::extract::{Form, FromRequest, Request};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde::de::DeserializeOwned;

use super::render_message;

/// A submitted form without NUL characters, which would end a string in other programs.
pub(super) struct PageForm<T>(pub(super) T);

impl<S, T> FromRequest<S> for PageForm<T>
where
    S: Send + Sync,
    T: DeserializeOwned,
{
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        let limited = Request::from_parts(parts.clone(), body);
        let bytes = Bytes::from_request(limited, state).await.map_err(|error| unreadable(error.status()))?;
        if contains_nul(&bytes) {
            return Err(unreadable(StatusCode::UNPROCESSABLE_ENTITY));
        }
        let form = Form::from_request(Request::from_parts(parts, Body::from(bytes)), state).await;
        form.map(|Form(form)| Self(form)).map_err(|error| unreadable(error.into_response().status()))
    }
}

fn contains_nul(form: &[u8]) -> bool {
    form.contains(&0) || form.windows(3).any(|escape| escape == b"%00")
}

/// Renders the page for a form that cannot be read.
fn unreadable(status: StatusCode) -> Response {
    let text = match status {
        StatusCode::PAYLOAD_TOO_LARGE => "The form is too large. Nothing was changed.",
        _ => "The form contains characters or fields that are not allowed. Nothing was changed.",
    };
    render_message(status, "The form cannot be read", None, text, Some(("/", "Go to the overview")))
}

#[cfg(test)]
mod tests {
    use super::contains_nul;

    #[test]
    fn nul_is_found_in_both_spellings() {
        for (form, expect) in [("a=b%00c", true), ("a=b\0c", true), ("a=b%2500", false), ("a=%0", false)] {
            assert_eq!(contains_nul(form.as_bytes()), expect, "{form:?}");
        }
    }
}
