"""Signs in to the dashboard and out again, in headless Chromium, against a server that needs a key.

usage: signin.py SERVER KEY

Exits 0 when all holds; else the traceback says what does not.
"""

import json
import sys
import urllib.error
import urllib.request

from browser import PATIENCE, Browser


def nothing_is_shown_without_a_key(page):
    page.open("#/delegates")
    page.see("Access key")
    assert page.focused() == "access-key"
    assert "No webhooks yet" not in page.text("body")
    page.check_accessibility()


def a_wrong_key_is_refused(page):
    page.fill("access-key", "hrld_of_somebody_else", enter=True)
    page.see("This key is unknown")
    assert page.attribute("#access-key", "aria-invalid") == "true"
    page.check_accessibility()


def the_right_one_opens_the_page_that_was_asked_for(page):
    page.fill("access-key", page.key, enter=True)
    page.see("No webhooks yet")
    page.wait(lambda: page.find("#sign-out").is_displayed())
    page.check_accessibility()
    # No script can read it, and the key is nowhere.
    assert page.script("return document.cookie") == ""
    assert page.script("return JSON.stringify(localStorage) + JSON.stringify(sessionStorage)").count("hrld_") == 0


def a_delegate_is_registered_by_the_session(page):
    page.keys("n")
    page.fill("field-url", "http://127.0.0.1:9/orders")
    page.click("Register")
    page.see("This is shown once.")
    page.click("Go to the delegate")
    page.see("Rotate secret")


def who_signs_out_is_out(page):
    page.open("#/events")
    page.see("No events yet")
    assert '-H "Authorization: Bearer $HERALD_KEY"' in page.text("pre")
    page.tap("#sign-out")
    page.see("Access key")
    assert page.script("return fetch('/v1/delegates').then(answer => answer.status)") == 401


def ask(page, path, body, method="POST", app="default"):
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + page.key, "Herald-App": app}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(page.server + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{method} {path}: {error.read().decode()}") from error


def a_reader_sees_nothing_that_it_may_not_do(page):
    made = ask(page, "/v1/delegates", {"url": "http://127.0.0.1:9/readers"})["id"]
    event = ask(page, "/v1/events", {"type": "read.only"})["id"]
    key = ask(page, "/v1/keys", {"name": "reader", "scopes": ["read"]})["key"]
    page.fill("access-key", key, enter=True)
    page.see("Events")
    # The metrics are for readers of the app default, the list of nodes is not.
    page.open("#/")
    page.wait(lambda: page.all(".charts .line"))
    for place, words in {"": "Event flow", "delegates": "127.0.0.1:9", "events": "read.only", "events/" + event: "Deliveries",
                         "deliveries?state=exhausted": "No delivery", "state": "App state", "delegates/" + made: "Given up"}.items():
        page.open("#/" + place)
        page.see(words)
        shown = page.texts("main button, main a.button, dialog button, nav a")
        for forbidden in ("New delegate", "Publish", "Publish an event", "Redeliver", "Redeliver to all", "Redeliver all", "Test", "Pause events",
                          "Rotate secret", "Remove", "Save", "Resume", "Probe now"):
            assert forbidden not in shown, f"{forbidden} at {place}"
        page.check_accessibility()
    page.escape()
    page.wait(lambda: not page.all("dialog"))
    page.keys("n")
    assert page.hash() == "#/delegates"
    page.tap("#sign-out")
    page.see("Access key")
    for path in ("/v1/delegates/" + made,):
        ask(page, path, None, "DELETE")


def a_link_opens_the_dashboard_of_its_app(page):
    ask(page, "/v1/apps", {"name": "shop"})
    link = ask(page, "/v1/portal-links", {"app": "shop", "expires_in": 600})["url"]
    page.open("about:blank")
    page.open(page.server + link)
    # The delegate of the app default is not theirs.
    page.see("No webhooks yet")
    page.open("#/delegates")
    page.see("No webhooks yet")
    assert "portal" not in page.script("return location.href")
    # A link has no scope for publishing, and its user has no key.
    assert "Publish" not in page.text("nav") and "New delegate" in page.text("main")
    assert "curl" not in page.text("main")
    page.tap("#sign-out")
    page.see("Access key")


def a_link_does_not_replace_a_session_unasked(page):
    link = ask(page, "/v1/portal-links", {"app": "shop", "expires_in": 600})["url"]
    page.script(f"return fetch('/v1/session', {{method: 'POST', headers: {{'Content-Type': 'application/json'}}, body: JSON.stringify({{key: '{page.key}'}})}}).then(answer => answer.status)")
    for button, app in (("no", "default"), ("yes", "shop")):
        page.open("about:blank")
        page.open(page.server + link)
        page.see("This link opens the dashboard of the app shop")
        page.see("You are signed in to the app default")
        page.tap(f"dialog.ask button[value={button}]")
        page.see("Events")
        # The page behind the dialog has the word "Events", too.
        current = "return fetch('/v1/session').then(answer => answer.json()).then(session => session.app)"
        page.wait(lambda expected=app: page.script(current) == expected)
    page.tap("#sign-out")
    page.see("Open this page with a new link.")


def a_link_that_has_ended_opens_nothing(page):
    page.open("about:blank")
    page.open(page.server + "/#/portal/of-nobody")
    page.see("This link has expired")
    page.see("Open this page with a new link.")
    # Its user has no key.
    assert not page.all("#access-key")
    # A new link in the same tab differs in the fragment only: the browser loads nothing by itself.
    link = page.server + ask(page, "/v1/portal-links", {"app": "shop", "expires_in": 600})["url"]
    page.open(link.split("#")[0] + "#/portal/of-nobody")
    page.see("Open this page with a new link.")
    page.open(link)
    page.see("No webhooks yet")
    assert "portal/" not in page.hash()


if __name__ == "__main__":
    with Browser(sys.argv[1]) as browser:
        browser.key = sys.argv[2]
        for step in (
            nothing_is_shown_without_a_key, a_wrong_key_is_refused, the_right_one_opens_the_page_that_was_asked_for,
            a_delegate_is_registered_by_the_session, who_signs_out_is_out,
            a_reader_sees_nothing_that_it_may_not_do, a_link_opens_the_dashboard_of_its_app,
            a_link_does_not_replace_a_session_unasked, a_link_that_has_ended_opens_nothing,
        ):
            print(step.__name__.replace("_", " "), flush=True)
            step(browser)
