#!/usr/bin/env python3
"""Tries a binary that brings its libraries: usage: relocated.py HERALD [ROOT]

HERALD is its path, in the chroot ROOT if there is one. A server of it delivers an event over TLS to a receiver of it. Needs a
network of its own, in which port 8080 is free.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERALD = sys.argv[1]
ROOT = sys.argv[2] if len(sys.argv) > 2 else None
SECONDS = 120


def command(*arguments):
    return [*(["chroot", ROOT] if ROOT else []), HERALD, *arguments]


def fail(text):
    raise SystemExit(f"FAILED  {text}")


class Program:
    """A process and its lines."""

    def __init__(self, *arguments):
        self.lines = []
        self.process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=lambda: self.lines.extend(iter(self.process.stdout.readline, "")), daemon=True).start()

    def find(self, pattern):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if match := re.search(pattern, "".join(self.lines)):
                return match
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        fail(f"no {pattern} in: {''.join(self.lines)}")

    def stop(self):
        self.process.terminate()
        return self.process.wait(SECONDS)


def call(method, path, body=None):
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(f"http://127.0.0.1:8080{path}", data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def until(what, condition):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    fail(f"not within {SECONDS} s: {what}")


def main():
    doctor = subprocess.run(command("doctor"), capture_output=True, text=True)
    # Warnings about this machine are no faults of the binary.
    if doctor.returncode not in (0, 1) or "warning libraries" in doctor.stdout:
        fail(f"doctor: {doctor.stdout}{doctor.stderr}")
    receiver = Program("receiver", "--tls", "--port", "0", "--brief")
    url = receiver.find(r"https://\S+").group(0)
    authority = receiver.find(r"(/\S+\.pem)").group(1)
    with tempfile.TemporaryDirectory(dir=ROOT and ROOT + "/tmp") as folder:
        data = "/" + str(pathlib.Path(folder).relative_to(ROOT)) if ROOT else folder
        server = Program("serve", "--data", data + "/data", "--certificate-authorities", authority, "--log-format", "json")
        server.find('"listening"')
        call("POST", "/v1/delegates", {"url": url})
        call("POST", "/v1/events", {"id": "relocated", "type": "order.placed"})
        receiver.find("POST / relocated attempt 1")
        # The functions that the binary puts in front of those of its libraries bound what a receiver may send.
        flood = call("POST", "/v1/delegates", {"url": url + "flood/headers"})["id"]
        call("POST", "/v1/events", {"id": "flood", "type": "order.placed"})
        attempts = until("the attempt has ended", lambda: call("GET", f"/v1/delegates/{flood}/attempts")["data"])
        if "16 KiB" not in attempts[0]["detail"]:
            fail(f"a flood of headers is not bounded: {attempts}")
        if server.stop() != 0 or receiver.stop() != 0:
            fail("".join(server.lines + receiver.lines))
    print("ok      an event is delivered over TLS by the binary with its own libraries")


main()
