/** What one call, one class or one execution says by itself: whose it is, what it changes, who manages it. Pure. */
import type { EC2NodeClass, ManagedFieldsEntry } from '../../rollout/kubernetes.ts';
import type { Options } from '../../rollout/record.ts';
import type { AuditEntry } from '../parts.ts';
import { functionNames } from '../scenario/names.ts';
import type { ObservedExecution } from './truth.ts';

const ours: ReadonlySet<string> = new Set(functionNames);

/** Whether the service made the call, and not a person or a neighbour. */
export function isOurs(entry: AuditEntry): boolean {
  return ours.has(entry.caller.function);
}

/** Whether the call changed something in the cluster or in EC2, which is what rollouts are about. */
export function changes(entry: AuditEntry): boolean {
  return entry.write && entry.error === undefined && /^(ec2:|kubernetes:patch (?!Lease))/.test(entry.api);
}

/** The options in the body of a patch of a class. */
export function patchedOptions(entry: AuditEntry): Record<string, unknown> | undefined {
  if (entry.api !== 'kubernetes:patch EC2NodeClass') return undefined;
  return fields(fields(fields(entry.body)?.['spec'])?.['metadataOptions']);
}

export function fields(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** A class's options with the CRD's defaults. */
export function optionsOf(nodeClass: EC2NodeClass | undefined): Required<Options> {
  const written = nodeClass?.spec.metadataOptions;
  return {
    httpTokens: written?.httpTokens ?? 'required',
    httpPutResponseHopLimit: written?.httpPutResponseHopLimit ?? 1,
  };
}

/** Managers of a class whose entry holds the option. */
export function managersOf(nodeClass: EC2NodeClass, option: string): string[] {
  const holds = (entry: ManagedFieldsEntry): boolean =>
    fields(fields(fields(entry.fieldsV1)?.['f:spec'])?.['f:metadataOptions'])?.[`f:${option}`] !== undefined;
  return (nodeClass.metadata.managedFields ?? []).filter(holds).map((entry) => entry.manager);
}

/** Whether it found everything as it is to be: one that left it to another execution did not. */
export function foundRight({ outcome, reason }: ObservedExecution): boolean {
  if (outcome === 'Succeeded') return true;
  return outcome === 'NothingToDo' && reason?.startsWith('already being rolled out by') !== true;
}
