import { describe, expect, it } from "vitest";
import type { SubjectColumns } from "../api/documents";
import { fieldsOfSubject, hasRegistry, leftOutText, subjectOf } from "./registryColumns";
import { EMPTY, type StreamFields } from "./streamFields";

const FOUND: SubjectColumns = {
  subject: "orders-value",
  schema_id: 7,
  columns: [
    { name: "at", found: "timestamp-millis", type: "timestamp" },
    { name: "amount", found: "null or double", type: "double" },
    { name: "tags", found: "array", type: null },
  ],
};
const form = (changes: Partial<StreamFields>): StreamFields => ({ ...EMPTY, connector: "kafka", ...changes });

describe("columns from the registry", () => {
  it("are the schema's, with its only timestamp as event time", () => {
    const fields = form({ columns: [{ name: "old", type: "string" }], eventTime: "when" });
    expect(fieldsOfSubject(FOUND, fields)).toEqual({
      columns: [
        { name: "at", type: "timestamp" },
        { name: "amount", type: "double" },
      ],
      eventTime: "at",
    });
  });

  it("leave the columns of the record's key and time, which are not in values", () => {
    const columns = [
      { name: "id", type: "string" },
      { name: "when", type: "timestamp" },
    ] as const;
    const settings = { key: "id", record_time: "true" };
    expect(fieldsOfSubject(FOUND, form({ columns, eventTime: "when", settings }))).toEqual({
      columns: [...columns, { name: "at", type: "timestamp" }, { name: "amount", type: "double" }],
      eventTime: "when",
    });
  });

  it("say what is left out", () => {
    expect(leftOutText(FOUND)).toBe("Left out, for they are of no column type: tags (array).");
    expect(leftOutText({ ...FOUND, columns: FOUND.columns.slice(0, 2) })).toBeNull();
  });

  it("are offered for topics whose values name their schemas", () => {
    expect(hasRegistry(form({ settings: { registry: "true" } }))).toBe(true);
    expect(hasRegistry(form({ settings: { registry: "false" } }))).toBe(false);
    expect(hasRegistry({ ...form({ settings: { registry: "true" } }), connector: "files" })).toBe(false);
    expect(subjectOf(form({ settings: { topic: "orders" } }))).toBe("orders-value");
    expect(subjectOf(form({}))).toBe("");
  });
});
