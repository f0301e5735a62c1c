// Validates the workflow definitions as they will be deployed, with an ARN wherever CloudFormation fills one in.
import { globSync, readFileSync } from 'node:fs';

import validate from 'asl-validator';
import { z } from 'zod';

const tasks = z.object({
  States: z.record(
    z.string(),
    z.object({ HeartbeatSeconds: z.number().optional(), TimeoutSeconds: z.number().optional() }),
  ),
});

for (const file of globSync('statemachine/*.asl.json')) {
  const definition: unknown = JSON.parse(
    readFileSync(file, 'utf8').replace(/\$\{\w+\}/g, 'arn:aws:lambda:eu-central-1:123456789012:function:any'),
  );
  const validation = validate(definition);
  if (!validation.isValid) {
    console.error(`${file}: ${validation.errorsText('\n')}`);
    process.exitCode = 1;
    continue;
  }
  // Step Functions refuses this when it is deployed; the validator lets it pass.
  for (const [name, { HeartbeatSeconds, TimeoutSeconds }] of Object.entries(tasks.parse(definition).States)) {
    if (HeartbeatSeconds !== undefined && HeartbeatSeconds >= (TimeoutSeconds ?? 99_999_999)) {
      console.error(`${file}: in state '${name}' HeartbeatSeconds must be smaller than TimeoutSeconds`);
      process.exitCode = 1;
    }
  }
}
