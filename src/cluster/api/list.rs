//! List: selectors, pages, and reads of earlier revisions.
//!
//! Source: apiserver `pkg/registry/generic/registry/store.go`, `pkg/storage/{continue.go,etcd3,cacher}`, apimachinery
//! `pkg/apis/meta/internalversion/validation`.

use super::Server;
use super::fields::FieldSelector;
use super::http::Target;
use super::options::Query;
use super::selector::Selector;
use super::status::{FieldError, Status};
use super::store::{ObjectKey, Store};
use super::watch::Start;
use super::{base64url, go_json};
use crate::value::{Text, Value};
use crate::{list, object};

/// Which objects a request is about.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    labels: Selector,
    fields: FieldSelector,
}

impl Selection {
    /// From the query.
    ///
    /// # Errors
    /// 400 for a malformed selector.
    pub(super) fn parse(server: &Server, target: &Target, query: &Query) -> Result<Selection, Status> {
        let labels = Selector::parse(query.get("labelSelector").unwrap_or("")).map_err(Status::bad_request)?;
        let custom = server.registry.is_custom(target.info.id);
        let fields = FieldSelector::parse(query.get("fieldSelector").unwrap_or(""), &target.info, custom)?;
        Ok(Selection { labels, fields })
    }

    /// Whether it selects everything.
    pub(super) fn is_empty(&self) -> bool {
        self.labels.requirements.is_empty() && self.fields.is_empty()
    }

    /// Whether `object` is selected.
    pub(super) fn matches(&self, object: &Value) -> bool {
        self.labels.matches(object.labels()) && self.fields.matches(object)
    }
}

/// One page of a list.
#[derive(Debug)]
pub(super) struct Page {
    /// The objects, as they are kept.
    pub(super) items: Vec<Value>,
    /// `metadata` of the list.
    pub(super) metadata: Value,
}

/// Which revision a list shows.
enum At {
    Now,
    Exactly(u64),
}

const TOO_OLD: &str = "The resourceVersion for the provided list is too old.";
const CONTINUE_TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the \
                                continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing \
                                with the provided token results in an inconsistent list - objects that were created, modified, or deleted between \
                                the time the first chunk was returned and now may show up in the list.";

impl Server {
    /// A page of objects.
    ///
    /// # Errors
    /// 400 for malformed parameters, 410 for forgotten revisions, 422 for parameters that do not go together, 504 for
    /// revisions of the future.
    pub(super) fn page(&self, target: &Target, query: &Query) -> Result<Page, Status> {
        check_list(query)?;
        let selection = Selection::parse(self, target, query)?;
        let version = version(query)?;
        let mut limit = query.get("limit").and_then(|limit| limit.parse::<usize>().ok()).unwrap_or(0);
        let mut start = ObjectKey::new(target.info.id, target.namespace.clone(), "");
        let at = if let Some(token) = query.get("continue") {
            if version.is_some_and(|version| version != 0) {
                let message = "specifying resource version is not allowed when using continue";
                return Err(Status::bad_request(message));
            }
            let token = Token::read(token)?;
            start = token.key(target);
            match token.revision {
                Some(revision) if revision < self.store.compacted() => return Err(token.expired()),
                Some(revision) => At::Exactly(revision),
                None => At::Now,
            }
        } else {
            if version == Some(0) {
                limit = 0;
            }
            self.not_later(version)?;
            let exact = query.get("resourceVersionMatch") == Some("Exact")
                || (limit > 0 && query.get("resourceVersionMatch").is_none());
            match version {
                Some(version) if exact && version > 0 && version < self.store.compacted() => {
                    return Err(Status::expired(TOO_OLD));
                }
                Some(version) if exact && version > 0 => At::Exactly(version),
                _ => At::Now,
            }
        };
        let (store, revision) = match at {
            At::Exactly(revision) if revision != self.store.revision() => (self.store.at(revision), revision),
            At::Exactly(_) | At::Now => (self.store.clone(), self.store.revision()),
        };
        Ok(cut(&store, target, &selection, start, limit, revision))
    }

    /// Refuses revisions that do not exist yet.
    ///
    /// # Errors
    /// 504.
    pub(super) fn not_later(&self, version: Option<u64>) -> Result<(), Status> {
        let current = self.store.revision();
        let Some(version) = version.filter(|version| *version > current) else { return Ok(()) };
        let message = format!("Timeout: Too large resource version: {version}, current: {current}");
        let causes =
            list![object! { "reason" => "ResourceVersionTooLarge", "message" => "Too large resource version" }];
        let details = object! { "causes" => causes, "retryAfterSeconds" => 1 };
        Err(Status::new(504, "Timeout", message).with_details(details))
    }

    /// Where a watch with these parameters begins.
    ///
    /// # Errors
    /// 400 for a malformed revision, 422 for parameters that do not go together.
    pub(super) fn watch_start(&self, query: &Query) -> Result<Start, Status> {
        check_watch(query)?;
        let version = version(query)?;
        Ok(match (query.flag("sendInitialEvents"), version) {
            (Some(true), _) if query.flag("allowWatchBookmarks") == Some(true) => Start::PresentMarked,
            (Some(true), _) => Start::Present,
            (Some(false), None | Some(0)) => Start::After(self.store.revision()),
            (None, None | Some(0)) => Start::Present,
            (_, Some(version)) => Start::After(version),
        })
    }
}

