"""Drives what is live on the dashboard in headless Chromium, while the server is restarted.

usage: healing.py HERALD RECEIVER    the program `herald`; RECEIVER answers 204

Exits 0 when all holds; else the traceback says what does not.
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from browser import Browser, call


class Server:
    """`herald serve`, which may be killed and comes again at the same address."""

    def __init__(self, program, folder):
        self.program, self.folder, self.address = program, folder, "127.0.0.1:0"

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "serve", "--listen", self.address, "--data", self.folder, "--log-format", "json"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            entry = json.loads(line)
            if entry["message"] == "listening":
                self.address = entry["address"].removeprefix("http://")
                return entry["address"]
        raise AssertionError("herald did not start")

    def kill(self, by=signal.SIGKILL):
        self.process.send_signal(by)
        self.process.wait()


def post(page, kind, **fields):
    return call(page.server, "POST", "/v1/events", {"type": kind} | fields)["id"]


def streams(page):
    return call(page.server, "GET", "/v1/delegates?kind=stream")["data"]


def the_tail_is_live(page):
    page.open("#/events")
    page.see("No events yet")
    page.wait(lambda: [each["log"] for each in streams(page)] == ["events"])
    post(page, "first.of_all")
    page.see("first.of_all")
    for number in range(60):
        post(page, "filler.event", data=number)
    page.wait(lambda: len(page.all("tbody tr")) == 61)
    page.script("scrollTo(0, 500)")
    before = page.script("return scrollY")
    post(page, "while.reading")
    page.see("1 new")
    assert "while.reading" not in page.text("tbody") and page.script("return scrollY") == before
    page.click("1 new")
    page.wait(lambda: "while.reading" in page.text("tbody") and page.script("return scrollY") == 0)


def a_restart_is_said_once_and_heals(page, server):
    page.script("""
        window.said = [];
        new MutationObserver(() => window.said.push(document.getElementById('notice').textContent))
            .observe(document.getElementById('notice'), { childList: true })""")
    server.kill()
    page.see("The connection to the server is lost.")
    # Longer than other messages.
    time.sleep(6)
    assert "The connection to the server is lost." in page.text("#notice"), page.text("body")
    page.check_accessibility()
    server.start()
    post(page, "after.restart")
    page.wait(lambda: "after.restart" in page.text("tbody"))
    page.wait(lambda: "Connected again." in page.script("return window.said"))
    page.wait(lambda: page.text("#notice") == "")
    rows = [row.split()[1] for row in page.texts("tbody tr")]
    assert rows[:3] == ["after.restart", "while.reading", "filler.event"] and len(rows) == 63, rows
    said = [words for words in page.script("return window.said") if words]
    assert said == ["The connection to the server is lost. Trying again.", "Connected again."], said


def a_page_that_cannot_load_loads_when_the_server_is_back(page, server):
    """The first time, the browser has no code of the page; the second time, it has no content."""
    for place, refusal, words in (("deliveries", "This page can't be loaded.", "No delivery waits or has failed."),
                                  ("deliveries?state=exhausted", "The server can't be reached.", "No delivery matches.")):
        server.kill()
        page.see("The connection to the server is lost.")
        page.script(f"location.hash = '#/{place}'")
        page.wait(lambda refusal=refusal: refusal in page.text("main") and page.texts("h1") == ["Deliveries"])
        page.see("The connection to the server is lost.")
        page.check_accessibility()
        server.start()
        page.wait(lambda words=words: words in page.text("main") and page.texts("h1") == ["Deliveries"])
        page.wait(lambda: page.text("#notice") == "")


def a_server_that_starts_is_not_reached_yet(page):
    """Then a page that could not be loaded is not loaded again: the browser would show the response as a document."""
    page.script("""
        const real = window.fetch;
        window.said = [];
        addEventListener('reached', ({ detail }) => window.said.push(detail));
        window.fetch = (...given) => {
            window.fetch = real;
            return Promise.resolve(new Response('{"type":"/problems/starting","status":503}', { status: 503, headers: { 'Content-Type': 'application/problem+json' } }));
        };
        location.hash = '#/types';""")
    page.wait(lambda: page.script("return window.said.includes(true)"))
    assert page.script("return window.said[0]") is False


def only_what_is_looked_at_is_followed(page):
    page.open("#/events?type=live.*&subject=a")
    page.see("No event matches.")
    page.wait(lambda: len(streams(page)) == 1 and streams(page)[0]["events"] == ["live.*"])
    post(page, "live.other", subject="b")
    post(page, "live.wanted", subject="a")
    page.wait(lambda: "live.wanted" in page.text("tbody"))
    assert "live.other" not in page.text("tbody")
    page.open("#/post")
    page.wait(lambda: streams(page) == [])


def the_story_goes_on_by_itself(page):
    delegate = call(page.server, "POST", "/v1/delegates", {"url": page.receiver, "events": ["story.*"]})["id"]
    event = post(page, "story.told")
    page.open("#/events/" + event)
    page.wait(lambda: len(page.all("circle.mark.good")) == 1)
    page.wait(lambda: [each["log"] for each in streams(page)] == ["attempts"])
    # Asked for by somebody else.
    call(page.server, "POST", f"/v1/events/{event}/redeliver", {})
    page.wait(lambda: len(page.all("circle.mark.good")) == 2)
    page.open("#/delegates/" + delegate)
    page.wait(lambda: len(page.all("dialog .attempts > li")) == 2)
    page.wait(lambda: [each["log"] for each in streams(page)] == ["attempts"])
    post(page, "story.again")
    page.wait(lambda: len(page.all("dialog .attempts > li")) == 3)
    page.escape()
    page.wait(lambda: streams(page) == [])


def the_state_follows_at_once(page):
    page.open("#/state")
    page.wait(lambda: len(streams(page)) == 1)
    call(page.server, "PUT", "/v1/app-state", {"state": "running"})
    page.wait(lambda: page.text(".large") == "running")
    post(page, "auth.logged_in", data={"user": {"id": 7}})
    page.wait(lambda: "logged in" in page.text(".changes"))
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    page.wait(lambda: streams(page) == [])
    call(page.server, "PUT", "/v1/app-state", {"state": "paused"})
    post(page, "auth.logged_in", data={"user": {"id": "while-hidden"}})
    page.driver.close()
    page.driver.switch_to.window(first)
    page.wait(lambda: "while-hidden" in page.text(".changes") and "paused" in page.text(".strip"))


def a_hidden_page_listens_to_nothing(page):
    page.open("#/events")
    page.wait(lambda: len(streams(page)) == 1)
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    page.wait(lambda: streams(page) == [])
    post(page, "while.hidden")
    page.driver.close()
    page.driver.switch_to.window(first)
    page.wait(lambda: "while.hidden" in page.text("tbody"))
    page.wait(lambda: len(streams(page)) == 1)


def an_event_without_deliveries_says_why(page, server):
    later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
    whole, damaged = (post(page, "plan." + name, data={name: 1}, deliver_at=later) for name in ("whole", "shattered"))
    page.open("#/events/" + whole)
    page.wait(lambda: page.text(".story .calm") == "None yet.")
    page.open("about:blank")
    server.kill(signal.SIGTERM)
    database = Path(server.folder, "herald.db")
    content = database.read_bytes()
    assert b'{"shattered": 1}' in content
    database.write_bytes(content.replace(b'{"shattered": 1}', b'("shattered": 1}'))
    server.start()
    page.open("#/events/" + damaged)
    page.wait(lambda: page.text(".story .calm") == "None: the event is damaged, and is not delivered.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        server = Server(sys.argv[1], folder)
        with Browser(server.start(), sys.argv[2]) as browser:
            try:
                the_tail_is_live(browser)
                a_restart_is_said_once_and_heals(browser, server)
                a_page_that_cannot_load_loads_when_the_server_is_back(browser, server)
                a_server_that_starts_is_not_reached_yet(browser)
                only_what_is_looked_at_is_followed(browser)
                the_story_goes_on_by_itself(browser)
                the_state_follows_at_once(browser)
                a_hidden_page_listens_to_nothing(browser)
                an_event_without_deliveries_says_why(browser, server)
            finally:
                server.kill()
