/** The tasks of the workflow, as Lambda calls them: what they take, what they refuse, and that twice equals once. */
import { describe, expect, it } from 'vitest';
import type { Concluding, Rolling, State } from '../../rollout/state.ts';
import { rolling } from '../rollout/given.ts';
import { plan, until, type Task } from './play.ts';
import { onRack, RACK, writesOf, type Rack } from './rack.ts';

/** Runs a task, and again with the same event: the second run writes nothing. */
async function twice(rack: Rack, task: Exclude<Task, 'look'>, state: unknown): Promise<State> {
  const event = structuredClone(state);
  rack.calls();
  const first = await rack.task(task, state);
  const wroteFirst = writesOf(rack.calls());
  const second = await rack.task(task, event);
  expect({ task, wroteFirst, wroteAgain: writesOf(rack.calls()) }).toEqual({
    task,
    wroteFirst,
    wroteAgain: [],
  });
  expect(second.next).toBe(first.next);
  return first;
}

describe('each task, run twice with the same event, writes nothing the second time', () => {
  it('plan, which writes nothing the first time either', () =>
    onRack(RACK, async (rack) => {
      rack.calls();
      const state = await plan(rack);
      expect(writesOf(rack.calls())).toEqual([]);
      expect(state).toMatchObject({
        next: 'hold-and-patch',
        target: { httpTokens: 'required', httpPutResponseHopLimit: 1 },
      });
      await twice(rack, 'plan', { rack: 'demo' });
    }));

  it('hold-and-patch, once it has patched', () =>
    onRack(RACK, async (rack) => {
      const held = await rack.task('hold-and-patch', await plan(rack));
      expect(held).toMatchObject({ next: 'hold-and-patch', lookAgainIn: 1 });
      const { resourceVersion } = rack.world.cluster.object('EC2NodeClass', 'build')?.metadata ?? {};
      expect(await twice(rack, 'hold-and-patch', held)).toMatchObject({ next: 'look', lookAgainIn: 5 });
      const { spec, metadata } = rack.world.cluster.object('EC2NodeClass', 'build') ?? {};
      expect(spec?.metadataOptions).toMatchObject({ httpTokens: 'required', httpPutResponseHopLimit: 1 });
      expect(metadata?.resourceVersion).not.toBe(resourceVersion);
    }));

  it('observe, at every look until all is drained', () =>
    onRack(RACK, async (rack) => {
      let state = await until(rack, await plan(rack), ({ next }) => next === 'look');
      for (let looks = 0; state.next === 'look' && looks < 12; looks += 1) {
        await rack.pass(state.lookAgainIn);
        // A look that wrote all that a step may says so by coming again at once.
        state = await twice(rack, 'observe', state);
      }
      expect(state).toMatchObject({ counts: { buildsOnHeldNodes: 1 } });
    }));

  it('modify-stragglers and conclude', () =>
    onRack(
      RACK.replace(
        'karpenter_enabled',
        'imds_rollout_deadline: 1m\n  imds_rollout_drain_timeout: "0"\n  karpenter_enabled',
      ),
      async (rack) => {
        const due = await until(rack, await plan(rack), ({ next }) => next === 'modify-stragglers');
        rack.calls();
        const modified = await rack.task('modify-stragglers', due);
        expect(writesOf(rack.calls()).map((call) => call.split(' ')[0])).toContain(
          'ec2:ModifyInstanceMetadataOptions',
        );
        await rack.task('modify-stragglers', due);
        expect(writesOf(rack.calls())).toEqual([]);

        const ending = await until(rack, modified, ({ next }) => next === 'conclude');
        expect(await twice(rack, 'conclude', ending)).toMatchObject({ outcome: 'Succeeded' });
        expect(rack.world.account.notices.sent.map(({ type }) => type)).toEqual(['IMDS Rollout Succeeded']);
      },
    ));

  it('take-back', () =>
    onRack(`${RACK}karpenter: { classReady: never }\n`, async (rack) => {
      const due = await until(rack, await plan(rack), ({ next }) => next === 'take-back');
      expect(await twice(rack, 'take-back', due)).toMatchObject({
        next: 'look',
        target: { httpTokens: 'optional' },
      });
      expect(rack.world.cluster.object('EC2NodeClass', 'build')?.spec.metadataOptions).toMatchObject({
        httpTokens: 'optional',
        httpPutResponseHopLimit: 3,
      });
    }));
});

const TASKS = ['hold-and-patch', 'observe', 'modify-stragglers', 'take-back'] as const;

describe('a state that is not one is refused by name, before anything is read or written', () => {
  const state = rolling();
  const shapes: [string, unknown][] = [
    ['of another schemaVersion', { ...state, schemaVersion: 2 }],
    ['without a schemaVersion', { ...state, schemaVersion: undefined }],
    ['without a policy', { ...state, policy: undefined }],
    ['with a policy of another word', { ...state, policy: { ...state.policy, stragglers: 'kill' } }],
    ['with a target out of bounds', { ...state, target: { httpPutResponseHopLimit: 65 } }],
    ['with a moment that is none', { ...state, patchedAt: 'yesterday' }],
    ['with a field too many', { ...state, more: 1 }],
    ['that is none', null],
  ];

  it.each(TASKS.flatMap((task) => shapes.map(([name, shape]) => [task, name, shape] as const)))(
    '%s: a state %s',
    (task, _, shape) =>
      onRack(RACK, async (rack) => {
        await expect(rack.task(task, shape)).rejects.toThrow(expect.objectContaining({ name: 'ZodError' }));
        expect(rack.calls()).toEqual([]);
      }),
  );

  it.each([...TASKS, 'plan', 'conclude'] as const)('%s: an event of another shape', (task) =>
    onRack(RACK, async (rack) => {
      for (const event of [
        null,
        {},
        'x',
        { rack: 'demo' },
        { execution: 'demo-1', state: { rack: 'demo' } },
        { Records: [] },
      ])
        await expect(rack.invoke(task, event)).rejects.toThrow(expect.objectContaining({ name: 'ZodError' }));
      expect(rack.calls()).toEqual([]);
    }),
  );

  it('plan: an input of an execution that is not just a rack', () =>
    onRack(RACK, async (rack) => {
      for (const input of [{}, { rack: '' }, { rack: 'demo', dryRun: true }, { rack: 1 }])
        await expect(rack.task('plan', input)).rejects.toThrow(expect.objectContaining({ name: 'ZodError' }));
      expect(rack.calls()).toEqual([]);
    }));

  it('what one task answers is what the next takes, as JSON', () =>
    onRack(RACK, async (rack) => {
      const state = await until(rack, await plan(rack), (each) => each.next === 'look' && each.looks >= 3);
      expect(JSON.parse(JSON.stringify(state))).toEqual(state);
    }));
});

