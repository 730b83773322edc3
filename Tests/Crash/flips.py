"""Flipped bits in the database, in its write-ahead log after a crash, and in a backup. What an event says is never wrong, and nothing
is lost silently."""

import concurrent.futures
import os
import random
import re
import shutil

from herald import Failure, Folder, Herald, Ledger, Load, Outcome, command

QUICK, FULL, UNIT = 150, 1000, "flipped bits"
TARGETS = ["herald.db", "herald.db-wal", "backup"]
WORKERS = max(2, os.cpu_count() or 2)


def run(count, seed, outcome):
    with Folder("flips") as folder:
        truth = prepare(folder, seed)
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for found in pool.map(lambda number: flip(folder, number, seed, truth), range(count)):
                outcome.counts += found.counts
                outcome.failures += found.failures
        if outcome.failures:
            raise Failure(f"to repeat: script/crash-test flips --count {count} --seed {seed}")


def prepare(folder, seed):
    """A folder as after kill -9, with events in the database and in its log; a backup; and the list of the events."""
    ledger = Ledger()
    herald = Herald(folder / "data").expect()
    for number in range(3):
        herald.register(f"http://127.0.0.1:9/{number}")
    Load(herald, ledger, "a", seed, publishers=2, limit=150, size=2000).wait()
    # A clean stop copies the log into the database.
    herald.stop()
    herald = Herald(folder / "data").expect()
    Load(herald, ledger, "b", seed, publishers=2, limit=60, size=2000).wait()
    status, text = command("backup", folder / "backup", "--data", folder / "data")
    if status != 0:
        raise Failure(f"no backup: {text}")
    truth = {event["id"]: event for event in herald.events()}
    herald.kill()
    return truth


def flip(folder, number, seed, truth):
    outcome, chance = Outcome(), random.Random(f"{seed}-{number}")
    target = TARGETS[number % len(TARGETS)]
    copy = folder / f"copy-{number}"
    os.mkdir(copy, 0o700)
    for name in ("herald.db", "herald.db-wal", "herald.extent", "herald.lock"):
        shutil.copy(folder / f"data/{name}", copy)
    path = f"{copy}/{target}"
    if target == "backup":
        shutil.copy(folder / "backup", copy)
    with open(path, "r+b") as file:
        place = chance.randrange(os.path.getsize(path))
        file.seek(place)
        byte = file.read(1)[0] ^ 1 << chance.randrange(8)
        file.seek(place)
        file.write(bytes([byte]))
    where = f"{target}, bit at {place}"
    outcome.counts["flips"] += 1
    outcome.counts[target] += 1
    try:
        if target == "backup":
            if command("restore", path, f"{copy}/restored")[0] == 0:
                outcome.counts["silent"] += 1
                outcome.fail(f"{where}: restored")
            elif command("check", path)[0] == 0:
                outcome.fail(f"{where}: herald check says nothing")
            else:
                outcome.counts["refused"] += 1
        else:
            start(copy, truth, outcome, where)
    except Failure as failure:
        outcome.fail(f"{where}: {failure}")
    shutil.rmtree(copy)
    return outcome


def start(copy, truth, outcome, where):
    says = command("check", copy)[0] != 0
    herald = Herald(copy, "--deny-networks", "127.0.0.0/8")
    if herald.port is None:
        status = herald.ended()
        if status != 65:
            outcome.fail(f"{where}: ended with {status}: {herald.lines[-1:]}")
        outcome.counts["refused"] += 1
        return
    try:
        there = {event["id"]: event for event in herald.events()}
        for identity, event in there.items():
            if event != truth.get(identity):
                outcome.counts["served"] += 1
                outcome.fail(f"{where}: a wrong event was served: {event}")
        missing = truth.keys() - there.keys()
        metrics = herald.ask("GET", "/metrics")[1].decode()
        counted = int(re.search(r"^herald_events_damaged_total (\d+)", metrics, re.M)[1])
        if missing and not counted and not says:
            outcome.counts["silent"] += 1
            outcome.fail(f"{where}: {len(missing)} events are lost silently")
        outcome.counts["found" if missing and counted else "said by check" if says else "without effect"] += 1
    finally:
        herald.kill()


def row(o):
    return (
        "a flipped bit in the database, in its write-ahead log after `kill -9`, or in a backup",
        f"{o['flips']:,} bits: {o['herald.db']:,} in the database, {o['herald.db-wal']:,} in the log, {o['backup']:,} in the backup",
        f"{o['served']} wrong events served, {o['silent']} silent losses: {o['refused']:,} refused at the start or by "
        f"`herald restore`, {o['found']:,} served without the damaged event, {o['said by check']:,} found by `herald check` alone, "
        f"{o['without effect']:,} without effect on any event")
