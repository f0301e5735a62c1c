/** Invariants 3, 6, 7, 8 and 9: each broken once, and nearly. */
import { describe, expect, it } from 'vitest';
import { replay } from '../../../simulator/invariants/twice-equals-once.ts';
import { HandMade, instance } from './hand-made.ts';

const required = { httpTokens: 'required', httpPutResponseHopLimit: 1 } as const;
const asking = (): HandMade =>
  new HandMade()
    .begin()
    .set({ karpenter_build_imds_tokens: 'required', karpenter_build_imds_hop_limit: '1' })
    .started('demo-1')
    .pass(1);
const patched = (): HandMade => asking().patchClass('hold-and-patch of demo-1', required).pass(1);
/** All is as asked for, and concluded. */
const done = (): HandMade => {
  const world = patched().modify('modify-stragglers of demo-1', required).pass(1);
  return world.ended('demo-1', 'Succeeded').pass(1);
};

describe('3: no Build is lost', () => {
  const lose = (world: HandMade, endedBy: 'drift' | 'emptiness' | 'expiry'): HandMade => {
    world.buildReports = [
      { name: 'b', node: 'n-build', outcome: 'evicted', waitedSeconds: 0, changedUnder: false },
    ];
    world.ends = { 'n-build': endedBy };
    return world.pass(1);
  };

  it.each(['drift', 'emptiness'] as const)('reports a Build that was evicted by %s', (endedBy) => {
    expect(lose(patched(), endedBy).pass(1).found).toMatchObject([
      { invariant: '3 no-build-lost', what: expect.stringContaining('Build b on n-build') as string },
    ]);
  });

  it('tells other ends apart', () => {
    expect(lose(patched(), 'expiry').found).toEqual([]);
  });

  it('is no fault of a rollout that has not patched, nor of the strategy karpenter', () => {
    expect(lose(asking(), 'drift').found).toEqual([]);
    expect(lose(patched().set({ imds_rollout_strategy: 'karpenter' }), 'drift').found).toEqual([]);
  });

  it('counts Builds by the selector', () => {
    expect(lose(patched().set({ imds_rollout_build_selector: 'type=build' }), 'drift').found).toEqual([]);
  });

  it('is no fault of a rollout after somebody else wrote the class', () => {
    const world = patched().call('person', 'kubernetes:patch EC2NodeClass', 'build').pass(1);
    expect(lose(world, 'drift').found).toEqual([]);
  });
});

describe('6: Succeeded means right', () => {
  const what = (world: HandMade): string[] => world.found.map(({ invariant }) => invariant);

  it('reports an instance that is wrong in either option', () => {
    expect(what(patched().ended('demo-1', 'Succeeded'))).toEqual(['6 succeeded-is-right']);
    const half = patched().modify('modify-stragglers of demo-1', { ...required, httpPutResponseHopLimit: 1 });
    const options = half.machines[0]?.metadataOptions;
    if (options) options.httpPutResponseHopLimit = 3;
    expect(what(half.pass(2).ended('demo-1', 'Succeeded'))).toEqual(['6 succeeded-is-right']);
  });

  it('reports a change that is not applied yet, and options that nobody could read', () => {
    const pending = patched()
      .modify('modify-stragglers of demo-1', { ...required, state: 'pending' })
      .pass(2);
    expect(what(pending.ended('demo-1', 'Succeeded'))).toEqual(['6 succeeded-is-right']);
    const unknown = patched();
    unknown.machines = [
      {
        instanceId: 'i-x',
        state: 'running',
        launchTime: unknown.now().toISOString(),
        tags: instance('i-x', 'build').tags,
      },
    ];
    expect(what(unknown.pass(1).pass(2).ended('demo-1', 'Succeeded'))).toEqual(['6 succeeded-is-right']);
  });

  it('reports a last look that could not read', () => {
    const world = patched().modify('modify-stragglers of demo-1', required).pass(1);
    const caller = { function: 'observe', execution: 'demo-1' };
    world.audit.push({
      at: world.now(),
      caller,
      api: 'ec2:DescribeInstances',
      write: false,
      error: 'RequestLimitExceeded',
    });
    expect(what(world.ended('demo-1', 'Succeeded'))).toEqual(['6 succeeded-is-right']);
  });

  it('lets instances be right, off, or not build instances', () => {
    expect(done().found).toEqual([]);
    const off = patched();
    const options = off.machines[0]?.metadataOptions;
    if (options) options.httpEndpoint = 'disabled';
    expect(off.pass(2).ended('demo-1', 'Succeeded').found).toEqual([]);
  });

  it('forgives what a hand did since the last look, and not what it did before', () => {
    const world = (minutes: number): HandMade => {
      const before = patched().modify('modify-stragglers of demo-1', required).pass(5);
      const options = before.machines[0]?.metadataOptions;
      if (options) options.httpTokens = 'optional';
      return before.pass(0.1).pass(minutes).ended('demo-1', 'Succeeded');
    };
    expect(world(0.5).found).toEqual([]);
    expect(what(world(1.5))).toEqual(['6 succeeded-is-right']);
  });

  it('lets Failed be wrong', () => {
    expect(patched().ended('demo-1', 'Failed').found).toEqual([]);
  });
});

