// The cycle of a deadlock as a graph: tasks on a circle, each with an arrow to the one that holds
// what it waits for.

import { svg, taskColour } from "./dom";
import type { Execution } from "./execution";

const WIDTH = 500;
const NODE_WIDTH = 124;
const NODE_HEIGHT = 42;
const MOST_LETTERS = 19;

function short(text: string, most = MOST_LETTERS): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

interface Point {
  x: number;
  y: number;
}

/** Where a line from the middle of a node to a point leaves the node. */
function edge(from: Point, to: Point): Point {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const scale = Math.min(
    (NODE_WIDTH / 2 + 5) / Math.max(Math.abs(dx), 0.001),
    (NODE_HEIGHT / 2 + 5) / Math.max(Math.abs(dy), 0.001),
  );
  return { x: from.x + dx * scale, y: from.y + dy * scale };
}

export function deadlockGraph(execution: Execution, go: (step: number) => void): SVGElement {
  const { page } = execution;
  const cycle = page.deadlock?.cycle ?? [];
  const number = cycle.length;
  const height = number === 2 ? 200 : 120 + Math.min(number, 8) * 45;
  const middle: Point = { x: WIDTH / 2, y: height / 2 };
  const radius = { x: WIDTH / 2 - NODE_WIDTH / 2 - 6, y: height / 2 - NODE_HEIGHT / 2 - 6 };
  const points = cycle.map((_, i): Point => {
    const angle = number === 2 ? Math.PI * (1 - i) : (2 * Math.PI * i) / number - Math.PI / 2;
    return { x: middle.x + radius.x * Math.cos(angle), y: middle.y + radius.y * Math.sin(angle) };
  });
  const graph = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${height}`,
    class: "graph",
    role: "img",
    "aria-label": page.deadlock?.sentence ?? "",
  });
  graph.append(
    svg(
      "defs",
      {},
      svg(
        "marker",
        { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" },
        svg("path", { d: "M0,0 L8,4 L0,8 z", class: "graph-tip" }),
      ),
    ),
  );
  const labels: SVGElement[] = [];
  cycle.forEach((waiting, i) => {
    const here = points[i];
    const there = points[(i + 1) % number];
    // Of two the arrows would lie on each other, so they bend apart.
    const bend = number === 2 ? 90 : 22;
    const control: Point = {
      x: (here.x + there.x) / 2 + ((there.y - here.y) / Math.hypot(there.x - here.x, there.y - here.y)) * bend,
      y: (here.y + there.y) / 2 - ((there.x - here.x) / Math.hypot(there.x - here.x, there.y - here.y)) * bend,
    };
    const start = edge(here, control);
    const end = edge(there, control);
    const path = `M${start.x},${start.y} Q${control.x},${control.y} ${end.x},${end.y}`;
    graph.append(svg("path", { d: path, class: "graph-edge", "marker-end": "url(#tip)" }));
    const at: Point = {
      x: (start.x + 2 * control.x + end.x) / 4,
      y: (start.y + 2 * control.y + end.y) / 4,
    };
    const words = short(waiting.resource, 22);
    const wide = words.length * 6.6 + 12;
    const x = Math.max(wide / 2 + 1, Math.min(WIDTH - wide / 2 - 1, at.x));
    labels.push(
      svg(
        "g",
        { class: "graph-label" },
        svg("title", {}, `${waiting.waits}; ${waiting.held}`),
        svg("rect", { x: x - wide / 2, y: at.y - 18, width: wide, height: 34, rx: 5 }),
        svg("text", { x, y: at.y - 4, "text-anchor": "middle" }, words),
        svg(
          "text",
          { x, y: at.y + 10, "text-anchor": "middle", class: "graph-small" },
          `waits at ${short(execution.placeName(waiting.waits_at), 18)}`,
        ),
      ),
    );
  });
  graph.append(...labels);
  cycle.forEach((waiting, i) => {
    const { x, y } = points[i];
    const { id, name, target } = page.tasks[waiting.task];
    const own = execution.own[waiting.task];
    const node = svg(
      "g",
      { class: "graph-node", onclick: () => own.length && go(own[own.length - 1]) },
      svg("title", {}, execution.taskWords(waiting.task)),
      svg("rect", {
        x: x - NODE_WIDTH / 2,
        y: y - NODE_HEIGHT / 2,
        width: NODE_WIDTH,
        height: NODE_HEIGHT,
        rx: 8,
      }),
      svg("text", { x, y: y - 3, "text-anchor": "middle", class: "graph-id" }, `${id} ${short(name, 12)}`.trim()),
      svg("text", { x, y: y + 13, "text-anchor": "middle", class: "graph-small" }, short(target)),
    );
    node.style.setProperty("--own", taskColour(waiting.task));
    graph.append(node);
  });
  return graph;
}
