"""The address guard of the real binary, over real sockets, in a network namespace of its own.

usage: unshare --net --mount python3 lab.py HERALD

Every block in every notation, as the URL and behind a name; names that change their mind; redirects; proxies of the
environment; the lists that open and close. Prints what does not hold, and exits with 1 then.
"""

import http.client
import ipaddress
import json
import os
import subprocess
import sys
import tempfile
import threading

from blocks import ALLOWED, METADATA, REFUSED_V4, REFUSED_V6, edges, embeddings, spellings
from network import Dials, Names, name_of

PUBLIC = "8.8.4.4"
problems = []
checked = 0


def check(holds, what):
    global checked
    checked += 1
    if not holds:
        problems.append(what)


class Herald:
    """Not on loopback, so that loopback is closed too."""

    def __init__(self, binary, *arguments):
        self.folder = tempfile.TemporaryDirectory()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HERALD_")}
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            environment[name] = "http://127.0.0.1:3128"
        self.process = subprocess.Popen(
            [binary, "serve", "--listen", "0.0.0.0:8080", "--allow-anonymous", "true", "--log-format", "json",
             "--data", self.folder.name + "/data", *arguments],
            stderr=subprocess.PIPE, text=True, env=environment)
        self.log = []
        for line in self.process.stderr:
            self.log.append(line)
            if '"listening"' in line:
                break
        else:
            raise SystemExit("herald did not start: " + "".join(self.log))
        # A log that nobody reads would hold the server up.
        threading.Thread(target=self.log.extend, args=(self.process.stderr,), daemon=True).start()
        self.connection = http.client.HTTPConnection("127.0.0.1", 8080, timeout=30)

    def ask(self, method, path, body=None):
        self.connection.request(
            method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def call(self, url):
        """What becomes of one callback: ("unregistered", why) or (its error or "delivered", detail)."""
        status, answer = self.ask("POST", "/v1/delegates", {"url": url, "events": ["lab.never"], "timeout_seconds": 5})
        if status == 422:
            return "unregistered", json.dumps(answer)
        if status not in (200, 201):
            return f"status {status}", json.dumps(answer)
        _, outcome = self.ask("POST", f"/v1/delegates/{answer['id']}/test")
        self.ask("DELETE", f"/v1/delegates/{answer['id']}")
        return outcome.get("error") or ("delivered" if outcome.get("status_code") else "?"), outcome.get("detail") or ""

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)


def refuses(herald, dials, url, what):
    """Not registered, or not dialled, with the rule's name."""
    verdict, detail = herald.call(url)
    dialled = dials.take()
    check(verdict in ("unregistered", "address_refused"), f"{what}: {url} was {verdict} ({detail})")
    check(not dialled, f"{what}: {url} was dialled at {dialled}")
    check(len(detail) > 5, f"{what}: {url} was refused without a reason")
    return detail


def reaches(herald, dials, url, address, what, port=80):
    verdict, detail = herald.call(url)
    dialled = dials.take()
    check(verdict == "delivered", f"{what}: {url} was {verdict} ({detail})")
    check(dialled == [(str(ipaddress.ip_address(address)), port)], f"{what}: {url} was dialled at {dialled}")


def host(address):
    return f"[{address}]" if ":" in address else address


def strict(binary, dials, names):
    herald = Herald(binary)
    for block in REFUSED_V4 + REFUSED_V6:
        for address in sorted(edges(block)):
            refuses(herald, dials, f"http://{host(address)}/", block)
            refuses(herald, dials, f"http://{name_of(address)}/", f"{block} behind a name")
    # Every notation of one address of each block, whether it is read as that address or not at all.
    for block in REFUSED_V4:
        address = sorted(edges(block))[-1]
        for spelling in spellings(address):
            refuses(herald, dials, f"http://{spelling}/", f"{block} as {spelling}")
        for embedded in embeddings(address):
            refuses(herald, dials, f"http://{name_of(embedded)}/", f"{block} as {embedded} behind a name")
    for address in METADATA:
        refuses(herald, dials, f"http://{host(address)}/", "metadata")
        refuses(herald, dials, f"http://{name_of(address)}/", "metadata behind a name")
    for address in ALLOWED:
        reaches(herald, dials, f"http://{host(address)}/", address, "beside the blocks")
        reaches(herald, dials, f"http://{name_of(address)}/", address, "beside the blocks, behind a name")
    for address in ("127.0.0.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]"):
        detail = refuses(herald, dials, f"http://{address}:8080/", "its own address")
        check("own address" in detail, f"its own address: {detail}")
    rebinding(herald, dials, names)
    herald.stop()


