"""A Svix server for tests: what `herald import svix` reads, in the JSON of the models of Svix's own package. Prints its port.

    svix_server.py APPLICATIONS ENDPOINTS [URL]    so many endpoints in each of so many applications; the first two of each have the URL
"""
import base64
import datetime
import json
import re
import sys

import server
from svix import models

TOKEN = "testsk_a-token-of-a-test-server"
NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
applications, endpoints = map(int, sys.argv[1:3])
hook = sys.argv[3] if len(sys.argv) > 3 else "http://127.0.0.1:9/hook"


def application(number):
    # The third one has no uid, and the name that is made for it is the uid of the fourth one.
    uid = "tenant-no-2" if number == 3 else [f"tenant-{number}", f"Tenant.{number}", None][number % 3]
    return models.ApplicationOut(
        id=f"app_2nVd{number:08}", uid=uid, name=f"Tenant No. {number}", created_at=NOW, updated_at=NOW,
        metadata={} if number else {"plan": "pro"}, throttle_rate=None if number else 9)


def endpoint(app, number):
    # The first two have one URL and other types; libcurl writes the third URL otherwise.
    url = [hook, hook, f"http://LocalHost:80/{number}"][min(number, 2)]
    metadata = {"number": str(number)} | ({"svix_uid": "of-the-tenant"} if number == 1 else {})
    return models.EndpointOut(
        id=f"ep_{app:04}{number:06}", uid=f"uid-{number}", url=url, description=f"Endpoint {number}", metadata=metadata,
        event_types=[["order.paid"], ["user.joined", "user.left"], None][number % 3], channels=["eu"] if number == 2 else None,
        throttle_rate=7 if number == 1 else None, disabled=number == 1, created_at=NOW, updated_at=NOW)


def secret(app, number):
    return "whsec_" + base64.b64encode(f"secret {app:08} {number:08} of 32 b".encode()[:32]).decode()


TYPES = [
    models.EventTypeOut(name="order.paid", description="Paid", deprecated=False, created_at=NOW, updated_at=NOW,
                        schemas={"1": {"type": "string"}, "2": {"type": "object"}}),
    models.EventTypeOut(name="user.joined", description="", deprecated=True, created_at=NOW, updated_at=NOW),
]


def page(items, query):
    start, limit = int(query.get("iterator", 0)), min(int(query.get("limit", 50)), 250)
    part = [json.loads(item.model_dump_json(by_alias=True)) for item in items[start:start + limit]]
    end = start + len(part)
    return {"data": part, "iterator": str(end), "prevIterator": None, "done": end >= len(items)}


class Handler(server.Handler):
    token = TOKEN

    def answer(self, path, query):
        if path == "/api/v1/app":
            return page([application(number) for number in range(applications)], query)
        if path == "/api/v1/event-type":
            return page(TYPES, query)
        found = re.fullmatch(r"/api/v1/app/app_2nVd(\d+)/endpoint(?:/ep_\d{4}(\d{6})/(secret|headers))?", path)
        if not found:
            return None
        app = int(found[1])
        if found[2] is None:
            return page([endpoint(app, number) for number in range(endpoints)], query)
        number = int(found[2])
        if found[3] == "secret":
            return {"key": secret(app, number)}
        return json.loads(models.EndpointHeadersOut(
            headers={"X-Tenant": str(app)}, sensitive=["Authorization"] if number == 2 else []).model_dump_json(by_alias=True))


server.serve(Handler)
