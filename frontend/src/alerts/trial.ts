/** Trying an alert: send a test message, and wait for what becomes of it. */
import type { AlertDelivery } from "../api/documents";
import { answered, at, client } from "../api/request";
import type { Notice } from "../ui/Notice";

const POLL_MS = 500;
/** A receiver has twenty seconds to answer, and the worker may have other messages first. */
const PATIENCE_MS = 40_000;

/** What is known of a message, in a line; null while nobody has tried to send it. */
export function outcomeOf(delivery: Pick<AlertDelivery, "state" | "error" | "attempts">): Notice | null {
  if (delivery.state === "sent") return { text: "delivered", bad: false };
  if (delivery.state === "failed") return { text: `not delivered: ${delivery.error}`, bad: true };
  return delivery.error === ""
    ? null
    : { text: `not delivered so far, and tried again: ${delivery.error}`, bad: true };
}

/** Send a test message; resolves when it was delivered, or when an attempt at it failed. */
export async function tryAlert(id: number): Promise<Notice> {
  const made = await answered(client.POST("/api/alerts/{id}/test/", at({ id })));
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until) {
    const newest = await answered(client.GET("/api/alerts/{id}/deliveries/", at({ id }, { limit: 20 })));
    const mine = newest.find((delivery) => delivery.id === made.id);
    const outcome = mine === undefined ? null : outcomeOf(mine);
    if (outcome !== null) return { ...outcome, text: `The test message was ${outcome.text}.` };
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
  return { text: "The test message still waits for a worker.", bad: true };
}
