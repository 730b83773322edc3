"""The attack on nodes, while newer releases bring the schema to one version after the other: it grows by what a release may add under
those that run. In the end it loses what they need, and they are refused."""

import nodes
from herald import Failure, Folder, Herald
from nodes import NODES, PERIOD, figures
from postgres import Postgres

QUICK, FULL, UNIT = 2, 60, "versions of the schema"
# Tables to which a newer release adds a column, in turn.
GROWING = [
    "events", "attempts", "delegates", "waiting", "lanes", "shards", "nodes", "changes", "statistics", "heads", "auth_status", "answers",
    "keys", "meta"]
# Sources/HeraldPostgres/Schema.swift: the lock under which the schema is changed, and the first half of the key of the lock that a
# session holds for the version that its release knows.
MIGRATION_LOCK, VERSION_LOCK = 0x4852_4C44_0001, 0x4852_4C13
# The exit status of a server whose release is too old for the schema.
TOO_OLD = 65


def run(count, seed, outcome):
    with Folder("upgrades") as folder, Postgres() as database:
        newer = Newer(database, outcome)
        nodes.attack(folder, database, count, seed, outcome, newer.expand)
        newer.expand()
        newer.contract()
        if outcome.failures:
            raise Failure(f"to repeat: script/crash-test upgrades --count {count} --seed {seed}")


class Newer:
    """Does to the schema what later releases would do."""

    def __init__(self, database, outcome):
        self.database, self.outcome = database, outcome
        self.known = None

    def ask(self, text):
        return self.database.ask(f"BEGIN; SET LOCAL search_path = herald; SELECT pg_advisory_xact_lock({MIGRATION_LOCK}); {text}; COMMIT",
                                 "herald").splitlines()[-1]

    def expand(self):
        """One version more, which only adds."""
        version = int(self.ask("SELECT version FROM meta")) + 1
        self.known = self.known or version - 1
        table = GROWING[version % len(GROWING)]
        self.ask(
            f"ALTER TABLE {table} ADD COLUMN later_{version} bigint; CREATE INDEX ON {table} (later_{version}); "
            f"CREATE TABLE later_{version} (number bigint PRIMARY KEY); "
            f"CREATE FUNCTION append_{version}() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'; "
            f"UPDATE meta SET version = {version}; SELECT 1")
        self.outcome.counts["versions"] += 1

    def contract(self):
        """A version that takes away what this release needs, which waits until no session of it is left: this one does not wait, as
        if it had come while a node was cut off."""
        server = Herald(self.database.url("herald")).expect()
        if self.ask(f"SELECT pg_try_advisory_xact_lock({VERSION_LOCK}, {self.known})") != "f":
            self.outcome.fail("nothing tells a newer release that an older one is there")
        self.ask("UPDATE meta SET version = version + 1, oldest_version = version + 1; SELECT 1")
        self.database.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'herald, %'")
        for one, when in ((server, "was cut off"), (Herald(self.database.url("herald"), is_patient=False), "started")):
            status = one.ended()
            if status != TOO_OLD:
                self.outcome.fail(f"a node that is too old for the schema {when}, and ended with {status}")
            self.outcome.counts["refused"] += 1
        if self.ask(f"SELECT pg_try_advisory_xact_lock({VERSION_LOCK}, {self.known})") != "t":
            self.outcome.fail("a newer release would wait for one that has gone")


def row(o):
    return (
        f"{NODES} nodes under load, of which one is killed or ends every {PERIOD} s, while newer releases bring the schema to one version after "
        "the other: each adds a column and an index to a table that is in use, a table and a function; the last one takes away what the "
        "nodes need",
        f"{o['versions']} versions, {o['kill']} killed, {o['end']} ended; {o['events']:,} events acknowledged, {o['deliveries']:,} deliveries",
        f"{o['lost']} lost, {o['inversions']} out of order, {o['duplicates']:,} made twice, {o['unexplained']} of them unexplained; the "
        f"longest time that a webhook went without a callback, p50, p99 and max: {figures(o, 'kill')} after a killed process was gone, "
        f"{figures(o, 'end')} after TERM; one that was cut off then and one that started then ended with {TOO_OLD}")
