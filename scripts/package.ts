// `npm run package`: the template and the bundles into out/package/, offline and without credentials, and what they
// weigh. Further arguments go to osls.
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, rmSync } from 'node:fs';
import { basename } from 'node:path';
import { readZip } from './package/zip.ts';

// What an interrupted run left there would go into the zips.
rmSync('out/esbuild', { recursive: true, force: true });
const run = spawnSync('osls', ['package', '--package', 'out/package', ...process.argv.slice(2)], {
  stdio: 'inherit',
});
if (run.status !== 0) process.exit(run.status ?? 1);

const kilobytes = (bytes: number): string => `${String(Math.round(bytes / 1024))} KB`.padStart(9);
for (const file of globSync('out/package/*.zip').sort()) {
  const zip = readFileSync(file);
  const bundle = [...readZip(zip).values()].reduce((sum, content) => sum + content.length, 0);
  console.log(
    `${basename(file, '.zip').padEnd(18)}${kilobytes(zip.length)} zipped${kilobytes(bundle)} to load`,
  );
}
