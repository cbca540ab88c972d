// Making elements.  All text of the document goes through text nodes: nothing of it is markup.

export type Child = Node | string | number | null | undefined | false;

type Attributes = Record<string, string | number | boolean | EventListener | undefined>;

function dress(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

function fill(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === "number" ? String(child) : child);
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  dress(element, attributes);
  fill(element, children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  dress(element, attributes);
  fill(element, children);
  return element;
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  fill(element, children);
}

/** The value of a custom property of the page, such as a colour of the theme. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export const TASK_COLOURS = 8;

export function taskColour(task: number): string {
  return `var(--task-${task % TASK_COLOURS})`;
}

/** The id of a task on its colour. */
export function chip(task: number, id: string): HTMLElement {
  const element = h("span", { class: "chip" }, id);
  element.style.setProperty("--own", taskColour(task));
  return element;
}

export function count(number: number, word: string): string {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}
