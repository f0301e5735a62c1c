/** What happens while a scenario is played, as people write it. */
import { z } from 'zod';
import { commandNames, functionNames } from './names.ts';
import { newBuild, nodeClassShape } from './schema-cluster.ts';
import {
  duration,
  endpoint,
  hopLimit,
  httpTokens,
  moment,
  objectName,
  oneOf,
  parameterKey,
  parameters,
} from './values.ts';

const hashText = 'awaited, first, or 12 hexadecimal digits';
const lateText = 'lost, doubled, late:2m';
const yes = z.literal(true, 'true');

/** One entry: a moment, and what happens at it. */
export const timelineEntry = z.strictObject({
  at: moment,
  set: parameters.exactOptional(),
  unset: z.array(parameterKey, 'a list of parameters').exactOptional(),
  build: newBuild.exactOptional(),
  editClass: z
    .strictObject({
      class: objectName,
      manager: z
        .string('the name of a field manager')
        .min(1, 'the name of a field manager')
        .prefault('kubectl'),
      httpTokens: httpTokens.exactOptional(),
      httpPutResponseHopLimit: hopLimit.exactOptional(),
      httpEndpoint: endpoint.exactOptional(),
    })
    .exactOptional(),
  modifyInstance: z
    .strictObject({
      node: objectName,
      httpTokens: httpTokens.exactOptional(),
      hopLimit: hopLimit.exactOptional(),
      httpEndpoint: endpoint.exactOptional(),
    })
    .exactOptional(),
  event: z
    .string(lateText)
    .regex(/^(lost|doubled|late:\d+(s|m|h|d))$/, lateText)
    .exactOptional(),
  command: oneOf(commandNames)
    .exactOptional()
    .describe(
      'retry, approve and reject are played; pause, resume and abort are of the format and refused, since the product has no such command',
    ),
  by: z
    .string('an ARN, or nobody')
    .min(1, 'an ARN, or nobody')
    .exactOptional()
    .describe('Of approve and reject: who. nobody: without a proof of identity'),
  hash: z
    .string(hashText)
    .regex(/^(awaited|first|[0-9a-f]{12})$/, hashText)
    .exactOptional()
    .describe('Of approve and reject: what about. Absent: awaited'),
  reason: z.string('a text').exactOptional().describe('Of approve and reject: why'),
  stopExecution: yes.exactOptional(),
  crash: z.strictObject({ function: oneOf(functionNames), when: oneOf(['before', 'after']) }).exactOptional(),
  karpenter: z
    .strictObject({ stop: duration.exactOptional(), upgradeHashVersion: yes.exactOptional() })
    .exactOptional(),
  removeNode: objectName.exactOptional(),
  nodeNotReady: objectName.exactOptional(),
  interrupt: objectName.exactOptional().describe('A spot interruption of the node'),
  removeClass: objectName.exactOptional().describe('Gone once no NodeClaim uses it'),
  makeClass: z
    .strictObject({ class: objectName, ...nodeClassShape })
    .exactOptional()
    .describe('A class of its own UID, also under a name that there was before'),
  removePool: objectName.exactOptional(),
  editPool: z
    .strictObject({ pool: objectName, class: objectName })
    .exactOptional()
    .describe('The pool comes to refer to another class'),
  register: yes.exactOptional().describe('`rack add` once more'),
});
