"""Crash states: a recording of all writes and flushes of a data folder, cut at every call, and of what was not flushed yet only a
part on the disk. The real binary opens each state.

What a disk may do here: of a file all that was written before its last flush is there. Of each later write all, nothing, or any
sectors of 512 bytes are there, in any order; a file that is not as long as it was ends earlier, and a gap holds zeros. Changes of
the folder reach the disk in their order, and with the flush of the file that they made, as in the journals of ext4 and XFS."""

import multiprocessing
import os
import pickle
import random
import shutil
import struct
import time
import traceback

from herald import (
    Failure, Folder, Herald, Ledger, Load, Outcome, Receiver, Shim, check_folder, compare_log, due, wait_for)
from starter import Started, Starter

QUICK, FULL, UNIT = 2000, 100_000, "states"
SECTOR = 512
VARIANTS = ["all", "flushed", "torn", "reordered", "sectors", "lost"]
# Of so many states one is also run until everything has been delivered.
DELIVERED = 50
ERASED = "erased-"
WORKERS = max(2, os.cpu_count() or 2)
QUIET = ["--deny-networks", "127.0.0.0/8"]
CREATED, WRITTEN, CUT, FLUSHED, FOLDER_FLUSHED, RENAMED, UNLINKED = range(1, 8)
# They share what the script holds in memory.
workers = multiprocessing.get_context("fork")
one_at_a_time = workers.Lock()


