/** Starts moto's server for the length of a run, on a free port of 127.0.0.1, and tells the tests where. */
import { spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    moto: string;
  }
}

const READY_WITHIN_MS = 60_000;

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${String(port)}`;
  const program = fileURLToPath(new URL('../../.cache/python/bin/moto_server', import.meta.url));
  const moto = spawn(program, ['-H', '127.0.0.1', '-p', String(port)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  const ended = new Promise<void>((resolve) => {
    moto.on('error', (error) => {
      said += error.message;
      resolve();
    });
    moto.on('close', () => {
      resolve();
    });
  });
  // werkzeug says so on stderr when it listens: nothing has to be tried until it works.
  const ready = new Promise<void>((resolve) => {
    moto.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes('Running on')) resolve();
    });
  });
  const up = await Promise.race([
    ready.then(() => true),
    ended.then(() => false),
    new Promise<boolean>((resolve) => {
      AbortSignal.timeout(READY_WITHIN_MS).addEventListener('abort', () => {
        resolve(false);
      });
    }),
  ]);
  if (!up) {
    moto.kill();
    throw new Error(`moto did not start: ${said.slice(-2000)}`);
  }
  project.provide('moto', endpoint);
  return async () => {
    moto.kill();
    await ended;
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