def rebinding(herald, dials, names):
    for number in range(20):
        # Whoever looks a name up once to judge it and once to dial it is led astray by these.
        names.answers[f"flip-{number}.test"] = [[PUBLIC], ["169.254.169.254"]]
        reaches(herald, dials, f"http://flip-{number}.test/", PUBLIC, "rebinding")
        names.answers[f"flop-{number}.test"] = [["10.0.0.1"], [PUBLIC]]
        refuses(herald, dials, f"http://flop-{number}.test/", "rebinding, the other way round")
    for number, addresses in enumerate(([PUBLIC, "10.0.0.7"], ["10.0.0.7", PUBLIC], [PUBLIC, "fd00::1"])):
        names.answers[f"mixed-{number}.test"] = [addresses]
        refuses(herald, dials, f"http://mixed-{number}.test/", f"mixed answer {addresses}")
    verdict, detail = herald.call("http://nowhere.test/")
    check(verdict == "name" or "nowhere.test" in detail, f"no such name: {verdict} ({detail})")
    check(not dials.take(), "a name without an address was dialled")
    verdict, _ = herald.call(f"http://{PUBLIC}/redirect")
    dialled = dials.take()
    check(dialled == [(PUBLIC, 80)], f"a redirect was followed: {dialled}")


def lists(binary, dials, names):
    names.answers["inner.test"] = [["10.9.9.9"]]
    names.answers["meta.test"] = [["169.254.169.254"]]
    names.answers["a.corp.test"] = [["192.168.7.7"]]
    herald = Herald(
        binary, "--allow-networks", "10.1.2.3/32:80,fd12::/16", "--deny-networks", "8.8.8.0/24",
        "--allow-hosts", "inner.test,meta.test,*.corp.test", "--deny-hosts", "*.evil.test,bad.test")
    reaches(herald, dials, "http://10.1.2.3/", "10.1.2.3", "an allowed network")
    reaches(herald, dials, "http://[fd12::1]/", "fd12::1", "an allowed network")
    for url in ("http://10.1.2.4/", "http://10.1.2.3:8000/", "http://169.254.169.254/", "http://[fd00:ec2::254]/",
                f"http://{name_of('10.1.2.4')}/", "http://127.0.0.1/"):
        refuses(herald, dials, url, "beside an allowed network")
    detail = refuses(herald, dials, "http://8.8.8.8/", "a denied network")
    check("denied network 8.8.8.0/24" in detail, f"a denied network: {detail}")
    refuses(herald, dials, f"http://{name_of('8.8.8.8')}/", "a denied network behind a name")
    reaches(herald, dials, "http://inner.test/", "10.9.9.9", "an allowed host")
    reaches(herald, dials, "http://a.corp.test/", "192.168.7.7", "an allowed host")
    refuses(herald, dials, "http://meta.test/", "metadata behind an allowed host")
    for name in ("a.evil.test", "A.EVIL.test.", "bad.test"):
        detail = refuses(herald, dials, f"http://{name}/", "a denied host")
        check("denied host" in detail, f"a denied host: {detail}")
    herald.stop()


def main(binary):
    for command in ("ip link set lo up", "ip route add local 0.0.0.0/0 dev lo", "ip -6 route add local ::/0 dev lo"):
        subprocess.run(command.split(), check=True)
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("nameserver 127.0.0.1\noptions attempts:1 timeout:2\n")
        file.flush()
        subprocess.run(["mount", "--bind", file.name, "/etc/resolv.conf"], check=True)
        dials, names = Dials([80, 3128, 8000]), Names()
        strict(binary, dials, names)
        lists(binary, dials, names)
    for problem in problems:
        print(problem)
    print(f"{checked} checks, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
