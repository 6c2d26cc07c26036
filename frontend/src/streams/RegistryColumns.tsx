import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SubjectColumns } from "../api/documents";
import { answered, client, explainProblems } from "../api/request";
import { Button } from "../ui/Button";
import { TextField } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { fieldsOfSubject, leftOutText, subjectOf } from "./registryColumns";
import type { StreamFields } from "./streamFields";

interface Props {
  readonly fields: StreamFields;
  readonly set: (changes: Partial<StreamFields>) => void;
}

/** Fills the columns of a topic's stream in from the newest schema of a subject. */
export function RegistryColumns({ fields, set }: Props): JSX.Element {
  const [typed, setTyped] = useState("");
  const [found, setFound] = useState<SubjectColumns | null>(null);
  const [problems, setProblems] = useState<readonly string[]>([]);
  const [busy, setBusy] = useState(false);
  const ask = (): void => {
    setBusy(true);
    setFound(null);
    setProblems([]);
    const format = fields.settings.format as "json" | "avro" | "protobuf";
    answered(
      client.POST("/api/schema-registry/columns/", {
        body: { topic: fields.settings.topic ?? "", format, subject: typed.trim() },
      }),
    )
      .then(
        (answer) => {
          setFound(answer);
          set(fieldsOfSubject(answer, fields));
        },
        (error: unknown) => setProblems(explainProblems(error)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <div class="form-row">
      <TextField
        label="Subject in the registry"
        class="mono"
        value={typed}
        placeholder={subjectOf(fields) || "TOPIC-value"}
        autocomplete="off"
        onValue={setTyped}
      />
      <Button disabled={busy || subjectOf(fields) === ""} onClick={ask}>
        Columns from the registry
      </Button>
      {problems.map((problem) => (
        <ProblemLine key={problem} text={problem} />
      ))}
      {found !== null && (
        <p class="muted" role="status">
          The columns above are those of schema {found.schema_id} of {found.subject}. {leftOutText(found)}
        </p>
      )}
    </div>
  );
}
