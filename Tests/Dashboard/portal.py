"""The dashboard as an app shows it to its own users, in headless Chromium: its appearance, its language, and frames in other pages.

usage: portal.py SERVER KEY

Exits 0 when all holds; else the traceback says what does not.
"""

import base64
import struct
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from browser import Browser
from signin import ask

SIZES = ((360, "light"), (360, "dark"), (1280, "light"), (1280, "dark"))


def picture():
    """A PNG of four by four points."""
    def part(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    rows = b"".join(b"\0" + b"\x0b\x5c\xad" * 4 for _ in range(4))
    png = b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0)) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(png).decode()


class Elsewhere:
    """A page of another origin with a frame."""

    def __init__(self):
        outer = self
        self.frame = ""

        class Page(BaseHTTPRequestHandler):
            def do_GET(self):
                body = f'<!doctype html><title>elsewhere</title><iframe width=1200 height=800 src="{outer.frame}"></iframe>'.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.origin = f"http://127.0.0.1:{self.server.server_port}"


def link(page, app="shop"):
    return page.server + ask(page, "/v1/portal-links", {"app": app, "expires_in": 600})["url"]


def an_app_is_dressed(page, elsewhere):
    page.open("#/server/apps")
    page.fill("access-key", page.key, enter=True)
    page.see("default")
    page.click("New app")
    page.fill("field-name", "shop")
    page.fill("field-portal-title", "Der Laden")
    page.fill("field-portal-color", "#eeeeee")
    page.choose("field-portal-language", "de")
    page.fill("field-portal-frame_origins", "shop.example")
    page.click("Create")
    page.wait(lambda: "contrast" in page.text("#error-portal-color") and "origin" in page.text("#error-portal-frame_origins"))
    page.check_accessibility()
    page.fill("field-portal-color", "#0b5cad")
    page.fill("field-portal-frame_origins", elsewhere.origin)
    page.click("Create")
    page.wait(lambda: not page.all("dialog"))
    page.app = "?portal=" + ask(page, "/v1/apps/shop", {"portal": {"logo": picture()}}, "PATCH")["id"]
    for type_, url in (("order.*", "http://127.0.0.1:9/orders"), ("*", "http://127.0.0.1:9/all")):
        # A text of the page is data here.
        ask(page, "/v1/delegates", {"url": url, "events": [type_], "description": "Events", "retry_schedule": []}, app="shop")
    ask(page, "/v1/event-types/order.paid", {"description": "Overview", "example": {"amount": 1}}, "PUT", app="shop")
    page.event = ask(page, "/v1/events", {"type": "order.paid", "subject": "Search", "data": {"amount": 1}}, app="shop")["id"]
    page.delegate = ask(page, "/v1/delegates", None, "GET", app="shop")["data"][0]["id"]
    page.tap("#sign-out")
    page.see("Access key")


def its_users_see_its_name_color_and_language(page, _):
    page.open("about:blank")
    page.open(link(page))
    page.wait(lambda: page.text("h1") == "Übersicht")
    assert page.texts(".brand") == ["Der Laden"] and page.script("return document.title") == "Übersicht · Der Laden"
    page.wait(lambda: page.script("return document.querySelector('.brand img').naturalWidth") == 4)
    assert page.script("return document.documentElement.lang") == "de"
    assert page.texts("nav a")[:4] == ["Übersicht", "Empfänger", "Ereignisse", "Zustellungen"]
    page.open(page.app + "#/delegates")
    page.wait(lambda: page.texts("td.first a")[:1] == ["Events"])
    assert page.script("return getComputedStyle(document.querySelector('.primary')).backgroundColor") == "rgb(11, 92, 173)"
    page.open(page.app + "#/events")
    page.wait(lambda: "Search" in page.texts("tbody td:nth-child(3)"))
    page.open(page.app + "#/types")
    page.wait(lambda: "Overview" in page.texts("tbody td:nth-child(2)"))


def no_text_of_the_pages_is_left_in_english(page, _):
    """Those that the portal shows most: each is in the table."""
    for place, words in {"": "Braucht Aufmerksamkeit", "delegates": "Neuer Empfänger", "delegates/new": "Anfrage und Vorschau", "delegates/" + page.delegate: "Aufgegeben", "events": "Jedes Ergebnis",
                         "events/" + page.event: "An alle erneut zustellen", "deliveries": "Letzter Fehler", "types": "Beschreibung", "state": "Anmeldestatus"}.items():
        page.open(page.app + "#/" + place)
        page.see(words)
        shown = page.text("main, dialog")
        for english in ("Needs attention", "Delegate", "Deliveries", "Attempts", "attempts", "ago", "Settings", "Published", "Newest", "State", "None", "delivery"):
            assert not any(english in line.split() for line in shown.splitlines()), (place, english, shown)


