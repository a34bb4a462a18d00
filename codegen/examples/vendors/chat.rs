//! Messages and members of a chat service: signs in as a bot, lists the members of a server over all pages, creates a
//! channel, sends and edits a message, and handles an invalid message.

use std::error::Error as StdError;

use crate::chat::{
    calls::ListGuildMembersOptions,
    client::{Client, Error},
    credentials::Credentials,
    runtime::transport::Transport,
    servers,
    types::{
        CreateGuildChannelRequest, MessageAllowedMentionsRequest, MessageCreateRequest,
        MessageEditRequestPartial, RichEmbed, SnowflakeType,
    },
};

/// Runs all calls, and returns a line for each result.
pub(crate) async fn run(
    transport: impl Transport + 'static,
    token: &str,
) -> Result<Vec<String>, Box<dyn StdError>> {
    let credentials = Credentials::new().bot_token(format!("Bot {token}"));
    let client = Client::new(servers::DEFAULT, credentials.wrap(transport));
    let server: SnowflakeType = "197038439483310086".parse()?;
    let mut lines = Vec::new();

    let mut members = client.list_guild_members_items(&server, ListGuildMembersOptions::new().limit(2));
    while let Some(member) = members.next().await {
        let member = member?;
        lines.push(format!("{} since {}", member.user.username, member.joined_at));
    }

    let channel = CreateGuildChannelRequest {
        topic: Some("Lamps, new and used".into()),
        ..CreateGuildChannelRequest::new("lamps")
    };
    let channel = client.create_guild_channel(&server, &channel).await?;
    lines.push(format!("channel {}", channel.name));

    let embed =
        RichEmbed { title: Some("A lamp".into()), color: Some(0xff_cc_00.into()), ..Default::default() };
    let greeting = MessageCreateRequest {
        content: Some("Hello, @everyone".into()),
        embeds: Some(vec![embed].into()),
        allowed_mentions: Some(MessageAllowedMentionsRequest::default().into()),
        ..Default::default()
    };
    let message = client.create_message(&channel.id, &greeting).await?;
    lines.push(format!("message {} by {}", message.id, message.author.username));
    let headers = message.typed_headers();
    if let Some(remaining) = headers.x_rate_limit_remaining()? {
        lines.push(format!("{remaining} requests remain"));
    }

    let edit = MessageEditRequestPartial { content: Some("Hello, all".into()), ..Default::default() };
    let edited = client.update_message(&channel.id, &message.id, &edit).await?;
    lines.push(format!("edited: {}", edited.content));

    let empty = MessageCreateRequest::default();
    match client.create_message(&channel.id, &empty).await {
        Ok(message) => lines.push(format!("message {}", message.id)),
        Err(Error::ErrorResponse(response)) => lines.push(response.status().to_string()),
        Err(error) => return Err(error.into()),
    }
    Ok(lines)
}
