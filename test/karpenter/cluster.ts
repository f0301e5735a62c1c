/** `npm run cluster`: the cluster of the tests with the real Karpenter, left up for a person until Ctrl-C. */
import { buildAll } from './build.ts';

Object.assign(process.env, buildAll('cluster'), {
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_REGION: 'eu-west-1',
  AWS_EC2_METADATA_DISABLED: 'true',
  // Whoever has these set means another account.
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  POWERTOOLS_LOG_LEVEL: 'SILENT',
  POWERTOOLS_METRICS_DISABLED: 'true',
  POWERTOOLS_TRACE_ENABLED: 'false',
});
for (const name of ['AWS_PROFILE', 'AWS_SESSION_TOKEN']) Reflect.deleteProperty(process.env, name);

// Clients and Powertools read the environment as they are loaded.
const { stayUp } = await import('./cluster/stay-up.ts');
await stayUp();
// A rollout that runs would go on and keep this process: its waits are timers here.
process.exit();
