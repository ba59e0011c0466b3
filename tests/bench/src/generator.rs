//! Pods as a busy cluster has them, any number, always the same.
//!
//! A pod has two containers with environment, probes, mounts and resources, the annotations and managed fields that
//! kubectl, the controllers and the kubelet leave behind, and a full status: some 9 KB of JSON. Twenty pods share a ReplicaSet
//! and its labels, ten sets a namespace, some hundred pods a node.

use std::fmt::Write;
use std::io;

/// Writes a `PodList` of `count` pods.
///
/// # Errors
/// Whatever the writer says.
pub(crate) fn write_list(count: usize, out: &mut impl io::Write) -> io::Result<()> {
    out.write_all(br#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9000000"},"items":["#)?;
    for n in 0..count {
        if n > 0 {
            out.write_all(b",")?;
        }
        out.write_all(pod(n, 0).as_bytes())?;
    }
    out.write_all(b"]}\n")
}

/// The ReplicaSet of the n-th pod.
pub(crate) fn set(n: usize) -> String {
    let Names { set, namespace, app, hash, .. } = Names::of(n, 0);
    let uid = uuid((set as u64) << 32 | 7);
    format!(
        r#"{{"metadata":{{"namespace":"{namespace}","name":"{app}-{hash}","uid":"{uid}","resourceVersion":"1","generation":1}},"spec":{{"replicas":20,"selector":{{"matchLabels":{{"pod-template-hash":"{hash}"}}}},"template":{{"metadata":{{"labels":{{"pod-template-hash":"{hash}"}}}}}}}}}}"#
    )
}

/// The n-th pod, after so many changes of its status.
pub(crate) fn pod(n: usize, changes: usize) -> String {
    Names::of(n, changes).pod()
}

struct Names {
    n: usize,
    changes: usize,
    set: usize,
    name: String,
    namespace: String,
    node: String,
    app: String,
    hash: String,
}

impl Names {
    fn of(n: usize, changes: usize) -> Self {
        let set = n / 20;
        let hash = suffix(set as u64, 10);
        let app = format!(
            "{}-{}",
            ["checkout", "catalogue", "gateway", "billing", "search", "mailer", "audit"][set % 7],
            set
        );
        Self {
            n,
            changes,
            set,
            // No two pods of a set end alike.
            name: format!("{app}-{hash}-{}{}", suffix(n as u64 ^ 0xabcd_ef12, 4), char::from(ALPHABET[n % 20])),
            namespace: format!("team-{}", set / 10),
            node: format!("ip-10-{}-{}.eu-central-1.compute.internal", n / 100 / 256, n / 100 % 256),
            app,
            hash,
        }
    }

    fn pod(&self) -> String {
        let mut json = String::with_capacity(10_000);
        json.push('{');
        self.metadata(&mut json);
        json.push(',');
        self.spec(&mut json);
        json.push(',');
        self.status(&mut json);
        json.push('}');
        json
    }

    fn metadata(&self, json: &mut String) {
        let Self { n, changes, set, name, namespace, app, hash, .. } = self;
        let (uid, owner) = (uuid(*n as u64), uuid((*set as u64) << 32 | 7));
        let (version, created) = (1_000_000 + n + changes * 10_000_000, time(*n));
        // Writing to a string cannot fail.
        let _ = write!(
            json,
            r#""metadata":{{"name":"{name}","generateName":"{app}-{hash}-","namespace":"{namespace}","uid":"{uid}","resourceVersion":"{version}","generation":1,"creationTimestamp":"{created}","labels":{{"app.kubernetes.io/instance":"{app}-production","app.kubernetes.io/managed-by":"Helm","app.kubernetes.io/name":"{app}","app.kubernetes.io/part-of":"shop","pod-template-hash":"{hash}","version":"v{set}"}},"annotations":{{"checksum/config":"{checksum}","cni.projectcalico.org/podIP":"10.{a}.{b}.{c}/32","kubectl.kubernetes.io/restartedAt":"{created}","prometheus.io/path":"/metrics","prometheus.io/port":"9090","prometheus.io/scrape":"true"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{app}-{hash}","uid":"{owner}","controller":true,"blockOwnerDeletion":true}}],"managedFields":["#,
            checksum = suffix(*set as u64, 64),
            a = n / 65_536 % 256,
            b = n / 256 % 256,
            c = n % 256,
        );
        for (manager, subresource, fields) in [
            ("kube-controller-manager", "", CONTROLLER_FIELDS),
            ("calico", ",\"subresource\":\"status\"", CNI_FIELDS),
            ("kubelet", ",\"subresource\":\"status\"", KUBELET_FIELDS),
        ] {
            let comma = if json.ends_with('[') { "" } else { "," };
            let _ = write!(
                json,
                r#"{comma}{{"manager":"{manager}","operation":"Update","apiVersion":"v1","time":"{created}","fieldsType":"FieldsV1","fieldsV1":{fields}{subresource}}}"#
            );
        }
        json.push_str("]}");
    }

    fn spec(&self, json: &mut String) {
        let volume = format!("kube-api-access-{}", suffix(self.n as u64, 5));
        let _ = write!(
            json,
            r#""spec":{{"volumes":[{{"name":"config","configMap":{{"name":"{}-config","defaultMode":420}}}},{{"name":"{volume}","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}},{{"downwardAPI":{{"items":[{{"path":"namespace","fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.namespace"}}}}]}}}}],"defaultMode":420}}}}],"containers":["#,
            self.app
        );
        for (i, container) in ["app", "proxy"].iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(
                json,
                r#"{comma}{{"name":"{container}","image":"registry.example.com/shop/{app}-{container}:1.{set}.0","args":["--listen=:8080","--config=/etc/{app}/config.yaml","--log-format=json"],"ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}}],"env":[{{"name":"POD_NAME","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.name"}}}}}},{{"name":"POD_IP","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"status.podIP"}}}}}},{{"name":"DATABASE_URL","value":"postgres://{app}@db.{namespace}.svc.cluster.local:5432/{app}?sslmode=verify-full"}},{{"name":"DATABASE_PASSWORD","valueFrom":{{"secretKeyRef":{{"name":"{app}-db","key":"password"}}}}}},{{"name":"JAVA_TOOL_OPTIONS","value":"-XX:MaxRAMPercentage=75 -Dfile.encoding=UTF-8"}}],"resources":{{"limits":{{"cpu":"1","memory":"512Mi"}},"requests":{{"cpu":"250m","memory":"256Mi"}}}},"volumeMounts":[{{"name":"config","mountPath":"/etc/{app}"}},{{"name":"{volume}","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"livenessProbe":{{"httpGet":{{"path":"/healthz","port":"http","scheme":"HTTP"}},"initialDelaySeconds":10,"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},"readinessProbe":{{"httpGet":{{"path":"/readyz","port":"http","scheme":"HTTP"}},"timeoutSeconds":1,"periodSeconds":5,"successThreshold":1,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent","securityContext":{{"capabilities":{{"drop":["ALL"]}},"runAsNonRoot":true,"allowPrivilegeEscalation":false}}}}"#,
                app = self.app,
                set = self.set,
                namespace = self.namespace,
            );
        }
        let _ = write!(
            json,
            r#"],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"{app}","serviceAccount":"{app}","nodeName":"{node}","securityContext":{{"runAsUser":1000,"fsGroup":1000}},"affinity":{{"podAntiAffinity":{{"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":100,"podAffinityTerm":{{"labelSelector":{{"matchLabels":{{"app.kubernetes.io/name":"{app}"}}}},"topologyKey":"kubernetes.io/hostname"}}}}]}}}},"schedulerName":"default-scheduler","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}}"#,
            app = self.app,
            node = self.node,
        );
    }

    fn status(&self, json: &mut String) {
        let ready = time(self.n + 30 + self.changes);
        json.push_str(r#""status":{"phase":"Running","conditions":["#);
        for (i, kind) in
            ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"].iter().enumerate()
        {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(
                json,
                r#"{comma}{{"type":"{kind}","observedGeneration":1,"status":"True","lastProbeTime":null,"lastTransitionTime":"{ready}"}}"#
            );
        }
        let (a, b, c) = (self.n / 65_536 % 256, self.n / 256 % 256, self.n % 256);
        let _ = write!(
            json,
            r#"],"hostIP":"10.0.{b}.{c}","hostIPs":[{{"ip":"10.0.{b}.{c}"}}],"podIP":"10.{a}.{b}.{c}","podIPs":[{{"ip":"10.{a}.{b}.{c}"}}],"startTime":"{}","containerStatuses":["#,
            time(self.n)
        );
        for (i, container) in ["app", "proxy"].iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(
                json,
                r#"{comma}{{"name":"{container}","state":{{"running":{{"startedAt":"{ready}"}}}},"lastState":{{}},"ready":true,"restartCount":{restarts},"image":"registry.example.com/shop/{app}-{container}:1.{set}.0","imageID":"registry.example.com/shop/{app}-{container}@sha256:{digest}","containerID":"containerd://{id}","started":true,"resources":{{"limits":{{"cpu":"1","memory":"512Mi"}},"requests":{{"cpu":"250m","memory":"256Mi"}}}}}}"#,
                restarts = self.changes,
                app = self.app,
                set = self.set,
                digest = suffix(self.set as u64, 64),
                id = suffix((self.n * 2 + i) as u64, 64),
            );
        }
        json.push_str(r#"],"qosClass":"Burstable","observedGeneration":1}"#);
    }
}

/// What Kubernetes makes names of.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// `length` letters and digits that depend on the seed alone.
fn suffix(seed: u64, length: usize) -> String {
    let mut state = seed;
    (0..length).map(|_| char::from(ALPHABET[(next(&mut state) % ALPHABET.len() as u64) as usize])).collect()
}

fn uuid(seed: u64) -> String {
    let mut state = seed ^ 0x5eed_5eed;
    let (a, b) = (next(&mut state), next(&mut state));
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        b >> 48 & 0xfff,
        b & 0xffff_ffff_ffff
    )
}

