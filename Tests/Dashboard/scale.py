"""The dashboard of a large server in headless Chromium: no page lacks anything, and each is usable soon after the click.

usage: scale.py HERALD [EVENTS DELEGATES EXHAUSTED [SECONDS]]

Fills a server and opens each page. The issue of the dashboard states 1000000 10000 100000 1; the tests use a small server.
With SECONDS, a page that is usable later than that is an error: the tests leave it out, since it depends on the machine.

Exits 0 when all holds; else the traceback says what does not.
"""

import contextlib
import http.client
import json
import sqlite3
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

from browser import PATIENCE, Browser
from processes import receiving, serving

SHOPS = 300
TYPES = ["order.paid", "order.shipped", "order.returned", "user.created", "user.changed", "invoice.sent"]


class Client:
    """One connection, since many requests follow one another."""

    def __init__(self, server):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(server).netloc, timeout=PATIENCE)

    def send(self, method, path, body=None):
        while True:
            self.connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
            answer = self.connection.getresponse()
            text = answer.read()
            if answer.status not in (429, 503):
                assert answer.status < 300, (method, path, answer.status, text)
                return json.loads(text or b"null")
            time.sleep(0.2)


def fill(server, receiver, events, delegates, rounds):
    """Each delegate refuses one event, and matches no other.

    Returns the ids of the delegates, and of the events that each of them will have lost.
    """
    client = Client(server)
    ids = set()
    for number in range(delegates):
        made = client.send("POST", "/v1/delegates", {
            "url": f"{receiver}/status/400/{number}", "events": ["lost.event", f"shop.s{number % SHOPS}"], "retry_schedule": [],
            "description": f"Shop {number}", "metadata": {"tier": "gold" if number % 7 == 0 else "silver"}})
        ids.add(made["id"])
    print(f"{delegates} delegates", flush=True)
    if rounds > 1:
        client.send("POST", "/v1/events", [{"type": "lost.other", "subject": f"lost:{number}", "data": {"number": number}} for number in range(1, rounds)])
    client.send("POST", "/v1/events", {"type": "lost.event", "subject": "lost:0", "data": {"number": 0}})
    lost = {each["subject"]: each["id"] for each in client.send("GET", "/v1/events?type=lost.*&limit=200")["data"]}
    assert len(lost) == rounds, (len(lost), rounds)
    while client.send("GET", "/v1/deliveries/counts?limit=1")["deliveries"] < delegates:
        time.sleep(0.2)
    for start in range(0, events, 500):
        client.send("POST", "/v1/events", [
            {"type": TYPES[number % len(TYPES)], "subject": f"order:{number}",
             "data": {"number": number, "amount": number % 977, "note": "as ordered by the customer"}}
            for number in range(start, min(events, start + 500))])
    print(f"{events} events", flush=True)
    return ids, lost


def multiply(folder):
    """Each delegate has lost the other events in the same way. Herald itself would need minutes: it stops calling a receiver that always fails."""
    with contextlib.closing(sqlite3.connect(Path(folder) / "herald.db")) as store:
        columns = [name for _, name, *_ in store.execute("PRAGMA table_info(attempts)") if name not in ("id", "event", "previous")]
        for (event,) in store.execute("SELECT sequence FROM events WHERE type = 'lost.other' ORDER BY sequence").fetchall():
            store.execute(f"""INSERT INTO attempts (id, event, previous, {", ".join(columns)})
                SELECT (SELECT max(id) FROM attempts) + row_number() OVER (ORDER BY id), {event}, id, {", ".join(columns)} FROM attempts
                WHERE id IN (SELECT max(id) FROM attempts GROUP BY delegate)""")
            store.execute(f"INSERT INTO waiting SELECT delegate, {event}, attempts, due_at, state, is_replay, uncounted FROM waiting WHERE event = (SELECT sequence FROM events WHERE type = 'lost.event')")
        store.execute("INSERT OR REPLACE INTO attempt_heads SELECT delegate, max(id) FROM attempts GROUP BY delegate")
        store.commit()


# From the click until the page shows its content, and a frame after that: the browser has time for the next click.
OPEN = """
const [place, selector, words, done] = arguments;
const start = performance.now();
location.hash = place;
function look() {
    const found = [...document.querySelectorAll(selector)].some((each) => each.innerText.includes(words));
    if (found) return requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
    if (performance.now() - start > 20000) return done(null);
    setTimeout(look, 5);
}
look();
"""


def opened(page, name, place, selector, words, limit):
    """The median of three visits."""
    times = []
    for _ in range(3):
        page.driver.execute_script("location.hash = '#/server/storage'")
        page.wait(lambda: "Write-ahead log" in page.text("main"))
        found = page.driver.execute_async_script(OPEN, place, selector, words)
        assert found is not None, f"{name} does not show {words!r}:\n{page.text('body')}"
        times.append(found)
    median = sorted(times)[1]
    print(f"{name}: {median:.0f} ms, of {[round(each) for each in times]}", flush=True)
    return [] if limit is None or median <= 1000 * limit else [f"{name}: {median:.0f} ms"]


def first(client, path):
    """The first entry of a search, which the server makes in parts."""
    cursor = ""
    while True:
        answer = client.send("GET", path + (cursor and "&cursor=" + urllib.parse.quote(cursor)))
        if answer["data"]:
            return answer["data"][0]["id"]
        cursor = answer["next_cursor"]


