/** The form that says over how many tasks the stores of a topology's streams are spread. Pure. */
import type { TopologyTasks } from "../api/documents";

/** As many as a job tells apart: `MOST_TASKS` of optimizer.logical.stream. */
export const MOST_TASKS = 256;

/** By stream, what stands in its field: a number, or nothing where the load decides. */
export type TaskFields = Readonly<Record<string, string>>;

export function fieldsOf(tasks: TopologyTasks): TaskFields {
  return Object.fromEntries(
    tasks.streams.map((one) => [one.stream, one.fixed === null ? "" : String(one.fixed)]),
  );
}

/** What has to be said to the server: only what differs; a problem if a field holds no number of tasks. */
export function changesOf(
  tasks: TopologyTasks,
  fields: TaskFields,
): { readonly changes: Record<string, number | null>; readonly problem: string | null } {
  const changes: Record<string, number | null> = {};
  for (const { stream, fixed } of tasks.streams) {
    const text = (fields[stream] ?? "").trim();
    const wanted = text === "" ? null : /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (wanted !== null && !(wanted >= 1 && wanted <= MOST_TASKS)) {
      return {
        changes: {},
        problem: `${stream}: found ${text}, expected a whole number from 1 to ${MOST_TASKS}, or nothing`,
      };
    }
    if (wanted !== fixed) changes[stream] = wanted;
  }
  return { changes, problem: null };
}