/// A time so many seconds into a day of 2026.
fn time(seconds: usize) -> String {
    format!("2026-03-14T{:02}:{:02}:{:02}Z", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}

/// The generator `SplitMix64`.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

const CONTROLLER_FIELDS: &str = r#"{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{},"f:kubectl.kubernetes.io/restartedAt":{},"f:prometheus.io/path":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/instance":{},"f:app.kubernetes.io/managed-by":{},"f:app.kubernetes.io/name":{},"f:app.kubernetes.io/part-of":{},"f:pod-template-hash":{},"f:version":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"0\"}":{}}},"f:spec":{"f:affinity":{".":{},"f:podAntiAffinity":{}},"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:args":{},"f:env":{},"f:image":{},"f:imagePullPolicy":{},"f:livenessProbe":{},"f:name":{},"f:ports":{},"f:readinessProbe":{},"f:resources":{},"f:securityContext":{},"f:terminationMessagePath":{},"f:volumeMounts":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:serviceAccountName":{},"f:terminationGracePeriodSeconds":{},"f:volumes":{}}}"#;
const CNI_FIELDS: &str = r#"{"f:metadata":{"f:annotations":{"f:cni.projectcalico.org/podIP":{}}}}"#;
const KUBELET_FIELDS: &str = r#"{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{},"f:startTime":{}}}"#;
