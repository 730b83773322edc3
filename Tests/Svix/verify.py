"""Verifies callbacks with `svix.Webhook`; prints how many are genuine, and how many with another body are.

    verify.py SECRET <LINES

Each line is a JSON array: the id, the timestamp, the signature, and the body.
"""
import json
import sys

import svix

webhook = svix.Webhook(sys.argv[1])
names = ["svix-id", "svix-timestamp", "svix-signature"]


def is_genuine(headers, body):
    try:
        webhook.verify(body, headers)
    except svix.WebhookVerificationError:
        return False
    return True


callbacks = [json.loads(line) for line in sys.stdin]
genuine = sum(is_genuine(dict(zip(names, one[:3])), one[3]) for one in callbacks)
forged = sum(is_genuine(dict(zip(names, one[:3])), one[3] + " ") for one in callbacks)
print(genuine, forged, len({one[0] for one in callbacks}))
