//! Plays a case step by step and compares.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use sanskube_apiserver::Request;
use serde_json::{Value, json};

use super::target::{Answer, Stream, Target};
use super::unify::{Bindings, shorten};
use super::{Case, Outcome};

mod shape;

use shape::{collapse, narrowed, proto_type_meta, protobuf_frames};

/// The headers that are compared.
const KEPT: [&str; 10] = [
    "content-type",
    "content-encoding",
    "warning",
    "retry-after",
    "www-authenticate",
    "allow",
    "location",
    "accept-patch",
    "vary",
    "etag",
];

/// Whether the API server takes a GET of this target for a watch.
pub(crate) fn is_watch(target: &str) -> bool {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let flag = query.split('&').find_map(|p| {
        let (k, v) = p.split_once('=').unwrap_or((p, ""));
        (k == "watch").then_some(v)
    });
    path.contains("/watch/") || flag.is_some_and(|v| v != "0" && !v.eq_ignore_ascii_case("false"))
}

/// Plays a case.
pub fn run(case: &Case, target: &mut dyn Target) -> Outcome {
    if let Some(why) = case.not_served() {
        return Outcome::NotServed(why);
    }
    let mut out = Vec::new();
    if let Err(e) = target.reset() {
        return Outcome::Compared(vec![format!("reset: {e}")]);
    }
    let mut replay = Replay { bindings: Bindings::default(), watches: Vec::new(), subset: case.area == "discovery" };
    let (admin, weak) = target.tokens();
    replay.bindings.set("<token:admin>", &admin);
    replay.bindings.set("<token:weak>", &weak);
    for (i, step) in case.steps().iter().enumerate() {
        replay.bindings.set_now(target.now());
        match replay.step(i, step, target, &mut out) {
            Ok(()) => {}
            Err(Stop::CannotAct) => {
                return Outcome::NotServed("compaction or restart of a server elsewhere");
            }
            Err(Stop::Error(e)) => {
                out.push(format!("step {i}: {e}"));
                return Outcome::Compared(out);
            }
        }
    }
    replay.check_order(case, &mut out);
    Outcome::Compared(out)
}

enum Stop {
    CannotAct,
    Error(String),
}

impl From<String> for Stop {
    fn from(e: String) -> Self {
        Self::Error(e)
    }
}

struct Replay {
    bindings: Bindings,
    watches: Vec<(String, usize)>,
    /// Lists of named things may lack some: a server need not have every group and resource.
    subset: bool,
}

impl Replay {
    fn step(&mut self, i: usize, step: &Value, target: &mut dyn Target, out: &mut Vec<String>) -> Result<(), Stop> {
        if let Some(ms) = step.get("sleep_ms").and_then(Value::as_u64) {
            target.sleep(Duration::from_millis(ms));
            return Ok(());
        }
        if let Some(action) = step.get("action").and_then(Value::as_str) {
            return if target.act(action) { Ok(()) } else { Err(Stop::CannotAct) };
        }
        let want = step.get("response").unwrap_or(&Value::Null);
        let max_frames = |v: &Value| v.get("max_frames").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        if let Some(name) = step.get("collect").and_then(Value::as_str) {
            let at = self.watches.iter().position(|(n, _)| n == name);
            let (_, watch) = self.watches.remove(at.ok_or_else(|| format!("watch {name} is not open"))?);
            let stream = target.collect(watch, max_frames(step));
            self.bindings.set_now(target.now());
            self.frames(want, &stream, "application/json", &format!("step {i} collect {name}"), out);
            return Ok(());
        }
        let recorded = &step["request"];
        let request = self.request(recorded)?;
        let place = format!("step {i} {} {}", request.method, recorded["path"].as_str().unwrap_or_default());
        let (mut answer, mut watch) = target.send(&request)?;
        if let Some(retry) = step.get("retry") {
            let mut left = retry["max_ms"].as_u64().unwrap_or(0);
            while u64::from(answer.status) != retry["status"].as_u64().unwrap_or(0) && left > 0 {
                target.sleep(Duration::from_millis(300));
                left = left.saturating_sub(300);
                (answer, watch) = target.send(&request)?;
            }
        }
        self.bindings.set_now(target.now());
        if let Some(name) = step.get("watch").and_then(Value::as_str) {
            match watch {
                Some(w) => self.watches.push((name.to_owned(), w)),
                None => out.push(format!("{place}: the watch was not accepted: {}", answer.status)),
            }
            return Ok(());
        }
        if let Some(w) = watch {
            self.head(want, &answer, &place, out);
            if want.get("frames").is_none() {
                out.push(format!("{place}: got a stream, want {}", want["status"]));
                return Ok(());
            }
            let content =
                answer.headers.iter().find(|(n, _)| n == "content-type").map_or("", |(_, v)| v.as_str()).to_owned();
            let stream = target.collect(w, max_frames(want).or_else(|| max_frames(step)));
            self.bindings.set_now(target.now());
            self.frames(want, &stream, &content, &place, out);
            return Ok(());
        }
        self.response(want, &answer, &place, out);
        Ok(())
    }

