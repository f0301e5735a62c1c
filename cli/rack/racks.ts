/** The registered racks, and which of them a command is about. */
import type { Registration } from '../../rollout/ports.ts';
import type { Deployment } from '../deployment.ts';
import { CommandFailure } from '../failure.ts';
import { renderTable } from '../view/table.ts';

type Asked = Pick<Deployment, 'ports' | 'stack' | 'region'>;

export interface ListedRack extends Registration {
  lastOutcome: string | null;
  endedAt: string | null;
  holdsMayExist: boolean;
}

export async function listRacks({ ports }: Asked): Promise<ListedRack[]> {
  const registrations = await ports.records.registrations();
  return Promise.all(
    registrations.map(async (registration) => {
      const { last, holdsMayExist } = await ports.records.read(registration.rack);
      return {
        ...registration,
        lastOutcome: last?.outcome ?? null,
        endedAt: last?.endedAt ?? null,
        holdsMayExist,
      };
    }),
  );
}

export const racksText = (racks: readonly ListedRack[]): string =>
  renderTable(
    ['RACK', 'CLUSTER', 'NODEPOOL', 'LAST OUTCOME', 'ENDED', 'HOLDS'],
    racks.map((rack) => [
      rack.rack,
      rack.cluster,
      rack.nodePool,
      rack.lastOutcome ?? 'none',
      rack.endedAt ?? '–',
      rack.holdsMayExist ? 'may exist' : 'none',
    ]),
  );

/** The rack that is named, or the only one that there is. */
export async function chooseRack(asked: Asked, named: string | undefined): Promise<string> {
  if (named !== undefined) return named;
  const racks = (await asked.ports.records.registrations()).map(({ rack }) => rack);
  const [only, ...more] = racks;
  if (only !== undefined && more.length === 0) return only;
  throw new CommandFailure(
    only === undefined
      ? `no rack is registered with stack ${asked.stack} in ${asked.region}\nRegister one: imds-rollout rack add RACK --cluster CLUSTER`
      : `which rack? There are ${racks.join(', ')}\nGive one with --rack`,
  );
}

/** Its registration; refuses a rack that has none. */
export async function requireRegistration(asked: Asked, rack: string): Promise<Registration> {
  const all = await asked.ports.records.registrations();
  const found = all.find((each) => each.rack === rack);
  if (found !== undefined) return found;
  throw new CommandFailure(
    `rack ${rack} is not registered with stack ${asked.stack} in ${asked.region}; registered: ${all.map((each) => each.rack).join(', ') || 'none'}\n` +
      `Register it: imds-rollout rack add ${rack} --cluster CLUSTER`,
  );
}
