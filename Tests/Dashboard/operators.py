"""Drives the pages of operators in headless Chromium: event types, keys, apps, changes and storage, on a server without keys.

usage: operators.py SERVER

Exits 0 when all holds; else the traceback says what does not.
"""

import sys

from browser import Browser, call

HOSTILE = "<img src=x onerror=alert(1)>"


def an_event_type_is_described(page):
    page.open("#/types")
    page.see("No event type is described yet")
    page.check_accessibility()
    page.click("Describe a type")
    page.fill("field-example", '{"amount":')
    page.click("Save")
    page.wait(lambda: "is required" in page.text("#error-type"))
    page.fill("field-type", "order.paid")
    page.click("Save")
    page.wait(lambda: "Line 1" in page.text("#error-example"))
    assert page.focused() == "field-example"
    page.check_accessibility()
    page.fill("field-description", HOSTILE)
    # A number that a browser's parser would round.
    page.fill("field-example", '{"amount": 12.50, "id": 9007199254740993}')
    page.fill("field-schema", '{"type": "object", "required": ["total"]}')
    page.click("Save")
    page.wait(lambda: page.text("#error-example") or page.text("dialog .error"))
    page.fill("field-schema", '{"type": "object", "required": ["amount"]}')
    page.choose("field-check", "enforce")
    page.click("Save")
    page.wait(lambda: page.hash() == "#/types/order.paid")
    page.see(HOSTILE)
    page.see("9007199254740993")
    page.see("12.50")
    page.see("Data is refused if it does not match.")
    page.check_accessibility()
    # A new description replaces no other one.
    page.open("#/types")
    page.click("Describe a type")
    page.fill("field-type", "order.paid")
    page.click("Save")
    page.wait(lambda: page.text("dialog .error").strip())
    page.click("Cancel")
    assert call(page.server, "GET", "/v1/event-types/order.paid")["description"] == HOSTILE


def its_example_is_published(page):
    call(page.server, "POST", "/v1/delegates", {"url": "http://127.0.0.1:9/", "events": ["order.*"]})
    call(page.server, "POST", "/v1/delegates", {"url": "http://127.0.0.1:9/other", "events": ["user.*"]})
    page.open("#/types")
    page.click("order.paid")
    page.see("1 delegate would receive it, 1 other would not")
    page.open("#/post")
    page.choose("described", "order.paid")
    page.wait(lambda: "9007199254740993" in page.script("return document.getElementById('event')?.value ?? ''"))
    page.open("#/types/order.paid")
    page.click("Publish the example")
    page.wait(lambda: "9007199254740993" in page.script("return document.getElementById('event')?.value ?? ''"))
    page.click("Publish")
    page.wait(lambda: page.hash().startswith("#/events/evt_"))
    page.see("9007199254740993")


def it_is_explained_who_did_not_get_it(page):
    page.click("Why did a delegate not get it?")
    page.fill("why", "/other", enter=True)
    page.see("/events: none of its patterns matches the type")
    page.fill("why", "127.0.0.1:9", enter=True)
    page.wait(lambda: len(page.all("details .changes li")) == 2 and "matching" in page.text("details .changes"))
    page.check_accessibility()


def it_is_changed_and_forgotten(page):
    page.open("#/types/order.paid")
    page.click("Edit")
    page.choose("field-check", "off")
    # Somebody else has changed it in the meantime.
    call(page.server, "PUT", "/v1/event-types/order.paid", {"description": "Other"})
    page.click("Save")
    page.wait(lambda: page.text("dialog .error"))
    page.click("Cancel")
    page.wait(lambda: "Other" in page.text("main"))
    page.click("Edit")
    page.fill("field-description", "Paid in full")
    page.click("Save")
    # The form is closed by then.
    page.wait(lambda: page.texts("body > #notice") == ["Saved."])
    page.see("Paid in full")
    page.click("Delete the description")
    page.press("dialog.ask", "Delete")
    page.wait(lambda: page.hash() == "#/types")
    page.see("No event type is described yet")
    page.open("#/types/order.paid")
    page.see("This event type has no description.")


