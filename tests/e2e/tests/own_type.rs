//! The example of an informer of one's own type, run as its readers run it.

use sanskube_apiserver::Request;
use sanskube_e2e::cluster::Cluster;
use sanskube_e2e::process::Process;
use serde_json::json;

const OWN_TYPE: &str = env!("CARGO_BIN_EXE_own-type");
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const TABS: &str = "/apis/stable.example.com/v1/namespaces/default/crontabs";

#[test]
fn an_informer_of_ones_own_type_follows_custom_objects() {
    let cluster = Cluster::start();
    cluster.create(
        DEFINITIONS,
        &json!({
            "metadata": {"name": "crontabs.stable.example.com"},
            "spec": {
                "group": "stable.example.com", "scope": "Namespaced", "names": {"plural": "crontabs", "kind": "CronTab"},
                "versions": [
                    {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}},
                ],
            },
        }),
    );
    let tab = |name: &str, spec: &str| json!({"metadata": {"name": name}, "spec": {"cronSpec": spec}});
    cluster.create(TABS, &tab("first", "5 * * * *"));
    let mut process = Process::start(OWN_TYPE, &[&cluster.server.url()]);
    process.wait_for("default/first: 5 * * * *");
    cluster.create(TABS, &tab("second", "6 * * * *"));
    process.wait_for("default/second: 6 * * * *");
    let change = json!({"spec": {"cronSpec": "7 * * * *"}}).to_string();
    let path = format!("{TABS}/first");
    cluster.ask(&Request::new("PATCH", &path).with_body("application/merge-patch+json", change));
    process.wait_for("default/first: 7 * * * *");
    cluster.ask(&Request::new("DELETE", &path));
    process.wait_for("default/first is gone, 1 left");
}
