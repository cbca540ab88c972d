// The index of all tests: their verdicts, which can be filtered and sorted.

import type { IndexDocument, IndexRow } from "./document";
import { count, h, replace } from "./dom";
import { themeButton } from "./theme";

type Column = { name: string; of: (row: IndexRow) => string | number; number?: boolean };

const ORDER = ["failed", "inconclusive", "no failure found", "holds within a bound", "holds", "not explored"];

const COLUMNS: Column[] = [
  { name: "Verdict", of: (row) => ORDER.indexOf(row.verdict) },
  { name: "Test", of: (row) => row.test },
  { name: "What is known", of: (row) => row.line },
  { name: "Executions", of: (row) => row.executions, number: true },
  { name: "Seconds", of: (row) => row.seconds, number: true },
  { name: "Tasks", of: (row) => row.tasks, number: true },
];

export function indexPage(root: HTMLElement, found: IndexDocument): void {
  let column = 0;
  let down = false;
  let verdict = "";
  const filter = h("input", {
    type: "search",
    class: "filter",
    placeholder: "Filter tests (/)",
    "aria-label": "Filter tests",
  });
  const body = h("tbody");
  const status = h("span", { class: "quiet", role: "status" });
  const heads = COLUMNS.map((each, number) =>
    h(
      "th",
      { scope: "col", class: each.number ? "is-number" : "" },
      h(
        "button",
        {
          type: "button",
          onclick: () => {
            down = column === number ? !down : false;
            column = number;
            draw();
          },
        },
        each.name,
      ),
    ),
  );
  const kinds = ORDER.filter((kind) => found.rows.some((row) => row.verdict === kind));
  const buttons = kinds.map((kind) => {
    const number = found.rows.filter((row) => row.verdict === kind).length;
    const element = h(
      "button",
      {
        type: "button",
        class: `verdict-filter is-${kind.replaceAll(" ", "-")}`,
        "aria-pressed": "false",
        onclick: () => {
          verdict = verdict === kind ? "" : kind;
          draw();
        },
      },
      `${kind} `,
      h("strong", {}, number),
    );
    return { kind, element };
  });

  function draw(): void {
    const sought = filter.value.trim().toLowerCase();
    const rows = found.rows.filter(
      (row) =>
        (!verdict || row.verdict === verdict) &&
        `${row.test} ${row.line} ${row.verdict}`.toLowerCase().includes(sought),
    );
    const by = COLUMNS[column].of;
    rows.sort((a, b) => {
      const [left, right] = [by(a), by(b)];
      const order = left < right ? -1 : left > right ? 1 : 0;
      return down ? -order : order;
    });
    heads.forEach((head, number) => {
      head.setAttribute("aria-sort", number === column ? (down ? "descending" : "ascending") : "none");
    });
    buttons.forEach(({ kind, element }) => element.setAttribute("aria-pressed", String(kind === verdict)));
    status.textContent = `${count(rows.length, "test")} of ${found.rows.length}`;
    replace(
      body,
      ...rows.map((row) =>
        h(
          "tr",
          {},
          h("td", {}, h("span", { class: `verdict is-${row.verdict.replaceAll(" ", "-")}` }, row.verdict)),
          h("td", { class: "test-name" }, row.page ? h("a", { href: `./${encodeURIComponent(row.page)}` }, row.test) : row.test),
          h("td", {}, row.line),
          h("td", { class: "is-number", "data-unit": "executions" }, row.executions.toLocaleString("en")),
          h("td", { class: "is-number", "data-unit": "s" }, row.seconds.toFixed(2)),
          h("td", { class: "is-number", "data-unit": "tasks" }, row.tasks),
        ),
      ),
    );
  }

  filter.addEventListener("input", draw);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target !== filter) {
      event.preventDefault();
      filter.focus();
    }
  });
  root.append(
    h(
      "header",
      { class: "bar" },
      h("span", { class: "brand" }, "Bohrbug"),
      h("span", { class: "test" }, found.title),
      h("span", { class: "spacer" }),
      themeButton(),
    ),
    h(
      "main",
      { class: "index" },
      h("h1", {}, found.title),
      h("p", { class: "quiet" }, found.summary),
      h("div", { class: "index-controls" }, ...buttons.map(({ element }) => element), filter, status),
      h("div", { class: "wide" }, h("table", { class: "tests" }, h("thead", {}, h("tr", {}, ...heads)), body)),
    ),
  );
  draw();
}
