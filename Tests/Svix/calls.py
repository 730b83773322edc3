"""Runs the operations of Svix's package from PyPI against a server of Herald; its models validate each response.

    calls.py SERVER KEY RECEIVER-URL
"""
import datetime
import sys
import time

from svix.api import (
    EndpointGetStatsOptions, MessageAttemptListAttemptedMessagesOptions, MessageAttemptListByEndpointOptions,
    MessageAttemptListByMsgOptions, MessageListOptions, Svix, SvixOptions)
from svix.exceptions import HTTPValidationError, HttpError
from svix.models import (
    ApplicationIn, ApplicationPatch, AppPortalAccessIn, EndpointHeadersIn, EndpointHeadersPatchIn, EndpointIn, EndpointPatch,
    EndpointSecretRotateIn, EndpointUpsertIn, EventExampleIn, EventTypeIn, EventTypePatch, EventTypeUpsertIn, MessageIn, RecoverIn)

server, key, receiver = sys.argv[1:4]
api = Svix(key, SvixOptions(server_url=server, retry_schedule=[]))
passed = []
failures = []


def step(name, body):
    try:
        result = body()
    except Exception as error:
        failures.append(f"{name}: {type(error).__name__} {error} {getattr(error, '__dict__', '')}")
        return None
    passed.append(name)
    return result


def refused(name, status, body):
    try:
        body()
    except (HttpError, HTTPValidationError) as error:
        if error.status_code == status:
            passed.append(name)
            return
        failures.append(f"{name}: {error.status_code} instead of {status}")
    except Exception as error:
        failures.append(f"{name}: {type(error).__name__} {error}")
    else:
        failures.append(f"{name}: not refused")


step("health", lambda: api.health.get())
app = step("app create", lambda: api.application.create(ApplicationIn(name="Acme Shop", uid="acme")))
again = step("app get_or_create", lambda: api.application.get_or_create(ApplicationIn(name="Acme Shop", uid="acme")))
assert again and again.id == app.id, failures
refused("app taken", 409, lambda: api.application.create(ApplicationIn(name="Acme", uid="acme")))
step("app get", lambda: api.application.get("acme"))
step("app list", lambda: api.application.list())
step("app patch", lambda: api.application.patch("acme", ApplicationPatch(name="Acme")))
step("app upsert", lambda: api.application.upsert("other", ApplicationIn(name="Other", uid="other")))
endpoint = step("endpoint create", lambda: api.endpoint.create("acme", EndpointIn(
    url=receiver, uid="first", metadata={"a": "b"}, event_types=["order.paid"], throttle_rate=100, channels=["eu"])))
assert endpoint and endpoint.channels == ["eu"] and endpoint.event_types == ["order.paid"], (endpoint, failures)
disabled = step("endpoint create disabled", lambda: api.endpoint.create("acme", EndpointIn(
    url=receiver + "/2", disabled=True)))
assert disabled and disabled.disabled, failures
for name, body in {
    "endpoint get": lambda: api.endpoint.get("acme", "first"),
    "endpoint list": lambda: api.endpoint.list("acme"),
    "endpoint upsert": lambda: api.endpoint.upsert("acme", endpoint.id, EndpointUpsertIn(
        url=receiver, uid="first", event_types=endpoint.event_types, channels=["eu", "us"])),
    "endpoint patch": lambda: api.endpoint.patch("acme", "first", EndpointPatch(description="patched")),
    "headers set": lambda: api.endpoint.set_headers("acme", "first", EndpointHeadersIn(headers={"X-A": "1", "Authorization": "s"})),
    "headers patch": lambda: api.endpoint.patch_headers("acme", "first", EndpointHeadersPatchIn(headers={"X-B": "2"})),
    "secret rotate": lambda: api.endpoint.rotate_secret("acme", "first", EndpointSecretRotateIn()),
}.items():
    step(name, body)
