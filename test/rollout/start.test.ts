/** Starting rollouts: one breath is one execution, and only what matters starts one. */
import { describe, expect, it } from 'vitest';
import { executionName } from '../../rollout/naming.ts';
import { parameters } from '../../rollout/parameters.ts';
import type { Execution } from '../../rollout/ports.ts';
import { matters, NameTaken, parameterOf, startRollout } from '../../rollout/start.ts';
import { fakeWorkflow } from './fake-lease.ts';
import { at, instant } from './given.ts';

const execution = (rack: string, startedAt: number, status: Execution['status'] = 'RUNNING'): Execution => ({
  name: executionName(rack, at(startedAt)),
  startedAt: instant(startedAt),
  status,
});

async function started(now: number, ...executions: Execution[]) {
  const workflow = fakeWorkflow(...executions);
  const result = await startRollout({ clock: { now: () => at(now) }, workflow }, 'demo');
  return { ...result, names: workflow.started };
}

describe('starting', () => {
  it('is by the name of the 30 seconds', async () => {
    const name = executionName('demo', at(100));
    expect(await started(100)).toEqual({ kind: 'started', execution: name, names: [name] });
  });

  it.each([
    [0, 'settling'],
    [24.9, 'settling'],
    [25, 'started'],
    [600, 'started'],
  ])('%d s after another of the rack began: %s', async (age, kind) => {
    expect((await started(100 + age, execution('demo', 100))).kind).toBe(kind);
  });

  it('in the same 30 seconds is the same execution, though it may count as settled', async () => {
    const running = execution('demo', 0);
    expect(await started(29, running)).toMatchObject({ kind: 'started', execution: running.name });
  });

  it('does not wait for one of another rack, nor for one that ended', async () => {
    expect((await started(100, execution('demo-1', 95), execution('demo', 60, 'FAILED'))).kind).toBe(
      'started',
    );
  });

  it('fails where the name has been used up, so that it is tried again', async () => {
    await expect(started(10, execution('demo', 0, 'ABORTED'))).rejects.toThrow(NameTaken);
    expect((await started(31, execution('demo', 0, 'ABORTED'))).kind).toBe('started');
  });
});

describe('the name of a parameter', () => {
  it.each<[string, string, ReturnType<typeof parameterOf>]>([
    ['/racks/demo/imds_http_tokens', '/racks/', { rack: 'demo', key: 'imds_http_tokens' }],
    ['/racks/org.demo-1/x', '/racks/', { rack: 'org.demo-1', key: 'x' }],
    ['/a/b/demo/x', '/a/b/', { rack: 'demo', key: 'x' }],
    ['/racks/demo', '/racks/', undefined],
    ['/racks//x', '/racks/', undefined],
    ['/racks/demo/deep/x', '/racks/', undefined],
    ['/rackss/demo/x', '/racks/', undefined],
    ['/other/racks/demo/x', '/racks/', undefined],
    ['/imds-rollout/racks/demo/record', '/racks/', undefined],
    ['racks/demo/x', '/racks/', undefined],
  ])('%s below %s: %j', (name, prefix, expected) => {
    expect(parameterOf(name, prefix)).toEqual(expected);
  });
});

describe('what matters to a rollout', () => {
  it.each([...Object.keys(parameters), 'imds_rollout_window', 'imds_rollout_canary'])('%s', (key) => {
    expect(matters(key)).toBe(true);
  });

  it.each([
    'imds_http_tokenss',
    'Imds_http_tokens',
    'karpenter_build_disruption_budget_nodes',
    'constructor',
    '',
    'x',
  ])('not %j', (key) => {
    expect(matters(key)).toBe(false);
  });

  it('are the four options, the two switches, release and provider, beside the policy', () => {
    expect(
      Object.keys(parameters)
        .filter((key) => !key.startsWith('imds_rollout_'))
        .sort(),
    ).toEqual([
      'build_node_enabled',
      'imds_http_hop_limit',
      'imds_http_tokens',
      'karpenter_build_imds_hop_limit',
      'karpenter_build_imds_tokens',
      'karpenter_enabled',
      'provider',
      'release',
    ]);
  });
});
