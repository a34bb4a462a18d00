//! The page on which a member imports a file of blueprints. The file becomes a review (DRF-04, WEB-09).

use axum::Router;
use axum::extract::multipart::MultipartError;
use axum::extract::{DefaultBodyLimit, Multipart, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use maud::html;

use super::super::session::{self, SignedInMember};
use super::super::{BackendState, render_page};
use super::review_path;
use crate::backend::drafts::{ImportError, MAX_FILE_BYTES};

/// The maximum number of bytes that are read of a form. A form with a file above the file limit is read up to
/// this size, so that the member gets an error message. Beyond this size, the connection is closed.
const MAX_READ_BYTES: usize = 32 << 20;
/// The maximum length of a CSRF token, in bytes.
const MAX_TOKEN_BYTES: usize = 256;

pub(in crate::web) const PATH: &str = "/import";

pub(super) fn routes() -> Router<BackendState> {
    Router::new().route(PATH, get(show_form).post(import_file)).layer(DefaultBodyLimit::max(MAX_READ_BYTES))
}

async fn show_form(member: SignedInMember) -> Response {
    render_form(&member, None, StatusCode::OK)
}

fn render_form(member: &SignedInMember, error: Option<&str>, status: StatusCode) -> Response {
    let body = html! {
        p { "Select a blueprint file that an application created. You can review its contents before anything is changed." }
        form .card method="post" action=(PATH) enctype="multipart/form-data" {
            (member.csrf().hidden_field())
            label for="file" { "File" }
            @if let Some(error) = error {
                p #error .field-error role="alert" { (error) }
            }
            input #file type="file" name="file" accept=".json,application/json" required
                autofocus[error.is_some()] aria-invalid=[error.map(|_| "true")]
                aria-describedby=(if error.is_some() { "error hint" } else { "hint" });
            p #hint .hint { "JSON, at most 8 MiB and 2000 blueprints." }
            p .actions { button type="submit" { "Next" } }
        }
    };
    render_page(status, "Import blueprints", Some(member), &body)
}

/// The outcome of reading a form with a file.
enum UploadOutcome {
    File(Vec<u8>),
    TooLarge,
    /// The form was not sent from the import page.
    Forged,
}

async fn import_file(State(pages): State<BackendState>, member: SignedInMember, form: Multipart) -> Response {
    let file = match read_form(form, &member).await {
        Ok(UploadOutcome::File(file)) => file,
        Ok(UploadOutcome::TooLarge) => return reject_file(&member, ImportError::TooLarge),
        Ok(UploadOutcome::Forged) => return session::forged_form_page(Some(&member)),
        Err(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            return reject_file(&member, ImportError::TooLarge);
        }
        Err(error) => {
            return render_form(
                &member,
                Some("The upload was interrupted. Send the file again."),
                error.status(),
            );
        }
    };
    match pages.backend.import_file(member.member(), &file).await {
        Ok(Ok(review)) => Redirect::to(&review_path(&review)).into_response(),
        Ok(Err(error)) => reject_file(&member, error),
        Err(error) => session::error_page(&error),
    }
}

fn reject_file(member: &SignedInMember, error: ImportError) -> Response {
    let status = match error {
        ImportError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    render_form(member, Some(&error.to_string()), status)
}

/// Reads the CSRF token, which must be the first field, then the file.
async fn read_form(mut form: Multipart, member: &SignedInMember) -> Result<UploadOutcome, MultipartError> {
    let mut is_ours = false;
    while let Some(mut field) = form.next_field().await? {
        match field.name() {
            Some("csrf") => {
                let mut token = Vec::new();
                while let Some(chunk) = field.chunk().await? {
                    token
                        .extend_from_slice(chunk.get(..chunk.len().min(MAX_TOKEN_BYTES)).unwrap_or_default());
                }
                token.truncate(MAX_TOKEN_BYTES);
                is_ours = member.csrf().matches(&String::from_utf8_lossy(&token));
            }
            Some("file") if is_ours => {
                let (mut file, mut length) = (Vec::new(), 0_usize);
                while let Some(chunk) = field.chunk().await? {
                    length = length.saturating_add(chunk.len());
                    // The rest of a file that is too large is read and discarded.
                    if length <= MAX_FILE_BYTES {
                        file.extend_from_slice(&chunk);
                    }
                }
                return Ok(if length > MAX_FILE_BYTES {
                    UploadOutcome::TooLarge
                } else {
                    UploadOutcome::File(file)
                });
            }
            _ => return Ok(UploadOutcome::Forged),
        }
    }
    Ok(UploadOutcome::Forged)
}
