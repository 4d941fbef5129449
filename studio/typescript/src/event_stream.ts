// Server-sent events, as "Interpreting an event stream" of the HTML standard has them:
// https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

/** An event as it was sent. name: message, unless the stream says another. lastId: of this or an earlier event. */
export interface StreamEvent {
  name: string;
  data: string;
  lastId: string;
}

/** Interprets the bytes of a stream, over all of its connections. */
export class EventStream {
  /** To send as Last-Event-ID with the next connection; empty for none. */
  lastId = "";
  /** How long the stream asks to wait before that. */
  retryMs?: number;
  #decoder = new TextDecoder();
  #line: string[] = []; // pieces of the line that is not complete yet
  #followsReturn = false;
  #name = "";
  #data: string[] = [];
  #id = "";

  /** Begin a connection: what an earlier one left unfinished is discarded. */
  connect(): void {
    this.#decoder = new TextDecoder();
    this.#line = [];
    this.#followsReturn = false;
    this.#name = "";
    this.#data = [];
    this.#id = this.lastId;
  }

  /** Yield the events that end in the next bytes. */
  *receive(piece: Uint8Array): Generator<StreamEvent> {
    let text = this.#decoder.decode(piece, { stream: true });
    if (text === "") return;
    if (this.#followsReturn && text.startsWith("\n")) text = text.slice(1); // the LF of CRLF
    this.#followsReturn = text.endsWith("\r");
    const [first, ...others] = text.split(/\r\n|\r|\n/);
    this.#line.push(first);
    for (const following of others) {
      const line = this.#line.join("");
      this.#line = [following];
      if (line !== "") this.#field(line);
      else yield* this.#event();
    }
  }

  /** Process a line that is not empty; comments begin with a colon, and so have a field without a name. */
  #field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.#name = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^[0-9]+$/.test(value)) this.retryMs = Number(value);
  }

  /** Dispatch what the lines since the last empty one say; nothing without data. */
  *#event(): Generator<StreamEvent> {
    this.lastId = this.#id;
    const [name, data] = [this.#name, this.#data];
    this.#name = "";
    this.#data = [];
    if (data.length > 0) yield { name: name || "message", data: data.join("\n"), lastId: this.lastId };
  }
}
