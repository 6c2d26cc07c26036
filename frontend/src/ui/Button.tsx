import type { JSX } from "preact";

interface Look {
  readonly kind?: "primary" | "danger" | undefined;
  readonly small?: boolean;
}

/** A button that submits nothing unless its `type` says so. */
export function Button({ kind, small, ...button }: Look & JSX.IntrinsicElements["button"]): JSX.Element {
  const look = ["button", small === true ? "small" : "", kind ?? ""].filter((name) => name !== "");
  return <button type="button" class={look.join(" ")} {...button} />;
}
