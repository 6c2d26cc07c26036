/** A question that is asked again and again. */
export interface Repeated {
  /** Asks, and shows nothing any more of what was asked before: something may have been changed since. */
  ask(): void;
  /** Asks if there is no answer to be waited for. */
  again(): void;
  end(): void;
}

/** An answer that takes longer is not waited for alone: its connection may be a dead one. */
export const LONG_MS = 30_000;

/**
 * Shows each answer, unless one to a later question is shown already.
 *
 * A server that takes longer to answer than the page waits between two questions is asked less often: were
 * an answer not shown because a newer one is on its way, none ever would be.
 */
export function repeated<T>(
  load: () => Promise<T>,
  answer: (value: T) => void,
  problem: (error: unknown) => void,
): Repeated {
  let asked = 0;
  let askedAt = 0;
  let heard = 0;
  let least = 0;
  let ended = false;
  const send = (): void => {
    if (ended) return;
    asked += 1;
    askedAt = performance.now();
    const mine = asked;
    const counts = (): boolean => {
      if (ended || mine < least || mine <= heard) return false;
      heard = mine;
      return true;
    };
    load().then(
      (value) => {
        if (counts()) answer(value);
      },
      (error: unknown) => {
        if (counts()) problem(error);
      },
    );
  };
  return {
    ask() {
      least = asked + 1;
      send();
    },
    again() {
      if (heard === asked || performance.now() - askedAt >= LONG_MS) send();
    },
    end() {
      ended = true;
    },
  };
}
