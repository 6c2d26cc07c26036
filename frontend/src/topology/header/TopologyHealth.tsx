import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { answered, client } from "../../api/request";
import { HealthLine } from "../../overview/HealthLine";
import { healthOf } from "../../overview/health";
import { useLoaded } from "../../ui/useLoaded";

const REFRESH_MS = 10_000;

/** Whether anything is wrong with one topology: state, lag, dead letters and checks, in the overview's words. */
export function TopologyHealth({ name }: { readonly name: string }): JSX.Element {
  const { value, problem } = useLoaded(() => answered(client.GET("/api/overview/")), REFRESH_MS);
  const health = useMemo(
    () =>
      value === null
        ? null
        : healthOf({
            ...value,
            topologies: value.topologies.filter(({ topology }) => topology.name === name),
            dead_letters: value.dead_letters.filter(({ topology }) => topology === name),
          }),
    [value, name],
  );
  return <HealthLine health={health} problem={problem} at={value?.at ?? null} />;
}
