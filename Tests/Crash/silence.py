"""Several servers on one PostgreSQL, under load, of which two fall silent without an end: one is stopped (SIGSTOP), and the way of
another one to the database is cut. Others take over their deliveries; when they are back, they start nothing and change nothing
before they have shards again."""

import collections
import random
import signal
import time

from herald import Failure, Folder, Ledger, Receiver, library, wait_for
from kill import CHECKPOINT
from nodes import NODES, WATCHED, Nodes, Ticker, figures, longest_gap, settle
from postgres import Postgres, Wire

QUICK, FULL, UNIT = 2, 100, "nodes that are stopped or cut off"
# Of one database, before everything is delivered and compared.
CHAPTER = 20
# Webhooks that are slower than their events: so each node has something to send when it falls silent.
SLOW = 12
# How long it takes: longer than the server lets a silent session live.
SECONDS = 20
# Seconds within which every webhook gets events again.
TAKEN_OVER = 15
# Seconds after its last sign of life in which a node may start attempts; with some for the way to the receiver.
PERMIT = 5 + 0.3
# And in which those may go on.
PATIENCE = 8

# Notes which process changed how many rows of deliveries or leases when.
SPY = """
CREATE TABLE public.spy (at double precision, client text, relation text, number bigint);
CREATE FUNCTION public.spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO public.spy
        SELECT extract(epoch FROM clock_timestamp()), current_setting('application_name'), tg_table_name || ' ' || tg_op, count(*)
        FROM changed HAVING count(*) > 0;
    RETURN NULL;
END $$;
DO $$ DECLARE relation text; action text; BEGIN
    FOREACH relation IN ARRAY ARRAY['lanes', 'waiting', 'replays', 'statistics', 'heads', 'attempts', 'shards'] LOOP
        FOREACH action IN ARRAY ARRAY['INSERT', 'UPDATE', 'DELETE'] LOOP
            EXECUTE format(
                'CREATE TRIGGER spy_%s AFTER %s ON herald.%I REFERENCING %s TABLE AS changed '
                'FOR EACH STATEMENT EXECUTE FUNCTION public.spy()',
                action, action, relation, CASE action WHEN 'DELETE' THEN 'OLD' ELSE 'NEW' END);
        END LOOP;
    END LOOP;
END $$;
"""
# Of attempts that it had made before: it is added, and changes nothing.
HISTORY = "attempts INSERT"
# Attempts that are in the history twice.
DOUBLED = """
SELECT count(*) FROM (SELECT FROM attempts GROUP BY delegate, event, number, started_at, duration HAVING count(*) > 1) AS _
"""


