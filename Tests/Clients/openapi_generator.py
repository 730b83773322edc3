"""Uses a client that openapi-generator has made with its generator `python`.

usage: openapi_generator.py DESCRIPTION URL KEY RECEIVER    with the folder of `herald_client` in PYTHONPATH
"""

import importlib
import pkgutil
import sys
import time

import herald_client as herald
from herald_client.exceptions import NotFoundException, UnprocessableEntityException
from operations import operations

description, url, key, receiver = sys.argv[1:]
for module in pkgutil.walk_packages(herald.__path__, "herald_client."):
    importlib.import_module(module.name)
for tag, name in operations(description):
    assert getattr(getattr(herald, tag.title().replace(" ", "") + "Api"), name), name

client = herald.ApiClient(herald.Configuration(host=url, access_token=key))
delegates = herald.DelegatesApi(client)
events = herald.EventsApi(client)


def call(operation, status, *arguments, **named):
    answer = getattr(operation.__self__, operation.__name__ + "_with_http_info")(*arguments, **named)
    assert answer.status_code == status, (operation.__name__, answer)
    return answer.data


def refusal(kind, operation, *arguments):
    try:
        answer = operation(*arguments)
    except kind as error:
        return error.data
    raise AssertionError(answer)


# Register: the secret is shown once.
registration = herald.DelegateRegistration(
    url=receiver, events=["order.*"], filter={"data": {"total": [{"exists": True}]}}, ordering=herald.Ordering.SUBJECT,
    headers={"X-Api-Key": "k"}, rate_limit=100.5)
delegate = call(delegates.register_delegate, 201, registration).actual_instance
assert isinstance(delegate, herald.RegisteredDelegate) and delegate.secret.startswith("whsec_"), delegate
assert delegate.header_names == ["X-Api-Key"] and delegate.tls is None and delegate.filter == registration.filter
again = call(delegates.register_delegate, 200, registration).actual_instance
assert again.id == delegate.id and not again.secret, again

# Publish one event, and wait for its delivery; publish a batch; request which delegates match.
one = herald.EventInput(type="order.placed", subject="order:1", data={"total": 12.5, "lines": [1, None, "x"]})
posted = call(events.post_events, 200, herald.PostInput(one), prefer="wait=30").actual_instance
assert isinstance(posted, herald.PostedEvent) and posted.deliveries[0].status_code == 204, posted
batch = [herald.BatchEvent(type="order.paid"), herald.BatchEvent(type="order.shipped")]
batch = call(events.post_events, 202, herald.PostInput(batch)).actual_instance
assert isinstance(batch, herald.PostedBatch) and len(batch.data) == 2, batch
explanation = call(events.post_events, 200, herald.PostInput(one), dry_run=True).actual_instance
assert isinstance(explanation, herald.Explanation) and explanation.matching == 1, explanation

# List, page by page.
page = call(events.list_events, 200, type="order.*", limit=2)
assert [event.id for event in page.data] == [event.id for event in reversed(batch.data)], page
page = call(events.list_events, 200, type="order.*", limit=2, cursor=page.next_cursor)
assert page.next_cursor is None and page.data[0].data == one.data and page.data[0].time == posted.time, page
kinds = {type(each.actual_instance) for each in call(delegates.list_delegates, 200).data}
assert kinds == {herald.WebhookDelegate, herald.InMemoryDelegate}, kinds

# A story; an attempt appears in it a moment after its end.
deadline = time.monotonic() + 30
while (story := call(events.get_event, 200, posted.id)).deliveries[0].state != herald.DeliveryState.DELIVERED:
    assert time.monotonic() < deadline, story
    time.sleep(0.02)
assert story.deliveries[0].error is None and story.deliveries[0].history[0].status_code == 204, story

# Change: `None` removes the filter; the rest stays.
changed = call(delegates.change_delegate, 200, delegate.id, herald.DelegatePatch(filter=None, format="cloudevents")).actual_instance
assert changed.filter is None and changed.format == herald.CallbackFormat.CLOUDEVENTS, changed
assert changed.ordering == herald.Ordering.SUBJECT, changed
assert call(delegates.pause_delegate, 200, delegate.id).actual_instance.status == herald.DelegateStatus.PAUSED

# Rotate the secret, with a body and without one.
rotated = call(delegates.rotate_secret, 200, delegate.id, secret_rotation=herald.SecretRotation(overlap_seconds=60))
assert rotated.secret.startswith("whsec_") and rotated.secret != delegate.secret and rotated.previous_expires_at, rotated
assert call(delegates.rotate_secret, 200, delegate.id).secret != rotated.secret

# Delete; what is wrong is a problem.
call(delegates.unregister_delegate, 204, delegate.id)
problem = refusal(NotFoundException, delegates.get_delegate, delegate.id)
assert isinstance(problem, herald.Problem) and problem.type == "/problems/not-found", problem
wrong = herald.EventInput.model_construct(type="order placed")
problem = refusal(UnprocessableEntityException, events.post_events, herald.PostInput(wrong))
assert problem.errors[0].pointer == "/type", problem
