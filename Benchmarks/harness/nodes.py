"""Several servers on one PostgreSQL database: what the order of the log costs, what a delivery costs, and how soon others know.
The goals are those of Documentation/measurements/nodes.md."""
import glob
import json
import os
import statistics
import subprocess
import tempfile
import time

from database import Database, Node, Nodes, wait_until
from loads import wanted_by
from postgres import program
from programs import Failed, Herald, Receiver
from report import Goal
from sampling import complete, interleave, sample, take_turns

# In microseconds.
FLUSH = 2_000
SESSIONS = 4


def nodes(bench):
    order(bench)
    deliveries(bench)
    paced(bench)
    rows(bench)
    old_snapshot(bench)
    idle(bench)
    takeover(bench)


# MARK: The order of the log


def order(bench):
    """Appends as the servers do, from four sessions, beside the same function without the lock: positions from a sequence, which
    nobody could follow."""
    with Database(FLUSH) as database:
        with Node(database):
            pass  # It makes the schema.
        prepare(database)
        for batch in (16, 64, 256):
            compare_order(bench, database, batch, GIVEN_IDS, f"append, 4 sessions, batches of {batch}, a flush of 2 ms", has_goal=True)
        # Ids of the client's own may be random: each one is a page of the index of ids, which is looked for under the lock.
        compare_order(bench, database, 256, RANDOM_IDS, "append, 4 sessions, batches of 256, random ids", has_goal=False)


def compare_order(bench, database, batch, ids, title, has_goal):
    rounds = take_turns(
        bench, {"herald": "append_1", "no order": "append_unordered"},
        lambda function: append(bench, database, function, batch, ids))
    bench.keep(title, rounds)
    bench.compare(title, "events per second", rounds, "events_per_s", "no order", Goal(least=0.85, aim=0.95) if has_goal else None)
    bench.compare(title, "answered after, p50 µs", rounds, "p50_us", "no order", Goal(most=1.2, aim=1.05) if has_goal else None)


def prepare(database):
    database.query("SET search_path = herald; SELECT add_partition('events', 1, 1000000000000)")
    text = database.query("SELECT pg_get_functiondef('herald.append_1'::regproc)")
    head = "SELECT coalesce((SELECT sequence FROM events ORDER BY sequence DESC LIMIT 1), 0) INTO head;"
    lock = [line for line in text.splitlines() if "pg_advisory_xact_lock" in line]
    if head not in text or len(lock) != 1:
        raise Failed("append_1 has changed: Benchmarks/harness/nodes.py no longer knows how to leave out its lock")
    text = text.replace("append_1", "append_unordered").replace(lock[0], "")
    database.query(text.replace(head, "head := nextval('herald.unordered');"))
    database.query("CREATE SEQUENCE herald.unordered")
    database.query(
        "CREATE TABLE herald.batch AS SELECT size, array_fill(1::bigint, ARRAY[size]) AS ones, "
        "array_fill('order.created'::text, ARRAY[size]) AS types, '{}'::text[] AS texts, '{}'::bigint[] AS nulls, "
        "array_fill(decode(repeat('78', 400), 'hex'), ARRAY[size]) AS datas "
        "FROM unnest(ARRAY[16, 64, 256]) AS size")


# Those that the server gives begin with the time.
GIVEN_IDS = "lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000000)::bigint), 16, '0') || left(gen_random_uuid()::text, 13)"
RANDOM_IDS = "gen_random_uuid()::text"
APPEND = """
SELECT {function}(0, b.ones, (SELECT array_agg({ids}) FROM generate_series(1, {batch})), b.types, b.texts, b.ones,
    b.datas, b.texts, b.nulls, b.ones, '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', 0)
FROM batch b WHERE size = {batch};
SELECT pg_logical_emit_message(true, 'herald', '');
"""


def append(bench, database, function, batch, ids):
    database.query(
        f"ALTER SEQUENCE herald.unordered INCREMENT BY {batch}; "
        f"SELECT setval('herald.unordered', (SELECT coalesce(max(sequence), 0) + {batch} FROM herald.events))")
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "script")
        with open(script, "w") as file:
            file.write(APPEND.format(function=function, batch=batch, ids=ids))
        run = subprocess.run(
            [program("pgbench"), "-h", "127.0.0.1", "-p", str(database.port), "-U", "herald", "-n", "-M", "prepared", "-f", script,
             "-c", str(SESSIONS), "-j", "2", "-T", "2" if bench.quick else "5", "-l", "--log-prefix", os.path.join(folder, "log"),
             "herald"],
            capture_output=True, text=True, check=False, env=os.environ | {"PGOPTIONS": "-c search_path=herald"})
        if run.returncode != 0:
            raise Failed(f"pgbench: {run.stderr[-500:]}")
        lines = [line.split() for path in glob.glob(os.path.join(folder, "log*")) for line in open(path)]
    ends = [int(line[4]) + int(line[5]) / 1e6 for line in lines]
    return {
        "events_per_s": len(lines) * batch / (max(ends) - min(ends)), "p50_us": statistics.median(int(line[2]) for line in lines),
        "foreign_cpu": 0}


