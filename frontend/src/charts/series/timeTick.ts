/** What stands at a tick of an axis of time: as fine as the tick is. */
import { utcDay, utcFormat, utcMinute, utcSecond, utcYear } from "d3";

const YEAR = utcFormat("%Y");
const DAY = utcFormat("%b %-d");
const MINUTE = utcFormat("%H:%M");
const SECOND = utcFormat("%H:%M:%S");
const MILLISECOND = utcFormat("%S.%L");

/** `timeTick(new Date("2026-11-26T16:00Z"))` is `16:00`, at midnight it is `Nov 26`; UTC. */
export function timeTick(at: Date): string {
  if (utcSecond.floor(at) < at) return MILLISECOND(at);
  if (utcMinute.floor(at) < at) return SECOND(at);
  if (utcDay.floor(at) < at) return MINUTE(at);
  return (utcYear.floor(at) < at ? DAY : YEAR)(at);
}
