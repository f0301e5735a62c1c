/** What comes from PyPI, each set of requirements into an environment of its own in .cache/, and is kept there. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const run = (command: string, args: string[]): boolean =>
  spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] }).status === 0;

const succeeds = (command: string, args: string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;

function give(problem: string): never {
  console.error(problem);
  process.exit(1);
}

/** Where moto's server is, which is installed first where it is not yet. Ends the process where that cannot be. */
export const installMoto = (lane: string): string =>
  `${install(lane, 'moto', at('../../.cache/python'), at('requirements.txt'))}/moto_server`;

/** The folder with the commands of ministack and the AWS CLI, in the same way. */
export const installMinistack = (lane: string): string =>
  install(lane, 'ministack', at('../../.cache/ministack'), at('../deployed/requirements.txt'));

function install(lane: string, what: string, venv: string, requirements: string): string {
  const wanted = readFileSync(requirements, 'utf8');
  /** What was installed last. */
  const installed = `${venv}/imds-rollout-requirements.txt`;
  const isThere = existsSync(installed) && readFileSync(installed, 'utf8') === wanted;
  // Its commands name the place that it was made at: of one that was moved, none can be started.
  if (!isThere || !succeeds(`${venv}/bin/pip`, ['--version'])) {
    if (!run('python3', ['-m', 'venv', '--clear', venv])) {
      give(
        `npm run ${lane} needs Python 3.10 or later with venv: install python3 and python3-venv, and run it again`,
      );
    }
    console.log(`installing ${what} into ${venv}`);
    if (!run(`${venv}/bin/pip`, ['install', '--quiet', '--disable-pip-version-check', '-r', requirements])) {
      give(
        `${what} could not be installed from PyPI: see above, and run \`${venv}/bin/pip install -r ${requirements}\``,
      );
    }
    writeFileSync(installed, wanted);
  }
  return `${venv}/bin`;
}
