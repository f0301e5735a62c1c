/** Whose turn it is: the order of executions, the same purpose, and the epoch. */
import { describe, expect, it } from 'vitest';
import { ConflictError, NotFoundError } from '../../rollout/errors.ts';
import type { Execution } from '../../rollout/ports.ts';
import {
  assertTurn,
  endTurn,
  holderOf,
  takeTurn,
  TurnLost,
  type Contender,
  type Turn,
} from '../../rollout/turn.ts';
import { fakeLease, fakeWorkflow, type FakeLease } from './fake-lease.ts';
import { at, instant } from './given.ts';

const contender = (execution: string, startedAt: number, generation = 'g'): Contender => ({
  execution,
  startedAt: instant(startedAt),
  generation,
});
const executed = ({ execution, startedAt }: Contender, status: Execution['status']): Execution => ({
  name: execution,
  startedAt,
  status,
});

const OLD = contender('demo-1', 0, 'old');
const NEW = contender('demo-2', 60, 'new');

const take = (fake: FakeLease, me: Contender, ...executions: Execution[]): Promise<Turn> =>
  takeTurn(
    { clock: { now: () => at(100) }, workflow: fakeWorkflow(...executions) },
    fake.cluster,
    'build',
    me,
  );
const holder = (fake: FakeLease): string | undefined => {
  const lease = fake.lease();
  return lease && holderOf(lease)?.execution;
};
const epoch = (fake: FakeLease): number | undefined => fake.lease()?.spec.leaseTransitions;

describe('taking the turn', () => {
  it('takes a Lease that nobody holds, and says who, since when and for what', async () => {
    const fake = fakeLease();
    expect(await take(fake, OLD)).toEqual({ kind: 'mine', epoch: 1 });
    const lease = fake.lease();
    expect(lease && holderOf(lease)).toEqual({ ...OLD, epoch: 1 });
    expect(lease?.spec).toMatchObject({ acquireTime: '2026-03-02T09:01:40.000000Z' });
  });

  it('takes nothing twice', async () => {
    const fake = fakeLease();
    await take(fake, OLD);
    expect(await take(fake, OLD)).toEqual({ kind: 'mine', epoch: 1 });
    expect(fake.patches).toBe(1);
  });

  it.each<[string, Contender, Contender, Execution['status'] | 'gone', Turn['kind']]>([
    ['a newer one takes it from an older that runs', OLD, NEW, 'RUNNING', 'taken'],
    ['a newer one takes it from an older that was stopped', OLD, NEW, 'ABORTED', 'taken'],
    ['a newer one takes it from one that nobody knows any more', OLD, NEW, 'gone', 'taken'],
    ['an older one gets nothing', NEW, OLD, 'RUNNING', 'newer'],
    ['an older one gets nothing of a newer that ended, either', NEW, OLD, 'FAILED', 'newer'],
    [
      'one of the same purpose leaves it to the one that runs',
      OLD,
      contender('demo-2', 60, 'old'),
      'RUNNING',
      'same',
    ],
    [
      'one of the same purpose takes it from one that ended',
      OLD,
      contender('demo-2', 60, 'old'),
      'TIMED_OUT',
      'taken',
    ],
    [
      'of two of one instant the greater name goes first',
      contender('demo-1', 0, 'a'),
      contender('demo-2', 0, 'b'),
      'RUNNING',
      'taken',
    ],
    [
      'of two of one instant the smaller name gets nothing',
      contender('demo-2', 0, 'a'),
      contender('demo-1', 0, 'b'),
      'RUNNING',
      'newer',
    ],
  ])('%s', async (_, first, second, status, kind) => {
    const fake = fakeLease();
    await take(fake, first);
    const executions = status === 'gone' ? [] : [executed(first, status)];
    expect(await take(fake, second, ...executions)).toMatchObject({ kind });
    expect(holder(fake)).toBe(kind === 'taken' ? second.execution : first.execution);
    expect(epoch(fake)).toBe(kind === 'taken' ? 2 : 1);
  });

  it('knows at every later call too that it was somebody’s, and since when', async () => {
    const fake = fakeLease();
    await take(fake, OLD);
    expect(await take(fake, OLD)).not.toHaveProperty('takenOverAt');
    const takenOverAt = instant(100);
    expect(await take(fake, NEW, executed(OLD, 'ABORTED'))).toEqual({ kind: 'taken', epoch: 2, takenOverAt });
    expect(await take(fake, NEW)).toEqual({ kind: 'mine', epoch: 2, takenOverAt });
    await endTurn(fake.cluster, 'build', NEW.execution, at(200));
    expect(await take(fake, OLD)).not.toHaveProperty('takenOverAt');
  });

  it('is decided again where somebody was faster', async () => {
    const fake = fakeLease();
    fake.onPatch = () => take(fake, NEW);
    await expect(take(fake, OLD)).rejects.toThrow(ConflictError);
    expect(await take(fake, OLD)).toEqual({ kind: 'newer', holder: 'demo-2' });
  });

  it('says what to do where there is no Lease', async () => {
    await expect(take(fakeLease(false), OLD)).rejects.toThrow(NotFoundError);
    await expect(take(fakeLease(false), OLD)).rejects.toThrow(/Lease imds-rollout-build .* rack add/);
  });
});

describe('before a write', () => {
  it('is checked that the turn is still one’s own', async () => {
    const fake = fakeLease();
    await take(fake, OLD);
    await expect(assertTurn(fake.cluster, 'build', 'demo-1')).resolves.toBeUndefined();
    await take(fake, NEW);
    await expect(assertTurn(fake.cluster, 'build', 'demo-1')).rejects.toThrow(TurnLost);
    await expect(assertTurn(fake.cluster, 'build', 'demo-1')).rejects.toThrow('demo-2 does');
  });

  it('is lost where nobody has it', async () => {
    await expect(assertTurn(fakeLease().cluster, 'build', 'demo-1')).rejects.toThrow('nobody does');
  });
});

describe('ending the turn', () => {
  it('gives the Lease to nobody, with another epoch, and nothing of the rollout left on it', async () => {
    const fake = fakeLease();
    await take(fake, OLD);
    expect(await endTurn(fake.cluster, 'build', 'demo-1', at(200))).toBe(true);
    expect(holder(fake)).toBeUndefined();
    expect(epoch(fake)).toBe(2);
    expect(fake.lease()).toMatchObject({ metadata: { annotations: {} }, spec: { leaseTransitions: 2 } });
    expect(Object.keys(fake.lease()?.spec ?? {})).toEqual(['leaseTransitions']);
  });

  it('writes nothing a second time, nor where another has it', async () => {
    const fake = fakeLease();
    await take(fake, OLD);
    await take(fake, NEW);
    expect(await endTurn(fake.cluster, 'build', 'demo-1', at(200))).toBe(false);
    expect(holder(fake)).toBe('demo-2');
    await endTurn(fake.cluster, 'build', 'demo-2', at(200));
    const { patches } = fake;
    expect(await endTurn(fake.cluster, 'build', 'demo-2', at(200))).toBe(false);
    expect(fake.patches).toBe(patches);
  });

  it('is content where somebody takes it meanwhile', async () => {
    const fake = fakeLease();
    await take(fake, OLD);
    fake.onPatch = () => take(fake, NEW, executed(OLD, 'RUNNING'));
    expect(await endTurn(fake.cluster, 'build', 'demo-1', at(200))).toBe(false);
    expect(holder(fake)).toBe('demo-2');
  });
});
