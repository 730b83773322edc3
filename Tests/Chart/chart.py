"""Installs the Helm chart with Helm's own library into a stand-in of a cluster (cluster.py), once for each file of values in
deploy/helm/ci, and checks the objects: against the schemas of Kubernetes, against each other, and against the documentation of Herald.
Then starts the binary with the settings of a pod, and sends it the probes. `chart.py BINARY`; prints a line for each check."""
import asyncio
import glob
import json
import os
import re
import sys
import tempfile

import helm_sdkpy
import kubernetes_validate
import yaml

from cluster import Cluster
from pod import run_pods

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
CHART = os.path.join(ROOT, "deploy/helm")
# The oldest release of Kubernetes that the chart allows, and the newest one whose schemas there are.
VERSIONS = ["1.30", ".".join(kubernetes_validate.__version__.split(".")[:2])]
failures = 0


def expect(what, expected, actual):
    global failures
    if expected == actual:
        print(f"ok      {what}")
    else:
        failures += 1
        print(f"FAILED  {what}\n        expected: {expected}\n        got:      {actual}")


def text(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def install(values, version=VERSIONS[-1], release="eu"):
    """The objects that Helm creates."""
    cluster = Cluster(version)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(cluster.configuration())
        file.flush()
        try:
            helm = helm_sdkpy.Install(helm_sdkpy.Configuration(namespace="shop", kubeconfig=file.name))
            asyncio.run(helm.run(release, CHART, values=values, wait=False))
        finally:
            cluster.close()
    return cluster.created


def one(objects, kind):
    found = [each for each in objects if each["kind"] == kind]
    return found[0] if len(found) == 1 else None


def workload(objects):
    return one(objects, "StatefulSet") or one(objects, "Deployment")


def pod(objects):
    return workload(objects)["spec"]["template"]["spec"]


def variables(objects):
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in pod(objects)["containers"][0]["env"]}


def invalid(objects, version):
    """What the schemas of Kubernetes refuse. They have no ServiceMonitor, whose schema belongs to another project."""
    found = []
    for each in objects:
        if each["kind"] != "ServiceMonitor":
            try:
                kubernetes_validate.validate(each, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                found.append(f"{each['kind']}: {error.path}: {error.message}")
    return found


def selectors(objects):
    """All selectors that must find the pods."""
    for each in objects:
        spec = each["spec"]
        if each["kind"] == "Service":
            yield each["kind"], spec["selector"]
        elif each["kind"] == "NetworkPolicy":
            yield each["kind"], spec["podSelector"]["matchLabels"]
        elif each["kind"] in ("PodDisruptionBudget", "Deployment", "StatefulSet"):
            yield each["kind"], spec["selector"]["matchLabels"]
    for each in pod(objects).get("topologySpreadConstraints", []):
        yield "topologySpreadConstraints", each["labelSelector"]["matchLabels"]


def check_set(name, objects):
    for version in VERSIONS:
        expect(f"{name}: valid in Kubernetes {version}", [], invalid(objects, version))
    labels = workload(objects)["spec"]["template"]["metadata"]["labels"]
    missed = [kind for kind, selector in selectors(objects) if not selector or not selector.items() <= labels.items()]
    expect(f"{name}: every selector finds the pods", [], missed)
    spec = pod(objects)
    container = spec["containers"][0]
    mounted = {each["name"] for each in container["volumeMounts"]}
    claims = workload(objects)["spec"].get("volumeClaimTemplates", [])
    volumes = {each["name"] for each in spec["volumes"]} | {each["metadata"]["name"] for each in claims}
    expect(f"{name}: every mount has its volume", volumes, mounted)
    known = {"POD_IP", *re.findall(r"\b(?:HERALD|OTEL)_[A-Z_]+", text("Documentation/reference/configuration.md"))}
    expect(f"{name}: only settings of Herald", set(), set(variables(objects)) - known)
    paths = {container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    expect(f"{name}: the probes are operations without a key", [], [
        path for path in paths if yaml.load(text("openapi.yaml"), yaml.CSafeLoader)["paths"][path]["get"].get("security") != []])
    sleep = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    grace = int(variables(objects)["HERALD_GRACE"])
    expect(f"{name}: the pod has more time to end than Herald needs", True, spec["terminationGracePeriodSeconds"] >= sleep + grace + 10)
    context = {**spec["securityContext"], **container["securityContext"]}
    expect(f"{name}: the pod may as little as possible", (True, 10001, True, False, ["ALL"], "RuntimeDefault", False, False), (
        context["runAsNonRoot"], context["runAsUser"], context["readOnlyRootFilesystem"], context["allowPrivilegeEscalation"],
        context["capabilities"]["drop"], context["seccompProfile"]["type"], spec["automountServiceAccountToken"],
        spec["enableServiceLinks"]))
    secret = next(each["secret"] for each in spec["volumes"] if each["name"] == "secret")
    expect(f"{name}: secrets are references, which only the group of the pod may read", (None, 0o440, context["runAsGroup"]), (
        one(objects, "Secret"), secret["defaultMode"], context["fsGroup"]))
    expect(f"{name}: the image is the given one", True, container["image"].startswith("registry.example/herald"))


def check_volume(objects):
    expect("volume: kinds", ["Service", "Service", "StatefulSet"], sorted(each["kind"] for each in objects))
    stateful = one(objects, "StatefulSet")["spec"]
    services = {each["metadata"]["name"]: each["spec"].get("clusterIP") for each in objects if each["kind"] == "Service"}
    expect("volume: one pod, whose service has no address", (1, "None"), (stateful["replicas"], services.get(stateful["serviceName"])))
    expect("volume: a pod that does not get ready is replaced by a corrected one", "Parallel", stateful.get("podManagementPolicy"))
    claim = stateful["volumeClaimTemplates"][0]["spec"]
    expect("volume: the volume", {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}}}, claim)
    folder = variables(objects)["HERALD_DATA"]
    mounts = [each["mountPath"] for each in pod(objects)["containers"][0]["volumeMounts"] if each["name"] == "data"]
    expect("volume: the data folder is in the volume", True, any(folder.startswith(mount + "/") for mount in mounts))
    version = yaml.load(text("openapi.yaml"), yaml.CSafeLoader)["info"]["version"]
    expect("volume: the image is of the version of the chart", f"registry.example/herald:{version}", pod(objects)["containers"][0]["image"])


