//! Written by `cargo run -p contract-codegen --example vendor_streams`.
#![deny(warnings)]

mod scripted;

use contract_runtime::{
    Contract,
    client::ReqwestTransport,
    stream::{Events, Reconnection},
};
use serde_json::Value;
use tokio::task::JoinHandle;
use vendor::client::Client;

use scripted::{HEAD, Impatient};

struct Published {
    operation: &'static str,
    path: &'static str,
    request: &'static str,
    events: &'static str,
    stream: &'static str,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Whole,
    Bytes,
    CutOff,
}

/// What the server says on one connection, piece by piece, before it closes it.
type Script = Vec<Vec<u8>>;

impl Way {
    const ALL: [Self; 3] = [Self::Whole, Self::Bytes, Self::CutOff];

    fn scripts(self, of: &Published) -> Vec<Script> {
        let head = |pieces: Vec<Vec<u8>>| [vec![HEAD.to_vec()], pieces].concat();
        match self {
            Self::Whole => vec![head(vec![of.stream.as_bytes().to_vec()])],
            Self::Bytes => vec![head(of.stream.bytes().map(|byte| vec![byte]).collect())],
            Self::CutOff => {
                let events: Vec<&str> = of.stream.split_terminator("\n\n").collect();
                let numbered = |number: usize| format!("id: {number}\n{}\n\n", events[number]);
                let half = events.len() / 2;
                let cut = numbered(half);
                let first: String =
                    (0..half).map(numbered).chain([cut[..cut.len() / 2].to_owned()]).collect();
                let second: String = (half..events.len()).map(numbered).collect();
                vec![head(vec![first.into_bytes()]), head(vec![second.into_bytes()])]
            }
        }
    }

    /// Reads the events and compares them and what was sent with what is published.
    async fn judge<T: Contract>(self, of: &Published, events: Events<T>, server: JoinHandle<Vec<String>>) {
        let place = format!("{} {self:?}", of.operation);
        let expected: Vec<Value> = serde_json::from_str(of.events).unwrap();
        let timer = Impatient::default();
        let mut events = match self {
            Self::CutOff => events.reconnecting(timer.clone(), Reconnection::default()),
            Self::Whole | Self::Bytes => events,
        };
        let mut seen = Vec::new();
        while let Some(event) = events.next().await {
            let event = event.unwrap_or_else(|error| panic!("{place}, event {}: {error}", seen.len()));
            assert!(event.data.is_valid(), "{place}, event {}", seen.len());
            seen.push(serde_json::to_value(&event.data).unwrap());
        }
        assert_eq!(seen, expected, "{place}");
        assert!(events.is_complete(), "{place}");
        let asked = server.await.unwrap();
        for request in &asked {
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with(&format!("POST {} HTTP/1.1\r\n", of.path)), "{place}: {head}");
            let sent: Value = serde_json::from_str(body).unwrap();
            assert_eq!(sent, serde_json::from_str::<Value>(of.request).unwrap(), "{place}");
        }
        let ids: Vec<Option<usize>> = asked
            .iter()
            .map(|request| request.lines().find_map(|line| line.strip_prefix("last-event-id: ")))
            .map(|id| id.map(|id| id.parse().unwrap()))
            .collect();
        let half = of.stream.split_terminator("\n\n").count() / 2;
        let expected = match self {
            Self::CutOff => vec![None, Some(half - 1)],
            Self::Whole | Self::Bytes => vec![None],
        };
        assert_eq!(ids, expected, "{place}");
        assert_eq!(timer.waits().len(), expected.len() - 1, "{place}");
        println!("{place}: {} events over {} connections", seen.len(), ids.len());
    }
}

macro_rules! judge {
    ($of:ident, $method:ident) => {
        for way in Way::ALL {
            let (origin, server) = scripted::serve(way.scripts(&$of)).await;
            let client = Client::new(&origin, ReqwestTransport::new().unwrap());
            let body = Contract::parse($of.request.as_bytes()).unwrap();
            let events = client.$method(&body).await.unwrap().into_body();
            way.judge(&$of, events, server).await;
        }
    };
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // The published streams stand here.
}
