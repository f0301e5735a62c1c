/**
 * The service beside others who write the class, on a real API server: rounds of what Terraform, Helm, Argo CD and Flux
 * do when they apply, against a rollout under way. Who wins, who is told, and that nothing goes to and fro.
 */
import { describe, expect, it } from 'vitest';
import type { ApiClient } from '../../adapters/cluster/api-client.ts';
import type { State } from '../../rollout/state.ts';
import { clientSide, serverSide, type Applied, type Owner, type Rendered } from './owners.ts';
import { rackByHand, type RackByHand } from './rack-by-hand.ts';

const BEFORE: Rendered = { httpTokens: 'optional', httpPutResponseHopLimit: 3 };
const ASKED: Rendered = { httpTokens: 'required', httpPutResponseHopLimit: 3 };
const TOKENS = 'karpenter_build_imds_tokens';
const HOP_LIMIT = 'karpenter_build_imds_hop_limit';

const kubectl = (api: ApiClient): Owner => clientSide(api, 'build', 'kubectl-client-side-apply');
const flux = (api: ApiClient): Owner => serverSide(api, 'build', 'kustomize-controller', true);
const terraform = (api: ApiClient): Owner => serverSide(api, 'build', 'Terraform', false);
const forceful: [string, (api: ApiClient) => Owner][] = [
  ['a three-way merge, as by kubectl apply', kubectl],
  ['server-side apply by force, as by Flux', flux],
];
const all: typeof forceful = [...forceful, ['server-side apply that asks, as by Terraform', terraform]];

/** Applies once at each look, and remembers what came of it. */
function atLooks(owner: Owner, options: (round: number) => Rendered, rounds = 3) {
  const applied: Applied[] = [];
  return {
    applied,
    act: async (state: State): Promise<void> => {
      if (state.next === 'look' && applied.length < rounds) {
        applied.push(await owner.apply(options(applied.length + 1)));
      }
    },
  };
}

/** A rack with one node, whose class the owner has rendered. */
async function given(
  owned: (api: ApiClient) => Owner,
  parameters: Record<string, string>,
  options: Rendered = BEFORE,
): Promise<{ rack: RackByHand; owner: Owner; node: string }> {
  const rack = await rackByHand(parameters);
  const owner = owned(rack.api);
  expect(await owner.apply(options)).toBe('created');
  return { rack, owner, node: await rack.launch() };
}

const managers = async (rack: RackByHand): Promise<string[]> =>
  ((await rack.nodeClass()).metadata.managedFields ?? []).map(({ manager }) => manager);
const ourAnnotations = async (rack: RackByHand): Promise<string[]> =>
  Object.keys((await rack.nodeClass()).metadata.annotations ?? {}).filter((key) =>
    key.startsWith('imds-rollout/'),
  );

