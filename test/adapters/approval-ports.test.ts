/** The ports of approvals on the SDK's clients: the suites that the simulator passes. */
import { createApprovals } from '../../adapters/approvals.ts';
import { createWaitTokens } from '../../adapters/wait-tokens.ts';
import { describeApprovals } from '../contract/approvals.ts';
import { describeIdentities } from '../contract/identities.ts';
import { describeWaitTokens } from '../contract/wait-tokens.ts';
import { describeAnswers } from '../contract/workflow.ts';
import { checkingIdentities } from './checking-identities.ts';
import { answersInMemory } from './sfn-in-memory.ts';
import { ssmInMemory } from './ssm-in-memory.ts';

const name = 'the adapter';
const nothingToClose = { [Symbol.asyncDispose]: () => Promise.resolve() };
const RECORDS = '/imds-rollout/racks/';

describeApprovals(name, async () => ({
  port: createApprovals(ssmInMemory().client, RECORDS),
  rack: 'demo',
  ...nothingToClose,
}));
describeWaitTokens(name, async () => ({
  port: createWaitTokens(ssmInMemory().client, '/imds-rollout/approval-tokens/', RECORDS),
  rack: 'demo',
  ...nothingToClose,
}));
describeIdentities(name, checkingIdentities);
describeAnswers(name, answersInMemory);
