import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { OPEN_PALETTE } from "./CommandPalette";
import { applyTheme, chosenTheme, nextTheme, THEME_CHOSEN } from "./theme";

const SIGNS = { system: "◐", light: "○", dark: "●" } as const;

/** The foot of the rail: find anything, and light or dark. */
export function ThemeToggle(): JSX.Element {
  const [theme, setTheme] = useState(chosenTheme);
  useEffect(() => {
    const show = (): void => setTheme(chosenTheme());
    window.addEventListener(THEME_CHOSEN, show);
    return () => window.removeEventListener(THEME_CHOSEN, show);
  }, []);
  return (
    <div class="rail-foot">
      <button
        type="button"
        class="rail-button"
        title="Find anything (Ctrl-K)"
        onClick={() => window.dispatchEvent(new Event(OPEN_PALETTE))}
      >
        <span aria-hidden="true">⌕</span> <span class="rail-text">Find</span>{" "}
        <kbd class="rail-text">Ctrl K</kbd>
      </button>
      <button
        type="button"
        class="rail-button"
        onClick={() => applyTheme(nextTheme(theme))}
        title="Change between the system's, a light and a dark theme"
      >
        <span aria-hidden="true">{SIGNS[theme]}</span>{" "}
        <span class="rail-text">
          {theme === "system" ? "System theme" : `${theme === "light" ? "Light" : "Dark"} theme`}
        </span>
      </button>
    </div>
  );
}
