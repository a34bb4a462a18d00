//! Runs the program of one vendor against a mock server, and prints each request with its body, and each result.
//! `cargo xtask vendors` copies this file into a package, beside the program and the generated package.
//!
//! The first argument is the URL of the mock server. Requests keep their path and query.

use std::{env, error::Error as StdError, process::ExitCode};

use package::{
    client::Bytes,
    runtime::{
        client::ReqwestTransport,
        operation::Operation,
        transport::{ResponseFuture, Transport},
    },
};
#[cfg(feature = "stream")]
use package::runtime::transport::{RequestBody, StreamResponseFuture, StreamTransport};

mod program;

/// The generated package, under the name that the program uses.
mod vendor {
    pub(crate) use package::*;
}
pub(crate) use vendor as NAME;

/// A transport that sends each request to the mock server.
struct Redirect {
    mock: String,
    transport: ReqwestTransport,
}

impl Redirect {
    fn redirect<B>(&self, request: &mut http::Request<B>) {
        println!("{} {}", request.method(), request.uri());
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        if let Ok(uri) = format!("{}{path}", self.mock).parse() {
            *request.uri_mut() = uri;
        }
    }
}

impl Transport for Redirect {
    fn send<'a>(&'a self, operation: &'static Operation, mut request: http::Request<Bytes>) -> ResponseFuture<'a> {
        self.redirect(&mut request);
        if let Ok(body) = std::str::from_utf8(request.body()).map(str::trim)
            && !body.is_empty()
        {
            println!("    {body}");
        }
        self.transport.send(operation, request)
    }

    #[cfg(feature = "stream")]
    fn stream_transport(&self) -> Option<&dyn StreamTransport> {
        Some(self)
    }
}

#[cfg(feature = "stream")]
impl StreamTransport for Redirect {
    fn open_stream<'a>(
        &'a self,
        operation: &'static Operation,
        mut request: http::Request<RequestBody>,
    ) -> StreamResponseFuture<'a> {
        self.redirect(&mut request);
        self.transport.open_stream(operation, request)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("  {line}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<Vec<String>, Box<dyn StdError>> {
    let mock = env::args().nth(1).ok_or("the first argument is the URL of the mock server")?;
    let transport = Redirect { mock, transport: ReqwestTransport::new()? };
    program::run(transport, "secret").await
}
