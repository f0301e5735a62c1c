// `npm run check`: everything that can be said about the sources without running them. All lanes run, two at a
// time, so that one look shows every finding. A file scripts/check-*.ts is a lane by being there.
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename } from 'node:path';

interface Lane {
  name: string;
  command: string;
  args: string[];
}

const own = globSync('scripts/check-*.ts')
  .sort()
  .map((file): Lane => ({ name: basename(file, '.ts').slice(6), command: process.execPath, args: [file] }));

const lanes: Lane[] = [
  { name: 'eslint', command: 'eslint', args: ['--max-warnings=0', '.'] },
  { name: 'types', command: 'tsc', args: [] },
  { name: 'format', command: 'prettier', args: ['--check', '--log-level', 'warn', '.'] },
  { name: 'unused', command: 'knip', args: [] },
  { name: 'docs', command: process.execPath, args: ['scripts/docs.ts', '--check'] },
  ...own,
];

async function run(lane: Lane): Promise<void> {
  const started = performance.now();
  const child = spawn(lane.command, lane.args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const code = await new Promise<number>((resolve) => {
    child.on('error', (error) => {
      output += `${lane.command} could not be started: ${error.message}. Run the checks with \`npm run check\`.\n`;
      resolve(1);
    });
    child.on('close', (status) => {
      resolve(status ?? 1);
    });
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${lane.name} (${seconds} s)`);
  if (code !== 0) {
    process.exitCode = 1;
    console.log(output.trimEnd());
  }
}

async function work(): Promise<void> {
  for (let lane = lanes.shift(); lane; lane = lanes.shift()) await run(lane);
}

await Promise.all([work(), work()]);
