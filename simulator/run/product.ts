/** The product as deployed: every function's createHandler and the workflow's definition, as they are in the tree. */
import { readFile } from 'node:fs/promises';
import type { CreateHandler } from '../account/account.ts';
import type { WrittenDefinition } from '../account/definition.ts';
import { account, region, stateMachineArn } from '../account/names.ts';
import { functionNames } from '../scenario/names.ts';
import type { Product } from './world.ts';

/** Loaded when a run needs them and not before: the loggers look at the environment when they are made. */
export async function loadProduct(): Promise<Product> {
  const definition = new URL('../../statemachine/rollout.asl.json', import.meta.url);
  const [text, functions] = await Promise.all([
    readFile(definition, 'utf8'),
    Promise.all(
      functionNames.map(async (name): Promise<[string, CreateHandler]> => {
        const module = (await import(`../../functions/${name}/create-handler.ts`)) as {
          createHandler: CreateHandler;
        };
        return [name, module.createHandler];
      }),
    ),
  ]);
  return {
    definition: JSON.parse(text) as WrittenDefinition,
    functions: Object.fromEntries(functions),
    environment: {
      AWS_REGION: region,
      AWS_ACCOUNT_ID: account,
      STATE_MACHINE_ARN: stateMachineArn,
      PARAMETER_PREFIX: '/racks/',
      RECORD_PREFIX: '/imds-rollout/racks/',
      REPORT_BUCKET: 'imds-rollout-reports',
    },
  };
}