def check_postgres(objects):
    expect("postgres: kinds", ["Deployment", "PodDisruptionBudget", "Service"], sorted(each["kind"] for each in objects))
    deployment = one(objects, "Deployment")["spec"]
    expect("postgres: three pods, replaced one after the other", (3, {"maxSurge": 1, "maxUnavailable": 0}), (
        deployment["replicas"], deployment["strategy"]["rollingUpdate"]))
    expect("postgres: one pod at a time may be evicted", 1, one(objects, "PodDisruptionBudget")["spec"]["maxUnavailable"])
    expect("postgres: the database is a reference", {"secretKeyRef": {"name": "herald-keys", "key": "database-url"}},
           variables(objects)["HERALD_STORE"])
    expect("postgres: settings are passed on as they are", ("30d", "1048576", False), (
        variables(objects)["HERALD_RETENTION"], variables(objects)["HERALD_MAX_BODY"], "HERALD_DATA" in variables(objects)))


def check_cluster(objects):
    expect("cluster: kinds", ["Deployment", "Ingress", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceMonitor"],
           sorted(each["kind"] for each in objects))
    expect("cluster: the digest, and not a tag", "registry.example/herald@sha256:" + 64 * "0", pod(objects)["containers"][0]["image"])
    expect("cluster: networks, proxies and public URL", ("10.20.0.0/16,fd00:20::/32", "10.1.0.0/16", "https://herald.example.com"),
           tuple(variables(objects)[f"HERALD_{name}"] for name in ("ALLOW_NETWORKS", "TRUSTED_PROXIES", "PUBLIC_URL")))
    items = {each["path"]: each["key"] for each in next(each for each in pod(objects)["volumes"] if each["name"] == "secret")["secret"]["items"]}
    expect("cluster: the names of the keys in the Secret", {"admin-key": "admin", "master-key": "master"}, items)
    policy = one(objects, "NetworkPolicy")["spec"]
    blocks = [peer["ipBlock"]["cidr"] for rule in policy["egress"] for peer in rule.get("to", []) if "ipBlock" in peer]
    expect("cluster: callbacks reach public and allowed networks", ["0.0.0.0/0", "::/0", "10.20.0.0/16", "fd00:20::/32"], blocks)
    expect("cluster: the database is reachable", 5432, policy["egress"][-1]["ports"][0]["port"])
    port = pod(objects)["containers"][0]["ports"][0]["name"]
    service = one(objects, "Service")
    named = {policy["ingress"][0]["ports"][0]["port"], service["spec"]["ports"][0]["targetPort"]}
    expect("cluster: ports are named as that of the container", {port}, named)
    monitor = one(objects, "ServiceMonitor")["spec"]
    expect("cluster: the monitor finds the service and its port", (True, service["spec"]["ports"][0]["name"]), (
        monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items(), monitor["endpoints"][0]["port"]))
    expect("cluster: the job is that of the alert rules", "herald", service["metadata"]["labels"][monitor["jobLabel"]])
    backend = one(objects, "Ingress")["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    expect("cluster: the ingress leads to the service", (service["metadata"]["name"], service["spec"]["ports"][0]["name"]), (
        backend["name"], backend["port"]["name"]))
    expect("cluster: the address of the pod is a host that is served", (
        "herald.example.com, herald.shop.svc,$(POD_IP)", {"fieldRef": {"fieldPath": "status.podIP"}}), (
        variables(objects)["HERALD_ALLOWED_HOSTS"], variables(objects)["POD_IP"]))
    names = list(variables(objects))
    expect("cluster: a variable comes before those that name it", True, names.index("POD_IP") < names.index("HERALD_ALLOWED_HOSTS"))
    expect("cluster: settings of OpenTelemetry are passed on", "http://127.0.0.1:4318", variables(objects)["OTEL_EXPORTER_OTLP_ENDPOINT"])


