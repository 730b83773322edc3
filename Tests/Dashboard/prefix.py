"""Uses the dashboard below a path of a proxy in headless Chromium.

usage: prefix.py SERVER KEY    SERVER needs a key

Exits 0 when all holds; else the traceback says what does not.
"""

import http.client
import http.server
import sys
import threading
import urllib.parse

from browser import Browser

PREFIX = "/herald"
HOPS = {"connection", "transfer-encoding", "content-length", "keep-alive"}


def proxy(server):
    """A proxy that removes a prefix from paths, and responds with 404 outside of it."""
    host = urllib.parse.urlsplit(server).netloc

    class Handler(http.server.BaseHTTPRequestHandler):
        def forward(self):
            if not self.path.startswith(PREFIX + "/"):
                return self.send_error(404)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            upstream = http.client.HTTPConnection(host, timeout=60)
            try:
                headers = {name: value for name, value in self.headers.items() if name.lower() not in HOPS}
                upstream.request(self.command, self.path[len(PREFIX):], body, headers)
                answer = upstream.getresponse()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in HOPS:
                        self.send_header(name, value)
                self.end_headers()
                # A stream is passed on as it comes.
                while part := answer.read1(65536):
                    self.wfile.write(part)
                    self.wfile.flush()
            except OSError:
                pass  # The browser has left.
            finally:
                upstream.close()

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward

        def log_message(self, *_):
            pass

    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{listener.server_port}{PREFIX}"


def every_page_works(page, key):
    page.open("#/")
    page.see("Access key")
    page.fill("access-key", key, enter=True)
    page.see("No webhooks yet")
    assert page.server + "/v1/delegates" in page.text("pre")
    page.keys("gp")
    page.see("Publish an event")
    page.click("Publish")
    page.wait(lambda: page.hash().startswith("#/events/evt_"))
    page.keys("ge")
    page.see("auth.logged_in")
    page.keys("gl")
    page.see("No delivery waits")
    page.keys("gd")
    page.see("Metrics: events by family")


def the_tail_is_live(page, _):
    page.keys("ge")
    page.see("auth.logged_in")
    page.script("fetch('v1/events', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{\"type\": \"live.one\"}'})")
    page.see("live.one")
    assert page.console() == [], page.console()


if __name__ == "__main__":
    with Browser(proxy(sys.argv[1])) as browser:
        for step in (every_page_works, the_tail_is_live):
            print(step.__name__.replace("_", " "), flush=True)
            step(browser, sys.argv[2])
