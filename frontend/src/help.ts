// What the keys do.

import { h } from "./dom";

const KEYS: [string, string][] = [
  ["← →  or  k j", "one step back, one step on"],
  ["Home End", "first step, the end"],
  ["p n", "previous, next preemption or late task"],
  ["space", "play or pause"],
  ["o", "only what matters, or all steps"],
  ["/", "filter steps; Esc clears"],
  ["t", "light or dark"],
  ["?", "this list"],
];

export function helpDialog(): HTMLDialogElement {
  const dialog = h(
    "dialog",
    { class: "help", "aria-label": "Keys" },
    h("h2", {}, "Keys"),
    h("dl", {}, ...KEYS.flatMap(([keys, words]) => [h("dt", {}, keys), h("dd", {}, words)])),
    h("form", { method: "dialog" }, h("button", { class: "control" }, "Close")),
  );
  // Submitting is forbidden to the page, so the button closes by itself.
  dialog.querySelector("button")?.addEventListener("click", (event) => {
    event.preventDefault();
    dialog.close();
  });
  return dialog;
}
