"""PostgreSQL crashes, and connections to it break off at chosen statements, under load: what was acknowledged is there, once, and
the server is back by itself."""

import random
import time

from herald import (
    PATIENCE, Broken, Failure, Folder, Herald, Ledger, Load, Receiver, compare_current_states, compare_log, wait_for)
from kill import compare_deliveries, finish
from postgres import AFTER, BEFORE, SWALLOW, Postgres, Proxy

QUICK, FULL, UNIT = 4, 300, "outages"
# Outages of one database, before everything is delivered and compared.
CHAPTER = 30
WEBHOOKS = [
    ("/all", {}),
    ("/faulty/fail/15/close/5", {"retry_schedule": [0.05] * 20}),
    ("/strict/fail/5", {"retry_schedule": [0.05] * 20, "ordering": "strict"}),
]
# What the statements contain after which connections are cut: that appends, that flushes, and that commits.
STATEMENTS = ["append", "pg_logical_emit_message", "commit"]


def run(count, seed, outcome):
    for chapter in range((count + CHAPTER - 1) // CHAPTER):
        outages = min(CHAPTER, count - chapter * CHAPTER)
        with Folder("outages") as folder, Postgres() as database:
            before = len(outcome.failures)
            attack(folder, database, outages, seed + chapter, outcome)
            if len(outcome.failures) > before:
                raise Failure(f"to repeat: script/crash-test outages --count {outages} --seed {seed + chapter}")


def accepts(herald, ledger):
    """Whether a post is acknowledged, and `/readyz` agrees."""
    try:
        status, answer = herald.ask("POST", "/v1/events", {"type": "load.probe"})
        if status != 202:
            return False
        ledger.acknowledged[answer["id"]] = time.monotonic()
        return herald.ask("GET", "/readyz")[0] == 200
    except Broken:
        return False


def attack(folder, database, count, seed, outcome):
    chance, ledger, outages = random.Random(seed), Ledger(), []
    receiver = Receiver(folder / "receipts", seed)
    database.create("herald")
    proxy = Proxy(database.port)
    herald = Herald(database.url("herald", proxy.port)).expect()
    for path, fields in WEBHOOKS:
        herald.register(receiver.url(path), **fields)
    load = Load(herald, ledger, "o", seed, pause=0.005)
    for number in range(count):
        time.sleep(chance.uniform(0.05, 0.6))
        begin = time.monotonic()
        if number % 3 == 0:
            database.restart()
            outcome.counts["restarts"] += 1
        else:
            statement, action = chance.choice(STATEMENTS), chance.choice([BEFORE, AFTER, AFTER, SWALLOW])
            proxy.lose(statement, action, skip=chance.randrange(20))
            if proxy.hit.wait(PATIENCE):
                outcome.counts["cuts"] += 1
            else:
                outcome.fail(f"no statement with {statement} was seen")
            begin = time.monotonic()
        wait_for("posts are accepted again", lambda: herald.process.poll() is not None or accepts(herald, ledger))
        if herald.process.poll() is not None:
            raise Failure(f"it ended with status {herald.process.returncode}: {herald.lines[-1]}")
        outcome.figures["back"].append(time.monotonic() - begin)
        outages.append((begin, 60))
        if outcome.is_late():
            break
    load.stop()
    if set(ledger.refused) - {503}:
        outcome.fail(f"posts were refused with {dict(ledger.refused)}")
    outcome.counts["refused"] += ledger.refused[503]
    receiver.set_faulty(False)
    log = compare_log(herald, ledger, outcome, "after the outages")
    compare_current_states(herald, log, outcome, "after the outages")
    receipts = finish(herald, receiver, log, outcome, WEBHOOKS)
    proxy.close()
    outcome.counts["events"] += len(ledger.acknowledged)
    for path, fields in WEBHOOKS:
        compare_deliveries(log, receipts[path.split("/")[1]], fields.get("ordering"), outages, outcome, path)


def row(o):
    return (
        "PostgreSQL crashes, and connections to it cut before and after statements that append, flush and commit, or left open without traffic",
        f"{o['restarts']:,} crashes, {o['cuts']:,} cuts; {o['events']:,} events acknowledged, {o['deliveries']:,} deliveries",
        f"{o['lost']} lost, {o['inversions']} out of order, {o['duplicates']:,} made twice; posts accepted again after p50 "
        f"{o['back_p50']} ms, at most {o['back_max']} ms")
