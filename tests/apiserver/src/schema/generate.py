#!/usr/bin/env python3
"""Writes kubernetes.txt: field names, tags, types and merge rules of the served kinds.

usage: generate.py core_v1.go apps_v1.go ... > kubernetes.txt

Each argument is a types.go of k8s.io/api (or of apimachinery's meta/v1), named GROUP_VERSION.go.
Only facts of the wire format are taken: no documentation.
"""
import re, sys, os

ROOTS = """core.Pod core.ReplicationController core.ConfigMap core.Event core.Node core.Namespace core.ResourceQuota
core.Binding apps.ReplicaSet autoscaling.Scale coordination.Lease events.Event policy.Eviction
meta.DeleteOptions meta.Status meta.PartialObjectMetadata meta.ListMeta""".split()
SCALARS = {"string": "string", "bool": "bool", "int32": "int32", "int64": "int64", "int": "int64", "float64": "float64", "uint16": "int32", "uint8": "int32"}
KNOWN = {
    "meta.Time": "time", "meta.MicroTime": "microtime", "meta.Duration": "duration", "meta.FieldsV1": "raw",
    "resource.Quantity": "quantity", "intstr.IntOrString": "intorstring", "runtime.RawExtension": "raw",
    "types.UID": "string", "types.NodeName": "string", "types.NamespacedName": "string",
}
PKG = {"metav1": "meta", "v1": "core", "corev1": "core", "api": "core"}
structs, aliases, atomic = {}, {}, set()


def qualify(pkg, t):
    """a Go type as the schema spells it"""
    t = t.strip()
    if t.startswith("[]byte"):
        return "bytes"
    if t.startswith("[]"):
        return "[]" + qualify(pkg, t[2:].lstrip("*"))
    m = re.match(r"map\[[^]]+\](.+)", t)
    if m:
        return "{}" + qualify(pkg, m.group(1))
    if t in SCALARS:
        return SCALARS[t]
    if "." in t:
        p, n = t.split(".")
        t = PKG.get(p, p) + "." + n
    else:
        t = pkg + "." + t
    if t in KNOWN:
        return KNOWN[t]
    if t in aliases:
        return aliases[t]
    return t


def parse(path):
    pkg = os.path.basename(path).split("_")[0]
    src = open(path).read()
    for m in re.finditer(r"^type (\w+) (\S.*)$", src, re.M):
        name, rest = m.groups()
        if not rest.startswith(("struct", "interface")):
            aliases[pkg + "." + name] = (pkg, rest)
    for m in re.finditer(r"((?:^//[^\n]*\n)*)^type (\w+) struct \{\n(.*?)^\}", src, re.M | re.S):
        structs[pkg + "." + m.group(2)] = (pkg, m.group(3))
        if "+structType=atomic" in m.group(1):
            atomic.add(pkg + "." + m.group(2))


def fields(pkg, body):
    comment = []
    for line in body.split("\n"):
        line = line.strip()
        if line.startswith("//"):
            comment.append(line[2:].strip())
            continue
        m = re.match(r"(?:(\w+)\s+)?(\*?)([\w.\[\]*]+)\s+`(.*)`", line)
        if m:
            yield m.group(1), bool(m.group(2)), m.group(3), m.group(4), comment
        comment = []


def line(pkg, f):
    goname, ptr, gotype, tags, comment = f
    js = re.search(r'json:"([^"]*)"', tags)
    if not js:
        return None
    parts = js.group(1).split(",")
    pb = re.search(r'protobuf:"\w+,(\d+)', tags)
    if parts[0] == "-" or gotype.endswith("TypeMeta"):
        return None
    typ = qualify(pkg, gotype)
    inline = goname is None and "inline" in parts or (parts[0] == "" and goname is None)
    name = parts[0] or gotype.split(".")[-1]
    out = [name, pb.group(1) if pb else "0", typ]
    if inline:
        out.append("inline")
    if "omitempty" in parts:
        out.append("?")
    if "omitzero" in parts:
        out.append("zero")
    if ptr:
        out.append("*")
    marks = {}
    for c in comment:
        if c.startswith("+"):
            k, _, v = c[1:].partition("=")
            marks.setdefault(k, []).append(v)
    if "listType" in marks:
        kind = marks["listType"][0]
        out.append("list=" + (",".join(marks.get("listMapKey", [])) if kind == "map" else kind))
    for k in ("structType", "mapType"):
        if marks.get(k, [""])[0] == "atomic":
            out.append("atomic")
    strategy = re.search(r'patchStrategy:"([^"]*)"', tags)
    key = re.search(r'patchMergeKey:"([^"]*)"', tags)
    if strategy:
        for s in strategy.group(1).split(","):
            out.append({"merge": "merge=" + (key.group(1) if key else ""), "retainKeys": "retain", "replace": "replace"}[s])
    return out


def main():
    for p in sys.argv[1:]:
        parse(p)
    # named scalars, resolved until none is left
    def resolve(name, seen=()):
        pkg, rest = RAW[name]
        rest = rest.split("//")[0].strip()
        q = pkg + "." + rest
        if q in RAW:
            return resolve(q)
        return qualify(pkg, rest)
    global RAW
    RAW = dict(aliases)
    for _ in range(3):
        for k in RAW:
            aliases[k] = resolve(k)
    todo, done = list(ROOTS), []
    while todo:
        t = todo.pop(0)
        if t in done or t in KNOWN.values():
            continue
        done.append(t)
        pkg, body = structs[t]
        for f in fields(pkg, body):
            l = line(pkg, f)
            if l:
                ref = l[2].replace("[]", "").replace("{}", "")
                if "." in ref:
                    todo.append(ref)
    for t in sorted(done):
        pkg, body = structs[t]
        print(t + (" atomic" if t in atomic else ""))
        for f in fields(pkg, body):
            l = line(pkg, f)
            if l:
                print(" " + " ".join(l))


main()
