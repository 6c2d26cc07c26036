// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the editor's snippets mark their fields like this
import { describe, expect, it } from "vitest";
import { offersAt, type SchemaRelation } from "./completion";
import { blank, sourcesOf } from "./scope";

const schema: SchemaRelation[] = [
  {
    name: "departures",
    kind: "stream",
    columns: [
      { name: "at", type: "timestamp" },
      { name: "origin", type: "string" },
    ],
  },
  {
    name: "weather",
    kind: "stream",
    columns: [
      { name: "at", type: "timestamp" },
      { name: "wind_speed", type: "double" },
    ],
  },
  { name: "windy", kind: "query", columns: [{ name: "gust", type: "double" }] },
];

/** Offers where `|` stands. */
function labels(marked: string): string[] {
  const position = marked.indexOf("|");
  return offersAt(marked.replace("|", ""), position, schema).offers.map((offer) => offer.label);
}

describe("sourcesOf", () => {
  it("reads both window forms, comma joins, JOIN ... ON and missing AS", () => {
    expect(
      sourcesOf(
        "SELECT * FROM departures [RANGE 1 HOUR] AS d, weather('sliding', '10', 'minutes') w WHERE d.x = 1",
      ),
    ).toEqual([
      { alias: "d", stream: "departures" },
      { alias: "w", stream: "weather" },
    ]);
    expect(
      sourcesOf("SELECT * FROM departures d JOIN weather AS w ON d.a = w.a JOIN windy ON 1 = 1"),
    ).toEqual([
      { alias: "d", stream: "departures" },
      { alias: "w", stream: "weather" },
      { alias: "windy", stream: "windy" },
    ]);
    expect(sourcesOf("SELECT * FROM departures ASOF LEFT JOIN weather ON departures.at >= w")).toEqual([
      { alias: "departures", stream: "departures" },
      { alias: "weather", stream: "weather" },
    ]);
    expect(sourcesOf("SELECT * FROM a JOIN weather FOR SYSTEM_TIME AS OF a.at AS w ON a.k = w.k")).toEqual([
      { alias: "a", stream: "a" },
      { alias: "w", stream: "weather" },
    ]);
  });

  it("does not read strings and comments", () => {
    expect(sourcesOf("SELECT 'from nowhere' FROM weather w -- , departures d")).toEqual([
      { alias: "w", stream: "weather" },
    ]);
    expect(blank("a 'b''c' d")).toBe("a        d");
  });
});

describe("offersAt", () => {
  it("offers the administrator's functions, with what they take, only where an expression stands", () => {
    const own = [{ sql: "similarity", signature: "similarity(string, string) → double, 0.5 µs per pair" }];
    const text = "SELECT 1 FROM weather w WHERE ";
    const offer = offersAt(text, text.length, schema, own).offers.find(
      (found) => found.label === "similarity",
    );
    expect(offer).toMatchObject({ kind: "function", template: "similarity(${})", detail: own[0]?.signature });
    expect(offersAt("SELECT 1 FROM ", 14, schema, own).offers.map((found) => found.label)).not.toContain(
      "similarity",
    );
  });

  it("knows the columns behind an alias, even when FROM comes later", () => {
    expect(labels("SELECT d.| FROM departures AS d")).toEqual(["at", "origin"]);
    expect(labels("SELECT d.or| FROM departures AS d")).toEqual(["at", "origin"]);
    expect(labels("SELECT x.| FROM departures AS d")).toEqual([]);
  });

  it("offers streams and queries after FROM, JOIN and a comma", () => {
    for (const text of [
      "SELECT 1 FROM |",
      "SELECT 1 FROM we|",
      "SELECT 1 FROM weather w, |",
      "SELECT 1 FROM weather w JOIN |",
    ]) {
      expect(labels(text)).toEqual(["departures", "weather", "windy"]);
    }
  });

  it("proposes an alias that is still free", () => {
    const at = "SELECT 1 FROM weather w, ".length;
    const weather = offersAt("SELECT 1 FROM weather w, ", at, schema).offers.find(
      (offer) => offer.label === "weather",
    );
    expect(weather?.template).toBe("weather [RANGE ${10} MINUTES] AS ${we}");
  });

  it("offers windows behind a stream and units inside a window", () => {
    expect(labels("SELECT 1 FROM weather |")).toContain("[RANGE … MINUTES]");
    expect(labels("SELECT 1 FROM weather [RANGE 10 M|")).toContain("MINUTES");
  });

  it("offers qualified columns, aliases and functions in WHERE and ON", () => {
    for (const text of [
      "SELECT 1 FROM departures d, weather w WHERE |",
      "SELECT 1 FROM departures d JOIN weather w ON |",
    ]) {
      const found = labels(text);
      expect(found).toContain("w.wind_speed");
      expect(found).toContain("d");
      expect(found).toContain("ABS");
      expect(found).toContain("AND");
    }
  });

  it("says how a function is called and what it does", () => {
    const text = "SELECT 1 FROM weather w WHERE ";
    const offer = offersAt(text, text.length, schema).offers.find((found) => found.label === "SPLIT_PART");
    expect(offer).toMatchObject({
      template: "SPLIT_PART(${})",
      detail: "SPLIT_PART(text, separator, index)",
      help: "One of the parts between separators; 1 is the first, -1 the last.",
    });
  });

  it("offers nothing inside a string", () => {
    expect(labels("SELECT 1 FROM weather w WHERE w.a = 'we|")).toEqual([]);
  });

  it("starts an empty page with a whole query", () => {
    expect(labels("|")).toEqual(["SELECT"]);
  });
});
