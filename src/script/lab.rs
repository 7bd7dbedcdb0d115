//! What every verb receives: the client, the backend, and the recorders of what happens.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::BodyExt as _;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::cleanup::Journal;
use super::convert::{items, text};
use super::fault::{Fault, Res, Stop, stop};
use super::kinds::{KindRef, encode};
use super::session::Sink;
use crate::backend::{Backend, Step};
use crate::error::{Error, Kind};
use crate::event::{Event, Evidence};

/// The field manager of everything that scripts write.
pub const MANAGER: &str = "gpulab";

/// The learner's handle on the cluster.
pub struct Lab {
    /// What runs the cluster.
    pub backend: Rc<dyn Backend>,
    /// The namespace that names without one mean.
    pub namespace: RefCell<String>,
    /// The extended resource that stands for a GPU.
    pub resource: RefCell<String>,
    /// Objects that the script made or changed.
    pub journal: RefCell<Journal>,
    /// What `args()` returns.
    pub args: Vec<String>,
    /// Where files are looked up: the directory of the running script.
    pub directory: Rc<RefCell<Option<PathBuf>>>,
    /// The seed.
    pub seed: u64,
    /// Findings: checked, and of these not held.
    pub findings: Cell<(usize, usize)>,
    client: kube::Client,
    runtime: tokio::runtime::Runtime,
    sink: Rc<dyn Sink>,
    interrupt: Arc<AtomicBool>,
    digest: RefCell<Sha256>,
    evidence: RefCell<Option<Vec<Evidence>>>,
    custom: RefCell<Vec<Rc<KindRef>>>,
    broken: RefCell<Option<Error>>,
}

impl std::fmt::Debug for Lab {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lab({})", self.backend.name())
    }
}

/// What a request is answered with.
struct Answer {
    code: u16,
    body: Vec<u8>,
}

impl Lab {
    /// A lab on a backend.
    ///
    /// # Errors
    /// When no runtime can be made.
    pub fn new(
        backend: Rc<dyn Backend>,
        sink: Rc<dyn Sink>,
        options: &super::session::SessionOptions,
    ) -> Result<Lab, Error> {
        // One thread: a request is answered where it is asked, in order.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::new(Kind::Backend, format!("cannot start the runtime: {error}")))?;
        let client = {
            let _inside = runtime.enter();
            backend.client()
        };
        Ok(Lab {
            backend,
            namespace: RefCell::new(options.namespace.clone()),
            resource: RefCell::new("simulator.accelerator-fleet.io/gpu".into()),
            journal: RefCell::default(),
            args: options.args.clone(),
            directory: Rc::default(),
            seed: options.seed,
            findings: Cell::default(),
            client,
            runtime,
            sink,
            interrupt: options.interrupt.clone(),
            digest: RefCell::default(),
            evidence: RefCell::default(),
            custom: RefCell::default(),
            broken: RefCell::default(),
        })
    }

