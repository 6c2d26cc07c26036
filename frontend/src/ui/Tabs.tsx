import type { ComponentChildren, JSX } from "preact";

interface Props<Name extends string> {
  readonly label: string;
  /** Before the ids, where a page has several rows of tabs. */
  readonly prefix: string;
  readonly names: readonly Name[];
  readonly tab: Name;
  readonly onTab: (tab: Name) => void;
  /** What the chosen tab shows. */
  readonly children: ComponentChildren;
}

/** A row of tabs above what the chosen one shows. */
export function Tabs<Name extends string>(props: Props<Name>): JSX.Element {
  const { label, prefix, names, tab, onTab, children } = props;
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label}>
        {names.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${prefix}-${name}`}
            aria-selected={name === tab}
            aria-controls={`${prefix}-panel`}
            onClick={() => onTab(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <div id={`${prefix}-panel`} role="tabpanel" aria-labelledby={`${prefix}-${tab}`}>
        {children}
      </div>
    </>
  );
}
