"""Starts Herald with the settings of a pod, as far as a machine can have them: the files of its volumes are in a temporary folder,
the port is a free one, and a database is a data folder."""
import http.client
import os
import re
import secrets
import signal
import subprocess
import tempfile
import base64
import json

POD_IP = "10.244.0.7"


def run_pods(expect, name, binary, pod):
    container = pod["containers"][0]
    with tempfile.TemporaryDirectory() as folder:
        mounts = {}
        for mount in container["volumeMounts"]:
            mounts[mount["mountPath"]] = os.path.join(folder, mount["name"])
            os.mkdir(mounts[mount["mountPath"]])
        keys = {"admin-key": secrets.token_hex(24), "master-key": base64.b64encode(secrets.token_bytes(32)).decode()}
        for item in next(each for each in pod["volumes"] if each["name"] == "secret")["secret"]["items"]:
            path = os.path.join(mounts["/run/secrets/herald"], item["path"])
            with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o400), "w", encoding="ascii") as file:
                file.write(keys[item["path"]] + "\n")
        environment = {"PATH": os.environ["PATH"]}
        for variable in container["env"]:
            # The database itself is that of other tests.
            if "value" in variable:
                value = variable["value"].replace("$(POD_IP)", POD_IP)
                for path, real in mounts.items():
                    value = value.replace(path, real) if value.startswith(path + "/") else value
                environment[variable["name"]] = value
        environment["HERALD_LISTEN"] = environment["HERALD_LISTEN"].replace(":8080", ":0")
        environment.setdefault("HERALD_DATA", mounts["/data"] + "/herald")
        server = subprocess.Popen([binary, *container["args"]], env=environment, cwd=folder, stderr=subprocess.PIPE, text=True)
        try:
            lines = []
            port = None
            for line in server.stderr:
                lines.append(line)
                if found := re.search(r'"address":"[^"]*:(\d+)"', line):
                    port = int(found[1])
                    break
            expect(f"{name}: a server with the settings of the pod listens", True, port is not None or "".join(lines))
            if port is None:
                return
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                # As Kubelet does it: the host is the address.
                expect(f"{name}: {probe} gets 200", 200, status(port, container[probe]["httpGet"]["path"], {"Host": f"{POD_IP}:{port}"}))
            # As Prometheus does it.
            expect(f"{name}: /metrics is served at the address of the pod", 200, status(
                port, "/metrics", {"Host": f"{POD_IP}:{port}", "Authorization": "Bearer " + keys["admin-key"]}))
            host = {"Host": "herald.example.com"}
            expect(f"{name}: the key of the Secret is required, and valid", (401, 200), (
                status(port, "/v1/keys", host), status(port, "/v1/keys", {**host, "Authorization": "Bearer " + keys["admin-key"]})))
            server.send_signal(signal.SIGTERM)
            expect(f"{name}: it ends within the time of the pod", 0, server.wait(pod["terminationGracePeriodSeconds"]))
        finally:
            server.kill()
            server.wait()
            server.stderr.close()


def status(port, path, headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers=headers)
    result = connection.getresponse().status
    connection.close()
    return result