def pages(server, delegates, lost):
    """Each page with what it must show, by name."""
    client = Client(server)
    newest = first(client, "/v1/events?limit=1&type=order.*,user.*,invoice.*")
    broadcast = first(client, "/v1/events?type=lost.event&limit=1")
    oldest = first(client, "/v1/delegates?search=Shop+0&limit=1")
    every = f"{delegates:,}"
    return [
        ("overview", "#/", "h3", f"{lost:,} deliveries given up"),
        ("overview, flow", "#/", ".fanout", "Shop"),
        ("delegates", "#/delegates", "tbody tr", "Shop"),
        ("delegate", "#/delegates/" + oldest, "dialog .attempts", "HTTP 400"),
        ("events", "#/events", "tbody tr", "order"),
        ("events of a type", "#/events?type=order.paid,user.*", "tbody tr", "order.paid"),
        # The search reads the whole log: the page says so, and can be used.
        ("events of a subject", "#/events?subject=order:1", ".list p, .list tr", ""),
        ("events by id", "#/events?id=" + newest[:-4], "tbody tr", "order"),
        ("events with an outcome", "#/events?delivery=exhausted", "tbody tr", "lost.event"),
        ("event", "#/events/" + newest, ".body", "as ordered"),
        ("event to all", "#/events/" + broadcast, ".story", every + " exhausted"),
        ("deliveries", "#/deliveries", "tbody tr", "exhausted"),
        ("deliveries, counted", "#/deliveries?state=exhausted", "main p", f"{lost:,} exhausted"),
        ("deliveries of a delegate", "#/deliveries?state=exhausted&delegate=" + oldest, "tbody tr", "HTTP 400"),
        ("deliveries with an error", "#/deliveries?state=exhausted&error=4xx", "tbody tr", "HTTP 400"),
        ("event types", "#/types", "tbody tr", "order.paid"),
        ("state", "#/state", "main", "No app state yet"),
        ("publish", "#/post", "main", "Publish"),
        ("keys", "#/server", "main", "There is no key"),
        ("apps", "#/server/apps", "tbody tr", "default"),
        ("changes", "#/server/changes", "tbody tr", "POST"),
        ("storage", "#/server/storage", "main", "Write-ahead log"),
    ]


# Presses the button below a list until it has gone, and returns the keys of the links.
WHOLE = """
const [words, done] = arguments;
const button = () => [...document.querySelectorAll("main .list button")].find((each) => each.innerText === words);
const rows = () => document.querySelectorAll("main .list tbody tr").length;
const pause = () => new Promise((resolve) => setTimeout(resolve, 10));
(async () => {
    let presses = 0;
    for (let next = button(); next; next = button()) {
        const before = rows();
        next.click();
        presses += 1;
        const end = performance.now() + 60000;
        while (rows() === before && button() && performance.now() < end) await pause();
        if (performance.now() >= end) break;
    }
    done([presses, [...document.querySelectorAll("main .list tbody a[data-key]")].map((each) => each.dataset.key)]);
})();
"""


def whole(page, place, words, row):
    """The keys of all links of a list, which may appear twice only if a row moves while it is read."""
    page.open("#/server/storage")
    page.wait(lambda: "Write-ahead log" in page.text("main"))
    page.open(place)
    page.wait(lambda: any(row in each for each in page.texts("main .list tbody tr")), place)
    presses, keys = page.driver.execute_async_script(WHOLE, words)
    return presses, keys


def nothing_is_missing(page, delegates, lost):
    """By the controls of the pages: each delegate is in the list, and each exhausted delivery in the list of its subject.

    - lost: the events by their subjects.
    """
    page.driver.set_script_timeout(900)
    # The client of the driver gives up after 120 s, and repeats the request.
    page.driver.command_executor.client_config.timeout = 960
    page.open("#/delegates")
    page.choose("kind", "webhook")
    # The list is empty while it is read again: its rows, not their absence, show that it is there.
    page.wait(lambda: page.texts("main .list tbody tr") and all("Shop" in each for each in page.texts("main .list tbody tr")))
    start = time.monotonic()
    presses, keys = page.driver.execute_async_script(WHOLE, "More delegates")
    assert sorted(keys) == sorted(delegates), (len(keys), len(delegates))
    print(f"every delegate is in the list, after {presses} presses of its button in {time.monotonic() - start:.1f} s", flush=True)
    for subject, event in lost.items():
        start = time.monotonic()
        presses, keys = whole(page, "#/deliveries?state=exhausted&subject=" + subject, "Older deliveries", subject)
        keys = [each for each in keys if each.startswith(event)]
        assert sorted(keys) == sorted(event + each for each in delegates), (subject, len(keys), len(delegates))
        print(f"{subject}: {len(keys)} exhausted deliveries, after {presses} presses in {time.monotonic() - start:.1f} s", flush=True)
    page.open("#/events?subject=order:1")
    page.wait(lambda: page.texts("tbody td:nth-child(3)") == ["order:1"])
    # The oldest delegate is on the last page, and is found.
    page.open("#/delegates")
    page.fill("search", "Shop 0")
    page.wait(lambda: page.text("tbody tr:last-child .first").startswith("Shop 0"))


def main(binary, events, delegates, exhausted, limit=None):
    rounds = max(1, exhausted // delegates)
    with tempfile.TemporaryDirectory() as folder, receiving(binary) as receiver:
        with serving(binary, folder) as server:
            ids, events_lost = fill(server, receiver, events, delegates, rounds)
        multiply(folder)
        with serving(binary, folder) as server, Browser(server) as page:
            lost = Client(server).send("GET", "/v1/deliveries/counts?limit=1")["deliveries"]
            assert lost == rounds * delegates, lost
            print(f"{lost} exhausted deliveries", flush=True)
            page.open("#/server/storage")
            late = [words for each in pages(server, delegates, lost) for words in opened(page, *each, limit)]
            nothing_is_missing(page, ids, events_lost)
            assert not late, late


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[2:5]] or [6000, 240, 480]
    main(sys.argv[1], *numbers, float(sys.argv[5]) if len(sys.argv) > 5 else None)
