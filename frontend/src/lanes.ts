// The lanes: a row for each step, a lane for each task, drawn only as far as they are in view.
//
// Rows are elements, as they are text; the lanes behind them, with blocked spans and arrows, are
// one canvas of the size of what is in view.

import { chip, colour, h, svg, TASK_COLOURS, taskColour } from "./dom";
import { BLOCKED, ENDED } from "./document";
import type { Execution } from "./execution";
import { type Arrow, lowerBound } from "./execution";

const ROW = 26;
const NUMBER_WIDTH = 58;
const GUTTER_LANE = 18;
const NARROWEST_COLUMN = 168;
const SPARE_ROWS = 8;
const ARROWS = { conflict: "--danger", wake: "--wake", message: "--accent" };
/** The width of a letter, about. */
const LETTER = 7.6;
const LONGEST_LIST = 16_000_000;
const MOST_ARROWS = 400;

const KINDS = 4;
const MARK = 0;
const STEP = 1;
const NOTE = 2;

/** Drawn, as not every font has such a sign. */
function clock(): SVGElement {
  return svg(
    "svg",
    { viewBox: "0 0 16 16", class: "clock", "aria-hidden": "true" },
    svg("circle", { cx: 8, cy: 9, r: 5.5 }),
    svg("path", { d: "M8 5.5V9l2 1.5M6 1.5h4" }),
  );
}

function arrival(): SVGElement {
  return svg(
    "svg",
    { viewBox: "0 0 16 16", class: "clock", "aria-hidden": "true" },
    svg("path", { d: "M1 8h9M7 4.5L10.5 8 7 11.5M14 2v12" }),
  );
}

export class Lanes {
  readonly element: HTMLElement;
  private readonly head = h("div", { class: "lanes-head", "aria-hidden": "true" });
  private readonly scroller: HTMLElement;
  private readonly rows: HTMLElement;
  private readonly canvas = h("canvas", { class: "lanes-canvas", "aria-hidden": "true" });
  /** Steps times four, plus what the row is: the mark before the step, the step, or a note on it. */
  private items: number[] = [];
  private current = 0;
  private columns = false;
  private laneWidth = GUTTER_LANE;
  private rowHeight = ROW;
  private drawn = new Map<number, HTMLElement>();
  private frame = 0;
  private palette: string[] = [];

  constructor(
    private readonly execution: Execution,
    private readonly go: (step: number, bySelf?: boolean) => void,
  ) {
    this.rows = h("div", { class: "lanes-rows", role: "rowgroup" });
    this.scroller = h(
      "div",
      {
        class: "lanes-scroller",
        tabindex: 0,
        role: "grid",
        "aria-label": "Steps of the execution, one row each",
        "aria-colcount": 3,
      },
      this.canvas,
      this.rows,
    );
    this.element = h("div", { class: "lanes" }, this.head, this.scroller);
    this.scroller.addEventListener("scroll", () => this.redrawSoon(), { passive: true });
    this.rows.addEventListener("click", (event) => {
      const row = (event.target as HTMLElement).closest<HTMLElement>("[data-item]");
      if (row) this.go(Number(row.dataset["item"]) >> 2, true);
    });
    new ResizeObserver(() => this.layOut()).observe(this.scroller);
    this.show(null);
  }

  /** Show these steps; all of them if `null`. */
  show(steps: number[] | null): void {
    const { execution } = this;
    const items: number[] = [];
    const add = (step: number): void => {
      const mark = execution.marks.get(step);
      if (mark === "preemption" || mark === "late") items.push(step * KINDS + MARK);
      items.push(step * KINDS + STEP);
      execution.notesOf(step).forEach((_, number) => items.push(step * KINDS + NOTE + number));
    };
    if (steps === null) for (let step = 0; step < execution.count; step++) add(step);
    else steps.forEach(add);
    items.push(execution.count * KINDS + STEP);
    this.items = items;
    this.layOut();
  }

  get shown(): number {
    return this.items.length;
  }

