"""All that a server has moves from a data folder to PostgreSQL and back, while servers work: nothing is missing or delivered twice, and
what clients hold stays valid."""

import collections
import hashlib
import json
import subprocess
import time

from herald import BINARY, Connection, Failure, Folder, Herald, Ledger, Load, Receiver, processes, wait_for
from postgres import Postgres

QUICK, FULL, UNIT = 20_000, 1_000_000, "events that move there and back"
BATCH = 1_000
# What is stored encrypted moves as it is.
KEY = {"HERALD_MASTER_KEY": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}
# Seconds without a server, at most.
DOWN = 10
# The webhook does not want it.
PROBE = "other.one"


def run(count, seed, outcome):
    # An unflushed end is lost by a crash only, which does not happen here; the folder is on a disk.
    with Folder("migrate", on_disk=True) as folder, Postgres(max_wal_size="4GB", shared_buffers="256MB") as database:
        receiver, ledger = Receiver(folder / "receipts", seed), Ledger()
        herald = Herald(folder / "data", environment=KEY).expect()
        webhook = herald.register(
            receiver.url("/all"), headers={"x-secret": "Zerberus"}, events=["move.*", "load.*", "auth.*", "app_state.*"])
        post(herald, count)
        herald = move(herald, database.create("herald"), "there", webhook, receiver, count, ledger, seed, outcome)
        herald = move(herald, folder / "back", "back", webhook, receiver, count, ledger, seed, outcome)
        if herald.stop() != 0:
            outcome.fail("it did not stop with 0")
        receiver.close()
        times = collections.Counter(event for _, event in receiver.receipts()["all"])
        outcome.counts["events"] += count + len(ledger.acknowledged)
        outcome.counts["deliveries"] += sum(times.values())
        outcome.counts["twice"] += sum(number > 1 for number in times.values())
        if len(times) < count + len(ledger.acknowledged) or outcome.counts["twice"]:
            outcome.fail(f"{len(times)} events were delivered, {outcome.counts['twice']} of them twice")


def post(herald, count):
    connection = Connection(herald.port)
    for first in range(0, count, BATCH):
        events = [{"type": "move.test", "subject": f"s{n % 7}", "data": {"n": n, "x": "x" * 100}} for n in range(first, min(first + BATCH, count))]
        while True:
            status, answer = connection.ask("POST", "/v1/events", events)
            if status == 202:
                break
            if status != 503:
                raise Failure(f"not posted: {status} {answer}")
            time.sleep(0.1)
    connection.close()


def move(herald, target, where, webhook, receiver, count, ledger, seed, outcome):
    """Moves what a server has, and starts one with it there: after the copy, which it makes under load, the old one is stopped."""
    load = Load(herald, ledger, where, seed, publishers=1, pause=0.01)
    mover = subprocess.Popen(
        [BINARY, "migrate", herald.data, target, "--wait"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        stdin=subprocess.DEVNULL)
    processes.add(mover)
    said = []
    for line in mover.stdout:
        said.append(line)
        if "Now stop the servers" in line:
            break
    load.stop()
    if ledger.refused or ledger.unanswered:
        outcome.fail(f"{where}: posts were refused: {dict(ledger.refused)}")
    # What is under way would be made again where it can't be finished.
    number = count + len(ledger.acknowledged)
    wait_for("everything is delivered and recorded", lambda: rests(herald, webhook, receiver, number), 600, 0.1)
    before, path = all_of(herald, webhook), second_page(herald)
    page = herald.ask("GET", path)
    begin = time.monotonic()
    if herald.stop() != 0:
        outcome.fail(f"{where}: the server did not stop with 0")
    said += mover.stdout
    if mover.wait(600) != 0:
        raise Failure(f"{where}: {''.join(said)}")
    processes.discard(mover)
    herald = Herald(target, environment=KEY).expect()
    wait_for("posts are accepted", lambda: herald.ask("POST", "/v1/events", {"type": PROBE})[0] == 202, 60, 0.005)
    outcome.figures[where].append(time.monotonic() - begin)
    if outcome.figures[where][-1] > DOWN:
        outcome.fail(f"{where}: {outcome.figures[where][-1]:.1f} s without a server")
    after = all_of(herald, webhook)
    if after != before:
        outcome.fail(f"{where}: it is not all the same: {before} became {after}")
    if herald.ask("GET", path) != page:
        outcome.fail(f"{where}: a cursor of the old server shows something else")
    return herald


def second_page(herald):
    return f"/v1/events?limit=10&cursor={herald.ask('GET', '/v1/events?limit=10')[1]['next_cursor']}"


def rests(herald, webhook, receiver, count):
    lag = herald.ask("GET", f"/v1/delegates/{webhook}")[1]["lag"]
    if lag["events"] or lag["in_flight"] or lag["retrying"]:
        return False
    # What has just arrived may not be recorded yet.
    arrived = [event for _, event in receiver.receipts()["all"]]
    recorded = herald.ask("GET", f"/v1/delegates/{webhook}/attempts?limit=200")[1]["data"]
    return len(set(arrived)) >= count and set(arrived[-100:]) <= {attempt["event"] for attempt in recorded}


def all_of(herald, webhook):
    """The number of events and a digest of them, without what the move itself has posted; the webhook, without what its server
    learns anew; and its last attempts."""
    connection, digest, count, path = Connection(herald.port), hashlib.sha256(), 0, "/v1/events?limit=200"
    while path:
        status, page = connection.ask("GET", path)
        if status != 200:
            raise Failure(f"GET {path}: {status} {page}")
        for event in page["data"]:
            if event["type"] != PROBE:
                count += 1
                digest.update(json.dumps(event).encode())
        path = page["next_cursor"] and f"/v1/events?limit=200&cursor={page['next_cursor']}"
    settings = {name: value for name, value in connection.ask("GET", f"/v1/delegates/{webhook}")[1].items() if name not in ("flow", "lag")}
    attempts = connection.ask("GET", f"/v1/delegates/{webhook}/attempts?limit=200")[1]["data"]
    connection.close()
    return count, digest.hexdigest(), settings, attempts


def row(o):
    return (
        "all that a server has moves from a data folder to PostgreSQL and back (`herald migrate`), under load until the servers have to stop",
        f"{o['events']:,} events and {o['deliveries']:,} attempts, there and back",
        f"all equal, by a digest of every event, with cursors and the settings of the webhook; {o['twice']} delivered twice; without a server for "
        f"{o['there_max']} ms there, and {o['back_max']} ms back")
