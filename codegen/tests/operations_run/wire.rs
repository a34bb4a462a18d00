//! Tests of the case `wire`: how lists and nested values are encoded in queries and forms, and which values
//! the server parses from them.

#[rustfmt::skip]
#[path = "../cases/wire/expected/calls.rs"]
pub mod calls;
#[rustfmt::skip]
#[path = "../cases/wire/expected/client.rs"]
pub mod client;
#[rustfmt::skip]
#[path = "../cases/wire/expected/models.rs"]
pub mod models;
#[rustfmt::skip]
#[path = "../cases/wire/expected/operations.rs"]
pub mod operations;
#[rustfmt::skip]
#[path = "../cases/wire/expected/schemas.rs"]
pub mod schemas;
#[rustfmt::skip]
#[path = "../cases/wire/expected/server.rs"]
pub mod server;
#[rustfmt::skip]
#[path = "../cases/wire/expected/types.rs"]
pub mod types;

use std::sync::Mutex;

use super::*;

/// A service that records the last call.
struct Shop(Mutex<Option<server::AnyCall>>);

impl server::Service for Shop {
    fn reject(&self, _: &runtime::RequestContext, rejection: Rejection) -> Response {
        rejection_response(&rejection)
    }

    async fn list_orders(
        &self,
        call: calls::ListOrdersCall,
        _: runtime::RequestContext,
    ) -> Result<(), runtime::ErrorResponse<()>> {
        *self.0.lock().unwrap() = Some(server::AnyCall::ListOrders(call));
        Ok(())
    }

    async fn make_order(
        &self,
        call: calls::MakeOrderCall,
        _: runtime::RequestContext,
    ) -> Result<(), runtime::ErrorResponse<()>> {
        *self.0.lock().unwrap() = Some(server::AnyCall::MakeOrder(call));
        Ok(())
    }

    async fn make_cart(
        &self,
        call: calls::MakeCartCall,
        _: runtime::RequestContext,
    ) -> Result<(), runtime::ErrorResponse<()>> {
        *self.0.lock().unwrap() = Some(server::AnyCall::MakeCart(call));
        Ok(())
    }
}

struct Exchange {
    shop: Arc<Shop>,
    router: Router,
    sent: SentRequests,
}

impl Exchange {
    fn new() -> Self {
        let shop = Arc::new(Shop(Mutex::default()));
        let router = server::router(Arc::clone(&shop), RouterOptions::default());
        Self { shop, router, sent: SentRequests::default() }
    }

    /// Sends a call. Returns its query and body with decoded brackets, and the call that the server received.
    fn exchange<C: contract_runtime::client::Call>(&self, call: &C) -> (String, server::AnyCall)
    where
        C::ErrorBody: std::fmt::Debug,
    {
        let transport = InProcess(self.router.clone(), Arc::clone(&self.sent));
        let client = client::Client::new("https://shop.example", transport);
        if let Err(error) = run(client.api_client().call(call)) {
            panic!("{error:?}");
        }
        let request = self.sent.lock().unwrap().pop().unwrap();
        let text = match request.uri().query() {
            Some(query) => query.to_owned(),
            None => String::from_utf8(request.body().to_vec()).unwrap(),
        };
        let received = self.shop.0.lock().unwrap().take().unwrap();
        (text.replace("%5B", "[").replace("%5D", "]"), received)
    }

    fn order(&self, value: &str, expect: &str) {
        let call = calls::MakeOrderCall { body: read(value) };
        let (body, received) = self.exchange(&call);
        assert_eq!(body, expect);
        assert_eq!(received, server::AnyCall::MakeOrder(call), "{value}");
    }

    fn cart(&self, value: &str, expect: &str) {
        let call = calls::MakeCartCall { body: read(value) };
        let (body, received) = self.exchange(&call);
        assert_eq!(body, expect);
        assert_eq!(received, server::AnyCall::MakeCart(call), "{value}");
    }
}

#[test]
fn deep_object_forms_have_bracketed_names() {
    let exchange = Exchange::new();
    exchange.order(
        r#"{"line_items":[{"price":"p","quantity":1},{"price":"q","codes":["x","y"]}],"expand":["a","b"]}"#,
        "line_items[0][price]=p&line_items[0][quantity]=1&line_items[1][price]=q\
         &line_items[1][codes][]=x&line_items[1][codes][]=y&expand[]=a&expand[]=b",
    );
    exchange.order(
        r#"{"metadata":{"order id":"6735","a&b":"=","0":""},"created":5}"#,
        "metadata[order%20id]=6735&metadata[a%26b]=%3D&metadata[0]=&created=5",
    );
    exchange.order(
        r#"{"created":{"gte":5},"shipping":{"name":"n","address":{"lines":["1"],"zones":{"eu":{"lt":2}}}}}"#,
        "created[gte]=5&shipping[name]=n&shipping[address][lines][]=1&shipping[address][zones][eu][lt]=2",
    );
    exchange.order(r#"{"line_items":[],"expand":[],"metadata":{}}"#, "line_items=&expand=&metadata=");
    // OpenAPI defines JSON as the encoding of a field without an explicit one.
    exchange.order(r#"{"note":{"text":"t"}}"#, "note=%7B%22text%22%3A%22t%22%7D");
    exchange.order("{}", "");
}

#[test]
fn options_select_the_convention() {
    let exchange = Exchange::new();
    exchange.cart(
        r#"{"items":[{"price":"p","quantity":1},{"price":"q"}],"tags":["a"],"owner":{"name":"n"}}"#,
        "items[][price]=p&items[][quantity]=1&items[][price]=q&tags[]=a&owner[name]=n",
    );
    exchange.cart(r#"{"items":[]}"#, "items=");
    let options = calls::ListOrdersOptions::new()
        .expand(["a"])
        .created(read::<types::OrderCreated>(r#"{"lt":3}"#))
        .codes(read(r#"["x,y","z"]"#))
        .tags(["t", "u"]);
    let call = calls::ListOrdersCall { options };
    let (query, received) = exchange.exchange(&call);
    assert_eq!(query, "expand[]=a&created[lt]=3&codes=x%2Cy,z&tags=t&tags=u");
    assert_eq!(received, server::AnyCall::ListOrders(call));
}

#[test]
fn lists_without_clear_elements_are_not_sent() {
    let client =
        client::Client::new("https://shop.example", InProcess(Exchange::new().router, Arc::default()));
    let cart: types::Cart = read(r#"{"items":[{"price":"p"},{"quantity":1}]}"#);
    let Err(Error::InvalidRequest(violations)) = run(client.make_cart(&cart)) else { panic!("sent") };
    let found: Vec<_> = violations.iter().map(|found| (found.pointer.as_str(), found.keyword)).collect();
    assert_eq!(found, [("/items", "style")]);
}

#[test]
fn servers_accept_every_notation_of_lists() {
    let exchange = Exchange::new();
    let ask = |query: &str| {
        let request = http::Request::get(format!("/orders?{query}")).body(axum::body::Body::empty()).unwrap();
        let response = run(exchange.router.clone().oneshot(request)).unwrap();
        assert_eq!(response.status(), 204, "{query}");
        let Some(server::AnyCall::ListOrders(call)) = exchange.shop.0.lock().unwrap().take() else {
            panic!("{query}")
        };
        call.options.tags
    };
    for query in ["tags=a&tags=b", "tags[]=a&tags[]=b", "tags[0]=a&tags[1]=b", "tags%5B1%5D=b&tags%5B0%5D=a"]
    {
        assert_eq!(ask(query), Some(vec!["a".to_owned(), "b".to_owned()]), "{query}");
    }
}
