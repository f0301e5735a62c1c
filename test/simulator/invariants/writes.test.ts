/** Invariants 1, 2, 4 and 5: each broken once, and nearly. */
import { describe, expect, it } from 'vitest';
import { HandMade } from './hand-made.ts';

const asked = { karpenter_build_imds_tokens: 'required', karpenter_build_imds_hop_limit: '1' };
/** A rack that has just asked for required/1, with the execution that acts on it. */
const asking = (): HandMade => new HandMade().begin().set(asked).started('demo-1').pass(1);

describe('1: only what a rollout is for is written', () => {
  it('allows everything that a rollout does', () => {
    const world = asking();
    world
      .call('hold-and-patch of demo-1', 'kubernetes:patch Lease', 'imds-rollout-build', {
        metadata: { resourceVersion: '1', annotations: { 'imds-rollout/started-at': 'x' } },
        spec: { holderIdentity: 'demo-1', leaseTransitions: 1 },
      })
      .call('hold-and-patch of demo-1', 'ssm:PutParameter', '/imds-rollout/racks/demo/record')
      .call('hold-and-patch of demo-1', 'kubernetes:patch Node', 'n-build', {
        metadata: {
          resourceVersion: '1',
          annotations: { 'imds-rollout/hold': '{}', 'karpenter.sh/do-not-disrupt': 'true' },
        },
        spec: { unschedulable: true },
      })
      .call('hold-and-patch of demo-1', 'kubernetes:patch NodeClaim', 'c-build', {
        metadata: { annotations: { 'imds-rollout/hold': null, 'karpenter.sh/do-not-disrupt': null } },
      })
      .call('hold-and-patch of demo-1', 'kubernetes:patch EC2NodeClass', 'build', {
        metadata: { resourceVersion: '1', annotations: { 'imds-rollout/generation': 'x' } },
        spec: { metadataOptions: { httpTokens: 'required', httpPutResponseHopLimit: 1 } },
      })
      .modify('modify-stragglers of demo-1', { httpTokens: 'required', httpPutResponseHopLimit: 1 })
      .call('conclude of demo-1', 'kubernetes:create Event', 'default/x')
      .call('conclude of demo-1', 'events:PutEvents', 'IMDS Rollout Succeeded')
      .call('conclude of demo-1', 's3:PutObject', 'demo/2026/03/02/demo-1.json')
      .call('reconcile', 'states:StartExecution', 'demo-2');
    expect(world.found).toEqual([]);
  });

  const annotations = (key: string): unknown => ({ metadata: { annotations: { [key]: 'x' } } });
  it.each([
    ['kubernetes:patch EC2NodeClass', 'workload', { spec: { metadataOptions: {} } }, 'class workload'],
    ['kubernetes:patch EC2NodeClass', 'build', { spec: { role: 'x' } }, 'spec.role'],
    [
      'kubernetes:patch EC2NodeClass',
      'build',
      { spec: { metadataOptions: { httpEndpoint: 'enabled' } } },
      'httpEndpoint',
    ],
    ['kubernetes:patch EC2NodeClass', 'build', annotations('helm.sh/x'), 'annotation helm.sh/x'],
    ['kubernetes:patch EC2NodeClass', 'build', { metadata: { labels: {} } }, 'metadata.labels'],
    ['kubernetes:patch Node', 'n-work', { spec: { unschedulable: true } }, 'node n-work'],
    ['kubernetes:patch Node', 'n-build', { spec: { taints: [] } }, 'spec.taints'],
    ['kubernetes:patch Node', 'n-build', annotations('x'), 'annotation x'],
    ['kubernetes:patch NodeClaim', 'c-work', annotations('imds-rollout/hold'), 'NodeClaim c-work'],
    ['kubernetes:patch NodeClaim', 'c-build', { spec: { unschedulable: true } }, 'spec.unschedulable'],
    ['kubernetes:patch Lease', 'karpenter-leader-election', { spec: {} }, 'Lease karpenter'],
    ['ssm:PutParameter', '/racks/demo/imds_http_tokens', 'required', 'parameter /racks/demo'],
    ['ssm:DeleteParameter', '/imds-rollout/approval-tokens/demo', undefined, 'parameter /imds-rollout/appr'],
    ['s3:PutObject', 'other/x.json', undefined, 'object other/x.json'],
    ['ec2:TerminateInstances', 'i-build', undefined, 'i-build'],
    ['ec2:ModifyInstanceMetadataOptions', 'i-work', { httpTokens: 'required' }, 'i-work'],
    ['ec2:ModifyInstanceMetadataOptions', 'i-build', { httpEndpoint: 'disabled' }, 'httpEndpoint'],
  ])('%s of %s with %j', (api, target, body, named) => {
    const world = asking().call('observe of demo-1', api, target, body);
    expect(world.found.map(({ invariant }) => invariant)).toContain('1 allowed-writes');
    expect(world.found[0]?.what).toContain(named);
  });

  it('reports an option that nobody asked for', () => {
    const world = new HandMade().begin().set({ imds_http_tokens: 'required' }).pass(1);
    expect(world.patchClass('hold-and-patch of demo-1', { httpPutResponseHopLimit: 1 }).found).toMatchObject([
      { invariant: '1 allowed-writes' },
    ]);
  });

  it('never switches an endpoint on, nor touches one that is off', () => {
    const world = asking();
    const options = world.machines[0]?.metadataOptions;
    if (options) options.httpEndpoint = 'disabled';
    world
      .pass(1)
      .modify('modify-stragglers of demo-1', { httpTokens: 'required', httpPutResponseHopLimit: 1 });
    expect(world.found).toMatchObject([{ invariant: '1 allowed-writes' }]);
  });

  it('leaves people alone', () => {
    const world = asking().call('person', 'kubernetes:patch EC2NodeClass', 'workload', {
      spec: { role: 'x' },
    });
    expect(world.found).toEqual([]);
  });
});

