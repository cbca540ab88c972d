// The whole execution on a strip: who ran when, what is marked, and where we are.

import { colour, h, TASK_COLOURS } from "./dom";
import type { Execution } from "./execution";

const MARGIN = 6;
const MOST_LANES = 10;

export class Overview {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas");
  private readonly cursor = h("div", { class: "overview-cursor" });
  private current = 0;

  constructor(
    private readonly execution: Execution,
    private readonly go: (step: number) => void,
  ) {
    this.element = h(
      "div",
      {
        class: "overview",
        role: "slider",
        tabindex: 0,
        "aria-label": "Step",
        "aria-valuemin": 0,
        "aria-valuemax": execution.count,
        "aria-valuenow": 0,
      },
      this.canvas,
      this.cursor,
    );
    const goTo = (event: PointerEvent): void => {
      const box = this.canvas.getBoundingClientRect();
      const part = (event.clientX - box.left - MARGIN) / Math.max(box.width - 2 * MARGIN, 1);
      const step = Math.floor(part * (execution.count + 1));
      this.go(Math.max(0, Math.min(execution.count, step)));
    };
    this.element.addEventListener("pointerdown", (event) => {
      this.element.setPointerCapture(event.pointerId);
      goTo(event);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) goTo(event);
    });
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  select(step: number, words: string): void {
    this.current = step;
    this.element.setAttribute("aria-valuenow", String(step));
    this.element.setAttribute("aria-valuetext", words);
    this.placeCursor();
  }

  private at(step: number): number {
    const width = this.element.clientWidth - 2 * MARGIN;
    return MARGIN + (step / (this.execution.count + 1)) * width;
  }

  private placeCursor(): void {
    const wide = Math.max(this.at(this.current + 1) - this.at(this.current), 3);
    this.cursor.style.width = `${wide}px`;
    this.cursor.style.transform = `translateX(${this.at(this.current)}px)`;
  }

  draw(): void {
    const { execution, canvas } = this;
    const width = this.element.clientWidth;
    const height = this.element.clientHeight;
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    if (!context || !execution.count) return;
    context.scale(scale, scale);
    const lanes = Math.min(execution.page.tasks.length, MOST_LANES);
    const top = 9;
    const lane = (height - top - 3) / lanes;
    const { tasks } = execution.page.steps;
    const pixels = Math.max(1, Math.floor(width - 2 * MARGIN));
    const palette = Array.from({ length: TASK_COLOURS }, (_, i) => colour(`--task-${i}`));
    const each = Math.max(at(1) - at(0), 1);
    function at(step: number): number {
      return MARGIN + (step / (execution.count + 1)) * (width - 2 * MARGIN);
    }
    // Of more steps than pixels one step for each pixel and task is enough.
    const seen = new Int32Array(lanes).fill(-1);
    for (let step = 0; step < execution.count; step++) {
      const row = Math.min(tasks[step], lanes - 1);
      const pixel = Math.floor((step / (execution.count + 1)) * pixels);
      if (each <= 1 && seen[row] === pixel) continue;
      seen[row] = pixel;
      context.fillStyle = palette[tasks[step] % TASK_COLOURS];
      context.fillRect(at(step), top + row * lane + 0.5, each, Math.max(lane - 1, 1));
    }
    context.fillStyle = colour("--danger");
    let last = -10;
    for (const step of execution.marked) {
      const x = at(step);
      const essential = execution.essential.has(step);
      if (x - last < 2 && !essential) continue;
      last = x;
      context.globalAlpha = essential ? 1 : 0.5;
      context.beginPath();
      context.moveTo(x - 4, 1);
      context.lineTo(x + 4, 1);
      context.lineTo(x, 8);
      context.fill();
      if (essential) context.fillRect(x - 0.75, 8, 1.5, height);
    }
    context.globalAlpha = 1;
    this.placeCursor();
  }
}
