import { expect, it } from "vitest";
import type { QueryDocument } from "../api/documents";
import { matches, parseSearch } from "./search";

const query: QueryDocument = {
  id: 1,
  name: "late-rotations",
  description: "A late plane leaves late",
  tags: ["delay", "plane"],
  favourite: false,
  team: null,
  suspended: null,
  applied: null,
  correctness: null,
  chart: null,
  owner: "demo",
  owner_is_service: false,
  sql: "SELECT a.tailnum FROM arrivals AS a",
  version: 2,
  streams: ["arrivals", "departures"],
  inputs: [],
  outputs: [],
  status: "running",
  topology: "flights",
  deployed_version: 2,
  can_edit: true,
  created_at: "2026-11-21T00:00:00Z",
  updated_at: "2026-11-21T00:00:00Z",
};
const finds = (text: string, me = "demo"): boolean => matches(query, parseSearch(text), me);

it("finds words in name, description, tags and SQL", () => {
  for (const text of ["rotations", "LATE plane", "delay", "tailnum", ""]) expect(finds(text)).toBe(true);
  expect(finds("late weather")).toBe(false);
});

it("narrows by fields, all of which must hold", () => {
  expect(finds("stream:arrivals status:run tag:del")).toBe(true);
  expect(finds("stream:weather")).toBe(false);
  expect(finds("owner:me")).toBe(true);
  expect(finds("owner:me", "other")).toBe(false);
  expect(finds("name:rot status:draft")).toBe(false);
});

it("does not narrow by a field that is still being typed", () => {
  expect(finds("stream:")).toBe(true);
});

it("treats an unknown field as a word", () => {
  expect(parseSearch("foo:bar").words).toEqual(["foo:bar"]);
});
