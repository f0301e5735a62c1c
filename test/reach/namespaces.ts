/**
 * A node on this machine: network namespaces as the EC2 platform, the host, a pod behind veth and routing, and a
 * container nested in it, each a veth away from the one before. Nothing outside these namespaces is touched.
 */
import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Caller, Reach, ReachOptions, Version } from '../../rollout/reach.ts';

/** What is missing for it here, by name; undefined where nothing is. The trial leaves nothing: its namespace ends with it. */
export function missing(): string | undefined {
  if (process.platform !== 'linux') return `network namespaces are Linux's, and this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'it has to run as root';
  for (const [program, from] of [
    ['ip', 'iproute2'],
    ['unshare', 'util-linux'],
    ['nsenter', 'util-linux'],
  ] as const) {
    if (spawnSync(program, ['-V']).error !== undefined) return `there is no ${program} (${from})`;
  }
  const veth = ['link', 'add', 'name', 'v0', 'type', 'veth', 'peer', 'name', 'v1'];
  const { status, stderr } = spawnSync('unshare', ['--net', 'ip', ...veth], { encoding: 'utf8' });
  return status === 0 ? undefined : `a network namespace with veth is refused here: ${stderr.trim()}`;
}

export interface NodeOnLinux extends AsyncDisposable {
  set(options: ReachOptions): Promise<void>;
  /** What happens to the call: its answer, or that a router on the way dropped the response. */
  measure(caller: Caller, version: Version): Promise<Reach>;
}

const NAMES = ['imds', 'host', 'pod', 'nested'] as const;
type Name = (typeof NAMES)[number];

const ANSWERS: Record<string, Reach> = { 200: 'yes', 401: 'refused', 403: 'off' };

/** How long a program may take to start on a busy machine. */
const START_MS = 30_000;

/**
 * The namespaces have no names: each lives as long as a process in it, and each process ends when its input does, so
 * that nothing is left of them however the run ends.
 */
export async function startNode(): Promise<NodeOnLinux> {
  const talks: Talk[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(talks.map((talk) => talk.end()));
  };
  const start = (file: string, program: string, ...around: string[]): Talk => {
    const args = [...around, process.execPath, fileURLToPath(new URL(file, import.meta.url))];
    const talk = new Talk(spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] }));
    talks.push(talk);
    return talk;
  };
  const anew = ['unshare', '--net'] as const;
  try {
    const endpoint = start('endpoint.ts', ...anew);
    const host = start('caller.ts', ...anew);
    const pod = start('caller.ts', ...anew);
    const nested = start('caller.ts', ...anew);
    await ready([endpoint, host, pod, nested]);
    lay({ imds: endpoint.pid, host: host.pid, pod: pod.pid, nested: nested.pid });
    // As a kubelet starts one: everything of its own but the network.
    const others = ['--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child'];
    const onHost = start('caller.ts', 'nsenter', '-t', String(host.pid), '-n', 'unshare', ...others);
    await ready([onHost]);
    const callers = { 'host process': host, 'hostNetwork pod': onHost, pod, 'nested container': nested };
    const dropped = async (): Promise<number> => {
      const counts = await Promise.all([host, pod].map((router) => router.ask('dropped', 'dropped')));
      return counts.reduce((sum, count) => sum + Number(count), 0);
    };
    let options: ReachOptions = { httpTokens: 'required', httpPutResponseHopLimit: 1 };
    const set = async (wanted: ReachOptions): Promise<void> => {
      options = wanted;
      await endpoint.ask(JSON.stringify(wanted), 'set');
    };
    return {
      set,
      async measure(caller, version) {
        // Cuts what an earlier call left open.
        await set(options);
        const before = await dropped();
        const call: { answer?: string } = {};
        void callers[caller].ask(version, 'answered').then((status) => (call.answer = status));
        // One of the two comes: the answer, or a packet that a router could not pass on.
        while (call.answer === undefined) if ((await dropped()) > before) return 'timesOut';
        const reach = ANSWERS[call.answer];
        if (reach === undefined) throw new Error(`${caller} was answered with ${call.answer}`);
        return reach;
      },
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function ready(talks: readonly Talk[]): Promise<void> {
  const late = new Promise<never>((_, reject) => {
    AbortSignal.timeout(START_MS).addEventListener('abort', () => {
      reject(new Error('a program in a network namespace did not start'));
    });
  });
  await Promise.race([Promise.all(talks.map(({ started }) => started)), late]);
}

/** Lines in, lines out. Answers that belong to a call that was given up are passed over. */
class Talk {
  readonly started: Promise<string>;
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: Interface;

  constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout });
    this.started = this.#next('ready');
  }

  /** Of the program itself: unshare and nsenter become it. */
  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('a program did not start');
    return this.#child.pid;
  }

  /** The rest of the next line that begins with the word. */
  #next(word: string): Promise<string> {
    return new Promise((resolve) => {
      const listen = (line: string): void => {
        if (line !== word && !line.startsWith(`${word} `)) return;
        this.#lines.off('line', listen);
        resolve(line.slice(word.length + 1));
      };
      this.#lines.on('line', listen);
    });
  }

  ask(question: string, word: string): Promise<string> {
    const answer = this.#next(word);
    this.#child.stdin.write(`${question}\n`);
    return answer;
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.stdin.end();
    await ended;
  }
}

/** The cables between the namespaces, addresses and routes. */
function lay(pids: Readonly<Record<Name, number>>): void {
  const within = (name: Name, ...command: string[]): void => {
    const args = ['-t', String(pids[name]), '-n', ...command];
    const { status, stderr } = spawnSync('nsenter', args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`\`${command.join(' ')}\` in ${name}: ${stderr.trim()}`);
  };
  const ip = (name: Name, command: string): void => {
    within(name, 'ip', ...command.split(' '));
  };
  for (const name of NAMES) ip(name, 'link set lo up');
  const cable = (near: Name, far: Name, net: string): void => {
    ip(near, `link add name to-${far} type veth peer name to-${near} netns ${String(pids[far])}`);
    ip(near, `address add ${net}.1/30 dev to-${far}`);
    ip(far, `address add ${net}.2/30 dev to-${near}`);
    ip(near, `link set to-${far} up`);
    ip(far, `link set to-${near} up`);
    ip(far, `route add default via ${net}.1`);
  };
  cable('imds', 'host', '10.255.0');
  cable('host', 'pod', '10.255.1');
  cable('pod', 'nested', '10.255.2');
  ip('imds', 'address add 169.254.169.254/32 dev lo');
  ip('imds', 'route add 10.255.0.0/16 via 10.255.0.2');
  ip('host', 'route add 10.255.2.0/30 via 10.255.1.2');
  for (const router of ['host', 'pod'] as const) {
    within(router, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
  }
}
