// What stands below the steps: the parts of each kind of failure, the commands, what was explored.

import { NOWHERE, type Explored, type FailurePage } from "./document";
import { chip, count, h, svg } from "./dom";
import type { Execution } from "./execution";

function section(title: string, ...children: (Node | null | false)[]): HTMLElement {
  return h("section", { class: "section" }, h("h2", {}, title), ...children);
}

function list(sentences: string[]): HTMLElement {
  return h("ul", { class: "sentences" }, ...sentences.map((words) => h("li", {}, words)));
}

export function stackOf(execution: Execution, places: number[]): HTMLElement {
  return h(
    "table",
    { class: "stack-table" },
    h("caption", { class: "hidden" }, "A stack, innermost frame last"),
    ...places.map((place) =>
      h(
        "tr",
        {},
        h("td", { class: "quiet" }, execution.placeName(place)),
        h("td", {}, execution.place(place)?.[2] ?? ""),
        h("td", {}, h("code", {}, execution.source(place))),
      ),
    ),
  );
}

function deadlock(execution: Execution): HTMLElement | null {
  const found = execution.page.deadlock;
  if (!found) return null;
  return section(
    found.title,
    found.sentence ? h("p", {}, found.sentence) : null,
    found.cycle.length > 1
      ? h(
          "ol",
          { class: "cycle" },
          ...found.cycle.map((waiting) =>
            h(
              "li",
              {},
              chip(waiting.task, execution.page.tasks[waiting.task].id),
              h("span", {}, ` ${waiting.waits} `),
              h("code", {}, execution.source(waiting.waits_at)),
              h("br"),
              h("span", { class: "quiet" }, `${waiting.held} `),
              waiting.held_at === NOWHERE ? null : h("code", {}, execution.source(waiting.held_at)),
            ),
          ),
        )
      : null,
    found.others.length ? list(found.others) : null,
    found.origins.length ? h("p", { class: "quiet" }, found.origins.join("; ")) : null,
    ...found.stacks.flatMap((stack) => [
      h("h3", {}, `${stack.title} stands at`),
      stackOf(execution, stack.places),
    ]),
  );
}

function race(execution: Execution): HTMLElement | null {
  const found = execution.page.race;
  if (!found) return null;
  return section(
    "The race",
    h("p", {}, h("strong", {}, `Race on ${found.label}`), h("span", { class: "quiet" }, ` (${found.kinds})`)),
    found.looks ? h("p", {}, found.looks) : null,
    h(
      "div",
      { class: "sides" },
      ...found.sides.map((side, number) =>
        h(
          "div",
          { class: "side-card" },
          h("h3", {}, number ? "the other" : "one"),
          h("p", {}, chip(side.task, execution.page.tasks[side.task].id), " ", side.words),
          h("p", { class: "quiet" }, side.held),
          stackOf(execution, side.stack.length ? side.stack : [side.place]),
        ),
      ),
    ),
    ...found.notes.map((note) => h("p", { class: "quiet" }, note)),
  );
}

function command(text: string): HTMLElement {
  const said = h("span", { class: "quiet", role: "status" });
  const copy = h("button", { type: "button", class: "copy" }, "Copy");
  copy.addEventListener("click", () => {
    const done = (): void => {
      said.textContent = "copied";
    };
    // A page that was opened as a file may not be allowed to.
    const select = (): void => {
      getSelection()?.selectAllChildren(code);
      said.textContent = "selected";
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, select);
    else select();
  });
  const code = h("code", {}, text);
  return h("div", { class: "command" }, code, copy, said);
}

function replay(page: FailurePage): HTMLElement | null {
  if (!page.commands.length && !page.reproduced) return null;
  return section(
    "Replay",
    ...page.commands.map(command),
    page.reproduced ? h("p", { class: "quiet" }, page.reproduced) : null,
  );
}

const MOST_DECISIONS = 160;

/** The decisions of this execution: the way that it took, and what else there was. */
function tree(execution: Execution, go: (step: number) => void): HTMLElement | null {
  const { steps } = execution.page;
  const decisions: number[] = [];
  let all = 0;
  for (let step = 0; step < execution.count; step++) {
    if (steps.options[step] < 2) continue;
    all++;
    if (decisions.length < MOST_DECISIONS) decisions.push(step);
  }
  if (!all) return null;
  const each = 16;
  const width = decisions.length * each + 24;
  const drawing = svg("svg", {
    viewBox: `0 0 ${width} 74`,
    width,
    height: 74,
    class: "tree",
    role: "img",
    "aria-label": `The ${count(all, "decision")} of this execution, with the choices that were not made`,
  });
  drawing.append(svg("line", { x1: 4, y1: 18, x2: width - 8, y2: 18, class: "tree-way" }));
  decisions.forEach((step, number) => {
    const x = 12 + number * each;
    const others = Math.min(steps.options[step] - 1, 5);
    for (let other = 0; other < others; other++) {
      const y = 32 + other * 9;
      drawing.append(svg("path", { d: `M${x},18 Q${x + 2},${y} ${x + 9},${y}`, class: "tree-other" }));
    }
    const mark = execution.marks.get(step);
    const node = svg(
      "circle",
      {
        cx: x,
        cy: 18,
        r: mark && mark !== "fired" ? 5 : 3.2,
        class: mark && mark !== "fired" ? "tree-node is-marked" : "tree-node",
        onclick: () => go(step),
      },
      svg("title", {}, `step ${step}: ${count(steps.options[step], "choice")}; ${execution.words(step)}`),
    );
    drawing.append(node);
  });
  const left = all - decisions.length;
  return section(
    "The way through the tree of schedules",
    h(
      "p",
      { class: "quiet" },
      `This execution makes ${count(all, "decision")}; below each stand the choices that it did not make.`,
      left ? ` The first ${decisions.length} are shown.` : "",
    ),
    h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Decisions" }, drawing),
  );
}

