/** The adapters on moto: the suites that `npm test` runs on the simulator. */
import { describeInstances } from '../contract/instances.ts';
import { describeNotices } from '../contract/notices.ts';
import { describeParameters } from '../contract/parameters.ts';
import { describeRecords } from '../contract/records.ts';
import { describeReports } from '../contract/reports.ts';
import { describeWorkflow } from '../contract/workflow.ts';
import {
  motoInstances,
  motoNotices,
  motoParameters,
  motoRecords,
  motoReports,
  motoWorkflow,
} from './moto-subjects.ts';

const name = 'moto';

describeParameters(name, motoParameters);
describeRecords(name, motoRecords, { sizes: false });
describeInstances(name, motoInstances);
describeWorkflow(name, motoWorkflow);
describeReports(name, motoReports);
describeNotices(name, motoNotices);
