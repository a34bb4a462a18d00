//! Text messages: signs in with user name and password, lists messages over all pages, sends one with a picture,
//! cancels it, and handles an invalid number.

use std::error::Error as StdError;

use crate::messaging::{
    calls::{ListMessageOptions, UpdateMessageOptions},
    client::{Client, Error},
    credentials::Credentials,
    runtime::transport::Transport,
    servers,
    types::{CreateMessageBody, MessageEnumUpdateStatus, UpdateMessageBody},
};

/// Runs all calls, and returns a line for each result.
pub(crate) async fn run(
    transport: impl Transport + 'static,
    secret: &str,
) -> Result<Vec<String>, Box<dyn StdError>> {
    let account = "AC0123456789abcdef0123456789abcdef";
    let credentials = Credentials::new().account_sid_auth_token(account, secret);
    let client = Client::new(servers::DEFAULT, credentials.wrap(transport));
    let mut lines = Vec::new();

    let recent = ListMessageOptions::new().date_sent_gt("2026-11-28T00:00:00Z").page_size(2);
    let mut messages = client.list_message_items(account, recent);
    while let Some(message) = messages.next().await {
        let message = message?;
        let status = message.status.map(|status| status.to_string());
        lines.push(status.unwrap_or_default());
    }

    let message = CreateMessageBody {
        body: Some("Your lamp is ready & shiny".to_owned()),
        from: Some("+15557122661".to_owned()),
        media_url: Some(vec!["https://shop.example/lamp.png".to_owned()]),
        ..CreateMessageBody::new("+15558675310")
    };
    let sent = client.create_message(account, &message).await?;
    let id = sent.sid.as_ref().and_then(|sid| sid.value()).map_or("missing", String::as_str);
    lines.push(format!("sent {}", id.len()));

    let cancel = UpdateMessageBody { status: Some(MessageEnumUpdateStatus::Canceled), ..Default::default() };
    let canceled = client.update_message(account, id, UpdateMessageOptions::new().body(cancel)).await?;
    lines.push(format!("canceled: {:?}", canceled.status.as_ref().map(|status| status.as_str())));

    let invalid = CreateMessageBody::new("not a number");
    match client.create_message(account, &invalid).await {
        Ok(message) => lines.push(format!("sent {}", message.status().as_u16())),
        Err(Error::ErrorResponse(response)) => lines.push(response.status().to_string()),
        Err(error) => return Err(error.into()),
    }
    Ok(lines)
}