/// Cuts a page out of a store.
fn cut(store: &Store, target: &Target, selection: &Selection, start: ObjectKey, limit: usize, revision: u64) -> Page {
    let inside = |key: &ObjectKey| {
        key.kind == target.info.id && (target.namespace.is_empty() || key.namespace == target.namespace)
    };
    let mut rest = store.list_after(start).take_while(|(key, _)| inside(key)).peekable();
    let mut items = Vec::new();
    let mut last = None;
    while limit == 0 || items.len() < limit {
        let Some((key, object)) = rest.next() else { break };
        if selection.matches(object) {
            items.push(object.clone());
        }
        last = Some(key);
    }
    let mut metadata = object! { "resourceVersion" => revision.to_string() };
    if rest.peek().is_some()
        && let Some(last) = last
    {
        metadata.set(&["continue"], Token::after(target, last, revision).write());
        if selection.is_empty() {
            metadata.set(&["remainingItemCount"], rest.count());
        }
    }
    Page { items, metadata }
}

/// The `resourceVersion` parameter.
pub(super) fn version(query: &Query) -> Result<Option<u64>, Status> {
    let Some(text) = query.get("resourceVersion") else { return Ok(None) };
    text.parse().map(Some).map_err(|_| {
        let error = FieldError::invalid(
            "resourceVersion",
            &text.into(),
            format!("strconv.ParseUint: parsing {text:?}: invalid syntax"),
        );
        Status::bad_request(format!("invalid resource version {text:?}: {error}"))
    })
}

fn invalid_options(errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("meta.k8s.io", "ListOptions", "", errors)) }
}

const MATCH: &str = "resourceVersionMatch";

fn check_list(query: &Query) -> Result<(), Status> {
    let mut errors = Vec::new();
    let version = query.get("resourceVersion");
    if let Some(matching) = query.get(MATCH) {
        if version.is_none() {
            let text = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            errors.push(FieldError::forbidden(MATCH, text));
        }
        if query.get("continue").is_some() {
            errors.push(FieldError::forbidden(MATCH, "resourceVersionMatch is forbidden for continue"));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            errors.push(FieldError::not_supported(MATCH, &matching.into(), &["Exact", "NotOlderThan", ""]));
        }
        if matching == "Exact" && version == Some("0") {
            let text = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.push(FieldError::forbidden(MATCH, text));
        }
    }
    if query.flag("sendInitialEvents").is_some() {
        errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    invalid_options(&errors)
}

fn check_watch(query: &Query) -> Result<(), Status> {
    let mut errors = Vec::new();
    let matching = query.get(MATCH);
    let initial = query.flag("sendInitialEvents");
    if initial.is_some() && matching != Some("NotOlderThan") {
        let text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(FieldError::forbidden(MATCH, text));
    }
    if let Some(matching) = matching {
        if initial.is_none() {
            let text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(FieldError::forbidden(MATCH, text));
        }
        if matching != "NotOlderThan" {
            errors.push(FieldError::not_supported(MATCH, &matching.into(), &["NotOlderThan"]));
        }
        if query.get("continue").is_some() {
            errors.push(FieldError::forbidden(MATCH, "resourceVersionMatch is forbidden for continue"));
        }
    }
    invalid_options(&errors)
}

/// A continue token: the revision of the first page and the key after which the next one begins.
struct Token {
    /// `None` for a list that is no longer consistent.
    revision: Option<u64>,
    start: String,
}

impl Token {
    fn after(target: &Target, last: &ObjectKey, revision: u64) -> Token {
        let namespace = if target.namespace.is_empty() && target.info.namespaced {
            format!("/{}", last.namespace)
        } else {
            String::new()
        };
        Token { revision: Some(revision), start: format!("{namespace}/{}\0", last.name) }
    }

    fn write(&self) -> String {
        let start = Value::from(self.start.as_str()).to_json();
        let revision = self.revision.map_or("-1".to_owned(), |revision| revision.to_string());
        base64url::encode(format!(r#"{{"v":"meta.k8s.io/v1","rv":{revision},"start":{start}}}"#).as_bytes())
    }

    fn read(text: &str) -> Result<Token, Status> {
        let refuse =
            |why: String| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
        let bytes = base64url::decode(text).map_err(|at| refuse(format!("illegal base64 data at input byte {at}")))?;
        if let Some(error) = go_json::syntax_error(&bytes) {
            return Err(refuse(error));
        }
        let token = Value::from_json(&bytes).map_err(|error| refuse(error.to_string()))?;
        if token.at(&["v"]).str() != "meta.k8s.io/v1" {
            return Err(refuse(format!("server does not recognize this encoded version {:?}", token.at(&["v"]).str())));
        }
        let start = token.at(&["start"]).str();
        if start.is_empty() {
            return Err(refuse("encoded start key empty (version meta.k8s.io/v1)".to_owned()));
        }
        let revision = match token.at(&["rv"]).int() {
            0 => return Err(refuse("incorrect encoded start resourceVersion (version meta.k8s.io/v1)".to_owned())),
            revision => u64::try_from(revision).ok(),
        };
        Ok(Token { revision, start: start.to_owned() })
    }

    /// The key at which the page begins. The NUL at the end of `start` puts it behind the last returned one.
    fn key(&self, target: &Target) -> ObjectKey {
        let start = self.start.strip_prefix('/').unwrap_or(&self.start);
        let (namespace, name) = match start.split_once('/') {
            Some((namespace, name)) if target.namespace.is_empty() && target.info.namespaced => {
                (Text::from(namespace), name)
            }
            _ => (target.namespace.clone(), start),
        };
        ObjectKey::new(target.info.id, namespace, name)
    }

    fn expired(&self) -> Status {
        let mut status = Status::expired(CONTINUE_TOO_OLD);
        let fresh = Token { revision: None, start: self.start.clone() };
        status.continue_token = Some(fresh.write());
        status
    }
}
