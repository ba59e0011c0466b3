//! What users and the kubelet do to the objects of the server.

use sanskube::machine::Machine;

use super::Script;
use crate::choices::Choices;

const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const PODS: &str = "/api/v1/namespaces/default/pods";

impl<M: Machine> Script<M> {
    /// Changes something behind the back of the machine.
    pub(super) fn act_as_user(&mut self, choices: &mut Choices<'_>) {
        let name = *choices.pick(&["a", "b"]);
        let spec = r#"{"containers":[{"name":"c","image":"i"}]}"#;
        let labels = format!(r#""labels":{{"app":"{name}"}}"#);
        let (merge, number) = ("application/merge-patch+json", choices.below(6));
        match choices.below(6) {
            0 => {
                let template = format!(r#"{{"metadata":{{{labels}}},"spec":{spec}}}"#);
                let set = format!(
                    r#"{{"metadata":{{"name":"{name}"}},"spec":{{"replicas":{number},"selector":{{"matchLabels":{{"app":"{name}"}}}},"template":{template}}}}}"#
                );
                self.request("POST", SETS, "application/json", &set);
            }
            1 => {
                let scale = format!(r#"{{"spec":{{"replicas":{number}}}}}"#);
                self.request("PATCH", &format!("{SETS}/{name}"), merge, &scale);
            }
            2 => drop(self.request("DELETE", &format!("{SETS}/{name}"), "", "")),
            3 => {
                let pod = format!(r#"{{"metadata":{{"generateName":"stray-",{labels}}},"spec":{spec}}}"#);
                self.request("POST", PODS, "application/json", &pod);
            }
            _ => {
                let list = self.request("GET", PODS, "", "").json().unwrap_or_default();
                let pods = list["items"].as_array().cloned().unwrap_or_default();
                let Some(pod) = pods.get(number).and_then(|pod| pod["metadata"]["name"].as_str()) else { return };
                let path = format!("{PODS}/{pod}");
                let ready = r#"{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2027-01-15T08:00:00Z"}]}}"#;
                match choices.below(4) {
                    0 => drop(self.request("DELETE", &path, "", "")),
                    1 => drop(self.request("PATCH", &path, merge, r#"{"metadata":{"labels":{"app":"b"}}}"#)),
                    2 => drop(self.request(
                        "PATCH",
                        &format!("{path}/status"),
                        merge,
                        r#"{"status":{"phase":"Failed"}}"#,
                    )),
                    _ => drop(self.request("PATCH", &format!("{path}/status"), merge, ready)),
                }
            }
        }
    }
}
