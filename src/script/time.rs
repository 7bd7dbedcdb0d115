//! Time: reading the clock and, on the embedded backend, moving it.

use std::rc::Rc;
use std::time::Duration;

use gpulab_cluster::VirtualTime;
use rhai::Dynamic;

use super::docs::Registrar;
use super::fault::{Fault, Res};
use super::lab::Lab;
use super::options::span;
use super::suggest::did_you_mean;
use crate::backend::{Control, Waited, duration};
use crate::error::Kind;

/// A moment of the cluster's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    at: VirtualTime,
    epoch: VirtualTime,
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.at.rfc3339())
    }
}

/// Registers the verbs.
pub fn register(registrar: &mut Registrar<'_>) {
    moments(registrar);
    let lab = registrar.lab.clone();
    registrar.function(
        "advance(span: string) -> ()",
        "Lets time pass: everything that is due happens, heartbeats and deadlines included.\nFails: on a real cluster, whose time cannot be moved.\nExample: advance(\"30s\");\nSee: settle, step, now",
        {
            let lab = lab.clone();
            move |by: Dynamic| -> Res<()> { advance(&lab, span(by)?) }
        },
    );
    registrar.function("sleep(span: string) -> ()", "The same as advance.\nExample: sleep(\"1s\");\nSee: advance", {
        let lab = lab.clone();
        move |by: Dynamic| -> Res<()> { advance(&lab, span(by)?) }
    });
    // The language's own sleeps block real time; these take their place.
    let (whole, part) = (lab.clone(), lab.clone());
    registrar.engine.register_fn("sleep", move |by: i64| -> Res<()> { advance(&whole, span(by.into())?) });
    registrar.engine.register_fn("sleep", move |by: f64| -> Res<()> { advance(&part, span(by.into())?) });
    registrar.function(
        "settle() -> ()",
        "Lets the cluster run until nothing is under way.\nWaits: at most 10 minutes of the cluster's time, or the given span.\nFails: when the cluster does not come to rest, with what is still under way.\nExample: submit(#{name: \"mri\", gpus: 1});\n  settle();\nSee: advance, wait, step",
        {
            let lab = lab.clone();
            move || settle(&lab, super::wait::LIMIT)
        },
    );
    registrar.function("settle(within: string) -> ()", "", {
        let lab = lab.clone();
        move |within: Dynamic| -> Res<()> { settle(&lab, span(within)?) }
    });
    registrar.function(
        "step() -> string",
        "Does the next thing that is planned in the cluster, or runs until a component (\"scheduler\", \"kubelet\", …) has acted, and tells what happened.\nFails: on a real cluster; for an unknown component.\nExample: submit(#{name: \"mri\", gpus: 1});\n  print(step(\"scheduler\"));\n  print(step());\nSee: advance, settle",
        {
            let lab = lab.clone();
            move || step(&lab, None)
        },
    );
    registrar.function("step(component: string) -> string", "", move |component: &str| step(&lab, Some(component)));
}

fn moments(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.engine.register_type_with_name::<Moment>("Moment");
    registrar.engine.register_fn("to_string", |moment: &mut Moment| moment.to_string());
    registrar.engine.register_fn("to_debug", |moment: &mut Moment| moment.to_string());
    registrar.engine.register_fn("-", |one: Moment, two: Moment| (one.at.micros() - two.at.micros()) as f64 / 1e6);
    registrar.engine.register_fn("==", |one: Moment, two: Moment| one == two);
    registrar.engine.register_fn("!=", |one: Moment, two: Moment| one != two);
    registrar.engine.register_fn("<", |one: Moment, two: Moment| one < two);
    registrar.engine.register_fn("<=", |one: Moment, two: Moment| one <= two);
    registrar.engine.register_fn(">", |one: Moment, two: Moment| one > two);
    registrar.engine.register_fn(">=", |one: Moment, two: Moment| one >= two);
    registrar.engine.register_get("clock", |moment: &mut Moment| duration::clock(moment.at.since(moment.epoch)));
    registrar.engine.register_get("seconds", |moment: &mut Moment| moment.at.since(moment.epoch).as_secs_f64());
    registrar.describe("Moment.clock -> string", "The time since the lab began, such as 00:03:20.");
    registrar.describe("Moment.seconds -> number", "Seconds since the lab began.");
    registrar.function(
        "now() -> Moment",
        "The cluster's time. Moments compare, and their difference is a number of seconds.\nExample: let start = now();\n  advance(\"30s\");\n  print(now() - start);\nSee: advance",
        move || Moment { at: lab.backend.now(), epoch: lab.backend.epoch() },
    );
}

/// Control of time, or why there is none.
///
/// # Errors
/// On a backend without it.
pub fn control<'a>(lab: &'a Rc<Lab>, function: &str) -> Result<&'a dyn Control, Fault> {
    lab.backend.control().ok_or_else(|| {
        Fault::script(format!("{function} works on the embedded backend only: this cluster's time is its own"))
            .hint("wait(|| …, \"30s\") waits on every backend")
    })
}

fn advance(lab: &Rc<Lab>, by: Duration) -> Res<()> {
    match control(lab, "advance")?.advance(by, &mut |step| lab.record_step(step)) {
        Waited::Interrupted => Err(Fault::new(Kind::Interrupted, "cancelled").into()),
        Waited::Livelock(what) => Err(restless(lab, &what).into()),
        _ => Ok(()),
    }
}

fn restless(lab: &Rc<Lab>, what: &str) -> Fault {
    Fault::new(Kind::Bug, format!("the cluster never comes to rest at {}: {what}", lab.clock()))
}

/// Lets the cluster come to rest.
///
/// # Errors
/// When it does not within `limit`.
pub fn settle(lab: &Rc<Lab>, limit: Duration) -> Res<()> {
    let Some(control) = lab.backend.control() else { return Ok(()) };
    match control.settle(limit, &mut |step| lab.record_step(step)) {
        Waited::Interrupted => Err(Fault::new(Kind::Interrupted, "cancelled").into()),
        Waited::Livelock(what) => Err(restless(lab, &what).into()),
        Waited::TimedOut => {
            let under_way = lab.backend.under_way().unwrap_or_default();
            let message = format!(
                "the cluster did not come to rest within {}; the clock shows {}",
                duration::show(limit),
                lab.clock()
            );
            Err(Fault::new(Kind::Wait, message).hint(format!("still under way: {under_way}")).into())
        }
        _ => Ok(()),
    }
}

fn step(lab: &Rc<Lab>, component: Option<&str>) -> Res<String> {
    let control = control(lab, "step")?;
    let known = control.components();
    if let Some(wanted) = component.filter(|wanted| !known.contains(wanted)) {
        let near = did_you_mean(wanted, known.iter().copied());
        return Err(Fault::script(format!("there is no component \"{wanted}\"{near}"))
            .hint(format!("components: {}", known.join(", ")))
            .into());
    }
    let done = control.step(component, &mut |step| lab.record_step(step));
    if lab.interrupted() {
        return Err(Fault::new(Kind::Interrupted, "cancelled").into());
    }
    match done {
        Some(step) => {
            let clock = duration::clock(step.at.since(lab.backend.epoch()));
            Ok(format!("{clock} {}: {}", step.component, step.work))
        }
        None => Err(match component {
            Some(component) => Fault::script(format!("nothing is planned for a component \"{component}\"")),
            None => Fault::script("nothing is planned"),
        }
        .into()),
    }
}