# MARK: Deliveries


def deliveries(bench):
    """CPU time of the servers and the database for a delivery. Each node has 64 connections that post in a closed loop: who adds
    a node has more clients."""
    for delegates, events in ((10, 8_000), (1, 30_000)):
        with Receiver(delegates) as receiver:
            wanted = wanted_by(receiver, delegates)
            rounds = interleave(
                bench,
                {
                    "SQLite": lambda folder: Herald(folder, wanted),
                    "one node": lambda folder: Nodes(1, wanted, FLUSH),
                    "herald": lambda folder: Nodes(2, wanted, FLUSH),
                    "four nodes": lambda folder: Nodes(4, wanted, FLUSH),
                },
                lambda server, _: complete(with_database(server, lambda: sample(
                    server, receiver, delegates, warm_up=0, c=64 * len(getattr(server, "nodes", "1")), d=bench.seconds * 8,
                    n=events if not bench.quick else events // 2))))
        title = f"on PostgreSQL, {delegates} delegate{'s' if delegates > 1 else ''}"
        bench.keep(title, rounds)
        bench.compare(title, "CPU µs per delivery, two nodes", rounds, "cpu_us_per_delivery", "one node",
                      Goal(most=1.1, aim=1.05) if delegates > 1 else Goal(most=1.3, aim=1.1), reference="one node")
        bench.compare(title, "CPU µs per delivery, four nodes", rounds, "cpu_us_per_delivery", "one node",
                      Goal(most=1.2, aim=1.1) if delegates > 1 else Goal(most=1.5, aim=1.2), herald="four nodes", reference="one node")
        bench.compare(title, "CPU µs per delivery, one node", rounds, "cpu_us_per_delivery", "SQLite",
                      Goal(most=1.8, aim=1.5), herald="one node", reference="SQLite")
        bench.compare(title, "deliveries per second, two nodes", rounds, "deliveries_per_s", "one node", reference="one node")
        bench.single(title, "CPU µs of the database per delivery, two nodes", rounds.median("herald", "database_us_per_delivery"),
                     Goal(most=9, aim=6.5) if delegates > 1 else None)


# How the events come, and how much more a delivery may cost with two and with four nodes than with one.
PACES = (
    ("64 connections in all", {"c": 64, "n": 20_000}, Goal(most=1.25, aim=1.1), Goal(most=1.5, aim=1.2)),
    ("batches of 100", {"c": 8, "b": 100, "n": 60_000}, Goal(most=1.15, aim=1.1), Goal(most=1.3, aim=1.2)),
    ("5,000 events per second", {"c": 64, "r": 5_000}, Goal(most=1.2, aim=1.1), None),
    ("2,000 events per second", {"c": 64, "r": 2_000}, None, Goal(most=1.4, aim=1.2)),
    ("500 events per second", {"c": 64, "r": 500}, Goal(most=1.15, aim=1.1), None),
)


def paced(bench):
    """The same load, whatever the number of nodes, for one delegate: what more nodes cost by themselves."""
    with Receiver() as receiver:
        wanted = wanted_by(receiver, 1)
        for load, options, two, four in PACES:
            counts = {"one node": 1} | ({"herald": 2} if two else {}) | ({"four nodes": 4} if four else {})
            rounds = interleave(
                bench, {name: lambda folder, count=count: Nodes(count, wanted, FLUSH) for name, count in counts.items()},
                lambda server, _, options=options: complete(sample(server, receiver, 1, d=bench.seconds * 4, **options)))
            title = f"on PostgreSQL, 1 delegate, {load}"
            bench.keep(title, rounds)
            for name, what, goal in (("herald", "two nodes", two), ("four nodes", "four nodes", four)):
                if goal:
                    bench.compare(title, f"CPU µs per delivery, {what}", rounds, "cpu_us_per_delivery", "one node", goal,
                                  herald=name, reference="one node")
                    bench.compare(title, f"answered after, p50 µs, {what}", rounds, "accepted_p50_us", "one node",
                                  herald=name, reference="one node")


def with_database(server, take):
    """What of the figures is the database's."""
    database = getattr(server, "database", None)
    if database is None:
        return take()
    rows_before = database.rows_written()
    cpu = database.cpu()
    figures = take()
    cpu = database.cpu() - cpu
    # Sessions report their counts a second after they have become idle.
    time.sleep(1.5)
    written = {name: count - rows_before.get(name, 0) for name, count in database.rows_written().items()}
    beyond = sum(written.values()) - written.get("attempts", 0) - written.get("events", 0)
    figures["database_us_per_delivery"] = cpu * 1e6 / figures["deliveries"]
    figures["rows_beyond"] = beyond / figures["deliveries"]
    figures["rows"] = written
    return figures


def rows(bench):
    """What is written for a delivery beyond its attempt, at a steady thousand per second."""
    with Receiver(10) as receiver:
        rounds = interleave(
            bench, {"herald": lambda folder: Nodes(2, wanted_by(receiver, 10))},
            lambda server, _: thousand_per_second(server, receiver, bench.seconds * 5))
    title = "on PostgreSQL, 1,000 deliveries per second"
    bench.keep(title, rounds)
    bench.single(title, "rows beyond the attempt, per delivery", rounds.median("herald", "rows_beyond"), Goal(most=0.2, aim=0.05))


def thousand_per_second(servers, receiver, seconds):
    return complete(with_database(servers, lambda: sample(servers, receiver, 10, warm_up=0, c=16, r=100, d=seconds)))


def old_snapshot(bench):
    """A forgotten transaction that has read: what was updated since then can't be cleaned away."""
    seconds = 15 if bench.quick else 600
    with Receiver(2) as receiver, Nodes(2, wanted_by(receiver, 2), FLUSH) as servers:
        def take():
            return complete(with_database(servers, lambda: sample(
                servers, receiver, 2, warm_up=0, c=16, r=500, d=bench.seconds * 10)))

        take()
        before = take()
        holder = subprocess.Popen(
            [program("psql"), "-h", "127.0.0.1", "-p", str(servers.database.port), "-U", "herald", "-d", "herald", "-Xq"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        holder.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM herald.shards;\n")
        holder.stdin.flush()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            bench.progress(f"an old snapshot: {end - time.monotonic():.0f} s")
            take()
        after = take()
        holder.stdin.close()
        holder.wait()
    title = f"an old snapshot, held for {seconds} s under load"
    bench.reckon(title, "answered after, p50 µs", after["accepted_p50_us"], before["accepted_p50_us"], "before",
                 Goal(most=1.3, aim=1.1))
    bench.reckon(title, "CPU µs of the database per delivery", after["database_us_per_delivery"], before["database_us_per_delivery"],
                 "before", Goal(most=1.3, aim=1.1))


# MARK: How soon


def idle(bench):
    """An event that is posted at one node, whose delegate is another node's; and what nodes ask when nothing happens."""
    title = "two idle nodes"
    with Receiver() as receiver, Nodes(2) as servers:
        servers.nodes[0].register([{"url": receiver.url(1)}])
        # The first delegate has key 1, and so shard 1.
        other = next(node for node in servers.nodes if 1 not in node.shards())
        figures = complete(sample(other, receiver, 1, beside=[servers.database], warm_up=1, c=1, r=50, d=bench.seconds * 5))
        bench.single(title, "post to receiver of the other node, p50 ms", figures["delivered_p50_us"] / 1000, Goal(most=3, aim=2))
        bench.single(title, "post to receiver of the other node, p99 ms", figures["delivered_p99_us"] / 1000, None)
        bench.single(title, "statements per second of one", statements_per_second(servers, 5 if bench.quick else 20), Goal(most=10, aim=9))


def statements_per_second(servers, seconds):
    """What each node asks the database when nothing happens."""
    servers.database.query("ALTER SYSTEM SET log_statement = 'all'")
    servers.database.query("SELECT pg_reload_conf()")
    time.sleep(5)
    log = os.path.join(servers.database.folder, "log")
    before = statements(log)
    time.sleep(seconds)
    return (statements(log) - before) / seconds / len(servers.nodes)


def statements(log):
    with open(log) as file:
        return sum("LOG:  statement:" in line or "LOG:  execute " in line for line in file)


def takeover(bench):
    """A node dies, whose 32 shards have half of 100,000 delegates."""
    count, title = 100_000, "a node that dies, 100,000 delegates"
    with Database() as database:
        with Node(database) as node:
            node.register([{"url": "http://127.0.0.1:9/hook/1", "events": ["other.kind"]}])
        columns = database.query(
            "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute "
            "WHERE attrelid = 'herald.delegates'::regclass AND attnum > 0 AND attname NOT IN ('key', 'id', 'url')")
        database.query(
            f"INSERT INTO herald.delegates (key, id, url, {columns}) SELECT n, 'dlg_' || n, url || n, {columns} "
            f"FROM herald.delegates, generate_series(2, {count}) AS n WHERE key = 1")
        times = []
        with Nodes(2, database=database) as servers:
            for _ in range(3 if bench.quick else bench.rounds):
                begin = time.monotonic()
                gone = servers.nodes.pop()
                gone.process.kill()
                gone.process.communicate()
                wait_until("the other node takes the shards", lambda: len(servers.nodes[0].shards()) == 64)
                times.append(time.monotonic() - begin)
                servers.nodes.append(Node(database))
                servers.nodes[1].start()
                wait_until("the shards are shared", lambda: servers.share() == [32, 32])
    bench.single(title, "the other one has its 32 shards after, s", statistics.median(times), Goal(most=2, aim=1))
