// Timbre Studio from TypeScript, in a browser or in Node: every call of the service, typed by its own document, and
// conversions that wait. src/schema.ts is generated: npm run generate -- http://127.0.0.1:7860/openapi.json

import createClient, { type Client } from "openapi-fetch";
import {
  LIMITS,
  type Limits,
  ServiceError,
  begun,
  checked,
  hasTaskId,
  hasVoices,
  isCheckedTask,
  isTask,
  line,
  longest,
  notUnderstood,
  parsed,
  pieces,
  refusal,
  understood,
  whole,
} from "./answers.js";
import { EventStream, type StreamEvent } from "./event_stream.js";
import type { components, paths } from "./schema.js";

export { EventStream, type Limits, ServiceError };

type ConvertForm = paths["/convert"]["post"]["requestBody"]["content"]["multipart/form-data"];
export type Task = components["schemas"]["TaskView"];
export type Voice = components["schemas"]["Voice"];
/** Settings of a conversion, by the service's names: transpose, generations_count, preset, rate, bits, likeness, ... */
export type ConversionSettings = Partial<Omit<ConvertForm, "audio" | "model">>;
/** What happens to a task: progress, or how it has ended, then with all of it. */
export type TaskEvent =
  | { name: "progress"; data: Pick<Task, "state" | "progress" | "message"> }
  | { name: "completed" | "failed" | "cancelled"; data: Task };

export interface WaitOptions {
  /** Milliseconds between two looks at the task. */
  pollMs?: number;
  /** Called with the progress, 0 to 1, and what is being done. */
  onProgress?: (fraction: number, message: string) => void;
  /** Ends the waiting; the task goes on unless it is cancelled. */
  signal?: AbortSignal;
}

const FIRST_PAUSE_MS = 500; // between two connections of events
const LONGEST_PAUSE_MS = 8000;
const EVENTS = ["progress", "completed", "failed", "cancelled"];

export class Studio {
  /**
   * Every call of the service: `studio.api.GET("/models", {})`, `studio.api.POST("/verify", { body: { audio } })`. Bodies
   * are objects, sent as forms: files as files, records as JSON. Errors are thrown as ServiceError.
   */
  readonly api: Client<paths>;
  readonly #limits: Limits;

