// What the page sends its elements, and what these send back: checked by `tsc --checkJs` (tests/design/test_style.py).
// The browser never loads this file.

export type Text = string; // in English, translated where it is shown
export type Name = string; // of a user's, not translated
export type Pair = [name: Text, value: Text];

/** Of a voice: studio/actions/voices/cards.py. */
export interface Avatar { colour: string; initials: string; bars: number[] }

export interface Range { min: string; max: string }

export interface VoiceCard {
  id: string; name: Name; description: Text; gender: Text; age: Text; genre: Text; voice_type: Text; base_language: string;
  traits: Text[]; vocal_range: Range | null; demo: boolean; avatar: Avatar; uses: Text[]; preview_url: string | null;
  state: Text;
}

/** <timbre-voices>. range: of a recording, as MIDI notes. */
export interface VoicesData { voices: VoiceCard[]; chosen?: string; range?: { low: number; high: number; label: Text } }

/** <timbre-voice>. */
export interface VoiceHead {
  name: Name; avatar?: Avatar; state?: string; badge: Text; demo?: boolean; kind: Text[]; description: Text; uses?: Text[];
  traits: Text[];
}

export interface Download { label: Text; url?: string; name?: Name }

export interface Track {
  label: Text; names?: Name[]; url: string; offset_s?: number; note?: Text | null; brief?: Text; downloads?: Download[];
  avatar?: Avatar | null; peaks?: number[]; outline?: number[];
}

/** <timbre-player>. */
export interface PlayerData { id: string; tracks: Track[]; chosen?: number }

export interface TaskAction { name: string; label: Text; question?: Text }

/** A row of <timbre-tasks>: studio/page/history/rows.py. Times in seconds since 1970; beside: actions in the row itself. */
export interface Task {
  id: string; title: Text | Name; is_name?: boolean; avatar?: Avatar | null; kind: Text; detail?: Text[];
  state: "queued" | "running" | "completed" | "failed" | "cancelled"; label: Text; progress: number; message: Text;
  error: Text | null; created_s: number; took: Text; facts: Pair[]; compared?: Pair[];
  player: PlayerData | null; note: Text; actions: TaskAction[];
  beside?: TaskAction[];
}

/** Of a project: `more` conversions are not among its rows. */
export interface TaskOrProject extends Task { rows?: Task[]; more?: number }

export interface TasksData { tasks: TaskOrProject[]; open?: string | null; empty: Text; select?: boolean }

export interface CurveLine { label: Text; colour: "accent" | "range" | "good"; points: [epoch: number, value: number][]; marks: boolean }

export interface Chart { title: Text; unit: Text; lines: CurveLine[] }

/** <timbre-curves>. epochs: the last on the axis; kept: the best one; choices: those that can be chosen. */
export interface CurvesData { epochs: number; kept: number | null; chosen: number | null; choices: number[]; charts: Chart[] }

export interface Fact {
  label: Text; value: Text | Name; note?: Text; state?: "good" | "warn" | "bad" | null; is_name?: boolean;
  is_command?: boolean;
}

/** <timbre-facts>. otherwise: shown without rows. */
export interface FactsData { rows: Fact[]; otherwise?: Text }

/** <timbre-gathered>. */
export interface GatheredData { recordings: { id: string; name: Name; duration_s: number; url: string }[] }

/** <timbre-recorder>. place: selector of what its recordings are given to; largest: of a file that it takes, in bytes. */
export interface RecorderData { place: string; largest: number | null }

export interface Token { id: string; name: Name; state: string; created_s: number; expires_s: number | null; used_s: number | null }

/** <timbre-tokens>. */
export interface TokensData { made: { name: Name; secret: string } | null; tokens: Token[]; warning?: Text }

export interface Finding { verdict: "pass" | "warn" | "fail"; reason: Text; remedy: Text }

export interface ExaminedRecording {
  name: Name; verdict: "pass" | "warn" | "fail"; duration_s: number; usable_s: number; level_db: number | null;
  snr_db: number | null; bandwidth_hertz: number | null; findings: Finding[];
}

/** <timbre-report>: engine/datasets/report.py. */
export interface DataReport {
  verdict: "pass" | "warn" | "fail"; findings: Finding[]; recordings: ExaminedRecording[]; total_s: number; usable_s: number;
  style: string; vocal_range: [string, string] | null; voice_type: Text | null; level_db: number; level_spread_db: number | null;
  snr_db: number | null; reverberation_s: number | null; bandwidth_hertz: number | null;
  left_out?: { name: Name; reason: Text }[];
}

declare global {
  // what is found in the document is known by its selector, and not to the compiler
  interface ParentNode { querySelector(selectors: string): any; querySelectorAll(selectors: string): NodeListOf<any> }
  interface Element { closest(selectors: string): any; setAttribute(name: string, value: unknown): void }
  interface Event { readonly detail?: any }
  interface Document { addEventListener(name: string, listener: (event: any) => unknown, options?: unknown): void; removeEventListener(name: string, listener: (event: any) => unknown, options?: unknown): void }
  interface EventTarget {
    closest?(selectors: string): any; matches?(selectors: string): boolean; accept?: string; files?: FileList;
  }
  // what Chromium has for sound, too, and the compiler does not know
  var MediaStreamTrackProcessor: new (options: { track: MediaStreamTrack; maxBufferSize: number }) => { readable: ReadableStream<AudioData> };
  var timbreLanguage: { known: [string, string, string][]; choice: string | null; catalogue: Promise<any> };
}
