import type { Plugin } from "vite";
export function recordedBackend(): Plugin { return { name: "recorded-backend" }; }