  /**
   * baseUrl: of the service, in a browser "" for the page's own. token: `timbre-studio token create` prints one. Throws
   * ServiceError for those that are none.
   */
  constructor(baseUrl: string, token: string, limits: Partial<Limits> = {}) {
    const bearer = token.trim();
    if (!/^[\x21-\x7e]+$/.test(bearer)) throw notSendable("The token is empty or contains invalid characters. Copy it again.");
    if (baseUrl !== "") addressOf(baseUrl);
    this.#limits = { ...LIMITS, ...limits };
    const headers = { Authorization: `Bearer ${bearer}` };
    const fetch = (request: Request) => begun(request, this.#limits);
    this.api = createClient<paths>({ baseUrl, headers, fetch, redirect: "manual", bodySerializer: formOf });
    this.api.use({
      onRequest: ({ request }) => {
        const repeats = request.method !== "POST" || request.headers.has("Idempotency-Key");
        if (!repeats) request.headers.set("Idempotency-Key", crypto.randomUUID());
        return request;
      },
      onResponse: ({ request, response, options }) => this.#received(request, response, options.parseAs),
    });
  }

  /** Read an answer as what it is asked for, whole unless it is a stream. Throws ServiceError. */
  async #received(request: Request, response: Response, parseAs: string): Promise<Response | undefined> {
    if (!response.ok) throw await refusal(response, request, this.#limits);
    if (parseAs === "stream" || response.status === 204) return undefined;
    const isText = parseAs === "json" || parseAs === "text";
    const most = isText ? this.#limits.answerBytes : longest(response, this.#limits);
    const content = await whole(response, request, this.#limits, most);
    const body = parseAs === "json" ? await understood(content, request.url, response.status) : content;
    const headers = new Headers(response.headers);
    for (const name of ["Content-Length", "Content-Encoding"]) headers.delete(name);
    return Object.defineProperty(new Response(body, { status: response.status, headers }), "url", { value: response.url });
  }

  /** List the usable voices. */
  async voices(): Promise<Voice[]> {
    return checked(await this.api.GET("/models", {}), hasVoices).models;
  }

  /** Start a conversion; returns the id of its task. */
  async convert(audio: Blob, voice: string, settings: ConversionSettings = {}): Promise<string> {
    const body = { ...settings, audio, model: voice };
    return checked(await this.api.POST("/convert", { body }), hasTaskId).task_id;
  }

  /** Wait until a task is completed. Throws ServiceError if it fails or is cancelled. */
  async wait(taskId: string, { pollMs = 1000, onProgress, signal }: WaitOptions = {}): Promise<Task> {
    refuseNoId(taskId);
    for (;;) {
      const given = { params: { path: { task_id: taskId } }, signal };
      const task = checked(await this.api.GET("/tasks/{task_id}", given), isTask) as Task;
      if (task.state === "completed") return task;
      if (task.state === "failed" || task.state === "cancelled") {
        const sentence = line(task.error ?? `The task was ${task.state}.`);
        throw new ServiceError(sentence, task.error_code ?? task.state, undefined, task.trace_id);
      }
      onProgress?.(task.progress ?? 0, task.message ?? "");
      await pause(pollMs, signal);
    }
  }

  /**
   * Follow a task until it has ended, through lost connections and restarts of the service:
   * `for await (const { name, data } of studio.events(id))`. Throws ServiceError where `retryMs` brings no further event.
   */
  async *events(taskId: string, signal?: AbortSignal): AsyncGenerator<TaskEvent> {
    refuseNoId(taskId);
    const stream = new EventStream();
    let endMs = Date.now() + this.#limits.retryMs;
    for (;;) {
      let trouble = new ServiceError(`The events of ${taskId} ended before the task did.`, "unreachable");
      try {
        for await (const event of this.#events(taskId, stream, signal)) {
          yield event;
          if (event.name !== "progress") return;
          endMs = Date.now() + this.#limits.retryMs;
        }
      } catch (error) {
        if (!(error instanceof ServiceError) || !mayBeRepeated(error)) throw error;
        trouble = error;
      }
      const pauseMs = Math.min(Math.max(stream.retryMs ?? 0, FIRST_PAUSE_MS), LONGEST_PAUSE_MS);
      if (Date.now() + pauseMs > endMs) throw trouble;
      await pause(pauseMs, signal); // the service starts again
    }
  }

  /** The events of one connection; those of names that nobody knows yet are none. */
  async *#events(taskId: string, stream: EventStream, signal?: AbortSignal): AsyncGenerator<TaskEvent> {
    const headers = { Accept: "text/event-stream", "Cache-Control": "no-store", ...continued(stream) };
    const given = { params: { path: { task_id: taskId } }, parseAs: "stream", headers, signal } as const;
    const { response } = await this.api.GET("/tasks/{task_id}/events", given);
    const kind = (response.headers.get("Content-Type") ?? "").split(";")[0].trim().toLowerCase();
    if (response.status !== 200 || kind !== "text/event-stream") notUnderstood(response.url, response.status);
    stream.connect();
    let silence = 0;
    const request = new Request(response.url, { signal });
    for await (const piece of pieces(response, request, this.#limits.timeoutMs, false)) {
      silence += piece.length;
      if (silence > this.#limits.silenceBytes) notUnderstood(response.url, response.status);
      for (const event of stream.receive(piece)) {
        if (!EVENTS.includes(event.name)) continue;
        silence = 0;
        yield taskEvent(event, response.url);
      }
    }
  }

  /** Convert a recording; returns links to the takes, which need no token: `new Audio(link).play()`. */
  async convertAndWait(
    audio: Blob,
    voice: string,
    settings: ConversionSettings = {},
    options: WaitOptions = {},
  ): Promise<string[]> {
    const taskId = await this.convert(audio, voice, settings);
    await this.wait(taskId, options);
    const given = { params: { path: { task_id: taskId } } };
    const done = checked(await this.api.GET("/check-task/{task_id}", given), isCheckedTask);
    if (done.status !== "completed") throw new ServiceError(`The conversion ${taskId} has no takes.`, "failed");
    return done.output_audio_urls;
  }

  /** Fetch a take, without the token. */
  async download(link: string): Promise<Blob> {
    const request = new Request(addressOf(link));
    const response = await begun(request, this.#limits);
    if (!response.ok) throw await refusal(response, request, this.#limits);
    return whole(response, request, this.#limits, longest(response, this.#limits));
  }
}

/** A form of these fields: files as files, records such as effects as JSON, nothing for undefined and null. */
function formOf(fields: unknown): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields ?? {})) {
    if (value instanceof Blob) form.append(name, value, value instanceof File ? value.name : name);
    else if (value !== undefined && value !== null)
      form.append(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  return form;
}

/** The header that says which event was the last; none for an id that no header can hold. */
function continued(stream: EventStream): Record<string, string> {
  const bytes = String.fromCharCode(...new TextEncoder().encode(stream.lastId.trim())); // headers are bytes
  return /^[\t\x20-\x7e\x80-\xff]+$/.test(bytes) ? { "Last-Event-ID": bytes } : {};
}

function taskEvent({ name, data }: StreamEvent, url: string): TaskEvent {
  const task = parsed(data);
  if (task === undefined || !isTask(task)) notUnderstood(url, 200);
  return { name, data: task } as unknown as TaskEvent;
}

function mayBeRepeated({ code, status }: ServiceError): boolean {
  return status === 429 || status === 503 || code === "unreachable";
}

/** Return a web address as text. Throws ServiceError for any other. */
function addressOf(text: string): string {
  try {
    const { href, protocol, username, password } = new URL(text, globalThis.location?.href);
    if (/^https?:$/.test(protocol) && username === "" && password === "") return href;
  } catch {
    // said below
  }
  throw notSendable("An address must begin with http:// or https://, and name a host.");
}

function notSendable(sentence: string): ServiceError {
  return new ServiceError(sentence, "not_sendable");
}

/** Throw for what would lead elsewhere: "." and ".." are steps in an address. */
function refuseNoId(id: string): void {
  if (!/[\p{L}\p{N}]/u.test(id) || /\p{Surrogate}/u.test(id)) {
    throw notSendable(`An id must have letters or digits, not be '${line(id)}'.`);
  }
}

/** Sleep; a signal ends it with its reason. */
async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const ended = () => (clearTimeout(timer), reject(signal!.reason));
    const timer = setTimeout(() => (signal?.removeEventListener("abort", ended), resolve()), ms);
    signal?.addEventListener("abort", ended, { once: true });
  });
}
