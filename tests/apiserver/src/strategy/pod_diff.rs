//! The diff that a refused change of a pod's spec is explained with: two specs as Go prints its
//! internal types, compared line by line (apimachinery `pkg/util/diff`).

use serde_json::Value;

use crate::schema::{Field, MessageId, Type, schema};
use crate::store::Obj;

/// The fields of the internal `PodSpec`, in its order; those of the host are in the security context.
const POD_SPEC: [&str; 36] = [
    "volumes",
    "initContainers",
    "containers",
    "ephemeralContainers",
    "restartPolicy",
    "terminationGracePeriodSeconds",
    "activeDeadlineSeconds",
    "dnsPolicy",
    "nodeSelector",
    "serviceAccountName",
    "automountServiceAccountToken",
    "nodeName",
    "securityContext",
    "imagePullSecrets",
    "hostname",
    "subdomain",
    "setHostnameAsFQDN",
    "affinity",
    "schedulerName",
    "tolerations",
    "hostAliases",
    "priorityClassName",
    "priority",
    "preemptionPolicy",
    "dnsConfig",
    "readinessGates",
    "runtimeClassName",
    "overhead",
    "enableServiceLinks",
    "topologySpreadConstraints",
    "os",
    "schedulingGates",
    "resourceClaims",
    "resources",
    "hostnameOverride",
    "schedulingGroup",
];
/// What the internal security context has in front of the fields of the wire.
const OF_HOST: [&str; 5] = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];
/// Lines around a change.
const CONTEXT: usize = 3;
/// Lines of a spec that are compared in full; longer ones are cut.
const MAX_LINES: usize = 2000;

/// The differences between two specs, each hunk with its head.
pub(super) fn diff(old: &Obj, new: &Obj) -> String {
    let (a, b) = (lines(old), lines(new));
    unified(&a, &b)
}

fn lines(spec: &Obj) -> Vec<String> {
    let mut out = vec!["{".to_owned()];
    let message = schema().message(schema().id("core.PodSpec"));
    let fields: Vec<&Field> = POD_SPEC.iter().filter_map(|name| message.field(name)).collect();
    for (i, field) in fields.iter().enumerate() {
        let last = i + 1 == fields.len();
        if field.name == "securityContext" && spec.get(field.name).is_some_and(Value::is_object) {
            security_context(field, spec, &mut out);
        } else {
            member(&go_name(field.name), &field.ty, field.pointer, spec.get(field.name), last, 1, &mut out);
        }
    }
    out.push("}".to_owned());
    out.truncate(MAX_LINES);
    out
}

fn security_context(field: &Field, spec: &Obj, out: &mut Vec<String>) {
    let (Type::Message(id), Some(Value::Object(context))) = (&field.ty, spec.get(field.name)) else {
        return;
    };
    let pod_spec = schema().message(schema().id("core.PodSpec"));
    out.push(" \"SecurityContext\": {".to_owned());
    for f in OF_HOST.iter().filter_map(|name| pod_spec.field(name)) {
        member(&go_name(f.name), &f.ty, f.pointer, spec.get(f.name), false, 2, out);
    }
    let own = &schema().message(*id).fields;
    for (i, f) in own.iter().enumerate() {
        member(&go_name(f.name), &f.ty, f.pointer, context.get(f.name), i + 1 == own.len(), 2, out);
    }
    out.push(" },".to_owned());
}

/// Appends `"Name": value`, on as many lines as it takes.
fn member(
    name: &str,
    ty: &Type,
    pointer: bool,
    value: Option<&Value>,
    last: bool,
    depth: usize,
    out: &mut Vec<String>,
) {
    let start = out.len();
    go_json(ty, pointer, value, depth, out);
    let indent = " ".repeat(depth);
    out[start] = format!("{indent}\"{name}\": {}", out[start].trim_start());
    if !last && let Some(line) = out.last_mut() {
        line.push(',');
    }
}

/// A value as `json.MarshalIndent` writes a Go value without tags.
fn go_json(ty: &Type, pointer: bool, value: Option<&Value>, depth: usize, out: &mut Vec<String>) {
    let indent = " ".repeat(depth);
    let value = value.filter(|v| !v.is_null());
    match (ty, value) {
        (Type::List(_) | Type::Map(_) | Type::Bytes, None) => out.push(format!("{indent}null")),
        (_, None) if pointer => out.push(format!("{indent}null")),
        (Type::Message(id), v) => {
            let none = Obj::new();
            let map = v.and_then(Value::as_object).unwrap_or(&none);
            message(*id, map, depth, out);
        }
        (Type::List(item), Some(Value::Array(list))) => {
            out.push(format!("{indent}["));
            for (i, v) in list.iter().enumerate() {
                go_json(item, false, Some(v), depth + 1, out);
                if i + 1 < list.len()
                    && let Some(line) = out.last_mut()
                {
                    line.push(',');
                }
            }
            out.push(format!("{indent}]"));
        }
        (Type::Map(item), Some(Value::Object(map))) => {
            out.push(format!("{indent}{{"));
            for (i, (k, v)) in map.iter().enumerate() {
                member(k, item, false, Some(v), i + 1 == map.len(), depth + 1, out);
            }
            out.push(format!("{indent}}}"));
        }
        (_, Some(v)) => out.push(format!("{indent}{v}")),
        (Type::Bool, None) => out.push(format!("{indent}false")),
        (Type::Int32 | Type::Int64 | Type::Float | Type::IntOrString, None) => {
            out.push(format!("{indent}0"));
        }
        (Type::Quantity, None) => out.push(format!("{indent}\"0\"")),
        (Type::String, None) => out.push(format!("{indent}\"\"")),
        (_, None) => out.push(format!("{indent}null")),
    }
}

