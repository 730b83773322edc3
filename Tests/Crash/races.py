"""Several servers on one PostgreSQL get equal requests at the same time: an id at two of them, an Idempotency-Key at two, logins and
logouts of a user and states of the app at three."""

import random
import time

from herald import Connection, Failure, Folder, Herald, Ledger, Receiver, compare_current_states, compare_logs, due, wait_for
from kill import compare_deliveries
from nodes import NODES
from postgres import Postgres

QUICK, FULL, UNIT = 200, 10_000, "races of each kind"
# Of one database, before the log is compared.
CHAPTER = 2_500
USERS = 10


def run(count, seed, outcome):
    for chapter in range((count + CHAPTER - 1) // CHAPTER):
        number = min(CHAPTER, count - chapter * CHAPTER)
        with Folder("races") as folder, Postgres() as database:
            before = len(outcome.failures)
            attack(folder, database, number, seed + chapter, outcome)
            if len(outcome.failures) > before:
                raise Failure(f"to repeat: script/crash-test races --count {number} --seed {seed + chapter}")


def at_once(lines, requests):
    """What each of the connections answers, when all requests are sent within some microseconds."""
    for line, request in zip(lines, requests):
        line.send(*request)
    return [line.answer() for line in lines]


def attack(folder, database, count, seed, outcome):
    chance, ledger = random.Random(seed), Ledger()
    receiver = Receiver(folder / "receipts", seed)
    url = database.create("herald")
    servers = [Herald(url).expect() for _ in range(NODES)]
    servers[0].register(receiver.url("/all"), ordering="strict")
    lines = [Connection(server.port) for server in servers]
    for number in range(count):
        id_race(chance.sample(lines, 2), f"race-{number}", number, ledger, outcome)
        key_race(chance.sample(lines, 2), f"key-{number}", number, ledger, outcome)
        login_race(chance, chance.sample(lines, NODES), ledger, outcome)
        if chance.random() < 0.1:
            state_race(chance.sample(lines, NODES), number, ledger, outcome)
        if outcome.is_late():
            break
    log = compare_logs(servers, ledger, outcome, "after the races")
    for server in servers:
        compare_current_states(server, log, outcome, "after the races")
    posted = [event["data"]["race"] for event in log if "race" in (event["data"] or {})]
    outcome.counts["twice"] += len(posted) - len(set(posted))
    if len(posted) != len(set(posted)):
        outcome.fail("a race was posted twice")
    outcome.counts["changes"] += sum(event["type"] == "auth.status_changed" for event in log)
    ids = due(log)
    try:
        wait_for("everything arrives", lambda: ids <= {event for _, event in receiver.receipts()["all"]}, pause=0.2)
    except Failure:
        pass
    for server in servers:
        if server.stop() != 0:
            outcome.fail("a node did not end with status 0")
    receipts = receiver.receipts()
    receiver.close()
    compare_deliveries(log, receipts["all"], "strict", [], outcome, "/all")


def id_race(lines, identity, number, ledger, outcome):
    """One in four times with other data: the first one counts."""
    events = [
        {"type": "race.id", "id": identity, "data": {"race": identity, "side": number % 4 == 0 and side}} for side in (0, 1)]
    answers = at_once(lines, [("POST", "/v1/events", event) for event in events])
    if any(status not in (200, 202) or answer["id"] != identity for status, answer, _ in answers):
        outcome.fail(f"the same id at two nodes: {[answer[:2] for answer in answers]}")
    if sorted(status for status, *_ in answers) != [200, 202]:
        outcome.fail(f"the same id was accepted {sum(status == 202 for status, *_ in answers)} times")
    ledger.acknowledged[identity] = time.monotonic()
    outcome.counts["ids"] += 1
    # That was asked some microseconds later.
    outcome.counts["won by the second"] += answers[1][0] == 202


def key_race(lines, key, number, ledger, outcome):
    request = ("POST", "/v1/events", {"type": "race.key", "data": {"race": key, "mark": key}}, {"Idempotency-Key": key})
    answers = at_once(lines, [request, request])
    if any(status != 202 for status, *_ in answers) or answers[0][1] != answers[1][1]:
        outcome.fail(f"the same Idempotency-Key at two nodes: {[answer[:2] for answer in answers]}")
    if sum("idempotent-replayed" in header for *_, header in answers) != 1:
        outcome.fail(f"of the same Idempotency-Key {sum('idempotent-replayed' in header for *_, header in answers)} were replayed")
    ledger.acknowledged[answers[0][1]["id"]] = time.monotonic()
    outcome.counts["keys"] += 1


def login_race(chance, lines, ledger, outcome):
    user = f"u{chance.randrange(USERS)}"
    statuses = [chance.choice(["logged_in", "logged_out"]) for _ in lines]
    for status, answer, _ in at_once(lines, [("PUT", f"/v1/auth/{user}", {"status": status}) for status in statuses]):
        if status not in (200, 202):
            outcome.fail(f"a login got {status}: {answer}")
        else:
            ledger.acknowledged[answer["event_id"]] = time.monotonic()
    outcome.counts["logins"] += 1


def state_race(lines, number, ledger, outcome):
    for status, answer, _ in at_once(lines, [("PUT", "/v1/app-state", {"state": [number, side]}) for side in range(NODES)]):
        if status not in (200, 202):
            outcome.fail(f"a state got {status}: {answer}")
        else:
            ledger.acknowledged[answer["event_id"]] = time.monotonic()


def row(o):
    return (
        f"{NODES} nodes on one PostgreSQL get equal requests at the same time: an id at two, an `Idempotency-Key` at two, logins and logouts of "
        "a user at three, states of the app at three",
        f"{o['ids']:,} ids, of which the node that was requested last accepted {o['won by the second']:,}; {o['keys']:,} keys, "
        f"{o['logins']:,} times three logins or logouts",
        f"each id and key accepted once, {o['twice']} events double; {o['changes']:,} changes of a status, each with its "
        f"`auth.status_changed`; {o['lost']} lost, {o['duplicates']} delivered twice, {o['inversions']} out of order")
