"""Faults of the disk at each call of a transaction and of a checkpoint of the database, flushes that take long, a clock that is set
forward and back, and a process that stands still."""

import random
import signal
import time

from herald import (
    CUT, DATABASE, EXTENT, FLUSH, KILL, LOG, SHORT, SLOW, WRITE, Broken, Connection, Failure, Folder, Herald, Ledger, Load, Receiver, Shim,
    check_folder, compare_log, due, wait_for)

QUICK, FULL, UNIT = 40, 100_000, "faults at calls, at most"
EIO, ENOSPC, FOREVER = 5, 28, 0xFFFFFFFF
# What a call may do: its name, which calls can, the action.
ACTIONS = [("ENOSPC", WRITE | CUT, ENOSPC), ("EIO", WRITE | CUT, EIO), ("short write", WRITE, SHORT), ("failed flush", FLUSH, EIO),
           ("kill -9", WRITE | FLUSH | CUT, KILL)]
# Posts that fill the write-ahead log until it is copied into the database.
CHECKPOINT_POSTS = 2000
# Faults of one folder.
CHAPTER = 40


def run(count, seed, outcome):
    chance = random.Random(seed)
    cases = chosen(count, chance)
    for begin in range(0, len(cases), CHAPTER):
        if outcome.is_late():
            break
        with Folder("faults") as folder:
            before = len(outcome.failures)
            bench = Bench(folder, outcome)
            for case in cases[begin:begin + CHAPTER]:
                bench.attack(*case)
            bench.end()
            if len(outcome.failures) > before:
                raise Failure(f"to repeat: script/crash-test faults --count {count} --seed {seed}")
    for attack in (slow_flushes, clock, lambda *more: pause(60 if count > QUICK else 5, *more)):
        with Folder("faults") as folder:
            before = len(outcome.failures)
            attack(folder, seed, outcome)
            if len(outcome.failures) > before:
                raise Failure(f"to repeat: script/crash-test faults --count 1 --seed {seed}")


def chosen(count, chance):
    """Every action at every call; a sample of it that has all kinds in it."""
    with Folder("faults") as folder:
        bench = Bench(folder, None)
        lengths = {phase: {action: bench.calls(phase, kinds) for action, kinds, _ in ACTIONS} for phase in PHASES}
        bench.herald.kill()
    cases = [(phase, action, call) for phase in PHASES for action in lengths[phase] for call in range(lengths[phase][action])]
    if count >= len(cases):
        return cases
    chance.shuffle(cases)
    groups = {}
    for case in cases:
        groups.setdefault(case[:2], []).append(case)
    mixed = []
    while len(mixed) < count:
        for group in groups.values():
            if group:
                mixed.append(group.pop())
    return mixed[:count]


# What is attacked: the files, and what comes before.
PHASES = {
    "transaction": (LOG, None),
    "first transaction after a checkpoint": (LOG, "checkpoint"),
    "checkpoint": (DATABASE, "until"),
    "record of the log's length": (EXTENT, "until"),
}


