"""Twelve daily tasks in headless Chromium, by keyboard alone, each in four steps at most.

A step is a shortcut, a field that is filled or chosen, or a button or link that is pressed; each is reached with Tab.

usage: tasks.py SERVER RECEIVER

Exits 0 when all holds; else the traceback says what does not.
"""

import sys
import time

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from browser import PATIENCE, Browser, call

MOST_STEPS = 4
MOST_TABS = 150


class Keyboard:
    """Counts the steps of a task."""

    def __init__(self, page):
        self.page, self.steps = page, 0

    def send(self, *keys):
        # To what has the focus at this moment: the page may draw it again in between.
        ActionChains(self.page.driver).send_keys(*keys).perform()

    def shortcut(self, text):
        self.steps += 1
        self.send(text)

    def reach(self, condition, words):
        """Presses Tab until the focused element fulfills this condition, a function in JavaScript."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for _ in range(MOST_TABS):
                if self.page.script(f"return document.activeElement !== document.body && ({condition})(document.activeElement)"):
                    return
                self.send(Keys.TAB)
        raise AssertionError(f"Tab does not reach {words}:\n{self.page.text('body')}")

    def press(self, words):
        """A button, link or summary with this text or label."""
        self.steps += 1
        text = repr(words)
        self.page.wait(lambda: self.page.script(
            f"return [...document.querySelectorAll('button, a, summary')].some((each) => each.checkVisibility() && (each.innerText.trim() === {text} || each.ariaLabel === {text}))"), words)
        self.reach(f"(each) => each.matches('button, a, summary') && (each.innerText.trim() === {text} || each.ariaLabel === {text})", words)
        self.send(Keys.ENTER)

    def fill(self, name, text, enter=True):
        self.steps += 1
        self.page.find("#" + name)
        self.reach(f"(each) => each.id === '{name}'", name)
        ActionChains(self.page.driver).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).perform()
        self.send(text + (Keys.ENTER if enter else ""))

    def choose(self, name, index):
        """An option by its number, from the first one."""
        self.steps += 1
        self.page.find("#" + name)
        self.reach(f"(each) => each.id === '{name}'", name)
        self.send(Keys.HOME, *[Keys.DOWN] * index)


def option(page, name, words):
    page.find("#" + name)
    return page.script(f"return [...document.getElementById('{name}').options].findIndex((each) => each.text === '{words}')")


def states(page, event):
    return sorted(each["state"] for each in call(page.server, "GET", "/v1/events/" + event)["deliveries"])


def which_delegates_fail_and_why(page, keyboard, known):
    keyboard.shortcut("go")
    page.see("2 deliveries given up")
    page.see("last: HTTP 503")


def a_failing_delegate_is_probed(page, keyboard, known):
    keyboard.shortcut("go")
    keyboard.press("Probe now")
    page.wait(lambda: page.text("#notice"))


def all_that_failed_since_an_hour_is_sent_again(page, keyboard, known):
    keyboard.shortcut("gl")
    keyboard.choose("since", option(page, "since", "Failed in the last hour"))
    page.wait(lambda: "since=1h" in page.hash())
    keyboard.press("Redeliver all")
    keyboard.press("Redeliver")
    page.see("on the way again")


def retries_are_cancelled(page, keyboard, known):
    keyboard.shortcut("gl")
    keyboard.choose("state", option(page, "state", "retrying"))
    page.wait(lambda: "state=retrying" in page.hash())
    keyboard.press("Cancel all")
    keyboard.press("Cancel")
    page.see("cancelled")


def an_event_is_found_by_its_subject(page, keyboard, known):
    keyboard.shortcut("ge")
    keyboard.fill("subject", "order:7")
    page.wait(lambda: page.texts("table.events tbody td:nth-child(3)") == ["order:7"])


def an_event_is_found_by_its_content(page, keyboard, known):
    keyboard.shortcut("ge")
    keyboard.fill("data", '{"amount": [{"numeric": [">", 500]}]}')
    page.wait(lambda: page.texts("table.events tbody td:nth-child(3)") == ["order:9"])


def it_is_explained_who_did_not_get_an_event(page, keyboard, known):
    keyboard.shortcut("ge")
    keyboard.press("user.created")
    keyboard.press("Why did a delegate not get it?")
    keyboard.fill("why", "Orders")
    page.see("none of its patterns matches the type")


def an_event_is_sent_again_to_one_delegate(page, keyboard, known):
    keyboard.shortcut("ge")
    keyboard.press("user.created")
    page.see("All events")
    keyboard.press("Redeliver to " + known["good url"])
    page.see("1 delivery on the way again.")


def a_delegate_is_registered(page, keyboard, known):
    keyboard.shortcut("n")
    keyboard.fill("field-url", page.receiver + "/new", enter=False)
    keyboard.press("Register")
    page.see("Go to the delegate")
    keyboard.send(Keys.ESCAPE)


def a_delegate_is_paused(page, keyboard, known):
    keyboard.shortcut("gd")
    keyboard.press("Orders")
    keyboard.press("Pause")
    page.wait(lambda: call(page.server, "GET", "/v1/delegates/" + known["orders"])["status"] == "paused")
    keyboard.send(Keys.ESCAPE)


def a_secret_is_rotated(page, keyboard, known):
    keyboard.shortcut("gd")
    keyboard.press("Orders")
    keyboard.press("Rotate secret")
    keyboard.press("Rotate")
    page.see("The new secret")
    keyboard.send(Keys.ESCAPE)


def the_volume_of_an_event_type_is_read(page, keyboard, known):
    keyboard.shortcut("gt")
    page.see("Published without a description")
    page.wait(lambda: any(each.startswith("order.paid") for each in page.texts("table.types tbody tr")))


TASKS = [
    which_delegates_fail_and_why, a_failing_delegate_is_probed, all_that_failed_since_an_hour_is_sent_again, retries_are_cancelled,
    an_event_is_found_by_its_subject, an_event_is_found_by_its_content, it_is_explained_who_did_not_get_an_event,
    an_event_is_sent_again_to_one_delegate, a_delegate_is_registered, a_delegate_is_paused, a_secret_is_rotated,
    the_volume_of_an_event_type_is_read,
]


def prepare(page):
    def register(path, **settings):
        return call(page.server, "POST", "/v1/delegates", {"url": page.receiver + path, **settings})["id"]

    known = {"good url": page.receiver + "/all"}
    register("/all", description="All events")
    known["orders"] = register("/orders", events=["order.*"], description="Orders")
    register("/broken/once", events=["order.*"], retry_schedule=[], description="Given up")
    # So many in a row that it counts as failing; it is tried again in an hour.
    known["ill"] = register("/broken/later", events=["bill.*"], retry_schedule=[1, 1, 1, 3600], description="Waiting")
    for number, amount in ((7, 20), (9, 900)):
        event = call(page.server, "POST", "/v1/events", {"type": "order.paid", "subject": f"order:{number}", "data": {"amount": amount}})["id"]
        page.wait(lambda: states(page, event) == ["delivered", "delivered", "exhausted"])
    call(page.server, "POST", "/v1/events", {"type": "user.created"})

    def fail():
        call(page.server, "POST", "/v1/events", {"type": "bill.sent"})
        time.sleep(0.5)
        return call(page.server, "GET", "/v1/delegates/" + known["ill"])["status"] == "failing"

    page.wait(fail, "it is failing")
    return known


if __name__ == "__main__":
    with Browser(sys.argv[1], sys.argv[2]) as browser:
        known = prepare(browser)
        browser.open("#/")
        browser.see("Overview")
        for task in TASKS:
            print(task.__name__.replace("_", " "), flush=True)
            browser.driver.execute_script("document.activeElement.blur()")
            keyboard = Keyboard(browser)
            task(browser, keyboard, known)
            assert keyboard.steps <= MOST_STEPS, f"{task.__name__} takes {keyboard.steps} steps"
        errors = [line for line in browser.console() if "status of 4" not in line]
        assert errors == [], errors
