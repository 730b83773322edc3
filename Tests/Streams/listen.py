"""Listens to a live stream with httpx-sse, and prints each message as a line of JSON.

usage: listen.py URL [MESSAGES]    breaks its connection after so many messages (default: never)

Comes again where it was, whenever its connection ends, until it is killed.
"""

import json
import sys
import time

import httpx
from httpx_sse import connect_sse


def listen(url, most):
    last = None
    with httpx.Client(timeout=httpx.Timeout(10, read=30)) as client:
        while True:
            headers = {"Last-Event-ID": last} if last else {}
            try:
                with connect_sse(client, "GET", url, headers=headers) as source:
                    for number, message in enumerate(source.iter_sse(), 1):
                        last = message.id or last
                        print(json.dumps({"event": message.event, "id": message.id, "data": message.json()}), flush=True)
                        if number == most:
                            break
            except httpx.TransportError:
                time.sleep(0.05)


listen(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
