//! From a request to a verb, and from a result to an answer.
//!
//! Source: apiserver `pkg/endpoints/{installer.go,request,handlers}`.

use std::sync::Arc;

use super::list::{Page, Selection};
use super::negotiate::{self, Form, Include};
use super::options::{self, Query};
use super::registry::{Kind, KindInfo, Part};
use super::request::{Body, Request, Response};
use super::schema::{self, FieldValidation};
use super::status::{FieldError, Status};
use super::store::ObjectKey;
use super::watch::{View, Watch};
use super::{Caller, DeleteOptions, Server, discovery, event_forms, go_json, patch, table};
use crate::object;
use crate::time::VirtualTime;
use crate::value::{Text, Value};

/// What a path names.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) info: Arc<KindInfo>,
    pub(super) version: Text,
    /// Empty for cluster-scoped kinds and for all namespaces.
    pub(super) namespace: Text,
    /// Empty for collections.
    pub(super) name: Text,
    /// Subresource, empty for the object itself.
    pub(super) part: Text,
}

impl Target {
    /// `v1` or `apps/v1`, as the path says.
    pub(super) fn api_version(&self) -> Text {
        if self.info.group.is_empty() {
            self.version.clone()
        } else {
            Text::from(format!("{}/{}", self.info.group, self.version))
        }
    }

    pub(super) fn key(&self) -> ObjectKey {
        ObjectKey::new(self.info.id, self.namespace.clone(), self.name.clone())
    }
}

/// A request with what was read from its head.
pub(super) struct Call<'a> {
    pub(super) now: VirtualTime,
    pub(super) request: &'a Request,
    pub(super) query: Query,
    pub(super) form: Form,
}

impl Call<'_> {
    pub(super) fn caller(&self) -> Caller<'_> {
        Caller { now: self.now, manager: self.query.manager(&self.request.user_agent) }
    }

    /// The body as JSON; DeleteOptions may be missing and are null then.
    ///
    /// # Errors
    /// 415 for another content type, 400 for what is not JSON. `kind` is what the message expects.
    pub(super) fn json(&self, kind: &str) -> Result<Value, Status> {
        let media = self.request.content_type.split(';').next().unwrap_or("").trim();
        if !matches!(media, "" | "application/json") {
            let message = "the body of the request was in an unknown format - accepted media types include: \
                           application/json, application/yaml, application/vnd.kubernetes.protobuf";
            return Err(Status::new(415, "UnsupportedMediaType", message));
        }
        if self.request.body.is_empty() && kind == "DeleteOptions" {
            return Ok(Value::Null);
        }
        Value::from_json(&self.request.body).map_err(|error| {
            let error = go_json::syntax_error(&self.request.body).unwrap_or_else(|| error.to_string());
            Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse \
                 error: {error} ({})",
                summary(&self.request.body)
            ))
        })
    }
}

/// The start of a body, as error messages show it (apiserver `handlers/rest.go`).
fn summary(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    let (shown, more) = if body.len() > SHOWN { (&body[..SHOWN], " ...") } else { (body, "") };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let hex: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{more}")
        }
    }
}

impl Server {
    /// Answers one request of a client at the moment `now`.
    pub fn answer(&mut self, now: VirtualTime, request: &Request) -> Response {
        self.expire_events(now);
        self.respond(now, request).unwrap_or_else(|status| refusal(&status))
    }

