//! JSON bodies that a generated client writes a generated server reads back equal, for random values.

use super::*;
use crate::{calls::PictureCall, texts::Random};

/// Keeps what it is asked, and answers nothing of it.
struct Keeping(Mutex<Option<server::AnyCall>>);

impl server::Service for Keeping {
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
    ) -> Result<Bytes, runtime::ErrorResponse<()>> {
        *self.0.lock().unwrap() = Some(server::AnyCall::Picture(call));
        Ok(Bytes::new())
    }
}

fn random_ship(random: &mut Random) -> Ship {
    let mut members = random.members(3);
    members.insert("name".to_owned(), contract_runtime::Json::String(random.text()));
    Ship::parse(contract_runtime::Json::Object(members).to_string().as_bytes()).unwrap()
}

/// A text, whatever stands in it; a list of objects with members that the contract does not declare.
#[test]
fn json_bodies_are_read_as_they_were_written() {
    let keeping = Arc::new(Keeping(Mutex::default()));
    let router = server::router(Arc::clone(&keeping), RouterOptions::default());
    let client = Client::new("https://exchange.example", Direct(router));
    let came = || keeping.0.lock().unwrap().take();
    let mut random = Random(13);
    let (mut texts, mut undeclared) = (0, 0);
    for turn in 0..1000 {
        let call = ShipsWriteCall {
            idempotency_key: key(),
            body: ShipChangeSet::new(random.text()).unwrap(),
            options: ShipsWriteOptions::new(),
        };
        drive(client.api_client().call(&call)).unwrap();
        texts += call.body.as_str().len();
        assert_eq!(came(), Some(server::AnyCall::ShipsWrite(call)), "turn {turn}");

        let ships: Vec<Ship> = (0..random.below(4)).map(|_| random_ship(&mut random)).collect();
        undeclared += ships.iter().map(|ship| ship.extra.len()).sum::<usize>();
        let call = PictureCall { options: PictureOptions::new().body(ships) };
        drive(client.api_client().call(&call)).unwrap();
        assert_eq!(came(), Some(server::AnyCall::Picture(call)), "turn {turn}");
    }
    assert!(texts > 2_000 && undeclared > 1_000, "{texts} bytes, {undeclared} members");
}
