/** Approving and rejecting from a terminal: who decides is proved to the function `approve`, which is invoked with it. */
import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import { z } from 'zod';
import { calling } from '../../adapters/aws-errors.ts';
import { proveIdentity } from '../../adapters/identities.ts';
import type { Signer } from '../../adapters/sts.ts';
import { decisionAnswerSchema, type DecisionAnswer } from '../../rollout/decide.ts';
import { RolloutError } from '../../rollout/errors.ts';
import type { Claim } from '../../rollout/ports.ts';

export interface DecideAt extends Signer {
  functionName: string;
  stateMachineArn: string;
}

export async function decide(lambda: LambdaClient, at: DecideAt, claim: Claim): Promise<DecisionAnswer> {
  const identity = await proveIdentity(at, at.stateMachineArn, claim, new Date());
  const { FunctionError, Payload } = await calling('lambda:InvokeFunction', at.functionName, () =>
    lambda.send(
      new InvokeCommand({
        FunctionName: at.functionName,
        Payload: JSON.stringify({ ...claim, identity }),
      }),
    ),
  );
  return readAnswer(Payload?.transformToString() ?? '', FunctionError);
}

/** The function's answer; throws what it threw. */
function readAnswer(text: string, functionError?: string): DecisionAnswer {
  const json: unknown = text === '' ? undefined : JSON.parse(text);
  if (functionError !== undefined) {
    const { errorType, errorMessage } = z
      .looseObject({ errorType: z.string().optional(), errorMessage: z.string().optional() })
      .parse(json);
    throw new RolloutError(
      `the function approve failed: ${errorType ?? functionError}: ${errorMessage ?? ''}`,
    );
  }
  return decisionAnswerSchema.parse(json);
}
