import type { JSX } from "preact";
import type { LightState, LightText } from "./correctness";

const SIGNS: Readonly<Record<LightState, string>> = { equal: "✓", differed: "!", differs: "✕", unknown: "◌" };

/** Whether published results are right, as far as the oracle has looked; never by colour alone. */
export function CorrectnessLight({ light }: { light: LightText }): JSX.Element {
  return (
    <span class={`light light-${light.state}`} title={light.detail}>
      <span aria-hidden="true">{SIGNS[light.state]}</span> {light.text}
      {light.detail !== "" && <span class="visually-hidden">. {light.detail}</span>}
    </span>
  );
}
