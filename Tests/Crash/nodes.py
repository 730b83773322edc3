"""Several servers on one PostgreSQL, under load: every ten seconds one of them is killed, or ends (TERM). What was acknowledged by
any of them is there, arrives, and in the order that a webhook wants; others take over its deliveries."""

import random
import threading
import time

from herald import (
    Broken, Connection, Failure, Folder, Herald, Ledger, Load, Receiver, compare_current_states, compare_logs, due, wait_for)
from kill import CHECKPOINT, RETRIES, compare_deliveries, repeat
from postgres import Postgres

QUICK, FULL, UNIT = 2, 120, "nodes that die or end"
NODES = 3
# None that never responds: after a timeout at least a minute passes.
WEBHOOKS = [
    ("/all", {}),
    ("/behind", {"max_in_flight": 1}),
    ("/faulty/fail/15/close/5/ms/50", RETRIES),
    ("/subject/fail/10", {**RETRIES, "ordering": "subject"}),
    ("/strict/fail/5", {**RETRIES, "ordering": "strict"}),
]
# Of one database, before everything is delivered and compared.
CHAPTER = 40
# Every sixth node ends, the others are killed.
ENDS = 6
# Webhooks that are only there to be watched: their keys are spread over all shards.
WATCHED = 64
# Seconds between two events for them.
TICK = 0.1
# Seconds between two nodes that die or end.
PERIOD = 10
# Seconds within which every webhook gets events again.
TAKEN_OVER = {"kill": 3, "end": 2}


