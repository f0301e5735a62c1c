/** The simulator's API server does what kube-apiserver does: the suite that `npm run test:karpenter` runs there. */
import { describeCluster } from './cluster.ts';
import { simulatedCluster } from './simulated-cluster.ts';

describeCluster('the simulator', simulatedCluster);
