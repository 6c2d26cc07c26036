import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { answered, client } from "../api/request";
import { SelectField } from "./fields";
import { useLoaded } from "./useLoaded";

interface Props {
  readonly label: string;
  /** "" for none. */
  readonly team: string;
  readonly onChange: (team: string) => void;
}

/** A choice among one's own teams, the one that it began with, and none. */
export function TeamField({ label, team, onChange }: Props): JSX.Element {
  const me = useLoaded(() => answered(client.GET("/api/me/")));
  const [first] = useState(team);
  const teams = new Set([...(me.value?.teams ?? []), ...(first === "" ? [] : [first])]);
  const options = [["", "none"] as const, ...[...teams].sort()];
  return <SelectField label={label} value={team} options={options} onValue={onChange} />;
}
