"""Hostile data in every field and on every page, in headless Chromium: it is shown as text, and the layout holds.

usage: hostile.py SERVER RECEIVER    RECEIVER responds with the body of the request below /echo, and with 503

Exits 0 when all holds; else the traceback says what does not.
"""

import re
import sys

from browser import Browser, call

MARKUP = '<img src=x onerror=alert(1)><script>alert(2)</script>"\'`${1}'
# An override of the direction, an isolate, characters that are empty or without width, right to left, and combining ones.
DIRECTIONS = "\u202e\u2066\u3164\u115f\u2800\u05d0\u05d1\u05d2 \u200b\ufeff\u0301\u0301\u0301\U0001f469\u200d\U0001f4bb"
CONTROLS = "\u0001\u0007\u001b[31m\u007f\u0085"
LONG = "W" * 10_000
# None of them reaches the page: each is shown by its code.
HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\u3164\u115f\u2800\u200b\ufeff]")
SIZES = ((360, "light"), (390, "dark"), (1280, "light"), (1280, "dark"))


def text(length, *, controls=False):
    """All of them, in so many characters."""
    return (MARKUP + DIRECTIONS + (CONTROLS if controls else "") + LONG)[:length]


def send(page, method, path, body):
    return call(page.server, method, path, body)


def prepare(page):
    """Every field that takes a free text has it."""
    app = send(page, "POST", "/v1/apps", {"name": "w" * 64, "portal": {"title": text(64), "color": "#0b5cad"}})["id"]
    made = [send(page, "POST", "/v1/delegates", {
        "url": f"{page.receiver}/echo/{number}/" + "w" * 1900, "events": ["*"], "subjects": ["*"], "description": text(256), "retry_schedule": [],
        "metadata": {"w" * 40: text(256), "tier\u202e\u3164": "gold"}, "headers": {"X-" + "W" * 40: "w" * 500}, "filter": {"data": {"note": [{"anything-but": [text(200)]}]}},
    })["id"] for number in range(3)]
    send(page, "PUT", "/v1/event-types/" + "w" * 64, {"description": text(2048), "example": {text(120, controls=True): text(4000, controls=True)},
                                                 "schema": {"description": text(4000, controls=True)}})
    event = send(page, "POST", "/v1/events", {"type": "w" * 64, "subject": text(200), "data": {"note": "a", text(120, controls=True): [text(10_000, controls=True)]}})["id"]
    send(page, "POST", "/v1/events", {"type": "auth.logged_in", "data": {"user": {"id": text(100), "name": text(10_000, controls=True)}}})
    send(page, "PUT", "/v1/app-state", {"state": {text(120, controls=True): text(5000, controls=True)}})
    send(page, "PUT", "/v1/app-state", {"state": text(10_000, controls=True)})
    page.wait(lambda: call(page.server, "GET", "/v1/deliveries/counts")["deliveries"] >= 3)
    return app, made, event


def hostile_data_is_text(page):
    _, made, event = prepare(page)
    page.open("#/")
    page.see("given up")
    places = ["", "delegates", "delegates/new", "delegates/" + made[0], "events", "events/" + event, "deliveries", "deliveries?state=exhausted&delegate=" + made[0],
              "deliveries?subject=" + "w" * 200, "types", "types/" + "w" * 64, "state", "state?user=" + "w" * 100, "post", "post?type=" + "w" * 64, "server", "server/apps",
              "server/changes", "server/storage"]
    page.check_fit(places, SIZES)
    for place in places:
        page.open("#/" + place)
        page.wait(lambda: len(page.text("main")) > 60)
        assert page.script("return document.querySelectorAll('main img, dialog img, main script, dialog script').length") == 0, place
        shown = page.script("return document.body.innerText + [...document.querySelectorAll('[title], [aria-label]')].map((each) => each.title + each.ariaLabel).join()")
        assert not HIDDEN.search(shown), (place, HIDDEN.search(shown))
    page.open("#/events/" + event)
    page.wait(lambda: "onerror=alert(1)" in page.text("pre.body") and "W" * 5000 in page.text("pre.body").replace("\n", ""))
    page.tap(".tale summary")
    page.open("#/delegates/" + made[0])
    page.wait(lambda: "onerror=alert(1)" in page.text("dialog h2"))
    assert "‹U+202E›‹U+2066›‹U+3164›‹U+115F›‹U+2800›\u05d0" in page.text("dialog h2")
    page.wait(lambda: "tier‹U+202E›‹U+3164›: gold" in page.text("tbody"))
    page.tap("dialog .attempts summary")
    # The receiver responds with what it got.
    page.wait(lambda: "onerror" in page.text("dialog .attempts pre") or page.all("dialog .attempts pre"))
    page.check_accessibility()
    page.open("#/server")
    page.click("New key")
    page.fill("field-name", MARKUP)
    page.choose("field-scopes", "admin")
    page.click("Create")
    page.wait(lambda: "onerror=alert(1)" in page.text("table.access"))
    for width, theme in SIZES:
        page.appear(width, theme)
        assert page.script("return document.documentElement.scrollWidth <= innerWidth"), width
        page.check_accessibility()
    errors = [line for line in page.console() if "status of 4" not in line]
    assert errors == [], errors
    # An alert would have stopped the driver at the next command.
    assert page.script("return document.title").endswith("Herald")


if __name__ == "__main__":
    with Browser(sys.argv[1], sys.argv[2]) as browser:
        hostile_data_is_text(browser)
