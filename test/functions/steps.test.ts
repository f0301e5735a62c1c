/** What one step finds that another one left half-way, or that somebody else did in between. */
import { describe, expect, it } from 'vitest';
import { holdOn } from '../../rollout/hold.ts';
import { takeTurn } from '../../rollout/turn.ts';
import { plan, until } from './play.ts';
import { onRack, RACK, writesOf } from './rack.ts';

const HALF_AN_HOUR = Date.parse('2026-03-02T09:30:00Z');

describe('holding and patching', () => {
  it('names what it holds where the cluster does not answer, though the page about the holds was lost', () =>
    onRack(
      `${RACK}faults:
  - { api: "s3:PutObject", error: ServiceUnavailable, from: 10s, for: 20s }
  - { api: "kubernetes:*", error: ServiceUnavailable, from: 10m }
`,
      async (rack) => {
        const planned = await plan(rack);
        await rack.pass(15);
        await expect(rack.task('hold-and-patch', planned)).rejects.toThrow();
        expect(rack.world.cluster.objects('Node').filter((node) => holdOn(node))).toHaveLength(2);
        await rack.pass(30);
        expect(await rack.task('hold-and-patch', planned)).toMatchObject({ next: 'look' });
        await rack.pass(600);
        const error = { Error: 'TransientError', Cause: '{"errorMessage":"no answer"}' };
        expect(await rack.task('conclude', { ...planned, error })).toMatchObject({
          outcome: 'Failed',
          reason: expect.stringMatching(/busy, idle|idle, busy/) as string,
        });
      },
    ));

  it('waits for whoever had the turn also where it died between taking it and writing that down', () =>
    onRack(
      `${RACK}faults: [{ api: "ssm:PutParameter", error: ThrottlingException, from: 1m, for: 1m }]\n`,
      async (rack) => {
        const { ports } = rack.world.account;
        const planned = await plan(rack);
        await rack.task('hold-and-patch', planned, 'demo-0');
        await rack.pass(61);
        const takenAt = ports.clock.now().getTime();
        await expect(rack.task('hold-and-patch', planned)).rejects.toThrow(/Throttling/);
        await rack.pass(65);
        await rack.task('hold-and-patch', planned);
        const { takenOverAt } = await ports.records.read('demo');
        expect(Math.abs(Date.parse(takenOverAt ?? '') - takenAt)).toBeLessThan(2_000);
      },
    ));

  it('holds nothing, and says so on record, where the cluster did not answer from the beginning', () =>
    onRack(
      `${RACK}faults: [{ api: "kubernetes:*", error: Unauthorized, from: 0s }]
`,
      async (rack) => {
        const error = { Error: 'ForbiddenError', Cause: '{"errorMessage":"who is that?"}' };
        const end = await rack.task('conclude', { rack: 'demo', error });
        expect(end).toMatchObject({ outcome: 'Failed', reason: 'ForbiddenError: who is that?' });
        expect(await rack.world.account.ports.records.read('demo')).toMatchObject({ holdsMayExist: false });
      },
    ));

  it('counts how far Karpenter is from the last patch, and the deadline from the first', () =>
    onRack(RACK, async (rack) => {
      const { account, cluster } = rack.world;
      const first = await until(rack, await plan(rack), ({ next }) => next === 'look');
      const later = await until(rack, first, () => account.ports.clock.now().getTime() > HALF_AN_HOUR);
      cluster.editClass('build', 'helm', { httpTokens: 'optional' });
      const again = await until(rack, later, ({ next }) => next === 'hold-and-patch');
      const patched = await until(rack, again, ({ next }) => next === 'look');
      const { patchedAt, lastPatchAt } = await account.ports.records.read('demo');
      expect(first).toMatchObject({ patchedAt, lastPatchAt: patchedAt });
      expect(patched).toMatchObject({ patchedAt, lastPatchAt });
      expect(Date.parse(lastPatchAt ?? '') - Date.parse(patchedAt ?? '')).toBeGreaterThan(29 * 60_000);
    }));

  it('goes on from the record as the other one left it', () =>
    onRack(RACK, async (rack) => {
      const { records } = rack.world.account.ports;
      const planned = await plan(rack);
      const last = {
        outcome: 'Succeeded',
        reason: 'all is well',
        execution: 'demo-0',
        endedAt: '2026-03-02T09:00:00.000Z',
        parameters: {},
      } as const;
      const read = records.read.bind(records);
      let reads = 0;
      records.read = async (name) => {
        const record = await read(name);
        reads += 1;
        // The other one concludes between this step's first look and its turn.
        if (reads === 1) await records.write(name, { ...record, last });
        return record;
      };
      await rack.task('hold-and-patch', planned);
      expect(await read('demo')).toMatchObject({ last, holdsMayExist: true });
    }));
});

