// One execution as the views ask for it: what happens at a step, who stands where, who wakes whom.

import { BLOCKED, COULD_RUN, ENDED, NOWHERE, type FailurePage, type Moment, type Place } from "./document";

export type Mark = "preemption" | "late" | "fired" | "early";

/** The index of the first element that is not less than a value. */
export function lowerBound(sorted: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface Arrow {
  from: number;
  to: number;
  kind: "wake" | "conflict" | "message";
}

export class Execution {
  readonly count: number;
  /** For each task its steps. */
  readonly own: Int32Array[];
  /** Steps to jump to, and what is marked there. */
  readonly marks = new Map<number, Mark>();
  readonly marked: number[];
  readonly essential: Set<number>;
  readonly told: Set<number>;
  private readonly wakesOf = new Map<number, Arrow[]>();
  readonly arrows: Arrow[];

  constructor(readonly page: FailurePage) {
    const { steps } = page;
    this.count = steps.tasks.length;
    const sizes = new Array<number>(page.tasks.length).fill(0);
    for (const task of steps.tasks) sizes[task]++;
    this.own = sizes.map((size) => new Int32Array(size));
    const at = new Array<number>(page.tasks.length).fill(0);
    steps.tasks.forEach((task, step) => {
      this.own[task][at[task]++] = step;
    });
    for (const step of steps.early) this.marks.set(step, "early");
    for (const step of steps.preemptions) this.marks.set(step, "preemption");
    for (const step of steps.late) this.marks.set(step, "late");
    this.marked = [...this.marks.keys()].sort((a, b) => a - b);
    for (const step of steps.fired) if (!this.marks.has(step)) this.marks.set(step, "fired");
    this.essential = new Set(steps.essential);
    this.told = new Set(steps.told);
    this.arrows = [...this.conflicts(), ...this.messages(), ...this.wakes()];
    this.arrows.sort((a, b) => a.from - b.from);
    for (const arrow of this.arrows) {
      for (const end of [arrow.from, arrow.to]) {
        const known = this.wakesOf.get(end);
        if (known) known.push(arrow);
        else this.wakesOf.set(end, [arrow]);
      }
    }
  }

  private conflicts(): Arrow[] {
    const [one, other] = this.page.race ? this.page.moments : [];
    const pairs = [...this.page.steps.pairs];
    if (one?.near != null && other?.near != null && one.near < other.near) pairs.push([one.near, other.near]);
    return pairs.map(([from, to]) => ({ from, to, kind: "conflict" }));
  }

  private messages(): Arrow[] {
    return this.page.steps.messages.map(([from, to]) => ({ from, to, kind: "message" }));
  }

  /** It is of a message log, which knows no source and no schedule. */
  get isLog(): boolean {
    return this.page.kind === "messages";
  }

  /** A step that lets a blocked task go on, and the step in which that goes on. */
  private *wakes(): Generator<Arrow> {
    const { steps } = this.page;
    const fired = new Set(steps.fired);
    for (let task = 0; task < steps.states.length; task++) {
      const states = steps.states[task];
      // A task may be woken several times before it goes on; the last time counts.
      let latest: Arrow | null = null;
      for (let i = 2; i < states.length; i += 2) {
        if (states[i + 1] !== COULD_RUN || states[i - 1] !== BLOCKED) continue;
        const from = states[i] - 1;
        const to = this.own[task][lowerBound(this.own[task], states[i])];
        if (to === undefined || from < 0 || steps.tasks[from] === task || fired.has(to)) continue;
        if (latest && latest.to !== to) yield latest;
        latest = { from, to, kind: "wake" };
      }
      if (latest) yield latest;
    }
  }

  /** Accesses of a race that are no steps, by the step that they follow. */
  notesOf(step: number): Moment[] {
    if (!this.page.race) return [];
    return this.page.moments.filter((moment) => moment.step === null && moment.near === step);
  }

  arrowsOf(step: number): Arrow[] {
    return this.wakesOf.get(step) ?? [];
  }

  task(step: number): number {
    return this.page.steps.tasks[step];
  }

  words(step: number): string {
    const { steps } = this.page;
    return steps.words[step] ?? steps.table[steps.operations[step]][1];
  }

  kind(step: number): string {
    const { steps } = this.page;
    return steps.table[steps.operations[step]][0];
  }

  placeIndex(step: number): number {
    const { steps } = this.page;
    if (step >= this.count) return this.page.failing;
    const place = steps.table[steps.operations[step]][2];
    if (place !== NOWHERE) return place;
    const stack = this.stack(step);
    if (stack.length) return stack[stack.length - 1];
    // A task that begins or ends is shown where it goes on, or was last.
    const own = this.own[this.task(step)];
    const at = lowerBound(own, step);
    const near = own[at + 1] ?? own[at - 1];
    return near === undefined ? NOWHERE : steps.table[steps.operations[near]][2];
  }

  place(index: number): Place | null {
    return index === NOWHERE ? null : this.page.places[index];
  }

  placeName(index: number): string {
    return this.place(index)?.[3] ?? "";
  }

  /** The line of source at a place, without its indentation. */
  source(index: number): string {
    const place = this.place(index);
    if (!place) return "";
    for (const [first, lines] of this.page.files[place[0]].parts) {
      if (place[1] >= first && place[1] < first + lines.length) {
        return lines[place[1] - first].trim();
      }
    }
    return "";
  }

  /** Indices of places, innermost last; empty if nothing is known. */
  stack(step: number): number[] {
    const { sights } = this.page;
    if (step >= this.count) return this.page.stack;
    const found: number[] = [];
    let at = sights.at[step] ?? NOWHERE;
    while (at !== NOWHERE) {
      found.push(sights.stacks[at][0]);
      at = sights.stacks[at][1];
    }
    return found.reverse();
  }

  values(step: number): [string, string][] {
    const { sights } = this.page;
    const set = sights.values[step];
    return set === undefined ? [] : sights.sets[set];
  }

  /** The state of a task at a step; it runs if the step is its own. */
  state(task: number, step: number): number {
    const states = this.page.steps.states[task];
    let low = 0;
    let high = states.length >> 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (states[middle * 2] <= step) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? ENDED : states[low * 2 - 1];
  }

  /** The first step of a task from a step on; `undefined` if there is none. */
  next(task: number, step: number): number | undefined {
    return this.own[task][lowerBound(this.own[task], step)];
  }

  taskWords(task: number): string {
    const { id, name, target } = this.page.tasks[task];
    const known = [...new Set([name, target].filter(Boolean))];
    return known.length ? `${id} (${known.join(", ")})` : id;
  }

  /** Where a report begins to be read: the first of the operations at fault. */
  start(): number {
    const { moments, steps } = this.page;
    const told = moments.find((moment) => moment.step !== null) ?? moments[0];
    if (!told && this.isLog) return 0;
    return told?.step ?? told?.near ?? steps.essential[0] ?? Math.max(this.count - 1, 0);
  }
}
