// Puts the page together.

import "./report.css";

import { NOWHERE, type IndexDocument, type ReportDocument } from "./document";
import { h, replace } from "./dom";
import { Execution } from "./execution";
import { helpDialog } from "./help";
import { hero } from "./hero";
import { indexPage } from "./index-page";
import { explored, sections } from "./sections";
import { Stage } from "./stage";
import { onTheme, themeButton, toggleTheme } from "./theme";

const VERSION = 1;

function keys(stage: () => Stage | null, help: HTMLDialogElement): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const target = event.target as HTMLElement;
    const now = stage();
    if (target.matches("input:not([type=checkbox]), select, textarea")) {
      if (event.key === "Escape" && target.matches(".filter")) now?.clearFilter();
      return;
    }
    // A button that has the focus is pressed by space, as always.
    if (event.key === " " && target.matches("button, a, input, summary")) return;
    const acts: Record<string, () => void> = {
      ArrowLeft: () => now?.move(-1),
      ArrowRight: () => now?.move(1),
      k: () => now?.move(-1),
      j: () => now?.move(1),
      Home: () => now?.go(0),
      End: () => now?.go(Infinity),
      p: () => now?.jump(-1),
      n: () => now?.jump(1),
      " ": () => now?.toggle(),
      o: () => now?.toggleOnly(),
      "/": () => now?.focusFilter(),
      t: toggleTheme,
      "?": () => help.showModal(),
      Escape: () => now?.clearFilter(),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function report(root: HTMLElement, found: ReportDocument): void {
  const main = h("main", { id: "main", tabindex: -1 });
  const help = helpDialog();
  let stage: Stage | null = null;
  const show = (number: number): void => {
    stage?.stop();
    stage = null;
    const failure = found.failures[number];
    const below = h("div", { class: "sections" });
    main.replaceChildren();
    if (found.notes.length) main.append(h("p", { class: "note" }, found.notes.join("\n")));
    if (failure) {
      const execution = new Execution(failure);
      const go = (step: number, place = NOWHERE): void => {
        stage?.show(step, place);
      };
      main.append(hero(execution, go));
      if (execution.count) {
        stage = new Stage(execution);
        main.append(stage.element);
      }
      below.append(...sections(execution, go).filter((each) => each !== null));
    } else if (found.explored) {
      main.append(
        h(
          "section",
          { class: "hero" },
          h(
            "div",
            { class: "hero-head" },
            h("span", { class: `verdict is-${found.explored.kind.replaceAll(" ", "-")}` }, found.explored.kind),
            h("h1", {}, found.explored.headline),
            h("p", { class: "where" }, found.explored.reason),
          ),
        ),
      );
    }
    if (found.explored) below.append(explored(found.explored));
    main.append(below);
    stage?.start();
  };
  const choose =
    found.failures.length > 1
      ? h(
          "select",
          { class: "choose", "aria-label": "Failure" },
          ...found.failures.map((failure, number) =>
            h("option", { value: number }, `${number + 1} of ${found.failures.length}: ${failure.headline}`),
          ),
        )
      : null;
  choose?.addEventListener("change", () => show(choose.selectedIndex));
  root.append(
    h("a", { class: "skip", href: "#main" }, "To the report"),
    h(
      "header",
      { class: "bar" },
      h("span", { class: "brand" }, "Bohrbug"),
      h("span", { class: "test", title: found.test }, found.test),
      choose,
      h("span", { class: "spacer" }),
      found.index ? h("a", { href: found.index, class: "quiet" }, "all tests") : null,
      h(
        "button",
        { type: "button", class: "icon", title: "Keys (?)", "aria-label": "Keys", onclick: () => help.showModal() },
        "?",
      ),
      themeButton(),
    ),
    main,
    help,
  );
  onTheme(() => stage?.recolour());
  keys(() => stage, help);
  show(0);
}

const root = document.getElementById("report");
const data = document.getElementById("document")?.textContent;
if (root && data) {
  const found = JSON.parse(data) as ReportDocument | IndexDocument;
  if (found.version !== VERSION) replace(root, h("p", {}, "This page was made by another version."));
  else if ("rows" in found) indexPage(root, found);
  else report(root, found);
}
