/** The stack, deployed by the command that the documentation gives, from a folder with a release of the product. */
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { REGION } from '../karpenter/world.ts';
import { run } from '../karpenter/processes.ts';
import type { Ministack } from './ministack.ts';

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));

/** All that a deployment is made from. */
const SOURCES = [
  'serverless.yml',
  'package.json',
  'tsconfig.json',
  'infra',
  'functions',
  'rollout',
  'adapters',
  'statemachine',
];

/** Metric math is all of the package that ministack does not know: the one setting that leaves it out is documented. */
export const deploy = ({ environment }: Ministack, release: string): Promise<string> =>
  run({
    name: 'npm run deploy',
    command: 'npm',
    args: ['run', 'deploy', '--', '--region', REGION, '--param=alarms=false'],
    cwd: release,
    env: environment,
  });

/** By the command of the documentation too. */
export const remove = ({ environment }: Ministack, release: string): Promise<string> =>
  run({
    name: 'npm run remove',
    command: 'npm',
    args: ['run', 'remove', '--', '--region', REGION],
    cwd: release,
    env: environment,
  });

/** This checkout's, in a folder of its own: osls works in it, and others may package beside. */
export function presentRelease(): string {
  return releaseIn('present');
}

/** A release after the present one, whose functions all say `marker` in their logs when they are started. */
export function nextRelease(marker: string): string {
  const folder = releaseIn('next');
  const bundles = join(folder, 'infra/bundles.yml');
  const before = readFileSync(bundles, 'utf8');
  const banner = 'banner:\n  js: ';
  if (!before.includes(banner)) throw new Error(`${bundles} has no banner any more to put the marker into`);
  writeFileSync(bundles, before.replace(banner, `${banner}console.info("${marker}"); `));
  return folder;
}

function releaseIn(name: string): string {
  const folder = join(CHECKOUT, 'out/deployed', name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const source of SOURCES) cpSync(join(CHECKOUT, source), join(folder, source), { recursive: true });
  symlinkSync(join(CHECKOUT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
