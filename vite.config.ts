import { resolve } from "node:path";
import { defineConfig } from "vitest/config";
import { recordedBackend } from "./frontend/dev/recordedBackend.ts";

const backend = process.env["MILLRACE_BACKEND"];

/**
 * One entry mounts every island. The backend's pages find its files through `dist/.vite/manifest.json`
 * and serve them under `base`. `npm run dev` answers from recorded fixtures, or from a
 * running product when MILLRACE_BACKEND names its address.
 */
export default defineConfig({
  root: "frontend",
  base: "/static/frontend/",
  plugins: backend === undefined ? [recordedBackend()] : [],
  server: { port: 5173, strictPort: true, ...(backend === undefined ? {} : { proxy: { "/api": backend } }) },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    manifest: true,
    target: "es2022",
    sourcemap: true,
    chunkSizeWarningLimit: 900,
    rollupOptions: { input: resolve(import.meta.dirname, "frontend/src/main.ts") },
  },
  test: {
    root: "frontend",
    environment: "jsdom",
    include: ["src/**/*.test.ts", "src/**/*.test.tsx"],
  },
});
