// The steps: controls, overview, lanes and what belongs to the step, which all follow one number.

import { NOWHERE } from "./document";
import { h, replace, svg } from "./dom";
import type { Execution } from "./execution";
import { lowerBound } from "./execution";
import { Lanes } from "./lanes";
import { Overview } from "./overview";
import { DetailPane, SourcePane } from "./side";
import { calm } from "./theme";

const SPEEDS = [1, 2, 5, 20];
/** Milliseconds between steps, below which nothing moves smoothly. */
const FAST = 250;

// Drawn, as not every font has such signs.
const ICONS = {
  first: "M2 2h2v12H2zM14 2v12L5 8z",
  back: "M12 2v12L3 8z",
  play: "M4 2v12l9-6z",
  pause: "M3 2h4v12H3zM9 2h4v12H9z",
  on: "M4 2v12l9-6z M1 2h1.5v12H1z",
  end: "M12 2h2v12h-2zM2 2v12l9-6z",
};

function icon(name: keyof typeof ICONS): SVGElement {
  return svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

function button(title: string, act: () => void, ...label: (Node | string)[]): HTMLButtonElement {
  return h("button", { type: "button", class: "control", title, "aria-label": title, onclick: act }, ...label);
}

function legend(execution: Execution): HTMLElement[] {
  const keys: [string, string][] = execution.isLog
    ? [["key-run", "an event"], ["key-message", "a message"]]
    : [
        ["key-run", "runs"],
        ["key-could", "could run"],
        ["key-blocked", "blocked"],
        ["key-wake", "wakes"],
        ["key-conflict", "conflict: their order matters"],
      ];
  const shown = keys.map(([kind, words]) => h("span", {}, h("i", { class: kind }), words));
  if (execution.isLog) return shown;
  return [...shown, h("span", {}, "✂ preemption"), h("span", {}, "⇥ arrival in an event loop")];
}

export class Stage {
  readonly element: HTMLElement;
  step = 0;
  private timer = 0;
  private readonly lanes: Lanes;
  private readonly overview: Overview;
  private readonly source: SourcePane;
  private readonly details: DetailPane;
  private readonly number = h("input", {
    type: "number",
    class: "step-number",
    min: 0,
    "aria-label": "Step number",
  });
  private readonly live = h("div", { class: "hidden", role: "status", "aria-live": "polite" });
  private readonly playButton: HTMLButtonElement;
  private readonly filterBox = h("input", {
    type: "search",
    class: "filter",
    placeholder: "Filter steps (/)",
    "aria-label": "Filter steps by words, place or task",
  });
  private readonly only = h("input", { type: "checkbox", id: "only-told" });
  private readonly found = h("span", { class: "quiet found", role: "status" });
  private speed = 0;
  private moved = 0;
  private sought = 0;

  constructor(private readonly execution: Execution) {
    const go = (step: number): void => this.go(step);
    this.lanes = new Lanes(execution, (step) => this.go(step, false));
    this.overview = new Overview(execution, go);
    this.source = new SourcePane(execution);
    this.details = new DetailPane(execution, (place) => this.source.show(place, this.step), go);
    this.playButton = button("Play or pause (space)", () => this.toggle(), icon("play"));
    this.number.max = String(execution.count);
    this.number.addEventListener("change", () => this.go(Number(this.number.value)));
    this.filterBox.addEventListener("input", () => {
      clearTimeout(this.sought);
      this.sought = window.setTimeout(() => this.filter(), 80);
    });
    this.only.addEventListener("change", () => this.filter());
    const speed = h("select", { class: "speed", "aria-label": "Steps per second" });
    SPEEDS.forEach((each, i) => speed.append(h("option", { value: i }, `${each}/s`)));
    speed.selectedIndex = this.speed = 1;
    speed.addEventListener("change", () => {
      this.speed = speed.selectedIndex;
      if (this.timer) this.play();
    });
    const hasMarks = execution.marked.length > 0;
    this.element = h(
      "section",
      { class: "stage", "aria-label": "The schedule, step by step" },
      h(
        "div",
        { class: "controls", role: "toolbar", "aria-label": "Stepping" },
        button("First step (Home)", () => this.go(0), icon("first")),
        button("One step back (←)", () => this.move(-1), icon("back")),
        this.playButton,
        button("One step on (→)", () => this.move(1), icon("on")),
        button("The end (End)", () => this.go(execution.count), icon("end")),
        h("label", { class: "counter" }, this.number, h("span", { class: "quiet" }, ` of ${execution.count.toLocaleString("en")}`)),
        speed,
        hasMarks ? button("Previous preemption (p)", () => this.jump(-1), icon("back"), "✂") : null,
        hasMarks ? button("Next preemption (n)", () => this.jump(1), "✂", icon("play")) : null,
        h("span", { class: "spacer" }),
        h("label", { class: "only", for: "only-told" }, this.only, " only what matters"),
        this.filterBox,
        this.found,
      ),
      this.overview.element,
      h(
        "div",
        { class: execution.isLog ? "panes is-log" : "panes" },
        this.lanes.element,
        h("div", { class: "side" }, this.source.element, this.details.element),
      ),
      h(
        "div",
        { class: "legend quiet" },
        ...legend(execution),
      ),
      this.live,
    );
  }

  start(): void {
    const { moments } = this.execution.page;
    const told = moments.find((moment) => moment.step !== null) ?? moments[0];
    this.go(this.execution.start());
    if (told && told.place !== NOWHERE) this.source.show(told.place, this.step);
  }

  /** Go to a step, and show another place than its own. */
  show(step: number, place: number): void {
    this.go(step);
    if (place !== NOWHERE) this.source.show(place, this.step);
  }

  go(step: number, smooth = !calm.matches): void {
    const { execution } = this;
    if (Number.isNaN(step)) step = 0;
    this.step = Math.max(0, Math.min(execution.count, Math.round(step)));
    this.number.value = String(this.step);
    const words = this.words();
    this.overview.select(this.step, words);
    // Whoever holds a key down is not to be left behind.
    const now = performance.now();
    const isFast = now - this.moved < FAST;
    this.moved = now;
    this.lanes.select(this.step, smooth && !this.timer && !isFast);
    const place = execution.placeIndex(this.step);
    if (place !== NOWHERE || this.step === 0) this.source.show(place, this.step);
    this.details.show(this.step);
    if (!this.timer) this.live.textContent = words;
    this.element.dataset["step"] = String(this.step);
  }

  private words(): string {
    const { execution, step } = this;
    if (step >= execution.count) return `The end: ${execution.page.message}`;
    const place = execution.placeName(execution.placeIndex(step));
    const task = execution.taskWords(execution.task(step));
    const before = execution.page.steps.before[step];
    const mark = before ? `${before[1]}; ` : "";
    return `Step ${step} of ${execution.count}: ${mark}task ${task}: ${execution.words(step)}${place ? `, ${place}` : ""}`;
  }

  move(by: number): void {
    this.pause();
    this.go(this.step + by);
  }

  /** To the next preemption, or the one before. */
  jump(direction: number): void {
    this.pause();
    const { marked } = this.execution;
    const at = lowerBound(marked, direction > 0 ? this.step + 1 : this.step);
    const target = marked[direction > 0 ? at : at - 1];
    if (target !== undefined) this.go(target);
  }

  toggle(): void {
    if (this.timer) this.pause();
    else this.play();
  }

  private play(): void {
    this.pause();
    if (this.step >= this.execution.count) this.go(0);
    replace(this.playButton, icon("pause"));
    this.timer = window.setInterval(() => {
      this.go(this.step + 1);
      if (this.step >= this.execution.count) this.pause();
    }, 1000 / SPEEDS[this.speed]);
  }

  private pause(): void {
    clearInterval(this.timer);
    this.timer = 0;
    replace(this.playButton, icon("play"));
    this.live.textContent = this.words();
  }

  /** Show the steps that hold the words sought, and only what matters if that is wanted. */
  private filter(): void {
    const { execution } = this;
    const { steps, tasks } = execution.page;
    const sought = this.filterBox.value.trim().toLowerCase();
    if (!sought && !this.only.checked) {
      this.found.textContent = "";
      this.lanes.show(null);
      this.lanes.select(this.step, false);
      return;
    }
    const operations = steps.table.map(([, words, place]) => {
      const text = `${words} ${execution.placeName(place)} ${execution.source(place)}`;
      return text.toLowerCase().includes(sought);
    });
    const byTask = tasks.map((task, i) => {
      const words = execution.taskWords(i).toLowerCase();
      return task.id === sought || (!/^[\d.]+$/.test(sought) && words.includes(sought));
    });
    const shown: number[] = [];
    for (let step = 0; step < execution.count; step++) {
      if (this.only.checked && !execution.told.has(step)) continue;
      const isFound =
        !sought ||
        operations[steps.operations[step]] ||
        byTask[steps.tasks[step]] ||
        (steps.words[step] ?? "").toLowerCase().includes(sought);
      if (isFound) shown.push(step);
    }
    this.found.textContent = `${shown.length.toLocaleString("en")} of ${execution.count.toLocaleString("en")}`;
    this.lanes.show(shown);
    this.lanes.select(this.step, false);
  }

  focusFilter(): void {
    this.filterBox.focus();
    this.filterBox.select();
  }

  clearFilter(): void {
    this.filterBox.value = "";
    this.filter();
    this.lanes.focus();
  }

  toggleOnly(): void {
    this.only.checked = !this.only.checked;
    this.filter();
  }

  recolour(): void {
    this.lanes.recolour();
    this.overview.draw();
  }

  stop(): void {
    this.pause();
  }
}