headers = step("headers get", lambda: api.endpoint.get_headers("acme", "first"))
assert headers.headers == {"X-A": "1", "X-B": "2"} and list(headers.sensitive) == ["Authorization"], headers
secret = step("secret get", lambda: api.endpoint.get_secret("acme", "first"))
message = step("message create", lambda: api.message.create("acme", MessageIn(
    event_type="order.paid", event_id="m1", payload={"amount": 12.5}, channels=["eu", "project_1"])))
assert message.channels == ["eu", "project_1"], message
refused("message twice", 409, lambda: api.message.create("acme", MessageIn(
    event_type="order.paid", event_id="m1", payload={"amount": 12.5})))
refused("message invalid", 422, lambda: api.message.create("acme", MessageIn(event_type="order paid!", payload={})))
refused("message nowhere", 404, lambda: api.message.create("nowhere", MessageIn(event_type="order.paid", payload={})))
inline = step("message and its application", lambda: api.message.create("Org_2x.Eu", MessageIn(
    event_type="order.paid", payload={}, application=ApplicationIn(name="Org", uid="Org_2x.Eu"))))
assert inline and api.application.get("Org_2x.Eu").name == "Org", (inline, failures)
step("message with its application again", lambda: api.message.create("Org_2x.Eu", MessageIn(
    event_type="order.paid", payload={}, application=ApplicationIn(name="Org", uid="Org_2x.Eu"))))
refused("message and another application", 422, lambda: api.message.create("new", MessageIn(
    event_type="order.paid", payload={}, application=ApplicationIn(name="New", uid="other-uid"))))
refused("logout", 501, lambda: api.authentication.logout())
refused("expunge", 501, lambda: api.message.expunge_content("acme", "m1"))
step("message get", lambda: api.message.get("acme", "m1"))
messages = step("message list", lambda: api.message.list("acme"))
# An attempt is listed soon after its end.
deadline = time.monotonic() + 60
while not api.message_attempt.list_by_msg("acme", "m1").data and time.monotonic() < deadline:
    time.sleep(0.02)
attempts = step("attempts by endpoint", lambda: api.message_attempt.list_by_endpoint("acme", "first"))
attempts = step("attempts by message", lambda: api.message_attempt.list_by_msg("acme", "m1"))
assert attempts and attempts.data, failures
now = datetime.datetime.now(datetime.timezone.utc)
hour = datetime.timedelta(hours=1)


def ids(name, body):
    page = step(name, body)
    return page and {each.id for each in page.data}


for name, own, options in [
    ("attempts by endpoint", lambda options: api.message_attempt.list_by_endpoint("acme", "first", options),
     MessageAttemptListByEndpointOptions),
    ("attempts by message", lambda options: api.message_attempt.list_by_msg("acme", "m1", options), MessageAttemptListByMsgOptions),
    ("attempted messages", lambda options: api.message_attempt.list_attempted_messages("acme", "first", options),
     MessageAttemptListAttemptedMessagesOptions),
]:
    every = ids(name, lambda: own(options()))
    assert every, (name, failures)
    conditions = [
        (dict(status=0), dict(status=2)), (dict(status=0), dict(status=1)), (dict(status=0), dict(status=3)),
        (dict(before=now + hour), dict(before=now - hour)), (dict(after=now - hour), dict(after=now + hour)),
        (dict(event_types=["other.type", "order.paid"]), dict(event_types=["other.type"])),
        (dict(channel="eu"), dict(channel="us")),
    ]
    if name != "attempted messages":
        conditions.append((dict(status_code_class=200), dict(status_code_class=400)))
    if name == "attempts by message":
        conditions.append((dict(endpoint_id="first"), dict(endpoint_id=disabled.id)))
    for met, missed in conditions:
        found = ids(f"{name} {met}", lambda: own(options(**met)))
        assert found == every, (name, met, found, every, failures)
        found = ids(f"{name} {missed}", lambda: own(options(**missed)))
        assert found == set(), (name, missed, found, failures)
    refused(f"{name} by tag", 422, lambda: own(options(tag="x")))
