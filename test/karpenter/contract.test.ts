import { describeCluster } from '../contract/cluster.ts';
import { apiServer } from './api-server-subject.ts';

describeCluster('kube-apiserver', () => apiServer());
