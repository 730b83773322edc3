"""Sets the request recipe of delegates and previews requests in headless Chromium, by keyboard alone.

usage: recipes.py SERVER RECEIVER

Exits 0 when all holds; else the traceback says what does not.
"""

import sys

from browser import Browser, call
from tasks import Keyboard, option

SIZES = ((390, "dark"), (1280, "light"))
HOSTILE = "<img src=x onerror=alert(1)>"


def check(page):
    """Accessible and no wider than the screen, with the form open."""
    for width, theme in SIZES:
        page.appear(width, theme)
        page.check_accessibility()
        assert page.script("const drawer = document.querySelector('dialog.drawer'); return document.documentElement.scrollWidth <= innerWidth"
                           " && drawer.scrollWidth <= drawer.clientWidth"), f"too wide at {width}: {page.widest()}"


def choose(page, keyboard, name, words):
    keyboard.choose(name, option(page, name, words))


def shown(page):
    """The request of the preview: its first part, and the body."""
    return [page.text("[role=status] .code:nth-of-type(1) pre"), page.text("[role=status] .code:nth-of-type(2) pre")]


def new(page):
    page.open("#/delegates")
    page.wait(lambda: not page.all("dialog"))
    page.open("#/delegates/new")


def a_preset_is_chosen_and_previewed(page, keyboard):
    keyboard.shortcut("n")
    keyboard.fill("field-url", page.receiver + "/slack", enter=False)
    keyboard.press("Request and preview")
    choose(page, keyboard, "field-request", "Slack")
    keyboard.press("Preview")
    page.wait(lambda: "*example.happened*" in shown(page)[1])
    assert shown(page)[0].startswith(f"POST {page.receiver}/slack\n"), shown(page)
    assert "content-type: application/json" in shown(page)[0]
    check(page)


def its_text_is_changed(page, keyboard):
    keyboard.fill("field-request-message", "{{ data.user", enter=False)
    keyboard.press("Preview")
    page.wait(lambda: page.focused() == "field-request-message" or "/request/body/text" in page.text("[role=status]"))
    page.see("The request can't be made.")
    check(page)
    # The form shows it at the field.
    keyboard.press("Register")
    page.wait(lambda: "/request/body/text" in page.text("#error-request-message"))
    assert page.attribute("#field-request-message", "aria-invalid") == "true"
    page.wait(lambda: page.focused() == "field-request-message")
    check(page)
    keyboard.fill("field-request-message", HOSTILE + " {{ type }}", enter=False)
    keyboard.press("Preview")
    page.wait(lambda: HOSTILE + " example.happened" in shown(page)[1])
    keyboard.press("Register")
    page.see("This is shown once.")


def its_fields_belong_to_other_settings(page, keyboard):
    new(page)
    keyboard.fill("field-url", page.receiver + "/pagerduty", enter=False)
    keyboard.press("Request and preview")
    choose(page, keyboard, "field-request", "PagerDuty")
    keyboard.fill("field-request-routing_key", "R0123", enter=False)
    keyboard.press("Preview")
    page.wait(lambda: '"routing_key": "R0123"' in shown(page)[1])
    # Fields of the former preset are gone.
    choose(page, keyboard, "field-request", "Cloudflare Queues")
    keyboard.fill("field-request-token", "top-secret", enter=False)
    keyboard.press("Preview")
    page.wait(lambda: "authorization: ***" in shown(page)[0])
    assert "top-secret" not in page.text("body")
    choose(page, keyboard, "field-request", "PagerDuty")
    keyboard.fill("field-request-routing_key", "R0456", enter=False)
    keyboard.press("Register")
    page.see("This is shown once.")
    made = next(each for each in call(page.server, "GET", "/v1/delegates")["data"] if each["url"].endswith("/pagerduty"))
    assert made["metadata"] == {"routing_key": "R0456"} and made["header_names"] == [], made
    page.pagerduty = made["id"]


def missing_fields_are_named(page, keyboard):
    new(page)
    keyboard.fill("field-url", page.receiver + "/queue", enter=False)
    keyboard.press("Request and preview")
    choose(page, keyboard, "field-request", "Amazon SQS")
    keyboard.press("Preview")
    page.wait(lambda: "/request/auth/aws/region" in page.text("[role=status]"))
    keyboard.press("Register")
    page.wait(lambda: page.text("#error-request-region") and page.text("#error-request-key_id"))
    check(page)
    keyboard.fill("field-request-region", "eu-central-1", enter=False)
    keyboard.fill("field-request-key_id", "AKIA0123456789ABCDEF", enter=False)
    keyboard.fill("field-request-secret", "top-secret", enter=False)
    keyboard.press("Preview")
    page.wait(lambda: shown(page)[1].startswith("Action=SendMessage&"))
    assert "top-secret" not in page.text("body")
    keyboard.press("Register")
    page.see("This is shown once.")


