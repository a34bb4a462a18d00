//! Requests and answers in pieces over reqwest.

use super::{ReqwestTransport, cut, failed, unanswered};
use crate::{
    operation::Operation,
    transport::{
        ByteStream, Delivery, Opening, RequestBody, StreamTransport, TransportError, TransportFault,
    },
};

impl ReqwestTransport {
    async fn begin(
        &self,
        request: http::Request<RequestBody>,
    ) -> Result<http::Response<ByteStream>, TransportError> {
        let request = request.map(|body| match body {
            RequestBody::Whole(bytes) => reqwest::Body::from(bytes),
            RequestBody::Pieces(pieces) => reqwest::Body::wrap(pieces),
        });
        let request = reqwest::Request::try_from(request)
            .map_err(|error| failed(error, TransportFault::Request, Delivery::NotSent))?;
        let response = self.client.execute(request).await.map_err(unanswered)?;
        let (mut parts, body) = http::Response::<reqwest::Body>::from(response).into_parts();
        // reqwest's own: what it remembers of the address is nobody's to read.
        parts.extensions.clear();
        Ok(http::Response::from_parts(parts, ByteStream::of_body(body, cut)))
    }
}

impl StreamTransport for ReqwestTransport {
    fn open<'a>(
        &'a self,
        _operation: &'static Operation,
        request: http::Request<RequestBody>,
    ) -> Opening<'a> {
        Box::pin(self.begin(request))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::TcpListener,
        pin::Pin,
        task::{Context, Poll},
    };

    use bytes::Bytes;
    use futures_core::Stream;

    use super::*;

    /// One piece, and then an error with a cause that is about another connection.
    struct Broken(u8);

    impl Stream for Broken {
        type Item = Result<Bytes, TransportError>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            self.0 += 1;
            Poll::Ready(Some(match self.0 {
                1 => Ok(Bytes::from_static(b"piece")),
                _ => Err(TransportError::new(TransportFault::Request, Delivery::NotSent)),
            }))
        }
    }

    /// The connection that was in the middle of it is not to blame, and had bytes of it.
    #[tokio::test]
    async fn a_body_that_breaks_says_so() {
        // Nobody accepts: that the system does is enough to send to.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let body = RequestBody::Pieces(ByteStream::new(Broken(0)));
        let request = http::Request::post(uri).body(body).unwrap();
        let error = ReqwestTransport::new().unwrap().open(&Operation::NONE, request).await.unwrap_err();
        assert_eq!((error.fault(), error.delivery()), (TransportFault::Request, Delivery::Unknown));
    }
}
