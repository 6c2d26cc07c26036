import type { JSX } from "preact";

interface Props {
  readonly name: string;
  readonly isService: boolean;
}

/** An account's name, and that it is no person's if it is not. */
export function AccountName({ name, isService }: Props): JSX.Element {
  return (
    <>
      {name}
      {isService && (
        <>
          {" "}
          <span class="service-mark" title="an account of a program, not of a person">
            service
          </span>
        </>
      )}
    </>
  );
}

/** The same in a sentence. */
export function accountText(name: string, isService: boolean): string {
  return isService ? `${name} (service)` : name;
}
