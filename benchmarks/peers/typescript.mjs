// The TypeScript SDK, as a contestant: its low-level `Server` and its `Client`, in one process of Node's.
//
// The commands and answers are those of worker.py, and so are the jobs; the prompts are those of work.py. In memory both eras
// go through `serveStdio` and the linked pair of transports that the SDK has, where messages are objects: nothing is encoded.
// With words on the command line it is a server in a process of its own, over stdio or HTTP.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { Client, InMemoryTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { Server, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

// --- the work, as in work.py ---

const EDITED = 7;
const EDIT = 'edit';
const ARGUMENTS = { change: 'diff --git a b', focus: 'speed' };
const INFO = { name: 'benchmark', version: '1' };
const nameOf = (number) => `team/review-${String(number).padStart(5, '0')}`;
const argument = (name, description, required) => ({ name, description, required });

function spec(number, revision = 0) {
    return {
        name: nameOf(number),
        title: `Review a change, variant ${number}`,
        description:
            `Reads a change of ${number} and says what a careful reviewer would say of it, in the order of ` +
            `importance, with a suggestion for each remark; revision ${revision}.`,
        arguments: [
            argument('change', 'The change itself, as a unified diff or as a link to it', true),
            argument('focus', 'What to look at first: security, speed, style', false),
            argument('language', 'The language in which the answer is to be written', false)
        ]
    };
}

const render = (given) =>
    `Please review this change with a focus on ${given.focus ?? ''}: ${given.change ?? ''}` + ' Be kind.'.repeat(8);
const seen = (prompts) =>
    prompts.map((each) => [
        each.name,
        each.title,
        each.description,
        each.arguments.map((one) => [one.name, one.description, Boolean(one.required)])
    ]);
const seenMessages = (messages) => messages.map((each) => [each.role, each.content.text]);

// --- a server and its clients ---

class House {
    constructor(prompts, page = 100) {
        this.prompts = Array.from({ length: prompts }, (_, number) => spec(number));
        this.names = new Set(this.prompts.map((each) => each.name));
        this.page = page;
        this.revision = 0;
        this.servers = [];
        this.announce = () => {
            for (const server of this.servers) void server.sendPromptListChanged();
        };
    }

    nextEdit() {
        this.revision += 1;
        return spec(EDITED, this.revision);
    }

    put(edited) {
        this.prompts[EDITED] = edited;
    }

    server(keep = true) {
        const server = new Server(INFO, {
            capabilities: { prompts: { listChanged: true } },
            cacheHints: { 'prompts/list': { ttlMs: 60_000, scope: 'public' } }
        });
        server.setRequestHandler('prompts/list', (request) => {
            const begin = Number(request.params?.cursor ?? 0);
            const end = begin + this.page;
            const prompts = this.prompts.slice(begin, end);
            return end < this.prompts.length ? { prompts, nextCursor: String(end) } : { prompts };
        });
        server.setRequestHandler('prompts/get', (request) => {
            const given = request.params.arguments ?? {};
            if (!this.names.has(request.params.name)) throw new Error(request.params.name);
            if (given.change === EDIT) {
                this.put(this.nextEdit());
                this.announce();
            }
            return { messages: [{ role: 'user', content: { type: 'text', text: render(given) } }] };
        });
        if (keep) this.servers.push(server);
        return server;
    }

    async client(era, options = {}) {
        const [near, far] = InMemoryTransport.createLinkedPair();
        serveStdio(() => this.server(), { transport: far });
        const client = makeClient(era, options);
        await client.connect(near);
        return client;
    }
}

function makeClient(era, options = {}) {
    const mode = era === 'modern' ? 'auto' : 'legacy';
    return new Client(INFO, { versionNegotiation: { mode }, ...options });
}

const walk = async (client) => (await client.listPrompts(undefined, { cacheMode: 'bypass' })).prompts;

// Clients that hear of changes, through the SDK's own `listChanged`: its debouncing and, if they fetch, its refetching.
class Listeners {
    constructor(house, fetch) {
        this.house = house;
        this.fetch = fetch;
        this.lists = [];
        this.heard = [];
    }

    options(each) {
        const onChanged = (error, items) => {
            if (error) throw error;
            this.heard[each] += 1;
            if (items !== null) this.lists[each] = items;
            const fresh = !this.fetch || this.lists[each][EDITED].description === this.house.prompts[EDITED].description;
            if (fresh && this.behind.delete(each) && this.behind.size === 0) this.done();
        };
        return { listChanged: { prompts: { autoRefresh: this.fetch, debounceMs: this.fetch ? 300 : 0, onChanged } } };
    }

