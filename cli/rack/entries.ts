/** Access entries: one a role of the functions, in the group that its work needs. */
import { ConflictError, ForbiddenError } from '../../rollout/errors.ts';
import type { Access, AccessEntry } from '../account/access.ts';
import type { Outputs } from '../account/outputs.ts';
import { CommandFailure } from '../failure.ts';
import type { Say } from '../step.ts';

export const READ_GROUP = 'imds-rollout:read';
export const WRITE_GROUP = 'imds-rollout:write';

export interface RoleGroup {
  role: string;
  group: string;
}

export const rolesOf = ({ ReadingRoles, WritingRoles }: Outputs): RoleGroup[] => [
  ...ReadingRoles.map((role) => ({ role, group: READ_GROUP })),
  ...WritingRoles.map((role) => ({ role, group: WRITE_GROUP })),
];

/**
 * How a role's entry stands. `stale`: it is of a role that was deleted and made again under the same name, which EKS
 * does not let in.
 */
export type EntryState =
  | { kind: 'absent' | 'right' | 'stale' }
  | { kind: 'otherGroups'; groups: string[] }
  | { kind: 'otherType'; type: string };

export async function entryState(
  access: Access,
  cluster: string,
  { role, group }: RoleGroup,
): Promise<EntryState> {
  const entry = await access.entry(cluster, role);
  if (entry === undefined) return { kind: 'absent' };
  if (entry.type !== 'STANDARD') return { kind: 'otherType', type: entry.type };
  if (await isStale(access, role, entry)) return { kind: 'stale' };
  return entry.groups.includes(group) ? { kind: 'right' } : { kind: 'otherGroups', groups: entry.groups };
}

async function isStale(access: Access, role: string, { createdAt }: AccessEntry): Promise<boolean> {
  try {
    const madeAt = await access.roleMadeAt(role);
    return madeAt !== undefined && createdAt !== undefined && madeAt > createdAt;
  } catch (error) {
    // Not everybody may read IAM. It is found out when the functions are not let in.
    if (error instanceof ForbiddenError) return false;
    throw error;
  }
}

export interface EntriesOptions {
  cluster: string;
  dryRun: boolean;
}

export async function ensureEntries(
  access: Access,
  roles: readonly RoleGroup[],
  { cluster, dryRun }: EntriesOptions,
  say: Say,
): Promise<void> {
  for (const each of roles) await ensureEntry(access, each, { cluster, dryRun }, say);
}

/** Whoever registers another rack of the cluster at the same time may have made the entry meanwhile. */
async function ensureEntry(
  access: Access,
  each: RoleGroup,
  options: EntriesOptions,
  say: Say,
): Promise<void> {
  try {
    await ensureAsRead(access, each, options, say);
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    await ensureAsRead(access, each, options, say);
  }
}

async function ensureAsRead(
  access: Access,
  { role, group }: RoleGroup,
  { cluster, dryRun }: EntriesOptions,
  say: Say,
): Promise<void> {
  const state = await entryState(access, cluster, { role, group });
  const words = `access entry of ${nameOf(role)} in group ${group}`;
  switch (state.kind) {
    case 'right':
      say('=', words);
      break;
    case 'absent':
      if (!dryRun) await access.create(cluster, role, [group]);
      say('+', words);
      break;
    case 'stale':
      if (!dryRun) {
        await access.remove(cluster, role);
        await access.create(cluster, role, [group]);
      }
      say('~', `${words}, made anew: the role is younger than its entry, and EKS would not let it in`);
      break;
    case 'otherGroups':
      // Groups that somebody else gave stay.
      if (!dryRun) await access.setGroups(cluster, role, [...state.groups, group]);
      say('~', `${words}, besides ${state.groups.join(', ') || 'none'}`);
      break;
    case 'otherType':
      throw new CommandFailure(
        `the access entry of ${role} is of type ${state.type}, which has no groups\n` +
          `Delete it (\`aws eks delete-access-entry --cluster-name ${cluster} --principal-arn ${role}\`), and run this again`,
      );
  }
}

export async function removeEntries(
  access: Access,
  roles: readonly RoleGroup[],
  { cluster, dryRun }: EntriesOptions,
  say: Say,
): Promise<void> {
  for (const { role } of roles) {
    const was = dryRun
      ? (await access.entry(cluster, role)) !== undefined
      : await access.remove(cluster, role);
    say(was ? '-' : '=', `access entry of ${nameOf(role)}${was ? '' : ': none'}`);
  }
}

/** A role's name: the rest of its ARN is the same for all. */
const nameOf = (role: string): string => role.slice(role.lastIndexOf('/') + 1);
