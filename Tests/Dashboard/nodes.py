"""Looks at the nodes on the dashboard in headless Chromium.

usage: nodes.py SERVER [PICTURE]    SERVER is one of two that share a database; PICTURE: a file for a screenshot

Exits 0 when all holds; else the traceback says what does not.
"""

import sys

from browser import Browser, call


def each_node_has_its_row(page):
    page.open("#/")
    page.wait(lambda: len(page.all(".nodes tbody tr")) == 2)
    page.wait(lambda: [cell.split()[0] for cell in page.texts(".nodes td:nth-child(3)")] == ["32", "32"])
    assert page.texts(".nodes .state") == ["● running", "● running"], page.texts(".nodes .state")
    names = [each["name"].removeprefix("herald, ") for each in call(page.server, "GET", "/v1/nodes")["data"]]
    assert page.texts(".nodes .strong") == names, names
    assert ["shows this page" in words for words in page.texts(".nodes .sub")] == [False, True]
    # A node's cells are its own: together each shard once.
    drawn = [path.split("M")[1:] for path in page.attributes(".nodes path:not(.track)", "d")]
    assert sorted(int(cell.split()[0]) for cells in drawn for cell in cells) == list(range(64))
    assert len(set(page.script("return [...document.querySelectorAll('.nodes path:not(.track)')].map(each => getComputedStyle(each).fill)"))) == 2


def what_moved_is_told(page):
    moves = call(page.server, "GET", "/v1/nodes/moves")["data"]
    assert page.texts(".moves td:nth-child(2)") == [str(len(each["shards"])) for each in moves][:10]
    assert sum(len(each["shards"]) for each in moves if each["reason"] == "given") == 32
    second, first = page.texts(".nodes .strong")
    newest = page.texts(".moves tbody tr:first-child td")
    assert newest[2:] == [f"{first} gave them", second], newest


def it_fits(page):
    for width, theme in ((360, "light"), (1280, "dark"), (1280, "light")):
        page.appear(width, theme)
        page.wait(lambda: page.all(".nodes tbody tr"))
        assert page.script("return document.documentElement.scrollWidth <= innerWidth"), f"too wide at {width}"
        page.check_accessibility()


if __name__ == "__main__":
    with Browser(sys.argv[1]) as browser:
        each_node_has_its_row(browser)
        what_moved_is_told(browser)
        it_fits(browser)
        if len(sys.argv) > 2:
            browser.script("document.querySelector('.nodes').scrollIntoView()")
            browser.driver.save_screenshot(sys.argv[2])
        assert browser.console() == [], browser.console()
