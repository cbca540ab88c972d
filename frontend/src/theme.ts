// Light or dark: as the system says, until somebody chooses.

import { h } from "./dom";

const KEY = "bohrbug-theme";

function stored(): string | null {
  // Storage may be forbidden to a page that was opened as a file.
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function store(theme: string): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The choice lasts as long as the page.
  }
}

const system = matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];

function isDark(): boolean {
  const chosen = document.documentElement.dataset["theme"];
  return chosen ? chosen === "dark" : system.matches;
}

export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

export function toggleTheme(): void {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset["theme"] = theme;
  store(theme);
  listeners.forEach((listener) => listener());
}

export function themeButton(): HTMLElement {
  const chosen = stored();
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset["theme"] = chosen;
  system.addEventListener("change", () => listeners.forEach((listener) => listener()));
  return h(
    "button",
    { type: "button", class: "icon", title: "Light or dark (t)", "aria-label": "Light or dark", onclick: toggleTheme },
    "◐",
  );
}

export const calm = matchMedia("(prefers-reduced-motion: reduce)");