  private layOut(): void {
    const width = this.scroller.clientWidth;
    const tasks = this.execution.page.tasks.length;
    const room = width - NUMBER_WIDTH;
    this.columns = tasks > 0 && room / tasks >= NARROWEST_COLUMN;
    this.laneWidth = this.columns
      ? Math.floor(room / tasks)
      : Math.max(5, Math.min(GUTTER_LANE, (room * 0.3) / Math.max(tasks, 1)));
    this.rowHeight = Math.min(ROW, LONGEST_LIST / Math.max(this.items.length, 1));
    const length = this.items.length * this.rowHeight;
    const { clientHeight } = this.scroller;
    // The last rows can be scrolled up, too, where the lower part is below the end of the window.
    this.rows.style.height = `${length > clientHeight / 2 ? length + clientHeight / 2 : length}px`;
    this.scroller.setAttribute("aria-rowcount", String(this.items.length));
    this.palette = Array.from({ length: TASK_COLOURS }, (_, i) => colour(`--task-${i}`));
    this.drawHead();
    for (const row of this.drawn.values()) row.remove();
    this.drawn.clear();
    this.redrawSoon();
  }

  /** The colours have changed. */
  recolour(): void {
    this.layOut();
  }

  private drawHead(): void {
    this.head.replaceChildren();
    this.head.classList.toggle("is-columns", this.columns);
    this.execution.page.tasks.forEach((task, number) => {
      const name = [task.name, task.target].filter(Boolean).join(", ");
      if (this.columns) {
        const cell = h("div", { class: "lane-title", title: name }, chip(number, task.id), " ", name);
        cell.style.left = `${NUMBER_WIDTH + number * this.laneWidth}px`;
        cell.style.width = `${this.laneWidth - 8}px`;
        this.head.append(cell);
      } else if (number < 12) {
        this.head.append(h("span", { class: "lane-key", title: name }, chip(number, task.id), name));
      } else if (number === 12) {
        this.head.append(h("span", { class: "lane-key" }, `and ${this.execution.page.tasks.length - 12} more`));
      }
    });
  }

  /** The row of a step, or of the next one that is shown. */
  private itemOf(step: number): number {
    return Math.min(lowerBound(this.items, step * KINDS + STEP), this.items.length - 1);
  }

  select(step: number, smooth: boolean): void {
    const before = this.drawn.get(this.itemOf(this.current));
    before?.classList.remove("is-current");
    before?.setAttribute("aria-selected", "false");
    this.current = step;
    const top = this.itemOf(step) * this.rowHeight;
    const { scrollTop, clientHeight } = this.scroller;
    // The lower part may be below the end of the window.
    const left = window.innerHeight - this.scroller.getBoundingClientRect().top;
    const height = left > 4 * ROW && left < clientHeight ? left : clientHeight;
    const margin = Math.min(height / 3, 3 * ROW);
    if (top < scrollTop + margin || top > scrollTop + height - margin - ROW) {
      const far = Math.abs(top - scrollTop) > 3 * clientHeight;
      this.scroller.scrollTo({
        top: Math.max(0, top - height / 3),
        behavior: smooth && !far ? "smooth" : "instant",
      });
    }
    this.redrawSoon();
  }

