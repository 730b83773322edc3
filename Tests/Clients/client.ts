// Uses a client that openapi-generator has made with its generator `typescript-fetch`.
//
// usage: node client.js URL KEY RECEIVER
import { Configuration, DelegatesApi, EventsApi, EventInput, PostResult } from './client';

declare const process: { argv: string[]; exit(code: number): void };

function check(holds: boolean, what: unknown): void {
    if (!holds) throw new Error(JSON.stringify(what));
}

async function main(url: string, key: string, receiver: string): Promise<void> {
    const configuration = new Configuration({ basePath: url, accessToken: key });
    const delegates = new DelegatesApi(configuration);
    const events = new EventsApi(configuration);

    const delegate = await delegates.registerDelegate({
        delegateRegistration: { url: receiver, events: ['order.*'], ordering: 'subject', rateLimit: 100.5 },
    });
    if (delegate.kind !== 'webhook') throw new Error(JSON.stringify(delegate));
    check(delegate.secret?.startsWith('whsec_') === true && delegate.tls === null, delegate);

    const one: EventInput = { type: 'order.placed', subject: 'order:1', data: { total: 12.5 } };
    const posted: PostResult = await events.postEvents({ postInput: one, prefer: 'wait=30' });
    if (!('deliveries' in posted)) throw new Error(JSON.stringify(posted));
    check(posted.deliveries?.[0].statusCode === 204, posted);
    const batch = await events.postEvents({ postInput: [{ type: 'order.paid' }, { type: 'order.shipped' }] });
    if (!('data' in batch)) throw new Error(JSON.stringify(batch));
    check(batch.data?.length === 2, batch);

    const page = await events.listEvents({ type: 'order.*', limit: 2 });
    check(page.data.length === 2 && page.nextCursor !== null, page);
    const kinds = (await delegates.listDelegates({})).data.map(each => each.kind);
    check(kinds.includes('webhook') && kinds.includes('in_memory'), kinds);
    const story = await events.getEvent({ id: posted.id });
    check(story.deliveries[0].delegate === delegate.id && story.data.total === 12.5, story);

    const changed = await delegates.changeDelegate({ id: delegate.id, delegatePatch: { format: 'cloudevents' } });
    if (changed.kind !== 'webhook') throw new Error(JSON.stringify(changed));
    check(changed.format === 'cloudevents' && changed.ordering === 'subject', changed);
    const rotated = await delegates.rotateSecret({ id: delegate.id, secretRotation: { overlapSeconds: 60 } });
    check(rotated.secret !== delegate.secret && rotated.previousExpiresAt !== null, rotated);
    await delegates.unregisterDelegate({ id: delegate.id });
}

main(process.argv[2], process.argv[3], process.argv[4]).catch(error => {
    console.error(error);
    process.exit(1);
});
