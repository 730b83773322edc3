"""Shows in headless Chromium that no refusal ends an EventSource for good: while the server starts, with as many streams as it may
have, and at the rate limit of a key.

usage: eventsource.py HERALD    the program `herald`

Exits 0 when all holds; else the traceback says what does not.
"""

import http.client
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from browser import PATIENCE, Browser

KEY = "the-key-of-this-test-0123"
CONNECTING, OPEN, CLOSED = 0, 1, 2


class Server:
    """`herald serve`, which comes again at the same address, with other arguments."""

    def __init__(self, program):
        self.program, self.address = program, "127.0.0.1:0"

    def start(self, *arguments, descriptors=None, waits=True, **environment):
        limit = descriptors and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)))
        self.process = subprocess.Popen(
            [self.program, "serve", "--listen", self.address, "--log-format", "json", *arguments], preexec_fn=limit,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment})
        if not waits:
            return
        for line in self.process.stdout:
            entry = json.loads(line)
            if entry["message"] == "listening":
                self.address = entry["address"].removeprefix("http://")
                return
        raise AssertionError("herald did not start")

    @property
    def url(self):
        return "http://" + self.address

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def status(self, path, **headers):
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE)
        try:
            connection.request("GET", path, headers=headers)
            return connection.getresponse().status
        except OSError:
            return None
        finally:
            connection.close()


def listen(page):
    page.script("""
        window.errors = 0;
        window.source = new EventSource('/v1/events/stream');
        source.onerror = () => window.errors++""")


def state(page):
    return page.script("return [source.readyState, errors]")


def put_off(page, times):
    """Further requests of the page were refused, and it still tries."""
    before = state(page)[1]
    page.wait(lambda: state(page)[0] == CLOSED or state(page)[1] >= before + times, "refusals")
    assert state(page)[0] != CLOSED, "the stream has ended for good"


def connected(page):
    page.wait(lambda: state(page)[0] == OPEN, "the stream is open")


def while_the_server_starts(page, server, folder):
    page.open(server.url + "/healthz")
    listen(page)
    connected(page)
    server.kill()
    # A database that takes connections and never says a word.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server.start("--store", f"postgres://herald@127.0.0.1:{silent.getsockname()[1]}/herald", waits=False)
        page.wait(lambda: server.status("/readyz") == 503, "the server starts")
        put_off(page, 2)
        assert server.status("/readyz") == 503
        assert server.status("/v1/events/stream") == 503
        server.kill()
    server.start("--data", folder)
    connected(page)
    server.kill()


def with_as_many_streams_as_there_may_be(page, server, folder):
    server.start("--data", folder, "--threads", "1", descriptors=64)
    page.open(server.url + "/healthz")
    others = []
    while True:
        host, port = server.address.rsplit(":", 1)
        others.append(socket.create_connection((host, int(port)), 20))
        others[-1].sendall(b"GET /v1/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        if b" 200 " not in others[-1].recv(100):
            break
        assert len(others) < 64
    listen(page)
    put_off(page, 2)
    for other in others:
        other.close()
    connected(page)
    server.kill()


def at_a_rate_limit(page, server, folder):
    server.start("--data", folder, HERALD_ADMIN_KEY=KEY)
    connection = http.client.HTTPConnection(server.address, timeout=PATIENCE)
    connection.request(
        "POST", "/v1/keys", json.dumps({"name": "slow", "scopes": ["read"], "requests_per_second": 1}),
        {"Authorization": "Bearer " + KEY, "Content-Type": "application/json"})
    key = json.load(connection.getresponse())["key"]
    page.open(server.url + "/healthz")
    signed_in = page.driver.execute_async_script("""
        const done = arguments[1];
        fetch('/v1/session', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ key: arguments[0] }) })
            .then(answer => done(answer.status), error => done(String(error)))""", key)
    assert signed_in in (200, 201, 204), signed_in
    is_over = threading.Event()

    def use_it_up():
        while not is_over.is_set():
            server.status("/v1/events", Authorization="Bearer " + key)
            time.sleep(0.005)

    user = threading.Thread(target=use_it_up)
    user.start()
    try:
        while True:
            listen(page)
            page.wait(lambda: state(page)[0] != CONNECTING or state(page)[1] > 0, "a response to the stream")
            if state(page)[1] > 0:
                break
            # It was within the rate, because the other client was slow.
            page.script("source.close()")
        assert state(page)[0] != CLOSED, "the stream has ended for good"
    finally:
        is_over.set()
        user.join()
    connected(page)
    server.kill()


if __name__ == "__main__":
    server = Server(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        server.start("--data", folder + "/one")
        try:
            with Browser(server.url) as browser:
                while_the_server_starts(browser, server, folder + "/one")
                with_as_many_streams_as_there_may_be(browser, server, folder + "/two")
                at_a_rate_limit(browser, server, folder + "/three")
        finally:
            server.kill()
