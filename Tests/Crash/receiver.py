"""A receiver that keeps a ledger: a line for each callback, with the address that it came from, written before
the response. Its path says how it fails:
/name/fail/10/close/5/hang/1/ms/50 fails 10 % of the requests with 503, closes 5 %, never answers 1 %, and takes 50 ms.

usage: receiver.py LEDGER SEED [PORT]     prints its port; from SIGUSR1 on nothing fails any more, from SIGUSR2 on it does again
"""

import asyncio
import os
import random
import signal
import sys
import time
import urllib.parse

faulty = True


class Conversation(asyncio.Protocol):
    def __init__(self, ledger, chance):
        self.ledger, self.chance, self.buffer = ledger, chance, b""

    def connection_made(self, transport):
        self.transport = transport
        self.peer = transport.get_extra_info("peername")[0]

    def data_received(self, data):
        self.buffer += data
        while True:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            lines = self.buffer[:end].decode("latin-1").split("\r\n")
            fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            length = int(fields.get("content-length", 0))
            if len(self.buffer) < end + 4 + length:
                return
            self.buffer = self.buffer[end + 4 + length:]
            self.handle(lines[0].split(" ")[1], fields)

    def handle(self, path, fields):
        words = path.strip("/").split("/")
        rules = dict(zip(words[1::2], map(int, words[2::2])))
        status = 200
        if faulty:
            number = self.chance.randrange(100)
            for name, kind in (("fail", 503), ("close", 1), ("hang", 2)):
                number -= rules.get(name, 0)
                if number < 0:
                    status = kind
                    break
        event = urllib.parse.unquote(fields.get("webhook-id", "-"))
        os.write(self.ledger, f"{time.monotonic():.6f} {words[0]} {event} {status} {self.peer}\n".encode())
        if status == 1:
            self.transport.close()
        elif status != 2:
            response = f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode()
            if faulty and rules.get("ms"):
                asyncio.get_running_loop().call_later(rules["ms"] / 1000, self.transport.write, response)
            else:
                self.transport.write(response)


def turn(healthy):
    global faulty
    faulty = not healthy


async def main():
    ledger = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    chance = random.Random(int(sys.argv[2]))
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, turn, True)
    loop.add_signal_handler(signal.SIGUSR2, turn, False)
    port = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    server = await loop.create_server(lambda: Conversation(ledger, chance), "127.0.0.1", port, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
