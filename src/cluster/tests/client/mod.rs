//! A client of a bare API server: no component reacts to what it does.

use gpulab_cluster::api::Server;
use gpulab_cluster::api::request::{Body, Request, Response};
use gpulab_cluster::api::watch::Watch;
use gpulab_cluster::{Value, VirtualTime};

pub struct Client {
    pub server: Server,
    pub now: VirtualTime,
}

impl Client {
    pub fn new() -> Client {
        let mut server = Server::new(0);
        server.bootstrap(VirtualTime::EPOCH);
        Client { server, now: VirtualTime::EPOCH }
    }

    pub fn send(&mut self, method: &str, path: &str, query: &str, body: &str) -> Response {
        let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = Request {
            method: method.into(),
            path: path.into(),
            query: query.into(),
            content_type: media.into(),
            body: body.into(),
            ..Request::default()
        };
        self.server.answer(self.now, &request)
    }

    /// Status and body of a request that answers JSON.
    pub fn ask(&mut self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let response = self.send(method, path, query, body);
        match response.body {
            Body::Json(value) => (response.status, value),
            other => panic!("{method} {path}: {other:?}"),
        }
    }

    pub fn watch(&mut self, path: &str, query: &str) -> Watch {
        match self.send("GET", path, query, "").body {
            Body::Watch(watch) => watch,
            other => panic!("{path} {query}: {other:?}"),
        }
    }
}