describe('where the service writes the class', () => {
  it.each(forceful)('%s: puts its value back three times, wins, and is named', async (_, owned) => {
    const { rack, owner } = await given(owned, { [TOKENS]: 'required' });
    await using _rack = rack;
    const { applied, act } = atLooks(owner, () => BEFORE, 10);
    const ended = await rack.roll(act);
    expect(ended).toMatchObject({ outcome: 'Contended' });
    expect(ended.reason).toContain(`${owner.manager} put httpTokens=optional back into EC2NodeClass build`);
    expect(applied).toEqual(['changed', 'changed', 'changed', 'changed']);
    expect(rack.writes.nodeClass).toBe(4);
    expect(rack.notices().map(({ type }) => type)).toEqual(['IMDS Rollout Contended']);
    expect(await rack.events()).toMatchObject([
      { reason: 'ImdsRolloutContended', message: expect.stringContaining(owner.manager) as string },
    ]);
    // Nobody goes on with it, and what was held is let go.
    for (let round = 0; round < 3; round += 1) {
      expect(await owner.apply(BEFORE)).toBe('unchanged');
      await rack.visit();
    }
    expect({ ...rack.writes, executions: rack.executions() }).toEqual({
      nodeClass: 4,
      nodes: 2,
      executions: 0,
    });
    expect(await rack.options()).toEqual(BEFORE);
  });

  it('server-side apply that asks: is refused in our name, and the service wins with one write', async () => {
    const { rack, owner } = await given(terraform, { [TOKENS]: 'required' });
    await using _rack = rack;
    const { applied, act } = atLooks(owner, () => BEFORE);
    expect(await rack.roll(act)).toMatchObject({ outcome: 'Succeeded' });
    expect(applied).toHaveLength(3);
    for (const each of applied)
      expect(each).toEqual({ refused: expect.stringContaining('imds-rollout') as string });
    expect(rack.writes.nodeClass).toBe(1);
    expect(await rack.options()).toEqual(ASKED);
  });

  it.each(all)('%s: finds nothing to do where it leaves the two options out', async (_, owned) => {
    const { rack, owner } = await given(
      owned,
      { imds_http_hop_limit: '2', imds_rollout_approval: 'never' },
      {},
    );
    await using _rack = rack;
    const { applied, act } = atLooks(owner, () => ({}));
    expect(await rack.roll(act)).toMatchObject({ outcome: 'Succeeded' });
    expect(applied).toEqual(['unchanged', 'unchanged', 'unchanged']);
    expect(rack.writes.nodeClass).toBe(1);
    expect(await rack.options()).toEqual({ httpTokens: 'required', httpPutResponseHopLimit: 2 });
  });

  it.each(all)('%s: meets nobody after a clear', async (_, owned) => {
    const { rack, owner } = await given(owned, { [TOKENS]: 'required', imds_rollout_approval: 'never' });
    await using _rack = rack;
    expect(await rack.roll()).toMatchObject({ outcome: 'Succeeded' });
    expect(await managers(rack)).toContain('imds-rollout');
    rack.unset(TOKENS);
    expect(await rack.roll()).toMatchObject({ outcome: 'Succeeded' });
    expect(await rack.options()).toEqual(BEFORE);
    expect(await managers(rack)).not.toContain('imds-rollout');
    expect(await ourAnnotations(rack)).toEqual([]);
    expect(await owner.apply(BEFORE)).toBe('unchanged');
    expect(await owner.apply({ httpTokens: 'required', httpPutResponseHopLimit: 1 })).toBe('changed');
  });

  it('an option that a three-way merge stops to render falls to its default, and is written again once', async () => {
    const { rack, owner } = await given(kubectl, { imds_http_hop_limit: '2', [TOKENS]: 'required' });
    await using _rack = rack;
    const { applied, act } = atLooks(owner, () => ({ httpTokens: 'required' }));
    expect(await rack.roll(act)).toMatchObject({ outcome: 'Succeeded' });
    expect(applied).toEqual(['changed', 'unchanged', 'unchanged']);
    expect(rack.writes.nodeClass).toBe(2);
    expect((await rack.options()).httpPutResponseHopLimit).toBe(2);
  });

  it('an option that a server-side apply stops to render stays as the service wrote it', async () => {
    const { rack, owner } = await given(terraform, { imds_http_hop_limit: '2', [TOKENS]: 'required' });
    await using _rack = rack;
    const { applied, act } = atLooks(owner, () => ({ httpTokens: 'required' }));
    expect(await rack.roll(act)).toMatchObject({ outcome: 'Succeeded' });
    expect(applied).toEqual(['unchanged', 'unchanged', 'unchanged']);
    expect(rack.writes.nodeClass).toBe(1);
  });
});

it('an option that a server-side apply stops to render before the service wrote it falls to its default', async () => {
  const { rack, owner } = await given(terraform, {});
  await using _rack = rack;
  expect(await owner.apply({})).toBe('changed');
  expect(await rack.options()).toEqual({ httpTokens: 'required', httpPutResponseHopLimit: 1 });
});

