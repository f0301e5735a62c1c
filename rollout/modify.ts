/** ModifyInstanceMetadataOptions: one instance after the other, paced to EC2's bucket, with the evidence of each. */
import type { MetadataOptions } from './ec2.ts';
import { InvalidError, NotFoundError, TransientError } from './errors.ts';
import { writeJournal, type Entry } from './journal.ts';
import { unmodified, type Due } from './modifications.ts';
import type { Ports } from './ports.ts';
import type { Options } from './record.ts';
import type { Rolling } from './state.ts';

/**
 * The bucket of ModifyInstanceMetadataOptions, per account and Region and shared with every other caller: capacity
 * 100, 5 a second (EC2 API throttling limits).
 */
const BUCKET = { capacity: 100, perSecond: 5 };

/** How long EC2 writes go on before the turn is looked at again. */
const CHECK_MS = 5000;

type Bucket = Rolling['bucket'];

/** How many modifications the bucket has by now, as far as this rollout knows. */
export function tokensNow(bucket: Bucket, now: Date): number {
  if (bucket === undefined) return BUCKET.capacity;
  const seconds = (now.getTime() - new Date(bucket.at).getTime()) / 1000;
  return Math.min(BUCKET.capacity, Math.floor(bucket.tokens + seconds * BUCKET.perSecond));
}

/** What is left of the bucket after a round. */
export const bucketAfter = (
  before: Bucket,
  { tokens, accepted, throttled }: { tokens: number; accepted: number; throttled: boolean },
  now: Date,
): NonNullable<Bucket> => ({
  tokens: throttled ? 0 : tokens - accepted,
  at: now.toISOString(),
  // Whether EC2 refused, or all that is wrong is pending: asking at once again would only fill the history.
  refused: accepted === 0 ? (before?.refused ?? 0) + 1 : 0,
});

interface Pages {
  of: Parameters<typeof writeJournal>[1];
  /** What its pages of the evidence are called. */
  step: string;
  /** What is written down beside the intents. */
  seen?: readonly Entry[];
}

/**
 * Modifies one after the other, each written down before EC2 is asked and after. `check` throws where the turn is over.
 * `throttled`: EC2 let it go no further. What EC2 refuses is a note in `done`.
 */
export async function modifyAll(
  ports: Pick<Ports, 'clock' | 'instances' | 'reports'>,
  check: () => Promise<void>,
  due: readonly Due[],
  { of, step, seen = [] }: Pages,
): Promise<{ done: Entry[]; throttled: boolean }> {
  const intents = due.map(({ intent }) => intent);
  await writeJournal(ports, of, step.replace(/modify$/, 'modifying'), [...seen, ...intents]);
  const done: Entry[] = [];
  try {
    return { done, throttled: await modifyWithin(ports, check, due, done) };
  } finally {
    // What was modified is in force, whatever ended the step.
    await writeJournal(ports, of, step, [...done, ...unmodified(intents, done, ports.clock.now())]);
  }
}

/** Adds each to `done`. True where EC2 let it go no further. */
async function modifyWithin(
  ports: Pick<Ports, 'clock' | 'instances'>,
  check: () => Promise<void>,
  due: readonly Due[],
  done: Entry[],
): Promise<boolean> {
  let checkedAt = Number.NEGATIVE_INFINITY;
  for (const { intent, observed } of due) {
    const { instanceId, node } = intent;
    if (ports.clock.now().getTime() - checkedAt >= CHECK_MS) {
      await check();
      checkedAt = ports.clock.now().getTime();
    }
    const outcome = await modify(ports, instanceId, observed, intent.after);
    if (outcome.kind === 'throttled') return true;
    const at = ports.clock.now().toISOString();
    if (outcome.kind === 'refused') {
      done.push({ what: 'note', at, text: `EC2 refuses to change ${instanceId} (${node}): ${outcome.why}` });
    }
    if (outcome.kind === 'accepted') done.push({ ...intent, what: 'modified', at });
  }
  return false;
}

/** What EC2 refused, of what was done. */
export const refusalsOf = (done: readonly Entry[]): string[] =>
  done.flatMap((entry) => (entry.what === 'note' ? [entry.text] : []));

/** Owned options as desired, all others as observed: a disabled endpoint is never switched on. */
async function modify(
  ports: Pick<Ports, 'instances'>,
  instanceId: string,
  observed: MetadataOptions,
  target: Options,
): Promise<{ kind: 'accepted' | 'gone' | 'throttled' } | { kind: 'refused'; why: string }> {
  const { state: _, ...asObserved } = observed;
  try {
    await ports.instances.modifyMetadataOptions(instanceId, { ...asObserved, ...target });
    return { kind: 'accepted' };
  } catch (error) {
    if (error instanceof TransientError) return { kind: 'throttled' };
    if (error instanceof NotFoundError) return { kind: 'gone' };
    // One that cannot be changed keeps no other from it.
    if (error instanceof InvalidError) return { kind: 'refused', why: error.message };
    throw error;
  }
}
