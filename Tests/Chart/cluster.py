"""As much of the API of Kubernetes as Helm needs to install a release: it accepts every object, and keeps it."""
import http.server
import json
import re
import threading

GROUPS = {
    "v1": {"Secret": "secrets", "Service": "services"},
    "apps/v1": {"Deployment": "deployments", "StatefulSet": "statefulsets"},
    "monitoring.coreos.com/v1": {"ServiceMonitor": "servicemonitors"},
    "networking.k8s.io/v1": {"Ingress": "ingresses", "NetworkPolicy": "networkpolicies"},
    "policy/v1": {"PodDisruptionBudget": "poddisruptionbudgets"},
}


class Cluster:
    def __init__(self, version):
        self.version = version
        self.created = []
        cluster = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def respond(self, status, body, kind="application/json"):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                found = cluster.discovery(self.path.split("?")[0])
                missing = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
                self.respond(200 if found else 404, json.dumps(found or missing).encode())

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                kind = self.headers["Content-Type"]
                # Helm keeps the release itself in Secrets, in the format of protobuf.
                if kind == "application/json":
                    cluster.created.append(json.loads(body))
                self.respond(201, body, kind)

            do_PUT = do_PATCH = do_POST

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def discovery(self, path):
        if path == "/version":
            major, minor = self.version.split(".")
            return {"major": major, "minor": minor, "gitVersion": f"v{self.version}.0"}
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            groups = []
            for name in filter(lambda name: "/" in name, GROUPS):
                version = {"groupVersion": name, "version": name.split("/")[1]}
                groups.append({"name": name.split("/")[0], "versions": [version], "preferredVersion": version})
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        group = re.fullmatch(r"/apis?/([a-z0-9./]+)", path)
        if group and group[1] in GROUPS:
            resources = [
                {"name": name, "singularName": kind.lower(), "namespaced": True, "kind": kind, "verbs": ["create", "get"]}
                for kind, name in GROUPS[group[1]].items()
            ]
            return {"kind": "APIResourceList", "groupVersion": group[1], "resources": resources}
        return None

    def configuration(self):
        """A kubeconfig."""
        cluster = {"server": f"http://127.0.0.1:{self.server.server_port}"}
        return json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "users": [{"name": "test", "user": {}}],
        })

    def close(self):
        self.server.shutdown()
        self.server.server_close()
