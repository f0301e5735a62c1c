/** What reconcile releases where a rack's pool has vanished: its own holds, and nobody else's. */
import { expect, it } from 'vitest';
import { onRack } from './rack.ts';

const hold = (rollout: string): string =>
  `{ rollout: ${rollout}, before: { doNotDisrupt: null, unschedulable: false } }`;

const TWO_RACKS = `
name: release
rack: demo
startsAt: 2026-03-02T09:00:00Z
runFor: 8h
racks: { second: { pool: second } }
parameters: { karpenter_enabled: 'true', build_node_enabled: 'true' }
record: { schemaVersion: 1, baseline: {}, holdsMayExist: true }
classes: { build: {}, second: {} }
pools: { build: {}, second: { class: second } }
nodes:
  - { name: own, pool: build, doNotDisrupt: true, hold: ${hold('demo-1')} }
  - { name: by-hand, pool: build, doNotDisrupt: true, hold: ${hold('started-by-hand')} }
  - { name: of-class, pool: second, doNotDisrupt: true, hold: ${hold('demo-2')} }
  - { name: other, pool: second, doNotDisrupt: true, hold: ${hold('second-1')} }
`;

it('releases the holds of the rack whose pool vanished, and leaves another rack its own', () =>
  onRack(TWO_RACKS, async (rack) => {
    const held = (): string[] =>
      ['own', 'by-hand', 'of-class', 'other'].filter(
        (name) =>
          rack.world.cluster.object('Node', name)?.metadata.annotations?.['imds-rollout/hold'] !== undefined,
      );
    expect(held()).toEqual(['own', 'by-hand', 'of-class', 'other']);
    rack.world.cluster.editPool('build', 'none');
    await rack.invoke('reconcile', {});
    expect(held()).toEqual(['other']);
  }));
