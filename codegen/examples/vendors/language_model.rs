//! Chat completions and files of a language model service: signs in, lists files over all pages, asks for a whole
//! and for a streamed completion, uploads a file, lets a text be spoken, and handles a rate limit.

use std::error::Error as StdError;

use crate::language_model::{
    bodies::{CreateFileForm, FilePart},
    calls::ListFilesOptions,
    client::{Client, Error},
    credentials::Credentials,
    runtime::{Nullable, transport::Transport},
    servers,
    types::{
        ChatCompletionRequestSystemMessage, ChatCompletionRequestUserMessage, CreateChatCompletionRequest,
        CreateFileRequestPurpose, CreateSpeechRequest, CreateSpeechRequestModel, ModelIdsShared,
        VoiceIdsShared,
    },
};

/// Runs all calls, and returns a line for each result.
pub(crate) async fn run(
    transport: impl Transport + 'static,
    key: &str,
) -> Result<Vec<String>, Box<dyn StdError>> {
    let client = Client::new(servers::DEFAULT, Credentials::new().api_key_auth(key).wrap(transport));
    let (chat, files) = (client.chat(), client.files());
    let mut lines = Vec::new();

    let mut all = files.list_files_items(ListFilesOptions::new().purpose("user_data").limit(1));
    while let Some(file) = all.next().await {
        lines.push(file?.filename.clone());
    }

    let messages = vec![
        ChatCompletionRequestSystemMessage::new("Be brief.").into(),
        ChatCompletionRequestUserMessage::new("Hello!").into(),
    ];
    let question = CreateChatCompletionRequest {
        temperature: Some(Nullable::Value(0.5.try_into()?)),
        ..CreateChatCompletionRequest::new(messages, ModelIdsShared::from("gpt-5"))
    };
    let completion = chat.create_chat_completion(&question).await?;
    for choice in &completion.choices {
        lines.push(choice.message.content.value().cloned().unwrap_or_default());
    }

    let streamed = CreateChatCompletionRequest { stream: Some(Nullable::Value(true)), ..question.clone() };
    let mut chunks = chat.create_chat_completion_stream(&streamed).await?.into_body();
    let mut text = String::new();
    while let Some(chunk) = chunks.next().await {
        for choice in &chunk?.data.choices {
            text.extend(
                choice.delta.content.as_ref().and_then(|content| content.value()).map(String::as_str),
            );
        }
    }
    lines.push(text);

    let notes = FilePart::new("notes.jsonl", "{}\n").with_media_type("application/jsonl");
    let form = CreateFileForm::new(notes, CreateFileRequestPurpose::UserData);
    let file = files.create_file(&form).await?;
    lines.push(format!("{} of {} bytes", file.filename, file.bytes));

    let speech = CreateSpeechRequest::new(CreateSpeechRequestModel::Tts1, "Hello!", VoiceIdsShared::Alloy);
    let sound = client.audio().create_speech(&speech).await?;
    lines.push(format!("{} bytes of sound", sound.body().len()));

    match chat.create_chat_completion(&question).await {
        Ok(_) => lines.push("answered".to_owned()),
        Err(Error::ErrorResponse(response)) => {
            let (status, delay) = (response.status(), response.header("retry-after").unwrap_or("?"));
            lines.push(format!("{status}: {} ({delay} s)", response.body().error.message));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(lines)
}
