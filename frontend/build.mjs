// Builds the front end into the package: one script and one style sheet, in ASCII, and a checksum of
// the sources, by which a test knows that they were built after they were changed.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const outdir = process.argv[2] ?? here("../src/bohrbug/report/html/assets");

await build({
  entryPoints: { report: here("src/main.ts") },
  outdir,
  bundle: true,
  minify: true,
  charset: "ascii",
  legalComments: "none",
  target: ["chrome110", "firefox110", "safari16"],
  format: "iife",
  logLevel: "warning",
});

const sources = readdirSync(here("src")).map((name) => here(`src/${name}`));
const checksum = createHash("sha256");
for (const path of [...sources, here("package-lock.json")].sort()) checksum.update(readFileSync(path));
writeFileSync(join(outdir, "sources.sha256"), `${checksum.digest("hex")}\n`);
