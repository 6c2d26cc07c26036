/** Light, dark, or as the system says. The choice is kept in this browser. */
export type Theme = "system" | "light" | "dark";

const KEY = "millrace.theme";

export function chosenTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

/** An event on `window`: another theme was chosen. */
export const THEME_CHOSEN = "millrace:theme";

export function applyTheme(theme: Theme): void {
  if (theme === "system") {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(KEY, theme);
    document.documentElement.dataset.theme = theme;
  }
  window.dispatchEvent(new Event(THEME_CHOSEN));
}

export function nextTheme(theme: Theme): Theme {
  return theme === "system" ? "light" : theme === "light" ? "dark" : "system";
}
