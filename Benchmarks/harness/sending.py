"""What sending alone costs: Herald's sender without the service, beside libcurl in C; both post the same kind of signed request
over 64 connections to the same receiver, from a process of their own."""
import json
import os
import subprocess

from machine import machine_seconds
from programs import BUILD, Failed, Receiver, built, publish
from report import Goal
from sampling import children_seconds, own_seconds, together

CONNECTIONS = 64


def sending(bench):
    title = "sending alone, 64 connections"
    bench.progress(f"{title}: building")
    programs = {"libcurl": os.path.join(BUILD, "send"), "herald": built("TransportBenchmark")}
    with Receiver() as receiver:
        def take(number):
            bench.progress(f"{title}, round {number} of {bench.rounds}")
            bench.patience.wait()
            figures = {name: run(program, receiver, bench.seconds) for name, program in programs.items()}
            return figures | {"load generator": direct(receiver, bench.seconds)}

        rounds = together(bench, take)
    bench.keep(title, rounds)
    bench.compare(title, "CPU µs per delivery", rounds, "cpu_us", "libcurl", Goal(most=1.25, aim=1.08, of=5))
    # What libcurl itself reaches of the load generator differs between machines, from a fifth to a third.
    bench.compare(title, "deliveries per second", rounds, "per_s", "libcurl", Goal(least=0.9, aim=1, of=4))
    bench.compare(title, "deliveries per second", rounds, "per_s", "load generator", reference="load generator → receiver")
    bench.compare(title, "libcurl's own, deliveries per second", rounds, "per_s", "load generator", herald="libcurl",
                  reference="load generator → receiver")


def run(program, receiver, seconds):
    """A sender, which measures itself once it is warm."""
    def send():
        done = subprocess.run([program, str(receiver.port), str(seconds)], capture_output=True, text=True, check=False,
                              timeout=seconds + 60)
        if done.returncode:
            raise Failed(f"{os.path.basename(program)}: {done.stderr.strip()[-300:]}")
        return json.loads(done.stdout)

    return disturbed(receiver, send)


def direct(receiver, seconds):
    """The most that could be: the load generator posts to the receiver, with nobody between."""
    return disturbed(receiver, lambda: {"per_s": publish(receiver, c=CONNECTIONS, d=seconds)["per_s"]})


def disturbed(receiver, take):
    """The figures, with the share of the machine that others took meanwhile."""
    (busy, total), ours = machine_seconds(), own_seconds() + children_seconds() + receiver.cpu()
    figures = take()
    now_busy, now_total = machine_seconds()
    ours = own_seconds() + children_seconds() + receiver.cpu() - ours
    return figures | {"foreign_cpu": max(0.0, now_busy - busy - ours) / max(0.01, now_total - total)}
