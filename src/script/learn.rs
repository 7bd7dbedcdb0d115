//! Verbs of lessons: story, section, pause, predict, finding, expect.

use std::rc::Rc;

use rhai::{Array, Dynamic, EvalAltResult, FnPtr, NativeCallContext};

use super::docs::Registrar;
use super::fault::{Fault, Res};
use super::lab::Lab;
use super::listing::truth;
use super::options::kind_of;
use super::show;
use super::suggest::did_you_mean;
use crate::event::{Event, Evidence};

/// Registers the verbs.
pub fn register(registrar: &mut Registrar<'_>) {
    telling(registrar);
    predictions(registrar);
    findings(registrar);
    expectations(registrar);
}

fn telling(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "story(text: string) -> ()",
        "Tells a part of the story.\nExample: story(\"Five patients ask for four machines.\");\nSee: section, pause",
        {
            let lab = lab.clone();
            move |text: &str| lab.emit(&Event::Story(text.to_owned()))
        },
    );
    registrar.function(
        "section(title: string) -> ()",
        "Begins a section of a lesson.\nExample: section(\"Before\");\nSee: story",
        {
            let lab = lab.clone();
            move |title: &str| lab.emit(&Event::Section(title.to_owned()))
        },
    );
    registrar.function(
        "pause() -> ()",
        "Lets the learner look; nothing waits when nobody is there.\nExample: pause();\nSee: story",
        move || lab.emit(&Event::Pause),
    );
}

fn predictions(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "predict(question: string, choices: array, answer: || value) -> bool",
        "Asks what will happen before the closure finds it out; the answer must be one of the choices. Returns whether the prediction was right, true when nobody was asked.\nFails: when the answer is none of the choices.\nExample: predict(\"How many GPUs has the node?\", [3, 4], || node(\"kind\").gpus());\nSee: finding",
        move |context: NativeCallContext, question: &str, choices: Array, answer: Dynamic| -> Res<bool> {
            let choices: Vec<String> = choices.iter().map(ToString::to_string).collect();
            if choices.len() < 2 {
                return Err(Fault::script("predict needs at least two choices").into());
            }
            let given = lab.choose(question, &choices);
            let answer = value_of(&context, answer)?.to_string();
            if !choices.contains(&answer) {
                let near = did_you_mean(&answer, choices.iter().map(String::as_str));
                return Err(Fault::script(format!("the answer \"{answer}\" is none of the choices{near}"))
                    .hint(format!("choices: {}", choices.join(", ")))
                    .into());
            }
            let right = given.as_ref().is_none_or(|given| *given == answer);
            lab.emit(&Event::Prediction { question: question.to_owned(), choices, answer, given })?;
            Ok(right)
        },
    );
}

/// A value, or what a closure returns.
fn value_of(context: &NativeCallContext<'_>, value: Dynamic) -> Res<Dynamic> {
    let value = value.flatten();
    match value.read_lock::<FnPtr>().map(|closure| closure.clone()) {
        Some(closure) => Ok(closure.call_within_context::<Dynamic>(context, ())?.flatten()),
        None => Ok(value),
    }
}

fn findings(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "finding(text: string, holds: || bool) -> bool",
        "Checks a statement and records it with everything that was read on the way; a closure that throws counts as not held.\nFails: never; a finding that does not hold gives the script exit code 1 at its end.\nExample: finding(\"The node has four GPUs\", || node(\"kind\").gpus() == 4);\nSee: expect, predict",
        move |context: NativeCallContext, text: &str, holds: Dynamic| -> Res<bool> {
            let (result, mut evidence) = lab.collecting(|| value_of(&context, holds));
            let held = match result.and_then(|value| Ok(truth(&value, "finding")?)) {
                Ok(held) => held,
                Err(error) if matches!(*error, EvalAltResult::ErrorTerminated(..)) => return Err(error),
                Err(error) => {
                    let reason = super::report::sentence(&error);
                    evidence.push(Evidence { object: "script".into(), field: "error".into(), value: reason.into() });
                    false
                }
            };
            count(&lab, held);
            lab.emit(&Event::Finding { text: text.to_owned(), held, label: lab.backend.label(), evidence })?;
            Ok(held)
        },
    );
}

fn count(lab: &Rc<Lab>, held: bool) {
    let (all, failed) = lab.findings.get();
    lab.findings.set((all + 1, failed + usize::from(!held)));
}

fn expectations(registrar: &mut Registrar<'_>) {
    registrar.function(
        "expect(condition: bool) -> ()",
        "Throws when a condition (or what a closure returns) is false.\nFails: when the condition is false, with the text.\nExample: expect(node(\"kind\").gpus() == 4, \"the node has four GPUs\");\nSee: finding, wait",
        |context: NativeCallContext, condition: Dynamic| -> Res<()> { expect(&context, condition, "the condition holds") },
    );
    registrar.function(
        "expect(condition: bool, text: string) -> ()",
        "",
        |context: NativeCallContext, condition: Dynamic, text: &str| -> Res<()> { expect(&context, condition, text) },
    );
}

fn expect(context: &NativeCallContext<'_>, condition: Dynamic, text: &str) -> Res<()> {
    let value = value_of(context, condition)?;
    let Ok(holds) = value.as_bool() else {
        return Err(Fault::script(format!("expect takes a condition; got {}", kind_of(&value))).into());
    };
    if holds { Ok(()) } else { Err(Fault::script(format!("expected: {}", show::clean(text))).into()) }
}
