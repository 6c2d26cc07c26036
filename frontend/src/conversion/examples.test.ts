import { expect, it } from "vitest";
import type { StreamDocument } from "../api/documents";
import { examplesOf } from "./examples";

type Columns = Readonly<Record<string, string>>;

function stream(name: string, columns: Columns, changes: Partial<StreamDocument> = {}): StreamDocument {
  return {
    name,
    event_time: "at",
    columns: Object.entries({ at: "timestamp", ...columns }).map(([column, type]) => ({
      name: column,
      type,
    })),
    ...changes,
  } as StreamDocument;
}
const FLIGHTS = { flight: "string", tail: "string", origin: "string", dest: "string", carrier: "string" };
const DEPARTURES = stream("departures", { ...FLIGHTS, delay: "double" });
const ARRIVALS = stream("arrivals", { ...FLIGHTS, delay: "double" });
const WEATHER = stream("weather", { airport: "string", wind_speed: "double" });

it("has the demo's own where its streams are", () => {
  expect(examplesOf([ARRIVALS, DEPARTURES, WEATHER]).map(({ title }) => title)).toEqual([
    "Planes that came late and leave in strong wind",
    "Late flights of busy carriers",
    "Planes that landed and did not leave",
  ]);
  expect(examplesOf([ARRIVALS, DEPARTURES])).toHaveLength(2);
});

it("joins streams on the column that most of them have, whatever it is called", () => {
  const streams = [
    stream("orders", { "order id": "bigint", state: "string" }),
    stream("payments", { "order id": "bigint", state: "string" }),
    stream("parcels", { "order id": "bigint" }),
  ];
  const [nested, groups, alone] = examplesOf(streams);
  expect(nested?.sql).toBe(`SELECT t."order id"
FROM (
  SELECT a."order id"
  FROM "orders" AS a JOIN "payments" AS b ON a."order id" = b."order id"
) AS t
JOIN "parcels" AS c ON t."order id" = c."order id"`);
  expect(groups?.title).toBe("Matches by order id");
  expect(alone?.sql).toContain('NOT EXISTS (SELECT * FROM "payments" AS b');
  expect(examplesOf(streams.slice(0, 2))[0]?.sql).toContain('FROM (SELECT "order id" FROM "orders"');
});

it("has none where no two streams can be joined by equal values", () => {
  const orders = stream("orders", { id: "bigint", amount: "double" });
  expect(examplesOf([])).toEqual([]);
  expect(examplesOf([orders, stream("payments", { id: "string", amount: "double" })])).toEqual([]);
  expect(examplesOf([orders, stream("rates", { id: "bigint" }, { kind: "table" })])).toEqual([]);
  expect(examplesOf([orders, stream("late", { id: "bigint" }, { late: "join" })])).toEqual([]);
});
