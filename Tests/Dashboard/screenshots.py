"""Pictures of every page, light and dark, wide and narrow. `script/screenshots` runs it."""

import os
import random
import sys
import time
from pathlib import Path

from browser import Browser, call
from processes import running

DELEGATES = [
    {"url": "/sessions", "events": ["auth.*"], "description": "Session service"},
    {"url": "/delay/0.05", "events": ["order.*"], "description": "Order desk"},
    {"url": "/audit", "description": "Audit trail"},
    {"url": "/flaky/1/per/webhook-id", "events": ["order.paid"], "retry_schedule": [1, 6, 20], "description": "Billing"},
    {"url": "/status/503", "events": ["catalogue.*", "order.shipped"], "retry_schedule": [1, 2, 600], "description": "Search index"},
    {"url": "/delay/0.2", "events": ["app_state.*"], "description": "Status page"},
    {"url": "/warehouse/eu-central/hooks", "events": ["order.shipped"], "description": "Warehouse"},
    {"url": "/status/500", "events": ["order.shipped"], "retry_schedule": [], "metadata": {"customer": "ACME"}, "description": "Legacy ERP"},
    {"url": "/partner", "events": ["order.paid"], "rate_limit": 0.05, "description": "Slow partner"},
    {"url": "/analytics", "filter": {"data": {"amount": [{"numeric": [">", 100]}]}}, "description": "Large orders"},
]
PAID = {
    "description": "An order was paid in full.", "example": {"amount": 120, "currency": "EUR"}, "check": "enforce",
    "schema": {"type": "object", "required": ["amount"], "properties": {"amount": {"type": "integer"}}},
}
USERS = ["Ada", "Grace", "Edsger", "Barbara", "Tony"]
STATES = ["idle", {"data_retrieval": "running"}, {"data_retrieval": "success"}, {"authentication": "active"}]


def event(chance, number):
    user, order = chance.randrange(5), f"order:{1000 + number}"
    return chance.choice([
        {"type": "auth.logged_in", "data": {"user": {"id": user, "name": USERS[user]}}},
        {"type": "auth.logged_out", "subject": f"user:{user}"},
        {"type": "order.paid", "subject": order, "data": {"amount": chance.randrange(20, 300), "currency": "EUR"}},
        {"type": "order.paid", "subject": order, "data": {"amount": chance.randrange(20, 300), "currency": "EUR"}},
        {"type": "order.shipped", "subject": order, "data": {"parcel": number}},
        {"type": "catalogue.changed", "data": {"sku": f"A-{number}"}},
        {"type": "app_state.changed", "data": {"state": chance.choice(STATES)}},
    ])


def live(server, seconds, chance=random.Random(1)):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        call(server, "POST", "/v1/events", event(chance, chance.randrange(1000)))
        time.sleep(chance.random() * 0.2)


def take(server, folder):
    paid = call(server, "GET", "/v1/events?type=order.paid&limit=100")["data"][-1]["id"]
    ill = next(each["id"] for each in call(server, "GET", "/v1/delegates")["data"] if each["description"] == "Search index")
    pages = {"overview": "", "delegates": "delegates", "delegate": "delegates/" + ill, "new-delegate": "delegates/new",
             "events": "events", "story": "events/" + paid, "deliveries": "deliveries", "types": "types", "type": "types/order.paid", "state": "state?user=1", "post": "post",
             "keys": "server", "apps": "server/apps", "changes": "server/changes", "storage": "server/storage"}
    with Browser(server) as browser:
        for width, height, name in ((1280, 900, "wide"), (390, 740, "narrow")):
            for theme in ("light", "dark"):
                browser.appear(width, theme, height)
                for page, place in pages.items():
                    browser.open("about:blank")
                    browser.open("#/" + place)
                    live(server, 40 if (page, width) == ("overview", 1280) else 4)
                    browser.driver.save_screenshot(str(folder / f"{page}-{theme}-{name}.png"))


def main(binary, folder):
    folder.mkdir(parents=True, exist_ok=True)
    with running(binary) as (address, target):
        for delegate in DELEGATES:
            call(address, "POST", "/v1/delegates", {**delegate, "url": target + delegate["url"]})
        call(address, "PUT", "/v1/event-types/order.paid", PAID)
        call(address, "POST", "/v1/apps", {"name": "shop", "max_delegates": 20, "events_per_second": 50})
        live(address, 20)
        take(address, folder)


if __name__ == "__main__":
    main(os.fspath(sys.argv[1]), Path(sys.argv[2]))
