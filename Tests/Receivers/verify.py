#!/usr/bin/env python3
"""Runs the functions that the documentation shows for verifying callbacks, each with valid and forged ones.

  verify.py                  those whose language is installed; prints the others, and exits 1 if a function is wrong
  verify.py --require go     fails, too, if one of these languages is missing
"""
import base64
import glob
import hashlib
import hmac
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
GUIDE = os.path.join(ROOT, "Documentation", "guide")

GO = """
func main() {
	a := os.Args
	fmt.Println(IsSigned(a[1], a[2], a[3], a[4], []byte(a[5])))
}
"""
JAVA = """
class Main {
    public static void main(String[] a) throws Exception {
        System.out.println(Callbacks.isSigned(a[0], a[1], a[2], a[3], a[4].getBytes(java.nio.charset.StandardCharsets.UTF_8)));
    }
}
"""
JS = """
const a = process.argv.slice(2)
const given = { 'webhook-id': a[1], 'webhook-timestamp': a[2], 'webhook-signature': a[3] }
// Node has no member for a header that is missing.
const headers = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''))
console.log(isSigned(a[0], headers, Buffer.from(a[4])))
"""
PYTHON = """
import sys
print(is_signed(*sys.argv[1:5], sys.argv[5].encode()))
"""
PHP = "\necho isSigned(...array_slice($argv, 1)) ? 'true' : 'false';\n"
CSHARP = """
public static class Program
{
    public static void Main(string[] a)
    {
        System.Console.WriteLine(Callbacks.IsSigned(a[0], a[1], a[2], a[3], System.Text.Encoding.UTF8.GetBytes(a[4])));
    }
}
"""
RUST = """
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    println!("{}", is_signed(&a[0], &a[1], &a[2], &a[3], a[4].as_bytes()));
}
"""
# Debian has the sources of the crate, as a registry of cargo.
CARGO = """
[package]
name = "receiver"
version = "0.1.0"
edition = "2021"

[[bin]]
name = "receiver"
path = "main.rs"

[dependencies]
openssl = "0.10"
"""
REGISTRY = "/usr/share/cargo/registry"
CARGO_CONFIGURATION = f"""
[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "{REGISTRY}"
"""
SWIFT = """
@main struct Receiver {
    static func main() {
        let a = CommandLine.arguments
        print(isSigned(secret: a[1], id: a[2], timestamp: a[3], signatures: a[4], body: Data(a[5].utf8)))
    }
}
"""
# What the function uses of swift-crypto, made of the openssl program: the tests have no packages of others.
CRYPTO = """
import Foundation

public enum SHA256 {}
public struct SymmetricKey {
    let bytes: Data
    public init(data: Data) { bytes = data }
}
public enum HMAC<Hash> {
    public static func isValidAuthenticationCode(_ code: Data, authenticating data: Data, using key: SymmetricKey) -> Bool {
        let process = Process(), input = Pipe(), output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        let hex = key.bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        process.arguments = ["dgst", "-sha256", "-mac", "HMAC", "-macopt", "hexkey:" + hex, "-binary"]
        (process.standardInput, process.standardOutput) = (input, output)
        guard (try? process.run()) != nil else { return false }
        input.fileHandleForWriting.write(data)
        input.fileHandleForWriting.closeFile()
        return output.fileHandleForReading.readDataToEndOfFile() == code
    }
}
"""
RUBY = "\nputs signed?(*ARGV)\n"


def files_of(language, code):
    """The files of a program that calls the function with its arguments, the commands that build it and run it."""
    head = 'package main\n\nimport (\n\t"fmt"\n\t"os"\n)\n\n'
    javac = ["javac", "-Xlint:all", "-Werror", "Callbacks.java", "Main.java"]
    return {
        "python": ({"main.py": code + PYTHON}, [], [sys.executable, "main.py"]),
        "js": ({"main.mjs": code + JS}, [], ["node", "main.mjs"]),
        "go": ({"main.go": head + code + GO}, ["go", "build", "-o", "program", "main.go"], ["./program"]),
        "java": ({"Callbacks.java": code, "Main.java": JAVA}, javac, ["java", "Main"]),
        "php": ({"main.php": "<?php\ndeclare(strict_types=1);\n" + code + PHP}, [], ["php", "-d", "display_errors=stderr", "main.php"]),
        "ruby": ({"main.rb": code + RUBY}, [], ["ruby", "-w", "main.rb"]),
        "csharp": ({"main.cs": code + CSHARP}, ["mcs", "-warnaserror", "-out:main.exe", "main.cs"], ["mono", "main.exe"]),
        "rust": (
            {"main.rs": code + RUST, "Cargo.toml": CARGO, ".cargo/config.toml": CARGO_CONFIGURATION},
            ["cargo", "build", "--offline", "--quiet"], ["target/debug/receiver"]),
        "swift": (
            {"Receiver.swift": code + SWIFT, "Crypto.swift": CRYPTO},
            ["sh", "-c", "swiftc -emit-module -emit-library -static -module-name Crypto Crypto.swift && "
             "swiftc -parse-as-library -warnings-as-errors -I . -L . -lCrypto Receiver.swift -o program"], ["./program"]),
    }[language]


