import { useRef } from "preact/hooks";

/** The value of now, or, for as long as it is to stand still, the first one that was known. */
export function useStill<T>(value: T | null, still: boolean): T | null {
  const kept = useRef(value);
  if (!still || kept.current === null) kept.current = value;
  return kept.current;
}
