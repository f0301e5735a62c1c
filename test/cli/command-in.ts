/** The real command as a child process that asks an account on 127.0.0.1. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { quietly } from '../../simulator/run/quiet.ts';
import type { Ended } from './command.ts';
import type { LocalAccount } from './local-account.ts';

/** The command as a child process; this one goes on serving it. */
export async function run(account: LocalAccount, ...args: string[]): Promise<Ended> {
  const { FORCE_COLOR: _, ...inherited } = process.env;
  return quietly(async () => {
    const child = spawn(process.execPath, ['cli/main.ts', ...args, '--region', 'eu-west-1'], {
      env: { ...inherited, ...account.environment },
    });
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return { status: await ended, stdout, stderr };
  });
}