def missing(language, build, run):
    """Whether the language cannot be tried here."""
    programs = [command[0] for command in (build, run) if command and "/" not in command[0]]
    programs += ["swiftc", "openssl"] if language == "swift" else []
    # The crate is looked for where Debian has it, whichever Rust is installed.
    lacks_crate = language == "rust" and not glob.glob(f"{REGISTRY}/openssl-0.10*")
    return lacks_crate or any(shutil.which(program) is None for program in programs)


def blocks():
    """The functions of the two pages, by language."""
    found = {}
    for page in ("verify.md", "receivers.md"):
        with open(os.path.join(GUIDE, page), encoding="utf-8") as file:
            for language, code in re.findall(r"^```(\w+)\n(.*?)^```$", file.read(), re.M | re.S):
                if re.search(r"is_?signed|signed\?", code, re.I):
                    # A program that uses the function follows it.
                    found.setdefault(language, code)
    return found


def cases():
    """Pairs of arguments and the result."""
    secret, other = ("whsec_" + base64.b64encode(os.urandom(32)).decode() for _ in range(2))
    now, body = int(time.time()), '{"type":"order.paid","data":{"customer":"Zoë"}}'

    def sign(id, timestamp, body, secret=secret):
        key = base64.b64decode(secret[len("whsec_"):])
        return "v1," + base64.b64encode(hmac.digest(key, f"{id}.{timestamp}.{body}".encode(), hashlib.sha256)).decode()

    right = sign("evt_1", now, body)
    return {
        "a callback": ((secret, "evt_1", now, right, body), True),
        "one without a body": ((secret, "evt_1", now, sign("evt_1", now, ""), ""), True),
        "two signatures": ((secret, "evt_1", now, sign("evt_1", now, body, other) + " " + right, body), True),
        "a signature of another version": ((secret, "evt_1", now, right + " v1a,AAAA", body), True),
        "another body": ((secret, "evt_1", now, right, body + " "), False),
        "another id": ((secret, "evt_2", now, right, body), False),
        "another time": ((secret, "evt_1", now - 1, right, body), False),
        "another secret": ((other, "evt_1", now, right, body), False),
        "only another version": ((secret, "evt_1", now, right.replace("v1,", "v2,"), body), False),
        "an old callback": ((secret, "evt_1", now - 400, sign("evt_1", now - 400, body), body), False),
        "one from the future": ((secret, "evt_1", now + 400, sign("evt_1", now + 400, body), body), False),
        "a time that is no number": ((secret, "evt_1", "now", sign("evt_1", "now", body), body), False),
        "a time without end": ((secret, "evt_1", "9" * 40, sign("evt_1", "9" * 40, body), body), False),
        "a time beyond all numbers": ((secret, "evt_1", "9" * 400, sign("evt_1", "9" * 400, body), body), False),
        "no headers": ((secret, "", "", "", body), False),
        "no id": ((secret, "", now, right, body), False),
        "no time": ((secret, "evt_1", "", right, body), False),
        "no signature": ((secret, "evt_1", now, "", body), False),
        "signatures that are none": ((secret, "evt_1", now, "v1 v1, , é", body), False),
    }


def problems(language, code):
    files, build, run = files_of(language, code)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        environment = dict(os.environ, GOCACHE=os.path.join(folder, "cache"), GO111MODULE="off", LC_ALL="C.UTF-8")
        # Java names these options on standard error.
        environment.pop("JAVA_TOOL_OPTIONS", None)
        if build:
            built = subprocess.run(build, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
            if built.returncode != 0:
                yield f"{language} is not built: {built.stdout}{built.stderr}"
                return
        for name, (arguments, expected) in cases().items():
            ran = subprocess.run(
                run + [str(each) for each in arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
            if ran.returncode != 0 or ran.stderr or ran.stdout.strip().lower() != str(expected).lower():
                yield f"{language}, {name}: {ran.stdout.strip()} instead of {expected} {ran.stderr.strip()}"


def main():
    required = sys.argv[2:] if sys.argv[1:2] == ["--require"] else []
    found, wrong = blocks(), []
    if set(found) != {"python", "js", "go", "java", "php", "ruby", "csharp", "rust", "swift"}:
        wrong.append(f"the pages have functions for {sorted(found)}")
    for language, code in found.items():
        _, build, run = files_of(language, code)
        if missing(language, build, run):
            print(f"{language}: not installed")
            wrong += [f"{language} is required"] if language in required else []
            continue
        all_problems = list(problems(language, code))
        print(f"{language}: {len(cases())} cases, {len(all_problems)} wrong")
        wrong += all_problems
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
