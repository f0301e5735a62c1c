/** The simulator's account does what AWS does: the suites that `npm run test:aws` runs on moto. */
import { describeInstances } from './instances.ts';
import { describeNotices } from './notices.ts';
import { describeParameters } from './parameters.ts';
import { describeRecords } from './records.ts';
import { describeReports } from './reports.ts';
import {
  simulatedInstances,
  simulatedNotices,
  simulatedParameters,
  simulatedRecords,
  simulatedReports,
  simulatedWorkflow,
} from './simulated-account.ts';
import { describeWorkflow } from './workflow.ts';

const name = 'the simulator';

describeParameters(name, simulatedParameters);
describeRecords(name, simulatedRecords);
describeInstances(name, simulatedInstances);
describeWorkflow(name, simulatedWorkflow);
describeReports(name, simulatedReports);
describeNotices(name, simulatedNotices);
