// Who imports whom, by the rules in .dependency-cruiser.cjs. The cruiser passes happily when it can read no
// TypeScript at all, so every source file on disk must be among the modules that it saw.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';

import { z } from 'zod';

const folders = ['rollout', 'adapters', 'functions', 'simulator', 'cli', 'test', 'scripts', 'bench'].filter(
  (folder) => existsSync(folder),
);
const sources = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`));

const cruised = spawnSync(
  'depcruise',
  ['--config', '.dependency-cruiser.cjs', '--output-type', 'json', ...folders],
  { encoding: 'utf8', maxBuffer: 1 << 28 },
);
if (cruised.error) throw cruised.error;
if (!cruised.stdout.startsWith('{')) {
  throw new Error(`dependency-cruiser gave no result:\n${cruised.stdout}${cruised.stderr}`);
}

const { modules, summary } = z
  .object({
    modules: z.array(z.object({ source: z.string() })),
    summary: z.object({
      violations: z.array(
        z.object({ from: z.string(), to: z.string(), rule: z.object({ name: z.string() }) }),
      ),
    }),
  })
  .parse(JSON.parse(cruised.stdout));

const seen = new Set(modules.map((module) => module.source));
const unseen = sources.filter((source) => !seen.has(source));
if (sources.length === 0 || unseen.length > 0) {
  console.error(
    `dependency-cruiser saw ${sources.length - unseen.length} of ${sources.length} source files` +
      ` (not ${unseen.slice(0, 3).join(', ')}): does it still find a TypeScript it can use?`,
  );
  process.exitCode = 1;
}
for (const { rule, from, to } of summary.violations) {
  console.error(`${rule.name}: ${from} → ${to}`);
  process.exitCode = 1;
}
