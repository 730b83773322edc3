"""The frames and the processor time of each page of the dashboard in headless Chromium, while events arrive.

usage: frames.py HERALD [EVENTS_PER_SECOND [FRAMES_PER_SECOND SHARE]]

The list of events is live all the time, and has the last event at the end. Frames and time depend on the machine: only with limits they are
held to them, and each page is measured for longer. A blank page is measured first. The issue of the dashboard states 500 58 0.25: SHARE is
that of a core.

Exits 0 when all holds; else the traceback says what does not.
"""

import os
import sys
import threading
import time
from pathlib import Path

from browser import Browser, call
from processes import running
from scale import Client

FRAMES = """
const [seconds, done] = arguments;
const start = performance.now();
let frames = 0;
let longest = 0;
let last = start;
function step(now) {
    frames += 1;
    longest = Math.max(longest, now - last);
    last = now;
    if (now - start < 1000 * seconds) requestAnimationFrame(step);
    else done([1000 * frames / (now - start), longest]);
}
requestAnimationFrame(step);
"""


class Load:
    """Publishes so many events per second, in twenty requests."""

    def __init__(self, server, rate):
        self.client, self.rate, self.is_over, self.sent, self.last = Client(server), rate, False, 0, None
        self.error = None
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            self.publish()
        except Exception as error:  # Raised again where the page would wait for more events.
            self.error = error

    def check(self):
        if self.error:
            raise AssertionError(f"the load ended after {self.sent} events") from self.error
        return True

    def publish(self):
        start, number = time.monotonic(), 0
        while not self.is_over:
            batch = [{"type": ["order.paid", "order.shipped", "user.created"][each % 3], "subject": f"order:{number}-{each}", "data": {"amount": each}}
                     for each in range(self.rate // 20)]
            self.client.send("POST", "/v1/events", batch)
            number += 1
            self.sent += len(batch)
            self.last = batch[-1]["subject"]
            time.sleep(max(0, start + number / 20 - time.monotonic()))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.is_over = True
        self.thread.join()


def renderers(profile):
    """The processes that draw pages of this browser: their processor time in seconds."""
    times = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            if b"--type=renderer" in command and profile.encode() in command + (folder / "environ").read_bytes():
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                times[folder.name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            pass
    return times


def measure(page, name, seconds):
    before, sent = renderers(page.profile.name), time.monotonic()
    frames, longest = page.driver.execute_async_script(FRAMES, seconds)
    after, span = renderers(page.profile.name), time.monotonic() - sent
    share = max((after[each] - before.get(each, 0)) / span for each in after)
    print(f"{name}: {frames:.1f} frames per second, the longest {longest:.0f} ms; renderer {100 * share:.0f} % of a core", flush=True)
    return name, frames, share


def main(binary, rate=500, least=None, most=None):
    with running(binary) as (server, receiver):
        for number in range(20):
            call(server, "POST", "/v1/delegates", {"url": f"{receiver}/hook/{number}", "events": [["order.*", "user.*", "*"][number % 3]]})
        call(server, "POST", "/v1/delegates", {"url": receiver + "/status/503", "events": ["user.created"], "retry_schedule": [1, 600], "description": "ill"})
        call(server, "PUT", "/v1/app-state", {"state": "idle"})
        seconds = 6 if least else 0.5
        with Browser(server) as page, Load(server, rate) as load:
            page.open("about:blank")
            measure(page, "an empty page", seconds)
            page.open("#/")
            page.see("Event flow")
            delegate = call(server, "GET", "/v1/delegates?kind=webhook&limit=1&sort=newest")["data"][0]["id"]
            event = call(server, "GET", "/v1/events?type=user.created&limit=1")["data"][0]["id"]
            found = []
            for place in ("", "delegates", "delegates/" + delegate, "events", "events?type=order.*", "events/" + event, "deliveries", "types", "state",
                          "post", "server", "server/apps", "server/changes", "server/storage"):
                page.open("#/" + place)
                page.wait(lambda: len(page.text("main")) > 60)
                if least:
                    time.sleep(2)
                found.append(measure(page, place or "overview", seconds))
            page.open("#/events?type=order.*,user.*")
            page.wait(lambda: page.all("tbody tr"))
            # Of many events in one piece the page makes the first rows only.
            page.wait(lambda: load.check() and len(page.all("tbody tr")) < 100)
            # The page opened with the latest 100, and keeps 200.
            enough = load.sent + 100
            page.wait(lambda: load.check() and load.sent >= enough)
            load.end()
            load.check()
            page.wait(lambda: page.texts("tbody tr:first-child td:nth-child(3)") == [load.last])
            # A page that could not follow for a moment has a line about that, too.
            page.wait(lambda: len(page.all("tbody tr:not(.gap)")) == 200)
            errors = [line for line in page.console() if "status of 4" not in line]
            assert errors == [], errors
            bad = [each for each in found if (least and each[1] < least) or (most and each[2] > most)]
            assert not bad, bad
            print(f"{load.sent} events", flush=True)


if __name__ == "__main__":
    numbers = [float(each) for each in sys.argv[2:]]
    main(sys.argv[1], *([int(numbers[0])] + numbers[1:] if numbers else []))