describe('where the class is left to its own writer', () => {
  const external = { [TOKENS]: 'required', imds_rollout_class_writer: 'external' };

  it.each(all)(
    '%s: is waited for with every node protected, and its class is never written',
    async (_, owned) => {
      const { rack, owner, node } = await given(owned, external);
      await using _rack = rack;
      const { applied, act } = atLooks(owner, (round) => (round === 1 ? BEFORE : ASKED));
      const protectedWhen: (string | undefined)[] = [];
      const ended = await rack.roll(async (state) => {
        if (state.next === 'look' && applied.length === 1) {
          protectedWhen.push((await rack.node(node))?.metadata.annotations?.['karpenter.sh/do-not-disrupt']);
        }
        await act(state);
      });
      expect(ended).toMatchObject({ outcome: 'Succeeded' });
      expect(applied).toEqual(['unchanged', 'changed', 'unchanged']);
      expect(protectedWhen).toEqual(['true']);
      expect(rack.writes.nodeClass).toBe(0);
      expect(await managers(rack)).not.toContain('imds-rollout');
      expect(await ourAnnotations(rack)).toEqual([]);
      expect(await rack.node(node)).toBeUndefined();
    },
  );

  it.each(all)('%s: wins where it renders something else, and is named', async (_, owned) => {
    const times = { imds_rollout_deadline: '2m', imds_rollout_drain_timeout: '2m' };
    const { rack, owner, node } = await given(owned, { ...external, ...times });
    await using _rack = rack;
    const { applied, act } = atLooks(owner, () => BEFORE);
    const ended = await rack.roll(act);
    expect(ended).toMatchObject({ outcome: 'Failed' });
    expect(ended.reason).toContain(
      'EC2NodeClass build says httpTokens=optional, asked is httpTokens=required',
    );
    expect(ended.reason).toContain(`its writer (field manager ${owner.manager}) has to render it`);
    expect(applied).toEqual(['unchanged', 'unchanged', 'unchanged']);
    expect(rack.notices().map(({ type }) => type)).toEqual(['IMDS Rollout Failed']);
    const told = (await rack.events()).map(({ reason }) => reason).sort();
    expect(told).toEqual(['ImdsRolloutFailed', 'ImdsRolloutWaiting']);
    for (let round = 0; round < 3; round += 1) {
      expect(await owner.apply(BEFORE)).toBe('unchanged');
      await rack.visit();
    }
    // Protected once and released once.
    expect({ ...rack.writes, executions: rack.executions() }).toEqual({
      nodeClass: 0,
      nodes: 2,
      executions: 0,
    });
    expect(Object.keys((await rack.node(node))?.metadata.annotations ?? {})).toEqual([]);
    // It comes round at last.
    expect(await owner.apply(ASKED)).toBe('changed');
    expect(await rack.roll()).toMatchObject({ outcome: 'Succeeded' });
    expect(rack.writes.nodeClass).toBe(0);
  });
});

it('a class that changes hands still names the service: one apply by force, and nobody is met any more', async () => {
  const { rack, owner } = await given(terraform, { [TOKENS]: 'required' });
  await using _rack = rack;
  expect(await rack.roll()).toMatchObject({ outcome: 'Succeeded' });
  rack.set('imds_rollout_class_writer', 'external');
  expect(await owner.apply(ASKED)).toBe('unchanged');
  expect(await owner.apply(BEFORE)).toEqual({ refused: expect.stringContaining('imds-rollout') as string });
  expect(await serverSide(rack.api, 'build', 'Terraform', true).apply(BEFORE)).toBe('changed');
  expect(await owner.apply(ASKED)).toBe('changed');
  expect(await rack.roll()).toMatchObject({ outcome: 'NothingToDo' });
  expect(rack.writes.nodeClass).toBe(1);
});

describe('a rack whose class Terraform renders from its parameters', () => {
  const stored: Record<string, string> = { imds_http_tokens: 'optional', imds_http_hop_limit: '3' };
  /** metadataOptions of the build class, as the rack's Terraform has them. */
  const rendered = (of: Record<string, string>): Rendered => ({
    httpTokens: (of[TOKENS] ?? of['imds_http_tokens']) === 'required' ? 'required' : 'optional',
    httpPutResponseHopLimit: Number(of[HOP_LIMIT] ?? of['imds_http_hop_limit']),
  });

  it.each([
    ['service', 3],
    ['external', 0],
  ])(
    'class writer %s: each change is applied by both, and nobody puts anything back',
    async (writer, written) => {
      const policies = { imds_rollout_class_writer: writer, imds_rollout_approval: 'never' };
      const { rack, owner } = await given(kubectl, { ...stored, ...policies }, rendered(stored));
      await using _rack = rack;
      const rounds: Record<string, string>[] = [
        { [TOKENS]: 'required' },
        { [TOKENS]: 'required', [HOP_LIMIT]: '1' },
        {},
      ];
      for (const round of rounds) {
        for (const [key, value] of Object.entries(round)) rack.set(key, value);
        if (Object.keys(round).length === 0) for (const key of [TOKENS, HOP_LIMIT]) rack.unset(key);
        const asked = { ...stored, ...round };
        // Terraform takes its time: it applies at the third look.
        let looks = 0;
        const ended = await rack.roll(async (state) => {
          if (state.next !== 'look') return;
          looks += 1;
          if (looks === 3)
            expect(await owner.apply(rendered(asked))).toBe(writer === 'external' ? 'changed' : 'unchanged');
        });
        expect(ended).toMatchObject({ outcome: 'Succeeded' });
        expect(looks).toBeGreaterThanOrEqual(3);
        expect(await rack.options()).toEqual(rendered(asked));
        await rack.launch();
      }
      expect(rack.writes.nodeClass).toBe(written);
      expect(rack.notices().map(({ type }) => type)).toEqual(Array(3).fill('IMDS Rollout Succeeded'));
    },
  );
});