describe('7: it ends well', () => {
  it('in the newest desired state', () => {
    expect(done().pass(30).end()).toEqual([]);
  });

  it('or with an outcome that names why', () => {
    expect(patched().ended('demo-1', 'Failed').pass(30).end()).toEqual([]);
    expect(patched().ended('demo-1', 'Failed', '').pass(30).end()).toEqual([
      '7 demo-1 ended Failed and gives no reason',
    ]);
  });

  it('reports an ask that nobody acted on, once there was time', () => {
    const world = (): HandMade =>
      done().set({ karpenter_build_imds_hop_limit: '2', imds_rollout_approval: 'never' });
    expect(world().pass(30).end()).toEqual([
      expect.stringMatching(/^7 it ended Succeeded, while httpPutResponseHopLimit of the class is 1 and 2 /),
    ]);
    expect(world().pass(10).end()).toEqual([]);
  });

  it('reports a bad value that was not refused', () => {
    const world = done().set({ karpenter_build_imds_tokens: 'Required' }).pass(30);
    expect(world.end()).toEqual([
      '7 it ended Succeeded, while karpenter_build_imds_tokens cannot be accepted',
    ]);
    expect(world.started('demo-2').ended('demo-2', 'Refused').end().slice(1)).toEqual([]);
  });

  it('reports an execution that does not end', () => {
    expect(patched().pass(60).end()).toEqual([]);
    expect(
      patched()
        .pass(15 * 60)
        .end(),
    ).toEqual([expect.stringMatching(/^7 demo-1 does not end/)]);
  });

  it('lets an inert rack be as it is', () => {
    expect(
      patched().set({ karpenter_enabled: undefined }).ended('demo-1', 'Withdrawn').pass(30).end(),
    ).toEqual([]);
  });
});