describe('a look that has nothing to write', () => {
  it('finds out too that its turn is over', () =>
    onRack(RACK, async (rack) => {
      const looking = await until(
        rack,
        await plan(rack),
        (state) => state.next === 'look' && state.counts?.buildsOnHeldNodes === 1 && state.looks > 10,
      );
      const { ports } = rack.world.account;
      const [registration] = await ports.records.registrations();
      const cluster = await ports.clusters.connect(registration?.cluster ?? '');
      const startedAt = ports.clock.now().toISOString();
      await takeTurn(ports, cluster, 'build', { execution: 'demo-2', startedAt, generation: 'other' });
      rack.calls();
      expect(await rack.task('observe', looking)).toMatchObject({
        outcome: 'Superseded',
        reason: expect.stringContaining('demo-2') as string,
      });
      // Nor does it start another: no execution of its name runs, so that somebody has stopped it.
      expect(writesOf(rack.calls())).toEqual([]);
    }));
});

describe('a step that ends half-way', () => {
  it('leaves evidence of what it had modified', () =>
    onRack(
      `${RACK.replace('karpenter_enabled', 'imds_rollout_deadline: 1m\n  karpenter_enabled')}
  - { name: busy-too, pool: build, builds: [{ name: build-api, runsFor: 3h, startsAt: -5m }] }
faults: [{ api: "ec2:ModifyInstanceMetadataOptions", latency: 6s, from: 0s }]
`,
      async (rack) => {
        const due = await until(rack, await plan(rack), ({ next }) => next === 'modify-stragglers');
        rack.calls();
        const running = rack.task('modify-stragglers', due);
        await rack.pass(3);
        rack.world.account.parameterStore.set('demo', 'build_node_enabled', 'false');
        await rack.pass(10);
        expect(await running).toMatchObject({ outcome: 'Withdrawn' });
        const modified = rack.calls().filter(({ api }) => api === 'ec2:ModifyInstanceMetadataOptions');
        expect(modified).toHaveLength(1);
        const { reports } = rack.world.account.ports;
        const pages = await reports.list('demo/2026/03/02/demo-1/');
        const evidence = await Promise.all(pages.map((key) => reports.get(key)));
        expect(evidence.filter((page) => page?.includes('"what":"modified"'))).toHaveLength(1);
      },
    ));
});

describe('concluding', () => {
  it('gives nothing back of a class that another rollout took meanwhile', () =>
    onRack(RACK, async (rack) => {
      const { ports } = rack.world.account;
      const looking = await until(rack, await plan(rack), ({ next }) => next === 'look');
      if (looking.next !== 'look') throw new Error('it does not look');
      const { schemaVersion, execution, startedAt, looks, target } = looking;
      const [registration] = await ports.records.registrations();
      const cluster = await ports.clusters.connect(registration?.cluster ?? '');
      const list = ports.parameters.list.bind(ports.parameters);
      ports.parameters.list = async (name) => {
        const other = {
          execution: 'demo-2',
          startedAt: ports.clock.now().toISOString(),
          generation: 'other',
        };
        await takeTurn(ports, cluster, 'build', other);
        return list(name);
      };
      rack.calls();
      await rack.task('conclude', {
        ...{ schemaVersion, rack: 'demo', execution, startedAt, looks, target },
        ...{ next: 'conclude', outcome: 'Succeeded', reason: 'all is well' },
        restoring: ['httpTokens', 'httpPutResponseHopLimit'],
      });
      expect(writesOf(rack.calls()).filter((write) => write.includes('EC2NodeClass'))).toEqual([]);
    }));
});
