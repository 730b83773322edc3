"""The operations of a description of an API, as the generators of clients name them."""

import re

import yaml


def operations(description):
    """The tag and the name of each operation: ("event types", "list_event_types")."""
    with open(description, encoding="utf-8") as file:
        paths = yaml.safe_load(file)["paths"]
    found = [
        (operation["tags"][0].lower(), re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", operation["operationId"]).lower())
        for item in paths.values()
        for operation in item.values()
        if isinstance(operation, dict) and "operationId" in operation
    ]
    assert len(found) > 50, found
    return found