describe('7: holds are in the table', () => {
  const failed = (): HandMade => patched().ended('demo-1', 'Failed');

  it('reports a hold on a node that is right', () => {
    const world = done().hold({ protect: true }).pass(1).pass(10);
    expect(world.end()).toEqual([
      '7 n-build is protected by a hold of ours although nothing is to become of it',
    ]);
  });

  it('reports a protection that keeps Karpenter from an idle node, and no cordon', () => {
    expect(failed().hold({ cordon: true, protect: true }).pass(1).pass(10).end()).toHaveLength(1);
    expect(failed().hold({ cordon: true }).pass(1).pass(10).end()).toEqual([]);
  });

  it('reports a Build that is cordoned and not protected', () => {
    expect(failed().runBuild('b').hold({ cordon: true }).pass(1).pass(10).end()).toHaveLength(1);
    expect(failed().runBuild('b').hold({ cordon: true, protect: true }).pass(1).pass(10).end()).toEqual([]);
    expect(failed().runBuild('b').hold({ protect: true }).pass(1).pass(10).end()).toEqual([]);
  });

  it('gives reconcile its two visits', () => {
    expect(done().hold({ protect: true }).pass(1).pass(4).end()).toEqual([]);
  });

  it('allows protection until Karpenter has taken in the class', () => {
    const world = failed().hold({ protect: true });
    world.buildClass.status = { conditions: [{ type: 'Ready', status: 'False', observedGeneration: 1 }] };
    expect(world.pass(1).pass(10).end()).toEqual([]);
  });

  it('leaves other people’s cordons alone', () => {
    const world = done();
    world.buildNode.spec.unschedulable = true;
    expect(world.pass(1).pass(10).end()).toEqual([]);
  });

  it('wants Failed to name what is held while the cluster cannot be reached', () => {
    const world = patched().hold({ protect: true });
    world.scenario.faults.push({
      api: 'kubernetes:*',
      error: 'Unavailable',
      latency: 0,
      from: 0,
      until: null,
      share: 1,
    });
    world.ended('demo-1', 'Failed', 'the cluster cannot be reached').pass(1).pass(10);
    expect(world.end()).toEqual(['7 demo-1 ended Failed and does not name n-build, which is held']);
  });
});

describe('8: twice equals once', () => {
  const again = (world: HandMade, api: string) =>
    replay(world, {
      function: 'observe',
      execution: 'demo-1',
      again: async () => world.call('observe of demo-1', api, 'n-build', { spec: { unschedulable: true } }),
    });

  it('reports what a second run writes', async () => {
    expect(await again(patched(), 'kubernetes:patch Node')).toMatchObject([
      { invariant: '8 twice-equals-once' },
    ]);
  });

  it('allows to read, to report and to renew the Lease', async () => {
    expect(await again(patched(), 'kubernetes:patch Lease')).toEqual([]);
    expect(await again(patched(), 's3:PutObject')).toEqual([]);
  });
});

describe('9: clearing restores the baseline', () => {
  const cleared = (hopLimit: number): HandMade => {
    const world = done()
      .pass(5)
      .set({ imds_rollout_approval: 'never', karpenter_build_imds_hop_limit: undefined });
    world
      .started('demo-2')
      .pass(1)
      .patchClass('hold-and-patch of demo-2', { httpPutResponseHopLimit: hopLimit });
    return world.modify('modify-stragglers of demo-2', { httpPutResponseHopLimit: hopLimit }).pass(1);
  };
  const owners = (option: string) => [
    {
      manager: 'imds-rollout',
      operation: 'Update' as const,
      apiVersion: 'v1',
      fieldsType: 'FieldsV1' as const,
      fieldsV1: { 'f:spec': { 'f:metadataOptions': { [`f:${option}`]: {} } } },
    },
  ];
  const nine = (world: HandMade): string[] => world.end().filter((line) => line.startsWith('9'));

  it('is content with the exact value', () => {
    expect(cleared(3).ended('demo-2', 'Succeeded').pass(30).end()).toEqual([]);
  });

  it('reports another value', () => {
    expect(nine(cleared(2).ended('demo-2', 'Succeeded').pass(30))).toEqual([
      '9 httpPutResponseHopLimit was cleared: the class says 2, and said 3 before',
    ]);
  });

  it('reports an entry of ours in what was cleared, and not in what is owned', () => {
    const world = cleared(3).ended('demo-2', 'Succeeded');
    world.buildClass.metadata.managedFields = owners('httpTokens');
    expect(nine(world.pass(30))).toEqual([]);
    world.buildClass.metadata.managedFields = owners('httpPutResponseHopLimit');
    expect(nine(world)).toHaveLength(1);
  });

  it('waits for a rollout that ended well', () => {
    expect(nine(cleared(2).ended('demo-2', 'Failed').pass(30))).toEqual([]);
  });
});
