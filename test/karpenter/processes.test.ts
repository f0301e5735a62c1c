/** None is left behind: what a program's keeper does when the program ends, and when its starter does. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { start, until } from './processes.ts';

const program = (script: string) => ({ name: 'it', command: process.execPath, args: ['-e', script] });

const runs = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it('tells when a program has ended by itself, and what it said', async () => {
  const part = start(program('console.error("no price list"); process.exit(3)'));
  await until('it has ended', [], async () => {
    expect(part.ended()).toContain('no price list');
  });
  await part.end();
});

it('kills a program whose starter was killed', async () => {
  const sleeper = JSON.stringify(program('console.log(process.pid); setInterval(() => {}, 1000)'));
  const module = new URL('processes.ts', import.meta.url).href;
  const starter = spawn(process.execPath, [
    '--input-type=module',
    '-e',
    `const { start } = await import(${JSON.stringify(module)});
     const part = start(${sleeper});
     setInterval(() => { if (part.said() !== '') console.log(part.said()); }, 50);`,
  ]);
  const [said] = (await once(starter.stdout, 'data')) as [Buffer];
  const pid = Number.parseInt(said.toString(), 10);
  expect(runs(pid)).toBe(true);
  starter.kill('SIGKILL');
  await until('the program is gone', [], async () => {
    expect(runs(pid)).toBe(false);
  });
});
