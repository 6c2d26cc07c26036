import { useEffect, useState } from "preact/hooks";

/** The wall clock for "12 s ago", once a second. Only pages read it, never the logic. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
