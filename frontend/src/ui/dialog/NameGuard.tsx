import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { submits } from "../fields";

interface Props {
  readonly title: string;
  /** What has to be typed. */
  readonly name: string;
  readonly confirm: string;
  /** What the button says that leaves everything as it is. */
  readonly keep: string;
  readonly children: ComponentChildren;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Says what will happen, and lets nobody do it who has not typed the name of what it happens to. */
export function NameGuard({ title, name, confirm, keep, children, onConfirm, onClose }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="guard-title" onClose={onClose}>
      <form method="dialog" onSubmit={submits(() => typed === name && onConfirm())}>
        <h2 id="guard-title">{title}</h2>
        {children}
        <label class="field">
          <span>
            Type <strong>{name}</strong> to confirm
          </span>
          <input
            type="text"
            value={typed}
            autocomplete="off"
            autofocus
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <div class="dialog-actions">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            {keep}
          </button>
          <button type="submit" class="button danger" disabled={typed !== name}>
            {confirm}
          </button>
        </div>
      </form>
    </dialog>
  );
}