def what_the_server_refuses_is_said_in_its_language(page, _):
    """By the names of problems. A detail with values follows in English."""
    page.open(page.app + "#/events/evt_none")
    page.wait(lambda: "Nicht gefunden:\nThere is no event" in page.text("main"))
    page.open(page.app + "#/delegates/new")
    page.fill("field-url", "ftp://nowhere")
    page.click("Eintragen")
    page.wait(lambda: page.text("#error-url").startswith("Ungültig:\n"))
    page.fill("field-url", "http://127.0.0.1:9/chat")
    page.click("Anfrage und Vorschau")
    page.choose("field-request", "pagerduty")
    page.fill("field-request-routing_key", "R0123")
    page.click("Vorschau")
    page.wait(lambda: '"routing_key": "R0123"' in page.text("dialog"))
    page.choose("field-request", "sqs")
    page.click("Vorschau")
    page.wait(lambda: "Die Anfrage ist nicht möglich." in page.text("dialog") and "/request/auth/aws/region" in page.text("dialog"))
    page.check_accessibility()
    # Why a delegate does not get an event, by the setting.
    event = ask(page, "/v1/events", {"type": "user.created"}, app="shop")["id"]
    page.open(page.app + "#/events/" + event)
    page.click("Warum hat ein Empfänger es nicht erhalten?")
    page.fill("why", "orders", enter=True)
    page.wait(lambda: "Kein Muster passt zum Typ." in page.text("main"))
    # Why a delivery waits: the sentence of the delegate is a part of that of the delivery.
    ask(page, f"/v1/delegates/{page.delegate}/pause", None, "POST", app="shop")
    event = ask(page, "/v1/events", {"type": "order.paid"}, app="shop")["id"]
    page.open(page.app + "#/events/" + event)
    reason = "uf Wunsch angehalten; Ereignisse werden bis zum Fortsetzen aufbewahrt."
    page.wait(lambda: "Der Empfänger ist im Zustand „angehalten“: a" + reason in page.text("main"))
    page.open(page.app + "#/delegates/" + page.delegate)
    page.wait(lambda: "A" + reason in page.text("dialog"))
    ask(page, f"/v1/delegates/{page.delegate}/resume", None, "POST", app="shop")
    # The class of a failure is a word of the page, before the words of the library.
    closed = ask(page, "/v1/delegates", {"url": "http://127.0.0.1:9/closed", "events": ["never.*"], "verification": "challenge"}, app="shop")["id"]
    page.open(page.app + "#/delegates/" + closed)
    page.wait(lambda: "Die Adresse wurde nicht bestätigt: keine Verbindung: " in page.text("dialog"))
    ask(page, "/v1/delegates/" + closed, None, "DELETE", app="shop")


def its_pages_are_accessible(page, _):
    page.check_fit(("", "delegates", "delegates/new", "delegates/" + page.delegate, "events", "events/" + page.event, "deliveries", "types", "types/order.paid", "state"), SIZES,
                   page.app)


def only_pages_that_it_names_may_frame_it(page, elsewhere):
    elsewhere.frame = link(page)
    page.open(elsewhere.origin)
    page.driver.switch_to.frame(page.find("iframe"))
    page.wait(lambda: page.text("h1") == "Übersicht")
    page.driver.switch_to.default_content()
    ask(page, "/v1/apps/shop", {"portal": {"frame_origins": ["https://shop.example"]}}, "PATCH")
    for frame in (link(page), page.server + "/", page.server + "/?portal=default", link(page, "default")):
        elsewhere.frame = frame
        page.open("about:blank")
        page.open(elsewhere.origin)
        page.wait(lambda: any("frame-ancestors" in line for line in page.console()), frame)
        page.driver.switch_to.frame(page.find("iframe"))
        assert page.script("return document.querySelector('main')") is None, frame
        page.driver.switch_to.default_content()


