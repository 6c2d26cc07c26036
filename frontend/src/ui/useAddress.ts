import { useState } from "preact/hooks";

/** A parameter of the page's address: what is looked at survives a reload and can be sent to somebody. */
export function useAddress(name: string): [string | null, (value: string | null) => void] {
  const [value, setValue] = useState(() => new URLSearchParams(window.location.search).get(name));
  const change = (next: string | null): void => {
    const parameters = new URLSearchParams(window.location.search);
    if (next === null) parameters.delete(name);
    else parameters.set(name, next);
    const query = parameters.toString();
    window.history.replaceState(
      null,
      "",
      `${window.location.pathname}${query === "" ? "" : `?${query}`}${window.location.hash}`,
    );
    setValue(next);
  };
  return [value, change];
}
