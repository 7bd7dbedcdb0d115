//! What lies below an object: status, scale, binding, eviction, log, finalize; and reviews, which are never kept.

use super::http::{Call, Target, patch_media, success};
use super::options;
use super::registry::{Kind, Part};
use super::request::{Body, Response};
use super::status::{Resource, Status};
use super::store::ObjectKey;
use super::{Server, patch};
use crate::object;
use crate::value::Value;

impl Server {
    /// Answers a request about a part of an object.
    ///
    /// # Errors
    /// What the verb answers, 405 where the part does not know the method.
    pub(super) fn part(&mut self, target: &Target, call: &Call<'_>) -> Result<Response, Status> {
        let method = call.request.method.as_str();
        match (target.part.as_str(), method) {
            ("status", "GET") => self.read(target, call),
            ("status", "PUT") => self.put(target, call, Part::Status),
            ("status", "PATCH") => self.patch(target, call, Part::Status),
            ("finalize", "PUT") => self.put(target, call, Part::Other("finalize")),
            ("scale", "GET") => Ok(Response::json(200, scale_of(self.stored(target)?))),
            ("scale", "PUT" | "PATCH") => self.change_scale(target, call),
            ("binding", "POST") => self.post_binding(target, call),
            ("eviction", "POST") => self.post_eviction(target, call),
            ("log", "GET") => self.log(target),
            _ => Err(Status::method_not_allowed()),
        }
    }

    fn post_binding(&mut self, target: &Target, call: &Call<'_>) -> Result<Response, Status> {
        let dry_run = call.query.dry_run("CreateOptions")?;
        let binding = call.json("Binding")?;
        if binding.name() != target.name.as_str() {
            return Err(Status::bad_request("name in URL does not match name in Binding object"));
        }
        let node = binding.at(&["target", "name"]).str().to_owned();
        if node.is_empty() {
            return Err(Status::new(500, "", "target.name: Required value"));
        }
        let (caller, key) = (call.caller(), target.key());
        if dry_run {
            self.clone().bind_with(&caller, &key, &node, &binding)?;
        } else {
            self.bind_with(&caller, &key, &node, &binding)?;
        }
        Ok(success())
    }

    fn post_eviction(&mut self, target: &Target, call: &Call<'_>) -> Result<Response, Status> {
        let eviction = call.json("Eviction")?;
        if eviction.name() != target.name.as_str() {
            return Err(Status::bad_request("name in URL does not match name in Eviction object"));
        }
        let options = options::delete_options(&call.query, eviction.at(&["deleteOptions"]))?;
        let (caller, key) = (call.caller(), target.key());
        if options.dry_run {
            self.clone().evict(&caller, &key, &options)?;
        } else {
            self.evict(&caller, &key, &options)?;
        }
        Ok(success())
    }

    /// The lab's containers print nothing. A pod on a node that does not exist has nobody to ask.
    fn log(&self, target: &Target) -> Result<Response, Status> {
        let node = self.stored(target)?.at(&["spec", "nodeName"]).text();
        if !node.is_empty() && self.store.get(&ObjectKey::new(Kind::NODE, "", node.clone())).is_none() {
            return Err(Status::not_found(Resource { group: "", plural: "pods" }, &node));
        }
        Ok(Response {
            status: 200,
            content_type: "text/plain".into(),
            headers: Vec::new(),
            body: Body::Text(String::new()),
        })
    }

    fn change_scale(&mut self, target: &Target, call: &Call<'_>) -> Result<Response, Status> {
        let patching = call.request.method == "PATCH";
        let dry_run = call.query.dry_run(if patching { "PatchOptions" } else { "UpdateOptions" })?;
        let stored = self.stored(target)?.clone();
        let scale = if patching {
            let media = patch_media(call, self.registry.is_custom(target.info.id))?;
            patch::apply(&target.info, &target.version, media, &scale_of(&stored), &call.request.body)?
        } else {
            call.json("Scale")?
        };
        let replicas = scale.at(&["spec", "replicas"]).int();
        if replicas < 0 {
            let error = super::status::FieldError::invalid(
                "spec.replicas",
                &Value::Int(replicas),
                "must be greater than or equal to 0",
            );
            return Err(Status::invalid("autoscaling", "Scale", &target.name, &[error]));
        }
        let mut changed = stored;
        changed.set(&["spec", "replicas"], replicas);
        let version = scale.at(&["metadata", "resourceVersion"]);
        if version.str().is_empty() {
            changed.remove(&["metadata", "resourceVersion"]);
        } else {
            changed.set(&["metadata", "resourceVersion"], version.clone());
        }
        let kept = self.write(target, call, Part::Main, changed, dry_run)?;
        Ok(Response::json(200, scale_of(&kept)))
    }