def a_frame_does_not_show_the_session_of_a_key(page, elsewhere):
    ask(page, "/v1/apps/shop", {"portal": {"frame_origins": [elsewhere.origin]}}, "PATCH")
    page.open("about:blank")
    page.open("#/")
    page.tap("#sign-out")
    page.fill("access-key", page.key, enter=True)
    page.see("Event flow")
    elsewhere.frame = page.server + "/" + page.app + "#/server"
    page.open(elsewhere.origin)
    page.driver.switch_to.frame(page.find("iframe"))
    page.see("Open this page with a new link.")
    assert page.all("main button") == [] and "Keys" not in page.text("main")
    page.driver.switch_to.default_content()


def without_a_session_the_language_is_the_browsers(page, _):
    page.open("about:blank")
    page.open("#/")
    page.tap("#sign-out")
    page.see("Access key")
    page.driver.execute_cdp_cmd("Emulation.setUserAgentOverride", {"userAgent": page.script("return navigator.userAgent"), "acceptLanguage": "de-DE"})
    page.open("about:blank")
    page.open(page.app + "#/portal/of-nobody")
    page.see("Öffnen Sie diese Seite mit einem neuen Link.")
    page.see("Dieser Link ist abgelaufen.")
    assert page.script("return document.documentElement.lang") == "de"
    page.check_accessibility()


def operators_read_the_language_of_their_browser(page, _):
    """It is German since the step before. Data that equals a text of the pages stays as it is."""
    ask(page, "/v1/apps", {"name": "events"})
    ask(page, "/v1/keys", {"name": "Events", "scopes": ["read"]})
    ask(page, "/v1/delegates", {"url": "http://127.0.0.1:9/all", "description": "Events", "retry_schedule": []})
    ask(page, "/v1/event-types/order.paid", {"description": "Overview", "example": {"amount": 1}}, "PUT")
    event = ask(page, "/v1/events", {"type": "order.paid", "subject": "Events", "data": "Events"})["id"]
    page.open("#/")
    page.see("Zugangsschlüssel")
    page.check_accessibility()
    page.fill("access-key", page.key, enter=True)
    page.see("Fluss der Ereignisse")
    assert page.attribute("nav", "aria-label") == "Seiten"
    page.wait(lambda: "App: events" in page.script("return [...document.querySelectorAll('#acting option')].map((each) => each.text)"))
    for place, words, data, shown in (
        ("", "Ereignisse pro Sekunde", ".told .clip", "Events"), ("delegates", "Neuer Empfänger", "td.first a", "Events"), ("events", "Ereignis senden", "td:nth-child(3)", "Events"),
        ("events/" + event, "Roh", ".facts a", "Events"), ("deliveries", "Letzter Fehler", "td.first span", "Events"), ("types", "Typ beschreiben", "td:nth-child(2)", "Overview"),
        ("types/order.paid", "Das Beispiel senden", "main p.address", "Overview"), ("post", "Probelauf", None, None), ("server", "Neuer Schlüssel", "table.access .strong", "Events"),
        ("server/apps", "Neue App", "table.apps .strong", "events"), ("server/changes", "Änderung", None, None), ("server/storage", "Letzter Commit", None, None),
    ):
        page.open("#/" + place)
        page.see(words)
        if data:
            page.wait(lambda data=data, shown=shown: shown in page.texts(data), f"{shown} in {data}")
        lines = page.text("header, main").splitlines()
        for english in ("Delegate", "Deliveries", "Keys", "Key", "New", "Edit", "Never", "never", "ago", "Published", "State", "None", "Last", "Sign", "would", "Publish"):
            assert not any(english in line.split() for line in lines), (place, english, lines)
    page.open("#/server")
    page.wait(lambda: "events" in page.script("return [...document.querySelectorAll('#app option')].map((each) => each.text)"))
    page.check_fit(("", "post", "types", "server", "server/apps", "server/changes", "server/storage"), SIZES)


if __name__ == "__main__":
    with Browser(sys.argv[1]) as browser:
        browser.key = sys.argv[2]
        other = Elsewhere()
        for step in (
            an_app_is_dressed, its_users_see_its_name_color_and_language, no_text_of_the_pages_is_left_in_english, its_pages_are_accessible,
            what_the_server_refuses_is_said_in_its_language, only_pages_that_it_names_may_frame_it, a_frame_does_not_show_the_session_of_a_key,
            without_a_session_the_language_is_the_browsers, operators_read_the_language_of_their_browser,
        ):
            print(step.__name__.replace("_", " "), flush=True)
            step(browser, other)
