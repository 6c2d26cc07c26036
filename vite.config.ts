import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

/**
 * One entry mounts every island. The backend's pages find its files through `dist/.vite/manifest.json`
 * and serve them under `base`. `npm run dev` builds anew whenever a source changes; the product serves
 * the files that were there when it started.
 */
export default defineConfig({
  root: "frontend",
  base: "/static/frontend/",
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
    // Tests that draw ask for a document with `@vitest-environment jsdom`, which takes a second to load.
    environment: "node",
    include: ["src/**/*.test.ts", "src/**/*.test.tsx"],
    // A busy machine is slow, not wrong.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
