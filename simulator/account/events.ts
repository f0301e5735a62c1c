/**
 * The events that AWS sends, in their documented forms: "Parameter Store Change" (Systems Manager user guide), "Step
 * Functions Execution Status Change" (Step Functions developer guide, EventBridge), "Scheduled Event" (EventBridge).
 */
import type { ExecutionRecord } from './execution.ts';
import { account, executionArn, parameterArn, region, stateMachineArn } from './names.ts';
import type { ParameterChange } from './parameter-store.ts';

export interface EventBridgeEvent {
  version: '0';
  id: string;
  'detail-type': string;
  source: string;
  account: string;
  /** Whole seconds. */
  time: string;
  region: string;
  resources: string[];
  detail: Record<string, unknown>;
}

type Happening = Pick<EventBridgeEvent, 'id'> & { at: Date };

function event(
  { id, at }: Happening,
  rest: Pick<EventBridgeEvent, 'detail-type' | 'source' | 'resources' | 'detail'>,
): EventBridgeEvent {
  return {
    version: '0',
    id,
    'detail-type': rest['detail-type'],
    source: rest.source,
    account,
    time: `${at.toISOString().slice(0, 19)}Z`,
    region,
    resources: rest.resources,
    detail: rest.detail,
  };
}

/** Carries neither value nor version: whoever gets it has to read the parameter. */
export function parameterStoreChange(happening: Happening, change: ParameterChange): EventBridgeEvent {
  return event(happening, {
    'detail-type': 'Parameter Store Change',
    source: 'aws.ssm',
    resources: [parameterArn(change.name)],
    detail: { operation: change.operation, name: change.name, type: change.type },
  });
}

export function executionStatusChange(happening: Happening, execution: ExecutionRecord): EventBridgeEvent {
  const arn = executionArn(execution.name);
  const output = execution.status === 'SUCCEEDED' ? JSON.stringify(execution.output ?? null) : null;
  return event(happening, {
    'detail-type': 'Step Functions Execution Status Change',
    source: 'aws.states',
    resources: [arn],
    detail: {
      executionArn: arn,
      stateMachineArn,
      name: execution.name,
      status: execution.status,
      startDate: execution.startedAt.getTime(),
      stopDate: execution.endedAt?.getTime() ?? null,
      input: JSON.stringify(execution.input),
      output,
      stateMachineVersionArn: null,
      stateMachineAliasArn: null,
      redriveCount: 0,
      redriveDate: null,
      redriveStatus: execution.status === 'SUCCEEDED' ? 'NOT_REDRIVABLE' : 'REDRIVABLE',
      redriveStatusReason:
        execution.status === 'SUCCEEDED' ? 'Execution is SUCCEEDED and cannot be redriven' : null,
      inputDetails: { included: true },
      outputDetails: output === null ? null : { included: true },
      error: execution.error ?? null,
      cause: execution.cause ?? null,
    },
  });
}

export function scheduledEvent(happening: Happening, rule: string): EventBridgeEvent {
  return event(happening, {
    'detail-type': 'Scheduled Event',
    source: 'aws.events',
    resources: [`arn:aws:events:${region}:${account}:rule/${rule}`],
    detail: {},
  });
}
