/** moto comes from PyPI into .cache/ and is kept there. */
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

/** Where moto's server is, which is installed first where it is not yet. Ends the process where that cannot be. */
export function installMoto(lane: string): string {
  const wanted = readFileSync(requirements, 'utf8');
  if (!existsSync(installed) || readFileSync(installed, 'utf8') !== wanted) {
    if (!run('python3', ['-m', 'venv', venv])) {
      give(
        `npm run ${lane} needs Python 3.10 or later with venv: install python3 and python3-venv, and run it again`,
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
  return `${venv}/bin/moto_server`;
}