def an_app_is_made_limited_and_opened(page):
    page.open("#/server/apps")
    page.see("default")
    page.click("New app")
    page.fill("field-name", "Not A Name")
    page.fill("field-events_per_second", "many")
    page.click("Create")
    page.wait(lambda: page.text("#error-name") and page.text("#error-events_per_second"))
    page.check_accessibility()
    page.fill("field-name", "shop")
    page.fill("field-events_per_second", "50")
    page.click("Create")
    page.wait(lambda: not page.all("dialog"))
    page.see("50 events/s")
    page.check_accessibility()
    page.press("table.apps tbody tr:first-child", "Dashboard link")
    page.see("The dashboard of shop")
    assert "#/portal/" in page.text(".secret pre")
    page.press("table.apps tbody tr:first-child", "Edit")
    page.fill("field-events_per_second", "")
    page.fill("field-max_delegates", "3")
    page.click("Save")
    page.see("3 delegates")
    assert call(page.server, "GET", "/v1/apps/shop")["events_per_second"] is None
    # The list does not show it, and may be older.
    call(page.server, "PATCH", "/v1/apps/shop", {"portal": {"title": "The shop"}})
    page.press("table.apps tbody tr:first-child", "Edit")
    page.wait(lambda: page.attribute("#field-portal-title", "value") == "The shop")
    # Nor does the form undo what has changed since it was opened.
    call(page.server, "PATCH", "/v1/apps/shop", {"portal": {"title": "Another"}})
    page.click("Save")
    page.wait(lambda: page.text("dialog .error").strip())
    page.click("Cancel")
    page.wait(lambda: not page.all("dialog"))
    assert call(page.server, "GET", "/v1/apps/shop")["portal"]["title"] == "Another"


def all_pages_show_another_app(page):
    def publish():
        page.script("""return fetch("v1/events", {method: "POST", headers: {"Content-Type": "application/json", "Herald-App": "shop"}, body: '{"type": "shop.opened"}'})""")
    page.script("""return fetch("v1/delegates", {method: "POST", headers: {"Content-Type": "application/json", "Herald-App": "shop"},
        body: '{"url": "http://127.0.0.1:9/shop", "retry_schedule": [], "description": "Of the shop"}'})""")
    publish()
    page.open("#/")
    page.wait(lambda: "App: shop 1 delivery given up" in " ".join(page.text("main").split()))
    page.check_accessibility()
    page.click("Show")
    page.wait(lambda: page.attribute("#acting", "value") == "shop" and "1 delivery given up" in page.texts("h3"))
    # Also after the page was loaded again.
    page.driver.refresh()
    page.wait(lambda: page.attribute("#acting", "value") == "shop" and "1 delivery given up" in page.texts("h3"))
    page.keys("ge")
    page.wait(lambda: page.texts("tbody td:nth-child(2)").count("shop.opened") == 1)
    publish()
    page.wait(lambda: page.texts("tbody td:nth-child(2)").count("shop.opened") == 2)
    page.keys("gd")
    page.see("Of the shop")
    page.choose("acting", "default")
    page.see("/other")
    assert "Of the shop" not in page.text("main")


def the_first_key_signs_this_page_in(page):
    page.keys("gk")
    page.see("There is no key")
    page.check_accessibility()
    page.click("New key")
    page.fill("field-name", "The shop")
    page.click("Create")
    page.wait(lambda: "admin" in page.text("dialog .error"))
    page.fill("field-name", HOSTILE)
    page.choose("field-scopes", "admin")
    page.click("Create")
    page.see("This is shown once.")
    key = page.text(".secret pre")
    assert key.startswith("hrld_"), key
    page.wait(lambda: HOSTILE in page.text("table.access"))
    page.check_accessibility()
    assert page.script("return fetch('v1/keys', {credentials: 'omit'}).then((response) => response.status)") == 401


def keys_are_rotated_and_revoked(page):
    page.click("New key")
    page.fill("field-name", "Publisher")
    page.click("Create")
    page.see("Publisher")
    page.wait(lambda: len(page.all("table.access tbody tr")) == 2)
    assert page.texts("table.access tbody tr td:nth-child(4)") == ["never", "never"]
    page.press("table.access tbody tr:first-child", "Rotate")
    page.see("It was never used.")
    page.press("dialog.ask", "Rotate")
    page.wait(lambda: len(page.all("table.access tbody tr")) == 3)
    page.press("table.access tbody tr:first-child", "Revoke")
    page.press("dialog.ask", "Revoke")
    page.wait(lambda: len(page.all("table.access tbody tr")) == 2)
    # The last one that allows everything stays.
    page.press("table.access tbody tr:last-child", "Revoke")
    page.press("dialog.ask", "Revoke")
    page.wait(lambda: "admin" in page.text("#notice"))
    assert len(page.all("table.access tbody tr")) == 2


