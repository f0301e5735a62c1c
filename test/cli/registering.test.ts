import { startKubeServer } from './kube-server.ts';
import { describeRegistering } from './registering.ts';

describeRegistering('an API server in memory', startKubeServer);
