import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../Button";
import { submits } from "../fields";

interface Props {
  readonly title: string;
  readonly confirm: string;
  /** What the button says that leaves everything as it is. */
  readonly keep?: string;
  /** What has to be typed before it may be done; absent: nothing. */
  readonly name?: string;
  readonly children: ComponentChildren;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Says what will happen before it does; Escape and the first button leave everything as it is. */
export function ConfirmDialog(props: Props): JSX.Element {
  const { title, confirm, keep = "Leave it", name, children, onConfirm, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const sure = name === undefined || typed === name;
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="confirm-title" onClose={onClose}>
      <form method="dialog" onSubmit={submits(() => sure && onConfirm())}>
        <h2 id="confirm-title">{title}</h2>
        {children}
        {name !== undefined && (
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
        )}
        <div class="dialog-actions">
          <Button onClick={() => dialog.current?.close()}>{keep}</Button>
          <Button type="submit" kind="danger" disabled={!sure}>
            {confirm}
          </Button>
        </div>
      </form>
    </dialog>
  );
}