def run(count, seed, outcome):
    for chapter in range((count + CHAPTER - 1) // CHAPTER):
        number = min(CHAPTER, count - chapter * CHAPTER)
        with Folder("silence") as folder, Postgres() as database:
            before = len(outcome.failures)
            attack(folder, database, number, seed + chapter, outcome)
            if len(outcome.failures) > before:
                raise Failure(f"to repeat: script/crash-test silence --count {number} --seed {seed + chapter}")


def address(index):
    return f"127.0.0.{index + 2}"


def attack(folder, database, count, seed, outcome):
    chance, ledger, blows, silences = random.Random(seed), Ledger(), [], []
    receiver = Receiver(folder / "receipts", seed)
    database.create("herald")
    wires = [Wire(database.port) for _ in range(NODES)]
    shim = str(library("source"))
    nodes = Nodes(
        [wire.url("herald") for wire in wires], ledger, seed,
        [{"LD_PRELOAD": shim, "SOURCE_ADDRESS": address(index)} for index in range(NODES)])
    database.ask(SPY, "herald")
    nodes.register(receiver)
    for number in range(SLOW):
        nodes.servers[0].register(receiver.url(f"/slow{number}/ms/300"), events=["watch.tick"], max_in_flight=1)
    for index in range(NODES):
        nodes.publish(index)
    ticker = Ticker(nodes)
    for number in range(count // 2):
        wait_for("each node has its part", lambda: has_parts(database), pause=0.2)
        ledger.slowest = 0.0
        time.sleep(chance.uniform(1, 2))
        stopped, cut = chance.sample(range(NODES), 2)
        nodes.away = {stopped, cut}
        window = CHECKPOINT + 2 * ledger.slowest + 0.2
        begin = time.monotonic()
        nodes.servers[stopped].process.send_signal(signal.SIGSTOP)
        time.sleep(chance.uniform(0, 1.5))
        cut_at = time.monotonic()
        wires[cut].cut()
        time.sleep(begin + SECONDS - time.monotonic())
        for how, index, since in (("stop", stopped, begin), ("cut", cut, cut_at)):
            check_alone(database, nodes.servers[index], outcome)
            back = time.monotonic()
            if how == "stop":
                nodes.servers[index].process.send_signal(signal.SIGCONT)
                blows.append((since, window))
            else:
                wires[index].mend()
                # Until it knows that it is cut off it goes on, and cannot record it.
                blows.append((since + PATIENCE, PATIENCE + window))
            silences.append((how, index, nodes.servers[index].process.pid, since, back))
            outcome.counts[how] += 1
        for index in (stopped, cut):
            nodes.loads[index].stop()
            nodes.publish(index)
        nodes.away = set()
        if outcome.is_late():
            break
    wait_for("each node has its part", lambda: has_parts(database), pause=0.2)
    ticker.stop()
    outcome.counts["doubled"] += int(database.ask(DOUBLED, "herald"))
    moved = read_spy(database)
    callbacks = read_callbacks(receiver, outcome)
    settle(nodes, ledger, receiver, blows, outcome)
    for wire in wires:
        wire.close()
    for silence in silences:
        judge(silence, callbacks, moved, outcome)


def has_parts(database):
    return database.ask("SELECT array_agg(n ORDER BY n) FROM "
                        "(SELECT count(*) AS n FROM shards WHERE node > 0 GROUP BY node) AS _", "herald") == "{21,21,22}"


def check_alone(database, server, outcome):
    """The server has ended the session that it writes with, which holds all locks, and others have its shards."""
    client = f"LIKE '%process {server.process.pid} %'"
    left = database.ask(
        "SELECT (SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) "
        f"WHERE locktype = 'advisory' AND application_name {client}), "
        f"(SELECT count(*) FROM herald.shards JOIN herald.nodes USING (node) WHERE name {client})", "herald")
    if left != "0|0":
        outcome.fail(f"locks and shards that a silent node still has: {left}")


def read_spy(database):
    """What each process has changed: (time, relation, number of rows), with the time of this process's clock."""
    shift, found = time.time() - time.monotonic(), collections.defaultdict(list)
    rows = database.ask("SELECT at, substring(client FROM 'process ([0-9]+) '), relation, number FROM spy ORDER BY at", "herald")
    for row in rows.splitlines():
        at, process, relation, number = row.split("|")
        found[int(process or 0)].append((float(at) - shift, relation, int(number)))
    return found


def read_callbacks(receiver, outcome):
    """All that the webhooks got that are watched: (time, address), for each of them."""
    found = collections.defaultdict(list)
    for at, path, _, _, peer in receiver.callbacks():
        found[path].append((at, peer))
        if peer not in map(address, range(NODES)):
            outcome.fail(f"a callback came from {peer}")
    return found


def judge(silence, callbacks, moved, outcome):
    how, index, process, begin, back = silence
    own = address(index)
    watched = [callbacks[f"w{number}"] for number in range(WATCHED)]
    # Those whose last callback before it came from this node.
    held = [calls for calls in watched if [peer for at, peer in calls if at < begin][-1:] == [own]]
    gap = max(longest_gap(calls, begin, back) for calls in held)
    outcome.figures[how].append(gap)
    if gap > TAKEN_OVER:
        outcome.fail(f"{how}: a webhook got nothing for {gap:.1f} s")
    taken = next((at for at, relation, _ in moved[process] if at > back and relation == "shards UPDATE"), float("inf"))
    if taken == float("inf"):
        return outcome.fail(f"{how}: it has not taken a shard again")
    outcome.figures["again"].append(taken - back)
    fence = begin + (PERMIT if how == "cut" else 0.3)
    if how == "cut":
        last = max((at for calls in callbacks.values() for at, peer in calls if peer == own and begin < at < taken), default=begin)
        outcome.figures["last"].append(last - begin)
    started = [at for calls in callbacks.values() for at, peer in calls if peer == own and fence < at < taken]
    outcome.counts["started"] += len(started)
    if started:
        outcome.fail(f"{how}: {len(started)} callbacks without a shard, such as {min(started) - begin:.2f} s after it began")
    written = [(at, relation, number) for at, relation, number in moved[process] if begin + 0.3 < at < taken]
    outcome.counts["recorded"] += sum(number for _, relation, number in written if relation == HISTORY)
    changed = [one for one in written if one[1] != HISTORY]
    outcome.counts["changed"] += sum(number for _, _, number in changed)
    if changed:
        outcome.fail(f"{how}: rows changed without a shard: {[(round(at - begin, 2), *rest) for at, *rest in changed[:5]]}")


def row(o):
    return (
        f"{NODES} nodes on one PostgreSQL, under load: at the same time one is stopped (`SIGSTOP`) and another one cut off from the database, "
        f"both for {SECONDS} s",
        f"{o['stop']:,} stopped, {o['cut']:,} cut off; {o['events']:,} events acknowledged, {o['deliveries']:,} deliveries",
        f"{o['lost']} lost, {o['inversions']} out of order, {o['duplicates']:,} made twice, {o['unexplained']} of them unexplained; "
        f"the longest time that a webhook went without a callback, p50, p99 and max: {figures(o, 'stop')} after a stop, "
        f"{figures(o, 'cut')} after a cut, where the last callback of the node itself came {o['last_max']:,} ms after it; by the silent "
        f"node, before it had shards again: {o['started']} callbacks started, {o['changed']} rows of deliveries changed, "
        f"{o['recorded']:,} attempts from before added to the history, "
        f"{o['doubled']:,} of all attempts are there twice")
