import type { JSX } from "preact";
import type { Quota } from "../api/documents";
import { LimitsForm } from "../ui/LimitsForm";
import { Loading } from "../ui/Loading";
import type { Limits } from "../ui/limits";
import { useLoaded } from "../ui/useLoaded";

const FIELDS = [
  ["topologies", "Topologies"],
  ["streams", "Streams"],
  ["queries", "Queries"],
  ["versions", "Versions of a query"],
  ["alerts", "Alerts"],
  ["tokens", "Tokens"],
] as const;

interface Props {
  /** Whose they are, in a sentence. */
  readonly whose: string;
  readonly load: () => Promise<Quota>;
  readonly save: (changed: Limits) => Promise<unknown>;
}

/** How much an account, or each member of a team, may have. */
export function Quotas({ whose, load, save }: Props): JSX.Element {
  const { value, problem, reload } = useLoaded(load);
  if (value === null) return <Loading problem={problem} />;
  return (
    <LimitsForm
      label={`How much ${whose} may have`}
      fields={FIELDS}
      limits={Object.fromEntries(FIELDS.map(([name]) => [name, value[name] ?? null]))}
      otherwise="as everywhere"
      save={save}
      onSaved={reload}
    />
  );
}