/** Executions, and what they showed, over time. */
function curve(history: Explored["history"]): SVGElement | null {
  // Fewer executions make no curve.
  if (history.length < 3 || history[history.length - 1][1] < 3) return null;
  const [width, height, left, bottom] = [560, 130, 8, 20];
  const end = history[history.length - 1];
  const seconds = Math.max(end[0], 0.001);
  const most = Math.max(...history.map((point) => point[1]), 1);
  const x = (time: number): number => left + (Math.min(time, seconds) / seconds) * (width - left - 8);
  const y = (value: number): number => height - bottom - (value / most) * (height - bottom - 14);
  const line = history.map((point) => `${x(point[0]).toFixed(1)},${y(point[1]).toFixed(1)}`);
  const drawing = svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      class: "curve",
      role: "img",
      "aria-label": `${count(end[1], "execution")} in ${seconds} s; ${count(end[2], "failure")}; ${count(end[3], "data race")}`,
    },
    svg("line", { x1: left, y1: height - bottom, x2: width - 8, y2: height - bottom, class: "axis" }),
    svg("polyline", { points: line.join(" "), class: "curve-line" }),
    svg("text", { x: width - 8, y: height - 5, "text-anchor": "end" }, `${seconds} s`),
    svg("text", { x: width - 8, y: 10, "text-anchor": "end" }, count(end[1], "execution")),
  );
  let failures = 0;
  let races = 0;
  for (const point of history) {
    if (point[2] > failures || point[3] > races) {
      const isFailure = point[2] > failures;
      drawing.append(
        svg(
          "circle",
          { cx: x(point[0]), cy: y(point[1]), r: 4.5, class: isFailure ? "dot is-failure" : "dot" },
          svg("title", {}, `by execution ${point[1]}: ${count(point[2], "failure")}, ${count(point[3], "data race")}`),
        ),
      );
    }
    [, , failures, races] = point;
  }
  return drawing;
}

export function explored(found: Explored): HTMLElement {
  const line = (name: string, words: string): Node[] =>
    words ? [h("dt", {}, name), h("dd", {}, words)] : [];
  const lines = (name: string, all: string[]): Node[] => all.flatMap((words) => line(name, words));
  const graph = curve(found.history);
  return section(
    "What was explored",
    h("p", {}, h("strong", { class: `verdict is-${found.kind.replaceAll(" ", "-")}` }, found.headline)),
    h(
      "dl",
      { class: "facts" },
      ...line("executions", found.figures),
      ...lines("covered", found.covered),
      ...line("reason", found.reason),
      ...line("size", found.size),
      ...line("conditions", found.conditions),
      ...line("races", found.races),
      ...lines("caveat", found.caveats),
      ...lines("predicted", found.unconfirmed),
      ...lines("note", found.notices),
    ),
    found.share === null
      ? null
      : h(
          "div",
          { class: "share" },
          h("meter", { min: 0, max: 1, value: found.share, "aria-label": "Share of the space that was seen" }),
          h("span", { class: "quiet" }, ` ${(found.share * 100).toPrecision(2)}% of the space seen, as estimated`),
        ),
    graph
      ? h(
          "figure",
          {},
          graph as unknown as Node,
          h("figcaption", { class: "quiet" }, "Executions over time; dots: behaviours seen for the first time, data races and failures."),
        )
      : null,
  );
}

export function sections(execution: Execution, go: (step: number) => void): (HTMLElement | null)[] {
  const { page } = execution;
  if (execution.isLog) return [];
  return [
    page.cause.length && page.sentence ? section("In this schedule", h("p", {}, page.sentence)) : null,
    deadlock(execution),
    race(execution),
    page.repeating ? section("The steps that repeat", h("p", {}, page.repeating)) : null,
    page.traceback
      ? section("Traceback", h("pre", { tabindex: 0 }, page.traceback))
      : page.stack.length && !page.race
        ? section("Where it was raised", stackOf(execution, page.stack))
        : null,
    page.timeouts ? section("Timeouts", h("p", {}, page.timeouts)) : null,
    page.interpreter ? section("Interpreter", h("p", {}, page.interpreter)) : null,
    replay(page),
    page.printed.trim() ? section("Printed by the failing execution", h("pre", { tabindex: 0 }, page.printed)) : null,
    tree(execution, go),
  ];
}