describe('errors keep the names that the workflow retries by', () => {
  const faulty = (api: string, error: string): string =>
    `${RACK}faults: [{ api: "${api}", error: ${error}, from: 0s }]\n`;

  it.each([
    ['kubernetes:*', 'ServiceUnavailable', 'TransientError'],
    ['kubernetes:list Node', 'Http429', 'TransientError'],
    ['kubernetes:get EC2NodeClass', 'Forbidden', 'ForbiddenError'],
    ['eks:DescribeCluster', 'ThrottlingException', 'TransientError'],
    ['ssm:GetParametersByPath', 'ThrottlingException', 'TransientError'],
    ['ec2:DescribeInstances', 'RequestLimitExceeded', 'TransientError'],
    ['ec2:DescribeInstances', 'UnauthorizedOperation', 'ForbiddenError'],
  ])('plan, while %s answers %s: %s', (api, error, name) =>
    onRack(faulty(api, error), async (rack) => {
      await expect(plan(rack)).rejects.toThrow(expect.objectContaining({ name }));
    }),
  );

  it.each([
    ['kubernetes:patch Lease', 'Conflict', 'ConflictError'],
    ['ssm:PutParameter', 'ThrottlingException', 'TransientError'],
    ['kubernetes:patch Node', 'ServiceUnavailable', 'TransientError'],
    ['kubernetes:patch Node', 'Forbidden', 'ForbiddenError'],
  ])('hold-and-patch, while %s answers %s: %s, and the class is not written', (api, error, name) =>
    onRack(faulty(api, error), async (rack) => {
      const planned = await plan(rack);
      await expect(rack.task('hold-and-patch', planned)).rejects.toThrow(expect.objectContaining({ name }));
      expect(rack.calls().some((call) => call.api === 'kubernetes:patch EC2NodeClass')).toBe(false);
    }),
  );

  it('modify-stragglers names the instance that EC2 refuses to change', () =>
    onRack(faulty('ec2:ModifyInstanceMetadataOptions', 'UnsupportedOperation'), async (rack) => {
      const held = await until(rack, await plan(rack), ({ next }) => next === 'look');
      expect(await rack.task('modify-stragglers', held)).toMatchObject({
        outcome: 'Failed',
        reason: expect.stringMatching(/^EC2 refuses to change i-\w+ \(\w+\): /) as string,
      });
    }));
});

describe('conclude, after a Catch', () => {
  const conclude = (rack: Rack, state: unknown): Promise<Concluding> =>
    rack.task('conclude', state) as Promise<Concluding>;
  const timedOut = {
    Error: 'Sandbox.Timedout',
    Cause: '{"errorType":"Sandbox.Timedout","errorMessage":"Task timed out"}',
  };

  it('of the first task, whose input is the execution’s own', () =>
    onRack(RACK, async (rack) => {
      expect(await conclude(rack, { rack: 'demo', error: timedOut })).toMatchObject({
        outcome: 'Failed',
        reason: 'Sandbox.Timedout: Task timed out',
      });
    }));

  it('of a task under way, whose holds stay in the table', () =>
    onRack(RACK, async (rack) => {
      const state = await until(rack, await plan(rack), ({ next }) => next === 'look');
      const end = await conclude(rack, { ...state, error: timedOut });
      expect(end).toMatchObject({ outcome: 'Failed', generation: (state as Rolling).generation });
      expect(end.reason).toContain('Sandbox.Timedout: Task timed out');
    }));

  it.each([
    ['a cause in plain words', { Error: 'States.Timeout', Cause: 'too long' }, 'States.Timeout: too long'],
    ['no cause, which Step Functions does not promise', { Error: 'States.Timeout' }, 'States.Timeout'],
    ['a cause without a message', { Error: 'X', Cause: '{"errorType":"X"}' }, 'X: {"errorType":"X"}'],
    ['a cause that is JSON of another kind', { Error: 'X', Cause: 'null' }, 'X: null'],
  ])('with %s', (_, error, reason) =>
    onRack(RACK, async (rack) => {
      expect(await conclude(rack, { rack: 'demo', error })).toMatchObject({ outcome: 'Failed', reason });
    }),
  );

  it('refuses a state that is none', () =>
    onRack(RACK, async (rack) => {
      for (const state of [
        { ...rolling(), schemaVersion: 2 },
        { rack: 'demo', next: 'look' },
        { error: timedOut },
      ])
        await expect(conclude(rack, state)).rejects.toThrow(expect.objectContaining({ name: 'ZodError' }));
    }));
});