    async open(number, era) {
        this.clients = [];
        for (let each = 0; each < number; each++) {
            this.heard.push(0);
            this.clients.push(await this.house.client(era, this.options(each)));
            this.lists.push(await walk(this.clients[each]));
        }
    }

    async change(edits) {
        this.behind = new Set(this.clients.keys());
        const over = new Promise((resolve) => (this.done = resolve));
        for (const edited of edits) {
            this.house.put(edited);
            this.house.announce();
        }
        await over;
    }
}

// --- the jobs ---

const JOBS = {
    list_cold: async ({ prompts, era }) => {
        const client = await new House(prompts).client(era);
        let listed = [];
        return { step: async () => void (listed = await walk(client)), answer: () => seen(listed) };
    },
    list_changed: async ({ prompts, era }) => {
        const house = new House(prompts);
        const client = await house.client(era);
        let edited;
        let listed = [];
        return {
            before: () => (edited = house.nextEdit()),
            step: async () => {
                house.put(edited);
                listed = await walk(client);
            },
            answer: () => seen(listed),
            revision: () => house.revision
        };
    },
    get: async ({ prompts, era }) => {
        const client = await new House(prompts).client(era);
        let messages = [];
        return {
            step: async () => void (messages = (await client.getPrompt({ name: nameOf(EDITED), arguments: ARGUMENTS })).messages),
            answer: () => seenMessages(messages)
        };
    },
    cached_hit: async ({ prompts, era }) => {
        const client = await new House(prompts, prompts).client(era);
        let listed = [];
        return { step: async () => void (listed = (await client.listPrompts()).prompts), answer: () => seen(listed) };
    },
    fan_out: async ({ listeners, era }) => {
        const house = new House(100);
        const everybody = new Listeners(house, false);
        await everybody.open(listeners, era);
        let edits = [];
        return {
            before: () => {
                edits = [house.nextEdit()];
                everybody.heard.fill(0);
            },
            step: () => everybody.change(edits),
            answer: () => [Math.min(...everybody.heard), Math.max(...everybody.heard)],
            units: listeners
        };
    },
    churn: async ({ clients, prompts, page, burst, era }) => {
        const house = new House(prompts, page);
        const everybody = new Listeners(house, true);
        await everybody.open(clients, era);
        let edits = [];
        return {
            before: () => (edits = Array.from({ length: burst }, () => house.nextEdit())),
            step: () => everybody.change(edits),
            answer: () => agreed(everybody.lists),
            revision: () => house.revision,
            units: clients
        };
    },
    stdio_list: async ({ prompts, era }) => listing(await connect(words('stdio', prompts, 100, era), era)),
    stdio_get: async ({ prompts, era }) => getting(await connect(words('stdio', prompts, 100, era), era)),
    http_client_list: async ({ url, era }) => listing(await connect(url, era)),
    http_client_get: async ({ url, era }) => getting(await connect(url, era)),
    http_server: async ({ prompts, era }) => {
        const server = await serving(words('http', prompts, 100, era));
        return { step: () => {}, answer: () => [], facts: { url: server.url }, close: () => server.process.kill() };
    },
    churn_stdio: (params) => churnElsewhere('stdio', params),
    churn_http: (params) => churnElsewhere('http', params)
};
JOBS.list_unchanged = JOBS.list_cold;
JOBS.http_listeners = JOBS.http_server;
const NO_SESSIONS = 'its handler serves the legacy era without sessions, so that there is nobody to tell';
const REFUSED = { server_reply: 'its transports take messages, not bytes; there is no place to begin and to end at' };

function agreed(lists) {
    const [first, ...others] = lists.map((each) => JSON.stringify(seen(each)));
    return others.every((other) => other === first) ? JSON.parse(first) : ['they do not agree'];
}

// --- with a server elsewhere ---

const words = (over, prompts, page, era) => [fileURLToPath(import.meta.url), over, String(prompts), String(page), era];

function serving(command) {
    const process_ = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'ignore'] });
    return new Promise((resolve) => {
        createInterface({ input: process_.stdout }).once('line', (line) =>
            resolve({ process: process_, url: JSON.parse(line).url })
        );
    });
}

async function connect(target, era, options = {}) {
    const client = makeClient(era, options);
    const transport =
        typeof target === 'string'
            ? new StreamableHTTPClientTransport(new URL(target))
            : new StdioClientTransport({ command: process.execPath, args: target, stderr: 'ignore' });
    await client.connect(transport);
    return client;
}

