//! Customers, payments and files of a payment service: signs in, lists customers over all pages, creates a customer
//! and a payment with idempotency keys, changes the payment, uploads a file, and handles a declined card.

use std::error::Error as StdError;

use crate::payments::{
    bodies::{FilePart, PostFilesForm},
    calls::{
        GetCustomersOptions, PostCustomersOptions, PostPaymentIntentsIntentOptions, PostPaymentIntentsOptions,
    },
    client::{Client, Error},
    credentials::Credentials,
    runtime::transport::Transport,
    servers,
    types::{
        ApiErrorsType, GetCustomersCreatedObject, PostCustomersBody, PostFilesBodyPurpose,
        PostPaymentIntentsBody, PostPaymentIntentsBodyAutomaticPaymentMethods, PostPaymentIntentsIntentBody,
    },
};

/// Runs all calls, and returns a line for each result.
pub(crate) async fn run(
    transport: impl Transport + 'static,
    key: &str,
) -> Result<Vec<String>, Box<dyn StdError>> {
    let client = Client::new(servers::DEFAULT, Credentials::new().bearer_auth(key).wrap(transport));
    let mut lines = Vec::new();

    let since = GetCustomersCreatedObject { gte: Some(1_680_000_000), ..Default::default() };
    let mut customers = client.get_customers_items(GetCustomersOptions::new().created(since).limit(2));
    while let Some(customer) = customers.next().await {
        let customer = customer?;
        lines.push(customer.id.clone());
    }

    let jenny = PostCustomersBody {
        email: Some("jenny@shop.example".to_owned()),
        preferred_locales: Some(vec!["de".to_owned(), "en".to_owned()]),
        ..Default::default()
    };
    let customer = client.post_customers(PostCustomersOptions::new().body(jenny)).await?;

    let payment = PostPaymentIntentsBody {
        customer: Some(customer.id.clone()),
        automatic_payment_methods: Some(PostPaymentIntentsBodyAutomaticPaymentMethods::new(true)),
        metadata: Some([("order".to_owned(), "6735".to_owned())].into_iter().collect()),
        expand: Some(vec!["customer".to_owned()]),
        ..PostPaymentIntentsBody::new(2000, "usd")
    };
    let options = PostPaymentIntentsOptions::new().idempotency_key("order-6735");
    let intent = client.post_payment_intents(&payment, options).await?;
    // The string alone is the id of a customer that is not expanded.
    let expanded = intent.customer.as_ref().and_then(|customer| customer.value()?.as_customer());
    if let Some(customer) = expanded {
        lines.push(format!("{} by {}", intent.status, customer.id));
    }

    let change =
        PostPaymentIntentsIntentBody { description: Some("A lamp".to_owned()), ..Default::default() };
    let options = PostPaymentIntentsIntentOptions::new().body(change);
    client.post_payment_intents_intent(&intent.id, options).await?;

    let picture = FilePart::new("receipt.png", "PNG...").with_media_type("image/png");
    let form = PostFilesForm::new(picture, PostFilesBodyPurpose::DisputeEvidence);
    let file = client.post_files(&form, Default::default()).await?;
    lines.push(format!("{} of {} bytes", file.id, file.size));

    let declined = PostPaymentIntentsBody {
        confirm: Some(true),
        payment_method: Some("pm_card_visa_chargeDeclined".to_owned()),
        ..PostPaymentIntentsBody::new(100, "usd")
    };
    match client.post_payment_intents(&declined, Default::default()).await {
        Ok(intent) => lines.push(intent.status.to_string()),
        Err(Error::ErrorResponse(response)) if response.body().error.type_ == ApiErrorsType::CardError => {
            let error = &response.body().error;
            lines.push(format!(
                "{}: {}",
                response.status(),
                error.decline_code.as_deref().unwrap_or("declined")
            ));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(lines)
}
