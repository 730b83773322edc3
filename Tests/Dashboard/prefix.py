"""Uses the dashboard below a path of a proxy in headless Chromium, without --public-url and with it.

usage: prefix.py HERALD    the program `herald`

Exits 0 when all holds; else the traceback says what does not.
"""

import http.client
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request

from browser import PATIENCE, Browser

PREFIX = "/herald"
KEY = "the-key-of-this-test-0123"
HOPS = {"connection", "transfer-encoding", "content-length", "keep-alive"}


def proxy():
    """A proxy that removes a prefix from paths, and responds with 404 outside of it.

    The second value takes the server; the third one a status, with which the API is refused, or None.
    """
    host = refusal = None

    def pass_on_to(server):
        nonlocal host
        host = urllib.parse.urlsplit(server).netloc

    def refuse(status):
        nonlocal refusal
        refusal = status

    class Handler(http.server.BaseHTTPRequestHandler):
        def forward(self):
            if not self.path.startswith(PREFIX + "/"):
                return self.send_error(404)
            if refusal and self.path.startswith(PREFIX + "/v1/"):
                return self.send_error(refusal)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            upstream = http.client.HTTPConnection(host, timeout=PATIENCE)
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
    return f"http://127.0.0.1:{listener.server_port}{PREFIX}", pass_on_to, refuse


def serve(program, folder, *arguments):
    process = subprocess.Popen(
        [program, "serve", "--listen", "127.0.0.1:0", "--data", folder, "--log-format", "json", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "HERALD_ADMIN_KEY": KEY})
    for line in process.stdout:
        entry = json.loads(line)
        if entry["message"] == "listening":
            return process, entry["address"]
    raise AssertionError("herald did not start")


def ask(url, body=None):
    headers = {"Authorization": "Bearer " + KEY, "Content-Type": "application/json"}
    return urllib.request.urlopen(urllib.request.Request(url, body and json.dumps(body).encode(), headers), timeout=PATIENCE)


def every_page_works(page):
    page.open("#/")
    page.see("Access key")
    page.fill("access-key", KEY, enter=True)
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


def the_tail_is_live(page):
    page.keys("ge")
    page.see("auth.logged_in")
    page.script("fetch('v1/events', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{\"type\": \"live.one\"}'})")
    page.see("live.one")
    assert page.console() == [], page.console()


def a_proxy_without_its_server_is_a_lost_connection(page):
    page.keys("go")
    page.see("Event flow")
    for status in (502, 503, 504):
        page.refuse(status)
        page.see("The connection to the server is lost.")
        page.refuse(None)
        page.wait(lambda: "is lost" not in page.text("#notice"))
        assert "Event flow" in page.text("main") and "responded with status" not in page.text("main")


def links_lead_below_the_prefix(page):
    with ask(page.server + "/v1/apps", {"name": "shop"}) as made:
        location = made.headers["Location"]
    assert location.startswith(page.server + "/v1/apps/"), location
    with ask(location) as app:
        assert app.status == 200 and json.loads(app.read())["name"] == "shop"
    with ask(page.server + "/v1/event-types?limit=1") as first:
        assert first.headers["Link"] is None
    for name in ("a", "b"):
        ask(page.server + "/v1/keys", {"name": name, "scopes": ["read", "admin"]}).close()
    with ask(page.server + "/v1/keys?limit=1") as first:
        after = first.headers["Link"]
    assert after.startswith("<" + page.server + "/v1/keys?") and after.endswith('>; rel="next"'), after
    with ask(after[1:after.index(">")]) as second:
        assert json.loads(second.read())["data"][0]["name"] == "a"
    with ask(page.server + "/openapi.json") as description:
        assert [each["url"] for each in json.loads(description.read())["servers"]] == [page.server]


def a_portal_link_opens_the_dashboard(page):
    with ask(page.server + "/v1/portal-links", {"app": "shop", "expires_in": 600}) as made:
        link = json.loads(made.read())["url"]
    assert link.startswith(page.server + "/?portal=app_") and "#/portal/" in link, link
    page.driver.delete_all_cookies()
    page.open("about:blank")
    page.refuse(502)
    page.open(link)
    page.see("The server can't be reached.")
    assert page.hash().startswith("#/portal/")
    # The page opens the link by itself when the server is back.
    page.refuse(None)
    page.see("No webhooks yet")
    assert page.hash() == "#/"
    assert page.script("return fetch('v1/session').then(answer => answer.json()).then(session => session.app)") == "shop"
    cookies = page.driver.execute_cdp_cmd("Network.getAllCookies", {})["cookies"]
    assert [(each["name"], each["path"], each["secure"]) for each in cookies] == [("herald_session", PREFIX, False)], cookies
    page.tap("#sign-out")
    page.see("Open this page with a new link.")
    assert page.driver.execute_cdp_cmd("Network.getAllCookies", {})["cookies"] == []


def an_event_source_reads_without_a_key(page):
    with ask(page.server + "/v1/stream-tokens", {"events": "order.*", "expires_in": 60}) as made:
        url = json.loads(made.read())["url"]
    assert url.startswith(page.server + "/v1/events/stream?events=order."), url
    page.script(f"""window.got = []; window.orders = new EventSource({json.dumps(url)});
        orders.addEventListener("ready", () => got.push("ready"));
        orders.onmessage = each => got.push(JSON.parse(each.data).type);""")
    page.wait(lambda: "ready" in page.script("return got"))
    for kind in ("user.created", "order.paid"):
        ask(page.server + "/v1/events", {"type": kind}).close()
    page.wait(lambda: "order.paid" in page.script("return got"))
    assert "user.created" not in page.script("return got")


def use(program, steps, with_public_url):
    url, pass_on_to, refuse = proxy()
    with tempfile.TemporaryDirectory() as folder:
        herald, server = serve(program, folder, *(["--public-url", url + "/"] if with_public_url else []))
        pass_on_to(server)
        try:
            with Browser(url) as browser:
                browser.refuse = refuse
                for step in steps:
                    print(step.__name__.replace("_", " "), "with --public-url" if with_public_url else "", flush=True)
                    step(browser)
        finally:
            herald.kill()
            herald.wait()


if __name__ == "__main__":
    use(sys.argv[1], (every_page_works, the_tail_is_live, a_proxy_without_its_server_is_a_lost_connection), False)
    use(sys.argv[1], (every_page_works, the_tail_is_live, links_lead_below_the_prefix, a_portal_link_opens_the_dashboard,
                      an_event_source_reads_without_a_key), True)
