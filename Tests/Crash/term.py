"""TERM under load: what is open is finished, and nothing is sent twice."""

import random
import time

from herald import Failure, Folder, Herald, Ledger, Load, Receiver, check_folder, compare_log, due, wait_for

QUICK, FULL, UNIT = 5, 200, "stops"
GRACE = 10
# Stops of one folder, before everything is delivered and compared.
CHAPTER = 20
WEBHOOKS = ["/all", "/slow/ms/300", "/late/ms/2500", "/faulty/fail/20/close/5"]


def run(count, seed, outcome):
    for chapter in range((count + CHAPTER - 1) // CHAPTER):
        stops = min(CHAPTER, count - chapter * CHAPTER)
        with Folder("term") as folder:
            before = len(outcome.failures)
            attack(folder, stops, seed + chapter, outcome)
            if len(outcome.failures) > before:
                raise Failure(f"to repeat: script/crash-test term --count {stops} --seed {seed + chapter}")


def attack(folder, count, seed, outcome):
    chance, ledger = random.Random(seed), Ledger()
    receiver = Receiver(folder / "receipts", seed)

    def start():
        return Herald(folder / "data", "--grace", str(GRACE)).expect()

    herald = start()
    for path in WEBHOOKS:
        herald.register(receiver.url(path), retry_schedule=[0.05] * 20)
    for number in range(count):
        load = Load(herald, ledger, f"t{number}", seed, pause=0.002)
        time.sleep(chance.uniform(0.03, 0.6))
        begin = time.monotonic()
        status = herald.stop()
        took = time.monotonic() - begin
        load.wait()
        outcome.counts["stops"] += 1
        outcome.figures["took"].append(took)
        if status != 0:
            outcome.fail(f"stopped with status {status}")
        # A sample runs beside other work, which may take longer.
        if outcome.is_full and took > GRACE + 1:
            outcome.fail(f"stopping took {took:.1f} s, with a grace of {GRACE} s")
        check_folder(folder / "data", outcome, "after TERM")
        herald = start()
    if set(ledger.refused) - {503}:
        outcome.fail(f"posts were refused with {dict(ledger.refused)}")
    receiver.set_faulty(False)
    log = compare_log(herald, ledger, outcome, "after TERM")
    ids, names = due(log), [path.split("/")[1] for path in WEBHOOKS]

    def all_arrived():
        receipts = receiver.receipts()
        return all(ids <= {event for _, event in receipts[name]} for name in names)

    wait_for("everything arrives", all_arrived, pause=0.3)
    herald.stop()
    receipts = receiver.receipts()
    receiver.close()
    for name in names:
        found = [event for _, event in receipts[name]]
        twice = len(found) - len(set(found))
        outcome.counts["duplicates"] += twice
        outcome.counts["deliveries"] += len(set(found))
        if twice:
            outcome.fail(f"/{name}: {twice} deliveries were made twice")
    outcome.counts["events"] += len(ledger.acknowledged)


def row(o):
    return (
        f"`TERM` under load, with receivers that take up to 2.5 s, `--grace {GRACE}`",
        f"{o['stops']:,} stops; {o['events']:,} events acknowledged, {o['deliveries']:,} deliveries",
        f"{o['lost']} lost, {o['duplicates']} made twice; ended after p50 {o['took_p50']} ms, at most {o['took_max']} ms")
