// `npm run docs`: runs every generator, scripts/generate-*.ts. With --check (as `npm run check` does) a generator
// writes nothing and ends with 1 when what it would write is not what is there.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';

for (const generator of globSync('scripts/generate-*.ts').sort()) {
  const run = spawnSync(process.execPath, [generator, ...process.argv.slice(2)], { stdio: 'inherit' });
  if (run.status !== 0) process.exitCode = 1;
}
