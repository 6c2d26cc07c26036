/** What stands in the form of an alert, what of it is sent, and a rule in words. Pure. */
import type { AlertRule, AlertRuleWrite } from "../api/documents";
import { span, whole } from "../format/quantities";

export interface AlertFields {
  readonly name: string;
  /** Empty for every topology. */
  readonly topology: string;
  readonly channel: "webhook" | "email";
  readonly target: string;
  readonly onFailed: boolean;
  /** As typed: seconds, empty for not told. */
  readonly lag: string;
  readonly stuck: string;
  /** As typed: dead letters, milliseconds, megabytes and cores, empty for not told. */
  readonly letters: string;
  readonly latency: string;
  readonly state: string;
  readonly cores: string;
  /** Empty for none. */
  readonly team: string;
}

export const EMPTY: AlertFields = {
  name: "",
  topology: "",
  channel: "webhook",
  target: "",
  onFailed: true,
  lag: "",
  stuck: "60",
  letters: "",
  latency: "",
  state: "",
  cores: "",
  team: "",
};

const orNull = (text: string): string | null => (text.trim() === "" ? null : text.trim());
/** What is no number becomes one that the server refuses: it must not pass for "not told". */
const amount = (text: string): number | null => {
  const given = orNull(text);
  if (given === null) return null;
  const value = Number(given);
  return Number.isFinite(value) ? value : -1;
};

export function documentOf(fields: AlertFields): AlertRuleWrite {
  return {
    name: fields.name.trim(),
    topology: orNull(fields.topology),
    channel: fields.channel,
    target: fields.target.trim(),
    on_failed: fields.onFailed,
    lag_seconds: amount(fields.lag),
    stuck_seconds: amount(fields.stuck),
    letters_per_minute: amount(fields.letters),
    latency_ms: amount(fields.latency),
    state_mb: amount(fields.state),
    cores: amount(fields.cores),
    enabled: true,
    team: orNull(fields.team),
  };
}

type Told = Pick<
  AlertRule,
  "on_failed" | "lag_seconds" | "stuck_seconds" | "letters_per_minute" | "latency_ms" | "state_mb" | "cores"
>;

/** "it fails, lags by 1 min, stands still for 30 s" */
export function toldOf(rule: Told): string {
  return [
    rule.on_failed ? "it fails" : null,
    rule.lag_seconds === null ? null : `lags by ${span(rule.lag_seconds * 1000)}`,
    rule.stuck_seconds === null ? null : `stands still for ${span(rule.stuck_seconds * 1000)}`,
    lettersTold(rule.letters_per_minute),
    rule.latency_ms === null ? null : `takes longer than ${span(rule.latency_ms)} for a result`,
    rule.state_mb === null ? null : `holds more than ${whole(rule.state_mb)} MB`,
    rule.cores === null ? null : `uses more than ${rule.cores} cores`,
  ]
    .filter((part) => part !== null)
    .join(", ");
}

function lettersTold(most: number | null): string | null {
  if (most === null) return null;
  return most === 0 ? "has dead letters" : `has more than ${whole(most)} dead letters in a minute`;
}
