"""kill -9 under load: five webhooks with receivers that fail, all three orderings, and a ledger of every response."""

import collections
import random
import time

from herald import (
    Broken, Connection, Failure, Folder, Herald, Ledger, Load, Receiver, check_folder, compare_current_states, compare_log, due,
    wait_for)

QUICK, FULL, UNIT = 20, 2000, "kills"
# Kills of one folder, before everything is delivered and compared.
CHAPTER = 20
RETRIES = {"retry_schedule": [0.05] * 20}
WEBHOOKS = [
    ("/all", {}),
    ("/behind", {"max_in_flight": 1}),
    ("/faulty/fail/15/close/5/hang/1", {**RETRIES, "timeout_seconds": 2}),
    ("/subject/fail/10", {**RETRIES, "ordering": "subject"}),
    ("/strict/fail/5", {**RETRIES, "ordering": "strict"}),
]
# Activity is gathered for this long before it is recorded.
CHECKPOINT = 0.1


def run(count, seed, outcome):
    for chapter in range((count + CHAPTER - 1) // CHAPTER):
        kills = min(CHAPTER, count - chapter * CHAPTER)
        with Folder("kill") as folder:
            before = len(outcome.failures)
            attack(folder, kills, seed + chapter, outcome)
            if len(outcome.failures) > before:
                raise Failure(f"to repeat: script/crash-test kill --count {kills} --seed {seed + chapter}")


def attack(folder, count, seed, outcome):
    chance, ledger, kills, recorded = random.Random(seed), Ledger(), [], []
    # What a commit and the receiver may take more. A sample runs beside other work: it relies on what was recorded.
    slack = 0.2 if outcome.is_full else 60
    receiver = Receiver(folder / "receipts", seed)
    herald = Herald(folder / "data").expect()
    identities = {path.split("/")[1]: herald.register(receiver.url(path), **fields) for path, fields in WEBHOOKS}
    for number in range(count):
        ledger.slowest = 0.0
        load = Load(herald, ledger, f"k{number}", seed, pause=0.002)
        time.sleep(chance.uniform(0.03, 0.6))
        if number % 2:
            recorded += read_recorded(herald, receiver, identities)
        kills.append((time.monotonic(), CHECKPOINT + 2 * ledger.slowest + slack))
        herald.kill()
        load.wait()
        kills[-1] = (kills[-1][0], CHECKPOINT + 2 * ledger.slowest + slack)
        if chance.random() < 0.3:
            # Once more, while it recovers.
            starting = Herald(folder / "data", seconds=chance.uniform(0.001, 0.05), is_patient=False)
            kills.append((time.monotonic(), CHECKPOINT + slack))
            starting.kill()
            outcome.counts["kills during recovery"] += 1
        herald = Herald(folder / "data").expect()
        repeat(herald, ledger, outcome)
    outcome.counts["kills"] += count
    receiver.set_faulty(False)
    log = compare_log(herald, ledger, outcome, "after the kills")
    compare_current_states(herald, log, outcome, "after the kills")
    receipts = finish(herald, receiver, log, outcome, WEBHOOKS)
    check_folder(folder / "data", outcome, "after the kills")
    outcome.counts["events"] += len(ledger.acknowledged) + sum(1 for answered in ledger.marks.values() if answered)
    outcome.counts["unanswered"] += ledger.unanswered
    for path, fields in WEBHOOKS:
        compare_deliveries(log, receipts[path.split("/")[1]], fields.get("ordering"), kills, outcome, path)
    arrivals = {name: collections.Counter(event for _, event in receipts[name]) for name in identities}
    for name, event, times in recorded:
        if arrivals[name][event] != times:
            outcome.counts["unexplained"] += 1
            outcome.fail(f"/{name}: {event} arrived again, although its delivery was recorded before a kill")


def read_recorded(herald, receiver, identities):
    """Some of the deliveries that are recorded, and how often each has arrived: no kill may repeat them."""
    pages = {
        name: herald.ask("GET", f"/v1/deliveries?state=delivered&limit=200&delegate={identity}")[1]["data"]
        for name, identity in identities.items()}
    receipts = receiver.receipts()
    for name, page in pages.items():
        arrivals = collections.Counter(event for _, event in receipts[name])
        yield from ((name, each["event"], arrivals[each["event"]]) for each in page)


def finish(herald, receiver, log, outcome, webhooks):
    """Waits until all webhooks have everything, or in vain, and stops the server. Returns the receipts."""
    ids = due(log)

    def all_arrived():
        receipts = receiver.receipts()
        return all(ids <= {event for _, event in receipts[path.split("/")[1]]} for path, _ in webhooks)

    try:
        wait_for("everything arrives", all_arrived, pause=0.3)
    except Failure:
        pass
    status = herald.stop()
    if status != 0:
        outcome.fail(f"stopped with status {status}")
    receipts = receiver.receipts()
    receiver.close()
    return receipts


def repeat(herald, ledger, outcome):
    """A publisher repeats what was not answered, with the same key."""
    connection = Connection(herald.port)
    for key, event in ledger.marks.items():
        if isinstance(event, dict):
            try:
                status, answer = connection.ask("POST", "/v1/events", event, {"Idempotency-Key": key})
            except Broken as error:
                return outcome.fail(f"no response right after a start: {error}")
            if status not in (200, 202):
                return outcome.fail(f"a repeated post got {status}: {answer}")
            ledger.acknowledged[answer["id"]] = time.monotonic()
            ledger.marks[key] = True
            outcome.counts["keys"] += 1
    connection.close()


def compare_deliveries(log, receipts, ordering, kills, outcome, path):
    ids = due(log)
    position = {event["id"]: number for number, event in enumerate(log) if event["id"] in ids}
    subject = {event["id"]: event["subject"] or event["id"] for event in log}
    first, latest, last = {}, {}, {}
    for at, event in receipts:
        if event not in position:
            outcome.fail(f"{path}: {event} was sent, and is not in the log")
            continue
        if event in first:
            outcome.counts["duplicates"] += 1
            explained = [begin for begin, window in kills if begin - window <= last[event] <= begin + 0.3 and begin <= at]
            if not explained:
                outcome.counts["unexplained"] += 1
                outcome.fail(f"{path}: {event} arrived twice, at {last[event]:.3f} and {at:.3f}, and no kill explains it")
            else:
                outcome.figures["age"].append(max(0, min(explained) - last[event]))
        else:
            first[event] = at
            line = None if ordering == "strict" else subject[event]
            if ordering and latest.get(line, -1) > position[event]:
                outcome.counts["inversions"] += 1
                outcome.fail(f"{path}: {event} arrived after a later event")
            latest[line] = max(latest.get(line, -1), position[event])
        last[event] = at
    missing = position.keys() - first.keys()
    outcome.counts["deliveries"] += len(first)
    outcome.counts["lost"] += len(missing)
    if missing:
        outcome.fail(f"{path}: {len(missing)} events did not arrive, such as {sorted(missing)[:3]}")


def row(o):
    return (
        "`kill -9` under load: webhooks with all three orderings, receivers that fail, close and hang, idempotency keys, logins, app state",
        f"{o['kills']:,} kills and {o['kills during recovery']:,} during recovery; {o['events']:,} events acknowledged, "
        f"{o['deliveries']:,} deliveries",
        f"{o['lost']} lost, {o['inversions']} out of order, {o['duplicates']:,} made twice, {o['unexplained']} of them unexplained; "
        f"age of those p50 {o['age_p50']} ms, p99 {o['age_p99']} ms, at most {o['age_max']} ms")
