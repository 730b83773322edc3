"""Herald's recipes for SQS, SNS, EventBridge and S3 against moto, which checks each signature.

usage: aws.py HERALD [EVENTS]    EVENTS: for each destination; default 200

Exits 0 when all holds; else the traceback says what does not.
"""

import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

# moto never asks another host: its own credentials must not come from the environment.
for name in [each for each in os.environ if each.startswith("AWS_")]:
    del os.environ[name]

import boto3
from moto import settings
from moto.server import ThreadedMotoServer

REGION = "eu-west-1"
TEXT = 'é "quoted" & <b>'
SECONDS = 120


class Amazon:
    """A queue, a topic and a bus with a queue behind each, and a bucket."""

    def __init__(self, server):
        self.base = "http://{}:{}".format(*server.get_host_and_port())
        iam = self.client("iam", "x", "x")
        iam.create_user(UserName="herald")
        key = iam.create_access_key(UserName="herald")["AccessKey"]
        iam.put_user_policy(UserName="herald", PolicyName="all", PolicyDocument=json.dumps(
            {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}))
        self.key, self.secret = key["AccessKeyId"], key["SecretAccessKey"]
        self.sqs, sns, events, self.s3 = (self.client(each, self.key, self.secret) for each in ("sqs", "sns", "events", "s3"))
        self.queues = {name: self.sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("sqs", "sns", "eventbridge")}
        self.topic = sns.create_topic(Name="topic")["TopicArn"]
        sns.subscribe(TopicArn=self.topic, Protocol="sqs", Endpoint=self.arn("sns"))
        events.put_rule(Name="all", EventPattern='{"source": ["herald"]}')
        events.put_targets(Rule="all", Targets=[{"Id": "1", "Arn": self.arn("eventbridge")}])
        self.s3.create_bucket(Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": REGION})
        # From now on moto checks each signature.
        settings.INITIAL_NO_AUTH_ACTION_COUNT = 0.0

    def client(self, service, key, secret):
        return boto3.client(service, endpoint_url=self.base, region_name=REGION, aws_access_key_id=key, aws_secret_access_key=secret)

    def arn(self, queue):
        return self.sqs.get_queue_attributes(QueueUrl=self.queues[queue], AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]

    def drain(self, queue):
        """The ids of the events in a queue, which is empty then."""
        found = []
        while messages := self.sqs.receive_message(QueueUrl=self.queues[queue], MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                body = json.loads(message["Body"])
                # SNS and EventBridge have an envelope.
                body = json.loads(body["Message"]) if "Message" in body else body.get("detail", body)
                assert body["data"]["text"] == TEXT, body
                found.append(body["id"])
                self.sqs.delete_message(QueueUrl=self.queues[queue], ReceiptHandle=message["ReceiptHandle"])
        return found

    def objects(self):
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket="bucket")
        return [each["Key"].split("/")[-1].removesuffix(".json") for page in pages for each in page.get("Contents", [])]


class Herald:
    def __init__(self, binary, folder):
        self.process = subprocess.Popen([binary, "serve", "--data", folder, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
        line = next(line for line in self.process.stderr if "listening" in line)
        self.server = re.search(r"http://127.0.0.1:\d+", line)[0]
        # The pipe must not fill up.
        threading.Thread(target=lambda: list(self.process.stderr), daemon=True).start()

    def send(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()}") from error

    def attempt(self, delegate):
        """The first attempt to call a delegate."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if found := self.send("GET", f"/v1/delegates/{delegate}/attempts")["data"]:
                return found[-1]
            time.sleep(0.1)
        raise AssertionError(f"{delegate} was not called")


def register(herald, amazon, preset, type_, path="/", secret=None, metadata=None, **request):
    return herald.send("POST", "/v1/delegates", {
        "url": amazon.base + path, "events": [type_], "retry_schedule": [], "metadata": metadata or {},
        "request": {"preset": preset, "auth": {"aws": {"region": REGION, "key_id": amazon.key, "secret": secret or amazon.secret}}, **request}})["id"]


def all_arrive(herald, amazon, count):
    queue = "/" + amazon.queues["sqs"].split("/", 3)[3]
    register(herald, amazon, "sqs", "t.sqs", queue)
    register(herald, amazon, "sns", "t.sns", metadata={"topic_arn": amazon.topic})
    register(herald, amazon, "eventbridge", "t.eventbridge")
    register(herald, amazon, "s3", "t.s3", "/bucket")
    wanted = {}
    for name in ("sqs", "sns", "eventbridge", "s3"):
        wanted[name] = sorted(f"{name}-{number}" for number in range(count))
        for start in range(0, count, 100):
            herald.send("POST", "/v1/events", [
                {"type": "t." + name, "id": f"{name}-{number}", "data": {"text": TEXT}} for number in range(start, min(start + 100, count))])
    found = {name: [] for name in wanted}
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and any(len(found[name]) < count for name in wanted):
        for name in amazon.queues:
            found[name] += amazon.drain(name)
        found["s3"] = amazon.objects()
        time.sleep(0.2)
    for name in wanted:
        assert sorted(found[name]) == wanted[name], (name, len(found[name]), herald.send("GET", "/v1/deliveries")["data"][:1])
        print(f"{name}: {len(found[name])} of {count} events arrived, each once", flush=True)


def a_wrong_secret_is_a_failure_in_words(herald, amazon):
    queue = "/" + amazon.queues["sqs"].split("/", 3)[3]
    wrong = register(herald, amazon, "sqs", "t.wrong", queue + "?wrong=1", secret="not-the-secret")
    herald.send("POST", "/v1/events", {"type": "t.wrong", "data": {"text": TEXT}})
    attempt = herald.attempt(wrong)
    assert attempt["outcome"] == "failed" and attempt["status_code"] == 403, attempt
    assert "SignatureDoesNotMatch" in attempt["response_excerpt"], attempt
    assert amazon.drain("sqs") == []
    print("a wrong secret: 403, SignatureDoesNotMatch", flush=True)


def a_refused_entry_is_a_failure(herald, amazon):
    """EventBridge responds with 200, and names the entry that it has refused."""
    entry = {"Source": "", "DetailType": "{{ type }}", "Detail": "{}"}
    refused = register(herald, amazon, "eventbridge", "t.refused", "/?refused=1", body={"Entries": [entry]})
    herald.send("POST", "/v1/events", {"type": "t.refused", "data": {"text": TEXT}})
    attempt = herald.attempt(refused)
    assert attempt["outcome"] == "failed" and attempt["error"] == "response_refused", attempt
    assert '"FailedEntryCount": 1' in attempt["response_excerpt"], attempt
    print(f"a refused entry: {attempt['detail']}", flush=True)


def main(binary, count):
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    with tempfile.TemporaryDirectory() as folder:
        amazon, herald = Amazon(server), Herald(binary, folder)
        try:
            all_arrive(herald, amazon, count)
            a_wrong_secret_is_a_failure_in_words(herald, amazon)
            a_refused_entry_is_a_failure(herald, amazon)
        finally:
            herald.process.terminate()
            herald.process.wait()
            server.stop()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200)
