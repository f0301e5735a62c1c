// Puts what commands print into the Markdown files that show it: each command is run, and of its output the lines
// that matter are kept; `…` stands for the others. So a number in an example is a number that the command gives.
import { spawn } from 'node:child_process';
import { generate, type Block } from './generated-block.ts';

interface Shown {
  file: string;
  name: string;
  /** As a reader types it. */
  command: string;
  /** What it runs, after `node cli/main.ts`. */
  args: readonly string[];
  exitCode: number;
  /** The lines to keep; every pattern must match one. All where absent. */
  keep?: readonly RegExp[];
}

/** Of what a forecast says; what comes first is enough for a first look. */
const FORECAST = [
  /^What is likely/,
  /^A ROLLOUT FROM/,
  /^(all instances are right|it has ended) /,
  /^- outcome: /,
  /^- modified live/,
  /^BUILD AT RISK/,
  /^builds\/\S+ .* %$/,
  /^- a Build runs for /,
  /^- each call /,
  /^Seed /,
];

const shown: Shown[] = [
  {
    file: 'README.md',
    name: 'npm start',
    command: 'npm start',
    args: ['simulate', 'test/scenarios/default.yaml', '--watch'],
    exitCode: 0,
    keep: [
      /^\S+ +class build: /,
      /^\S+ +node (busy-3h|idle-1): /,
      /^\S+ +Build build-monorepo: /,
      /^\S+ +workflow \S+: SUCCEEDED/,
      /^EXECUTION/,
      /^demo-\d+ .*Succeeded/,
      /^Builds /,
      /^No invariant is broken/,
    ],
  },
  {
    file: 'README.md',
    name: 'karpenter alone',
    command: 'npm run -s imds-rollout -- simulate docs/examples/karpenter-alone.yaml',
    args: ['simulate', 'docs/examples/karpenter-alone.yaml'],
    exitCode: 0,
    keep: [/^Builds /, /^BUILD /, /^build-/],
  },
  {
    file: 'README.md',
    name: 'with holds',
    command: 'npm run -s imds-rollout -- simulate docs/examples/graceful.yaml',
    args: ['simulate', 'docs/examples/graceful.yaml'],
    exitCode: 0,
    keep: [/^Builds /, /^BUILD /, /^build-/],
  },
  {
    file: 'README.md',
    name: 'plan',
    command: 'npm run -s imds-rollout -- plan --scenario test/scenarios/default.yaml --at 80s',
    args: ['plan', '--scenario', 'test/scenarios/default.yaml', '--at', '80s'],
    exitCode: 2,
    keep: [/^Class build/, /^NODE /, /^(idle-1|busy-3h|blocked) /, /^BLOCKED /],
  },
  ...['README.md', 'docs/plan.md'].map((file) => ({
    file,
    name: 'forecast',
    command: 'npm run -s imds-rollout -- plan --scenario test/scenarios/default.yaml --at 1m --forecast 20',
    args: ['plan', '--scenario', 'test/scenarios/default.yaml', '--at', '1m', '--forecast', '20'],
    exitCode: 2,
    keep: file === 'README.md' ? FORECAST.slice(0, 5) : FORECAST,
  })),
  {
    file: 'docs/plan.md',
    name: 'plan',
    command: 'npm run -s imds-rollout -- plan --scenario docs/examples/explained.yaml --at 80s',
    args: ['plan', '--scenario', 'docs/examples/explained.yaml', '--at', '80s'],
    exitCode: 2,
  },
  {
    file: 'README.md',
    name: 'params',
    command:
      'npm run -s imds-rollout -- params set karpenter_build_imds_tokens=Required --scenario test/scenarios/default.yaml',
    args: [
      'params',
      'set',
      'karpenter_build_imds_tokens=Required',
      '--scenario',
      'test/scenarios/default.yaml',
    ],
    exitCode: 1,
  },
];

/** Both streams as a terminal shows them, without colour. */
async function outputOf({ command, args, exitCode }: Shown): Promise<string[]> {
  const env = { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined, TZ: 'UTC' };
  const child = spawn(process.execPath, ['cli/main.ts', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== exitCode)
    throw new Error(`\`${command}\` ended with ${String(code)}, not ${String(exitCode)}:\n${text}`);
  return text.trimEnd().split('\n');
}

function shorten({ command, keep }: Shown, lines: readonly string[]): string[] {
  if (keep === undefined) return [...lines];
  for (const pattern of keep) {
    if (!lines.some((line) => pattern.test(line)))
      throw new Error(`\`${command}\` prints no line like ${String(pattern)}`);
  }
  const marked = lines.map((line) => (keep.some((pattern) => pattern.test(line)) ? line : '…'));
  return marked.filter((line, index) => line !== '…' || marked[index - 1] !== '…');
}

/** What two files show is run once. */
const outputs = new Map<string, Promise<string[]>>();

async function blockOf(each: Shown): Promise<Block> {
  const output = outputs.get(each.command) ?? outputOf(each);
  outputs.set(each.command, output);
  const lines = shorten(each, await output);
  return {
    file: each.file,
    name: each.name,
    text: ['```console', `$ ${each.command}`, ...lines, '```'].join('\n'),
  };
}

await generate(await Promise.all(shown.map(blockOf)));
