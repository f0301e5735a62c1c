/** What the service keeps and tells: records in Parameter Store, reports in S3, notices on EventBridge. */
import { noApproval } from '../../rollout/approval.ts';
import { emptyRecord } from '../../rollout/record.ts';
import { readApproval, readRecord } from '../../rollout/stored.ts';
import type {
  Approvals,
  Notice,
  Notices,
  Records,
  Registration,
  Reports,
  WaitToken,
  WaitTokens,
} from '../../rollout/ports.ts';
import type { RunningClock } from './clock.ts';
import type { SimulatedGate } from './gate.ts';
import { refuseBadValue } from './parameter-store.ts';

export interface RecordStore {
  port: Records;
  /** What `rack add` leaves behind. */
  register(registration: Registration): void;
  /** The JSON of a rack's record as stored; undefined where none was written. */
  stored(rack: string): string | undefined;
  /** By hand: whatever text in the record's place. */
  overwrite(rack: string, text: string): void;
}

/** Records are kept as JSON in standard parameters, so that the limit of 4 KB is the real one. */
export function createRecordStore(gate: SimulatedGate, prefix: string): RecordStore {
  const registrations: Registration[] = [];
  const records = new Map<string, string>();
  const nameOf = (rack: string): string => `${prefix}${rack}/record`;
  return {
    port: {
      registrations: () =>
        gate.call({ api: 'ssm:GetParametersByPath', target: prefix }, () => structuredClone(registrations)),
      registration: (rack) =>
        gate.call({ api: 'ssm:GetParameter', target: `${prefix}${rack}/registration` }, () =>
          structuredClone(registrations.find((registration) => registration.rack === rack)),
        ),
      read: (rack) =>
        gate.call({ api: 'ssm:GetParameter', target: nameOf(rack) }, () => {
          const text = records.get(rack);
          return text === undefined ? structuredClone(emptyRecord) : readRecord(nameOf(rack), text);
        }),
      write: (rack, record) => {
        const text = JSON.stringify(record);
        return gate.call(
          { api: 'ssm:PutParameter', write: true, target: nameOf(rack), body: structuredClone(record) },
          () => {
            refuseBadValue(text);
            records.set(rack, text);
          },
        );
      },
    },
    register(registration) {
      const before = registrations.findIndex(({ rack }) => rack === registration.rack);
      if (before < 0) registrations.push(registration);
      else registrations[before] = registration;
    },
    stored: (rack) => records.get(rack),
    overwrite(rack, text) {
      records.set(rack, text);
    },
  };
}

/** The question and its answer are a parameter that people read. */
export function createApprovalStore(gate: SimulatedGate, prefix: string): Approvals {
  const approvals = new Map<string, string>();
  const nameOf = (rack: string): string => `${prefix}${rack}/approval`;
  return {
    read: (rack) =>
      gate.call({ api: 'ssm:GetParameter', target: nameOf(rack) }, () => {
        const text = approvals.get(rack);
        return text === undefined ? { ...noApproval } : readApproval(nameOf(rack), text);
      }),
    write: (rack, approval) => {
      const text = JSON.stringify(approval);
      const body = structuredClone(approval);
      return gate.call({ api: 'ssm:PutParameter', write: true, target: nameOf(rack), body }, () => {
        refuseBadValue(text);
        approvals.set(rack, text);
      });
    },
  };
}

/** SecureStrings under a prefix of their own. What is in them is in no audit. */
export function createTokenStore(gate: SimulatedGate, prefix: string): WaitTokens {
  const kept = new Map<string, WaitToken>();
  const nameOf = (rack: string): string => `${prefix}${rack}`;
  const get = (rack: string): Promise<WaitToken | undefined> =>
    gate.call({ api: 'ssm:GetParameter', target: nameOf(rack) }, () => kept.get(rack));
  return {
    read: get,
    keep: (rack, token) =>
      gate.call({ api: 'ssm:PutParameter', write: true, target: nameOf(rack) }, () => {
        refuseBadValue(JSON.stringify(token));
        kept.set(rack, structuredClone(token));
      }),
    forget: async (rack, { token }) => {
      if ((await get(rack))?.token !== token) return;
      await gate.call({ api: 'ssm:DeleteParameter', write: true, target: nameOf(rack) }, () => {
        kept.delete(rack);
      });
    },
  };
}

interface StoredReport {
  at: string;
  body: string;
  contentType: string;
}

export interface ReportStore {
  port: Reports;
  /** Every version by key, oldest first: the bucket is versioned. */
  versions: ReadonlyMap<string, readonly StoredReport[]>;
}

export function createReportStore(gate: SimulatedGate, clock: RunningClock): ReportStore {
  const versions = new Map<string, StoredReport[]>();
  return {
    versions,
    port: {
      put: (key, body, contentType) =>
        gate.call({ api: 's3:PutObject', write: true, target: key }, () => {
          const report = { at: clock.now().toISOString(), body, contentType };
          versions.set(key, [...(versions.get(key) ?? []), report]);
        }),
      get: (key) => gate.call({ api: 's3:GetObject', target: key }, () => versions.get(key)?.at(-1)?.body),
      list: (prefix) =>
        gate.call({ api: 's3:ListObjectsV2', target: prefix }, () =>
          [...versions.keys()].filter((key) => key.startsWith(prefix)).sort(),
        ),
    },
  };
}

export interface NoticeBoard {
  port: Notices;
  sent: readonly (Notice & { at: string })[];
}

export function createNoticeBoard(gate: SimulatedGate, clock: RunningClock): NoticeBoard {
  const sent: (Notice & { at: string })[] = [];
  return {
    sent,
    port: {
      send: (notice) =>
        gate.call({ api: 'events:PutEvents', write: true, target: notice.type, body: notice.detail }, () => {
          sent.push({ at: clock.now().toISOString(), ...structuredClone(notice) });
        }),
    },
  };
}