class Bench:
    """A server under the shim, one post at a time, and a ledger."""

    def __init__(self, folder, outcome):
        self.folder, self.outcome, self.number = folder, outcome, 0
        self.there, self.refused = {}, set()
        self.shim = Shim(folder, folder / "data")
        self.start()

    def start(self):
        self.shim.disarm()
        self.herald = Herald(self.folder / "data", environment=self.shim.environment).expect()
        self.connection = Connection(self.herald.port)

    def post(self):
        """The status; None without a response."""
        self.number += 1
        name, body = f"e{self.number}", {"type": "fault.test", "id": f"e{self.number}", "data": {"n": self.number}}
        try:
            status, _ = self.connection.ask("POST", "/v1/events", body)
        except Broken:
            return None
        if status == 202:
            self.there[name] = body["data"]
        else:
            self.refused.add(name)
        return status

    def fill(self):
        """Posts until the log has been copied into the database."""
        self.shim.arm(WRITE, DATABASE, EIO, count=0)
        for _ in range(CHECKPOINT_POSTS):
            self.post()
            if self.shim.get("seen") > 0:
                return self.settle()
        raise Failure("no checkpoint of the database")

    def settle(self):
        seen = -1
        while seen != self.shim.get("seen"):
            seen = self.shim.get("seen")
            time.sleep(0.05)
        return seen

    def calls(self, phase, kinds):
        """How many calls of these kinds it makes: the most of some times."""
        files, way = PHASES[phase]
        most = 0
        for _ in range(2 if way else 5):
            if way == "checkpoint":
                self.fill()
            self.shim.arm(kinds, files, EIO, count=0)
            if way != "until":
                self.post()
            elif files == DATABASE:
                for _ in range(CHECKPOINT_POSTS):
                    self.post()
                    if self.shim.get("seen") > 0:
                        break
            most = max(most, self.settle())
            self.shim.disarm()
        # The flush of this file comes with a checkpoint, once.
        return most if files != EXTENT else 1

    def attack(self, phase, action, call):
        where = f"{action} at call {call} of a {phase}"
        kinds, number = next((kinds, number) for name, kinds, number in ACTIONS if name == action)
        files, way = PHASES[phase]
        if way == "checkpoint":
            self.fill()
        self.shim.arm(kinds, files, number, skip=call, count=1)
        statuses = set()
        for _ in range(CHECKPOINT_POSTS if way == "until" else 1):
            statuses.add(self.post())
            if self.shim.get("hits") or None in statuses:
                break
        if way == "until":
            self.settle()
        hit = self.shim.disarm()
        self.outcome.counts["met"] += hit > 0
        self.outcome.counts[action] += hit > 0
        if not hit:
            self.outcome.counts["not met"] += 1
        if hit and action in ("failed flush", "kill -9"):
            self.expect_end(where, 74 if action == "failed flush" else -signal.SIGKILL)
            return self.start()
        if statuses - ({202, 503} if files == LOG else {202}):
            self.outcome.fail(f"{where}: responses {statuses}")
        if self.herald.process.poll() is not None:
            self.outcome.fail(f"{where}: ended with {self.herald.ended()}")
            return self.start()
        wait_for(f"{where}: /readyz responds with 200", lambda: self.connection.ask("GET", "/readyz")[0] == 200)
        if self.post() != 202:
            self.outcome.fail(f"{where}: it did not work again")

    def expect_end(self, where, expected):
        status = self.herald.ended()
        if status != expected:
            self.outcome.fail(f"{where}: ended with {status}, not {expected}")
        said = sum(1 for entry in self.herald.lines if "the state of the data on disk is unknown" in str(entry))
        if expected == 74 and said != 1:
            self.outcome.fail(f"{where}: {said} lines say why it ended")

    def end(self):
        """Everything that was acknowledged is there, and nothing that was refused."""
        self.compare("while it runs")
        status = self.herald.stop()
        if status != 0:
            self.outcome.fail(f"stopped with status {status}")
        check_folder(self.folder / "data", self.outcome, "after the faults")
        self.start()
        self.compare("after a restart")
        self.herald.stop()
        self.shim.close()

    def compare(self, where):
        log = {event["id"]: event["data"] for event in self.herald.events()}
        lost = {name for name, data in self.there.items() if log.get(name) != data}
        self.outcome.counts["lost"] += len(lost)
        if lost:
            self.outcome.fail(f"{where}: {len(lost)} acknowledged events are lost, such as {sorted(lost)[:3]}")
        if self.refused & log.keys():
            self.outcome.fail(f"{where}: refused, and there all the same: {sorted(self.refused & log.keys())[:3]}")


def finish(herald, ledger, receiver, names, outcome, where):
    """Waits until all has arrived, and compares. Returns how many deliveries were made twice."""
    log = compare_log(herald, ledger, outcome, where)
    ids = due(log)

    def all_arrived():
        receipts = receiver.receipts()
        return all(ids <= {event for _, event in receipts[name]} for name in names)

    # After a timeout a delivery is made again a minute later at the earliest.
    wait_for(f"{where}: everything arrives", all_arrived, pause=0.2)
    if set(ledger.refused) - {503}:
        outcome.fail(f"{where}: posts were refused with {dict(ledger.refused)}")
    receipts = receiver.receipts()
    herald.stop()
    check_folder(herald.data, outcome, where)
    outcome.counts["events"] += len(ledger.acknowledged)
    return [(first, event) for name in names for first, event in repeated(receipts[name])]


def repeated(receipts):
    seen = {}
    for at, event in receipts:
        if event in seen:
            yield seen[event], event
        seen[event] = at


