//! The import of a file of blueprints (DRF-04, WEB-09): it becomes a review of the member's.

use axum::Router;
use axum::extract::multipart::MultipartError;
use axum::extract::{DefaultBodyLimit, Multipart, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use maud::html;

use super::super::session::{self, SignedIn};
use super::super::{Backed, page};
use super::address;
use crate::backend::drafts::{FileRefusal, LARGEST_FILE};

/// So much is read of a form whose file is too large, so that its sender learns why; beyond it the connection ends.
const READ: usize = 32 << 20;
/// A token is a hash.
const LONGEST_TOKEN: usize = 256;

/// Where it is.
pub(in crate::web) const PATH: &str = "/import";

pub(super) fn routes() -> Router<Backed> {
    Router::new().route(PATH, get(form).post(import)).layer(DefaultBodyLimit::max(READ))
}

async fn form(member: SignedIn) -> Response {
    ask(&member, None, StatusCode::OK)
}

fn ask(member: &SignedIn, error: Option<&str>, status: StatusCode) -> Response {
    let body = html! {
        p { "Pick a file of blueprints that an application wrote for you. You see what stands in it before anything is changed." }
        @if let Some(error) = error {
            p #error .error role="alert" { (error) }
        }
        form method="post" action=(PATH) enctype="multipart/form-data" {
            (member.csrf().field())
            label for="file" { "File" }
            input #file type="file" name="file" accept=".json,application/json" required
                aria-describedby=(if error.is_some() { "error hint" } else { "hint" });
            p #hint .hint { "JSON, at most 8 MiB and 2000 blueprints." }
            p .actions { button type="submit" { "Next" } }
        }
    };
    page(status, "Import blueprints", Some(member), &body)
}

/// What a form with a file came to.
enum Given {
    File(Vec<u8>),
    TooLarge,
    /// Not of our page.
    Forged,
}

async fn import(State(pages): State<Backed>, member: SignedIn, form: Multipart) -> Response {
    let file = match read(form, &member).await {
        Ok(Given::File(file)) => file,
        Ok(Given::TooLarge) => return refuse(&member, FileRefusal::TooLarge),
        Ok(Given::Forged) => return session::forged(Some(&member)),
        Err(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            return refuse(&member, FileRefusal::TooLarge);
        }
        Err(error) => {
            return ask(&member, Some("The file did not arrive whole. Send it again."), error.status());
        }
    };
    match pages.backend.import_file(member.member(), &file).await {
        Ok(Ok(review)) => Redirect::to(&address(&review)).into_response(),
        Ok(Err(refusal)) => refuse(&member, refusal),
        Err(error) => session::failed(&error),
    }
}

fn refuse(member: &SignedIn, refusal: FileRefusal) -> Response {
    let status = match refusal {
        FileRefusal::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    ask(member, Some(&refusal.to_string()), status)
}

/// Reads the token, which stands in front, and then the file.
async fn read(mut form: Multipart, member: &SignedIn) -> Result<Given, MultipartError> {
    let mut is_ours = false;
    while let Some(mut field) = form.next_field().await? {
        match field.name() {
            Some("csrf") => {
                let mut token = Vec::new();
                while let Some(chunk) = field.chunk().await? {
                    token.extend_from_slice(chunk.get(..chunk.len().min(LONGEST_TOKEN)).unwrap_or_default());
                }
                token.truncate(LONGEST_TOKEN);
                is_ours = member.csrf().is(&String::from_utf8_lossy(&token));
            }
            Some("file") if is_ours => {
                let (mut file, mut length) = (Vec::new(), 0_usize);
                while let Some(chunk) = field.chunk().await? {
                    length = length.saturating_add(chunk.len());
                    // Of one that is too large the rest is only read.
                    if length <= LARGEST_FILE {
                        file.extend_from_slice(&chunk);
                    }
                }
                return Ok(if length > LARGEST_FILE { Given::TooLarge } else { Given::File(file) });
            }
            _ => return Ok(Given::Forged),
        }
    }
    Ok(Given::Forged)
}
