// What belongs to a step: the source, the values in sight, the stack, and where all tasks stand.

import { BLOCKED, ENDED, NOWHERE } from "./document";
import { chip, h, replace, taskColour } from "./dom";
import type { Execution } from "./execution";
import { Highlighter, languageOf } from "./highlight";

const MOST_TASKS = 12;
const STATES: Record<number, string> = { 0: "ended", 1: "could run", 2: "waits" };

export class SourcePane {
  readonly element: HTMLElement;
  private readonly title = h("div", { class: "pane-title" });
  private readonly body = h("div", { class: "source-body", tabindex: 0, role: "region", "aria-label": "Source" });
  private file = NOWHERE;
  private lines = new Map<number, HTMLElement>();
  private marked: HTMLElement[] = [];

  constructor(private readonly execution: Execution) {
    this.element = h("section", { class: "pane source" }, this.title, this.body);
  }

  show(place: number, step: number): void {
    const { execution } = this;
    const found = execution.place(place);
    for (const line of this.marked) {
      line.classList.remove("is-here", "is-there");
      line.querySelector(".line-tasks")?.replaceChildren();
    }
    this.marked = [];
    if (!found) {
      if (this.file === NOWHERE) replace(this.title, "Source");
      if (this.file === NOWHERE) replace(this.body, h("p", { class: "empty" }, "No source is known for this step."));
      return;
    }
    const [file, number, name] = found;
    if (file !== this.file) this.open(file);
    const { name: fileName, path } = execution.page.files[file];
    // A path from the root is long, and says less than its end.
    const shown = /^([\\/]|[A-Za-z]:)/.test(path) ? fileName : path;
    this.title.title = path;
    replace(
      this.title,
      h("span", { class: "path" }, shown),
      h("span", { class: "quiet" }, `:${number}`),
      name && name !== "?" ? h("span", { class: "quiet" }, ` in ${name}`) : null,
    );
    this.others(file, step);
    const line = this.lines.get(number);
    if (!line) return;
    line.classList.add("is-here");
    const task = step < execution.count ? execution.task(step) : null;
    this.body.style.setProperty("--own", task === null ? "var(--danger)" : taskColour(task));
    this.marked.push(line);
    const top = line.offsetTop - this.body.clientHeight / 2 + line.clientHeight / 2;
    this.body.scrollTo({ top: Math.max(0, top), behavior: "instant" });
  }

  /** Where the other tasks stand that are in this file. */
  private others(file: number, step: number): void {
    const { execution } = this;
    execution.page.tasks.slice(0, MOST_TASKS).forEach((task, number) => {
      const next = execution.next(number, step);
      const index = next === undefined ? NOWHERE : execution.placeIndex(next);
      const place = execution.place(index);
      if (!place || place[0] !== file || execution.state(number, step) === ENDED) return;
      const line = this.lines.get(place[1]);
      if (!line) return;
      line.querySelector(".line-tasks")?.append(chip(number, task.id));
      line.classList.add("is-there");
      this.marked.push(line);
    });
  }

  private open(file: number): void {
    this.file = file;
    this.lines.clear();
    const { path, parts } = this.execution.page.files[file];
    const list = h("div", { class: "code" });
    parts.forEach(([first, lines], number) => {
      if (number) list.append(h("div", { class: "code-gap", "aria-hidden": "true" }, "⋯"));
      const highlighter = new Highlighter(languageOf(path));
      lines.forEach((text, at) => {
        const line = h(
          "div",
          { class: "line" },
          h("span", { class: "line-tasks" }),
          h("span", { class: "line-number" }, first + at),
          h("code", { class: "line-text" }, ...highlighter.line(text)),
        );
        this.lines.set(first + at, line);
        list.append(line);
      });
    });
    if (!parts.length) list.append(h("p", { class: "empty" }, "The text of this file is not known."));
    replace(this.body, list);
  }
}

export class DetailPane {
  readonly element: HTMLElement;
  private readonly values = h("div", { class: "values" });
  private readonly stack = h("ol", { class: "stack" });
  private readonly tasks = h("ul", { class: "task-states" });

  constructor(
    private readonly execution: Execution,
    private readonly showPlace: (place: number) => void,
    private readonly go: (step: number) => void,
  ) {
    this.element = h(
      "section",
      { class: "pane details", tabindex: 0, role: "region", "aria-label": "Values, stack and tasks" },
      h("h3", {}, "Values in sight"),
      this.values,
      h("h3", {}, "Stack"),
      this.stack,
      h("h3", {}, "Tasks"),
      this.tasks,
    );
  }

  show(step: number): void {
    const { execution } = this;
    const values = execution.values(step);
    replace(
      this.values,
      values.length
        ? h(
            "dl",
            {},
            ...values.flatMap(([name, value]) => [h("dt", {}, name), h("dd", { title: value }, value)]),
          )
        : h("p", { class: "empty" }, "None were recorded for this step."),
    );
    const stack = execution.stack(step).slice().reverse();
    const here = execution.placeIndex(step);
    const places = stack.length ? stack : here === NOWHERE ? [] : [here];
    replace(
      this.stack,
      ...places.map((place) => {
        const [, , name] = execution.place(place) ?? [0, 0, "", ""];
        return h(
          "li",
          {},
          h(
            "button",
            { type: "button", class: "frame", onclick: () => this.showPlace(place) },
            h("span", { class: "frame-function" }, name),
            h("span", { class: "quiet" }, execution.placeName(place)),
          ),
        );
      }),
    );
    if (!places.length) this.stack.append(h("li", { class: "empty" }, "Not known for this step."));
    this.showTasks(step);
  }

  private showTasks(step: number): void {
    const { execution } = this;
    const { tasks } = execution.page;
    const shown = tasks.length <= MOST_TASKS ? tasks.map((_, i) => i) : this.nearest(step);
    replace(
      this.tasks,
      ...shown.map((task) => {
        const state = execution.state(task, step);
        const runs = step < execution.count && execution.task(step) === task;
        const next = execution.next(task, step);
        const pending = next === undefined || state === ENDED ? "" : execution.words(next);
        const words = runs ? "runs" : next === undefined && state === BLOCKED ? "waits for ever" : STATES[state];
        const begun = execution.page.steps.states[task].length > 0;
        const started = begun && execution.page.steps.states[task][0] <= step;
        return h(
          "li",
          { class: runs ? "is-running" : "" },
          chip(task, tasks[task].id),
          h("span", { class: "state" }, started ? words : "not started"),
          pending && started
            ? h(
                "button",
                { type: "button", class: "pending", onclick: () => this.go(next as number) },
                pending,
              )
            : null,
        );
      }),
    );
    if (shown.length < tasks.length) {
      this.tasks.append(h("li", { class: "empty" }, `and ${tasks.length - shown.length} more tasks`));
    }
  }

  /** Of many tasks those that run next. */
  private nearest(step: number): number[] {
    const { execution } = this;
    const end = execution.count + 1;
    const next = execution.page.tasks.map((_, task) => execution.next(task, step) ?? end);
    return next
      .map((_, task) => task)
      .sort((a, b) => next[a] - next[b])
      .slice(0, MOST_TASKS)
      .sort((a, b) => a - b);
  }
}
