"""The primary of a PostgreSQL pair dies under load, and its standby is promoted: a synchronous one, which has everything, or an
asynchronous one that has fallen behind. Two servers of Herald go on by themselves, in the same processes, with what it has."""

import collections
import random
import signal
import time

from herald import (
    Broken, Connection, Failure, Folder, Herald, Ledger, Load, Receiver, compare_current_states, compare_logs, due, wait_for)
from kill import compare_deliveries
from outages import WEBHOOKS, accepts
from postgres import Postgres, free_port

QUICK, FULL, UNIT = 2, 30, "promotions"
# A third is asynchronous.
KINDS = ["synchronous", "asynchronous", "synchronous"]
# Of one database, before everything is delivered and compared.
CHAPTER = 10


def run(count, seed, outcome):
    for chapter in range((count + CHAPTER - 1) // CHAPTER):
        first = chapter * CHAPTER
        kinds = [KINDS[number % len(KINDS)] for number in range(first, min(count, first + CHAPTER))]
        with Folder("promotions") as folder, Postgres() as one, Postgres(one) as other:
            before = len(outcome.failures)
            attack(folder, Pair(one, other), kinds, seed + chapter, outcome)
            if len(outcome.failures) > before:
                raise Failure(f"to repeat: script/crash-test promotions --count {len(kinds)} --seed {seed + chapter}")


class Pair:
    """A primary and its standby, which change places."""

    def __init__(self, primary, standby):
        self.primary, self.standby = primary, standby
        self.url = f"postgres://herald@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/herald"
        primary.create("herald")

    def synchronize(self, mode):
        """Whether a flush waits for the standby. Returns when that holds."""
        self.primary.set("synchronous_standby_names", "*" if mode == "synchronous" else "")
        end = self.primary.ask("SELECT pg_current_wal_lsn()")
        state = "sync" if mode == "synchronous" else "async"
        wait_for(f"a standby that is {state}", lambda: self.primary.ask(
            f"SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '{state}' AND flush_lsn >= '{end}'"
        ) == "1")

    def part(self):
        """The standby gets nothing any more."""
        self.standby.set("primary_conninfo", "")
        wait_for("the standby is on its own", lambda: self.standby.ask("SELECT count(*) FROM pg_stat_wal_receiver") == "0")

    def promote(self):
        """Returns the events that the new primary begins with."""
        # There is no other server that it could wait for.
        self.standby.set("synchronous_standby_names", "")
        self.standby.ask("SELECT pg_promote()")
        self.primary, self.standby = self.standby, self.primary
        return self.events()

    def events(self):
        return [tuple(line.split("|")) for line in self.primary.ask(
            "SELECT sequence, id FROM herald.events ORDER BY sequence", "herald").splitlines()]

    def sessions(self, server):
        return int(server.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'herald, %'"))


class PatientLoad(Load):
    """Goes on with another connection, as the clients of a server that starts anew do."""

    def __init__(self, *arguments, **named):
        # Posts that have ended, with a response or without one, by publisher.
        self.ended = collections.Counter()
        super().__init__(*arguments, **named)

    def publish(self, publisher, chance):
        number = 0
        while not self.stopped.is_set():
            try:
                connection = Connection(self.port)
                while not self.stopped.is_set():
                    number += 1
                    self.post(connection, publisher, number, chance)
                    self.ended[publisher] += 1
                    time.sleep(self.pause)
            except Broken:
                self.ended[publisher] += 1
                time.sleep(0.05)

    def wait_for_responses(self):
        """Until each publisher has heard of the post that it waits for now."""
        before = [self.ended[publisher] for publisher in range(len(self.threads))]
        wait_for("each publisher has a response", lambda: all(
            self.ended[publisher] > count for publisher, count in enumerate(before)))


def attack(folder, pair, kinds, seed, outcome):
    chance, ledger, blows, lacking, prefixes = random.Random(seed), Ledger(), [], set(), []
    receiver = Receiver(folder / "receipts", seed)
    servers = [Herald(pair.url, port=free_port()).expect() for _ in range(2)]
    for path, fields in WEBHOOKS:
        servers[0].register(receiver.url(path), **fields)
    loads = [PatientLoad(server, ledger, f"p{number}", seed, publishers=2, pause=0.01) for number, server in enumerate(servers)]
    for number, kind in enumerate(kinds):
        pair.synchronize(kind)
        time.sleep(chance.uniform(0.3, 1.5))
        if kind == "asynchronous":
            pair.part()
            time.sleep(chance.uniform(0.2, 1))
        old = pair.primary
        begin = time.monotonic()
        old.end(signal.SIGQUIT if number % 2 else signal.SIGKILL)
        # A commit from before the end may still be on its way to its publisher.
        for load in loads:
            load.wait_for_responses()
        acknowledged = set(ledger.acknowledged)
        there = pair.promote()
        promoted = time.monotonic()
        lacks = acknowledged - lacking - {one for _, one in there}
        if kind == "synchronous" and lacks:
            outcome.fail(f"the synchronous standby lacks {len(lacks)} acknowledged events, such as {sorted(lacks)[:3]}")
        lacking |= lacks
        prefixes.append(there)
        outcome.counts[f"{kind} lacked"] += len(lacks)
        for server in servers:
            wait_for("posts are accepted again", lambda: server.process.poll() is not None or accepts(server, ledger))
            if server.process.poll() is not None:
                raise Failure(f"it ended with status {server.process.returncode}: {server.lines[-1]}")
            outcome.figures["back"].append(time.monotonic() - promoted)
        blows += since(begin)
        outcome.counts[kind] += 1
        if number % 3 == 0:
            begin = time.monotonic()
            distract(pair, old, servers, ledger, outcome)
            blows += since(begin)
        old.follow(pair.primary)
        if outcome.is_late():
            break
    for load in loads:
        load.stop()
    check(pair, servers, receiver, ledger, "asynchronous" in kinds, lacking, prefixes, blows, outcome)


def since(begin):
    """What explains repetitions. Until it notices, a server goes on with callbacks that it can't record."""
    return [(begin + 0.3 * number, 60) for number in range(int((time.monotonic() - begin) / 0.3) + 2)]


def distract(pair, old, servers, ledger, outcome):
    """The former primary comes back as one, and all sessions with the new one are cut: nobody goes to the former."""
    old.start()
    before = old.ask("SELECT max(sequence) FROM herald.events", "herald")
    pair.primary.ask(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'herald, %'", "herald")
    for server in servers:
        wait_for("posts are accepted beside a former primary", lambda: accepts(server, ledger))
    after = old.ask("SELECT max(sequence) FROM herald.events", "herald")
    if before != after:
        outcome.fail(f"a former primary was written to: it had {before} events, and has {after}")
    outcome.counts["former primaries"] += 1
    old.end()


def check(pair, servers, receiver, ledger, may_lose, lacking, prefixes, blows, outcome):
    if set(ledger.refused) - {503}:
        outcome.fail(f"posts were refused with {dict(ledger.refused)}")
    outcome.counts["refused"] += ledger.refused[503]
    receiver.set_faulty(False)
    outcome.counts["events"] += len(ledger.acknowledged)
    # What a standby lacked is gone, as PostgreSQL promises; nothing else may be.
    for one in lacking:
        del ledger.acknowledged[one]
    log = compare_logs(servers, ledger, outcome, "after the promotions")
    places = dict(pair.events())
    for there in prefixes:
        if any(places.get(sequence) != one for sequence, one in there):
            outcome.fail("what a standby had when it was promoted is not in its place any more")
    ids = {event["id"] for event in log}
    if back := lacking & ids:
        outcome.fail(f"events that a standby lacked are there again, such as {sorted(back)[:3]}")
    for server in servers:
        compare_current_states(server, log, outcome, "after the promotions")
        again = len(server.log("restarting within this process"))
        if again < len(prefixes):
            outcome.fail(f"a node has noticed {again} of {len(prefixes)} promotions")
    expected = due(log)

    def all_arrived():
        receipts = receiver.receipts()
        return all(expected <= {event for _, event in receipts[path.split("/")[1]]} for path, _ in WEBHOOKS)

    try:
        wait_for("everything arrives", all_arrived, pause=0.3)
    except Failure:
        pass
    for server in servers:
        if server.stop() != 0:
            outcome.fail("a node did not end with status 0")
    receipts = receiver.receipts()
    receiver.close()
    for path, fields in WEBHOOKS:
        found = receipts[path.split("/")[1]]
        # Also what was never answered, and so is not known to be lacking.
        unknown = {event for _, event in found} - ids
        outcome.counts["delivered of the lost end"] += len(unknown)
        if unknown and not may_lose:
            outcome.fail(f"{path}: {sorted(unknown)[:3]} were sent, and are not in the log")
        kept = [(at, event) for at, event in found if event not in unknown]
        compare_deliveries(log, kept, fields.get("ordering"), blows, outcome, path)


def row(o):
    return (
        "the primary of a PostgreSQL pair dies under load, and its standby is promoted; the former primary comes back, as one and as a standby",
        f"{o['synchronous']:,} promotions of a synchronous standby, {o['asynchronous']:,} of an asynchronous one that has fallen behind, "
        f"{o['former primaries']:,} former primaries that came back beside the new one; {o['events']:,} events acknowledged, {o['deliveries']:,} deliveries",
        f"{o['lost']} lost, but for {o['asynchronous lacked']:,} that an asynchronous standby lacked; {o['inversions']} out of order, "
        f"{o['duplicates']:,} made twice; 2 nodes continued in the same processes, no former primary was written to; posts accepted again p50 {o['back_p50']} ms after the "
        f"promotion, at most {o['back_max']} ms; {o['delivered of the lost end']:,} deliveries of events that were lost later")