def run(count, seed, outcome):
    left, number = count, 0
    while left > 0 and not outcome.is_late():
        with Folder("states") as folder:
            failed = len(outcome.failures)
            left -= attack(folder, min(left, max(500, count // 20)), seed + number, outcome)
            number += 1
            if len(outcome.failures) > failed:
                raise Failure(f"to repeat: script/crash-test states --count {min(count, 500)} --seed {seed + number - 1}")


def attack(folder, count, seed, outcome):
    ledger = Ledger()
    receiver = Receiver(folder / "receipts", seed)
    calls = record(folder, seed, ledger, receiver)
    outcome.counts["recordings"] += 1
    outcome.counts["calls"] += len(calls)
    outcome.counts["events"] += len(ledger.acknowledged)
    receipts = [receipt for receipt in receiver.receipts()["all"] if not receipt[1].startswith(ERASED)]
    chance = random.Random(seed)
    every = [(place, variant) for place in range(len(calls)) for variant in VARIANTS]
    chosen = sorted(chance.sample(every, min(count, len(every))))
    delivered = {chance.choice(chosen) for _ in range(len(chosen) // DELIVERED)}
    running = [
        workers.Process(target=open_states, args=(
            chosen[number::WORKERS], number, calls, receipts, delivered, folder, seed, ledger, receiver, outcome.deadline))
        for number in range(WORKERS)
    ]
    for worker in running:
        worker.start()
    for number, worker in enumerate(running):
        worker.join()
        if worker.exitcode != 0:
            raise Failure(f"a process that opens states ended with {worker.exitcode}")
        with open(folder / f"outcome-{number}", "rb") as file:
            found = pickle.load(file)
        outcome.counts += found.counts
        outcome.failures += found.failures
    receiver.close()
    return len(chosen)


def open_states(chosen, number, calls, receipts, delivered, folder, seed, ledger, receiver, deadline):
    """A share of the states of a recording, in a process of its own."""
    outcome, disk, done = Outcome(deadline), Disk(), 0
    server = Starter("serve", "--listen", "127.0.0.1:0", "--data", ".", "--log-format", "json", *QUIET)
    checker = Starter("check", ".")
    try:
        for place, variant in chosen:
            while done <= place:
                disk.apply(calls[done])
                done += 1
            name = f"state-{place}-{variant}"
            path = folder / name
            disk.write(path, variant, random.Random(f"{seed}-{name}"))
            moment = calls[place + 1].begin if place + 1 < len(calls) else time.monotonic()
            arrived = {event for at, event in receipts if at <= moment}
            failed = len(outcome.failures)
            try:
                if (place, variant) in delivered:
                    with one_at_a_time:
                        look(lambda: Herald(path), checker, path, moment, ledger, arrived, receiver, outcome, name)
                else:
                    look(lambda: Started(server, path), checker, path, moment, ledger, arrived, None, outcome, name)
            except Failure as failure:
                outcome.counts["refused"] += "refused to start" in str(failure)
                outcome.fail(f"{name}: {failure}")
            outcome.counts["states"] += 1
            if len(outcome.failures) == failed:
                shutil.rmtree(path)
            if len(outcome.failures) > 5 or outcome.is_late():
                break
    except Exception:  # As in run.py: it must not pass for a result.
        outcome.fail(traceback.format_exc())
    finally:
        server.close()
        checker.close()
    with open(folder / f"outcome-{number}", "wb") as file:
        pickle.dump(outcome, file)


def look(start, checker, path, moment, ledger, arrived, receiver, outcome, where):
    """Opens, lists and checks a state, and compares it with what was acknowledged and delivered before the crash."""
    begin = time.monotonic()
    herald = start().expect()
    try:
        log = compare_log(herald, ledger, outcome, where, until=moment)
        ids = {one for one in due(log) if not one.startswith(ERASED)}
        if not arrived <= ids:
            outcome.fail(f"{where}: {len(arrived - ids)} events were delivered, and are not in the log")
        if receiver and herald.ask("GET", "/v1/delegates?kind=webhook")[1]["data"]:
            def all_there():
                return ids <= arrived | {event for at, event in receiver.receipts()["all"] if at >= begin}

            wait_for(f"{where}: what was not delivered before the crash arrives", all_there)
            outcome.counts["delivered"] += 1
    finally:
        herald.kill()
    check_folder(path, outcome, where, checker.run(path))


def record(folder, seed, ledger, receiver):
    """A server from its first start on: load, checkpoints of the database, a clean stop, an erasure, a crash."""
    shim = Shim(folder, os.path.join(folder.path, "data"), folder / "record")

    def start():
        return Herald(folder / "data", environment=shim.environment).expect()

    def load(herald, name, limit, **options):
        Load(herald, ledger, name, seed, publishers=2, limit=limit, **options).wait()

    herald = start()
    herald.register(receiver.url("/all/ms/3"))
    load(herald, "a", 45, size=300)
    # Longer than what the log may be before it is copied into the database.
    load(herald, "b", 12, size=60_000)
    load(herald, "c", 15, size=300)
    herald.stop()
    herald = start()
    load(herald, "d", 20, size=300)
    # What is erased is cut out of the write-ahead log, too.
    for number in range(5):
        herald.ask("POST", "/v1/events", {"type": "load.test", "id": f"{ERASED}{number}", "subject": "erased"})
    status, _ = herald.ask("DELETE", "/v1/subjects/erased")
    if status != 200:
        raise Failure(f"not erased: {status}")
    load(herald, "e", 8, size=60_000)
    load(herald, "f", 10, size=300)
    herald.kill()
    herald = start()
    load(herald, "g", 15, size=300)
    herald.kill()
    shim.close()
    return Call.read(folder / "record")


class Call:
    """A call that was recorded."""

    def __init__(self, operation, file, begin, offset, data):
        self.operation, self.file, self.begin, self.offset, self.data = operation, file, begin / 1e9, offset, data

    @staticmethod
    def read(path):
        with open(path, "rb") as file:
            content = file.read()
        calls, place = [], 0
        while place < len(content):
            operation, length, number, begin, _, offset = struct.unpack_from("<IIQQQQ", content, place)
            place += 40
            call = Call(operation, number, begin, offset, content[place:place + length])
            place += length
            calls.append(call)
        return calls


class File:
    def __init__(self):
        self.flushed, self.pending = bytearray(), []


class Disk:
    """What is on the disk for sure, and what may be."""

    def __init__(self):
        self.names, self.changes = {}, []  # changes of the folder: (names as they are after it, the file it made)
        self.files = {}  # by their number; it may be given again when a file is gone

    def latest(self):
        return self.changes[-1][0] if self.changes else self.names

    def apply(self, call):
        text = call.data.decode() if call.operation in (CREATED, RENAMED, UNLINKED) else ""
        if call.operation == CREATED:
            self.files[call.file] = File()
            self.changes.append(({**self.latest(), text: self.files[call.file]}, self.files[call.file]))
        elif call.operation == RENAMED:
            old, new = text.split("/")
            names = dict(self.latest())
            names[new] = names.pop(old)
            self.changes.append((names, None))
        elif call.operation == UNLINKED:
            self.changes.append(({name: file for name, file in self.latest().items() if name != text}, None))
        elif call.operation == FOLDER_FLUSHED:
            self.names, self.changes = self.latest(), []
        elif call.operation == FLUSHED and call.file in self.files:
            file = self.files[call.file]
            for one in file.pending:
                put(file.flushed, one)
            file.pending = []
            made = [number for number, (_, made) in enumerate(self.changes) if made is file]
            if made:
                self.names, self.changes = self.changes[made[-1]][0], self.changes[made[-1] + 1:]
        elif call.operation in (WRITTEN, CUT) and call.file in self.files:
            self.files[call.file].pending.append(call)

    def write(self, path, variant, chance):
        """Makes a folder as a crash may leave it."""
        history = [self.names] + [names for names, _ in self.changes]
        names = {"all": history[-1], "torn": history[-1], "flushed": history[0]}.get(variant) or chance.choice(history)
        share, lost = chance.choice([0.1, 0.5, 0.9]), None
        if variant == "lost":
            writes = [call for file in names.values() for call in file.pending if call.operation == WRITTEN]
            lost = chance.choice(writes) if writes else None
        os.mkdir(path)
        for name, file in names.items():
            if name.endswith("-shm"):
                continue
            content = bytearray(file.flushed)
            for number, call in enumerate(file.pending):
                is_last = number == len(file.pending) - 1
                if variant == "flushed" or variant == "reordered" and chance.random() < 0.5:
                    continue
                if call.operation == CUT or variant in ("all", "reordered") or variant == "torn" and not is_last:
                    put(content, call)
                    continue
                sectors = range((len(call.data) + SECTOR - 1) // SECTOR)
                if variant == "torn":
                    kept = range(chance.randrange(len(sectors) + 1))
                elif variant == "sectors":
                    kept = [sector for sector in sectors if chance.random() < share]
                else:
                    gone = chance.choice(sectors) if call is lost else -1
                    kept = [sector for sector in sectors if sector != gone]
                for sector in kept:
                    place(content, call.offset + sector * SECTOR, call.data[sector * SECTOR:(sector + 1) * SECTOR])
            with open(os.open(os.path.join(path, name), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as target:
                target.write(content)


def put(content, call):
    if call.operation == WRITTEN:
        place(content, call.offset, call.data)
    elif call.offset < len(content):
        del content[call.offset:]
    else:
        content.extend(bytes(call.offset - len(content)))


def place(content, offset, data):
    if offset > len(content):
        content.extend(bytes(offset - len(content)))
    content[offset:offset + len(data)] = data


def row(o):
    return (
        "crash states rebuilt from recordings of all writes and flushes: cut at a call, the last write torn, writes since the last "
        "flush reordered or without some sectors; each opened, listed and checked",
        f"{o['states']:,} states of {o['recordings']:,} recordings with {o['calls']:,} calls; {o['delivered']:,} of them run until "
        "everything had been delivered",
        f"{o['lost']} lost, {o['refused']} refused")
