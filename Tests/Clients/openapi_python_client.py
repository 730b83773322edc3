"""Uses a client that openapi-python-client has made.

usage: openapi_python_client.py DESCRIPTION URL KEY RECEIVER    with the folder of `herald_client` in PYTHONPATH
"""

import importlib
import sys
import time

from herald_client import AuthenticatedClient, models
from herald_client.api.delegates import (
    change_delegate, get_delegate, list_delegates, pause_delegate, register_delegate, rotate_secret, unregister_delegate)
from herald_client.api.events import get_event, list_events, post_events
from operations import operations

description, url, key, receiver = sys.argv[1:]
for tag, name in operations(description):
    module = importlib.import_module(f"herald_client.api.{tag.replace(' ', '_')}.{name}")
    assert module.sync_detailed and module.asyncio_detailed, name

client = AuthenticatedClient(base_url=url, token=key)


def call(operation, status, *arguments, **named):
    answer = operation.sync_detailed(*arguments, client=client, **named)
    assert answer.status_code == status, (operation.__name__, answer)
    return answer.parsed


# Register: the secret is shown once.
registration = models.DelegateRegistration(
    url=receiver, events=["order.*"], filter_=models.ContentFilter.from_dict({"data": {"total": [{"exists": True}]}}),
    ordering=models.Ordering.SUBJECT, headers=models.ExtraHeaders.from_dict({"X-Api-Key": "k"}), rate_limit=100.5)
delegate = call(register_delegate, 201, body=registration)
assert isinstance(delegate, models.RegisteredDelegate) and delegate.secret.startswith("whsec_"), delegate
assert delegate.header_names == ["X-Api-Key"] and delegate.tls is None and delegate.filter_ == registration.filter_
again = call(register_delegate, 200, body=registration)
assert again.id == delegate.id and not again.secret, again

# Publish one event, and wait for its delivery; publish a batch; request which delegates match.
one = models.EventInput(type_="order.placed", subject="order:1", data={"total": 12.5, "lines": [1, None, "x"]})
posted = call(post_events, 200, body=one, prefer="wait=30")
assert isinstance(posted, models.PostedEvent) and posted.deliveries[0].status_code == 204, posted
batch = call(post_events, 202, body=[models.EventInput(type_="order.paid"), models.EventInput(type_="order.shipped")])
assert isinstance(batch, models.PostedBatch) and len(batch.data) == 2, batch
explanation = call(post_events, 200, body=one, dry_run=True)
assert isinstance(explanation, models.Explanation) and explanation.matching == 1, explanation

# List, page by page.
page = call(list_events, 200, type_="order.*", limit=2)
assert [event.id for event in page.data] == [event.id for event in reversed(batch.data)], page
page = call(list_events, 200, type_="order.*", limit=2, cursor=page.next_cursor)
assert page.next_cursor is None and page.data[0].data == one.data and page.data[0].time == posted.time, page
kinds = {type(each) for each in call(list_delegates, 200).data}
assert kinds == {models.WebhookDelegate, models.InMemoryDelegate}, kinds

# A story; an attempt appears in it a moment after its end.
deadline = time.monotonic() + 30
while (story := call(get_event, 200, posted.id)).deliveries[0].state != models.DeliveryState.DELIVERED:
    assert time.monotonic() < deadline, story
    time.sleep(0.02)
assert story.deliveries[0].error is None and story.deliveries[0].history[0].status_code == 204, story

# Change: `None` removes the filter; the rest stays.
changed = call(
    change_delegate, 200, delegate.id,
    body=models.DelegatePatch(filter_=None, format_=models.CallbackFormat.CLOUDEVENTS))
assert changed.filter_ is None and changed.format_ == models.CallbackFormat.CLOUDEVENTS, changed
assert changed.ordering == models.Ordering.SUBJECT, changed
assert call(pause_delegate, 200, delegate.id).status == models.DelegateStatus.PAUSED

# Rotate the secret, with a body and without one.
rotated = call(rotate_secret, 200, delegate.id, body=models.SecretRotation(overlap_seconds=60))
assert rotated.secret.startswith("whsec_") and rotated.secret != delegate.secret and rotated.previous_expires_at, rotated
assert call(rotate_secret, 200, delegate.id).secret != rotated.secret

# Delete; what is wrong is a problem.
call(unregister_delegate, 204, delegate.id)
problem = call(get_delegate, 404, delegate.id)
assert isinstance(problem, models.Problem) and problem.type_ == "/problems/not-found", problem
problem = call(post_events, 422, body=models.EventInput(type_="order placed"))
assert problem.errors[0].pointer == "/type", problem