    /// The one place where script code waits for a future.
    fn block_on<F: Future>(&self, future: F) -> Result<F::Output, Fault> {
        let interrupted = async {
            while !self.interrupted() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                output = future => Ok(output),
                () = interrupted => Err(Fault::new(Kind::Interrupted, "cancelled")),
            }
        })
    }

    /// Sends a request and gives back the decoded answer.
    ///
    /// # Errors
    /// What the API says, or that it cannot be reached.
    pub fn request(&self, method: &str, path: &str, content_type: &str, body: Option<&Value>) -> Result<Value, Fault> {
        self.ask(method, path, content_type, body, "application/json")
    }

    /// GET of a path as the table that the server makes of it.
    ///
    /// # Errors
    /// As [`Lab::request`].
    pub fn get_table(&self, path: &str) -> Result<Value, Fault> {
        self.ask("GET", path, "", None, "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
    }

    fn ask(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
        accept: &str,
    ) -> Result<Value, Fault> {
        let bytes = body.map(Value::to_string).unwrap_or_default().into_bytes();
        self.record("request", &[method.as_bytes(), path.as_bytes(), content_type.as_bytes(), &bytes]);
        let mut request = http::Request::builder().method(method).uri(path).header("accept", accept);
        if body.is_some() {
            request = request.header("content-type", content_type);
        }
        let request = request
            .body(kube::client::Body::from(bytes))
            .map_err(|error| Fault::script(format!("cannot ask for {path}: {error}")))?;
        let answer = self.block_on(self.send(request))??;
        self.record("answer", &[&answer.code.to_be_bytes(), &answer.body]);
        let value: Value = serde_json::from_slice(&answer.body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&answer.body).into_owned()));
        if answer.code < 400 { Ok(value) } else { Err(refused(answer.code, &value)) }
    }

    /// Speaks HTTP to something beside the API server, such as a device plugin's health API.
    ///
    /// # Errors
    /// What it answers, or that it cannot be reached.
    pub fn http(&self, method: reqwest::Method, url: &str, body: Option<&Value>) -> Result<Value, Fault> {
        let mut request = reqwest::Client::new().request(method, url);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let unreachable =
            |error: reqwest::Error| Fault::new(Kind::Backend, format!("the device plugin does not answer: {error}"));
        let (code, answer) = self.block_on(async {
            let response = request.send().await.map_err(unreachable)?;
            let code = response.status().as_u16();
            Ok::<_, Fault>((code, response.text().await.map_err(unreachable)?))
        })??;
        let value = serde_json::from_str(&answer).unwrap_or(Value::Null);
        if code < 400 {
            return Ok(value);
        }
        let message = text(&value, &["error"]);
        Err(Fault::script(if message.is_empty() {
            format!("the device plugin answered {code}")
        } else {
            message.to_owned()
        }))
    }

    async fn send(&self, request: http::Request<kube::client::Body>) -> Result<Answer, Fault> {
        let unreachable = |error: String| Fault::new(Kind::Backend, format!("the cluster does not answer: {error}"));
        let response = self.client.send(request).await.map_err(|error| unreachable(error.to_string()))?;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.map_err(|error| unreachable(error.to_string()))?;
        Ok(Answer { code, body: body.to_bytes().to_vec() })
    }

    /// GET of a path.
    ///
    /// # Errors
    /// As [`Lab::request`].
    pub fn get_path(&self, path: &str) -> Result<Value, Fault> {
        self.request("GET", path, "", None)
    }

    /// The objects of a kind in a namespace (all namespaces when it is empty).
    ///
    /// # Errors
    /// As [`Lab::request`].
    pub fn list(&self, kind: &KindRef, namespace: &str, labels: &str, fields: &str) -> Result<Vec<Value>, Fault> {
        let mut list = self.get_path(&list_path(kind, namespace, labels, fields))?;
        match list.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => Ok(items),
            _ => Ok(Vec::new()),
        }
    }

    /// Names of the objects of a kind, for suggestions; none when they cannot be listed.
    pub fn names(&self, kind: &KindRef, namespace: &str) -> Vec<String> {
        let items = self.list(kind, namespace, "", "").unwrap_or_default();
        items.iter().map(|item| text(item, &["metadata", "name"]).to_owned()).collect()
    }

    /// The current namespace for namespaced kinds, empty for others.
    pub fn place(&self, kind: &KindRef) -> String {
        if kind.namespaced { self.namespace.borrow().clone() } else { String::new() }
    }

    /// Custom kinds that discovery has shown.
    pub fn custom_kinds(&self) -> Vec<Rc<KindRef>> {
        self.custom.borrow().clone()
    }

    /// Remembers custom kinds.
    pub fn remember_kinds(&self, kinds: &[Rc<KindRef>]) {
        *self.custom.borrow_mut() = kinds.to_vec();
    }

    /// Whether Ctrl-C was pressed.
    pub fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Forgets a Ctrl-C that was handled.
    pub fn clear_interrupt(&self) {
        self.interrupt.store(false, Ordering::Relaxed);
    }

    /// Shows an event.
    ///
    /// # Errors
    /// When the output is gone; no script can catch that.
    pub fn emit(&self, event: &Event) -> Res<()> {
        self.record("event", &[format!("{event:?}").as_bytes()]);
        self.sink.emit(event).map_err(|error| stop(Stop::Error(Box::new(error))))
    }

    /// Shows an event from where no error can be returned; it ends the script at its next operation.
    pub fn emit_later(&self, event: &Event) {
        self.record("event", &[format!("{event:?}").as_bytes()]);
        if let Err(error) = self.sink.emit(event) {
            *self.broken.borrow_mut() = Some(error);
        }
    }

    /// The error that an earlier [`Lab::emit_later`] met.
    pub fn take_broken(&self) -> Option<Error> {
        self.broken.borrow_mut().take()
    }

    /// Asks for one of the choices.
    pub fn choose(&self, question: &str, choices: &[String]) -> Option<String> {
        self.sink.choose(question, choices)
    }

    /// Adds to the digest of what happened.
    pub fn record(&self, what: &str, parts: &[&[u8]]) {
        let mut digest = self.digest.borrow_mut();
        digest.update(what.as_bytes());
        for part in parts {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
    }

    /// Adds a step to the digest.
    pub fn record_step(&self, step: &Step) {
        let work = step.work.to_string();
        self.record("step", &[&step.at.micros().to_be_bytes(), step.component.as_bytes(), work.as_bytes()]);
    }

    /// The digest so far.
    pub fn digest(&self) -> String {
        self.digest.borrow().clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Notes a field that was read, when somebody collects evidence.
    pub fn note(&self, object: &str, field: &str, value: impl FnOnce() -> Value) {
        if let Some(evidence) = self.evidence.borrow_mut().as_mut() {
            let seen = Evidence { object: object.to_owned(), field: field.to_owned(), value: value() };
            if !evidence.contains(&seen) {
                evidence.push(seen);
            }
        }
    }

    /// Collects what is read while `act` runs.
    pub fn collecting<T>(&self, act: impl FnOnce() -> T) -> (T, Vec<Evidence>) {
        let outer = self.evidence.replace(Some(Vec::new()));
        let result = act();
        let seen = self.evidence.replace(outer).unwrap_or_default();
        (result, seen)
    }
}

/// The path of a list with its selectors.
pub fn list_path(kind: &KindRef, namespace: &str, labels: &str, fields: &str) -> String {
    let mut path = kind.path(namespace);
    let mut mark = '?';
    for (name, selector) in [("labelSelector", labels), ("fieldSelector", fields)] {
        if !selector.is_empty() {
            path.push_str(&format!("{mark}{name}={}", encode(selector)));
            mark = '&';
        }
    }
    path
}

fn refused(code: u16, status: &Value) -> Fault {
    let message = match text(status, &["message"]) {
        "" => format!("the server answered {code}"),
        message => message.to_owned(),
    };
    let mut fault = Fault::script(message);
    fault.code = i64::from(code);
    fault.reason = text(status, &["reason"]).to_owned();
    if matches!(code, 401) || code == 403 && !text(status, &["message"]).contains("is forbidden: ") {
        fault.kind = Kind::Backend;
    }
    let wrong: Vec<&str> = items(status, &["details", "causes"]).iter().map(|cause| text(cause, &["field"])).collect();
    if wrong.len() > 1 {
        fault.hints.push(format!("fields to correct: {}", wrong.join(", ")));
    }
    fault
}