describe('2: nothing is made looser than the last accepted ask', () => {
  it('reports a looser patch of the class', () => {
    const world = asking()
      .pass(5)
      .patchClass('hold-and-patch of demo-1', { httpTokens: 'required', httpPutResponseHopLimit: 2 });
    expect(world.found).toMatchObject([{ invariant: '2 never-looser' }]);
  });

  it('reports a looser modification of an instance', () => {
    const world = asking().pass(5).modify('modify-stragglers of demo-1', { httpTokens: 'optional' });
    expect(world.found.map(({ invariant }) => invariant)).toContain('2 never-looser');
  });

  it('reports a loosened option that nobody asked for', () => {
    const world = new HandMade().begin().set({ imds_http_tokens: 'required' }).pass(5);
    world.modify('modify-stragglers of demo-1', { httpTokens: 'required', httpPutResponseHopLimit: 5 });
    expect(world.found).toMatchObject([{ invariant: '2 never-looser' }]);
  });

  it('allows an ask that was read up to two minutes ago, and no longer', () => {
    const before = { imds_rollout_approval: 'never', imds_http_tokens: 'optional' };
    const world = (): HandMade => new HandMade().begin().set(before).pass(1).set(asked).pass(1);
    expect(world().patchClass('hold-and-patch of demo-1', { httpTokens: 'optional' }).found).toEqual([]);
    expect(
      world().pass(2).patchClass('hold-and-patch of demo-1', { httpTokens: 'optional' }).found,
    ).toMatchObject([{ invariant: '2 never-looser' }]);
  });

  it('keeps the last accepted ask while a value is refused', () => {
    const world = asking().set({ karpenter_build_imds_tokens: 'Optional' }).pass(5);
    expect(world.patchClass('hold-and-patch of demo-1', { httpTokens: 'required' }).found).toEqual([]);
    expect(world.patchClass('hold-and-patch of demo-1', { httpTokens: 'optional' }).found).toHaveLength(1);
  });

  it('does not take a loosening for accepted that needs approval', () => {
    const world = asking().patchClass('hold-and-patch of demo-1', {
      httpTokens: 'required',
      httpPutResponseHopLimit: 1,
    });
    world.pass(5).set({ karpenter_build_imds_tokens: 'optional' }).pass(5);
    expect(world.patchClass('hold-and-patch of demo-2', { httpTokens: 'optional' }).found).toMatchObject([
      { invariant: '2 never-looser' },
    ]);
  });

  it('allows to go back to the baseline, and no further', () => {
    const world = asking().set({ imds_rollout_approval: 'never' });
    world.patchClass('hold-and-patch of demo-1', { httpTokens: 'required', httpPutResponseHopLimit: 1 });
    world
      .pass(5)
      .set({ karpenter_build_imds_tokens: undefined, karpenter_build_imds_hop_limit: undefined })
      .pass(5);
    expect(world.patchClass('hold-and-patch of demo-2', { httpPutResponseHopLimit: 3 }).found).toEqual([]);
    expect(world.patchClass('hold-and-patch of demo-2', { httpPutResponseHopLimit: 4 }).found).toHaveLength(
      1,
    );
  });

  it('allows a taking back that the record tells of', () => {
    const world = asking().patchClass('hold-and-patch of demo-1', { httpTokens: 'required' }).pass(15);
    world.theRecord = {
      schemaVersion: 1,
      baseline: {},
      holdsMayExist: true,
      takingBack: { since: world.now().toISOString(), why: 'Ready=False' },
    };
    expect(world.patchClass('take-back of demo-1', { httpTokens: 'optional' }).found).toEqual([]);
    world.theRecord = undefined;
    expect(world.patchClass('take-back of demo-1', { httpTokens: 'optional' }).found).toHaveLength(1);
  });
});

