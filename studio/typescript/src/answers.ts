// Answers from whatever server: each is read within limits and understood, or it is one ServiceError.

/** How much is taken, and for how long. */
export interface Limits {
  /** Until an answer begins, until it is whole, and between two pieces of events; ten times that for what is sent. */
  timeoutMs: number;
  /** How long a stream of events is connected again without a further event. */
  retryMs: number;
  /** Of JSON, unpacked. */
  answerBytes: number;
  /** Of a file whose length is not stated. */
  fileBytes: number;
  /** Of a stream between two events: of comments, and of one event. */
  silenceBytes: number;
}

export const LIMITS: Limits = {
  timeoutMs: 120_000,
  retryMs: 60_000,
  answerBytes: 64 << 20,
  fileBytes: 4 * 2 ** 30,
  silenceBytes: 16 << 20,
};

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

type Json = Record<string, unknown>;
type Shape = (answer: Json) => boolean;

const PACKINGS = ["", "identity", "gzip", "x-gzip", "deflate", "br", "zstd"];
const UNSHOWABLE = /[\p{Cc}\p{Surrogate}]+/gu; // would steer a terminal, or cannot be encoded
const LONGEST_SENTENCE = 2000;

const isText = (value: unknown) => typeof value === "string";
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
const isShare = (value: unknown) => typeof value === "number" && value >= 0 && value <= 1;
const isTextOrNothing = (value: unknown) => isText(value) || value === null || value === undefined;
const areAll = (values: unknown, is: (value: unknown) => boolean) => Array.isArray(values) && values.every(is);

export const hasTaskId: Shape = (answer) => isText(answer.task_id);
export const hasVoices: Shape = (answer) => areAll(answer.models, isObject);
export const isTask: Shape = ({ state, progress = 0, message = "", error, error_code }) =>
  isText(state) && isShare(progress) && isText(message) && isTextOrNothing(error) && isTextOrNothing(error_code);
export const isCheckedTask: Shape = ({ status, output_audio_urls }) =>
  status === "completed" ? areAll(output_audio_urls, isText) : status === "in_progress" || status === "failed";

/** Send a request; return its answer once it has begun. Throws ServiceError, or the reason of the request's signal. */
export async function begun(request: Request, limits: Limits, init: RequestInit = {}): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), limits.timeoutMs * (request.body === null ? 1 : 10));
  try {
    return await fetch(request, { ...init, signal: AbortSignal.any([request.signal, late.signal]) });
  } catch {
    throw lost(request.url, request.signal, late.signal.aborted);
  } finally {
    clearTimeout(timer);
  }
}

/** The pieces of an answer, each or all of them within the time. Throws as `begun`. */
export async function* pieces(
  response: Response,
  request: Request,
  timeoutMs: number,
  together: boolean,
): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  const begunMs = Date.now();
  let isLate = false;
  try {
    while (reader !== undefined) {
      const leftMs = together ? begunMs + timeoutMs - Date.now() : timeoutMs;
      const timer = setTimeout(() => void ((isLate = true), reader.cancel().catch(() => {})), leftMs);
      const part = await reader.read().finally(() => clearTimeout(timer));
      if (isLate) throw lost(request.url, request.signal, true);
      if (part.done) return;
      yield part.value;
    }
  } catch (error) {
    throw error instanceof ServiceError ? error : lost(request.url, request.signal, isLate);
  } finally {
    await reader?.cancel().catch(() => {});
  }
}

/** Read an answer to its end. Throws as `begun`, and for one that has no end. */
export async function whole(response: Response, request: Request, limits: Limits, most: number): Promise<Blob> {
  if (isPackedStrangely(response)) notUnderstood(request.url, response.status);
  const read: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const timeoutMs = most === limits.answerBytes ? limits.timeoutMs : Infinity;
  for await (const piece of pieces(response, request, Math.min(timeoutMs, 2 ** 31 - 1), true)) {
    read.push(piece as Uint8Array<ArrayBuffer>);
    size += piece.length;
    if (size > most) {
      const sentence = `${shown(request.url)} sends more than an answer: is Timbre Studio running there?`;
      throw new ServiceError(sentence, "not_understood", response.status);
    }
  }
  return new Blob(read, { type: response.headers.get("Content-Type") ?? "" });
}

/** How long a file may be. */
export function longest(response: Response, limits: Limits): number {
  return response.headers.has("Content-Length") ? Infinity : limits.fileBytes;
}

/** Return the JSON object of an answer. Throws ServiceError for anything else. */
export async function understood(content: Blob, url: string, status: number): Promise<string> {
  const text = await content.text();
  if (text !== "" && parsed(text) === undefined) notUnderstood(url, status);
  return text;
}

/** Return an answer of this shape, or throw ServiceError. */
export function checked<T>(answer: { data?: T; response: Response }, shape: Shape): T {
  const { data, response } = answer;
  if (!isObject(data) || !shape(data)) notUnderstood(response.url, response.status);
  return data as T;
}

/** Return the JSON object that a text is; nothing for anything else. */
export function parsed(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What an answer that is no success says: a problem as in RFC 9457, or the status if a proxy answered. */
export async function refusal(response: Response, request: Request, limits: Limits): Promise<ServiceError> {
  if (response.type === "opaqueredirect") notUnderstood(request.url, 0);
  const problem = parsed(await (await whole(response, request, limits, limits.answerBytes)).text()) ?? {};
  const said = [problem.detail, problem.title].find((text) => isText(text) && text !== "");
  const sentence = (said as string | undefined) ?? `The service answered with status ${response.status}.`;
  const isCode = isText(problem.code) && /^[A-Za-z0-9_.-]{1,100}$/.test(problem.code as string);
  return new ServiceError(line(sentence), isCode ? (problem.code as string) : `http_${response.status}`, response.status);
}

/** A text that another program sent, as one line that can be shown. */
export function line(text: string): string {
  return text.slice(0, LONGEST_SENTENCE).replace(UNSHOWABLE, " ").trim();
}

/** Throw for an answer that is none of the service's. */
export function notUnderstood(url: string, status?: number): never {
  const sentence = `The server at ${shown(url)} does not answer as Timbre Studio does. Check the address.`;
  throw new ServiceError(sentence, "not_understood", status);
}

function isPackedStrangely(response: Response): boolean {
  return !PACKINGS.includes((response.headers.get("Content-Encoding") ?? "").trim().toLowerCase());
}

/** What to throw for a call that failed: the reason of its signal, if that ended it. */
function lost(url: string, signal: AbortSignal, isLate: boolean): unknown {
  if (signal.aborted) return signal.reason;
  const what = isLate ? "did not answer in time" : "cannot be reached";
  return new ServiceError(`${shown(url)} ${what}: is the service running there?`, "unreachable");
}

/** An address without secrets. */
function shown(url: string): string {
  const { origin, pathname } = new URL(url, globalThis.location?.href);
  return origin + pathname;
}
