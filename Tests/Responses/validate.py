"""Validates recorded responses, and the examples of responses, against openapi.yaml with openapi-schema-validator.

usage: validate.py RESPONSES, a file with a line for each response: {"method", "path", "status", "type", "body"}.
"""

import collections
import functools
import json
import multiprocessing
import pathlib
import re
import sys

import yaml
from openapi_schema_validator import OAS30ReadValidator

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCUMENT = yaml.load((ROOT / "openapi.yaml").read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def resolve(value):
    while "$ref" in value:
        value = functools.reduce(lambda part, key: part[key], value["$ref"][2:].split("/"), DOCUMENT)
    return value


# The literal parts of a path decide: /v1/events/stream is not /v1/events/{id}.
PATHS = sorted(
    (
        (template, re.compile(re.sub(r"\\{[^/]*?\\}", "[^/]+", re.escape(template)) + "$"), item)
        for template, item in DOCUMENT["paths"].items()
    ),
    key=lambda entry: entry[0].count("{"),
)


@functools.cache
def validator(reference):
    return OAS30ReadValidator({"$ref": reference, "components": DOCUMENT["components"]})


def problems(entry):
    """What is wrong with a response; `None` if the description does not cover its path and method."""
    path = entry["path"].split("?")[0].split("#")[0]
    operation = next((item for _, pattern, item in PATHS if pattern.match(path)), {}).get(entry["method"].lower())
    if operation is None:
        return None
    responses = operation["responses"]
    response = responses.get(str(entry["status"]), responses.get("default"))
    if response is None:
        return [f"the status {entry['status']} is not described"]
    content = resolve(response).get("content", {})
    kind = entry["type"].split(";")[0].strip()
    if kind not in content:
        return [f"the type {kind} is not described for {entry['status']}"]
    if kind != "application/json" and not kind.endswith("+json"):
        return []
    schema = content[kind]["schema"]
    body = json.loads(entry["body"])
    if "$ref" not in schema:
        return []
    found = list(validator(schema["$ref"]).iter_errors(body))
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in found]


def examples():
    """What is wrong with the examples of responses."""
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            if method == "parameters":
                continue
            for status, response in operation["responses"].items():
                for content in resolve(response).get("content", {}).values():
                    for name, example in content["examples"].items() if "$ref" in content["schema"] else []:
                        for error in validator(content["schema"]["$ref"]).iter_errors(resolve(example)["value"]):
                            yield f"the example {name} of {method.upper()} {path} {status}: {error.message[:200]}"


def checked(line):
    """The verdict on a recorded response, and what is wrong with it."""
    entry = json.loads(line)
    found = problems(entry)
    operation = f"{entry['method']} {entry['path'].split('?')[0]} {entry['status']}"
    verdict = "outside" if found is None else "wrong" if found else "right"
    return verdict, [f"{operation}: {problem}" for problem in found or []]


def main(path):
    counts = collections.Counter()
    wrong = collections.Counter(examples())
    with open(path, encoding="utf-8") as lines, multiprocessing.Pool() as pool:
        for verdict, found in pool.imap(checked, lines, chunksize=64):
            counts[verdict] += 1
            wrong.update(found)
    for problem, count in wrong.most_common(40):
        print(f"error: {problem} ({count} times)")
    print(f"{counts['right']} responses fit openapi.yaml, {counts['wrong']} do not")
    # Without a response nothing was tested.
    sys.exit(1 if wrong or not counts["right"] else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