    /// Answers access reviews and `whoami`: everybody may do everything.
    pub(super) fn review(
        &self,
        group: &str,
        version: &str,
        rest: &[&str],
        call: &Call<'_>,
    ) -> Option<Result<Response, Status>> {
        let kind = match (group, version, rest) {
            ("authorization.k8s.io", "v1", ["selfsubjectaccessreviews"]) => "SelfSubjectAccessReview",
            ("authorization.k8s.io", "v1", ["selfsubjectrulesreviews"]) => "SelfSubjectRulesReview",
            ("authentication.k8s.io", "v1", ["selfsubjectreviews"]) => "SelfSubjectReview",
            _ => return None,
        };
        if call.request.method != "POST" {
            return Some(Err(Status::method_not_allowed()));
        }
        Some(call.json(kind).map(|body| {
            let mut answer = object! {
                "kind" => kind, "apiVersion" => format!("{group}/{version}"), "metadata" => Value::object(),
            };
            match kind {
                "SelfSubjectAccessReview" => {
                    answer.set(&["spec"], body.at(&["spec"]).clone());
                    answer.set(&["status"], object! { "allowed" => true });
                }
                "SelfSubjectRulesReview" => {
                    answer.set(&["spec"], Value::object());
                    answer.set(&["status"], rules());
                }
                _ => {
                    answer.set(&["metadata", "creationTimestamp"], call.now.rfc3339());
                    answer.set(&["status", "userInfo"], user());
                }
            }
            Response::json(201, answer)
        }))
    }
}

fn user() -> Value {
    object! {
        "username" => "admin", "groups" => crate::list!["system:masters", "system:authenticated"],
        "extra" => object! {
            "authentication.kubernetes.io/credential-id" => crate::list!["X509SHA256=6770756c61626770756c61626770756c61626770756c61626770756c61626770"],
        },
    }
}

/// The rules of a cluster administrator, as kube-apiserver's RBAC resolves them.
fn rules() -> Value {
    let texts = |texts: &[&str]| texts.iter().map(|text| Value::from(*text)).collect::<Value>();
    let resource = |verb: &str, group: &str, resources: &[&str]| {
        object! { "verbs" => texts(&[verb]), "apiGroups" => texts(&[group]), "resources" => texts(resources) }
    };
    let urls = |verb: &str, urls: &[&str]| object! { "verbs" => texts(&[verb]), "nonResourceURLs" => texts(urls) };
    object! {
        "resourceRules" => vec![
            resource("create", "authorization.k8s.io", &["selfsubjectaccessreviews", "selfsubjectrulesreviews"]),
            resource("create", "authentication.k8s.io", &["selfsubjectreviews"]),
            resource("*", "*", &["*"]),
        ],
        "nonResourceRules" => vec![
            urls("get", &[
                "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz",
                "/version", "/version/",
            ]),
            urls("get", &["/healthz", "/livez", "/readyz", "/version", "/version/"]),
            urls("*", &["*"]),
        ],
        "incomplete" => false,
    }
}

/// The Scale of a Deployment or ReplicaSet.
fn scale_of(object: &Value) -> Value {
    let metadata = object.at(&["metadata"]);
    let mut scale = object! { "kind" => "Scale", "apiVersion" => "autoscaling/v1" };
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        scale.set(&["metadata", field], metadata.at(&[field]).clone());
    }
    let replicas = object.at(&["spec", "replicas"]).int();
    scale.set(&["spec"], Value::object());
    if replicas != 0 {
        scale.set(&["spec", "replicas"], replicas);
    }
    scale.set(&["status", "replicas"], object.at(&["status", "replicas"]).int());
    let selector = selector_text(object.at(&["spec", "selector"]));
    if !selector.is_empty() {
        scale.set(&["status", "selector"], selector);
    }
    scale
}

/// A label selector as text: `a=b,c in (d,e)`, keys in order.
pub(super) fn selector_text(selector: &Value) -> String {
    let labels = selector.at(&["matchLabels"]).entries().iter();
    let mut parts: Vec<(String, String)> =
        labels.map(|(key, value)| (key.to_string(), format!("{key}={}", value.str()))).collect();
    for expression in selector.at(&["matchExpressions"]).items() {
        let key = expression.at(&["key"]).str();
        let mut values: Vec<&str> = expression.at(&["values"]).items().iter().map(Value::str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let text = match expression.at(&["operator"]).str() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        };
        parts.push((key.to_owned(), text));
    }
    parts.sort();
    parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}
