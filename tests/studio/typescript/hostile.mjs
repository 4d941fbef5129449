// The TypeScript client against every row of the tables that the Python client's tests read, too: TABLE, STREAMS and
// HOSTILE_URL, where the first is served, are in its environment.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { EventStream, ServiceError, Studio } from "timbre-studio-client";

const { TABLE, STREAMS, HOSTILE_URL } = process.env;
const TOKEN = "ts_nothing-but-an-example";
const rows = async (path) => JSON.parse(await readFile(path, "utf-8")).rows;

const CALLS = {
  task: (studio) => studio.api.GET("/tasks/{task_id}", { params: { path: { task_id: "t" } } }),
  wait: (studio) => studio.wait("t", { pollMs: 10 }),
  voices: (studio) => studio.voices(),
  metrics: (studio) => studio.api.GET("/metrics", { parseAs: "text" }),
  convert: (studio) => studio.convert(new Blob(["RIFF"]), "mia"),
  "convert-and-wait": (studio) => studio.convertAndWait(new Blob(["RIFF"]), "mia", {}, { pollMs: 10 }),
  "convert-and-fetch": async (studio) => {
    for (const link of await CALLS["convert-and-wait"](studio)) await studio.download(link);
  },
  download: (studio, url) => studio.download(`${url}/file`),
};

for (const row of await rows(TABLE)) {
  test(`any answer is one ServiceError: ${row.name}`, { skip: row.python_only ?? false }, async () => {
    const url = `${HOSTILE_URL}/${row.name}`;
    const limits = { retryMs: 600, fileBytes: 16 << 20, timeoutMs: 1000 * (row.timeout_s ?? 600) };
    const studio = new Studio(url, TOKEN, limits);
    const seen = [];
    let code = null;
    try {
      if (row.call === "events") for await (const event of studio.events("t")) seen.push(event);
      else await CALLS[row.call](studio, url);
    } catch (error) {
      assert.ok(error instanceof ServiceError, `${error?.stack}`);
      assert.match(error.message, /^[^\p{Cc}\p{Surrogate}]+$/u);
      assert.ok(!error.message.includes(TOKEN));
      code = error.code;
    }
    assert.ok([row.code, ...(row.also ?? [])].includes(code), `${code} is not ${row.code}`);
    assert.deepEqual(seen.map(({ name }) => name), row.events ?? []);
    if ("last_message" in row) assert.equal(seen.at(-1).data.message, row.last_message);
  });
}

for (const row of await rows(STREAMS)) {
  test(`events as the standard has them: ${row.name}`, () => {
    for (const size of [1, 2, 3, 7, 1 << 20]) {
      const stream = new EventStream();
      const bytes = new TextEncoder().encode(row.stream);
      const events = [];
      for (let first = 0; first < bytes.length; first += size) {
        for (const { name, data, lastId: id } of stream.receive(bytes.slice(first, first + size))) events.push({ name, data, id });
      }
      assert.deepEqual(events, row.events);
      assert.equal(stream.retryMs, row.retry_ms);
      assert.equal(stream.lastId, row.last_id ?? "");
    }
  });
}

test("addresses, tokens and ids that are none are refused before anything is sent", async () => {
  const isRefused = (error) => error instanceof ServiceError && error.code === "not_sendable" && !error.message.includes(TOKEN);
  for (const address of ["http://xn--a", "http://[", "nowhere", "ftp://127.0.0.1", "http://user:word@127.0.0.1", "http://a:99999"]) {
    assert.throws(() => new Studio(address, TOKEN), isRefused, address);
  }
  for (const token of ["", " ", `${TOKEN}\n${TOKEN}`, "ts_\u00e9"]) assert.throws(() => new Studio(HOSTILE_URL, token), isRefused);
  const studio = new Studio(HOSTILE_URL, TOKEN);
  for (const id of ["", "..", "a\ud800"]) await assert.rejects(studio.wait(id), isRefused);
  for (const link of ["javascript:alert(1)", "file:///etc/passwd", "", "http://xn--a/"]) await assert.rejects(studio.download(link), isRefused);
});

test("a signal ends whatever it is given to with its own reason", async () => {
  const studio = new Studio(`${HOSTILE_URL}/silence`, TOKEN);
  await assert.rejects(studio.wait("t", { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
  await assert.rejects(studio.wait("t", { signal: AbortSignal.abort(new Error("mine")) }), { message: "mine" });
  const events = new Studio(`${HOSTILE_URL}/events-of-silence`, TOKEN);
  await assert.rejects(events.events("t", AbortSignal.timeout(300)).next(), { name: "TimeoutError" });
});
