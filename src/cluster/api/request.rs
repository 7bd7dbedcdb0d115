//! Requests of clients and the answers to them, as plain values: what HTTP carries, without HTTP.

use crate::value::Value;

/// A client's request.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `GET`, `POST`, `PUT`, `PATCH`, `DELETE`.
    pub method: String,
    /// Path without the query: `/api/v1/namespaces/default/pods`.
    pub path: String,
    /// The query as it was sent, without `?`, still percent-encoded.
    pub query: String,
    /// The `Accept` header, empty if absent.
    pub accept: String,
    /// The `Content-Type` header, empty if absent.
    pub content_type: String,
    /// The `User-Agent` header, empty if absent.
    pub user_agent: String,
    /// The body.
    pub body: Vec<u8>,
}

/// The answer to a [`Request`].
#[derive(Clone, Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// The `Content-Type`.
    pub content_type: String,
    /// Further headers: `Warning`, `Retry-After`, …
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Body,
}

/// The body of a [`Response`].
#[derive(Clone, Debug)]
pub enum Body {
    /// One JSON value (keys in byte order).
    Json(Value),
    /// Plain text.
    Text(String),
    /// A stream of watch events: poll it with [`World::poll`](crate::World::poll) after every change of the world, and
    /// write each event as one line of JSON.
    Watch(super::watch::Watch),
}

impl Response {
    /// A JSON answer.
    pub fn json(status: u16, body: Value) -> Response {
        Response { status, content_type: "application/json".into(), headers: Vec::new(), body: Body::Json(body) }
    }
}
