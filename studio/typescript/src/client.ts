// Timbre Studio from TypeScript, in a browser or in Node: every call of the service, typed by its own document, and
// conversions that wait. src/schema.ts is generated: npm run generate -- http://127.0.0.1:7860/openapi.json

import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./schema.js";

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

/** An error of the service, or of a task: its sentence, its stable code, and the status of the answer. */
export class ServiceError extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly status?: number,
    readonly traceId?: string | null,
  ) {
    super(message);
    this.name = "ServiceError";
  }
}

export class Studio {
  /**
   * Every call of the service: `studio.api.GET("/models", {})`, `studio.api.POST("/verify", { body: { audio } })`. Bodies
   * are objects, sent as forms: files as files, records as JSON. Errors are thrown as ServiceError.
   */
  readonly api: Client<paths>;

  /** baseUrl: of the service, in a browser "" for the page's own. token: `python -m studio token create` prints one. */
  constructor(baseUrl: string, token: string) {
    const headers = { Authorization: `Bearer ${token}` };
    this.api = createClient<paths>({ baseUrl, headers, bodySerializer: formOf });
    this.api.use({
      onRequest: ({ request }) => {
        const repeats = request.method !== "POST" || request.headers.has("Idempotency-Key");
        if (!repeats) request.headers.set("Idempotency-Key", crypto.randomUUID());
        return request;
      },
      onResponse: async ({ response }) => void (response.ok || (await refuse(response))),
    });
  }

  /** List the usable voices. */
  async voices(): Promise<Voice[]> {
    const { data } = await this.api.GET("/models", {});
    return data!.models;
  }

  /** Start a conversion; returns the id of its task. */
  async convert(audio: Blob, voice: string, settings: ConversionSettings = {}): Promise<string> {
    const body = { ...settings, audio, model: voice };
    const { data } = await this.api.POST("/convert", { body });
    return data!.task_id;
  }

  /** Wait until a task is completed. Throws ServiceError if it fails or is cancelled. */
  async wait(taskId: string, { pollMs = 1000, onProgress, signal }: WaitOptions = {}): Promise<Task> {
    refuseNoId(taskId);
    for (;;) {
      const { data } = await this.api.GET("/tasks/{task_id}", { params: { path: { task_id: taskId } }, signal });
      const task = data!;
      if (task.state === "completed") return task;
      if (task.state === "failed" || task.state === "cancelled") {
        throw new ServiceError(task.error ?? "The task was cancelled.", task.error_code ?? task.state, undefined, task.trace_id);
      }
      onProgress?.(task.progress, task.message);
      await pause(pollMs, signal);
    }
  }

  /** Follow a task until it has ended: `for await (const { name, data } of studio.events(id))`. */
  async *events(taskId: string, signal?: AbortSignal): AsyncGenerator<TaskEvent> {
    refuseNoId(taskId);
    const given = { params: { path: { task_id: taskId } }, parseAs: "stream", signal } as const;
    for (;;) {
      const { data } = await this.api.GET("/tasks/{task_id}/events", given);
      for await (const event of eventsOf(data as ReadableStream<Uint8Array>)) {
        yield event;
        if (event.name !== "progress") return;
      }
      await pause(1000, signal); // the service starts again
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
    const { data } = await this.api.GET("/check-task/{task_id}", { params: { path: { task_id: taskId } } });
    return data!.status === "completed" ? data!.output_audio_urls : [];
  }

  /** Fetch a take. */
  async download(link: string): Promise<Blob> {
    const response = await fetch(link);
    if (!response.ok) await refuse(response);
    return response.blob();
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

/** The server-sent events of an answer. */
async function* eventsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<TaskEvent> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let coming = "";
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const blocks = (coming + decoder.decode(part.value, { stream: true })).split("\n\n");
      coming = blocks.pop()!;
      for (const block of blocks) {
        const field = (label: string) => block.match(new RegExp(`^${label}: (.*)$`, "m"))?.[1];
        const name = field("event");
        if (name !== undefined) yield { name, data: JSON.parse(field("data")!) } as TaskEvent;
      }
    }
  } finally {
    await reader.cancel();
  }
}

/** Throw for what would lead elsewhere: "." and ".." are steps in an address. */
function refuseNoId(id: string): void {
  if (!/[\p{L}\p{N}]/u.test(id)) {
    throw new ServiceError(`An id must have letters or digits, not be '${id}'.`, "not_sendable");
  }
}

/** Throw what a problem document says, or the status if a proxy answered. */
async function refuse(response: Response): Promise<never> {
  const problem = await response.json().catch(() => ({}));
  throw new ServiceError(problem.detail ?? response.statusText, problem.code ?? "unknown", response.status);
}

/** Sleep; a signal ends it with its reason. */
function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = () => (clearTimeout(timer), reject(signal!.reason));
    const timer = setTimeout(() => (signal?.removeEventListener("abort", ended), resolve()), ms);
    signal?.addEventListener("abort", ended, { once: true });
  });
}