describe('4: one writer', () => {
  const cordon = { spec: { unschedulable: true } };
  const handedOver = (): HandMade =>
    asking().call('observe of demo-1', 'kubernetes:patch Node', 'n-build', cordon).started('demo-2').pass(5);

  it('lets the newer one take over', () => {
    const world = handedOver().call('hold-and-patch of demo-2', 'kubernetes:patch Node', 'n-build', cordon);
    expect(world.found).toEqual([]);
  });

  it('reports the older one that goes on', () => {
    const world = handedOver()
      .call('hold-and-patch of demo-2', 'kubernetes:patch Node', 'n-build', cordon)
      .pass(1);
    world.call('observe of demo-1', 'kubernetes:patch Node', 'n-build', cordon);
    expect(world.found).toMatchObject([{ invariant: '4 one-writer' }]);
  });

  it('lets a call in flight finish, for two minutes', () => {
    const inFlight = (minutes: number): HandMade => {
      const world = handedOver();
      world.audit.push({
        at: world.now(),
        caller: { function: 'observe', execution: 'demo-1' },
        api: 'ec2:DescribeInstances',
        write: false,
      });
      world.look().call('hold-and-patch of demo-2', 'kubernetes:patch Node', 'n-build', cordon).pass(minutes);
      return world.call('observe of demo-1', 'kubernetes:patch Node', 'n-build', cordon);
    };
    expect(inFlight(1.9).found).toEqual([]);
    expect(inFlight(2.1).found).toHaveLength(1);
  });

  it('reports an older one that begins after a newer one', () => {
    const world = asking().started('demo-2').pass(1);
    const late = world
      .pass(1)
      .call('hold-and-patch of demo-2', 'kubernetes:patch Node', 'n-build', cordon)
      .pass(1);
    expect(late.call('observe of demo-1', 'kubernetes:patch Node', 'n-build', cordon).found).toHaveLength(1);
  });

  it('reports reconcile beside a running execution, and not after it', () => {
    const world = handedOver().call('reconcile', 'kubernetes:patch Node', 'n-build', cordon);
    expect(world.found).toMatchObject([{ invariant: '4 one-writer' }]);
    const after = handedOver().ended('demo-1', 'Failed');
    expect(after.call('reconcile', 'kubernetes:patch Node', 'n-build', cordon).found).toEqual([]);
  });
});

describe('5: a rack that never asked is not touched', () => {
  it('reports a write', () => {
    const world = new HandMade().begin().pass(1);
    world.call('reconcile', 'kubernetes:patch Node', 'n-build', { spec: { unschedulable: true } });
    expect(world.found).toMatchObject([{ invariant: '5 untouched-rack' }]);
  });

  it('allows to read, to report and to tell', () => {
    const world = new HandMade().begin().pass(1);
    world.call('conclude of demo-1', 's3:PutObject', 'demo/x.json');
    expect(world.found).toEqual([]);
  });

  it('remembers that a rack once asked', () => {
    const world = asking().set({
      karpenter_build_imds_tokens: undefined,
      karpenter_build_imds_hop_limit: undefined,
    });
    world.pass(30).call('reconcile', 'kubernetes:patch Node', 'n-build', { spec: { unschedulable: null } });
    expect(world.found).toEqual([]);
  });
});
