"""A small face of Selenium for one page, and of the API."""

import json
import tempfile
import time
import urllib.error
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

AXE = (Path(find_spec("axe_playwright_python").origin).parent / "axe.min.js").read_text()


# How long a test waits for what has to happen, in seconds: only a test that fails waits so long.
PATIENCE = 300


class Raw(str):
    """A body that is sent as it is."""


def raw(server, path):
    with urllib.request.urlopen(server + path, timeout=PATIENCE) as answer:
        return answer.read()


def call(server, method, path, body=None):
    data = None if body is None else (body if isinstance(body, Raw) else json.dumps(body)).encode()
    request = urllib.request.Request(server + path, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{method} {path}: {error.read().decode()}") from error


class Browser:
    def __init__(self, server, receiver=None):
        self.server, self.receiver = server.rstrip("/"), receiver and receiver.rstrip("/")
        self.profile = tempfile.TemporaryDirectory()
        options = webdriver.ChromeOptions()
        options.binary_location = which("chromium")
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars", "--accept-lang=en-US",
                         "--user-data-dir=" + self.profile.name):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options, Service(which("chromedriver")))
        self.driver.set_script_timeout(PATIENCE)
        self.appear(1280, "light")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()
        self.profile.cleanup()

    # How it looks

    def appear(self, width, theme, height=900):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": theme}, {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def check_accessibility(self):
        """WCAG 2.2 A and AA, and axe's best practices. The rule of 2.2 is off by default."""
        self.script("if (!window.axe) { " + AXE + "\n}")
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, { rules: { 'target-size': { enabled: true } } }).then(result => done(result.violations), error => done([{id: String(error), nodes: []}]))")
        words = [f"{each['id']}: {[node['target'] + [node.get('failureSummary')] for node in each['nodes'][:3]]}" for each in found]
        assert not words, f"{self.hash()}: " + "\n".join(words)

    def check_fit(self, places, sizes, page=""):
        """No page is wider than the screen, at each width and in each color scheme."""
        for width, theme in sizes:
            self.appear(width, theme)
            for place in places:
                self.open(page + "#/" + place)
                self.wait(lambda: len(self.text("main")) > 60)
                assert self.script("return document.documentElement.scrollWidth <= innerWidth"), f"{place} is too wide at {width}: {self.widest()}"
                self.check_accessibility()
        self.appear(1280, "light")

    def widest(self):
        """The elements that reach beyond the right edge, as a hint."""
        return self.script("return [...document.querySelectorAll('body *')].filter((each) => each.getBoundingClientRect().right > innerWidth + 1)"
                           ".slice(-5).map((each) => each.outerHTML.slice(0, 200))")

    # What it says

    def script(self, text):
        return self.driver.execute_script(text)

    def hash(self):
        return self.script("return location.hash")

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def find(self, selector):
        return self.wait(lambda: self.all(selector))[0]

    def attribute(self, selector, name):
        """Of the first of these elements, read at one moment. The value of a field is what it has now."""
        return self.wait(lambda: self.attributes(selector, name))[0]

    def attributes(self, selector, name):
        """Of each of these elements, all at one moment: the page may draw them anew between two requests."""
        return self.driver.execute_script(
            "return Array.from(document.querySelectorAll(arguments[0]), each =>"
            " arguments[1] === 'value' ? each.value : each.getAttribute(arguments[1]))", selector, name)

    def texts(self, selector):
        return [" ".join(each.split()) for each in self.shown(selector)]

    def text(self, selector):
        return "\n".join(self.shown(selector))

    def shown(self, selector):
        """What each element says, all at one moment: the page may draw them anew between two requests."""
        return self.driver.execute_script(
            "return Array.from(document.querySelectorAll(arguments[0]), each => each.checkVisibility() ? each.innerText.trim() : '')",
            selector)

    def see(self, words):
        self.wait(lambda: words in self.text("body"), words)

    def focused(self):
        return self.script("return document.activeElement.id")

    def console(self):
        return [each["message"] for each in self.driver.get_log("browser") if each["level"] == "SEVERE"]

    def wait(self, condition, words="", seconds=PATIENCE):
        """Until it holds; what is drawn anew meanwhile is looked at again."""
        end = time.monotonic() + seconds
        while True:
            try:
                if result := condition():
                    return result
            except StaleElementReferenceException:
                pass
            if time.monotonic() > end:
                raise AssertionError(f"{words or condition} did not come true at {self.hash()}:\n{self.text('body')}\n{self.console()}")
            time.sleep(0.05)

    # What is done

    def open(self, place):
        self.driver.get(place if ":" in place and not place.startswith("#") else self.server + "/" + place)

    def press(self, selector, words, having=""):
        """A button, link or summary of this name in the last of these elements that shows something."""
        def press():
            places = [each for each in self.all(selector) if having in each.text]
            for each in places[-1].find_elements(By.CSS_SELECTOR, "button, a, summary") if places else []:
                if each.text == words and each.is_displayed():
                    try:
                        each.click()
                        return True
                    except StaleElementReferenceException:
                        return False
                    except WebDriverException as error:
                        if "intercepted" in str(error) or "not interactable" in str(error):
                            return False
                        raise
            return False
        self.wait(press, f"pressing {words}")

    def click(self, words):
        self.press("main, dialog[open]", words)

    def tap(self, selector):
        """Clicks the first of these elements."""
        def tap():
            self.find(selector).click()
            return True
        self.wait(tap, f"clicking {selector}")

    def keys(self, text):
        self.find("body").send_keys(text)

    def type(self, text):
        self.driver.switch_to.active_element.send_keys(text)

    def escape(self):
        def escape():
            self.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
            return True
        self.wait(escape, "pressing Escape")

    def fill(self, name, text, enter=False, opening=None):
        field = self.find("#" + name)
        if opening and not field.is_displayed():
            self.click(opening)
        self.wait(field.is_displayed)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(Keys.DELETE)
        field.send_keys(text + (Keys.ENTER if enter else ""))

    def choose(self, name, value):
        self.wait(lambda: self.script(
            f"const field = document.getElementById('{name}'); if (!field) return false; field.value = '{value}';"
            f"if (field.options && field.value !== '{value}') return false;"
            "field.dispatchEvent(new Event('change')); return true;"), f"choosing {value} in {name}")
