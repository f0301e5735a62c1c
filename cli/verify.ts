/** Whether a report is the one that was recorded, and whether the account still says what it says. */
import { createHash } from 'node:crypto';
import type { Instance } from '../rollout/ec2.ts';
import type { Ports } from '../rollout/ports.ts';
import type { Report } from '../rollout/report.ts';
import type { Kept } from './reports.ts';

interface Verdict {
  ok: boolean;
  words: string;
}

export interface Verification {
  execution: string;
  sha256: string;
  recorded: Verdict;
  /** One for each instance that the report says is there. */
  instances: (Verdict & { instanceId: string })[];
}

/** `noticed` is the SHA-256 that the notice of the execution gave, for reports that the record has left behind. */
export async function verifyReport(
  ports: Pick<Ports, 'records' | 'instances'>,
  rack: string,
  { key, body, report }: Kept,
  noticed: string | undefined,
): Promise<Verification> {
  const sha256 = createHash('sha256').update(body).digest('hex');
  const { last } = await ports.records.read(rack);
  const inRecord = last?.report?.key === key ? last.report.sha256 : undefined;
  return {
    execution: report.execution,
    sha256,
    recorded: recorded(sha256, inRecord, noticed),
    instances: await compareInstances(ports, report),
  };
}

function recorded(sha256: string, inRecord: string | undefined, noticed: string | undefined): Verdict {
  const sources = Object.entries({ record: inRecord, notice: noticed }).filter(
    ([, value]) => value !== undefined,
  );
  if (sources.length === 0) {
    return {
      ok: false,
      words: `SHA-256 ${sha256}; the record is about a later rollout and cannot say whether that is right: give the notice's own with --sha256`,
    };
  }
  const differing = sources.filter(([, value]) => value !== sha256);
  return differing.length === 0
    ? {
        ok: true,
        words: `unchanged: SHA-256 ${sha256}, as in the ${sources.map(([name]) => name).join(' and ')}`,
      }
    : {
        ok: false,
        words: differing
          .map(([name, value]) => `CHANGED: SHA-256 ${sha256}, in the ${name} ${String(value)}`)
          .join('; '),
      };
}

async function compareInstances(
  { instances }: Pick<Ports, 'instances'>,
  report: Report,
): Promise<Verification['instances']> {
  const named = report.instances.flatMap(({ instanceId, after }) =>
    instanceId === null || after === null ? [] : [{ instanceId, after }],
  );
  if (named.length === 0) return [];
  const found = await instances.find({
    cluster: report.cluster ?? '',
    nodeClass: report.class?.name ?? '',
    instanceIds: named.map(({ instanceId }) => instanceId),
  });
  const now = new Map(found.map((instance) => [instance.instanceId, instance]));
  return named.map(({ instanceId, after }) => ({ instanceId, ...compared(after, now.get(instanceId)) }));
}

const OPTIONS = ['httpTokens', 'httpPutResponseHopLimit', 'httpEndpoint'] as const;

function compared(after: Record<string, string | number>, instance: Instance | undefined): Verdict {
  // Nodes come and go; one that is gone has no options that could be wrong.
  if (instance === undefined) return { ok: true, words: 'is gone since' };
  const now = instance.metadataOptions;
  if (now === undefined) return { ok: false, words: 'its options cannot be read' };
  const differing = OPTIONS.filter((option) => after[option] !== undefined && after[option] !== now[option]);
  return differing.length === 0
    ? { ok: true, words: `as reported: ${now.httpTokens}/${String(now.httpPutResponseHopLimit)}` }
    : {
        ok: false,
        words: differing
          .map((option) => `${option} was ${String(after[option])}, is ${String(now[option])}`)
          .join('; '),
      };
}