def an_app_has_keys_of_its_own(page):
    page.choose("app", "shop")
    page.see("This app has no key.")
    page.click("New key")
    page.fill("field-name", "Of the shop")
    page.choose("field-expires_at", "90")
    page.click("Create")
    page.wait(lambda: "in 90 d" in page.text("table.access"))
    page.press("table.access tbody tr:first-child", "Rotate")
    page.press("dialog.ask", "Rotate")
    page.wait(lambda: len(page.all("table.access tbody tr")) == 2)
    page.check_accessibility()


def changes_say_who_and_what(page):
    page.open("#/server/changes")
    page.wait(lambda: len(page.all("table.audit tbody tr")) > 5)
    text = page.text("table.audit")
    assert "POST /v1/keys/{id}/rotate" in text and "POST /v1/apps" in text, text
    assert HOSTILE in text and "anyone" in text, text
    page.check_accessibility()


def storage_is_shown(page):
    page.open("#/server/storage")
    page.see("Write-ahead log")
    page.see("Last commit")
    page.check_accessibility()


def the_pages_fit(page):
    page.open("#/server/apps")
    page.check_fit(
        ("types", "server", "server/apps", "server/changes", "server/storage"), ((360, "light"), (390, "dark"), (1280, "dark")))


def every_app_is_offered(page):
    """Also those beyond the first page of the list, on which `default` is the last."""
    each = "return (async () => { for (let number = 0; number < 200; number += 1) await fetch(%s); })()"
    page.script(each % """"v1/apps", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({name: "more-" + number})}""")
    page.open("#/server")
    page.wait(lambda: page.attribute("#app", "value") == "default")
    page.wait(lambda: {"App: default", "App: shop", "App: more-199"} <= set(page.script("return [...document.querySelectorAll('#acting option')].map((each) => each.text)")))
    only_a_few_of_them_are_read_at_a_time(page)
    page.script(each % """"v1/apps/more-" + number, {method: "DELETE"}""")


def only_a_few_of_them_are_read_at_a_time(page):
    """The overview continues with the next ones 20 seconds later."""
    def starts(path):
        return page.script("return performance.getEntriesByType('resource').filter((each) => each.name.includes('%s')).map((each) => each.startTime)" % path)

    page.open("about:blank")
    page.open("#/")
    page.wait(lambda: len(starts("/counts?state=retrying")) >= 4)
    found = starts("/delegates?limit=200&kind=webhook&status=")
    assert 0 < len([each for each in found if each < found[0] + 15_000]) <= 10, found


def an_app_is_deleted(page):
    page.open("#/server/apps")
    page.wait(lambda: len(page.all("table.apps tbody tr")) == 2)
    page.press("table.apps tbody tr:first-child", "Delete")
    page.press("dialog.ask", "Delete")
    page.wait(lambda: len(page.all("table.apps tbody tr")) == 1)


def nothing_went_wrong_meanwhile(page):
    assert page.script("return document.querySelectorAll('main img').length") == 0
    errors = [line for line in page.console() if "status of 4" not in line]
    assert errors == [], errors


if __name__ == "__main__":
    with Browser(sys.argv[1]) as browser:
        for step in (
            an_event_type_is_described, its_example_is_published, it_is_explained_who_did_not_get_it, it_is_changed_and_forgotten, an_app_is_made_limited_and_opened,
            all_pages_show_another_app, the_first_key_signs_this_page_in, keys_are_rotated_and_revoked, an_app_has_keys_of_its_own, changes_say_who_and_what, storage_is_shown,
            the_pages_fit, every_app_is_offered, an_app_is_deleted, nothing_went_wrong_meanwhile,
        ):
            print(step.__name__.replace("_", " "), flush=True)
            step(browser)