function listing(client) {
    let listed = [];
    return {
        step: async () => void (listed = await walk(client)),
        answer: () => seen(listed),
        close: () => client.close()
    };
}

function getting(client) {
    let messages = [];
    const asked = { name: nameOf(EDITED), arguments: ARGUMENTS };
    return {
        step: async () => void (messages = (await client.getPrompt(asked)).messages),
        answer: () => seenMessages(messages),
        close: () => client.close()
    };
}

async function churnElsewhere(over, { clients, prompts, page, burst, era }) {
    if (over === 'http' && era === 'legacy') throw new Refusal(NO_SESSIONS);
    const command = words(over, prompts, page, era);
    const server = over === 'http' ? await serving(command) : undefined;
    const lists = [];
    const everybody = [];
    let revision = 0;
    let wanted = '';
    let moved = () => {};
    for (let each = 0; each < clients; each++) {
        const onChanged = (error, items) => {
            if (error) throw error;
            lists[each] = items;
            moved();
        };
        const client = await connect(server?.url ?? command, era, { listChanged: { prompts: { onChanged } } });
        everybody.push(client);
        lists.push(await walk(client));
    }
    const editors = over === 'stdio' ? everybody : everybody.slice(0, 1);
    const fresh = () => lists.every((each) => each[EDITED].description === wanted);
    return {
        step: async () => {
            for (let number = 0; number < burst; number++) {
                await Promise.all(
                    editors.map((each) => each.getPrompt({ name: nameOf(EDITED), arguments: { change: EDIT } }))
                );
            }
            revision += burst;
            wanted = spec(EDITED, revision).description;
            while (!fresh()) await new Promise((resolve) => (moved = resolve));
        },
        answer: () => agreed(lists),
        revision: () => revision,
        units: clients,
        close: async () => {
            await Promise.all(everybody.map((each) => each.close()));
            server?.process.kill();
        }
    };
}

// --- the worker ---

class Refusal extends Error {}

let job;

async function repeat(times) {
    globalThis.gc?.();
    const begin = performance.now();
    let spent = 0;
    if (job.before === undefined) {
        spent = await timed(job.step, times);
    } else {
        for (let number = 0; number < times; number++) {
            job.before();
            spent += await timed(job.step, 1);
        }
    }
    return { cpu: spent, took: (performance.now() - begin) / 1000 };
}

async function timed(step, times) {
    const before = process.cpuUsage();
    for (let number = 0; number < times; number++) await step();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
}

function look() {
    const answer = JSON.stringify(job.answer());
    const digest = createHash('sha256').update(answer).digest('hex');
    return { digest, begins: answer.slice(0, 200), revision: job.revision?.() ?? 0 };
}

async function finish() {
    const over = job;
    job = undefined;
    await over?.close?.();
}

async function obey(command) {
    switch (command.do) {
        case 'prepare':
            await finish();
            if (!(command.job in JOBS)) return { refused: REFUSED[command.job] ?? 'there is no driver for it' };
            job = await JOBS[command.job](command.params);
            await repeat(1);
            return { ...job.facts, ...look() };
        case 'run': {
            const spent = await repeat(command.times);
            return { ...spent, units: (job.units ?? 1) * command.times, ...look() };
        }
        case 'finish':
            await finish();
            return {};
        default:
            return { failed: `there is no such command now: ${JSON.stringify(command)}` };
    }
}

async function worker() {
    for await (const line of createInterface({ input: process.stdin })) {
        let answer;
        try {
            answer = await obey(JSON.parse(line));
        } catch (error) {
            answer = error instanceof Refusal ? { refused: error.message } : { failed: String(error) };
        }
        process.stdout.write(JSON.stringify(answer) + '\n');
    }
    await finish();
    process.exit(0);
}

// --- a server in a process of its own ---

function serve(over, prompts, page) {
    const house = new House(Number(prompts), Number(page));
    if (over === 'stdio') {
        serveStdio(() => house.server());
        return;
    }
    const handler = createMcpHandler(() => house.server(false), { responseMode: 'json' });
    house.announce = () => handler.notify.promptsChanged();
    const listening = createServer({ keepAliveTimeout: 600_000 }, toNodeHandler(handler));
    listening.listen(0, '127.0.0.1', 2048, () => {
        console.log(JSON.stringify({ url: `http://127.0.0.1:${listening.address().port}/mcp` }));
    });
}

const [over, prompts, page] = process.argv.slice(2);
if (over === undefined) await worker();
else serve(over, prompts, page);
