// The document that a page shows: the same types as in src/bohrbug/report/html/document.py.

export const NOWHERE = -1;
export const ENDED = 0;
export const COULD_RUN = 1;
export const BLOCKED = 2;

/** File, line, function, name. */
export type Place = [number, number, string, string];

export interface SourceFile {
  name: string;
  path: string;
  parts: [number, string[]][];
  is_library: boolean;
}

export interface Task {
  id: string;
  name: string;
  target: string;
}

export interface Steps {
  tasks: number[];
  operations: number[];
  table: [string, string, number][];
  options: number[];
  states: number[][];
  preemptions: number[];
  late: number[];
  fired: number[];
  early: number[];
  essential: number[];
  told: number[];
  words: Record<string, string>;
  pairs: [number, number][];
  messages: [number, number][];
  before: Record<string, [number, string, number]>;
}

export interface Sights {
  stacks: [number, number][];
  at: number[];
  values: Record<string, number>;
  sets: [string, string][][];
}

export interface Moment {
  step: number | null;
  task: number;
  words: string;
  place: number;
  near: number | null;
}

export interface Waiting {
  task: number;
  waits: string;
  resource: string;
  waits_at: number;
  holder: number;
  held: string;
  held_at: number;
}

export interface Stack {
  title: string;
  places: number[];
}

export interface Deadlock {
  title: string;
  sentence: string;
  cycle: Waiting[];
  others: string[];
  origins: string[];
  stacks: Stack[];
}

export interface Side {
  words: string;
  held: string;
  task: number;
  place: number;
  stack: number[];
}

export interface RaceSides {
  label: string;
  kinds: string;
  looks: string;
  notes: string[];
  sides: Side[];
}

export interface FailurePage {
  kind: string;
  headline: string;
  where: string;
  found: string;
  cause: { words: string; depth: number }[];
  evidence: string;
  sentence: string;
  moments: Moment[];
  message: string;
  failing: number;
  tasks: Task[];
  files: SourceFile[];
  places: Place[];
  steps: Steps;
  sights: Sights;
  deadlock: Deadlock | null;
  race: RaceSides | null;
  repeating: string;
  traceback: string;
  stack: number[];
  timeouts: string;
  interpreter: string;
  commands: string[];
  reproduced: string;
  printed: string;
  counted: boolean;
  passed: boolean;
}

export interface Explored {
  kind: string;
  headline: string;
  covered: string[];
  reason: string;
  size: string;
  share: number | null;
  conditions: string;
  figures: string;
  races: string;
  caveats: string[];
  notices: string[];
  unconfirmed: string[];
  history: [number, number, number, number][];
}

export interface ReportDocument {
  test: string;
  failures: FailurePage[];
  explored: Explored | null;
  notes: string[];
  index: string;
  version: number;
}

export interface IndexRow {
  test: string;
  verdict: string;
  line: string;
  page: string;
  executions: number;
  seconds: number;
  tasks: number;
}

export interface IndexDocument {
  title: string;
  rows: IndexRow[];
  summary: string;
  version: number;
}
