"""How the real binary looks up names, with a name server of its own, in network and mount namespaces of its own.

usage: unshare --net --mount python3 names.py HERALD

Names that no server answers beside one that is answered, lost packets, files, a changed configuration. Prints what does not
hold, and exits with 1 then.
"""

import http.client
import http.server
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

FOLDER = tempfile.TemporaryDirectory()
problems = []


def check(holds, what):
    if not holds:
        problems.append(what)


class NameServer:
    """Responds by the labels of the name: to `silent` never, to `lossy` with every second question, to `failing` with
    SERVFAIL, to `none` with NXDOMAIN, to `long` only over TCP, after a second; all else has the address `self.address`."""

    def __init__(self, listen, address):
        self.address = address
        self.questions = {}
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((listen, 53))
        self.listener = socket.create_server((listen, 53))
        threading.Thread(target=self.run, daemon=True).start()
        threading.Thread(target=self.run_tcp, daemon=True).start()

    def run(self):
        while True:
            query, peer = self.socket.recvfrom(512)
            answer = self.answer(query, is_tcp=False)
            if answer:
                self.socket.sendto(answer, peer)

    def run_tcp(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve_tcp, args=(connection,), daemon=True).start()

    def serve_tcp(self, connection):
        with connection, connection.makefile("rb") as stream:
            while length := stream.read(2):
                answer = self.answer(stream.read(int.from_bytes(length, "big")), is_tcp=True)
                if answer:
                    # Longer than a query over UDP waits.
                    time.sleep(1)
                    connection.sendall(len(answer).to_bytes(2, "big") + answer)

    def answer(self, query, is_tcp):
        labels, end = [], 12
        while query[end]:
            labels.append(query[end + 1:end + 1 + query[end]].decode())
            end += query[end] + 1
        kind = next((label for label in labels if label in ("silent", "lossy", "failing", "none", "long")), "")
        is_v4 = query[end + 1:end + 3] == b"\0\1"
        key = (".".join(labels), is_v4)
        self.questions[key] = self.questions.get(key, 0) + 1
        if kind == "silent" or kind == "lossy" and self.questions[key] % 2:
            return None
        code = {"failing": 2, "none": 3}.get(kind, 0)
        is_truncated = kind == "long" and not is_tcp
        answer = b""
        if code == 0 and is_v4 and not is_truncated:
            answer = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(self.address)
        head = struct.pack(">HHHHH", 0x8180 + code + (0x200 if is_truncated else 0), 1, 1 if answer else 0, 0, 0)
        return query[:2] + head + query[12:end + 5] + answer


class Herald:
    def __init__(self, binary):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HERALD_")}
        self.process = subprocess.Popen(
            [binary, "serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--data", FOLDER.name + "/data"],
            stderr=subprocess.PIPE, text=True, env=environment)
        log = []
        for line in self.process.stderr:
            log.append(line)
            if '"listening"' in line:
                break
        else:
            raise SystemExit("herald did not start: " + "".join(log))
        self.port = int(json.loads(line)["address"].rsplit(":", 1)[1])
        # A log that is not read would hold the server up.
        threading.Thread(target=log.extend, args=(self.process.stderr,), daemon=True).start()

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(
            method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return json.loads(text) if text else None

    def register(self, url, type):
        return self.ask("POST", "/v1/delegates", {"url": url, "events": [type], "retry_schedule": [600]})["id"]

    def first_attempt(self, delegate):
        """Waits for it, however busy the machine is."""
        for _ in range(600):
            attempts = self.ask("GET", f"/v1/delegates/{delegate}/attempts")["data"]
            if attempts:
                return attempts[-1]
            time.sleep(0.1)
        return {"outcome": "none in a minute"}


def receiver():
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def mount(path, text):
    """Replaces a file of the system within this namespace."""
    own = FOLDER.name + "/" + os.path.basename(path)
    with open(own, "w") as file:
        file.write(text)
    subprocess.run(["mount", "--bind", own, path], check=True)
    return own


def main():
    binary = sys.argv[1]
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    configuration = mount("/etc/resolv.conf", "nameserver 127.0.0.1\nsearch corp.test\n")
    mount("/etc/hosts", "127.0.0.1 localhost in-the-file\n")
    NameServer("127.0.0.1", "127.0.0.1")
    port = receiver()
    herald = Herald(binary)
    try:
        # Far more than wait for a thread of the system's resolver.
        for number in range(100):
            herald.register(f"http://h{number}.silent.test:{port}/", "silent")
        herald.ask("POST", "/v1/events", {"type": "silent", "data": {}})
        expected = {"good.test": "succeeded", "a.lossy.test": "succeeded", "a.long.test": "succeeded",
                    "in-the-file": "succeeded", "localhost": "succeeded", "short": "succeeded",
                    "a.failing.test": "failed", "a.none.test": "failed"}
        delegates = {name: herald.register(f"http://{name}:{port}/", "all") for name in expected}
        herald.ask("POST", "/v1/events", {"type": "all", "data": {}})
        for name, outcome in expected.items():
            attempt = herald.first_attempt(delegates[name])
            check(attempt["outcome"] == outcome, f"{name}: {attempt}")
            if outcome == "failed":
                check(attempt.get("error") == "name_not_resolved", f"{name}: {attempt}")
        # Another name server.
        NameServer("127.0.0.2", "127.0.0.1")
        with open(configuration, "w") as file:
            file.write("nameserver 127.0.0.2\n")
        moved = herald.register(f"http://moved.test:{port}/", "moved")
        herald.ask("POST", "/v1/events", {"type": "moved", "data": {}})
        attempt = herald.first_attempt(moved)
        check(attempt["outcome"] == "succeeded", f"after a change of resolv.conf: {attempt}")
    finally:
        herald.process.terminate()
        herald.process.wait(timeout=60)
    for problem in problems:
        print(problem)
    raise SystemExit(1 if problems else 0)


main()
