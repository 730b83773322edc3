"""A Convoy server for tests: what `herald import convoy` reads, in the form of Convoy's description of its API. Prints its port.

    convoy_server.py URL    the URL of the endpoints
"""
import sys

import server

hook = sys.argv[1]
PROJECT = "01HPROJECT"


def endpoint(uid, **more):
    plain = {"uid": uid, "name": uid, "url": hook, "owner_id": "", "description": f"Endpoint {uid}", "status": "active",
             "secrets": [{"uid": "s0", "value": "replaced-text-of-16", "expires_at": "2026-01-01T00:00:00Z"},
                         {"uid": "s1", "value": "secret-text-of-convoy"}],
             "advanced_signatures": False, "http_timeout": 10, "rate_limit": 0, "rate_limit_duration": 0, "authentication": None}
    return plain | more


ENDPOINTS = [
    endpoint("ep-a", owner_id="acme", rate_limit=30, rate_limit_duration=60, advanced_signatures=True,
             authentication={"type": "api_key", "api_key": {"header_name": "X-Key", "header_value": "k3y"}}),
    endpoint("ep-b", status="paused", http_timeout=120, content_type="application/x-www-form-urlencoded", authentication={"type": "basic_auth", "basic_auth": {"username": "ada", "password": "hush"}}),
    endpoint("ep-c", url="https://unused.example/hooks"),
]


def subscription(uid, endpoint, types, **more):
    return {"uid": uid, "name": uid, "type": "api", "endpoint_metadata": endpoint,
            "filter_config": {"event_types": types, "filter": {"headers": {}, "body": {}} | more}, "function": None,
            "source_metadata": None, "delivery_mode": "at_most_once" if uid == "sub-b" else "at_least_once"}


def type_filter(event_type, enabled_at, **more):
    plain = {"uid": "f-" + event_type, "subscription_id": "sub-a", "event_type": event_type, "enabled_at": enabled_at,
             "headers": {}, "body": {}, "query": {}, "path": {}}
    return plain | more


SUBSCRIPTIONS = [
    subscription("sub-a", ENDPOINTS[0], ["order.paid"], body={"amount": {"$gt": 5}}),
    subscription("sub-b", ENDPOINTS[1], ["*"], body={"amount": {"$gt": 5}}),
    subscription("sub-c", None, ["*"]),
]
SIGNATURE = {"header": "X-Acme-Signature", "versions": [
    {"uid": "v1", "hash": "SHA256", "encoding": "hex"}, {"uid": "v2", "hash": "SHA512", "encoding": "base64"}]}


def page(items, query):
    """Pages of one element."""
    start = int(query.get("next_page_cursor", 0))
    return {"content": items[start:start + 1] or None,
            "pagination": {"has_next_page": start + 1 < len(items), "next_page_cursor": str(start + 1)}}


class Handler(server.Handler):
    token = "CO.a-token-of-a-test-server"

    def answer(self, path, query):
        root = f"/api/v1/projects/{PROJECT}"
        data = {
            root: {"uid": PROJECT, "name": "Acme's Shop", "config": {"signature": SIGNATURE}},
            root + "/endpoints": page(ENDPOINTS, query),
            root + "/subscriptions": page(SUBSCRIPTIONS, query),
            root + "/subscriptions/sub-a/filters": [
                type_filter("order.paid", "2026-01-01T00:00:00Z", body={"amount": {"$gt": 5}}), type_filter("order.new", None)],
            root + "/event-types": [
                {"uid": "1", "name": "*", "description": ""},
                {"uid": "2", "name": "order.paid", "description": "Paid", "json_schema": {"type": "object"}},
                {"uid": "3", "name": "order.old", "description": "", "deprecated_at": "2026-01-01T00:00:00Z"}],
        }.get(path)
        return data and {"status": True, "message": "OK", "data": data}


server.serve(Handler)
