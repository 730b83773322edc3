"""Workers of pull delegates on several nodes, under load: every ten seconds a node is killed, and workers at any time. What was
acknowledged by a publisher is acknowledged by a worker, or has used up its own attempts; what a worker has acknowledged is not handed
out again, and what one has is not handed out to another one."""

import collections
import json
import os
import random
import re
import subprocess
import sys
import time

from herald import HERE, Failure, Folder, Herald, Ledger, Load, compare_logs, processes, wait_for
from kill import repeat
from postgres import Postgres, free_port
from puller import ACK_SECONDS, is_deadly

QUICK, FULL, UNIT = 3, 120, "nodes killed"
NODES = 3
# Seconds between two nodes that are killed.
PERIOD = 10
# Seconds between two workers that are killed, at least and at most.
WORKER_PERIOD = (0.3, 3)
# The attempts of a delivery are used up after one more.
SCHEDULE = [0.1, 0.2, 0.5, 1]
DELEGATES = {
    "none": {"workers": 6, "events": ["*"]},
    # In order, an event that ends its workers holds up all others until its attempts are used up.
    "strict": {"workers": 2, "events": ["auth.*", "app_state.*"]},
}
# The types of their events, as regular expressions.
MATCHING = {"none": "^(?!herald[.])", "strict": "^(auth|app_state)[.]"}
# All attempts are compared in the end.
SETTINGS = ["--retention-attempts-size", "200GiB"]
# In milliseconds: what the clocks of two nodes may differ by.
MARGIN = 50
RETRYING, EXHAUSTED = 1, 2


def run(count, seed, outcome):
    with Folder("pulls") as folder, Postgres() as database:
        attack(folder, database, count, seed, outcome)


class Workers:
    """The workers of a delegate, each a process that starts again when it has ended."""

    def __init__(self, folder, delegate, ordering, ports, seed):
        self.folder, self.ordering, self.seed, self.started = folder, ordering, seed, 0
        self.arguments, self.mode = [delegate, ordering, *map(str, ports)], "wild"
        self.running = [self.start() for _ in range(DELEGATES[ordering]["workers"])]

    def start(self):
        self.started += 1
        process = subprocess.Popen(
            [sys.executable, str(HERE / "puller.py"), self.folder / f"{self.ordering}-{self.started}",
             f"{self.seed}-{self.ordering}-{self.started}", self.mode, *self.arguments], stdin=subprocess.DEVNULL)
        processes.add(process)
        return process

    def kill(self, number):
        self.running[number].kill()
        self.running[number].wait()
        self.replace()

    def replace(self):
        """Starts those again that have ended. Returns how many."""
        ended = [number for number, process in enumerate(self.running) if process.poll() is not None]
        for number in ended:
            processes.discard(self.running[number])
            self.running[number] = self.start()
        return len(ended)

    def calm(self):
        """From now on they acknowledge all that they get, and nothing ends them."""
        self.mode = "calm"
        for number in range(len(self.running)):
            self.kill(number)

    def stop(self):
        for process in self.running:
            process.kill()
            process.wait()
            processes.discard(process)

    def leases(self):
        """All leases that were received, by the time of their creation, with the first settlement that was sent of each."""
        found = {}
        for number in range(1, self.started + 1):
            path = self.folder / f"{self.ordering}-{number}"
            with open(path, encoding="utf-8") if os.path.exists(path) else open(os.devnull, encoding="utf-8") as file:
                # One that was killed may have left a part of a line.
                lines = [json.loads(line) for line in file if line.endswith("\n")]
            for line in lines:
                if line["step"] == "refused":
                    raise Failure(f"a pull was answered {line['status']}: {line['problem']}")
                if line["step"] == "pulled":
                    found[line["lease"]] = Lease(line)
                else:
                    found[line["lease"]].take(line)
        return sorted(found.values(), key=lambda lease: (lease.created, lease.identity))


class Lease:
    def __init__(self, line):
        self.identity, self.created, self.expires = line["lease"], line["created"], line["expires"]
        self.events = dict(line["events"])
        # When a settlement was sent, its contents, and the status of its response.
        self.settled_at, self.settlement, self.status = None, None, None

    def take(self, line):
        if line["step"] == "extended":
            self.expires = max(self.expires, line["expires"])
        elif line["step"] == "settle" and self.settled_at is None:
            self.settled_at, self.settlement = line["at"], line
        elif line["step"] == "settled":
            self.status = line["status"]

    @property
    def end(self):
        """It was held until then, at least."""
        return self.expires if self.settled_at is None else min(self.expires, self.settled_at)

    def acknowledged(self, ordering):
        """The events of a settlement that has succeeded."""
        if self.status != 200 or self.settlement.get("release"):
            return []
        failed = {one["id"] for one in self.settlement.get("failed", [])} | set(self.settlement.get("returned", []))
        ids = list(self.events)
        if ordering == "strict" and failed:
            return ids[:next(index for index, one in enumerate(ids) if one in failed)]
        return [one for one in ids if one not in failed]

    @property
    def has_expired(self):
        """For certain: nothing was sent."""
        return self.settled_at is None


