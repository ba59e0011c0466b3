//! Calls and what came of them.

use sanskube::key::Key;
use sanskube::machine::{Answer, Output, Part};
use sanskube::request::{Call, CallId, Head, Method};

use super::call::{Place, Purpose, Told};
use super::{Narrator, Table, Topic, row};

impl Narrator {
    pub(super) fn tell_answer(&mut self, answer: &Answer) {
        let (id, part) = (answer.call, &answer.part);
        let Some(told) = self.calls.get_mut(&id) else { return };
        match part {
            Part::Body(bytes) => told.add_body(bytes),
            Part::Head(Head { status, .. }) => {
                told.status = Some(*status);
                if told.purpose == Purpose::Watch && told.succeeded() {
                    let text = format!("{}: {status}", told.what);
                    self.say(Topic::Answer, Vec::new(), named(id, &text));
                }
            }
            Part::End => self.tell_end(id, None),
            Part::Failed(failure) => self.tell_end(id, Some(failure.to_string())),
        }
    }

    /// The end of a call: what came of it, if that is news.
    fn tell_end(&mut self, id: CallId, failure: Option<String>) {
        let Some(told) = self.calls.remove(&id) else { return };
        let mut keys = told.keys.clone();
        let status = told.status.unwrap_or_default();
        let news = match (failure, told.purpose) {
            (Some(failure), _) => format!("{failure} ({})", told.what),
            (None, Purpose::List) if told.succeeded() => format!("{status}: {} bytes ({})", told.bytes, told.what),
            (None, Purpose::Watch) if told.succeeded() => format!("the end after {} bytes ({})", told.bytes, told.what),
            (None, Purpose::Lease | Purpose::Event) if told.succeeded() => String::new(),
            (None, _) if told.succeeded() => {
                let name = told.answered("/metadata/name").filter(|_| told.what.starts_with("create"));
                match (name, keys.first().cloned()) {
                    (Some(name), Some(set)) => {
                        let (pod, reason) = (Key::new(set.namespace(), &name), self.reason(&set));
                        keys.push(pod.clone());
                        format!("{status}: created pod {pod} for {set}{reason}")
                    }
                    _ => format!("{status} ({})", told.what),
                }
            }
            (None, _) => {
                if told.what.starts_with("delete")
                    && let Some(pod) = keys.first()
                {
                    self.ending.remove(pod);
                }
                let message = told.answered("/message").unwrap_or_default();
                format!("{status}: {message} ({})", told.what)
            }
        };
        let text = if news.is_empty() { news } else { named(id, &news) };
        self.show(Topic::Answer, keys, text, row(Table::Calls, id_of(id), None));
        if let (Purpose::Sync, Some(pod)) = (told.purpose, told.keys.first())
            && !told.what.starts_with("create")
        {
            self.reasons.remove(pod);
        }
    }

    pub(super) fn tell_output(&mut self, output: &Output) {
        match output {
            Output::Call(call) => self.tell_call(call),
            Output::Cancel(id) => {
                let told = self.calls.remove(id);
                let text = told.as_ref().map(|told| named(*id, &format!("given up ({})", told.what)));
                let keys = told.map(|told| told.keys).unwrap_or_default();
                self.show(Topic::Call, keys, text.unwrap_or_default(), row(Table::Calls, id_of(*id), None));
            }
            Output::Stopped => self.say(Topic::Stop, Vec::new(), "it has stopped".into()),
            Output::Wait { .. } => {}
        }
    }

    fn tell_call(&mut self, call: &Call) {
        let mut told = Told::new(call);
        let mut why = String::new();
        if told.purpose == Purpose::Sync && call.request.method != Method::Put {
            let about = told.keys[0].clone();
            why = self.reason(&about);
            if call.request.method == Method::Delete {
                self.ending.insert(about.clone());
            }
            // A pod's entries are its set's, too.
            if Place::of(&call.request.path).resource == "pods"
                && let Some(reason) = self.reasons.get(&about)
            {
                told.keys.push(reason.set.clone());
            }
        }
        let row = row(Table::Calls, id_of(call.id), Some(told.what.clone()));
        let (topic, text) = match told.purpose {
            Purpose::Event => (Topic::Event, named(call.id, &told.what)),
            Purpose::Lease => (Topic::Call, String::new()),
            Purpose::List | Purpose::Sync | Purpose::Watch => {
                (Topic::Call, named(call.id, &format!("{}{why}", told.what)))
            }
        };
        self.show(topic, told.keys.clone(), text, row);
        self.calls.insert(call.id, told);
    }
}

fn id_of(id: CallId) -> String {
    format!("call {}", id.0)
}

fn named(id: CallId, text: &str) -> String {
    format!("{}: {text}", id_of(id))
}
