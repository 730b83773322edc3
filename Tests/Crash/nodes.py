"""Several servers on one PostgreSQL, under load: one of them is killed, stopped for a while (SIGSTOP), or ends (TERM). What was
acknowledged by any of them is there, arrives, and in the order that a webhook wants; others take over its deliveries."""

import random
import signal
import threading
import time

from herald import (
    Broken, Connection, Failure, Folder, Herald, Ledger, Load, Receiver, compare_current_states, compare_log, due, wait_for)
from kill import WEBHOOKS, compare_deliveries, repeat
from postgres import Postgres

QUICK, FULL, UNIT = 2, 120, "nodes that die, freeze or end"
NODES = 3
# Of one database, before everything is delivered and compared.
CHAPTER = 12
# Webhooks that are only there to be watched: their keys are spread over all shards.
WATCHED = 64
# Seconds between two events for them.
TICK = 0.1
# How long a node sleeps: longer than its sessions live.
FROZEN = 20
# Seconds within which every webhook gets events again.
TAKEN_OVER = {"kill": 3, "freeze": 15, "end": 2}


def run(count, seed, outcome):
    for chapter in range((count + CHAPTER - 1) // CHAPTER):
        number = min(CHAPTER, count - chapter * CHAPTER)
        with Folder("nodes") as folder, Postgres() as database:
            before = len(outcome.failures)
            attack(folder, database, number, seed + chapter, outcome)
            if len(outcome.failures) > before:
                raise Failure(f"to repeat: script/crash-test nodes --count {number} --seed {seed + chapter}")


class Nodes:
    """The servers, each with a publisher of its own."""

    def __init__(self, url, ledger, seed):
        self.url, self.ledger, self.seed, self.started = url, ledger, seed, 0
        self.servers = [Herald(url).expect() for _ in range(NODES)]
        self.loads = [None] * NODES

    def publish(self, index):
        self.started += 1
        self.loads[index] = Load(self.servers[index], self.ledger, f"n{self.started}", self.seed, publishers=2, pause=0.02)

    def start(self, index):
        self.servers[index] = Herald(self.url).expect()
        self.publish(index)


class Ticker(threading.Thread):
    """Publishes what the watched webhooks get, at whatever node takes it."""

    def __init__(self, nodes):
        super().__init__(daemon=True)
        self.nodes, self.stopped = nodes, threading.Event()
        self.start()

    def run(self):
        while not self.stopped.wait(TICK):
            for server in random.sample(self.nodes.servers, NODES):
                try:
                    connection = Connection(server.port)
                    # One that sleeps does not hold up the others.
                    connection.socket.settimeout(1)
                    status, answer = connection.ask("POST", "/v1/events", {"type": "watch.tick"})
                    connection.close()
                except (Broken, OSError):
                    continue
                if status == 202:
                    self.nodes.ledger.acknowledged[answer["id"]] = time.monotonic()
                    break

    def stop(self):
        self.stopped.set()
        self.join()


def attack(folder, database, count, seed, outcome):
    chance, ledger, blows, watched = random.Random(seed), Ledger(), [], []
    receiver = Receiver(folder / "receipts", seed)
    nodes = Nodes(database.create("herald"), ledger, seed)
    for path, fields in WEBHOOKS:
        nodes.servers[0].register(receiver.url(path), **fields)
    for number in range(WATCHED):
        nodes.servers[number % NODES].register(receiver.url(f"/w{number}"), events=["watch.tick"])
    for index in range(NODES):
        nodes.publish(index)
    ticker = Ticker(nodes)
    time.sleep(2)
    for number in range(count):
        how = ("kill", "end", "kill", "freeze")[number % 4]
        index = chance.randrange(NODES)
        server = nodes.servers[index]
        begin = time.monotonic()
        if how == "kill":
            server.kill()
        elif how == "end":
            if server.stop() != 0:
                outcome.fail("a node did not end with status 0")
        else:
            server.process.send_signal(signal.SIGSTOP)
        watched.append((how, begin, begin + (FROZEN if how == "freeze" else TAKEN_OVER[how] + 1)))
        # A clean end repeats nothing, so it explains no duplicate.
        if how != "end":
            blows.append((begin, TAKEN_OVER[how] + 1))
        time.sleep(FROZEN if how == "freeze" else TAKEN_OVER[how] + 1)
        if how == "freeze":
            server.process.send_signal(signal.SIGCONT)
            blows.append((time.monotonic(), 1))
            time.sleep(1)
        else:
            nodes.loads[index].wait()
            nodes.start(index)
            time.sleep(chance.uniform(1, 4))
        outcome.counts[how] += 1
    ticker.stop()
    for load in nodes.loads:
        load.stop()
    repeat(nodes.servers[0], ledger, outcome)
    if set(ledger.refused) - {503}:
        outcome.fail(f"posts were refused with {dict(ledger.refused)}")
    receiver.set_faulty(False)
    logs = [compare_log(server, ledger, outcome, f"node {number}") for number, server in enumerate(nodes.servers)]
    if any([event["id"] for event in log] != [event["id"] for event in logs[0]] for log in logs):
        outcome.fail("two nodes have different logs")
    for server in nodes.servers:
        compare_current_states(server, logs[0], outcome, "after it")
    ids = due(logs[0])

    def all_arrived():
        receipts = receiver.receipts()
        return all(ids <= {event for _, event in receipts[path.split("/")[1]]} for path, _ in WEBHOOKS)

    try:
        wait_for("everything arrives", all_arrived, 180, 0.3)
    except Failure:
        pass
    for server in nodes.servers:
        if server.stop() != 0:
            outcome.fail("a node did not end with status 0")
    receipts = receiver.receipts()
    receiver.close()
    outcome.counts["events"] += len(ledger.acknowledged) + sum(1 for answered in ledger.marks.values() if answered)
    for path, fields in WEBHOOKS:
        compare_deliveries(logs[0], receipts[path.split("/")[1]], fields.get("ordering"), blows, outcome, path)
    for how, begin, end in watched:
        gap = max(longest_gap(receipts[f"w{number}"], begin, end) for number in range(WATCHED))
        outcome.figures[how].append(gap)
        if gap > TAKEN_OVER[how]:
            outcome.fail(f"{how}: a webhook got nothing for {gap:.1f} s")


def longest_gap(receipts, begin, end):
    """The longest part of this time without a callback."""
    times = [begin] + sorted(at for at, _ in receipts if begin <= at <= end) + [end]
    return max(later - earlier for earlier, later in zip(times, times[1:]))


def row(o):
    return (
        f"{NODES} nodes on one PostgreSQL, under load: one is killed, ends, or sleeps for {FROZEN} s",
        f"{o['kill']:,} killed, {o['end']:,} ended, {o['freeze']:,} frozen; {o['events']:,} events acknowledged, "
        f"{o['deliveries']:,} deliveries",
        f"{o['lost']} lost, {o['inversions']} out of order, {o['duplicates']:,} made twice, {o['unexplained']} of them unexplained; "
        f"webhooks without a callback for at most {o['kill_max']} ms, {o['end_max']} ms and {o['freeze_max']} ms")