def attack(folder, database, count, seed, outcome):
    chance, ledger = random.Random(seed), Ledger()
    url, ports = database.create("herald"), [free_port() for _ in range(NODES)]
    nodes = [Herald(url, *SETTINGS, port=port).expect() for port in ports]
    ids = {}
    for ordering, settings in DELEGATES.items():
        status, answer = nodes[0].ask("POST", "/v1/delegates", {
            "kind": "pull", "events": settings["events"], "ordering": ordering, "ack_seconds": ACK_SECONDS, "retry_schedule": SCHEDULE})
        if status != 201:
            return outcome.fail(f"not registered: {answer}")
        ids[ordering] = answer["id"]
    crowds = [Workers(folder, ids[ordering], ordering, ports, seed) for ordering in DELEGATES]
    started = 0

    def publish(node):
        nonlocal started
        started += 1
        return Load(node, ledger, f"n{started}", seed, publishers=2, pause=0.05)

    loads = [publish(node) for node in nodes]

    def attack_workers(until):
        while (now := time.monotonic()) < until:
            time.sleep(min(until - now, chance.uniform(*WORKER_PERIOD)))
            crowd = chance.choices(crowds, [len(crowd.running) for crowd in crowds])[0]
            outcome.counts["deadly events"] += sum(one.replace() for one in crowds)
            crowd.kill(chance.randrange(len(crowd.running)))
            outcome.counts["workers"] += 1

    begin = time.monotonic()
    for number in range(count):
        attack_workers(begin + (number + 0.5) * PERIOD + chance.uniform(-1, 1))
        index = chance.randrange(NODES)
        nodes[index].kill()
        loads[index].wait()
        outcome.counts["nodes"] += 1
        time.sleep(chance.uniform(0, 0.5))
        nodes[index] = Herald(url, *SETTINGS, port=ports[index]).expect()
        loads[index] = publish(nodes[index])
        attack_workers(begin + (number + 1) * PERIOD)
        if outcome.is_late():
            break
    for load in loads:
        load.stop()
    settle(database, nodes, crowds, ledger, ids, outcome)


def settle(database, nodes, crowds, ledger, ids, outcome):
    """Lets the workers acknowledge all that is left, ends everything, and compares it."""
    repeat(nodes[0], ledger, outcome)
    if set(ledger.refused) - {503}:
        outcome.fail(f"posts were refused with {dict(ledger.refused)}")

    # In one statement: between two, a worker may get the last events.
    left = " + ".join(
        ["(SELECT count(*) FROM leases)", f"(SELECT count(*) FROM waiting WHERE state = {RETRYING})"] + [
            f"(SELECT count(*) FROM lanes JOIN delegates ON key = delegate WHERE id = '{ids[ordering]}' AND position < "
            f"(SELECT coalesce(max(sequence), 0) FROM events WHERE type ~ '{pattern}'))"
            for ordering, pattern in MATCHING.items()])

    def is_done():
        return database.ask(f"SET search_path = herald; SELECT {left}", "herald").strip() == "0"

    for crowd in crowds:
        crowd.calm()
    # On a machine that is busy, thousands of events wait after leases that have expired, and each is handed out alone.
    wait_for("everything is acknowledged, or its attempts are used up", is_done, pause=0.5)
    for crowd in crowds:
        crowd.stop()
    log = compare_logs(nodes, ledger, outcome, "the log")
    for node in nodes:
        if node.stop() != 0:
            outcome.fail("a node did not end with status 0")
    outcome.counts["events"] += len(ledger.acknowledged) + sum(1 for answered in ledger.marks.values() if answered)
    for crowd in crowds:
        compare(crowd, Stored(database, ids[crowd.ordering]), log, outcome)


