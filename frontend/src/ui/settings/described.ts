/** Settings as fields of a form, made from the JSON Schema that the API hands out. Pure. */
import { z } from "zod";

const KIND = z.object({
  type: z.string(),
  enum: z.array(z.string()).default([]),
  maxLength: z.number().optional(),
  minimum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  maximum: z.number().optional(),
});
const FIELD = KIND.partial({ type: true }).extend({
  title: z.string(),
  description: z.string(),
  anyOf: z.array(KIND).default([]),
  default: z.unknown().optional(),
  "x-columns": z.array(z.string()).optional(),
  "x-labels": z.record(z.string(), z.string()).default({}),
  "x-when": z.record(z.string(), z.string()).default({}),
  "x-lines": z.number().optional(),
});
/** What the API says of a kind of settings: a JSON Schema. */
export type Described = Readonly<Record<string, unknown>>;

const SCHEMA = z.object({
  properties: z.record(z.string(), FIELD),
  required: z.array(z.string()).default([]),
});

/** One setting, as a form shows it. */
export interface Setting {
  readonly name: string;
  readonly label: string;
  readonly help: string;
  readonly type: "string" | "integer" | "number" | "boolean";
  readonly required: boolean;
  /** True if an empty field means that there is no value. */
  readonly nullable: boolean;
  /** Values to choose from, with what the page calls them; empty for what is typed. */
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  /** The types of the columns to choose from; null if it names none. */
  readonly columnTypes: readonly string[] | null;
  /** How many lines the field has; null for a single one. */
  readonly lines: number | null;
  readonly maxLength: number | undefined;
  /** The least and the largest number; `above` is one that is too small already. */
  readonly bounds: Bounds;
  /** By other setting, the value with which this one matters. */
  readonly when: Readonly<Record<string, string>>;
  /** What stands in the field at first. */
  readonly initial: string;
}

interface Bounds {
  readonly least: number | undefined;
  readonly above: number | undefined;
  readonly most: number | undefined;
}

/** What stands in the fields, by the setting's name. */
export type Typed = Readonly<Record<string, string>>;

/** The settings, in the order in which they are declared. */
export function settingsOf(described: Described): Setting[] {
  const schema = SCHEMA.parse(described);
  return Object.entries(schema.properties).map(([name, field]) => {
    const kind = field.anyOf.find(({ type }) => type !== "null") ?? field;
    const type = z.enum(["string", "integer", "number", "boolean"]).parse(kind.type);
    const values = type === "boolean" ? ["false", "true"] : kind.enum;
    return {
      name,
      label: field.title,
      help: field.description,
      type,
      required: schema.required.includes(name),
      nullable: field.anyOf.length > 0,
      choices: values.map((value) => ({ value, label: field["x-labels"][value] ?? value })),
      columnTypes: field["x-columns"] ?? null,
      lines: field["x-lines"] ?? null,
      maxLength: kind.maxLength,
      bounds: { least: kind.minimum, above: kind.exclusiveMinimum, most: kind.maximum },
      when: field["x-when"],
      initial: text(field.default),
    };
  });
}

/** What stands in the fields for a document; for null, at first. */
export function typedOf(described: Described, document: Readonly<Record<string, unknown>> | null): Typed {
  const settings = settingsOf(described);
  return Object.fromEntries(
    settings.map(({ name, initial }) => [name, document === null ? initial : text(document[name])]),
  );
}

/** True if a setting matters with what stands in the other fields. */
export function matters(setting: Setting, typed: Typed): boolean {
  return Object.entries(setting.when).every(([other, value]) => typed[other] === value);
}

/** The settings as they are sent: one that does not matter has its default. */
export function documentOfSettings(described: Described, typed: Typed): Record<string, unknown> {
  return Object.fromEntries(
    settingsOf(described).map((setting) => {
      const value = matters(setting, typed) ? (typed[setting.name] ?? "") : setting.initial;
      return [setting.name, settingValue(setting, value)];
    }),
  );
}

/** What is missing or no number that may be, one line each; the server checks the rest. */
export function faultsOfSettings(described: Described, typed: Typed): string[] {
  return settingsOf(described)
    .filter((setting) => matters(setting, typed))
    .flatMap((setting) => {
      const { label, name, type, required } = setting;
      const value = (typed[name] ?? "").trim();
      if (value === "") return required ? [`${label} is missing.`] : [];
      const wanted = type === "integer" || type === "number";
      return wanted && !mayBe(setting, Number(value))
        ? [`${label} is ${numberOf(setting)}, not ${value}.`]
        : [];
    });
}

function mayBe({ type, bounds: { least, above, most } }: Setting, value: number): boolean {
  return (
    (type === "integer" ? Number.isInteger(value) : Number.isFinite(value)) &&
    (least === undefined || value >= least) &&
    (above === undefined || value > above) &&
    (most === undefined || value <= most)
  );
}

/** What may be typed, for people: "a whole number from 1 to 9". */
function numberOf({ type, bounds: { least, above, most } }: Setting): string {
  return [
    type === "integer" ? "a whole number" : "a number",
    ...(least === undefined ? [] : [most === undefined ? `of at least ${least}` : `from ${least}`]),
    ...(above === undefined ? [] : [`above ${above}`]),
    ...(most === undefined ? [] : [least === undefined ? `up to ${most}` : `to ${most}`]),
  ].join(" ");
}

function settingValue({ type, nullable }: Setting, value: string): unknown {
  if (value.trim() === "" && nullable) return null;
  if (type === "boolean") return value === "true";
  return type === "string" ? value : Number(value);
}

function text(value: unknown): string {
  return value === null || value === undefined ? "" : String(value);
}
