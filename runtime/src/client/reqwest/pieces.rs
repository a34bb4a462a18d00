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
