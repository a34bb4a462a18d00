//! Tests that random JSON bodies round-trip between the generated client and server.

use super::*;
use crate::{calls::PictureCall, texts::Random};

/// A service that records the last call and returns empty responses.
struct CallRecorder(Mutex<Option<server::AnyCall>>);

impl server::Service for CallRecorder {
    fn reject(&self, _: &runtime::RequestContext, rejection: Rejection) -> runtime::Response {
        panic!("{rejection}")
    }

    async fn ships_write(
        &self,
        call: ShipsWriteCall,
        _: runtime::RequestContext,
    ) -> Result<Option<Ship>, server::ErrorResponse> {
        *self.0.lock().unwrap() = Some(server::AnyCall::ShipsWrite(call));
        Ok(None)
    }

    async fn picture(
        &self,
        call: PictureCall,
        _: runtime::RequestContext,
    ) -> Result<ByteStream, runtime::ErrorResponse<()>> {
        *self.0.lock().unwrap() = Some(server::AnyCall::Picture(call));
        Ok(ByteStream::from(Bytes::new()))
    }
}

fn random_ship(random: &mut Random) -> Ship {
    let mut members = random.members(3);
    members.insert("name".to_owned(), contract_runtime::Json::String(random.text()));
    Ship::parse(contract_runtime::Json::Object(members).to_string().as_bytes()).unwrap()
}

/// Arbitrary strings, and lists of objects with undeclared members, round-trip as bodies.
#[test]
fn random_json_bodies_round_trip() {
    let recorder = Arc::new(CallRecorder(Mutex::default()));
    let router = server::router(Arc::clone(&recorder), RouterOptions::default());
    let client = Client::new("https://exchange.example", RouterTransport(router));
    let received = || recorder.0.lock().unwrap().take();
    let mut random = Random(13);
    let (mut texts, mut undeclared) = (0, 0);
    for round in 0..1000 {
        let call = ShipsWriteCall {
            idempotency_key: key(),
            body: ShipChangeSet::new(random.text()).unwrap(),
            options: ShipsWriteOptions::new(),
        };
        poll_to_completion(client.api_client().call(&call)).unwrap();
        texts += call.body.as_str().len();
        assert_eq!(received(), Some(server::AnyCall::ShipsWrite(call)), "round {round}");

        let ships: Vec<Ship> = (0..random.below(4)).map(|_| random_ship(&mut random)).collect();
        undeclared += ships.iter().map(|ship| ship.extra.len()).sum::<usize>();
        let call = PictureCall { options: PictureOptions::new().body(ships) };
        poll_to_completion(client.api_client().call(&call)).unwrap();
        assert_eq!(received(), Some(server::AnyCall::Picture(call)), "round {round}");
    }
    assert!(texts > 2_000 && undeclared > 1_000, "{texts} bytes, {undeclared} members");
}
