// What one would write instead of Herald, with Node's own http and fetch: accepts an event, answers 202, and posts it signed to
// every receiver. It keeps nothing and tries once. `node server.mjs PORT URL...`
import { createHmac, randomUUID } from "node:crypto";
import { createServer } from "node:http";

const [port, ...urls] = process.argv.slice(2);
const secret = "a secret that the receivers know";
const inFlight = 64; // of each receiver
const lanes = urls.map((url) => ({ url, waiting: [], open: 0 }));

async function deliver(lane) {
    lane.open += 1;
    while (lane.waiting.length > 0) {
        const { id, body } = lane.waiting.shift();
        const time = Math.floor(Date.now() / 1000);
        const signature = createHmac("sha256", secret).update(`${id}.${time}.`).update(body).digest("base64");
        const headers = {
            "content-type": "application/json", "webhook-id": id, "webhook-timestamp": String(time),
            "webhook-signature": `v1,${signature}`,
        };
        try {
            const answer = await fetch(lane.url, { method: "POST", headers, body });
            await answer.arrayBuffer();
        } catch (error) {
            console.error(lane.url, error);
        }
    }
    lane.open -= 1;
}

const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
        if (request.method !== "POST") return response.writeHead(404).end();
        const body = Buffer.concat(chunks);
        try {
            JSON.parse(body);
        } catch {
            return response.writeHead(400).end();
        }
        const id = `evt_${randomUUID()}`;
        for (const lane of lanes) {
            lane.waiting.push({ id, body });
            if (lane.open < inFlight) deliver(lane);
        }
        const answer = JSON.stringify({ id, status: "accepted" });
        const headers = { "content-type": "application/json", "content-length": answer.length };
        response.writeHead(202, headers).end(answer);
    });
});
server.keepAliveTimeout = 60_000; // A publisher that waits is not to be cut off.
server.listen(Number(port), "127.0.0.1");
