// What a program in Node does with the client: STUDIO_URL, STUDIO_TOKEN and RECORDING are in its environment.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { ServiceError, Studio } from "timbre-studio-client";

const { STUDIO_URL, STUDIO_TOKEN, RECORDING } = process.env;
const studio = new Studio(STUDIO_URL, STUDIO_TOKEN);
const recording = new File([await readFile(RECORDING)], "speech.flac");

test("a recording is converted, waited for and fetched", async () => {
  assert.ok((await studio.voices()).some((voice) => voice.id === "kathleen"));
  const told = [];
  const settings = { transpose: "auto", generations_count: 2 };
  const links = await studio.convertAndWait(recording, "kathleen", settings, {
    pollMs: 100,
    onProgress: (fraction) => told.push(fraction),
  });
  assert.equal(links.length, 2);
  assert.ok(told.length > 0 && told.every((fraction) => fraction >= 0 && fraction <= 1));
  const take = new Uint8Array(await (await studio.download(links[0])).arrayBuffer());
  assert.equal(new TextDecoder().decode(take.slice(0, 4)), "RIFF");
  assert.ok(take.length > 100_000);
});

test("errors are the service's own", async () => {
  const refused = (code, status) => (error) => error instanceof ServiceError && error.code === code && error.status === status;
  await assert.rejects(studio.convert(recording, "nobody"), refused("model_not_found", 404));
  await assert.rejects(studio.convert(recording, "kathleen", { transpose: 13 }), refused("invalid", 422));
  await assert.rejects(new Studio(STUDIO_URL, "ts_wrong").voices(), refused("token_invalid", 401));
  await assert.rejects(studio.download(`${STUDIO_URL}/files/none?expires=1&signature=a`), ServiceError);
});

test("waiting ends with its signal, and with a cancelled task", async () => {
  const taskId = await studio.convert(recording, "kathleen");
  await assert.rejects(studio.wait(taskId, { pollMs: 50, signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
  const other = await studio.convert(recording, "kathleen", { generations_count: 10 });
  await studio.api.DELETE("/tasks/{task_id}", { params: { path: { task_id: other } } });
  await assert.rejects(studio.wait(other, { pollMs: 50 }), refusedAs("cancelled"));
  await studio.wait(taskId, { pollMs: 100 });
});

test("records, files and what is missing go as what they are", async () => {
  const refused = (words) => (error) => error instanceof ServiceError && error.status === 422 && words.test(error.message);
  await assert.rejects(studio.convert(recording, "kathleen", { effects: { reverb: 7 } }), refused(/reverb/));
  await assert.rejects(studio.convert(recording, "kathleen", { likenes: 0.1 }), refused(/likeness/));
  const taskId = await studio.convert(recording, "kathleen", { effects: { reverb: 0.2 }, preset: undefined });
  await studio.api.DELETE("/tasks/{task_id}", { params: { path: { task_id: taskId } } });
});

test("every call takes its fields, files and records as what they are", async () => {
  const { data: verdict } = await studio.api.POST("/verify", { body: { audio: recording } });
  assert.equal(verdict.state, "no_credentials");
  const refusal = (words) => (error) => error instanceof ServiceError && words.test(error.message);
  const nonsense = new File(["no voice"], "mia.pth");
  await assert.rejects(studio.api.POST("/models/import", { body: { package: nonsense, speaker: 3 } }), refusal(/mia\.pth|model/i));
  const created = { training_audio_files: nonsense, name: "Mia", consent: { statement: "I agree." } };
  await assert.rejects(studio.api.POST("/models/create", { body: created }), refusal(/zip/i));
  const path = { model_id: "kathleen" };
  await assert.rejects(studio.api.POST("/models/{model_id}/train", { params: { path }, body: { epochs: 5 } }), refusal(/demo/));
  await assert.rejects(studio.api.POST("/models/{model_id}/teach", { params: { path }, body: {} }), refusal(/RVC|import/i));
  const taskId = await studio.convert(recording, "kathleen", { callback_url: "https://example.com/done" });
  const { data: callbacks } = await studio.api.GET("/callbacks", { params: { query: { task_id: taskId } } });
  const one = { params: { path: { callback_id: callbacks.callbacks[0].id } } };
  const { data: again } = await studio.api.POST("/callbacks/{callback_id}/repeat", { ...one, body: { callback_url: "https://example.org/" } });
  assert.equal(again.url, "https://example.org/");
  await studio.wait(taskId, { pollMs: 100 });
  const take = { params: { path: { task_id: taskId, number: 1 } } };
  const { data: labelled } = await studio.api.PUT("/tasks/{task_id}/takes/{number}", { ...take, body: { name: "best", starred: true } });
  assert.deepEqual(labelled, { number: 1, name: "best", starred: true });
  const { data: task } = await studio.api.GET("/tasks/{task_id}", { params: { path: { task_id: taskId } } });
  const project = { params: { path: { project_id: task.project } } };
  const { data: changed } = await studio.api.PUT("/projects/{project_id}", { ...project, body: { name: "Song", tempo_bpm: 120 } });
  assert.equal(changed.timeline.tempo_bpm, 120);
});

test("the client has each call of the service's document", async () => {
  const document = await (await fetch(`${STUDIO_URL}/openapi.json`)).json();
  const schema = await readFile("src/schema.ts", "utf-8");
  for (const [path, methods] of Object.entries(document.paths)) {
    assert.ok(schema.includes(`"${path}": {`), path);
    for (const { operationId } of Object.values(methods)) assert.ok(schema.includes(`operations["${operationId}"]`), operationId);
  }
});

test("a task is followed to its end, and no further than its signal", async () => {
  const taskId = await studio.convert(recording, "kathleen");
  const names = [];
  let last;
  for await (last of studio.events(taskId)) names.push(last.name);
  assert.equal(names.at(-1), "completed");
  assert.equal(last.data.output_audio_urls.length, 1);
  const other = await studio.convert(recording, "kathleen", { generations_count: 10 });
  const left = new AbortController();
  await assert.rejects(async () => {
    for await (const { name } of studio.events(other, left.signal)) left.abort(new Error(name));
  });
  await studio.api.DELETE("/tasks/{task_id}", { params: { path: { task_id: other } } });
});

test("hostile ids and recordings are refused, and lead nowhere else", async () => {
  for (const id of ["", ".", "..", "//", "?"]) await assert.rejects(studio.wait(id), refusedAs("not_sendable"));
  for (const id of ["../models", "a/../../x", "%2e%2e", "x".repeat(5000)]) {
    await assert.rejects(studio.wait(id, { signal: AbortSignal.timeout(30_000) }), ServiceError);
  }
  await assert.rejects(studio.convert(new Blob([]), "kathleen"), ServiceError);
  await assert.rejects(studio.convert(new Blob(["no audio"]), "kathleen"), ServiceError);
});

function refusedAs(code) {
  return (error) => error instanceof ServiceError && error.code === code;
}
