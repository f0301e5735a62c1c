/** An HTTPS server on 127.0.0.1 that answers as the test says and remembers what it was asked. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Authority } from './authority.ts';

export interface Asked {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string | string[] | undefined>;
  body: unknown;
}

/** `hang` never answers, `reset` breaks the connection. */
export type Answer = { status?: number; body: unknown } | 'hang' | 'reset';

export interface LocalApiServer extends AsyncDisposable {
  endpoint: string;
  asked: Asked[];
  /** TLS connections so far. */
  connections: () => number;
}

export async function startApiServer(
  { server: { key, cert } }: Authority,
  answer: (asked: Asked, nth: number) => Answer,
): Promise<LocalApiServer> {
  const asked: Asked[] = [];
  let connections = 0;
  const server = createServer({ key, cert }, (request, response) => {
    const url = new URL(request.url ?? '/', 'https://127.0.0.1');
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      const one: Asked = {
        method: request.method ?? '',
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: request.headers,
        body: text === '' ? undefined : JSON.parse(text),
      };
      asked.push(one);
      const answered = answer(one, asked.length);
      if (answered === 'hang') return;
      if (answered === 'reset') {
        request.socket.destroy();
        return;
      }
      response.writeHead(answered.status ?? 200, { 'content-type': 'application/json' });
      response.end(typeof answered.body === 'string' ? answered.body : JSON.stringify(answered.body));
    });
  });
  server.on('secureConnection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `https://127.0.0.1:${String(port)}`,
    asked,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
