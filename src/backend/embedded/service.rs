//! An HTTP request value becomes a request of the world, its answer an HTTP response value. No socket is involved.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream;
use gpulab_cluster::api::request::{Body, Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};

use super::Embedded;

type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// The embedded API server as a tower service.
#[derive(Clone, Debug)]
pub struct Service {
    embedded: Embedded,
}

impl Service {
    pub(super) fn new(embedded: Embedded) -> Service {
        Service { embedded }
    }
}

impl<B> tower::Service<http::Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    type Response = http::Response<ResponseBody>;
    type Error = B::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let embedded = self.embedded.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let header = |name| {
                head.headers
                    .get(name)
                    .and_then(|value: &http::HeaderValue| value.to_str().ok())
                    .unwrap_or("")
                    .to_owned()
            };
            let request = Request {
                method: head.method.to_string(),
                path: head.uri.path().to_owned(),
                query: head.uri.query().unwrap_or("").to_owned(),
                accept: header(http::header::ACCEPT),
                content_type: header(http::header::CONTENT_TYPE),
                user_agent: header(http::header::USER_AGENT),
                body: body.to_vec(),
            };
            let response = embedded.with(|world| world.request(&request));
            Ok(respond(&embedded, response))
        })
    }
}

fn respond(embedded: &Embedded, response: Response) -> http::Response<ResponseBody> {
    let body = match response.body {
        Body::Json(value) => Full::from(value.to_json()).boxed_unsync(),
        Body::Text(text) => Full::from(text).boxed_unsync(),
        Body::Watch(watch) => {
            let (lines, receiver) = tokio::sync::mpsc::unbounded_channel::<Bytes>();
            embedded.watch(watch, lines);
            embedded.with(|_| ());
            StreamBody::new(stream::unfold(receiver, async |mut receiver| {
                let line = receiver.recv().await?;
                Some((Ok(Frame::data(line)), receiver))
            }))
            .boxed_unsync()
        }
    };
    let mut answer = http::Response::new(body);
    *answer.status_mut() =
        http::StatusCode::from_u16(response.status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers.into_iter().map(|(name, value)| (name.to_owned(), value));
    for (name, value) in headers.chain([("content-type".to_owned(), response.content_type)]) {
        if let (Ok(name), Ok(value)) = (http::HeaderName::try_from(name), http::HeaderValue::try_from(value)) {
            answer.headers_mut().append(name, value);
        }
    }
    answer
}