    fn request(&self, recorded: &Value) -> Result<Request, String> {
        let text = |v: &Value| self.bindings.resolve(v.as_str().unwrap_or_default());
        let mut request = Request::new(recorded["method"].as_str().unwrap_or_default(), &text(&recorded["path"])?);
        for (name, value) in recorded["headers"].as_object().into_iter().flatten() {
            request.headers.push((name.clone(), text(value)?));
        }
        if let Some(body) = recorded.get("body") {
            request.body = self.bindings.resolve_json(body)?.to_string().into_bytes();
        } else if let Some(body) = recorded.get("body_text") {
            request.body = text(body)?.into_bytes();
        } else if let Some(body) = recorded.get("body_base64").and_then(Value::as_str) {
            request.body = STANDARD.decode(body).map_err(|e| e.to_string())?;
        } else if let Some(fill) = recorded.get("body_fill") {
            let part = |key: &str| fill[key].as_str().unwrap_or_default();
            let count = usize::try_from(fill["count"].as_u64().unwrap_or(0)).unwrap_or(0);
            request.body = format!("{}{}{}", part("prefix"), part("char").repeat(count), part("suffix")).into_bytes();
        }
        Ok(request)
    }

    fn head(&mut self, want: &Value, got: &Answer, place: &str, out: &mut Vec<String>) {
        if want["status"].as_u64() != Some(u64::from(got.status)) {
            out.push(format!(
                "{place}: want status {}, got {} {}",
                want["status"],
                got.status,
                shorten(&String::from_utf8_lossy(&got.body))
            ));
        }
        let values = |name: &str| -> Vec<&str> {
            got.headers.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str()).collect()
        };
        for name in KEPT {
            let want: Vec<&str> = match want["headers"].get(name) {
                None => Vec::new(),
                Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
                Some(v) => vec![v.as_str().unwrap_or_default()],
            };
            let got = values(name);
            if want.len() != got.len() {
                out.push(format!("{place} header {name}: want {want:?}, got {got:?}"));
            }
            for (w, g) in want.into_iter().zip(got) {
                self.bindings.text(w, g, &format!("{place} header {name}"), out);
            }
        }
    }

    fn response(&mut self, want: &Value, got: &Answer, place: &str, out: &mut Vec<String>) {
        let before = out.len();
        self.head(want, got, place, out);
        if out[before..].iter().any(|d| d.contains(": want status")) {
            return;
        }
        if let Some(body) = want.get("body") {
            match serde_json::from_slice::<Value>(&got.body) {
                Ok(actual) => {
                    let body = if self.subset { narrowed(body, &actual) } else { body.clone() };
                    self.bindings.value(&body, &actual, &format!("{place} body"), out);
                }
                Err(_) => out.push(format!("{place}: want JSON, got {}", shorten(&String::from_utf8_lossy(&got.body)))),
            }
        }
        for key in ["body_text", "raw_text"] {
            if let Some(text) = want.get(key).and_then(Value::as_str) {
                self.bindings.text(text, &String::from_utf8_lossy(&got.body), &format!("{place} {key}"), out);
            }
        }
        if let Some(summary) = want.get("body_summary") {
            let actual: Value = serde_json::from_slice(&got.body).unwrap_or(Value::Null);
            let mut shown = json!({ "kind": actual["kind"] });
            if let Some(items) = actual["items"].as_array() {
                shown["items"] = items.len().into();
                shown["names"] = items.iter().map(|i| i["metadata"]["name"].clone()).collect();
            }
            self.bindings.value(summary, &shown, &format!("{place} summary"), out);
        }
        if let Some(proto) = want.get("body_proto") {
            let actual = proto_type_meta(&got.body);
            if *proto != actual {
                out.push(format!("{place} envelope: want {proto}, got {actual}"));
            }
        }
    }

    fn frames(&mut self, want: &Value, got: &Stream, content: &str, place: &str, out: &mut Vec<String>) {
        if content.contains("protobuf") {
            let frames = protobuf_frames(&got.body);
            let wanted = want["frames"].as_array().map_or(0, Vec::len);
            if frames != wanted {
                out.push(format!("{place}: want {wanted} frames, got {frames}"));
            }
        } else {
            let lines = got.body.split(|b| *b == b'\n').filter(|l| !l.is_empty());
            let frames: Vec<Value> = lines
                .map(|l| serde_json::from_slice(l).unwrap_or_else(|_| json!({ "text": String::from_utf8_lossy(l) })))
                .collect();
            let wanted = collapse(want["frames"].as_array().map_or(&[], Vec::as_slice));
            let frames = collapse(&frames);
            if wanted.len() != frames.len() {
                let kinds = |l: &[&Value]| l.iter().map(|f| f["type"].to_string()).collect::<Vec<_>>().join(" ");
                out.push(format!("{place}: want frames {}, got {}", kinds(&wanted), kinds(&frames)));
            }
            for (j, (w, g)) in wanted.iter().zip(&frames).enumerate() {
                self.bindings.value(w, g, &format!("{place} frame {j}"), out);
            }
        }
        let ended = want["ended_by"].as_str().unwrap_or_default();
        if ended != got.ended_by {
            out.push(format!("{place}: want it ended by {ended}, but it was by {}", got.ended_by));
        }
    }

    /// Versions keep the recorded order; deletion times lie as far ahead as recorded.
    fn check_order(&self, case: &Case, out: &mut Vec<String>) {
        let mut versions: Vec<(u64, &str, u64)> = Vec::new();
        for (symbol, value) in case.recorded() {
            if let Some(symbol) = symbol.strip_suffix(".in_seconds") {
                let bound = self.bindings.get(symbol).and_then(|t| t.parse::<Timestamp>().ok());
                if let (Some(t), Some(at), Some(want)) = (bound, self.bindings.bound_at(symbol), value.as_i64()) {
                    let got = t.as_second() - at;
                    if (got - want).abs() > 3 {
                        out.push(format!("{symbol}: want a time {want} s ahead, got {got} s"));
                    }
                }
            }
            if symbol.starts_with("<rv:") || symbol.starts_with("<lrv:") {
                let recorded = value.as_str().and_then(|v| v.parse().ok());
                let bound = self.bindings.get(symbol).and_then(|v| v.parse().ok());
                if let (Some(r), Some(b)) = (recorded, bound) {
                    versions.push((r, symbol, b));
                }
            }
        }
        versions.sort_unstable();
        for pair in versions.windows(2) {
            let [(r1, s1, b1), (r2, s2, b2)] = pair else {
                continue;
            };
            let both = s1.starts_with("<rv:") && s2.starts_with("<rv:");
            if r1 != r2 && (b1 > b2 || both && b1 == b2) {
                out.push(format!("order: {s1} ({b1}) should come before {s2} ({b2})"));
            }
        }
    }
}
