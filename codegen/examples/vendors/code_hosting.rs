//! Issues and releases of a code hosting service: signs in, lists issues over all pages, creates and closes one,
//! uploads a release asset, and handles an invalid request.

use std::error::Error as StdError;

use crate::code_hosting::{
    calls::{IssuesListForRepoOptions, IssuesUpdateOptions},
    client::{Client, Error},
    responses::IssuesCreateError,
    runtime::{
        client::DefaultHeaders,
        transport::{ByteStream, Transport},
    },
    servers,
    types::{IssuesCreateBody, IssuesListForRepoState, IssuesUpdateBody, IssuesUpdateBodyState},
};

/// Runs all calls, and returns a line for each result.
pub(crate) async fn run(
    transport: impl Transport + 'static,
    token: &str,
) -> Result<Vec<String>, Box<dyn StdError>> {
    let transport = DefaultHeaders::new(transport)
        .with_header("user-agent", "issue-bot")?
        .with_header("x-github-api-version", "2022-11-28")?
        .with_bearer_token(token)?;
    let client = Client::new(servers::DEFAULT, transport);
    let issues = client.issues();
    let mut lines = Vec::new();

    let open = IssuesListForRepoOptions::new().state(IssuesListForRepoState::Open).per_page(2);
    let mut items = issues.list_for_repo_items("octocat", "hello-world", open);
    while let Some(issue) = items.next().await {
        let issue = issue?;
        let author = issue.user.0.value().map_or("nobody", |user| user.login.as_str());
        lines.push(format!("#{} {} by {author}", issue.number, issue.title));
    }

    let request = IssuesCreateBody {
        body: Some("It flickers.".to_owned()),
        labels: Some(vec!["bug".into()]),
        ..IssuesCreateBody::new("Broken lamp")
    };
    let created = issues.create("octocat", "hello-world", &request).await?;
    lines.push(format!("created {}", created.html_url));

    let close = IssuesUpdateBody { state: Some(IssuesUpdateBodyState::Closed), ..Default::default() };
    let options = IssuesUpdateOptions::new().body(close);
    let closed = issues.update("octocat", "hello-world", created.number, options).await?;
    lines.push(format!("#{} is {}", closed.number, closed.state));

    let archive = ByteStream::from("PK...");
    let asset = client
        .repos()
        .upload_release_asset_stream("octocat", "hello-world", 1, "lamp.zip", archive, Default::default())
        .await?;
    lines.push(format!("uploaded {} bytes", asset.size));

    match issues.create("octocat", "hello-world", &IssuesCreateBody::new("")).await {
        Ok(issue) => lines.push(format!("created {}", issue.html_url)),
        Err(Error::ErrorResponse(response)) => match response.body() {
            IssuesCreateError::ValidationError(error) => {
                let fields = error.errors.iter().flatten().filter_map(|each| each.field.as_deref());
                lines.push(format!("{}: {}", error.message, fields.collect::<Vec<_>>().join(", ")));
            }
            _ => lines.push(response.status().to_string()),
        },
        Err(error) => return Err(error.into()),
    }
    Ok(lines)
}