  private redrawSoon(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.redraw();
    });
  }

  private redraw(): void {
    const { scrollTop, clientHeight } = this.scroller;
    const first = Math.max(0, Math.floor(scrollTop / this.rowHeight) - SPARE_ROWS);
    const last = Math.min(
      this.items.length,
      Math.ceil((scrollTop + clientHeight) / this.rowHeight) + SPARE_ROWS,
    );
    for (const [item, row] of this.drawn) {
      if (item < first || item >= last) {
        row.remove();
        this.drawn.delete(item);
      }
    }
    const current = this.itemOf(this.current);
    for (let item = first; item < last; item++) {
      let row = this.drawn.get(item);
      if (!row) {
        row = this.row(item);
        this.drawn.set(item, row);
        this.rows.append(row);
      }
      const isCurrent = item === current;
      row.classList.toggle("is-current", isCurrent);
      row.setAttribute("aria-selected", String(isCurrent));
    }
    this.scroller.setAttribute("aria-activedescendant", `row-${current}`);
    this.drawLanes(first, last);
  }

  private row(item: number): HTMLElement {
    const { execution } = this;
    const step = this.items[item] >> 2;
    const what = this.items[item] & 3;
    const row = h("div", {
      class: "row",
      role: "row",
      id: `row-${item}`,
      "data-item": this.items[item],
      "aria-rowindex": item + 1,
    });
    // No transform: it would put the text below the canvas.
    row.style.top = `${item * this.rowHeight}px`;
    if (step >= execution.count) {
      row.classList.add(execution.page.passed ? "is-passed" : "is-end");
      const sign = execution.page.passed ? "✓" : "✗";
      row.append(
        h("span", { class: "row-number", role: "gridcell" }, ""),
        this.text(null, `${sign} ${execution.page.message}`, execution.placeName(execution.page.failing)),
      );
      return row;
    }
    const mark = execution.marks.get(step);
    if (what >= NOTE) {
      row.classList.add("is-conflict");
      const { task, words, place } = execution.notesOf(step)[what - NOTE];
      row.append(
        h("span", { class: "row-number", role: "gridcell" }, ""),
        this.text(task, words, execution.placeName(place), execution.source(place)),
      );
      return row;
    }
    if (what === MARK) {
      row.classList.add("is-mark");
      if (execution.essential.has(step)) row.classList.add("is-essential");
      const [task, words] = execution.page.steps.before[step] ?? [execution.task(step), "preempted", -1];
      row.append(
        h("span", { class: "row-number", role: "gridcell" }, ""),
        this.text(task, `✂ ${words}`, ""),
      );
      return row;
    }
    const task = execution.task(step);
    const kind = execution.kind(step);
    if (kind === "begin" || kind === "end" || kind === "continue") row.classList.add("is-quiet");
    if (execution.arrowsOf(step).some((arrow) => arrow.kind === "conflict")) row.classList.add("is-conflict");
    // Not what comes next in the loop, but what comes to it: a timer, readiness, a thread's call.
    const isArrival = kind === "external" || (kind === "wake" && execution.words(step).includes("event loop"));
    const isTimeout = mark === "fired" || mark === "early";
    const { steps } = execution.page;
    const place = steps.table[steps.operations[step]][2];
    row.append(
      h("span", { class: "row-number", role: "gridcell" }, step),
      this.text(task, execution.words(step), execution.placeName(place), execution.source(place), isTimeout ? clock() : isArrival ? arrival() : null),
    );
    if (isArrival) row.classList.add("is-arrival");
    if (isTimeout) row.classList.add("is-timeout");
    return row;
  }

  private text(task: number | null, words: string, place: string, source = "", sign: SVGElement | null = null): HTMLElement {
    const cell = h("span", { class: "row-text", role: "gridcell" });
    const { tasks } = this.execution.page;
    if (task !== null && !this.columns) cell.append(chip(task, tasks[task].id));
    cell.append(h("span", { class: "row-words" }, sign, words));
    if (place) cell.append(h("span", { class: "row-place" }, place));
    if (source && !this.columns) cell.append(h("code", { class: "row-source" }, source));
    const lanes = tasks.length * this.laneWidth;
    const left = this.columns
      ? NUMBER_WIDTH + (task ?? 0) * this.laneWidth + 22
      : NUMBER_WIDTH + lanes + 10;
    const room = this.scroller.clientWidth - left;
    const wanted = (words.length + 2) * LETTER;
    if (this.columns && wanted > room && left - 44 - NUMBER_WIDTH > room) {
      // There is more room on the other side of its lane.
      cell.classList.add("is-left");
      cell.style.left = `${NUMBER_WIDTH}px`;
      cell.style.right = `${room + 32}px`;
    } else cell.style.left = `${left}px`;
    if (task !== null) {
      cell.style.setProperty("--own", taskColour(task));
      cell.setAttribute("aria-label", `task ${this.execution.taskWords(task)}: ${words} ${place}`);
    }
    return cell;
  }

  private x(task: number): number {
    return NUMBER_WIDTH + task * this.laneWidth + (this.columns ? 10 : this.laneWidth / 2);
  }

  private drawLanes(first: number, last: number): void {
    const { execution, canvas } = this;
    const { scrollTop, clientHeight, clientWidth } = this.scroller;
    const scale = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(clientWidth * scale) || canvas.height !== Math.round(clientHeight * scale)) {
      canvas.width = Math.round(clientWidth * scale);
      canvas.height = Math.round(clientHeight * scale);
      canvas.style.width = `${clientWidth}px`;
      canvas.style.height = `${clientHeight}px`;
      // It sticks to the view, and takes no room among the rows.
      canvas.style.marginBottom = `${-clientHeight}px`;
    }
    const context = canvas.getContext("2d");
    if (!context) return;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, clientWidth, clientHeight);
    const height = this.rowHeight;
    const y = (item: number): number => item * height - scrollTop;
    const { tasks } = execution.page;
    const thick = this.columns ? 8 : Math.max(3, Math.min(8, this.laneWidth - 6));
    const quiet = colour("--line");
    const blockedColour = colour("--blocked");
    for (let task = 0; task < tasks.length; task++) {
      const x = this.x(task);
      const own = this.palette[task % TASK_COLOURS];
      for (let item = first; item < last; item++) {
        const step = this.items[item] >> 2;
        const isMark = (this.items[item] & 3) === MARK;
        const top = y(item);
        const runs = step < execution.count && !isMark && execution.task(step) === task;
        const state = execution.state(task, step);
        if (runs) {
          context.fillStyle = own;
          context.beginPath();
          context.roundRect(x - thick / 2, top + 1, thick, height - 2, 3);
          context.fill();
        } else if (state === BLOCKED) {
          context.strokeStyle = blockedColour;
          context.lineWidth = 2;
          context.setLineDash([3, 3]);
          context.beginPath();
          context.moveTo(x, top);
          context.lineTo(x, top + height);
          context.stroke();
          context.setLineDash([]);
        } else if (state !== ENDED) {
          context.fillStyle = quiet;
          context.fillRect(x - 1, top, 2, height);
        }
      }
    }
    this.drawArrows(context, first, last, y);
  }

  private drawArrows(
    context: CanvasRenderingContext2D,
    first: number,
    last: number,
    y: (item: number) => number,
  ): void {
    const { execution } = this;
    const firstStep = this.items[first] >> 2;
    const lastStep = this.items[last - 1] >> 2;
    const current = new Set(execution.arrowsOf(this.current));
    let drawn = 0;
    const seen = new Set<unknown>();
    const draw = (arrow: Arrow): void => {
      if (seen.has(arrow) || drawn > MOST_ARROWS) return;
      seen.add(arrow);
      const from = this.itemOf(arrow.from);
      const to = this.itemOf(arrow.to);
      if (this.items[from] >> 2 !== arrow.from || this.items[to] >> 2 !== arrow.to) return;
      if (to < first || from >= last) return;
      drawn++;
      const x1 = this.x(execution.task(arrow.from));
      const x2 = this.x(execution.task(arrow.to));
      const y1 = y(from) + this.rowHeight / 2;
      const y2 = y(to) + this.rowHeight / 2;
      const isCurrent = current.has(arrow);
      context.strokeStyle = colour(ARROWS[arrow.kind]);
      context.fillStyle = context.strokeStyle;
      context.globalAlpha = isCurrent ? 1 : 0.55;
      context.lineWidth = isCurrent ? 2 : 1.25;
      context.beginPath();
      const bend = x1 === x2 ? 14 : (x2 - x1) / 2;
      context.moveTo(x1, y1);
      context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
      context.stroke();
      const side = x2 >= x1 ? -1 : 1;
      context.beginPath();
      context.moveTo(x2, y2);
      context.lineTo(x2 + side * 6, y2 - 3.5);
      context.lineTo(x2 + side * 6, y2 + 3.5);
      context.fill();
      context.globalAlpha = 1;
    };
    for (let item = first; item < last; item++) {
      if ((this.items[item] & 3) !== STEP) continue;
      for (const arrow of execution.arrowsOf(this.items[item] >> 2)) draw(arrow);
    }
    for (const arrow of execution.arrows) {
      if (arrow.from > lastStep) break;
      if (arrow.kind === "conflict" && arrow.to >= firstStep) draw(arrow);
    }
    for (const arrow of current) draw(arrow);
  }

  focus(): void {
    this.scroller.focus();
  }
}
