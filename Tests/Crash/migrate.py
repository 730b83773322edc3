"""All that a server has is copied from a data folder to PostgreSQL and back, with `herald migrate` killed in between: nothing is missing or
delivered twice, and what clients hold stays valid. Nothing is copied while a server runs."""

import collections
import hashlib
import json
import random
import resource
import subprocess
import time

from herald import BINARY, Connection, Failure, Folder, Herald, Receiver, processes, wait_for
from postgres import Postgres

QUICK, FULL, UNIT = 20_000, 1_000_000, "events that move there and back"
BATCH = 1_000
# What is stored encrypted moves as it is.
KEY = {"HERALD_MASTER_KEY": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}
KILLS = 5
# Rows in a second, for the times of the kills: where a copy is then depends on the machine.
ROWS = 100_000
# The webhook does not want it.
PROBE = "other.one"


def run(count, seed, outcome):
    # An unflushed end is lost by a crash only, which does not happen here; the folder is on a disk.
    with Folder("migrate", on_disk=True) as folder, Postgres(max_wal_size="4GB", shared_buffers="256MB") as database:
        receiver, chance = Receiver(folder / "receipts", seed), random.Random(seed)
        herald = Herald(folder / "data", environment=KEY).expect()
        webhook = herald.register(receiver.url("/all"), headers={"x-secret": "Zerberus"}, events=["move.*"])
        post(herald, count)
        wait_for("everything is delivered and recorded", lambda: rests(herald, webhook, receiver, count), pause=0.1)
        herald = move(herald, database.create("herald"), "there", webhook, database, chance, outcome)
        herald = move(herald, folder / "back", "back", webhook, database, chance, outcome)
        if herald.stop() != 0:
            outcome.fail("it did not stop with 0")
        receiver.close()
        times = collections.Counter(event for _, event in receiver.receipts()["all"])
        outcome.counts["events"] += count
        outcome.counts["deliveries"] += sum(times.values())
        outcome.counts["twice"] += sum(number > 1 for number in times.values())
        if len(times) < count or outcome.counts["twice"]:
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


def migrate(source, target):
    mover = subprocess.Popen(
        [BINARY, "migrate", str(source), str(target)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
    processes.add(mover)
    return mover


def move(herald, target, where, webhook, database, chance, outcome):
    """Moves what a server has, and starts one with it there."""
    source = herald.data
    refused = migrate(source, target)
    said = refused.communicate(timeout=60)[0]
    if refused.returncode != 75 or "Stop it" not in said:
        outcome.fail(f"{where}: with a server it ended with {refused.returncode}: {said}")
    before, path = all_of(herald, webhook), second_page(herald)
    page = herald.ask("GET", path)
    if herald.stop() != 0:
        outcome.fail(f"{where}: the server did not stop with 0")
    for seconds in [*(chance.uniform(0, 0.3 + before[0] / ROWS) for _ in range(KILLS)), 600]:
        begin, cpu, mover = time.monotonic(), cpu_of(database), migrate(source, target)
        try:
            said = mover.communicate(timeout=seconds)[0]
            break
        except subprocess.TimeoutExpired:
            mover.kill()
            mover.communicate()
            outcome.counts["kills"] += 1
    outcome.figures[f"{where}_cpu"].append(cpu_of(database) - cpu)
    processes.discard(mover)
    # A kill may come between the end of the copy and that of the process.
    if mover.returncode and not (mover.returncode == 65 and "was moved already" in said):
        raise Failure(f"{where}: {said}")
    herald = Herald(target, environment=KEY).expect()
    wait_for("posts are accepted", lambda: herald.ask("POST", "/v1/events", {"type": PROBE})[0] == 202, pause=0.005)
    outcome.figures[where].append(time.monotonic() - begin)
    after = all_of(herald, webhook)
    if after != before:
        outcome.fail(f"{where}: it is not all the same: {before} became {after}")
    if herald.ask("GET", path) != page:
        outcome.fail(f"{where}: a cursor of the old server shows something else")
    return herald


def cpu_of(database):
    """Seconds of CPU time of the database and of all programs that have ended."""
    return database.cpu() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


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
    """The number of events and a digest of them, without what the attack has posted after a move; the webhook, without what its server
    measures; and its last attempts."""
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
        "all that a server has is copied from a data folder to PostgreSQL and back, with `herald migrate` killed in between and repeated",
        f"{o['events']:,} events and {o['deliveries']:,} attempts, there and back; {o['kills']} kills",
        f"all equal, by a digest of every event, with cursors and the settings of the webhook; {o['twice']} delivered twice; refused while a "
        f"server runs; without a server for {o['there_max']:,} ms there, and {o['back_max']:,} ms back; the copies took {o['there_cpu_max']:,} and "
        f"{o['back_cpu_max']:,} ms of CPU time, that of the database included")