assert ids("messages of a channel", lambda: api.message.list("acme", MessageListOptions(channel="eu"))) == {"m1"}, failures
assert ids("messages of another channel", lambda: api.message.list("acme", MessageListOptions(channel="us"))) == set(), failures
step("attempt get", lambda: api.message_attempt.get("acme", "m1", attempts.data[0].id))
destinations = step("destinations", lambda: api.message_attempt.list_attempted_destinations("acme", "m1"))
assert destinations and [each.event_types for each in destinations.data] == [["order.paid"], None], (destinations, failures)
step("resend", lambda: api.message_attempt.resend("acme", "m1", "first"))
stats = step("stats", lambda: api.endpoint.get_stats("acme", "first"))
assert stats and stats.success >= 1 and stats.fail == 0, (stats, failures)
stats = step("stats of a time", lambda: api.endpoint.get_stats("acme", "first", EndpointGetStatsOptions(since=now - 2 * hour, until=now - hour)))
assert stats and stats.success == 0, (stats, failures)
recovery = step("recover", lambda: api.endpoint.recover("acme", "first", RecoverIn(
    since=datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=1))))
# As the description of Svix's open-source server has it.
assert recovery and recovery.status == "running", (recovery, failures)
step("type create", lambda: api.event_type.create(EventTypeIn(
    name="order.paid", description="Paid", schemas={"1": {"type": "object"}})))
refused("type twice", 409, lambda: api.event_type.create(EventTypeIn(name="order.paid", description="Paid")))
step("type list", lambda: api.event_type.list())
step("type get", lambda: api.event_type.get("order.paid"))
step("type upsert", lambda: api.event_type.upsert("order.paid", EventTypeUpsertIn(description="Paid in full")))
patched = step("type patch", lambda: api.event_type.patch("order.paid", EventTypePatch(
    schemas={"1": {"type": "object", "examples": [{"amount": 1}, {"amount": 2}]}})))
assert patched and patched.description == "Paid in full" and patched.schemas["1"]["examples"], (patched, failures)
patched = step("type patch of the text", lambda: api.event_type.patch("order.paid", EventTypePatch(description="Paid")))
assert patched and patched.description == "Paid" and patched.schemas["1"]["examples"], (patched, failures)
refused("type patch nowhere", 404, lambda: api.event_type.patch("no.such", EventTypePatch(description="Paid")))
example = step("example", lambda: api.endpoint.send_example("acme", "first", EventExampleIn(event_type="order.paid", example_index=1)))
assert example and example.payload == {"amount": 2} and example.event_type == "order.paid", (example, failures)
refused("example of no type", 404, lambda: api.endpoint.send_example("acme", "first", EventExampleIn(event_type="no.such")))
attempted = step("attempted messages", lambda: api.message_attempt.list_attempted_messages("acme", "first"))
assert attempted and [each.id for each in attempted.data] == ["m1"] and attempted.done, (attempted, failures)
refused("integrations", 501, lambda: api.integration.list("acme"))
refused("tasks", 501, lambda: api.background_task.list())
created = step("endpoint upsert of a new one", lambda: api.endpoint.upsert("acme", "third", EndpointUpsertIn(url=receiver + "/3")))
assert created and created.uid == "third", failures
portal = step("portal", lambda: api.authentication.app_portal_access("acme", AppPortalAccessIn()))
assert portal and portal.token in portal.url and portal.url.startswith(server + "/"), (portal, failures)
step("type delete", lambda: api.event_type.delete("order.paid"))
step("endpoint delete", lambda: api.endpoint.delete("acme", "first"))
step("app delete", lambda: api.application.delete("other"))
print(len(passed), "calls")
for failure in failures:
    print("FAILED", failure)
sys.exit(1 if failures else 0)
