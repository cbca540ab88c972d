// The head of the page: what fails, if and only if what, and which lines in which order.

import { NOWHERE } from "./document";
import { chip, h, taskColour } from "./dom";
import type { Execution } from "./execution";
import { Highlighter, languageOf } from "./highlight";
import { deadlockGraph } from "./graph";

function sentence(execution: Execution): HTMLElement {
  const { page } = execution;
  if (!page.cause.length) return h("p", { class: "sentence" }, page.sentence || page.repeating);
  return h(
    "div",
    { class: "sentence" },
    ...page.cause.map((line) => h("p", { class: `depth-${Math.min(line.depth, 2)}` }, line.words)),
  );
}

function code(execution: Execution, place: number): HTMLElement {
  const found = execution.place(place);
  const language = found ? languageOf(execution.page.files[found[0]].path) : "none";
  return h("code", {}, ...new Highlighter(language).line(execution.source(place)));
}

function moments(execution: Execution, go: (step: number, place?: number) => void): HTMLElement {
  const { page } = execution;
  const list = h("ol", { class: "moments", "aria-label": "The operations at fault, in the order of this schedule" });
  page.moments.forEach((moment, number) => {
    const step = moment.step ?? moment.near;
    const never = moment.step === null && page.kind !== "race";
    const isEnd = moment.place === page.failing && moment.words === page.message;
    const place = execution.place(moment.place);
    const inFunction = place && place[2] && place[2] !== "?" ? ` in ${place[2]}` : "";
    const item = h(
      "li",
      { class: never && !isEnd ? "moment is-never" : "moment" },
      h(
        "button",
        { type: "button", onclick: () => step !== null && go(step, moment.place), "data-step": step ?? "" },
        h("span", { class: "moment-number", "aria-hidden": "true" }, isEnd ? "✗" : number + 1),
        h(
          "span",
          { class: "moment-main" },
          moment.place === NOWHERE ? null : code(execution, moment.place),
          h(
            "span",
            { class: "moment-words" },
            chip(moment.task, page.tasks[moment.task].id),
            moment.words,
          ),
        ),
        h("span", { class: "moment-place" }, execution.placeName(moment.place), h("span", { class: "quiet" }, inFunction)),
      ),
    );
    item.style.setProperty("--own", taskColour(moment.task));
    list.append(item);
  });
  const last = page.moments[page.moments.length - 1];
  const told = (last && last.words === page.message) || execution.isLog;
  if (!told && !page.race) {
    list.append(
      h(
        "li",
        { class: page.passed ? "moment is-passed" : "moment is-end" },
        h(
          "button",
          { type: "button", onclick: () => go(execution.count), "data-step": execution.count },
          h("span", { class: "moment-number", "aria-hidden": "true" }, page.passed ? "✓" : "✗"),
          h(
            "span",
            { class: "moment-main" },
            page.failing === NOWHERE ? null : code(execution, page.failing),
            h("span", { class: "moment-words" }, page.message),
          ),
          h("span", { class: "moment-place" }, execution.placeName(page.failing)),
        ),
      ),
    );
  }
  return list;
}

export function hero(execution: Execution, go: (step: number, place?: number) => void): HTMLElement {
  const { page } = execution;
  const graph = page.deadlock && page.deadlock.cycle.length > 1 ? deadlockGraph(execution, go) : null;
  const verb = h(
    "div",
    { class: "hero-why" },
    h("h2", { class: "label" }, page.cause.length ? "Why" : execution.isLog ? "What differs" : "How it comes about"),
    sentence(execution),
    page.evidence ? h("p", { class: "quiet" }, page.evidence) : null,
  );
  const order = h(
    "div",
    { class: "hero-order" },
    h("h2", { class: "label" }, page.race ? "Both sides of the race" : execution.isLog ? "Where the two part" : "In this order"),
    moments(execution, go),
  );
  return h(
    "section",
    { class: graph ? "hero has-graph" : "hero", "aria-label": "The failure" },
    h(
      "div",
      { class: "hero-head" },
      h("span", { class: page.passed ? "kind is-passed" : "kind" }, page.kind),
      page.counted ? null : h("span", { class: "kind is-quiet" }, "not counted: a timeout ends early"),
      h("h1", {}, page.headline),
      h("p", { class: "where" }, [page.where, page.found].filter(Boolean).join(" · ")),
    ),
    page.sentence || page.cause.length || page.repeating ? verb : null,
    page.moments.length || !execution.isLog ? order : null,
    graph ? h("div", { class: "hero-graph" }, h("h2", { class: "label" }, page.deadlock?.title ?? ""), graph) : null,
  );
}
