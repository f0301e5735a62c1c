/**
 * The adapters on moto: the suites that `npm test` runs on the simulator. Not those of proofs of identity and of answers
 * to a wait, since moto checks no signature and runs no Task.
 */
import { describeApprovals } from '../contract/approvals.ts';
import { describeInstances } from '../contract/instances.ts';
import { describeNotices } from '../contract/notices.ts';
import { describeParameters } from '../contract/parameters.ts';
import { describeRecords } from '../contract/records.ts';
import { describeReports } from '../contract/reports.ts';
import { describeWaitTokens } from '../contract/wait-tokens.ts';
import { describeWorkflow } from '../contract/workflow.ts';
import {
  motoApprovals,
  motoInstances,
  motoNotices,
  motoParameters,
  motoRecords,
  motoReports,
  motoWaitTokens,
  motoWorkflow,
} from './moto-subjects.ts';

const name = 'moto';

describeParameters(name, motoParameters);
describeRecords(name, motoRecords, { sizes: false });
describeInstances(name, motoInstances);
describeWorkflow(name, motoWorkflow);
describeReports(name, motoReports);
describeNotices(name, motoNotices);
describeApprovals(name, motoApprovals, { sizes: false });
describeWaitTokens(name, motoWaitTokens);