fn message(id: MessageId, map: &Obj, depth: usize, out: &mut Vec<String>) {
    let indent = " ".repeat(depth);
    let fields = &schema().message(id).fields;
    if fields.is_empty() {
        out.push(format!("{indent}{{}}"));
        return;
    }
    out.push(format!("{indent}{{"));
    for (i, f) in fields.iter().enumerate() {
        member(&go_name(f.name), &f.ty, f.pointer, map.get(f.name), i + 1 == fields.len(), depth + 1, out);
    }
    out.push(format!("{indent}}}"));
}

/// The Go name of a field: capitalised, abbreviations in capitals.
fn go_name(name: &str) -> String {
    const ABBREVIATIONS: [(&str, &str); 12] = [
        ("tty", "TTY"),
        ("dns", "DNS"),
        ("os", "OS"),
        ("ip", "IP"),
        ("uid", "UID"),
        ("http", "HTTP"),
        ("tcp", "TCP"),
        ("grpc", "GRPC"),
        ("seLinux", "SELinux"),
        ("fs", "FS"),
        ("nfs", "NFS"),
        ("csi", "CSI"),
    ];
    for (short, capital) in ABBREVIATIONS {
        if let Some(rest) = name.strip_prefix(short)
            && rest.chars().next().is_none_or(char::is_uppercase)
        {
            return format!("{capital}{rest}");
        }
    }
    let mut chars = name.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// One step from the old text to the new.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    Keep,
    Drop,
    Add,
}

fn unified(a: &[String], b: &[String]) -> String {
    let steps = steps(a, b);
    let mut out = String::new();
    let mut at = 0;
    while let Some(first) = steps[at..].iter().position(|s| *s != Step::Keep).map(|i| at + i) {
        let start = first.saturating_sub(CONTEXT).max(at);
        // A hunk goes on as long as the next change is within twice the context.
        let (mut end, mut kept) = (first, 0);
        while end < steps.len() && kept <= 2 * CONTEXT {
            kept = if steps[end] == Step::Keep { kept + 1 } else { 0 };
            end += 1;
        }
        let end = end - kept + kept.min(CONTEXT);
        hunk(a, b, &steps, start, end, &mut out);
        at = end;
    }
    out
}

fn hunk(a: &[String], b: &[String], steps: &[Step], start: usize, end: usize, out: &mut String) {
    let count = |range: &[Step], not: Step| range.iter().filter(|s| **s != not).count();
    let (mut i, mut j) = (count(&steps[..start], Step::Add), count(&steps[..start], Step::Drop));
    let within = &steps[start..end];
    let range = |begin: usize, n: usize| match n {
        1 => (begin + 1).to_string(),
        0 => format!("{begin},0"),
        n => format!("{},{n}", begin + 1),
    };
    let (old, new) = (range(i, count(within, Step::Add)), range(j, count(within, Step::Drop)));
    out.push_str(&format!("@@ -{old} +{new} @@\n"));
    for step in within {
        let (mark, line) = match step {
            Step::Keep => (' ', &a[i]),
            Step::Drop => ('-', &a[i]),
            Step::Add => ('+', &b[j]),
        };
        out.push(mark);
        out.push_str(line);
        out.push('\n');
        i += usize::from(*step != Step::Add);
        j += usize::from(*step != Step::Drop);
    }
}

/// The shortest way from one text to the other, by the longest common subsequence between equal ends.
fn steps(a: &[String], b: &[String]) -> Vec<Step> {
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(x, y)| x == y).count();
    let (x, y) = (&a[head..a.len() - tail], &b[head..b.len() - tail]);
    let width = y.len() + 1;
    let mut common = vec![0u16; (x.len() + 1) * width];
    for i in (0..x.len()).rev() {
        for j in (0..y.len()).rev() {
            common[i * width + j] = if x[i] == y[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let mut out = vec![Step::Keep; head];
    let (mut i, mut j) = (0, 0);
    while i < x.len() || j < y.len() {
        if i < x.len() && j < y.len() && x[i] == y[j] {
            out.push(Step::Keep);
            i += 1;
            j += 1;
        } else if i < x.len() && (j == y.len() || common[(i + 1) * width + j] >= common[i * width + j + 1]) {
            out.push(Step::Drop);
            i += 1;
        } else {
            out.push(Step::Add);
            j += 1;
        }
    }
    out.extend(std::iter::repeat_n(Step::Keep, tail));
    out
}

#[cfg(test)]
mod tests {
    use super::unified;

    fn text(s: &str) -> Vec<String> {
        s.chars().map(String::from).collect()
    }

    #[test]
    fn a_hunk_has_three_lines_of_context() {
        let want = "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+X\n f\n g\n h\n";
        assert_eq!(unified(&text("abcdefghij"), &text("abcdXfghij")), want);
    }

    #[test]
    fn changes_far_from_one_another_are_two_hunks() {
        let (a, b) = (text("Aabcdefghijklmn"), text("Babcdefghijklmo"));
        assert_eq!(unified(&a, &b).matches("@@ -").count(), 2);
        assert_eq!(unified(&a, &a), "");
    }
}
