// Timbre Studio from TypeScript, in a browser or in Node: every call of the service, typed by its own document, and
// conversions that wait. src/schema.ts is generated: npm run generate -- http://127.0.0.1:7860/openapi.json

import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./schema.js";

type ConvertForm = paths["/convert"]["post"]["requestBody"]["content"]["multipart/form-data"];
export type Task = components["schemas"]["TaskView"];
export type Voice = components["schemas"]["Voice"];
/** Settings of a conversion, by the service's names: transpose, generations_count, preset, likeness, ... */
export type ConversionSettings = Partial<Omit<ConvertForm, "audio" | "model">>;

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
  /** Every call of the service: `studio.api.GET("/models", {})`. Errors are thrown as ServiceError. */
  readonly api: Client<paths>;

  /** baseUrl: of the service, in a browser "" for the page's own. token: `python -m studio token create` prints one. */
  constructor(baseUrl: string, token: string) {
    this.api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
    this.api.use({ onResponse: async ({ response }) => void (response.ok || (await refuse(response))) });
  }

  /** List the usable voices. */
  async voices(): Promise<Voice[]> {
    const { data } = await this.api.GET("/models", {});
    return data!.models;
  }

  /** Start a conversion; returns the id of its task. */
  async convert(audio: Blob, voice: string, settings: ConversionSettings = {}): Promise<string> {
    const form = new FormData();
    form.append("audio", audio, audio instanceof File ? audio.name : "recording");
    form.append("model", voice);
    for (const [name, value] of Object.entries(settings)) {
      append(form, name, value);
    }
    const { data } = await this.api.POST("/convert", {
      params: { header: { "Idempotency-Key": crypto.randomUUID() } },
      body: form as unknown as ConvertForm,
      bodySerializer: (body) => body as unknown as FormData,
    });
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

/** Add a field: files as files, records such as effects as JSON, nothing for undefined. */
function append(form: FormData, name: string, value: unknown): void {
  if (value instanceof Blob) form.append(name, value, value instanceof File ? value.name : name);
  else if (value !== undefined) form.append(name, typeof value === "object" ? JSON.stringify(value) : String(value));
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
