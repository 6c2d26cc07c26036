import { expect, it } from "vitest";
import { withExactIntegers } from "./exactIntegers";

it.each([
  ['{"a":9007199254740993}', '{"a":"9007199254740993"}'],
  ["[-9223372036854775808,1]", '["-9223372036854775808",1]'],
  // The last that JavaScript has, and the first that it has not.
  ["[9007199254740991,9007199254740992]", '[9007199254740991,"9007199254740992"]'],
])("keeps all digits of %s", (json, expected) => {
  expect(withExactIntegers(json)).toBe(expected);
});

it.each([
  '{"us":1790000000000000,"x":0.12345678901234567,"y":1.5e300,"z":123456789012345678.0}',
  '{"text":"9007199254740993","quoted":"\\"9007199254740993\\"","9007199254740993":1}',
  '{"few":12}',
])("leaves %s alone", (json) => {
  expect(withExactIntegers(json)).toBe(json);
});
