//! What scripts can say: every verb, every error, through a session on the embedded backend.

mod script {
    pub mod bench;
    mod devices;
    mod errors;
    mod language;
    mod verbs;
}