class Stored:
    """What the database has of a delegate, with the names of events."""

    def __init__(self, database, identity):
        text = ("SET search_path = herald; SELECT e.id, {} FROM {} x JOIN events e ON e.sequence = x.event "
                f"WHERE x.delegate = (SELECT key FROM delegates WHERE id = '{identity}')")

        def rows(columns, table):
            return [line.split("|") for line in database.ask(text.format(columns, table), "herald").splitlines()]

        self.acknowledged, self.failed = collections.Counter(), collections.Counter()
        for event, status in rows("coalesce(x.status, 0)", "attempts"):
            (self.acknowledged if status == "200" else self.failed)[event] += 1
        self.exhausted = {event for event, state in rows("x.state", "waiting") if int(state) == EXHAUSTED}
        self.left = [event for event, state in rows("x.state", "waiting") if int(state) != EXHAUSTED]


def compare(crowd, stored, log, outcome):
    ordering, leases, counts = crowd.ordering, crowd.leases(), outcome.counts
    position = {event["id"]: number for number, event in enumerate(log)}
    expected = {event["id"] for event in log if re.search(MATCHING[ordering], event["type"])}
    ends = collections.defaultdict(list)
    for lease in leases:
        for event in lease.events:
            ends[event].append(lease)
    confirmed = {event for lease in leases for event in lease.acknowledged(ordering)}
    counts["leases"] += len(leases)
    counts["handed out"] += sum(len(lease.events) for lease in leases)
    counts["exhausted"] += len(stored.exhausted)
    counts["expired"] += sum(lease.has_expired for lease in leases)

    def complain(what, events):
        if events:
            counts[what] += len(events)
            outcome.fail(f"{ordering}: {len(events)} {what}, such as {sorted(events)[:3]}")

    complain("lost", expected - set(stored.acknowledged) - stored.exhausted)
    complain("whose acknowledgement was lost", confirmed - set(stored.acknowledged))
    complain("acknowledged twice", {event for event, number in stored.acknowledged.items() if number > 1})
    complain("acknowledged and used up", stored.exhausted & set(stored.acknowledged))
    complain("left in the store", set(stored.left))
    complain("given up before their attempts were used up", {
        event for event in stored.exhausted if stored.failed[event] != len(SCHEDULE) + 1})
    complain("handed out although nothing matches", set(ends) - expected)
    again, alive, together, numbers = set(), set(), set(), set()
    for event, its in ends.items():
        held, is_alone, attempt, is_done = 0, False, 0, False
        for lease in its:
            if is_done:
                again.add(event)
            if lease.created < held - MARGIN:
                alive.add(event)
            if is_alone and len(lease.events) > 1:
                together.add(event)
            if lease.events[event] < attempt:
                numbers.add(event)
            held, is_done = max(held, lease.end), is_done or event in lease.acknowledged(ordering)
            is_alone = is_alone or lease.has_expired
            attempt = lease.events[event] + lease.has_expired
    complain("handed out after an acknowledgement", again)
    complain("handed out twice at the same time", alive)
    complain("with others after a lease that expired", together)
    complain("with a number of attempts that falls", numbers)
    deadly = {event for event in expected if is_deadly(event, ordering)}
    counts["deadly used up"] += len(deadly & stored.exhausted)
    if ordering == "strict":
        complain("before one that came first", inversions(leases, ends, position, expected))


def inversions(leases, ends, position, expected):
    """The events of a strict delegate that were handed out although one before them was handed out again later."""
    found, order = set(), sorted(expected, key=position.get)
    # When one of the events before the event was handed out for the last time.
    latest, before = 0, {}
    for event in order:
        before[event] = latest
        latest = max([latest, *(lease.created for lease in ends[event])])
    for lease in leases:
        its = list(lease.events)
        if its != sorted(its, key=position.get) or lease.created < before[its[0]]:
            found.update(its)
    return found


def row(o):
    return (
        f"{NODES} nodes on one PostgreSQL, under load, with 8 workers of two pull delegates that acknowledge, fail, give back, extend and "
        f"let leases expire: every {PERIOD} s a node is killed, and workers at any time",
        f"{o['nodes']:,} nodes and {o['workers']:,} workers killed, {o['deadly events']:,} workers ended by an event; {o['events']:,} events "
        f"acknowledged, {o['handed out']:,} handed out in {o['leases']:,} leases, {o['expired']:,} of which expired",
        f"{o['lost']} lost, {o['handed out after an acknowledgement']} handed out again after an acknowledgement, "
        f"{o['handed out twice at the same time']} live leases handed out twice, {o['before one that came first']} out of order; "
        f"{o['exhausted']:,} used up their own attempts, {o['given up before their attempts were used up']} others given up")
