//! The program in docs/book/from-openapi-generator.md and from-openapi-to-rust.md, after its migration.

use pets::{
    calls::ListPetsOptions,
    client::{Client, Error},
    runtime::{Number, client::ReqwestTransport},
    types::{NewPet, Status},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("no address")?;
    let client = Client::new(address, ReqwestTransport::with_default_layers()?);

    let price = Number::parse("12.30")?;
    let pet = NewPet { price: Some(price), ..NewPet::new("Rex", Status::Available) };
    match client.add_pet(&pet).await {
        Ok(pet) => println!("added {}", pet.id),
        Err(Error::ErrorResponse(problem)) => println!("rejected: {}", problem.title),
        Err(error) => return Err(error.into()),
    }

    let options = ListPetsOptions::new().tag(["dog"]).limit(20);
    for pet in client.list_pets(options).await?.iter() {
        println!("{} {:?}", pet.name, pet.status);
    }
    let pet = client.read_pet("pet-1").await?;
    println!("{:?}", pet.nickname);
    Ok(())
}