def a_recipe_of_ones_own_is_written(page, keyboard):
    new(page)
    keyboard.fill("field-url", page.receiver + "/own", enter=False)
    keyboard.press("Request and preview")
    choose(page, keyboard, "field-request", "A recipe of your own")
    keyboard.fill("field-recipe", '{"body":', enter=False)
    keyboard.press("Preview")
    page.wait(lambda: "Line 1" in page.text("#error-recipe"))
    page.wait(lambda: page.focused() == "field-recipe")
    check(page)
    # A number that the browser's parser would round.
    keyboard.fill("field-recipe", '{"method": "PUT", "path": "/{{ type }}", "body": {"n": 9007199254740993, "all": "{{ data }}"}}', enter=False)
    choose(page, keyboard, "preview-of", "A published event")
    page.wait(lambda: page.attribute("#preview-name", "value") == page.event)
    keyboard.press("Preview")
    page.wait(lambda: shown(page)[0].startswith(f"PUT {page.receiver}/own/order.paid\n"))
    assert "9007199254740993" in shown(page)[1] and '"amount": 8202522731445525542' in shown(page)[1], shown(page)
    choose(page, keyboard, "preview-of", "The example of a type")
    page.wait(lambda: page.attribute("#preview-name", "value") == "order.paid")
    keyboard.press("Preview")
    page.wait(lambda: '"amount": 7' in shown(page)[1])
    keyboard.fill("preview-name", "none such", enter=False)
    keyboard.press("Preview")
    page.see("The request can't be made.")
    check(page)
    keyboard.press("Register")
    page.see("This is shown once.")
    made = next(each for each in call(page.server, "GET", "/v1/delegates")["data"] if each["url"].endswith("/own"))
    assert made["request"]["method"] == "PUT", made
    page.own = made["id"]


def the_recipe_of_a_delegate_is_changed(page, keyboard):
    page.open("#/delegates/" + page.own)
    keyboard.press("Settings")
    keyboard.press("Request and preview")
    page.wait(lambda: page.attribute("#field-request", "value") == "own")
    text = page.attribute("#field-recipe", "value")
    assert '"n": 9007199254740993' in text, text
    # Nothing was changed: no filter, no recipe.
    keyboard.press("Save")
    page.see("Nothing was changed.")
    # A member that is removed from the text is removed.
    keyboard.fill("field-recipe", '{"body": {"t": "{{ type }}"}}', enter=False)
    keyboard.press("Preview")
    page.wait(lambda: shown(page)[0].startswith(f"POST {page.receiver}/own\n") and '"t": "example.happened"' in shown(page)[1])
    assert call(page.server, "GET", "/v1/delegates/" + page.own)["request"]["method"] == "PUT"
    keyboard.press("Save")
    page.see("Saved.")
    changed = call(page.server, "GET", "/v1/delegates/" + page.own)["request"]
    assert changed == {"body": {"t": "{{ type }}"}}, changed
    choose(page, keyboard, "field-request", "Discord")
    keyboard.press("Save")
    page.wait(lambda: "embeds" in str(call(page.server, "GET", "/v1/delegates/" + page.own)["request"]))
    page.wait(lambda: "embeds" in page.attribute("#field-recipe", "value"))
    choose(page, keyboard, "field-request", "The plain callback")
    keyboard.press("Save")
    page.wait(lambda: call(page.server, "GET", "/v1/delegates/" + page.own)["request"] is None)


def fields_of_a_preset_are_added_to_those_of_a_delegate(page, keyboard):
    page.open("#/delegates/" + page.pagerduty)
    keyboard.press("Settings")
    keyboard.press("Request and preview")
    choose(page, keyboard, "field-request", "PagerDuty")
    keyboard.fill("field-request-routing_key", "R0789", enter=False)
    keyboard.press("Save")
    page.wait(lambda: call(page.server, "GET", "/v1/delegates/" + page.pagerduty)["metadata"] == {"routing_key": "R0789"})


def nothing_went_wrong(page, _):
    assert page.script("return document.querySelectorAll('dialog img, main img').length") == 0
    errors = [line for line in page.console() if "status of 4" not in line]
    assert errors == [], errors


if __name__ == "__main__":
    with Browser(sys.argv[1], sys.argv[2]) as browser:
        from browser import Raw
        call(browser.server, "PUT", "/v1/event-types/order.paid", {"example": {"amount": 7}})
        browser.event = call(browser.server, "POST", "/v1/events", Raw('{"type": "order.paid", "data": {"amount": 8202522731445525542}}'))["id"]
        browser.open("#/delegates")
        browser.see("No webhooks yet")
        for step in (
            a_preset_is_chosen_and_previewed, its_text_is_changed, its_fields_belong_to_other_settings, missing_fields_are_named,
            a_recipe_of_ones_own_is_written, the_recipe_of_a_delegate_is_changed, fields_of_a_preset_are_added_to_those_of_a_delegate, nothing_went_wrong,
        ):
            print(step.__name__.replace("_", " "), flush=True)
            browser.driver.execute_script("document.activeElement.blur()")
            step(browser, Keyboard(browser))
