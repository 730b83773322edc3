"""What one would write instead of Herald, with FastAPI and httpx: accepts an event, answers 202, and posts it signed to every
receiver. It keeps nothing and tries once. `python server.py PORT URL...`"""
import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
import sys
import time
import uuid

import fastapi
import httpx
import uvicorn

SECRET = b"a secret that the receivers know"
IN_FLIGHT = 64  # of each receiver
port, *urls = sys.argv[1:]
lanes = {url: asyncio.Queue() for url in urls}


async def deliver(client, url, waiting):
    while True:
        event, body = await waiting.get()
        now = str(int(time.time()))
        signature = hmac.digest(SECRET, f"{event}.{now}.".encode() + body, hashlib.sha256)
        headers = {
            "content-type": "application/json", "webhook-id": event, "webhook-timestamp": now,
            "webhook-signature": "v1," + base64.b64encode(signature).decode()}
        try:
            await client.post(url, content=body, headers=headers)
        except httpx.HTTPError as error:
            print(url, error, file=sys.stderr)


@contextlib.asynccontextmanager
async def lifespan(_):
    async with contextlib.AsyncExitStack() as stack:
        workers = []
        for url, waiting in lanes.items():
            # One client for each: its time for a request grows with the number of its connections.
            limits = httpx.Limits(max_connections=IN_FLIGHT, max_keepalive_connections=IN_FLIGHT)
            client = await stack.enter_async_context(httpx.AsyncClient(limits=limits, timeout=60))
            workers += [asyncio.create_task(deliver(client, url, waiting)) for _ in range(IN_FLIGHT)]
        yield
        for worker in workers:
            worker.cancel()


app = fastapi.FastAPI(lifespan=lifespan)


@app.post("/v1/events", status_code=202)
async def post_event(request: fastapi.Request):
    body = await request.body()
    try:
        json.loads(body)
    except ValueError:
        raise fastapi.HTTPException(400) from None
    event = f"evt_{uuid.uuid4()}"
    for waiting in lanes.values():
        waiting.put_nowait((event, body))
    return {"id": event, "status": "accepted"}


uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error", access_log=False, timeout_keep_alive=60)
