// `npm run test:aws`: the suites of the ports, and the real adapters with them, against moto on 127.0.0.1. moto comes
// from PyPI into .cache/ and is kept there.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const venv = at('../../.cache/python');
const requirements = at('requirements.txt');
/** What was installed last. */
const installed = at('../../.cache/python/imds-rollout-requirements.txt');

const run = (command: string, args: string[]): boolean =>
  spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] }).status === 0;

function give(problem: string): never {
  console.error(problem);
  process.exit(1);
}

const wanted = readFileSync(requirements, 'utf8');
if (!existsSync(installed) || readFileSync(installed, 'utf8') !== wanted) {
  if (!run('python3', ['-m', 'venv', venv])) {
    give(
      'npm run test:aws needs Python 3.10 or later with venv: install python3 and python3-venv, and run it again',
    );
  }
  console.log('installing moto into .cache/python');
  if (!run(`${venv}/bin/pip`, ['install', '--quiet', '--disable-pip-version-check', '-r', requirements])) {
    give(
      `moto could not be installed from PyPI: see above, and run \`${venv}/bin/pip install -r ${requirements}\``,
    );
  }
  writeFileSync(installed, wanted);
}

const vitest = at('../../node_modules/vitest/vitest.mjs');
const { status } = spawnSync(
  process.execPath,
  [vitest, 'run', '--config', at('vitest.config.ts'), ...process.argv.slice(2)],
  { stdio: 'inherit' },
);
process.exit(status ?? 1);
