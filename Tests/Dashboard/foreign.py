"""What a page on another address can do to a Herald, in headless Chromium.

usage: foreign.py HERALD    the program `herald`

Exits 0 when all holds; else the traceback says what does not.
"""

import json
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from browser import PATIENCE, Browser, call

# Other sites, and another port of the same one. Only the first may be named.
NAMED = "http://localhost:{}"
STRANGERS = ("http://127.0.0.2:{}", "http://127.0.0.1:{}")

ATTEMPT = """
const [method, path, options, done] = arguments;
fetch(path, { method, ...options }).then(
    async answer => done({ status: answer.status, type: answer.type, text: await answer.text(), id: answer.headers.get("Request-Id") }),
    error => done({ error: String(error) }));
"""


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<!doctype html><title>elsewhere</title><p>elsewhere<iframe name=sink></iframe>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def attempt(page, method, path, **options):
    return page.driver.execute_async_script(ATTEMPT, method, page.server + path, options)


def form(page, path):
    """The oldest way: a form, whose answer goes into a frame."""
    page.driver.execute_script("""
        const form = Object.assign(document.createElement("form"), { method: "post", action: arguments[0], target: "sink" });
        document.body.append(form);
        form.submit();""", page.server + path)


def is_refused(page, act):
    """What needs no preflight request is sent; the page is not told what came of it, but the server counts it."""
    def refusals():
        with urllib.request.urlopen(page.server + "/metrics", timeout=PATIENCE) as answer:
            return int(re.search(r'herald_http_responses_total{class="4xx"} (\d+)', answer.read().decode())[1])
    before = refusals()
    act()
    page.wait(lambda: refusals() > before)


def a_stranger_changes_and_reads_nothing(page, delegate, event):
    before = call(page.server, "GET", "/v1/delegates/" + delegate)
    for path in (f"/v1/delegates/{delegate}/pause", f"/v1/delegates/{delegate}/test", f"/v1/delegates/{delegate}/secret/rotate",
                 f"/v1/deliveries/cancel?delegate={delegate}", f"/v1/events/{event}/redeliver"):
        is_refused(page, lambda: attempt(page, "POST", path, mode="no-cors"))
        is_refused(page, lambda: form(page, path))
    assert "error" in attempt(page, "POST", "/v1/events", mode="cors", body='{"type": "a.b"}', headers={"Content-Type": "application/json"})
    assert "error" in attempt(page, "DELETE", "/v1/delegates/" + delegate, mode="cors")
    assert "error" in attempt(page, "GET", "/v1/events", mode="cors")
    assert call(page.server, "GET", "/v1/delegates/" + delegate) == before
    assert call(page.server, "GET", "/v1/audit")["data"][0]["action"] == "POST /v1/delegates"


def a_named_page_uses_the_api(page, delegate):
    posted = attempt(page, "POST", "/v1/events", mode="cors", body='{"type": "page.posted"}',
                     headers={"Content-Type": "application/json", "Idempotency-Key": "one", "Authorization": "Bearer whatever"})
    assert posted["status"] == 202 and "evt_" in posted["text"] and posted["id"].startswith("req_"), posted
    assert attempt(page, "POST", f"/v1/delegates/{delegate}/pause", mode="cors")["status"] == 200
    assert attempt(page, "POST", "/v1/events", mode="cors", body="{}", headers={"Content-Type": "application/json"})["status"] == 422
    assert "page.posted" in attempt(page, "GET", "/v1/events", mode="cors")["text"]
    assert attempt(page, "DELETE", "/v1/delegates/" + delegate, mode="cors")["status"] == 204


def serve(program, folder, *arguments):
    process = subprocess.Popen(
        [program, "serve", "--listen", "127.0.0.1:0", "--data", folder, "--log-format", "json", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        entry = json.loads(line)
        if entry["message"] == "listening":
            return process, entry["address"]
    raise AssertionError("herald did not start")


if __name__ == "__main__":
    pages = ThreadingHTTPServer(("0.0.0.0", 0), Page)
    port = pages.server_address[1]
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        herald, server = serve(sys.argv[1], folder, "--cors-origins", NAMED.format(port))
        try:
            with Browser(server) as browser:
                delegate = call(server, "POST", "/v1/delegates", {"url": "http://127.0.0.1:9/", "events": ["never.*"]})["id"]
                event = call(server, "POST", "/v1/events", {"type": "order.paid"})["id"]
                for origin in STRANGERS:
                    browser.open(origin.format(port) + "/")
                    browser.see("elsewhere")
                    print("a stranger changes and reads nothing: " + origin, flush=True)
                    a_stranger_changes_and_reads_nothing(browser, delegate, event)
                browser.open(NAMED.format(port) + "/")
                browser.see("elsewhere")
                print("a named page uses the api", flush=True)
                a_named_page_uses_the_api(browser, delegate)
        finally:
            herald.kill()
            herald.wait()