def slow_flushes(folder, seed, outcome):
    """Each flush takes a fifth of a second: slower, and nothing else."""
    shim, ledger, receiver = Shim(folder, folder / "data"), Ledger(), Receiver(folder / "receipts", seed)
    herald = Herald(folder / "data", environment=shim.environment).expect()
    herald.register(receiver.url("/all"))
    shim.arm(FLUSH, 0xFF, SLOW, milliseconds=200)
    load = Load(herald, ledger, "slow", seed)
    time.sleep(4)
    load.stop()
    outcome.counts["slow flushes"] += shim.disarm()
    if ledger.refused:
        outcome.fail(f"slow flushes: posts were refused with {dict(ledger.refused)}")
    if finish(herald, ledger, receiver, ["all"], outcome, "slow flushes"):
        outcome.fail("slow flushes: deliveries were made twice")
    receiver.close()
    shim.close()


def clock(folder, seed, outcome):
    """The wall clock is set forward and back by an hour. Retries keep their delays."""
    shim, ledger, receiver = Shim(folder, folder / "data"), Ledger(), Receiver(folder / "receipts", seed)
    herald = Herald(folder / "data", environment=shim.environment).expect()
    herald.register(receiver.url("/all"))
    herald.register(receiver.url("/flaky/fail/50"), retry_schedule=[0.5] * 20)

    def attempts():
        return sum(1 for _, path, *_ in receiver.callbacks() if path == "flaky")

    def delivered():
        return set(ledger.acknowledged) <= {event for _, event in receiver.receipts()["flaky"]}

    # Without a restart while anything waits from before it was set back: that is then due by the old clock, as the page says.
    for number, (hours, restarts) in enumerate([(0, False), (1, True), (-1, False), (0, True)]):
        if number == 3:
            wait_for("clock: what waited when it was set back is delivered", delivered, pause=0.2)
        shim.set(clock_seconds=hours * 3600)
        for restart in (False, True)[:1 + restarts]:
            if restart:
                herald.kill()
                herald = Herald(folder / "data", environment=shim.environment).expect()
            Load(herald, ledger, f"clock{number}{restart}", seed, limit=10, pause=0.01).wait()
            before = attempts()
            wait_for(f"clock {hours:+} h: retries go on", lambda: attempts() > before + 3)
            time.sleep(1)
        outcome.counts["clock"] += number > 0
    receiver.set_faulty(False)
    finish(herald, ledger, receiver, ["all", "flaky"], outcome, "clock")
    receiver.close()
    shim.close()


def pause(seconds, folder, seed, outcome):
    """It stands still, and goes on. Made twice is at most what was open then."""
    ledger, receiver = Ledger(), Receiver(folder / "receipts", seed)
    herald = Herald(folder / "data").expect()
    herald.register(receiver.url("/all/ms/20"))
    load = Load(herald, ledger, "pause", seed)
    time.sleep(1)
    recorded = {each["event"] for each in herald.ask("GET", "/v1/deliveries?state=delivered&limit=200")[1]["data"]}
    herald.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    resumed = time.monotonic()
    herald.process.send_signal(signal.SIGCONT)
    time.sleep(1)
    load.stop()
    twice = finish(herald, ledger, receiver, ["all"], outcome, "standing still")
    outcome.counts["seconds still"] += seconds
    outcome.counts["twice after standing still"] += len(twice)
    for first, event in twice:
        if event in recorded or first > resumed:
            outcome.fail(f"standing still: {event} was delivered twice, and was not open then")
    receiver.close()


def row(o):
    kinds = ", ".join(f"{o[name]:,} {name}" for name, _, _ in ACTIONS if o[name])
    return [
        ("`ENOSPC`, `EIO`, short writes, failed flushes and `kill -9` at the calls of a transaction and of a checkpoint of the database",
         f"{o['met']:,} faults: {kinds}",
         f"{o['lost']} lost, nothing refused was kept; after a failed write 503, and it worked again by itself; after a failed flush it "
         "ended with 74 and one line in the log"),
        ("flushes that take 200 ms", f"{o['slow flushes']:,} flushes", "slower; none refused, lost or made twice"),
        ("the wall clock set forward by an hour and back by two, and restarts in between", f"{o['clock']:,} times",
         "none lost; retries continued"),
        (f"`SIGSTOP` for {o['seconds still']} s under load", "once",
         f"none lost; {o['twice after standing still']} made twice, of those that were open"),
    ]
