"""Reads export requests of the OpenTelemetry protocol, one in hexadecimal digits a line, with the classes of opentelemetry-proto, and
prints one JSON document for each span, with the resource. Fails on unknown fields: what a collector would not read.
"""
import json
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def check(message):
    assert not len(UnknownFieldSet(message)), f"unknown fields in {message}"
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in value if field.is_repeated else [value]:
                check(part)


def value(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))


def attributes(pairs):
    found = {pair.key: value(pair.value) for pair in pairs}
    assert len(found) == len(pairs), "an attribute twice"
    return found


for line in sys.stdin.readlines():
    request = ExportTraceServiceRequest()
    request.ParseFromString(bytes.fromhex(line))
    check(request)
    for group in request.resource_spans:
        for scope in group.scope_spans:
            for span in scope.spans:
                print(json.dumps({
                    "trace": span.trace_id.hex(), "span": span.span_id.hex(), "parent": span.parent_span_id.hex(),
                    "name": span.name, "kind": span.kind, "status": span.status.code,
                    "message": span.status.message, "nanoseconds": span.end_time_unix_nano - span.start_time_unix_nano,
                    "attributes": attributes(span.attributes), "resource": attributes(group.resource.attributes),
                    "scope": scope.scope.name}))