def check_refusals():
    least = {"image": {"repository": "herald"}, "secret": {"name": "keys"}}
    for what, values, message in [
        ("no image", {"secret": {"name": "keys"}}, "/image/repository"),
        ("no Secret", {"image": {"repository": "herald"}}, "/secret/name"),
        ("a misspelled value", {**least, "replicas": 2}, "replicas"),
        ("an unknown store", {**least, "store": "sqlite"}, "/store"),
        ("two pods on one volume", {**least, "volume": {"replicas": 2}}, "replicas"),
        ("a key as a setting", {**least, "settings": {"HERALD_ADMIN_KEY": "x" * 20}}, "HERALD_ADMIN_KEY"),
        ("headers of a collector as a setting", {**least, "settings": {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=x"}}, "OTEL_EXPORTER_OTLP_HEADERS"),
        ("a password of a proxy as a setting", {**least, "settings": {"HERALD_CALLBACK_PROXY": "http://a:b@proxy:3128"}},
         "/settings/HERALD_CALLBACK_PROXY"),
        ("a number as a setting", {**least, "settings": {"HERALD_MAX_BODY": 1048576}}, "/settings/HERALD_MAX_BODY"),
        ("an ingress without trusted proxies", {**least, "ingress": {"host": "a.example"}}, "/trustedProxies"),
        ("a database that the network policy closes", {**least, "store": "postgres", "networkPolicy": {"enabled": True}}, "/networkPolicy/egress"),
        ("a monitor without a key", {**least, "serviceMonitor": {"enabled": True}}, "/serviceMonitor/keySecret/name"),
    ]:
        try:
            install(values)
            error = "installed"
        except helm_sdkpy.HelmError as refusal:
            error = str(refusal)
        expect(f"refused: {what}", message, message if message in error else error)
    try:
        install(least, "1.29")
        error = "installed"
    except helm_sdkpy.HelmError as refusal:
        error = str(refusal)
    expect("refused: an older Kubernetes", True, "1.30.0" in error)


def main(binary):
    chart = yaml.safe_load(text("deploy/helm/Chart.yaml"))
    version = yaml.load(text("openapi.yaml"), yaml.CSafeLoader)["info"]["version"]
    expect("the chart has the version of Herald", (version, version), (chart["version"], chart["appVersion"]))
    sets = {}
    for path in sorted(glob.glob(os.path.join(CHART, "ci/*-values.yaml"))):
        with open(path, encoding="utf-8") as file:
            sets[os.path.basename(path).removesuffix("-values.yaml")] = install(yaml.safe_load(file))
    expect("the files of values", ["cluster", "postgres", "volume"], list(sets))
    for name, objects in sets.items():
        check_set(name, objects)
    check_volume(sets["volume"])
    check_postgres(sets["postgres"])
    check_cluster(sets["cluster"])
    expect("one pod on PostgreSQL may be evicted", None, one(
        install({"image": {"repository": "h"}, "secret": {"name": "k"}, "store": "postgres", "postgres": {"replicas": 1}}),
        "PodDisruptionBudget"))
    long = install({"image": {"repository": "h"}, "secret": {"name": "k"}}, release="r" * 53)
    expect("names of a long release are valid", [], [
        each["metadata"]["name"] for each in long if len(each["metadata"]["name"]) > 63])
    expect("a pod of a cluster with IPv6 only can be probed", "[::]:8080", variables(
        install({"image": {"repository": "h"}, "secret": {"name": "k"}, "listen": "[::]"}))["HERALD_LISTEN"])
    check_refusals()
    for name in ("volume", "cluster"):
        run_pods(expect, name, binary, pod(sets[name]))
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        helm_sdkpy.Configuration()
    except helm_sdkpy.HelmLibraryNotFound:
        print("skipped: the chart was not tried, since there is no library of Helm for this kind of machine")
        sys.exit(0)
    sys.exit(main(os.path.abspath(sys.argv[1])))