    fn respond(&mut self, now: VirtualTime, request: &Request) -> Result<Response, Status> {
        let segments: Vec<String> = request
            .path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| options::unescape(segment, false))
            .collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (group, version, rest) = match segments.as_slice() {
            ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
            ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
            _ => return Ok(discovery::answer(self, request, &segments)),
        };
        if !discovery::serves(self, group, version) {
            return Ok(discovery::page_not_found());
        }
        let query = Query::parse(&request.query);
        let form = negotiate::form(&request.accept, query.get("includeObject"));
        let call = Call { now, request, query, form: Form::Object };
        if let Some(review) = self.review(group, version, rest, &call) {
            return review;
        }
        let target = self.target(group, version, rest, &request.method)?;
        let stream = target.part == "log";
        let call = Call { form: if stream { form.unwrap_or_default() } else { form? }, ..call };
        match (target.name.is_empty(), target.part.is_empty()) {
            (true, _) => self.collection(&target, &call),
            (false, true) => self.single(&target, &call),
            (false, false) => self.part(&target, &call),
        }
    }

    /// What the rest of a path names.
    fn target(&self, group: &str, version: &str, rest: &[&str], method: &str) -> Result<Target, Status> {
        let (namespace, resource, name, part) = match *rest {
            ["namespaces", name, part @ ("status" | "finalize")] if group.is_empty() => {
                (None, "namespaces", name, part)
            }
            ["namespaces", name] if group.is_empty() => (None, "namespaces", name, ""),
            ["namespaces", namespace, resource] => (Some(namespace), resource, "", ""),
            ["namespaces", namespace, resource, name] => (Some(namespace), resource, name, ""),
            ["namespaces", namespace, resource, name, part] => (Some(namespace), resource, name, part),
            [resource] => (None, resource, "", ""),
            [resource, name] => (None, resource, name, ""),
            [resource, name, part] => (None, resource, name, part),
            _ => return Err(Status::no_resource()),
        };
        let info = self.registry.resource(group, resource).ok_or_else(Status::no_resource)?.clone();
        if !info.versions.iter().any(|known| known == version) || (!part.is_empty() && !info.has(part)) {
            return Err(Status::no_resource());
        }
        match (info.namespaced, namespace) {
            (false, Some(_)) => return Err(Status::no_resource()),
            (true, None) if !name.is_empty() => return Err(Status::no_resource()),
            (true, None) if method != "GET" => return Err(Status::method_not_allowed()),
            _ => {}
        }
        Ok(Target {
            info,
            version: version.into(),
            namespace: namespace.unwrap_or("").into(),
            name: name.into(),
            part: part.into(),
        })
    }

    fn collection(&mut self, target: &Target, call: &Call<'_>) -> Result<Response, Status> {
        match call.request.method.as_str() {
            "GET" if call.query.flag("watch") == Some(true) => self.watch(target, call),
            "GET" => {
                let page = self.page(target, &call.query)?;
                Ok(Response::json(200, self.show_page(target, call.form, call.now, page)))
            }
            "POST" => self.post(target, call),
            "DELETE" if target.info.id != Kind::NAMESPACE => self.delete_collection(target, call),
            _ => Err(Status::method_not_allowed()),
        }
    }

    fn watch(&self, target: &Target, call: &Call<'_>) -> Result<Response, Status> {
        let start = self.watch_start(&call.query)?;
        let view = View {
            target: target.clone(),
            selection: Selection::parse(self, target, &call.query)?,
            form: call.form,
            bookmarks: call.query.flag("allowWatchBookmarks") == Some(true),
        };
        let watch = Watch::open(self, call.now, view, start);
        Ok(Response { body: Body::Watch(watch), ..Response::json(200, Value::Null) })
    }

    fn post(&mut self, target: &Target, call: &Call<'_>) -> Result<Response, Status> {
        let dry_run = call.query.dry_run("CreateOptions")?;
        let mode = call.query.field_validation("CreateOptions")?;
        let body = call.json(&target.info.kind)?;
        let (object, warnings) = self.decode(target, body, mode)?;
        check_namespace(target, &object)?;
        let (caller, kind) = (call.caller(), target.info.id);
        let made = if dry_run {
            let mut made = self.clone().create(&caller, kind, &target.namespace, object)?;
            made.remove(&["metadata", "resourceVersion"]);
            made
        } else {
            self.create(&caller, kind, &target.namespace, object)?
        };
        let shown = self.show(target, call.form, call.now, &made);
        Ok(warned(Response::json(201, shown), warnings))
    }

    fn single(&mut self, target: &Target, call: &Call<'_>) -> Result<Response, Status> {
        match call.request.method.as_str() {
            "GET" => self.read(target, call),
            "PUT" => self.put(target, call, Part::Main),
            "PATCH" => self.patch(target, call, Part::Main),
            "DELETE" => self.delete_one(target, call),
            _ => Err(Status::method_not_allowed()),
        }
    }

    /// GET of an object or its status.
    pub(super) fn read(&self, target: &Target, call: &Call<'_>) -> Result<Response, Status> {
        self.not_later(super::list::version(&call.query)?)?;
        let object = self.stored(target)?;
        Ok(Response::json(200, self.show(target, call.form, call.now, object)))
    }

    /// The kept object.
    ///
    /// # Errors
    /// 404.
    pub(super) fn stored(&self, target: &Target) -> Result<&Value, Status> {
        self.store.get(&target.key()).ok_or_else(|| Status::not_found(target.info.resource(), &target.name))
    }

    /// PUT of an object, its status or another part of it.
    pub(super) fn put(&mut self, target: &Target, call: &Call<'_>, part: Part) -> Result<Response, Status> {
        let dry_run = call.query.dry_run("UpdateOptions")?;
        let mode = call.query.field_validation("UpdateOptions")?;
        let body = call.json(&target.info.kind)?;
        let (object, warnings) = self.decode(target, body, mode)?;
        check_namespace(target, &object)?;
        check_name(target, &object)?;
        let existed = self.store.get(&target.key()).is_some();
        let kept = self.write(target, call, part, object, dry_run)?;
        let shown = self.show(target, call.form, call.now, &kept);
        Ok(warned(Response::json(if existed { 200 } else { 201 }, shown), warnings))
    }

    /// PATCH of an object, its status or another part of it.
    pub(super) fn patch(&mut self, target: &Target, call: &Call<'_>, part: Part) -> Result<Response, Status> {
        let dry_run = call.query.dry_run("PatchOptions")?;
        let mode = call.query.field_validation("PatchOptions")?;
        let media = patch_media(call, self.registry.is_custom(target.info.id))?;
        let current = self.show(target, Form::Object, call.now, self.stored(target)?);
        let patched = patch::apply(&target.info, &target.version, media, &current, &call.request.body)?;
        let (object, warnings) = self
            .decode(target, patched.clone(), mode)
            .map_err(|refusal| patch::undecodable(&target.info, &patched, refusal))?;
        check_namespace(target, &object)?;
        check_name(target, &object)?;
        let kept = self.write(target, call, part, object, dry_run)?;
        let shown = self.show(target, call.form, call.now, &kept);
        Ok(warned(Response::json(200, shown), warnings))
    }

    /// Writes a change, or pretends to.
    pub(super) fn write(
        &mut self,
        target: &Target,
        call: &Call<'_>,
        part: Part,
        object: Value,
        dry_run: bool,
    ) -> Result<Value, Status> {
        let key = target.key();
        if !dry_run {
            return self.update(&call.caller(), &key, part, object);
        }
        let before = self.store.get(&key).map(|object| object.at(&["metadata", "resourceVersion"]).clone());
        let mut kept = self.clone().update(&call.caller(), &key, part, object)?;
        match before {
            Some(version) => kept.set(&["metadata", "resourceVersion"], version),
            None => drop(kept.remove(&["metadata", "resourceVersion"])),
        }
        Ok(kept)
    }

    fn delete_one(&mut self, target: &Target, call: &Call<'_>) -> Result<Response, Status> {
        let options = options::delete_options(&call.query, &call.json("DeleteOptions")?)?;
        let (key, caller) = (target.key(), call.caller());
        let deleted = if options.dry_run {
            self.clone().delete_object(&caller, &key, &options)?
        } else {
            self.delete_object(&caller, &key, &options)?
        };
        if deleted.gone && !target.info.returns_deleted {
            return Ok(Response::json(200, removed(&target.info, &deleted.object)));
        }
        Ok(Response::json(200, self.show(target, call.form, call.now, &deleted.object)))
    }

    fn delete_collection(&mut self, target: &Target, call: &Call<'_>) -> Result<Response, Status> {
        let options = options::delete_options(&call.query, &call.json("DeleteOptions")?)?;
        let page = self.page(target, &call.query)?;
        let caller = call.caller();
        let mut trial = options.dry_run.then(|| self.clone());
        let server = trial.as_mut().unwrap_or(self);
        for object in &page.items {
            let key = ObjectKey::of(target.info.id, object);
            let options = DeleteOptions { uid: options.uid.clone(), ..options.clone() };
            match server.delete(&caller, &key, &options) {
                Err(status) if status.code != 404 => return Err(status),
                _ => {}
            }
        }
        Ok(Response::json(200, self.show_page(target, call.form, call.now, page)))
    }

    /// Turns what a client sent into the form objects are kept in.
    fn decode(&self, target: &Target, body: Value, mode: FieldValidation) -> Result<(Value, Vec<String>), Status> {
        let info = &target.info;
        let expected = target.api_version();
        let (api_version, kind) = (body.at(&["apiVersion"]).str(), body.at(&["kind"]).str());
        let same_kind = kind.is_empty() || kind == info.kind.as_str();
        if !same_kind || (!api_version.is_empty() && api_version != expected.as_str()) {
            return Err(self.wrong_kind(info, api_version, kind));
        }
        if info.group == "events.k8s.io" {
            let core = event_forms::to_core(&body);
            return schema::decode(self.registry.info(info.id), "v1", core, mode);
        }
        schema::decode(info, &target.version, body, mode)
    }

    fn wrong_kind(&self, info: &KindInfo, api_version: &str, kind: &str) -> Status {
        let version = api_version.rsplit('/').next().unwrap_or("");
        let known = self.registry.kind(api_version, kind).is_some();
        let why = if known {
            format!(
                "converting ({version}.{kind}) to ({}.{}): unknown conversion",
                internal_package(&info.group),
                info.kind
            )
        } else {
            format!(
                "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/api/legacyscheme/scheme.go:30\""
            )
        };
        Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {}: {why}", info.kind))
    }

    /// An object as a client sees it.
    pub(super) fn show(&self, target: &Target, form: Form, now: VirtualTime, object: &Value) -> Value {
        match form {
            Form::Object => present(target, object),
            Form::Partial => partial(object),
            Form::Table(include) => {
                let version = object.at(&["metadata", "resourceVersion"]).clone();
                let metadata = object! { "resourceVersion" => version };
                self.table(target, include, now, std::slice::from_ref(object), metadata)
            }
        }
    }

    fn show_page(&self, target: &Target, form: Form, now: VirtualTime, page: Page) -> Value {
        let (kind, api_version, items) = match form {
            Form::Table(include) => return self.table(target, include, now, &page.items, page.metadata),
            Form::Partial => {
                let items: Value = page.items.iter().map(partial).collect();
                let items = if page.items.is_empty() { Value::Null } else { items };
                (Text::from("PartialObjectMetadataList"), Text::from("meta.k8s.io/v1"), items)
            }
            Form::Object => {
                let custom = self.registry.is_custom(target.info.id);
                let item = |object: &Value| {
                    let mut item = present(target, object);
                    if !custom {
                        item.remove(&["kind"]);
                        item.remove(&["apiVersion"]);
                    }
                    item
                };
                let kind = match self.definition(&target.info).filter(|_| custom) {
                    Some(definition) => definition.at(&["spec", "names", "listKind"]).text(),
                    None => Text::from(format!("{}List", target.info.kind)),
                };
                (kind, target.api_version(), page.items.iter().map(item).collect())
            }
        };
        object! { "kind" => kind, "apiVersion" => api_version, "metadata" => page.metadata, "items" => items }
    }

    fn table(&self, target: &Target, include: Include, now: VirtualTime, items: &[Value], metadata: Value) -> Value {
        let row_object = |object: &Value| match include {
            Include::None => Value::Null,
            Include::Metadata => partial(object),
            Include::Object => present(target, object),
        };
        table::table(self, target, now, items, metadata, row_object)
    }
}