def run(count, seed, outcome):
    for chapter in range((count + CHAPTER - 1) // CHAPTER):
        number = min(CHAPTER, count - chapter * CHAPTER)
        with Folder("nodes") as folder, Postgres() as database:
            before = len(outcome.failures)
            attack(folder, database, number, seed + chapter, outcome)
            if len(outcome.failures) > before:
                raise Failure(f"to repeat: script/crash-test nodes --count {number} --seed {seed + chapter}")


class Nodes:
    """The servers, each with publishers of its own."""

    def __init__(self, urls, ledger, seed, environments=None):
        self.urls, self.ledger, self.seed, self.started = urls, ledger, seed, 0
        self.environments = environments or [None] * len(urls)
        self.servers = [Herald(url, environment=more).expect() for url, more in zip(urls, self.environments)]
        self.loads = [None] * len(urls)
        # Those that are not to be asked.
        self.away = set()

    def register(self, receiver):
        """The webhooks that get everything, and those that are watched."""
        for path, fields in WEBHOOKS:
            self.servers[0].register(receiver.url(path), **fields)
        for number in range(WATCHED):
            self.servers[number % len(self.servers)].register(receiver.url(f"/w{number}"), events=["watch.tick"])

    def publish(self, index):
        self.started += 1
        self.loads[index] = Load(self.servers[index], self.ledger, f"n{self.started}", self.seed, publishers=2, pause=0.05)

    def start(self, index):
        self.servers[index] = Herald(self.urls[index], environment=self.environments[index]).expect()
        self.publish(index)

    def end(self, index, outcome):
        if self.servers[index].stop() != 0:
            outcome.fail("a node did not end with status 0")


class Ticker(threading.Thread):
    """Publishes what the watched webhooks get, at whatever node takes it."""

    def __init__(self, nodes):
        super().__init__(daemon=True)
        self.nodes, self.stopped = nodes, threading.Event()
        self.start()

    def run(self):
        while not self.stopped.wait(TICK):
            there = [server for index, server in enumerate(self.nodes.servers) if index not in self.nodes.away]
            for server in random.sample(there, len(there)):
                try:
                    connection = Connection(server.port, timeout=1)
                    status, answer = connection.ask("POST", "/v1/events", {"type": "watch.tick"})
                    connection.close()
                except Broken:
                    continue
                if status == 202:
                    self.nodes.ledger.acknowledged[answer["id"]] = time.monotonic()
                    break

    def stop(self):
        self.stopped.set()
        self.join()


def attack(folder, database, count, seed, outcome, before_return=lambda: None):
    """`before_return`: called before a node is started again."""
    chance, ledger, blows, watched = random.Random(seed), Ledger(), [], []
    receiver = Receiver(folder / "receipts", seed)
    nodes = Nodes([database.create("herald")] * NODES, ledger, seed)
    nodes.register(receiver)
    for index in range(NODES):
        nodes.publish(index)
    ticker = Ticker(nodes)
    time.sleep(2)
    for number in range(count):
        how = "end" if number % ENDS == 1 else "kill"
        index = chance.randrange(NODES)
        begin = time.monotonic()
        if how == "kill":
            nodes.servers[index].kill()
            # On a busy machine it takes a while until all threads are gone; the connections are open until then.
            outcome.figures["died"].append(time.monotonic() - begin)
        else:
            nodes.end(index, outcome)
        gone = time.monotonic() if how == "kill" else begin
        end = gone + TAKEN_OVER[how] + 1
        watched.append((how, gone, end))
        time.sleep(max(0, end - time.monotonic()))
        nodes.loads[index].wait()
        if how == "kill":
            # What it had delivered, and not recorded yet. An end repeats nothing.
            blows.append((begin, CHECKPOINT + 2 * ledger.slowest + 0.2))
        ledger.slowest = 0.0
        outcome.counts[how] += 1
        if number + 1 == count or outcome.is_late():
            break
        before_return()
        back = time.monotonic()
        nodes.start(index)
        time.sleep(max(2, begin + PERIOD + chance.uniform(-0.5, 0.5) - time.monotonic()))
        watched.append(("join", back, time.monotonic()))
    nodes.start(index)
    ticker.stop()
    receipts = settle(nodes, ledger, receiver, blows, outcome)
    for how, begin, end in watched:
        gap = max(longest_gap(receipts[f"w{number}"], begin, end) for number in range(WATCHED))
        outcome.figures[how].append(gap)
        if gap > TAKEN_OVER.get(how, gap):
            outcome.fail(f"{how}: a webhook got nothing for {gap:.1f} s")


def settle(nodes, ledger, receiver, blows, outcome):
    """Stops the publishers, waits until everything has arrived, or in vain, ends the servers, and compares all there is.
    Returns the receipts."""
    for load in nodes.loads:
        load.stop()
    repeat(nodes.servers[0], ledger, outcome)
    if set(ledger.refused) - {503}:
        outcome.fail(f"posts were refused with {dict(ledger.refused)}")
    receiver.set_faulty(False)
    log = compare_logs(nodes.servers, ledger, outcome, "after it")
    for server in nodes.servers:
        compare_current_states(server, log, outcome, "after it")
    ids = due(log)

    def all_arrived():
        receipts = receiver.receipts()
        return all(ids <= {event for _, event in receipts[path.split("/")[1]]} for path, _ in WEBHOOKS)

    try:
        wait_for("everything arrives", all_arrived, pause=0.3)
    except Failure:
        pass
    for index in range(len(nodes.servers)):
        nodes.end(index, outcome)
    receipts = receiver.receipts()
    receiver.close()
    outcome.counts["events"] += len(ledger.acknowledged) + sum(1 for answered in ledger.marks.values() if answered)
    for path, fields in WEBHOOKS:
        compare_deliveries(log, receipts[path.split("/")[1]], fields.get("ordering"), blows, outcome, path)
    return receipts


def longest_gap(receipts, begin, end):
    """The longest part of this time without a callback."""
    times = [begin] + sorted(at for at, *_ in receipts if begin <= at <= end) + [end]
    return max(later - earlier for earlier, later in zip(times, times[1:]))


def row(o):
    return (
        f"{NODES} nodes on one PostgreSQL, under load: every {PERIOD} s one is killed or ends, and is started again",
        f"{o['kill']:,} killed, {o['end']:,} ended; {o['events']:,} events acknowledged, {o['deliveries']:,} deliveries",
        f"{o['lost']} lost, {o['inversions']} out of order, {o['duplicates']:,} made twice, {o['unexplained']} of them unexplained; "
        f"age of those p50 {o['age_p50']} ms, p99 {o['age_p99']} ms, at most {o['age_max']} ms; "
        f"the longest time that a webhook went without a callback, p50, p99 and max: {figures(o, 'kill')} after a killed process was gone "
        f"(which took {figures(o, 'died')}), "
        f"{figures(o, 'end')} after TERM, {figures(o, 'join')} when the node came back")


def figures(o, name):
    return " / ".join(f"{o[f'{name}_{part}']:,}" for part in ("p50", "p99", "max")) + " ms"
