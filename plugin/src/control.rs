//! The health API: what a fault injector says to the plugin, over HTTP on loopback.
//!
//! | request | answer |
//! |---|---|
//! | `GET /devices` | 200 with `{"resource": …, "devices": [{"id", "health"}]}` |
//! | `PUT /devices/{id}/health` with `{"health": "Healthy"}` or `{"health": "Unhealthy"}` | 204, also when nothing changes |
//! | the same with another body | 400 |
//! | another path, or a device that does not exist | 404 |
//! | another method | 405 with `Allow` |

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use gpulab_device::Health;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::inventory::SharedInventory;

/// The longest body that is read, in bytes; a health needs about twenty.
const BODY_LIMIT: usize = 1024;

/// The health API, bound and not yet served.
#[derive(Debug)]
pub struct Control {
    listener: TcpListener,
    resource: String,
    inventory: SharedInventory,
}

impl Control {
    /// Binds `address`; port 0 takes any free one.
    ///
    /// # Errors
    /// An address that is not on loopback (the API asks nobody who they are), or one that cannot be bound.
    pub async fn bind(address: SocketAddr, resource: &str, inventory: SharedInventory) -> io::Result<Control> {
        if !address.ip().is_loopback() {
            let text = format!("the health API is served on loopback only, not on {}", address.ip());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let listener = TcpListener::bind(address).await?;
        Ok(Control { listener, resource: resource.to_owned(), inventory })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop`; open connections end with it.
    pub async fn serve(self, stop: CancellationToken) {
        let Control { listener, resource, inventory } = self;
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            // A client that went away while it was being accepted is its own affair.
            let Ok((stream, _)) = accepted else { continue };
            while connections.try_join_next().is_some() {}
            let (resource, inventory) = (resource.clone(), inventory.clone());
            connections.spawn(async move {
                let service = service_fn(|request| answer(request, &resource, &inventory));
                // As is one that breaks off in the middle.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    resource: &str,
    inventory: &SharedInventory,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let path: Vec<&str> = parts.uri.path().split('/').skip(1).collect();
    Ok(match path.as_slice() {
        ["devices"] if parts.method == Method::GET => list(resource, inventory),
        ["devices"] => not_allowed("GET"),
        ["devices", id, "health"] if parts.method == Method::PUT => {
            if inventory.snapshot().device(id).is_none() {
                return Ok(refuse(StatusCode::NOT_FOUND, &format!("no device is called {id}")));
            }
            match Limited::new(body, BODY_LIMIT).collect().await {
                Ok(body) => set_health(inventory, id, &body.to_bytes()),
                Err(_) => refuse(StatusCode::BAD_REQUEST, EXPECTED),
            }
        }
        ["devices", _, "health"] => not_allowed("PUT"),
        _ => refuse(StatusCode::NOT_FOUND, "there are /devices and /devices/{id}/health"),
    })
}

/// What a body must look like.
const EXPECTED: &str = r#"the body must be {"health":"Healthy"} or {"health":"Unhealthy"}"#;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SetHealth {
    /// A word, not the enumeration itself, whose other written forms would pass too.
    health: String,
}

fn set_health(inventory: &SharedInventory, id: &str, body: &[u8]) -> Response<Full<Bytes>> {
    let wanted = serde_json::from_slice(body).ok().and_then(|SetHealth { health }| health.parse::<Health>().ok());
    let Some(health) = wanted else {
        return refuse(StatusCode::BAD_REQUEST, EXPECTED);
    };
    match inventory.set_health(id, health) {
        Ok(_) => respond(StatusCode::NO_CONTENT, Bytes::new()),
        Err(error) => refuse(StatusCode::NOT_FOUND, &error.to_string()),
    }
}

fn list(resource: &str, inventory: &SharedInventory) -> Response<Full<Bytes>> {
    let body = serde_json::json!({"resource": resource, "devices": inventory.snapshot().devices()});
    respond(StatusCode::OK, body.to_string().into())
}

fn not_allowed(allowed: &'static str) -> Response<Full<Bytes>> {
    let mut response = refuse(StatusCode::METHOD_NOT_ALLOWED, &format!("this path takes {allowed}"));
    response.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static(allowed));
    response
}

fn refuse(status: StatusCode, message: &str) -> Response<Full<Bytes>> {
    respond(status, serde_json::json!({"error": message}).to_string().into())
}

fn respond(status: StatusCode, body: Bytes) -> Response<Full<Bytes>> {
    let json = !body.is_empty();
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    if json {
        let json = header::HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
    }
    response
}
