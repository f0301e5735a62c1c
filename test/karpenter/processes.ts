/** Programs that run for the length of a test run, on free ports, and that are never left behind. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { listen } from './http.ts';

export interface Part {
  name: string;
  /** What it said last, once it has ended. */
  ended(): string | undefined;
  /** What it has said lately. */
  said(): string;
  /** Ends it and waits until it has. Done at once where it has ended already. */
  end(): Promise<void>;
  /** How it ended by itself or was ended, once it has; null where it could not be started or was killed. */
  status: Promise<number | null>;
}

export interface Program {
  name: string;
  command: string;
  args: string[];
  env?: Record<string, string>;
  cwd?: string;
  /** Whether it ends by itself when its standard input does; a keeper does it for one that does not. */
  watchesInput?: boolean;
}

/**
 * Runs a program that knows nothing of its standard input, and kills it when that one ends: the whole of what is
 * needed so that none is left behind, however the process that started it came to its end.
 */
const KEEPER = [
  'exec 3<&0',
  '"$@" </dev/null 3<&- &',
  'child=$!',
  '{ cat <&3; kill -9 "$child"; } >/dev/null 2>&1 &',
  'watch=$!',
  'wait "$child"',
  'status=$?',
  'kill "$watch" 2>/dev/null',
  'exit "$status"',
].join('\n');

/** Enough to see why it ended, and what a controller did lately. */
const KEPT = 2_000_000;

export function start({ name, command, args, env, cwd, watchesInput = false }: Program): Part {
  const [program, ...rest] = watchesInput
    ? [command, ...args]
    : ['sh', '-c', KEEPER, 'keeper', command, ...args];
  const child = spawn(program, rest, {
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(env !== undefined && { env: { ...process.env, ...env } }),
    ...(cwd !== undefined && { cwd }),
  });
  let said = '';
  let over = false;
  const hear = (text: string): void => {
    said = (said + text).slice(-KEPT);
  };
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  const closed = new Promise<number | null>((resolve) => {
    child.on('error', (error) => {
      hear(error.message);
      over = true;
      resolve(null);
    });
    child.on('close', (status) => {
      over = true;
      resolve(status);
    });
  });
  return {
    name,
    said: () => said,
    ended: () => (over ? said.slice(-4000) : undefined),
    async end() {
      child.stdin.end();
      await closed;
    },
    status: closed,
  };
}

/** Runs a program to its end; what it said. Throws where it ends with anything but 0. */
export async function run(program: Program): Promise<string> {
  const part = start(program);
  const status = await part.status;
  if (status !== 0) throw new Error(`${program.name} ended with ${status ?? 'a signal'}: ${part.said()}`);
  return part.said();
}

const PATIENCE_MS = 120_000;

/** Ends all of them, the last one first. */
export async function endAll(parts: readonly Part[]): Promise<void> {
  for (const part of parts.toReversed()) await part.end();
}

/** There is nothing to listen to: it has to be tried until it works. */
export async function until<T>(
  what: string,
  parts: readonly Part[],
  attempt: () => Promise<T>,
  patience = PATIENCE_MS,
  every = 200,
): Promise<T> {
  const last = Date.now() + patience;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const gone = parts.find((part) => part.ended() !== undefined);
      if (gone !== undefined) throw new Error(`${gone.name} ended: ${gone.ended() ?? ''}`, { cause: error });
      if (Date.now() > last) {
        const why = error instanceof Error ? error.message : String(error);
        throw new Error(`still not so after ${patience / 1000} s: ${what} (${why})`, { cause: error });
      }
      await pause(every);
    }
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