/// The kept object in the version that the path names.
fn present(target: &Target, object: &Value) -> Value {
    if target.info.group == "events.k8s.io" {
        return event_forms::to_new(object);
    }
    let wanted = target.api_version();
    let mut shown = object.clone();
    if object.at(&["apiVersion"]).str() != wanted.as_str() {
        shown.set(&["apiVersion"], wanted);
    }
    shown
}

fn partial(object: &Value) -> Value {
    object! {
        "kind" => "PartialObjectMetadata", "apiVersion" => "meta.k8s.io/v1",
        "metadata" => object.at(&["metadata"]).clone(),
    }
}

/// The Status that says an object is gone.
fn removed(info: &KindInfo, object: &Value) -> Value {
    let mut details = object! { "name" => object.name(), "kind" => info.plural.clone(), "uid" => object.uid() };
    if !info.group.is_empty() {
        details.set(&["group"], info.group.clone());
    }
    object! {
        "kind" => "Status", "apiVersion" => "v1", "metadata" => Value::object(), "status" => "Success",
        "details" => details,
    }
}

/// The Status that binding and eviction answer.
pub(super) fn success() -> Response {
    let status = object! {
        "kind" => "Status", "apiVersion" => "v1", "metadata" => Value::object(), "status" => "Success", "code" => 201,
    };
    Response::json(201, status)
}

