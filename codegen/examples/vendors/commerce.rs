//! Customers, orders and payments of a shop: signs in, lists customers over all pages, creates a customer, an order
//! and its payment with idempotency keys, and handles a declined card.

use std::error::Error as StdError;

use crate::commerce::{
    calls::ListCustomersOptions,
    client::Client,
    credentials::Credentials,
    runtime::{client::DefaultHeaders, transport::Transport},
    servers,
    types::{CreateCustomerRequest, CreateOrderRequest, CreatePaymentRequest, Money, Order, OrderLineItem},
};

/// Runs all calls, and returns a line for each result.
pub(crate) async fn run(
    transport: impl Transport + 'static,
    token: &str,
) -> Result<Vec<String>, Box<dyn StdError>> {
    let transport = DefaultHeaders::new(transport).with_header("square-version", "2022-08-23")?;
    let client = Client::new(servers::DEFAULT, Credentials::new().oauth2(token).wrap(transport));
    let mut lines = Vec::new();

    let mut customers = client.list_customers_items(ListCustomersOptions::new().limit(2));
    while let Some(customer) = customers.next().await {
        let customer = customer?;
        lines.push(customer.id.as_deref().unwrap_or("no id").to_owned());
    }

    let amelia = CreateCustomerRequest {
        given_name: Some("Amelia".to_owned()),
        email_address: Some("amelia@shop.example".to_owned()),
        ..Default::default()
    };
    let customer = client.create_customer(&amelia).await?;
    let customer_id = customer.customer.as_ref().and_then(|customer| customer.id.clone());

    let price =
        |amount| Money { amount: Some(amount), currency: Some("EUR".to_owned()), ..Default::default() };
    let lamp = OrderLineItem {
        name: Some("A lamp".to_owned()),
        base_price_money: Some(price(1599)),
        ..OrderLineItem::new("2")
    };
    let order = Order {
        customer_id: customer_id.clone(),
        line_items: Some(vec![lamp]),
        ..Order::new("057P5VYJ4A5X1")
    };
    let request = CreateOrderRequest {
        idempotency_key: Some("order-8193".to_owned()),
        order: Some(order),
        ..Default::default()
    };
    let created = client.create_order(&request).await?;
    let order_id = created.order.as_ref().and_then(|order| order.id.clone());
    lines.push(format!("order {}", order_id.as_deref().unwrap_or("missing")));

    let payment = CreatePaymentRequest {
        order_id,
        customer_id,
        ..CreatePaymentRequest::new(price(3198), "order-8193-payment", "ccof:GaJGNaZa8x4OgDJn4GB")
    };
    let paid = client.create_payment(&payment).await?;
    if let Some(payment) = &paid.payment {
        lines.push(format!("payment {}", payment.status.as_deref().unwrap_or("without status")));
    }

    let declined = CreatePaymentRequest::new(price(1), "declined", "cnon:card-nonce-declined");
    let response = client.create_payment(&declined).await?;
    // This service lists errors in the body of a success, too.
    for error in response.errors.iter().flatten() {
        lines.push(format!("{}: {}", error.category, error.code));
    }
    Ok(lines)
}
