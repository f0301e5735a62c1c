/** The simulator's account does what AWS does: the suites that `npm run test:aws` runs on moto. */
import { describeApprovals } from './approvals.ts';
import { describeIdentities } from './identities.ts';
import { describeInstances } from './instances.ts';
import { describeNotices } from './notices.ts';
import { describeParameters } from './parameters.ts';
import { describeRecords } from './records.ts';
import { describeReports } from './reports.ts';
import {
  simulatedAnswers,
  simulatedApprovals,
  simulatedIdentities,
  simulatedInstances,
  simulatedNotices,
  simulatedParameters,
  simulatedRecords,
  simulatedReports,
  simulatedWaitTokens,
  simulatedWorkflow,
} from './simulated-account.ts';
import { describeWaitTokens } from './wait-tokens.ts';
import { describeAnswers, describeWorkflow } from './workflow.ts';

const name = 'the simulator';

describeParameters(name, simulatedParameters);
describeRecords(name, simulatedRecords);
describeInstances(name, simulatedInstances);
describeWorkflow(name, simulatedWorkflow);
describeReports(name, simulatedReports);
describeNotices(name, simulatedNotices);
describeApprovals(name, simulatedApprovals);
describeWaitTokens(name, simulatedWaitTokens);
describeIdentities(name, simulatedIdentities);
describeAnswers(name, simulatedAnswers);