fn refusal(status: &Status) -> Response {
    let mut response = Response::json(status.code, status.to_value());
    let after = status.details.at(&["retryAfterSeconds"]).int();
    if after > 0 {
        response.headers.push(("Retry-After", after.to_string()));
    }
    response
}

fn warned(mut response: Response, warnings: Vec<String>) -> Response {
    let quoted = |text: String| format!("299 - \"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    response.headers.extend(warnings.into_iter().map(|text| ("Warning", quoted(text))));
    response
}

/// Cluster-scoped objects lose a namespace silently, others must name that of the path or none.
fn check_namespace(target: &Target, object: &Value) -> Result<(), Status> {
    let namespace = object.namespace();
    if namespace.is_empty() || namespace == target.namespace.as_str() || !target.info.namespaced {
        return Ok(());
    }
    let message = "the namespace of the provided object does not match the namespace sent on the request";
    Err(Status::bad_request(message))
}

fn check_name(target: &Target, object: &Value) -> Result<(), Status> {
    let (name, url) = (object.name(), &target.name);
    if name == url.as_str() {
        return Ok(());
    }
    Err(Status::bad_request(if name.is_empty() {
        format!("the name of the object ({url} based on URL) was undeterminable: name must be provided")
    } else {
        format!("the name of the object ({name}) does not match the name on the URL ({url})")
    }))
}

/// The kind of patch; server-side apply has its place here and is refused until it is built.
pub(super) fn patch_media<'a>(call: &Call<'a>, custom: bool) -> Result<&'a str, Status> {
    let media = call.request.content_type.split(';').next().unwrap_or("").trim();
    match media {
        "application/json-patch+json" | "application/merge-patch+json" => Ok(media),
        "application/strategic-merge-patch+json" if !custom => Ok(media),
        "application/strategic-merge-patch+json" => {
            let message = "the body of the request was in an unknown format - accepted media types include: \
                           application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
            Err(Status::new(415, "UnsupportedMediaType", message))
        }
        "application/apply-patch+yaml" => {
            if call.query.get("fieldManager").is_none() {
                let error = FieldError::required("fieldManager", "is required for apply patch");
                return Err(Status::invalid("meta.k8s.io", "PatchOptions", "", &[error]));
            }
            let body = Value::from_json(&call.request.body).unwrap_or_default();
            if !body.at(&["metadata", "managedFields"]).is_null() {
                return Err(Status::bad_request("metadata.managedFields must be nil"));
            }
            Err(Status::new(415, "UnsupportedMediaType", "gpulab does not support server-side apply yet"))
        }
        _ => {
            let message = "415: Unsupported Media Type";
            Err(Status::new(415, "UnsupportedMediaType", message).with_details(Value::object()))
        }
    }
}

fn internal_package(group: &str) -> &str {
    match group.split('.').next() {
        None | Some("") => "core",
        Some(first) => first,
    }
}
